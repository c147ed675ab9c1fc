"""Encoders of categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.categories import codes, matches, texts
from ..ml.dtypes import as_float, cast, concat, double
from ..ml.labels import class_array
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Sparse, columns, matrix, read, unsupported

_MODULE = "sklearn.preprocessing."


def _columns(g: GraphBuilder, x: Features, est: Any) -> list[Value]:
    found = columns(g, x)
    if len(found) != len(est.categories_):
        raise unsupported(g, est, f"it is given {len(found)} columns and was fitted with {len(est.categories_)}")
    for i, (column, categories) in enumerate(zip(found, est.categories_, strict=True)):
        try:
            words = texts(categories)
        except TypeError as error:
            raise unsupported(g, est, f"{error} (column {i})") from error
        if (words is not None) != (column.dtype is ir.DataType.STRING):
            kind = "strings" if words is not None else "numbers"
            raise unsupported(g, est, f"column {i} is {column.element.name}, its categories are {kind}")
    return found


def _infrequent(est: Any, i: int) -> np.ndarray | None:
    """Code of each category of feature i after rare ones were put together; None where none are."""
    if not getattr(est, "_infrequent_enabled", False):
        return None
    found: np.ndarray | None = est._default_to_infrequent_mappings[i]
    return found


@symbolic(DIALECT, _MODULE + "OneHotEncoder")
def one_hot_encoder(g: GraphBuilder, x: Features, est: Any) -> Features:
    """OneHotEncoder.transform(X): for each category of each feature whether X has it"""
    params = read(
        g, est, "drop", "handle_unknown", "sparse_output", "dtype", "min_frequency", "max_categories",
        ignore=("categories", "feature_name_combiner", "sparse"),
    )  # fmt: skip
    if params.handle_unknown not in ("error", "ignore", "infrequent_if_exist", "warn"):
        raise unsupported(g, est, f"handle_unknown={params.handle_unknown!r}")
    dtype = ir.DataType.from_numpy(np.dtype(params.dtype))
    parts = []
    for i, column in enumerate(_columns(g, x, est)):
        places, unknown, width = _one_hot_places(est, i)
        if width:
            hot = _hot(g, column, est.categories_[i], places, unknown, width)
            parts.append(g.Cast(hot, to=dtype))
    if not parts:
        raise unsupported(g, est, "it gives no columns at all")
    found = concat(g, parts)
    return Sparse(found) if getattr(est, "sparse_output", False) else found


def _one_hot_places(est: Any, i: int) -> tuple[np.ndarray, int, int]:
    """Output column of each category of feature i (-1: none), of an unknown value, and the number of columns."""
    count = len(est.categories_[i])
    mapping = _infrequent(est, i)
    places = np.arange(count) if mapping is None else np.asarray(mapping, np.int64)
    unknown = -1
    if mapping is not None and est.handle_unknown in ("infrequent_if_exist", "warn"):
        unknown = int(places[est._infrequent_indices[i][0]])
    width = int(places.max()) + 1
    drops = est._drop_idx_after_grouping
    drop = None if drops is None else drops[i]
    if drop is not None:
        moved = np.where(places > drop, places - 1, places)
        places = np.where(places == drop, -1, moved)
        unknown = -1 if unknown == drop else unknown - (unknown > drop)
        width -= 1
    return places, unknown, width


def _hot(g: GraphBuilder, column: Value, categories: np.ndarray, places: np.ndarray, unknown: int, width: int) -> Value:
    plain = unknown < 0 and texts(categories) is None and len(np.unique(places[places >= 0])) == (places >= 0).sum()
    if plain and column.dtype is not ir.DataType.STRING:
        kept = [int(np.flatnonzero(places == k)[0]) for k in range(width)]
        return matches(g, column, categories[kept])
    return g.Equal(codes(g, column, categories, places, unknown), np.arange(width))


@symbolic(DIALECT, _MODULE + "KBinsDiscretizer")
def k_bins_discretizer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """KBinsDiscretizer.transform(X): how many inner edges do not lie above X, as a number or one-hot"""
    params = read(g, est, "encode", "dtype", ignore=("n_bins", "strategy", "quantile_method"))
    rows = as_float(g, matrix(g, x))
    if params.dtype is not None:
        rows = cast(g, rows, ir.DataType.from_numpy(np.dtype(params.dtype)))
    parts = []
    for column, edges in zip(columns(g, rows), est.bin_edges_, strict=True):
        reached = g.GreaterOrEqual(double(g, column), np.asarray(edges[1:-1], np.float64))
        number = g.ReduceSum(g.Cast(reached, to=ir.DataType.INT64), [1], keepdims=1)
        hot = params.encode != "ordinal"
        found = g.Equal(number, np.arange(len(edges) - 1)) if hot else number
        parts.append(cast(g, found, rows.element))
    joined = concat(g, parts)
    return Sparse(joined) if params.encode == "onehot" else joined


@symbolic(DIALECT, _MODULE + "OrdinalEncoder")
def ordinal_encoder(g: GraphBuilder, x: Features, est: Any) -> Features:
    """OrdinalEncoder.transform(X): the number of each value's category"""
    params = read(
        g, est, "dtype", "handle_unknown", "unknown_value", "encoded_missing_value", "min_frequency", "max_categories",
        ignore=("categories",),
    )  # fmt: skip
    if params.handle_unknown not in ("error", "use_encoded_value"):
        raise unsupported(g, est, f"handle_unknown={params.handle_unknown!r}")
    dtype = np.dtype(params.dtype)
    unknown = params.unknown_value if params.handle_unknown == "use_encoded_value" else 0
    parts = []
    for i, column in enumerate(_columns(g, x, est)):
        categories = est.categories_[i]
        table = _ordinal_values(est, i).astype(dtype)
        table = np.append(table, np.asarray(unknown).astype(dtype))
        code = codes(g, column, categories, np.arange(len(categories)), len(categories))
        parts.append(g.Gather(table, g.reshape(code, [column.dim(0)]), axis=0))
    return g.Concat(*(g.Unsqueeze(p, [1]) for p in parts), axis=1)


