"""Gradient boosting of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import clip
from ..ml.packing import sum_trees
from ..ml.trees import Mode, TreeTable, from_nodes, with_constant
from ..registry import symbolic
from ..value import Value
from .calling import (
    DIALECT,
    Classified,
    Features,
    children,
    classify,
    hstack,
    matrix,
    read,
    regress,
    transform,
    unsupported,
)
from .compose import input_columns
from .forests import read_trees

_GRADIENT = ("sklearn.ensemble.GradientBoostingClassifier", "sklearn.ensemble.GradientBoostingRegressor")
_HISTOGRAM = "sklearn.ensemble.HistGradientBoosting"


@children(*_GRADIENT)
def _init(est: Any) -> list[tuple[str, Any]]:
    return [] if _constant_init(est) is not None else [("init", est.init_)]


def _constant_init(est: Any) -> np.ndarray | None:
    """What the sum starts from for every row; None where another estimator predicts it."""
    outputs = est.estimators_.shape[1]
    if isinstance(est.init_, str) and est.init_ == "zero":
        return np.zeros(outputs)
    if type(est.init_).__name__ in ("DummyClassifier", "DummyRegressor"):
        # scikit-learn's own code takes the link of the prediction; it doesn't depend on the row
        row = np.zeros((1, est.n_features_in_), np.float32)
        start: np.ndarray = np.asarray(est._raw_predict_init(row), np.float64)[0]
        return start
    return None


def _raw(g: GraphBuilder, x: Features, est: Any) -> Value:
    """``_raw_predict``: the start plus learning_rate times the value of each tree, [batch, outputs] in double."""
    stages = est.estimators_
    trees = [e.tree_ for e in stages.reshape(-1)]
    table = read_trees(trees, est.n_features_in_, outputs=stages.shape[1], scale=est.learning_rate)
    start = _constant_init(est)
    if start is not None:
        return sum_trees(g, matrix(g, x), with_constant(table, start))
    return g.Add(_init_link(g, x, est), sum_trees(g, matrix(g, x), table))


def _init_link(g: GraphBuilder, x: Features, est: Any) -> Value:
    """Link of what the init estimator predicts, [batch, outputs]."""
    link = type(est._loss.link).__name__
    rows = g.Cast(matrix(g, x), to=ir.DataType.FLOAT)
    if not hasattr(est, "classes_"):
        start = regress(g, est.init_, rows, "init")
        if link != "IdentityLink":
            raise unsupported(g, est, f"init={type(est.init_).__name__} with {link}")
        return g.Unsqueeze(g.Cast(start, to=ir.DataType.DOUBLE), [1])
    proba = classify(g, est.init_, rows, "init").probabilities
    if proba is None or link not in ("LogitLink", "HalfLogitLink", "MultinomialLogit"):
        raise unsupported(g, est, f"init={type(est.init_).__name__} with {link}")
    eps = float(np.finfo(np.float64).eps)
    p = clip(g, g.Cast(proba, to=ir.DataType.DOUBLE), eps, 1 - eps)
    if link == "MultinomialLogit":
        log = g.Log(p)
        return g.Sub(log, g.ReduceMean(log, [1], keepdims=1))
    p = g.Slice(p, [1], [2], [1])
    odds = g.Log(g.Div(p, g.Sub(np.float64(1), p)))
    return g.Mul(odds, np.float64(0.5)) if link == "HalfLogitLink" else odds


@symbolic(DIALECT, _GRADIENT[0])
def gradient_boosting_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """GradientBoostingClassifier.predict_proba(X): logistic function or softmax of the summed trees"""
    params = read(g, est, "loss", "init", "learning_rate")
    raw = _raw(g, x, est)
    if est.estimators_.shape[1] > 1:
        return Classified(labels.first_greatest(g, raw), est.classes_, labels.softmax(g, raw), raw)
    scores = g.Squeeze(raw, [1])
    if params.loss not in ("log_loss", "exponential"):
        raise unsupported(g, est, f"loss={params.loss!r}")
    logit = g.Mul(scores, np.float64(2)) if params.loss == "exponential" else scores
    proba = labels.two_columns(g, labels.sigmoid(g, logit))
    return Classified(labels.above(g, scores, reached=True), est.classes_, proba, scores)


@symbolic(DIALECT, _GRADIENT[1])
def gradient_boosting_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """GradientBoostingRegressor.predict(X): init_ + sum of learning_rate * value of each tree"""
    read(g, est, "loss", "init", "learning_rate")
    return g.Squeeze(_raw(g, x, est), [1])


# --- histogram gradient boosting -----------------------------------------------------------------------------------


def _histogram_table(est: Any) -> TreeTable:
    predictors = [p for iteration in est._predictors for p in iteration]
    # joined as bytes: numpy would compare the fields of each two
    nodes = np.frombuffer(b"".join([p.nodes.tobytes() for p in predictors]), predictors[0].nodes.dtype)
    by_set = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
    outputs = est.n_trees_per_iteration_
    return from_nodes(
        [len(p.nodes) for p in predictors],
        features=est.n_features_in_,
        narrow=False,
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        is_leaf=nodes["is_leaf"].astype(bool),
        feature=nodes["feature_idx"],
        threshold=nodes["num_threshold"],
        missing_left=nodes["missing_go_to_left"],
        values=nodes["value"].reshape(-1, 1),
        targets=outputs,
        tree_target=np.arange(len(predictors)) % outputs,
        mode=np.where(by_set, Mode.MEMBER, Mode.LEQ),
        members=_category_sets(predictors, nodes, by_set),
        rows=nodes["count"],
    )


def _category_sets(predictors: list[Any], nodes: np.ndarray, by_set: np.ndarray) -> dict[int, np.ndarray]:
    """The categories that go left at each category split, by node number."""
    at = np.flatnonzero(by_set)
    if not len(at):
        return {}
    sets = [p.raw_left_cat_bitsets for p in predictors]
    first = np.cumsum([0] + [len(s) for s in sets[:-1]])
    tree = np.repeat(np.arange(len(predictors)), [len(p.nodes) for p in predictors])
    words = np.concatenate(sets)[nodes["bitset_idx"][at] + first[tree[at]]].astype("<u4")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return {int(node): np.flatnonzero(row).astype(np.float64) for node, row in zip(at, bits, strict=True)}


def _encoded(g: GraphBuilder, x: Features, est: Any) -> Value:
    """The rows as the trees see them: the numbers of the categories first, then the other features."""
    columns = est._preprocessor
    if columns is None:
        return matrix(g, x)
    parts: list[Features] = []
    for name, transformer, _ in columns.transformers_:
        indices = [int(i) for i in columns._transformer_to_input_indices.get(name, ())]
        if indices:
            part = input_columns(g, x, columns, indices)
            # the other transformer only checks its input
            parts.append(transform(g, transformer, part, name) if name == "encoder" else part)
    return hstack(g, parts)


def _histogram_raw(g: GraphBuilder, x: Features, est: Any) -> Value:
    start = np.asarray(est._baseline_prediction, np.float64).reshape(-1)
    return sum_trees(g, _encoded(g, x, est), with_constant(_histogram_table(est), start))


_HISTOGRAM_TRAINING = ("learning_rate", "categorical_features", "callbacks")


@symbolic(DIALECT, _HISTOGRAM + "Classifier")
def histogram_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """HistGradientBoostingClassifier.predict_proba(X): logistic function or softmax of the summed trees"""
    params = read(g, est, "loss", ignore=_HISTOGRAM_TRAINING)
    if params.loss != "log_loss":
        raise unsupported(g, est, f"loss={params.loss!r}")
    raw = _histogram_raw(g, x, est)
    if est.n_trees_per_iteration_ > 1:
        return Classified(labels.first_greatest(g, raw), est.classes_, labels.softmax(g, raw), raw)
    scores = g.Squeeze(raw, [1])
    proba = labels.two_columns(g, labels.sigmoid(g, scores))
    return Classified(labels.above(g, scores), est.classes_, proba, scores)


@symbolic(DIALECT, _HISTOGRAM + "Regressor")
def histogram_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """HistGradientBoostingRegressor.predict(X): inverse link of the summed trees"""
    read(g, est, "loss", ignore=_HISTOGRAM_TRAINING)
    raw = g.Squeeze(_histogram_raw(g, x, est), [1])
    link = type(est._loss.link).__name__
    if link == "IdentityLink":
        return raw
    if link == "LogLink":
        return g.Exp(raw)
    raise unsupported(g, est, f"loss={est.loss!r}, whose link is {link}")
