"""Nearest neighbours.

Known rows are ranked by their exact distances. Where some of the nearest are as near as each other, those that
scikit-learn's heap would keep are found by its own moves (`ml.ties`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.distances import (
    Metric,
    distances,
    from_reduced,
    nearest_pairwise,
    reduced,
    reduced_radius,
    squared_by_products,
)
from ..ml.dtypes import cast, common, double
from ..ml.iterate import any_of
from ..ml.ties import kept_in_heap, tree_order
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, Methods, MultiClassified, matrix, read, together, unsupported

_MODULE = "sklearn.neighbors."
INT_MAX = np.iinfo(np.int64).max
_SEARCH = ("leaf_size", "p", "metric", "metric_params", "n_neighbors", "radius")


def known_rows(est: Any) -> np.ndarray:
    """The rows that a neighbours estimator was fitted with."""
    rows = est._fit_X
    found: np.ndarray = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return found


def _metric(g: GraphBuilder, est: Any) -> Metric:
    name = est.effective_metric_
    if not isinstance(name, str):
        raise unsupported(g, est, "its metric is Python code")
    return Metric(name, dict(est.effective_metric_params_ or {})).plain


def _ranking(g: GraphBuilder, x: Value, est: Any, metric: Metric) -> Value:
    if metric.name == "precomputed":
        return double(g, x)
    known = known_rows(est)
    # the brute-force search takes differences of float32, the trees hold doubles
    single = est._fit_method == "brute" and known.dtype == np.float32 and x.dtype is ir.DataType.FLOAT
    found = reduced(g, x, known, metric, single=single)
    if found is None:
        raise unsupported(g, est, f"metric={metric.name!r}")
    return found


def nearest(g: GraphBuilder, x: Value, est: Any, count: int) -> tuple[Value, Value]:
    """``kneighbors``: distances in double and indices of the nearest known rows, [batch, count], nearest first."""
    metric = _metric(g, est)
    by_products = est._fit_method == "brute" and metric.name == "euclidean"  # as scikit-learn ranks them
    ranking = squared_by_products(g, x, known_rows(est)) if by_products else _ranking(g, x, est, metric)
    rows = ranking.dim(1)
    assert isinstance(rows, int)
    near, indices = g.TopK(ranking, [min(count + 1, rows)], axis=1, largest=0, sorted=1, outputs=2)
    if metric.name in ("precomputed", "cosine"):  # these are sorted as numpy does it
        near, indices = (g.Slice(v, [0], [count], [1]) for v in (near, indices))
        near = from_reduced(g, near, metric)
        return cast(g, near, x.element if metric.name == "precomputed" else _own_dtype(x, est)), indices
    tied = g.Equal(g.Slice(near, [0], [-1], [1]), g.Slice(near, [1], [INT_MAX], [1]))
    by_heap, plain = g.subgraph("by heap"), g.subgraph("plain")
    if est._fit_method == "brute":
        order = by_heap.expand(by_heap.constant(np.arange(rows).reshape(1, -1)), [x.dim(0), rows])
    else:
        order = tree_order(by_heap, x, est._tree, metric)
    for value in kept_in_heap(by_heap, ranking, order, count):
        by_heap.output(value)
    for value in (near, indices):
        plain.output(plain.Slice(value, [0], [count], [1]))
    near, indices = g.If(any_of(g, tied), then_branch=by_heap, else_branch=plain, outputs=2)
    near, indices = (g.expect(v, None, (x.dim(0), count)) for v in (near, indices))
    if by_products:
        offsets = g.Sub(g.Gather(known_rows(est).astype(np.float64), indices, axis=0), g.Unsqueeze(double(g, x), [1]))
        near = g.ReduceSum(g.Mul(offsets, offsets), [2], keepdims=0)
    return from_reduced(g, near, metric), indices


def _own_dtype(x: Value, est: Any) -> ir.DataType:
    return common(x.element, ir.DataType.from_numpy(known_rows(est).dtype))


def _within(g: GraphBuilder, x: Value, est: Any) -> tuple[Value, Value]:
    """Distances to all known rows, and which of them lie within the radius: [batch, rows]."""
    metric = _metric(g, est)
    found = _ranking(g, x, est, metric)
    return from_reduced(g, found, metric), g.LessOrEqual(found, np.float64(reduced_radius(est.radius, metric)))


def _weights(g: GraphBuilder, est: Any, near: Value, used: Value | None = None) -> Value:
    """Weight of each neighbour: 1, or 1 / distance; a row that equals some counts those alone.

    `used` says which of the rows are neighbours, where not all are.
    """
    one, nothing = np.float64(1), np.float64(0)
    if est.weights in (None, "uniform"):
        weights = g.Where(g.Equal(near, near), one, nothing)
    elif est.weights == "distance":
        same = g.Equal(near, nothing)
        some = g.Greater(g.ReduceMax(g.Where(same, one, nothing), [1], keepdims=1), nothing)
        weights = g.Where(some, g.Where(same, one, nothing), g.Div(one, g.Where(same, one, near)))
    else:
        raise unsupported(g, est, "its weights are Python code")
    return weights if used is None else g.Where(used, weights, nothing)


def _outputs(est: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Classes of each output, and the class index of each known row for each output."""
    several = est.outputs_2d_
    y = np.asarray(est._y.toarray() if hasattr(est._y, "toarray") else est._y)
    return (list(est.classes_) if several else [est.classes_]), y.reshape(len(y), -1)


