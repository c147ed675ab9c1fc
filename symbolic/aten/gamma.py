"""The gamma function and its relatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .error_function import erfc_double
from .promotion import DataType, Scalar, cast, float_type, value_of
from .series import horner, in_double, register_function
from .shape import broadcast_tensors

_DOUBLE = DataType.DOUBLE
_PI = math.pi
#: Lanczos approximation of the gamma function, g = 7, nine terms.
_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
#: Bernoulli numbers B2, B4 ... B24.
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138, -236364091 / 2730,
)  # fmt: skip


# --- log gamma, digamma, polygamma, zeta -----------------------------------------------------------------------------


def log_gamma(g: GraphBuilder, x: Value) -> Value:
    """log |gamma(x)|; below 1/2 by reflection."""
    reflected = g.Less(x, 0.5)
    y = g.Sub(g.Where(reflected, g.Sub(1.0, x), x), 1.0)
    total: Value = value_of(g, _LANCZOS[0], _DOUBLE)
    for i, c in enumerate(_LANCZOS[1:], start=1):
        total = g.Add(total, g.Div(c, g.Add(y, float(i))))
    t = g.Add(y, 7.5)
    right = g.Sub(g.Add(g.Mul(g.Add(y, 0.5), g.Log(t)), g.Log(total)), g.Sub(t, 0.5 * math.log(2 * _PI)))
    left = g.Sub(math.log(_PI), g.Add(g.Log(g.Abs(_sin_pi(g, x))), right))
    result = g.Where(reflected, left, right)
    pole = g.And(g.LessOrEqual(x, 0.0), g.Equal(g.Floor(x), x))
    infinite = g.Or(pole, g.Equal(g.Abs(x), np.inf))
    return g.Where(infinite, np.inf, result)


def _sin_pi(g: GraphBuilder, x: Value) -> Value:
    """sin(pi * x), exact zeros at whole numbers."""
    rest = g.Sub(x, g.Mul(g.Floor(g.Div(x, 2.0)), 2.0))
    return g.Sin(g.Mul(rest, _PI))


def _digamma(g: GraphBuilder, x: Value) -> Value:
    reflected = g.Less(x, 0.0)
    y = g.Where(reflected, g.Sub(1.0, x), x)
    total: Value = g.Neg(g.Reciprocal(y))
    for k in range(1, 10):
        total = g.Sub(total, g.Reciprocal(g.Add(y, float(k))))
    far = g.Add(y, 10.0)
    inverse = g.Reciprocal(g.Mul(far, far))
    terms = [-b / (2 * k) for k, b in enumerate(_BERNOULLI[:7], start=1)]
    tail = g.Mul(horner(g, inverse, terms[::-1]), inverse)
    right = g.Add(total, g.Add(g.Sub(g.Log(far), g.Div(0.5, far)), tail))
    turn = g.Mul(g.Sub(x, g.Floor(x)), _PI)
    left = g.Sub(right, g.Div(g.Mul(g.Cos(turn), _PI), g.Sin(turn)))
    result = g.Where(reflected, left, right)
    whole = g.And(reflected, g.Equal(g.Floor(x), x))
    result = g.Where(whole, np.nan, result)
    # at zero the sign of the zero tells the side
    return g.Where(g.Equal(x, 0.0), g.Neg(g.Reciprocal(x)), result)


register_function(("lgamma", "special_gammaln"), log_gamma)
register_function(("digamma", "special_psi"), _digamma)


@symbolic("aten", "polygamma", "special_polygamma")
def polygamma(g: GraphBuilder, n: int, self: Value) -> Value:
    """aten::polygamma(int n, Tensor self) -> Tensor"""
    x, dtype = in_double(g, self)
    if n == 0:
        return cast(g, _digamma(g, x), dtype)
    if n == 1:
        # torch's own sine: at the poles it isn't quite zero
        single = x if dtype == _DOUBLE else cast(g, x, DataType.FLOAT)
        sine = cast(g, g.Sin(g.Mul(single, _PI)), _DOUBLE)
        return cast(g, _trigamma(g, x, sine), dtype)
    factor = (-1.0) ** (n + 1) * math.factorial(n)
    return cast(g, g.Mul(_zeta(g, value_of(g, n + 1.0, _DOUBLE), x), factor), dtype)


def _trigamma(g: GraphBuilder, x: Value, sine: Value) -> Value:
    """The second derivative of log gamma, by as many terms as torch takes; below 1/2 by reflection with sin(pi x)."""
    reflected = g.Less(x, 0.5)
    y = g.Where(reflected, g.Sub(1.0, x), x)
    total: Value = value_of(g, 0.0, _DOUBLE)
    for k in range(6):
        step = g.Add(y, float(k))
        total = g.Add(total, g.Reciprocal(g.Mul(step, step)))
    far = g.Add(y, 6.0)
    inverse = g.Reciprocal(g.Mul(far, far))
    tail = g.Mul(horner(g, inverse, [*_BERNOULLI[2::-1], 1.0]), g.Reciprocal(far))
    right = g.Add(total, g.Add(tail, g.Mul(inverse, 0.5)))
    left = g.Sub(g.Div(_PI * _PI, g.Mul(sine, sine)), right)
    return g.Where(reflected, left, right)


def _zeta(g: GraphBuilder, x: Value, q: Value) -> Value:
    """Hurwitz zeta function by Euler-Maclaurin, after stepping q beyond 9."""
    pole = g.And(g.LessOrEqual(q, 0.0), g.Equal(q, g.Floor(q)))
    outside = g.And(g.LessOrEqual(q, 0.0), g.Not(g.Equal(x, g.Floor(x))))
    start = g.Where(pole, 1.0, q)
    start, power = broadcast_tensors(g, [start, g.Neg(x)])
    total, last, far = _stepped_powers(g, start, power)
    total = g.Add(total, g.Sub(g.Div(g.Mul(last, far), g.Sub(x, 1.0)), g.Mul(last, 0.5)))
    rising, falling = x, g.Div(last, far)
    for k, bernoulli in enumerate(_BERNOULLI, start=1):
        term = g.Mul(g.Mul(rising, falling), bernoulli / math.factorial(2 * k))
        total = g.Add(total, g.Where(g.Equal(falling, 0.0), 0.0, term))
        rising = g.Mul(rising, g.Mul(g.Add(x, 2.0 * k - 1), g.Add(x, 2.0 * k)))
        falling = g.Div(falling, g.Mul(far, far))
    total = g.Where(outside, np.nan, total)
    total = g.Where(g.Or(pole, g.Equal(x, 1.0)), np.inf, total)
    return g.Where(g.Less(x, 1.0), np.nan, total)


def _stepped_powers(g: GraphBuilder, start: Value, power: Value) -> tuple[Value, Value, Value]:
    """Sum of (start + i) ** power up to the last step, the last term, and its base: beyond 9, after 9 steps or more."""
    steps = g.Add(g.Floor(g.Sub(9.0, start)), 1.0)
    steps = g.Max(g.Where(g.IsNaN(steps), 9.0, steps), 9.0)
    count = g.Cast(g.ReduceMax(g.Concat(g.reshape(steps, [-1]), np.array([9.0]), axis=0), keepdims=0),
                   to=DataType.INT64)  # fmt: skip
    body = g.subgraph("steps")
    index = body.input("index", DataType.INT64, [])
    body.input("running", DataType.BOOL, [])
    total, last, base = (body.input(n, _DOUBLE, start.sizes) for n in ("total", "last", "base"))
    going = body.Less(body.Cast(index, to=_DOUBLE), steps)
    new_base = body.Where(going, body.Add(base, 1.0), base)
    new_last = body.Where(going, body.Pow(new_base, power), last)
    new_total = body.Where(going, body.Add(total, new_last), total)
    body.output(body.constant(np.array(True)))
    for value in (new_total, new_last, new_base):
        body.output(value)
    first = g.Pow(start, power)
    results = g.call("Loop", count, None, first, first, start, body=body, outputs=3)
    return results[0], results[1], results[2]


@symbolic("aten", "special_zeta")
def special_zeta(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::special_zeta(Tensor self, Tensor other) -> Tensor"""
    return _of_two(g, self, other, _zeta)


