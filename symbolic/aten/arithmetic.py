"""Elementwise arithmetic of two and three tensors."""

from __future__ import annotations

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from ..xla.functions import atan2 as arc_tangent
from .precision import rounded_once, scalar_in_float
from .promotion import (
    DataType,
    Scalar,
    cast,
    compute,
    float_type,
    is_float,
    promoted,
    result_type,
    unsupported,
    value_of,
    where,
)
from .shape import axis_of, broadcast_tensors, cat

_END = np.iinfo(np.int64).max


def _scaled(g: GraphBuilder, x: Value, alpha: Scalar) -> Value:
    """alpha * x in x's dtype."""
    return x if alpha == 1 else compute(g, "Mul", x, value_of(g, alpha, x.element))


def _combined(g: GraphBuilder, op: str, a: Value, b: Value, alpha: Scalar) -> Value:
    """a + alpha * b, or their difference."""
    if alpha == 1:
        return compute(g, op, a, b)
    return rounded_once(lambda g, a, b: compute(g, op, a, _scaled(g, b, alpha)))(g, a, b)


@symbolic("aten", "add")
def add(g: GraphBuilder, self: Scalar, other: Scalar, alpha: Scalar = 1) -> Value:
    """aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.dtype == DataType.BOOL:  # the sum of truth values is their or
        return g.Or(a, b if alpha else g.And(b, False))
    return _combined(g, "Add", a, b, alpha)


@symbolic("aten", "sub", "subtract")
def sub(g: GraphBuilder, self: Scalar, other: Scalar, alpha: Scalar = 1) -> Value:
    """aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = promoted(g, self, other)
    return _combined(g, "Sub", a, b, alpha)


@symbolic("aten", "diff")
def diff(
    g: GraphBuilder, self: Value, n: int = 1, dim: int = -1, prepend: Value | None = None, append: Value | None = None
) -> Value:
    """aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"""
    axis = axis_of(dim, self.rank)
    if n == 0:  # then torch joins nothing to it
        return self
    parts = [v for v in (prepend, self, append) if v is not None]
    x = cat(g, parts, axis) if len(parts) > 1 else self
    for _ in range(n):
        later, earlier = g.Slice(x, [1], [_END], [axis]), g.Slice(x, [0], [-1], [axis])
        x = compute(g, "Xor" if x.dtype == DataType.BOOL else "Sub", later, earlier)
    return x


@symbolic("aten", "rsub")
def rsub(g: GraphBuilder, self: Scalar, other: Scalar, alpha: Scalar = 1) -> Value:
    """aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = promoted(g, self, other)
    return _combined(g, "Sub", b, a, alpha)


@symbolic("aten", "mul", "multiply")
@scalar_in_float
def mul(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    return compute(g, "And" if a.dtype == DataType.BOOL else "Mul", a, b)


@symbolic("aten", "div", "divide", "true_divide")
@scalar_in_float
def div(g: GraphBuilder, self: Scalar, other: Scalar, rounding_mode: str | None = None) -> Value:
    """aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"""
    if rounding_mode == "floor":
        return floor_divide(g, self, other)
    if rounding_mode == "trunc":
        a, b = promoted(g, self, other)
        return _trunc(g, g.Div(a, b)) if is_float(a.element) else compute(g, "Div", a, b)
    dtype = float_type(self, other)
    return g.Div(value_of(g, self, dtype), value_of(g, other, dtype))


def _trunc(g: GraphBuilder, x: Value) -> Value:
    return g.Mul(g.Sign(x), g.Floor(g.Abs(x)))


@symbolic("aten", "floor_divide")
@scalar_in_float
def floor_divide(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::floor_divide(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if is_float(a.element):
        # by way of the remainder, as torch does: 1 // 0.1 is 9, though floor(1 / 0.1) is 10
        rest = _float_remainder(g, a, b)
        quotient = g.Div(g.Sub(a, rest), b)
        nearest = g.Floor(quotient)
        nearest = g.Where(g.Greater(g.Sub(quotient, nearest), 0.5), g.Add(nearest, 1.0), nearest)
        return g.Where(g.Equal(b, 0.0), g.Div(a, b), nearest)
    if a.element in (DataType.UINT8, DataType.UINT16):
        return compute(g, "Div", a, b)
    dtype = a.element
    a, b = _wide(g, a), _wide(g, b)
    quotient = g.Div(a, b)  # rounds toward zero
    rest = g.Sub(a, g.Mul(quotient, b))
    opposite = g.And(g.Not(g.Equal(rest, 0)), g.Xor(g.Less(rest, 0), g.Less(b, 0)))
    return cast(g, g.Sub(quotient, g.Cast(opposite, to=a.element)), dtype)


def _wide(g: GraphBuilder, x: Value) -> Value:
    return x if x.dtype in (DataType.INT32, DataType.INT64) else cast(g, x, DataType.INT32)


def _float_remainder(g: GraphBuilder, a: Value, b: Value) -> Value:
    """Remainder with the divisor's sign."""
    rest = g.Mod(a, b, fmod=1)
    fix = g.And(g.Not(g.Equal(rest, 0.0)), g.Xor(g.Less(rest, 0.0), g.Less(b, 0.0)))
    return g.Where(fix, g.Add(rest, b), rest)


