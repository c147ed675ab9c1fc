"""Histograms over edges, and reductions of segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .creation import filled, linspace
from .indexing import scatter_add
from .promotion import DataType, Scalar, cast, limits, value_of
from .reduction import reduce
from .shape import axis_of

# --- histograms ------------------------------------------------------------------------------------------------------


def _edges(g: GraphBuilder, x: Value, bins: int, bounds: Sequence[float] | None) -> Value:
    """Bin edges at equal distances, over the given range or that of the elements."""
    dtype = x.element
    if bounds is not None:
        low, high = (value_of(g, float(b), DataType.DOUBLE) for b in bounds)
    elif x.size == 0:
        low, high = (value_of(g, v, DataType.DOUBLE) for v in (0.0, 1.0))
    else:
        low, high = (cast(g, reduce(g, op, x), DataType.DOUBLE) for op in ("ReduceMin", "ReduceMax"))
    empty = g.Equal(low, high)
    low, high = g.Where(empty, g.Sub(low, 0.5), low), g.Where(empty, g.Add(high, 0.5), high)
    return linspace(g, low, high, bins + 1, dtype)


def _histogram(g: GraphBuilder, x: Value, edges: Sequence[Value], weight: Value | None, density: bool) -> Value:
    """Counts (or summed weights) of points, the rows of x, between the edges of each axis."""
    points = x.dim(0)
    counts = [_known(g, e) - 1 for e in edges]
    total = math.prod(counts)
    place: Value | None = None
    inside: Value | None = None
    for axis, (edge, count) in enumerate(zip(edges, counts, strict=True)):
        column = g.Gather(x, g.constant(np.array(axis, np.int64)), axis=1)
        first, last = (g.Gather(edge, g.constant(np.array(i, np.int64)), axis=0) for i in (0, -1))
        below = g.LessOrEqual(edge, g.Unsqueeze(column, [1]))
        index = g.Sub(g.ReduceSum(cast(g, below, DataType.INT64), [1], keepdims=0), 1)
        index = g.Min(index, count - 1)  # the last bin holds its upper edge
        fits = g.And(g.GreaterOrEqual(column, first), g.LessOrEqual(column, last))
        place = index if place is None else g.Add(g.Mul(place, count), index)
        inside = fits if inside is None else g.And(inside, fits)
    assert place is not None and inside is not None
    place = g.Where(inside, place, value_of(g, total, DataType.INT64))  # one bin more for what lies outside
    amounts = filled(g, [points], 1, x.element) if weight is None else cast(g, g.reshape(weight, [-1]), x.element)
    sums = scatter_add(g, filled(g, [total + 1], 0, x.element), 0, place, amounts)
    result = g.reshape(g.Slice(sums, [0], [total], [0]), counts)
    return _as_density(g, result, edges) if density else result


def _as_density(g: GraphBuilder, counts: Value, edges: Sequence[Value]) -> Value:
    result = g.Div(counts, g.ReduceSum(counts, keepdims=0))
    for axis, edge in enumerate(edges):
        width = g.Sub(g.Slice(edge, [1], [np.iinfo(np.int64).max], [0]), g.Slice(edge, [0], [-1], [0]))
        shape = [1] * len(edges)
        shape[axis] = -1
        result = g.Div(result, g.Reshape(width, shape))
    return result


def _known(g: GraphBuilder, x: Value) -> int:
    from .promotion import unsupported

    size = x.dim(0)
    if not isinstance(size, int):
        raise unsupported("a histogram of an open number of bins", g)
    return size


@symbolic("aten", "histogram.bin_ct")
def histogram(
    g: GraphBuilder, self: Value, bins: int = 100, range: Sequence[float] | None = None, weight: Value | None = None,
    density: bool = False,
) -> tuple[Value, Value]:  # fmt: skip
    """aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, ...) -> (Tensor hist, Tensor edges)"""
    x = g.reshape(self, [-1])
    edges = _edges(g, x, bins, range)
    return _histogram(g, g.Unsqueeze(x, [1]), [edges], weight, density), edges


@symbolic("aten", "histogram.bins_tensor")
def histogram_of_edges(
    g: GraphBuilder, self: Value, bins: Value, weight: Value | None = None, density: bool = False
) -> tuple[Value, Value]:
    """aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, ...) -> (Tensor hist, Tensor)"""
    return _histogram(g, g.reshape(self, [-1, 1]), [bins], weight, density), bins


@symbolic("aten", "histogramdd", "histogramdd.int_bins", "histogramdd.TensorList_bins")
def histogramdd(
    g: GraphBuilder, self: Value, bins: Any, range: Sequence[float] | None = None, weight: Value | None = None,
    density: bool = False,
) -> tuple[Value, list[Value]]:  # fmt: skip
    """aten::histogramdd(Tensor self, int[] bins, float[]? range=None, ...) -> (Tensor hist, Tensor[] bin_edges)"""
    from .promotion import unsupported

    axes = self.dim(-1)
    if not isinstance(axes, int):
        raise unsupported("a histogram over an open number of axes", g)
    x = g.reshape(self, [-1, axes])
    counts = [bins] * axes if isinstance(bins, int) else list(bins)
    edges = []
    for axis, count in enumerate(counts):
        column = g.Gather(x, g.constant(np.array(axis, np.int64)), axis=1)
        bounds = None if range is None else range[2 * axis : 2 * axis + 2]
        edges.append(count if isinstance(count, Value) else _edges(g, column, count, bounds))
    return _histogram(g, x, edges, weight, density), edges


# --- segments --------------------------------------------------------------------------------------------------------


@symbolic("aten", "segment_reduce")
def segment_reduce(
    g: GraphBuilder, data: Value, reduce: str, lengths: Value | None = None, indices: Value | None = None,
    offsets: Value | None = None, axis: int = 0, unsafe: bool = False, initial: Scalar | None = None,
) -> Value:  # fmt: skip
    """aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, ...) -> Tensor"""
    begins, ends = _bounds(g, lengths, offsets)
    axis = axis_of(axis, data.rank)
    size = g.Squeeze(g.Shape(data, start=axis, end=axis + 1), [0])
    index = g.Range(0, size, 1)
    member = g.And(g.GreaterOrEqual(index, g.Unsqueeze(begins, [-1])), g.Less(index, g.Unsqueeze(ends, [-1])))
    rest = list(range(axis + 2, data.rank + 1))
    member = g.Unsqueeze(member, rest) if rest else member
    low, high = limits(data.element)
    neutral = {"sum": 0, "mean": 0, "prod": 1, "max": low, "min": high}[reduce]
    op = {"sum": "Sum", "mean": "Sum", "prod": "Prod", "max": "Max", "min": "Min"}[reduce]
    start = value_of(g, neutral if initial is None else initial, data.element)
    spread = g.Where(member, g.Unsqueeze(data, [axis]), value_of(g, neutral, data.element))
    result = g.call(f"Reduce{op}", spread, [axis + 1], keepdims=0)
    result = g.call({"Sum": "Add", "Prod": "Mul"}.get(op, op), result, start)
    if reduce != "mean":
        return result  # type: ignore[no-any-return]
    count = cast(g, g.Sub(ends, begins), data.element)
    count = g.Unsqueeze(count, list(range(axis + 1, data.rank))) if axis + 1 < data.rank else count
    empty = value_of(g, math.nan, data.element) if initial is None else start
    return g.Where(g.Equal(count, 0.0), empty, g.Div(result, count))


def _bounds(g: GraphBuilder, lengths: Value | None, offsets: Value | None) -> tuple[Value, Value]:
    """Begin and end of each segment."""
    if offsets is not None:
        end = np.iinfo(np.int64).max
        places = cast(g, offsets, DataType.INT64)
        return g.Slice(places, [0], [-1], [-1]), g.Slice(places, [1], [end], [-1])
    assert lengths is not None
    counts = cast(g, lengths, DataType.INT64)
    ends = g.CumSum(counts, g.constant(np.array(lengths.rank - 1, np.int64)))
    return g.Sub(ends, counts), ends
