"""General dilated convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Size, product
from ..nn.layout import channels_first, channels_last
from ..value import Value
from .dots import dot_general
from .kernels import call
from .pointwise import convert, scalar
from .shapes import dilate, pad, reverse, transpose
from .windows import windows

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


@dataclass(frozen=True)
class ConvLayout:
    """Where the axes lie: batch, channels, spatial (operand and result); out, in, spatial (kernel)."""

    lhs: Sequence[int]
    rhs: Sequence[int]
    out: Sequence[int]


def conv_general_dilated(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    layout: ConvLayout,
    *,
    strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    feature_groups: int,
    batch_groups: int,
    dtype: ir.DataType,
) -> Value:
    """XLA's convolution; the kernel isn't flipped."""
    x = _moved(g, lhs, layout.lhs)
    w = transpose(g, rhs, layout.rhs)
    if dtype in (_T.BFLOAT16, _T.FLOAT16) or x.element is not dtype:
        wide = _T.FLOAT if dtype in (_T.BFLOAT16, _T.FLOAT16) else dtype
        x, w = convert(g, x, wide), convert(g, w, wide)
    if batch_groups > 1:
        x = _batch_groups(g, x, batch_groups)
        feature_groups = batch_groups
    y = _transposed(g, x, w, strides, padding, lhs_dilation, rhs_dilation, feature_groups)
    if y is None:
        zero = scalar(g, 0, x)
        x = dilate(g, x, zero, [1, 1, *lhs_dilation])
        y = _plain(g, x, w, strides, padding, rhs_dilation, feature_groups)
    return _placed(g, convert(g, y, dtype), layout.out)


def _moved(g: GraphBuilder, x: Value, places: Sequence[int]) -> Value:
    """The operand with batch and channels first."""
    last = [0, x.rank - 1, *range(1, x.rank - 1)]
    return channels_first(g, x) if list(places) == last and x.rank > 2 else transpose(g, x, places)


def _placed(g: GraphBuilder, y: Value, places: Sequence[int]) -> Value:
    """The result with its axes where they are asked."""
    if list(places) == [0, y.rank - 1, *range(1, y.rank - 1)] and y.rank > 2:
        return channels_last(g, y)
    return transpose(g, y, [int(i) for i in np.argsort(list(places))])


def _batch_groups(g: GraphBuilder, x: Value, groups: int) -> Value:
    """The batch cut into groups, which become groups of channels."""
    assert x.sizes is not None
    batch, channels, *spatial = x.sizes
    part = batch // groups  # type: ignore[operator]
    cut = g.reshape(x, [groups, part, channels, *spatial])
    moved = g.Transpose(cut, perm=[1, 0, *range(2, x.rank + 1)])
    return g.reshape(moved, [part, groups * channels, *spatial])  # type: ignore[operator]


def _plain(
    g: GraphBuilder,
    x: Value,
    w: Value,
    strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    dilations: Sequence[int],
    groups: int,
) -> Value:
    """Conv; what its attributes can't say of the padding is done before."""
    pairs = list(padding)
    if any(not isinstance(p, int) or p < 0 for pair in pairs for p in pair):
        x = pad(g, x, scalar(g, 0, x), [(0, 0, 0), (0, 0, 0), *((a, b, 0) for a, b in pairs)])
        pairs = [(0, 0)] * len(pairs)
    has_kernel = x.element in (_T.FLOAT, _T.FLOAT16) and 1 <= len(strides) <= 3
    if not has_kernel:
        return _by_windows(g, x, w, strides, pairs, dilations, groups)
    return g.Conv(
        x,
        w,
        strides=list(strides),
        pads=[p for i in (0, 1) for p in (pair[i] for pair in pairs) if isinstance(p, int)],
        dilations=list(dilations),
        group=groups,
    )


def _by_windows(
    g: GraphBuilder,
    x: Value,
    w: Value,
    strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    dilations: Sequence[int],
    groups: int,
) -> Value:
    """The convolution as a product of all windows with the kernel, where Conv has no kernel for the dtype."""
    assert x.sizes is not None and w.sizes is not None
    spatial = len(strides)
    x = pad(g, x, scalar(g, 0, x), [(0, 0, 0), (0, 0, 0), *((a, b, 0) for a, b in padding)])
    kernel = [int(k) for k in w.sizes[2:]]  # type: ignore[arg-type]
    cut = windows(g, x, {2 + i: (k, strides[i], dilations[i]) for i, k in enumerate(kernel)})
    assert x.sizes is not None and w.sizes is not None
    # batch, channels, (out, kernel) for each spatial axis
    outs = [2 + 2 * i for i in range(spatial)]
    inside = [3 + 2 * i for i in range(spatial)]
    sizes = cut.sizes
    assert sizes is not None
    channels, features = x.sizes[1], w.sizes[0]
    group_in, group_out = channels // groups, features // groups  # type: ignore[operator]
    moved = g.Transpose(cut, perm=[1, 0, *outs, *inside])
    area: list[Size] = [s for s in (sizes[0], *(sizes[i] for i in outs)) if s is not None]
    inner = group_in * product(kernel)
    lead = g.reshape(moved, [groups, group_in, *area, *kernel])
    rows = g.Transpose(lead, perm=[0, *range(2, 2 + len(area)), 1, *range(2 + len(area), lead.rank)])
    rows = g.reshape(rows, [groups, product(area), inner])
    weights = g.reshape(w, [groups, group_out, inner])
    y = dot_general(g, rows, weights, ([2], [2]), ([0], [0]), x.element)
    y = g.reshape(y, [groups, *area, group_out])
    y = g.Transpose(y, perm=[1, 0, y.rank - 1, *range(2, y.rank - 1)])
    return g.reshape(y, [area[0], features, *area[1:]])


def _transposed(
    g: GraphBuilder,
    x: Value,
    w: Value,
    strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    groups: int,
) -> Value | None:
    """ConvTranspose, where that is what the dilation of the operand amounts to."""
    assert w.sizes is not None
    usable = x.element in (_T.FLOAT, _T.FLOAT16) and any(d > 1 for d in lhs_dilation) and len(strides) <= 3
    if not usable or any(s != 1 for s in strides):
        return None
    pads: list[tuple[int, int]] = []
    extra: list[int] = []
    for size, dilation, step, (low, high) in zip(w.sizes[2:], rhs_dilation, lhs_dilation, padding, strict=True):
        if not isinstance(low, int) or not isinstance(high, int) or not isinstance(size, int):
            return None
        reach = dilation * (size - 1)
        before, after = reach - low, reach - high
        if before < 0 or after <= -step:
            return None
        pads.append((before, max(after, 0)))
        extra.append(max(-after, 0))
    features, group_in = w.sizes[0], w.sizes[1]
    if groups > 1:
        w = g.reshape(w, [groups, features // groups, group_in, *w.sizes[2:]])  # type: ignore[operator]
        w = g.Transpose(w, perm=[0, 2, 1, *range(3, w.rank)])
        w = g.reshape(w, [groups * group_in, features // groups, *w.sizes[3:]])  # type: ignore
    else:
        w = g.Transpose(w, perm=[1, 0, *range(2, w.rank)])
    flipped = reverse(g, w, list(range(2, w.rank)))
    result: Value = call(
        g,
        "ConvTranspose",
        x,
        flipped,
        strides=list(lhs_dilation),
        dilations=list(rhs_dilation),
        pads=[a for a, _ in pads] + [b for _, b in pads],
        output_padding=extra if any(extra) else None,
        group=groups,
    )
    return result