def _voted(g: GraphBuilder, est: Any, votes: list[Value]) -> Classified | MultiClassified:
    """From the sums of the votes, [batch, classes] of each output, to probabilities and labels."""
    classes, _ = _outputs(est)
    found = []
    for own, vote in zip(classes, votes, strict=True):
        proba = g.Div(vote, g.ReduceSum(vote, [1], keepdims=1))
        found.append(Classified(labels.first_greatest(g, vote), np.asarray(own), proba))
    return found[0] if not est.outputs_2d_ else together(g, found)


def _kneighbors(g: GraphBuilder, x: Value, est: Any) -> tuple[Value, Value]:
    return nearest(g, x, est, int(est.n_neighbors))


@symbolic(DIALECT, _MODULE + "KNeighborsClassifier")
def k_neighbors_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """KNeighborsClassifier.predict_proba(X): (weighted) votes of the n_neighbors nearest rows"""
    read(g, est, "weights", ignore=_SEARCH)
    near, indices = _kneighbors(g, matrix(g, x), est)
    weights = g.Unsqueeze(_weights(g, est, near), [2])
    votes = []
    for classes, y in zip(*_by_output(est), strict=True):
        own = g.Equal(g.Unsqueeze(g.Gather(y, indices, axis=0), [2]), np.arange(len(classes)))
        votes.append(g.ReduceSum(g.Where(own, weights, np.float64(0)), [1], keepdims=0))
    return replace(_voted(g, est, votes), more={"kneighbors": lambda: (near, indices)})


