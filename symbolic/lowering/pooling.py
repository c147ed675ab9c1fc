"""Pooling with dilations, and Col2Im: convolutions with kernels of ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import symbolic
from .common import known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


def _window_sums(
    g: GraphBuilder, x: Value, kernel: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> Value:
    """Sum of each window, channel by channel; the channels are taken as images of one channel."""
    one = g.Reshape(x, g.Concat([-1, 1], g.Shape(x, start=2), axis=0))
    ones = g.constant(np.ones((1, 1, *kernel), x.element.numpy()))
    sums = g.Conv(one, ones, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads)
    return g.Reshape(sums, g.Concat(g.Shape(x, start=0, end=2), g.Shape(sums, start=2), axis=0))


def _plan(
    g: GraphBuilder, op: str, x: Value, kernel: list[int], strides: list[int] | None, dilations: list[int] | None,
    pads: list[int] | None, auto_pad: str, ceil_mode: int, needs: int,
) -> tuple[list[int], list[int], list[int], list[int]]:  # fmt: skip
    """Strides, dilations, pads, and what the last windows reach beyond the pads (ceil_mode)."""
    count = len(kernel)
    strides, dilations, pads = strides or [1] * count, dilations or [1] * count, pads or [0] * 2 * count
    sizes = x.sizes[2:] if x.sizes else ()
    extra = [0] * count
    if auto_pad not in ("NOTSET", "VALID") or ceil_mode:
        if not sizes or not all(isinstance(s, int) for s in sizes):
            refuse(g, op, "attribute dilations with auto_pad or ceil_mode on open sizes", needs)
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
        for i, (size, span, stride) in enumerate(zip(sizes, spans, strides, strict=True)):
            assert isinstance(size, int)
            if auto_pad.startswith("SAME"):
                total = max((math.ceil(size / stride) - 1) * stride + span - size, 0)
                small, large = total // 2, total - total // 2
                pads[i], pads[i + count] = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
            elif ceil_mode:
                padded = size + pads[i] + pads[i + count]
                steps = math.ceil((padded - span) / stride)
                if steps * stride >= size + pads[i]:
                    steps -= 1  # a window has to start inside the image or its left pad
                extra[i] = max(steps * stride + span - padded, 0)
    return strides, dilations, pads, extra


@symbolic("onnx", "AveragePool", until=18)
def average_pool(
    g: GraphBuilder, X: Value, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: list[int] | None = None, pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Any:  # fmt: skip
    """(X, kernel_shape, ...) -> means of windows; below opset 19 dilated ones are sums divided by counts"""
    if not dilations or set(dilations) == {1}:
        return g.raw(
            "AveragePool", X, kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode,
            count_include_pad=count_include_pad, pads=pads, strides=strides,
        )  # fmt: skip
    known_rank(g, X, "AveragePool", 19)
    strides, dilations, pads, extra = _plan(
        g, "AveragePool", X, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, 19
    )
    count = len(kernel_shape)
    reach = pads[:count] + [p + e for p, e in zip(pads[count:], extra, strict=True)]
    sums = _window_sums(g, X, kernel_shape, strides, dilations, reach)
    one = g.constant(np.ones((), X.element.numpy()))
    image = g.Expand(one, g.Concat([1, 1], g.Shape(X, start=2), axis=0))
    if count_include_pad:
        padding = [0, 0, *pads[:count], 0, 0, *pads[count:]]
        image, reach = g.Pad(image, padding, one), [0] * count + extra
    return g.Div(sums, _window_sums(g, image, kernel_shape, strides, dilations, reach))


@symbolic("onnx", "LpPool", until=17)
def lp_pool(
    g: GraphBuilder, X: Value, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: list[int] | None = None, p: int = 2, pads: list[int] | None = None, strides: list[int] | None = None,
) -> Any:  # fmt: skip
    """(X, kernel_shape, p, ...) -> p-norms of windows; dilations and ceil_mode came with opset 18"""
    if (not dilations or set(dilations) == {1}) and not ceil_mode:
        return g.raw("LpPool", X, kernel_shape=kernel_shape, auto_pad=auto_pad, p=p, pads=pads, strides=strides)
    known_rank(g, X, "LpPool", 18)
    strides, dilations, pads, extra = _plan(
        g, "LpPool", X, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, 18
    )
    count = len(kernel_shape)
    reach = pads[:count] + [a + e for a, e in zip(pads[count:], extra, strict=True)]
    powers = g.Pow(g.Abs(X), g.constant(float(p), X.element))
    return g.Pow(_window_sums(g, powers, kernel_shape, strides, dilations, reach), g.constant(1.0 / p, X.element))


@symbolic("onnx", "Col2Im", until=17)
def col2im(
    g: GraphBuilder, input: Value, image_shape: Value, block_shape: Value, dilations: list[int] | None = None,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Any:  # fmt: skip
    """(input, image_shape, block_shape, ...) -> image that the columns add up to: a transposed convolution

    Each of a block's places is a channel of its own, whose kernel has a one at that place.
    """
    if block_shape.array is None or image_shape.array is None:
        refuse(g, "Col2Im", "inputs image_shape and block_shape computed at run time", 18)
    image, block = image_shape.array.tolist(), block_shape.array.tolist()
    count, places = len(block), math.prod(block)
    strides, dilations, pads = strides or [1] * count, dilations or [1] * count, pads or [0] * 2 * count
    spans = [d * (k - 1) + 1 for k, d in zip(block, dilations, strict=True)]
    grid = [
        (size + pads[i] + pads[i + count] - span) // strides[i] + 1
        for i, (size, span) in enumerate(zip(image, spans, strict=True))
    ]
    kernel = np.eye(places, dtype=input.element.numpy()).reshape(places, 1, *block)
    whole = [(n - 1) * s + span for n, s, span in zip(grid, strides, spans, strict=True)]
    missing = [size + pads[i] + pads[i + count] - w for i, (size, w) in enumerate(zip(image, whole, strict=True))]
    blocks = g.Reshape(input, [-1, places, *grid])
    summed = g.ConvTranspose(
        blocks, kernel, kernel_shape=block, strides=strides, dilations=dilations, pads=pads, output_padding=missing
    )
    batch = g.Shape(input, start=0, end=1)
    return g.Reshape(summed, g.Concat(batch, [-1, *image], axis=0))
