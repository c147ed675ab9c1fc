"""Bagging, AdaBoost, stacking."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import double
from ..registry import symbolic
from ..value import Value
from .calling import (
    DIALECT,
    Classified,
    Features,
    Result,
    call,
    children,
    classify,
    hstack,
    matrix,
    read,
    regress,
    select,
    unsupported,
)

_BAGGING = "sklearn.ensemble.Bagging"
_ADA = "sklearn.ensemble.AdaBoostClassifier"
_STACKING = ("sklearn.ensemble.StackingClassifier", "sklearn.ensemble.StackingRegressor")


@children(_BAGGING + "Classifier", _BAGGING + "Regressor", _ADA)
def _numbered(est: Any) -> list[tuple[str, Any]]:
    return [(str(i), member) for i, member in enumerate(est.estimators_)]


def _added(g: GraphBuilder, total: Value | None, term: Value) -> Value:
    return term if total is None else g.Add(total, term)


def _bagged(g: GraphBuilder, x: Features, est: Any) -> list[tuple[str, Any, Features]]:
    """Members with the columns that each of them sees."""
    read(g, est, "estimator", ignore=("bootstrap_features", "base_estimator"))
    rows = matrix(g, x)
    return [
        (str(i), member, select(g, rows, [int(f) for f in features]))
        for i, (member, features) in enumerate(zip(est.estimators_, est.estimators_features_, strict=True))
    ]


@symbolic(DIALECT, _BAGGING + "Classifier")
def bagging_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """BaggingClassifier.predict_proba(X): mean of the members' probabilities, or of their votes"""
    total: Value | None = None
    count = est.n_classes_
    for name, member, seen in _bagged(g, x, est):
        found = classify(g, member, seen, name)
        own = [int(c) for c in found.classes]
        if found.probabilities is None:
            shares = double(g, g.Equal(g.Unsqueeze(labels.pick(g, found.classes, found.index), [1]), np.arange(count)))
        else:
            shares = double(g, found.probabilities)
            if own != list(range(count)):  # a member that saw some of the classes only
                places = np.zeros((len(own), count))
                places[np.arange(len(own)), own] = 1
                shares = g.MatMul(shares, places)
        total = _added(g, total, shares)
    assert total is not None
    mean = g.Div(total, np.float64(est.n_estimators))
    return Classified(labels.first_greatest(g, mean), est.classes_, mean)


@symbolic(DIALECT, _BAGGING + "Regressor")
def bagging_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """BaggingRegressor.predict(X): mean of the members' predictions"""
    total: Value | None = None
    for name, member, seen in _bagged(g, x, est):
        total = _added(g, total, regress(g, member, seen, name))
    assert total is not None
    return g.Div(total, np.array(est.n_estimators, total.element.numpy()))


@symbolic(DIALECT, _ADA)
def ada_boost_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """AdaBoostClassifier.decision_function(X): weighted votes of the members, -1/(K-1) for the other classes"""
    params = read(g, est, "estimator", "algorithm", ignore=("learning_rate", "base_estimator"))
    if getattr(params, "algorithm", None) == "SAMME.R":
        raise unsupported(g, est, "algorithm='SAMME.R'")
    count = int(est.n_classes_)
    if count < 2:
        raise unsupported(g, est, "a single class")
    total: Value | None = None
    for i, (member, weight) in enumerate(zip(est.estimators_, est.estimator_weights_, strict=False)):
        found = classify(g, member, x, str(i))
        own = np.searchsorted(est.classes_, found.classes)
        index = found.index if np.array_equal(own, np.arange(len(own))) else g.Gather(own, found.index, axis=0)
        chosen = g.Equal(g.Unsqueeze(index, [1]), np.arange(count))
        vote = g.Where(chosen, np.float64(weight), np.float64(-1 / (count - 1) * weight))
        total = _added(g, total, vote)
    assert total is not None
    decision = g.Div(total, np.float64(est.estimator_weights_.sum()))
    if count > 2:
        proba = labels.softmax(g, g.Div(decision, np.float64(count - 1)))
        return Classified(labels.first_greatest(g, decision), est.classes_, proba, decision)
    first, second = g.Split(decision, [1, 1], axis=1, outputs=2)
    score = g.Add(g.Neg(first), second)
    proba = labels.softmax(g, g.Div(g.Concat(g.Neg(score), score, axis=1), np.float64(2)))
    flat = g.Squeeze(score, [1])
    return Classified(labels.above(g, flat), est.classes_, proba, flat)


@children(*_STACKING)
def _stacked(est: Any) -> list[tuple[str, Any]]:
    names = [name for name, member in est.estimators if not (isinstance(member, str) and member == "drop")]
    return [*zip(names, est.estimators_, strict=True), ("final_estimator_", est.final_estimator_)]


@symbolic(DIALECT, *_STACKING)
def stacking(g: GraphBuilder, x: Features, est: Any) -> Result:
    """StackingClassifier.predict(X): final_estimator_ on what the members predict (and X, if passthrough)"""
    params = read(g, est, "estimators", "final_estimator", "stack_method", "passthrough")
    parts: list[Features] = []
    *members, (final, last) = _stacked(est)
    for (name, member), method in zip(members, est.stack_method_, strict=True):
        parts.append(_meta(g, est, call(g, member, x, name), method))
    if params.passthrough:
        parts.append(x)
    found = call(g, last, hstack(g, parts), final)
    return (
        Classified(found.index, est.classes_, found.probabilities, found.scores)
        if isinstance(found, Classified)
        else found
    )


def _meta(g: GraphBuilder, est: Any, found: Result, method: str) -> Value:
    """What one member gives to the final estimator, [batch, n]."""
    if isinstance(found, Classified):
        if method == "predict":
            value: Value | None = double(g, labels.pick(g, found.classes, found.index))
        else:
            value = found.probabilities if method == "predict_proba" else found.scores
    else:
        value = found if isinstance(found, Value) else None
    if value is None:
        raise unsupported(g, est, f"a member without {method}")
    if value.rank == 1:
        return g.Unsqueeze(value, [1])
    if method == "predict_proba" and len(est.classes_) == 2:
        return g.Slice(value, [1], [2], [1])
    return value
