"""Gaussian mixtures, and the distances of the covariance estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import cast, common, double, numbers
from ..ml.linear import affine
from ..ml.reduce import log_sum_exp
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, matrix, read
from .neighbors import outliers

_MODULE = "sklearn.mixture."
_TRAINING = (
    "n_components", "reg_covar", "init_params", "weights_init", "means_init", "precisions_init", "verbose_interval",
    "weight_concentration_prior", "mean_precision_prior", "mean_prior", "degrees_of_freedom_prior", "covariance_prior",
)  # fmt: skip


def _row_sums(g: GraphBuilder, x: Value) -> Value:
    return g.ReduceSum(g.Mul(x, x), [1], keepdims=1)


def _distances(g: GraphBuilder, x: Value, est: Any) -> Value:
    """Squared Mahalanobis distances to the means, [batch, components]."""
    means, factors, kind = est.means_, est.precisions_cholesky_, est.covariance_type
    if kind in ("full", "tied"):
        each = factors if kind == "full" else [factors] * len(means)
        # scikit-learn writes these into an array of the dtype of X, whole numbers too
        columns = [
            cast(g, _row_sums(g, numbers(g, "Sub", affine(g, x, np.asarray(f).T, 0.0), m @ f)), x.element)
            for m, f in zip(means, each, strict=True)
        ]
        return g.Concat(*columns, axis=1)
    precisions = np.asarray(factors) ** 2
    wide = x if means.dtype == x.element.numpy() else double(g, x)
    if kind == "diag":
        crossed = affine(g, wide, means * precisions, 0.0)
        squares = affine(g, g.Mul(wide, wide), precisions, 0.0)
        start = np.sum(means**2 * precisions, axis=1)
    else:
        crossed = numbers(g, "Mul", affine(g, wide, means, 0.0), precisions)
        squares = numbers(g, "Mul", _row_sums(g, wide), precisions[None])
        start = np.sum(means**2, axis=1) * precisions
    two = crossed.element.numpy().type(2)
    return g.Add(numbers(g, "Sub", g.Neg(g.Mul(crossed, two)), -start), squares)


def _log_det(est: Any, features: int) -> np.ndarray:
    """Logarithm of the determinant of each component's Cholesky factor of the precision."""
    factors, kind = np.asarray(est.precisions_cholesky_), est.covariance_type
    if kind == "full":
        found = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    elif kind == "tied":
        found = np.log(np.diagonal(factors)).sum()
    else:
        found = np.log(factors).sum(axis=1) if kind == "diag" else features * np.log(factors)
    return np.asarray(found)


def _digamma(x: np.ndarray) -> np.ndarray:
    """Logarithmic derivative of the gamma function, for x > 0."""
    x = np.asarray(x, np.float64)
    shift = np.zeros_like(x)
    for _ in range(10):
        shift, x = shift - 1 / x, x + 1
    r = 1 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760)))))
    return np.asarray(shift + np.log(x) - 0.5 / x - series)


def _constants(est: Any, features: int) -> np.ndarray:
    """What each component adds to the log density besides its distances: determinant and weight."""
    constant = -0.5 * features * np.log(2 * np.pi) + _log_det(est, features)
    if not hasattr(est, "degrees_of_freedom_"):
        return np.asarray(constant + np.log(est.weights_))
    freedom = np.asarray(est.degrees_of_freedom_)
    constant = constant - 0.5 * features * np.log(freedom)
    spread = features * np.log(2.0) + np.sum(_digamma(0.5 * (freedom - np.arange(features)[:, None])), axis=0)
    constant = constant + 0.5 * (spread - features / est.mean_precision_)
    if est.weight_concentration_prior_type != "dirichlet_process":
        concentration = np.asarray(est.weight_concentration_)
        return np.asarray(constant + _digamma(concentration) - _digamma(concentration.sum()))
    a, b = map(np.asarray, est.weight_concentration_)
    whole = _digamma(a + b)
    return np.asarray(constant + _digamma(a) - whole + np.append(0, np.cumsum(_digamma(b) - whole)[:-1]))


@symbolic(DIALECT, _MODULE + "GaussianMixture", _MODULE + "BayesianGaussianMixture")
def gaussian_mixture(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """GaussianMixture.predict_proba(X): shares of the components' weighted normal densities"""
    read(g, est, "covariance_type", "weight_concentration_prior_type", ignore=_TRAINING)
    rows = matrix(g, x)
    away = double(g, _distances(g, rows, est))
    joint = g.Add(g.Mul(away, np.float64(-0.5)), _constants(est, est.means_.shape[1]))
    # scikit-learn computes the distances in the dtype of X
    dtype = common(rows.element, ir.DataType.from_numpy(est.means_.dtype))
    if est.covariance_type in ("full", "tied"):
        dtype = common(rows.element, ir.DataType.from_numpy(_log_det(est, 1).dtype))
    return Methods({
        "predict": lambda: labels.first_greatest(g, joint),
        "predict_proba": lambda: cast(g, g.Softmax(joint, axis=1), dtype),
        "score_samples": lambda: cast(g, log_sum_exp(g, joint), dtype),
    })  # fmt: skip


_COVARIANCE = tuple(
    "sklearn.covariance." + n
    for n in (
        "EmpiricalCovariance", "GraphicalLasso", "GraphicalLassoCV", "LedoitWolf", "MinCovDet", "OAS",
        "ShrunkCovariance",
    )
)  # fmt: skip


def _mahalanobis(g: GraphBuilder, x: Features, est: Any) -> Value:
    """``(X - location_) @ precision @ (X - location_).T``, the diagonal of it: [batch]."""
    centred = g.Sub(double(g, matrix(g, x)), np.asarray(est.location_, np.float64))
    projected = g.MatMul(centred, np.asarray(est.get_precision(), np.float64))
    squares = g.ReduceSum(g.Mul(projected, centred), [1], keepdims=0)
    root = g.Sqrt(squares)
    return g.Mul(root, root)


@symbolic(DIALECT, *_COVARIANCE)
def covariance(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """EmpiricalCovariance.mahalanobis(X): squared Mahalanobis distances to location_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of these acts after the fit
    return Methods({"mahalanobis": lambda: _mahalanobis(g, x, est)})


@symbolic(DIALECT, "sklearn.covariance.EllipticEnvelope")
def elliptic_envelope(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """EllipticEnvelope.score_samples(X): minus the squared Mahalanobis distance; below offset_ is outside"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of it acts after the fit
    away = _mahalanobis(g, x, est)
    return outliers(g, g.Neg(away), est.offset_, {"mahalanobis": lambda: away})
