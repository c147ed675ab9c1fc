"""Dtype promotion by torch's rules, and arithmetic in dtypes that runtimes have no kernels for.

Three groups of operands, strongest first: tensors with axes, tensors without axes, Python numbers. A weaker group
changes the result's dtype only where it is of a higher category (bool < integer < float).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..dims import Dim
from ..errors import TranslationError
from ..value import Value

DataType = ir.DataType
#: A tensor, a Python number, or a size.
Scalar = Value | bool | int | float | Dim

FLOATS = (DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT, DataType.DOUBLE)
#: Integers that arithmetic is done in int32 for: onnxruntime has few kernels for them.
NARROW = (DataType.INT8, DataType.INT16, DataType.UINT8, DataType.UINT16)
_SIGNED = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64)
_UNSIGNED = (DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64)
_BYTES = {d: d.itemsize for d in (*_SIGNED, *_UNSIGNED)}


def is_float(dtype: DataType) -> bool:
    """Whether a dtype is a floating-point one."""
    return dtype in FLOATS


def is_integer(dtype: DataType) -> bool:
    """Whether a dtype is an integer one; bool isn't."""
    return dtype in _BYTES


def promote_types(a: DataType, b: DataType) -> DataType:
    """The dtype that holds both, as ``torch.promote_types`` has it."""
    if a == b:
        return a
    if DataType.BOOL in (a, b):
        return b if a == DataType.BOOL else a
    if is_float(a) and is_float(b):
        if {a, b} == {DataType.FLOAT16, DataType.BFLOAT16}:
            return DataType.FLOAT
        return max(a, b, key=FLOATS.index)
    if is_float(a) or is_float(b):
        return a if is_float(a) else b
    if (a in _SIGNED) == (b in _SIGNED):
        return max(a, b, key=_BYTES.__getitem__)
    signed, unsigned = (a, b) if a in _SIGNED else (b, a)
    if unsigned != DataType.UINT8:
        raise TranslationError(f"torch doesn't promote {a.name} and {b.name}")
    return DataType.INT16 if signed == DataType.INT8 else signed


def _combine(strong: DataType | None, weak: DataType | None) -> DataType | None:
    if strong is None or weak is None:
        return strong or weak
    if is_float(strong):
        return strong
    if strong == DataType.BOOL or is_float(weak):
        return promote_types(strong, weak)
    return strong


def number_type(number: bool | int | float | Dim) -> DataType:
    """The dtype that a Python number (or size) counts as."""
    if isinstance(number, (bool, np.bool_)):
        return DataType.BOOL
    return DataType.FLOAT if isinstance(number, float) else DataType.INT64


def result_type(*operands: Scalar | None) -> DataType:
    """The dtype of an operation on these operands; None stands for one that isn't given."""
    groups: list[DataType | None] = [None, None, None]
    for operand in operands:
        if operand is None:
            continue
        if isinstance(operand, Value):
            group, dtype = (0 if operand.rank else 1), operand.element
        else:
            group, dtype = 2, number_type(operand)
        before = groups[group]
        groups[group] = dtype if before is None else promote_types(before, dtype)
    found = _combine(groups[0], _combine(groups[1], groups[2]))
    assert found is not None
    return found


def float_type(*operands: Scalar | None) -> DataType:
    """As `result_type`, integers and bools becoming float32: what true division and exp give."""
    dtype = result_type(*operands)
    return dtype if is_float(dtype) else DataType.FLOAT


def cast(g: GraphBuilder, x: Value, dtype: DataType) -> Value:
    """The tensor in another dtype."""
    return x if x.dtype == dtype else g.Cast(x, to=dtype)


def value_of(g: GraphBuilder, operand: Scalar, dtype: DataType) -> Value:
    """A tensor, number or size as a tensor of this dtype."""
    if isinstance(operand, Value):
        return cast(g, operand, dtype)
    if isinstance(operand, Dim):
        return cast(g, g.size(operand), dtype)
    if dtype == DataType.BOOL:
        return g.constant(np.array(bool(operand)))
    return g.constant(np.array(operand).astype(dtype.numpy()))


def promoted(g: GraphBuilder, *operands: Scalar) -> list[Value]:
    """Operands in their common dtype."""
    dtype = result_type(*operands)
    return [value_of(g, o, dtype) for o in operands]


def as_float(g: GraphBuilder, x: Value) -> Value:
    """Integers and bools become float32, floats stay."""
    return cast(g, x, float_type(x))


def apply(g: GraphBuilder, op: str, *operands: Any, **attributes: Any) -> Value:
    """An operator with one result, chosen by name."""
    result: Value = g.call(op, *operands, **attributes)
    return result


def compute(g: GraphBuilder, op: str, *operands: Value, **attributes: Any) -> Value:
    """An operator on tensors of one dtype; narrow integers are computed in int32, wrapping around like torch's."""
    dtype = operands[0].element
    if dtype not in NARROW:
        return apply(g, op, *operands, **attributes)
    wide = [cast(g, o, DataType.INT32) if o.dtype == dtype else o for o in operands]
    result = apply(g, op, *wide, **attributes)
    return cast(g, result, dtype) if result.dtype == DataType.INT32 else result


def where(g: GraphBuilder, condition: Value, x: Value, y: Value) -> Value:
    """Elements of x where the condition holds, else of y; both have one dtype."""
    dtype = x.element
    if dtype == DataType.BOOL:
        return g.Or(g.And(condition, x), g.And(g.Not(condition), y))
    if dtype not in NARROW or dtype == DataType.UINT8:
        return g.Where(condition, x, y)
    return cast(g, g.Where(condition, cast(g, x, DataType.INT32), cast(g, y, DataType.INT32)), dtype)


def unsupported(what: str, g: GraphBuilder) -> TranslationError:
    """The error for an option that a symbolic function doesn't translate."""
    return TranslationError(what, location=g.location)


class _Unread:
    """Stands for a result that must not be used."""

    def __init__(self, error: TranslationError):
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


def unread(g: GraphBuilder, name: str) -> Any:
    """What stands for a result that isn't computed: any use of it is an error."""
    return _Unread(unsupported(f"the result {name}", g))


def limits(dtype: DataType) -> tuple[Any, Any]:
    """Smallest and largest number of a dtype; the infinities of a float."""
    if is_float(dtype):
        return -np.inf, np.inf
    if dtype == DataType.BOOL:
        return False, True
    info = np.iinfo(dtype.numpy())
    return int(info.min), int(info.max)
