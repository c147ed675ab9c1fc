"""Rows that are hard for a model: on its thresholds, one ulp beside them, of every category, missing, and random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from ..base import Arrays
from .inputs import Layout


@dataclass
class Profile:
    """What a fitted model says about one input feature.

    Attributes:
        values: Numbers at which its answer may change, and typical ones.
        categories: Categories that an encoder knows.
        unknown: Categories that it doesn't know are allowed.
    """

    values: list[np.ndarray] = field(default_factory=list)
    categories: list[Any] = field(default_factory=list)
    unknown: bool = True


@dataclass(frozen=True)
class _Origin:
    """A feature somewhere in a pipeline as ``slope * input + offset`` of one input feature."""

    index: int
    slope: float = 1.0
    offset: float = 0.0


_Origins = list["_Origin | None"]


def hard_rows(
    model: Any, layout: Layout, rows: int, seed: int, run: Callable[[Mapping[str, np.ndarray]], Arrays]
) -> Arrays:
    """Rows for a comparison; every one is accepted by the estimator.

    Args:
        model: The estimator.
        layout: How rows reach it.
        rows: How many.
        seed: Seed of the random choices.
        run: Runs the estimator; used to see where missing values are allowed.
    """
    generator = np.random.default_rng(seed)
    if layout.kind == "labels":
        spec = layout.specs[0]
        labels = np.asarray(model.classes_).astype(object if spec.dtype == "string" else spec.dtype)
        return {spec.name: generator.choice(labels, rows)}
    if layout.kind == "text":
        return {layout.specs[0].name: _texts(layout, rows, generator)}
    width = sum(int(s.shape[1]) for s in layout.specs)
    profiles = [Profile() for _ in range(width)]
    _explore(model, _start(model, layout), profiles)
    samples = layout.samples
    made: Arrays = {}
    at = 0
    for spec in layout.specs:
        count = int(spec.shape[1])
        given = None if samples is None else samples[spec.name]
        columns = [
            _column(profiles[at + i], spec.dtype, rows, generator, None if given is None else given[:, i])
            for i in range(count)
        ]
        made[spec.name] = np.stack(columns, axis=1)
        at += count
    return _with_missing(_accepted(made, layout, generator, run), generator, run)


def _accepted(made: Arrays, layout: Layout, generator: np.random.Generator, run: Callable[[Arrays], Arrays]) -> Arrays:
    """The rows, or where the estimator refuses them their absolute values, or else rows of the given X."""
    positive = {n: np.abs(a) if a.dtype.kind == "f" else a for n, a in made.items()}
    for tried in (made, positive):
        try:
            run(tried)
        except CaptureError:
            continue
        return tried
    if layout.samples is None:
        return made
    rows = len(next(iter(made.values())))
    chosen = generator.integers(0, len(next(iter(layout.samples.values()))), rows)
    return {n: a[chosen] for n, a in layout.samples.items()}


def _start(model: Any, layout: Layout) -> _Origins:
    """Input features in the order of the fit."""
    own: _Origins = [_Origin(i) for i in range(sum(int(s.shape[1]) for s in layout.specs))]
    names = getattr(model, "feature_names_in_", None)
    if layout.kind != "columns" or names is None or layout.columns is None:
        return own
    at = {name: i for i, name in enumerate(layout.columns)}
    return [_Origin(at[name]) if name in at else None for name in names]


# --- what the model says -------------------------------------------------------------------------------------------


def _explore(est: Any, origins: _Origins, profiles: list[Profile]) -> _Origins:
    """Notes what an estimator says about the input features; gives the origins of what it puts out."""
    if est is None or isinstance(est, str):
        return origins
    est = getattr(est, "best_estimator_", est)
    width = getattr(est, "n_features_in_", len(origins))
    if width != len(origins):  # behind a function that makes other columns
        origins = [None] * int(width)
    if hasattr(est, "steps"):
        for _, step in est.steps:
            origins = _explore(step, origins, profiles)
        return origins
    if hasattr(est, "transformers_"):
        found: _Origins = []
        for name, transformer, _ in est.transformers_:
            indices = est._transformer_to_input_indices.get(name, ())
            if not (isinstance(transformer, str) and transformer == "drop"):
                own = [origins[int(i)] if int(i) < len(origins) else None for i in indices]
                found += _explore(transformer, own, profiles)
        return found
    if hasattr(est, "transformer_list"):
        return [o for _, t in est.transformer_list for o in _explore(t, origins, profiles)]
    if getattr(est, "_preprocessor", None) is not None:
        origins = _explore(est._preprocessor, origins, profiles)
    if hasattr(est, "categories_"):
        return _encoder(est, origins, profiles)
    for tree_features, thresholds in _thresholds(est):
        for feature in np.unique(tree_features):
            origin = origins[feature] if feature < len(origins) else None
            if origin is not None:
                at = thresholds[tree_features == feature]
                profiles[origin.index].values.append((at - origin.offset) / origin.slope)
    for nested in _members(est):
        if not hasattr(nested, "tree_"):
            _explore(nested, origins, profiles)
    return _scaler(est, origins, profiles)


def _encoder(est: Any, origins: _Origins, profiles: list[Profile]) -> _Origins:
    for origin, categories in zip(origins, est.categories_, strict=False):
        if origin is not None:
            profile = profiles[origin.index]
            words = any(isinstance(c, str) for c in categories)
            profile.categories.extend(str(c) if words else c for c in categories if words or c == c)
            profile.unknown = profile.unknown and getattr(est, "handle_unknown", "error") != "error"
    return [None] * _width_out(est, len(origins))


def _width_out(est: Any, width: int) -> int:
    """Number of features that an estimator puts out; `width` where it doesn't say."""
    try:
        return len(est.get_feature_names_out())
    except (AttributeError, ValueError, NotImplementedError):
        return width


