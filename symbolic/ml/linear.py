"""Linear models."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from .dtypes import cast, common


def affine(g: GraphBuilder, x: Value, coefficients: np.ndarray, intercept: np.ndarray | float) -> Value:
    """``x @ coefficients.T + intercept`` in the dtypes that numpy takes.

    Args:
        x: Rows, [batch, features].
        coefficients: [outputs, features], or [features] for one output without its axis.
        intercept: [outputs], or a number.

    Returns:
        [batch, outputs], or [batch].
    """
    flat = coefficients.ndim == 1
    dtype = common(x.element, ir.DataType.from_numpy(coefficients.dtype))
    weights = coefficients.reshape(-1, 1) if flat else coefficients.T
    product = g.MatMul(cast(g, x, dtype), g.constant(np.ascontiguousarray(weights), dtype))
    if flat:
        product = g.Squeeze(product, [1])
    # the installed numpy says whether a number that is no array widens the result
    wider = ir.DataType.from_numpy(np.result_type(np.zeros(1, dtype.numpy()), intercept))
    product = cast(g, product, wider)
    bias = np.asarray(intercept, wider.numpy())
    return g.Add(product, bias) if bias.any() else product
