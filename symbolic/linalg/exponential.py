"""Exponential of matrices: Padé approximants, scaling and squaring."""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .solve import solve
from .steps import identity, known, repeat

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Degree of the approximant, and the norm up to which it is exact to rounding (Higham 2005).
_APPROXIMANTS = {ir.DataType.FLOAT: (7, 3.925724783138660), ir.DataType.DOUBLE: (13, 5.371920351148152)}


def matrix_exp(g: GraphBuilder, x: Value) -> Value:
    """The exponential of square matrices."""
    degree, limit = _APPROXIMANTS[x.element]
    norm = g.ReduceMax(g.ReduceSum(g.Abs(x), [-2], keepdims=1), [-1], keepdims=1)
    doublings = g.Ceil(g.Div(g.Log(g.Div(g.Max(norm, limit), limit)), float(np.log(2))))
    doublings = g.Min(doublings, float(np.finfo(x.element.numpy()).maxexp))
    scaled = g.Div(x, g.Pow(np.asarray(2, x.element.numpy()), doublings))
    even, odd = _approximant(g, scaled, degree)
    # (even - odd)^-1 (even + odd)
    start = solve(g, g.Sub(even, odd), g.Add(even, odd))
    most = g.Cast(g.ReduceMax(doublings, keepdims=0), to=ir.DataType.INT64)

    def square(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        (power,) = carried
        goes = b.Less(b.Cast(number, to=x.element), doublings)
        return [b.Where(goes, b.MatMul(power, power), power)]

    return repeat(g, most, [start], square)[0]


def _approximant(g: GraphBuilder, x: Value, degree: int) -> tuple[Value, Value]:
    """The even and the odd part of the numerator."""
    weights = [
        factorial(2 * degree - k) * factorial(degree)
        / (factorial(2 * degree) * factorial(k) * factorial(degree - k))
        for k in range(degree + 1)
    ]  # fmt: skip
    square = g.MatMul(x, x)
    powers = [identity(g, x, known(x, -1)), square]
    while len(powers) <= degree // 2:
        powers.append(g.MatMul(powers[-1], square))

    def part(first: int) -> Value:
        total: Value | None = None
        for power, weight in zip(powers, weights[first::2], strict=False):
            term = g.Mul(power, weight)
            total = term if total is None else g.Add(total, term)
        assert total is not None
        return total

    return part(0), g.MatMul(x, part(1))
