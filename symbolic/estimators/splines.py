"""B-splines of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, cast, double
from ..ml.interpolation import count_reached
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Sparse, columns, matrix, read, unsupported


@symbolic(DIALECT, "sklearn.preprocessing.SplineTransformer")
def spline_transformer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """SplineTransformer.transform(X): the values of the basis splines of each feature"""
    params = read(
        g, est, "degree", "extrapolation", "include_bias", "sparse_output", "handle_missing",
        ignore=("n_knots", "knots", "order"),
    )  # fmt: skip
    rows = as_float(g, matrix(g, x))
    unbounded = params.extrapolation in ("continue", "error", "periodic")
    if params.sparse_output and params.handle_missing == "zeros" and unbounded and len(est.bsplines_) > 1:
        raise unsupported(g, est, "sparse_output with missing values, which scikit-learn fills by the other rows")
    dtype = ir.DataType.DOUBLE if params.sparse_output else rows.element
    degree = params.degree
    parts = []
    for column, spline in zip(columns(g, rows), est.bsplines_, strict=True):
        wide = double(g, column)
        if unbounded:
            basis = _basis(g, _wrapped(g, wide, spline) if params.extrapolation == "periodic" else wide, spline)
        elif params.extrapolation == "constant":
            basis = _bounded(g, wide, spline, degree, _constant_sides(g, spline, degree))
        elif params.extrapolation == "linear":
            inner = degree
            degree = degree + 1 if degree <= 1 else degree  # scikit-learn takes it over to the next features, too
            basis = _bounded(g, wide, spline, inner, _linear_sides(g, wide, spline, inner, degree))
        else:
            raise unsupported(g, est, f"extrapolation={params.extrapolation!r}")
        if params.handle_missing == "zeros":
            basis = g.Where(g.IsNaN(wide), np.float64(0), basis)
        if not params.include_bias:
            basis = g.Slice(basis, [0], [-1], [1])
        parts.append(cast(g, basis, dtype))
    found = parts[0] if len(parts) == 1 else g.Concat(*parts, axis=1)
    return Sparse(found) if params.sparse_output else found


def _wrapped(g: GraphBuilder, x: Value, spline: Any) -> Value:
    """x moved by whole periods into the range of the knots."""
    start, stop = float(spline.t[spline.k]), float(spline.t[len(spline.t) - spline.k - 1])
    period = np.float64(stop - start)
    if not period > 0:
        return g.Mul(x, np.float64(0))
    rest = g.Mod(g.Sub(x, np.float64(start)), period, fmod=1)
    rest = g.Where(g.Less(rest, np.float64(0)), g.Add(rest, period), rest)
    return g.Add(rest, np.float64(start))


def _basis(g: GraphBuilder, x: Value, spline: Any) -> Value:
    """``spline(x)``, [batch, splines]: de Boor's recursion on the knots around x, [batch, 1]."""
    knots, degree = np.asarray(spline.t, np.float64), int(spline.k)
    last = len(knots) - degree - 2
    at = g.Sub(count_reached(g, x, knots[degree : last + 1]), np.int64(1))
    at = g.Add(g.Max(at, np.int64(0)), np.int64(degree))
    values = [g.Add(g.Mul(x, np.float64(0)), np.float64(1))]
    for j in range(1, degree + 1):
        before, values = values, [g.Mul(values[0], np.float64(0))]
        for n in range(1, j + 1):
            right, left = (g.Gather(knots, g.Add(at, np.int64(o)), axis=0) for o in (n, n - j))
            span = g.Sub(right, left)
            empty = g.Equal(span, np.float64(0))
            share = g.Where(empty, np.float64(0), g.Div(before[n - 1], g.Where(empty, np.float64(1), span)))
            values[n - 1] = g.Add(values[n - 1], g.Mul(share, g.Sub(right, x)))
            values.append(g.Mul(share, g.Sub(x, left)))
    coefficients = np.asarray(spline.c, np.float64)
    total: Value | None = None
    for j, value in enumerate(values):
        row = g.Add(at, np.int64(j - degree))
        weights = g.Cast(g.Equal(row, np.arange(len(coefficients))), to=ir.DataType.DOUBLE)
        if coefficients.shape[0] != coefficients.shape[1]:  # periodic: the last splines are the first ones again
            weights = g.MatMul(weights, coefficients)
        term = g.Mul(weights, value)
        total = term if total is None else g.Add(total, term)
    assert total is not None
    return total


def _bounded(g: GraphBuilder, x: Value, spline: Any, degree: int, sides: tuple[Value, Value]) -> Value:
    """The basis between the knots, and the sides below and above them; 0 for NaN."""
    low, high = np.float64(spline.t[degree]), np.float64(spline.t[-degree - 1])
    inside = g.And(g.GreaterOrEqual(x, low), g.LessOrEqual(x, high))
    basis = g.Where(inside, _basis(g, g.Where(inside, x, low), spline), np.float64(0))
    return g.Where(g.Less(x, low), sides[0], g.Where(g.Greater(x, high), sides[1], basis))


def _constant_sides(g: GraphBuilder, spline: Any, degree: int) -> tuple[Value, Value]:
    low, high = spline(spline.t[degree]), spline(spline.t[-degree - 1])
    below, above = np.zeros_like(low), np.zeros_like(high)
    below[:degree] = low[:degree]
    if degree:
        above[-degree:] = high[-degree:]
    return g.constant(below.reshape(1, -1)), g.constant(above.reshape(1, -1))


def _linear_sides(g: GraphBuilder, x: Value, spline: Any, degree: int, count: int) -> tuple[Value, Value]:
    low, high = np.float64(spline.t[degree]), np.float64(spline.t[-degree - 1])
    chosen = np.arange(spline.c.shape[1]) < count
    sides = []
    for at, kept in ((low, chosen), (high, chosen[::-1])):
        height, slope = (np.where(kept, v, 0.0).reshape(1, -1) for v in (spline(at), spline(at, nu=1)))
        sides.append(g.Add(g.Mul(g.Sub(x, at), slope), height))
    return sides[0], sides[1]
