"""Reductions over sliding windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Size, product
from ..nn.layout import channels_first, channels_last
from ..value import Value
from .kernels import call
from .pointwise import scalar
from .reductions import combine, identity, is_identity, reduce
from .shapes import dilate, pad, slice_

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_POOLED = (_T.FLOAT, _T.FLOAT16)


def windows(g: GraphBuilder, x: Value, axes: Mapping[int, tuple[int, int, int]]) -> Value:
    """All windows: every listed axis becomes two, position and place in the window.

    Args:
        g: Builder.
        x: Tensor, padded already.
        axes: Axis -> size of the window, stride, dilation.
    """
    for axis in sorted(axes, reverse=True):
        size, stride, dilation = axes[axis]
        whole = x.dim(axis)
        assert whole is not None
        count = (whole - (dilation * (size - 1) + 1)) // stride + 1
        offsets = np.arange(size) * dilation
        if isinstance(count, int):
            index = g.constant(np.arange(count)[:, None] * stride + offsets)
        else:
            starts = g.Mul(g.Range(0, g.size(count), 1), stride)
            index = g.Add(g.Unsqueeze(starts, [1]), g.constant(offsets))
        x = g.Gather(x, index, axis=axis)
        assert x.sizes is not None
        x.sizes = (*x.sizes[:axis], count, size, *x.sizes[axis + 2 :])
    return x


def reduce_window(
    g: GraphBuilder,
    x: Value,
    kind: str,
    init: Value | None,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Value:
    """Reduction (add, mul, max, min, and, or) of every window.

    Args:
        g: Builder.
        x: Operand.
        kind: What the windows are reduced by.
        init: Scalar that every window starts from (the padding has no part in it); None: what changes nothing.
        window: Sizes of the window.
        strides: Steps from window to window.
        padding: Elements before and after each axis.
        base_dilation: Steps between the elements of the operand.
        window_dilation: Steps between the elements of a window.
    """
    fill = scalar(g, identity(kind, x.element), x)
    if any(d > 1 for d in base_dilation):
        x = dilate(g, x, fill, base_dilation)
    spec = {
        i: (int(window[i]), strides[i], window_dilation[i], padding[i])
        for i in range(x.rank)
        if window[i] != 1 or strides[i] != 1 or padding[i] != (0, 0)
    }
    if not spec:
        return x
    neutral = init is None or is_identity(init, kind)
    if neutral and kind in ("max", "add", "min") and _poolable(x, kind, spec):
        return _pool(g, x, kind, spec)
    config: list[tuple[Size, Size, int]] = [(*spec[i][3], 0) if i in spec else (0, 0, 0) for i in range(x.rank)]
    x = pad(g, x, fill, config)
    cut = windows(g, x, {i: s[:3] for i, s in spec.items()})
    inner = [axis + n + 1 for n, axis in enumerate(sorted(spec))]
    result = reduce(g, cut, kind, inner)
    return result if init is None or neutral else combine(g, kind, result, init)


#: Axis -> window, stride, dilation, padding.
Spec = dict[int, tuple[int, int, int, tuple[Size, Size]]]


def _poolable(x: Value, kind: str, spec: Spec) -> bool:
    if x.element not in _POOLED and not (kind == "max" and x.element in (_T.DOUBLE, _T.BFLOAT16)):
        return x.element is _T.BFLOAT16
    return len(spec) <= 3 and (kind != "add" or all(d == 1 for _, _, d, _ in spec.values()))


def _pool(g: GraphBuilder, x: Value, kind: str, spec: Spec) -> Value:
    """MaxPool or AveragePool on the windowed axes, moved last; the other axes are the channels."""
    if x.element is _T.BFLOAT16:
        return g.Cast(_pool(g, g.Cast(x, to=_T.FLOAT), kind, spec), to=_T.BFLOAT16)
    axes = sorted(spec)
    if kind == "min":
        return g.Neg(_pool(g, g.Neg(x), "max", spec))
    if x.rank > 2 and axes == list(range(1, x.rank - 1)):
        return channels_last(g, _pooled(g, channels_first(g, x), kind, [spec[a] for a in axes]))
    if x.rank > 2 and axes == list(range(2, x.rank)):
        return _pooled(g, x, kind, [spec[a] for a in axes])
    assert x.sizes is not None
    rest = [i for i in range(x.rank) if i not in spec]
    order = [*rest, *axes]
    moved = x if order == list(range(x.rank)) else g.Transpose(x, perm=order)
    outer: list[Size] = [s for s in (x.sizes[i] for i in rest) if s is not None]
    inner: list[Size] = [s for s in (x.sizes[i] for i in axes) if s is not None]
    flat = g.reshape(moved, [product(outer), 1, *inner])
    pooled = _pooled(g, flat, kind, [spec[a] for a in axes])
    assert pooled.sizes is not None
    whole = g.reshape(pooled, [*outer, *pooled.sizes[2:]])
    back = [int(i) for i in np.argsort(order)]
    return whole if back == list(range(x.rank)) else g.Transpose(whole, perm=back)


def _pooled(g: GraphBuilder, x: Value, kind: str, spec: Sequence[tuple[int, int, int, tuple[Size, Size]]]) -> Value:
    kernel, strides = [s[0] for s in spec], [s[1] for s in spec]
    dilations, padding = [s[2] for s in spec], [s[3] for s in spec]
    inside = all(isinstance(p, int) and 0 <= p < k for k, pair in zip(kernel, padding, strict=True) for p in pair)
    if not inside:
        fill = scalar(g, identity(kind, x.element), x)
        x = pad(g, x, fill, [(0, 0, 0), (0, 0, 0), *((a, b, 0) for a, b in padding)])
        padding = [(0, 0)] * len(padding)
    pads = [p for i in (0, 1) for p in (pair[i] for pair in padding) if isinstance(p, int)]
    if kind == "max":
        given = dilations if any(d > 1 for d in dilations) else None
        return call(g, "MaxPool", x, kernel_shape=kernel, strides=strides, pads=pads, dilations=given)
    mean = g.AveragePool(x, kernel_shape=kernel, strides=strides, pads=pads, count_include_pad=1)
    return g.Mul(mean, scalar(g, math.prod(kernel), mean))


def select_and_scatter_add(
    g: GraphBuilder,
    source: Value,
    operand: Value,
    kind: str,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Value:
    """Adds each source element where its window of the operand has its largest (ge) or smallest (le) element."""
    assert operand.sizes is not None and source.sizes is not None
    fill = scalar(g, identity("max" if kind == "ge" else "min", operand.element), operand)
    padded = pad(g, operand, fill, [(a, b, 0) for a, b in padding])
    assert padded.sizes is not None
    sizes = [s for s in padded.sizes if isinstance(s, int)]
    if len(sizes) != padded.rank:
        raise ValueError("select_and_scatter_add needs fixed sizes")
    numbers = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    view = np.lib.stride_tricks.sliding_window_view(numbers, tuple(window))
    view = view[tuple(slice(None, None, s) for s in strides)]
    counts = view.shape[: padded.rank]
    places = view.reshape(math.prod(counts), math.prod(window))
    flat = g.reshape(padded, [math.prod(sizes)])
    picks = g.Gather(flat, g.constant(places))
    best = call(g, "ArgMax" if kind == "ge" else "ArgMin", picks, axis=1, keepdims=1)
    where = g.GatherElements(g.constant(places), best, axis=1)
    zeros = g.expand(scalar(g, 0, source), [math.prod(sizes)])
    total = g.ScatterND(zeros, where, g.reshape(source, [math.prod(counts)]), reduction="add")
    whole = g.reshape(total, sizes)
    limits = [s + a for s, (a, _) in zip(operand.sizes, padding, strict=True)]  # type: ignore[operator]
    return slice_(g, whole, [a for a, _ in padding], limits, None)
