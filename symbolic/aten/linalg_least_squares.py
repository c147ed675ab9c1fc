"""Least squares."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..linalg import least_squares
from ..linalg.steps import fixed
from ..registry import symbolic
from ..value import Value
from .linalg_systems import empty


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
        solution = least_squares.full_rank(g, self, right)
    else:
        solution, rank, values = least_squares.any_rank(g, self, right, rcond)
    residuals = nothing
    if rows > columns and driver != "gelsy":
        gap = g.Sub(g.MatMul(self, solution), right)
        residuals = g.ReduceSum(g.Mul(gap, gap), [-2], keepdims=0)
        residuals = g.Squeeze(residuals, [-1]) if vector else residuals
    solution = g.Squeeze(solution, [-1]) if vector else solution
    return solution, residuals, rank, values if driver in ("gelsd", "gelss") else nothing
