"""Frequencies and shifts of spectra; the transforms themselves stand in dialect ``aten.complex``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, value_of
from .shape import axis_of, roll, size_at


def _frequencies(g: GraphBuilder, index: Value, n: int | Dim, d: float, dtype: DataType | None) -> Value:
    """index / (n d)"""
    wanted = dtype or DataType.FLOAT
    if isinstance(n, int):
        factor = value_of(g, 1.0 / (n * d), wanted)
    else:
        factor = g.Reciprocal(g.Mul(g.Cast(g.size(n), to=wanted), d))
    return g.Mul(g.Cast(index, to=wanted), factor)


@symbolic("aten", "fft_fftfreq")
def fft_fftfreq(g: GraphBuilder, n: int | Dim, d: float = 1.0, dtype: DataType | None = None) -> Value:
    """aten::fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, ...) -> Tensor"""
    half = (n + 1) // 2
    index = g.Range(0, g.size(n), 1)
    index = g.Where(g.Less(index, g.size(half)), index, g.Sub(index, g.size(n)))
    return _frequencies(g, index, n, d, dtype)


@symbolic("aten", "fft_rfftfreq")
def fft_rfftfreq(g: GraphBuilder, n: int | Dim, d: float = 1.0, dtype: DataType | None = None) -> Value:
    """aten::fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, ...) -> Tensor"""
    return _frequencies(g, g.Range(0, g.size(n // 2 + 1), 1), n, d, dtype)


def _shifted(g: GraphBuilder, x: Value, dim: Sequence[int] | int | None, back: bool) -> Value:
    axes = list(range(x.rank)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for axis in (axis_of(a, x.rank) for a in axes):
        size = size_at(g, x, axis)
        if isinstance(size, int):
            x = roll(g, x, [(size + 1) // 2 if back else size // 2], [axis])
            continue
        # cut in two at the middle, the second part first
        count: Any = size if isinstance(size, Value) else g.size(size)
        middle = g.Unsqueeze(g.Div(count, 2) if back else g.Div(g.Add(count, 1), 2), [0])
        first, second = g.Slice(x, [0], middle, [axis]), g.Slice(x, middle, [np.iinfo(np.int64).max], [axis])
        x = g.Concat(second, first, axis=axis)
    return x


@symbolic("aten", "fft_fftshift")
def fft_fftshift(g: GraphBuilder, self: Value, dim: Sequence[int] | int | None = None) -> Value:
    """aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor"""
    return _shifted(g, self, dim, False)


@symbolic("aten", "fft_ifftshift")
def fft_ifftshift(g: GraphBuilder, self: Value, dim: Sequence[int] | int | None = None) -> Value:
    """aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor"""
    return _shifted(g, self, dim, True)
