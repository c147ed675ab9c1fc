"""Support vector machines: libsvm's decisions in double."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import double
from ..ml.kernels import kernel
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, Methods, matrix, read, select, unsupported

_MODULE = "sklearn.svm."
_PARAMETERS = ("kernel", "degree", "gamma", "coef0")
_TRAINING = ("cache_size", "shrinking", "nu")


def _dense(array: Any) -> np.ndarray:
    return np.asarray(array.toarray() if hasattr(array, "toarray") else array, np.float64)


def _kernel(g: GraphBuilder, x: Features, est: Any) -> Value:
    """Kernel between the rows and the support vectors, [batch, support vectors]."""
    rows = matrix(g, x)
    if est.kernel == "precomputed":
        rows = matrix(g, select(g, rows, [int(i) for i in est.support_]))
    found = None
    if isinstance(est.kernel, str):
        vectors = _dense(est.support_vectors_)
        found = kernel(g, rows, vectors, est.kernel, float(est._gamma), float(est.degree), float(est.coef0), exact=True)
    if found is None:
        raise unsupported(g, est, f"kernel={est.kernel!r}")
    return found


def _sums(g: GraphBuilder, x: Features, est: Any) -> Value:
    """The one decision of a regressor or of a detector of outliers, [batch]."""
    products = g.MatMul(_kernel(g, x, est), np.ascontiguousarray(_dense(est._dual_coef_).reshape(-1, 1)))
    return g.Add(g.Squeeze(products, [1]), np.asarray(est._intercept_, np.float64).reshape(-1)[:1])


def _pairwise(g: GraphBuilder, x: Features, est: Any) -> Value:
    """libsvm's decision of each pair of classes, above 0 for the first of the two: [batch, pairs]."""
    coefficients, counts = _dense(est._dual_coef_), np.asarray(est._n_support)
    of_class = np.repeat(np.arange(len(counts)), counts)
    pairs = list(combinations(range(len(counts)), 2))
    weights = np.zeros((len(of_class), len(pairs)))
    for k, (i, j) in enumerate(pairs):
        weights[of_class == i, k] = coefficients[j - 1, of_class == i]
        weights[of_class == j, k] = coefficients[i, of_class == j]
    return g.Add(g.MatMul(_kernel(g, x, est), weights), np.asarray(est._intercept_, np.float64))


def votes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each pair of classes (rows) its first class and its second, marked among all (columns)."""
    pairs = np.array(list(combinations(range(count), 2)))
    return np.eye(count)[pairs[:, 0]], np.eye(count)[pairs[:, 1]]


def one_versus_rest(g: GraphBuilder, for_first: Value, confidences: Value, count: int) -> Value:
    """``_ovr_decision_function``: votes of the pairs, and between -1/3 and 1/3 the sums of their confidences.

    Args:
        for_first: Where a pair's vote goes to its first class, bool[batch, pairs].
        confidences: Confidence of each pair, which speaks for its second class: [batch, pairs].
        count: Number of classes.
    """
    first, second = votes(count)
    won = g.Cast(for_first, to=ir.DataType.DOUBLE)
    total = g.Add(g.MatMul(won, first), g.MatMul(g.Sub(np.float64(1), won), second))
    sums = g.MatMul(confidences, second - first)
    return g.Add(total, g.Div(sums, g.Mul(g.Add(g.Abs(sums), np.float64(1)), np.float64(3))))


@symbolic(DIALECT, _MODULE + "SVC", _MODULE + "NuSVC")
def svc(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """SVC.predict(X): the class with most votes of the pairs' decisions, the first of several"""
    params = read(
        g, est, *_PARAMETERS, "decision_function_shape", "break_ties", "probability", ignore=_TRAINING
    )  # fmt: skip
    count = len(est.classes_)
    pairwise = _pairwise(g, x, est)
    proba = _probabilities(g, pairwise, est) if np.size(est._probA) else None
    if count == 2:
        raw = g.Squeeze(pairwise, [1])
        index = g.Cast(g.LessOrEqual(raw, np.float64(0)), to=ir.DataType.INT64)
        return Classified(index, est.classes_, proba, g.Neg(raw))
    first, second = votes(count)
    won = double(g, g.Greater(pairwise, np.float64(0)))
    counted = g.Add(g.MatMul(won, first), g.MatMul(g.Sub(np.float64(1), won), second))
    index = labels.first_greatest(g, counted)
    scores = pairwise
    if params.decision_function_shape == "ovr":
        scores = one_versus_rest(g, g.GreaterOrEqual(pairwise, np.float64(0)), g.Neg(pairwise), count)
        if params.break_ties:
            index = labels.first_greatest(g, scores)
    return Classified(index, est.classes_, proba, scores)


