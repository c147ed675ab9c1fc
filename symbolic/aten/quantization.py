"""Simulated quantisation, as QuantizeLinear and DequantizeLinear where the range is a whole byte."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..builder import GraphBuilder
from ..quantized.tensor import Quantized, quantized
from ..registry import symbolic
from ..value import Value
from .linalg import linear
from .promotion import DataType, Scalar, cast, unsupported, value_of
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


@symbolic("aten", "_weight_int4pack_mm_for_cpu")
def weight_int4pack_mm(g: GraphBuilder, self: Value, mat2: Value, qGroupSize: int, qScaleAndZeros: Value) -> Value:
    """aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor

    Level 8 of a group stands for its zero, which needn't be one of the numbers that the levels stand for.
    """
    if mat2.dtype != DataType.UINT4:
        raise unsupported("weights that the program packs itself", g)
    parts = cast(g, qScaleAndZeros, DataType.FLOAT)
    scale, offset = (g.Transpose(g.Gather(parts, i, axis=2), perm=[1, 0]) for i in (0, 1))
    weight = _by_groups(g, mat2, scale, qGroupSize)
    if offset.array is None or np.any(offset.array):
        rows, groups = size_at(g, scale, 0), size_at(g, scale, 1)
        weight = g.Add(g.reshape(weight, [rows, groups, qGroupSize]), g.Unsqueeze(offset, [2]))
        weight = g.reshape(weight, [rows, size_at(g, mat2, 1)])
    return cast(g, linear(g, cast(g, self, DataType.FLOAT), weight), self.element)


def _by_groups(g: GraphBuilder, levels: Value, scale: Value, group: int) -> Value:
    """Levels of 4 bits, 8 of which is 0, with a scale for each group of a row."""
    if group == levels.dim(1):
        scale = g.Squeeze(scale, [1])
    zero = g.constant(np.full(tuple(scale.sizes or ()), 8, ml_dtypes.uint4))  # type: ignore[arg-type]
    how = {"axis": 0} if scale.rank == 1 else {"axis": 1, "block_size": group}
    result: Value = g.DequantizeLinear(levels, scale, zero, **how)
    return result


@symbolic("aten", "_dyn_quant_matmul_4bit")
def dyn_quant_matmul_4bit(
    g: GraphBuilder, inp: Value, packed_weights: Value, block_size: int, in_features: int, out_features: int
) -> Value:
    """aten::_dyn_quant_matmul_4bit(Tensor inp, Tensor packed_weights, int block_size, int in_features, int) -> Tensor

    Rows of the input are quantised by their range. Packed are bytes of two levels, scales and biases, all as floats.
    """
    packed, halves = packed_weights.array, in_features * out_features // 2
    groups = in_features // block_size
    end = halves + out_features * groups
    if packed is None or packed.dtype != np.float32 or packed.size not in (end, end + out_features):
        raise unsupported("weights of 4 bits that are packed for another processor, or by the program itself", g)
    pairs = packed[:halves].astype(np.uint8).reshape(out_features, -1)
    levels = np.stack([pairs & 15, pairs >> 4], -1).reshape(out_features, in_features).astype(ml_dtypes.uint4)
    scale = g.constant(packed[halves:end].reshape(out_features, groups))
    weight = _by_groups(g, g.constant(levels), scale, block_size)
    bias = g.constant(packed[end:]) if packed.size > end else None
    low = g.Min(g.ReduceMin(inp, [1], keepdims=0), 0.0)
    high = g.Max(g.ReduceMax(inp, [1], keepdims=0), 0.0)
    spread = g.Sub(high, low)
    steps = g.Where(g.Equal(spread, 0.0), value_of(g, 1.0, inp.element), g.Div(value_of(g, 255.0, inp.element), spread))
    bottom, top = g.Mul(low, steps), g.Mul(high, steps)
    from_low = g.Greater(g.Add(g.Add(bottom, -128.0), g.Add(top, 127.0)), 0.0)
    zero = g.Where(from_low, g.Sub(-128.0, bottom), g.Sub(127.0, top))
    zero = cast(g, g.Round(g.Clip(zero, value_of(g, -128.0, inp.element), value_of(g, 127.0, inp.element))),
                DataType.INT8)  # fmt: skip
    step = g.Reciprocal(steps)
    x = g.DequantizeLinear(g.QuantizeLinear(inp, step, zero, axis=0), step, zero, axis=0)
    return linear(g, x, weight, bias)
