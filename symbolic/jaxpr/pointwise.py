"""Elementwise primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..registry import symbolic
from ..value import Value
from ..xla import functions, pointwise
from ..xla.apply import pointwise as elementwise
from ..xla.kernels import FLOATS

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Primitives that are functions of their operands alone.
_PLAIN: dict[str, Callable[..., Value]] = {
    "add": pointwise.add, "add_any": pointwise.add, "sub": pointwise.sub, "mul": pointwise.mul, "div": pointwise.div,
    "rem": pointwise.rem, "pow": pointwise.power, "neg": pointwise.negate, "abs": pointwise.absolute,
    "sign": pointwise.sign, "max": pointwise.maximum, "min": pointwise.minimum, "clamp": pointwise.clamp,
    "floor": pointwise.floor, "ceil": pointwise.ceil, "eq": pointwise.equal, "ne": pointwise.not_equal,
    "lt": pointwise.less, "le": pointwise.less_equal, "gt": pointwise.greater, "ge": pointwise.greater_equal,
    "lt_to": pointwise.total_order_less, "is_finite": pointwise.is_finite, "and": pointwise.bitwise_and,
    "or": pointwise.bitwise_or, "xor": pointwise.bitwise_xor, "not": pointwise.bitwise_not,
    "shift_left": pointwise.shift_left, "shift_right_logical": pointwise.shift_right_logical,
    "shift_right_arithmetic": pointwise.shift_right_arithmetic, "population_count": pointwise.population_count,
    "clz": pointwise.count_leading_zeros, "exp2": functions.exp2, "expm1": functions.expm1, "log1p": functions.log1p,
    "log2": functions.log2, "rsqrt": functions.rsqrt, "cbrt": functions.cbrt, "atan2": functions.atan2,
    "erfc": functions.erfc, "erf_inv": functions.erf_inv, "lgamma": functions.lgamma, "digamma": functions.digamma,
    "bessel_i0e": functions.bessel_i0e, "bessel_i1e": functions.bessel_i1e,
}  # fmt: skip
#: Primitives that ONNX has as operators.
_OPERATORS = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh",
    "acosh": "Acosh", "atanh": "Atanh", "logistic": "Sigmoid", "erf": "Erf", "reciprocal": "Reciprocal",
}  # fmt: skip


def _unary(op: str) -> Callable[..., Value]:
    def function(g: GraphBuilder, x: Value) -> Value:
        """An elementary function."""
        return functions.unary(g, op, x)

    return function


def _register(name: str, function: Callable[..., Value]) -> None:
    symbolic("jaxpr", name)(elementwise(function))


for _name, _function in _PLAIN.items():
    _register(_name, _function)
for _name, _op in _OPERATORS.items():
    _register(_name, _unary(_op))


@symbolic("jaxpr", "le_to")
@elementwise
def le_to(g: GraphBuilder, x: Value, y: Value) -> Value:
    """le_to(x, y): not-a-number comes last"""
    return pointwise.total_order_less(g, x, y, or_equal=True)


@symbolic("jaxpr", "eq_to")
@elementwise
def eq_to(g: GraphBuilder, x: Value, y: Value) -> Value:
    """eq_to(x, y): not-a-number equals itself"""
    same = pointwise.equal(g, x, y)
    if x.element not in FLOATS:
        return same
    return g.Or(same, g.And(pointwise.is_nan(g, x), pointwise.is_nan(g, y)))


@symbolic("jaxpr", "integer_pow")
@elementwise
def integer_pow(g: GraphBuilder, x: Value, y: int) -> Value:
    """integer_pow(x, *, y)"""
    return pointwise.integer_power(g, x, y)


@symbolic("jaxpr", "square")
@elementwise
def square(g: GraphBuilder, x: Value) -> Value:
    """square(x)"""
    return pointwise.mul(g, x, x)


@symbolic("jaxpr", "one_minus_square")
@elementwise
def one_minus_square(g: GraphBuilder, x: Value) -> Value:
    """one_minus_square(x) = (1 - x) (1 + x)"""
    one = pointwise.scalar(g, 1, x)
    return pointwise.mul(g, pointwise.sub(g, one, x), pointwise.add(g, one, x))


@symbolic("jaxpr", "round")
@elementwise
def round(g: GraphBuilder, x: Value, rounding_method: str = "AWAY_FROM_ZERO") -> Value:
    """round(x, *, rounding_method): AWAY_FROM_ZERO or TO_NEAREST_EVEN"""
    return pointwise.round_even(g, x) if rounding_method == "TO_NEAREST_EVEN" else pointwise.round_away(g, x)


@symbolic("jaxpr", "select_n")
@elementwise
def select_n(g: GraphBuilder, which: Value, *cases: Value) -> Value:
    """select_n(which, *cases): which is a truth value, or the number of the case"""
    if which.element is ir.DataType.BOOL:
        return cases[0] if len(cases) == 1 else pointwise.select(g, which, cases[1], cases[0])
    result = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        low = g.LessOrEqual(which, pointwise.scalar(g, i, which))
        result = pointwise.select(g, low, cases[i], result)
    return result


@symbolic("jaxpr", "convert_element_type")
@elementwise
def convert_element_type(g: GraphBuilder, x: Value, new_dtype: ir.DataType, weak_type: bool = False) -> Value:
    """convert_element_type(operand, *, new_dtype, weak_type)"""
    return pointwise.convert(g, x, new_dtype)


@symbolic("jaxpr", "reduce_precision")
@elementwise
def reduce_precision(g: GraphBuilder, x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """reduce_precision(operand, *, exponent_bits, mantissa_bits)"""
    return pointwise.reduce_precision(g, x, exponent_bits, mantissa_bits)


@symbolic("jaxpr", "stop_gradient", "copy", "copy_p", "optimization_barrier", "reshard", "sharding_constraint", "name",
          "pvary", "layout_constraint", "preduced", "mesh_cast", "reduced_vary_cast_p")  # fmt: skip
@elementwise
def unchanged(g: GraphBuilder, *operands: Value, **_: Any) -> list[Value]:
    """The operands themselves"""
    return list(operands)


@symbolic("jaxpr", "device_put")
@elementwise
def device_put(g: GraphBuilder, *operands: Value, **_: Any) -> list[Value]:
    """device_put(*operands): there is one device"""
    return list(operands)
