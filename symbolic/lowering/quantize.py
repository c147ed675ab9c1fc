"""Linear quantisation: per axis from opset 13 on, in blocks and to 16 bits from 21 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import BITS, FLOATS, SIGNED, known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

_PLAIN = {ir.DataType.INT8, ir.DataType.UINT8}
#: Levels of 4 bits -> bytes that hold them.
_HALVES = {ir.DataType.INT4: ir.DataType.INT8, ir.DataType.UINT4: ir.DataType.UINT8}


def _per_element(g: GraphBuilder, parameter: Value, x: Value, axis: int, block_size: int, op: str) -> Value:
    """A scale or zero point in a shape that broadcasts with the data."""
    if parameter.sizes is None:
        refuse(g, op, "scale of unknown rank", 21)
    if parameter.sizes in ((), (1,)) and not block_size:
        return g.Reshape(parameter, np.array([], np.int64)) if parameter.sizes else parameter
    rank = known_rank(g, x, op, 21)
    axis %= rank
    if not block_size:
        return g.Unsqueeze(parameter, [i for i in range(rank) if i != axis])
    size = x.dim(axis)
    if not isinstance(size, int):
        refuse(g, op, "attribute block_size on an open size", 21)
    return g.Gather(parameter, np.arange(size) // block_size, axis=axis)


def _same_kind(parameter: Value, axis_came: bool) -> bool:
    """Whether the older operator takes this scale: one number, or one for each index where it has an axis."""
    return parameter.sizes == () or (axis_came and parameter.sizes is not None and len(parameter.sizes) == 1)


@symbolic("onnx", "DequantizeLinear", until=22)
def dequantize_linear(
    g: GraphBuilder,
    x: Value,
    x_scale: Value,
    x_zero_point: Value | None = None,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Any:
    """(x, x_scale, x_zero_point?, axis, block_size, output_dtype) -> (x - zero_point) * scale"""
    result = ir.DataType(output_dtype) if output_dtype else x_scale.element
    blocked = block_size > 0
    kinds = {*_PLAIN, ir.DataType.INT32} | ({ir.DataType.INT16, ir.DataType.UINT16} if g.opset >= 21 else set())
    scales = FLOATS if g.opset >= 19 else {ir.DataType.FLOAT}
    fits = x_scale.element in scales and (g.opset >= 21 if blocked else _same_kind(x_scale, g.opset >= 13))
    if x.element in _HALVES and g.opset < 21 and x.array is not None:  # a weight: its levels lie in whole bytes there
        x = g.constant(x.array.astype(_HALVES[x.element].numpy()))
        x_zero_point = None if x_zero_point is None else g.Cast(x_zero_point, to=x.element)
    is_newer = x.element not in BITS  # float8, int4 ...: written as they are, where the opset has them
    if result == x_scale.element and (is_newer or (fits and x.element in kinds)):
        written_axis = axis if g.opset >= 13 else None
        return g.raw("DequantizeLinear", x, x_scale, x_zero_point, axis=written_axis, block_size=block_size or None)
    if is_newer or x_scale.element not in FLOATS or BITS[x.element] == 64:
        refuse(g, "DequantizeLinear", f"x of type {x.element.name} with this scale", 23 if output_dtype else 21)
    # the standard subtracts in whole numbers and multiplies in the scale's type
    scale = _per_element(g, x_scale, x, axis, block_size, "DequantizeLinear")
    whole = g.Cast(x, to=ir.DataType.INT32)
    if x_zero_point is not None:
        zero = _per_element(g, x_zero_point, x, axis, block_size, "DequantizeLinear")
        whole = g.Sub(whole, g.Cast(zero, to=ir.DataType.INT32))
    wide = ir.DataType.FLOAT if scale.element.itemsize < 4 else scale.element
    y = g.Mul(g.Cast(whole, to=wide), scale if scale.element == wide else g.Cast(scale, to=wide))
    return y if wide == result else g.Cast(y, to=result)


@symbolic("onnx", "QuantizeLinear", until=22)
def quantize_linear(
    g: GraphBuilder,
    x: Value,
    y_scale: Value,
    y_zero_point: Value | None = None,
    axis: int = 1,
    saturate: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
) -> Any:
    """(x, y_scale, y_zero_point?, axis, block_size, output_dtype) -> saturate(round(x / scale) + zero_point)"""
    kind = y_zero_point.element if y_zero_point is not None else ir.DataType(output_dtype or ir.DataType.UINT8)
    if precision:
        refuse(g, "QuantizeLinear", "attribute precision", 23)
    kinds = _PLAIN | ({ir.DataType.INT16, ir.DataType.UINT16} if g.opset >= 21 else set())
    floats = {ir.DataType.FLOAT} | (FLOATS - {ir.DataType.DOUBLE} if g.opset >= 19 else set())
    same = g.opset >= 21 if block_size else _same_kind(y_scale, g.opset >= 13)
    fits = x.element in floats and y_scale.element in floats and same
    is_newer = kind not in BITS
    if is_newer or (fits and kind in kinds):
        return _written(g, [x, y_scale, y_zero_point], kind, axis, saturate, block_size)
    if x.element is not ir.DataType.FLOAT or y_scale.element is not ir.DataType.FLOAT or BITS[kind] > 16:
        refuse(g, "QuantizeLinear", f"x of type {x.element.name} and y of type {kind.name}", 21)
    rounded = g.Round(g.Div(x, _per_element(g, y_scale, x, axis, block_size, "QuantizeLinear")))
    if y_zero_point is not None:
        zero = _per_element(g, y_zero_point, x, axis, block_size, "QuantizeLinear")
        rounded = g.Add(rounded, g.Cast(zero, to=ir.DataType.FLOAT))
    bits = BITS[kind]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind in SIGNED else (0, 2**bits - 1)
    return g.Cast(g.Clip(rounded, float(low), float(high)), to=kind)


def _written(
    g: GraphBuilder, args: list[Value | None], kind: ir.DataType, axis: int, saturate: int, block_size: int
) -> Any:
    """The operator itself; a result type without zero point is an attribute from opset 21 on."""
    attributes: dict[str, Any] = {"axis": axis} if g.opset >= 13 else {}
    if saturate != 1:
        attributes["saturate"] = saturate
    if block_size:
        attributes["block_size"] = block_size
    if args[2] is None and kind is not ir.DataType.UINT8:
        if g.opset >= 21:
            attributes["output_dtype"] = int(kind)
        else:
            scale = args[1]
            assert scale is not None
            zero = g.constant(np.zeros((), kind.numpy()))
            args = [*args[:2], g.Expand(zero, g.Shape(scale)) if scale.sizes != () else zero]
    return g.raw("QuantizeLinear", *args, **attributes)
