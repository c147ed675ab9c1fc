"""Least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from ..value import Value
from .qr import qr
from .steps import epsilon, fixed, swapped
from .svd import svd
from .triangular import triangular_solve

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def full_rank(g: GraphBuilder, a: Value, b: Value) -> Value:
    """By QR: the best x where there are more equations than unknowns, else the shortest one."""
    if fixed(a, -2) >= fixed(a, -1):
        q, r = qr(g, a)
        return triangular_solve(g, r, g.MatMul(swapped(g, q), b), lower=False)
    q, r = qr(g, swapped(g, a))
    return g.MatMul(q, triangular_solve(g, r, b, lower=False, transposed=True))


def any_rank(g: GraphBuilder, a: Value, b: Value, limit: float | None = None) -> tuple[Value, Value, Value]:
    """The shortest of the best x, the rank, and the singular values.

    Args:
        g: Builder.
        a: Coefficients.
        b: Right sides.
        limit: Singular values up to this part of the largest one count as zero; None: rounding errors do.
    """
    rows, columns = fixed(a, -2), fixed(a, -1)
    limit = epsilon(a) * max(rows, columns) if limit is None else limit
    u, values, vh = svd(g, a)
    largest = g.ReduceMax(values, [-1], keepdims=1) if min(rows, columns) else values
    kept = g.Greater(values, g.Mul(largest, limit))
    inverse = g.Where(kept, g.Div(1.0, values), 0.0)
    solution = g.MatMul(swapped(g, vh), g.Mul(g.Unsqueeze(inverse, [-1]), g.MatMul(swapped(g, u), b)))
    return solution, g.ReduceSum(g.Cast(kept, to=ir.DataType.INT64), [-1], keepdims=0), values
