"""Operators in dtypes that runtimes have kernels for.

ONNX allows more dtypes than onnxruntime's CPU kernels take: bfloat16 and narrow integers are cast to a wider dtype,
the results are cast back. For bfloat16 that is what XLA does on CPUs, too: compute in float32, round every result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..value import Operand, Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
FLOATS = frozenset({_T.FLOAT16, _T.BFLOAT16, _T.FLOAT, _T.DOUBLE})
SIGNED = frozenset({_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.INT4, _T.INT2})
UNSIGNED = frozenset({_T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64, _T.UINT4, _T.UINT2})
INTEGERS = SIGNED | UNSIGNED
COMPLEX = frozenset({_T.COMPLEX64, _T.COMPLEX128})
BITS = {
    _T.INT4: 4, _T.UINT4: 4, _T.INT8: 8, _T.UINT8: 8, _T.INT16: 16, _T.UINT16: 16, _T.INT32: 32, _T.UINT32: 32,
    _T.INT64: 64, _T.UINT64: 64,
}  # fmt: skip

_MOVED = {_T.BFLOAT16: _T.FLOAT}
_SMALL = {_T.INT4: _T.INT32, _T.UINT4: _T.INT32, _T.INT2: _T.INT32, _T.UINT2: _T.INT32}
_EIGHT = {_T.INT8: _T.INT32, _T.UINT8: _T.INT32}
_SIXTEEN = {_T.INT16: _T.INT32, _T.UINT16: _T.INT32}
_ANY = {**_MOVED, **_SMALL}
_SUMS = {**_ANY, **_EIGHT, **_SIXTEEN, _T.UINT32: _T.INT64, _T.UINT64: _T.INT64, _T.BOOL: _T.INT32}
_ORDER = {**_ANY, **_SIXTEEN, _T.UINT32: _T.INT64, _T.BOOL: _T.INT32}
#: Operator -> dtype without a kernel -> dtype to compute in. What isn't listed takes the row of "".
_DETOURS: dict[str, dict[ir.DataType, ir.DataType]] = {
    "": _ANY,
    "Max": {**_ANY, **_SIXTEEN, _T.BOOL: _T.INT32},
    "Min": {**_ANY, **_SIXTEEN, _T.BOOL: _T.INT32},
    "Where": {**_ANY, **_SIXTEEN, _T.UINT64: _T.INT64, _T.BOOL: _T.UINT8},
    "Pad": {**_ANY, **_SIXTEEN, _T.BOOL: _T.UINT8},
    "Less": {**_ANY, _T.BOOL: _T.INT32},
    "LessOrEqual": {**_ANY, _T.BOOL: _T.INT32},
    "Greater": {**_ANY, _T.BOOL: _T.INT32},
    "GreaterOrEqual": {**_ANY, _T.BOOL: _T.INT32},
    "ReduceMax": _ORDER, "ReduceMin": _ORDER, "ArgMax": _ORDER, "ArgMin": _ORDER, "TopK": _ORDER,
    "IsInf": {**_ANY, _T.FLOAT16: _T.FLOAT},
    "IsNaN": {**_ANY, _T.FLOAT16: _T.FLOAT},
    "MatMul": {**_ANY, **_EIGHT, **_SIXTEEN, _T.BOOL: _T.INT32},
    "CumSum": {**_SUMS, _T.FLOAT16: _T.FLOAT},
}  # fmt: skip
for _op in ("ReduceSum", "ReduceProd", "ReduceMean"):
    _DETOURS[_op] = _SUMS


def call(g: GraphBuilder, op: str, *operands: Operand, **attributes: Any) -> Value:
    """`g.call` in a dtype that there is a kernel for, the result in the operands' dtype.

    Args:
        g: Builder.
        op: Operator of the default domain.
        *operands: Operands; those of the dtype of the first one (for Where the second) take the detour.
        **attributes: Attributes.
    """
    return several(g, op, *operands, outputs=1, **attributes)[0]


def several(g: GraphBuilder, op: str, *operands: Operand, outputs: int, **attributes: Any) -> list[Value]:
    """As `call`, of an operator with several results."""
    values = [o for o in operands[op == "Where" :] if isinstance(o, Value)]
    dtype = values[0].element if values else None
    wide = None if dtype is None else _DETOURS.get(op, _ANY).get(dtype)
    if wide is None or dtype is None:
        return _listed(g.call(op, *operands, outputs=outputs, **attributes))
    cast = [g.Cast(o, to=wide) if isinstance(o, Value) and o.dtype is dtype else o for o in operands]
    if op == "Where":
        cast[0] = operands[0]
    results = _listed(g.call(op, *cast, outputs=outputs, **attributes))
    return [g.Cast(r, to=dtype) if r.dtype is wide else r for r in results]


def _listed(results: Any) -> list[Value]:
    return list(results) if isinstance(results, tuple) else [results]
