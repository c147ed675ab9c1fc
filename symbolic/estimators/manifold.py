"""Manifolds."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..linalg.solve import solve
from ..ml.dtypes import as_float, cast, common, double
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, matrix, read, unsupported
from .kernel_methods import project_kernel
from .neighbors import known_rows, nearest

_MODULE = "sklearn.manifold."


@symbolic(DIALECT, _MODULE + "Isomap")
def isomap(g: GraphBuilder, x: Features, est: Any) -> Value:
    """Isomap.transform(X): the projection of -1/2 squared shortest distances through the nearest rows"""
    params = read(
        g, est, "n_neighbors",
        ignore=("radius", "n_components", "eigen_solver", "path_method", "neighbors_algorithm", "metric", "p",
                "metric_params"),
    )  # fmt: skip
    if params.n_neighbors is None:
        raise unsupported(g, est, "neighbours within a radius")
    rows = matrix(g, x)
    near, indices = nearest(g, rows, est.nbrs_, int(params.n_neighbors))
    paths = np.asarray(est.dist_matrix_)
    through = g.Add(g.Gather(paths.astype(np.float64), indices, axis=0), g.Unsqueeze(near, [2]))
    shortest = g.ReduceMin(through, [1], keepdims=0)
    single = rows.dtype is ir.DataType.FLOAT
    if single:  # scikit-learn keeps these in the dtype of X
        shortest = cast(g, shortest, ir.DataType.FLOAT)
    half = shortest.element.numpy().type(-0.5)
    inner = g.Mul(g.Mul(shortest, shortest), half)
    found = project_kernel(g, double(g, inner), est.kernel_pca_)
    return cast(g, found, common(inner.element, ir.DataType.from_numpy(est.kernel_pca_.eigenvectors_.dtype)))


@symbolic(DIALECT, _MODULE + "LocallyLinearEmbedding")
def locally_linear_embedding(g: GraphBuilder, x: Features, est: Any) -> Value:
    """LocallyLinearEmbedding.transform(X): embedding_ of the nearest rows, by the weights that rebuild X from them"""
    params = read(
        g, est, "n_neighbors", "reg",
        ignore=("n_components", "eigen_solver", "method", "hessian_tol", "modified_tol", "neighbors_algorithm"),
    )  # fmt: skip
    rows, count = as_float(g, matrix(g, x)), int(params.n_neighbors)
    _, indices = nearest(g, rows, est.nbrs_, count)
    around = g.Gather(known_rows(est.nbrs_).astype(np.float64), indices, axis=0)
    offsets = g.Sub(around, g.Unsqueeze(double(g, rows), [1]))
    gram = g.MatMul(offsets, g.Transpose(offsets, perm=[0, 2, 1]))
    trace = g.ReduceSum(g.Mul(gram, np.eye(count)), [1, 2], keepdims=1)
    reg = np.float64(params.reg)
    ridge = g.Where(g.Greater(trace, np.float64(0)), g.Mul(trace, reg), reg)
    gram = g.Add(gram, g.Mul(ridge, np.eye(count)))
    ones = g.expand(g.constant(np.ones((1, 1, 1))), [rows.dim(0), count, 1])
    weights = solve(g, gram, ones)
    weights = g.Div(weights, g.ReduceSum(weights, [1], keepdims=1))
    embedded = g.Gather(np.asarray(est.embedding_, np.float64), indices, axis=0)
    return g.ReduceSum(g.Mul(embedded, weights), [1], keepdims=0)
