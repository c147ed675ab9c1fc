"""The inputs of an estimator: names, dtypes and widths from X, from specs, or from what the fit left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...symbolic.errors import InputSpecError
from ...symbolic.estimators.calling import walk
from ...symbolic.ml.labels import class_array
from ...symbolic.spec import TensorSpec, parse_spec
from ..base import Arrays, Options, renamed

#: Most rows of a given X that a comparison uses.
SAMPLE_ROWS = 1000


@dataclass
class Layout:
    """How rows reach the estimator.

    Attributes:
        kind: ``matrix`` (one [batch, n] input), ``columns`` (a DataFrame, one [batch, 1] input for each column),
            ``text`` (a list of strings, one [batch] input) or ``labels`` (a vector of labels, one [batch] input).
        specs: Inputs of the ONNX model.
        columns: Names of the DataFrame's columns, one for each input (or each column of the matrix); None for none.
        samples: Rows of the given X.
        missing: The strings "nan" and "None" stand for missing values, which ONNX strings don't have.
        categories: Column of X -> its categories, where pandas keeps it as such.
        sparse: The estimator is given a sparse matrix, which holds all numbers but zero.
    """

    kind: str
    specs: list[TensorSpec]
    columns: list[Any] | None = None
    samples: Arrays | None = None
    missing: bool = False
    categories: dict[Any, list[Any]] = field(default_factory=dict)
    sparse: bool = False

    def rows(self, inputs: Mapping[str, np.ndarray]) -> Any:
        """What the estimator is given: array, DataFrame or list of strings."""
        arrays = [np.asarray(inputs[s.name]) for s in self.specs]
        if self.missing:
            arrays = [_with_missing(a) if a.dtype == object else a for a in arrays]
        if self.kind == "text":
            return [str(t) for t in arrays[0]]
        if self.sparse:
            from scipy.sparse import csr_array

            return csr_array(arrays[0])
        if self.columns is None or self.kind == "labels":
            return arrays[0]
        import pandas as pd

        if self.kind == "matrix":
            return pd.DataFrame(arrays[0], columns=self.columns)
        # strings stay Python objects: the string dtype of pandas turns None into NaN
        found = {n: pd.Series(a.reshape(-1), dtype=a.dtype) for n, a in zip(self.columns, arrays, strict=True)}
        for name, known in self.categories.items():
            more = [v for v in found[name].unique() if not pd.isna(v) and v not in known]
            found[name] = pd.Series(pd.Categorical(found[name], categories=[*known, *more]))
        return pd.DataFrame(found)


def read_inputs(model: Any, inputs: Any, options: Options) -> Layout:
    """The layout that the caller's inputs (or the fitted estimator alone) say.

    Raises:
        InputSpecError: They don't fit the estimator, or can't be held by ONNX.
    """
    if isinstance(inputs, tuple) and len(inputs) == 1 and not isinstance(inputs[0], (str, TensorSpec)):
        inputs = inputs[0]
    specs = _as_specs(inputs)
    if inputs is None:
        layout = _from_fit(model, str(options.extra.get("dtype") or _usual_dtype(model)))
    elif specs is not None:
        layout = _from_specs(model, specs)
    elif hasattr(inputs, "columns") and hasattr(inputs, "iloc"):
        layout = _from_frame(model, inputs, str(options.extra.get("frame", "columns")))
    elif isinstance(inputs, Mapping):
        layout = _from_mapping(model, inputs)
    else:
        layout = _from_array(model, inputs)
    layout.missing = knows_missing_strings(model) or _lacks_words(inputs)
    return _finished(layout, options)


def _finished(layout: Layout, options: Options) -> Layout:
    """Names and the batch symbol that the caller asked for."""
    names = renamed([s.name for s in layout.specs], options.input_names, "input")
    symbol = _batch_symbol(layout.specs, options)
    shapes = [(symbol, *s.shape[1:]) for s in layout.specs]
    if layout.samples is not None:
        layout.samples = {n: layout.samples[s.name] for n, s in zip(names, layout.specs, strict=True)}
    layout.specs = [TensorSpec(n, s.dtype, shape) for n, s, shape in zip(names, layout.specs, shapes, strict=True)]
    return layout


def _batch_symbol(specs: Sequence[TensorSpec], options: Options) -> str:
    symbols = {s.shape[0] for s in specs if isinstance(s.shape[0], str)}
    for axes in (options.dynamic or {}).values():
        if set(axes) - {0}:
            raise InputSpecError("only the batch axis (0) of an estimator's inputs can be open")
        symbols = set(axes.values()) or symbols
    if len(symbols) > 1:
        raise InputSpecError(f"all inputs of an estimator share one batch size, not {', '.join(sorted(symbols))}")
    return str(next(iter(symbols), "batch"))


# --- X as data -----------------------------------------------------------------------------------------------------


def _from_array(model: Any, x: Any) -> Layout:
    sparse = hasattr(x, "toarray")
    if sparse:
        x = x.toarray()
    array = np.asarray(x)
    if takes_labels(model):
        array = _tensor(array.reshape(-1), "y")
        return Layout("labels", [TensorSpec("X", _dtype_name(array), ("batch",))], None, {"X": _some(array)})
    if array.ndim == 1 and array.dtype.kind in "OUT" and all(isinstance(t, str) for t in array):
        return Layout("text", [TensorSpec("X", "string", ("batch",))], None, {"X": _some(array.astype(object))})
    if array.ndim != 2:
        raise InputSpecError(f"X has {array.ndim} axes; an estimator takes [rows, features] or a list of strings")
    _check_width(model, array.shape[1])
    array = _tensor(array, "X")
    spec = TensorSpec("X", _dtype_name(array), ("batch", array.shape[1]))
    return Layout("matrix", [spec], _fit_names(model), {"X": _some(array)}, sparse=sparse)


def _from_frame(model: Any, frame: Any, kind: str) -> Layout:
    used = used_columns(model)
    names = [c for c in frame.columns if used is None or c in used]
    missing = [] if used is None else [c for c in used if c not in set(frame.columns)]
    if missing:
        raise InputSpecError(f"X lacks the columns {', '.join(map(str, missing))}")
    if kind == "matrix":
        order = _fit_names(model) or list(frame.columns)
        array = _tensor(frame[order].to_numpy(), "X")
        spec = TensorSpec("X", _dtype_name(array), ("batch", array.shape[1]))
        return Layout("matrix", [spec], order, {"X": _some(array)})
    if kind != "columns":
        raise InputSpecError(f"frame={kind!r}: it is columns or matrix")
    arrays = {str(c): _some(_tensor(_column(frame[c]), f"column {c}")).reshape(-1, 1) for c in names}
    if len(arrays) < len(names):
        raise InputSpecError("X has several columns of the same name")
    specs = [TensorSpec(n, _dtype_name(a), ("batch", 1)) for n, a in arrays.items()]
    categories = {c: list(frame[c].cat.categories) for c in names if frame[c].dtype.name == "category"}
    return Layout("columns", specs, names, arrays, categories=categories)


def _column(series: Any) -> np.ndarray:
    """A DataFrame's column as an array; categories by their labels, nullable numbers as doubles."""
    if series.dtype.name == "category":
        kind = series.cat.categories.dtype
        series = series.astype(object if kind.kind in "biu" and series.isna().any() else kind)
    if series.dtype.name == "string":
        return np.asarray(series.to_numpy(dtype=object, na_value=np.nan))
    array = series.to_numpy()
    if array.dtype == object and series.dtype.kind in "iufb" and series.dtype != object:
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(array)


