"""A loaded LightGBM model: it predicts in LightGBM, and it is translated from its text's own numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingDependency
from ...symbolic.ml.labels import pick
from ...symbolic.objectives.links import column
from ..base import Arrays, Options, renamed
from ..labels import LabelRows
from ..rows import MatrixSource, Rows, points_of
from .model import LgbModel
from .translate import classify, predict, raw_score, require


class LightgbmSource(MatrixSource):
    """A booster, or a scikit-learn wrapper around one.

    Args:
        model: What the text says.
        rows: The input.
        native: Gives the live booster or wrapper, loading LightGBM if need be.
        classes: Class labels of a classifier; None for anything else.
        options: What the caller asked for.
        description: Class and file, for people.
    """

    framework = "lightgbm"

    def __init__(
        self,
        model: LgbModel,
        rows: Rows | LabelRows,
        native: Callable[[], Any],
        classes: np.ndarray | None,
        options: Options,
        description: str,
    ):
        self.model, self.native, self.classes = model, native, classes
        self.description = description
        self.place(rows)
        self.raw = options.extra.get("kind") == "raw"
        if self.raw:
            self.classes = classes = None
        own = ["variable"] if classes is None else ["label", "probabilities"]
        self.output_names = renamed(own, options.output_names, "output")
        self.labels = [] if classes is None else [self.output_names[0]]
        self.points = points_of(model.table)

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Predicts in LightGBM."""
        try:
            live = self.native()
        except ModuleNotFoundError as error:
            raise MissingDependency("lightgbm", "lightgbm", "comparing with the source") from error
        x = self.matrix(inputs)
        rounds = self.model.rounds
        ends = {} if rounds is None else {"start_iteration": rounds[0], "num_iteration": rounds[1] - rounds[0]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # feature names
            found = [np.asarray(live.predict(x, raw_score=self.raw, **ends))]
            if self.classes is not None:
                found.append(np.asarray(live.predict_proba(x, **ends)))
        if self.classes is not None and found[0].dtype.kind in "iuOU":
            found[0] = found[0].astype(np.int64 if found[0].dtype.kind in "iu" else object)
        return dict(zip(self.output_names, found, strict=True))

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model."""
        if not self.raw:
            require(self.model, g.opset, self.classes is not None)
        x = self.input(g)
        with g.at("booster"):
            raw = raw_score(g, x, self.model)
            if self.raw:
                g.output(column(g, raw), self.output_names[0])
                return
            if self.classes is None:
                g.output(predict(g, raw, self.model), self.output_names[0])
                return
            index, shares = classify(g, raw, self.model)
            g.output(pick(g, self.classes, index), self.output_names[0])
            g.output(shares, self.output_names[1])
