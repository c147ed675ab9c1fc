"""LightGBM's wrappers as steps of scikit-learn pipelines: imported when one is met."""

from __future__ import annotations

from typing import Any

from ...symbolic.builder import GraphBuilder
from ...symbolic.estimators.calling import DIALECT, Classified, Features, matrix
from ...symbolic.objectives.links import column
from ...symbolic.registry import symbolic
from ...symbolic.value import Value
from . import read_live
from .translate import classify, predict, raw_score, require


@symbolic(DIALECT, "lightgbm.sklearn.LGBMClassifier")
def lgbm_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LGBMClassifier.predict_proba(X): the objective's probabilities"""
    model, classes = read_live(est)
    require(model, g.opset, True)
    raw = raw_score(g, matrix(g, x), model)
    index, shares = classify(g, raw, model)
    # from release 4.7 on it has a decision_function, which scikit-learn prefers
    return Classified(index, est.classes_ if classes is None else classes, shares, column(g, raw))


@symbolic(DIALECT, *(f"lightgbm.sklearn.LGBM{kind}" for kind in ("Model", "Regressor", "Ranker")))
def lgbm_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """LGBMRegressor.predict(X): the objective's conversion of the summed trees"""
    model, _ = read_live(est)
    require(model, g.opset, False)
    return predict(g, raw_score(g, matrix(g, x), model), model)
