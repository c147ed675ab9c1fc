"""Kernel density."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.distances import Metric, distances
from ..ml.reduce import log_sum_exp
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Methods, matrix, read, unsupported


def _log_ball(n: int) -> float:
    """Logarithm of the volume of the unit ball."""
    return 0.5 * n * math.log(math.pi) - math.lgamma(0.5 * n + 1)


def _log_sphere(n: int) -> float:
    """Logarithm of the surface of the unit sphere of n + 1 dimensions."""
    return math.log(2 * math.pi) + _log_ball(n - 1)


def _log_norm(h: float, d: int, kernel: str) -> float:
    """Minus the logarithm of the integral of a kernel of width h in d dimensions."""
    if kernel == "cosine":
        total, part = 0.0, 2 / math.pi
        for k in range(1, d + 1, 2):
            total += part
            part *= -(d - k) * (d - k - 1) * (2 / math.pi) ** 2
        factor = math.log(total) + _log_sphere(d - 1)
    else:
        factor = {
            "gaussian": 0.5 * d * math.log(2 * math.pi),
            "tophat": _log_ball(d),
            "epanechnikov": _log_ball(d) + math.log(2 / (d + 2)),
            "exponential": _log_sphere(d - 1) + math.lgamma(d),
            "linear": _log_ball(d) - math.log(d + 1),
        }[kernel]
    return -factor - d * math.log(h)


def _log_kernel(g: GraphBuilder, away: Value, h: float, kernel: str) -> Value:
    """Logarithm of a kernel at distances."""
    share = g.Div(away, np.float64(h))
    if kernel == "gaussian":
        return g.Mul(g.Mul(share, share), np.float64(-0.5))
    if kernel == "exponential":
        return g.Neg(share)
    inside = g.Less(away, np.float64(h))
    share = g.Where(inside, share, np.float64(0))
    value = {
        "tophat": lambda: g.Mul(share, np.float64(0)),
        "epanechnikov": lambda: g.Log(g.Sub(np.float64(1), g.Mul(share, share))),
        "linear": lambda: g.Log(g.Sub(np.float64(1), share)),
        "cosine": lambda: g.Log(g.Cos(g.Mul(share, np.float64(0.5 * math.pi)))),
    }[kernel]()
    return g.Where(inside, value, np.float64(-np.inf))


@symbolic(DIALECT, "sklearn.neighbors.KernelDensity")
def kernel_density(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """KernelDensity.score_samples(X): logarithm of the mean of the kernels around the known rows"""
    params = read(
        g, est, "kernel", "metric", "metric_params", "atol", "rtol",
        ignore=("bandwidth", "breadth_first", "leaf_size"),
    )  # fmt: skip
    tree = est.tree_
    known = np.asarray(tree.data)
    away = distances(g, matrix(g, x), known, Metric(params.metric, dict(params.metric_params or {})))
    if away is None:
        raise unsupported(g, est, f"metric={params.metric!r}")
    h = float(est.bandwidth_)
    terms = _log_kernel(g, away, h, params.kernel)
    total = float(len(known))
    if tree.sample_weight is not None:
        weights = np.asarray(tree.sample_weight, np.float64)
        terms, total = g.Add(terms, np.log(weights)), float(tree.sum_weight)
    norm = _log_norm(h, known.shape[1], params.kernel) - math.log(total)
    return Methods({"score_samples": lambda: g.Add(log_sum_exp(g, terms), np.float64(norm))})
