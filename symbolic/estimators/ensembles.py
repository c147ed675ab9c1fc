"""Bagging, AdaBoost, stacking."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import concat, double
from ..registry import symbolic
from ..value import Value
from .calling import (
    DIALECT,
    Classified,
    Features,
    Methods,
    MultiClassified,
    Result,
    call,
    children,
    classify,
    hstack,
    matrix,
    one,
    read,
    regress,
    select,
    unsupported,
    values,
)

_BAGGING = "sklearn.ensemble.Bagging"
_ADA = "sklearn.ensemble.AdaBoost"
_STACKING = ("sklearn.ensemble.StackingClassifier", "sklearn.ensemble.StackingRegressor")


@children(_BAGGING + "Classifier", _BAGGING + "Regressor", _ADA + "Classifier", _ADA + "Regressor")
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
    decisions: Value | None = None
    decides = hasattr(est, "decision_function")
    for name, member, seen in _bagged(g, x, est):
        found = classify(g, member, seen, name)
        total = _added(g, total, _bag_shares(g, est, member, found))
        if decides:
            decisions = _added(g, decisions, one(g, member, found, "decision_function"))
    assert total is not None
    mean = g.Div(total, np.float64(est.n_estimators))
    if decisions is not None:
        decisions = g.Div(decisions, np.array(est.n_estimators, decisions.element.numpy()))
    return Classified(labels.first_greatest(g, mean), est.classes_, mean, decisions)


def _bag_shares(g: GraphBuilder, est: Any, member: Any, found: Classified) -> Value:
    """Probabilities of one member (or its vote) for all classes of the ensemble, in double."""
    count = est.n_classes_
    if not hasattr(member, "predict_proba"):
        return double(g, g.Equal(g.Unsqueeze(labels.pick(g, found.classes, found.index), [1]), np.arange(count)))
    shares = double(g, one(g, member, found, "predict_proba"))
    own = [int(c) for c in found.classes]
    if own == list(range(count)):
        return shares
    places = np.zeros((len(own), count))  # a member that saw some of the classes only
    places[np.arange(len(own)), own] = 1
    return g.MatMul(shares, places)


@symbolic(DIALECT, _BAGGING + "Regressor")
def bagging_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """BaggingRegressor.predict(X): mean of the members' predictions"""
    total: Value | None = None
    for name, member, seen in _bagged(g, x, est):
        total = _added(g, total, regress(g, member, seen, name))
    assert total is not None
    return g.Div(total, np.array(est.n_estimators, total.element.numpy()))


@symbolic(DIALECT, _ADA + "Classifier")
def ada_boost_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """AdaBoostClassifier.decision_function(X): weighted votes of the members, -1/(K-1) for the other classes"""
    params = read(g, est, "estimator", "algorithm", ignore=("learning_rate", "base_estimator"))
    if getattr(params, "algorithm", None) == "SAMME.R":
        raise unsupported(g, est, "algorithm='SAMME.R'")
    count = int(est.n_classes_)
    if count < 2:
        one_class = g.expand(g.constant(np.zeros((1, 1))), [matrix(g, x).dim(0), 1])
        return Classified(labels.first_greatest(g, one_class), est.classes_, labels.softmax(g, one_class), one_class)
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


@symbolic(DIALECT, _ADA + "Regressor")
def ada_boost_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """AdaBoostRegressor.predict(X): the weighted median of the members' predictions"""
    read(g, est, "estimator", ignore=("loss", "learning_rate", "base_estimator"))
    parts = [g.Unsqueeze(regress(g, member, x, name), [1]) for name, member in _numbered(est)]
    predictions = concat(g, parts)
    ranked, order = g.TopK(predictions, [len(parts)], axis=1, largest=0, sorted=1, outputs=2)
    weights = np.asarray(est.estimator_weights_, np.float64)[: len(parts)]
    reached = g.CumSum(g.Gather(weights, order, axis=0), np.int64(1))
    last = g.Slice(reached, [-1], [np.iinfo(np.int64).max], [1])
    above = g.Cast(g.GreaterOrEqual(reached, g.Mul(last, np.float64(0.5))), to=ir.DataType.INT32)
    middle = g.ArgMax(above, axis=1, keepdims=1)
    return g.Squeeze(g.GatherElements(ranked, middle, axis=1), [1])


@children(*_STACKING)
def _stacked(est: Any) -> list[tuple[str, Any]]:
    names = [name for name, member in est.estimators if not (isinstance(member, str) and member == "drop")]
    return [*zip(names, est.estimators_, strict=True), ("final_estimator_", est.final_estimator_)]


@symbolic(DIALECT, *(f"{n}.transform" for n in _STACKING))
def stacked_predictions(g: GraphBuilder, x: Features, est: Any) -> Value:
    """StackingClassifier.transform(X): what the members predict (and X, if passthrough), side by side"""
    read(g, est, "estimators", "final_estimator", "stack_method", "passthrough")
    parts: list[Features] = []
    methods = [m for m in est.stack_method_ if m is not None]
    for (name, member), method in zip(_stacked(est)[:-1], methods, strict=True):
        parts += _meta(g, est, member, call(g, member, x, name), method)
    if est.passthrough:
        parts.append(x)
    return hstack(g, parts)


@symbolic(DIALECT, *_STACKING)
def stacking(g: GraphBuilder, x: Features, est: Any) -> Result:
    """StackingClassifier.predict(X): final_estimator_ on what the members predict (and X, if passthrough)"""
    given = stacked_predictions(g, x, est)
    final, last = _stacked(est)[-1]
    found = call(g, last, given, final)
    more = {"transform": lambda: given}
    if isinstance(found, Classified):
        return Classified(found.index, est.classes_, found.probabilities, found.scores, more)
    if isinstance(found, MultiClassified):
        # several labels: scikit-learn gives the probability that each is absent
        several = found.probabilities if isinstance(found.probabilities, tuple) else None
        absent = None if several is None else concat(g, [g.Slice(p, [0], [1], [1]) for p in several])
        return MultiClassified(found.label, absent)
    return Methods({**more, "predict": lambda: one(g, last, found, "predict")})


def _meta(g: GraphBuilder, est: Any, member: Any, found: Result, method: str) -> list[Features]:
    """What one member gives to the final estimator, [batch, n] each."""
    made = values(g, member, found, method)
    if len(made) > 1:  # one matrix for each label: the probability of its presence
        return [g.Slice(p, [1], [np.iinfo(np.int64).max], [1]) for p in made]
    (value,) = made
    if value.dtype is ir.DataType.STRING:
        raise unsupported(g, est, f"the member {type(member).__name__} predicts strings")
    if value.rank == 1:
        return [g.Unsqueeze(value, [1])]
    if method == "predict_proba" and len(getattr(est, "classes_", ())) == 2:
        return [g.Slice(value, [1], [2], [1])]
    return [value]
