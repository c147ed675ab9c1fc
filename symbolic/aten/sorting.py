"""Sorting, ranking and running extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .precision import rounded_once
from .promotion import NARROW, DataType, apply, cast, compute, is_float, value_of, where
from .reduction import axes_of
from .shape import axis_of, size_at


def _sortable(g: GraphBuilder, x: Value) -> Value:
    """The tensor in a dtype that TopK has kernels for."""
    if x.dtype == DataType.BOOL or x.dtype in NARROW:
        return cast(g, x, DataType.INT32)
    return cast(g, x, DataType.FLOAT) if x.dtype in (DataType.FLOAT16, DataType.BFLOAT16) else x


@symbolic("aten", "topk")
def topk(
    g: GraphBuilder, self: Value, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, Value]:
    """aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)"""
    if self.rank == 0:
        return self, g.constant(np.array(0, np.int64))
    count = g.shape_vector([k])
    values, indices = g.TopK(
        _sortable(g, self), count, axis=axis_of(dim, self.rank), largest=int(largest), sorted=1, outputs=2
    )  # fmt: skip
    return cast(g, values, self.element), indices


@symbolic("aten", "sort", "sort.stable")
def sort(
    g: GraphBuilder, self: Value, *settings: Any, stable: bool | None = False, dim: int = -1, descending: bool = False
) -> tuple[Value, Value]:
    """aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor, Tensor)"""
    # the default overload takes (dim, descending) by position; equal elements keep their order either way
    dim = settings[0] if settings else dim
    descending = settings[1] if len(settings) > 1 else descending
    if self.rank == 0:
        return self, g.constant(np.array(0, np.int64))
    return topk(g, self, size_at(g, self, dim), dim, descending)


@symbolic("aten", "argsort", "argsort.stable")
def argsort(
    g: GraphBuilder, self: Value, *settings: Any, stable: bool = False, dim: int = -1, descending: bool = False
) -> Value:
    """aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"""
    return sort(g, self, *settings, dim=dim, descending=descending)[1]


@symbolic("aten", "msort")
def msort(g: GraphBuilder, self: Value) -> Value:
    """aten::msort(Tensor self) -> Tensor"""
    return sort(g, self, dim=0)[0]


@symbolic("aten", "kthvalue")
def kthvalue(g: GraphBuilder, self: Value, k: Any, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    if self.rank == 0:
        return self, g.constant(np.array(0, np.int64))
    return _picked(g, self, g.shape_vector([k - 1]), dim, keepdim)


def _picked(g: GraphBuilder, x: Value, place: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The elements at one place of the sorted order."""
    axis = axis_of(dim, x.rank)
    values, indices = sort(g, x, dim=axis)
    values, indices = (g.Gather(v, place, axis=axis) for v in (values, indices))
    return (values, indices) if keepdim else (g.Squeeze(values, [axis]), g.Squeeze(indices, [axis]))


