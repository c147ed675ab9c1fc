"""CatBoost's models as steps of scikit-learn pipelines: imported when one is met."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.estimators.calling import DIALECT, Classified, Features, MultiClassified, matrix
from ...symbolic.registry import symbolic
from ...symbolic.value import Value
from . import read_live
from .model import CatModel
from .translate import class_index, predict, raw_values, require


def _read(est: Any) -> CatModel:
    model = read_live(est)
    if model.mixed:
        reason = "categories inside a pipeline, of which no texts are known: convert the CatBoost model with its X"
        raise UnsupportedOps([MissingOp("catboost", reason, 1, (type(est).__name__,))])
    return model


@symbolic(DIALECT, "catboost.core.CatBoostClassifier")
def catboost_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """CatBoostClassifier.predict_proba(X): the loss function's probabilities"""
    model = _read(est)
    require(model, "classifier", g.opset)
    raw = raw_values(g, matrix(g, x), model)
    classes = np.arange(2) if model.classes is None else model.classes
    index, shares = class_index(g, raw, model), predict(g, raw, model, "classifier")
    return MultiClassified(index, shares) if index.rank == 2 else Classified(index, classes, shares)


@symbolic(DIALECT, "catboost.core.CatBoostRegressor")
def catboost_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """CatBoostRegressor.predict(X): the loss function's default prediction"""
    model = _read(est)
    require(model, "regressor", g.opset)
    return predict(g, raw_values(g, matrix(g, x), model), model, "regressor")
