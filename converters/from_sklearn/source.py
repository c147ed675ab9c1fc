"""A loaded estimator: it predicts in scikit-learn, and it is translated by the dialect ``estimators``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError, TranslationError
from ...symbolic.estimators.calling import Classified, Clustered, Features, Frame, call, matrix, name_of, require, walk
from ...symbolic.ml.labels import pick
from ...symbolic.value import Value
from ..base import Arrays, Options, Source, renamed, type_names
from .inputs import Layout
from .samples import hard_rows

_BATCHES = (64, 257)


class SklearnSource(Source):
    """A fitted estimator.

    Args:
        model: The estimator.
        layout: How rows reach it.
        options: What the caller asked for.
        described: A word about the file it comes from.
    """

    framework = "sklearn"

    def __init__(self, model: Any, layout: Layout, options: Options, described: str = ""):
        import sklearn

        self.model, self.layout = model, layout
        self.description = f"{name_of(model)} of scikit-learn {sklearn.__version__}" + (
            f" from {described}" if described else ""
        )
        self.specs = layout.specs
        self.samples = layout.samples
        self.methods = _methods(model)
        if any(n.startswith("xgboost.") for est, _ in walk(model, "") for n in type_names(est)):
            self.precision = "fp32-exact"  # XGBoost computes in float32, also where its results meet doubles
        self.output_names = renamed(list(self.methods), options.output_names, "output")
        self.labels = [given for own, given in zip(self.methods, self.output_names, strict=True) if own == "label"]

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Predicts in scikit-learn."""
        rows = self.layout.rows(inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown categories, feature names
            try:
                found = [getattr(self.model, method)(rows) for method in self.methods.values()]
            except AttributeError as error:  # what a model lacks that another release made
                text = str(error).split("\n")[0]
                raise CaptureError(f"{self.description} can't run: {text}; was it made by another release?") from error
        if "label" in self.methods and np.ndim(found[0]) == 2 and np.shape(found[0])[1] == 1:
            found[0] = np.reshape(found[0], -1)  # CatBoost gives a column where there are several classes
        return dict(zip(self.output_names, map(_array, found), strict=True))

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model."""
        require(self.model, _place(self.model), g.opset)
        values = [g.input(s.name, s.dtype, s.shape) for s in self.specs]
        x: Features = values[0]
        if self.layout.kind == "columns":
            assert self.layout.columns is not None
            x = Frame(tuple(self.layout.columns), tuple(values))
        result = call(g, self.model, x, _place(self.model))
        batch = self.specs[0].shape[0]
        for own, name in zip(self.methods, self.output_names, strict=True):
            with g.at(f"{_place(self.model)} ({own})"):
                value = _part(g, self.model, result, own)
                if own == "probabilities":
                    g.expect(value, None, (batch, len(self.model.classes_)))
                elif own == "label":
                    g.expect(value, None, (batch,))
                g.output(value, name)

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays:
        """Rows on the model's thresholds, one ulp beside them, of every category, and random ones."""
        rows = next(iter(sizes.values()), _BATCHES[0])
        return hard_rows(self.model, self.layout, rows, seed, self.run)

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """A batch that has room for the hard rows."""
        symbol = str(self.specs[0].shape[0])
        first = (base or {}).get(symbol, _BATCHES[0])
        return {symbol: first if which == 0 else first + _BATCHES[1] - _BATCHES[0]}


def _place(model: Any) -> str:
    return type(model).__name__.lower()


def _methods(model: Any) -> dict[str, str]:
    """Output name -> method of the estimator."""
    from sklearn.base import is_classifier

    if is_classifier(model):
        found = {"label": "predict"}
        if hasattr(model, "predict_proba"):
            found["probabilities"] = "predict_proba"
        elif hasattr(model, "decision_function"):
            found["scores"] = "decision_function"
        return found
    if hasattr(_last(model), "cluster_centers_") and hasattr(model, "predict"):
        return {"label": "predict", "scores": "transform"} if hasattr(model, "transform") else {"label": "predict"}
    if hasattr(model, "predict"):
        return {"variable": "predict"}
    return {"variable": "transform"}


def _last(model: Any) -> Any:
    """The estimator that predicts."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def _part(g: GraphBuilder, model: Any, result: Any, own: str) -> Value:
    """The value of one output."""
    if isinstance(result, Classified):
        if own == "label":
            return pick(g, result.classes, result.index)
        value = result.probabilities if own == "probabilities" else result.scores
        if value is None:
            raise TranslationError(f"the translation of {name_of(model)} has no {own}", location=g.location)
        return value
    if own in ("label", "probabilities", "scores") and not isinstance(result, Clustered):
        raise TranslationError(f"{name_of(model)} was translated as no classifier", location=g.location)
    if isinstance(result, Clustered):
        return result.label if own == "label" else result.distances
    return matrix(g, result)


def _array(value: Any) -> np.ndarray:
    """A result of scikit-learn as an array that ONNX can hold."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    array = value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)
    if array.dtype.kind in "OUT":
        array = _plain(array)
    return array.astype(np.int64) if array.dtype.kind in "iu" and array.ndim == 1 else array


def _plain(array: np.ndarray) -> np.ndarray:
    """An object array as numbers or strings; missing strings as `str` writes them."""
    items = array.reshape(-1).tolist()
    if any(isinstance(v, str) for v in items):
        return np.array([v if isinstance(v, str) else str(v) for v in items], object).reshape(array.shape)
    return np.asarray(items).reshape(array.shape)
