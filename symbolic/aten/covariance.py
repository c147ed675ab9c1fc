"""Covariance and correlation of rows."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..linalg.steps import diagonal_of
from ..registry import symbolic
from ..value import Value
from .promotion import as_float, cast, promoted, value_of
from .shape import size_at


@symbolic("aten", "cov")
def cov(
    g: GraphBuilder, self: Value, correction: int = 1, fweights: Value | None = None, aweights: Value | None = None
) -> Value:
    """aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"""
    x = as_float(g, self if self.rank == 2 else g.Reshape(self, [1, -1]))
    given = [w for w in (fweights, aweights) if w is not None]
    if given:
        weights = given[0] if len(given) == 1 else g.Mul(*promoted(g, *given))
        x, weights = promoted(g, x, weights)
        total = g.ReduceSum(weights, keepdims=0)
    else:
        weights, total = None, value_of(g, size_at(g, x, 1), x.element)
    lost = value_of(g, correction, x.element)
    if aweights is not None and weights is not None and correction:
        squares = g.ReduceSum(g.Mul(weights, cast(g, aweights, x.element)), keepdims=0)
        lost = g.Div(g.Mul(lost, squares), total)

    def weighted(values: Value) -> Value:
        return values if weights is None else g.Mul(values, weights)

    centred = g.Sub(x, g.Div(g.ReduceSum(weighted(x), [1], keepdims=1), total))
    products = g.MatMul(centred, g.Transpose(weighted(centred), perm=[1, 0]))
    result = g.Div(products, g.Max(g.Sub(total, lost), 0.0))
    return g.Squeeze(result, [0, 1]) if x.dim(0) == 1 else result


@symbolic("aten", "corrcoef")
def corrcoef(g: GraphBuilder, self: Value) -> Value:
    """aten::corrcoef(Tensor self) -> Tensor"""
    covariance = cov(g, self)
    if covariance.rank == 0:
        return g.Div(covariance, covariance)
    spread = g.Sqrt(diagonal_of(g, covariance))
    return g.Max(g.Min(g.Div(g.Div(covariance, g.Unsqueeze(spread, [1])), spread), 1.0), -1.0)
