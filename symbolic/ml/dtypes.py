"""Dtypes as numpy mixes them, which is what the classical libraries compute with."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..errors import TranslationError
from ..value import Value

FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE)


def cast(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """The value in a dtype; itself where it has it already."""
    return x if x.dtype is dtype else g.Cast(x, to=dtype)


def double(g: GraphBuilder, x: Value) -> Value:
    """The value as double."""
    return cast(g, x, ir.DataType.DOUBLE)


def as_float(g: GraphBuilder, x: Value) -> Value:
    """float32 and float64 as they are, anything else as float64: what ``check_array(dtype=FLOAT_DTYPES)`` does."""
    return x if x.dtype in FLOATS else double(g, x)


def common(*dtypes: ir.DataType) -> ir.DataType:
    """The dtype that numpy gives to an operation on these; strings win."""
    if ir.DataType.STRING in dtypes:
        return ir.DataType.STRING
    return ir.DataType.from_numpy(np.result_type(*(d.numpy() for d in dtypes)))


def promoted(g: GraphBuilder, x: Value, parameter: np.ndarray) -> tuple[Value, Value]:
    """An operand and a parameter array, both in the dtype that numpy computes in."""
    wanted = common(x.element, ir.DataType.from_numpy(parameter.dtype))
    return cast(g, x, wanted), g.constant(parameter, wanted)


def in_place(g: GraphBuilder, op: str, x: Value, parameter: np.ndarray) -> Value:
    """``x op= parameter``: numpy computes in the wider dtype and rounds the result to the dtype of x."""
    a, b = promoted(g, x, parameter)
    return cast(g, g.call(op, a, b), x.element)


def numbers(g: GraphBuilder, op: str, x: Value, parameter: np.ndarray) -> Value:
    """``x op parameter`` in the dtype that numpy gives it."""
    a, b = promoted(g, x, np.asarray(parameter))
    found: Value = g.call(op, a, b)
    return found


def clip(g: GraphBuilder, x: Value, low: float, high: float) -> Value:
    """``np.clip(x, low, high)``: NaN stays NaN. Clip has no kernel for doubles at the oldest opsets."""
    kind = x.element.numpy().type
    raised = g.Where(g.Less(x, kind(low)), kind(low), x)
    return g.Where(g.Greater(raised, kind(high)), kind(high), raised)


def concat(g: GraphBuilder, parts: list[Value]) -> Value:
    """Columns side by side in their common dtype.

    Raises:
        TranslationError: Strings beside numbers; such a matrix holds Python objects, which ONNX doesn't have.
    """
    if len(parts) == 1:
        return parts[0]
    words = [p.dtype is ir.DataType.STRING for p in parts]
    if any(words) and not all(words):
        raise TranslationError("strings and numbers side by side in one matrix", location=g.location)
    wanted = common(*(p.element for p in parts))
    return g.Concat(*(cast(g, p, wanted) for p in parts), axis=1)
