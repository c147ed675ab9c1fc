"""Bessel functions and the Airy function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..builder import GraphBuilder
from ..value import Value
from . import bessel_tables as tables
from .promotion import DataType, value_of
from .series import Coefficients, chebyshev, horner, quotient, register_function

_PI = math.pi


# --- J and Y ---------------------------------------------------------------------------------------------------------

#: For each order: P, Q, J and Y as pairs of numerator and denominator.
_TABLES: Sequence[Sequence[tuple[Coefficients, Coefficients]]] = (
    (
        (tables.P_ABOVE_0, tables.P_BELOW_0), (tables.Q_ABOVE_0, tables.Q_BELOW_0),
        (tables.J_ABOVE_0, tables.J_BELOW_0), (tables.Y_ABOVE_0, tables.Y_BELOW_0),
    ),
    (
        (tables.P_ABOVE_1, tables.P_BELOW_1), (tables.Q_ABOVE_1, tables.Q_BELOW_1),
        (tables.J_ABOVE_1, tables.J_BELOW_1), (tables.Y_ABOVE_1, tables.Y_BELOW_1),
    ),
)  # fmt: skip
#: Squares of the first two zeros of J0 and J1.
_ZEROS = ((5.78318596294678452118, 30.4712623436620863991), (14.6819706421238932572, 49.2184563216946036703))
_EDGE = 5.0


def _far(g: GraphBuilder, x: Value, order: int, kind: str) -> Value:
    """J or Y for x > 5: modulus and phase."""
    x = g.Max(x, _EDGE)
    inverse = g.Div(_EDGE, x)
    square = g.Mul(inverse, inverse)
    p = quotient(g, square, *_TABLES[order][0])
    q = g.Mul(inverse, quotient(g, square, *_TABLES[order][1]))
    angle = g.Sub(x, _PI * (0.75 if order else 0.25))
    sine, cosine = g.Sin(angle), g.Cos(angle)
    wave = g.Sub(g.Mul(p, cosine), g.Mul(q, sine)) if kind == "J" else g.Add(g.Mul(p, sine), g.Mul(q, cosine))
    return g.Div(g.Mul(wave, math.sqrt(2 / _PI)), g.Sqrt(x))


def _near_j(g: GraphBuilder, x: Value, order: int) -> Value:
    """J for 0 <= x <= 5, with its first two zeros split off."""
    square = g.Mul(x, x)
    result = quotient(g, square, *_TABLES[order][2])
    for zero in _ZEROS[order]:
        result = g.Mul(result, g.Sub(square, zero))
    return g.Mul(result, x) if order else result


def _bessel_j(g: GraphBuilder, x: Value, order: int) -> Value:
    size = g.Abs(x)
    near = _near_j(g, g.Min(size, _EDGE), order)
    result = g.Where(g.LessOrEqual(size, _EDGE), near, _far(g, size, order, "J"))
    result = g.Mul(result, g.Sign(x)) if order else result
    return g.Where(g.IsNaN(x), x, result)


def _bessel_y(g: GraphBuilder, x: Value, order: int) -> Value:
    low = g.Min(x, _EDGE)
    regular = quotient(g, g.Mul(low, low), *_TABLES[order][3])
    regular = g.Mul(regular, low) if order else regular
    product = g.Mul(g.Log(low), _near_j(g, low, order))
    product = g.Sub(product, g.Reciprocal(low)) if order else product
    near = g.Add(regular, g.Mul(product, 2 / _PI))
    result = g.Where(g.LessOrEqual(x, _EDGE), near, _far(g, x, order, "Y"))
    return _on_right(g, x, -np.inf, result)


def _on_right(g: GraphBuilder, x: Value, at_zero: float, result: Value) -> Value:
    """A function that is only there right of zero."""
    result = g.Where(g.Equal(x, 0.0), at_zero, result)
    return g.Where(g.Or(g.Less(x, 0.0), g.IsNaN(x)), np.nan, result)


def _spherical_j0(g: GraphBuilder, x: Value) -> Value:
    """sin(x) / x; its series near zero."""
    terms = [(-1) ** k / math.factorial(2 * k + 1) for k in range(7)]
    near = horner(g, g.Mul(x, x), terms[::-1])
    far = g.Where(g.IsInf(x), 0.0, g.Div(g.Sin(x), x))
    return g.Where(g.Less(g.Abs(x), 0.5), near, far)


# --- I and K ---------------------------------------------------------------------------------------------------------

_I_EDGE = 20.0
_I_TERMS = 48


def _bessel_i(g: GraphBuilder, x: Value, order: int, scaled: bool) -> Value:
    """I0 or I1, times exp(-|x|) where scaled: power series up to 20, the asymptotic one beyond."""
    size = g.Abs(x)
    # in (x / 20)^2: onnxruntime takes coefficients that single precision can't hold for zeros
    ratio = g.Min(g.Div(size, _I_EDGE), 1.0)
    top = _I_EDGE * _I_EDGE / 4
    series = [top**k / (math.factorial(k) * math.factorial(k + order)) for k in range(_I_TERMS)]
    small = horner(g, g.Mul(ratio, ratio), series[::-1])
    if order:
        small = g.Mul(small, g.Mul(size, 0.5))
    small = g.Mul(small, g.Exp(g.Neg(size)))
    asymptotic = [1.0]
    for k in range(1, 20):
        asymptotic.append(-asymptotic[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    far = g.Max(size, _I_EDGE)
    large = g.Div(horner(g, g.Reciprocal(far), asymptotic[::-1]), g.Sqrt(g.Mul(far, 2 * _PI)))
    result = g.Where(g.LessOrEqual(size, _I_EDGE), small, large)
    if not scaled:
        result = g.Mul(result, g.Exp(size))
    if order:
        result = g.Where(g.Less(x, 0.0), g.Neg(result), result)
    return result


def _bessel_k(g: GraphBuilder, x: Value, order: int, scaled: bool) -> Value:
    """K0 or K1, times exp(x) where scaled."""
    low, high = g.Min(x, 2.0), g.Max(x, 2.0)
    regular = chebyshev(g, g.Sub(g.Mul(low, low), 2.0), (tables.K_NEAR_0, tables.K_NEAR_1)[order])
    product = g.Mul(g.Log(g.Mul(low, 0.5)), _bessel_i(g, low, order, scaled=False))
    near = g.Add(g.Div(regular, low), product) if order else g.Sub(regular, product)
    far = chebyshev(g, g.Sub(g.Div(8.0, high), 2.0), (tables.K_FAR_0, tables.K_FAR_1)[order])
    far = g.Div(far, g.Sqrt(high))
    if scaled:
        near = g.Mul(near, g.Exp(low))
    else:
        far = g.Mul(far, g.Exp(g.Neg(high)))
    return _on_right(g, x, np.inf, g.Where(g.LessOrEqual(x, 2.0), near, far))


# --- Airy ------------------------------------------------------------------------------------------------------------

_AIRY_EDGE = 2.09
_AIRY_TERMS = 18


def _airy_series(g: GraphBuilder, x: Value) -> Value:
    """Ai for -2.09 < x < 2.09 by its power series."""
    f, h = [1.0], [1.0]
    for k in range(1, _AIRY_TERMS):
        f.append(f[-1] / ((3 * k - 1) * (3 * k)))
        h.append(h[-1] / ((3 * k) * (3 * k + 1)))
    cube = g.Mul(g.Mul(x, x), x)
    even = g.Mul(horner(g, cube, f[::-1]), 0.355028053887817239260)
    return g.Sub(even, g.Mul(g.Mul(horner(g, cube, h[::-1]), x), 0.258819403792806798405))


def _airy_ai(g: GraphBuilder, x: Value) -> Value:
    size = g.Max(g.Abs(x), _AIRY_EDGE)
    root = g.Sqrt(size)
    zeta = g.Mul(g.Mul(size, root), 2 / 3)
    inverse = g.Reciprocal(zeta)
    scale = g.Div(1 / math.sqrt(_PI), g.Sqrt(root))
    square = g.Mul(inverse, inverse)
    f = g.Add(g.Mul(square, quotient(g, square, tables.AIRY_FN, tables.AIRY_FD)), 1.0)
    h = g.Mul(inverse, quotient(g, square, tables.AIRY_GN, tables.AIRY_GD))
    angle = g.Add(zeta, _PI / 4)
    left = g.Mul(scale, g.Sub(g.Mul(g.Sin(angle), f), g.Mul(g.Cos(angle), h)))
    decay = g.Mul(g.Exp(g.Neg(zeta)), quotient(g, inverse, tables.AIRY_N, tables.AIRY_D))
    right = g.Mul(g.Mul(scale, decay), 0.5)
    near = _airy_series(g, g.Max(g.Min(x, _AIRY_EDGE), -_AIRY_EDGE))
    result = g.Where(g.Less(x, -_AIRY_EDGE), left, g.Where(g.GreaterOrEqual(x, _AIRY_EDGE), right, near))
    result = g.Where(g.Greater(x, 103.892), 0.0, result)
    return g.Where(g.Or(g.IsInf(x), g.IsNaN(x)), value_of(g, np.nan, DataType.DOUBLE), result)


_FUNCTIONS: dict[tuple[str, ...], Callable[[GraphBuilder, Value], Value]] = {
    ("special_bessel_j0",): partial(_bessel_j, order=0),
    ("special_bessel_j1",): partial(_bessel_j, order=1),
    ("special_bessel_y0",): partial(_bessel_y, order=0),
    ("special_bessel_y1",): partial(_bessel_y, order=1),
    ("special_spherical_bessel_j0",): _spherical_j0,
    ("special_i0", "i0", "special_modified_bessel_i0"): partial(_bessel_i, order=0, scaled=False),
    ("special_i0e",): partial(_bessel_i, order=0, scaled=True),
    ("special_i1", "special_modified_bessel_i1"): partial(_bessel_i, order=1, scaled=False),
    ("special_i1e",): partial(_bessel_i, order=1, scaled=True),
    ("special_modified_bessel_k0",): partial(_bessel_k, order=0, scaled=False),
    ("special_modified_bessel_k1",): partial(_bessel_k, order=1, scaled=False),
    ("special_scaled_modified_bessel_k0",): partial(_bessel_k, order=0, scaled=True),
    ("special_scaled_modified_bessel_k1",): partial(_bessel_k, order=1, scaled=True),
    ("special_airy_ai",): _airy_ai,
}
for _names, _function in _FUNCTIONS.items():
    register_function(_names, _function)
