"""Layers with packed parameters, on quantised inputs and on floats that are quantised by the range they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..aten.convolution import convolution
from ..aten.linalg import linear as float_linear
from ..aten.promotion import DataType, cast
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .packed import PackedConv, PackedLinear
from .tensor import Quantized, from_levels, quantized, requantized

#: Ranges below are quantised with this scale: levels of smaller ones would overflow in fbgemm's own arithmetic.
_SMALLEST_SCALE = 6.1e-5


def by_range(g: GraphBuilder, x: Value, reduce_range: bool) -> Quantized:
    """A float tensor as bytes whose levels cover its range and 0, in 7 bits with `reduce_range`.

    The parameters are found in double precision, as torch finds them.
    """
    top = 127.0 if reduce_range else 255.0
    low = g.Min(cast(g, g.ReduceMin(x, keepdims=0), DataType.DOUBLE), 0.0)
    high = g.Max(cast(g, g.ReduceMax(x, keepdims=0), DataType.DOUBLE), 0.0)
    scale = g.Div(g.Sub(high, low), top)
    # of zeros alone the scale is 0: any zero point does
    zero = g.Round(g.Div(g.Neg(low), g.Max(scale, 1e-300)))
    zero = cast(g, g.Min(zero, top), DataType.UINT8)
    return quantized(g, x, cast(g, g.Max(scale, _SMALLEST_SCALE), DataType.FLOAT), zero, DataType.UINT8)


def _bias(g: GraphBuilder, x: Quantized | Value, packed: PackedLinear | PackedConv) -> Value | None:
    """The bias of a layer. qnnpack rounds it to the levels of the products that it is added to."""
    bias, weight = packed.bias, packed.weight
    if bias is None or packed.engine != "qnnpack" or not isinstance(x, Quantized) or not isinstance(weight, Quantized):
        return bias
    scale = g.Mul(x.scale, weight.scale)
    zero = g.constant(np.zeros(scale.sizes or (), np.int32))  # type: ignore[arg-type]
    return quantized(g, bias, scale, zero, DataType.INT32, 0 if scale.rank else None).numbers


def _weight(g: GraphBuilder, weight: Quantized | Value) -> Value:
    return weight.numbers if isinstance(weight, Quantized) else cast(g, weight, DataType.FLOAT)


# --- linear ----------------------------------------------------------------------------------------------------------


def linear_of(g: GraphBuilder, x: Quantized | Value, packed: PackedLinear) -> Value:
    """The layer's product with its input, in floats."""
    numbers = x.numbers if isinstance(x, Quantized) else x
    return float_linear(g, numbers, _weight(g, packed.weight), _bias(g, x, packed))


def linear_by_range(g: GraphBuilder, x: Value, packed: PackedLinear, reduce_range: bool) -> Value:
    """A layer whose float input is quantised by its range first; float16 weights take it as it is."""
    if isinstance(packed.weight, Quantized):
        # qnnpack always uses all 8 bits
        return linear_of(g, by_range(g, x, reduce_range and packed.engine != "qnnpack").numbers, packed)
    return linear_of(g, x, packed)


@symbolic("quantized", "linear")
def linear(g: GraphBuilder, X: Quantized, W_prepack: PackedLinear, Y_scale_i: float, Y_zero_point_i: int) -> Quantized:
    """quantized::linear(Tensor X, LinearPackedParamsBase W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor"""
    return quantized(g, linear_of(g, X, W_prepack), Y_scale_i, Y_zero_point_i, X.kind)


@symbolic("quantized", "linear_relu")
def linear_relu(
    g: GraphBuilder, X: Quantized, W_prepack: PackedLinear, Y_scale_i: float, Y_zero_point_i: int
) -> Quantized:
    """quantized::linear_relu(Tensor X, LinearPackedParamsBase W_prepack, float, int) -> Tensor"""
    return quantized(g, g.Relu(linear_of(g, X, W_prepack)), Y_scale_i, Y_zero_point_i, X.kind)


@symbolic("quantized", "linear_leaky_relu")
def linear_leaky_relu(
    g: GraphBuilder, X: Quantized, W_prepack: PackedLinear, Y_scale_i: float, Y_zero_point_i: int, negative_slope: float
) -> Quantized:
    """quantized::linear_leaky_relu(Tensor X, LinearPackedParamsBase W_prepack, float, int, float) -> Tensor"""
    y = g.LeakyRelu(linear_of(g, X, W_prepack), alpha=negative_slope)
    return quantized(g, y, Y_scale_i, Y_zero_point_i, X.kind)