def _by_output(est: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    classes, y = _outputs(est)
    return classes, [np.ascontiguousarray(c, np.int64) for c in y.T]


@symbolic(DIALECT, _MODULE + "RadiusNeighborsClassifier")
def radius_neighbors_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """RadiusNeighborsClassifier.predict_proba(X): (weighted) votes of the rows within the radius, else outlier_label"""
    read(g, est, "weights", "outlier_label", ignore=_SEARCH)
    away, inside = _within(g, matrix(g, x), est)
    weights = _weights(g, est, g.Where(inside, away, np.float64(np.inf)), inside)
    none = g.Not(g.Cast(g.ReduceMax(g.Cast(inside, to=ir.DataType.INT32), [1], keepdims=1), to=ir.DataType.BOOL))
    found = []
    for k, (classes, y) in enumerate(zip(*_by_output(est), strict=True)):
        votes = g.MatMul(weights, np.eye(len(classes))[y])
        if est.outlier_label_ is not None:  # None: scikit-learn takes no rows without neighbours
            at = np.flatnonzero(np.asarray(classes) == est.outlier_label_[k])
            if len(at) != 1:
                raise unsupported(g, est, "an outlier_label that is none of the classes")
            votes = g.Where(none, np.eye(len(classes))[at], votes)
        proba = g.Div(votes, g.ReduceSum(votes, [1], keepdims=1))
        found.append(Classified(labels.first_greatest(g, proba), np.asarray(classes), proba))
    return found[0] if not est.outputs_2d_ else together(g, found)


def _y(est: Any) -> np.ndarray:
    y = np.asarray(est._y)
    return y.reshape(len(y), -1)


@symbolic(DIALECT, _MODULE + "KNeighborsRegressor")
def k_neighbors_regressor(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """KNeighborsRegressor.predict(X): (weighted) mean of y of the n_neighbors nearest rows"""
    read(g, est, "weights", ignore=_SEARCH)
    near, indices = _kneighbors(g, matrix(g, x), est)

    def predict() -> Value:
        y = _y(est)
        kind = np.float64 if y.dtype.kind in "iub" or est.weights == "distance" else y.dtype
        values = g.Gather(y.astype(np.float64), indices, axis=0)  # [batch, neighbours, outputs]
        weights = g.Unsqueeze(_weights(g, est, near), [2])
        mean = g.Div(g.ReduceSum(g.Mul(values, weights), [1], keepdims=0), g.ReduceSum(weights, [1], keepdims=0))
        mean = cast(g, mean, ir.DataType.from_numpy(np.dtype(kind)))
        return mean if np.ndim(est._y) > 1 else g.Squeeze(mean, [1])

    return Methods({"predict": predict, "kneighbors": lambda: (near, indices)})


@symbolic(DIALECT, _MODULE + "RadiusNeighborsRegressor")
def radius_neighbors_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """RadiusNeighborsRegressor.predict(X): (weighted) mean of y of the rows within the radius, NaN without any"""
    read(g, est, "weights", ignore=_SEARCH)
    away, inside = _within(g, matrix(g, x), est)
    weights = _weights(g, est, g.Where(inside, away, np.float64(np.inf)), inside)
    y = _y(est)
    total = g.ReduceSum(weights, [1], keepdims=1)
    with np.errstate(invalid="ignore"):  # whole numbers have no NaN: numpy makes something else of it
        none = np.full_like(y[0], np.nan).astype(np.float64)
    mean = g.Where(g.Equal(total, np.float64(0)), none, g.Div(g.MatMul(weights, y.astype(np.float64)), total))
    mean = cast(g, mean, ir.DataType.from_numpy(np.dtype(np.float64 if y.dtype.kind in "iub" else y.dtype)))
    return mean if np.ndim(est._y) > 1 else g.Squeeze(mean, [1])


@symbolic(DIALECT, _MODULE + "NearestNeighbors")
def nearest_neighbors(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """NearestNeighbors.kneighbors(X): distances and indices of the n_neighbors nearest rows"""
    read(g, est, ignore=_SEARCH)
    return Methods({"kneighbors": lambda: _kneighbors(g, matrix(g, x), est)})


@symbolic(DIALECT, _MODULE + "KNeighborsTransformer")
def k_neighbors_transformer(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """KNeighborsTransformer.transform(X): [batch, known rows], the distance to each of the nearest rows, else 0"""
    params = read(g, est, "mode", ignore=_SEARCH)
    rows = matrix(g, x)

    def transform() -> Value:
        near, indices = nearest(g, rows, est, int(est.n_neighbors) + (params.mode == "distance"))
        marks = near if params.mode == "distance" else g.Where(g.Equal(near, near), np.float64(1), np.float64(0))
        empty = g.expand(g.constant(np.zeros((1, 1))), [rows.dim(0), len(known_rows(est))])
        return g.ScatterElements(empty, indices, marks, axis=1)

    return Methods({"transform": transform, "kneighbors": lambda: _kneighbors(g, rows, est)})


@symbolic(DIALECT, _MODULE + "RadiusNeighborsTransformer")
def radius_neighbors_transformer(g: GraphBuilder, x: Features, est: Any) -> Value:
    """RadiusNeighborsTransformer.transform(X): [batch, known rows], the distance of those within the radius, else 0"""
    params = read(g, est, "mode", ignore=_SEARCH)
    away, inside = _within(g, matrix(g, x), est)
    return g.Where(inside, away if params.mode == "distance" else np.float64(1), np.float64(0))


@symbolic(DIALECT, _MODULE + "NearestCentroid")
def nearest_centroid(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """NearestCentroid.predict(X): the nearest of centroids_, or the greatest score where priors differ"""
    params = read(g, est, "metric", ignore=("shrink_threshold",))
    metric = Metric(params.metric).plain
    rows = matrix(g, x)
    count = len(est.classes_)
    spread = np.where(est.within_class_std_dev_ != 0, est.within_class_std_dev_, 1.0)
    away = distances(g, g.Div(double(g, rows), spread), est.centroids_ / spread, metric)
    if away is None:
        raise unsupported(g, est, f"metric={params.metric!r}")
    joint = g.Add(g.Neg(g.Mul(away, away)), 2.0 * np.log(np.asarray(est.class_prior_, np.float64)))
    index = labels.first_greatest(g, joint)
    if np.isclose(est.class_prior_, 1 / count).all():
        if metric.name == "euclidean":
            index = nearest_pairwise(g, rows, est.centroids_)
        else:
            plain = distances(g, rows, est.centroids_, metric)
            assert plain is not None
            index = g.ArgMin(plain, axis=1, keepdims=0)
    if metric.name != "euclidean":  # scikit-learn has no probabilities then
        return Classified(index, est.classes_)
    scores = g.Sub(_column(g, joint, 1), _column(g, joint, 0)) if count == 2 else joint
    return Classified(index, est.classes_, labels.softmax(g, joint), scores)


def _column(g: GraphBuilder, x: Value, index: int) -> Value:
    return g.Gather(x, np.array(index, np.int64), axis=1)


@symbolic(DIALECT, _MODULE + "LocalOutlierFactor")
def local_outlier_factor(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """LocalOutlierFactor.score_samples(X): minus the mean density of the neighbours over the row's own"""
    read(g, est, "novelty", ignore=(*_SEARCH, "contamination"))
    rows = matrix(g, x)
    near, indices = nearest(g, rows, est, int(est.n_neighbors_))
    single = rows.dtype is ir.DataType.FLOAT
    if single:
        near = cast(g, near, ir.DataType.FLOAT)
    farthest = np.ascontiguousarray(est._distances_fit_X_[:, est.n_neighbors_ - 1])
    dtype = ir.DataType.from_numpy(np.result_type(near.element.numpy(), farthest.dtype))
    reach = g.Max(cast(g, near, dtype), cast(g, g.Gather(farthest, indices, axis=0), dtype))
    kind = dtype.numpy().type
    density = g.Div(kind(1), g.Add(g.ReduceMean(reach, [1], keepdims=1), kind(1e-10)))
    around = g.Gather(np.asarray(est._lrd), indices, axis=0)
    whole = ir.DataType.from_numpy(np.result_type(dtype.numpy(), est._lrd.dtype))
    scores = g.Neg(g.ReduceMean(g.Div(cast(g, around, whole), cast(g, density, whole)), [1], keepdims=0))
    return outliers(g, scores, est.offset_, {"kneighbors": lambda: _kneighbors(g, rows, est)})


def outliers(g: GraphBuilder, scores: Value, offset: Any, more: dict[str, Any] | None = None) -> Methods:
    """An outlier detector from ``score_samples``: what scores below the offset is one, -1."""
    kind = ir.DataType.from_numpy(np.result_type(np.zeros(1, scores.element.numpy()), offset))
    decision = g.Sub(cast(g, scores, kind), np.asarray(offset, kind.numpy()).reshape(()))
    bound = np.zeros((), kind.numpy())
    return Methods(
        {
            "predict": lambda: g.Where(g.Less(decision, bound), np.int64(-1), np.int64(1)),
            "decision_function": lambda: decision,
            "score_samples": lambda: scores,
            **(more or {}),
        }
    )