def _members(est: Any) -> list[Any]:
    """Fitted members of an ensemble."""
    members = getattr(est, "estimators_", None)
    if isinstance(members, np.ndarray):
        return list(members.reshape(-1))
    return list(members or ())


def _thresholds(est: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Features and thresholds of all trees of an estimator."""
    found = []
    for member in _members(est) or [est]:
        tree = getattr(member, "tree_", None)
        if hasattr(tree, "children_left"):
            inner = tree.children_left >= 0
            found.append((tree.feature[inner], tree.threshold[inner]))
    for predictors in getattr(est, "_predictors", ()):
        for predictor in predictors:
            nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
            nodes = nodes[nodes["is_categorical"] == 0]
            found.append((nodes["feature_idx"], nodes["num_threshold"]))
    return found


def _scaler(est: Any, origins: _Origins, profiles: list[Profile]) -> _Origins:
    """Origins behind a scaler of single features; what any other estimator puts out comes from nowhere."""
    line = _line(est, len(origins))
    if line is None:
        return [None] * _width_out(est, max(len(origins), 1))
    slopes, offsets = line
    found: _Origins = []
    for origin, slope, offset in zip(origins, slopes, offsets, strict=True):
        if origin is None or not slope:
            found.append(None)
            continue
        if type(est).__name__ == "SimpleImputer":
            word = est.statistics_[len(found)]
            profiles[origin.index].categories.extend([word, "nan"] if isinstance(word, str) else [])
            found.append(origin)
            continue
        profiles[origin.index].values.append(
            ((np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) - offset) / slope - origin.offset) / origin.slope
        )
        found.append(_Origin(origin.index, origin.slope * slope, origin.offset * slope + offset))
    indicated = getattr(getattr(est, "indicator_", None), "features_", ())
    return found + [None] * len(indicated)


def _line(est: Any, width: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Slope and offset of each feature of a scaler (or imputer), None for any other estimator."""
    ones, zeros = np.ones(width), np.zeros(width)
    name = type(est).__name__
    if name in ("StandardScaler", "RobustScaler"):
        centre = getattr(est, "mean_" if name == "StandardScaler" else "center_", None)
        scale = getattr(est, "scale_", None)
        slope = ones if scale is None else 1 / np.asarray(scale)
        keeps = centre is None or (name == "StandardScaler" and not est.with_mean)
        return slope, zeros if keeps else -np.asarray(centre) * slope
    if name == "MinMaxScaler":
        return np.asarray(est.scale_), np.asarray(est.min_)
    if name == "MaxAbsScaler":
        return 1 / np.asarray(est.scale_), zeros
    if name == "SimpleImputer":
        return None if any(s is None or s != s for s in est.statistics_) else (ones, zeros)
    return (ones, zeros) if name == "FunctionTransformer" and est.func is None else None


# --- rows ----------------------------------------------------------------------------------------------------------


def _column(
    profile: Profile, dtype: str, rows: int, generator: np.random.Generator, given: np.ndarray | None
) -> np.ndarray:
    """One feature: a third from the given X or typical ones, two thirds hard ones."""
    hard_share = 0.6
    if profile.categories:
        return _categories(profile, dtype, rows, generator)
    if dtype == "string":
        words = given if given is not None else np.array(["a", "b", "", "A"], object)
        return generator.choice(np.asarray(words, object), rows)
    kind = np.dtype(dtype)
    points = np.concatenate(profile.values) if profile.values else np.zeros(0)
    points = points[np.isfinite(points)]
    if given is not None:
        finite = given[np.isfinite(given.astype(np.float64))]
        base = generator.choice(finite, rows).astype(np.float64) if len(finite) else np.zeros(rows)
    else:
        centre, spread = (points.mean(), points.std() or 1.0) if len(points) else (0.0, 1.0)
        base = generator.normal(centre, spread, rows)
    if kind.kind == "b":
        return generator.integers(0, 2, rows).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        near = (
            base
            if not len(points)
            else np.where(
                generator.random(rows) < hard_share,
                generator.choice(points, rows) + generator.integers(-1, 2, rows),
                base,
            )
        )
        return np.clip(np.rint(near), limits.min, limits.max).astype(kind)
    if not len(points):
        return (base + generator.normal(0, 1e-3, rows)).astype(kind)
    hard = _beside(generator.choice(points, rows), kind, generator)
    return np.where(generator.random(rows) < hard_share, hard, base.astype(kind)).astype(kind)


def _beside(points: np.ndarray, kind: np.dtype, generator: np.random.Generator) -> np.ndarray:
    """The points, and their neighbours in the input's dtype and in float32, at random."""
    own = points.astype(kind)
    single = points.astype(np.float32)
    choices = [
        own,
        np.nextafter(own, own.dtype.type(np.inf)),
        np.nextafter(own, own.dtype.type(-np.inf)),
        single.astype(kind),
        np.nextafter(single, np.float32(np.inf)).astype(kind),
        np.nextafter(single, np.float32(-np.inf)).astype(kind),
    ]
    return np.choose(generator.integers(0, len(choices), len(points)), choices)


def _categories(profile: Profile, dtype: str, rows: int, generator: np.random.Generator) -> np.ndarray:
    known = list(dict.fromkeys(profile.categories))
    if dtype == "string":
        pool = [str(k) for k in known]
        if profile.unknown:
            pool += ["", "not among them", pool[0] + "x"]
        return generator.choice(np.array(pool, object), rows)
    numbers = np.array([float(k) for k in known])
    if profile.unknown:
        numbers = np.append(numbers, [numbers.max() + 1, numbers.min() - 1])
    return generator.choice(numbers, rows).astype(dtype)


def _texts(layout: Layout, rows: int, generator: np.random.Generator) -> np.ndarray:
    """Given texts (or a few words), half of them changed: case, accents, punctuation, white space, pieces."""
    given = None if layout.samples is None else layout.samples[layout.specs[0].name]
    words = given if given is not None else np.array(["one two", "Three, four; five", "", "two two"], object)
    changes = (
        str.upper, str.title, lambda t: t.replace("e", "é"), lambda t: t.replace("a", "a\u0301"),
        lambda t: t.replace(" ", " \u2014\n"), lambda t: t.replace(" ", "."), lambda t: t[len(t) // 2 :],
        lambda t: f"\u201c{t}\u201d don't \u00a0x", lambda t: t.replace(" ", "  ") + " ",
    )  # fmt: skip
    texts = generator.choice(np.asarray(words, object), rows)
    which = generator.integers(0, 2 * len(changes), rows)
    return np.array([changes[w](t) if w < len(changes) else t for t, w in zip(texts, which, strict=True)], object)


def _with_missing(made: Arrays, generator: np.random.Generator, run: Callable[[Arrays], Arrays]) -> Arrays:
    """NaN in a tenth of the rows of each float feature where the estimator takes them."""
    for name, array in made.items():
        if array.dtype.kind != "f":
            continue
        holes = generator.random(array.shape) < 0.1
        each = [np.arange(array.shape[1]) == i for i in range(min(array.shape[1], 30))]
        for columns in [np.ones(array.shape[1], bool), *each]:
            tried = np.where(holes & columns, np.array(np.nan, array.dtype), made[name])
            try:
                run({**made, name: tried})
            except CaptureError:
                continue
            made[name] = tried
            if columns.all():
                break
    return made