def _of_two(
    g: GraphBuilder, self: Scalar, other: Scalar, function: Callable[[GraphBuilder, Value, Value], Value]
) -> Value:
    """A function of two tensors, computed in double precision."""
    dtype = float_type(self, other)
    x, y = (value_of(g, value_of(g, v, dtype), _DOUBLE) for v in (self, other))
    return cast(g, function(g, x, y), dtype)


@symbolic("aten", "mvlgamma", "special_multigammaln")
def mvlgamma(g: GraphBuilder, self: Value, p: int) -> Value:
    """aten::mvlgamma(Tensor self, int p) -> Tensor"""
    x, dtype = in_double(g, self)
    total: Value = value_of(g, p * (p - 1) / 4 * math.log(_PI), _DOUBLE)
    for j in range(p):
        total = g.Add(total, log_gamma(g, g.Sub(x, j / 2)))
    return cast(g, total, dtype)


# --- incomplete gamma functions --------------------------------------------------------------------------------------

#: From here on the uniform asymptotic expansion is used.
_LARGE = 1e4
_EPSILON = 2.0**-53
#: More than any operands below that need.
_MOST_TERMS = 4000
#: Coefficients of C0 and C1 of that expansion (DLMF 8.12.11) in powers of eta, highest first.
_C0 = (-2.1854485106799922e-6, 3.9192631785224378e-5, -1.7875514403292181e-4, 3.527336860670194e-4,
       1.1574074074074074e-3, -1.4814814814814815e-2, 8.3333333333333333e-2, -3.3333333333333333e-1)  # fmt: skip
