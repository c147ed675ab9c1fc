"""Category codes: the place of a value among known categories.

ONNX strings have no missing value: NaN and None among strings are written as `str` writes them, "nan" and "None".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..schemas import ML_DOMAIN
from ..value import Value
from .dtypes import cast, common


def is_nan(value: Any) -> bool:
    """Whether a category is a missing number."""
    return isinstance(value, (float, np.floating)) and value != value


def texts(categories: np.ndarray) -> list[str] | None:
    """Categories as the strings that the graph compares, or None where they are numbers.

    Raises:
        TypeError: Strings among other things.
    """
    if categories.dtype.kind in "biuf":
        return None
    found = [c for c in categories if not (c is None or is_nan(c))]
    if any(isinstance(c, (str, np.str_)) for c in found) or not found:
        if not all(isinstance(c, (str, np.str_)) for c in found):
            raise TypeError("categories of strings and other things in one column")
        return [str(c) for c in categories]
    if all(isinstance(c, (bool, int, float, np.number, np.bool_)) for c in found):
        return None
    raise TypeError(f"categories of type {type(found[0]).__name__}")


def codes(g: GraphBuilder, x: Value, categories: np.ndarray, results: np.ndarray, unknown: int) -> Value:
    """For each row ``results[i]`` where x is category i, else `unknown`.

    Args:
        x: One column, [batch, 1].
        categories: The categories.
        results: One whole number for each category.
        unknown: Result of a value that is none of them.

    Returns:
        int64[batch, 1].
    """
    words = texts(categories)
    if (words is not None) != (x.dtype is ir.DataType.STRING):
        raise TypeError(f"the column is {x.element.name}, its categories are {'strings' if words else 'numbers'}")
    if words is not None:
        return g.call(  # type: ignore[no-any-return]
            "LabelEncoder",
            x,
            domain=ML_DOMAIN,
            keys_strings=words,
            values_int64s=[int(r) for r in results],
            default_int64=int(unknown),
        )
    hits = g.Cast(matches(g, x, categories), to=ir.DataType.INT64)
    shifted = g.Mul(hits, np.asarray(results, np.int64) - unknown)
    return g.Add(g.ReduceSum(shifted, [1], keepdims=1), np.int64(unknown))


def label_codes(g: GraphBuilder, x: Value, labels: Sequence[Any]) -> Value:
    """The place of each value of a column among labels, in double; NaN for what is none of them: double[batch, 1]."""
    known = np.asarray(labels) if not isinstance(labels[0], str) else np.asarray(labels, object)
    place = codes(g, x, known, np.arange(len(known)), -1)
    absent = g.Less(place, np.int64(0))
    return g.Where(absent, np.float64(np.nan), cast(g, place, ir.DataType.DOUBLE))


def matches(g: GraphBuilder, x: Value, categories: np.ndarray) -> Value:
    """Whether the value of each row is each of these numbers: bool[batch, categories]; NaN is NaN here."""
    numbers = np.asarray(categories.tolist(), np.float64) if categories.dtype == object else categories
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), bool)
    dtype = common(x.element, ir.DataType.from_numpy(numbers.dtype))
    equal = g.Equal(cast(g, x, dtype), g.constant(numbers, dtype))
    if not missing.any():
        return equal
    return g.Or(equal, g.And(is_missing(g, x), missing))


def is_missing(g: GraphBuilder, x: Value, marker: Any = np.nan) -> Value:
    """Where a value is the marker of missing ones: NaN, a number, or a string.

    Raises:
        TypeError: A number among strings.
    """
    if x.dtype is ir.DataType.STRING:
        if not (marker is None or is_nan(marker) or isinstance(marker, str)):
            raise TypeError(f"the missing value {marker!r} among strings")
        found = g.call(
            "LabelEncoder",
            x,
            domain=ML_DOMAIN,
            keys_strings=[str(marker)],
            values_int64s=[1],
            default_int64=0,
        )
        return g.Equal(found, np.int64(1))
    if marker is None or is_nan(marker):
        if x.element not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
            return g.And(cast(g, x, ir.DataType.BOOL), np.zeros((), bool))  # whole numbers are never missing
        return g.IsNaN(cast(g, x, ir.DataType.FLOAT))
    dtype = common(x.element, ir.DataType.from_numpy(np.asarray(marker).dtype))
    return g.Equal(cast(g, x, dtype), g.constant(np.asarray(marker), dtype))
