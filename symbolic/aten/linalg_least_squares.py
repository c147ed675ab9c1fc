"""Least squares."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..linalg import qr, svd
from ..linalg.steps import epsilon, fixed, smaller, swapped
from ..linalg.triangular import triangular_solve
from ..registry import symbolic
from ..value import Value
from .linalg_systems import empty
from .promotion import DataType


@symbolic("aten", "linalg_lstsq")
def linalg_lstsq(
    g: GraphBuilder, self: Value, b: Value, rcond: float | None = None, driver: str | None = None
) -> tuple[Value, Value, Value, Value]:
    """aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor, Tensor, ...)"""
    driver = driver or "gelsy"
    rows, columns = fixed(self, -2), fixed(self, -1)
    vector = self.rank - 1 == b.rank
    right = g.Unsqueeze(b, [-1]) if vector else b
    nothing, rank, values = empty(g, self), g.constant([]), empty(g, self)
    if driver == "gels":
        solution = _full_rank(g, self, right)
    else:
        solution, rank, values = _any_rank(g, self, right, rcond)
    residuals = nothing
    if rows > columns and driver != "gelsy":
        gap = g.Sub(g.MatMul(self, solution), right)
        residuals = g.ReduceSum(g.Mul(gap, gap), [-2], keepdims=0)
        residuals = g.Squeeze(residuals, [-1]) if vector else residuals
    solution = g.Squeeze(solution, [-1]) if vector else solution
    return solution, residuals, rank, values if driver in ("gelsd", "gelss") else nothing


def _full_rank(g: GraphBuilder, a: Value, b: Value) -> Value:
    """By QR: the best x where there are more equations than unknowns, else the shortest one."""
    if fixed(a, -2) >= fixed(a, -1):
        q, r = qr.qr(g, a)
        return triangular_solve(g, r, g.MatMul(swapped(g, q), b), lower=False)
    q, r = qr.qr(g, swapped(g, a))
    return g.MatMul(q, triangular_solve(g, r, b, lower=False, transposed=True))


def _any_rank(g: GraphBuilder, a: Value, b: Value, rcond: float | None) -> tuple[Value, Value, Value]:
    """The shortest of the best x, the rank, and the singular values; small ones count as zero."""
    limit = epsilon(a) * max(fixed(a, -2), fixed(a, -1)) if rcond is None else rcond
    u, values, vh = svd.svd(g, a)
    if smaller(fixed(a, -2), fixed(a, -1)) == 0:
        kept = g.Greater(values, 0.0)
    else:
        kept = g.Greater(values, g.Mul(g.ReduceMax(values, [-1], keepdims=1), limit))
    inverse = g.Where(kept, g.Div(1.0, values), 0.0)
    solution = g.MatMul(swapped(g, vh), g.Mul(g.Unsqueeze(inverse, [-1]), g.MatMul(swapped(g, u), b)))
    rank = g.ReduceSum(g.Cast(kept, to=DataType.INT64), [-1], keepdims=0)
    return solution, rank, values