_C1 = (-1.8098550334489978e-5, -4.0187757201646091e-7, 2.0576131687242798e-4, -9.9022633744855967e-4,
       2.6455026455026455e-3, -3.4722222222222222e-3, -1.8518518518518519e-3)  # fmt: skip

Step = Callable[[GraphBuilder, Sequence[Value]], tuple[Sequence[Value], Value]]


def _repeated(g: GraphBuilder, state: Sequence[Value], step: Step) -> Sequence[Value]:
    """Repeats a step until it says of no element that it goes on."""
    body = g.subgraph("terms")
    body.input("index", DataType.INT64, [])
    body.input("running", DataType.BOOL, [])
    values = [body.input(f"state_{i}", v.element, v.sizes) for i, v in enumerate(state)]
    following, going = step(body, values)
    flags = body.Cast(body.reshape(going, [-1]), to=DataType.INT32)
    some = body.ReduceMax(body.Concat(flags, np.array([0], np.int32), axis=0), keepdims=0)
    body.output(body.Cast(some, to=DataType.BOOL))
    for value in following:
        body.output(value)
    results: Sequence[Value] = g.call("Loop", _MOST_TERMS, True, *state, body=body, outputs=len(state))
    return results


def _series_step(x: Value, body: GraphBuilder, state: Sequence[Value]) -> tuple[Sequence[Value], Value]:
    below, term, total = state
    below = body.Add(below, 1.0)
    term = body.Mul(term, body.Div(x, below))
    total = body.Add(total, term)
    return (below, term, total), body.Greater(term, body.Mul(total, _EPSILON))


def _lower_series(g: GraphBuilder, a: Value, x: Value) -> Value:
    """Sum of x^k / ((a + 1) ... (a + k))."""
    one = g.Add(g.Mul(a, 0.0), 1.0)
    return _repeated(g, [a, one, one], partial(_series_step, x))[2]


def _fraction_step(a: Value, x: Value, body: GraphBuilder, state: Sequence[Value]) -> tuple[Sequence[Value], Value]:
    """A step of Lentz's method for the continued fraction of the upper incomplete gamma function."""
    index, shift, c, d, value = state
    index = body.Add(index, 1.0)
    numerator = body.Mul(index, body.Sub(a, index))
    shift = body.Add(shift, 2.0)
    d = body.Reciprocal(body.Add(body.Mul(numerator, d), shift))
    c = body.Add(shift, body.Div(numerator, c))
    factor = body.Mul(c, d)
    going = body.Greater(body.Abs(body.Sub(factor, 1.0)), 4 * _EPSILON)
    return (index, shift, c, d, body.Mul(value, factor)), going


