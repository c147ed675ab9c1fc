"""Detours through a wider dtype, for operators whose older versions lack a dtype but mean the same.

The operands are cast to a dtype that the older version takes, the results are cast back. An operator is listed for a
kind of dtype only if the detour gives the very same result.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from .schemas import Signature
from .value import Value

_T = ir.DataType

#: Dtypes that hold every value of the first, runtimes' favourites first.
_HOLDERS: dict[ir.DataType, tuple[ir.DataType, ...]] = {
    _T.BOOL: (_T.INT32, _T.INT64, _T.UINT8, _T.FLOAT),
    _T.INT8: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.UINT8: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.INT16: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.UINT16: (_T.INT32, _T.INT64, _T.FLOAT),
    _T.INT32: (_T.INT64, _T.DOUBLE),
    _T.UINT32: (_T.INT64, _T.DOUBLE),
    _T.INT2: (_T.INT8, _T.INT32),
    _T.UINT2: (_T.UINT8, _T.INT32),
    _T.INT4: (_T.INT8, _T.INT32),
    _T.UINT4: (_T.UINT8, _T.INT32),
    _T.FLOAT16: (_T.FLOAT,),
    _T.BFLOAT16: (_T.FLOAT,),
    _T.FLOAT8E4M3FN: (_T.FLOAT,),
    _T.FLOAT8E4M3FNUZ: (_T.FLOAT,),
    _T.FLOAT8E5M2: (_T.FLOAT,),
    _T.FLOAT8E5M2FNUZ: (_T.FLOAT,),
    _T.FLOAT4E2M1: (_T.FLOAT,),
}
_SHORT_FLOATS = frozenset({_T.FLOAT16, _T.BFLOAT16})
_INTEGERS = frozenset(t for t in _HOLDERS if "INT" in t.name)
_REALS = frozenset({_T.FLOAT, _T.DOUBLE})

#: Values are only moved or compared: whatever holds them does.
MOVING = frozenset(
    {
        "Concat", "Gather", "GatherElements", "GatherND", "Reshape", "Transpose", "Slice", "Split", "Squeeze",
        "Unsqueeze", "Expand", "Tile", "Flatten", "Pad", "Where", "ScatterElements", "ScatterND", "Compress",
        "ReverseSequence", "DepthToSpace", "SpaceToDepth", "Shape", "Size", "NonZero", "IsNaN", "IsInf", "MaxUnpool",
        "Max", "Min", "Clip", "Relu", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "TopK", "MaxPool", "GlobalMaxPool",
        "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Sign", "Unique", "Hardmax", "Trilu", "OneHot",
    }
)  # fmt: skip
#: Integer results wrap round: computed with more bits and cut back they are the same.
RING = frozenset(
    {"Add", "Sub", "Mul", "Neg", "Abs", "Sum", "ReduceSum", "ReduceProd", "ReduceSumSquare", "CumSum", "MatMul", "Gemm",
     "Einsum"}
)  # fmt: skip
#: Integer results fit whenever the operands do.
CLOSED = frozenset({"Div", "Mod", "Range"})
#: 16-bit floats don't go through float here: their rounding is the point, or there is no arithmetic.
EXACT = frozenset(
    {
        "Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "RandomNormalLike",
        "RandomUniformLike", "Bernoulli", "EyeLike", "If", "Loop", "Scan", "Optional", "OptionalGetElement",
        "OptionalHasElement", "SequenceConstruct", "SequenceInsert", "SequenceEmpty", "SequenceAt", "SplitToSequence",
        "ConcatFromSequence", "StringConcat",
    }
)  # fmt: skip


def holder(op: str, dtype: ir.DataType, allowed: frozenset[ir.DataType]) -> ir.DataType | None:
    """An allowed dtype through which the operator computes exactly what it computes on `dtype`."""
    if dtype in _SHORT_FLOATS and op not in EXACT:
        return _T.FLOAT if _T.FLOAT in allowed else None
    candidates = _HOLDERS.get(dtype, ())
    if op in RING or op in CLOSED:
        if dtype not in _INTEGERS and not (dtype is _T.UINT64 and op in RING):
            return None
        candidates = (_T.INT64,) if dtype is _T.UINT64 else tuple(c for c in candidates if c not in _REALS)
    elif op not in MOVING:
        return None
    return next((c for c in candidates if c in allowed), None)


def detour(target: Signature, args: Sequence[Value | None]) -> dict[str, tuple[ir.DataType, ir.DataType]] | None:
    """For each type variable that doesn't fit: the dtype it has, and the one to compute in.

    Args:
        target: Signature of the operator at the asked opset.
        args: Operands.

    Returns:
        None where an operand doesn't fit and has no exact detour.
    """
    found: dict[str, tuple[ir.DataType, ir.DataType]] = {}
    for i, value in enumerate(args):
        if value is None or value._type is None:
            continue
        param = target.param(i)
        if param.takes(value._type) or param.variable in found:
            continue
        dtype = value.dtype if isinstance(value.type, ir.TensorType) else None
        wide = None if dtype is None or target.domain else holder(target.op, dtype, param.types)
        if dtype is None or wide is None:
            return None
        found[param.variable] = (dtype, wide)
    return found
