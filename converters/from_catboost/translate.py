"""A CatBoost model as ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.ml.packing import sum_trees
from ...symbolic.objectives import links
from ...symbolic.objectives.cat import DIALECT
from ...symbolic.registry import registry
from ...symbolic.value import Value
from .ctr import Known
from .encode import tree_rows
from .info import MULTILABEL
from .model import CatModel


def require(model: CatModel, kind: str, opset: int) -> None:
    """Looks the loss function up before anything is built.

    Raises:
        UnsupportedOps: It has no symbolic function, or gives a classifier no probabilities.
    """
    registry.require(DIALECT, [(_function(model, kind), "loss function")], opset)
    if kind == "classifier" and model.classes is None and model.loss not in MULTILABEL:
        reason = "CatBoostClassifier has no probabilities with it: convert it as raw values (kind=raw)"
        raise UnsupportedOps([MissingOp(DIALECT, model.loss, 1, ("loss function",), reason)])


def _function(model: CatModel, kind: str) -> str:
    return "raw" if kind == "raw" else model.loss


def raw_values(g: GraphBuilder, x: Value | Sequence[Value], model: CatModel, known: Known | None = None) -> Value:
    """The raw values, double [batch, outputs].

    Args:
        g: Builder.
        x: Rows, [batch, features]; of a model with categories, one column for each feature.
        model: The model.
        known: The known categories of a model that has some.
    """
    if isinstance(x, Value):
        total = sum_trees(g, x, model.table)
    else:
        assert known is not None
        rows, order = tree_rows(g, x, model, known)
        place = np.zeros(model.table.features, np.int64)
        place[order] = np.arange(len(order))
        total = sum_trees(g, rows, replace(model.table, features=len(order), feature=place[model.table.feature]))
    if model.scale != 1:
        total = g.Mul(total, np.float64(model.scale))
    return g.Add(total, model.bias) if model.bias.any() else total


def predict(g: GraphBuilder, raw: Value, model: CatModel, kind: str) -> Value:
    """What ``predict`` gives, of a classifier ``predict_proba``."""
    name = _function(model, kind)
    found = registry.lookup(DIALECT, name, g.opset)
    assert found is not None
    with g.at(name):
        value: Value = found.function(g, raw)
    return value


def class_index(g: GraphBuilder, raw: Value, model: CatModel) -> Value:
    """``predict``: the first class of the greatest value; of two classes, the second above the border."""
    border = np.float64(-math.log(1 / model.threshold - 1))
    if model.classes is None:
        return g.Cast(g.Greater(raw, border), to=ir.DataType.INT64)
    if model.outputs > 1:
        return links.first_greatest(g, raw)
    return g.Cast(g.Greater(links.column(g, raw), border), to=ir.DataType.INT64)
