"""Comparisons, logic, bits and choices."""

from __future__ import annotations

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, Scalar, apply, cast, compute, is_float, promoted, unsupported, value_of, where

#: aten names -> ONNX operator.
COMPARISONS = {
    ("eq",): "Equal",
    ("lt", "less"): "Less",
    ("le", "less_equal"): "LessOrEqual",
    ("gt", "greater"): "Greater",
    ("ge", "greater_equal"): "GreaterOrEqual",
}


def _compare(g: GraphBuilder, op: str, self: Scalar, other: Scalar) -> Value:
    a, b = promoted(g, self, other)
    if a.dtype == DataType.BOOL and op != "Equal":
        a, b = cast(g, a, DataType.INT32), cast(g, b, DataType.INT32)
    return compute(g, op, a, b)


def _register_comparison(names: tuple[str, ...], op: str) -> None:
    def function(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
        return _compare(g, op, self, other)

    function.__doc__ = f"aten::{names[0]}.Tensor(Tensor self, Tensor other) -> Tensor"
    function.__name__ = function.__qualname__ = names[0]
    symbolic("aten", *names)(function)


for _names, _op in COMPARISONS.items():
    _register_comparison(_names, _op)


@symbolic("aten", "ne", "not_equal")
def ne(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::ne.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.Not(_compare(g, "Equal", self, other))


def truth(g: GraphBuilder, x: Value) -> Value:
    """Whether each element is other than zero."""
    return cast(g, x, DataType.BOOL)


def _register_logic(name: str, op: str) -> None:
    def function(g: GraphBuilder, self: Value, other: Value) -> Value:
        return apply(g, op, truth(g, self), truth(g, other))

    function.__doc__ = f"aten::{name}(Tensor self, Tensor other) -> Tensor"
    function.__name__ = function.__qualname__ = name
    symbolic("aten", name)(function)


for _name, _op in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}.items():
    _register_logic(_name, _op)


@symbolic("aten", "logical_not")
def logical_not(g: GraphBuilder, self: Value) -> Value:
    """aten::logical_not(Tensor self) -> Tensor"""
    return g.Not(truth(g, self))


def _register_bits(names: tuple[str, ...], op: str) -> None:
    def function(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
        a, b = promoted(g, self, other)
        if a.dtype == DataType.BOOL:
            return apply(g, op, a, b)
        return apply(g, f"Bitwise{op}", a, b)

    function.__doc__ = f"aten::{names[0]}.Tensor(Tensor self, Tensor other) -> Tensor"
    function.__name__ = function.__qualname__ = names[0]
    symbolic("aten", *names)(function)


_register_bits(("bitwise_and", "__and__", "__iand__"), "And")
_register_bits(("bitwise_or", "__or__", "__ior__"), "Or")
_register_bits(("bitwise_xor", "__xor__", "__ixor__"), "Xor")


@symbolic("aten", "bitwise_not")
def bitwise_not(g: GraphBuilder, self: Value) -> Value:
    """aten::bitwise_not(Tensor self) -> Tensor"""
    return g.Not(self) if self.dtype == DataType.BOOL else g.BitwiseNot(self)


@symbolic("aten", "bitwise_left_shift", "__lshift__")
def bitwise_left_shift(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if is_float(a.element):
        raise unsupported("shifts of floats", g)
    bits = _bits(a)
    factors = [2**i for i in range(bits)] + [0]
    return compute(g, "Mul", a, g.Gather(_wrapped(g, factors, a.element), _shift(g, b, bits)))


@symbolic("aten", "bitwise_right_shift", "__rshift__")
def bitwise_right_shift(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
    """aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"""
    from .arithmetic import floor_divide

    a, b = promoted(g, self, other)
    if is_float(a.element):
        raise unsupported("shifts of floats", g)
    bits = _bits(a)
    shift = _shift(g, b, bits)
    # a shift too far leaves the sign, of which the quotient by half of all numbers is one more
    last = bits if a.element.numpy().kind == "u" else bits - 1
    divisors = g.constant(np.array([2 ** min(i, last, 62) for i in range(bits + 1)]))
    result = floor_divide(g, cast(g, a, DataType.INT64), g.Gather(divisors, shift))
    if bits == 64 and (shift.array is None or shift.array.max(initial=0) >= 63):
        result = g.Where(g.Less(shift, 63), result, floor_divide(g, result, 2))
    return cast(g, result, a.element)


def _bits(x: Value) -> int:
    return x.element.numpy().itemsize * 8


def _shift(g: GraphBuilder, x: Value, bits: int) -> Value:
    """How far to shift, as an index; all that is too far, and what is negative, is `bits`."""
    count = cast(g, x, DataType.INT64)
    valid = g.And(g.GreaterOrEqual(count, 0), g.Less(count, bits))
    return g.Where(valid, count, bits)


def _wrapped(g: GraphBuilder, numbers: list[int], dtype: DataType) -> Value:
    """Numbers that wrap around in a dtype, as a constant."""
    return g.constant(np.array(numbers, np.uint64).astype(dtype.numpy()))


@symbolic("aten", "where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where_(g: GraphBuilder, condition: Value, self: Scalar, other: Scalar) -> Value:
    """aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    return where(g, truth(g, condition), a, b)


@symbolic("aten", "masked_fill")
def masked_fill(g: GraphBuilder, self: Value, mask: Value, value: Scalar) -> Value:
    """aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"""
    return where(g, truth(g, mask), value_of(g, value, self.element), self)


@symbolic("aten", "isclose")
def isclose(
    g: GraphBuilder, self: Value, other: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    """aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"""
    equal = _compare(g, "Equal", self, other)
    if self.dtype == DataType.BOOL:
        return equal
    floats = self.element if is_float(self.element) else DataType.DOUBLE
    a, b = cast(g, self, floats), cast(g, other, floats)
    gap = g.Abs(g.Sub(a, b))
    near = g.LessOrEqual(gap, g.Add(atol, g.Mul(g.Abs(b), rtol)))
    finite = g.Not(g.Or(g.IsNaN(gap), g.Equal(gap, float("inf"))))
    result = g.Or(equal, g.And(near, finite))
    return g.Or(result, g.And(g.IsNaN(a), g.IsNaN(b))) if equal_nan else result
