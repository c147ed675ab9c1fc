"""Estimators that compare rows with known rows through kernels, and the maps that stand in for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import as_float, cast, common, double, in_place
from ..ml.kernels import kernel
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, Methods, matrix, read, unsupported
from .neighbors import nearest

_APPROXIMATION = "sklearn.kernel_approximation."


def between(g: GraphBuilder, x: Value, known: Any, est: Any) -> Value:
    """``pairwise_kernels(X, known, metric=est.kernel)`` with the estimator's gamma, degree and coef0.

    It is rounded to the dtype that scikit-learn has it in, and given in double.
    """
    rows = np.asarray(known.toarray() if hasattr(known, "toarray") else known)
    if not isinstance(est.kernel, str) or getattr(est, "kernel_params", None):
        raise unsupported(g, est, f"kernel={est.kernel!r} with kernel_params={getattr(est, 'kernel_params', None)!r}")
    gamma = getattr(est, "gamma_", est.gamma)  # KernelPCA keeps what it took
    if gamma is None:
        gamma = 1.0 if est.kernel == "chi2" else 1.0 / rows.shape[1]
    degree, coef0 = getattr(est, "degree", 3), getattr(est, "coef0", 1)
    dtype = _kernel_dtype(x, rows)
    found = kernel(
        g, x, rows, est.kernel, float(gamma), 3.0 if degree is None else float(degree),
        1.0 if coef0 is None else float(coef0), single=dtype is ir.DataType.FLOAT,
    )  # fmt: skip
    if found is None:
        raise unsupported(g, est, f"kernel={est.kernel!r}")
    return double(g, cast(g, found, dtype))


_KERNEL = ("kernel", "gamma", "degree", "coef0", "kernel_params")


def _kernel_dtype(x: Value, known: Any) -> ir.DataType:
    return common(x.element, ir.DataType.from_numpy(known.dtype))


@symbolic(DIALECT, "sklearn.kernel_ridge.KernelRidge")
def kernel_ridge(g: GraphBuilder, x: Features, est: Any) -> Value:
    """KernelRidge.predict(X): kernel(X, X_fit_) @ dual_coef_"""
    read(g, est, *_KERNEL)
    rows = matrix(g, x)
    known = between(g, rows, est.X_fit_, est)
    dual = np.asarray(est.dual_coef_)
    found = g.MatMul(known, dual.astype(np.float64))
    return cast(g, found, common(_kernel_dtype(rows, est.X_fit_), ir.DataType.from_numpy(dual.dtype)))


@symbolic(DIALECT, "sklearn.decomposition.KernelPCA")
def kernel_pca(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """KernelPCA.transform(X): the centred kernel(X, X_fit_) @ (eigenvectors_ / sqrt(eigenvalues_))"""
    read(g, est, *_KERNEL, ignore=("n_components", "fit_inverse_transform", "eigen_solver", "remove_zero_eig"))
    rows = matrix(g, x)

    def transform() -> Value:
        found = project_kernel(g, between(g, rows, est.X_fit_, est), est)
        dtype = common(_kernel_dtype(rows, est.X_fit_), ir.DataType.from_numpy(est.eigenvectors_.dtype))
        return cast(g, found, dtype)

    return Methods({"transform": transform})


def project_kernel(g: GraphBuilder, known: Value, est: Any) -> Value:
    """The transform of KernelPCA for a kernel's values in double."""
    values, vectors = np.asarray(est.eigenvalues_, np.float64), np.asarray(est.eigenvectors_, np.float64)
    used = values != 0
    scaled = np.where(used, vectors / np.sqrt(np.where(used, values, 1.0)), 0.0)
    return g.MatMul(centre_kernel(g, known, est._centerer), scaled)


def centre_kernel(g: GraphBuilder, known: Value, centerer: Any) -> Value:
    """KernelCenterer.transform: less the means of the fit's columns and of the row, plus the mean of all."""
    count = len(centerer.K_fit_rows_)
    kind = known.element.numpy()
    means = g.Div(g.ReduceSum(known, [1], keepdims=1), kind.type(count))
    centred = g.Sub(g.Sub(known, np.asarray(centerer.K_fit_rows_, kind)), means)
    return g.Add(centred, np.asarray(centerer.K_fit_all_, kind).reshape(()))


@symbolic(DIALECT, "sklearn.preprocessing.KernelCenterer")
def kernel_centerer(g: GraphBuilder, x: Features, est: Any) -> Value:
    """KernelCenterer.transform(K): K - K_fit_rows_ - row means + K_fit_all_"""
    return centre_kernel(g, as_float(g, matrix(g, x)), est)


