"""Elementary functions of complex tensors, with the principal branches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..value import Value
from ..xla import functions as real
from .arithmetic import absolute, add, angle, conj, div, is_zero, mul, polar, reciprocal, sub, times_i
from .number import Complex, Number, as_complex, filled, real_part, scalar, select

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def exp(g: GraphBuilder, z: Complex) -> Complex:
    """exp(x) (cos y + i sin y)"""
    return polar(g, g.Exp(z.real), z.imag)


def log(g: GraphBuilder, z: Complex) -> Complex:
    """log |z| + i arg z"""
    return Complex(g.Log(absolute(g, z)), angle(g, z))


def log_base(g: GraphBuilder, z: Complex, base: float) -> Complex:
    """Logarithm to a base."""
    natural, scale = log(g, z), scalar(g, math.log(base), z.real)
    return Complex(g.Div(natural.real, scale), g.Div(natural.imag, scale))


def log1p(g: GraphBuilder, z: Complex) -> Complex:
    """log(1 + z), precise near 0: |1 + z|^2 is 1 + x (2 + x) + y^2."""
    one = scalar(g, 1.0, z.real)
    grown = g.Add(g.Mul(z.real, g.Add(z.real, scalar(g, 2.0, z.real))), g.Mul(z.imag, z.imag))
    moved = Complex(g.Add(z.real, one), z.imag)
    near = g.Less(g.Abs(grown), scalar(g, 0.5, z.real))
    half = g.Mul(real.log1p(g, g.Where(near, grown, scalar(g, 0.0, z.real))), scalar(g, 0.5, z.real))
    return Complex(g.Where(near, half, g.Log(absolute(g, moved))), angle(g, moved))


def expm1(g: GraphBuilder, z: Complex) -> Complex:
    """exp(z) - 1, precise near 0: expm1(x) cos y - 2 sin^2(y / 2) + i exp(x) sin y."""
    half = g.Sin(g.Mul(z.imag, scalar(g, 0.5, z.real)))
    lost = g.Mul(g.Mul(half, half), scalar(g, 2.0, z.real))
    grown = g.Mul(real.expm1(g, z.real), g.Cos(z.imag))
    return Complex(g.Sub(grown, lost), g.Mul(g.Exp(z.real), g.Sin(z.imag)))


def sqrt(g: GraphBuilder, z: Complex) -> Complex:
    """The root with a real part that is not negative."""
    zero, half = scalar(g, 0.0, z.real), scalar(g, 0.5, z.real)
    # halves are added: the sum of the two can overflow
    root = g.Sqrt(g.Add(g.Mul(absolute(g, z), half), g.Mul(g.Abs(z.real), half)))
    nothing = g.Equal(root, zero)
    other = g.Where(nothing, zero, g.Div(g.Mul(g.Abs(z.imag), half), g.Where(nothing, scalar(g, 1.0, root), root)))
    right = g.GreaterOrEqual(z.real, zero)
    size = g.Where(right, other, root)
    return Complex(g.Where(right, root, other), g.Where(real.is_negative(g, z.imag), g.Neg(size), size))


def integer_power(g: GraphBuilder, z: Complex, exponent: int) -> Number:
    """z to a whole power by repeated squaring."""
    if exponent < 0:
        return reciprocal(g, as_complex(g, integer_power(g, z, -exponent)))
    result: Number | None = None
    square: Number = z
    while exponent:
        if exponent & 1:
            result = square if result is None else mul(g, result, square)
        exponent >>= 1
        if exponent:
            square = mul(g, square, square)
    return Complex(filled(g, 1.0, z.real), filled(g, 0.0, z.real)) if result is None else result


def power(g: GraphBuilder, x: Number, y: Number) -> Complex:
    """exp(y log x); 0 to the power of 0 is 1, to another one with a positive real part 0."""
    base, exponent = as_complex(g, x), as_complex(g, y)
    result = exp(g, as_complex(g, mul(g, exponent, log(g, base))))
    zero, one = (Complex(scalar(g, v, result.real), scalar(g, 0.0, result.real)) for v in (0.0, 1.0))
    rising = g.Greater(exponent.real, scalar(g, 0.0, result.real))
    result = select(g, g.And(is_zero(g, base), rising), zero, result)
    return select(g, is_zero(g, exponent), one, result)


# --- trigonometric and hyperbolic ------------------------------------------------------------------------------------


def cosh(g: GraphBuilder, z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y"""
    return Complex(
        g.Mul(real.unary(g, "Cosh", z.real), g.Cos(z.imag)), g.Mul(real.unary(g, "Sinh", z.real), g.Sin(z.imag))
    )  # fmt: skip


