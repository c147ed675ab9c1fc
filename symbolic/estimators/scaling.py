"""Scalers: the arithmetic of scikit-learn, in its order and its dtypes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.dtypes import as_float, cast, clip, double, in_place
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Sparse, matrix, read, unsupported

_MODULE = "sklearn.preprocessing."


def _rows(g: GraphBuilder, x: Features) -> Value:
    return as_float(g, matrix(g, x))


def _dense(g: GraphBuilder, x: Features, est: Any) -> Value:
    if isinstance(x, Sparse):
        raise unsupported(g, est, "it is given a sparse matrix")
    return _rows(g, x)


def _by_scale(g: GraphBuilder, x: Features, rows: Value, scale: np.ndarray) -> Features:
    """Division by a scale; scikit-learn multiplies sparse matrices by the reciprocal."""
    if isinstance(x, Sparse):
        return Sparse(in_place(g, "Mul", rows, 1 / scale))
    return in_place(g, "Div", rows, scale)


@symbolic(DIALECT, _MODULE + "StandardScaler")
def standard_scaler(g: GraphBuilder, x: Features, est: Any) -> Features:
    """StandardScaler.transform(X): (X - mean_) / scale_"""
    params = read(g, est, "with_mean", "with_std")
    rows = _rows(g, x)
    kind = rows.element.numpy()
    if isinstance(x, Sparse):
        if params.with_mean:
            raise unsupported(g, est, "with_mean=True on a sparse matrix")
        return x if est.scale_ is None else _by_scale(g, x, rows, est.scale_)
    # from 1.8 on the parameters are rounded to the dtype of X first; before, numpy computed in double
    rounds = _release() >= (1, 8)
    for op, wanted, parameter in (("Sub", params.with_mean, est.mean_), ("Div", params.with_std, est.scale_)):
        if wanted:
            rows = in_place(g, op, rows, parameter.astype(kind) if rounds else parameter)
    return rows


def _release() -> tuple[int, int]:
    """Release of the scikit-learn that runs the estimator."""
    version = sys.modules["sklearn"].__version__
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


@symbolic(DIALECT, _MODULE + "MinMaxScaler")
def min_max_scaler(g: GraphBuilder, x: Features, est: Any) -> Features:
    """MinMaxScaler.transform(X): X * scale_ + min_, clipped to feature_range if clip"""
    params = read(g, est, "feature_range", "clip")
    rows = in_place(g, "Add", in_place(g, "Mul", _dense(g, x, est), est.scale_), est.min_)
    return clip(g, rows, *params.feature_range) if params.clip else rows


@symbolic(DIALECT, _MODULE + "MaxAbsScaler")
def max_abs_scaler(g: GraphBuilder, x: Features, est: Any) -> Features:
    """MaxAbsScaler.transform(X): X / scale_, clipped to [-1, 1] if clip"""
    params = read(g, est, "clip")
    scaled = _by_scale(g, x, _rows(g, x), est.scale_)
    if not params.clip:
        return scaled
    rows = clip(g, matrix(g, scaled), -1.0, 1.0)
    return Sparse(rows) if isinstance(x, Sparse) else rows


@symbolic(DIALECT, _MODULE + "RobustScaler")
def robust_scaler(g: GraphBuilder, x: Features, est: Any) -> Features:
    """RobustScaler.transform(X): (X - center_) / scale_"""
    params = read(g, est, "with_centering", "with_scaling", ignore=("quantile_range", "unit_variance"))
    rows = _rows(g, x)
    if params.with_centering:
        rows = in_place(g, "Sub", _dense(g, x, est), est.center_)
    if params.with_scaling:
        return _by_scale(g, x, rows, est.scale_)
    return Sparse(rows) if isinstance(x, Sparse) else rows


@symbolic(DIALECT, _MODULE + "Normalizer")
def normalizer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """Normalizer.transform(X): X / norm of each row, 1 where the norm is (nearly) 0"""
    params = read(g, est, "norm")
    rows = _rows(g, x)
    if params.norm == "l1":
        norms = g.ReduceSum(g.Abs(rows), [1], keepdims=1)
    elif params.norm == "l2":
        norms = g.Sqrt(g.ReduceSum(g.Mul(rows, rows), [1], keepdims=1))
    elif params.norm == "max":
        norms = g.ReduceMax(g.Abs(rows), [1], keepdims=1)
    else:
        raise unsupported(g, est, f"norm={params.norm!r}")
    kind = rows.element.numpy()
    tiny = g.Less(norms, kind.type(10 * np.finfo(kind).eps))
    scaled = g.Div(rows, g.Where(tiny, kind.type(1), norms))
    return Sparse(scaled) if isinstance(x, Sparse) else scaled


@symbolic(DIALECT, _MODULE + "Binarizer")
def binarizer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """Binarizer.transform(X): 1 where X > threshold, else 0, in the dtype of X"""
    params = read(g, est, "threshold")
    rows = matrix(g, x)
    if rows.element is ir.DataType.FLOAT:
        # a Python number takes the dtype of the array it meets
        above = g.Greater(rows, np.float32(params.threshold))
    else:
        above = g.Greater(double(g, rows), np.float64(params.threshold))
    ones = cast(g, above, rows.element)
    return Sparse(ones) if isinstance(x, Sparse) else ones
