"""Elementwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from ..value import Value
from ..xla import bits, functions, pointwise
from ..xla.apply import pointwise as elementwise
from ..xla.region import Typed

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_PLAIN: dict[str, Callable[..., Value]] = {
    "add": pointwise.add, "subtract": pointwise.sub, "multiply": pointwise.mul, "divide": pointwise.div,
    "remainder": pointwise.rem, "power": pointwise.power, "negate": pointwise.negate, "abs": pointwise.absolute,
    "sign": pointwise.sign, "maximum": pointwise.maximum, "minimum": pointwise.minimum, "clamp": pointwise.clamp,
    "floor": pointwise.floor, "ceil": pointwise.ceil, "round_nearest_even": pointwise.round_even,
    "round_nearest_afz": pointwise.round_away, "is_finite": pointwise.is_finite, "and": pointwise.bitwise_and,
    "or": pointwise.bitwise_or, "xor": pointwise.bitwise_xor, "not": pointwise.bitwise_not,
    "shift_left": pointwise.shift_left, "shift_right_logical": pointwise.shift_right_logical,
    "shift_right_arithmetic": pointwise.shift_right_arithmetic, "popcnt": pointwise.population_count,
    "count_leading_zeros": pointwise.count_leading_zeros, "select": pointwise.select,
    "exponential_minus_one": functions.expm1, "log_plus_one": functions.log1p, "rsqrt": functions.rsqrt,
    "cbrt": functions.cbrt, "atan2": functions.atan2, "chlo.erfc": functions.erfc, "chlo.erf_inv": functions.erf_inv,
    "chlo.lgamma": functions.lgamma, "chlo.digamma": functions.digamma, "chlo.next_after": bits.next_after,
}  # fmt: skip
_OPERATORS = {
    "exponential": "Exp", "log": "Log", "sqrt": "Sqrt", "sine": "Sin", "cosine": "Cos", "tan": "Tan", "tanh": "Tanh",
    "logistic": "Sigmoid", "chlo.erf": "Erf", "chlo.asin": "Asin", "chlo.acos": "Acos", "chlo.atan": "Atan",
    "chlo.sinh": "Sinh", "chlo.cosh": "Cosh", "chlo.asinh": "Asinh", "chlo.acosh": "Acosh", "chlo.atanh": "Atanh",
    "chlo.tan": "Tan",
}  # fmt: skip


def _only_operands(function: Callable[..., Value]) -> Callable[..., Value]:
    def called(g: GraphBuilder, *operands: Value, **_: Any) -> Value:
        """An elementwise operation; its attributes say nothing about the values."""
        return function(g, *operands)

    return called


def _unary(op: str) -> Callable[..., Value]:
    def called(g: GraphBuilder, operand: Value, **_: Any) -> Value:
        """An elementary function."""
        return functions.unary(g, op, operand)

    return called


for _name, _function in _PLAIN.items():
    symbolic("stablehlo", _name)(elementwise(_only_operands(_function)))
for _name, _op in _OPERATORS.items():
    symbolic("stablehlo", _name)(elementwise(_unary(_op)))


@symbolic("stablehlo", "chlo.square")
@elementwise
def square(g: GraphBuilder, operand: Value, **_: Any) -> Value:
    """chlo.square(operand)"""
    return pointwise.mul(g, operand, operand)


@symbolic("stablehlo", "compare")
@elementwise
def compare(
    g: GraphBuilder, lhs: Value, rhs: Value, comparison_direction: str, compare_type: str | None = None
) -> Value:
    """stablehlo.compare(lhs, rhs, comparison_direction, compare_type)"""
    if compare_type == "TOTALORDER" and comparison_direction in ("LT", "LE", "GT", "GE"):
        if comparison_direction in ("GT", "GE"):
            lhs, rhs = rhs, lhs
        return pointwise.total_order_less(g, lhs, rhs, or_equal=comparison_direction in ("LE", "GE"))
    return pointwise.COMPARISONS[comparison_direction](g, lhs, rhs)


@symbolic("stablehlo", "convert")
@elementwise
def convert(g: GraphBuilder, operand: Value, result: Typed) -> Value:
    """stablehlo.convert(operand)"""
    return pointwise.convert(g, operand, result.dtype)


@symbolic("stablehlo", "bitcast_convert")
@elementwise
def bitcast_convert(g: GraphBuilder, operand: Value, result: Typed) -> Value:
    """stablehlo.bitcast_convert(operand), of the same width"""
    return bits.bitcast(g, operand, result.dtype)


@symbolic("stablehlo", "reduce_precision")
@elementwise
def reduce_precision(g: GraphBuilder, operand: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """stablehlo.reduce_precision(operand, exponent_bits, mantissa_bits)"""
    return pointwise.reduce_precision(g, operand, exponent_bits, mantissa_bits)


@symbolic("stablehlo", "optimization_barrier", "sdy.sharding_constraint", "custom_call.Sharding")
@elementwise
def unchanged(g: GraphBuilder, *operands: Value, **_: Any) -> list[Value]:
    """The operands themselves"""
    return list(operands)