def _probabilities(g: GraphBuilder, pairwise: Value, est: Any) -> Value:
    """Platt scaling of each pair, and their coupling (libsvm's multiclass_probability)."""
    scaled = g.Add(g.Mul(pairwise, np.asarray(est._probA, np.float64)), np.asarray(est._probB, np.float64))
    one = np.float64(1)
    small = g.Exp(g.Neg(g.Abs(scaled)))  # whichever sign, nothing overflows
    pair = g.Div(g.Where(g.GreaterOrEqual(scaled, np.float64(0)), small, one), g.Add(one, small))
    pair = g.Min(g.Max(pair, np.float64(1e-7)), np.float64(1 - 1e-7))
    return couple(g, pair, len(est.classes_))


def couple(g: GraphBuilder, pair: Value, count: int) -> Value:
    """Probabilities of classes from those of pairs (Wu, Lin and Weng's second method, as libsvm iterates it).

    Args:
        pair: Probability of the first class of each pair, [batch, pairs].
        count: Number of classes.
    """
    pairs, batch = count * (count - 1) // 2, pair.dim(0)
    # r[t, j] = probability of t against j
    by_place = np.zeros((count, count), np.int64)
    for k, (i, j) in enumerate(combinations(range(count), 2)):
        by_place[i, j], by_place[j, i] = k, k + pairs
    both = g.Concat(pair, g.Sub(np.float64(1), pair), axis=1)
    off = 1 - np.eye(count)
    r = g.Mul(g.reshape(g.Gather(both, by_place.reshape(-1), axis=1), [batch, count, count]), off)
    turned = g.Transpose(r, perm=[0, 2, 1])
    diagonal = g.ReduceSum(g.Mul(turned, turned), [2], keepdims=0)  # sum over j of r[j, t]**2
    q = g.Add(g.Neg(g.Mul(r, turned)), g.Mul(g.Unsqueeze(diagonal, [2]), np.eye(count)))

    body = g.subgraph()
    body.input("step", "int64", ())
    body.input("go on", "bool", ())
    p = body.input("p", "float64", (batch, count))
    qp = body.Squeeze(body.MatMul(q, body.Unsqueeze(p, [2])), [2])
    pqp = body.ReduceSum(body.Mul(p, qp), [1], keepdims=1)
    error = body.ReduceMax(body.Abs(body.Sub(qp, pqp)), [1], keepdims=1)
    active = body.GreaterOrEqual(error, np.float64(0.005 / count))
    moved = _round(body, p, qp, pqp, q, diagonal, count)
    some = body.Cast(body.ReduceMax(body.Cast(active, to=ir.DataType.INT32), keepdims=0), to=ir.DataType.BOOL)
    body.output(some)
    body.output(body.Where(active, moved, p))
    start = g.expand(g.constant(np.full((1, count), 1 / count)), [batch, count])
    found = g.Loop(np.int64(max(100, count)), np.bool_(True), start, body=body, outputs=1)
    return g.expect(found, None, (batch, count))


def _round(g: GraphBuilder, p: Value, qp: Value, pqp: Value, q: Value, diagonal: Value, count: int) -> Value:
    """One round of the coupling: each probability is moved in turn."""
    one = np.float64(1)
    for t in range(count):
        at = g.constant(np.array([t], np.int64))
        own_qp, own_q = g.Gather(qp, at, axis=1), g.Gather(diagonal, at, axis=1)
        step = g.Div(g.Sub(pqp, own_qp), own_q)
        p = g.Add(p, g.Mul(step, np.eye(count)[t : t + 1]))
        grown = g.Add(one, step)
        change = g.Mul(step, g.Add(g.Mul(step, own_q), g.Mul(own_qp, np.float64(2))))
        pqp = g.Div(g.Div(g.Add(pqp, change), grown), grown)
        row = g.Squeeze(g.Gather(q, at, axis=1), [1])
        qp = g.Div(g.Add(qp, g.Mul(step, row)), grown)
        p = g.Div(p, grown)
    return p


@symbolic(DIALECT, _MODULE + "SVR", _MODULE + "NuSVR")
def svr(g: GraphBuilder, x: Features, est: Any) -> Value:
    """SVR.predict(X): kernel(X, support_vectors_) @ dual_coef_.T + intercept_"""
    read(g, est, *_PARAMETERS, ignore=_TRAINING)
    return _sums(g, x, est)


@symbolic(DIALECT, _MODULE + "OneClassSVM")
def one_class_svm(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """OneClassSVM.decision_function(X): kernel(X, support_vectors_) @ dual_coef_.T + intercept_; above 0 is inside"""
    read(g, est, *_PARAMETERS, ignore=_TRAINING)
    decision = _sums(g, x, est)
    offset = np.asarray(est.offset_, np.float64).reshape(-1)[:1]
    return Methods({
        "predict": lambda: g.Where(g.Greater(decision, np.float64(0)), np.int64(1), np.int64(-1)),
        "decision_function": lambda: decision,
        "score_samples": lambda: g.Add(decision, offset),
    })  # fmt: skip
