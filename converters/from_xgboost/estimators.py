"""XGBoost's wrappers as steps of scikit-learn pipelines: imported when one is met."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.estimators.calling import DIALECT, Classified, Features, Frame, MultiClassified, Sparse, matrix
from ...symbolic.ml.dtypes import cast
from ...symbolic.registry import symbolic
from ...symbolic.value import Value
from ..labels import coded
from . import read_live
from .model import is_ascii
from .translate import classify, margin, predict, refused, require


def _raw(g: GraphBuilder, x: Features, est: Any) -> tuple[Any, Value]:
    model = read_live(est)
    require(model, g.opset)
    # the result may be mixed with doubles, where the last bits of float32 sums would show
    if isinstance(x, Frame) and not all(map(is_ascii, model.labels.values())):
        raise refused("labels", "XGBoost keeps those outside ASCII incompletely: convert it alone with its X")
    columns = coded(g, x.columns, model.labels) if isinstance(x, Frame) else matrix(g, x)
    if isinstance(x, Sparse):  # what a sparse matrix doesn't hold is missing to XGBoost
        absent = g.Equal(columns, np.zeros((), columns.element.numpy()))
        columns = g.Where(absent, np.float32(np.nan), cast(g, columns, ir.DataType.FLOAT))
    return model, margin(g, columns, model, float(est.missing), ordered=True)


@symbolic(DIALECT, "xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRFClassifier")
def xgb_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """XGBClassifier.predict_proba(X): the objective's probabilities"""
    model, raw = _raw(g, x, est)
    index, shares = classify(g, raw, model)
    if index.rank == 2:  # several yes-or-no labels, which XGBoost gives as doubles
        return MultiClassified(cast(g, index, ir.DataType.DOUBLE), shares)
    return Classified(index, np.arange(model.classes), shares)


@symbolic(DIALECT, *(f"xgboost.sklearn.XGB{kind}" for kind in ("Regressor", "RFRegressor", "Model", "Ranker")))
def xgb_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """XGBRegressor.predict(X): the objective's transformation of the summed trees"""
    model, raw = _raw(g, x, est)
    return predict(g, raw, model)
