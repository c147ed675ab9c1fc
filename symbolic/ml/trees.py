"""One flat table of decision trees, filled by the reader of each framework and packed into ONNX by `packing`.

A split sends a row to its true child where ``x[feature] MODE threshold`` holds. Children are numbered in one space:
``c >= 0`` is split ``c``, ``c < 0`` is leaf ``~c``. Splits and leaves of one tree lie together, trees in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np


class Mode(IntEnum):
    """Comparison of a split, numbered as in ai.onnx.ml TreeEnsemble."""

    LEQ = 0
    LT = 1
    GTE = 2
    GT = 3
    EQ = 4
    NEQ = 5
    MEMBER = 6


@dataclass
class TreeTable:
    """Trees as flat arrays.

    Attributes:
        features: Number of features of a row.
        narrow: The source rounds a row to float32 before it compares (it compares doubles otherwise).
        feature: Feature of each split.
        threshold: Threshold of each split, as the source keeps it (double).
        mode: `Mode` of each split.
        yes: Child of each split where the comparison holds.
        no: The other child.
        missing_yes: Whether NaN goes to the true child of each split.
        split_tree: Tree of each split.
        leaf_tree: Tree of each leaf.
        roots: Root of each tree, a child number.
        values: Values of each leaf: [leaves, K].
        target: Output that each leaf contributes its one value to; None where it contributes K values to K outputs.
        targets: Number of outputs.
        members: Category sets of MEMBER splits, by split.
        likely_yes: Whether most of the training rows at each split went to its true child; None where nothing says so.
    """

    features: int
    narrow: bool
    feature: np.ndarray
    threshold: np.ndarray
    mode: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    missing_yes: np.ndarray
    split_tree: np.ndarray
    leaf_tree: np.ndarray
    roots: np.ndarray
    values: np.ndarray
    targets: int
    target: np.ndarray | None = None
    members: dict[int, np.ndarray] = field(default_factory=dict)
    likely_yes: np.ndarray | None = None

    @property
    def trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_tree)


def from_nodes(
    counts: Sequence[int],
    *,
    features: int,
    narrow: bool,
    left: np.ndarray,
    right: np.ndarray,
    is_leaf: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
    values: np.ndarray,
    targets: int,
    tree_target: np.ndarray | None = None,
    mode: np.ndarray | None = None,
    members: dict[int, np.ndarray] | None = None,
    rows: np.ndarray | None = None,
) -> TreeTable:
    """A table from node arrays of all trees, one after the other, where each tree numbers its nodes from its root 0.

    Args:
        counts: Number of nodes of each tree.
        features: Number of features.
        narrow: The source compares float32.
        left: Child of each node where ``x <= threshold``, numbered in its tree; anything at leaves.
        right: The other child.
        is_leaf: Which nodes are leaves.
        feature: Feature of each node; anything at leaves.
        threshold: Threshold of each node; anything at leaves.
        missing_left: Where NaN goes to the left child.
        values: [nodes, K] values; anything at splits.
        targets: Number of outputs.
        tree_target: Output of each tree, where a tree contributes one value to one output.
        mode: `Mode` of each node; LEQ where None.
        members: Category sets of MEMBER nodes, by node number through all trees.
        rows: Training rows, or their weight, at each node; None where nothing says so.
    """
    sizes = np.asarray(counts, np.int64)
    start = np.cumsum(sizes) - sizes
    split, leaf = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    # split and leaf numbers of every node, in node order
    number = np.empty(len(is_leaf), np.int64)
    number[split], number[leaf] = np.arange(len(split)), ~np.arange(len(leaf))
    trees = np.arange(len(sizes), dtype=np.int32)
    leaves = np.diff(np.searchsorted(leaf, np.append(start, len(is_leaf))))
    split_tree, leaf_tree = np.repeat(trees, sizes - leaves), np.repeat(trees, leaves)
    offset = np.repeat(start, sizes - leaves)
    left, right = left[split] + offset, right[split] + offset
    return TreeTable(
        features=features,
        narrow=narrow,
        feature=feature[split].astype(np.int64),
        threshold=threshold[split].astype(np.float64),
        mode=np.zeros(len(split), np.uint8) if mode is None else mode[split].astype(np.uint8),
        yes=number[left],
        no=number[right],
        missing_yes=missing_left[split].astype(bool),
        split_tree=split_tree,
        leaf_tree=leaf_tree,
        roots=number[start],
        values=np.ascontiguousarray(values[leaf], np.float64),
        targets=targets,
        target=None if tree_target is None else np.asarray(tree_target, np.int64)[leaf_tree],
        members={int(number[node]): found for node, found in (members or {}).items()},
        likely_yes=None if rows is None else rows[left] > rows[right],
    )


def broken_links(table: TreeTable) -> str:
    """What is wrong with the links of a table, or an empty string.

    A damaged model may send a row outside the table, or round in a circle: each node has one parent or is a root.
    """
    if np.any((table.feature < 0) | (table.feature >= table.features)):
        return "splits ask for features that there are not"
    links = np.concatenate([table.yes, table.no, table.roots])
    groups = (("splits", links[links >= 0], len(table.feature)), ("leaves", ~links[links < 0], table.leaves))
    for kind, found, count in groups:
        if np.any(found >= count):
            return f"children are {kind} that there are not"
        if np.any(np.bincount(found, minlength=count) > 1):
            return f"{kind} have several parents"
    return ""


def with_constant(table: TreeTable, values: np.ndarray) -> TreeTable:
    """The same table with trees of one leaf in front, so that a sum starts from a constant for each output.

    Args:
        table: A table whose trees contribute one value each.
        values: Constant of each output.
    """
    count = len(values)
    assert table.target is not None and count == table.targets
    shift = -count  # leaf c = ~n becomes ~(n + count)
    return replace(
        table,
        yes=np.where(table.yes < 0, table.yes + shift, table.yes),
        no=np.where(table.no < 0, table.no + shift, table.no),
        split_tree=table.split_tree + count,
        leaf_tree=np.concatenate([np.arange(count), table.leaf_tree + count]),
        roots=np.concatenate([~np.arange(count), np.where(table.roots < 0, table.roots + shift, table.roots)]),
        values=np.concatenate([np.asarray(values, np.float64).reshape(-1, 1), table.values]),
        target=np.concatenate([np.arange(count), table.target]),
    )


def with_split_roots(table: TreeTable) -> TreeTable:
    """The same trees, where each that is a single leaf gets a split whose children are both that leaf.

    TreeEnsemble can't say that a root is a leaf.
    """
    bare = np.flatnonzero(table.roots < 0)
    if not len(bare):
        return table
    # a new split goes in front of the first split of a later tree, so that the trees stay in order
    places = np.searchsorted(table.split_tree, bare, side="left")
    shift = np.zeros(len(table.feature), np.int64)
    np.add.at(shift, places[places < len(shift)], 1)
    renumber = np.arange(len(table.feature)) + np.cumsum(shift)
    new = places + np.arange(len(bare))
    leaf = table.roots[bare]

    def children(old: np.ndarray) -> np.ndarray:
        moved = np.where(old < 0, old, renumber[np.maximum(old, 0)]) if len(old) else old
        return np.insert(moved, places, leaf)

    roots = np.where(table.roots < 0, 0, renumber[np.maximum(table.roots, 0)]) if len(renumber) else table.roots.copy()
    roots[bare] = new
    return replace(
        table,
        feature=np.insert(table.feature, places, 0),
        threshold=np.insert(table.threshold, places, 0.0),
        mode=np.insert(table.mode, places, Mode.LEQ),
        yes=children(table.yes),
        no=children(table.no),
        missing_yes=np.insert(table.missing_yes, places, False),
        split_tree=np.insert(table.split_tree, places, bare),
        roots=roots,
        members={int(renumber[k]): v for k, v in table.members.items()},
        likely_yes=None if table.likely_yes is None else np.insert(table.likely_yes, places, False),
    )


def floor32(values: np.ndarray) -> np.ndarray:
    """The greatest float32 that is not above each double: ``x <= t`` is ``x <= floor32(t)`` for every float32 x."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        return np.where(rounded > values, np.nextafter(rounded, np.float32(-np.inf)), rounded).astype(np.float32)


def ceil32(values: np.ndarray) -> np.ndarray:
    """The smallest float32 that is not below each double: ``x < t`` is ``x < ceil32(t)`` for every float32 x."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        return np.where(rounded < values, np.nextafter(rounded, np.float32(np.inf)), rounded).astype(np.float32)


def narrowed(table: TreeTable) -> np.ndarray:
    """The thresholds as float32, so that every comparison with a float32 row has the same answer.

    EQ and NEQ keep a threshold that no float32 equals out of reach: it becomes NaN, which equals nothing.
    """
    down, up = floor32(table.threshold), ceil32(table.threshold)
    exact = np.where(down == up, down, np.float32(np.nan))
    below = np.isin(table.mode, (Mode.LEQ, Mode.GT))
    above = np.isin(table.mode, (Mode.LT, Mode.GTE))
    return np.where(below, down, np.where(above, up, exact)).astype(np.float32)
