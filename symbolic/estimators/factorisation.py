"""Factors of non-negative matrices and topics of documents: transforms that iterate.

The rounds of NMF end when all rows together have converged, as in scikit-learn: a row's result hangs on its batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float
from ..ml.iterate import any_of, repeat_while
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, matrix, read, unsupported

_MODULE = "sklearn.decomposition."
#: Least value of what is divided by, or taken to a negative power.
_EPSILON = np.finfo(np.float32).eps
_TRAINING = ("n_components", "init", "alpha_H")


@dataclass(frozen=True)
class _Problem:
    """W with X = W H, by divergence `beta`, with L1 and L2 penalties on W."""

    x: Value
    h: np.ndarray
    beta: float
    l1: float
    l2: float
    gamma: float

    @property
    def kind(self) -> Any:
        """Dtype of all numbers."""
        return self.h.dtype.type


def _problem(g: GraphBuilder, x: Features, est: Any) -> _Problem:
    rows, h = as_float(g, matrix(g, x)), np.asarray(est.components_)
    if rows.element.numpy() != h.dtype:
        raise unsupported(g, est, f"rows of {rows.element.name} where it was fitted with {h.dtype}")
    beta = float(est._beta_loss)
    gamma = 1 / (2 - beta) if beta < 1 else 1 / (beta - 1) if beta > 2 else 1.0
    scale = h.shape[1] * est.alpha_W
    return _Problem(rows, h, beta, scale * est.l1_ratio, scale * (1 - est.l1_ratio), gamma)


def _norm(g: GraphBuilder, x: Value) -> Value:
    return g.Sqrt(g.ReduceSum(g.Mul(x, x), keepdims=0))


def _level(g: GraphBuilder, p: _Problem) -> Value:
    """W to start from: the mean of X shared out among the components."""
    count = len(p.h)
    level = g.Sqrt(g.Div(g.ReduceMean(p.x, keepdims=1), p.kind(count)))
    return g.expand(level, [p.x.dim(0), count])


@symbolic(DIALECT, _MODULE + "NMF")
def nmf(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """NMF.transform(X): the W >= 0 with X = W components_, by the solver's rounds"""
    params = read(
        g, est, "solver", "shuffle", "beta_loss", "alpha_W", "l1_ratio", "tol", "max_iter", ignore=_TRAINING
    )  # fmt: skip

    def transform() -> Value:
        problem = _problem(g, x, est)
        if params.solver == "mu":
            return _multiplied(g, problem, int(params.max_iter), float(params.tol))
        if params.shuffle:
            raise unsupported(g, est, "shuffle=True, which is random")
        return _by_coordinates(g, problem, int(params.max_iter), float(params.tol))

    return Methods({"transform": transform})


def _by_coordinates(g: GraphBuilder, p: _Problem, limit: int, tol: float) -> Value:
    """Coordinate descent: the components of W in turn, until the projected gradients have fallen to `tol`."""
    count, kind = len(p.h), p.kind
    gram = (p.h @ p.h.T + kind(p.l2) * np.eye(count, dtype=p.h.dtype)).astype(p.h.dtype)
    products = g.MatMul(p.x, np.ascontiguousarray(p.h.T))
    if p.l1:
        products = g.Sub(products, kind(p.l1))
    start = g.expand(g.constant(np.zeros((1, count), p.h.dtype)), [p.x.dim(0), count])
    nothing = kind(0)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> tuple[Value, list[Value]]:
        w, first = carried
        violation: Value | None = None
        for t in range(count):
            at = np.array([t], np.int64)
            own = b.Gather(w, at, axis=1)
            slope = b.Sub(b.MatMul(w, np.ascontiguousarray(gram[t].reshape(-1, 1))), b.Gather(products, at, axis=1))
            inward = b.Where(b.Equal(own, nothing), b.Min(slope, nothing), slope)
            part = b.ReduceSum(b.Abs(inward), keepdims=0)
            violation = part if violation is None else b.Add(violation, part)
            if gram[t, t] != 0:
                moved = b.Max(b.Sub(own, b.Div(slope, gram[t, t])), nothing)
                w = b.Where(np.arange(count) == t, moved, w)
        assert violation is not None
        first = b.Where(b.Equal(number, np.int64(0)), violation, first)
        some = b.Greater(first, nothing)
        share = b.Div(violation, b.Where(some, first, kind(1)))
        return b.And(some, b.Greater(share, kind(tol))), [w, first]

    return repeat_while(g, limit, [start, g.constant(np.zeros((), p.h.dtype))], step)[0]


