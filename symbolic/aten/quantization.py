"""Simulated quantisation, as QuantizeLinear and DequantizeLinear where the range is a whole byte."""

from __future__ import annotations

import numpy as np

from ..builder import GraphBuilder
from ..quantized.tensor import Quantized, quantized
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, Scalar, cast, value_of
from .shape import axis_of, size_at

_BYTES = {(-128, 127): DataType.INT8, (0, 255): DataType.UINT8}


@symbolic("aten", "fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor_affine(
    g: GraphBuilder, self: Value, scale: Scalar, zero_point: Scalar, quant_min: int, quant_max: int
) -> Value:
    """aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int, int) -> Tensor"""
    return _faked(g, self, value_of(g, scale, self.element), value_of(g, zero_point, DataType.INT32), quant_min,
                  quant_max, None)  # fmt: skip


@symbolic("aten", "fake_quantize_per_channel_affine")
def fake_quantize_per_channel_affine(
    g: GraphBuilder, self: Value, scale: Value, zero_point: Value, axis: int, quant_min: int, quant_max: int
) -> Value:
    """aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, ...) -> Tensor"""
    return _faked(g, self, scale, zero_point, quant_min, quant_max, axis_of(axis, self.rank))


def _faked(g: GraphBuilder, x: Value, scale: Value, zero_point: Value, low: int, high: int, axis: int | None) -> Value:
    kind = _BYTES.get((low, high))
    if axis is None:
        scale, zero_point = (g.reshape(v, []) if v.rank else v for v in (scale, zero_point))
    if kind is not None and zero_point.dtype != DataType.FLOAT:
        zero = cast(g, zero_point, kind)
        how = {} if axis is None else {"axis": axis}
        return g.DequantizeLinear(g.QuantizeLinear(x, scale, zero, **how), scale, zero, **how)
    shape = [1] * x.rank
    if axis is not None:
        shape[axis] = size_at(g, x, axis)
        scale, zero_point = g.reshape(scale, shape), g.reshape(zero_point, shape)
    zero = cast(g, zero_point, x.element)
    steps = g.Add(g.Round(g.Mul(x, g.Reciprocal(scale))), zero)
    steps = g.Clip(steps, g.constant(np.array(low, x.element.numpy())), g.constant(np.array(high, x.element.numpy())))
    return g.Mul(g.Sub(steps, zero), scale)


# --- quantised tensors: what takes one is in dialect aten.quantized ---------------------------------------------------


@symbolic("aten", "quantize_per_tensor", "quantize_per_tensor.tensor_qparams")
def quantize_per_tensor(g: GraphBuilder, self: Value, scale: Scalar, zero_point: Scalar, dtype: DataType) -> Quantized:
    """aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"""
    return quantized(g, self, scale, zero_point, dtype)


@symbolic("aten", "quantize_per_channel")
def quantize_per_channel(
    g: GraphBuilder, self: Value, scales: Value, zero_points: Value, axis: int, dtype: DataType
) -> Quantized:
    """aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType) -> Tensor"""
    return quantized(g, self, scales, zero_points, dtype, axis_of(axis, self.rank))


@symbolic("aten", "dequantize.self", "dequantize")
def dequantize(g: GraphBuilder, self: Value) -> Value:
    """aten::dequantize.self(Tensor self) -> Tensor"""
    return self


# --- weights alone ----------------------------------------------------------------------------------------------------


@symbolic("aten", "_int_mm")
def int_mm(g: GraphBuilder, self: Value, mat2: Value) -> Value:
    """aten::_int_mm(Tensor self, Tensor mat2) -> Tensor"""
    return g.MatMulInteger(self, mat2)


@symbolic("aten", "_weight_int8pack_mm")
def weight_int8pack_mm(g: GraphBuilder, self: Value, mat2: Value, scales: Value) -> Value:
    """aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor"""
    zeros = g.expand(g.constant(0, DataType.INT8), [size_at(g, scales, 0)])
    weight = g.DequantizeLinear(mat2, cast(g, scales, DataType.FLOAT), zeros, axis=0)
    return cast(g, g.MatMul(cast(g, self, DataType.FLOAT), g.Transpose(weight, perm=[1, 0])), self.element)
