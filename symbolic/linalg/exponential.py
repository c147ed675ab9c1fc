"""Exponential of matrices: a Padé approximant, scaling and squaring."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .solve import solve
from .steps import identity, known, repeat

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_DOUBLE = ir.DataType.DOUBLE
#: Degree of the approximant, and the norm up to which it is exact to rounding in float64 (Higham, 2005).
_DEGREE, _LIMIT = 13, 5.371920351148152


def matrix_exp(g: GraphBuilder, x: Value) -> Value:
    """The exponential of square matrices, computed in float64: each squaring doubles the relative error."""
    if x.element is not _DOUBLE:
        return g.Cast(matrix_exp(g, g.Cast(x, to=_DOUBLE)), to=x.element)
    norm = g.ReduceMax(g.ReduceSum(g.Abs(x), [-2], keepdims=1), [-1], keepdims=1)
    doublings = g.Ceil(g.Div(g.Log(g.Div(g.Max(norm, _LIMIT), _LIMIT)), float(np.log(2))))
    scaled = g.Div(x, g.Pow(np.float64(2), doublings))
    even, odd = _approximant(g, scaled)
    # (even - odd)^-1 (even + odd)
    start = solve(g, g.Sub(even, odd), g.Add(even, odd))

    def square(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        goes = b.Less(b.Cast(number, to=_DOUBLE), doublings)
        return [b.Where(goes, b.MatMul(carried[0], carried[0]), carried[0])]

    most = g.ReduceMax(g.Concat(g.Reshape(doublings, [-1]), g.constant(np.zeros(1)), axis=0), keepdims=0)
    most = g.Where(g.Less(most, 2.0e3), most, 2.0e3)  # infinite or not a number: so is the result
    return repeat(g, g.Cast(most, to=ir.DataType.INT64), [start], square)[0]


def _approximant(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """The even and the odd part of the numerator."""
    n = _DEGREE
    weights = [factorial(2 * n - k) * factorial(n) / (factorial(2 * n) * factorial(k) * factorial(n - k))
               for k in range(n + 1)]  # fmt: skip
    square = g.MatMul(x, x)
    powers = [identity(g, x, known(x, -1)), square]
    while len(powers) <= n // 2:
        powers.append(g.MatMul(powers[-1], square))
    return _weighted(g, powers, weights[0::2]), g.MatMul(x, _weighted(g, powers, weights[1::2]))


def _weighted(g: GraphBuilder, powers: Sequence[Value], weights: Sequence[float]) -> Value:
    total = g.Mul(powers[0], weights[0])
    for power, weight in zip(powers[1:], weights[1:], strict=True):
        total = g.Add(total, g.Mul(power, weight))
    return total
