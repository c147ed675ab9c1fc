"""A loaded CatBoost model: it predicts in CatBoost, and it is translated from its file's own numbers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingDependency, MissingOp, UnsupportedOps
from ...symbolic.ml.labels import pick
from ...symbolic.ml.packing import sum_trees
from ...symbolic.objectives import links
from ...symbolic.objectives.cat import DIALECT
from ...symbolic.registry import registry
from ...symbolic.value import Value
from ..base import Arrays, Options, renamed
from ..rows import MatrixSource, Rows, points_of
from .info import MULTILABEL
from .model import CatModel


class CatboostSource(MatrixSource):
    """A model of CatBoost.

    Args:
        model: What the file says.
        rows: The input.
        native: Gives the live model, loading CatBoost if need be.
        kind: ``classifier``, ``regressor`` (its default prediction) or ``raw``.
        options: What the caller asked for.
        description: Class and file, for people.
    """

    framework = "catboost"

    def __init__(
        self,
        model: CatModel,
        rows: Rows,
        native: Callable[[], Any],
        kind: str,
        options: Options,
        description: str,
    ):
        self.model, self.native, self.kind = model, native, kind
        self.description = description
        self.place(rows)
        own = ["label", "probabilities"] if kind == "classifier" else ["variable"]
        self.output_names = renamed(own, options.output_names, "output")
        self.labels = [self.output_names[0]] if kind == "classifier" else []
        self.points = points_of(model.table)

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Predicts in CatBoost."""
        try:
            live = self.native()
        except ModuleNotFoundError as error:
            raise MissingDependency("catboost", "catboost", "comparing with the source") from error
        x = self.matrix(inputs)
        if self.kind != "classifier":
            # a ranker has raw values only
            chooses = self.kind == "raw" and "prediction_type" in inspect.signature(live.predict).parameters
            raw = {"prediction_type": "RawFormulaVal"} if chooses else {}
            return {self.output_names[0]: np.asarray(live.predict(x, thread_count=1, **raw))}
        label = np.asarray(live.predict(x, thread_count=1))
        if self.model.loss not in MULTILABEL:
            label = label.reshape(-1)  # CatBoost gives [rows, 1] where there are several classes
        found = [_plain(label), np.asarray(live.predict_proba(x, thread_count=1))]
        return dict(zip(self.output_names, found, strict=True))

    @property
    def function(self) -> str:
        """Name of the symbolic function that ends the model."""
        return "raw" if self.kind == "raw" else self.model.loss

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model."""
        registry.require(DIALECT, [(self.function, "loss function")], g.opset)
        if self.kind == "classifier" and self.model.classes is None and self.model.loss not in MULTILABEL:
            reason = "CatBoostClassifier has no probabilities with it: convert it as raw values (kind=raw)"
            raise UnsupportedOps([MissingOp(DIALECT, self.model.loss, 1, ("loss function",), reason)])
        spec = self.specs[0]
        x = g.input(spec.name, spec.dtype, spec.shape)
        with g.at("trees"):
            raw = self._raw(g, x)
        with g.at(self.function):
            found = registry.lookup(DIALECT, self.function, g.opset)
            assert found is not None
            value: Value = found.function(g, raw)
        if self.kind == "classifier":
            g.output(self._label(g, raw), self.output_names[0])
        g.output(value, self.output_names[-1])

    def _raw(self, g: GraphBuilder, x: Value) -> Value:
        total = sum_trees(g, x, self.model.table)
        if self.model.scale != 1:
            total = g.Mul(total, np.float64(self.model.scale))
        return g.Add(total, self.model.bias) if self.model.bias.any() else total

    def _label(self, g: GraphBuilder, raw: Value) -> Value:
        """``predict``: the first class of the greatest value; of two classes, the second above the border."""
        border = np.float64(-math.log(1 / self.model.threshold - 1))
        if self.model.classes is None:
            return g.Cast(g.Greater(raw, border), to=ir.DataType.INT64)
        if self.model.outputs > 1:
            return pick(g, self.model.classes, links.first_greatest(g, raw))
        second = g.Cast(g.Greater(links.column(g, raw), border), to=ir.DataType.INT64)
        return pick(g, self.model.classes, second)


def _plain(label: np.ndarray) -> np.ndarray:
    """Labels as ONNX holds them."""
    if label.dtype.kind in "iu":
        return label.astype(np.int64)
    if label.dtype.kind in "OU":
        items = label.reshape(-1).tolist()
        if all(isinstance(v, str) for v in items):
            return label.astype(object)
        return np.asarray(items).reshape(label.shape)
    return label
