"""Fourier transforms along one axis or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..aten.promotion import as_float
from ..aten.shape import axis_of
from ..builder import GraphBuilder
from ..complex import arithmetic, fourier
from ..complex.number import Complex, Number, as_complex
from ..registry import symbolic
from ..value import Value
from .operands import DIALECT, refused

Sizes = Sequence[Any] | None
Axes = Sequence[int] | int | None
#: Which power of the length divides a transform in the direction that the norm is named after.
_NAMED = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}
#: The same for the numbers of the low-level operators: not at all, by the root, by the length.
_NUMBERED = (0.0, 0.5, 1.0)


def _power(g: GraphBuilder, norm: str | None, inverse: bool) -> float:
    if norm not in _NAMED:
        raise refused(g, "fft", f"the norm {norm!r}")
    return 1.0 - _NAMED[norm] if inverse else _NAMED[norm]


def _plan(g: GraphBuilder, x: Number, s: Sizes, dim: Axes) -> list[tuple[int, Any]]:
    """Axes and their lengths; None for the axis' own."""
    if dim is not None:
        axes = [dim] if isinstance(dim, int) else list(dim)
    else:
        axes = list(range(x.rank)) if s is None else list(range(x.rank - len(s), x.rank))
    lengths = [None] * len(axes) if s is None else [None if isinstance(n, int) and n == -1 else n for n in s]
    return [(axis_of(a, x.rank), n) for a, n in zip(axes, lengths, strict=True)]


def _floating(g: GraphBuilder, x: Number) -> Number:
    return x if isinstance(x, Complex) else as_float(g, x)


def complex_to_complex(
    g: GraphBuilder, x: Number, plan: Sequence[tuple[int, Any]], inverse: bool, power: float
) -> Complex:
    """Transforms of all axes in turn."""
    x = _floating(g, x)
    for axis, length in plan:
        x = fourier.transform(g, x, axis, length, inverse=inverse, power=power)
    return as_complex(g, x)


def real_to_complex(
    g: GraphBuilder, x: Value, plan: Sequence[tuple[int, Any]], power: float, inverse: bool = False
) -> Complex:
    """The half spectrum along the last of the axes, the whole one along the others."""
    axis, length = plan[-1]
    half = fourier.half_transform(g, as_float(g, x), axis, length, power=power)
    if inverse:
        half = Complex(half.real, g.Neg(half.imag))
    return complex_to_complex(g, half, plan[:-1], inverse, power)


def complex_to_real(
    g: GraphBuilder, x: Number, plan: Sequence[tuple[int, Any]], power: float, inverse: bool = True
) -> Value:
    """The real signal of a half spectrum along the last of the axes."""
    whole: Number = complex_to_complex(g, x, plan[:-1], inverse, power) if len(plan) > 1 else _floating(g, x)
    if not inverse:
        whole = arithmetic.conj(g, whole)
    axis, length = plan[-1]
    return fourier.half_inverse(g, whole, axis, length, power=power)


# --- one axis --------------------------------------------------------------------------------------------------------


@symbolic(DIALECT, "fft_fft")
def fft_fft(g: GraphBuilder, self: Number, n: Any = None, dim: int = -1, norm: str | None = None) -> Number:
    """aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    return fft_fftn(g, self, None if n is None else [n], [dim], norm)


@symbolic(DIALECT, "fft_ifft")
def fft_ifft(g: GraphBuilder, self: Number, n: Any = None, dim: int = -1, norm: str | None = None) -> Number:
    """aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    return fft_ifftn(g, self, None if n is None else [n], [dim], norm)


@symbolic(DIALECT, "fft_rfft")
def fft_rfft(g: GraphBuilder, self: Value, n: Any = None, dim: int = -1, norm: str | None = None) -> Number:
    """aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    return fft_rfftn(g, self, None if n is None else [n], [dim], norm)


@symbolic(DIALECT, "fft_irfft")
def fft_irfft(g: GraphBuilder, self: Number, n: Any = None, dim: int = -1, norm: str | None = None) -> Value:
    """aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    return fft_irfftn(g, self, None if n is None else [n], [dim], norm)


