"""Objectives of LightGBM: what ``ConvertOutput`` makes of the raw score, in double."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from . import links

DIALECT = "lightgbm"


@symbolic(DIALECT, "regression", "regression_l1", "fair", "quantile", "mape")
def regression(g: GraphBuilder, margin: Value, sqrt: bool = False, **_: Any) -> Value:
    """regression: score, or sign(score) * score ** 2 with sqrt"""
    score = links.column(g, margin)
    return g.Mul(g.Mul(g.Sign(score), score), score) if sqrt else score


@symbolic(DIALECT, "huber", "lambdarank", "rank_xendcg", "")
def identity(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """lambdarank: score"""
    return links.column(g, margin)


@symbolic(DIALECT, "poisson", "gamma", "tweedie")
def exponential(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """poisson: exp(score)"""
    return g.Exp(links.column(g, margin))


@symbolic(DIALECT, "binary", "multiclassova")
def binary(g: GraphBuilder, margin: Value, sigmoid: float = 1.0, **_: Any) -> Value:
    """binary: 1 / (1 + exp(-sigmoid * score))"""
    return links.sigmoid(g, links.column(g, margin), sigmoid)


@symbolic(DIALECT, "cross_entropy")
def cross_entropy(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """cross_entropy: 1 / (1 + exp(-score))"""
    return links.sigmoid(g, links.column(g, margin))


@symbolic(DIALECT, "cross_entropy_lambda")
def cross_entropy_lambda(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """cross_entropy_lambda: log1p(exp(score))"""
    power = g.Exp(links.column(g, margin))
    # log1p(p) as log(1 + p) with the rounding of the sum taken back
    total = g.Add(np.float64(1), power)
    lost = g.Div(g.Sub(power, g.Sub(total, np.float64(1))), total)
    return g.Add(g.Log(total), g.Where(g.IsInf(total), np.float64(0), lost))


@symbolic(DIALECT, "multiclass")
def multiclass(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """multiclass: softmax(score)"""
    return links.softmax(g, margin)