@symbolic("aten", "remainder")
def remainder(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    return _float_remainder(g, a, b) if is_float(a.element) else compute(g, "Mod", a, b)


@symbolic("aten", "fmod")
def fmod(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    return compute(g, "Mod", a, b, fmod=1)


@symbolic("aten", "pow")
def pow(g: GraphBuilder, self: Scalar, exponent: Scalar) -> Value:
    """aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"""
    dtype = result_type(self, exponent)
    base = value_of(g, self, dtype)
    if not isinstance(exponent, Value):
        if exponent == 2:
            return compute(g, "Mul", base, base)
        if exponent == 0.5 and is_float(dtype):
            return g.Where(g.Equal(base, -np.inf), np.inf, g.Sqrt(base)) if base.is_constant else g.Sqrt(base)
        if exponent == 1:
            return base
    if dtype == DataType.BOOL:
        raise unsupported("powers of truth values", g)
    power = value_of(g, exponent, dtype)
    return g.Pow(base, power) if is_float(dtype) else _integer_power(g, base, power)


def _integer_power(g: GraphBuilder, base: Value, power: Value) -> Value:
    """By repeated squaring: exact, and wrapping around like torch's; runtimes go by way of floats."""
    dtype = base.element
    base, power = _wide(g, base), _wide(g, power)
    known = power.array
    bits = 6 if known is None else max(int(known.max(initial=0)).bit_length(), 1)
    one = value_of(g, 1, base.element)
    result, square, rest = one, base, power
    for bit in range(bits):
        odd = g.Equal(g.Mod(rest, value_of(g, 2, rest.element)), one)
        result = g.Mul(result, g.Where(odd, square, one))
        if bit + 1 < bits:
            square, rest = g.Mul(square, square), g.Div(rest, value_of(g, 2, rest.element))
    if known is not None and known.min(initial=0) >= 0:
        return cast(g, result, dtype)
    # 1 and -1 have whole powers below zero too; the others vanish
    zero = value_of(g, 0, base.element)
    sign = g.Where(g.Equal(g.Mod(power, value_of(g, 2, power.element)), one), base, one)
    below = g.Where(g.Equal(g.Abs(base), one), sign, zero)
    return cast(g, g.Where(g.Less(power, zero), below, result), dtype)


@symbolic("aten", "float_power")
def float_power(g: GraphBuilder, self: Scalar, exponent: Scalar) -> Value:
    """aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"""
    return pow(g, value_of(g, self, DataType.DOUBLE), value_of(g, exponent, DataType.DOUBLE))


@symbolic("aten", "addcmul")
@rounded_once
def addcmul(g: GraphBuilder, self: Value, tensor1: Value, tensor2: Value, value: Scalar = 1) -> Value:
    """aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""
    x, a, b = promoted(g, self, tensor1, tensor2)
    return compute(g, "Add", x, _scaled(g, compute(g, "Mul", a, b), value))


@symbolic("aten", "addcdiv")
@rounded_once
def addcdiv(g: GraphBuilder, self: Value, tensor1: Value, tensor2: Value, value: Scalar = 1) -> Value:
    """aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""
    x, a, b = promoted(g, self, tensor1, tensor2)
    return g.Add(x, g.Div(_scaled(g, a, value), b))


@symbolic("aten", "lerp")
@rounded_once
def lerp(g: GraphBuilder, self: Value, end: Value, weight: Scalar) -> Value:
    """aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"""
    w = value_of(g, weight, self.element)
    return g.Add(self, g.Mul(w, g.Sub(end, self)))


@symbolic("aten", "maximum", "max.other")
def maximum(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::maximum(Tensor self, Tensor other) -> Tensor"""
    return _extreme(g, "Max", self, other)


@symbolic("aten", "minimum", "min.other")
def minimum(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::minimum(Tensor self, Tensor other) -> Tensor"""
    return _extreme(g, "Min", self, other)


def _extreme(g: GraphBuilder, op: str, self: Scalar, other: Scalar) -> Value:
    a, b = promoted(g, self, other)
    if a.dtype == DataType.BOOL:
        return g.Or(a, b) if op == "Max" else g.And(a, b)
    if op == "Min" and is_float(a.element):
        pass
    return compute(g, op, a, b)


@symbolic("aten", "fmax")
def fmax(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::fmax(Tensor self, Tensor other) -> Tensor"""
    return _ignoring_nan(g, "Max", self, other)


@symbolic("aten", "fmin")
def fmin(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::fmin(Tensor self, Tensor other) -> Tensor"""
    return _ignoring_nan(g, "Min", self, other)


def _ignoring_nan(g: GraphBuilder, op: str, self: Value, other: Value) -> Value:
    a, b = promoted(g, self, other)
    best = _extreme(g, op, a, b)
    if not is_float(a.element):
        return best
    return g.Where(g.IsNaN(a), b, g.Where(g.IsNaN(b), a, best))


@symbolic("aten", "clamp", "clip")
def clamp(g: GraphBuilder, self: Value, min: Scalar | None = None, max: Scalar | None = None) -> Value:
    """aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"""
    dtype = result_type(self, min, max)
    x = cast(g, self, dtype)
    low, high = (None if b is None else value_of(g, b, dtype) for b in (min, max))
    scalars = all(b is None or (b.is_constant and b.rank == 0) for b in (low, high))
    ordered = low is None or high is None or not scalars or low.array <= high.array  # type: ignore[operator]
    if scalars and ordered and is_float(dtype):
        return g.Clip(x, low, high)
    if low is not None:
        x = compute(g, "Max", x, low)
    return x if high is None else compute(g, "Min", x, high)


@symbolic("aten", "clamp_min")
def clamp_min(g: GraphBuilder, self: Value, min: Scalar) -> Value:
    """aten::clamp_min(Tensor self, Scalar min) -> Tensor"""
    return clamp(g, self, min, None)


@symbolic("aten", "clamp_max")
def clamp_max(g: GraphBuilder, self: Value, max: Scalar) -> Value:
    """aten::clamp_max(Tensor self, Scalar max) -> Tensor"""
    return clamp(g, self, None, max)


@symbolic("aten", "hypot")
@rounded_once
def hypot(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::hypot(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    # scaled by the larger one, so that squares neither overflow nor vanish
    a, b = g.Abs(a), g.Abs(b)
    large, small = g.Max(a, b), g.Min(a, b)
    ratio = g.Div(small, g.Where(g.Equal(large, 0.0), 1.0, large))
    infinite = g.Or(g.IsInf(a), g.IsInf(b))  # beside NaN too
    return g.Where(infinite, np.inf, g.Mul(large, g.Sqrt(g.Add(g.Mul(ratio, ratio), 1.0))))


@symbolic("aten", "atan2", "arctan2")
def atan2(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::atan2(Tensor self, Tensor other) -> Tensor"""
    dtype = float_type(self, other)
    return arc_tangent(g, *broadcast_tensors(g, [value_of(g, self, dtype), value_of(g, other, dtype)]))


@symbolic("aten", "copysign")
def copysign(g: GraphBuilder, self: Value, other: Scalar) -> Value:
    """aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"""
    dtype = float_type(self, other)
    size, sign = g.Abs(value_of(g, self, dtype)), value_of(g, other, dtype)
    # 1 / -0.0 is -inf: the only way to see the sign of zero
    negative = g.Or(g.Less(sign, 0.0), g.Less(g.Reciprocal(sign), 0.0))
    return g.Where(negative, g.Neg(size), size)


@symbolic("aten", "heaviside")
def heaviside(g: GraphBuilder, self: Value, values: Value) -> Value:
    """aten::heaviside(Tensor self, Tensor values) -> Tensor"""
    x, at_zero = promoted(g, self, values)
    zero = value_of(g, 0, x.element)
    step = cast(g, compute(g, "Greater", x, zero), x.element)
    return where(g, compute(g, "Equal", x, zero), at_zero, step)


@symbolic("aten", "xlogy", "special_xlogy")
def xlogy(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"""
    return _x_times(g, self, other, lambda y: g.Log(y))


@symbolic("aten", "special_xlog1py")
def special_xlog1py(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::special_xlog1py(Tensor self, Tensor other) -> Tensor"""
    from .unary import log1p

    return _x_times(g, self, other, lambda y: log1p(g, y))


def _x_times(g: GraphBuilder, self: Scalar, other: Scalar, function) -> Value:  # type: ignore[no-untyped-def]
    dtype = float_type(self, other)
    x, y = value_of(g, self, dtype), value_of(g, other, dtype)
    product = g.Where(g.Equal(x, 0.0), 0.0, g.Mul(x, function(y)))
    return g.Where(g.IsNaN(y), y, product)


@symbolic("aten", "logaddexp")
@rounded_once
def logaddexp(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::logaddexp(Tensor self, Tensor other) -> Tensor"""
    from .unary import log1p

    a, b = promoted(g, self, other)
    top = g.Max(a, b)
    gap = g.Neg(g.Abs(g.Sub(a, b)))
    return g.Where(g.And(g.Equal(a, b), g.IsInf(a)), a, g.Add(top, log1p(g, g.Exp(gap))))


@symbolic("aten", "logaddexp2")
@rounded_once
def logaddexp2(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::logaddexp2(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    scale = float(np.log(2.0))
    return g.Div(logaddexp(g, g.Mul(a, scale), g.Mul(b, scale)), scale)


@symbolic("aten", "gcd")
def gcd(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::gcd(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    dtype = a.element
    a, b = g.Abs(_wide(g, a)), g.Abs(_wide(g, b))
    a, b = broadcast_tensors(g, [a, b])
    body = g.subgraph("gcd")
    body.input("step", DataType.INT64, [])
    body.input("running", DataType.BOOL, [])
    x, y = (body.input(n, a.element, a.sizes) for n in ("x", "y"))
    rest = body.Mod(x, body.Where(body.Equal(y, 0), 1, y))
    done = body.Equal(y, 0)
    new_x, new_y = body.Where(done, x, y), body.Where(done, y, rest)
    body.output(body.ReduceMax(body.Cast(body.Not(body.Equal(new_y, 0)), to=DataType.INT32), keepdims=0))
    condition = body.outputs.pop()
    body.output(body.Cast(condition, to=DataType.BOOL))
    body.output(new_x)
    body.output(new_y)
    result, _ = g.call("Loop", None, True, a, b, body=body, outputs=2)
    return cast(g, result, dtype)


@symbolic("aten", "lcm")
def lcm(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::lcm(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    dtype = a.element
    a, b = _wide(g, a), _wide(g, b)
    divisor = gcd(g, a, b)
    none = g.Equal(divisor, 0)
    return cast(g, g.Abs(g.Mul(g.Div(a, g.Where(none, 1, divisor)), b)), dtype)
