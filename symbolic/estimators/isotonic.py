"""Isotonic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.dtypes import cast, clip, double
from ..ml.interpolation import interpolate
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, matrix, read


@symbolic(DIALECT, "sklearn.isotonic.IsotonicRegression")
def isotonic_regression(g: GraphBuilder, x: Features, est: Any) -> Value:
    """IsotonicRegression.predict(X): the curve through X_thresholds_, y_thresholds_; NaN outside, unless clipped"""
    params = read(g, est, "out_of_bounds", ignore=("y_min", "y_max", "increasing"))
    rows = matrix(g, x)
    at, values = np.asarray(est.X_thresholds_), np.asarray(est.y_thresholds_)
    dtype = ir.DataType.from_numpy(at.dtype)
    rows = cast(g, rows if rows.rank == 1 else g.reshape(rows, [rows.dim(0)]), dtype)
    if len(at) == 1:  # scikit-learn takes the value for all rows
        return g.Where(g.Equal(rows, rows), values.astype(at.dtype)[0], values.astype(at.dtype)[0])
    if params.out_of_bounds == "clip":
        rows = clip(g, rows, float(est.X_min_), float(est.X_max_))
    return cast(g, interpolate(g, double(g, rows), at, values, outside=np.nan), dtype)
