"""Parts of traced arrays: taken out, and written to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim
from ..value import Value
from .array import TracedArray, TraceError, traced

_END = np.iinfo(np.int64).max


def _full(index: Any) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _is_mask(index: Any) -> bool:
    return isinstance(index, TracedArray) and index.dtype == bool and index.known is None


def _entries(x: TracedArray, index: Any) -> list[Any]:
    """The index as one entry for each axis (and None for each new one)."""
    entries = list(index) if isinstance(index, tuple) else [index]
    entries = [e.known if isinstance(e, TracedArray) and e.known is not None else e for e in entries]
    used = sum(e is not None and e is not Ellipsis for e in entries)
    fill = [slice(None)] * (x.ndim - used)
    at = next((i for i, e in enumerate(entries) if e is Ellipsis), len(entries))
    return entries[:at] + fill + entries[at + 1 :]


def get(x: TracedArray, index: Any) -> TracedArray:
    """``x[index]``."""
    g, value, shares = x.builder, x.value, True
    axis = 0
    lists = 0
    for entry in _entries(x, index):
        if entry is None:
            value = g.Unsqueeze(value, [axis])
            axis += 1
        elif isinstance(entry, slice):
            value = _sliced(g, value, entry, axis)
            axis += 1
        elif isinstance(entry, (int, np.integer)) or (isinstance(entry, np.ndarray) and entry.ndim == 0):
            value = g.Gather(value, np.int64(_checked(value, int(entry), axis)), axis=axis)
        else:
            lists += 1
            shares = False
            if lists > 1:
                raise TraceError("several lists of indices at once")
            value, added = _listed(g, value, entry, axis)
            axis += added
    return TracedArray(g, value, base=x if shares else None, index=index if shares else None)


def _checked(value: Value, at: int, axis: int) -> int:
    size = value.dim(axis)
    if isinstance(size, int) and not -size <= at < size:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {size}")
    return at


def _sliced(g: GraphBuilder, value: Value, entry: slice, axis: int) -> Value:
    if _full(entry):
        return value
    step = 1 if entry.step is None else int(entry.step)
    start = entry.start if entry.start is not None else (0 if step > 0 else _END)
    stop = entry.stop if entry.stop is not None else (_END if step > 0 else -_END)
    if isinstance(start, Dim) or isinstance(stop, Dim):
        return g.Slice(value, g.shape_vector([start]), g.shape_vector([stop]), [axis], [step])
    return g.Slice(value, [int(start)], [int(stop)], [axis], [step])


def _listed(g: GraphBuilder, value: Value, entry: Any, axis: int) -> tuple[Value, int]:
    """Elements at a list of places, or where a mask holds; and how many axes that gives."""
    if _is_mask(entry):
        raise TraceError("rows chosen by a condition on the data (x[x > 0]): use np.where")
    if isinstance(entry, TracedArray):
        return g.Gather(value, entry.value, axis=axis), entry.ndim
    places = np.asarray(entry)
    if places.dtype == bool:
        if places.ndim != 1 or value.dim(axis) != len(places):
            raise TraceError("a mask of another shape than the axis")
        places = np.flatnonzero(places)
    if places.dtype.kind not in "iu" and places.size:
        raise TraceError(f"indices of dtype {places.dtype}")
    return g.Gather(value, places.astype(np.int64), axis=axis), places.ndim


def put(x: TracedArray, index: Any, new: Any) -> None:
    """``x[index] = new``."""
    g = x.builder
    entries = _entries(x, index if not _is_mask(index) else (index, *([slice(None)] * (x.ndim - index.ndim))))
    if _is_mask(entries[0]):
        _put_where(x, entries, new)
        return
    if any(isinstance(e, TracedArray) for e in entries):
        raise TraceError("writing to places that depend on the data")
    lead = 1 if isinstance(x.shape[0], Dim) else 0
    if lead and not _full(entries[0]):
        raise TraceError("writing to single rows, whose number is not known")
    rest = [int(s) for s in x.shape[lead:]]
    count = int(np.prod(rest))
    chosen = np.arange(count).reshape(rest)[tuple(entries[lead:])]
    rows = list(x.shape[:lead])
    value = traced(g, new, x.dtype).value
    spread = g.reshape(g.expand(value, [*rows, *chosen.shape]), [*rows, chosen.size])
    flat = g.reshape(x.value, [*rows, count])
    order = np.arange(count)
    order[chosen.reshape(-1)] = count + np.arange(chosen.size)
    joined = g.Concat(flat, spread, axis=lead)
    x.write(g.reshape(g.Gather(joined, order, axis=lead), list(x.shape)))


def _put_where(x: TracedArray, entries: list[Any], new: Any) -> None:
    """``x[mask] = new``, ``x[mask, column] = new``."""
    g, mask = x.builder, entries[0]
    if mask.ndim > 1 or all(_full(e) for e in entries[1:]):
        rest: tuple[Any, ...] = ()
        current = TracedArray(g, x.value)
    else:
        rest = (slice(None), *entries[1:])
        current = TracedArray(g, get(x, rest).value)
    value = traced(g, new, x.dtype)
    if value.ndim and value.shape[0] != 1 and isinstance(value.shape[0], Dim):
        raise TraceError("writing rows to places that depend on the data")
    flags = mask.value
    for _ in range(current.ndim - mask.ndim):
        flags = g.Unsqueeze(flags, [flags.rank])
    found = TracedArray(g, g.Where(flags, value.value, current.value))
    if rest:
        put(x, rest, found)
    else:
        x.write(found.value)
