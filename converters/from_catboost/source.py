"""A loaded CatBoost model: it predicts in CatBoost, and it is translated from its file's own numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingDependency
from ...symbolic.ml.labels import pick
from ..base import Arrays, Options, renamed
from ..labels import LabelRows
from ..rows import MatrixSource, Rows, points_of
from .columns import Columns, hard_columns
from .ctr import Ctr
from .info import MULTILABEL
from .model import FLOAT, CatModel
from .translate import class_index, predict, raw_values, require


class CatboostSource(MatrixSource):
    """A model of CatBoost.

    Args:
        model: What the file says.
        rows: The input: a matrix, or a column for each feature.
        native: Gives the live model, loading CatBoost if need be.
        kind: ``classifier``, ``regressor`` (its default prediction) or ``raw``.
        options: What the caller asked for.
        description: Class and file, for people.
    """

    framework = "catboost"

    def __init__(
        self,
        model: CatModel,
        rows: Rows | LabelRows | Columns,
        native: Callable[[], Any],
        kind: str,
        options: Options,
        description: str,
    ):
        self.model, self.native, self.kind = model, native, kind
        self.description = description
        self.columns = rows if isinstance(rows, Columns) else None
        if isinstance(rows, Columns):
            self.specs, self.samples = rows.specs, rows.samples
        else:
            self.place(rows)
        own = ["label", "probabilities"] if kind == "classifier" else ["variable"]
        self.output_names = renamed(own, options.output_names, "output")
        self.labels = [self.output_names[0]] if kind == "classifier" else []
        self.points = points_of(model.table)
        number = model.of_kind(FLOAT)
        for column in model.columns:  # borders that statistics of categories ask for besides
            for e in column.elements if isinstance(column, Ctr) else ():
                if e.kind == "above":
                    borders = self.points.values[number[e.feature]]
                    self.points.values[number[e.feature]] = np.append(borders, e.value)

    def frame(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows as CatBoost takes them: a matrix, or objects where some features are categories."""
        if self.columns is None:
            return np.asarray(self.matrix(inputs))
        columns = [np.asarray(inputs[s.name]).reshape(-1).astype(object) for s in self.specs]
        return np.stack(columns, axis=1)

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays:
        """Rows on the model's borders and beside them, of every category."""
        if self.columns is None:
            return super().make_samples(seed, sizes)
        (batch, _) = self.specs[0].sized(sizes)
        return hard_columns(self.model, self.columns, self.points, batch, seed)

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Predicts in CatBoost."""
        try:
            live = self.native()
        except ModuleNotFoundError as error:
            raise MissingDependency("catboost", "catboost", "comparing with the source") from error
        x = self.frame(inputs)
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

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model."""
        require(self.model, self.kind, g.opset)
        own = [g.input(s.name, s.dtype, s.shape) for s in self.specs]
        with g.at("trees"):
            if self.columns is None:
                raw = raw_values(g, own[0], self.model)
            else:
                raw = raw_values(g, own, self.model, self.columns.known)
        if self.kind == "classifier":
            index, classes = class_index(g, raw, self.model), self.model.classes
            g.output(index if classes is None else pick(g, classes, index), self.output_names[0])
        g.output(predict(g, raw, self.model, self.kind), self.output_names[-1])


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