def _updated(g: GraphBuilder, p: _Problem, w: Value) -> Value:
    """One multiplicative update of W."""
    kind, turned = p.kind, np.ascontiguousarray(p.h.T)
    if p.beta == 2:
        above, below = g.MatMul(p.x, turned), g.MatMul(w, p.h @ p.h.T)
    else:
        product = g.MatMul(w, p.h)
        safe = g.Max(product, kind(_EPSILON)) if p.beta < 2 else product
        if p.beta == 1:
            above = g.MatMul(g.Div(p.x, safe), turned)
            below = g.expand(g.constant(p.h.sum(axis=1).reshape(1, -1)), [p.x.dim(0), len(p.h)])
        else:
            above = g.MatMul(g.Mul(g.Pow(safe, kind(p.beta - 2)), p.x), turned)
            base = g.Max(product, kind(_EPSILON)) if p.beta < 1 else product
            below = g.MatMul(g.Pow(base, kind(p.beta - 1)), turned)
    if p.l1 > 0:
        below = g.Add(below, kind(p.l1))
    if p.l2 > 0:
        below = g.Add(below, g.Mul(w, kind(p.l2)))
    factor = g.Div(above, g.Where(g.Equal(below, kind(0)), kind(_EPSILON), below))
    return g.Mul(w, factor if p.gamma == 1 else g.Pow(factor, kind(p.gamma)))


def _divergence(g: GraphBuilder, p: _Problem, w: Value) -> Value:
    """Square root of twice the divergence of X and W H, a scalar."""
    kind = p.kind
    product = g.MatMul(w, p.h)
    if p.beta == 2:
        return _norm(g, g.Sub(p.x, product))
    some = g.Greater(p.x, kind(_EPSILON))
    x, safe = g.Where(some, p.x, kind(1)), g.Max(product, kind(_EPSILON))

    def total(value: Value) -> Value:
        return g.ReduceSum(g.Where(some, value, kind(0)), keepdims=0)

    if p.beta == 1:
        found = total(g.Mul(x, g.Log(g.Div(x, safe))))
        found = g.Add(found, g.Sub(g.ReduceSum(product, keepdims=0), total(x)))
    elif p.beta == 0:
        ratio = g.Div(x, safe)
        cells = g.ReduceSum(g.Where(g.Equal(p.x, p.x), kind(1), kind(0)), keepdims=0)
        found = g.Sub(g.Sub(total(ratio), cells), total(g.Log(ratio)))
    else:
        crossed = total(g.Mul(x, g.Pow(safe, kind(p.beta - 1))))
        whole = g.ReduceSum(g.Pow(product, kind(p.beta)), keepdims=0)
        found = g.Sub(total(g.Pow(x, kind(p.beta))), g.Mul(crossed, kind(p.beta)))
        found = g.Div(g.Add(found, g.Mul(whole, kind(p.beta - 1))), kind(p.beta * (p.beta - 1)))
    return g.Sqrt(g.Mul(g.Max(found, kind(0)), kind(2)))


def _multiplied(g: GraphBuilder, p: _Problem, limit: int, tol: float) -> Value:
    """Multiplicative updates; every tenth round asks whether the divergence still falls."""
    start = _level(g, p)
    first = _divergence(g, p, start)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> tuple[Value, list[Value]]:
        w, before = carried
        w = _updated(b, p, w)
        if p.beta < 1:
            w = b.Where(b.Less(w, p.kind(np.finfo(np.float64).eps)), p.kind(0), w)
        if tol <= 0:
            return b.Equal(number, number), [w, before]
        asks = b.Equal(b.Mod(number, np.int64(10)), np.int64(9))
        error = _divergence(b, p, w)
        falls = b.GreaterOrEqual(b.Div(b.Sub(before, error), first), p.kind(tol))
        return b.Or(b.Not(asks), falls), [w, b.Where(asks, error, before)]

    return repeat_while(g, limit, [start, first], step)[0]


