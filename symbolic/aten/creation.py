"""Tensors made from numbers and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, Scalar, cast, is_float, number_type, unsupported, value_of
from .shape import sizes

Sizes = Sequence[Any]


def filled(g: GraphBuilder, shape: Sizes, value: Scalar, dtype: DataType) -> Value:
    """A tensor with one value everywhere."""
    return g.expand(value_of(g, value, dtype), list(shape))


@symbolic("aten", "full")
def full(g: GraphBuilder, size: Sizes, fill_value: Scalar, dtype: DataType | None = None) -> Value:
    """aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor"""
    if dtype is None:
        dtype = fill_value.element if isinstance(fill_value, Value) else number_type(fill_value)
    return filled(g, size, fill_value, dtype)


@symbolic("aten", "zeros", "empty.memory_format")
def zeros(g: GraphBuilder, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::zeros(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, size, 0, dtype or DataType.FLOAT)


@symbolic("aten", "ones")
def ones(g: GraphBuilder, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::ones(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, size, 1, dtype or DataType.FLOAT)


@symbolic("aten", "empty_strided", "new_empty_strided")
def empty_strided(g: GraphBuilder, *arguments: Any, dtype: DataType | None = None) -> Value:
    """aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, ...) -> Tensor"""
    size = arguments[-2]
    own = arguments[0].element if isinstance(arguments[0], Value) else DataType.FLOAT
    return filled(g, size, 0, dtype or own)


@symbolic("aten", "zeros_like", "empty_like")
def zeros_like(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::zeros_like(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, sizes(g, self), 0, dtype or self.element)


@symbolic("aten", "ones_like")
def ones_like(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::ones_like(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, sizes(g, self), 1, dtype or self.element)


@symbolic("aten", "full_like")
def full_like(g: GraphBuilder, self: Value, fill_value: Scalar, dtype: DataType | None = None) -> Value:
    """aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, sizes(g, self), fill_value, dtype or self.element)


@symbolic("aten", "fill")
def fill(g: GraphBuilder, self: Value, value: Scalar) -> Value:
    """aten::fill.Scalar(Tensor self, Scalar value) -> Tensor"""
    return filled(g, sizes(g, self), value, self.element)


@symbolic("aten", "zero")
def zero(g: GraphBuilder, self: Value) -> Value:
    """aten::zero(Tensor self) -> Tensor"""
    return filled(g, sizes(g, self), 0, self.element)


@symbolic("aten", "new_zeros", "new_empty")
def new_zeros(g: GraphBuilder, self: Value, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, size, 0, dtype or self.element)


@symbolic("aten", "new_ones")
def new_ones(g: GraphBuilder, self: Value, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, size, 1, dtype or self.element)


@symbolic("aten", "new_full")
def new_full(g: GraphBuilder, self: Value, size: Sizes, fill_value: Scalar, dtype: DataType | None = None) -> Value:
    """aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor"""
    return filled(g, size, fill_value, dtype or self.element)


@symbolic("aten", "scalar_tensor")
def scalar_tensor(g: GraphBuilder, s: Scalar, dtype: DataType | None = None) -> Value:
    """aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, ...) -> Tensor"""
    return value_of(g, s, dtype or DataType.FLOAT)


@symbolic("aten", "arange.start_step")
def arange_start_step(
    g: GraphBuilder, start: Scalar, end: Scalar, step: Scalar = 1, dtype: DataType | None = None
) -> Value:
    """aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, ...) -> Tensor"""
    if dtype is None:
        floats = any(isinstance(v, float) or (isinstance(v, Value) and is_float(v.element)) for v in (start, end, step))
        dtype = DataType.FLOAT if floats else DataType.INT64
    if is_float(dtype) or any(isinstance(v, float) for v in (start, end, step)):
        return _float_range(g, start, end, step, dtype)
    bounds = [value_of(g, v, DataType.INT64) for v in (start, end, step)]
    return cast(g, g.Range(*bounds), dtype)


