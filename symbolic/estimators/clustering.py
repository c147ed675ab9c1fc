"""Clusters by their centres."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, cast, double
from ..registry import symbolic
from .calling import DIALECT, Features, Methods, matrix, read


@symbolic(DIALECT, "sklearn.cluster.KMeans", "sklearn.cluster.MiniBatchKMeans")
def k_means(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """KMeans.predict(X): the nearest of cluster_centers_; transform(X): the distance to each"""
    read(g, est, ignore=("n_clusters", "init", "max_no_improvement"))
    rows = as_float(g, matrix(g, x))
    centres = np.asarray(est.cluster_centers_, np.float64)
    wide = double(g, rows)
    products = g.MatMul(wide, np.ascontiguousarray(-2.0 * centres.T))
    squares = np.sum(centres * centres, axis=1)
    label = g.ArgMin(g.Add(products, squares), axis=1, keepdims=0)
    own = g.ReduceSum(g.Mul(wide, wide), [1], keepdims=1)
    distances = g.Sqrt(g.Max(g.Add(g.Add(products, own), squares), np.float64(0)))
    return Methods(
        {"predict": lambda: cast(g, label, ir.DataType.INT64), "transform": lambda: cast(g, distances, rows.element)}
    )
