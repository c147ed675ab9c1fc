"""Convolution layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..nn import conv as nn
from ..nn import weights as kernels
from ..nn.layout import channels_first, channels_last
from ..registry import symbolic
from ..value import Value
from .activation import activate
from .layer import DIALECT, Layer, Weights, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def tuple_of(value: Any, count: int) -> list[int]:
    """An int or a list as a list of `count` ints."""
    return [int(value)] * count if isinstance(value, (int, float)) else [int(v) for v in value]


def enter(g: GraphBuilder, x: Value, data_format: str | None) -> Value:
    """A layer's operand with channels first."""
    return x if data_format == "channels_first" else channels_first(g, x)


def leave(g: GraphBuilder, y: Value, data_format: str | None, activation: Any = None) -> Value:
    """A layer's result, from one with channels first, after its activation."""
    return activate(g, y if data_format == "channels_first" else channels_last(g, y), activation)


@symbolic(DIALECT, "Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D")
def conv(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    groups: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    lora_rank: Any = None,
    quantization_config: Any = None,
    rank: int | None = None,
) -> Value:
    """keras.layers.Conv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, groups, activation)"""
    if lora_rank or quantization_config:
        refuse(g, layer, "LoRA weights and quantised kernels are not supported")
    count = x.rank - 2
    y = nn.conv(
        g,
        enter(g, x, data_format),
        kernels.channels_last_kernel(g, weights["kernel"]),
        weights.get("bias", use_bias),
        strides=tuple_of(strides, count),
        dilations=tuple_of(dilation_rate, count),
        padding=padding.upper(),
        groups=groups,
    )
    return leave(g, y, data_format, activation)


@symbolic(DIALECT, "DepthwiseConv1D", "DepthwiseConv2D")
def depthwise_conv(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    depth_multiplier: int = 1,
    data_format: str | None = None,
    dilation_rate: Any = 1,
    activation: Any = None,
    use_bias: bool = True,
    groups: int = 1,
    filters: Any = None,
    rank: int | None = None,
) -> Value:
    """keras.layers.DepthwiseConv2D(kernel_size, strides, padding, depth_multiplier, data_format, dilation_rate)"""
    y = _depthwise(g, enter(g, x, data_format), weights["kernel"], strides, padding, dilation_rate)
    bias = weights.get("bias", use_bias)
    if bias is not None:
        y = nn.with_bias(g, y, bias)
    return leave(g, y, data_format, activation)


def _depthwise(
    g: GraphBuilder, x: Value, kernel: Value, strides: Any, padding: str, dilation_rate: Any, bias: Value | None = None
) -> Value:
    count = x.rank - 2
    channels = kernel.dim(-2)
    assert isinstance(channels, int)
    return nn.conv(
        g,
        x,
        kernels.depthwise_kernel(g, kernel),
        bias,
        strides=tuple_of(strides, count),
        dilations=tuple_of(dilation_rate, count),
        padding=padding.upper(),
        groups=channels,
    )


@symbolic(DIALECT, "SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D")
def separable_conv(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    groups: int = 1,
    rank: int | None = None,
) -> Value:
    """keras.layers.SeparableConv2D(filters, kernel_size ...): a depthwise convolution, then one of size 1"""
    count = x.rank - 2
    y = _depthwise(g, enter(g, x, data_format), weights["depthwise_kernel"], strides, padding, dilation_rate)
    pointwise = kernels.channels_last_kernel(g, weights["pointwise_kernel"])
    y = nn.conv(g, y, pointwise, weights.get("bias", use_bias), strides=[1] * count)
    return leave(g, y, data_format, activation)


@symbolic(DIALECT, "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def conv_transpose(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    output_padding: Any = None,
    dilation_rate: Any = 1,
    activation: Any = None,
    use_bias: bool = True,
    groups: int = 1,
    rank: int | None = None,
) -> Value:
    """keras.layers.Conv2DTranspose(filters, kernel_size, strides, padding, output_padding, dilation_rate)"""
    if groups != 1:
        refuse(g, layer, f"groups={groups} is not supported")
    count = x.rank - 2
    weight = kernels.transposed_conv_kernel(g, weights["kernel"])
    steps, dilations = tuple_of(strides, count), tuple_of(dilation_rate, count)
    extra = [None] * count if output_padding is None else tuple_of(output_padding, count)
    axes = zip(nn.fixed_kernel(weight), steps, dilations, extra, strict=True)
    y = nn.conv_transpose(
        g,
        enter(g, x, data_format),
        weight,
        weights.get("bias", use_bias),
        strides=steps,
        dilations=dilations,
        pads=[transpose_pads(padding, k, s, d, o) for k, s, d, o in axes],
    )
    return leave(g, y, data_format, activation)


def transpose_pads(
    padding: str, kernel: int, stride: int, dilation: int, output_padding: int | None
) -> tuple[int, int]:
    """What Keras cuts from both ends of (size - 1) * stride + span elements; below 0 it adds elements.

    "same" gives size * stride elements, or (size - 1) * stride + span % 2 + output_padding where that is given;
    "valid" gives (size - 1) * stride + max(span, stride), or + span + output_padding.
    """
    span = (kernel - 1) * dilation + 1
    if padding == "valid":
        return 0, -(max(span, stride) - span if output_padding is None else output_padding)
    total = span - stride if output_padding is None else span - span % 2 - output_padding
    before = max(total // 2, 0)
    return before, total - before


def spatial(sizes: Sequence[Any], data_format: str | None) -> Sequence[Any]:
    """Sizes of the spatial axes."""
    return sizes[2:] if data_format == "channels_first" else sizes[1:-1]