@symbolic(DIALECT, "sklearn.semi_supervised.LabelPropagation", "sklearn.semi_supervised.LabelSpreading")
def label_propagation(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LabelPropagation.predict_proba(X): kernel(X, X_) @ label_distributions_, as shares of their row's sum"""
    params = read(g, est, "kernel", "gamma", ignore=("n_neighbors",))
    rows = matrix(g, x)
    shares = np.asarray(est.label_distributions_, np.float64)
    if params.kernel == "rbf":
        total = g.MatMul(between(g, rows, est.X_, est), shares)
    elif params.kernel == "knn":
        _, indices = nearest(g, rows, est.nn_fit, int(est.nn_fit.n_neighbors))
        total = g.ReduceSum(g.Gather(shares, indices, axis=0), [1], keepdims=0)
    else:
        raise unsupported(g, est, "its kernel is Python code")
    proba = g.Div(total, g.ReduceSum(total, [1], keepdims=1))
    return Classified(labels.first_greatest(g, proba), est.classes_, proba)


@symbolic(DIALECT, _APPROXIMATION + "Nystroem")
def nystroem(g: GraphBuilder, x: Features, est: Any) -> Value:
    """Nystroem.transform(X): kernel(X, components_) @ normalization_.T"""
    read(g, est, *_KERNEL, ignore=("n_components",))
    rows, map_ = matrix(g, x), np.asarray(est.normalization_)
    found = g.MatMul(between(g, rows, est.components_, est), np.ascontiguousarray(map_.T, np.float64))
    return cast(g, found, common(_kernel_dtype(rows, est.components_), ir.DataType.from_numpy(map_.dtype)))


def _cosines(g: GraphBuilder, x: Value, est: Any, scale: float) -> Value:
    """``cos(X @ random_weights_ + random_offset_) * scale``."""
    projected = affine(g, x, np.asarray(est.random_weights_).T, 0.0)
    projected = in_place(g, "Add", projected, np.asarray(est.random_offset_))
    return g.Mul(g.Cos(projected), projected.element.numpy().type(scale))


@symbolic(DIALECT, _APPROXIMATION + "RBFSampler")
def rbf_sampler(g: GraphBuilder, x: Features, est: Any) -> Value:
    """RBFSampler.transform(X): cos(X @ random_weights_ + random_offset_) * sqrt(2 / n_components)"""
    read(g, est, "n_components", ignore=("gamma",))
    return _cosines(g, matrix(g, x), est, (2.0 / est.n_components) ** 0.5)


@symbolic(DIALECT, _APPROXIMATION + "SkewedChi2Sampler")
def skewed_chi2_sampler(g: GraphBuilder, x: Features, est: Any) -> Value:
    """SkewedChi2Sampler.transform(X): sqrt(2 / n) cos(log(X + skewedness) @ random_weights_ + random_offset_)"""
    params = read(g, est, "skewedness", "n_components")
    rows = as_float(g, matrix(g, x))
    raised = g.Log(g.Add(rows, rows.element.numpy().type(params.skewedness)))
    return _cosines(g, raised, est, np.sqrt(2.0) / np.sqrt(est.n_components))


@symbolic(DIALECT, _APPROXIMATION + "AdditiveChi2Sampler")
def additive_chi2_sampler(g: GraphBuilder, x: Features, est: Any) -> Value:
    """AdditiveChi2Sampler.transform(X): sqrt(X L), and sqrt(2 X L / cosh(pi j L)) times cos and sin of j L log X"""
    params = read(g, est, "sample_steps", "sample_interval")
    interval = params.sample_interval or {1: 0.8, 2: 0.5, 3: 0.4}[params.sample_steps]
    given = matrix(g, x)
    rows = as_float(g, given)
    kind = rows.element.numpy().type
    some = g.Not(g.Equal(rows, kind(0)))
    safe = g.Where(some, rows, kind(1))
    logs = g.Mul(g.Log(safe), kind(interval))
    parts = [g.Sqrt(g.Mul(rows, kind(interval)))]
    for j in range(1, params.sample_steps):
        factor = g.Sqrt(g.Div(g.Mul(g.Mul(safe, kind(2)), kind(interval)), kind(np.cosh(np.pi * j * interval))))
        angle = g.Mul(logs, kind(j))
        parts += [g.Where(some, g.Mul(factor, wave), kind(0)) for wave in (g.Cos(angle), g.Sin(angle))]
    # scikit-learn writes the results into arrays of the dtype of X, whole numbers too
    return cast(g, g.Concat(*parts, axis=1) if len(parts) > 1 else parts[0], given.element)


@symbolic(DIALECT, _APPROXIMATION + "PolynomialCountSketch")
def polynomial_count_sketch(g: GraphBuilder, x: Features, est: Any) -> Value:
    """PolynomialCountSketch.transform(X): the circular convolution of `degree` count sketches of sqrt(gamma) X"""
    params = read(g, est, "gamma", "degree", "coef0", "n_components")
    rows, count = double(g, matrix(g, x)), int(params.n_components)
    scaled = g.Mul(rows, np.float64(np.sqrt(params.gamma)))
    if params.coef0:
        scaled = g.Concat(scaled, _ones(g, scaled, np.sqrt(params.coef0)), axis=1)
    turn = np.exp(-2j * np.pi * np.outer(np.arange(count), np.arange(count)) / count)
    real: Value | None = None
    imaginary: Value | None = None
    for hashes, signs in zip(est.indexHash_, est.bitHash_, strict=True):
        sketch = np.zeros((len(hashes), count))
        sketch[np.arange(len(hashes)), hashes] = signs
        a, b = (g.MatMul(scaled, np.ascontiguousarray(p)) for p in ((sketch @ turn).real, (sketch @ turn).imag))
        if real is None or imaginary is None:
            real, imaginary = a, b
        else:
            real, imaginary = (
                g.Sub(g.Mul(real, a), g.Mul(imaginary, b)),
                g.Add(g.Mul(real, b), g.Mul(imaginary, a)),
            )
    assert real is not None and imaginary is not None
    back = np.conj(turn) / count
    return g.Sub(g.MatMul(real, np.ascontiguousarray(back.real)), g.MatMul(imaginary, np.ascontiguousarray(back.imag)))


def _ones(g: GraphBuilder, x: Value, value: float) -> Value:
    return g.expand(g.constant(np.full((1, 1), value)), [x.dim(0), 1])
