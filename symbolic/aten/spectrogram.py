"""Ops about complex numbers on tensors that are real, with real results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .shape import sizes


@symbolic("aten", "isreal")
def isreal(g: GraphBuilder, self: Value) -> Value:
    """aten::isreal(Tensor self) -> Tensor"""
    return g.expand(g.constant(np.array(True)), sizes(g, self))


@symbolic("aten", "stft.default")
def stft(g: GraphBuilder, self: Value, n_fft: int, *arguments: Any, **named: Any) -> Any:
    """aten::stft(Tensor self, int n_fft, ..., bool return_complex=False, ...) -> Tensor"""
    from ..aten_complex import spectrogram  # its folder builds on this one

    return spectrogram.stft(g, self, n_fft, *arguments, **named)


@symbolic("aten", "stft.center")
def stft_center(g: GraphBuilder, self: Value, n_fft: int, *arguments: Any, **named: Any) -> Any:
    """aten::stft.center(Tensor self, int n_fft, ..., bool return_complex=False, ...) -> Tensor"""
    from ..aten_complex import spectrogram

    return spectrogram.stft_center(g, self, n_fft, *arguments, **named)