def _from_mapping(model: Any, inputs: Mapping[str, Any]) -> Layout:
    arrays = {str(k): np.asarray(v) for k, v in inputs.items()}
    used = used_columns(model)
    if used is None and len(arrays) == 1:
        ((name, array),) = arrays.items()
        layout = _from_array(model, array)
        assert layout.samples is not None
        spec = layout.specs[0]
        return Layout(
            layout.kind, [TensorSpec(name, spec.dtype, spec.shape)], layout.columns, {name: layout.samples["X"]}
        )
    import pandas as pd

    return _from_frame(model, pd.DataFrame({k: a.reshape(-1) for k, a in arrays.items()}), "columns")


def _tensor(array: np.ndarray, what: str) -> np.ndarray:
    """The array as ONNX holds it: numbers, or an object array of str."""
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind == "O":
        kinds = {type(v) for v in array.reshape(-1)}
        if kinds <= {str, np.str_}:
            return array
        if kinds <= {bool, np.bool_}:
            return array.astype(bool)
        if kinds <= {int, float, bool, np.int64, np.float64, np.float32, type(None)}:
            return array.astype(np.float64)
        if kinds <= {str, np.str_, float, type(None)} and all(v != v for v in array.reshape(-1) if type(v) is float):
            return np.array([str(v) for v in array.reshape(-1)], object).reshape(array.shape)
        mixed = ", ".join(sorted(k.__name__ for k in kinds))
        raise InputSpecError(f"{what} mixes {mixed}: pass a DataFrame, each column becomes an input of its own dtype")
    if array.dtype == np.float16 or array.dtype.kind not in "biuf":
        raise InputSpecError(f"{what} has dtype {array.dtype}; ONNX inputs of estimators are numbers or strings")
    return array


