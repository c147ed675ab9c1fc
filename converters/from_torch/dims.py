"""Sizes of a captured graph (sympy expressions over s0, s1 ...) as `Dim` with the caller's names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from ...symbolic.dims import Dim, Size, call

#: Most factors of a power that is written out.
_MAX_POWER = 8
#: Largest numerator and denominator of a scale factor that is written as a fraction.
_MAX_FRACTION = 4096


class Dims:
    """Translates sympy size expressions.

    Args:
        names: Symbol in the captured graph -> name for it; symbols that aren't there keep their own.
    """

    def __init__(self, names: Mapping[str, str]):
        self.names = dict(names)
        self._known: dict[Any, Size | None] = {}
        self._taken = set(self.names.values())
        #: Called with a dim and its expression where only floats give a size; None where nothing can be computed yet.
        self.compute: Callable[[Dim, Any], None] | None = None

    def size(self, size: Any) -> Size | None:
        """An int or SymInt as a size; None where its expression has no counterpart."""
        if isinstance(size, int):
            return size
        expression = size.node.expr
        if expression not in self._known:
            self._known[expression] = self.expression(expression)
        return self._known[expression]

    def sizes(self, shape: Any) -> list[Size | None]:
        """All sizes of a shape."""
        return [self.size(s) for s in shape]

    def expression(self, e: Any) -> Size | None:
        """A sympy expression as a size; None where it has no counterpart."""
        if e.is_Integer:
            return int(e)
        if e.is_Symbol:
            return Dim(self.names.get(str(e), str(e)))
        kind = type(e).__name__
        if kind == "Pow" or kind == "PowByNatural":
            return self._power(*e.args)
        if kind in ("floor", "TruncToInt", "FloorToInt") and not e.args[0].is_integer:
            return self._scaled(e.args[0]) or self._computed(e)
        if kind in ("ceiling", "CeilToInt") and not e.args[0].is_integer:
            return self._scaled(e.args[0], up=True) or self._computed(e)
        if kind == "RoundToInt" and not e.args[0].is_integer:
            return self._computed(e)
        parts = [self.expression(a) for a in e.args]
        if not parts or any(p is None for p in parts):
            return None
        known: list[Size] = [p for p in parts if p is not None]
        return _combine(kind, known)

    def _computed(self, e: Any) -> Size | None:
        """A size that only a float gives, 0.7 * h: a dim of its own, whose value the graph computes."""
        if self.compute is None:
            return None
        name = next(n for i in itertools.count() if (n := f"size_{i}") not in self._taken)
        self._taken.add(name)
        size = Dim(name)
        self.compute(size, e)
        return size

    def _scaled(self, e: Any, *, up: bool = False) -> Size | None:
        """floor(1.5 * h), or the next number above: an exact quotient where the factor is a binary fraction."""
        numbers = [a for a in e.args if a.is_number]
        rest = [a for a in e.args if not a.is_number]
        if e.func.__name__ not in ("Mul", "FloatTrueDiv", "IntTrueDiv") or len(numbers) != 1 or len(rest) != 1:
            return None
        inner = rest[0].args[0] if type(rest[0]).__name__ == "ToFloat" else rest[0]
        size = self.expression(inner)
        numerator, denominator = float(numbers[0]).as_integer_ratio()
        if e.func.__name__ != "Mul":
            numerator, denominator = denominator, numerator
        if size is None or numerator <= 0 or max(numerator, denominator) > _MAX_FRACTION:
            return None
        return (size * numerator + (denominator - 1 if up else 0)) // denominator

    def _power(self, base: Any, exponent: Any) -> Size | None:
        size = self.expression(base)
        if size is None or not exponent.is_Integer or not 0 <= int(exponent) <= _MAX_POWER:
            return None
        result: Size = 1
        for _ in range(int(exponent)):
            result = result * size
        return result


def _combine(kind: str, parts: list[Size]) -> Size | None:
    first, *rest = parts
    if kind in ("Add", "Mul", "Max", "Min"):
        for part in rest:
            first = (
                first + part if kind == "Add" else first * part if kind == "Mul" else call(kind.lower(), first, part)
            )
        return first
    if kind in ("FloorDiv", "CleanDiv"):
        return first // rest[0]
    if kind in ("Mod", "PythonMod"):
        return first % rest[0]
    if kind == "ModularIndexing":
        return (first // rest[0]) % rest[1]
    if kind == "CeilDiv":
        return (first + rest[0] - 1) // rest[0]
    if kind in ("Identity", "TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"):
        return first
    return None


def symbol_of(size: Any) -> str | None:
    """Name of the symbol that a size is, None where it is a number or an expression."""
    if isinstance(size, int):
        return None
    expression = size.node.expr
    return str(expression) if expression.is_Symbol else None
