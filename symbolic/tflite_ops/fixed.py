"""The softmax of int8 tensors in the fixed-point arithmetic of the reference kernels.

A fixed-point number of n integer bits is an int32 whose unit is 2 ** (31 - n); `_times` multiplies two of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .common import Result, finished, multiplier, one, refused

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_MOST = (1 << 31) - 1
#: Integer bits of differences, and of sums of exponentials.
_DIFFERENCE, _SUM = 5, 12


# --- fixed-point arithmetic in numpy, for tables ----------------------------------------------------------------------


def _times(a: int, b: int) -> int:
    """High half of the doubled product."""
    product = a * b
    nudged = product + ((1 << 30) if product >= 0 else 1 - (1 << 30))
    return nudged // (1 << 31) if nudged >= 0 else -(-nudged // (1 << 31))


def _halved(a: int, times: int) -> int:
    """Divided by 2 ** times, halves away from zero."""
    half = (1 << times) >> 1
    return (a + half) >> times if a >= 0 else -((-a + half) >> times)


def _exp_near_zero(a: int) -> int:
    """exp of a number in [-1/4, 0) without integer bits: its series around -1/8."""
    x = a + (1 << 28)
    x2 = _times(x, x)
    x3, x4 = _times(x2, x), _times(x2, x2)
    series = _halved(_times(_halved(x4, 2) + x3, 715827883) + x2, 1)
    return 1895147668 + _times(1895147668, x + series)


def _exp(a: int) -> int:
    """exp of a number <= 0 of `_DIFFERENCE` integer bits, without integer bits."""
    if a == 0:
        return _MOST
    quarter = 1 << (31 - _DIFFERENCE - 2)
    within = (a & (quarter - 1)) - quarter
    result = _exp_near_zero(within << _DIFFERENCE)
    rest = within - a
    powers = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)  # exp(-1/4), exp(-1/2) ...
    for i, power in enumerate(powers):
        if rest >> (31 - _DIFFERENCE - 2 + i) & 1:
            result = _times(result, power)
    return result


# --- softmax ---------------------------------------------------------------------------------------------------------


def softmax_int8(g: GraphBuilder, x: Value, scale: float, result: Result) -> Value:
    """Softmax over the last axis, as TensorFlow Lite's reference kernel for int8 computes it."""
    out, zero = one(g, result[1], "SOFTMAX")
    if zero != -128 or out != np.float32(1 / 256):
        raise refused(g, "SOFTMAX", "another result than 1/256 with zero point -128 isn't supported")
    factor, shift = multiplier(min(scale * (1 << (31 - _DIFFERENCE)), _MOST))
    radius = math.floor(((1 << _DIFFERENCE) - 1) * (1 << (31 - _DIFFERENCE)) / (1 << shift))
    known = [_exp(_times(-d * (1 << shift), factor)) if d <= radius else 0 for d in range(256)]
    wide = g.Cast(x, to=_T.INT32)
    below = g.Cast(g.Sub(g.ReduceMax(wide, [-1], keepdims=1), wide), to=_T.INT64)  # 0 ... 255
    shares = g.Gather(g.constant(np.array(known, np.int64)), below)
    rescaled = g.Gather(g.constant(np.array([_halved(k, _SUM) for k in known], np.int64)), below)
    total = g.ReduceSum(rescaled, [-1], keepdims=1)
    # leading zeros of the sum: of the powers of two from 2 ** 0 to 2 ** 31, those above it
    powers = g.constant(np.array([1 << i for i in range(32)], np.int64))
    headroom = g.ReduceSum(g.Cast(g.Less(total, powers), to=_T.INT64), [-1], keepdims=1)
    inverse = _reciprocal(g, g.Sub(g.Mul(total, g.Gather(powers, headroom)), 1 << 31))
    product = _high(g, inverse, shares)
    # number of bits to drop: 12 integer bits of the sum less the headroom, and 31 - 8
    divisors = g.constant(np.array([1 << max(_SUM - h + 23, 0) for h in range(33)], np.int64))
    divisor = g.Gather(divisors, headroom)
    rounded = g.Div(g.Add(product, g.Div(divisor, 2)), divisor)
    inside = g.Where(g.LessOrEqual(below, radius), rounded, g.constant(0))
    return finished(g, inside, result, (-128, 127), -128)


def _high(g: GraphBuilder, a: Value, b: Value | int) -> Value:
    """`_times` of values."""
    product = g.Mul(a, b)
    nudge = g.Where(g.GreaterOrEqual(product, 0), g.constant(1 << 30), g.constant(1 - (1 << 30)))
    return g.Div(g.Add(product, nudge), 1 << 31)


def _reciprocal(g: GraphBuilder, a: Value) -> Value:
    """1 / (1 + a) for a in [0, 1): three steps of Newton's method on half the denominator."""
    half = g.Div(g.Add(g.Add(a, _MOST), 1), 2)
    x = g.Add(_high(g, half, -1010580540), 1515870810)  # 48 / 17 - 32 / 17 * half, of two integer bits
    for _ in range(3):
        error = g.Sub(1 << 29, _high(g, half, x))
        x = g.Add(x, _saturated(g, g.Mul(_high(g, x, error), 4)))
    return _saturated(g, g.Mul(x, 2))


def _saturated(g: GraphBuilder, x: Value) -> Value:
    return g.Min(g.Max(x, -(1 << 31)), _MOST)