def _upper_fraction(g: GraphBuilder, a: Value, x: Value) -> Value:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))."""
    shift = g.Add(g.Sub(x, a), 1.0)
    first = g.Reciprocal(shift)
    huge = g.Add(g.Mul(a, 0.0), 1e300)
    index = g.Mul(a, 0.0)
    return _repeated(g, [index, shift, huge, first, first], partial(_fraction_step, a, x))[4]


def _asymptotic(g: GraphBuilder, a: Value, x: Value) -> Value:
    """The upper function for large a: Temme's expansion, uniform in x."""
    from .unary import log1p

    mu = g.Div(g.Sub(x, a), a)
    square = g.Max(g.Mul(g.Sub(mu, log1p(g, mu)), 2.0), 0.0)
    eta = g.Mul(g.Sign(mu), g.Sqrt(square))
    near = g.Max(g.Min(eta, 1.0), -1.0)  # farther off the exponential vanishes
    inner = g.Add(horner(g, near, _C0), g.Div(horner(g, near, _C1), a))
    rest = g.Div(g.Mul(g.Exp(g.Mul(g.Mul(square, a), -0.5)), inner), g.Sqrt(g.Mul(a, 2 * _PI)))
    return g.Add(g.Mul(erfc_double(g, g.Mul(eta, g.Sqrt(g.Mul(a, 0.5)))), 0.5), rest)


def _incomplete(g: GraphBuilder, a: Value, x: Value, *, upper: bool) -> Value:
    """The regularised incomplete gamma function, lower or upper."""
    a, x = broadcast_tensors(g, [a, x])
    large = g.Greater(a, _LARGE)
    proper = g.And(g.And(g.Greater(a, 0.0), g.Greater(x, 0.0)), g.Not(g.Or(large, g.IsInf(x))))
    low = g.And(proper, g.Or(g.LessOrEqual(x, 1.0), g.LessOrEqual(x, a)))
    high = g.And(proper, g.Not(low))
    # elements that another way serves get operands that end its loop at once
    usual = g.Where(proper, a, 1.0)
    total = _lower_series(g, usual, g.Where(low, x, 0.0))
    fraction = _upper_fraction(g, g.Where(high, a, 1.0), g.Where(high, x, 2.0))
    log_scale = g.Sub(g.Sub(g.Mul(usual, g.Log(g.Where(proper, x, 1.0))), x), log_gamma(g, usual))
    scale = g.Exp(log_scale)
    below, above = g.Div(g.Mul(scale, total), usual), g.Mul(scale, fraction)
    wide = g.And(large, g.Not(g.Or(g.IsInf(a), g.IsInf(x))))
    tail = _asymptotic(g, g.Where(wide, a, _LARGE), g.Where(wide, x, _LARGE))
    if upper:
        result = g.Where(low, g.Sub(1.0, below), g.Where(high, above, tail))
    else:
        result = g.Where(low, below, g.Where(high, g.Sub(1.0, above), g.Sub(1.0, tail)))
    return _at_edges(g, a, x, result, *((1.0, 0.0) if upper else (0.0, 1.0)))


def _at_edges(g: GraphBuilder, a: Value, x: Value, result: Value, none: float, whole: float) -> Value:
    """The incomplete gamma function at zero and infinity; `none` is its value at x = 0."""
    result = g.Where(g.Or(g.IsNaN(a), g.IsNaN(x)), np.nan, result)
    result = g.Where(g.IsInf(x), whole, result)
    result = g.Where(g.IsInf(a), g.Where(g.IsInf(x), value_of(g, np.nan, _DOUBLE), none), result)
    result = g.Where(g.Equal(x, 0.0), none, result)
    result = g.Where(g.Equal(a, 0.0), g.Where(g.Greater(x, 0.0), value_of(g, whole, _DOUBLE), np.nan), result)
    return g.Where(g.Or(g.Less(a, 0.0), g.Less(x, 0.0)), np.nan, result)


@symbolic("aten", "igamma", "special_gammainc")
def igamma(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::igamma(Tensor self, Tensor other) -> Tensor"""
    return _of_two(g, self, other, partial(_incomplete, upper=False))


@symbolic("aten", "igammac", "special_gammaincc")
def igammac(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::igammac(Tensor self, Tensor other) -> Tensor"""
    return _of_two(g, self, other, partial(_incomplete, upper=True))
