"""Fourier transforms. A complex tensor is one of floats whose last axis holds the real and the imaginary part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..complex import fourier
from ..complex.arithmetic import absolute, angle
from ..complex.number import from_pair, to_pair
from ..registry import symbolic
from ..value import Value
from .common import DIALECT, int64

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Ops that give a complex tensor, and ops that take one. No other op may meet one.
COMPLEX_RESULTS = frozenset(f"{name}{axes}" for name in ("RFFT", "FFT", "IFFT") for axes in ("", "2D", "3D"))
COMPLEX_OPERANDS = frozenset(f"{name}{axes}" for name in ("IRFFT", "FFT", "IFFT") for axes in ("", "2D", "3D")) | {
    "ComplexAbs", "Angle", "Real", "Imag",
}  # fmt: skip


def _register(axes: int) -> None:
    """The transforms of the last axes."""
    suffix = f"{axes}D" if axes > 1 else ""

    @symbolic(DIALECT, f"RFFT{suffix}")
    def rfft(g: GraphBuilder, x: Value, length: Value) -> Value:
        lengths, last = _lengths(g, length, axes), x.rank - 1
        z = fourier.half_transform(g, x, last, lengths[-1])
        for i in range(1, axes):
            z = fourier.transform(g, z, last - i, lengths[-1 - i])
        return to_pair(g, z)

    @symbolic(DIALECT, f"IRFFT{suffix}")
    def irfft(g: GraphBuilder, x: Value, length: Value) -> Value:
        z, lengths, last = from_pair(g, x), _lengths(g, length, axes), x.rank - 2
        for i in range(1, axes):
            z = fourier.transform(g, z, last - i, lengths[-1 - i], inverse=True, power=1.0)
        return fourier.half_inverse(g, z, last, lengths[-1])

    @symbolic(DIALECT, f"FFT{suffix}")
    def fft(g: GraphBuilder, x: Value) -> Value:
        return _whole(g, x, axes, inverse=False)

    @symbolic(DIALECT, f"IFFT{suffix}")
    def ifft(g: GraphBuilder, x: Value) -> Value:
        return _whole(g, x, axes, inverse=True)

    rfft.__doc__ = f"RFFT{suffix}(input: Treal, fft_length: int32) -> Tcomplex"
    irfft.__doc__ = f"IRFFT{suffix}(input: Tcomplex, fft_length: int32) -> Treal"
    fft.__doc__ = f"FFT{suffix}(input: Tcomplex) -> Tcomplex"
    ifft.__doc__ = f"IFFT{suffix}(input: Tcomplex) -> Tcomplex"


def _whole(g: GraphBuilder, x: Value, axes: int, *, inverse: bool) -> Value:
    z = from_pair(g, x)
    for i in range(axes):
        z = fourier.transform(g, z, x.rank - 2 - i, inverse=inverse, power=float(inverse))
    return to_pair(g, z)


def _lengths(g: GraphBuilder, lengths: Value, count: int) -> list[Value]:
    flat = g.Reshape(int64(g, lengths), [-1])
    return [g.Gather(flat, i, axis=0) for i in range(count)]


for _axes in (1, 2, 3):
    _register(_axes)


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