@symbolic("quantized", "linear_tanh")
def linear_tanh(
    g: GraphBuilder, X: Quantized, W_prepack: PackedLinear, Y_scale_i: float, Y_zero_point_i: int
) -> Quantized:
    """quantized::linear_tanh(Tensor X, LinearPackedParamsBase W_prepack, float, int) -> Tensor"""
    return quantized(g, g.Tanh(linear_of(g, X, W_prepack)), Y_scale_i, Y_zero_point_i, X.kind)


@symbolic("quantized", "linear_with_input_q_dq_qweight_dq_output_fp32")
def linear_between_floats(
    g: GraphBuilder, X: Value, X_scale: float, X_zero_point: int, W_prepack: PackedLinear
) -> Value:
    """quantized::linear_with_input_q_dq_qweight_dq_output_fp32(Tensor X, float, int, ...) -> Tensor"""
    return linear_of(g, quantized(g, X, X_scale, X_zero_point, DataType.UINT8), W_prepack)


@symbolic("quantized", "linear_with_input_q_dq_qweight_dq_relu_output_fp32")
def linear_relu_between_floats(
    g: GraphBuilder, X: Value, X_scale: float, X_zero_point: int, W_prepack: PackedLinear
) -> Value:
    """quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32(Tensor X, float, int, ...) -> Tensor"""
    return g.Relu(linear_between_floats(g, X, X_scale, X_zero_point, W_prepack))


@symbolic("quantized", "linear_dynamic", "linear_dynamic_fp16")
def linear_dynamic(g: GraphBuilder, X: Value, W_prepack: PackedLinear, reduce_range: bool = False) -> Value:
    """quantized::linear_dynamic(Tensor X, LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor"""
    return linear_by_range(g, X, W_prepack, reduce_range)


@symbolic("quantized", "linear_relu_dynamic", "linear_relu_dynamic_fp16")
def linear_relu_dynamic(g: GraphBuilder, X: Value, W_prepack: PackedLinear, reduce_range: bool = False) -> Value:
    """quantized::linear_relu_dynamic(Tensor X, LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor"""
    return g.Relu(linear_by_range(g, X, W_prepack, reduce_range))


# --- convolution -----------------------------------------------------------------------------------------------------


def conv_of(g: GraphBuilder, x: Quantized | Value, packed: PackedConv) -> Value:
    """The layer's convolution of its float input; of one spatial axis, its parameters have a first one of size 1."""
    weight, axes = packed.weight, x.rank - 2
    x_numbers = x.numbers if isinstance(x, Quantized) else x
    numbers = _stripped(g, weight, axes).numbers
    stride, padding, dilation, output_padding = (
        n[-axes:] for n in (packed.stride, packed.padding, packed.dilation, packed.output_padding)
    )
    return convolution(
        g, x_numbers, numbers, _bias(g, x, packed), stride, padding, dilation, packed.transposed, output_padding,
        packed.groups,
    )  # fmt: skip


def _stripped(g: GraphBuilder, weight: Quantized, axes: int) -> Quantized:
    """The weight of a convolution over so many axes."""
    levels = weight.levels
    assert levels is not None
    if levels.rank == axes + 2:
        return weight
    sizes = [*(levels.sizes or ())]
    return from_levels(g, g.reshape(levels, [*sizes[:2], *sizes[-axes:]]), weight.scale, weight.zero, weight.axis)


def _register_conv(name: str, after: Callable[[GraphBuilder, Value], Value] | None) -> None:
    def conv(
        g: GraphBuilder, qx: Quantized, packed_weight: PackedConv, *output: Any
    ) -> Quantized:  # older schemas repeat the layer's numbers between
        y = conv_of(g, qx, packed_weight)
        return quantized(g, y if after is None else after(g, y), output[-2], output[-1], qx.kind)

    conv.__doc__ = f"quantized::{name}(Tensor qx, PackedParams packed_weight, float output_scale, int) -> Tensor"
    conv.__name__ = conv.__qualname__ = name
    symbolic("quantized", f"{name}.new", name)(conv)


