"""An array whose numbers are not known yet: numpy's protocols lead here, and the builder writes operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..builder import GraphBuilder
from ..dims import Dim
from ..value import Value

_ANY = "the numbers are not known while the code is traced"


class TraceError(TypeError):
    """The code does what can't be traced."""


class TracedArray(NDArrayOperatorsMixin):
    """A value of the graph that behaves like a numpy array.

    Sizes that are open (the number of rows) are `Dim`s. A view shares its data with the array it was taken from, as in
    numpy; since writing to one would change the other, that is refused.

    Args:
        g: The builder.
        value: The value.
        base: Array whose data it shares.
        index: Where in the base it was taken from.
    """

    __array_priority__ = 1000

    def __init__(self, g: GraphBuilder, value: Value, base: TracedArray | None = None, index: Any = None):
        self.builder = g
        self._value = value
        self._base = base
        self._index = index
        self._version = 0
        self._written_view: TracedArray | None = None
        self._base_version = base._version if base is not None else 0
        self.read_only = False

    # --- the data ----------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The value as it is now."""
        if self._written_view is not None:
            raise TraceError("writing to a view, which changes the array that it was taken from: take a copy")
        if self._base is not None and self._base._changed_since(self._base_version):
            raise TraceError("a view is used after the array that it was taken from was written to: take a copy")
        return self._value

    def _changed_since(self, version: int) -> bool:
        if self._version != version:
            return True
        return self._base is not None and self._base._changed_since(self._base_version)

    def write(self, value: Value) -> None:
        """Puts other numbers into the array.

        A view may be written to where it goes right back to its place, as in ``x[:, 0] += 1``.
        """
        if self.read_only or (self._base is not None and self._base.read_only):
            raise TraceError("writing to the array that was given, which its owner may use again: take a copy")
        if value.dtype is not self._value.dtype:
            value = self.builder.Cast(value, to=self._value.element)
        if self._base is not None:
            if self._index is None or self._base._base is not None:
                raise TraceError("writing to a view, which changes the array that it was taken from: take a copy")
            self._base._written_view = self
        self._value = value
        self._version += 1

    @property
    def known(self) -> np.ndarray | None:
        """The numbers, where they are known."""
        return self.value.array

    # --- attributes --------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype:
        """Its dtype; strings are objects."""
        element = self._value.element
        return np.dtype(object) if element is ir.DataType.STRING else element.numpy()

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its sizes: ints and `Dim`s."""
        return tuple(self._value.sizes or ())

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._value.rank

    @property
    def size(self) -> Any:
        """Number of elements."""
        total: Any = 1
        for size in self.shape:
            total = total * size
        return total

    @property
    def T(self) -> Any:
        """Axes in the opposite order."""
        return np.transpose(self)

    # --- numpy's protocols -------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from .ufuncs import apply

        return apply(self.builder, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        from .functions import FUNCTIONS

        known = FUNCTIONS.get(function)
        if known is None:
            raise TraceError(f"{function.__module__}.{function.__name__} is not known to the tracing of numpy code")
        return known(self.builder, *args, **options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        known = self.known
        if known is None:
            raise TraceError(f"a real array is asked for, but {_ANY}")
        return np.array(known, dtype)

    def __getitem__(self, index: Any) -> Any:
        from .indexing import get

        return get(self, index)

    def __setitem__(self, index: Any, new: Any) -> None:
        from .indexing import put

        if self._written_view is not None and new is self._written_view and index == new._index:
            self._written_view = None
        put(self, index, new)

    # --- what needs numbers ------------------------------------------------------------------------------------------

    def _number(self, kind: type) -> Any:
        if self.known is None:
            raise TraceError(f"a branch or a loop depends on the data, but {_ANY}")
        return kind(self.known)

    def __bool__(self) -> bool:
        return bool(self._number(bool))

    def __int__(self) -> int:
        return int(self._number(int))

    def __index__(self) -> int:
        known = self.known
        if known is None:
            raise TraceError(f"an index depends on the data, but {_ANY}")
        return known.__index__()

    def __float__(self) -> float:
        return float(self._number(float))

    def __len__(self) -> int:
        first = self.shape[0]
        if isinstance(first, Dim):
            raise TraceError("the number of rows is not known while the code is traced")
        return int(first)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def tolist(self) -> Any:
        """The numbers as lists, where they are known."""
        return np.asarray(self).tolist()

    def __getattr__(self, name: str) -> Any:
        from .functions import METHODS

        method = METHODS.get(name)
        if method is None:
            raise AttributeError(f"an array that is traced has no {name!r}")
        return lambda *args, **options: method(self.builder, self, *args, **options)


def traced(g: GraphBuilder, thing: Any, dtype: np.dtype | None = None) -> TracedArray:
    """A traced array, array, number or nested list as a traced array.

    Args:
        g: The builder.
        thing: What it is made of.
        dtype: Dtype to give it.
    """
    if not isinstance(thing, TracedArray):
        if isinstance(thing, (list, tuple)) and any(_holds_traced(t) for t in thing):
            parts = [traced(g, t) for t in thing]
            thing = np.stack(parts)
        else:
            thing = TracedArray(g, g.constant(_plain(np.asarray(thing))))
    if dtype is not None and thing.dtype != dtype:
        return TracedArray(g, g.Cast(thing.value, to=ir.DataType.from_numpy(dtype)))
    found: TracedArray = thing
    return found


def _plain(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype == object and not all(isinstance(v, str) for v in array.reshape(-1)):
        raise TraceError("an array of Python objects")
    return array


def _holds_traced(thing: Any) -> bool:
    return isinstance(thing, TracedArray) or (isinstance(thing, (list, tuple)) and any(map(_holds_traced, thing)))


def untraced(thing: Any) -> Any:
    """The value of a traced array; anything else as it is."""
    return thing.value if isinstance(thing, TracedArray) else thing


def refuse(what: str) -> NoReturn:
    """Raises a TraceError."""
    raise TraceError(what)
