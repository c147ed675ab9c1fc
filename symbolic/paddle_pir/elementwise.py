"""Arithmetic of two or more tensors, and ops that scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.layout import elementwise
from ..registry import symbolic
from ..value import Value
from .common import NARROW, DataType, cast, is_float, known_number, like, refused, scalar_of


def paired(g: GraphBuilder, op: str, x: Value, y: Value) -> Value:
    """An arithmetic operator with broadcasting; narrow integers are computed in int32."""
    dtype = x.element
    if dtype in NARROW:
        wide = elementwise(g, op, cast(g, x, DataType.INT32), cast(g, y, DataType.INT32))
        return cast(g, wide, dtype)
    return elementwise(g, op, x, y)


@symbolic("paddle_pir")
def add(g: GraphBuilder, x: Value, y: Value) -> Value:
    """add(Tensor x, Tensor y) -> Tensor"""
    return g.Or(x, y) if x.element == DataType.BOOL else paired(g, "Add", x, y)


@symbolic("paddle_pir", "subtract")
def subtract(g: GraphBuilder, x: Value, y: Value) -> Value:
    """subtract(Tensor x, Tensor y) -> Tensor"""
    return paired(g, "Sub", x, y)


@symbolic("paddle_pir", "multiply")
def multiply(g: GraphBuilder, x: Value, y: Value) -> Value:
    """multiply(Tensor x, Tensor y) -> Tensor"""
    return g.And(x, y) if x.element == DataType.BOOL else paired(g, "Mul", x, y)


@symbolic("paddle_pir", "divide")
def divide(g: GraphBuilder, x: Value, y: Value) -> Value:
    """divide(Tensor x, Tensor y) -> Tensor"""
    return paired(g, "Div", x, y)


@symbolic("paddle_pir")
def maximum(g: GraphBuilder, x: Value, y: Value) -> Value:
    """maximum(Tensor x, Tensor y) -> Tensor"""
    return elementwise(g, "Max", x, y)


@symbolic("paddle_pir")
def minimum(g: GraphBuilder, x: Value, y: Value) -> Value:
    """minimum(Tensor x, Tensor y) -> Tensor"""
    return elementwise(g, "Min", x, y)


def _without_nan(g: GraphBuilder, op: str, x: Value, y: Value) -> Value:
    if not is_float(x):
        return elementwise(g, op, x, y)
    return g.Where(g.IsNaN(x), y, g.Where(g.IsNaN(y), x, elementwise(g, op, x, y)))


@symbolic("paddle_pir")
def fmax(g: GraphBuilder, x: Value, y: Value) -> Value:
    """fmax(Tensor x, Tensor y) -> Tensor"""
    return _without_nan(g, "Max", x, y)


@symbolic("paddle_pir")
def fmin(g: GraphBuilder, x: Value, y: Value) -> Value:
    """fmin(Tensor x, Tensor y) -> Tensor"""
    return _without_nan(g, "Min", x, y)


@symbolic("paddle_pir", "elementwise_pow")
def elementwise_pow(g: GraphBuilder, x: Value, y: Value) -> Value:
    """elementwise_pow(Tensor x, Tensor y) -> Tensor"""
    return elementwise(g, "Pow", x, y)


@symbolic("paddle_pir", "pow")
def power(g: GraphBuilder, x: Value, y: float = 1.0) -> Value:
    """pow(Tensor x, float y) -> Tensor"""
    exponent = known_number(y)
    if exponent == 2 and not isinstance(y, Value):
        return paired(g, "Mul", x, x)
    if exponent == 1:
        return x
    if exponent is not None and not is_float(x) and 0 < exponent <= 64 and exponent == int(exponent):
        result, factor, n = None, x, int(exponent)
        while n:  # exact at every opset, wrapping round as Paddle's does
            if n & 1:
                result = factor if result is None else paired(g, "Mul", result, factor)
            n >>= 1
            factor = paired(g, "Mul", factor, factor) if n else factor
        assert result is not None
        return result
    if exponent is not None and not is_float(x) and float(exponent) != int(exponent):
        raise refused(g, "pow", "a fractional power of integers isn't supported")
    return elementwise(g, "Pow", x, y if isinstance(y, Value) else like(g, x, exponent))


@symbolic("paddle_pir", "floor_divide")
def floor_divide(g: GraphBuilder, x: Value, y: Value) -> Value:
    """floor_divide(Tensor x, Tensor y) -> Tensor"""
    if is_float(x):
        return g.Floor(elementwise(g, "Div", x, y))
    quotient = paired(g, "Div", x, y)  # rounded toward zero: one less where that cut off a negative fraction
    if x.element.name.startswith("U"):
        return quotient
    rest = paired(g, "Sub", x, paired(g, "Mul", quotient, y))
    zero = like(g, x, 0)
    below = g.And(g.Not(g.Equal(rest, zero)), g.Xor(g.Less(rest, zero), g.Less(y, zero)))
    return paired(g, "Sub", quotient, cast(g, below, x.element))


@symbolic("paddle_pir")
def remainder(g: GraphBuilder, x: Value, y: Value) -> Value:
    """remainder(Tensor x, Tensor y) -> Tensor"""
    if not is_float(x):
        return elementwise(g, "Mod", x, y)
    rest: Value = elementwise(g, "Mod", x, y, fmod=1)
    zero = like(g, x, 0)
    other = g.And(g.Not(g.Equal(rest, zero)), g.Xor(g.Less(rest, zero), g.Less(y, zero)))
    return g.Where(other, rest + y, rest)


@symbolic("paddle_pir")
def atan2(g: GraphBuilder, x: Value, y: Value) -> Value:
    """atan2(Tensor x, Tensor y) -> Tensor"""
    if not is_float(x):
        x, y = cast(g, x, DataType.DOUBLE), cast(g, y, DataType.DOUBLE)
    zero, pi = like(g, x, 0), like(g, x, np.pi)
    angle = g.Atan(x / y)
    negative = g.Where(g.Less(x, zero), angle - pi, angle + pi)
    # where y is 0 the quotient is infinite (or NaN if both are 0)
    whole = g.Where(g.Less(y, zero), negative, angle)
    return g.Where(g.And(g.Equal(x, zero), g.Equal(y, zero)), zero, whole)


@symbolic("paddle_pir")
def heaviside(g: GraphBuilder, x: Value, y: Value) -> Value:
    """heaviside(Tensor x, Tensor y) -> Tensor"""
    zero = like(g, x, 0)
    step = g.Where(g.Less(x, zero), zero, like(g, x, 1))
    return g.Where(g.Equal(x, zero), y, step)


@symbolic("paddle_pir")
def scale(g: GraphBuilder, x: Value, scale: Any, bias: Any = 0.0, bias_after_scale: bool = True) -> Value:
    """scale(Tensor x, Scalar scale, Scalar bias, bool bias_after_scale) -> Tensor"""
    factor, offset = known_number(scale), known_number(bias)

    def operand(value: Any, known: float | None) -> Value:
        if known is None:
            return cast(g, scalar_of(g, value), x.element)
        return like(g, x, known if is_float(x) else int(known))

    result = x
    if not bias_after_scale and offset != 0:
        result = paired(g, "Add", result, operand(bias, offset))
    if factor != 1:
        result = paired(g, "Mul", result, operand(scale, factor))
    if bias_after_scale and offset != 0:
        result = paired(g, "Add", result, operand(bias, offset))
    return result


@symbolic("paddle_pir")
def add_n(g: GraphBuilder, inputs: Sequence[Value] | Value) -> Value:
    """add_n(Tensor[] inputs) -> Tensor"""
    parts = [inputs] if isinstance(inputs, Value) else list(inputs)
    total = parts[0]
    for part in parts[1:]:
        total = paired(g, "Add", total, part)
    return total


@symbolic("paddle_pir")
def lerp(g: GraphBuilder, x: Value, y: Value, weight: Value) -> Value:
    """lerp(Tensor x, Tensor y, Tensor weight) -> Tensor"""
    return x + weight * (y - x)


@symbolic("paddle_pir", "copysign")
def copysign(g: GraphBuilder, x: Value, y: Value) -> Value:
    """copysign(Tensor x, Tensor y) -> Tensor"""
    size = g.Abs(x)
    # the sign of a zero shows only in its reciprocal
    negative = g.Or(g.Less(y, like(g, y, 0)), g.Less(g.Reciprocal(y), like(g, y, 0)))
    return g.Where(negative, g.Neg(size), size)


@symbolic("paddle_pir")
def clip(g: GraphBuilder, x: Value, min: Any, max: Any) -> Value:
    """clip(Tensor x, Scalar min, Scalar max) -> Tensor"""
    low, high = (_bound(g, x, b) for b in (min, max))
    if x.element in (DataType.FLOAT, DataType.FLOAT16):
        return g.Clip(x, low, high)
    return elementwise(g, "Min", elementwise(g, "Max", x, low), high)


def _bound(g: GraphBuilder, x: Value, bound: Any) -> Value:
    known = known_number(bound)
    if known is None:
        return cast(g, scalar_of(g, bound), x.element)
    if not is_float(x):
        info = np.iinfo(x.element.numpy())
        known = int(np.clip(known, float(info.min), float(info.max))) if abs(known) > 2**53 else int(known)
        known = builtin_clamp(known, int(info.min), int(info.max))
    return like(g, x, known)


def builtin_clamp(value: int, low: int, high: int) -> int:
    """The number, moved into the bounds."""
    return low if value < low else high if value > high else value


@symbolic("paddle_pir")
def addmm(g: GraphBuilder, input: Value, x: Value, y: Value, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """addmm(Tensor input, Tensor x, Tensor y, float beta, float alpha) -> Tensor"""
    if is_float(x):
        return g.Gemm(x, y, input, alpha=alpha, beta=beta)
    return like(g, x, alpha) * g.MatMul(x, y) + like(g, x, beta) * input


@symbolic("paddle_pir")
def baddbmm(g: GraphBuilder, input: Value, x: Value, y: Value, beta: float = 1.0, alpha: float = 1.0) -> Value:
    """baddbmm(Tensor input, Tensor x, Tensor y, float beta, float alpha) -> Tensor"""
    return like(g, x, alpha) * g.MatMul(x, y) + like(g, x, beta) * input


@symbolic("paddle_pir")
def label_smooth(g: GraphBuilder, label: Value, prior_dist: Value | None = None, epsilon: float = 0.0) -> Value:
    """label_smooth(Tensor label, Tensor? prior_dist, float epsilon) -> Tensor"""
    smooth = label * (1.0 - epsilon)
    if prior_dist is not None:
        return smooth + prior_dist * epsilon
    count = label.dim(-1)
    if not isinstance(count, int):
        raise refused(g, "label_smooth", "an open number of classes isn't supported")
    return smooth + epsilon / count
