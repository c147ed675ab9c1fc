"""Clusters: by their centres, by a tree of centres, of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.distances import nearest_by_products, nearest_pairwise, squared_by_products
from ..ml.dtypes import as_float, cast, common
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, matrix, read, unsupported

_MODULE = "sklearn.cluster."


def _to_each(g: GraphBuilder, rows: Value, centres: np.ndarray) -> Value:
    """``euclidean_distances(rows, centres)``."""
    dtype = common(rows.element, ir.DataType.from_numpy(centres.dtype))
    return cast(g, g.Sqrt(squared_by_products(g, rows, centres)), dtype)


@symbolic(DIALECT, _MODULE + "KMeans", _MODULE + "MiniBatchKMeans")
def k_means(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """KMeans.predict(X): the nearest of cluster_centers_; transform(X): the distance to each"""
    read(g, est, ignore=("n_clusters", "init", "max_no_improvement", "compute_labels"))
    rows, centres = as_float(g, matrix(g, x)), np.asarray(est.cluster_centers_)
    return Methods({
        "predict": lambda: nearest_by_products(g, rows, centres),
        "transform": lambda: _to_each(g, rows, centres),
    })  # fmt: skip


@symbolic(DIALECT, _MODULE + "BisectingKMeans")
def bisecting_k_means(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """BisectingKMeans.predict(X): down the tree of centres, at each node to the nearer of two"""
    read(g, est, ignore=("n_clusters", "init", "bisecting_strategy"))
    rows = as_float(g, matrix(g, x))
    mean = getattr(est, "_X_mean", 0.0)

    def below(node: Any) -> Value:
        if node.left is None:
            return g.constant(np.array([node.label], np.int64))
        nearer = nearest_by_products(g, rows, np.vstack([node.left.center, node.right.center]) + mean)
        return g.Where(g.Equal(nearer, np.int64(0)), below(node.left), below(node.right))

    return Methods({
        "predict": lambda: g.expand(below(est._bisecting_tree), [rows.dim(0)]),
        "transform": lambda: _to_each(g, rows, np.asarray(est.cluster_centers_)),
    })  # fmt: skip


@symbolic(DIALECT, _MODULE + "MeanShift", _MODULE + "AffinityPropagation")
def nearest_centre(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """MeanShift.predict(X): the nearest of cluster_centers_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of these acts after the fit
    rows = matrix(g, x)
    centres = est.cluster_centers_
    centres = np.asarray(centres.toarray() if hasattr(centres, "toarray") else centres)  # sparse, as X was
    if len(centres):
        return Methods({"predict": lambda: nearest_pairwise(g, rows, centres)})
    return Methods({"predict": lambda: g.expand(g.constant(np.array([-1])), [rows.dim(0)])})


@symbolic(DIALECT, _MODULE + "Birch")
def birch(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """Birch.predict(X): subcluster_labels_ of the nearest of subcluster_centers_; transform(X): the distance to each"""
    read(g, est, ignore=("threshold", "branching_factor", "n_clusters", "compute_labels"))
    rows, centres = matrix(g, x), np.asarray(est.subcluster_centers_)
    found = np.asarray(est.subcluster_labels_).astype(np.int64)
    return Methods({
        "predict": lambda: g.Gather(found, nearest_pairwise(g, rows, centres), axis=0),
        "transform": lambda: _to_each(g, as_float(g, rows), centres),
    })  # fmt: skip


@symbolic(DIALECT, _MODULE + "FeatureAgglomeration")
def feature_agglomeration(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """FeatureAgglomeration.transform(X): pooling_func of the features of each cluster"""
    params = read(
        g, est, "pooling_func",
        ignore=("n_clusters", "metric", "memory", "connectivity", "compute_full_tree", "linkage", "distance_threshold",
                "compute_distances"),
    )  # fmt: skip
    rows = matrix(g, x)
    name = getattr(params.pooling_func, "__name__", "")
    groups = [np.flatnonzero(est.labels_ == label) for label in np.unique(est.labels_)]

    def pooled(own: Value) -> Value:
        if name in ("max", "amax"):
            return g.ReduceMax(own, [1], keepdims=1)
        if name in ("min", "amin"):
            return g.ReduceMin(own, [1], keepdims=1)
        if name == "sum":
            return g.ReduceSum(own, [1], keepdims=1)
        if name == "mean":  # numpy's bincount adds in double
            return g.ReduceMean(cast(g, own, ir.DataType.DOUBLE), [1], keepdims=1)
        if name == "median":
            return _median(g, own)
        raise unsupported(g, est, f"pooling_func={name or params.pooling_func!r}")

    return Methods({
        "transform": lambda: g.Concat(*(pooled(g.Gather(rows, group, axis=1)) for group in groups), axis=1)
    })  # fmt: skip


def _median(g: GraphBuilder, x: Value) -> Value:
    count = x.dim(1)
    assert isinstance(count, int)
    middle = count // 2 + 1
    greatest, _ = g.TopK(x, [middle], axis=1, largest=1, sorted=1, outputs=2)
    last = g.Slice(greatest, [middle - 1], [middle], [1])
    if count % 2:
        return last
    return g.Mul(g.Add(last, g.Slice(greatest, [middle - 2], [middle - 1], [1])), x.element.numpy().type(0.5))
