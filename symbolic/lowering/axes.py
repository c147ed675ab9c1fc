"""Axes that are known at run time only, where older versions take them as an attribute: the rank has to be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from .common import refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


def axis_flags(g: GraphBuilder, axes: Value, rank: int) -> Value:
    """For each of `rank` axes whether it is listed, as a bool vector."""
    listed = g.Mod(g.Cast(axes, to=ir.DataType.INT64), rank)  # negative ones count from the end
    hits = g.Equal(g.Unsqueeze(listed, [0]), np.arange(rank).reshape(rank, 1))
    counts = g.ReduceSum(g.Cast(hits, to=ir.DataType.INT64), [1], keepdims=0)
    return g.Greater(counts, 0)


def reduce_flagged(
    g: GraphBuilder,
    x: Value,
    axes: Value,
    reduce: Callable[[GraphBuilder, Value, int], Value],
    *,
    keepdims: int,
    noop: int,
) -> Any:
    """Reduces one axis after the other where it is listed.

    Args:
        g: Builder.
        x: Operand of known rank.
        axes: Axes, known at run time.
        reduce: Reduces one axis and keeps it; doing it axis by axis has to give the reduction of all.
        keepdims: Whether reduced axes stay as 1.
        noop: Whether an empty list of axes means none of them; else it means all.
    """
    rank = x.rank
    flags = axis_flags(g, axes, rank)
    if not noop:
        flags = g.Or(flags, g.Equal(g.Size(axes), 0))
    result = x
    for axis in range(rank):
        reduced, kept = g.subgraph(f"reduce_{axis}"), g.subgraph(f"keep_{axis}")
        reduced.output(reduce(reduced, result, axis))
        kept.output(kept.Identity(result))
        flag = g.Gather(flags, axis, axis=0)
        result = g.If(flag, then_branch=reduced, else_branch=kept)
    if keepdims:
        return result
    return g.Reshape(result, g.Compress(g.Shape(result), g.Not(flags), axis=0))


def squeeze_flagged(g: GraphBuilder, x: Value, axes: Value) -> Any:
    """Squeezes the listed axes."""
    return g.Reshape(x, g.Compress(g.Shape(x), g.Not(axis_flags(g, axes, x.rank)), axis=0))


def unsqueeze_flagged(g: GraphBuilder, x: Value, axes: Value) -> Any:
    """Inserts the listed axes; how many there are has to be known."""
    count = axes.sizes[0] if axes.sizes else None
    if not isinstance(count, int):
        refuse(g, "Unsqueeze", "input axes of unknown length", 13)
    rank = x.rank + count
    old = g.Squeeze(g.NonZero(g.Not(axis_flags(g, axes, rank))), [0])
    shape = g.ScatterElements(np.ones(rank, np.int64), old, g.Shape(x), axis=0)
    return g.Reshape(x, shape)
