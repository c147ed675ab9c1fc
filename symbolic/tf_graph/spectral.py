"""Fourier transforms. A complex tensor is one of floats whose last axis holds the real and the imaginary part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import symbolic
from ..value import Value
from .common import DIALECT, int64, scalar_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Ops that give a complex tensor, and ops that take one. No other op may meet one.
COMPLEX_RESULTS = frozenset({"RFFT", "FFT", "IFFT"})
COMPLEX_OPERANDS = frozenset({"ComplexAbs", "Real", "Imag", "IRFFT", "FFT", "IFFT"})


@symbolic(DIALECT, "RFFT")
def rfft(g: GraphBuilder, x: Value, length: Value) -> Value:
    """RFFT(input: Treal, fft_length: int32) -> Tcomplex"""
    return g.DFT(g.Unsqueeze(x, [-1]), scalar_of(g, int64(g, length)), x.rank - 1, onesided=1)


@symbolic(DIALECT, "IRFFT")
def irfft(g: GraphBuilder, x: Value, length: Value) -> Value:
    """IRFFT(input: Tcomplex, fft_length: int32) -> Treal"""
    size = scalar_of(g, int64(g, length))
    bins = g.Add(g.Div(size, 2), 1)
    # onnxruntime's DFT misreads frequencies beyond those that the length has; TensorFlow cuts them off
    if bins.array is None or x.dim(-2) != int(bins.array):
        x = g.Slice(x, [0], g.Unsqueeze(bins, [0]), [x.rank - 2])
    signal = g.DFT(x, size, x.rank - 2, inverse=1, onesided=1)
    return g.Squeeze(signal, [-1])


@symbolic(DIALECT, "FFT")
def fft(g: GraphBuilder, x: Value) -> Value:
    """FFT(input: Tcomplex) -> Tcomplex"""
    return g.DFT(x, None, x.rank - 2)


@symbolic(DIALECT, "IFFT")
def ifft(g: GraphBuilder, x: Value) -> Value:
    """IFFT(input: Tcomplex) -> Tcomplex"""
    return g.DFT(x, None, x.rank - 2, inverse=1)


@symbolic(DIALECT, "ComplexAbs")
def complex_abs(g: GraphBuilder, x: Value) -> Value:
    """ComplexAbs(x: T) -> Tout"""
    return g.ReduceL2(x, [-1], keepdims=0)


@symbolic(DIALECT, "Real")
def real(g: GraphBuilder, x: Value) -> Value:
    """Real(input: T) -> Tout"""
    return g.Gather(x, 0, axis=-1)


@symbolic(DIALECT, "Imag")
def imag(g: GraphBuilder, x: Value) -> Value:
    """Imag(input: T) -> Tout"""
    return g.Gather(x, 1, axis=-1)
