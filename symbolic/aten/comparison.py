"""Comparisons, logic, bits and choices."""

from __future__ import annotations

from collections.abc import Callable

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from ..xla.pointwise import shift_left, shift_right_arithmetic
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


def _register_shift(names: tuple[str, ...], shift: Callable[[GraphBuilder, Value, Value], Value]) -> None:
    def function(g: GraphBuilder, self: Scalar, other: Scalar) -> Value:
        a, b = promoted(g, self, other)
        if is_float(a.element):
            raise unsupported("shifts of floats", g)
        if a.dtype != DataType.INT16:
            return shift(g, a, b)
        return cast(g, shift(g, cast(g, a, DataType.INT32), cast(g, b, DataType.INT32)), DataType.INT16)

    function.__doc__ = f"aten::{names[0]}.Tensor(Tensor self, Tensor other) -> Tensor"
    function.__name__ = function.__qualname__ = names[0]
    symbolic("aten", *names)(function)


_register_shift(("bitwise_left_shift", "__lshift__"), shift_left)
_register_shift(("bitwise_right_shift", "__rshift__"), shift_right_arithmetic)


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
