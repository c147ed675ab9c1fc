"""The input of models with categories: one column for each feature; and the categories that the caller knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbolic.errors import InputSpecError
from ...symbolic.spec import TensorSpec, parse_spec
from ..base import Arrays, Options, renamed
from ..rows import SAMPLE_ROWS, Points, beside, in_order
from .ctr import Known
from .hashing import category_hash, is_whole
from .model import CATEGORY, FLOAT, CatModel

_DTYPES = ("float32", "float64")


@dataclass
class Columns:
    """The inputs, and what the caller's X told.

    Attributes:
        specs: One [batch, 1] input for each feature.
        samples: Some rows of the given X; None where none was given.
        known: The known categories.
    """

    specs: list[TensorSpec]
    samples: Arrays | None
    known: Known


def read_columns(model: CatModel, inputs: Any, options: Options) -> Columns:
    """The inputs that the caller's X, specs or dtype say: float32 and strings where nothing does.

    Args:
        model: The model; some of its features are categories.
        inputs: X as DataFrame or array of objects or whole numbers; specs, one for each feature; or None.
        options: What the caller asked for; ``extra["categories"]``: feature -> its categories.

    Raises:
        InputSpecError: They don't fit the model.
    """
    names = [n or f"x{i}" for i, n in enumerate(model.names or [""] * model.features)]
    names = [n if not n.isdigit() else f"x{n}" for n in names]
    samples, given = None, inputs
    if isinstance(inputs, (tuple, list)) and len(inputs) == 1 and np.ndim(inputs[0]) == 2:
        given = inputs[0]
    if given is None or _are_specs(given):
        specs = _specs(model, names, given, options)
    else:
        samples = _arrays(model, names, given)
        specs = [TensorSpec(n, _dtype(a), ("batch", 1)) for n, a in samples.items()]
    for spec, kind in zip(specs, model.kinds, strict=True):
        if kind == CATEGORY and spec.dtype not in ("string", "int64", "int32"):
            raise InputSpecError(f"{spec.name} holds categories: strings or whole numbers, not {spec.dtype}")
        if kind == FLOAT and np.dtype(spec.dtype).kind not in "biuf":
            raise InputSpecError(f"{spec.name} holds numbers, not {spec.dtype}")
    own = renamed([s.name for s in specs], options.input_names, "input")
    specs = [TensorSpec(n, s.dtype, s.shape) for n, s in zip(own, specs, strict=True)]
    known = _known(model, names, samples, options.extra.get("categories") or {})
    if samples is not None:
        rows = len(next(iter(samples.values())))
        at = np.linspace(0, rows - 1, min(rows, SAMPLE_ROWS)).astype(int)
        samples = {spec.name: a[at] for spec, a in zip(specs, samples.values(), strict=True)}
    return Columns(specs, samples, known)


def _are_specs(inputs: Any) -> bool:
    items = list(inputs.values()) if isinstance(inputs, Mapping) else inputs
    return isinstance(items, (list, tuple)) and all(isinstance(i, (str, TensorSpec)) for i in items)


def _specs(model: CatModel, names: Sequence[str], given: Any, options: Options) -> list[TensorSpec]:
    if given is not None:
        items = given.items() if isinstance(given, Mapping) else zip(names, given, strict=False)
        found = {n: parse_spec(s, n) if isinstance(s, str) else s for n, s in items}
        absent = [n for n in names if n not in found]
        if absent or len(found) != len(names):
            raise InputSpecError(
                f"the model takes {len(names)} columns: {', '.join(names)}; specs for {len(found)} are given"
            )
        return [TensorSpec(n, found[n].dtype, found[n].shape) for n in names]
    dtype = str(options.extra.get("dtype", "float32"))
    if dtype not in _DTYPES:
        raise InputSpecError(f"dtype={dtype!r}: it is float32 or float64")
    return [
        TensorSpec(n, dtype if kind == FLOAT else "string", ("batch", 1))
        for n, kind in zip(names, model.kinds, strict=True)
    ]


def _arrays(model: CatModel, names: Sequence[str], x: Any) -> Arrays:
    """Columns of the given X by feature name, [rows, 1]."""
    if isinstance(x, Mapping):
        columns = [np.asarray(x[n]).reshape(-1) for n in names if n in x]
    elif hasattr(x, "columns") and hasattr(x, "iloc"):
        x = in_order(x, model.names)
        columns = [np.asarray(x.iloc[:, i]) for i in range(x.shape[1])]
    else:
        array = np.asarray(x, object) if isinstance(x, (list, tuple)) else np.asarray(x)
        columns = list(array.T) if array.ndim == 2 else []
    if len(columns) != model.features:
        raise InputSpecError(f"X has {len(columns)} columns, the model takes {model.features}: {', '.join(names)}")
    found = {}
    for name, kind, column in zip(names, model.kinds, columns, strict=True):
        found[name] = (_numbers if kind == FLOAT else _categories)(name, column).reshape(-1, 1)
    return found


def _numbers(name: str, column: np.ndarray) -> np.ndarray:
    if column.dtype.kind in "biuf":
        return column
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputSpecError(f"{name} holds numbers: {error}") from error


def _categories(name: str, column: np.ndarray) -> np.ndarray:
    """Categories as CatBoost takes them: whole numbers, or texts (a whole number among them as its digits)."""
    if column.dtype.kind in "iu":
        return column.astype(np.int64)
    items = [int(v) if isinstance(v, (bool, np.bool_)) else v for v in column.tolist()]  # as CatBoost takes them
    if items and all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in items):
        return np.array(items, np.int64)
    if not all(isinstance(v, (str, int, np.integer)) for v in items):
        raise InputSpecError(f"{name} holds categories: strings or whole numbers, as CatBoost takes them")
    return np.array([str(v) for v in items], object)


def _dtype(array: np.ndarray) -> str:
    return "string" if array.dtype == object else str(array.dtype)


def _known(model: CatModel, names: Sequence[str], samples: Arrays | None, categories: Mapping[Any, Any]) -> Known:
    """The categories of the file, of X and of the option ``categories``."""
    own = model.of_kind(CATEGORY)
    texts: list[dict[int, list[str]]] = []
    hashes = []
    for feature in own:
        found = {h: list(t) for h, t in model.texts.items()}
        told = [v for key in (feature, names[feature]) for v in categories.get(key, ())]
        column = np.zeros(0, object) if samples is None else samples[names[feature]].reshape(-1)
        unique, inverse = np.unique(column.astype(str), return_inverse=True)
        numbers = np.array([category_hash(t) for t in unique.tolist()], np.uint32)
        hashes.append(numbers[inverse])
        for text in [*unique.tolist(), *(str(v) for v in told)]:
            same = found.setdefault(category_hash(text), [])
            if text not in same:
                same.append(text)
        texts.append(found)
    if samples is None:
        return Known(texts)
    floats = [samples[names[f]].reshape(-1).astype(np.float32) for f in model.of_kind(FLOAT)]
    rows = len(next(iter(samples.values())))
    return Known(
        texts,
        np.stack(hashes, axis=1) if hashes else np.zeros((rows, 0), np.uint32),
        np.stack(floats, axis=1) if floats else np.zeros((rows, 0), np.float32),
    )


def hard_columns(model: CatModel, columns: Columns, points: Points, rows: int, seed: int) -> Arrays:
    """Rows on the borders of numbers and beside them, of every category, and of categories that nobody knows."""
    generator = np.random.default_rng(seed)
    found: Arrays = {}
    number = {f: i for i, f in enumerate(model.of_kind(CATEGORY))}
    for feature, (spec, kind) in enumerate(zip(columns.specs, model.kinds, strict=True)):
        if kind == CATEGORY:
            found[spec.name] = _drawn(columns.known.texts[number[feature]], spec, rows, generator).reshape(-1, 1)
            continue
        if kind != FLOAT:
            found[spec.name] = np.full((rows, 1), "text", object)
            continue
        dtype = np.dtype(spec.dtype)
        values = points.values[feature]
        base = generator.normal(size=rows) * (float(values.std()) + 1.0 if len(values) else 1.0)
        column = base.astype(dtype)
        if columns.samples is not None:
            column = generator.choice(columns.samples[spec.name].reshape(-1), rows).astype(dtype)
        if len(values) and dtype.kind == "f":
            near = beside(generator.choice(values, rows), dtype, generator)
            column = np.where(generator.random(rows) < 0.5, near, column)
            if points.infinite:
                odd = generator.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40]), rows)
                column = np.where(generator.random(rows) < 0.08, odd, column)
        found[spec.name] = column.astype(dtype).reshape(-1, 1)
    return found


def _drawn(
    texts: Mapping[int, Sequence[str]], spec: TensorSpec, rows: int, generator: np.random.Generator
) -> np.ndarray:
    known = sorted(t for same in texts.values() for t in same)
    if spec.dtype != "string":
        whole = [int(t) for t in known if is_whole(t)]
        return generator.choice(np.array([*whole, *whole, *whole, 10**6, -7]), rows).astype(spec.dtype)
    pool = np.array([*known, *known, *known, "", "nobody knows it", "è"], object)
    return generator.choice(pool, rows)
