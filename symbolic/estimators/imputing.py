"""Missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.categories import is_missing, is_nan
from ..ml.dtypes import as_float, cast
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Features, Sparse, matrix, read, unsupported


@symbolic(DIALECT, "sklearn.impute.SimpleImputer")
def simple_imputer(g: GraphBuilder, x: Features, est: Any) -> Features:
    """SimpleImputer.transform(X): statistics_ of the column where X is missing"""
    params = read(
        g, est, "missing_values", "strategy", "add_indicator", "keep_empty_features", ignore=("fill_value",)
    )  # fmt: skip
    if isinstance(x, Sparse):  # the numbers that it holds, filled in the same way
        return Sparse(matrix(g, simple_imputer(g, x.value, est)))
    rows = matrix(g, x)
    if params.strategy in ("mean", "median"):
        rows = as_float(g, rows)
    if rows.dtype is ir.DataType.STRING and isinstance(params.missing_values, (int, np.number)):
        raise unsupported(g, est, f"missing_values={params.missing_values!r} among strings")
    missing = is_missing(g, rows, params.missing_values)
    statistics = np.asarray(est.statistics_)
    kept = np.arange(len(statistics))
    if not params.keep_empty_features:
        kept = np.array([i for i, s in enumerate(statistics) if not (s is None or is_nan(s))], np.int64)
    filled = rows
    if len(kept):
        fill = statistics[kept]
        if rows.dtype is ir.DataType.STRING:
            fill = np.array([str(f) for f in fill], object)
        else:
            kind = getattr(est, "_fill_dtype", fill.dtype)  # since 1.8
            fill = fill.astype(np.float64).astype(np.float64 if kind.kind == "O" else kind)
            fill = fill.astype(rows.element.numpy())
        taken, holes = rows, missing
        if len(kept) < len(statistics):
            taken, holes = g.Gather(rows, kept, axis=1), g.Gather(missing, kept, axis=1)
        filled = g.Where(holes, fill, taken)
    elif not params.add_indicator:
        raise unsupported(g, est, "it gives no columns at all")
    if not params.add_indicator:
        return filled
    if rows.dtype is ir.DataType.STRING:
        raise unsupported(g, est, "add_indicator=True on strings")
    return with_indicator(g, est, filled if len(kept) else None, missing, rows.element)


def with_indicator(g: GraphBuilder, est: Any, filled: Value | None, missing: Value, dtype: ir.DataType) -> Value:
    """The imputed features, and after them the flags of ``indicator_`` if there is one."""
    if not est.add_indicator:
        assert filled is not None
        return filled
    indicator = est.indicator_
    flags = missing
    if indicator.features == "missing-only":
        flags = g.Gather(missing, np.asarray(indicator.features_, np.int64), axis=1)
    flags = cast(g, flags, dtype)
    return flags if filled is None else g.Concat(filled, flags, axis=1)


@symbolic(DIALECT, "sklearn.impute.MissingIndicator")
def missing_indicator(g: GraphBuilder, x: Features, est: Any) -> Features:
    """MissingIndicator.transform(X): whether X is missing, in the columns features_"""
    params = read(g, est, "missing_values", "features", ignore=("error_on_new", "sparse"))
    missing = is_missing(g, matrix(g, x), params.missing_values)
    if params.features == "missing-only":
        return g.Gather(missing, np.asarray(est.features_, np.int64), axis=1)
    return missing
