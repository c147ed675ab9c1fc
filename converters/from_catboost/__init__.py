"""CatBoost: .cbm and .json files without the framework, and live models."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from ...symbolic.errors import CaptureError, InputSpecError
from ..base import Frontend, Options, type_names
from ..labels import LabelRows
from ..pickles import is_pickle_file, unpickle
from ..rows import Rows, read_rows
from .cbm import read_cbm
from .columns import Columns, read_columns
from .dump import read_json
from .info import CLASSIFICATION, MULTILABEL
from .model import CatModel
from .source import CatboostSource

_OPTIONS = ("dtype", "kind", "categories")
_KINDS = ("classifier", "regressor", "raw")


class CatboostFrontend(Frontend):
    """Loads CatBoost models.

    Options in ``Options.extra``:
        dtype: ``float32`` or ``float64`` for the input where no X is given; float32 by default.
        kind: ``classifier`` (labels and probabilities), ``regressor`` (its default prediction) or ``raw`` values; of a
            file the loss function says it, of a live model its class.
        categories: Feature (name or index) -> its categories, where neither X nor the file tells them: files keep only
            their hashes (a JSON file saved with ``pool=`` keeps the texts too).

    A model with categorical features gets one input for each feature, as a DataFrame has columns.
    """

    name: ClassVar[str] = "catboost"
    packages: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = "catboost"

    def accepts(self, model: object) -> bool:
        """Whether a live object is a model of CatBoost."""
        return any(n.split(".")[0] in ("catboost", "_catboost") for n in type_names(model))

    def load(self, model: Any, inputs: Any, options: Options) -> CatboostSource:
        """Reads a file without CatBoost; a live model is saved and read in the same way."""
        unknown = sorted(set(options.extra) - set(_OPTIONS))
        if unknown:
            raise InputSpecError(f"unknown option {', '.join(unknown)} for catboost; it has {', '.join(_OPTIONS)}")
        kind = options.extra.get("kind")
        if kind not in (None, *_KINDS):
            raise InputSpecError(f"kind={kind!r}: it is {', '.join(_KINDS)}")
        if isinstance(model, Path) and is_pickle_file(model):
            model = unpickle(model, options.trust)
        if isinstance(model, Path):
            found = read_file(model)
            kind = kind or ("classifier" if found.loss in CLASSIFICATION | MULTILABEL else "regressor")
            native = cache(lambda: _open(model, str(kind)))
            what = f"CatBoost {kind} ({found.loss or 'loss of its own'}) from {model.name}"
        else:
            found = read_live(model)
            kind = kind or _kind(model)
            native = cache(lambda: model)
            what = f"{type(model).__name__} of CatBoost ({found.loss or 'loss of its own'})"
        if found.mixed:
            rows: Rows | LabelRows | Columns = read_columns(found, inputs, options)
        else:
            rows = read_rows(found.features, found.names, inputs, options)
        return CatboostSource(found, rows, native, kind, options, what)


def _kind(model: Any) -> str:
    names = [n.split(".")[-1] for n in type_names(model)]
    return next(
        (n for c, n in (("CatBoostClassifier", "classifier"), ("CatBoostRegressor", "regressor")) if c in names), "raw"
    )


def read_file(path: Path) -> CatModel:
    """The model in a file."""
    data = path.read_bytes()
    return read_cbm(data) if data.startswith(b"CBM1") else read_json(data)


def read_live(model: Any) -> CatModel:
    """The model of a live object."""
    if not hasattr(model, "is_fitted") or not hasattr(model, "save_model"):
        raise InputSpecError(f"a {type(model).__name__} is no model of CatBoost")
    if not model.is_fitted():
        raise CaptureError(f"this {type(model).__name__} is not fitted: call fit before it is converted")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        model.save_model(str(path))
        return read_file(path)


def _open(path: Path, kind: str) -> Any:
    """The file, loaded by CatBoost itself."""
    import catboost

    cls = {"classifier": catboost.CatBoostClassifier, "regressor": catboost.CatBoostRegressor}.get(
        kind, catboost.CatBoost
    )
    binary = path.read_bytes()[:4] == b"CBM1"
    return cls().load_model(str(path), format="cbm" if binary else "json")