@symbolic(DIALECT, "fft_hfft")
def fft_hfft(g: GraphBuilder, self: Number, n: Any = None, dim: int = -1, norm: str | None = None) -> Value:
    """aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    return fft_hfftn(g, self, None if n is None else [n], [dim], norm)


@symbolic(DIALECT, "fft_ihfft")
def fft_ihfft(g: GraphBuilder, self: Value, n: Any = None, dim: int = -1, norm: str | None = None) -> Number:
    """aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"""
    return fft_ihfftn(g, self, None if n is None else [n], [dim], norm)


# --- several axes ----------------------------------------------------------------------------------------------------


@symbolic(DIALECT, "fft_fftn")
def fft_fftn(g: GraphBuilder, self: Number, s: Sizes = None, dim: Axes = None, norm: str | None = None) -> Number:
    """aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
    return complex_to_complex(g, self, _plan(g, self, s, dim), False, _power(g, norm, False))


@symbolic(DIALECT, "fft_ifftn")
def fft_ifftn(g: GraphBuilder, self: Number, s: Sizes = None, dim: Axes = None, norm: str | None = None) -> Number:
    """aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
    return complex_to_complex(g, self, _plan(g, self, s, dim), True, _power(g, norm, True))


@symbolic(DIALECT, "fft_rfftn")
def fft_rfftn(g: GraphBuilder, self: Value, s: Sizes = None, dim: Axes = None, norm: str | None = None) -> Number:
    """aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
    return real_to_complex(g, self, _plan(g, self, s, dim), _power(g, norm, False))


@symbolic(DIALECT, "fft_irfftn")
def fft_irfftn(g: GraphBuilder, self: Number, s: Sizes = None, dim: Axes = None, norm: str | None = None) -> Value:
    """aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
    return complex_to_real(g, self, _plan(g, self, s, dim), _power(g, norm, True))


@symbolic(DIALECT, "fft_hfftn")
def fft_hfftn(g: GraphBuilder, self: Number, s: Sizes = None, dim: Axes = None, norm: str | None = None) -> Value:
    """aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
    return complex_to_real(g, self, _plan(g, self, s, dim), _power(g, norm, False), inverse=False)


@symbolic(DIALECT, "fft_ihfftn")
def fft_ihfftn(g: GraphBuilder, self: Value, s: Sizes = None, dim: Axes = None, norm: str | None = None) -> Number:
    """aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"""
    return real_to_complex(g, self, _plan(g, self, s, dim), _power(g, norm, True), inverse=True)


def _register_two_axes(name: str, function: Any) -> None:
    def of_two(g: GraphBuilder, self: Any, s: Sizes = None, dim: Axes = (-2, -1), norm: str | None = None) -> Any:
        return function(g, self, s, dim, norm)

    of_two.__doc__ = f"aten::{name}(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor"
    of_two.__name__ = of_two.__qualname__ = name
    symbolic(DIALECT, name)(of_two)


for _function in (fft_fftn, fft_ifftn, fft_rfftn, fft_irfftn, fft_hfftn, fft_ihfftn):
    _register_two_axes(_function.__name__[:-1] + "2", _function)


# --- what the above decompose into -----------------------------------------------------------------------------------


@symbolic(DIALECT, "_fft_c2c")
def fft_c2c(g: GraphBuilder, self: Number, dim: Axes, normalization: int, forward: bool) -> Number:
    """aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor"""
    return complex_to_complex(g, self, _plan(g, self, None, dim), not forward, _NUMBERED[normalization])


@symbolic(DIALECT, "_fft_r2c")
def fft_r2c(g: GraphBuilder, self: Value, dim: Axes, normalization: int, onesided: bool) -> Number:
    """aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor"""
    plan = _plan(g, self, None, dim)
    if onesided:
        return real_to_complex(g, self, plan, _NUMBERED[normalization])
    return complex_to_complex(g, self, plan, False, _NUMBERED[normalization])


@symbolic(DIALECT, "_fft_c2r")
def fft_c2r(g: GraphBuilder, self: Number, dim: Axes, normalization: int, last_dim_size: Any) -> Value:
    """aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor"""
    *others, (axis, _) = _plan(g, self, None, dim)
    return complex_to_real(g, self, [*others, (axis, last_dim_size)], _NUMBERED[normalization])
