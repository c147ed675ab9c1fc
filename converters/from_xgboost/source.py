"""A loaded XGBoost model: it predicts in XGBoost, and it is translated from its file's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingDependency
from ...symbolic.objectives.links import column
from ...symbolic.value import Value
from ..base import Arrays, Options, renamed
from ..labels import LabelRows
from ..rows import MatrixSource, Points, Rows, points_of
from .model import XgbModel
from .translate import classify, margin, predict, require

Native = Callable[[], Any]


class XgboostSource(MatrixSource):
    """A booster, or a scikit-learn wrapper around one.

    Args:
        model: What the file says.
        rows: The input.
        native: Gives the live booster or wrapper, loading XGBoost if need be.
        missing: The number that stands for a missing value.
        options: What the caller asked for.
        description: Class and file, for people.
    """

    framework = "xgboost"

    def __init__(
        self,
        model: XgbModel,
        rows: Rows | LabelRows,
        native: Native,
        missing: float,
        options: Options,
        description: str,
    ):
        self.model, self.native, self.missing = model, native, missing
        self.description = description
        self.ordered = bool(options.extra.get("ordered", False))
        self.place(rows)
        self.raw = options.extra.get("kind") == "raw"
        self.classifier = model.wrapper == "classifier" and not self.raw
        own = ["label", "probabilities"] if self.classifier else ["variable"]
        self.output_names = renamed(own, options.output_names, "output")
        self.labels = (
            [self.output_names[0]] if self.classifier or (model.objective == "multi:softmax" and not self.raw) else []
        )
        self.points = _points(model, missing)

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Predicts in XGBoost."""
        try:
            live = self.native()
        except ModuleNotFoundError as error:
            raise MissingDependency("xgboost", "xgboost", "comparing with the source") from error
        x = self.matrix(inputs)
        if hasattr(live, "get_booster"):
            ends = {} if self.model.weights is not None else {"iteration_range": self.model.rounds}
            found = [live.predict(x, output_margin=self.raw, **ends)]
            if self.classifier:
                shares = np.asarray(live.predict_proba(x, **ends))
                label = np.asarray(found[0]).astype(np.int64)
                if self.model.objective == "multi:softprob" and label.ndim > 1:
                    label = shares.argmax(axis=1)  # XGBoost takes softprob's two classes for two labels
                found = [label, shares]
        else:
            found = [self._predict(live, x)]
        return dict(zip(self.output_names, map(np.asarray, found), strict=True))

    def _predict(self, booster: Any, x: Any) -> np.ndarray:
        if self.model.weights is None:
            return np.asarray(
                booster.inplace_predict(
                    x,
                    iteration_range=self.model.rounds,
                    predict_type="margin" if self.raw else "value",
                    missing=self.missing,
                    validate_features=False,
                )
            )
        import xgboost

        rows = xgboost.DMatrix(x, missing=self.missing, nthread=1, enable_categorical=self.labelled is not None)
        return np.asarray(booster.predict(rows, output_margin=self.raw, validate_features=False))

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model."""
        if not self.raw:
            require(self.model, g.opset)
        x = self.input(g)
        with g.at(self.model.booster):
            raw = margin(g, x, self.model, self.missing, self.ordered)
            if self.raw:
                values: tuple[Value, ...] = (column(g, raw),)
            else:
                values = classify(g, raw, self.model) if self.classifier else (predict(g, raw, self.model),)
        for name, value in zip(self.output_names, values, strict=True):
            g.output(value, name)


def _points(model: XgbModel, missing: float) -> Points:
    markers = tuple({np.nan, missing}) if not np.isnan(missing) else (np.nan,)
    if model.table is None:
        return Points([np.zeros(0)] * model.features, missing=markers, infinite=False)
    found = points_of(model.table)
    found.missing = markers
    return found
