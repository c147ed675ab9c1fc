"""Fourier transforms. A complex tensor is one of floats whose last axis holds the real and the imaginary part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..complex import fourier
from ..complex.arithmetic import absolute, angle
from ..complex.number import from_pair, to_pair
from ..registry import symbolic
from ..value import Value
from .common import DIALECT, int64, scalar_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Ops that give a complex tensor, and ops that take one. No other op may meet one.
COMPLEX_RESULTS = frozenset({"RFFT", "FFT", "IFFT"})
COMPLEX_OPERANDS = frozenset({"ComplexAbs", "Angle", "Real", "Imag", "IRFFT", "FFT", "IFFT"})


@symbolic(DIALECT, "RFFT")
def rfft(g: GraphBuilder, x: Value, length: Value) -> Value:
    """RFFT(input: Treal, fft_length: int32) -> Tcomplex"""
    return to_pair(g, fourier.half_transform(g, x, x.rank - 1, _length(g, length)))


@symbolic(DIALECT, "IRFFT")
def irfft(g: GraphBuilder, x: Value, length: Value) -> Value:
    """IRFFT(input: Tcomplex, fft_length: int32) -> Treal"""
    return fourier.half_inverse(g, from_pair(g, x), x.rank - 2, _length(g, length))


@symbolic(DIALECT, "FFT")
def fft(g: GraphBuilder, x: Value) -> Value:
    """FFT(input: Tcomplex) -> Tcomplex"""
    return to_pair(g, fourier.transform(g, from_pair(g, x), x.rank - 2))


@symbolic(DIALECT, "IFFT")
def ifft(g: GraphBuilder, x: Value) -> Value:
    """IFFT(input: Tcomplex) -> Tcomplex"""
    return to_pair(g, fourier.transform(g, from_pair(g, x), x.rank - 2, inverse=True, power=1.0))


def _length(g: GraphBuilder, length: Value) -> Value:
    return scalar_of(g, int64(g, length))


@symbolic(DIALECT, "ComplexAbs")
def complex_abs(g: GraphBuilder, x: Value) -> Value:
    """ComplexAbs(x: T) -> Tout"""
    return absolute(g, from_pair(g, x))


@symbolic(DIALECT, "Angle")
def complex_angle(g: GraphBuilder, x: Value) -> Value:
    """Angle(input: T) -> Tout"""
    return angle(g, from_pair(g, x))


@symbolic(DIALECT, "Real")
def real(g: GraphBuilder, x: Value) -> Value:
    """Real(input: T) -> Tout"""
    return from_pair(g, x).real


@symbolic(DIALECT, "Imag")
def imag(g: GraphBuilder, x: Value) -> Value:
    """Imag(input: T) -> Tout"""
    return from_pair(g, x).imag
