"""Special functions, by series in double precision where ONNX has no operator."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, as_float, cast, unsupported, value_of

_PI = math.pi
#: Lanczos approximation of the gamma function, g = 7, nine terms.
_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
#: Bernoulli numbers B2, B4 ... B14.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SHIFT = 20


def horner(g: GraphBuilder, x: Value, coefficients: Sequence[float]) -> Value:
    """Polynomial with these coefficients, highest power first."""
    result = value_of(g, float(coefficients[0]), x.element)
    for coefficient in coefficients[1:]:
        result = g.Add(g.Mul(result, x), value_of(g, float(coefficient), x.element))
    return result


def _in_double(g: GraphBuilder, self: Value) -> tuple[Value, DataType]:
    x = as_float(g, self)
    return cast(g, x, DataType.DOUBLE), x.element


@symbolic("aten", "lgamma", "special_gammaln")
def lgamma(g: GraphBuilder, self: Value) -> Value:
    """aten::lgamma(Tensor self) -> Tensor"""
    x, dtype = _in_double(g, self)
    reflected = g.Less(x, 0.5)
    y = g.Sub(g.Where(reflected, g.Sub(1.0, x), x), 1.0)
    total: Value = value_of(g, _LANCZOS[0], DataType.DOUBLE)
    for i, c in enumerate(_LANCZOS[1:], start=1):
        total = g.Add(total, g.Div(c, g.Add(y, float(i))))
    t = g.Add(y, 7.5)
    right = g.Sub(g.Add(g.Mul(g.Add(y, 0.5), g.Log(t)), g.Log(total)), g.Sub(t, 0.5 * math.log(2 * _PI)))
    left = g.Sub(math.log(_PI), g.Add(g.Log(g.Abs(_sin_pi(g, x))), right))
    result = g.Where(reflected, left, right)
    pole = g.And(g.LessOrEqual(x, 0.0), g.Equal(g.Floor(x), x))
    infinite = g.Or(pole, g.Equal(g.Abs(x), np.inf))
    return cast(g, g.Where(infinite, np.inf, result), dtype)


def _sin_pi(g: GraphBuilder, x: Value) -> Value:
    """sin(pi * x), exact zeros at whole numbers."""
    rest = g.Sub(x, g.Mul(g.Floor(g.Div(x, 2.0)), 2.0))
    return g.Sin(g.Mul(rest, _PI))


@symbolic("aten", "digamma", "special_psi")
def digamma(g: GraphBuilder, self: Value) -> Value:
    """aten::digamma(Tensor self) -> Tensor"""
    x, dtype = _in_double(g, self)
    reflected = g.Less(x, 0.0)
    y = g.Where(reflected, g.Sub(1.0, x), x)
    total: Value = g.Neg(g.Reciprocal(y))
    for k in range(1, 10):
        total = g.Sub(total, g.Reciprocal(g.Add(y, float(k))))
    far = g.Add(y, 10.0)
    inverse = g.Reciprocal(g.Mul(far, far))
    terms = [-b / (2 * k) for k, b in enumerate(_BERNOULLI, start=1)]
    tail = g.Mul(horner(g, inverse, terms[::-1]), inverse)
    right = g.Add(total, g.Add(g.Sub(g.Log(far), g.Div(0.5, far)), tail))
    turn = g.Mul(g.Sub(x, g.Floor(x)), _PI)
    left = g.Sub(right, g.Div(g.Mul(g.Cos(turn), _PI), g.Sin(turn)))
    result = g.Where(reflected, left, right)
    whole = g.And(reflected, g.Equal(g.Floor(x), x))
    result = g.Where(whole, np.nan, result)
    # at zero the sign of the zero tells the side
    return cast(g, g.Where(g.Equal(x, 0.0), g.Neg(g.Reciprocal(x)), result), dtype)


@symbolic("aten", "polygamma", "special_polygamma")
def polygamma(g: GraphBuilder, n: int, self: Value) -> Value:
    """aten::polygamma(int n, Tensor self) -> Tensor"""
    if n == 0:
        return digamma(g, self)
    x, dtype = _in_double(g, self)
    factor = (-1.0) ** (n + 1) * math.factorial(n)
    return cast(g, g.Mul(_zeta(g, n + 1, x), factor), dtype)


def _zeta(g: GraphBuilder, p: int, q: Value) -> Value:
    """Hurwitz zeta function by Euler-Maclaurin."""

    def inverse_power(x: Value, exponent: int) -> Value:
        return g.Reciprocal(g.Pow(x, value_of(g, exponent, DataType.DOUBLE)))

    total = inverse_power(q, p)
    for k in range(1, _SHIFT):
        total = g.Add(total, inverse_power(g.Add(q, float(k)), p))
    far = g.Add(q, float(_SHIFT))
    total = g.Add(total, g.Mul(inverse_power(far, p), 0.5))
    total = g.Add(total, g.Div(inverse_power(far, p - 1), float(p - 1)))
    rising = float(p)
    for k, bernoulli in enumerate(_BERNOULLI[:6], start=1):
        total = g.Add(total, g.Mul(inverse_power(far, p + 2 * k - 1), bernoulli * rising / math.factorial(2 * k)))
        rising *= (p + 2 * k - 1) * (p + 2 * k)
    return total


@symbolic("aten", "mvlgamma", "special_multigammaln")
def mvlgamma(g: GraphBuilder, self: Value, p: int) -> Value:
    """aten::mvlgamma(Tensor self, int p) -> Tensor"""
    x, dtype = _in_double(g, self)
    total: Value = value_of(g, p * (p - 1) / 4 * math.log(_PI), DataType.DOUBLE)
    for j in range(p):
        total = g.Add(total, lgamma(g, g.Sub(x, j / 2)))
    return cast(g, total, dtype)


# --- error function --------------------------------------------------------------------------------------------------

#: log(erfcx(z) / t) for t = 1 / (1 + z / 2), z >= 0; relative error 1.2e-7.
_ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
         1.00002368, -1.26551223)  # fmt: skip


def _log_erfcx(g: GraphBuilder, z: Value) -> Value:
    """log(exp(z^2) * erfc(z)) for z >= 0."""
    t = g.Reciprocal(g.Add(g.Mul(z, 0.5), 1.0))
    return g.Add(g.Log(t), horner(g, t, _ERFC))


def _single_only(g: GraphBuilder, x: Value, what: str) -> None:
    if x.dtype == DataType.DOUBLE:
        raise unsupported(f"{what} in double precision", g)


@symbolic("aten", "special_erfcx")
def special_erfcx(g: GraphBuilder, self: Value) -> Value:
    """aten::special_erfcx(Tensor self) -> Tensor"""
    x, dtype = _in_double(g, self)
    _single_only(g, self, "erfcx")
    right = g.Exp(_log_erfcx(g, g.Abs(x)))
    left = g.Sub(g.Mul(g.Exp(g.Mul(x, x)), 2.0), right)
    return cast(g, g.Where(g.Less(x, 0.0), left, right), dtype)


@symbolic("aten", "erfc", "special_erfc")
def erfc(g: GraphBuilder, self: Value) -> Value:
    """aten::erfc(Tensor self) -> Tensor"""
    x = as_float(g, self)
    plain = g.Sub(1.0, g.Erf(x))
    if x.dtype != DataType.FLOAT:
        return plain
    # 1 - erf(x) loses all digits where it is small
    wide = cast(g, g.Abs(x), DataType.DOUBLE)
    tail = g.Exp(g.Sub(_log_erfcx(g, wide), g.Mul(wide, wide)))
    return g.Where(g.Greater(x, 0.5), cast(g, tail, DataType.FLOAT), plain)


@symbolic("aten", "special_ndtr")
def special_ndtr(g: GraphBuilder, self: Value) -> Value:
    """aten::special_ndtr(Tensor self) -> Tensor"""
    x = as_float(g, self)
    return g.Mul(erfc(g, g.Mul(x, -math.sqrt(0.5))), 0.5)


@symbolic("aten", "special_log_ndtr")
def special_log_ndtr(g: GraphBuilder, self: Value) -> Value:
    """aten::special_log_ndtr(Tensor self) -> Tensor"""
    from .unary import log1p

    x, dtype = _in_double(g, self)
    _single_only(g, self, "log_ndtr")
    z = g.Mul(g.Abs(x), math.sqrt(0.5))
    log_tail = g.Sub(g.Sub(_log_erfcx(g, z), g.Mul(z, z)), math.log(2.0))
    upper = log1p(g, g.Neg(g.Exp(log_tail)))
    return cast(g, g.Where(g.Less(x, 0.0), log_tail, upper), dtype)


@symbolic("aten", "erfinv", "special_erfinv")
def erfinv(g: GraphBuilder, self: Value) -> Value:
    """aten::erfinv(Tensor self) -> Tensor"""
    x, dtype = _in_double(g, self)
    _single_only(g, self, "erfinv")
    w = g.Neg(g.Log(g.Mul(g.Sub(1.0, x), g.Add(x, 1.0))))
    near = horner(
        g, g.Sub(w, 2.5),
        (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
         -0.00417768164, 0.246640727, 1.50140941),
    )  # fmt: skip
    far = horner(
        g, g.Sub(g.Sqrt(w), 3.0),
        (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
         1.00167406, 2.83297682),
    )  # fmt: skip
    result = g.Mul(g.Where(g.Less(w, 5.0), near, far), x)
    edge = g.Equal(g.Abs(x), 1.0)
    return cast(g, g.Where(edge, g.Mul(x, np.inf), result), dtype)


# --- modified Bessel functions ---------------------------------------------------------------------------------------

_EDGE = 12.0
_TERMS = 32


def _bessel_i(g: GraphBuilder, self: Value, order: int, scaled: bool) -> Value:
    """I0 or I1, times exp(-|x|) where scaled: power series up to 12, the asymptotic one beyond."""
    x, dtype = _in_double(g, self)
    size = g.Abs(x)
    quarter = g.Mul(g.Mul(size, size), 0.25)
    series = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_TERMS)]
    small = horner(g, g.Min(quarter, _EDGE * _EDGE / 4), series[::-1])
    if order:
        small = g.Mul(small, g.Mul(size, 0.5))
    small = g.Mul(small, g.Exp(g.Neg(size)))
    asymptotic = [1.0]
    for k in range(1, 14):
        asymptotic.append(-asymptotic[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    far = g.Max(size, _EDGE)
    large = g.Div(horner(g, g.Reciprocal(far), asymptotic[::-1]), g.Sqrt(g.Mul(far, 2 * _PI)))
    result = g.Where(g.LessOrEqual(size, _EDGE), small, large)
    if not scaled:
        result = g.Mul(result, g.Exp(size))
    if order:
        result = g.Where(g.Less(x, 0.0), g.Neg(result), result)
    return cast(g, result, dtype)


def _register_bessel(names: tuple[str, ...], order: int, scaled: bool) -> None:
    def function(g: GraphBuilder, self: Value) -> Value:
        return _bessel_i(g, self, order, scaled)

    function.__doc__ = f"aten::{names[0]}(Tensor self) -> Tensor"
    function.__name__ = function.__qualname__ = names[0]
    symbolic("aten", *names)(function)


_register_bessel(("special_i0", "i0", "special_modified_bessel_i0"), 0, False)
_register_bessel(("special_i0e",), 0, True)
_register_bessel(("special_i1", "special_modified_bessel_i1"), 1, False)
_register_bessel(("special_i1e",), 1, True)
