"""One classifier or regressor for each class, pair of classes, bit of a code, or column of y."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.distances import nearest_pairwise
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
    matrix,
    one,
    read,
    regress,
    response,
    select,
    unsupported,
)

_CLASSES = "sklearn.multiclass."
_OUTPUTS = "sklearn.multioutput."
_SCORES = ("decision_function", "predict_proba")


@children(
    *(_CLASSES + n for n in ("OneVsRestClassifier", "OneVsOneClassifier", "OutputCodeClassifier")),
    *(_OUTPUTS + n for n in ("MultiOutputClassifier", "MultiOutputRegressor", "ClassifierChain", "RegressorChain")),
)
def _members(est: Any) -> list[tuple[str, Any]]:
    return [(str(i), member) for i, member in enumerate(est.estimators_)]


def _column(g: GraphBuilder, value: Value) -> Value:
    return value if value.rank == 2 else g.Unsqueeze(value, [1])


def _binary(g: GraphBuilder, est: Any, result: Result) -> Value:
    """What tells the positive class, [batch]: the value, the score or the probability."""
    if isinstance(result, Value):
        found = result
    else:
        found, _ = response(g, est, result, *_SCORES)
    return found if found.rank == 1 else g.Squeeze(found, [1])


def _limit(est: Any) -> float:
    classifier = getattr(est, "_estimator_type", None) == "classifier" or hasattr(est, "classes_")
    return 0.0 if hasattr(est, "decision_function") and classifier else 0.5


@symbolic(DIALECT, _CLASSES + "_ConstantPredictor")
def constant_predictor(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """_ConstantPredictor.predict(X): y_ for every row"""
    batch = matrix(g, x).dim(0)
    y = np.asarray(est.y_).reshape(-1)
    shares = np.hstack([1 - y.astype(np.float64), y.astype(np.float64)]).reshape(1, -1)

    def constant() -> Value:
        return g.expand(g.constant(y), [batch])

    return Methods({
        "predict": constant,
        "decision_function": constant,
        "predict_proba": lambda: g.expand(g.constant(shares), [batch, shares.shape[1]]),
    })  # fmt: skip


@symbolic(DIALECT, _CLASSES + "OneVsRestClassifier")
def one_vs_rest(g: GraphBuilder, x: Features, est: Any) -> Result:
    """OneVsRestClassifier.predict(X): the class whose own classifier has the greatest score; all positive ones"""
    read(g, est, "estimator")
    found = [call(g, member, x, name) for name, member in _members(est)]
    scores = [_binary(g, m, r) for m, r in zip(est.estimators_, found, strict=True)]
    joined = concat(g, [_column(g, s) for s in scores])
    binarizer = est.label_binarizer_
    decided = None
    if hasattr(est, "decision_function"):
        single = len(scores) == 1
        decided = one(g, est.estimators_[0], found[0], "decision_function") if single else joined
    proba = None
    if hasattr(est, "predict_proba"):
        proba = _one_vs_rest_probabilities(g, est, found)
    if binarizer.y_type_ == "multiclass":
        return Classified(labels.first_greatest(g, joined), est.classes_, proba, decided)
    limit = _limit(est.estimators_[0])
    positive = [labels.above(g, s, limit) for s in scores]
    if binarizer.y_type_ == "binary":
        return Classified(positive[0], est.classes_, proba, decided)
    return MultiClassified(concat(g, [_column(g, p) for p in positive]), proba, decided)


def _one_vs_rest_probabilities(g: GraphBuilder, est: Any, found: list[Result]) -> Value:
    parts = []
    for member, result in zip(est.estimators_, found, strict=True):
        positive = one(g, member, result, "predict_proba")
        parts.append(g.Slice(positive, [1], [2], [1]))
    shares = concat(g, parts)
    kind = shares.element.numpy().type
    if len(parts) == 1:
        shares = g.Concat(g.Sub(kind(1), shares), shares, axis=1)
    if est.multilabel_:
        return shares
    total = g.ReduceSum(shares, [1], keepdims=1)
    return g.Div(shares, g.Where(g.Equal(total, kind(0)), kind(1), total))


@symbolic(DIALECT, _CLASSES + "OneVsOneClassifier")
def one_vs_one(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """OneVsOneClassifier.decision_function(X): votes of the classifiers of pairs, ties broken by their scores"""
    read(g, est, "estimator")
    count = len(est.classes_)
    sums: list[Value | None] = [None] * count
    votes: list[Value | None] = [None] * count
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    rows = matrix(g, x)
    for k, ((i, j), (name, member)) in enumerate(zip(pairs, _members(est), strict=True)):
        seen: Features = rows
        if est.pairwise_indices_ is not None:
            seen = select(g, rows, [int(at) for at in est.pairwise_indices_[k]])
        result = call(g, member, seen, name)
        confidence = double(g, _binary(g, member, result))
        chosen = double(g, one(g, member, result, "predict"))
        for at, sign, vote in ((i, "Sub", 0.0), (j, "Add", 1.0)):
            sums[at] = _accumulated(g, sign, sums[at], confidence)
            votes[at] = _accumulated(g, "Add", votes[at], double(g, g.Equal(chosen, np.float64(vote))))
    joined = concat(g, [g.Unsqueeze(s, [1]) for s in sums if s is not None])
    bounded = g.Div(joined, g.Mul(np.float64(3), g.Add(g.Abs(joined), np.float64(1))))
    scores = g.Add(concat(g, [g.Unsqueeze(v, [1]) for v in votes if v is not None]), bounded)
    if count > 2:
        return Classified(labels.first_greatest(g, scores), est.classes_, None, scores)
    positive = g.Squeeze(g.Slice(scores, [1], [2], [1]), [1])
    return Classified(labels.above(g, positive, _limit(est.estimators_[0])), est.classes_, None, positive)


def _accumulated(g: GraphBuilder, op: str, total: Value | None, term: Value) -> Value:
    if total is None:
        return term if op == "Add" else g.Neg(term)
    result: Value = g.call(op, total, term)
    return result


@symbolic(DIALECT, _CLASSES + "OutputCodeClassifier")
def output_code(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """OutputCodeClassifier.predict(X): the class whose code is nearest to the scores"""
    read(g, est, "estimator", ignore=("code_size",))
    scores = [double(g, _binary(g, m, call(g, m, x, name))) for name, m in _members(est)]
    joined = g.Concat(*(g.Unsqueeze(s, [1]) for s in scores), axis=1)
    return Classified(nearest_pairwise(g, joined, est.code_book_), est.classes_)


# --- several columns of y ------------------------------------------------------------------------------------------


@symbolic(DIALECT, _OUTPUTS + "MultiOutputRegressor")
def multi_output_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """MultiOutputRegressor.predict(X): the prediction of each column's own regressor"""
    read(g, est, "estimator")
    return concat(g, [_column(g, regress(g, m, x, name)) for name, m in _members(est)])


