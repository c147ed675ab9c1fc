"""Elementary and special functions of floats that ONNX lacks, or has no double-precision kernel for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .kernels import call
from .pointwise import scalar

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_NARROW = (_T.FLOAT16, _T.BFLOAT16)


def polynomial(g: GraphBuilder, x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme, highest power first."""
    result = scalar(g, coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = g.Add(g.Mul(result, x), scalar(g, coefficient, x))
    return result


def in_float32(g: GraphBuilder, x: Value) -> tuple[Value, ir.DataType]:
    """A narrow float as float32, and the dtype to go back to."""
    return (g.Cast(x, to=_T.FLOAT), x.element) if x.element in _NARROW else (x, x.element)


def back(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """The value in the dtype that `in_float32` gave."""
    return x if x.element is dtype else g.Cast(x, to=dtype)


# --- exponentials and logarithms -------------------------------------------------------------------------------------


def exp2(g: GraphBuilder, x: Value) -> Value:
    """2 to the x."""
    return call(g, "Pow", scalar(g, 2, x), x)


def expm1(g: GraphBuilder, x: Value) -> Value:
    """exp(x) - 1, precise near 0: tanh(x / 2) (exp(x) + 1)."""
    x, dtype = in_float32(g, x)
    half = g.Tanh(g.Mul(x, scalar(g, 0.5, x)))
    return back(g, g.Mul(half, g.Add(g.Exp(x), scalar(g, 1, x))), dtype)


def log1p(g: GraphBuilder, x: Value) -> Value:
    """log(1 + x), precise near 0: the rounding error of 1 + x is divided out."""
    x, dtype = in_float32(g, x)
    one = scalar(g, 1, x)
    whole = g.Add(x, one)
    added = g.Sub(whole, one)
    log = g.Log(whole)
    lost = g.Equal(added, scalar(g, 0, x))
    precise = g.Mul(log, g.Div(x, g.Where(lost, one, added)))
    near = g.Less(g.Abs(x), one)
    return back(g, g.Where(lost, x, g.Where(near, precise, log)), dtype)


def log2(g: GraphBuilder, x: Value) -> Value:
    """Logarithm to base 2."""
    return call(g, "Div", call(g, "Log", x), scalar(g, math.log(2), x))


def rsqrt(g: GraphBuilder, x: Value) -> Value:
    """1 / sqrt(x)."""
    return call(g, "Reciprocal", call(g, "Sqrt", x))


def cbrt(g: GraphBuilder, x: Value) -> Value:
    """Cube root: a power, then one step of Newton's method."""
    x, dtype = in_float32(g, x)
    size = g.Abs(x)
    root = g.Pow(size, scalar(g, 1 / 3, x))
    square = g.Mul(root, root)
    safe = g.Where(g.Equal(root, scalar(g, 0, x)), scalar(g, 1, x), square)
    step = g.Div(g.Sub(g.Mul(root, square), size), g.Mul(safe, scalar(g, 3, x)))
    finite = g.Less(size, scalar(g, np.inf, x))
    return back(g, g.Mul(g.Where(finite, g.Sub(root, step), root), g.Sign(x)), dtype)


# --- trigonometric and hyperbolic functions --------------------------------------------------------------------------


def unary(g: GraphBuilder, op: str, x: Value) -> Value:
    """A function that ONNX has; in double precision by other functions where there is no kernel."""
    if x.element is _T.DOUBLE and op in _DOUBLE:
        return _DOUBLE[op](g, x)
    return call(g, op, x)


def _tan(g: GraphBuilder, x: Value) -> Value:
    return g.Div(g.Sin(x), g.Cos(x))


def _atan(g: GraphBuilder, x: Value) -> Value:
    """In single precision, then one step of Newton's method on tan(y) = x, in the form sin(y) = x cos(y)."""
    first = g.Cast(g.Atan(g.Cast(x, to=_T.FLOAT)), to=_T.DOUBLE)
    sine, cosine = g.Sin(first), g.Cos(first)
    finite = g.Less(g.Abs(x), scalar(g, np.inf, x))
    safe = g.Where(finite, x, scalar(g, 0, x))
    # tan(x - y) = (x cos y - sin y) / (cos y + x sin y), small
    step = g.Div(g.Sub(g.Mul(safe, cosine), sine), g.Add(cosine, g.Mul(safe, sine)))
    limit = g.Mul(g.Sign(x), scalar(g, math.pi / 2, x))
    return g.Where(finite, g.Add(first, step), limit)


def _asin(g: GraphBuilder, x: Value) -> Value:
    one = scalar(g, 1, x)
    return atan2(g, x, g.Sqrt(g.Mul(g.Sub(one, x), g.Add(one, x))))


def _acos(g: GraphBuilder, x: Value) -> Value:
    one = scalar(g, 1, x)
    return atan2(g, g.Sqrt(g.Mul(g.Sub(one, x), g.Add(one, x))), x)


def _sinh(g: GraphBuilder, x: Value) -> Value:
    grown = expm1(g, x)
    whole = g.Div(grown, g.Add(grown, scalar(g, 1, x)))
    big = g.GreaterOrEqual(g.Abs(x), scalar(g, 30, x))
    direct = g.Sub(g.Exp(g.Sub(x, scalar(g, math.log(2), x))), g.Exp(g.Sub(g.Neg(x), scalar(g, math.log(2), x))))
    return g.Where(big, direct, g.Mul(g.Add(grown, whole), scalar(g, 0.5, x)))


def _cosh(g: GraphBuilder, x: Value) -> Value:
    size = g.Sub(g.Abs(x), scalar(g, math.log(2), x))
    return g.Add(g.Exp(size), g.Mul(g.Exp(g.Neg(size)), scalar(g, 0.25, x)))


def _asinh(g: GraphBuilder, x: Value) -> Value:
    size = g.Abs(x)
    square = g.Mul(size, size)
    one = scalar(g, 1, x)
    root = g.Sqrt(g.Add(square, one))
    big = g.Greater(size, scalar(g, 1e8, x))
    ordinary = log1p(g, g.Add(size, g.Div(square, g.Add(root, one))))
    huge = g.Add(g.Log(size), scalar(g, math.log(2), x))
    return g.Mul(g.Where(big, huge, ordinary), g.Sign(x))


def _acosh(g: GraphBuilder, x: Value) -> Value:
    less = g.Sub(x, scalar(g, 1, x))
    root = g.Sqrt(g.Mul(less, g.Add(less, scalar(g, 2, x))))
    big = g.Greater(x, scalar(g, 1e8, x))
    return g.Where(big, g.Add(g.Log(x), scalar(g, math.log(2), x)), log1p(g, g.Add(less, root)))


def _atanh(g: GraphBuilder, x: Value) -> Value:
    size = g.Abs(x)
    ratio = g.Div(g.Add(size, size), g.Sub(scalar(g, 1, x), size))
    return g.Mul(g.Mul(log1p(g, ratio), scalar(g, 0.5, x)), g.Sign(x))


def atan2(g: GraphBuilder, y: Value, x: Value) -> Value:
    """Angle of the point (x, y): the smaller coordinate by the larger, then the octant."""
    y, dtype = in_float32(g, y)
    x, _ = in_float32(g, x)
    zero = scalar(g, 0, x)
    width, height = g.Abs(x), g.Abs(y)
    steep = g.Greater(height, width)
    small, large = g.Where(steep, width, height), g.Where(steep, height, width)
    even = g.Equal(small, large)  # 0 / 0 and inf / inf
    ratio = g.Div(g.Where(even, scalar(g, 1, x), small), g.Where(even, scalar(g, 1, x), large))
    origin = g.And(even, g.Equal(large, zero))
    angle = g.Where(origin, zero, unary(g, "Atan", ratio))
    angle = g.Where(steep, g.Sub(scalar(g, math.pi / 2, x), angle), angle)
    angle = g.Where(is_negative(g, x), g.Sub(scalar(g, math.pi, x), angle), angle)
    angle = g.Where(is_negative(g, y), g.Neg(angle), angle)
    return back(g, g.Where(g.Or(g.IsNaN(x), g.IsNaN(y)), g.Add(x, y), angle), dtype)


def is_negative(g: GraphBuilder, x: Value) -> Value:
    """Whether the sign bit is set: less than zero, or a zero whose reciprocal is."""
    zero = scalar(g, 0, x)
    return g.Or(g.Less(x, zero), g.And(g.Equal(x, zero), g.Less(g.Reciprocal(x), zero)))


_DOUBLE = {
    "Tan": _tan, "Atan": _atan, "Asin": _asin, "Acos": _acos, "Sinh": _sinh, "Cosh": _cosh, "Asinh": _asinh,
    "Acosh": _acosh, "Atanh": _atanh,
}  # fmt: skip


# --- error functions -------------------------------------------------------------------------------------------------

# Cephes ndtrf.c: erfc(x) = exp(-x^2) P(1/x^2) / x on [1, 2) and R above
_ERFC_P = (
    2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1, 6.210004621745983e-1,
    -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1,
)  # fmt: skip
_ERFC_R = (
    -1.047766399936249e1, 1.297719955372516e1, -7.495518717768503e0, 2.921019019210786e0, -1.015265279202700e0,
    4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1,
)  # fmt: skip
# M. Giles, Approximating the erfinv function: in w = -log(1 - x^2)
_ERFINV_CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_ERFINV_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def erfc(g: GraphBuilder, x: Value) -> Value:
    """1 - erf(x), precise in the tail."""
    x, dtype = in_float32(g, x)
    if x.element is _T.DOUBLE:
        return g.Sub(scalar(g, 1, x), g.Erf(x))
    size = g.Abs(x)
    one = scalar(g, 1, x)
    far = g.Max(size, one)
    inverse = g.Reciprocal(g.Mul(far, far))
    near_tail = polynomial(g, inverse, _ERFC_P)
    far_tail = polynomial(g, inverse, _ERFC_R)
    tail = g.Where(g.Less(far, scalar(g, 2, x)), near_tail, far_tail)
    tail = g.Mul(g.Exp(g.Neg(g.Mul(far, far))), g.Div(tail, far))
    tail = g.Where(g.Less(x, scalar(g, 0, x)), g.Sub(scalar(g, 2, x), tail), tail)
    return back(g, g.Where(g.Less(size, one), g.Sub(one, g.Erf(x)), tail), dtype)


def erf_inv(g: GraphBuilder, x: Value) -> Value:
    """The y whose erf(y) is x."""
    x, dtype = in_float32(g, x)
    if x.element is _T.DOUBLE:
        raise ValueError("erf_inv in double precision isn't supported")
    one = scalar(g, 1, x)
    w = g.Neg(log1p(g, g.Neg(g.Mul(x, x))))
    central = g.Less(w, scalar(g, 5, x))
    centre = polynomial(g, g.Sub(w, scalar(g, 2.5, x)), _ERFINV_CENTRE)
    tail = polynomial(g, g.Sub(g.Sqrt(w), scalar(g, 3, x)), _ERFINV_TAIL)
    inverse = g.Mul(g.Where(central, centre, tail), x)
    ends = g.Equal(g.Abs(x), one)
    return back(g, g.Where(ends, g.Mul(x, scalar(g, np.inf, x)), inverse), dtype)


# --- gamma functions -------------------------------------------------------------------------------------------------

# Lanczos' approximation with g = 7 and nine terms
_LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
    -176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip
_LANCZOS_BASE = 0.99999999999980993227684700473478
_LANCZOS_G = 7.0


def _lanczos(g: GraphBuilder, z: Value) -> tuple[Value, Value]:
    """The sum of the series and that of its derivative, at z."""
    total, slope = scalar(g, _LANCZOS_BASE, z), scalar(g, 0, z)
    for i, coefficient in enumerate(_LANCZOS):
        below = g.Add(z, scalar(g, i + 1, z))
        term = g.Div(scalar(g, coefficient, z), below)
        total = g.Add(total, term)
        slope = g.Sub(slope, g.Div(term, below))
    return total, slope


def lgamma(g: GraphBuilder, x: Value) -> Value:
    """log |gamma(x)|; below 1/2 by reflection."""
    x, dtype = in_float32(g, x)
    wide = g.Cast(x, to=_T.DOUBLE)
    half, one = scalar(g, 0.5, wide), scalar(g, 1, wide)
    reflected = g.Less(wide, half)
    z = g.Where(reflected, g.Neg(wide), g.Sub(wide, one))
    total, _ = _lanczos(g, z)
    t = g.Add(z, scalar(g, _LANCZOS_G + 0.5, wide))
    log = g.Sub(g.Mul(g.Add(z, half), g.Log(t)), t)
    log = g.Add(g.Add(log, scalar(g, 0.5 * math.log(2 * math.pi), wide)), g.Log(total))
    size = g.Abs(wide)
    part = g.Sub(size, g.Floor(size))
    part = g.Min(part, g.Sub(one, part))
    sine = g.Sin(g.Mul(part, scalar(g, math.pi, wide)))
    mirrored = g.Sub(g.Sub(scalar(g, math.log(math.pi), wide), g.Log(sine)), log)
    found = g.Where(reflected, mirrored, log)
    infinite = g.IsInf(wide)
    return back(g, g.Cast(g.Where(infinite, g.Abs(wide), found), to=x.element), dtype)


def digamma(g: GraphBuilder, x: Value) -> Value:
    """Logarithmic derivative of gamma; below 1/2 by reflection."""
    x, dtype = in_float32(g, x)
    wide = g.Cast(x, to=_T.DOUBLE)
    half, one = scalar(g, 0.5, wide), scalar(g, 1, wide)
    reflected = g.Less(wide, half)
    z = g.Where(reflected, g.Neg(wide), g.Sub(wide, one))
    total, slope = _lanczos(g, z)
    t = g.Add(z, scalar(g, _LANCZOS_G + 0.5, wide))
    found = g.Sub(g.Add(g.Log(t), g.Div(slope, total)), g.Div(scalar(g, _LANCZOS_G, wide), t))
    part = g.Add(wide, g.Abs(g.Floor(g.Add(wide, half))))
    angle = g.Mul(part, scalar(g, math.pi, wide))
    mirrored = g.Sub(found, g.Mul(scalar(g, math.pi, wide), g.Div(g.Cos(angle), g.Sin(angle))))
    found = g.Where(reflected, mirrored, found)
    pole = g.And(g.LessOrEqual(wide, scalar(g, 0, wide)), g.Equal(wide, g.Floor(wide)))
    found = g.Where(pole, scalar(g, np.nan, wide), found)
    return back(g, g.Cast(found, to=x.element), dtype)


# --- Bessel functions ------------------------------------------------------------------------------------------------


def bessel_i0e(g: GraphBuilder, x: Value) -> Value:
    """exp(-|x|) I0(x): Abramowitz and Stegun 9.8.1 and 9.8.2."""
    x, dtype = in_float32(g, x)
    size = g.Abs(x)
    limit = scalar(g, 3.75, x)
    t = g.Div(g.Min(size, limit), limit)
    near = polynomial(
        g, g.Mul(t, t), (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
    )  # fmt: skip
    far_size = g.Max(size, limit)
    far = polynomial(
        g,
        g.Div(limit, far_size),
        (0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592, 0.39894228),
    )
    result = g.Where(g.Less(size, limit), g.Mul(near, g.Exp(g.Neg(size))), g.Div(far, g.Sqrt(far_size)))
    return back(g, result, dtype)


def bessel_i1e(g: GraphBuilder, x: Value) -> Value:
    """exp(-|x|) I1(x): Abramowitz and Stegun 9.8.3 and 9.8.4."""
    x, dtype = in_float32(g, x)
    size = g.Abs(x)
    limit = scalar(g, 3.75, x)
    t = g.Div(g.Min(size, limit), limit)
    near = polynomial(g, g.Mul(t, t), (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5))
    far_size = g.Max(size, limit)
    far = polynomial(
        g,
        g.Div(limit, far_size),
        (
            -0.00420059,
            0.01787654,
            -0.02895312,
            0.02282967,
            -0.01031555,
            0.00163801,
            -0.00362018,
            -0.03988024,
            0.39894228,
        ),
    )
    near = g.Mul(g.Mul(near, size), g.Exp(g.Neg(size)))
    result = g.Where(g.Less(size, limit), near, g.Div(far, g.Sqrt(far_size)))
    return back(g, g.Mul(result, g.Sign(x)), dtype)
