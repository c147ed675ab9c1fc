"""Keras's dtype promotion, for operations on tensors of different dtypes and on Python numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..value import Value
from .layer import FLOATS

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_SIGNED = (ir.DataType.INT8, ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64)
_UNSIGNED = (ir.DataType.UINT8, ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64)


def promoted(a: ir.DataType, b: ir.DataType) -> ir.DataType:
    """Dtype of an operation on two tensors."""
    if a == b:
        return a
    if a in FLOATS or b in FLOATS:
        if a not in FLOATS or b not in FLOATS:
            return a if a in FLOATS else b
        if a.itemsize == b.itemsize:
            return ir.DataType.FLOAT
        return a if a.itemsize > b.itemsize else b
    if ir.DataType.BOOL in (a, b):
        return b if a == ir.DataType.BOOL else a
    if (a in _SIGNED) == (b in _SIGNED):
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a in _SIGNED else (b, a)
    return _SIGNED[max(_SIGNED.index(signed), min(_UNSIGNED.index(unsigned) + 1, 3))]


def with_number(a: ir.DataType, number: Any) -> ir.DataType:
    """Dtype of an operation on a tensor and a Python number, which only asks for its kind."""
    if isinstance(number, bool) or a in FLOATS:
        return a
    if isinstance(number, float):
        return ir.DataType.FLOAT
    return ir.DataType.INT32 if a == ir.DataType.BOOL else a


def cast(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """A value in a dtype, on its twin where it has one."""
    from ..nn.layout import elementwise

    return x if x.element == dtype else elementwise(g, "Cast", x, to=dtype)


def together(g: GraphBuilder, *operands: Any, floating: bool = False) -> list[Value]:
    """Operands in the dtype that Keras computes with.

    Args:
        g: Builder.
        *operands: Values, arrays and Python numbers.
        floating: The result is float whatever they are.
    """
    values = [g.constant(o) if isinstance(o, np.ndarray) else o for o in operands]
    dtype: ir.DataType | None = None
    for value in values:
        if isinstance(value, Value):
            dtype = value.element if dtype is None else promoted(dtype, value.element)
    if dtype is None:
        dtype = ir.DataType.FLOAT if any(isinstance(v, float) for v in values) else ir.DataType.INT32
    for value in values:
        if not isinstance(value, Value):
            dtype = with_number(dtype, value)
    if floating and dtype not in FLOATS:
        dtype = ir.DataType.FLOAT
    return [cast(g, v, dtype) if isinstance(v, Value) else g.constant(np.asarray(v, dtype.numpy())) for v in values]
