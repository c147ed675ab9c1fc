"""Loss functions of CatBoost: what ``predict`` makes of the raw value, of a classifier ``predict_proba``, in double."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from . import links

DIALECT = "catboost"

_REGRESSION = (
    "RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Lq", "Huber", "Expectile", "LogCosh", "RMSPE", "SurvivalAft",
    "Cox", "MultiRMSE", "MultiRMSEWithMissingValues", "MultiQuantile", "GroupQuantile", "NumErrors", "SMAPE",
)  # fmt: skip
_RANKING = (
    "YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "QueryRMSE", "QuerySoftMax", "QueryCrossEntropy",
    "StochasticFilter", "StochasticRank", "LambdaMart",
)  # fmt: skip


@symbolic(DIALECT, *_REGRESSION, *_RANKING, "PythonUserDefinedPerObject", "PythonUserDefinedMultiTarget", "raw")
def identity(g: GraphBuilder, raw: Value, **_: Any) -> Value:
    """RMSE: raw value"""
    return links.column(g, raw)


@symbolic(DIALECT, "Poisson", "Tweedie")
def exponent(g: GraphBuilder, raw: Value, **_: Any) -> Value:
    """Poisson: exp(raw)"""
    return g.Exp(links.column(g, raw))


@symbolic(DIALECT, "RMSEWithUncertainty")
def rmse_with_uncertainty(g: GraphBuilder, raw: Value, **_: Any) -> Value:
    """RMSEWithUncertainty: [mean, exp(2 * raw deviation)]"""
    mean, deviation = g.call("Split", raw, [1, 1], outputs=2, axis=1)
    return g.Concat(mean, g.Exp(g.Mul(deviation, np.float64(2))), axis=1)


@symbolic(DIALECT, "Logloss", "CrossEntropy", "Focal")
def logloss(g: GraphBuilder, raw: Value, **_: Any) -> Value:
    """Logloss: [1 - p, p] with p = 1 / (1 + exp(-raw))"""
    return g.Concat(links.sigmoid(g, g.Neg(raw)), links.sigmoid(g, raw), axis=1)


@symbolic(DIALECT, "MultiClass")
def multiclass(g: GraphBuilder, raw: Value, **_: Any) -> Value:
    """MultiClass: softmax(raw)"""
    return links.softmax(g, raw)


@symbolic(DIALECT, "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy")
def one_vs_all(g: GraphBuilder, raw: Value, **_: Any) -> Value:
    """MultiClassOneVsAll: 1 / (1 + exp(-raw)) of each output"""
    return links.sigmoid(g, raw)
