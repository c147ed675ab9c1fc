"""Models that take one matrix of numbers: their input, and rows that are hard for trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..symbolic.builder import GraphBuilder
from ..symbolic.errors import InputSpecError
from ..symbolic.ml.trees import Mode, TreeTable
from ..symbolic.spec import TensorSpec, parse_spec
from ..symbolic.value import Value
from .base import Arrays, Options, Source, renamed
from .labels import Known, LabelRows, read_labelled

#: Most rows of a given X that a comparison uses.
SAMPLE_ROWS = 1000
_DTYPES = ("float32", "float64")
_BATCHES = (96, 257)


@dataclass
class Rows:
    """The input of a model: one matrix, [batch, features].

    Attributes:
        spec: The ONNX input.
        samples: Rows of the given X; None where none was given.
    """

    spec: TensorSpec
    samples: np.ndarray | None = None


def read_rows(
    features: int, names: Sequence[str] | None, inputs: Any, options: Options, known: Known | None = None
) -> Rows | LabelRows:
    """The input that the caller's X, spec or dtype says; float32 where nothing does.

    Args:
        features: Number of features that the model takes.
        names: Names of the model's features, which a DataFrame's columns are put in order by.
        inputs: X as an array or DataFrame, a spec, or None.
        options: What the caller asked for; ``extra["dtype"]`` where no X is given, ``extra["frame"]``: ``columns``
            makes one input of each column of a DataFrame, ``matrix`` one of all.
        known: Gives the labels of categories; None where there are none.

    Raises:
        InputSpecError: They don't fit the model.
    """
    if isinstance(inputs, Mapping) and len(inputs) == 1:
        ((own_name, inputs),) = inputs.items()
    else:
        own_name = "X"
    if isinstance(inputs, (tuple, list)) and len(inputs) == 1 and np.ndim(inputs[0]) != 1:
        inputs = inputs[0]
    samples = None
    kind = str(options.extra.get("frame", "matrix"))
    if kind not in ("matrix", "columns"):
        raise InputSpecError(f"frame={kind!r}: it is matrix or columns")
    if kind == "columns":
        return _columns(features, names, inputs, options, known)
    if inputs is None:
        dtype = str(options.extra.get("dtype", "float32"))
        if dtype not in _DTYPES:
            raise InputSpecError(f"dtype={dtype!r}: it is float32 or float64")
        spec = TensorSpec(own_name, dtype, ("batch", features))
    elif isinstance(inputs, (str, TensorSpec)):
        spec = parse_spec(inputs, own_name) if isinstance(inputs, str) else inputs
    else:
        samples = _matrix(inputs, names)
        spec = TensorSpec(own_name, str(samples.dtype), ("batch", samples.shape[1]))
        samples = samples[np.linspace(0, len(samples) - 1, min(len(samples), SAMPLE_ROWS)).astype(int)]
    if len(spec.shape) != 2 or spec.shape[1] != features:
        raise InputSpecError(f"the model takes [batch,{features}], not {spec}")
    if np.dtype(spec.dtype).kind not in "biuf" or spec.dtype == "float16":
        raise InputSpecError(f"the model takes numbers, not {spec.dtype}")
    (name,) = renamed([spec.name], options.input_names, "input")
    return Rows(TensorSpec(name, spec.dtype, (_symbol(spec, options), features)), samples)


def _columns(
    features: int, names: Sequence[str] | None, inputs: Any, options: Options, known: Known | None
) -> LabelRows:
    """An input for each column of a DataFrame."""
    if known is None or not (hasattr(inputs, "columns") and hasattr(inputs, "iloc")):
        raise InputSpecError("frame=columns makes an input of each column of a DataFrame: pass one as X")
    frame = in_order(inputs, names)
    if frame.shape[1] != features:
        raise InputSpecError(f"X has {frame.shape[1]} columns, the model takes {features}")
    return read_labelled(_some(frame), known, options)


def read_rounds(options: Options) -> tuple[int, int] | None:
    """The boosting rounds to use, first and end: of ``rounds=n`` the first n, of ``rounds=(a, b)`` those from a to b.

    Raises:
        InputSpecError: It says no range.
    """
    given = options.extra.get("rounds")
    if given is None:
        return None
    parts = str(given).split(":") if isinstance(given, (str, int, np.integer)) else list(given)
    try:
        first, end = (int(p) for p in (parts if len(parts) > 1 else (0, *parts)))
    except (TypeError, ValueError) as error:
        raise InputSpecError(f"rounds={given!r}: it is a number of rounds, or a first one and an end") from error
    if not 0 <= first < end:
        raise InputSpecError(f"rounds={given!r} holds no rounds")
    return first, end


def _symbol(spec: TensorSpec, options: Options) -> int | str:
    for axes in (options.dynamic or {}).values():
        if set(axes) - {0}:
            raise InputSpecError("only the batch axis (0) can be open")
        if axes:
            return axes[0]
    return spec.shape[0]


def _matrix(x: Any, names: Sequence[str] | None) -> np.ndarray:
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        x = in_order(x, names)
        array = np.stack([_column(x.iloc[:, i]) for i in range(x.shape[1])], axis=1)
    else:
        array = np.asarray(x.toarray() if hasattr(x, "toarray") else x)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputSpecError(f"X is {array.dtype}{list(array.shape)}; the model takes numbers [rows, features]")
    return array


def in_order(frame: Any, names: Sequence[str] | None) -> Any:
    """The columns of a DataFrame that a model was trained with, in its order; all where it knows none of the names.

    Raises:
        InputSpecError: Some of them are absent.
    """
    own = {str(c): c for c in frame.columns}
    own |= {n.replace(" ", "_"): c for n, c in own.items() if n.replace(" ", "_") not in own}  # as LightGBM writes them
    absent = [n for n in names or () if n not in own]
    if names is None or len(absent) == len(names):
        return frame
    if absent:
        raise InputSpecError(f"X lacks the columns {', '.join(absent)} that the model was trained with")
    return frame[[own[n] for n in names]]


def _column(series: Any) -> np.ndarray:
    """A DataFrame's column; categories as their codes, where a missing one is NaN."""
    if series.dtype.name == "category":
        codes = series.cat.codes.to_numpy().astype(np.float64)
        return np.where(codes < 0, np.nan, codes)
    array = np.asarray(series)
    return array if array.dtype.kind in "biuf" else np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _some(frame: Any) -> Any:
    return frame.iloc[np.linspace(0, len(frame) - 1, min(len(frame), SAMPLE_ROWS)).astype(int)]


