"""Calibrated probabilities, and thresholds other than the usual one."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import cast, common, double
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, call, children, classify, matrix, one, read, regress, response

_CALIBRATION = "sklearn.calibration."
_THRESHOLD = tuple(
    f"sklearn.model_selection.{n}" for n in ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
)  # fmt: skip
_SCORES = ("decision_function", "predict_proba")


@children(_CALIBRATION + "CalibratedClassifierCV")
def _calibrated(est: Any) -> list[tuple[str, Any]]:
    found = []
    for i, member in enumerate(est.calibrated_classifiers_):
        found.append((f"{i}.estimator", member.estimator))
        found += [(f"{i}.calibrators.{j}", calibrator) for j, calibrator in enumerate(member.calibrators)]
    return found


@symbolic(DIALECT, _CALIBRATION + "CalibratedClassifierCV")
def calibrated_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """CalibratedClassifierCV.predict_proba(X): mean of the calibrated probabilities of the members"""
    read(g, est, "estimator", "method", ignore=("ensemble", "base_estimator"))
    total: Value | None = None
    for i, member in enumerate(est.calibrated_classifiers_):
        shares = _member_probabilities(g, x, member, str(i))
        total = shares if total is None else g.Add(total, shares)
    assert total is not None
    proba = g.Div(total, np.float64(len(est.calibrated_classifiers_)))
    return Classified(labels.first_greatest(g, proba), est.classes_, proba)


def _member_probabilities(g: GraphBuilder, x: Features, member: Any, name: str) -> Value:
    """``_CalibratedClassifier.predict_proba``, [batch, classes] in double."""
    result = call(g, member.estimator, x, f"{name}.estimator")
    scores, method = response(g, member.estimator, result, *_SCORES)
    if scores.rank == 1:
        scores = g.Unsqueeze(scores, [1])
    if member.method == "temperature":
        if method == "predict_proba" and scores.dim(1) == 1:
            scores = g.Concat(g.Sub(np.array(1, scores.element.numpy()), scores), scores, axis=1)
        proba = double(g, regress(g, member.calibrators[0], scores, f"{name}.calibrators.0"))
    else:
        proba = _one_by_one(g, scores, member, name)
    rounds = g.And(g.Greater(proba, np.float64(1)), g.LessOrEqual(proba, np.float64(1 + 1e-5)))
    return g.Where(rounds, np.float64(1), proba)


def _one_by_one(g: GraphBuilder, scores: Value, member: Any, name: str) -> Value:
    """Each class by a calibrator of its own, as shares of their sum."""
    classes = np.asarray(member.classes)
    known = np.searchsorted(classes, np.asarray(member.estimator.classes_))
    count, width = len(classes), len(member.calibrators)
    parts = list(g.Split(scores, [1] * width, axis=1, outputs=width)) if width > 1 else [scores]
    made: dict[int, Value] = {}
    for i, (at, part, calibrator) in enumerate(zip(known, parts, member.calibrators, strict=False)):
        found = double(g, regress(g, calibrator, g.Squeeze(part, [1]), f"{name}.calibrators.{i}"))
        made[int(at) + (count == 2)] = g.Unsqueeze(found, [1])
    if count == 2:
        return g.Concat(g.Sub(np.float64(1), made[1]), made[1], axis=1)
    zeros = g.Mul(next(iter(made.values())), np.float64(0))
    joined = g.Concat(*(made.get(i, zeros) for i in range(count)), axis=1)
    total = g.ReduceSum(joined, [1], keepdims=1)
    empty = g.Equal(total, np.float64(0))
    return g.Where(empty, np.float64(1 / count), g.Div(joined, g.Where(empty, np.float64(1), total)))


@symbolic(DIALECT, _CALIBRATION + "_SigmoidCalibration")
def sigmoid_calibration(g: GraphBuilder, x: Features, est: Any) -> Value:
    """_SigmoidCalibration.predict(T): expit(-(a_ * T + b_))"""
    scores = double(g, matrix(g, x))
    line = g.Add(g.Mul(scores, np.float64(est.a_)), np.float64(est.b_))
    return labels.sigmoid(g, g.Neg(line))


@symbolic(DIALECT, _CALIBRATION + "_TemperatureScaling")
def temperature_scaling(g: GraphBuilder, x: Features, est: Any) -> Value:
    """_TemperatureScaling.predict(X): softmax(beta_ * logits)"""
    logits = _logits(g, matrix(g, x))
    beta = np.asarray(est.beta_)
    wide = common(logits.element, ir.DataType.from_numpy(beta.dtype))
    return labels.softmax(g, g.Mul(cast(g, logits, wide), beta.astype(wide.numpy())))


def _logits(g: GraphBuilder, scores: Value) -> Value:
    """Scores as logits: the logarithm where all rows look like probabilities."""
    kind = scores.element.numpy()
    if scores.dim(1) == 1:
        return g.Concat(g.Neg(scores), scores, axis=1)
    zero, unit = kind.type(0), kind.type(1)
    inside = g.And(g.GreaterOrEqual(scores, zero), g.LessOrEqual(scores, unit))
    total = g.ReduceSum(scores, [1], keepdims=1)
    one_ = g.LessOrEqual(g.Abs(g.Sub(total, unit)), kind.type(1e-8 + 1e-5))
    every = g.ReduceMin(g.Cast(g.And(inside, one_), to=ir.DataType.INT32), keepdims=1)
    log = g.Log(g.Add(scores, kind.type(1e-12)))
    return g.Where(g.Equal(every, np.int32(1)), log, scores)


# --- thresholds ----------------------------------------------------------------------------------------------------


@children(*_THRESHOLD)
def _inner(est: Any) -> list[tuple[str, Any]]:
    return [("estimator_", getattr(est, "estimator_", est.estimator))]


@symbolic(DIALECT, *_THRESHOLD)
def threshold_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """FixedThresholdClassifier.predict(X): the positive class where the score reaches the threshold"""
    read(
        g, est, "estimator", "threshold", "pos_label", "response_method",
        ignore=("thresholds", "store_cv_results", "prefit"),
    )  # fmt: skip
    inner = getattr(est, "estimator_", est.estimator)
    result = classify(g, inner, x, "estimator_")
    asked = est.response_method
    methods = ("predict_proba", "decision_function") if asked == "auto" else (asked,)
    score, method = response(g, inner, result, *methods)
    tuned = hasattr(est, "best_threshold_")
    positive = est._curve_scorer._get_pos_label() if tuned else est.pos_label
    classes = np.asarray(est.classes_)
    at = 1 if positive is None else int(np.flatnonzero(classes == positive)[0])
    if at == 0:
        first = method != "decision_function"
        score = g.Squeeze(g.Slice(one(g, inner, result, method), [0], [1], [1]), [1]) if first else g.Neg(score)
    limit = est.best_threshold_ if tuned else est.threshold
    if isinstance(limit, str):
        limit = 0.5 if method == "predict_proba" else 0.0
    # numpy compares a Python number in the dtype of the scores, its own float64 in double
    compared = double(g, score) if isinstance(limit, np.float64) else score
    reached = labels.above(g, compared, float(limit), reached=True)
    index = reached if at == 1 else g.Sub(np.int64(1), reached)
    return Classified(index, classes, result.probabilities, result.scores)
