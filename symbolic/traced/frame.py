"""A DataFrame that is traced: columns by name, and what code of transformers commonly does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..builder import GraphBuilder
from .array import TracedArray, TraceError, traced
from .series import TracedSeries


class TracedFrame(NDArrayOperatorsMixin):
    """Named columns, each one traced array of one axis."""

    def __init__(self, g: GraphBuilder, columns: dict[Any, TracedArray], *, read_only: bool = False):
        self.builder = g
        self._columns = {n: TracedSeries.of(c) for n, c in columns.items()}
        for column in self._columns.values():
            column.read_only = read_only
        self._read_only = read_only

    @property
    def columns(self) -> list[Any]:
        """The names."""
        return list(self._columns)

    @property
    def shape(self) -> tuple[Any, Any]:
        """Rows and columns."""
        return next(iter(self._columns.values())).shape[0], len(self._columns)

    @property
    def values(self) -> TracedArray:
        """All columns side by side."""
        return self.to_numpy()

    def to_numpy(self) -> TracedArray:
        """All columns side by side."""
        stacked: Any = np.stack(list(self._columns.values()), axis=1)
        found: TracedArray = stacked
        return found

    def copy(self, deep: bool = True) -> TracedFrame:
        """A frame that can be written to."""
        return TracedFrame(self.builder, {n: c.copy() for n, c in self._columns.items()})

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns)

    def __contains__(self, name: Any) -> bool:
        return name in self._columns

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            return TracedFrame(self.builder, {n: self._columns[n] for n in name})
        if isinstance(name, TracedArray):
            raise TraceError("rows chosen by a condition on the data: use np.where")
        return self._columns[name]

    def __setitem__(self, name: Any, new: Any) -> None:
        if self._read_only:
            raise TraceError("writing to the frame that was given, which its owner may use again: take a copy")
        value: Any = traced(self.builder, new)
        if value.ndim == 0:
            value = np.full_like(next(iter(self._columns.values())), value, dtype=value.dtype)
        self._columns[name] = TracedSeries(self.builder, value.value)

    def assign(self, **columns: Any) -> TracedFrame:
        """A copy with more columns."""
        found = self.copy()
        for name, new in columns.items():
            found[name] = new(found) if callable(new) else new
        return found

    def drop(self, labels: Any = None, *, columns: Any = None, axis: int = 0) -> TracedFrame:
        """A frame without some columns."""
        gone = columns if columns is not None else labels
        if columns is None and axis not in (1, "columns"):
            raise TraceError("DataFrame.drop of rows")
        names = [gone] if isinstance(gone, str) else list(gone)
        return TracedFrame(self.builder, {n: c for n, c in self._columns.items() if n not in names})

    def each(self, function: Callable[[TracedSeries], Any]) -> TracedFrame:
        """What a function gives of each column."""
        found = {n: function(c) for n, c in self._columns.items()}
        if not all(isinstance(c, TracedArray) and c.ndim == 1 for c in found.values()):
            raise TraceError("a function of a DataFrame's columns that gives no columns")
        return TracedFrame(self.builder, found)

    def apply(self, function: Any, axis: Any = 0) -> TracedFrame:
        """What a function gives of each column."""
        if axis not in (0, "index") or not callable(function):
            raise TraceError("DataFrame.apply of rows: write the function for whole columns")
        return self.each(function)

    def isna(self) -> TracedFrame:
        """Where values are missing."""
        return self.each(lambda c: c.isna())

    isnull = isna

    def notna(self) -> TracedFrame:
        """Where values are known."""
        return self.each(lambda c: c.notna())

    notnull = notna

    def fillna(self, value: Any) -> TracedFrame:
        """A value (or one of a dict for each column) in the place of missing ones."""
        if not isinstance(value, Mapping):
            return self.each(lambda c: c.fillna(value))
        return TracedFrame(self.builder, {n: c.fillna(value[n]) if n in value else c for n, c in self._columns.items()})

    def clip(self, lower: Any = None, upper: Any = None) -> TracedFrame:
        """All columns between two bounds."""
        return self.each(lambda c: c.clip(lower, upper))

    def abs(self) -> TracedFrame:
        """Absolute values."""
        return self.each(lambda c: c.abs())

    def round(self, decimals: int = 0) -> TracedFrame:
        """Rounded values."""
        return self.each(lambda c: c.round(decimals))

    def astype(self, dtype: Any, copy: bool = True) -> TracedFrame:
        """The columns in another dtype, or in one of a dict for each."""
        if not isinstance(dtype, Mapping):
            return self.each(lambda c: c.astype(dtype))
        return TracedFrame(self.builder, {n: c.astype(dtype[n]) if n in dtype else c for n, c in self._columns.items()})

    def rename(self, mapper: Any = None, *, columns: Any = None, axis: Any = None) -> TracedFrame:
        """The columns by other names."""
        names = columns if mapper is None else mapper
        if mapper is not None and axis not in (1, "columns"):
            raise TraceError("DataFrame.rename of rows")
        new = names if callable(names) else lambda n: names.get(n, n)
        return TracedFrame(self.builder, {new(n): c for n, c in self._columns.items()})

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options.get("out") is not None:
            raise TraceError(f"np.{ufunc.__name__}.{method} of a DataFrame")
        frames = [x for x in inputs if isinstance(x, TracedFrame)]
        others = [x for x in inputs if not isinstance(x, TracedFrame)]
        if any(f.columns != frames[0].columns for f in frames) or any(np.ndim(x) for x in others):
            raise TraceError(f"np.{ufunc.__name__} of a DataFrame and something of another shape: take its values")
        made = {}
        for name in frames[0].columns:
            made[name] = ufunc(*(x[name] if isinstance(x, TracedFrame) else x for x in inputs), **options)
        return TracedFrame(self.builder, made)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return function(*(x.values if isinstance(x, TracedFrame) else x for x in args), **options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.values, dtype)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._columns:
            return self._columns[name]
        raise AttributeError(f"a DataFrame that is traced has no {name!r}")
