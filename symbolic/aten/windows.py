"""Window functions. Their lengths are known, so that they are constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, unsupported


def _points(g: GraphBuilder, length: Any, periodic: bool) -> tuple[np.ndarray, int]:
    """Indices of a window and its last one; a periodic window lacks the last point."""
    if not isinstance(length, int):
        raise unsupported("a window of open length", g)
    return np.arange(length, dtype=np.float64), max(length if periodic else length - 1, 1)


def _made(g: GraphBuilder, window: np.ndarray, dtype: DataType | None) -> Value:
    return g.constant(np.ones(1) if window.size == 1 else window, dtype or DataType.FLOAT)


@symbolic("aten", "hann_window")
def hann_window(g: GraphBuilder, window_length: Any, periodic: bool = True, dtype: DataType | None = None) -> Value:
    """aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""
    return hamming_window(g, window_length, periodic, 0.5, 0.5, dtype)


@symbolic("aten", "hamming_window")
def hamming_window(
    g: GraphBuilder, window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
    dtype: DataType | None = None,
) -> Value:  # fmt: skip
    """aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta) -> Tensor"""
    index, last = _points(g, window_length, periodic)
    return _made(g, alpha - beta * np.cos(2 * np.pi * index / last), dtype)


@symbolic("aten", "blackman_window")
def blackman_window(g: GraphBuilder, window_length: Any, periodic: bool = True, dtype: DataType | None = None) -> Value:
    """aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""
    index, last = _points(g, window_length, periodic)
    turn = 2 * np.pi * index / last
    return _made(g, 0.42 - 0.5 * np.cos(turn) + 0.08 * np.cos(2 * turn), dtype)


@symbolic("aten", "bartlett_window")
def bartlett_window(g: GraphBuilder, window_length: Any, periodic: bool = True, dtype: DataType | None = None) -> Value:
    """aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""
    index, last = _points(g, window_length, periodic)
    return _made(g, 1.0 - np.abs(2 * index / last - 1.0), dtype)


@symbolic("aten", "kaiser_window")
def kaiser_window(
    g: GraphBuilder, window_length: Any, periodic: bool = True, beta: float = 12.0, dtype: DataType | None = None
) -> Value:
    """aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None) -> Tensor"""
    index, last = _points(g, window_length, periodic)
    inside = np.maximum(1.0 - (2 * index / last - 1.0) ** 2, 0.0)
    return _made(g, np.i0(beta * np.sqrt(inside)) / np.i0(beta), dtype)
