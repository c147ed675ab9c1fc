"""How special functions are summed: polynomials, their quotients, Chebyshev series; in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, as_float, cast, value_of

Coefficients = Sequence[float]


def in_double(g: GraphBuilder, self: Value) -> tuple[Value, DataType]:
    """The tensor in double precision, and the float dtype that the result has."""
    x = as_float(g, self)
    return cast(g, x, DataType.DOUBLE), x.element


def horner(g: GraphBuilder, x: Value, coefficients: Coefficients) -> Value:
    """Polynomial with these coefficients, highest power first."""
    result = value_of(g, float(coefficients[0]), x.element)
    for coefficient in coefficients[1:]:
        result = g.Add(g.Mul(result, x), value_of(g, float(coefficient), x.element))
    return result


def quotient(g: GraphBuilder, x: Value, above: Coefficients, below: Coefficients) -> Value:
    """Quotient of two polynomials."""
    return g.Div(horner(g, x, above), horner(g, x, below))


def chebyshev(g: GraphBuilder, x: Value, coefficients: Coefficients) -> Value:
    """Chebyshev series at x / 2, highest order first, half of the last coefficient: Clenshaw's recurrence."""
    before = last = value_of(g, 0.0, x.element)
    current = value_of(g, float(coefficients[0]), x.element)
    for coefficient in coefficients[1:]:
        before, last = last, current
        current = g.Add(g.Sub(g.Mul(x, last), before), float(coefficient))
    return g.Mul(g.Sub(current, before), 0.5)


def register_function(names: Sequence[str], function: Callable[[GraphBuilder, Value], Value]) -> None:
    """Registers a function of one tensor that computes in double precision; the result has the operand's dtype."""

    def registered(g: GraphBuilder, self: Value) -> Value:
        x, dtype = in_double(g, self)
        return cast(g, function(g, x), dtype)

    registered.__doc__ = f"aten::{names[0]}(Tensor self) -> Tensor"
    registered.__name__ = registered.__qualname__ = names[0]
    symbolic("aten", *names)(registered)
