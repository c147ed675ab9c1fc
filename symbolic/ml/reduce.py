"""Sums that keep what a plain sum would lose."""

from __future__ import annotations

import numpy as np

from ..builder import GraphBuilder
from ..value import Value


def log_sum_exp(g: GraphBuilder, x: Value) -> Value:
    """``log(sum(exp(x), axis=1))``; -inf where all are -inf."""
    greatest = g.ReduceMax(x, [1], keepdims=1)
    nothing = np.zeros((), x.element.numpy())
    low = np.array(-np.inf, x.element.numpy())
    greatest = g.Where(g.Equal(greatest, low), nothing, greatest)
    total = g.Log(g.ReduceSum(g.Exp(g.Sub(x, greatest)), [1], keepdims=1))
    return g.Squeeze(g.Add(total, greatest), [1])
