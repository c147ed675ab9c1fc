"""Projections and polynomial features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, cast, in_place, numbers
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, Sparse, matrix, read, unsupported, width


@symbolic(DIALECT, "sklearn.decomposition.PCA", "sklearn.decomposition.IncrementalPCA")
def pca(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """PCA.transform(X): X @ components_.T - mean_ @ components_.T, over sqrt(explained_variance_) if whiten"""
    params = read(g, est, "whiten", ignore=("n_components",))
    components = est.components_
    projected = affine(g, as_float(g, matrix(g, x)), components, np.zeros(len(components), components.dtype))
    projected = in_place(g, "Sub", projected, (est.mean_.reshape(1, -1) @ components.T)[0])
    if params.whiten:
        scale = np.sqrt(est.explained_variance_)
        projected = in_place(g, "Div", projected, np.maximum(scale, np.finfo(scale.dtype).eps))
    rows = matrix(g, x)
    return Methods({"transform": lambda: projected, "score_samples": lambda: normal_log_density(g, rows, est)})


@symbolic(DIALECT, "sklearn.decomposition.TruncatedSVD", "sklearn.neighbors.NeighborhoodComponentsAnalysis")
def truncated_svd(g: GraphBuilder, x: Features, est: Any) -> Features:
    """TruncatedSVD.transform(X): X @ components_.T"""
    read(g, est, ignore=("n_components", "init", "callback"))
    return affine(g, matrix(g, x), est.components_, 0.0)


@symbolic(
    DIALECT,
    "sklearn.random_projection.GaussianRandomProjection",
    "sklearn.random_projection.SparseRandomProjection",
)
def random_projection(g: GraphBuilder, x: Features, est: Any) -> Features:
    """GaussianRandomProjection.transform(X): X @ components_.T"""
    read(g, est, "dense_output", ignore=("n_components", "compute_inverse_components", "density"))
    components = est.components_
    if hasattr(components, "toarray"):
        components = components.toarray()
    return affine(g, as_float(g, matrix(g, x)), np.asarray(components), 0.0)


@symbolic(DIALECT, "sklearn.decomposition.FastICA")
def fast_ica(g: GraphBuilder, x: Features, est: Any) -> Features:
    """FastICA.transform(X): (X - mean_) @ components_.T, X not centred without whitening"""
    params = read(g, est, "whiten", ignore=("n_components", "fun", "fun_args", "w_init", "whiten_solver"))
    rows = as_float(g, matrix(g, x))
    if params.whiten:
        rows = in_place(g, "Sub", rows, est.mean_)
    return affine(g, rows, est.components_, 0.0)


@symbolic(DIALECT, "sklearn.decomposition.FactorAnalysis")
def factor_analysis(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """FactorAnalysis.transform(X): (X - mean_) @ W.T @ inv(I + W @ components_.T), W = components_ / noise_variance_"""
    read(g, est, ignore=("n_components", "noise_variance_init", "svd_method", "rotation"))
    rows = matrix(g, x)

    def transform() -> Value:
        centred = numbers(g, "Sub", rows, est.mean_)
        scaled = est.components_ / est.noise_variance_
        inverse = np.linalg.inv(np.eye(len(scaled)) + scaled @ est.components_.T)
        return affine(g, affine(g, centred, scaled, 0.0), inverse.T, 0.0)

    return Methods({"transform": transform, "score_samples": lambda: normal_log_density(g, rows, est)})


def normal_log_density(g: GraphBuilder, x: Value, est: Any) -> Value:
    """``score_samples`` of PCA and FactorAnalysis: log density of the normal distribution with their covariance."""
    precision = np.asarray(est.get_precision())
    centred = numbers(g, "Sub", x, est.mean_)
    projected = affine(g, centred, precision.T, 0.0)
    squares = g.Mul(cast(g, centred, projected.element), projected)
    sign, log_det = np.linalg.slogdet(precision)
    constant = 0.5 * (precision.shape[0] * np.log(2.0 * np.pi) - (log_det if sign > 0 else -np.inf))
    kind = squares.element.numpy().type
    return g.Sub(g.Mul(g.ReduceSum(squares, [1], keepdims=0), kind(-0.5)), kind(constant))


@symbolic(DIALECT, "sklearn.preprocessing.PolynomialFeatures")
def polynomial_features(g: GraphBuilder, x: Features, est: Any) -> Features:
    """PolynomialFeatures.transform(X): the products of features given by powers_, multiplied in scikit-learn's order"""
    read(g, est, "degree", "interaction_only", "include_bias", ignore=("order",))
    if isinstance(x, Sparse):
        raise unsupported(g, est, "it is given a sparse matrix")
    rows = as_float(g, matrix(g, x))
    wanted = [tuple(np.repeat(np.arange(len(p)), p).tolist()) for p in est.powers_]
    # a product of degree d is its first feature times a product of degree d - 1
    needed = {c[i:] for c in wanted for i in range(len(c))}
    blocks: list[Value] = []
    place: dict[tuple[int, ...], int] = {}
    previous: list[tuple[int, ...]] = []
    for degree in range(1, max(map(len, wanted)) + 1):
        combinations = sorted(c for c in needed if len(c) == degree)
        first = g.Gather(rows, np.array([c[0] for c in combinations], np.int64), axis=1)
        if degree > 1:
            at = {c: i for i, c in enumerate(previous)}
            rest = np.array([at[c[1:]] for c in combinations], np.int64)
            first = g.Mul(g.Gather(blocks[-1], rest, axis=1), first)
        place.update({c: len(place) + i for i, c in enumerate(combinations)})
        blocks.append(first)
        previous = combinations
    return _ordered(g, rows, blocks, [place.get(c, -1) for c in wanted])


def _ordered(g: GraphBuilder, rows: Value, blocks: list[Value], order: list[int]) -> Value:
    """Columns of the blocks in an order; -1 stands for a column of ones."""
    kind = rows.element.numpy()
    parts = list(blocks)
    if -1 in order:
        ones = g.expand(g.constant(np.ones((1, 1), kind)), [rows.dim(0), 1])
        total = sum(width(b) for b in blocks)
        parts.append(ones)
        order = [total if i < 0 else i for i in order]
    joined = g.Concat(*parts, axis=1) if len(parts) > 1 else parts[0]
    return g.Gather(joined, np.array(order, np.int64), axis=1)
