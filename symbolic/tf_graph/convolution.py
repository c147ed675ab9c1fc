"""Convolutions, pooling, and what goes with them; channels-last tensors through their twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn import conv as nn
from ..nn import pool
from ..nn.layout import broadcast_twin, channels_first, channels_last, has_twin
from ..nn.weights import channels_last_kernel, depthwise_kernel, transposed_conv_kernel
from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, as_value, cast, int64, ints, refused, size_at, sizes_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _first(data_format: str) -> bool:
    return data_format.startswith("NC")


def _enter(g: GraphBuilder, x: Value, data_format: str) -> Value:
    return x if _first(data_format) else channels_first(g, x)


def _leave(g: GraphBuilder, y: Value, data_format: str) -> Value:
    return y if _first(data_format) else channels_last(g, y)


def _spatial(values: Sequence[Any], data_format: str) -> list[Any]:
    """Entries of the spatial axes, out of one for each axis."""
    return list(values[2:] if _first(data_format) else values[1:-1])


def _padding(padding: str, explicit: Sequence[int], data_format: str) -> nn.Padding:
    if padding != "EXPLICIT":
        return padding
    return _spatial([tuple(p) for p in np.array(explicit).reshape(-1, 2).tolist()], data_format)


def _channels(x: Value, axis: int, g: GraphBuilder, op: str) -> int:
    size = x.dim(axis)
    if not isinstance(size, int):
        raise refused(g, op, "an open number of channels isn't supported")
    return size


@symbolic(DIALECT, "Conv2D", "Conv3D")
def conv(
    g: GraphBuilder,
    x: Value,
    kernel: Value,
    *,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
) -> Value:
    """Conv2D(input: T, filter: T, strides, padding, explicit_paddings, data_format, dilations) -> T"""
    source = _enter(g, x, data_format)
    inner = _channels(kernel, -2, g, "Conv2D")
    y = nn.conv(
        g,
        source,
        channels_last_kernel(g, kernel),
        strides=_spatial(strides, data_format),
        dilations=_spatial(dilations or [1] * x.rank, data_format),
        padding=_padding(padding, explicit_paddings, data_format),
        groups=_channels(source, 1, g, "Conv2D") // inner if source.dim(1) is not None else 1,
    )
    return _leave(g, y, data_format)


@symbolic(DIALECT, "DepthwiseConv2dNative")
def depthwise_conv(
    g: GraphBuilder,
    x: Value,
    kernel: Value,
    *,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
) -> Value:
    """DepthwiseConv2dNative(input: T, filter: T, strides, padding, explicit_paddings, data_format, dilations) -> T"""
    y = nn.conv(
        g,
        _enter(g, x, data_format),
        depthwise_kernel(g, kernel),
        strides=_spatial(strides, data_format),
        dilations=_spatial(dilations or [1] * x.rank, data_format),
        padding=_padding(padding, explicit_paddings, data_format),
        groups=_channels(kernel, -2, g, "DepthwiseConv2dNative"),
    )
    return _leave(g, y, data_format)


@symbolic(DIALECT, "Conv2DBackpropInput", "Conv3DBackpropInputV2")
def conv_backprop_input(
    g: GraphBuilder,
    sizes: Value,
    kernel: Value,
    x: Value,
    *,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
) -> Value:
    """Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T, ...) -> T: a transposed convolution"""
    weight = transposed_conv_kernel(g, kernel)
    source = _enter(g, x, data_format)
    steps, spread = _spatial(strides, data_format), _spatial(dilations or [1] * x.rank, data_format)
    asked = _spatial(sizes_of(g, sizes, "Conv2DBackpropInput"), data_format)
    fixed = _padding(padding, explicit_paddings, data_format)
    pads: list[tuple[int, int]] = []
    cuts: dict[int, tuple[Value, Any]] = {}
    for i, (k, s, d) in enumerate(zip(nn.fixed_kernel(weight), steps, spread, strict=True)):
        want, have = asked[i], size_at(g, source, i + 2)
        before: int | None = fixed[i][0] if not isinstance(fixed, str) else 0 if fixed == "VALID" else None
        overlap = (k - 1) * d + 1 - s  # have * s + overlap elements, where nothing is cut off
        total = None if isinstance(have, Value) or isinstance(want, Value) else have * s + overlap - want
        if isinstance(total, int):
            before = max(total, 0) // 2 if before is None else before
            pads.append((before, total - before))
            continue
        pads.append((0, 0))
        surplus = g.Sub(g.Add(g.Mul(as_value(g, have), s), overlap), as_value(g, want))
        # the padding that the convolution of that size has
        cuts[i + 2] = g.Div(g.Max(surplus, 0), 2) if before is None else g.constant(before), want
    y = nn.conv_transpose(g, source, weight, strides=steps, dilations=spread, pads=pads)
    y = _cut(g, y, cuts) if cuts else y
    known = [None if isinstance(w, Value) else w for w in asked]
    assert y.sizes is not None
    y.sizes = (*y.sizes[:2], *(w if w is not None else s for w, s in zip(known, y.sizes[2:], strict=True)))
    return _leave(g, y, data_format)


def _cut(g: GraphBuilder, y: Value, cuts: dict[int, tuple[Value, Any]]) -> Value:
    """Parts of axes, by their first place and size, which are known at run time only; zeros follow what ends early."""
    starts = [start for start, _ in cuts.values()]
    ends = [g.Add(start, as_value(g, size)) for start, size in cuts.values()]
    behind: list[Any] = [0] * (2 * y.rank)
    for axis, end in zip(cuts, ends, strict=True):
        behind[y.rank + axis] = g.Max(g.Sub(end, as_value(g, size_at(g, y, axis))), 0)
    longer = call(g, "Pad", y, g.shape_vector(behind))
    result: Value = g.Slice(longer, g.shape_vector(starts), g.shape_vector(ends), list(cuts))
    return result


@symbolic(DIALECT, "BiasAdd", "BiasAddV1")
def bias_add(g: GraphBuilder, x: Value, bias: Value, *, data_format: str = "NHWC") -> Value:
    """BiasAdd(value: T, bias: T, data_format: string) -> T"""
    if _first(data_format) and x.rank > 2:
        return nn.with_bias(g, x, bias)
    if not has_twin(x):
        return call(g, "Add", x, bias)
    twin = channels_first(g, x)
    node = twin.producer()
    # the channels-last value of the convolution itself reads the twin, but nothing else may
    only = node is not None and node.op_type == "Conv" and len(node.inputs) == 2 and not x.uses()
    if only and len(list(twin.uses())) <= 1 and twin.builder is g:
        node.resize_inputs(3)  # type: ignore[union-attr]
        node.replace_input_with(2, bias)  # type: ignore[union-attr]
        return x
    return channels_last(g, call(g, "Add", twin, broadcast_twin(g, bias, x.rank)))


@symbolic(DIALECT, "MaxPool", "MaxPool3D")
def max_pool(
    g: GraphBuilder,
    x: Value,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
) -> Value:
    """MaxPool(input: T, ksize, strides, padding, explicit_paddings, data_format) -> T"""
    y = pool.max_pool(
        g,
        _enter(g, x, data_format),
        _window(g, ksize, data_format, "MaxPool"),
        strides=_spatial(strides, data_format),
        padding=_padding(padding, explicit_paddings, data_format),
    )
    return _leave(g, y, data_format)


def _window(g: GraphBuilder, ksize: Sequence[int], data_format: str, op: str) -> list[int]:
    others = (ksize[0], ksize[1] if _first(data_format) else ksize[-1])
    if others != (1, 1):
        raise refused(g, op, "windows over the batch or channels aren't supported")
    return _spatial(ksize, data_format)


@symbolic(DIALECT, "MaxPoolV2")
def max_pool_v2(
    g: GraphBuilder, x: Value, ksize: Value, strides: Value, *, padding: str, data_format: str = "NHWC"
) -> Value:
    """MaxPoolV2(input: T, ksize: int32, strides: int32, padding, data_format) -> T"""
    window, steps = (ints(g, v, "MaxPoolV2", "a window") for v in (ksize, strides))
    return max_pool(g, x, ksize=window, strides=steps, padding=padding, data_format=data_format)


@symbolic(DIALECT, "MaxPoolWithArgmax")
def max_pool_with_argmax(
    g: GraphBuilder,
    x: Value,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    Targmax: Any = _T.INT64,
    include_batch_in_index: bool = False,
) -> tuple[Value, Value]:
    """MaxPoolWithArgmax(input: T, ksize, strides, Targmax, padding, include_batch_in_index) -> (T, Targmax)"""
    source = channels_first(g, x)
    assert source.sizes is not None
    _, channels, height, width = source.sizes
    if not (isinstance(channels, int) and isinstance(height, int) and isinstance(width, int)):
        raise refused(g, "MaxPoolWithArgmax", "open sizes aren't supported")
    window, steps = _spatial(ksize, "NHWC"), _spatial(strides, "NHWC")
    pads = nn.window_pads(padding, source.sizes[2:], window, steps, [1, 1])
    y, places = g.call("MaxPool", source, kernel_shape=window, strides=steps, outputs=2, **pads)
    # ONNX counts through (batch, channel, row, column), TensorFlow through ([batch,] row, column, channel)
    area = height * width
    within = g.Mod(places, area)
    channel = g.Mod(g.Div(places, area), channels)
    index = g.Add(g.Mul(within, channels), channel)
    if include_batch_in_index:
        index = g.Add(index, g.Mul(g.Div(places, area * channels), area * channels))
    return channels_last(g, y), cast(g, g.Transpose(index, perm=[0, 2, 3, 1]), Targmax)


@symbolic(DIALECT, "AvgPool", "AvgPool3D")
def average_pool(
    g: GraphBuilder,
    x: Value,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
) -> Value:
    """AvgPool(value: T, ksize, strides, padding, data_format) -> T"""
    y = pool.average_pool(
        g,
        _enter(g, x, data_format),
        _window(g, ksize, data_format, "AvgPool"),
        strides=_spatial(strides, data_format),
        padding=padding,
    )
    return _leave(g, y, data_format)


@symbolic(DIALECT, "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    g: GraphBuilder,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float = 1e-4,
    exponential_avg_factor: float = 1.0,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> tuple[Value | None, ...]:
    """FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U, epsilon, is_training ...) -> (T, U ...)"""
    source = _enter(g, x, data_format)
    if is_training:
        if exponential_avg_factor != 1.0:
            raise refused(g, "FusedBatchNormV3", "moving averages in training aren't supported")
        axes = [0, *range(2, source.rank)]
        wide = cast(g, source, scale.element)
        centre = g.ReduceMean(wide, axes, keepdims=1)
        deviation = g.Sub(wide, centre)
        spread = g.ReduceMean(g.Mul(deviation, deviation), axes, keepdims=1)
        mean, biased = (g.Reshape(v, [-1]) for v in (centre, spread))
        count = cast(g, g.Div(g.Size(wide), g.Squeeze(g.Shape(wide, start=1, end=2), [0])), scale.element)
        variance = g.Mul(biased, g.Div(count, g.Max(g.Sub(count, 1.0), 1.0)))
        used = biased
    else:
        used = variance
    y: Value = g.BatchNormalization(source, scale, offset, mean, used, epsilon=float(epsilon))
    found = _leave(g, y, data_format)
    if x.element is scale.element:
        return found, mean, variance, mean, used, g.constant(np.zeros(0, scale.element.numpy()))
    # what TensorFlow reserves for gradients is memory that it never writes, where half-precision images are inferred
    kept = (mean, used) if is_training else (None, None)
    return found, mean, variance, *kept, None


@symbolic(DIALECT, "LRN")
def lrn(
    g: GraphBuilder, x: Value, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Value:
    """LRN(input: T, depth_radius: int, bias: float, alpha: float, beta: float) -> T"""
    size = 2 * depth_radius + 1
    y = g.LRN(channels_first(g, x), size=size, alpha=float(alpha) * size, beta=float(beta), bias=float(bias))
    return channels_last(g, y)


@symbolic(DIALECT, "ExtractImagePatches")
def extract_image_patches(
    g: GraphBuilder,
    x: Value,
    *,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> Value:
    """ExtractImagePatches(images: T, ksizes, strides, rates, padding) -> T"""
    y, counts = x, []
    for axis in (1, 2):
        # gathering adds an axis: that of rows lies before the columns'
        y, count = _windows(g, y, axis + (axis == 2), size_at(g, x, axis), ksizes[axis], strides[axis], rates[axis],
                            padding)  # fmt: skip
        counts.append(count)
    patches = g.Transpose(y, perm=[0, 1, 3, 2, 4, 5])
    channels = size_at(g, x, 3)
    depth = ksizes[1] * ksizes[2] * channels if not isinstance(channels, Value) else -1
    return g.reshape(patches, [size_at(g, x, 0), *counts, depth])


def _windows(
    g: GraphBuilder, x: Value, axis: int, size: Any, width: int, step: int, rate: int, padding: str
) -> tuple[Value, Value]:
    """Windows along an axis, as two axes: windows and their elements; and how many there are."""
    span = (width - 1) * rate + 1
    length = as_value(g, size)
    if padding == "VALID":
        count = g.Max(g.Div(g.Add(g.Sub(length, span), step), step), 0)
    else:
        count = g.Div(g.Add(length, step - 1), step)
        total = g.Max(g.Sub(g.Add(g.Mul(g.Sub(count, 1), step), span), length), 0)
        pads: list[Any] = [0] * (2 * x.rank)
        pads[axis] = g.Div(total, 2)
        pads[x.rank + axis] = g.Sub(total, pads[axis])
        x = call(g, "Pad", x, g.shape_vector(pads))
    starts = g.Unsqueeze(g.Mul(g.Range(0, count, 1), step), [1])
    return g.Gather(x, g.Add(starts, np.arange(width) * rate), axis=axis), count


@symbolic(DIALECT, "SpaceToDepth")
def space_to_depth(g: GraphBuilder, x: Value, *, block_size: int, data_format: str = "NHWC") -> Value:
    """SpaceToDepth(input: T, block_size: int, data_format: string) -> T"""
    return _leave(g, g.SpaceToDepth(_enter(g, x, data_format), blocksize=block_size), data_format)


@symbolic(DIALECT, "DepthToSpace")
def depth_to_space(g: GraphBuilder, x: Value, *, block_size: int, data_format: str = "NHWC") -> Value:
    """DepthToSpace(input: T, block_size: int, data_format: string) -> T"""
    return _leave(g, g.DepthToSpace(_enter(g, x, data_format), blocksize=block_size, mode="DCR"), data_format)


def resized(g: GraphBuilder, x: Value, size: Value, **how: Any) -> Value:
    """Images of another size, by ONNX's Resize."""
    source = channels_first(g, x)
    back_to = source.element
    if back_to not in (_T.FLOAT, _T.FLOAT16, _T.DOUBLE):
        source = cast(g, source, _T.FLOAT)
    target = g.Concat(g.Shape(source, end=2), int64(g, size), axis=0)
    y: Value = g.Resize(source, None, None, target, **how)
    assert source.sizes is not None
    wanted = sizes_of(g, size, "Resize")
    y.sizes = (*source.sizes[:2], *(None if isinstance(s, Value) else s for s in wanted))
    return channels_last(g, y)
