"""Sums, means, extremes and other reductions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim, product
from ..registry import symbolic
from ..value import Value
from .precision import rounded_once
from .promotion import (
    NARROW,
    DataType,
    Scalar,
    apply,
    as_float,
    cast,
    is_float,
    promoted,
    unsupported,
    value_of,
)
from .shape import axis_of, size_at, sizes

Axes = Sequence[int] | int | None


def axes_of(dim: Axes, rank: int) -> list[int]:
    """Axes of a reduction, non-negative; all of them where none are given."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(rank))
    return [axis_of(d, rank) for d in ([dim] if isinstance(dim, int) else dim)]


def reduce(g: GraphBuilder, op: str, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """A Reduce operator over some or all axes; a tensor without axes stays as it is for sums, extremes and means."""
    if x.rank == 0:
        return x
    return apply(g, op, x, axes_of(dim, x.rank), keepdims=int(keepdim))


def total(g: GraphBuilder, x: Value, dim: Axes = None, keepdim: bool = False, dtype: DataType | None = None) -> Value:
    """Sum; integers and bools are summed in int64."""
    x = cast(g, x, dtype or (x.element if is_float(x.element) else DataType.INT64))
    if x.dtype in NARROW:
        return cast(g, reduce(g, "ReduceSum", cast(g, x, DataType.INT32), dim, keepdim), x.element)
    return reduce(g, "ReduceSum", x, dim, keepdim)


@symbolic("aten", "sum.default")
def sum_all(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    return total(g, self, None, False, dtype)


@symbolic("aten", "sum.dim_IntList")
def sum(g: GraphBuilder, self: Value, dim: Axes, keepdim: bool = False, dtype: DataType | None = None) -> Value:
    """aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    return total(g, self, dim, keepdim, dtype)


@symbolic("aten", "sum_to_size")
def sum_to_size(g: GraphBuilder, self: Value, size: Sequence[Any]) -> Value:
    """aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor"""
    lead = self.rank - len(size)
    own = sizes(g, self)
    axes = [*range(lead), *(i + lead for i, s in enumerate(size) if s == 1 and own[i + lead] != 1)]
    return g.reshape(total(g, self, axes, True), list(size)) if axes else self


@symbolic("aten", "nansum")
def nansum(
    g: GraphBuilder, self: Value, dim: Axes = None, keepdim: bool = False, dtype: DataType | None = None
) -> Value:
    """aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    x = g.Where(g.IsNaN(self), 0.0, self) if is_float(self.element) else self
    return total(g, x, dim, keepdim, dtype)


@symbolic("aten", "mean.default")
def mean_all(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    return mean(g, self, None, False, dtype)


@symbolic("aten", "mean.dim")
def mean(g: GraphBuilder, self: Value, dim: Axes, keepdim: bool = False, dtype: DataType | None = None) -> Value:
    """aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    return average(g, cast(g, self, dtype or self.element), dim, keepdim)


def average(g: GraphBuilder, x: Value, dim: Axes, keepdim: bool) -> Value:
    """ReduceMean; NaN over no elements, where runtimes give zero."""
    axes = axes_of(dim, x.rank) if x.rank else []
    known = [s for s in (x.dim(a) for a in axes) if isinstance(s, int)]
    if 0 in known:
        kept = [1 if i in axes else s for i, s in enumerate(sizes(g, x)) if keepdim or i not in axes]
        return g.expand(value_of(g, math.nan, x.element), kept)
    mean = reduce(g, "ReduceMean", x, dim, keepdim)
    if len(known) == len(axes):
        return mean
    count = element_count(g, x, axes)
    nothing = g.Equal(count if isinstance(count, Value) else g.size(count), 0)
    return g.Where(nothing, value_of(g, math.nan, x.element), mean)


@symbolic("aten", "nanmean")
def nanmean(
    g: GraphBuilder, self: Value, dim: Axes = None, keepdim: bool = False, dtype: DataType | None = None
) -> Value:
    """aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    there = cast(g, g.Not(g.IsNaN(self)), dtype or self.element)
    return g.Div(nansum(g, self, dim, keepdim, dtype), total(g, there, dim, keepdim))


@symbolic("aten", "prod.default")
def prod_all(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    x = cast(g, self, dtype or (self.element if is_float(self.element) else DataType.INT64))
    return reduce(g, "ReduceProd", x)


@symbolic("aten", "prod.dim_int")
def prod(g: GraphBuilder, self: Value, dim: int, keepdim: bool = False, dtype: DataType | None = None) -> Value:
    """aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    x = cast(g, self, dtype or (self.element if is_float(self.element) else DataType.INT64))
    return reduce(g, "ReduceProd", x, dim, keepdim)


def extreme(g: GraphBuilder, op: str, x: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """ReduceMax or ReduceMin, of bools and narrow integers too."""
    if x.dtype == DataType.BOOL or x.dtype in NARROW:
        return cast(g, reduce(g, op, cast(g, x, DataType.INT32), dim, keepdim), x.element)
    return reduce(g, op, x, dim, keepdim)


@symbolic("aten", "amax")
def amax(g: GraphBuilder, self: Value, dim: Axes = (), keepdim: bool = False) -> Value:
    """aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"""
    return extreme(g, "ReduceMax", self, dim, keepdim)


@symbolic("aten", "amin")
def amin(g: GraphBuilder, self: Value, dim: Axes = (), keepdim: bool = False) -> Value:
    """aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"""
    return extreme(g, "ReduceMin", self, dim, keepdim)


@symbolic("aten", "aminmax")
def aminmax(g: GraphBuilder, self: Value, dim: int | None = None, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"""
    return extreme(g, "ReduceMin", self, dim, keepdim), extreme(g, "ReduceMax", self, dim, keepdim)


@symbolic("aten", "max.default")
def max_all(g: GraphBuilder, self: Value) -> Value:
    """aten::max(Tensor self) -> Tensor"""
    return extreme(g, "ReduceMax", self)


@symbolic("aten", "min.default")
def min_all(g: GraphBuilder, self: Value) -> Value:
    """aten::min(Tensor self) -> Tensor"""
    return extreme(g, "ReduceMin", self)


def _arg(g: GraphBuilder, op: str, x: Value, dim: int | None, keepdim: bool) -> Value:
    """ArgMax or ArgMin of the first extreme element; of NaN, where there is one."""
    if x.rank == 0:
        return g.constant(np.array(0, np.int64))
    rank = x.rank
    if dim is None:
        x = g.reshape(x, [-1])
    if x.dtype == DataType.BOOL or x.dtype in NARROW:
        x = cast(g, x, DataType.INT32)
    elif x.dtype == DataType.INT64:
        # onnxruntime has no kernel for int64: the position comes from where the extreme stands
        best = apply(g, "ReduceMax" if op == "ArgMax" else "ReduceMin", x, [axis_of(dim or 0, x.rank)], keepdims=1)
        x, op = g.Cast(g.Equal(x, best), to=DataType.INT32), "ArgMax"
    if dim is None:
        index = apply(g, op, x, axis=0, keepdims=0)
        return g.reshape(index, [1] * rank) if keepdim else index
    return apply(g, op, x, axis=axis_of(dim, rank), keepdims=int(keepdim))


@symbolic("aten", "argmax")
def argmax(g: GraphBuilder, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"""
    return _arg(g, "ArgMax", self, dim, keepdim)


@symbolic("aten", "argmin")
def argmin(g: GraphBuilder, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"""
    return _arg(g, "ArgMin", self, dim, keepdim)


@symbolic("aten", "max.dim")
def max_dim(g: GraphBuilder, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return extreme(g, "ReduceMax", self, dim, keepdim), _arg(g, "ArgMax", self, dim, keepdim)


@symbolic("aten", "min.dim")
def min_dim(g: GraphBuilder, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return extreme(g, "ReduceMin", self, dim, keepdim), _arg(g, "ArgMin", self, dim, keepdim)


def _truth(g: GraphBuilder, op: str, x: Value, dim: Axes, keepdim: bool) -> Value:
    dtype = DataType.UINT8 if x.dtype == DataType.UINT8 else DataType.BOOL  # uint8 answers in uint8, as torch does
    flags = cast(g, cast(g, x, DataType.BOOL), DataType.INT32)
    if op == "ReduceMax" and x.rank and _some(not isinstance(x.dim(a), int) for a in axes_of(dim, x.rank)):
        op = "ReduceSum"  # the maximum of no elements isn't false
    return cast(g, reduce(g, op, flags, dim, keepdim), dtype)


@symbolic("aten", "any.default")
def any_all(g: GraphBuilder, self: Value) -> Value:
    """aten::any(Tensor self) -> Tensor"""
    return _truth(g, "ReduceMax", self, None, False)


@symbolic("aten", "any.dim", "any.dims")
def any(g: GraphBuilder, self: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"""
    return _truth(g, "ReduceMax", self, dim, keepdim)


@symbolic("aten", "all.default")
def all_all(g: GraphBuilder, self: Value) -> Value:
    """aten::all(Tensor self) -> Tensor"""
    return _truth(g, "ReduceMin", self, None, False)


@symbolic("aten", "all.dim", "all.dims")
def all(g: GraphBuilder, self: Value, dim: Axes = None, keepdim: bool = False) -> Value:
    """aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"""
    return _truth(g, "ReduceMin", self, dim, keepdim)


@symbolic("aten", "count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(g: GraphBuilder, self: Value, dim: Axes = None) -> Value:
    """aten::count_nonzero(Tensor self, int? dim=None) -> Tensor"""
    return total(g, cast(g, self, DataType.BOOL), dim)


@symbolic("aten", "logsumexp", "special_logsumexp")
def logsumexp(g: GraphBuilder, self: Value, dim: Axes, keepdim: bool = False) -> Value:
    """aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"""
    x = as_float(g, self)
    if x.rank == 0:
        return x
    axes = axes_of(dim, x.rank)
    top = g.ReduceMax(x, axes)
    top = g.Where(g.IsInf(top), 0.0, top) if x.element in (DataType.FLOAT, DataType.DOUBLE) else top
    result = g.Add(g.Log(g.ReduceSum(g.Exp(g.Sub(x, top)), axes)), top)
    return result if keepdim else g.Squeeze(result, axes)


def element_count(g: GraphBuilder, x: Value, axes: Sequence[int]) -> Any:
    """How many elements a reduction takes together: int, Dim or int64 scalar."""
    parts = [size_at(g, x, a) for a in axes]
    if not _some(isinstance(p, Value) for p in parts):
        return product(parts)
    result: Any = g.constant(np.array(1, np.int64))
    for part in parts:
        result = g.Mul(result, part if isinstance(part, Value) else g.size(part))
    return result


def _some(flags: Iterable[bool]) -> bool:
    """Python's own any: the name is taken here."""
    return True in set(flags)


@rounded_once
def variance(g: GraphBuilder, x: Value, dim: Axes, correction: float | None, keepdim: bool) -> tuple[Value, Value]:
    """Variance and mean."""
    axes = axes_of(dim, x.rank)
    correction = 1.0 if correction is None else float(correction)
    centre = average(g, x, axes, True) if axes else x
    deviation = g.Sub(x, centre)
    squares = g.Mul(deviation, deviation)
    summed = g.ReduceSum(squares, axes) if axes else squares
    count = element_count(g, x, axes)
    if isinstance(count, (Dim, Value)):
        divisor = cast(g, count if isinstance(count, Value) else g.size(count), x.element)
        divisor = g.Max(g.Sub(divisor, correction), 0.0)
    else:
        divisor = value_of(g, max(count - correction, 0.0), x.element)
    result = g.Div(summed, divisor)
    if keepdim or not axes:
        return result, centre
    return g.Squeeze(result, axes), g.Squeeze(centre, axes)


def _correction(unbiased: bool) -> float:
    return 1.0 if unbiased else 0.0


@symbolic("aten", "var.correction")
def var(
    g: GraphBuilder, self: Value, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> Value:
    """aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"""
    return variance(g, self, dim, correction, keepdim)[0]


@symbolic("aten", "var.dim")
def var_dim(g: GraphBuilder, self: Value, dim: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    """aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"""
    return variance(g, self, dim, _correction(unbiased), keepdim)[0]


@symbolic("aten", "var.default")
def var_all(g: GraphBuilder, self: Value, unbiased: bool = True) -> Value:
    """aten::var(Tensor self, bool unbiased=True) -> Tensor"""
    return variance(g, self, None, _correction(unbiased), False)[0]


@symbolic("aten", "std.correction")
@rounded_once
def std(
    g: GraphBuilder, self: Value, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> Value:
    """aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"""
    return g.Sqrt(var(g, self, dim, correction, keepdim))


@symbolic("aten", "std.dim")
@rounded_once
def std_dim(g: GraphBuilder, self: Value, dim: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    """aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"""
    return g.Sqrt(var_dim(g, self, dim, unbiased, keepdim))


@symbolic("aten", "std.default")
@rounded_once
def std_all(g: GraphBuilder, self: Value, unbiased: bool = True) -> Value:
    """aten::std(Tensor self, bool unbiased=True) -> Tensor"""
    return g.Sqrt(var_all(g, self, unbiased))


@symbolic("aten", "var_mean.correction")
def var_mean(
    g: GraphBuilder, self: Value, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Value, Value]:
    """aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction, ...) -> (Tensor, Tensor)"""
    return variance(g, self, dim, correction, keepdim)


@symbolic("aten", "std_mean.correction")
@rounded_once
def std_mean(
    g: GraphBuilder, self: Value, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Value, Value]:
    """aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction, ...) -> (Tensor, Tensor)"""
    spread, centre = variance(g, self, dim, correction, keepdim)
    return g.Sqrt(spread), centre


# --- norms -----------------------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_vector_norm")
def linalg_vector_norm(
    g: GraphBuilder,
    self: Value,
    ord: Scalar = 2,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: DataType | None = None,
) -> Value:
    """aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, ...) -> Tensor"""
    x = g.Abs(cast(g, self, dtype) if dtype is not None else as_float(g, self))
    if isinstance(ord, (Value, Dim)):
        raise unsupported("a norm of an order that isn't a number", g)
    if ord == 0:
        return reduce(g, "ReduceSum", cast(g, g.Not(g.Equal(x, 0.0)), x.element), dim, keepdim)
    if math.isinf(ord):
        extreme = reduce(g, "ReduceMax" if ord > 0 else "ReduceMin", x, dim, keepdim)
        return g.Max(extreme, value_of(g, 0, x.element)) if ord > 0 else extreme  # of no elements it is 0
    if ord == 1:
        return reduce(g, "ReduceSum", x, dim, keepdim)
    return _power_norm(g, x, float(ord), dim, keepdim)


@rounded_once
def _power_norm(g: GraphBuilder, x: Value, ord: float, dim: Axes, keepdim: bool) -> Value:
    """The root of a sum of powers of numbers that aren't negative."""
    if ord == 2:
        return g.Sqrt(reduce(g, "ReduceSum", g.Mul(x, x), dim, keepdim))
    power = value_of(g, ord, x.element)
    return g.Pow(reduce(g, "ReduceSum", g.Pow(x, power), dim, keepdim), value_of(g, 1.0 / ord, x.element))


@symbolic("aten", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype")
def norm(
    g: GraphBuilder, self: Value, p: Scalar | None, dim: Axes, keepdim: bool = False, dtype: DataType | None = None
) -> Value:
    """aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor"""
    return linalg_vector_norm(g, self, 2 if p is None else p, dim, keepdim, dtype)


@symbolic("aten", "norm.Scalar")
def norm_scalar(g: GraphBuilder, self: Value, p: Scalar = 2) -> Value:
    """aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor"""
    return linalg_vector_norm(g, self, p)


@symbolic("aten", "frobenius_norm.dim")
def frobenius_norm(g: GraphBuilder, self: Value, dim: Axes, keepdim: bool = False) -> Value:
    """aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"""
    return linalg_vector_norm(g, self, 2, dim, keepdim)


@symbolic("aten", "dist")
def dist(g: GraphBuilder, self: Value, other: Value, p: Scalar = 2) -> Value:
    """aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor"""
    return linalg_vector_norm(g, g.Sub(self, other), p)


@symbolic("aten", "pairwise_distance")
def pairwise_distance(
    g: GraphBuilder, x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Value:
    """aten::pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor"""
    gap = as_float(g, g.Sub(*promoted(g, x1, x2)))  # small integers wrap around, as in torch
    return linalg_vector_norm(g, g.Add(gap, eps), p, [-1], keepdim)


@symbolic("aten", "cdist", "_cdist_forward")
def cdist(g: GraphBuilder, x1: Value, x2: Value, p: float = 2.0, compute_mode: int | None = None) -> Value:
    """aten::cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor"""
    # `compute_mode` chooses between this sum and a matrix product that loses digits
    gap = g.Sub(g.Unsqueeze(x1, [-2]), g.Unsqueeze(x2, [-3]))
    return linalg_vector_norm(g, gap, p, [-1])
