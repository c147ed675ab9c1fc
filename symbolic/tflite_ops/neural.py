"""Convolutions, dense layers, pooling: floats, and integers exactly as the interpreter's reference kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn import conv as nn
from ..nn import pool
from ..nn.layout import channels_first, channels_last
from ..nn.weights import reshaped, transposed
from ..registry import symbolic
from ..value import Value
from .common import (
    DIALECT,
    Result,
    activated,
    finished,
    integer_range,
    is_float,
    one,
    quantization,
    refused,
    rescaled,
)

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_PADDING = ("SAME", "VALID")


def _float_weight(g: GraphBuilder, weight: Value) -> Value:
    """A weight as floats: stored so, in halves, or quantised for size only."""
    found = quantization(weight)
    if is_float(weight) or found is None:
        return weight if weight.element is _T.FLOAT else g.Cast(weight, to=_T.FLOAT)
    if weight.array is None:
        raise refused(g, "CONV_2D", "a quantised kernel that is computed isn't supported")
    shape = [1] * weight.rank
    shape[found.axis if found.scale.size > 1 else 0] = found.scale.size
    numbers = weight.array.astype(np.float32) - found.zero.astype(np.float32).reshape(shape)
    return g.constant(numbers * found.scale.reshape(shape))


def _hybrid(g: GraphBuilder, x: Value, weight: Value, op: str) -> None:
    if is_float(x) and not is_float(weight):
        raise refused(g, op, "floats with integer weights (dynamic range) aren't supported: its rounding isn't known")


def _convolved(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    groups: int,
    result: Result,
    activation: int,
    op: str,
    **how: Any,
) -> Value:
    """A convolution with an ONNX kernel (out, in / groups, height, width)."""  # fmt: skip
    if is_float(x):
        y = nn.conv(g, channels_first(g, x), _float_weight(g, weight), bias, groups=groups, **how)
        return channels_last(g, activated(g, y, activation, op))
    if x.element is not _T.INT8 or result[0] is not _T.INT8:
        raise refused(g, op, f"integers of {x.element.name} aren't supported")
    source = channels_first(g, x)
    total = _integers(g, source, weight, op, lambda a, w: nn.conv(g, a, w, groups=groups, **how), one(g, x, op)[1])
    if bias is not None:
        total = g.Add(total, g.Reshape(g.Cast(bias, to=_T.INT64), [1, -1, 1, 1]))
    scales = _factors(g, x, weight, result, op)
    y = rescaled(g, total, scales, [1, len(scales), 1, 1] if len(scales) > 1 else [])
    bounds = integer_range(g, activation, result, op)
    return channels_last(g, finished(g, y, result, bounds, one(g, result[1], op)[1]))


def _integers(g: GraphBuilder, x: Value, weight: Value, op: str, product: Any, zero: int) -> Value:
    """Sums of products of integers, as int64: in floats, which are exact as long as no sum reaches 2 ** 24."""
    array = weight.array
    found = quantization(weight)
    if array is None or found is None or found.zero.any():
        raise refused(g, op, "an integer kernel has to be constant, with zero points of 0")
    per_output = np.abs(array.astype(np.int64)).reshape(array.shape[0], -1).sum(1)
    wide = g.Sub(g.Cast(x, to=_T.FLOAT), float(zero)) if zero else g.Cast(x, to=_T.FLOAT)
    if int(per_output.max(initial=0)) * 255 >= 1 << 24:
        raise refused(g, op, "so many products are summed that single precision isn't exact")
    return g.Cast(product(wide, g.constant(array.astype(np.float32))), to=_T.INT64)


def _factors(g: GraphBuilder, x: Value, weight: Value, result: Result, op: str) -> list[float]:
    """What sums of products are multiplied by, for each channel or for all."""
    scale, _ = one(g, x, op)
    out, _ = one(g, result[1], op)
    found = quantization(weight)
    assert found is not None
    if found.scale.size == 1 and op == "FULLY_CONNECTED":  # the product is rounded to single precision there
        return [float(np.float32(scale * found.scale[0])) / float(out)]
    return [float(scale) * float(s) / float(out) for s in found.scale]


def _kept(g: GraphBuilder, new: Value, weight: Value, axis: int) -> Value:
    """A reordered weight with the quantisation of the one it was made from."""
    from .common import QUANTIZED, Quantization

    found = quantization(weight)
    if found is not None:
        new.meta[QUANTIZED] = Quantization(found.scale, found.zero, axis)
    return new


@symbolic(DIALECT, "CONV_2D")
def conv_2d(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    padding: int,
    stride_w: int,
    stride_h: int,
    activation: int,
    dilation_w: int,
    dilation_h: int,
    results: list[Result],
) -> Value:
    """CONV_2D(input, filter (out, height, width, in), bias; Conv2DOptions)"""  # fmt: skip
    _hybrid(g, x, weight, "CONV_2D")
    kernel = _kept(g, transposed(g, weight, [0, 3, 1, 2]), weight, 0)
    inner, channels = kernel.dim(1), x.dim(-1)
    if not (isinstance(inner, int) and isinstance(channels, int)):
        raise refused(g, "CONV_2D", "an open number of channels isn't supported")
    return _convolved(
        g, x, kernel, bias, channels // inner, results[0], activation, "CONV_2D", padding=_PADDING[padding],
        strides=[stride_h, stride_w], dilations=[dilation_h, dilation_w],
    )  # fmt: skip


@symbolic(DIALECT, "DEPTHWISE_CONV_2D")
def depthwise_conv_2d(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    padding: int,
    stride_w: int,
    stride_h: int,
    activation: int,
    dilation_w: int,
    dilation_h: int,
    results: list[Result],
) -> Value:
    """DEPTHWISE_CONV_2D(input, filter (1, height, width, out), bias; DepthwiseConv2DOptions)"""  # fmt: skip
    _hybrid(g, x, weight, "DEPTHWISE_CONV_2D")
    kernel = _kept(g, transposed(g, weight, [3, 0, 1, 2]), weight, 0)
    channels = x.dim(-1)
    if not isinstance(channels, int):
        raise refused(g, "DEPTHWISE_CONV_2D", "an open number of channels isn't supported")
    return _convolved(
        g, x, kernel, bias, channels, results[0], activation, "DEPTHWISE_CONV_2D", padding=_PADDING[padding],
        strides=[stride_h, stride_w], dilations=[dilation_h, dilation_w],
    )  # fmt: skip


@symbolic(DIALECT, "FULLY_CONNECTED")
def fully_connected(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    *,
    activation: int,
    weights_format: int,
    keep_num_dims: int,
    results: list[Result],
) -> Value:
    """FULLY_CONNECTED(input, weights (out, in), bias; FullyConnectedOptions)"""  # fmt: skip
    op = "FULLY_CONNECTED"
    if weights_format:
        raise refused(g, op, "shuffled weights aren't supported")
    _hybrid(g, x, weight, op)
    rows = x
    if not keep_num_dims or x.rank < 2:
        rows = x if x.rank == 2 else reshaped(g, x, [-1, _size(g, weight, 1)])
    if is_float(x):
        y = g.MatMul(rows, transposed(g, _float_weight(g, weight), [1, 0]))
        return activated(g, y if bias is None else g.Add(y, bias), activation, op)
    if x.element is not _T.INT8 or results[0][0] is not _T.INT8:
        raise refused(g, op, f"integers of {x.element.name} aren't supported")

    def product(a: Value, w: Value) -> Value:
        return g.MatMul(a, transposed(g, w, [1, 0]))

    total = _integers(g, rows, weight, op, product, one(g, x, op)[1])
    if bias is not None:
        total = g.Add(total, g.Cast(bias, to=_T.INT64))
    factors = _factors(g, x, weight, results[0], op)
    y = rescaled(g, total, factors, [len(factors)] if len(factors) > 1 else [])
    return finished(g, y, results[0], integer_range(g, activation, results[0], op), one(g, results[0][1], op)[1])


def _size(g: GraphBuilder, x: Value, axis: int) -> int:
    size = x.dim(axis)
    if not isinstance(size, int):
        raise refused(g, "FULLY_CONNECTED", "weights of open size aren't supported")
    return size


@symbolic(DIALECT, "MAX_POOL_2D")
def max_pool_2d(
    g: GraphBuilder,
    x: Value,
    *,
    padding: int,
    stride_w: int,
    stride_h: int,
    width: int,
    height: int,
    activation: int,
    results: list[Result],
) -> Value:
    """MAX_POOL_2D(input; Pool2DOptions)"""  # fmt: skip
    source = channels_first(g, x)
    how: dict[str, Any] = {"strides": [stride_h, stride_w], "padding": _PADDING[padding]}
    if is_float(x):
        return channels_last(
            g, activated(g, pool.max_pool(g, source, [height, width], **how), activation, "MAX_POOL_2D")
        )
    low, high = integer_range(g, activation, results[0], "MAX_POOL_2D")
    y = g.Clip(pool.max_pool(g, g.Cast(source, to=_T.FLOAT), [height, width], **how), float(low), float(high))
    return channels_last(g, g.Cast(y, to=x.element))


@symbolic(DIALECT, "AVERAGE_POOL_2D")
def average_pool_2d(
    g: GraphBuilder,
    x: Value,
    *,
    padding: int,
    stride_w: int,
    stride_h: int,
    width: int,
    height: int,
    activation: int,
    results: list[Result],
) -> Value:
    """AVERAGE_POOL_2D(input; Pool2DOptions)"""  # fmt: skip
    source = channels_first(g, x)
    how: dict[str, Any] = {"strides": [stride_h, stride_w], "padding": _PADDING[padding]}
    if is_float(x):
        y = pool.average_pool(g, source, [height, width], **how)
        return channels_last(g, activated(g, y, activation, "AVERAGE_POOL_2D"))
    if _PADDING[padding] == "SAME" and (height, width) != (1, 1):
        raise refused(g, "AVERAGE_POOL_2D", "integers with SAME padding aren't supported")
    # the sum of a window is exact in floats; its mean rounds halves away from zero
    count = height * width
    mean = pool.average_pool(g, g.Cast(source, to=_T.FLOAT), [height, width], **how)
    total = g.Cast(g.Round(g.Mul(mean, float(count))), to=_T.INT64)
    half = g.Where(g.Greater(total, 0), g.constant(count // 2), g.constant(-(count // 2)))
    y = g.Div(g.Add(total, half), count)
    bounds = integer_range(g, activation, results[0], "AVERAGE_POOL_2D")
    return channels_last(g, finished(g, y, results[0], bounds, 0))


@symbolic(DIALECT, "SOFTMAX")
def softmax(g: GraphBuilder, x: Value, *, beta: float, results: list[Result]) -> Value:
    """SOFTMAX(input; beta)"""
    if is_float(x):
        return g.Softmax(x if beta == 1 else g.Mul(x, float(beta)), axis=-1)
    if x.element is not _T.INT8 or results[0][0] is not _T.INT8:
        raise refused(g, "SOFTMAX", f"integers of {x.element.name} aren't supported")
    from .fixed import softmax_int8

    return softmax_int8(g, x, float(one(g, x, "SOFTMAX")[0]) * float(beta), results[0])
