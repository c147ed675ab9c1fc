"""``inverse_transform`` of the transformers that are used on targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, in_place, promoted
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, invert

_MODULE = "sklearn.preprocessing."


def _inverse(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.inverse_transform" for name in names)


@symbolic(DIALECT, *_inverse("sklearn.pipeline.Pipeline"))
def pipeline_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """Pipeline.inverse_transform(X): of all steps, the last one first"""
    for name, step in reversed(est.steps):
        if step is not None and not isinstance(step, str):
            x = invert(g, step, x, name)
    return x


@symbolic(DIALECT, *_inverse(_MODULE + "StandardScaler"))
def standard_scaler_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """StandardScaler.inverse_transform(X): X * scale_ + mean_"""
    rows = as_float(g, x)
    kind = rows.element.numpy()
    if est.with_std:
        rows = in_place(g, "Mul", rows, np.asarray(est.scale_).astype(kind))
    return in_place(g, "Add", rows, np.asarray(est.mean_).astype(kind)) if est.with_mean else rows


@symbolic(DIALECT, *_inverse(_MODULE + "MinMaxScaler"))
def min_max_scaler_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """MinMaxScaler.inverse_transform(X): (X - min_) / scale_"""
    return in_place(g, "Div", in_place(g, "Sub", as_float(g, x), est.min_), est.scale_)


@symbolic(DIALECT, *_inverse(_MODULE + "MaxAbsScaler"))
def max_abs_scaler_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """MaxAbsScaler.inverse_transform(X): X * scale_"""
    return in_place(g, "Mul", as_float(g, x), est.scale_)


@symbolic(DIALECT, *_inverse(_MODULE + "RobustScaler"))
def robust_scaler_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """RobustScaler.inverse_transform(X): X * scale_ + center_"""
    rows = as_float(g, x)
    if est.with_scaling:
        rows = in_place(g, "Mul", rows, est.scale_)
    return in_place(g, "Add", rows, est.center_) if est.with_centering else rows


@symbolic(DIALECT, *_inverse("sklearn.decomposition.PCA", "sklearn.decomposition.IncrementalPCA"))
def pca_inverse(g: GraphBuilder, x: Value, est: Any) -> Value:
    """PCA.inverse_transform(X): X @ components_ + mean_, the components times sqrt(explained_variance_) if whiten"""
    components = est.components_
    if est.whiten:
        components = np.sqrt(est.explained_variance_[:, np.newaxis]) * components
    rows, weights = promoted(g, x, components)
    product, mean = promoted(g, g.MatMul(rows, weights), est.mean_)
    return g.Add(product, mean)
