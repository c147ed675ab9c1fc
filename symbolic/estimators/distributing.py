"""Transformers that give features another distribution: PowerTransformer, QuantileTransformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, cast, double, promoted
from ..ml.interpolation import interpolate
from ..registry import symbolic
from ..value import Value
from ..xla.functions import expm1, log1p
from .calling import DIALECT, Features, columns, matrix, read, unsupported
from .inverting import standard_scaler_inverse
from .scaling import standard_scaler

_POWER = "sklearn.preprocessing.PowerTransformer"
_QUANTILE = "sklearn.preprocessing.QuantileTransformer"
#: How near to 0 and 1 a normal quantile is taken (``BOUNDS_THRESHOLD``).
_EDGE = 1e-7


def _by_column(g: GraphBuilder, parts: list[Value]) -> Value:
    return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=1)


@symbolic(DIALECT, _POWER)
def power_transformer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """PowerTransformer.transform(X): ((X + 1) ** lambda - 1) / lambda, mirrored below 0 (Yeo-Johnson); Box-Cox"""
    params = read(g, est, "method", "standardize")
    rows = as_float(g, matrix(g, x))
    function = {"yeo-johnson": _yeo_johnson, "box-cox": _box_cox}.get(params.method)
    if function is None:
        raise unsupported(g, est, f"method={params.method!r}")
    parts = [
        cast(g, function(g, part, power), rows.element)
        for part, power in zip(columns(g, rows), est.lambdas_, strict=True)
    ]
    joined = _by_column(g, parts)
    return standard_scaler(g, joined, est._scaler) if params.standardize else joined


def _yeo_johnson(g: GraphBuilder, x: Value, power: np.floating) -> Value:
    zero = np.zeros((), x.element.numpy())
    right = _half(g, _rounded(g, log1p, g.Max(x, zero)), power)
    left = g.Neg(_half(g, _rounded(g, log1p, g.Max(g.Neg(x), zero)), power.dtype.type(2) - power))
    found = g.Where(g.GreaterOrEqual(x, zero), right, left)
    return g.Where(g.IsNaN(x), np.array(np.nan, found.element.numpy()), found)


def _rounded(g: GraphBuilder, function: Callable[[GraphBuilder, Value], Value], x: Value) -> Value:
    """A function computed in double, in the dtype of x."""
    return cast(g, function(g, double(g, x)), x.element)


def _half(g: GraphBuilder, log: Value, power: np.floating) -> Value:
    """``expm1(power * log) / power``, in the dtype that numpy takes; the logarithm itself where the power is 0."""
    wide, factor = promoted(g, log, np.asarray(power))
    if abs(power) < np.finfo(power.dtype).eps:
        return wide
    return g.Div(_rounded(g, expm1, g.Mul(wide, factor)), factor)


def _box_cox(g: GraphBuilder, x: Value, power: np.floating) -> Value:
    log = g.Log(double(g, x))
    if abs(power) < np.finfo(np.float64).eps:
        return log
    return g.Div(expm1(g, g.Mul(log, np.float64(power))), np.float64(power))


@symbolic(DIALECT, f"{_POWER}.inverse_transform")
def power_transformer_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """PowerTransformer.inverse_transform(X): (X lambda + 1) ** (1 / lambda) - 1 for X >= 0, mirrored below"""
    params = read(g, est, "method", "standardize")
    rows = as_float(g, x)
    if params.standardize:
        rows = standard_scaler_inverse(g, rows, est._scaler)
    one = np.float64(1)
    made = []
    for part, power in zip(columns(g, double(g, rows)), map(float, est.lambdas_), strict=True):
        if params.method == "box-cox":
            made.append(_root(g, part, power))
            continue
        right = g.Sub(_root(g, part, power), one)
        left = g.Sub(one, _root(g, g.Neg(part), 2 - power))
        made.append(g.Where(g.GreaterOrEqual(part, np.float64(0)), right, left))
    return cast(g, _by_column(g, made), rows.element)


def _root(g: GraphBuilder, x: Value, power: float) -> Value:
    """(x power + 1) ** (1 / power), exp(x) where the power is 0."""
    if abs(power) < np.spacing(1.0):
        return g.Exp(x)
    return g.Pow(g.Add(g.Mul(x, np.float64(power)), np.float64(1)), np.float64(1 / power))


@symbolic(DIALECT, _QUANTILE)
def quantile_transformer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """QuantileTransformer.transform(X): the share of known values below X, through the normal quantile if asked"""
    normal = _is_normal(g, est)
    rows = as_float(g, matrix(g, x))
    parts = []
    for i, part in enumerate(columns(g, rows)):
        known, shares = est.quantiles_[:, i], est.references_
        low, high = _at_edges(g, part, known[0], known[-1], normal=normal)
        wide = double(g, part)
        up = interpolate(g, wide, known, shares)
        down = interpolate(g, g.Neg(wide), -known[::-1], -shares[::-1])
        found = cast(g, g.Mul(g.Sub(up, down), np.float64(0.5)), rows.element)
        kind = rows.element.numpy().type
        found = g.Where(low, kind(0), g.Where(high, kind(1), found))
        parts.append(cast(g, _normal_quantile(g, found), rows.element) if normal else found)
    return _by_column(g, parts)


@symbolic(DIALECT, f"{_QUANTILE}.inverse_transform")
def quantile_transformer_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """QuantileTransformer.inverse_transform(X): the quantile of the known values at the share X"""
    from ..aten.error_function import ndtr

    normal = _is_normal(g, est)
    rows = as_float(g, x)
    kind = rows.element.numpy().type
    parts = []
    for i, part in enumerate(columns(g, rows)):
        known = est.quantiles_[:, i]
        share = ndtr(g, double(g, part)) if normal else part
        low, high = _at_edges(g, share, 0, 1, normal=normal)
        found = cast(g, interpolate(g, double(g, share), est.references_, known), rows.element)
        parts.append(g.Where(low, kind(known[0]), g.Where(high, kind(known[-1]), found)))
    return _by_column(g, parts)


def _is_normal(g: GraphBuilder, est: Any) -> bool:
    params = read(g, est, "output_distribution", ignore=("n_quantiles", "ignore_implicit_zeros"))
    if params.output_distribution not in ("uniform", "normal"):
        raise unsupported(g, est, f"output_distribution={params.output_distribution!r}")
    return bool(params.output_distribution == "normal")


def _at_edges(g: GraphBuilder, x: Value, low: float, high: float, *, normal: bool) -> tuple[Value, Value]:
    """Where x lies at the lower and at the upper edge."""
    if not normal:
        wide = double(g, x)
        return g.Equal(wide, np.float64(low)), g.Equal(wide, np.float64(high))
    edge = x.element.numpy().type(_EDGE)
    below, above = double(g, g.Sub(x, edge)), double(g, g.Add(x, edge))
    return g.Less(below, np.float64(low)), g.Greater(above, np.float64(high))


def _normal_quantile(g: GraphBuilder, share: Value) -> Value:
    from ..aten.error_function import ndtri

    wide = double(g, share)
    edge = _EDGE - np.spacing(1)
    low, high = (ndtri(g, g.constant(np.float64(e))) for e in (edge, 1 - edge))
    found = ndtri(g, wide)
    found = g.Where(g.Less(found, low), low, g.Where(g.Greater(found, high), high, found))
    return g.Where(g.IsNaN(wide), wide, found)
