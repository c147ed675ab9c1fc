"""Convolutions of one, two and three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import unsupported

Ints = int | Sequence[int]


def spread(value: Ints, count: int) -> list[int]:
    """One number for each spatial axis."""
    listed = [value] if isinstance(value, int) else list(value)
    return listed * count if len(listed) == 1 else listed


def _convolved(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Ints,
    pads: list[int],
    dilation: Ints,
    groups: int,
) -> Value:
    count = weight.rank - 2
    batched = x.rank == weight.rank
    y = g.Conv(
        x if batched else g.Unsqueeze(x, [0]),
        weight,
        bias,
        strides=spread(stride, count),
        pads=pads,
        dilations=spread(dilation, count),
        group=groups,
    )
    return y if batched else g.Squeeze(y, [0])


@symbolic("aten", "conv1d.default", "conv2d.default", "conv3d.default")
def conv(
    g: GraphBuilder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Value:
    """aten::conv2d(Tensor input, Tensor weight, Tensor? bias, SymInt[2] stride, SymInt[2] padding, ...) -> Tensor"""
    return _convolved(g, input, weight, bias, stride, spread(padding, weight.rank - 2) * 2, dilation, groups)


@symbolic("aten", "conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_padding(
    g: GraphBuilder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Ints = 1,
    padding: str = "valid",
    dilation: Ints = 1,
    groups: int = 1,
) -> Value:
    """aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias, SymInt[2] stride, str padding, ...) -> Tensor"""
    count = weight.rank - 2
    total = [0] * count
    if padding == "same":
        kernel = [k for k in (weight.sizes or ())[2:] if isinstance(k, int)]
        if len(kernel) != count:
            raise unsupported("padding 'same' with a kernel of open size", g)
        total = [d * (k - 1) for d, k in zip(spread(dilation, count), kernel, strict=True)]
    pads = [t // 2 for t in total] + [t - t // 2 for t in total]
    return _convolved(g, input, weight, bias, stride, pads, dilation, groups)


@symbolic("aten", "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(
    g: GraphBuilder,
    input: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Value:
    """aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias, SymInt[2] stride, ...) -> Tensor"""
    count = weight.rank - 2
    batched = input.rank == weight.rank
    padding, extra = spread(padding, count), spread(output_padding, count)
    x = input if batched else g.Unsqueeze(input, [0])
    if any(e >= s for e, s in zip(extra, spread(stride, count), strict=True)):
        y = _widely_padded(g, x, weight, bias, spread(stride, count), padding, extra, groups, spread(dilation, count))
        return y if batched else g.Squeeze(y, [0])
    y = g.ConvTranspose(
        x,
        weight,
        bias,
        strides=spread(stride, count),
        pads=padding * 2,
        output_padding=extra if any(extra) else None,
        dilations=spread(dilation, count),
        group=groups,
    )
    return y if batched else g.Squeeze(y, [0])


def _widely_padded(
    g: GraphBuilder,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: list[int],
    padding: list[int],
    extra: list[int],
    groups: int,
    dilation: list[int],
) -> Value:
    """With output padding of a stride and more, which runtimes refuse: the whole result, then cut and filled."""
    from .padding import constant_pad_nd

    y = g.ConvTranspose(x, weight, None, strides=stride, dilations=dilation, group=groups)
    if y.sizes is None:  # a kernel of open size
        y.sizes = (None,) * x.rank
    sides = [side for p, e in zip(padding[::-1], extra[::-1], strict=True) for side in (-p, e - p)]
    y = constant_pad_nd(g, y, sides)
    return y if bias is None else g.Add(y, g.reshape(bias, [-1] + [1] * len(stride)))


@symbolic("aten", "convolution", "_convolution", "_convolution.deprecated")
def convolution(
    g: GraphBuilder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    *backend: bool,
) -> Value:
    """aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, ...) -> Tensor"""
    # `backend` chooses a kernel (benchmark, deterministic, cudnn, tf32), not a meaning
    if transposed:
        return conv_transpose(g, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(g, input, weight, bias, stride, padding, dilation, groups)
