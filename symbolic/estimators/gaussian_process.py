"""Gaussian processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.distances import Metric, distances
from ..ml.dtypes import double
from ..ml.kernels import dot, kernel
from ..ml.special import erf
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, Methods, matrix, read, unsupported
from .svm import one_versus_rest

_MODULE = "sklearn.gaussian_process.GaussianProcess"


def _scaled(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any, metric: str) -> Value:
    scale = np.asarray(kernel.length_scale, np.float64)
    found = distances(g, g.Div(double(g, x), scale), np.asarray(y, np.float64) / scale, Metric(metric))
    assert found is not None
    return found


def _matern(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any) -> Value | None:
    one = np.float64(1)
    if kernel.nu == np.inf:
        return _radial(g, x, y, kernel)
    if kernel.nu not in (0.5, 1.5, 2.5):
        return None  # a Bessel function
    away = g.Mul(_scaled(g, x, y, kernel, "euclidean"), np.float64(np.sqrt(2 * kernel.nu)))
    fall = g.Exp(g.Neg(away))
    if kernel.nu == 0.5:
        return fall
    grown = g.Add(one, away)
    if kernel.nu == 2.5:
        grown = g.Add(grown, g.Div(g.Mul(away, away), np.float64(3)))
    return g.Mul(grown, fall)


def _radial(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any) -> Value:
    return g.Exp(g.Mul(_scaled(g, x, y, kernel, "sqeuclidean"), np.float64(-0.5)))


def _rational(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any) -> Value:
    squares = distances(g, x, y, Metric("sqeuclidean"))
    assert squares is not None
    base = g.Add(np.float64(1), g.Div(squares, np.float64(2 * kernel.alpha * kernel.length_scale**2)))
    return g.Pow(base, np.float64(-kernel.alpha))


def _periodic(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any) -> Value:
    away = distances(g, x, y, Metric("euclidean"))
    assert away is not None
    wave = g.Div(g.Sin(g.Mul(away, np.float64(np.pi / kernel.periodicity))), np.float64(kernel.length_scale))
    return g.Exp(g.Mul(g.Mul(wave, wave), np.float64(-2)))


def _product(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any) -> Value:
    return g.Add(dot(g, x, y), np.float64(kernel.sigma_0**2))


def _pairwise(g: GraphBuilder, x: Value, y: np.ndarray, own: Any) -> Value | None:
    if own.pairwise_kernels_kwargs or not isinstance(own.metric, str):
        return None
    return kernel(g, x, y, own.metric, float(own.gamma), 3.0, 1.0)


def _filled(g: GraphBuilder, x: Value, count: int | None, value: float) -> Value:
    shape = (1,) if count is None else (1, 1)
    sizes = [x.dim(0)] if count is None else [x.dim(0), count]
    return g.expand(g.constant(np.full(shape, value, np.float64)), sizes)


_KERNELS: dict[str, Callable[[GraphBuilder, Value, np.ndarray, Any], Value | None]] = {
    "RBF": _radial, "Matern": _matern, "RationalQuadratic": _rational, "ExpSineSquared": _periodic,
    "DotProduct": _product, "PairwiseKernel": _pairwise,
    "ConstantKernel": lambda g, x, y, kernel: _filled(g, x, len(y), kernel.constant_value),
    "WhiteKernel": lambda g, x, y, kernel: _filled(g, x, len(y), 0.0),
}  # fmt: skip


def covariance(g: GraphBuilder, x: Value, y: np.ndarray, kernel: Any, est: Any) -> Value:
    """``kernel(x, y)`` for known rows y, double[batch, rows]."""
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        parts = [covariance(g, x, y, k, est) for k in (kernel.k1, kernel.k2)]
        return g.Add(*parts) if name == "Sum" else g.Mul(*parts)
    if name == "Exponentiation":
        return g.Pow(covariance(g, x, y, kernel.kernel, est), np.float64(kernel.exponent))
    found = _KERNELS[name](g, x, y, kernel) if name in _KERNELS else None
    if found is None:
        raise unsupported(g, est, f"the kernel {kernel}")
    return found


def variance(g: GraphBuilder, x: Value, kernel: Any, est: Any) -> Value:
    """``kernel.diag(x)``, double[batch]."""
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        parts = [variance(g, x, k, est) for k in (kernel.k1, kernel.k2)]
        return g.Add(*parts) if name == "Sum" else g.Mul(*parts)
    if name == "Exponentiation":
        return g.Pow(variance(g, x, kernel.kernel, est), np.float64(kernel.exponent))
    if name == "DotProduct":
        wide = double(g, x)
        return g.Add(g.ReduceSum(g.Mul(wide, wide), [1], keepdims=0), np.float64(kernel.sigma_0**2))
    if name == "ConstantKernel":
        return _filled(g, x, None, kernel.constant_value)
    if name == "WhiteKernel":
        return _filled(g, x, None, kernel.noise_level)
    if name in ("RBF", "Matern", "RationalQuadratic", "ExpSineSquared") or (
        name == "PairwiseKernel" and kernel.metric in ("rbf", "laplacian")
    ):
        return _filled(g, x, None, 1.0)
    raise unsupported(g, est, f"the variance of the kernel {kernel}")


def _explained(g: GraphBuilder, known: Value, half: np.ndarray) -> Value:
    """``sum((half @ known.T)**2, axis=0)``, [batch]."""
    v = g.MatMul(known, np.ascontiguousarray(half.T))
    return g.ReduceSum(g.Mul(v, v), [1], keepdims=0)


@symbolic(DIALECT, _MODULE + "Regressor")
def gaussian_process_regressor(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """GaussianProcessRegressor.predict(X): kernel_(X, X_train_) @ alpha_, scaled back; the deviation on request"""
    read(g, est, ignore=("kernel", "optimizer", "n_restarts_optimizer", "normalize_y", "copy_X_train", "n_targets"))
    rows = matrix(g, x)
    trained = np.asarray(est.X_train_)
    known = covariance(g, rows, trained, est.kernel_, est)
    spread, centre = np.asarray(est._y_train_std), np.asarray(est._y_train_mean)

    def predict() -> Value:
        alpha = np.asarray(est.alpha_, np.float64)
        mean = g.MatMul(known, alpha.reshape(len(alpha), -1))
        mean = g.Add(g.Mul(mean, spread.astype(np.float64)), centre.astype(np.float64))
        return g.Squeeze(mean, [1]) if mean.dim(1) == 1 else mean

    def deviation() -> Value:
        half = np.linalg.inv(np.asarray(est.L_, np.float64))
        left = g.Sub(variance(g, rows, est.kernel_, est), _explained(g, known, half))
        left = g.Max(left, np.float64(0))
        scaled = g.Mul(g.Unsqueeze(left, [1]), np.square(np.atleast_1d(spread)).astype(np.float64))
        found = g.Sqrt(scaled)
        return g.Squeeze(found, [1]) if found.dim(1) == 1 else found

    return Methods({"predict": predict, "predict_std": deviation})


#: The logistic function as a sum of five error functions (Williams and Barber), as scikit-learn integrates it.
_LAMBDAS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
_COEFFICIENTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])


def _binary(g: GraphBuilder, x: Value, est: Any, outer: Any) -> tuple[Value, Callable[[], Value]]:
    """Latent mean, [batch], and what makes the probability of the second class."""
    known = covariance(g, x, np.asarray(est.X_train_), est.kernel_, outer)
    mean = g.MatMul(known, (est.y_train_ - est.pi_).astype(np.float64))

    def probability() -> Value:
        half = np.linalg.inv(np.asarray(est.L_, np.float64)) * np.asarray(est.W_sr_, np.float64)
        var = g.Unsqueeze(g.Sub(variance(g, x, est.kernel_, outer), _explained(g, known, half)), [1])
        alpha = g.Div(np.float64(1), g.Mul(var, np.float64(2)))
        gamma = g.Mul(g.Unsqueeze(mean, [1]), _LAMBDAS)
        inner = erf(g, g.Mul(gamma, g.Sqrt(g.Div(alpha, g.Add(alpha, _LAMBDAS**2)))))
        scale = g.Div(
            g.Sqrt(g.Div(np.float64(np.pi), alpha)),
            g.Mul(g.Sqrt(g.Mul(g.Mul(var, np.float64(2)), np.float64(np.pi))), np.float64(2)),
        )
        summed = g.ReduceSum(g.Mul(g.Mul(inner, scale), _COEFFICIENTS), [1], keepdims=0)
        return g.Add(summed, np.float64(0.5 * _COEFFICIENTS.sum()))

    return mean, probability


@symbolic(DIALECT, _MODULE + "Classifier")
def gaussian_process_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """GaussianProcessClassifier.predict_proba(X): the logistic function of the latent process, integrated"""
    params = read(
        g, est, "multi_class",
        ignore=("kernel", "optimizer", "n_restarts_optimizer", "max_iter_predict", "copy_X_train"),
    )  # fmt: skip
    rows = matrix(g, x)
    base, count = est.base_estimator_, len(est.classes_)
    if count == 2:
        mean, probability = _binary(g, rows, base, est)
        return Classified(labels.above(g, mean), est.classes_, labels.two_columns(g, probability()))
    parts = [_binary(g, rows, e, est) for e in base.estimators_]
    each = g.Concat(*(g.Unsqueeze(probability(), [1]) for _, probability in parts), axis=1)
    if params.multi_class == "one_vs_rest":
        proba = g.Div(each, g.ReduceSum(each, [1], keepdims=1))
        return Classified(labels.first_greatest(g, each), est.classes_, proba)
    second = g.Concat(*(g.Unsqueeze(mean, [1]) for mean, _ in parts), axis=1)
    scores = one_versus_rest(g, g.LessOrEqual(second, np.float64(0)), each, count)
    return Classified(labels.first_greatest(g, scores), est.classes_)
