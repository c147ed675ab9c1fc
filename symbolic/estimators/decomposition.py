"""Projections and polynomial features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, in_place
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Sparse, matrix, read, unsupported, width


@symbolic(DIALECT, "sklearn.decomposition.PCA", "sklearn.decomposition.IncrementalPCA")
def pca(g: GraphBuilder, x: Features, est: Any) -> Features:
    """PCA.transform(X): X @ components_.T - mean_ @ components_.T, over sqrt(explained_variance_) if whiten"""
    params = read(g, est, "whiten", ignore=("n_components",))
    components = est.components_
    projected = affine(g, as_float(g, matrix(g, x)), components, np.zeros(len(components), components.dtype))
    projected = in_place(g, "Sub", projected, (est.mean_.reshape(1, -1) @ components.T)[0])
    if params.whiten:
        scale = np.sqrt(est.explained_variance_)
        projected = in_place(g, "Div", projected, np.maximum(scale, np.finfo(scale.dtype).eps))
    return projected


@symbolic(DIALECT, "sklearn.decomposition.TruncatedSVD")
def truncated_svd(g: GraphBuilder, x: Features, est: Any) -> Features:
    """TruncatedSVD.transform(X): X @ components_.T"""
    read(g, est, ignore=("n_components",))
    return affine(g, matrix(g, x), est.components_, 0.0)


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
