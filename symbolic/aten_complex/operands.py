"""Operands of complex operators: promotion by torch's rules, sizes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aten.promotion import DataType, result_type, value_of
from ..builder import GraphBuilder
from ..complex.number import PARTS, Complex, Number
from ..complex.number import cast as cast_parts
from ..dims import Dim
from ..errors import MissingOp, UnsupportedOps
from ..value import Value

DIALECT = "aten.complex"
#: A tensor, a number, or a size.
Operand = Complex | Value | bool | int | float | complex | Dim


def refused(g: GraphBuilder, op: str, reason: str) -> UnsupportedOps:
    """The error for what a function doesn't do with complex operands."""
    return UnsupportedOps([MissingOp("aten", op, 1, (g.location,), f"complex operands: {reason}")])


def is_complex(x: Any) -> bool:
    """Whether an argument is a complex tensor or number, or a list with one in it."""
    if isinstance(x, (list, tuple)):
        return any(is_complex(item) for item in x)
    return isinstance(x, (Complex, complex, np.complexfloating))


def part_type(*operands: Operand | None) -> DataType:
    """Dtype of the parts of an operation's result."""
    parts = [o.real if isinstance(o, (Complex, complex)) else o for o in operands]
    dtype = result_type(*parts)
    return dtype if dtype in PARTS.values() else result_type(*parts, 1.0)


def number(g: GraphBuilder, operand: Operand, part: DataType) -> Number:
    """An operand as a tensor with parts of this dtype."""
    if isinstance(operand, Complex):
        return cast_parts(g, operand, part)
    if isinstance(operand, complex):
        return Complex(value_of(g, operand.real, part), value_of(g, operand.imag, part))
    return value_of(g, operand, part)


def numbers(g: GraphBuilder, *operands: Operand) -> list[Number]:
    """Operands with parts of their common dtype."""
    part = part_type(*operands)
    return [number(g, o, part) for o in operands]


def component(dtype: DataType | None) -> DataType | None:
    """The dtype of the parts of a complex dtype; another one stays."""
    return dtype if dtype is None else PARTS.get(dtype, dtype)
