"""Products, convolutions, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..dims import Size
from ..registry import symbolic
from ..value import Value
from ..xla import windows
from ..xla.convolution import ConvLayout
from ..xla.convolution import conv_general_dilated as convolve
from ..xla.dots import dot_general as dot

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("jaxpr", "dot_general")
def dot_general(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    dimension_numbers: Any,
    preferred_element_type: ir.DataType | None = None,
    **_: Any,
) -> Value:
    """dot_general(lhs, rhs, *, dimension_numbers, precision, preferred_element_type)"""
    contracting, batch = dimension_numbers
    return dot(g, lhs, rhs, contracting, batch, preferred_element_type or lhs.element)


@symbolic("jaxpr", "conv_general_dilated")
def conv_general_dilated(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    window_strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: ir.DataType | None = None,
    **_: Any,
) -> Value:
    """conv_general_dilated(lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers ...)"""
    n = dimension_numbers
    return convolve(
        g,
        lhs,
        rhs,
        ConvLayout(n.lhs_spec, n.rhs_spec, n.out_spec),
        strides=window_strides,
        padding=padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        feature_groups=feature_group_count,
        batch_groups=batch_group_count,
        dtype=preferred_element_type or lhs.element,
    )


def _window(kind: str) -> Any:
    def function(
        g: GraphBuilder,
        operand: Value,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[Size, Size]],
        base_dilation: Sequence[int],
        window_dilation: Sequence[int],
        **_: Any,
    ) -> Value:
        """reduce_window_*(operand, *, window_dimensions, window_strides, padding, base_dilation, window_dilation)"""
        return windows.reduce_window(
            g,
            operand,
            kind,
            None,
            window=window_dimensions,
            strides=window_strides,
            padding=padding,
            base_dilation=base_dilation,
            window_dilation=window_dilation,
        )

    return function


for _name, _kind in {"reduce_window_max": "max", "reduce_window_min": "min", "reduce_window_sum": "add"}.items():
    symbolic("jaxpr", _name)(_window(_kind))


@symbolic("jaxpr", "reduce_window")
def reduce_window(
    g: GraphBuilder,
    operand: Value,
    init: Value,
    *more: Value,
    jaxpr: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[Size, Size]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    **_: Any,
) -> Value:
    """reduce_window(operand, init, *, jaxpr, window_dimensions, window_strides, padding, ...)"""
    if more or jaxpr.combiner is None:
        raise ValueError("windows are reduced by add, mul, max, min, and, or only")
    return windows.reduce_window(
        g,
        operand,
        jaxpr.combiner,
        init,
        window=window_dimensions,
        strides=window_strides,
        padding=padding,
        base_dilation=base_dilation,
        window_dilation=window_dilation,
    )


@symbolic("jaxpr", "select_and_scatter_add")
def select_and_scatter_add(
    g: GraphBuilder,
    source: Value,
    operand: Value,
    select_prim: str,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Value:
    """select_and_scatter_add(source, operand, *, select_prim, window_dimensions, window_strides, padding)"""
    return windows.select_and_scatter_add(
        g, source, operand, select_prim, window=window_dimensions, strides=window_strides, padding=padding
    )
