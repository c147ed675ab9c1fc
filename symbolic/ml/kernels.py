"""Kernels between rows and known rows, in double."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from .distances import Metric, chi2, cosine_similarity, distances, squared_by_products
from .dtypes import cast, double


def dot(g: GraphBuilder, x: Value, y: np.ndarray) -> Value:
    """``x @ y.T``."""
    return g.MatMul(double(g, x), np.ascontiguousarray(np.asarray(y, np.float64).T))


def kernel(
    g: GraphBuilder,
    x: Value,
    y: np.ndarray,
    name: str,
    gamma: float,
    degree: float,
    coef0: float,
    *,
    exact: bool = False,
    single: bool = False,
) -> Value | None:
    """``pairwise_kernels(x, y, metric=name)``: double[batch, rows of y]; None for a kernel that isn't done.

    Args:
        x: Rows, [batch, features]; the kernel's values themselves where it is precomputed.
        y: Known rows.
        name: Name of the kernel.
        gamma: Factor of the product, or of the distance.
        degree: Power of ``poly``.
        coef0: What ``poly`` and ``sigmoid`` add to the product.
        exact: Squares of distances are summed feature by feature (libsvm), not taken from products.
        single: Exponents are rounded to float32, as scikit-learn has them for float32 rows.
    """
    if name == "precomputed":
        return double(g, x)
    if name == "linear":
        return dot(g, x, y)
    if name == "rbf":
        squares = distances(g, x, y, Metric("sqeuclidean")) if exact else squared_by_products(g, x, y)
        assert squares is not None
        if single:
            narrow = cast(g, squares, ir.DataType.FLOAT)
            return g.Exp(double(g, g.Mul(narrow, np.float32(-gamma))))
        return g.Exp(g.Mul(squares, np.float64(-gamma)))
    if name in ("poly", "polynomial", "sigmoid"):
        inner = g.Add(g.Mul(dot(g, x, y), np.float64(gamma)), np.float64(coef0))
        return g.Tanh(inner) if name == "sigmoid" else g.Pow(inner, np.float64(degree))
    if name == "laplacian":
        found = distances(g, x, y, Metric("manhattan"))
        assert found is not None
        return g.Exp(g.Mul(found, np.float64(-gamma)))
    if name in ("cosine", "cosine_similarity"):
        return cosine_similarity(g, x, np.asarray(y, np.float64))
    if name == "additive_chi2":
        return chi2(g, x, y)
    if name == "chi2":
        return g.Exp(g.Mul(chi2(g, x, y), np.float64(gamma)))
    return None
