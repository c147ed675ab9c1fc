"""A CatBoost model as its file says it: parameters, and trees as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError, MissingOp, UnsupportedOps
from ...symbolic.ml.trees import Mode, TreeTable, broken_links
from .ctr import Ctr, OneHot

#: Kinds of features.
FLOAT, CATEGORY, TEXT, EMBEDDING = "float", "category", "text", "embedding"


def refuse_kinds(kinds: Sequence[str]) -> None:
    """Refuses features that no ONNX operator can process as CatBoost does."""
    found = [kind for kind in (TEXT, EMBEDDING) if kind in kinds]
    if found:
        raise UnsupportedOps([MissingOp("catboost", f"{kind} features", 1, ("the input",)) for kind in found])


@dataclass
class Splits:
    """The yes-or-no questions that trees ask by number.

    The features are those of the model, and behind them the columns made of categories.

    Attributes:
        features: Number of features of the model.
        columns: The columns made of categories.
        rows: Of each question: feature, threshold, whether NaN is yes, `Mode`, and why it can't be asked (or nothing).
    """

    features: int
    columns: list[OneHot | Ctr] = field(default_factory=list)
    rows: list[tuple[int, float, bool, int, str]] = field(default_factory=list)

    def above(self, feature: int, borders: Sequence[float], missing_yes: bool = False) -> None:
        """Questions ``x > border`` about a feature of the model."""
        self.rows += [(feature, float(b), missing_yes, Mode.GT, "") for b in borders]

    def one_hot(self, column: OneHot, hashes: Sequence[int]) -> None:
        """Questions whether a category is one of these, which the column has."""
        place = {int(h): i + 1 for i, h in enumerate(column.hashes)}
        at = self._column(column)
        self.rows += [(at, float(place[int(h)]), False, Mode.EQ, "") for h in hashes]

    def statistic(self, column: Ctr, borders: Sequence[float]) -> None:
        """Questions ``statistic > border``."""
        at = self._column(column)
        self.rows += [(at, float(b), False, Mode.GT, "") for b in borders]

    def refused(self, reason: str, count: int) -> None:
        """Questions that can't be asked."""
        self.rows += [(0, 0.0, False, Mode.GT, reason)] * count

    def _column(self, column: OneHot | Ctr) -> int:
        for i, own in enumerate(self.columns):
            if own is column:
                return self.features + i
        self.columns.append(column)
        return self.features + len(self.columns) - 1


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
        kinds: Kind of each feature.
        columns: The columns made of categories, which the trees find behind the features.
        texts: Texts of categories by their hashes, where the file tells them.
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
    kinds: list[str] = field(default_factory=list)
    columns: list[OneHot | Ctr] = field(default_factory=list)
    texts: dict[int, list[str]] = field(default_factory=dict)

    @property
    def mixed(self) -> bool:
        """Whether some features are no numbers."""
        return any(kind != FLOAT for kind in self.kinds)

    def of_kind(self, kind: str) -> list[int]:
        """The features of a kind."""
        return [i for i, k in enumerate(self.kinds) if k == kind]


def oblivious(trees: list[np.ndarray], values: np.ndarray, splits: Splits) -> TreeTable:
    """The table of symmetric trees: a level's nodes ask the same; the first question is the lowest bit of the leaf.

    Args:
        trees: Numbers of the questions of each tree.
        values: Values of all leaves, [leaves, outputs].
        splits: The questions.
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
        yes=np.concatenate([*yes, np.zeros(0, np.int64)]).astype(np.int64),
        no=np.concatenate([*no, np.zeros(0, np.int64)]).astype(np.int64),
        split_tree=np.repeat(trees_of, nodes),
        leaf_tree=np.repeat(trees_of, leaves),
        roots=np.where(depths > 0, first_node, ~first_leaf),
        values=values,
    )


def _table(asked: np.ndarray, splits: Splits, *, values: np.ndarray, **structure: Any) -> TreeTable:
    if np.any((asked < 0) | (asked >= len(splits.rows))):
        raise CaptureError("the trees ask questions that there are not: the model is damaged")
    feature, threshold, missing, mode, problem = zip(*splits.rows, strict=True) if splits.rows else ((),) * 5
    bad = sorted({problem[i] for i in np.unique(asked).tolist()} - {""})
    if bad:
        raise UnsupportedOps([MissingOp("catboost", reason, 1, ("the trees",)) for reason in bad])
    table = TreeTable(
        features=splits.features + len(splits.columns),
        narrow=True,
        feature=np.array(feature, np.int64)[asked],
        threshold=np.array(threshold)[asked],
        mode=np.array(mode, np.uint8)[asked],
        missing_yes=np.array(missing, bool)[asked],
        values=np.ascontiguousarray(values, np.float64),
        targets=values.shape[1],
        **structure,
    )
    broken = broken_links(table)
    if broken:
        raise CaptureError(f"the CatBoost model is damaged: {broken}")
    return table


def free_form(
    asked: np.ndarray,
    yes: np.ndarray,
    no: np.ndarray,
    roots: np.ndarray,
    values: np.ndarray,
    splits: Splits,
) -> TreeTable:
    """The table of trees of any shape, its nodes put in the order of their trees.

    Args:
        asked: Question of each node.
        yes: Child of each node: a node, or ``~leaf``.
        no: The other child.
        roots: Root of each tree, a child number.
        values: Values of all leaves, [leaves, outputs].
        splits: The questions.
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
        yes=moved(yes[order]),
        no=moved(no[order]),
        split_tree=np.array(node_tree, np.int64),
        leaf_tree=np.array(leaf_tree, np.int64),
        roots=moved(roots),
        values=values[leaf_order],
    )
