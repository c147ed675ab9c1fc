"""Ops that make tensors from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import INTEGERS, DataType, cast, ints, is_float, known_number, like, refused, scalar_of, size_list, sizes
from .common import full as filled


@symbolic("paddle_pir", "full", "full_int_array")
def full(g: GraphBuilder, value: Any, shape: Sequence[int] | None = None, dtype: DataType | None = None) -> Value:
    """full(int[] shape, double value, DataType dtype) -> Tensor"""
    wanted = dtype or DataType.FLOAT
    if shape is None:
        return g.constant(np.array(value, np.int64).astype(wanted.numpy()))
    return filled(g, list(shape), _within(value, wanted), wanted)


def _within(value: Any, dtype: DataType) -> Any:
    """A number as C++ puts it into a dtype: fractions of integers are cut off."""
    return int(value) if dtype in INTEGERS and np.isfinite(value) else value


@symbolic("paddle_pir", "full_")
def full_in_place(g: GraphBuilder, output: Value, shape: Sequence[int], value: float, dtype: DataType) -> Value:
    """full_(Tensor output, int[] shape, double value, DataType dtype) -> Tensor"""
    return filled(g, list(shape), _within(value, dtype), dtype)


@symbolic("paddle_pir")
def full_with_tensor(g: GraphBuilder, value: Value, shape: Any, dtype: DataType | None = None) -> Value:
    """full_with_tensor(Tensor value, int[] shape, DataType dtype) -> Tensor"""
    number = cast(g, scalar_of(g, value), dtype)
    return g.expand(number, size_list(g, shape, "full_with_tensor"))


@symbolic("paddle_pir")
def full_like(g: GraphBuilder, x: Value, value: Value, dtype: DataType | None = None) -> Value:
    """full_like(Tensor x, Scalar value, DataType dtype) -> Tensor"""
    return g.expand(cast(g, scalar_of(g, value), dtype or x.element), sizes(g, x))


@symbolic("paddle_pir", "zeros_like", "empty_like")
def zeros_like(g: GraphBuilder, x: Value, dtype: DataType | None = None) -> Value:
    """zeros_like(Tensor x, DataType dtype) -> Tensor"""
    return filled(g, sizes(g, x), 0, dtype or x.element)


@symbolic("paddle_pir")
def ones_like(g: GraphBuilder, x: Value, dtype: DataType | None = None) -> Value:
    """ones_like(Tensor x, DataType dtype) -> Tensor"""
    return filled(g, sizes(g, x), 1, dtype or x.element)


@symbolic("paddle_pir", "zeros", "empty")
def zeros(g: GraphBuilder, shape: Any, dtype: DataType | None = None) -> Value:
    """zeros(int[] shape, DataType dtype) -> Tensor"""
    return filled(g, size_list(g, shape, "zeros"), 0, dtype or DataType.FLOAT)


@symbolic("paddle_pir")
def ones(g: GraphBuilder, shape: Any, dtype: DataType | None = None) -> Value:
    """ones(int[] shape, DataType dtype) -> Tensor"""
    return filled(g, size_list(g, shape, "ones"), 1, dtype or DataType.FLOAT)


@symbolic("paddle_pir")
def full_batch_size_like(
    g: GraphBuilder, input: Value, shape: Sequence[int], dtype: DataType, value: float, input_dim_idx: int,
    output_dim_idx: int, str_value: str = "",
) -> Value:  # fmt: skip
    """full_batch_size_like(Tensor input, int[] shape, DataType dtype, double value, int input_dim_idx, int
    output_dim_idx) -> Tensor"""
    wanted: list[Any] = list(shape)
    wanted[output_dim_idx] = sizes(g, input)[input_dim_idx]
    return filled(g, wanted, _within(value, dtype), dtype)


@symbolic("paddle_pir", "assign_value")
def assign_value(g: GraphBuilder, shape: Sequence[int], dtype: DataType, values: Sequence[Any]) -> Value:
    """assign_value(int[] shape, DataType dtype, Scalar[] values) -> Tensor"""
    return g.constant(np.array(values).astype(dtype.numpy()).reshape(list(shape)))


@symbolic("paddle_pir", "assign_value_")
def assign_value_in_place(
    g: GraphBuilder, output: Value, shape: Sequence[int], dtype: DataType, values: Sequence[Any]
) -> Value:
    """assign_value_(Tensor output, int[] shape, DataType dtype, Scalar[] values) -> Tensor"""
    return assign_value(g, shape, dtype, values)


@symbolic("paddle_pir", "arange", "range", "range_v2")
def arange(g: GraphBuilder, start: Value, end: Value, step: Value, dtype: DataType | None = None) -> Value:
    """arange(Scalar start, Scalar end, Scalar step, DataType dtype) -> Tensor"""
    bounds = [scalar_of(g, v) for v in (start, end, step)]
    wanted = dtype or bounds[0].element
    if all(b.array is not None for b in bounds):
        first, last, by = (b.array.item() for b in bounds)  # type: ignore[union-attr]
        if wanted in INTEGERS:
            first, last, by = int(first), int(last), int(by)
        count = max(int(np.ceil((last - first) / by)), 0)
        return g.constant((first + np.arange(count) * by).astype(wanted.numpy()))
    return g.Range(*(cast(g, b, wanted) for b in bounds))


@symbolic("paddle_pir")
def linspace(g: GraphBuilder, start: Value, stop: Value, number: Value, dtype: DataType) -> Value:
    """linspace(Tensor start, Tensor stop, Tensor number, DataType dtype) -> Tensor"""
    compute_type = DataType.DOUBLE if dtype == DataType.DOUBLE else DataType.FLOAT
    first, last = (cast(g, scalar_of(g, v), compute_type) for v in (start, stop))
    (count,) = ints(g, number, "linspace", "a number of points")
    if count == 1:
        return cast(g, g.Reshape(first, [1]), dtype)
    steps = g.constant(np.arange(count).astype(compute_type.numpy()))
    step = (last - first) / float(count - 1)
    # Paddle counts from the nearer end
    up, down = first + step * steps, last - step * (float(count - 1) - steps)
    return cast(g, g.Where(g.constant(np.arange(count) < count // 2), up, down), dtype)


@symbolic("paddle_pir")
def eye(g: GraphBuilder, num_rows: Any, num_columns: Any, dtype: DataType | None = None) -> Value:
    """eye(Scalar num_rows, Scalar num_columns, DataType dtype) -> Tensor"""
    wanted = dtype or DataType.FLOAT
    if known_number(num_rows) is not None and known_number(num_columns) is not None:
        rows, columns = int(known_number(num_rows)), int(known_number(num_columns))  # type: ignore[arg-type]
        return g.constant(np.eye(rows, rows if columns < 0 else columns).astype(wanted.numpy()))
    down, along = (g.Range(np.int64(0), cast(g, scalar_of(g, n), DataType.INT64), np.int64(1))
                   for n in (num_rows, num_columns))  # fmt: skip
    return cast(g, g.Equal(g.Unsqueeze(down, [1]), along), wanted)


@symbolic("paddle_pir")
def tril_indices(g: GraphBuilder, rows: int, cols: int, offset: int, dtype: DataType) -> Value:
    """tril_indices(int rows, int cols, int offset, DataType dtype) -> Tensor"""
    return g.constant(np.array(np.tril_indices(rows, offset, cols)).astype(dtype.numpy()))


@symbolic("paddle_pir")
def triu_indices(g: GraphBuilder, row: int, col: int, offset: int, dtype: DataType) -> Value:
    """triu_indices(int row, int col, int offset, DataType dtype) -> Tensor"""
    return g.constant(np.array(np.triu_indices(row, offset, col)).astype(dtype.numpy()))


@symbolic("paddle_pir", "assign", "share_data", "memcpy", "memcpy_d2h", "memcpy_h2d", "npu_identity", "depend", "nop")
def assign(g: GraphBuilder, x: Value, *others: Any, dst_place_type: int = 0, format: int = -1) -> Value:
    """assign(Tensor x) -> Tensor"""
    return x


@symbolic("paddle_pir", "assign_out_")
def assign_out(g: GraphBuilder, x: Value, output: Value) -> Value:
    """assign_out_(Tensor x, Tensor output) -> Tensor"""
    return x


@symbolic("paddle_pir", "cast")
def cast_op(g: GraphBuilder, x: Value, dtype: DataType) -> Value:
    """cast(Tensor x, DataType dtype) -> Tensor"""
    return cast(g, x, dtype)


@symbolic("paddle_pir")
def view_dtype(g: GraphBuilder, input: Value, dtype: DataType) -> Value:
    """view_dtype(Tensor input, DataType dtype) -> Tensor"""
    if dtype.itemsize != input.element.itemsize:
        raise refused(g, "view_dtype", f"a view of {input.element.name} as {dtype.name} isn't supported")
    return input if input.dtype == dtype else g.call("BitCast", input, to=dtype)


@symbolic("paddle_pir")
def increment(g: GraphBuilder, x: Value, value: float = 1.0) -> Value:
    """increment(Tensor x, float value) -> Tensor"""
    return x + like(g, x, value if is_float(x) else int(value))
