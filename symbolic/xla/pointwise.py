"""Elementwise operations with XLA's meaning, in particular on integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..value import Value
from .kernels import BITS, FLOATS, INTEGERS, SIGNED, UNSIGNED, call

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def scalar(g: GraphBuilder, value: Any, like: Value) -> Value:
    """A constant of the dtype of another value."""
    return g.constant(np.asarray(value).astype(like.element.numpy()))


def _known(x: Value, value: float) -> bool:
    return x.array is not None and x.array.size == 1 and bool(x.array.reshape(-1)[0] == value)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def add(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x + y; integers wrap round, truth values are joined."""
    if x.element is _T.BOOL:
        return g.Or(x, y)
    return call(g, "Add", x, y)


def sub(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x - y; integers wrap round."""
    return call(g, "Sub", x, y)


def mul(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x * y; integers wrap round."""
    if x.element is _T.BOOL:
        return g.And(x, y)
    return call(g, "Mul", x, y)


def div(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x / y; integers are cut toward zero, by zero they give -1 (all bits set)."""
    if x.element in FLOATS:
        return call(g, "Div", x, y)
    if y.array is not None and not np.isin(y.array, [0, -1]).any():
        return call(g, "Div", x, y)
    zero = g.Equal(y, scalar(g, 0, y))
    safe = call(g, "Where", zero, scalar(g, 1, y), y)
    everything = scalar(g, -1 if x.element in SIGNED else np.iinfo(x.element.numpy()).max, x)
    if x.element in SIGNED:  # the smallest number by -1 traps: do it by negation
        minus = g.Equal(y, scalar(g, -1, y))
        safe = call(g, "Where", minus, scalar(g, 1, y), safe)
        quotient = call(g, "Where", minus, call(g, "Neg", x), call(g, "Div", x, safe))
    else:
        quotient = call(g, "Div", x, safe)
    return call(g, "Where", zero, everything, quotient)


def rem(g: GraphBuilder, x: Value, y: Value) -> Value:
    """Remainder with the sign of x; of a division by zero: x."""
    if x.element in FLOATS:
        return call(g, "Mod", x, y, fmod=1)
    if x.element in UNSIGNED and y.array is not None and not (y.array == 0).any():
        return call(g, "Mod", x, y)
    return sub(g, x, mul(g, div(g, x, y), y))


def power(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x to the y, floats; y may be an integer."""
    if y.element is not x.element:
        y = g.Cast(y, to=x.element)
    return call(g, "Pow", x, y)


def integer_power(g: GraphBuilder, x: Value, y: int) -> Value:
    """x to a constant integer, by squaring."""
    if y < 0:
        return div(g, scalar(g, 1, x), integer_power(g, x, -y))
    result: Value | None = None
    while y:
        if y & 1:
            result = x if result is None else mul(g, result, x)
        y >>= 1
        if y:
            x = mul(g, x, x)
    return scalar(g, 1, x) if result is None else result


def negate(g: GraphBuilder, x: Value) -> Value:
    """-x."""
    if x.element in UNSIGNED:
        return call(g, "Sub", scalar(g, 0, x), x)
    return call(g, "Neg", x)


def absolute(g: GraphBuilder, x: Value) -> Value:
    """|x|."""
    return x if x.element in UNSIGNED else call(g, "Abs", x)


def sign(g: GraphBuilder, x: Value) -> Value:
    """-1, 0 or 1; not-a-number stays."""
    signs = call(g, "Sign", x)
    return call(g, "Where", is_nan(g, x), x, signs) if x.element in FLOATS else signs


def maximum(g: GraphBuilder, x: Value, y: Value) -> Value:
    """The larger; not-a-number wins."""
    if x.element is _T.BOOL:
        return g.Or(x, y)
    for a, b in ((x, y), (y, x)):
        if x.element in (_T.FLOAT, _T.FLOAT16) and b.sizes == () and _known(b, 0.0):
            return g.Relu(a)
        if x.element in FLOATS and b.sizes == () and _known(b, -np.inf):
            return a
    return call(g, "Max", x, y)


def minimum(g: GraphBuilder, x: Value, y: Value) -> Value:
    """The smaller; not-a-number wins."""
    if x.element is _T.BOOL:
        return g.And(x, y)
    return call(g, "Min", x, y)


def clamp(g: GraphBuilder, low: Value, x: Value, high: Value) -> Value:
    """min(max(low, x), high)."""
    return minimum(g, call(g, "Max", x, low), high)


# --- rounding --------------------------------------------------------------------------------------------------------


def floor(g: GraphBuilder, x: Value) -> Value:
    """Rounded down."""
    return call(g, "Floor", x)


def ceil(g: GraphBuilder, x: Value) -> Value:
    """Rounded up."""
    return call(g, "Ceil", x)


def round_even(g: GraphBuilder, x: Value) -> Value:
    """Rounded, halves to even."""
    return call(g, "Round", x)


def round_away(g: GraphBuilder, x: Value) -> Value:
    """Rounded, halves away from zero."""
    size = call(g, "Abs", x)
    whole = call(g, "Floor", size)
    up = g.GreaterOrEqual(call(g, "Sub", size, whole), scalar(g, 0.5, x))
    whole = call(g, "Where", up, call(g, "Add", whole, scalar(g, 1, x)), whole)
    return call(g, "Mul", whole, call(g, "Sign", x))


# --- comparisons and logic -------------------------------------------------------------------------------------------


def equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x == y."""
    return call(g, "Equal", x, y)


def not_equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x != y."""
    return g.Xor(x, y) if x.element is _T.BOOL else g.Not(call(g, "Equal", x, y))


def less(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x < y."""
    return call(g, "Less", x, y)


def less_equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x <= y."""
    return call(g, "LessOrEqual", x, y)


def greater(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x > y."""
    return call(g, "Greater", x, y)


def greater_equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x >= y."""
    return call(g, "GreaterOrEqual", x, y)


COMPARISONS = {
    "EQ": equal, "NE": not_equal, "LT": less, "LE": less_equal, "GT": greater, "GE": greater_equal,
}  # fmt: skip


def total_order_less(g: GraphBuilder, x: Value, y: Value, *, or_equal: bool = False) -> Value:
    """Order of sorts: as `less`, but not-a-number comes last, and equals itself."""
    compared = less_equal(g, x, y) if or_equal else less(g, x, y)
    if x.element not in FLOATS:
        return compared
    x_nan, y_nan = is_nan(g, x), is_nan(g, y)
    last = y_nan if or_equal else g.And(y_nan, g.Not(x_nan))
    return g.Or(compared, last)


def is_nan(g: GraphBuilder, x: Value) -> Value:
    """Whether it is not a number."""
    return call(g, "IsNaN", x)


def is_finite(g: GraphBuilder, x: Value) -> Value:
    """Whether it is neither infinite nor not-a-number."""
    return call(g, "Less", call(g, "Abs", x), scalar(g, np.inf, x))


def select(g: GraphBuilder, condition: Value, on_true: Value, on_false: Value) -> Value:
    """on_true where the condition holds, else on_false."""
    if on_true.element is _T.BOOL:
        if on_true.array is not None and on_true.size == 1:
            held = on_true.array.reshape(-1)[0]
            return g.Or(condition, on_false) if held else g.And(g.Not(condition), on_false)
        if on_false.array is not None and on_false.size == 1:
            missed = on_false.array.reshape(-1)[0]
            return g.Or(g.Not(condition), on_true) if missed else g.And(condition, on_true)
    return call(g, "Where", condition, on_true, on_false)


def bitwise(g: GraphBuilder, op: str, x: Value, y: Value) -> Value:
    """And, Or or Xor of truth values or bits."""
    return call(g, op if x.element is _T.BOOL else f"Bitwise{op}", x, y)


def bitwise_and(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x & y."""
    return bitwise(g, "And", x, y)


def bitwise_or(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x | y."""
    return bitwise(g, "Or", x, y)


def bitwise_xor(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x ^ y."""
    return bitwise(g, "Xor", x, y)


def bitwise_not(g: GraphBuilder, x: Value) -> Value:
    """~x."""
    return g.Not(x) if x.element is _T.BOOL else g.BitwiseNot(x)


# --- shifts ----------------------------------------------------------------------------------------------------------


def unsigned(dtype: ir.DataType) -> ir.DataType:
    """The unsigned dtype of the same number of bits."""
    return dtype if dtype in UNSIGNED else ir.DataType[f"U{dtype.name}"]


def shift(g: GraphBuilder, x: Value, y: Value, direction: str) -> Value:
    """Bits moved LEFT or RIGHT, zeros moved in; by as many bits as there are or more: 0."""
    dtype = x.element
    wide = unsigned(dtype)
    bits, count = (v if v.element is wide else g.Cast(v, to=wide) for v in (x, y))
    moved = g.BitShift(bits, count, direction=direction)
    if not _small(y, BITS[dtype]):
        moved = call(g, "Where", g.Less(count, scalar(g, BITS[dtype], count)), moved, scalar(g, 0, moved))
    return moved if wide is dtype else g.Cast(moved, to=dtype)


def _small(count: Value, bits: int) -> bool:
    return count.array is not None and bool(((count.array >= 0) & (count.array < bits)).all())


def shift_left(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x << y."""
    return shift(g, x, y, "LEFT")


def shift_right_logical(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x >> y, zeros moved in."""
    return shift(g, x, y, "RIGHT")


def shift_right_arithmetic(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x >> y, copies of the sign moved in: of negative numbers the complement is shifted."""
    if x.element in UNSIGNED:
        return shift(g, x, y, "RIGHT")
    negative = g.Less(x, scalar(g, 0, x))
    turned = call(g, "Where", negative, g.BitwiseNot(x), x)
    moved = shift(g, turned, y, "RIGHT")
    return call(g, "Where", negative, g.BitwiseNot(moved), moved)


def population_count(g: GraphBuilder, x: Value) -> Value:
    """Number of bits that are set: each byte is looked up."""
    wide = g.Cast(x, to=unsigned(x.element))
    table = g.constant(np.array([bin(i).count("1") for i in range(256)], x.element.numpy()))
    total: Value | None = None
    for i in range(0, BITS[x.element], 8):
        byte = g.BitShift(wide, scalar(g, i, wide), direction="RIGHT") if i else wide
        if BITS[x.element] > 8:
            byte = g.BitwiseAnd(byte, scalar(g, 255, byte))
        count = g.Gather(table, g.Cast(byte, to=_T.INT64))
        total = count if total is None else call(g, "Add", total, count)
    assert total is not None
    return total


def count_leading_zeros(g: GraphBuilder, x: Value) -> Value:
    """Number of zeros before the first bit that is set: all bits after it are set, the others counted."""
    wide = g.Cast(x, to=unsigned(x.element))
    step = 1
    while step < BITS[x.element]:
        wide = g.BitwiseOr(wide, g.BitShift(wide, scalar(g, step, wide), direction="RIGHT"))
        step *= 2
    return population_count(g, g.Cast(g.BitwiseNot(wide), to=x.element))


# --- conversion ------------------------------------------------------------------------------------------------------


def convert(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """Conversion: floats saturate in integers, not-a-number gives 0, integers wrap round."""
    if x.element is dtype:
        return x
    if x.element not in FLOATS or dtype not in INTEGERS:
        return g.Cast(x, to=dtype)
    if x.array is not None and x.size is not None and x.size <= 1024:
        return g.constant(_saturated(x.array, dtype))
    wide = g.Cast(x, to=_T.FLOAT) if x.element in (_T.FLOAT16, _T.BFLOAT16) else x
    wide = g.Where(g.IsNaN(wide), scalar(g, 0, wide), wide)
    limits = np.iinfo(dtype.numpy())
    exact = BITS[dtype] < 24 or (BITS[dtype] < 53 and wide.element is _T.DOUBLE)
    if exact:
        bounded = g.Min(g.Max(wide, scalar(g, limits.min, wide)), scalar(g, limits.max, wide))
        return g.Cast(g.Cast(bounded, to=_T.INT32) if BITS[dtype] < 32 else bounded, to=dtype)
    over = g.GreaterOrEqual(wide, scalar(g, float(limits.max) + 1, wide))
    low = g.Max(wide, scalar(g, limits.min, wide))
    inside = g.Where(over, scalar(g, 0, wide), low)
    return call(g, "Where", over, g.constant(np.array(limits.max, dtype.numpy())), g.Cast(inside, to=dtype))


def _saturated(x: np.ndarray, dtype: ir.DataType) -> np.ndarray:
    limits = np.iinfo(dtype.numpy())
    whole = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
    inside = np.clip(np.trunc(whole), limits.min, limits.max)
    cut = np.where(whole >= float(limits.max), limits.max, np.where(whole <= float(limits.min), limits.min, 0))
    ordinary = (whole < float(limits.max)) & (whole > float(limits.min))
    return np.where(ordinary, np.where(ordinary, inside, 0).astype(dtype.numpy()), cut.astype(dtype.numpy()))


def reduce_precision(g: GraphBuilder, x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Rounded to a narrower float format and back."""
    formats = {(5, 10): _T.FLOAT16, (8, 7): _T.BFLOAT16, (8, 23): _T.FLOAT, (11, 52): _T.DOUBLE}
    narrow = formats.get((exponent_bits, mantissa_bits))
    if narrow is None:
        raise ValueError(f"a float format of {exponent_bits} and {mantissa_bits} bits isn't supported")
    return x if narrow is x.element else g.Cast(g.Cast(x, to=narrow), to=x.element)