def _lacks_words(inputs: Any) -> bool:
    """Whether values are missing among the strings of the given X."""
    if hasattr(inputs, "columns") and hasattr(inputs, "iloc"):
        columns = [inputs.iloc[:, i] for i in range(inputs.shape[1])]
    elif isinstance(inputs, Mapping):
        columns = [np.asarray(c) for c in inputs.values()]
    else:
        columns = [inputs] if getattr(inputs, "dtype", None) == np.dtype(object) else []
    for column in columns:
        if column.dtype.kind in "OUT" or column.dtype.name in ("category", "string", "str"):
            items = np.asarray(column, object).reshape(-1)
            lacking = np.array(
                [not isinstance(v, str) and (v is None or str(v) in ("nan", "<NA>")) for v in items], bool
            )
            if lacking.any() and any(isinstance(v, str) for v in items[~lacking]):
                return True
    return False


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _with_missing(array: np.ndarray) -> np.ndarray:
    found = array.copy()
    found[array == "nan"] = np.nan
    found[array == "None"] = None
    return found


def _dtype_name(array: np.ndarray) -> str:
    return "string" if array.dtype == object else str(array.dtype)


def _some(array: np.ndarray) -> np.ndarray:
    """At most SAMPLE_ROWS rows, spread over all."""
    if len(array) <= SAMPLE_ROWS:
        return array
    return array[np.linspace(0, len(array) - 1, SAMPLE_ROWS).astype(int)]


# --- specs, or nothing ---------------------------------------------------------------------------------------------


def _as_specs(inputs: Any) -> list[TensorSpec] | None:
    if isinstance(inputs, (str, TensorSpec)):
        inputs = [inputs]
    if not isinstance(inputs, (list, tuple)) or not inputs:
        return None
    if all(isinstance(i, TensorSpec) for i in inputs):
        return list(inputs)
    if all(isinstance(i, str) for i in inputs) and all(":" in i and i.rstrip().endswith("]") for i in inputs):
        return [parse_spec(i, "X") for i in inputs]
    return None


def _from_specs(model: Any, specs: list[TensorSpec]) -> Layout:
    used = used_columns(model)
    if takes_labels(model) and len(specs) == 1 and len(specs[0].shape) == 1:
        return Layout("labels", specs)
    if len(specs) == 1 and len(specs[0].shape) == 1 and specs[0].dtype == "string":
        return Layout("text", specs)
    for spec in specs:
        if len(spec.shape) != 2 or not isinstance(spec.shape[1], int):
            raise InputSpecError(f"{spec}: an input of an estimator has two axes, [batch,number of features]")
    if len(specs) == 1 and (used is None or specs[0].shape[1] != 1 or len(used) == 1):
        _check_width(model, int(specs[0].shape[1]))
        return Layout("matrix", specs, _fit_names(model))
    names = {s.name for s in specs}
    missing = [str(c) for c in used or () if str(c) not in names]
    if missing:
        raise InputSpecError(f"no input is given for the columns {', '.join(missing)}")
    return Layout("columns", specs, [s.name for s in specs])


def _from_fit(model: Any, dtype: str) -> Layout:
    if dtype not in ("float32", "float64"):
        raise InputSpecError(f"dtype={dtype!r}: it is float32 or float64")
    used = used_columns(model)
    if takes_labels(model):
        return Layout("labels", [TensorSpec("X", _dtype_name(class_array(model.classes_)), ("batch",))])
    if used is not None:
        dtypes = column_dtypes(model, dtype)
        specs = [TensorSpec(str(c), dtypes.get(c, dtype), ("batch", 1)) for c in used]
        return Layout("columns", specs, list(used))
    width = getattr(entry(model), "n_features_in_", None) or getattr(model, "n_features_in_", None)
    if width is None:
        if hasattr(entry(model), "vocabulary_") or hasattr(entry(model), "analyzer"):
            return Layout("text", [TensorSpec("X", "string", ("batch",))])
        raise InputSpecError(f"a {type(model).__name__} doesn't say how many features it takes: pass X as inputs")
    found = {str(c.dtype.kind) for c in getattr(entry(model), "categories_", ())}
    kind = "string" if found and found <= set("OUST") else dtype
    return Layout("matrix", [TensorSpec("X", kind, ("batch", int(width)))], _fit_names(model))


