"""LightGBM's wrappers as steps of scikit-learn pipelines: imported when one is met."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.estimators.calling import DIALECT, Classified, Features, Frame, matrix
from ...symbolic.objectives.links import column
from ...symbolic.registry import symbolic
from ...symbolic.value import Value
from ..labels import coded
from . import labels_at, read_live
from .model import LgbModel
from .translate import classify, predict, raw_score, require


def _rows(g: GraphBuilder, x: Features, model: LgbModel) -> Value:
    """The rows of numbers and codes. The model doesn't say which columns of a DataFrame its labels are of."""
    if not isinstance(x, Frame) or not model.labels:
        return matrix(g, x)
    at = [i for i, c in enumerate(x.columns) if c.dtype is ir.DataType.STRING]
    if len(at) < len(model.labels):
        at = sorted({*at, *model.coded})
    return coded(g, x.columns, labels_at(model, at))


@symbolic(DIALECT, "lightgbm.sklearn.LGBMClassifier")
def lgbm_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LGBMClassifier.predict_proba(X): the objective's probabilities"""
    model, classes = read_live(est)
    require(model, g.opset, True)
    raw = raw_score(g, _rows(g, x, model), model)
    index, shares = classify(g, raw, model)
    # from release 4.7 on it has a decision_function, which scikit-learn prefers
    return Classified(index, est.classes_ if classes is None else classes, shares, column(g, raw))


@symbolic(DIALECT, *(f"lightgbm.sklearn.LGBM{kind}" for kind in ("Model", "Regressor", "Ranker")))
def lgbm_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """LGBMRegressor.predict(X): the objective's conversion of the summed trees"""
    model, _ = read_live(est)
    require(model, g.opset, False)
    return predict(g, raw_score(g, _rows(g, x, model), model), model)
