"""A copy of a function with other globals: numpy's constructors know traced arrays, checks are left out."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..dims import Dim
from .array import TracedArray, TraceError, _holds_traced, traced
from .frame import TracedFrame
from .functions import FUNCTIONS


class NumpyHere:
    """numpy, with constructors that take traced arrays and open sizes; everything else is numpy's own."""

    def __init__(self, g: GraphBuilder):
        self._builder = g
        self.c_ = _Columns()

    def __getattr__(self, name: str) -> Any:
        if name in ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "array"):
            return lambda x, dtype=None, **options: self._array(getattr(np, name), x, dtype, options)
        if name in ("zeros", "ones", "empty"):
            fill = 1 if name == "ones" else 0
            return lambda shape, dtype=float, **options: self._filled(shape, fill, dtype, options)
        if name == "full":
            return lambda shape, fill, dtype=None, **options: self._filled(shape, fill, dtype, options)
        if name == "random":
            raise TraceError("np.random: the result is another one each time")
        if name == "take":  # numpy looks at the array only, not at the indices
            return lambda x, places, *args, **options: FUNCTIONS[np.take](self._builder, x, places, *args, **options)
        return getattr(np, name)

    def _array(self, own: Callable[..., Any], x: Any, dtype: Any, options: dict[str, Any]) -> Any:
        if isinstance(x, TracedFrame):
            x = x.to_numpy()
        if not isinstance(x, TracedArray) and not _holds_traced(x):
            return own(x, dtype=dtype, **options)
        found = traced(self._builder, x)
        if dtype is not None and found.dtype != np.dtype(dtype):
            found = found.astype(dtype)
        elif own is np.array and options.get("copy", True):
            found = found.copy()
        return found

    def _filled(self, shape: Any, fill: Any, dtype: Any, options: dict[str, Any]) -> Any:
        sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        if not any(isinstance(s, Dim) for s in sizes):
            return np.full(shape, fill, dtype, **options)
        g = self._builder
        kind = np.dtype(dtype) if dtype is not None else np.asarray(fill).dtype
        start = g.Cast(traced(g, fill).value, to=ir.DataType.from_numpy(kind))
        return TracedArray(g, g.expand(start, list(sizes)))


class _Columns:
    """``np.c_``."""

    def __getitem__(self, parts: Any) -> Any:
        return np.column_stack(parts if isinstance(parts, tuple) else (parts,))


def as_given(x: Any, *_: Any, dtype: Any = None, **__: Any) -> Any:
    """What ``check_array`` gives: the array, in the dtype that is asked for."""
    if isinstance(x, TracedFrame):
        x = x.to_numpy()
    if isinstance(dtype, (list, tuple)):
        dtype = None if x.dtype in [np.dtype(d) for d in dtype] else dtype[0]
    if dtype == "numeric" or dtype is None or x.dtype == np.dtype(dtype):
        return x
    return x.astype(dtype)


#: scikit-learn's checks, by name.
_CHECKS: dict[str, Callable[..., Any]] = {
    "check_array": as_given,
    "as_float_array": lambda x, **options: as_given(x, dtype=[np.float32, np.float64]),
    "validate_data": lambda est, x="no_validation", *args, **options: as_given(x, **options),
    "check_is_fitted": lambda *args, **options: None,
}


def retargeted(g: GraphBuilder, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for traced arrays; the given one, and its module, stay as they are."""
    if not isinstance(function, types.FunctionType):
        return function
    changes: dict[str, Any] = {}
    for name, thing in function.__globals__.items():
        if thing is np:
            changes[name] = NumpyHere(g)
        elif getattr(thing, "__name__", "") in _CHECKS and getattr(thing, "__module__", "").startswith("sklearn.utils"):
            changes[name] = _CHECKS[thing.__name__]
    if not changes:
        return function
    changed = types.FunctionType(
        function.__code__, {**function.__globals__, **changes}, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    changed.__kwdefaults__ = function.__kwdefaults__
    return changed
