"""LightGBM: text files without the framework, live boosters and scikit-learn wrappers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...symbolic.errors import CaptureError, InputSpecError
from ..base import Frontend, Options, type_names
from ..pickles import is_pickle_file, unpickle
from ..rows import read_rounds, read_rows
from .model import LgbModel, read_model
from .source import LightgbmSource

_OPTIONS = ("dtype", "frame", "kind", "rounds")


class LightgbmFrontend(Frontend):
    """Loads LightGBM models.

    Options in ``Options.extra``:
        dtype: ``float32`` or ``float64`` for the input where no X is given; float32 by default.
        frame: ``columns``: one input for each column of a DataFrame X, categories by their labels; ``matrix`` (the
            default): one input of numbers, categories by their codes.
        kind: ``raw``: the raw score, before the objective makes labels or probabilities of it.
        rounds: Use the trees of the first n rounds only, or of those from the first to the end of a pair.
    """

    name: ClassVar[str] = "lightgbm"
    packages: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = "lightgbm"

    def accepts(self, model: object) -> bool:
        """Whether a live object is a Booster or a scikit-learn wrapper of LightGBM."""
        return any(n.split(".")[0] == "lightgbm" for n in type_names(model))

    def load(self, model: Any, inputs: Any, options: Options) -> LightgbmSource:
        """Reads a file without LightGBM; a live model is written to memory and read in the same way."""
        unknown = sorted(set(options.extra) - set(_OPTIONS))
        if unknown:
            raise InputSpecError(f"unknown option {', '.join(unknown)} for lightgbm; it has {', '.join(_OPTIONS)}")
        if options.extra.get("kind") not in (None, "raw"):
            raise InputSpecError(f"kind={options.extra['kind']!r}: it is raw, or is left out")
        classes, rounds = None, read_rounds(options)
        if isinstance(model, Path) and is_pickle_file(model):
            model = unpickle(model, options.trust)
        if isinstance(model, Path):
            found = read_model(_text(model), rounds)
            native = cache(lambda: _open(model))
            what = f"LightGBM booster ({found.objective or 'an objective of its own: raw scores'}) from {model.name}"
        else:
            found, classes = read_live(model, rounds)
            native = cache(lambda: model)
            what = f"{type(model).__name__} of LightGBM ({found.objective or 'an objective of its own: raw scores'})"
        rows = read_rows(found.features, found.names, inputs, options, lambda at: labels_at(found, at))
        return LightgbmSource(found, rows, native, classes, options, what)


def labels_at(model: LgbModel, at: list[int]) -> dict[int, list[Any]]:
    """The labels of the features at these places, which are all that held categories in the DataFrame of the fit.

    Raises:
        InputSpecError: The model was fitted with others.
    """
    if len(at) != len(model.labels):
        raise InputSpecError(
            f"the model was fitted with {len(model.labels)} columns of categories, X has {len(at)} of them"
        )
    return dict(zip(at, model.labels, strict=True))


def _text(path: Path) -> str:
    data = path.read_bytes()
    if data.lstrip().startswith(b"{"):
        raise InputSpecError(f"{path} is a dump of LightGBM, which it can't load again: save it with save_model")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def read_live(model: Any, rounds: tuple[int, int] | None = None) -> tuple[LgbModel, np.ndarray | None]:
    """The model of a live booster or wrapper, and the labels of a classifier."""
    booster, classes = model, None
    if hasattr(model, "booster_") or hasattr(type(model), "booster_"):
        if not model.__sklearn_is_fitted__():
            raise CaptureError(f"this {type(model).__name__} is not fitted: call fit before it is converted")
        booster = model.booster_
        if hasattr(model, "predict_proba") and not callable(model.objective_):
            classes = np.asarray(model.classes_)
    if not hasattr(booster, "model_to_string"):
        raise InputSpecError(f"a {type(model).__name__} is neither a Booster nor a wrapper of LightGBM")
    # without rounds the text ends at the best iteration, as predictions do
    text = booster.model_to_string(num_iteration=None if rounds is None else -1)
    return read_model(text, rounds), classes


def _open(path: Path) -> Any:
    """The file, loaded by LightGBM itself."""
    import lightgbm

    return lightgbm.Booster(model_str=_text(path))  # of a file it wants the line ends that it writes itself
