"""XGBoost: .json and .ubj files without the framework, live boosters and scikit-learn wrappers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...symbolic.errors import CaptureError, InputSpecError
from ..base import Frontend, Options, type_names
from ..labels import Known
from ..pickles import is_pickle_file, unpickle
from ..rows import in_order, read_rounds, read_rows
from .model import XgbModel, as_kept, is_ascii, parse, read_model
from .source import XgboostSource

_OPTIONS = ("dtype", "frame", "kind", "missing", "ordered", "rounds")


class XgboostFrontend(Frontend):
    """Loads XGBoost models.

    Options in ``Options.extra``:
        dtype: ``float32`` or ``float64`` for the input where no X is given; float32 by default.
        frame: ``columns``: one input for each column of a DataFrame X, categories by their labels; ``matrix`` (the
            default): one input of numbers, categories by their codes.
        kind: ``raw``: the margin, before the objective makes labels or probabilities of it.
        missing: The number that stands for a missing value besides NaN; a wrapper brings its own.
        ordered: Add the trees up in their order with any number of threads: equal to the last bit, half as long again.
        rounds: Use the trees of the first n rounds only, or of those from the first to the end of a pair.
    """

    name: ClassVar[str] = "xgboost"
    packages: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = "xgboost"

    def accepts(self, model: object) -> bool:
        """Whether a live object is a Booster or a scikit-learn wrapper of XGBoost."""
        return any(n.split(".")[0] == "xgboost" for n in type_names(model))

    def load(self, model: Any, inputs: Any, options: Options) -> XgboostSource:
        """Reads a file without XGBoost; a live model is written to memory and read in the same way."""
        unknown = sorted(set(options.extra) - set(_OPTIONS))
        if unknown:
            raise InputSpecError(f"unknown option {', '.join(unknown)} for xgboost; it has {', '.join(_OPTIONS)}")
        if options.extra.get("kind") not in (None, "raw"):
            raise InputSpecError(f"kind={options.extra['kind']!r}: it is raw, or is left out")
        wanted = read_rounds(options)
        missing = float(options.extra.get("missing", np.nan))
        if isinstance(model, Path) and is_pickle_file(model):
            model = unpickle(model, options.trust)
        if isinstance(model, Path):
            found = read_model(parse(model.read_bytes()), wanted)
            native = cache(lambda: _open(model, found, missing))
            what = f"XGBoost {found.wrapper or 'booster'} ({found.booster}, {found.objective}) from {model.name}"
        else:
            found = read_live(model, wanted)
            native = cache(lambda: model)
            if hasattr(model, "get_booster"):
                missing = float(options.extra.get("missing", getattr(model, "missing", np.nan)))
            what = f"{type(model).__name__} of XGBoost ({found.booster}, {found.objective})"
        if hasattr(inputs, "tocsr"):
            inputs = _dense(inputs)
        rows = read_rows(found.features, found.names, inputs, options, _known(found, inputs))
        return XgboostSource(found, rows, native, missing, options, what)


def _dense(x: Any) -> np.ndarray:
    """A sparse matrix with NaN for what it doesn't hold, which XGBoost takes for missing."""
    held = x.tocoo()
    found = np.full(held.shape, np.nan, held.dtype if held.dtype.kind == "f" else np.float64)
    found[held.row, held.col] = held.data
    return found


def _known(model: XgbModel, x: Any) -> Known:
    """The labels that the model keeps, or those of X where a release before 3.1 wrote it."""

    def labels(at: list[int]) -> dict[int, list[Any]]:
        frame = in_order(x, model.names)
        return {i: _agreed(model.labels.get(i), list(frame.iloc[:, i].cat.categories)) for i in at}

    return labels


def _agreed(kept: list[Any] | None, given: list[Any]) -> list[Any]:
    """The labels that a model keeps; those of X where it keeps none, or not all of their bytes."""
    if kept is None or kept == given:
        return given
    if is_ascii(kept):
        return kept
    if all(isinstance(v, str) for v in given) and as_kept(given) == kept:
        return given
    raise InputSpecError(
        "XGBoost keeps labels outside ASCII incompletely: pass X with the categories of the fit in their order"
    )


def read_live(model: Any, rounds: tuple[int, int] | None = None) -> XgbModel:
    """The model of a live booster or wrapper."""
    wrapped = hasattr(model, "get_booster")
    booster = model
    if wrapped:
        if not model.__sklearn_is_fitted__():
            raise CaptureError(f"this {type(model).__name__} is not fitted: call fit before it is converted")
        booster = model.get_booster()
    if not hasattr(booster, "save_raw"):
        raise InputSpecError(f"a {type(model).__name__} is neither a Booster nor a wrapper of XGBoost")
    document = parse(booster.save_raw("ubj"))
    if not wrapped:
        return read_model(document, rounds)
    attributes = document["learner"].setdefault("attributes", {})
    attributes["scikit_learn"] = f'{{"_estimator_type": "{getattr(model, "_estimator_type", None) or _kind(model)}"}}'
    return read_model(document, rounds)


def _kind(model: Any) -> str:
    names = " ".join(type_names(model))
    return "classifier" if "XGBClassifier" in names else "ranker" if "XGBRanker" in names else "regressor"


def _open(path: Path, model: XgbModel, missing: float) -> Any:
    """The file, loaded by XGBoost itself."""
    import xgboost

    if not model.wrapper:
        return xgboost.Booster({"nthread": 1}, model_file=path)
    cls = {"classifier": xgboost.XGBClassifier, "ranker": xgboost.XGBRanker}.get(model.wrapper, xgboost.XGBRegressor)
    wrapper = cls(missing=missing, n_jobs=1)
    wrapper.load_model(path)
    return wrapper
