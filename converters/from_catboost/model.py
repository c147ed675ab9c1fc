"""A CatBoost model as its file says it: parameters, and trees as one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError, MissingOp, UnsupportedOps
from ...symbolic.ml.trees import Mode, TreeTable, broken_links


@dataclass
class Splits:
    """The yes-or-no questions that trees ask by number.

    Attributes:
        feature: Flat index of the feature of each.
        threshold: ``x > threshold`` is yes; for a category split, the hash that x must have.
        missing_yes: NaN is yes.
        problem: Why each can't be asked, or an empty string.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_yes: np.ndarray
    problem: list[str]


@dataclass
class CatModel:
    """What predicts.

    Attributes:
        loss: Name of the loss function; empty for a loss of the user's own.
        outputs: Number of raw scores.
        scale: Factor on the sum of the leaves.
        bias: Constant of each raw score.
        features: Number of features.
        table: The trees.
        classes: Class labels of a classifier, as the file keeps them; None for anything else.
        threshold: Probability above which a row is of the second class.
        names: Names of the features.
    """

    loss: str
    outputs: int
    scale: float
    bias: np.ndarray
    features: int
    table: TreeTable
    classes: np.ndarray | None = None
    threshold: float = 0.5
    names: list[str] | None = None


def oblivious(trees: list[np.ndarray], values: np.ndarray, splits: Splits, features: int) -> TreeTable:
    """The table of symmetric trees: a level's nodes ask the same; the first question is the lowest bit of the leaf.

    Args:
        trees: Numbers of the questions of each tree.
        values: Values of all leaves, [leaves, outputs].
        splits: The questions.
        features: Number of features.
    """
    depths = np.array([len(t) for t in trees], np.int64)
    nodes, leaves = 2**depths - 1, 2**depths
    first_node, first_leaf = np.cumsum(nodes) - nodes, np.cumsum(leaves) - leaves
    if len(values) != leaves.sum():
        raise CaptureError(f"the trees have {leaves.sum()} leaves, the file has values for {len(values)}")
    question: list[np.ndarray] = []
    yes: list[np.ndarray] = []
    no: list[np.ndarray] = []
    for tree, depth, node, leaf in zip(trees, depths, first_node, first_leaf, strict=True):
        heap = np.arange(2**depth - 1)
        level = np.floor(np.log2(heap + 1)).astype(np.int64)
        question.append(tree[depth - 1 - level] if depth else np.zeros(0, np.int64))
        for side, found in ((2, yes), (1, no)):
            child = 2 * heap + side
            found.append(np.where(child < len(heap), child + node, ~(child - len(heap) + leaf)))
    asked = np.concatenate([*question, np.zeros(0, np.int64)]).astype(np.int64)
    trees_of = np.arange(len(trees))
    return _table(
        asked,
        splits,
        features,
        yes=np.concatenate([*yes, np.zeros(0, np.int64)]).astype(np.int64),
        no=np.concatenate([*no, np.zeros(0, np.int64)]).astype(np.int64),
        split_tree=np.repeat(trees_of, nodes),
        leaf_tree=np.repeat(trees_of, leaves),
        roots=np.where(depths > 0, first_node, ~first_leaf),
        values=values,
    )


def _table(asked: np.ndarray, splits: Splits, features: int, *, values: np.ndarray, **structure: Any) -> TreeTable:
    if np.any((asked < 0) | (asked >= len(splits.feature))):
        raise CaptureError("the trees ask questions that there are not: the model is damaged")
    bad = sorted({splits.problem[i] for i in np.unique(asked).tolist()} - {""})
    if bad:
        raise UnsupportedOps([MissingOp("catboost", reason, 1, ("the trees",)) for reason in bad])
    table = TreeTable(
        features=features,
        narrow=True,
        feature=splits.feature[asked],
        threshold=splits.threshold[asked],
        mode=np.full(len(asked), Mode.GT, np.uint8),
        missing_yes=splits.missing_yes[asked],
        values=np.ascontiguousarray(values, np.float64),
        targets=values.shape[1],
        **structure,
    )
    problem = broken_links(table)
    if problem:
        raise CaptureError(f"the CatBoost model is damaged: {problem}")
    return table


def free_form(
    asked: np.ndarray,
    yes: np.ndarray,
    no: np.ndarray,
    roots: np.ndarray,
    values: np.ndarray,
    splits: Splits,
    features: int,
) -> TreeTable:
    """The table of trees of any shape, its nodes put in the order of their trees.

    Args:
        asked: Question of each node.
        yes: Child of each node: a node, or ``~leaf``.
        no: The other child.
        roots: Root of each tree, a child number.
        values: Values of all leaves, [leaves, outputs].
        splits: The questions.
        features: Number of features.
    """
    nodes: list[int] = []
    leaves: list[int] = []
    node_tree: list[int] = []
    leaf_tree: list[int] = []
    for tree, root in enumerate(roots.tolist()):
        waiting = [root]
        while waiting:
            child = waiting.pop()
            if child < 0:
                leaves.append(~child)
                leaf_tree.append(tree)
                continue
            if len(nodes) > len(asked) or child >= len(asked):
                raise CaptureError("nodes of the trees point nowhere: the model is damaged")
            nodes.append(child)
            node_tree.append(tree)
            waiting += [int(no[child]), int(yes[child])]
    order, leaf_order = np.array(nodes, np.int64), np.array(leaves, np.int64)
    if len(leaf_order) and leaf_order.max() >= len(values):
        raise CaptureError("leaves of the trees have no values: the model is damaged")
    node_number, leaf_number = np.zeros(len(asked), np.int64), np.zeros(len(values), np.int64)
    node_number[order], leaf_number[leaf_order] = np.arange(len(order)), np.arange(len(leaf_order))

    def moved(children: np.ndarray) -> np.ndarray:
        if not len(children):
            return children
        at_node = node_number[np.maximum(children, 0)] if len(node_number) else children
        found: np.ndarray = np.where(children < 0, ~leaf_number[np.maximum(~children, 0)], at_node)
        return found

    return _table(
        asked[order],
        splits,
        features,
        yes=moved(yes[order]),
        no=moved(no[order]),
        split_tree=np.array(node_tree, np.int64),
        leaf_tree=np.array(leaf_tree, np.int64),
        roots=moved(roots),
        values=values[leaf_order],
    )
