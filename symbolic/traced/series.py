"""A column of a DataFrame that is traced, where pandas computes otherwise than numpy does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ml.categories import codes, texts
from ..value import Value
from .array import TracedArray, TraceError, traced

_DIVISIONS = ("floor_divide", "remainder", "divmod", "fmod")
#: numpy's functions that call the method of a Series, with the function that skips missing values.
_SKIPPING = {"sum": np.nansum, "mean": np.nanmean, "min": np.nanmin, "max": np.nanmax}
_OTHERS = ("prod", "var", "std", "median", "any", "all", "argmin", "argmax", "cumsum")


class TracedSeries(TracedArray):
    """A traced array of one axis with the methods of a pandas Series."""

    @classmethod
    def of(cls, array: TracedArray) -> TracedSeries:
        """A series of the array's numbers as they are now."""
        return array if isinstance(array, cls) else cls(array.builder, array.value)

    def _new(self, array: Any) -> TracedSeries:
        return TracedSeries.of(traced(self.builder, array))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc.__name__ in _DIVISIONS and all(_dtype(x).kind in "iub" for x in inputs):
            divisor = np.asarray(inputs[1]) if not isinstance(inputs[1], TracedArray) else inputs[1].known
            if divisor is None or not np.all(divisor):
                raise TraceError("a division of whole numbers that pandas makes floats of where a divisor is 0")
        if method != "__call__":
            raise TraceError(f"np.{ufunc.__name__}.{method} of a Series: take its values")
        found = super().__array_ufunc__(ufunc, method, *inputs, **options)
        return self._new(found) if isinstance(found, TracedArray) and found.ndim == 1 else found

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        name = {"amin": "min", "amax": "max"}.get(function.__name__, function.__name__)
        if args and args[0] is self and (name in _SKIPPING or name in _OTHERS):
            return getattr(self, name)(*args[1:], **options)
        return super().__array_function__(function, types, args, options)

    # --- missing values ----------------------------------------------------------------------------------------------

    def isna(self) -> TracedSeries:
        """Where a value is missing; missing strings are the strings ``nan`` and ``None``."""
        if self.dtype == object:
            flags: Any = np.logical_or(_equal(self, "nan"), _equal(self, "None"))
            return self._new(flags)
        return self._new(np.isnan(self) if self.dtype.kind == "f" else np.zeros_like(self, dtype=bool))

    isnull = isna

    def notna(self) -> TracedSeries:
        """Where a value is known."""
        return self._new(np.logical_not(self.isna()))

    notnull = notna

    def fillna(self, value: Any) -> TracedSeries:
        """The value in the place of missing ones."""
        return self._new(np.where(self.isna(), self._like(value), self))

    def _like(self, value: Any) -> Any:
        """A number that doesn't change the dtype of a float series."""
        plain = isinstance(value, (int, float)) and self.dtype.kind == "f"
        return np.asarray(value, self.dtype) if plain else value

    # --- values ------------------------------------------------------------------------------------------------------

    def where(self, condition: Any, other: Any = np.nan) -> TracedSeries:
        """The series where the condition holds, else the other."""
        return self._new(np.where(condition, self, self._like(other)))

    def mask(self, condition: Any, other: Any = np.nan) -> TracedSeries:
        """The other where the condition holds, else the series."""
        return self._new(np.where(condition, self._like(other), self))

    def clip(self, lower: Any = None, upper: Any = None) -> TracedSeries:
        """The series between two bounds."""
        return self._new(np.clip(self, lower, upper)) if lower is not None or upper is not None else self._new(self)

    def abs(self) -> TracedSeries:
        """Absolute values."""
        return self._new(np.abs(self))

    def round(self, decimals: int = 0) -> TracedSeries:
        """Rounded values."""
        return self._new(np.round(self, decimals))

    def isin(self, values: Any) -> TracedSeries:
        """Where a value is one of those."""
        keys = list(values)
        found = self._codes(keys, [1] * len(keys), 0)
        return TracedSeries(self.builder, self.builder.Equal(found, np.int64(1)))

    def map(self, table: Any) -> TracedSeries:
        """What a dict has for each value, NaN for others."""
        if not isinstance(table, Mapping):
            raise TraceError(
                "Series.map of a function, which pandas calls for each value: write it for the whole column"
            )
        keys, results = list(table), np.asarray(list(table.values()))
        if results.dtype.kind not in "iuf":
            raise TraceError("Series.map to something else than numbers")
        numbers = np.append(results.astype(np.float64), np.nan)
        place = self._codes(keys, list(range(len(keys))), len(keys))
        return TracedSeries(self.builder, self.builder.Gather(numbers, place, axis=0))

    def _codes(self, keys: list[Any], results: list[int], unknown: int) -> Value:
        g, known = self.builder, np.asarray(keys, object if self.dtype == object else None)
        if not keys or (texts(known) is not None) != (self.dtype == object):
            raise TraceError("values of another kind than the column's are looked up")
        column = g.Unsqueeze(self.value, [1])
        return g.Squeeze(codes(g, column, known, np.array(results, np.int64), unknown), [1])

    def apply(self, function: Any) -> Any:
        """What a function of numpy makes of the values."""
        if not isinstance(function, np.ufunc):
            raise TraceError("Series.apply of a function that is called for each value: write it for the whole column")
        return function(self)

    # --- other forms -------------------------------------------------------------------------------------------------

    @property
    def values(self) -> TracedArray:
        """The numbers as an array."""
        return self.to_numpy()

    def to_numpy(self, *_: Any, **__: Any) -> TracedArray:
        """The numbers as an array."""
        return TracedArray(self.builder, self.value)

    def copy(self, deep: bool = True) -> TracedSeries:
        """A series that can be written to."""
        return TracedSeries(self.builder, self.value)

    def to_frame(self, name: Any = 0) -> Any:
        """A frame of this column."""
        from .frame import TracedFrame

        return TracedFrame(self.builder, {name: self})

    def __getattr__(self, name: str) -> Any:
        if name in _SKIPPING:
            return lambda axis=0: self._skipping(name)
        if name in _OTHERS:
            raise TraceError(f"Series.{name}, which skips missing values: take the values of the series")
        found = super().__getattr__(name)

        def method(*args: Any, **options: Any) -> Any:
            made = found(*args, **options)
            return self._new(made) if isinstance(made, TracedArray) and made.ndim == 1 else made

        return method

    def _skipping(self, name: str) -> Any:
        plain: Any = getattr(np, name) if self.dtype.kind != "f" else _SKIPPING[name]
        return plain(self.to_numpy())


def _dtype(x: Any) -> np.dtype:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _equal(x: TracedArray, word: str) -> Any:
    return np.equal(x, np.array(word, object))
