"""An XGBoost model as ONNX."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.ml.dtypes import cast
from ...symbolic.ml.packing import sum_in_float
from ...symbolic.objectives import links
from ...symbolic.objectives.xgb import DIALECT
from ...symbolic.registry import registry
from ...symbolic.value import Value
from .model import XgbModel

_BINARY = ("binary:logistic", "binary:hinge", "reg:logistic")


def require(model: XgbModel, opset: int) -> None:
    """Looks the objective up before anything is built.

    Raises:
        UnsupportedOps: It has no symbolic function, or a classifier's probabilities can't be had from it.
    """
    registry.require(DIALECT, [(model.objective, f"objective of the {model.booster} booster")], opset)


def refused(name: str, reason: str) -> UnsupportedOps:
    """The refusal of an option."""
    return UnsupportedOps([MissingOp(DIALECT, name, 1, ("the booster",), reason)])


def margin(g: GraphBuilder, x: Value, model: XgbModel, missing: float, ordered: bool = False) -> Value:
    """The raw scores, float32 [batch, outputs].

    Args:
        g: Builder.
        x: Rows, [batch, features].
        model: The model.
        missing: The number that stands for a missing value, as NaN does.
        ordered: Add the trees up in their order, with any number of threads.
    """
    rows = cast(g, x, ir.DataType.FLOAT)
    if not np.isnan(missing):
        rows = g.Where(g.Equal(rows, np.float32(missing)), np.float32(np.nan), rows)
    if model.weights is not None:
        return _linear(g, rows, model, model.weights)
    assert model.table is not None
    if model.table.members:
        # a category is the whole number below; -0.5 is none
        codes = np.isin(np.arange(model.features), [model.table.feature[i] for i in model.table.members])
        rows = g.Where(codes.reshape(1, -1), g.Floor(rows), rows)
    return sum_in_float(g, rows, model.table, model.start, ordered=ordered)


def _linear(g: GraphBuilder, rows: Value, model: XgbModel, weights: np.ndarray) -> Value:
    """gblinear: a missing value adds nothing; the intercept of the first output serves all."""
    known = g.Where(g.IsNaN(rows), np.float32(0), rows)
    product = g.MatMul(cast(g, known, ir.DataType.DOUBLE), weights[:-1].astype(np.float64))
    total = g.Add(product, weights[-1].astype(np.float64) + np.float64(model.start[0]))
    return cast(g, total, ir.DataType.FLOAT)


def predict(g: GraphBuilder, raw: Value, model: XgbModel) -> Value:
    """``Booster.predict``: the objective's transformation of the raw scores."""
    found = registry.lookup(DIALECT, model.objective, g.opset)
    assert found is not None
    with g.at(model.objective):
        value: Value = found.function(g, raw, **model.parameters)
    return value


def classify(g: GraphBuilder, raw: Value, model: XgbModel) -> tuple[Value, Value]:
    """``XGBClassifier.predict`` and ``predict_proba``: class indices and probabilities."""
    if model.objective == "multi:softmax":
        return links.first_greatest(g, raw), links.softmax(g, raw)
    found = predict(g, raw, model)
    if model.outputs > 1 and model.objective == "multi:softprob":
        return links.first_greatest(g, found), found
    if model.objective not in _BINARY:
        raise refused(model.objective, "XGBClassifier has no probabilities with it: convert the Booster")
    index = g.Cast(g.Greater(found, np.float32(0.5)), to=ir.DataType.INT64)
    if model.outputs > 1:  # several yes-or-no labels
        return index, found
    second = g.Unsqueeze(found, [1])
    return index, g.Concat(g.Sub(np.float32(1), second), second, axis=1)
