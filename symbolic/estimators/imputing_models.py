"""Imputers that look at the other features: KNNImputer, IterativeImputer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.categories import is_missing
from ..ml.distances import by_feature, squared_by_products
from ..ml.dtypes import as_float, cast, double
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Sparse, children, columns, matrix, read, regress, transform, unsupported
from .imputing import with_indicator


@symbolic(DIALECT, "sklearn.impute.KNNImputer")
def knn_imputer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """KNNImputer.transform(X): mean of the nearest known rows that have the feature, where X is missing"""
    params = read(
        g, est, "missing_values", "n_neighbors", "weights", "metric", "add_indicator", "keep_empty_features"
    )  # fmt: skip
    if params.weights not in (None, "uniform", "distance") or params.metric != "nan_euclidean":
        raise unsupported(g, est, "weights or metric given as Python code")
    if isinstance(x, Sparse):
        raise unsupported(g, est, "it is given a sparse matrix")
    rows = as_float(g, matrix(g, x))
    missing = is_missing(g, rows, params.missing_values)
    known = np.where(est._mask_fit_X, np.nan, np.asarray(est._fit_X, np.float64))
    single = rows.dtype is ir.DataType.FLOAT and est._fit_X.dtype == np.float32
    distances = (_single_distances if single else _distances)(g, rows, missing, known)
    made = []
    for i, (column, holes) in enumerate(zip(columns(g, rows), columns(g, missing), strict=True)):
        if not est._valid_mask[i]:
            if params.keep_empty_features:
                made.append(g.Mul(cast(g, holes, rows.element), np.zeros((), rows.element.numpy())))
            continue
        value = _from_donors(g, distances, known[:, i], est)
        made.append(g.Where(holes, cast(g, value, rows.element), column))
    filled = None if not made else made[0] if len(made) == 1 else g.Concat(*made, axis=1)
    if filled is None and not params.add_indicator:
        raise unsupported(g, est, "it gives no columns at all")
    return with_indicator(g, est, filled, missing, rows.element)


def _distances(g: GraphBuilder, x: Value, missing: Value, known: np.ndarray) -> Value:
    """``nan_euclidean_distances``, [batch, known rows]: over the features that both have; infinite if none."""
    holed = g.Where(missing, np.float64(np.nan), double(g, x))

    def step(body: GraphBuilder, total: Value, own: Value, other: Value) -> Value:
        difference = body.Sub(own, other)
        square = body.Mul(difference, difference)
        return body.Add(total, body.Where(body.IsNaN(square), np.float64(0), square))

    total = by_feature(g, holed, known, step)
    shared = _shared(g, missing, known)
    mean = g.Div(total, g.Max(shared, np.float64(1)))
    away = g.Sqrt(g.Mul(mean, np.float64(known.shape[1])))
    return g.Where(g.Equal(shared, np.float64(0)), np.float64(np.inf), away)


def _shared(g: GraphBuilder, missing: Value, known: np.ndarray) -> Value:
    """How many features a row and a known row both have, in double."""
    present = g.Sub(np.float64(1), double(g, missing))
    return g.MatMul(present, np.ascontiguousarray((~np.isnan(known)).astype(np.float64).T))


def _single_distances(g: GraphBuilder, x: Value, missing: Value, known: np.ndarray) -> Value:
    """The same as scikit-learn rounds it where all is float32: what is missing is taken out of whole distances."""
    single, absent = ir.DataType.FLOAT, np.isnan(known)
    rows, other = g.Where(missing, np.float32(0), x), np.where(absent, 0, known).astype(np.float32)
    whole = g.Max(cast(g, squared_by_products(g, rows, other), single), np.float32(0))
    own = g.MatMul(g.Mul(rows, rows), np.ascontiguousarray(absent.astype(np.float32).T))
    theirs = g.MatMul(cast(g, missing, single), np.ascontiguousarray((other * other).T))
    total = g.Max(g.Sub(g.Sub(whole, own), theirs), np.float32(0))
    shared = _shared(g, missing, known)
    mean = cast(g, g.Div(double(g, total), g.Max(shared, np.float64(1))), single)
    away = double(g, g.Sqrt(g.Mul(mean, np.float32(known.shape[1]))))
    return g.Where(g.Equal(shared, np.float64(0)), np.float64(np.inf), away)


def _from_donors(g: GraphBuilder, distances: Value, feature: np.ndarray, est: Any) -> Value:
    """Mean of one feature over the nearest rows that have it, [batch, 1]; over all where none is comparable."""
    donors = np.flatnonzero(~np.isnan(feature))
    count = min(int(est.n_neighbors), len(donors))
    away, at = g.TopK(g.Gather(distances, donors, axis=1), [count], axis=1, largest=0, sorted=1, outputs=2)
    comparable = g.Less(away, np.float64(np.inf))
    if est.weights == "distance":
        touching = g.Equal(away, np.float64(0))
        any_touching = g.ReduceMax(g.Cast(touching, to=ir.DataType.INT32), [1], keepdims=1)
        inverse = g.Div(np.float64(1), g.Where(touching, np.float64(1), away))
        weights = g.Where(g.Equal(any_touching, np.int32(1)), double(g, touching), inverse)
    else:
        weights = double(g, comparable)
    values = g.Gather(feature[donors], at, axis=0)
    total = g.ReduceSum(weights, [1], keepdims=1)
    empty = g.Equal(total, np.float64(0))
    mean = g.Div(g.ReduceSum(g.Mul(values, weights), [1], keepdims=1), g.Where(empty, np.float64(1), total))
    return g.Where(empty, np.float64(feature[donors].mean()), mean)


@children("sklearn.impute.IterativeImputer")
def _imputers(est: Any) -> list[tuple[str, Any]]:
    steps = [(f"imputation_sequence_.{i}", step.estimator) for i, step in enumerate(est.imputation_sequence_)]
    return [("initial_imputer_", est.initial_imputer_), *steps]


@symbolic(DIALECT, "sklearn.impute.IterativeImputer")
def iterative_imputer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """IterativeImputer.transform(X): each missing feature from the others by its own regressor, in rounds"""
    params = read(
        g, est, "missing_values", "sample_posterior", "add_indicator", "keep_empty_features",
        ignore=("estimator", "n_nearest_features", "initial_strategy", "fill_value", "imputation_order",
                "skip_complete", "min_value", "max_value"),
    )  # fmt: skip
    if params.sample_posterior:
        raise unsupported(g, est, "sample_posterior=True, which is random")
    rows = as_float(g, matrix(g, x))
    missing = is_missing(g, rows, params.missing_values)
    first = matrix(g, transform(g, est.initial_imputer_, rows, "initial_imputer_"))
    empty = np.asarray(est._is_empty_feature, bool)
    kept = np.arange(len(empty)) if params.keep_empty_features else np.flatnonzero(~empty)
    holes = g.Gather(missing, kept, axis=1)
    if params.keep_empty_features:
        holes = g.And(holes, ~empty.reshape(1, -1))
    every = g.ReduceMin(g.Cast(holes, to=ir.DataType.INT32), keepdims=1)
    flags = columns(g, holes)
    filled = columns(g, first)
    for i, (at, others, regressor) in enumerate(est.imputation_sequence_):
        seen = g.Concat(*(filled[int(j)] for j in others), axis=1) if len(others) > 1 else filled[int(others[0])]
        value = double(g, regress(g, regressor, seen, f"imputation_sequence_.{i}"))
        value = g.Unsqueeze(value, [1]) if value.rank == 1 else value
        low, high = np.float64(est._min_value[at]), np.float64(est._max_value[at])
        value = cast(g, g.Min(g.Max(value, low), high), rows.element)
        filled[int(at)] = g.Where(flags[int(at)], value, filled[int(at)])
    result = g.Concat(*filled, axis=1) if len(filled) > 1 else filled[0]
    result = g.Where(g.Equal(every, np.int32(1)), first, result)  # nothing to predict from in the whole batch
    return with_indicator(g, est, result, missing, rows.element)