@symbolic("aten", "median.dim")
def median_dim(g: GraphBuilder, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    if self.rank == 0:
        return self, g.constant(np.array(0, np.int64))
    size = size_at(g, self, dim)
    half = (size - 1) // 2 if not isinstance(size, Value) else g.Div(g.Sub(size, 1), 2)
    place = g.shape_vector([half])
    return _picked(g, self, place, dim, keepdim)


@symbolic("aten", "median.default")
def median(g: GraphBuilder, self: Value) -> Value:
    """aten::median(Tensor self) -> Tensor"""
    return median_dim(g, g.reshape(self, [-1]), 0)[0]


@symbolic("aten", "cumsum")
def cumsum(g: GraphBuilder, self: Value, dim: int, dtype: DataType | None = None) -> Value:
    """aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    x = cast(g, self, dtype or (self.element if is_float(self.element) else DataType.INT64))
    if x.rank == 0:
        return x
    return compute_along(g, x, dim)


def compute_along(g: GraphBuilder, x: Value, dim: int) -> Value:
    """Running sum; narrow integers in int32."""
    axis = g.constant(np.array(axis_of(dim, x.rank), np.int64))
    if x.dtype in NARROW:
        return cast(g, g.CumSum(cast(g, x, DataType.INT32), axis), x.element)
    return g.CumSum(x, axis)


def _scan(g: GraphBuilder, op: str, x: Value, dim: int) -> Value:
    """Running product, maximum or minimum: result i takes elements 0 to i together, by way of a masked square."""
    axis = axis_of(dim, x.rank)
    size = size_at(g, x, axis)
    index = g.Range(0, size if isinstance(size, Value) else g.size(size), 1)
    last = x.rank - 1
    order = [i for i in range(x.rank) if i != axis] + [axis]
    turned = x if axis == last else g.Transpose(x, perm=order)
    seen = g.LessOrEqual(g.Unsqueeze(index, [0]), g.Unsqueeze(index, [1]))  # (i, j): j takes part in i
    neutral = {"ReduceProd": 1, "ReduceMax": _lowest(x.element), "ReduceMin": _highest(x.element)}[op]
    square = g.Where(seen, g.Unsqueeze(turned, [-2]), value_of(g, neutral, x.element))
    result = apply(g, op, square, [-1], keepdims=0)
    if axis == last:
        return result
    return g.Transpose(result, perm=[*range(axis), last, *range(axis, last)])


def _lowest(dtype: DataType) -> Any:
    return -np.inf if is_float(dtype) else np.iinfo(dtype.numpy()).min


def _highest(dtype: DataType) -> Any:
    return np.inf if is_float(dtype) else np.iinfo(dtype.numpy()).max


@symbolic("aten", "cumprod")
def cumprod(g: GraphBuilder, self: Value, dim: int, dtype: DataType | None = None) -> Value:
    """aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    x = cast(g, self, dtype or (self.element if is_float(self.element) else DataType.INT64))
    return x if x.rank == 0 else _scan(g, "ReduceProd", x, dim)


def _running(g: GraphBuilder, op: str, x: Value, dim: int) -> tuple[Value, Value]:
    """Running extreme and the last place it was reached at."""
    if x.rank == 0:
        return x, g.constant(np.array(0, np.int64))
    wide = _sortable(g, x)
    best = _scan(g, op, wide, dim)
    axis = axis_of(dim, x.rank)
    size = size_at(g, x, axis)
    place = g.Range(0, size if isinstance(size, Value) else g.size(size), 1)
    place = g.Unsqueeze(place, list(range(1, x.rank - axis))) if axis < x.rank - 1 else place
    reached = g.Where(g.Equal(wide, best), place, g.constant(np.array(-1, np.int64)))
    return cast(g, best, x.element), _scan(g, "ReduceMax", reached, dim)


@symbolic("aten", "cummax")
def cummax(g: GraphBuilder, self: Value, dim: int) -> tuple[Value, Value]:
    """aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"""
    return _running(g, "ReduceMax", self, dim)


@symbolic("aten", "cummin")
def cummin(g: GraphBuilder, self: Value, dim: int) -> tuple[Value, Value]:
    """aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"""
    return _running(g, "ReduceMin", self, dim)


@symbolic("aten", "logcumsumexp")
@rounded_once
def logcumsumexp(g: GraphBuilder, self: Value, dim: int) -> Value:
    """aten::logcumsumexp(Tensor self, int dim) -> Tensor"""
    if self.rank == 0:
        return self
    axis = axis_of(dim, self.rank)
    last = self.rank - 1
    size = size_at(g, self, axis)
    index = g.Range(0, size if isinstance(size, Value) else g.size(size), 1)
    order = [i for i in range(self.rank) if i != axis] + [axis]
    turned = self if axis == last else g.Transpose(self, perm=order)
    seen = g.LessOrEqual(g.Unsqueeze(index, [0]), g.Unsqueeze(index, [1]))
    square = g.Where(seen, g.Unsqueeze(turned, [-2]), value_of(g, -np.inf, self.element))
    top = g.ReduceMax(square, [-1])
    top = g.Where(g.IsInf(top), 0.0, top)
    result = g.Squeeze(g.Add(g.Log(g.ReduceSum(g.Exp(g.Sub(square, top)), [-1])), top), [-1])
    if axis == last:
        return result
    return g.Transpose(result, perm=[*range(axis), last, *range(axis, last)])


@symbolic("aten", "searchsorted.Tensor")
def searchsorted(
    g: GraphBuilder, sorted_sequence: Value, self: Value, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Value | None = None,
) -> Value:  # fmt: skip
    """aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, ...) -> Tensor"""
    if sorter is not None:
        sorted_sequence = g.GatherElements(sorted_sequence, sorter, axis=-1)
    if side is not None:
        right = side == "right"
    return _counted(g, sorted_sequence, self, out_int32, right)


def _counted(g: GraphBuilder, boundaries: Value, x: Value, out_int32: bool, right: bool) -> Value:
    """How many boundaries lie before each element."""
    from .promotion import promoted

    edges, values = promoted(g, boundaries, x)
    edges = g.Unsqueeze(edges, [-2]) if edges.rank > 1 else edges
    op = "LessOrEqual" if right else "Less"
    before = compute(g, op, edges, g.Unsqueeze(values, [-1]))
    return g.ReduceSum(cast(g, before, DataType.INT32 if out_int32 else DataType.INT64), [-1], keepdims=0)


@symbolic("aten", "bucketize.Tensor")
def bucketize(g: GraphBuilder, self: Value, boundaries: Value, out_int32: bool = False, right: bool = False) -> Value:
    """aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"""
    return _counted(g, boundaries, self, out_int32, right)


@symbolic("aten", "nanmedian.default")
def nanmedian(g: GraphBuilder, self: Value) -> Value:
    """aten::nanmedian(Tensor self) -> Tensor"""
    return nanmedian_dim(g, g.reshape(self, [-1]), 0)[0]


@symbolic("aten", "nanmedian.dim")
def nanmedian_dim(g: GraphBuilder, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    if not is_float(self.element):
        return median_dim(g, self, dim, keepdim)
    if self.rank == 0:
        return self, g.constant(np.array(0, np.int64))
    axis = axis_of(dim, self.rank)
    missing = g.IsNaN(self)
    filled = g.Where(missing, value_of(g, np.inf, self.element), self)  # NaN goes to the end
    values, indices = sort(g, filled, dim=axis)
    count = g.ReduceSum(cast(g, g.Not(missing), DataType.INT64), [axis])
    place = g.Max(g.Div(g.Sub(count, 1), 2), 0)
    values, indices = (g.GatherElements(v, place, axis=axis) for v in (values, indices))
    values = g.Where(g.Equal(count, 0), value_of(g, np.nan, self.element), values)
    return (values, indices) if keepdim else (g.Squeeze(values, [axis]), g.Squeeze(indices, [axis]))


@symbolic("aten", "renorm")
def renorm(g: GraphBuilder, self: Value, p: float, dim: int, maxnorm: float) -> Value:
    """aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor"""
    from .reduction import linalg_vector_norm

    axes = [a for a in axes_of(None, self.rank) if a != axis_of(dim, self.rank)]

    @rounded_once
    def shrinkage(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
        length = linalg_vector_norm(g, x, p, axes, True)
        factor = g.Div(value_of(g, float(maxnorm), x.element), g.Add(length, 1e-7))
        return factor, g.Greater(length, float(maxnorm))

    factor, long = shrinkage(g, self)
    return where(g, long, g.Mul(self, factor), self)


@symbolic("aten", "mode")
def mode(g: GraphBuilder, self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    if self.rank == 0:
        return self, g.constant(np.array(0, np.int64))
    axis = axis_of(dim, self.rank)
    last = self.rank - 1
    order = [i for i in range(self.rank) if i != axis] + [axis]
    x = self if axis == last else g.Transpose(self, perm=order)
    same = cast(g, compute(g, "Equal", g.Unsqueeze(x, [-1]), g.Unsqueeze(x, [-2])), DataType.INT32)
    counts = g.ReduceSum(same, [-1], keepdims=0)
    often = g.Equal(counts, g.ReduceMax(counts, [-1]))
    wide = _sortable(g, x)
    top = value_of(g, _highest(wide.element), wide.element)
    value = g.ReduceMin(g.Where(often, wide, top), [-1])  # the smallest of the most frequent
    index = g.ArgMax(cast(g, g.Equal(wide, value), DataType.INT32), axis=-1, keepdims=1, select_last_index=1)
    results = [cast(g, value, self.element), index]
    if not keepdim:
        return g.Squeeze(results[0], [-1]), g.Squeeze(results[1], [-1])
    back = [*range(axis), last, *range(axis, last)]
    return tuple(g.Transpose(r, perm=back) if axis != last else r for r in results)  # type: ignore[return-value]
