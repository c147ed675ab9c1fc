"""Partial least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, double, in_place
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, matrix, read

_MODULE = "sklearn.cross_decomposition."
_TRAINING = ("n_components", "scale", "deflation_mode", "mode")


@symbolic(DIALECT, *(_MODULE + n for n in ("PLSRegression", "PLSCanonical", "CCA")))
def partial_least_squares(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """PLSRegression.predict(X): (X - mean) @ coef_.T + intercept_; transform(X): ((X - mean) / scale) @ x_rotations_"""
    read(g, est, ignore=_TRAINING)
    centred = in_place(g, "Sub", as_float(g, matrix(g, x)), est._x_mean)

    def predict() -> Value:
        found = affine(g, centred, est.coef_, est.intercept_)
        return g.Squeeze(found, [1]) if est._predict_1d else found

    def transform() -> Value:
        return affine(g, in_place(g, "Div", centred, est._x_std), est.x_rotations_.T, 0.0)

    return Methods({"predict": predict, "transform": transform})


@symbolic(DIALECT, _MODULE + "PLSSVD")
def pls_svd(g: GraphBuilder, x: Features, est: Any) -> Value:
    """PLSSVD.transform(X): ((X - mean) / scale) @ x_weights_, in double"""
    read(g, est, ignore=_TRAINING)
    scaled = g.Div(g.Sub(double(g, matrix(g, x)), np.float64(est._x_mean)), np.float64(est._x_std))
    return affine(g, scaled, est.x_weights_.T, 0.0)