@dataclass
class Points:
    """What a model says about its features: where its answer may change.

    Attributes:
        values: Thresholds of each feature.
        categories: Category codes of each feature that has some.
        missing: Values that stand for a missing one.
        infinite: Whether the source takes infinite values.
    """

    values: list[np.ndarray]
    categories: dict[int, np.ndarray] = field(default_factory=dict)
    missing: Sequence[float] = (np.nan,)
    infinite: bool = True


def points_of(table: TreeTable) -> Points:
    """The thresholds and categories of trees."""
    plain = table.mode != Mode.MEMBER
    values = [np.unique(table.threshold[plain & (table.feature == f)]) for f in range(table.features)]
    categories: dict[int, np.ndarray] = {}
    for split, members in table.members.items():
        f = int(table.feature[split])
        categories[f] = np.union1d(categories.get(f, np.zeros(0)), members)
    return Points(values, categories)


def hard_rows(spec: TensorSpec, points: Points, samples: np.ndarray | None, rows: int, seed: int) -> np.ndarray:
    """Rows on thresholds, one ulp beside them, of every category, missing, infinite, and typical ones."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(spec.dtype)
    columns = []
    for f, values in enumerate(points.values):
        given = None if samples is None else samples[:, f]
        if f in points.categories:
            columns.append(_categories(points, f, kind, rows, generator))
        else:
            columns.append(_numbers(values, points, given, kind, rows, generator))
    return np.stack(columns, axis=1)


def _numbers(
    values: np.ndarray,
    points: Points,
    given: np.ndarray | None,
    kind: np.dtype,
    rows: int,
    generator: np.random.Generator,
) -> np.ndarray:
    finite = values[np.isfinite(values)]
    if kind.kind not in "f":
        low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        near = np.rint(generator.choice(finite, rows) if len(finite) else np.zeros(rows))
        moved = np.clip(near + generator.integers(-1, 2, rows), max(low, -(2**52)), min(high, 2**52))
        return moved.astype(kind)
    spread = float(finite.std()) if len(finite) > 1 else 1.0
    base = generator.normal(float(finite.mean()) if len(finite) else 0.0, spread or 1.0, rows)
    if given is not None and len(given):
        base = generator.choice(given, rows).astype(np.float64)
    found = base.astype(kind)
    if len(finite):
        found = np.where(generator.random(rows) < 0.6, beside(generator.choice(finite, rows), kind, generator), found)
    found = np.where(generator.random(rows) < 0.06, generator.choice(np.asarray(points.missing), rows), found)
    if points.infinite:
        odd = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38])
        found = np.where(generator.random(rows) < 0.04, generator.choice(odd, rows), found)
    return found.astype(kind)


def beside(points: np.ndarray, kind: np.dtype, generator: np.random.Generator) -> np.ndarray:
    """The points, and their neighbours in a float dtype and in float32, at random."""
    with np.errstate(over="ignore"):
        own, single = points.astype(kind), points.astype(np.float32)
        choices = [
            own,
            np.nextafter(own, own.dtype.type(np.inf)),
            np.nextafter(own, own.dtype.type(-np.inf)),
            single.astype(kind),
            np.nextafter(single, np.float32(np.inf)).astype(kind),
            np.nextafter(single, np.float32(-np.inf)).astype(kind),
        ]
    return np.choose(generator.integers(0, len(choices), len(points)), choices)


def _categories(points: Points, f: int, kind: np.dtype, rows: int, generator: np.random.Generator) -> np.ndarray:
    known = points.categories[f]
    high = float(known.max(initial=0))
    pool = np.concatenate([known, known, known, [high + 1, high + 40]])
    if kind.kind in "fi":
        pool = np.append(pool, [-1.0, -5.0])
    if kind.kind == "f":
        pool = np.concatenate([pool, known[:1] + 0.5, [-0.5, *points.missing]])
    return generator.choice(pool, rows).astype(kind)


class MatrixSource(Source):
    """A source whose one input is a matrix, [batch, features], or one for each column of a DataFrame.

    Subclasses call `place` and set `points`.
    """

    rows: Rows
    points: Points
    labelled: LabelRows | None = None

    def place(self, rows: Rows | LabelRows) -> None:
        """Takes the input's description over."""
        if isinstance(rows, LabelRows):
            self.labelled, self.specs, self.samples = rows, rows.specs, rows.samples
            return
        self.rows = rows
        self.specs = [rows.spec]
        self.samples = None if rows.samples is None else {rows.spec.name: rows.samples}

    def input(self, g: GraphBuilder) -> Value:
        """The rows in the graph, [batch, features]."""
        if self.labelled is not None:
            return self.labelled.matrix(g)
        (spec,) = self.specs
        return g.input(spec.name, spec.dtype, spec.shape)

    def matrix(self, inputs: Mapping[str, np.ndarray]) -> Any:
        """The one input, or the DataFrame."""
        if self.labelled is not None:
            return self.labelled.frame(inputs)
        return np.asarray(inputs[self.specs[0].name])

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays:
        """Rows on the model's thresholds and beside them."""
        (batch, _) = self.specs[0].sized(sizes)
        if self.labelled is not None:
            codes = TensorSpec("X", "float64", ("batch", len(self.specs)))
            return self.labelled.decoded(hard_rows(codes, self.points, None, batch, seed))
        return {self.specs[0].name: hard_rows(self.specs[0], self.points, self.rows.samples, batch, seed)}

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """A batch that has room for the hard rows."""
        symbol = self.specs[0].shape[0]
        if isinstance(symbol, int):
            return {}
        first = (base or {}).get(symbol, _BATCHES[0])
        return {symbol: first if which == 0 else first + _BATCHES[1] - _BATCHES[0]}