def _float_range(g: GraphBuilder, start: Scalar, end: Scalar, step: Scalar, dtype: DataType) -> Value:
    """start + i * step: the count in double precision, the elements without summing errors up."""
    double = DataType.DOUBLE
    low, high, by = (value_of(g, v, double) for v in (start, end, step))
    count = g.Cast(g.Ceil(g.Div(g.Sub(high, low), by)), to=DataType.INT64)
    index = g.Range(0, g.Max(count, 0), 1)
    if not is_float(dtype):  # torch counts with the given numbers, but steps with their whole parts
        low, by = cast(g, low, DataType.INT64), cast(g, by, DataType.INT64)
    return cast(g, g.Add(low, g.Mul(cast(g, index, low.element), by)), dtype)


@symbolic("aten", "arange", "arange.default")
def arange(g: GraphBuilder, end: Scalar, dtype: DataType | None = None) -> Value:
    """aten::arange(Scalar end, *, ScalarType? dtype=None, ...) -> Tensor"""
    return arange_start_step(g, 0, end, 1, dtype)


@symbolic("aten", "arange.start")
def arange_start(g: GraphBuilder, start: Scalar, end: Scalar, dtype: DataType | None = None) -> Value:
    """aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, ...) -> Tensor"""
    return arange_start_step(g, start, end, 1, dtype)


@symbolic("aten", "linspace")
def linspace(g: GraphBuilder, start: Scalar, end: Scalar, steps: Any, dtype: DataType | None = None) -> Value:
    """aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, ...) -> Tensor"""
    double = DataType.DOUBLE
    dtype = dtype or DataType.FLOAT
    low, high = value_of(g, start, double), value_of(g, end, double)
    if steps == 1:
        return g.reshape(cast(g, low, dtype), [1])
    count = value_of(g, steps, DataType.INT64)
    index = g.Cast(g.Range(0, count, 1), to=double)
    step = g.Div(g.Sub(high, low), g.Cast(g.Sub(count, 1), to=double))
    # from both ends to the middle, as torch does: the last element is exactly `end`
    back = g.Sub(high, g.Mul(step, g.Sub(g.Cast(g.Sub(count, 1), to=double), index)))
    front = g.Add(low, g.Mul(step, index))
    half = g.Cast(g.Div(count, 2), to=double)
    return cast(g, g.Where(g.Less(index, half), front, back), dtype)


@symbolic("aten", "logspace")
def logspace(
    g: GraphBuilder, start: Scalar, end: Scalar, steps: Any, base: float = 10.0, dtype: DataType | None = None
) -> Value:
    """aten::logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None) -> Tensor"""
    exponents = linspace(g, start, end, steps, DataType.DOUBLE)
    return cast(g, g.Pow(value_of(g, base, DataType.DOUBLE), exponents), dtype or DataType.FLOAT)


@symbolic("aten", "eye")
def eye(g: GraphBuilder, n: Any, dtype: DataType | None = None) -> Value:
    """aten::eye(SymInt n, *, ScalarType? dtype=None, ...) -> Tensor"""
    return eye_m(g, n, n, dtype)


@symbolic("aten", "eye.m")
def eye_m(g: GraphBuilder, n: Any, m: Any, dtype: DataType | None = None) -> Value:
    """aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, ...) -> Tensor"""
    dtype = dtype or DataType.FLOAT
    if isinstance(n, int) and isinstance(m, int):
        return g.constant(np.eye(n, m, dtype=dtype.numpy()))
    rows, columns = (g.Range(0, g.size(s), 1) for s in (n, m))
    return cast(g, g.Equal(g.Unsqueeze(rows, [1]), g.Unsqueeze(columns, [0])), dtype)


@symbolic("aten", "tril_indices")
def tril_indices(g: GraphBuilder, row: int, col: int, offset: int = 0, dtype: DataType | None = None) -> Value:
    """aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, ...) -> Tensor"""
    if isinstance(row, Dim) or isinstance(col, Dim):
        raise unsupported("triangle indices of open sizes", g)
    return g.constant(np.stack(np.tril_indices(row, offset, col)), dtype or DataType.INT64)


@symbolic("aten", "triu_indices")
def triu_indices(g: GraphBuilder, row: int, col: int, offset: int = 0, dtype: DataType | None = None) -> Value:
    """aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, ...) -> Tensor"""
    if isinstance(row, Dim) or isinstance(col, Dim):
        raise unsupported("triangle indices of open sizes", g)
    return g.constant(np.stack(np.triu_indices(row, offset, col)), dtype or DataType.INT64)