def _ordinal_values(est: Any, i: int) -> np.ndarray:
    categories = est.categories_[i]
    missing = est._missing_indices.get(i)
    values = np.arange(len(categories), dtype=np.float64)
    mapping = _infrequent(est, i)
    if mapping is not None:
        # a missing value is no part of the grouping
        known = np.arange(len(categories)) != missing if missing is not None else np.ones(len(categories), bool)
        values[known] = mapping
    if missing is not None:
        values[missing] = est.encoded_missing_value
    return values


@symbolic(DIALECT, _MODULE + "TargetEncoder")
def target_encoder(g: GraphBuilder, x: Features, est: Any) -> Features:
    """TargetEncoder.transform(X): encodings_ of each value's category, target_mean_ for an unknown one"""
    read(g, est, "categories", "target_type", ignore=("smooth",))
    classes = len(est.classes_) if est.target_type_ == "multiclass" else 1
    means = np.atleast_1d(np.asarray(est.target_mean_, np.float64))
    parts = []
    for i, column in enumerate(_columns(g, x, est)):
        count = len(est.categories_[i])
        tables = est.encodings_[i * classes : (i + 1) * classes]
        table = np.stack([np.append(t, m) for t, m in zip(tables, means, strict=True)], axis=1)
        code = codes(g, column, est.categories_[i], np.arange(count), count)
        parts.append(g.Gather(table, g.reshape(code, [column.dim(0)]), axis=0))
    return concat(g, parts)


@symbolic(DIALECT, _MODULE + "LabelEncoder")
def label_encoder(g: GraphBuilder, x: Features, est: Any) -> Value:
    """LabelEncoder.transform(y): the number of each label, -1 for an unknown one"""
    return g.Squeeze(_label_numbers(g, x, est), [1])


@symbolic(DIALECT, _MODULE + "LabelBinarizer")
def label_binarizer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """LabelBinarizer.transform(y): pos_label in the column of the label, else neg_label; one column for two labels

    Rows of several labels keep their columns.
    """
    params = read(g, est, "neg_label", "pos_label", "sparse_output")
    count = len(est.classes_)
    if est.y_type_ == "multilabel-indicator":
        given = cast(g, matrix(g, x), ir.DataType.INT64)
        positive = given if params.pos_label == 1 else np.int64(params.pos_label)
        found = g.Where(g.Equal(given, np.int64(0)), np.int64(params.neg_label), positive)
        return Sparse(found) if params.sparse_output else found
    if est.y_type_ not in ("binary", "multiclass"):
        raise unsupported(g, est, f"y of type {est.y_type_}")
    own = np.arange(count) if count > 2 else np.array([1])
    hot = g.Equal(_label_numbers(g, x, est), own)
    found = g.Where(hot, np.int64(params.pos_label), np.int64(params.neg_label))
    return Sparse(found) if params.sparse_output else found


def _label_numbers(g: GraphBuilder, x: Features, est: Any) -> Value:
    label = matrix(g, x)
    column = g.Unsqueeze(label, [1]) if label.rank == 1 else label
    classes = class_array(est.classes_)
    return codes(g, column, classes, np.arange(len(classes)), -1)
