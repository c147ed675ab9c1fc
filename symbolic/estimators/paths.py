"""What trees tell about the way of a row: the leaf that it reaches, and the nodes that it passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.packing import leaf_numbers
from ..ml.trees import TreeTable
from ..value import Value
from .calling import Maker


def tree_paths(g: GraphBuilder, x: Value, trees: Sequence[Any], table: TreeTable, *, forest: bool) -> dict[str, Maker]:
    """The methods ``apply`` and ``decision_path`` of a tree or a forest.

    Args:
        g: Builder.
        x: Rows.
        trees: The ``tree_`` objects.
        table: The same trees.
        forest: ``apply`` gives a column for each tree, even if there is one only.
    """

    def of_leaves(numbers: list[np.ndarray]) -> Value:
        """A number of the leaf that each row reaches, [batch, trees]; the table has the leaves in the nodes' order."""
        found = g.Gather(np.concatenate(numbers).astype(np.int64), leaf_numbers(g, x, table), axis=0)
        return g.Transpose(found, perm=[1, 0])

    def apply() -> Value:
        """The node of the leaf: int64[batch, trees], of a single tree [batch]."""
        found = of_leaves([np.flatnonzero(t.children_left < 0) for t in trees])
        return found if forest else g.Squeeze(found, [1])

    def decision_path() -> Value:
        """1 for each node of each tree that lies on the way: int64[batch, nodes]."""
        spans = [leaves_below(t.children_left, t.children_right, t.compute_node_depths()) for t in trees]
        place = of_leaves([first[t.children_left < 0] for (first, _), t in zip(spans, trees, strict=True)])
        tree_of_node = np.repeat(np.arange(len(trees)), [t.node_count for t in trees])
        at = g.Gather(place, tree_of_node, axis=1)
        first, count = (np.concatenate(part) for part in zip(*spans, strict=True))
        inside = g.And(g.GreaterOrEqual(at, first), g.Less(at, first + count))
        return g.Cast(inside, to=ir.DataType.INT64)

    return {"apply": apply, "decision_path": decision_path}


def leaves_below(left: np.ndarray, right: np.ndarray, depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The leaves below each node, which lie side by side: the first, counted from the left of the tree, and how many.

    Args:
        left: Left child of each node; -1 for a leaf.
        right: Right child of each node.
        depth: Depth of each node.
    """
    inner = np.flatnonzero(left >= 0)
    order = inner[np.argsort(depth[inner], kind="stable")]
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    first, count = np.zeros(len(left), np.int64), np.ones(len(left), np.int64)
    for nodes in reversed(levels):
        count[nodes] = count[left[nodes]] + count[right[nodes]]
    for nodes in levels:
        first[left[nodes]] = first[nodes]
        first[right[nodes]] = first[nodes] + count[left[nodes]]
    return first, count
