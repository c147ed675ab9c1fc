"""Elementwise operators whose older versions lack integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import BITS, FLOATS, SIGNED, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


def _comparable(dtype: ir.DataType) -> ir.DataType:
    """The integer type to compare in: what runtimes have kernels for."""
    return ir.DataType.INT32 if BITS[dtype] < 32 or dtype is ir.DataType.INT32 else ir.DataType.INT64


def _pick(g: GraphBuilder, values: tuple[Value, ...], better: str) -> Any:
    """Elementwise maximum or minimum of integers by comparison and choice."""
    dtype = values[0].element
    wide = [v if _comparable(dtype) == dtype else g.Cast(v, to=_comparable(dtype)) for v in values]
    best, key = wide[0], _ordered(g, wide[0], dtype)
    for other in wide[1:]:
        challenger = _ordered(g, other, dtype)
        best = g.Where(g.call(better, challenger, key), other, best)
        key = _ordered(g, best, dtype)
    return best if best.element == dtype else g.Cast(best, to=dtype)


def _ordered(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """What orders like the values: the int64 that an uint64 was cast to is moved down by half the range."""
    return g.Add(x, np.int64(-(2**63))) if dtype is ir.DataType.UINT64 else x


@symbolic("onnx", "Max", until=11)
def maximum(g: GraphBuilder, *data: Value) -> Any:
    """(data...) -> max; only floats below opset 12"""
    return NotImplemented if data[0].element in FLOATS else _pick(g, data, "Greater")


@symbolic("onnx", "Min", until=11)
def minimum(g: GraphBuilder, *data: Value) -> Any:
    """(data...) -> min; only floats below opset 12"""
    return NotImplemented if data[0].element in FLOATS else _pick(g, data, "Less")


@symbolic("onnx", "Clip", until=11)
def clip(g: GraphBuilder, input: Value, min: Value | None = None, max: Value | None = None) -> Any:
    """(input, min?, max?) -> clipped; only floats below opset 12"""
    if input.element in FLOATS:
        return NotImplemented
    if min is not None:
        input = g.Max(input, min)
    return input if max is None else g.Min(input, max)


@symbolic("onnx", "Relu", until=13)
def relu(g: GraphBuilder, X: Value) -> Any:
    """(X) -> max(X, 0); only floats below opset 14"""
    return NotImplemented if X.element in FLOATS else g.Max(X, 0)


@symbolic("onnx", "Pow", until=14)
def power(g: GraphBuilder, X: Value, Y: Value) -> Any:
    """(X, Y) -> X ** Y; below opset 12 both are of one float type, below 15 the exponent can't be bfloat16"""
    if g.opset >= 12 and (Y.element is not ir.DataType.BFLOAT16 or g.opset >= 15):
        return NotImplemented
    if X.element in FLOATS:
        return _float_power(g, X, Y)
    exponent = None if Y.array is None or Y.array.size != 1 else Y.array.item()
    if exponent in (1, 2, 3):
        result = X
        for _ in range(int(exponent) - 1):
            result = g.Mul(result, X)
        return g.Expand(result, g.Shape(Y)) if Y.rank > (X.rank if X.sizes is not None else 0) else result
    if X.element is ir.DataType.INT64 or BITS.get(Y.element) == 64:
        refuse(g, "Pow", f"X of type {X.element.name}, Y of type {Y.element.name}", 12)
    wide = ir.DataType.DOUBLE  # holds every 32-bit result
    return g.Cast(g.raw("Pow", g.Cast(X, to=wide), g.Cast(Y, to=wide)), to=X.element)


def _float_power(g: GraphBuilder, x: Value, y: Value) -> Any:
    if x.element is y.element:
        return g.raw("Pow", x, y)
    if y.array is not None and np.array_equal(y.array.astype(x.element.numpy()).astype(y.array.dtype), y.array):
        return g.raw("Pow", x, g.Cast(y, to=x.element))
    wide = ir.DataType.DOUBLE
    return g.Cast(g.raw("Pow", g.Cast(x, to=wide), g.Cast(y, to=wide)), to=x.element)


def _two_complement(g: GraphBuilder, x: Value) -> Value:
    """Bits of an integer on a new last axis, lowest first, as int64."""
    count = BITS[x.element]
    wide = g.Unsqueeze(g.Cast(x, to=ir.DataType.INT64), [-1])
    powers = np.array([1 << i for i in range(min(count, 63))], np.int64)
    whole = g.Sub(wide, g.Mod(wide, powers))
    bits = g.Mod(g.Div(whole, powers), 2)
    if count < 64:
        return bits
    return g.Concat(bits, g.Cast(g.Less(wide, 0), to=ir.DataType.INT64), axis=-1)


def _from_bits(g: GraphBuilder, bits: Value, dtype: ir.DataType) -> Any:
    """The integer of its bits; in halves of 32 bits, as runtimes may add up in double."""
    count = BITS[dtype]
    halves = []
    for start in range(0, count, 32):
        weights = 1 << np.arange(min(32, count), dtype=np.int64)
        if dtype in SIGNED and count < 64:
            weights[-1] = -weights[-1]
        part = g.Slice(bits, [start], [start + 32], [-1]) if count == 64 else bits
        halves.append(g.ReduceSum(g.Mul(part, weights), [-1], keepdims=0))
    whole = halves[0] if count < 64 else g.Add(halves[0], g.Mul(halves[1], np.int64(2**32)))
    return g.Cast(whole, to=dtype)


@symbolic("onnx", "BitwiseAnd", until=17)
def bitwise_and(g: GraphBuilder, A: Value, B: Value) -> Any:
    """(A, B) -> A & B, bit by bit"""
    return _from_bits(g, g.Mul(_two_complement(g, A), _two_complement(g, B)), A.element)


@symbolic("onnx", "BitwiseOr", until=17)
def bitwise_or(g: GraphBuilder, A: Value, B: Value) -> Any:
    """(A, B) -> A | B, bit by bit: a + b - a * b"""
    a, b = _two_complement(g, A), _two_complement(g, B)
    return _from_bits(g, g.Sub(g.Add(a, b), g.Mul(a, b)), A.element)


@symbolic("onnx", "BitwiseXor", until=17)
def bitwise_xor(g: GraphBuilder, A: Value, B: Value) -> Any:
    """(A, B) -> A ^ B, bit by bit: the square of a - b"""
    difference = g.Sub(_two_complement(g, A), _two_complement(g, B))
    return _from_bits(g, g.Mul(difference, difference), A.element)


@symbolic("onnx", "BitwiseNot", until=17)
def bitwise_not(g: GraphBuilder, X: Value) -> Any:
    """(X) -> ~X = -1 - X, cut to the type's bits"""
    wide = g.Cast(X, to=ir.DataType.INT64)
    return g.Cast(g.Sub(-1, wide), to=X.element)


@symbolic("onnx", "Range")
def range_(g: GraphBuilder, start: Value, limit: Value, delta: Value) -> Any:
    """(start, limit, delta) -> range; vectors of one element are taken as scalars"""
    scalars = [g.Squeeze(v) if v.sizes == (1,) else v for v in (start, limit, delta)]
    return g.raw("Range", *scalars)


@symbolic("onnx", "CastLike")
def cast_like(g: GraphBuilder, input: Value, target_type: Value, **attributes: Any) -> Any:
    """(input, target_type, saturate, round_mode) -> input as the type of the other, which is known: a Cast"""
    return g.Cast(input, to=target_type.element, **attributes)