#: Estimators that take rows of the dtype of the fit only, and an attribute that has it.
_STRICT = {
    "KMeans": "cluster_centers_", "MiniBatchKMeans": "cluster_centers_", "BisectingKMeans": "cluster_centers_",
    "NMF": "components_", "MiniBatchNMF": "components_", "LatentDirichletAllocation": "components_",
}  # fmt: skip


def _usual_dtype(model: Any) -> str:
    """float32, or the dtype of the fit where an estimator inside takes no other."""
    for est, _ in walk(model, ""):
        fitted = getattr(est, _STRICT.get(type(est).__name__, ""), None)
        if fitted is not None:
            return str(fitted.dtype)
    return "float32"


def _check_width(model: Any, width: int) -> None:
    wanted = getattr(model, "n_features_in_", None)
    if wanted is not None and wanted != width:
        raise InputSpecError(f"X has {width} features, {type(model).__name__} was fitted with {wanted}")


def _fit_names(model: Any) -> list[Any] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def takes_labels(model: Any) -> bool:
    """Whether it transforms labels, not rows (of several labels, too)."""
    several = str(getattr(model, "y_type_", "")).startswith("multilabel")
    return type(model).__name__ in ("LabelEncoder", "LabelBinarizer") and not several


def entry(model: Any) -> Any:
    """The estimator that sees X first (the encoder of categories inside a histogram gradient booster, too)."""
    model = getattr(model, "best_estimator_", model)
    while hasattr(model, "steps") and model.steps:
        steps = [s for _, s in model.steps if s is not None and not isinstance(s, str)]
        if not steps:
            return model
        model = steps[0]
    inner = getattr(model, "_preprocessor", None)
    return model if inner is None else inner


def used_columns(model: Any) -> list[Any] | None:
    """Columns of the DataFrame that a ColumnTransformer in front was fitted with and uses; None for other models."""
    first = entry(model)
    names = getattr(first, "feature_names_in_", None)
    if names is None or not hasattr(first, "_transformer_to_input_indices"):
        return None
    used: set[int] = set()
    for name, transformer, _ in first.transformers_:
        if not (isinstance(transformer, str) and transformer == "drop"):
            used.update(int(i) for i in first._transformer_to_input_indices.get(name, ()))
    return [names[i] for i in sorted(used)]


def column_dtypes(model: Any, dtype: str) -> dict[Any, str]:
    """Dtype of each column of a ColumnTransformer in front, where an encoder or imputer tells it."""
    first = entry(model)
    found: dict[Any, str] = {}
    for name, transformer, _ in first.transformers_:
        columns = [first.feature_names_in_[i] for i in first._transformer_to_input_indices.get(name, ())]
        for member in (transformer, *(s for _, s in getattr(transformer, "steps", ()))):
            for column, categories in zip(columns, getattr(member, "categories_", ()), strict=False):
                kind = np.asarray(categories).dtype.kind
                own = {"i": "int64", "u": "int64", "b": "bool", "f": dtype}.get(kind, "string")
                found.setdefault(column, own)
            if hasattr(member, "vocabulary_"):
                found.update(dict.fromkeys(columns, "string"))
            for column, value in zip(columns, np.atleast_1d(getattr(member, "statistics_", ())), strict=False):
                if isinstance(value, str):
                    found.setdefault(column, "string")
    return found


def knows_missing_strings(model: Any) -> bool:
    """Whether an encoder or imputer anywhere in the model was fitted with missing values among strings."""
    for est, _ in walk(model, ""):
        if np.asarray(getattr(est, "statistics_", 0.0)).dtype == object:
            return True
        for categories in getattr(est, "categories_", ()):
            if np.asarray(categories).dtype == object and any(c is None or c != c for c in categories):
                return True
    return False
