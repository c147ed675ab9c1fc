"""Products, convolutions, windows, reductions, sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Size
from ..registry import symbolic
from ..value import Value
from ..xla import reductions, sorting, windows
from ..xla.convolution import ConvLayout, conv_general_dilated
from ..xla.dots import dot_general as dot
from ..xla.region import Region, Typed
from ..xla.shapes import reverse
from .shapes import known_sizes

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("stablehlo", "dot_general")
def dot_general(g: GraphBuilder, lhs: Value, rhs: Value, dot_dimension_numbers: Any, result: Typed, **_: Any) -> Value:
    """stablehlo.dot_general(lhs, rhs, dot_dimension_numbers)"""
    n = dot_dimension_numbers
    contracting = (list(n.lhs_contracting_dimensions), list(n.rhs_contracting_dimensions))
    batch = (list(n.lhs_batching_dimensions), list(n.rhs_batching_dimensions))
    return dot(g, lhs, rhs, contracting, batch, result.dtype)


@symbolic("stablehlo", "convolution")
def convolution(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    dimension_numbers: Any,
    result: Typed,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    window_strides: Sequence[int] | None = None,
    padding: Any = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    **_: Any,
) -> Value:
    """stablehlo.convolution(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers ...)"""
    n = dimension_numbers
    ones = [1] * (lhs.rank - 2)
    pads: list[tuple[Size, Size]] = [(0, 0)] * len(ones)
    if padding is not None:
        pads = [(int(a), int(b)) for a, b in np.asarray(padding).reshape(-1, 2)]
    return _convolve(
        g, lhs, rhs, n, result, pads, list(window_strides or ones), list(lhs_dilation or ones),
        list(rhs_dilation or ones), list(window_reversal or []), feature_group_count, batch_group_count,
    )  # fmt: skip


@symbolic("stablehlo", "dynamic_conv")
def dynamic_conv(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    padding: Value,
    dimension_numbers: Any,
    result: Typed,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    window_strides: Sequence[int] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    **_: Any,
) -> Value:
    """stablehlo.dynamic_conv(lhs, rhs, padding, ...)"""
    ones = [1] * (lhs.rank - 2)
    if padding.array is None:
        raise ValueError("a padding that depends on open sizes isn't supported here")
    pads: list[tuple[Size, Size]] = [(int(a), int(b)) for a, b in padding.array.reshape(-1, 2)]
    return _convolve(
        g, lhs, rhs, dimension_numbers, result, pads, list(window_strides or ones), list(lhs_dilation or ones),
        list(rhs_dilation or ones), list(window_reversal or []), feature_group_count, batch_group_count,
    )  # fmt: skip


def _convolve(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    n: Any,
    result: Typed,
    pads: Sequence[tuple[Size, Size]],
    strides: Sequence[int],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    reversal: Sequence[bool],
    feature_groups: int,
    batch_groups: int,
) -> Value:
    spatial = list(n.kernel_spatial_dimensions)
    layout = ConvLayout(
        [n.input_batch_dimension, n.input_feature_dimension, *n.input_spatial_dimensions],
        [n.kernel_output_feature_dimension, n.kernel_input_feature_dimension, *spatial],
        [n.output_batch_dimension, n.output_feature_dimension, *n.output_spatial_dimensions],
    )
    flipped = [axis for axis, back in zip(spatial, reversal, strict=False) if back]
    return conv_general_dilated(
        g,
        lhs,
        reverse(g, rhs, flipped),
        layout,
        strides=strides,
        padding=pads,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        feature_groups=feature_groups,
        batch_groups=batch_groups,
        dtype=result.dtype,
    )


@symbolic("stablehlo", "reduce_window")
def reduce_window(
    g: GraphBuilder,
    *operands: Value,
    regions: Sequence[Region],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Any = None,
) -> Value:
    """stablehlo.reduce_window(inputs, init_values, window_dimensions, window_strides, padding ...)"""
    kind = regions[0].combiner
    if len(operands) != 2:
        raise ValueError("windows of several tensors at once aren't supported")
    x, init = operands
    ones = [1] * x.rank
    pads = [(0, 0)] * x.rank if padding is None else [(int(a), int(b)) for a, b in np.asarray(padding).reshape(-1, 2)]
    strides, base, inner = (list(v or ones) for v in (window_strides, base_dilations, window_dilations))
    running = _running(x, list(window_dimensions), pads)
    if running is not None and strides == base == inner == ones and kind in ("add", "mul", "max", "min", None):
        axis, backwards = running
        if kind is None:  # the start of such a function is taken to change nothing, as XLA does
            return reductions.cumulative(g, x, "", axis, backwards, regions[0])
        found = reductions.cumulative(g, x, kind, axis, backwards)
        return found if reductions.is_identity(init, kind) else reductions.combine(g, kind, found, init)
    if kind is None:
        raise ValueError("windows are reduced by add, mul, max, min, and, or only")
    return windows.reduce_window(
        g,
        x,
        kind,
        init,
        window=window_dimensions,
        strides=strides,
        padding=pads,
        base_dilation=base,
        window_dilation=inner,
    )


def _running(x: Value, window: list[int], pads: list[tuple[int, int]]) -> tuple[int, bool] | None:
    """Axis and direction, where the windows are all that comes before (or after) each element."""
    axes = [i for i, size in enumerate(window) if size != 1]
    if len(axes) != 1 or any(p != (0, 0) for i, p in enumerate(pads) if i != axes[0]):
        return None
    size = window[axes[0]]
    if size != x.dim(axes[0]) or pads[axes[0]] not in ((size - 1, 0), (0, size - 1)):
        return None
    return axes[0], pads[axes[0]] == (0, size - 1)


@symbolic("stablehlo", "select_and_scatter")
def select_and_scatter(
    g: GraphBuilder,
    operand: Value,
    source: Value,
    init: Value,
    regions: Sequence[Region],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any = None,
) -> Value:
    """stablehlo.select_and_scatter(operand, source, init_value), by ge or le, and add"""
    kind = {"GE": "ge", "LE": "le"}.get(regions[0].combiner or "")
    if kind is None or regions[1].combiner != "add" or not reductions.is_identity(init, "add"):
        raise ValueError("only the gradients of largest and smallest elements are supported")
    pads = [(0, 0)] * operand.rank if padding is None else [(int(a), int(b)) for a, b in np.asarray(padding)]
    return windows.select_and_scatter_add(
        g, source, operand, kind, window=list(window_dimensions), strides=list(window_strides), padding=pads
    )


@symbolic("stablehlo", "reduce")
def reduce(g: GraphBuilder, *operands: Value, regions: Sequence[Region], dimensions: Sequence[int]) -> list[Value]:
    """stablehlo.reduce(*inputs, *init_values, dimensions)"""
    count = len(operands) // 2
    axes = list(dimensions)
    extreme = regions[0].combiner
    if count == 2 and extreme in ("argmax", "argmin") and len(axes) == 1:
        kind = extreme.removeprefix("arg")
        index = reductions.arg_extreme(g, operands[0], kind == "max", axes[0], operands[1].element)
        return [reductions.reduce(g, operands[0], kind, axes), index]
    return reductions.reduce_region(g, operands[:count], operands[count:], regions[0], axes)


@symbolic("stablehlo", "sort")
def sort(
    g: GraphBuilder, *inputs: Value, regions: Sequence[Region], dimension: int = -1, is_stable: bool = False
) -> list[Value]:
    """stablehlo.sort(*inputs, dimension, is_stable)"""
    order = regions[0].combiner or ""
    if not order.startswith("sort"):
        raise ValueError("sorting by this comparison isn't supported")
    keys, down = int(order.split(":")[1]), order.endswith("GT")
    axis = dimension % inputs[0].rank
    return sorting.sort(g, inputs, axis, keys, descending=down)


@symbolic("stablehlo", "chlo.top_k")
def top_k(g: GraphBuilder, operand: Value, k: int, **_: Any) -> list[Value]:
    """chlo.top_k(operand, k)"""
    return sorting.top_k(g, operand, k, operand.rank - 1, ir.DataType.INT32)


@symbolic("stablehlo", "custom_call.stablehlo.dynamic_top_k")
def dynamic_top_k(g: GraphBuilder, operand: Value, k: Value, **_: Any) -> list[Value]:
    """custom_call @stablehlo.dynamic_top_k(operand, k)"""
    return sorting.top_k(g, operand, known_sizes(k)[0], operand.rank - 1, ir.DataType.INT32)
