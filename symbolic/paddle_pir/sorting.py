"""Sorting, searching, counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import (
    DataType,
    axis_of,
    cast,
    ints,
    is_float,
    known_number,
    like,
    refused,
    scalar_of,
    size_at,
)


def _arg(g: GraphBuilder, op: str, x: Value, axis: Any, keepdims: bool, flatten: bool, dtype: DataType | None) -> Value:
    if flatten or x.rank == 0:
        found = g.call(op, g.Reshape(x, [-1]), axis=0, keepdims=0)
        found = g.Reshape(found, [1] * x.rank) if keepdims and x.rank else found
    else:
        (at,) = ints(g, axis, "argmax", "an axis")
        found = g.call(op, x, axis=at, keepdims=int(keepdims))
    return cast(g, found, dtype)


@symbolic("paddle_pir", "argmax", "arg_max")
def argmax(
    g: GraphBuilder, x: Value, axis: Any, keepdims: bool = False, flatten: bool = False, dtype: DataType | None = None
) -> Value:
    """argmax(Tensor x, Scalar axis, bool keepdims, bool flatten, DataType dtype) -> Tensor"""
    return _arg(g, "ArgMax", x, axis, keepdims, flatten, dtype)


@symbolic("paddle_pir", "argmin", "arg_min")
def argmin(
    g: GraphBuilder, x: Value, axis: Any, keepdims: bool = False, flatten: bool = False, dtype: DataType | None = None
) -> Value:
    """argmin(Tensor x, Scalar axis, bool keepdims, bool flatten, DataType dtype) -> Tensor"""
    return _arg(g, "ArgMin", x, axis, keepdims, flatten, dtype)


@symbolic("paddle_pir")
def topk(g: GraphBuilder, x: Value, k: Any, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """topk(Tensor x, Scalar k, int axis, bool largest, bool sorted) -> (Tensor, Tensor)"""
    known = known_number(k)
    count = [int(known)] if known is not None else g.Reshape(cast(g, scalar_of(g, k), DataType.INT64), [1])
    if x.rank == 0:
        return x, g.constant(np.int64(0))
    return g.TopK(x, count, axis=axis, largest=int(largest), sorted=1, outputs=2)


@symbolic("paddle_pir")
def argsort(g: GraphBuilder, x: Value, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """argsort(Tensor x, int axis, bool descending, bool stable) -> (Tensor, Tensor)"""
    if x.rank == 0:
        return x, g.constant(np.int64(0))
    count = g.shape_vector([size_at(g, x, axis)])
    return g.TopK(x, count, axis=axis, largest=int(descending), sorted=1, outputs=2)


@symbolic("paddle_pir")
def kthvalue(g: GraphBuilder, x: Value, k: int = 1, axis: int = -1, keepdim: bool = False) -> Any:
    """kthvalue(Tensor x, int k, int axis, bool keepdim) -> (Tensor, Tensor)"""
    if x.rank == 0:
        return x, g.constant(np.int64(0))
    values, places = g.TopK(x, [k], axis=axis, largest=0, sorted=1, outputs=2)
    last = [g.Slice(v, [k - 1], [k], [axis]) for v in (values, places)]
    return tuple(last) if keepdim else tuple(g.Squeeze(v, [axis]) for v in last)


@symbolic("paddle_pir")
def median(g: GraphBuilder, x: Value, axis: Sequence[int] = (), keepdim: bool = False, mode: str = "avg") -> Any:
    """median(Tensor x, int[] axis, bool keepdim, str mode) -> (Tensor, Tensor)"""
    axes = ints(g, axis, "median", "an axis")
    if len(axes) > 1:
        raise refused(g, "median", "several axes at once aren't supported")
    source, at = (x, axis_of(axes[0], x.rank)) if axes else (g.Reshape(x, [-1]), 0)
    size = source.dim(at)
    if not isinstance(size, int):
        raise refused(g, "median", "an open size isn't supported")
    half = size // 2
    values, places = g.TopK(source, [half + 1], axis=at, largest=0, sorted=1, outputs=2)
    low, high = ((size - 1) // 2, half) if mode == "avg" else ((size - 1) // 2,) * 2
    middle = g.Slice(values, [low], [low + 1], [at])
    if low != high:
        middle = (middle + g.Slice(values, [high], [high + 1], [at])) / 2.0
    if is_float(x):  # a NaN anywhere makes the median NaN; sums spread it
        middle = middle + (g.ReduceSum(source, [at], keepdims=1) * 0.0)
    index = g.Slice(places, [low], [low + 1], [at])
    if not axes:
        shape = [1] * x.rank if keepdim else []
        return g.Reshape(middle, shape), g.Reshape(index, shape)
    return (middle, index) if keepdim else (g.Squeeze(middle, [at]), g.Squeeze(index, [at]))


@symbolic("paddle_pir")
def mode(g: GraphBuilder, x: Value, axis: int = -1, keepdim: bool = False) -> Any:
    """mode(Tensor x, int axis, bool keepdim) -> (Tensor, Tensor)"""
    axis = axis_of(axis, x.rank)
    order = [*(i for i in range(x.rank) if i != axis), axis]
    moved = g.Transpose(x, perm=order) if order != list(range(x.rank)) else x
    same = g.Equal(g.Unsqueeze(moved, [-1]), g.Unsqueeze(moved, [-2]))
    counts = g.ReduceSum(g.Cast(same, to=DataType.INT64), [-1], keepdims=0)
    most = g.Equal(counts, g.ReduceMax(counts, [-1], keepdims=1))
    big = np.finfo(x.element.numpy()).max if is_float(x) else np.iinfo(x.element.numpy()).max
    value = g.ReduceMin(g.Where(most, moved, like(g, x, big)), [-1], keepdims=1)  # the smallest of the most frequent
    places = g.Cast(g.Equal(moved, value), to=DataType.INT64)
    index = g.ArgMax(places, axis=-1, keepdims=1, select_last_index=1)
    if not keepdim:
        return g.Squeeze(value, [-1]), g.Squeeze(index, [-1])
    inverse = [order.index(i) for i in range(x.rank)]
    return g.Transpose(value, perm=inverse), g.Transpose(index, perm=inverse)


@symbolic("paddle_pir")
def searchsorted(
    g: GraphBuilder, sorted_sequence: Value, values: Value, out_int32: bool = False, right: bool = False
) -> Value:
    """searchsorted(Tensor sorted_sequence, Tensor values, bool out_int32, bool right) -> Tensor"""
    ladder = sorted_sequence if sorted_sequence.rank == 1 else g.Unsqueeze(sorted_sequence, [-2])
    probe = g.Unsqueeze(values, [-1])
    below = g.LessOrEqual(ladder, probe) if right else g.Less(ladder, probe)
    count = g.ReduceSum(g.Cast(below, to=DataType.INT64), [-1], keepdims=0)
    return cast(g, count, DataType.INT32 if out_int32 else DataType.INT64)


@symbolic("paddle_pir")
def unique(
    g: GraphBuilder, x: Value, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Sequence[int] = (), dtype: DataType | None = None, is_sorted: bool = False,
) -> Any:  # fmt: skip
    """unique(Tensor x, bool return_index, bool return_inverse, bool return_counts, int[] axis, DataType dtype, bool
    is_sorted) -> (Tensor, Tensor, Tensor, Tensor)"""
    axes = ints(g, axis, "unique", "an axis")
    results = g.Unique(x, axis=axes[0] if axes else None, sorted=1, outputs=4)
    return results[0], *(cast(g, r, dtype) for r in results[1:])


@symbolic("paddle_pir")
def bincount(g: GraphBuilder, x: Value, weights: Value | None = None, minlength: Any = 0) -> Value:
    """bincount(Tensor x, Tensor? weights, Scalar minlength) -> Tensor"""
    (least,) = ints(g, minlength, "bincount", "a minlength")
    values = cast(g, x, DataType.INT64)
    end = g.Max(g.ReduceMax(values, keepdims=0) + 1, np.int64(least))
    hits = g.Equal(g.Unsqueeze(g.Range(np.int64(0), end, np.int64(1)), [1]), g.Unsqueeze(values, [0]))
    if weights is None:
        return g.ReduceSum(g.Cast(hits, to=DataType.INT64), [1], keepdims=0)
    return g.ReduceSum(g.Where(hits, g.Unsqueeze(weights, [0]), like(g, weights, 0)), [1], keepdims=0)


@symbolic("paddle_pir")
def histogram(
    g: GraphBuilder, input: Value, weight: Value | None = None, bins: int = 100, min: float = 0.0, max: float = 0.0,
    density: bool = False,
) -> Value:  # fmt: skip
    """histogram(Tensor input, Tensor? weight, int bins, float min, float max, bool density) -> Tensor"""
    if weight is not None or density or min == max:
        raise refused(g, "histogram", "weights, densities and bounds taken from the data aren't supported")
    flat = cast(g, g.Reshape(input, [-1]), DataType.FLOAT)
    inside = g.And(g.GreaterOrEqual(flat, float(min)), g.LessOrEqual(flat, float(max)))
    place = g.Floor((flat - float(min)) * float(bins) / float(max - min))
    place = g.Min(place, float(bins - 1))
    hits = g.And(g.Equal(g.constant(np.arange(bins, dtype=np.float32)[:, None]), g.Unsqueeze(place, [0])), inside)
    return g.ReduceSum(g.Cast(hits, to=DataType.INT64), [1], keepdims=0)
