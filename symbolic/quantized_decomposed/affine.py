"""Quantisation by scale and zero point: whole tensors, channels, tokens, and parameters found at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aten.promotion import DataType, Scalar, cast, value_of
from ..aten.shape import axis_of, size_at
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value

_LIMITS = {DataType.INT8: (-128, 127), DataType.UINT8: (0, 255)}


def _quantize(
    g: GraphBuilder, x: Value, scale: Value, zero: Value, low: int, high: int, dtype: DataType, axis: int | None
) -> Value:
    """Levels of a tensor; QuantizeLinear where levels are bytes."""
    limits = _LIMITS.get(dtype)
    x = x if x.dtype in (DataType.FLOAT, DataType.FLOAT16) else cast(g, x, DataType.FLOAT)
    scale = cast(g, scale, x.element)
    if limits is not None:
        how = {} if axis is None else {"axis": axis}
        levels = g.QuantizeLinear(x, scale, cast(g, zero, dtype), **how)
        if (low, high) == limits:
            return levels
        wide = cast(g, levels, DataType.INT32)
        return cast(g, g.Min(g.Max(wide, g.constant(low, "int32")), g.constant(high, "int32")), dtype)
    scale, zero = _along(g, x, scale, axis), _along(g, x, zero, axis)
    return _levels(g, x, scale, zero, low, high, dtype)


def _levels(g: GraphBuilder, x: Value, scale: Value, zero: Value, low: int, high: int, dtype: DataType) -> Value:
    steps = g.Add(g.Round(g.Mul(x, g.Reciprocal(scale))), cast(g, zero, x.element))
    return cast(g, g.Clip(steps, value_of(g, float(low), x.element), value_of(g, float(high), x.element)), dtype)


def _dequantize(g: GraphBuilder, x: Value, scale: Value, zero: Value, axis: int | None, out: DataType | None) -> Value:
    wanted = out or DataType.FLOAT
    if x.dtype in _LIMITS:
        how = {} if axis is None else {"axis": axis}
        return cast(g, g.DequantizeLinear(x, cast(g, scale, DataType.FLOAT), cast(g, zero, x.element), **how), wanted)
    scale, zero = _along(g, x, cast(g, scale, wanted), axis), _along(g, x, cast(g, zero, wanted), axis)
    return g.Mul(g.Sub(cast(g, x, wanted), zero), scale)


def _along(g: GraphBuilder, x: Value, vector: Value, axis: int | None) -> Value:
    """Numbers of channels, shaped to meet the tensor's axis."""
    if axis is None:
        return vector
    return g.reshape(vector, [size_at(g, vector, 0) if i == axis else 1 for i in range(x.rank)])


def _scalar(g: GraphBuilder, number: Scalar, dtype: DataType) -> Value:
    value = value_of(g, number, dtype)
    return g.reshape(value, []) if value.rank else value


@symbolic("quantized_decomposed", "quantize_per_tensor")
def quantize_per_tensor(
    g: GraphBuilder, input: Value, scale: Scalar, zero_point: Scalar, quant_min: int, quant_max: int, dtype: DataType
) -> Value:
    """quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, ...) -> Tensor"""
    return _quantize(g, input, _scalar(g, scale, DataType.FLOAT), _scalar(g, zero_point, DataType.INT32), quant_min,
                     quant_max, dtype, None)  # fmt: skip


@symbolic("quantized_decomposed", "dequantize_per_tensor")
def dequantize_per_tensor(
    g: GraphBuilder, input: Value, scale: Scalar, zero_point: Scalar, quant_min: int, quant_max: int, dtype: DataType,
    out_dtype: DataType | None = None,
) -> Value:  # fmt: skip
    """quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, ...) -> Tensor"""
    return _dequantize(g, input, _scalar(g, scale, DataType.FLOAT), _scalar(g, zero_point, DataType.INT32), None,
                       out_dtype)  # fmt: skip


@symbolic("quantized_decomposed", "quantize_per_channel")
def quantize_per_channel(
    g: GraphBuilder, input: Value, scales: Value, zero_points: Value, axis: int, quant_min: int, quant_max: int,
    dtype: DataType,
) -> Value:  # fmt: skip
    """quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, ...) -> Tensor"""
    return _quantize(g, input, scales, zero_points, quant_min, quant_max, dtype, axis_of(axis, input.rank))


@symbolic("quantized_decomposed", "dequantize_per_channel")
def dequantize_per_channel(
    g: GraphBuilder, input: Value, scales: Value, zero_points: Value | None, axis: int, quant_min: int, quant_max: int,
    dtype: DataType, out_dtype: DataType | None = None,
) -> Value:  # fmt: skip
    """quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, ...) -> Tensor"""
    zeros = g.constant(np.zeros(1, np.int32)) if zero_points is None else zero_points
    if zero_points is None:
        zeros = g.expand(zeros, [size_at(g, scales, 0)])
    return _dequantize(g, input, scales, zeros, axis_of(axis, input.rank), out_dtype)


@symbolic("quantized_decomposed", "quantize_per_token")
def quantize_per_token(
    g: GraphBuilder, input: Value, scales: Value, zero_points: Value, quant_min: int, quant_max: int, dtype: DataType
) -> Value:
    """quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, ...) -> Tensor"""
    return _levels(g, input, cast(g, scales, input.element), zero_points, quant_min, quant_max, dtype)


@symbolic("quantized_decomposed", "dequantize_per_token")
def dequantize_per_token(
    g: GraphBuilder, input: Value, scales: Value, zero_points: Value, quant_min: int, quant_max: int, dtype: DataType,
    output_dtype: DataType = DataType.FLOAT,
) -> Value:  # fmt: skip
    """quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, ...) -> Tensor"""
    steps = g.Sub(cast(g, input, output_dtype), cast(g, zero_points, output_dtype))
    return g.Mul(steps, cast(g, scales, output_dtype))


@symbolic("quantized_decomposed", "choose_qparams.tensor")
def choose_qparams(
    g: GraphBuilder, input: Value, quant_min: int, quant_max: int, eps: float, dtype: Any
) -> tuple[Value, Value]:
    """quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int, float eps, ...) -> (Tensor, Tensor)

    Scale and zero point that cover the numbers of a tensor and zero, in double precision as torch has them.
    """
    double = DataType.DOUBLE
    low = g.Min(cast(g, g.ReduceMin(input, keepdims=0), double), 0.0)
    high = g.Max(cast(g, g.ReduceMax(input, keepdims=0), double), 0.0)
    scale = g.Max(g.Div(g.Sub(high, low), float(quant_max - quant_min)), eps)
    zero = g.Sub(float(quant_min), g.Round(g.Div(low, scale)))
    zero = g.Min(g.Max(zero, float(quant_min)), float(quant_max))
    return g.reshape(scale, [1]), g.reshape(cast(g, zero, DataType.INT64), [1])
