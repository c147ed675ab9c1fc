"""Convolutions, plain, depthwise, transposed, deformable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import GraphBuilder
from ..nn.conv import Padding, conv, conv_transpose, fixed_kernel, same_pads
from ..nn.layout import channels_first, channels_last
from ..registry import symbolic
from ..value import Value
from .common import ints, refused, size_at


def pad_pairs(paddings: Sequence[int], algorithm: str, axes: int) -> Padding:
    """Padding rule of a window: one number for an axis, or two."""
    if algorithm in ("SAME", "VALID"):
        return algorithm
    if len(paddings) == axes:
        return [(p, p) for p in paddings]
    if len(paddings) == 2 * axes:
        return [(paddings[2 * i], paddings[2 * i + 1]) for i in range(axes)]
    raise ValueError(f"{len(paddings)} paddings for {axes} spatial axes")


def first(g: GraphBuilder, x: Value, data_format: str) -> Value:
    """The tensor with its channels second."""
    return channels_first(g, x) if data_format.endswith("C") else x


def back(g: GraphBuilder, y: Value, data_format: str) -> Value:
    """A channels-first result in the asked layout."""
    return channels_last(g, y) if data_format.endswith("C") else y


@symbolic("paddle_pir", "conv2d", "conv3d", "depthwise_conv2d")
def convolution(
    g: GraphBuilder,
    input: Value,
    filter: Value,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    padding_algorithm: str = "EXPLICIT",
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    data_format: str = "NCHW",
) -> Value:
    """conv2d(Tensor input, Tensor filter, int[] strides, int[] paddings, str padding_algorithm, int[] dilations, int
    groups, str data_format) -> Tensor"""
    padding = pad_pairs(paddings, padding_algorithm, len(strides))
    if padding == "SAME":
        dilations = [1] * len(strides)  # Paddle ignores them then
    x = first(g, input, data_format)
    y = conv(g, x, filter, strides=strides, dilations=dilations, padding=padding, groups=groups)
    return back(g, y, data_format)


@symbolic("paddle_pir", "conv2d_transpose", "conv3d_transpose", "depthwise_conv2d_transpose", "conv2d_transpose_bias")
def transposed_convolution(
    g: GraphBuilder,
    x: Value,
    filter: Value,
    *operands: Any,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    output_padding: Sequence[int] = (),
    output_size: Any = None,
    padding_algorithm: str = "EXPLICIT",
    groups: int = 1,
    dilations: Sequence[int] = (1, 1),
    data_format: str = "NCHW",
) -> Value:
    """conv2d_transpose(Tensor x, Tensor filter, [Tensor bias,] int[] output_size, int[] strides, int[] paddings, int[]
    output_padding, str padding_algorithm, int groups, int[] dilations, str data_format) -> Tensor"""
    bias = operands[0] if len(operands) > 1 else None
    wanted = ints(g, operands[-1] if operands else output_size, "conv2d_transpose", "an output_size")
    source = first(g, x, data_format)
    kernel = fixed_kernel(filter)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    if padding_algorithm == "SAME":
        dilations, spans = [1] * len(kernel), kernel  # Paddle ignores dilations then
    pairs = _transpose_pads(g, source, paddings, padding_algorithm, spans, strides)
    extra = list(output_padding) or [0] * len(kernel)
    if wanted:
        extra = []
        for axis, size in enumerate(wanted):
            own = size_at(g, source, 2 + axis)
            if not isinstance(own, int):
                raise refused(g, "conv2d_transpose", "an output_size with open spatial sizes isn't supported")
            extra.append(size - ((own - 1) * strides[axis] + spans[axis] - sum(pairs[axis])))
    pads = [(before, after - more) for (before, after), more in zip(pairs, extra, strict=True)]
    y = conv_transpose(g, source, filter, bias, strides=strides, dilations=dilations, pads=pads, groups=groups)
    return back(g, y, data_format)


def _transpose_pads(
    g: GraphBuilder, x: Value, paddings: Sequence[int], algorithm: str, spans: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    found = pad_pairs(paddings, algorithm, len(spans))
    if found == "VALID":
        return [(0, 0)] * len(spans)
    if not isinstance(found, str):
        return [(int(b), int(a)) for b, a in found]
    assert x.sizes is not None
    pairs = [same_pads(size, k, s, 1) for size, k, s in zip(x.sizes[2:], spans, strides, strict=True)]
    if None in pairs:
        raise refused(g, "conv2d_transpose", "SAME padding with strides needs fixed spatial sizes")
    return [p for p in pairs if p is not None]


@symbolic("paddle_pir")
def deformable_conv(
    g: GraphBuilder,
    x: Value,
    offset: Value,
    filter: Value,
    mask: Value | None = None,
    strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0),
    dilations: Sequence[int] = (1, 1),
    deformable_groups: int = 1,
    groups: int = 1,
    im2col_step: int = 1,
) -> Value:
    """deformable_conv(Tensor x, Tensor offset, Tensor filter, Tensor? mask, int[] strides, int[] paddings, int[]
    dilations, int deformable_groups, int groups, int im2col_step) -> Tensor"""
    return g.DeformConv(
        x, filter, offset, None, mask, strides=list(strides), pads=[*paddings, *paddings], dilations=list(dilations),
        group=groups, offset_group=deformable_groups, kernel_shape=fixed_kernel(filter),
    )  # fmt: skip
