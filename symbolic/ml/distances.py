"""Distances between rows and known rows, computed in double and feature after feature, as scikit-learn's trees do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from .dtypes import cast, double

#: What one feature adds to a distance: f(g, sum so far, x, y) -> new sum, [batch, rows].
Step = Callable[[GraphBuilder, Value, Value, Value], Value]

_ALIASES = {
    "l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "infinity": "chebyshev", "p": "minkowski",
    "nan_euclidean": "nan_euclidean",
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """A metric by its name and parameters.

    Attributes:
        name: Name as scikit-learn spells it (aliases are resolved).
        parameters: ``p`` of minkowski, ``V`` of seuclidean, ``VI`` of mahalanobis, ``w`` of minkowski.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def plain(self) -> Metric:
        """The same metric by its plainest name; minkowski of p = 1, 2, inf is one of the others."""
        name = _ALIASES.get(self.name, self.name)
        if name == "minkowski" and self.parameters.get("w") is None:
            special = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(self.parameters.get("p", 2))
            if special is not None:
                return Metric(special)
        return Metric(name, self.parameters)


def _away(g: GraphBuilder, x: Value, y: Value) -> Value:
    """``x - y``, rounded to their dtype, as double."""
    return double(g, g.Sub(x, y))


def _squares(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
    difference = _away(g, x, y)
    return g.Add(total, g.Mul(difference, difference))


def _absolutes(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
    return g.Add(total, g.Abs(_away(g, x, y)))


def _greatest(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
    return g.Max(total, g.Abs(_away(g, x, y)))


def _unequal(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
    return g.Add(total, g.Where(g.Equal(x, y), np.float64(0), np.float64(1)))


def _canberra(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
    whole = g.Add(double(g, g.Abs(x)), double(g, g.Abs(y)))
    empty = g.Equal(whole, np.float64(0))
    share = g.Div(g.Abs(_away(g, x, y)), g.Where(empty, np.float64(1), whole))
    return g.Add(total, g.Where(empty, np.float64(0), share))


def _chi2(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
    whole, difference = g.Add(x, y), g.Sub(x, y)
    empty = g.Equal(whole, np.float64(0))
    share = g.Div(g.Mul(difference, difference), g.Where(empty, np.float64(1), whole))
    return g.Sub(total, g.Where(empty, np.float64(0), share))


def _powers(p: float) -> Step:
    def step(g: GraphBuilder, total: Value, x: Value, y: Value) -> Value:
        return g.Add(total, g.Pow(g.Abs(_away(g, x, y)), np.float64(p)))

    return step


def by_feature(
    g: GraphBuilder, x: Value, y: np.ndarray, step: Step, *, outputs: int | None = None, single: bool = False
) -> Value:
    """A sum over the features, one after the other: double[batch, rows of y].

    Args:
        x: Rows, [batch, features].
        y: Known rows, [rows, features].
        step: What a feature adds.
        outputs: Number of sums of each row, where it isn't the number of known rows.
        single: The steps get the features as float32; otherwise as double.
    """
    kind = ir.DataType.FLOAT if single else ir.DataType.DOUBLE
    known = np.asarray(y, kind.numpy())
    batch, rows, sums = x.dim(0), len(known), len(y) if outputs is None else outputs
    start = g.expand(g.constant(np.zeros((1, 1))), [batch, sums])
    body = g.subgraph()
    total = body.input("total", "float64", (batch, sums))
    own = body.input("x", kind, (batch,))
    other = body.input("y", kind, (rows,))
    body.output(step(body, total, body.Unsqueeze(own, [1]), body.Unsqueeze(other, [0])))
    by_column = g.Transpose(cast(g, x, kind), perm=[1, 0])
    found: Value = g.Scan(start, by_column, np.ascontiguousarray(known.T), body=body, num_scan_inputs=2)
    return g.expect(found, None, (batch, sums))


def reduced(g: GraphBuilder, x: Value, y: np.ndarray, metric: Metric, *, single: bool = False) -> Value | None:
    """Distances, or what rises with them (squares, powers) and is compared in their place: double[batch, rows].

    None for a metric that isn't done. `single` rounds the differences of features, and their sum, to float32.
    """
    metric = metric.plain
    name, known = metric.name, np.asarray(y, np.float64)
    if name in ("euclidean", "sqeuclidean"):
        return by_feature(g, x, known, _squares)
    if name == "seuclidean":
        scale = 1 / np.sqrt(np.asarray(metric.parameters["V"], np.float64))
        return by_feature(g, g.Mul(double(g, x), scale), known * scale, _squares)
    if name == "mahalanobis" and "VI" in metric.parameters:
        root = np.linalg.cholesky(np.asarray(metric.parameters["VI"], np.float64))
        return by_feature(g, g.MatMul(double(g, x), root), known @ root, _squares)
    if name == "minkowski":
        weights = metric.parameters.get("w")
        p = float(metric.parameters["p"])
        if weights is None:
            return _rounded(g, by_feature(g, x, known, _powers(p), single=single), single)
        scale = np.asarray(weights, np.float64) ** (1 / p)
        return by_feature(g, g.Mul(double(g, x), scale), known * scale, _powers(p))
    if name == "hamming":
        return _rounded(g, g.Div(by_feature(g, x, known, _unequal), np.float64(known.shape[1])), single)
    if name == "cosine":
        return cosine(g, x, known)
    step = {"manhattan": _absolutes, "chebyshev": _greatest, "canberra": _canberra}.get(name)
    return None if step is None else _rounded(g, by_feature(g, x, known, step, single=single), single)


def _rounded(g: GraphBuilder, x: Value, single: bool) -> Value:
    return double(g, cast(g, x, ir.DataType.FLOAT)) if single else x


def from_reduced(g: GraphBuilder, found: Value, metric: Metric) -> Value:
    """The distances that `reduced` stands for."""
    metric = metric.plain
    if metric.name in ("euclidean", "seuclidean", "mahalanobis"):
        return g.Sqrt(found)
    if metric.name == "minkowski":
        return g.Pow(found, np.float64(1 / metric.parameters["p"]))
    return found


def reduced_radius(radius: float, metric: Metric) -> float:
    """A radius on the scale of `reduced`."""
    metric = metric.plain
    if metric.name in ("euclidean", "seuclidean", "mahalanobis"):
        return radius * radius
    return float(radius ** metric.parameters["p"]) if metric.name == "minkowski" else radius


def distances(g: GraphBuilder, x: Value, y: np.ndarray, metric: Metric) -> Value | None:
    """Distances, double[batch, rows of y]; None for a metric that isn't done."""
    found = reduced(g, x, y, metric)
    return None if found is None else from_reduced(g, found, metric)


def squared_by_products(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """``euclidean_distances(x, y, squared=True)``: ``x.x - 2 x.y + y.y``, not below 0."""
    known = np.asarray(y, np.float64)
    wide = double(g, x)
    own = g.ReduceSum(g.Mul(wide, wide), [1], keepdims=1)
    crossed = g.MatMul(wide, np.ascontiguousarray(-2.0 * known.T))
    return g.Max(g.Add(g.Add(crossed, own), np.sum(known * known, axis=1)), np.float64(0))


def nearest_by_products(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """``KMeans``: the nearest known row, the first of the nearest, ranked by ``y.y - 2 x.y``: int64[batch]."""
    known = np.asarray(y, np.float64)
    crossed = g.MatMul(double(g, x), np.ascontiguousarray(-2.0 * known.T))
    return g.ArgMin(g.Add(crossed, np.sum(known * known, axis=1)), axis=1, keepdims=0)


def nearest_pairwise(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """``pairwise_distances_argmin(x, y)``: int64[batch].

    The sum with ``x.x`` makes equals of known rows to which the way is nearly the same far away.
    """
    return g.ArgMin(squared_by_products(g, x, y), axis=1, keepdims=0)


def unit_rows(g: GraphBuilder, x: Value) -> Value:
    """Rows over their euclidean norm, rows of zeros as they are, in double."""
    wide = double(g, x)
    norm = g.Sqrt(g.ReduceSum(g.Mul(wide, wide), [1], keepdims=1))
    return g.Div(wide, g.Where(g.Equal(norm, np.float64(0)), np.float64(1), norm))


def cosine_similarity(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """Products of the unit rows: double[batch, rows of y]."""
    norm = np.sqrt(np.sum(y * y, axis=1, keepdims=True))
    return g.MatMul(unit_rows(g, x), np.ascontiguousarray((y / np.where(norm == 0, 1, norm)).T))


def cosine(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """``1 - cosine``, from 0 to 2."""
    found = g.Sub(np.float64(1), cosine_similarity(g, x, np.asarray(y, np.float64)))
    return g.Min(g.Max(found, np.float64(0)), np.float64(2))


def chi2(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """``-sum (x - y)**2 / (x + y)``: the additive chi-squared kernel."""
    return by_feature(g, x, y, _chi2)
