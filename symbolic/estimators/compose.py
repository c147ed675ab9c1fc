"""Estimators made of estimators: Pipeline, ColumnTransformer, FeatureUnion, FunctionTransformer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.dtypes import as_float
from ..registry import symbolic
from .calling import (
    DIALECT,
    Features,
    Frame,
    Result,
    Sparse,
    call,
    children,
    columns,
    hstack,
    matrix,
    read,
    select,
    transform,
    unsupported,
)

_PIPELINE = ("sklearn.pipeline.Pipeline", "imblearn.pipeline.Pipeline")
_COLUMNS = "sklearn.compose.ColumnTransformer"
_UNION = "sklearn.pipeline.FeatureUnion"


@children(*_PIPELINE)
def _steps(est: Any) -> list[tuple[str, Any]]:
    """The steps; samplers of imbalanced-learn act in the fit only."""
    return [(name, step) for name, step in est.steps if not hasattr(step, "fit_resample")]


@symbolic(DIALECT, *_PIPELINE)
def pipeline(g: GraphBuilder, x: Features, est: Any) -> Result:
    """Pipeline: the last step of the transform of all steps before it"""
    read(g, est, "steps", "transform_input", ignore=("memory",))
    *before, (name, last) = _steps(est)
    for step, transformer in before:
        x = transform(g, transformer, x, step)
    return x if last is None or isinstance(last, str) else call(g, last, x, name)


@children(_COLUMNS)
def _column_transformers(est: Any) -> list[tuple[str, Any]]:
    indices = est._transformer_to_input_indices
    return [(name, t) for name, t, _ in est.transformers_ if len(indices.get(name, ()))]


@symbolic(DIALECT, _COLUMNS)
def column_transformer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """ColumnTransformer.transform(X): each transformer on its columns, side by side"""
    read(
        g, est, "transformers", "remainder", "transformer_weights",
        ignore=("sparse_threshold", "verbose_feature_names_out", "force_int_remainder_cols"),
    )  # fmt: skip
    weights = est.transformer_weights or {}
    parts: list[Features] = []
    for name, transformer, _ in est.transformers_:
        indices = [int(i) for i in est._transformer_to_input_indices.get(name, ())]
        if not indices or (isinstance(transformer, str) and transformer == "drop"):
            continue
        part = transform(g, transformer, input_columns(g, x, est, indices), name)
        parts.append(_weighted(g, part, weights.get(name)))
    if not parts:
        raise unsupported(g, est, "it drops all columns")
    if getattr(est, "_sklearn_output_config", {}).get("transform") in ("pandas", "polars"):
        # a DataFrame keeps the dtype of each column
        own = [c for part in parts for c in columns(g, part)]
        return Frame(tuple(est.get_feature_names_out()), tuple(own))
    if len(parts) == 1 and not est.sparse_output_ and not isinstance(parts[0], Sparse):
        return parts[0]
    side_by_side = hstack(g, parts)
    return Sparse(side_by_side) if est.sparse_output_ else side_by_side


def input_columns(g: GraphBuilder, x: Features, est: Any, indices: list[int]) -> Features:
    """The columns at the indices of the fit; those of a DataFrame are found by their names."""
    names = getattr(est, "feature_names_in_", None)
    if isinstance(x, Frame) and names is not None:
        missing = [str(names[i]) for i in indices if names[i] not in x.names]
        if missing:
            raise unsupported(g, est, f"the columns {', '.join(missing)} are not among its inputs")
        indices = [x.names.index(names[i]) for i in indices]
    return select(g, x, indices)


def _weighted(g: GraphBuilder, part: Features, weight: float | None) -> Features:
    if weight is None:
        return part
    value = as_float(g, matrix(g, part))
    scaled = g.Mul(value, np.array(weight, value.element.numpy()))
    return Sparse(scaled) if isinstance(part, Sparse) else scaled


@children(_UNION)
def _united(est: Any) -> list[tuple[str, Any]]:
    return list(est.transformer_list)


@symbolic(DIALECT, _UNION)
def feature_union(g: GraphBuilder, x: Features, est: Any) -> Features:
    """FeatureUnion.transform(X): all transformers on X, side by side"""
    read(g, est, "transformer_list", "transformer_weights", ignore=("verbose_feature_names_out",))
    weights = est.transformer_weights or {}
    parts = [
        _weighted(g, transform(g, t, x, name), weights.get(name))
        for name, t in est.transformer_list
        if not (isinstance(t, str) and t == "drop")
    ]
    if not parts:
        raise unsupported(g, est, "it drops all transformers")
    side_by_side = hstack(g, parts)
    return Sparse(side_by_side) if any(isinstance(p, Sparse) for p in parts) else side_by_side
