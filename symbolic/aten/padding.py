"""Padding in all its modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import NARROW, DataType, Scalar, cast, unsupported, value_of
from .shape import size_at

_END = np.iinfo(np.int64).max


def _sides(pad: Sequence[Any], rank: int) -> tuple[list[Any], list[Any]]:
    """torch pads from the last axis backwards, begin and end side by side; ONNX all begins, then all ends."""
    begins, ends = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        begins[rank - 1 - i], ends[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return begins, ends


def _cropped(g: GraphBuilder, x: Value, begins: list[Any], ends: list[Any]) -> Value:
    """The tensor without what negative padding takes away; the padding that is left is not negative."""
    axes = [i for i in range(x.rank) if _negative(begins[i]) or _negative(ends[i])]
    if not axes:
        return x
    starts = [-min(begins[i], 0) for i in axes]
    stops = [ends[i] if _negative(ends[i]) else _END for i in axes]
    for i in axes:
        begins[i], ends[i] = max(begins[i], 0), max(ends[i], 0)
    return g.Slice(x, starts, stops, axes)


def _negative(size: Any) -> bool:
    return isinstance(size, int) and size < 0


@symbolic("aten", "constant_pad_nd")
def constant_pad_nd(g: GraphBuilder, self: Value, pad: Sequence[Any], value: Scalar = 0) -> Value:
    """aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"""
    begins, ends = _sides(pad, self.rank)
    x = _cropped(g, self, begins, ends)
    return _padded(g, x, begins, ends, "constant", value_of(g, value, self.element))


def _padded(
    g: GraphBuilder, x: Value, begins: list[Any], ends: list[Any], mode: str, value: Value | None = None
) -> Value:
    if all(isinstance(p, int) and p == 0 for p in (*begins, *ends)):
        return x
    dtype = x.element
    if mode != "constant" and any(x.dim(i) == 0 and (begins[i] or ends[i]) for i in range(x.rank)):
        raise unsupported(f"{mode} padding of an empty tensor", g)
    if dtype in NARROW or dtype == DataType.BOOL:
        x = cast(g, x, DataType.INT32)
        value = None if value is None else cast(g, value, DataType.INT32)
    return cast(g, g.Pad(x, g.shape_vector([*begins, *ends]), value, None, mode=mode), dtype)


@symbolic("aten", "pad")
def pad(g: GraphBuilder, self: Value, pad: Sequence[Any], mode: str = "constant", value: float | None = None) -> Value:
    """aten::pad(Tensor self, SymInt[] pad, str mode='constant', float? value=None) -> Tensor"""
    if mode == "constant":
        return constant_pad_nd(g, self, pad, value or 0)
    if mode == "circular":
        return _circular(g, self, pad)
    if mode not in ("reflect", "replicate"):
        raise unsupported(f"padding mode {mode!r}", g)
    begins, ends = _sides(pad, self.rank)
    if any(_negative(p) for p in (*begins, *ends)):
        return _picked(g, self, begins, ends, mode)
    return _padded(g, self, begins, ends, "edge" if mode == "replicate" else "reflect")


def _picked(g: GraphBuilder, x: Value, begins: list[Any], ends: list[Any], mode: str) -> Value:
    """Padding of which some is negative, by index: it counts from the edges of the whole tensor."""
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        size = x.dim(axis)
        if begin == end == 0:
            continue
        if not (isinstance(begin, int) and isinstance(end, int) and isinstance(size, int)):
            raise unsupported(f"negative {mode} padding of an open size", g)
        places = np.arange(-begin, size + end, dtype=np.int64)
        if mode == "reflect":
            places = np.abs(places)
            places = np.where(places >= size, 2 * (size - 1) - places, places)
        x = g.Gather(x, g.constant(np.clip(places, 0, size - 1)), axis=axis)
    return x


def _circular(g: GraphBuilder, x: Value, pad: Sequence[Any]) -> Value:
    begins, ends = _sides(pad, x.rank)
    x = _cropped(g, x, begins, ends)
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        parts = [x]
        if not (isinstance(begin, int) and begin == 0):
            size = size_at(g, x, axis)
            start = size - begin if not isinstance(size, Value) else g.Sub(size, begin)
            parts.insert(0, g.Slice(x, g.shape_vector([start]), [_END], [axis]))
        if not (isinstance(end, int) and end == 0):
            parts.append(g.Slice(x, [0], g.shape_vector([end]), [axis]))
        x = g.Concat(*parts, axis=axis) if len(parts) > 1 else x
    return x


def _register(mode: str, suffix: str) -> None:
    def function(g: GraphBuilder, self: Value, padding: Sequence[Any]) -> Value:
        return pad(g, self, padding, mode)

    name = f"{'reflection' if mode == 'reflect' else 'replication'}_pad{suffix}"
    function.__doc__ = f"aten::{name}(Tensor self, SymInt[] padding) -> Tensor"
    function.__name__ = function.__qualname__ = name
    symbolic("aten", name)(function)


for _mode in ("reflect", "replicate"):
    for _suffix in ("1d", "2d", "3d"):
        _register(_mode, _suffix)
