"""A loaded estimator: it predicts in scikit-learn, and it is translated by the dialect ``estimators``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError, TranslationError
from ...symbolic.estimators.calling import Classified, Features, Frame, Sparse, call, name_of, require, values, walk
from ...symbolic.value import Value
from ..base import Arrays, Options, Source, renamed, type_names
from .inputs import Layout
from .methods import outputs
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
        self.outputs = outputs(model, options.extra.get("methods"))
        if any(n.startswith("xgboost.") for est, _ in walk(model, "") for n in type_names(est)):
            self.precision = "fp32-exact"  # XGBoost computes in float32, also where its results meet doubles
        own = [o.name for o in self.outputs]
        self.output_names = renamed(own, options.output_names, "output")
        self.labels = [n for o, n in zip(own, self.output_names, strict=True) if o in ("label", "indices")]

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Predicts in scikit-learn."""
        rows = self.layout.rows(inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown categories, feature names
            try:
                made = {m: _call(self.model, m, rows) for m in dict.fromkeys(o.method for o in self.outputs)}
            except (ValueError, TypeError, IndexError) as error:
                text = f"{self.description} refuses these rows"
                if "dtype mismatch" in str(error):
                    text = f"{self.description} takes rows of the dtype that it was fitted with only"
                raise CaptureError(f"{text} ({error}): pass such an X, or dtype=") from error
            except AttributeError as error:  # what a model lacks that another release made
                text = str(error).split("\n")[0]
                raise CaptureError(f"{self.description} can't run: {text}; was it made by another release?") from error
        found = [_array(made[o.method][o.part] if o.parts > 1 else made[o.method]) for o in self.outputs]
        for i, output in enumerate(self.outputs):
            if output.name == "label" and found[i].ndim == 2 and found[i].shape[1] == 1:
                found[i] = found[i].reshape(-1)  # CatBoost gives a column where there are several classes
        return dict(zip(self.output_names, found, strict=True))

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model."""
        require(self.model, _place(self.model), g.opset)
        inputs = [g.input(s.name, s.dtype, s.shape) for s in self.specs]
        x: Features = Sparse(inputs[0]) if self.layout.sparse else inputs[0]
        if self.layout.kind == "columns":
            assert self.layout.columns is not None
            x = Frame(tuple(self.layout.columns), tuple(inputs))
        result = call(g, self.model, x, _place(self.model))
        batch = self.specs[0].shape[0]
        made: dict[str, tuple[Value, ...]] = {}
        for output, name in zip(self.outputs, self.output_names, strict=True):
            with g.at(f"{_place(self.model)} ({output.name})"):
                if output.method not in made:
                    made[output.method] = values(g, self.model, result, output.method)
                    if len(made[output.method]) != output.parts:
                        raise TranslationError(
                            f"{name_of(self.model)}.{output.method} was translated to {len(made[output.method])} "
                            f"results, it has {output.parts}",
                            location=g.location,
                        )
                value = made[output.method][output.part]
                if isinstance(result, Classified) and output.method == "predict_proba":
                    # some give a single class the probability of a second one, which never is
                    alone = len(result.classes) == 1
                    g.expect(value, None, (batch, value.dim(1) if alone else len(result.classes)))
                elif isinstance(result, Classified) and output.method == "predict":
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


def _call(model: Any, method: str, rows: Any) -> Any:
    """What a method of the estimator gives."""
    if method == "predict_std":
        return model.predict(rows, return_std=True)[1]
    if method == "decision_path":
        found = model.decision_path(rows)
        return found[0] if isinstance(found, tuple) else found  # a forest tells where its trees begin, too
    return getattr(model, method)(rows)


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