def sinh(g: GraphBuilder, z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y"""
    return Complex(
        g.Mul(real.unary(g, "Sinh", z.real), g.Cos(z.imag)), g.Mul(real.unary(g, "Cosh", z.real), g.Sin(z.imag))
    )  # fmt: skip


def tanh(g: GraphBuilder, z: Complex) -> Complex:
    """(t (1 + u^2) + i u / cosh^2 x) / (1 + t^2 u^2) with t = tanh x and u = tan y."""
    one = scalar(g, 1.0, z.real)
    t, u = g.Tanh(z.real), real.unary(g, "Tan", z.imag)
    flat = g.Reciprocal(real.unary(g, "Cosh", z.real))
    square = g.Mul(u, u)
    divisor = g.Add(g.Mul(g.Mul(t, t), square), one)
    return Complex(
        g.Div(g.Mul(t, g.Add(square, one)), divisor), g.Div(g.Mul(u, g.Mul(flat, flat)), divisor)
    )  # fmt: skip


def asin(g: GraphBuilder, z: Complex) -> Complex:
    """Kahan's formula: no digits cancel."""
    one = scalar(g, 1.0, z.real)
    left, right = sqrt(g, as_complex(g, sub(g, one, z))), sqrt(g, as_complex(g, add(g, one, z)))
    across = as_complex(g, mul(g, conj(g, left), right))
    return Complex(
        real.atan2(g, z.real, real_part(mul(g, left, right))), real.unary(g, "Asinh", across.imag)
    )  # fmt: skip


def acos(g: GraphBuilder, z: Complex) -> Complex:
    """Kahan's formula."""
    one = scalar(g, 1.0, z.real)
    left, right = sqrt(g, as_complex(g, sub(g, one, z))), sqrt(g, as_complex(g, add(g, one, z)))
    across = as_complex(g, mul(g, conj(g, right), left))
    turn = real.atan2(g, left.real, right.real)
    return Complex(g.Add(turn, turn), real.unary(g, "Asinh", across.imag))


def acosh(g: GraphBuilder, z: Complex) -> Complex:
    """Kahan's formula."""
    one = scalar(g, 1.0, z.real)
    left, right = sqrt(g, as_complex(g, sub(g, z, one))), sqrt(g, as_complex(g, add(g, z, one)))
    across = real_part(mul(g, conj(g, left), right))
    turn = real.atan2(g, left.imag, right.real)
    return Complex(real.unary(g, "Asinh", across), g.Add(turn, turn))


def atanh(g: GraphBuilder, z: Complex) -> Complex:
    """log1p(4 x / ((1 - x)^2 + y^2)) / 4 + i arg((1 - x) (1 + x) - y^2 + 2 i y) / 2, on the half plane x >= 0."""
    x, y = g.Abs(z.real), z.imag
    one = scalar(g, 1.0, x)
    square, rest = g.Mul(y, y), g.Sub(one, x)
    size = real.log1p(g, g.Div(g.Mul(x, scalar(g, 4.0, x)), g.Add(g.Mul(rest, rest), square)))
    size = g.Mul(size, scalar(g, 0.25, x))
    turn = real.atan2(g, g.Add(y, y), g.Sub(g.Mul(rest, g.Add(x, one)), square))
    return Complex(
        g.Where(real.is_negative(g, z.real), g.Neg(size), size), g.Mul(turn, scalar(g, 0.5, x))
    )  # fmt: skip


def turned(function: Callable[[GraphBuilder, Complex], Complex]) -> Callable[[GraphBuilder, Complex], Complex]:
    """-i f(i z): sin from sinh, tan from tanh, atan from atanh, and the other way round."""

    def rotated(g: GraphBuilder, z: Complex) -> Complex:
        return times_i(g, function(g, times_i(g, z)), -1)

    return rotated


sin, tan, atan, asinh = turned(sinh), turned(tanh), turned(atanh), turned(asin)


def cos(g: GraphBuilder, z: Complex) -> Complex:
    """cosh(i z)"""
    return cosh(g, times_i(g, z))


def sigmoid(g: GraphBuilder, z: Complex) -> Number:
    """1 / (1 + exp(-z))"""
    grown = exp(g, Complex(g.Neg(z.real), g.Neg(z.imag)))
    return reciprocal(g, as_complex(g, add(g, grown, scalar(g, 1.0, z.real))))


def sinc(g: GraphBuilder, z: Complex) -> Complex:
    """sin(pi z) / (pi z); 1 at 0"""
    turn = as_complex(g, mul(g, z, scalar(g, math.pi, z.real)))
    zero = is_zero(g, z)
    one = Complex(scalar(g, 1.0, z.real), scalar(g, 0.0, z.real))
    safe = select(g, zero, one, turn)
    return select(g, zero, one, as_complex(g, div(g, sin(g, turn), safe)))


def isnan(g: GraphBuilder, z: Complex) -> Value:
    """Whether a part is NaN."""
    return g.Or(g.IsNaN(z.real), g.IsNaN(z.imag))


def isinf(g: GraphBuilder, z: Complex) -> Value:
    """Whether a part is infinite."""
    return g.Or(g.IsInf(z.real), g.IsInf(z.imag))
