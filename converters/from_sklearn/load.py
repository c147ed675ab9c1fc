"""Loads fitted estimators: live ones, skops files, and (only if trusted) pickles."""

from __future__ import annotations

import importlib
import os
import pickle
import warnings
from pathlib import Path
from typing import Any, ClassVar

from ...symbolic.errors import CaptureError, InputSpecError, MissingDependency, UntrustedFile
from ...symbolic.estimators.calling import DIALECT, walk
from ...symbolic.registry import registry
from ..base import Frontend, Options, type_names
from ..pickles import pickle_imports
from .inputs import read_inputs
from .source import SklearnSource

#: Libraries whose estimators are scikit-learn's by base class, but have frontends of their own.
_OTHERS = ("xgboost", "lightgbm", "catboost")
_EXTRA = ("dtype", "frame", "methods")
#: Types that hold numbers only, which skops asks about all the same. Damaged trees are found before they are run:
#: translating checks every node.
_DATA_TYPES = frozenset({"numpy.dtype", "sklearn.tree._tree.Tree"})


class SklearnFrontend(Frontend):
    """Loads fitted scikit-learn estimators.

    Options in ``Options.extra``:
        dtype: ``float32`` or ``float64``, for numeric inputs where no X is given; float32 by default, but the dtype of
            the fit where the estimator takes no other.
        frame: ``columns`` (one input for each column of a DataFrame, the default) or ``matrix`` (one input).
        methods: Methods that become outputs (``["predict", "score_samples"]``, or one string with commas); None: label
            and probabilities (or scores) of a classifier, what predict or transform gives of others.
    """

    name: ClassVar[str] = "sklearn"
    packages: ClassVar[tuple[str, ...]] = ("sklearn",)
    extra: ClassVar[str] = "sklearn"

    def accepts(self, model: object) -> bool:
        """Whether a live object is an estimator of scikit-learn, or of a library that builds on its base classes."""
        names = type_names(model)
        return any(n.startswith("sklearn.") for n in names) and names[0].split(".")[0] not in _OTHERS

    def load(self, model: Any, inputs: Any, options: Options) -> SklearnSource:
        """Loads an estimator; `inputs` is its X: array, DataFrame, list of strings, dict of columns, or specs."""
        unknown = sorted(set(options.extra) - set(_EXTRA))
        if unknown:
            raise InputSpecError(f"unknown option {', '.join(unknown)} for sklearn; it has {', '.join(_EXTRA)}")
        described = ""
        if isinstance(model, (str, os.PathLike)):
            model, described = load_file(Path(model), options.trust)
        _check_fitted(model)
        _meet_others(model)
        layout = read_inputs(model, inputs, options)
        return SklearnSource(model, layout, options, described)


def _meet_others(model: Any) -> None:
    """Registers the estimators of the libraries with frontends of their own that stand inside the model."""
    registry.load(DIALECT)  # tells which estimators hold others
    for estimator, _ in walk(model, ""):
        for name in type_names(estimator):
            if name.split(".")[0] in _OTHERS:
                importlib.import_module(f"..from_{name.split('.')[0]}.estimators", __package__)


def _check_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise CaptureError(f"this {type(model).__name__} is not fitted: call fit before it is converted") from error
    except TypeError as error:
        raise CaptureError(f"a {type(model).__name__} is not a fitted estimator ({error})") from error


def load_file(path: Path, trust: bool) -> tuple[Any, str]:
    """The estimator in a file, and a word about the file."""
    import sklearn
    from sklearn.exceptions import InconsistentVersionWarning

    with path.open("rb") as stream:
        is_zip = stream.read(4) == b"PK\x03\x04"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InconsistentVersionWarning)
        try:
            model = _load_skops(path, trust) if is_zip else _load_pickle(path, trust)
        except (
            AttributeError,
            ImportError,
            KeyError,
            TypeError,
            ValueError,
            pickle.UnpicklingError,
            EOFError,
        ) as error:
            text = str(error).split("\n")[0]
            raise CaptureError(
                f"scikit-learn {sklearn.__version__} can't load {path} ({text}); "
                "if another release wrote it, install that release"
            ) from error
    older = {
        str(w.message.original_sklearn_version) for w in caught if isinstance(w.message, InconsistentVersionWarning)
    }
    if not older:
        return model, str(path)
    skew = f"written by scikit-learn {', '.join(sorted(older))}, run by {sklearn.__version__}"
    warnings.warn(f"{path} was {skew}: what is converted is what {sklearn.__version__} computes", stacklevel=2)
    return model, f"{path} ({skew})"


def _load_skops(path: Path, trust: bool) -> Any:
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise MissingDependency("skops", "sklearn", f"reading {path}") from error
    unknown = skops.io.get_untrusted_types(file=path)
    foreign = [name for name in unknown if name not in _DATA_TYPES]
    if foreign and not trust:
        raise UntrustedFile(str(path), foreign, "a skops file with types that skops doesn't know")
    return skops.io.load(path, trusted=unknown)


def _load_pickle(path: Path, trust: bool) -> Any:
    if not trust:
        raise UntrustedFile(str(path), pickle_imports(path))
    import joblib

    return joblib.load(path)
