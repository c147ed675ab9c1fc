"""Objectives of XGBoost: what ``PredTransform`` makes of the margin, in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from . import links

DIALECT = "xgboost"


@symbolic(
    DIALECT,
    "reg:squarederror",
    "reg:linear",
    "reg:squaredlogerror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "binary:logitraw",
    "rank:ndcg",
    "rank:pairwise",
    "rank:map",
)
def identity(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """reg:squarederror: margin"""
    return links.column(g, margin)


@symbolic(DIALECT, "reg:logistic", "binary:logistic")
def logistic(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """binary:logistic: 1 / (exp(min(-margin, 88.7)) + 1)"""
    power = links.exp(g, g.Neg(links.column(g, margin)))
    largest = np.exp(np.float64(np.float32(88.7))).astype(np.float32)
    return g.Div(np.float32(1), g.Add(g.Where(g.Less(power, largest), power, largest), np.float32(1)))


@symbolic(DIALECT, "count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
def exponential(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """count:poisson: exp(margin)"""
    return links.exp(g, links.column(g, margin))


@symbolic(DIALECT, "binary:hinge")
def hinge(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """binary:hinge: 1 where margin > 0, else 0"""
    return links.as_dtype(g, g.Greater(links.column(g, margin), np.float32(0)), np.float32)


@symbolic(DIALECT, "multi:softprob")
def softprob(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """multi:softprob: softmax(margin)"""
    return links.softmax(g, margin)


@symbolic(DIALECT, "multi:softmax")
def softmax(g: GraphBuilder, margin: Value, **_: Any) -> Value:
    """multi:softmax: class of the greatest margin, as a float"""
    return links.as_dtype(g, links.first_greatest(g, margin), np.float32)