for _axes in (1, 2, 3):
    _register_conv(f"conv{_axes}d", None)
    _register_conv(f"conv{_axes}d_relu", lambda g, y: g.Relu(y))
    _register_conv(f"conv_transpose{_axes}d", None)


@symbolic("quantized", "conv2d_add")
def conv2d_add(
    g: GraphBuilder, qx: Quantized, qaccum: Quantized, packed_weight: PackedConv, output_scale: float,
    output_zero_point: int,
) -> Quantized:  # fmt: skip
    """quantized::conv2d_add(Tensor qx, Tensor qaccum, Conv2dPackedParamsBase packed_weight, float, int) -> Tensor"""
    y = g.Add(conv_of(g, qx, packed_weight), qaccum.numbers)
    return quantized(g, y, output_scale, output_zero_point, qx.kind)


@symbolic("quantized", "conv2d_add_relu")
def conv2d_add_relu(
    g: GraphBuilder, qx: Quantized, qaccum: Quantized, packed_weight: PackedConv, output_scale: float,
    output_zero_point: int,
) -> Quantized:  # fmt: skip
    """quantized::conv2d_add_relu(Tensor qx, Tensor qaccum, Conv2dPackedParamsBase, float, int) -> Tensor"""
    y = g.Relu(g.Add(conv_of(g, qx, packed_weight), qaccum.numbers))
    return quantized(g, y, output_scale, output_zero_point, qx.kind)


@symbolic(
    "quantized", "conv1d_dynamic", "conv2d_dynamic", "conv3d_dynamic", "conv_transpose1d_dynamic",
    "conv_transpose2d_dynamic", "conv_transpose3d_dynamic",
)  # fmt: skip
def conv_dynamic(g: GraphBuilder, qx: Value, packed_weight: PackedConv, reduce_range: bool = False) -> Value:
    """quantized::conv2d_dynamic(Tensor qx, Conv2dPackedParamsBase packed_weight, bool reduce_range=False) -> Tensor"""
    x = by_range(g, qx, reduce_range and packed_weight.engine != "qnnpack")
    # torch rounds the result to the levels of the input, and cuts it off where these end
    return requantized(g, conv_of(g, x, replace(packed_weight, engine="")), x).numbers


# --- packing in the program ------------------------------------------------------------------------------------------


@symbolic("quantized", "linear_prepack")
def linear_prepack(g: GraphBuilder, W: Quantized, B: Value | None = None) -> Any:
    """quantized::linear_prepack(Tensor W, Tensor? B=None) -> LinearPackedParamsBase W_prepack"""
    return PackedLinear(W, B, "")


@symbolic("quantized", "linear_prepack_fp16")
def linear_prepack_fp16(g: GraphBuilder, W: Value, B: Value | None = None) -> Any:
    """quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> LinearPackedParamsBase W_prepack"""
    return PackedLinear(cast(g, W, DataType.FLOAT16), B, "")


@symbolic("quantized", "conv_prepack", "conv1d_prepack", "conv2d_prepack", "conv3d_prepack")
def conv_prepack(
    g: GraphBuilder, weight: Quantized, bias: Value | None, stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> Any:  # fmt: skip
    """quantized::conv2d_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, ...) -> Conv2dPackedParams"""
    return PackedConv(
        weight, bias, "", list(stride), list(padding), list(dilation), [0] * len(stride), groups, False
    )  # fmt: skip


@symbolic("quantized", "conv_transpose1d_prepack", "conv_transpose2d_prepack", "conv_transpose3d_prepack")
def conv_transpose_prepack(
    g: GraphBuilder, weight: Quantized, bias: Value | None, stride: list[int], padding: list[int],
    output_padding: list[int], dilation: list[int], groups: int,
) -> Any:  # fmt: skip
    """quantized::conv_transpose2d_prepack(Tensor weight, Tensor? bias, int[] stride, ...) -> Conv2dPackedParamsBase"""
    packed = conv_prepack(g, weight, bias, stride, padding, dilation, groups)
    return replace(packed, output_padding=list(output_padding), transposed=True)


@symbolic("quantized", "matmul")
def matmul(g: GraphBuilder, qa: Quantized, qb: Quantized, scale: float, zero_point: int) -> Quantized:
    """quantized::matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"""
    return quantized(g, g.MatMul(qa.numbers, qb.numbers), scale, zero_point, qa.kind)