@symbolic(DIALECT, _MODULE + "MiniBatchNMF")
def mini_batch_nmf(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """MiniBatchNMF.transform(X): the W >= 0 with X = W components_, by multiplicative updates until W stands still"""
    params = read(
        g, est, "beta_loss", "alpha_W", "l1_ratio", "tol",
        ignore=(*_TRAINING, "forget_factor", "fresh_restarts", "fresh_restarts_max_iter", "transform_max_iter",
                "max_no_improvement"),
    )  # fmt: skip

    def transform() -> Value:
        p = _problem(g, x, est)

        def step(b: GraphBuilder, number: Value, carried: list[Value]) -> tuple[Value, list[Value]]:
            new = _updated(b, p, carried[0])
            change = b.Div(_norm(b, b.Sub(new, carried[0])), _norm(b, new))
            still = b.LessOrEqual(change, p.kind(params.tol))
            return b.Not(still) if params.tol > 0 else b.Equal(number, number), [new]

        return repeat_while(g, int(est._transform_max_iter), [_level(g, p)], step)[0]

    return Methods({"transform": transform})


def _psi(g: GraphBuilder, x: Value) -> Value:
    """Logarithmic derivative of the gamma function as scikit-learn takes it (algorithm AS 103), for x > 0."""
    kind = x.element.numpy().type
    small = g.LessOrEqual(x, kind(1e-6))
    near_zero = g.Sub(kind(-0.5772156649015329), g.Div(kind(1), x))
    x = g.Where(small, kind(1), x)
    total = g.Mul(x, kind(0))
    for _ in range(6):
        low = g.Less(x, kind(6))
        total = g.Where(low, g.Sub(total, g.Div(kind(1), x)), total)
        x = g.Where(low, g.Add(x, kind(1)), x)
    r = g.Div(kind(1), x)
    total = g.Add(total, g.Sub(g.Log(x), g.Mul(r, kind(0.5))))
    r = g.Mul(r, r)
    series = g.Sub(kind(1 / 12), g.Mul(r, g.Sub(kind(1 / 120), g.Mul(r, kind(1 / 252)))))
    return g.Where(small, near_zero, g.Sub(total, g.Mul(r, series)))


@symbolic(DIALECT, _MODULE + "LatentDirichletAllocation")
def latent_dirichlet_allocation(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """LatentDirichletAllocation.transform(X): shares of topics in each document, by rounds until they stand still"""
    read(
        g, est, "max_doc_update_iter", "mean_change_tol",
        ignore=("n_components", "doc_topic_prior", "topic_word_prior", "learning_method", "learning_decay",
                "learning_offset", "total_samples", "evaluate_every", "perp_tol"),
    )  # fmt: skip

    def transform() -> Value:
        topics = np.asarray(est.exp_dirichlet_component_)
        rows = as_float(g, matrix(g, x))
        if rows.element.numpy() != topics.dtype:
            raise unsupported(g, est, f"rows of {rows.element.name} where it was fitted with {topics.dtype}")
        kind, count = topics.dtype.type, len(topics)

        def expected(b: GraphBuilder, shares: Value) -> Value:
            return b.Exp(b.Sub(_psi(b, shares), _psi(b, b.ReduceSum(shares, [1], keepdims=1))))

        def step(b: GraphBuilder, number: Value, carried: list[Value]) -> tuple[Value, list[Value]]:
            shares, weights, active = carried
            norm = b.Add(b.MatMul(weights, topics), kind(np.finfo(topics.dtype).eps))
            new = b.Mul(weights, b.MatMul(b.Div(rows, norm), np.ascontiguousarray(topics.T)))
            new = b.Add(new, kind(est.doc_topic_prior_))
            change = b.ReduceMean(b.Abs(b.Sub(shares, new)), [1], keepdims=1)
            kept = [b.Where(active, new, shares), b.Where(active, expected(b, new), weights)]
            active = b.And(active, b.GreaterOrEqual(change, kind(est.mean_change_tol)))
            return any_of(b, active), [*kept, active]

        start = g.expand(g.constant(np.ones((1, count), topics.dtype)), [rows.dim(0), count])
        all_rows = g.expand(g.constant(np.ones((1, 1), bool)), [rows.dim(0), 1])
        found = repeat_while(g, int(est.max_doc_update_iter), [start, expected(g, start), all_rows], step)[0]
        return g.Div(found, g.ReduceSum(found, [1], keepdims=1))

    return Methods({"transform": transform})