@symbolic(DIALECT, _OUTPUTS + "MultiOutputClassifier")
def multi_output_classifier(g: GraphBuilder, x: Features, est: Any) -> MultiClassified:
    """MultiOutputClassifier.predict(X): the class of each column's own classifier"""
    read(g, est, "estimator")
    found = [call(g, member, x, name) for name, member in _members(est)]
    members = est.estimators_
    chosen = [_column(g, one(g, m, r, "predict")) for m, r in zip(members, found, strict=True)]
    words = {c.dtype is ir.DataType.STRING for c in chosen}
    if len(words) > 1:
        raise unsupported(g, est, "columns of strings and of numbers side by side")
    proba = None
    if hasattr(est, "predict_proba"):
        proba = tuple(one(g, m, r, "predict_proba") for m, r in zip(members, found, strict=True))
    return MultiClassified(concat(g, chosen), proba)


def _chain(g: GraphBuilder, x: Features, est: Any, outputs: tuple[str, ...]) -> dict[str, Value]:
    """What each estimator of a chain gives, from X and what those before it gave."""
    method = getattr(est, "chain_method_", None) or "predict"
    rows = double(g, matrix(g, x))  # numpy puts the rows beside double predictions
    made: dict[str, list[Value]] = {output: [] for output in outputs}
    for name, member in _members(est):
        result = call(g, member, rows, name)
        for output in outputs:
            made[output].append(g.Unsqueeze(double(g, _answer(g, est, member, result, output)), [1]))
        rows = g.Concat(rows, g.Unsqueeze(double(g, _answer(g, est, member, result, method)), [1]), axis=1)
    order = [int(i) for i in np.argsort(np.asarray(est.order_))]
    return {output: g.Concat(*(parts[i] for i in order), axis=1) for output, parts in made.items()}


def _answer(g: GraphBuilder, est: Any, member: Any, result: Result, method: str) -> Value:
    value = one(g, member, result, "predict") if isinstance(result, Value) else response(g, member, result, method)[0]
    if value.dtype is ir.DataType.STRING:
        raise unsupported(g, est, "a chain of strings")
    return value if value.rank == 1 else g.Squeeze(value, [1])


@symbolic(DIALECT, _OUTPUTS + "ClassifierChain")
def classifier_chain(g: GraphBuilder, x: Features, est: Any) -> MultiClassified:
    """ClassifierChain.predict(X): each classifier sees X and what those before it gave"""
    read(g, est, "base_estimator", "estimator", "order", "chain_method")
    scored = max(len(c) for c in est.classes_) <= 2  # scikit-learn's own fails for more classes
    methods = tuple(m for m in ("predict", *_SCORES) if m == "predict" or (scored and hasattr(est, m)))
    made = _chain(g, x, est, methods)
    return MultiClassified(made["predict"], made.get("predict_proba"), made.get("decision_function"))


@symbolic(DIALECT, _OUTPUTS + "RegressorChain")
def regressor_chain(g: GraphBuilder, x: Features, est: Any) -> Value:
    """RegressorChain.predict(X): each regressor sees X and what those before it gave"""
    read(g, est, "base_estimator", "estimator", "order")
    return _chain(g, x, est, ("predict",))["predict"]
