"""Orthogonal polynomials of any degree, by their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from ..xla.functions import unary
from .promotion import DataType, Scalar, cast, float_type, value_of
from .shape import broadcast_tensors

#: Degrees up to this are written out where they are known.
_UNROLLED = 32
#: (builder, x, degree before, polynomial two before, polynomial before) -> polynomial.
Step = Callable[[GraphBuilder, Value, Any, Value, Value], Value]
Closed = Callable[[GraphBuilder, Value, Value], Value]


@dataclass(frozen=True)
class Family:
    """One family of polynomials.

    Attributes:
        first: Slope and offset of the polynomial of degree 1.
        step: The recurrence.
        closed: The polynomial from its degree and the angle acos(x), used for degrees above 6 inside (-1, 1).
        limit: Whether torch gives NaN for high degrees.
    """

    first: tuple[float, float]
    step: Step
    closed: Closed | None = None
    limit: bool = False


def _chebyshev_step(g: GraphBuilder, x: Value, k: Any, before: Value, last: Value) -> Value:
    return g.Sub(g.Mul(g.Add(x, x), last), before)


def _hermite_h_step(g: GraphBuilder, x: Value, k: Any, before: Value, last: Value) -> Value:
    return g.Sub(g.Mul(g.Add(x, x), last), g.Mul(before, g.Add(k, k) if isinstance(k, Value) else 2 * k))


def _hermite_he_step(g: GraphBuilder, x: Value, k: Any, before: Value, last: Value) -> Value:
    return g.Sub(g.Mul(x, last), g.Mul(before, k))


def _laguerre_step(g: GraphBuilder, x: Value, k: Any, before: Value, last: Value) -> Value:
    k = k if isinstance(k, Value) else value_of(g, k, x.element)
    factor = g.Add(g.Add(k, k), g.Sub(1.0, x))
    return g.Div(g.Sub(g.Mul(factor, last), g.Mul(before, k)), g.Add(k, 1.0))


def _legendre_step(g: GraphBuilder, x: Value, k: Any, before: Value, last: Value) -> Value:
    k = k if isinstance(k, Value) else value_of(g, k, x.element)
    factor = g.Mul(g.Add(g.Add(k, k), 1.0), x)
    return g.Div(g.Sub(g.Mul(factor, last), g.Mul(before, k)), g.Add(k, 1.0))


def _closed_t(g: GraphBuilder, n: Value, angle: Value) -> Value:
    return g.Cos(g.Mul(n, angle))


def _closed_u(g: GraphBuilder, n: Value, angle: Value) -> Value:
    return g.Div(g.Sin(g.Mul(g.Add(n, 1.0), angle)), g.Sin(angle))


def _closed_v(g: GraphBuilder, n: Value, angle: Value) -> Value:
    return g.Div(g.Cos(g.Mul(g.Add(n, 0.5), angle)), g.Cos(g.Mul(angle, 0.5)))


def _closed_w(g: GraphBuilder, n: Value, angle: Value) -> Value:
    return g.Div(g.Sin(g.Mul(g.Add(n, 0.5), angle)), g.Sin(g.Mul(angle, 0.5)))


FAMILIES = {
    "chebyshev_polynomial_t": Family((1, 0), _chebyshev_step, _closed_t),
    "chebyshev_polynomial_u": Family((2, 0), _chebyshev_step, _closed_u),
    "chebyshev_polynomial_v": Family((2, -1), _chebyshev_step, _closed_v),
    "chebyshev_polynomial_w": Family((2, 1), _chebyshev_step, _closed_w),
    "hermite_polynomial_h": Family((2, 0), _hermite_h_step, limit=True),
    "hermite_polynomial_he": Family((1, 0), _hermite_he_step, limit=True),
    "laguerre_polynomial_l": Family((-1, 1), _laguerre_step),
    "legendre_polynomial_p": Family((1, 0), _legendre_step),
}


def _polynomial(g: GraphBuilder, family: Family, x: Value, degree: Value) -> Value:
    """The polynomial of each element's degree at each element."""
    known = degree.array
    slope, offset = family.first
    one = value_of(g, 1.0, x.element)
    first = g.Mul(x, slope) if slope != 1 else x
    first = g.Add(first, offset) if offset else first
    if known is not None and known.size == 1 and 0 <= int(known.item()) <= _UNROLLED:
        wanted = int(known.item())
        before, result = g.Add(g.Mul(x, 0.0), one), first
        if wanted == 0:
            return g.Where(g.Equal(x, x), one, one)
        for k in range(1, wanted):
            before, result = result, family.step(g, x, float(k), before, result)
    else:
        x, degree = broadcast_tensors(g, [x, degree])
        result = _looped(g, family, x, degree, g.expand(first, list(x.sizes or ())) if x.rank else first)
        result = g.Where(g.Equal(degree, 0), one, g.Where(g.Less(degree, 0), value_of(g, 0.0, x.element), result))
    return _corrected(g, family, x, degree, result)


def _looped(g: GraphBuilder, family: Family, x: Value, degree: Value, first: Value) -> Value:
    """The recurrence up to the highest degree; each element stops at its own."""
    flat = g.Concat(g.reshape(degree, [-1]), np.array([1], np.int64), axis=0)
    body = g.subgraph("recurrence")
    index = body.input("index", DataType.INT64, [])
    body.input("running", DataType.BOOL, [])
    before, last = (body.input(n, x.element, x.sizes) for n in ("before", "last"))
    k = body.Add(index, 1)
    following = family.step(body, x, body.Cast(k, to=x.element), before, last)
    going = body.Less(k, degree)
    body.output(body.constant(np.array(True)))
    body.output(body.Where(going, last, before))
    body.output(body.Where(going, following, last))
    ones = g.Where(g.Equal(first, first), value_of(g, 1.0, x.element), value_of(g, 1.0, x.element))
    count = g.Sub(g.ReduceMax(flat, keepdims=0), 1)
    result: Value = g.call("Loop", count, None, ones, first, body=body, outputs=2)[1]
    return result


def _corrected(g: GraphBuilder, family: Family, x: Value, degree: Value, result: Value) -> Value:
    """What torch does for high degrees."""
    if family.limit:
        highest = 512 if x.dtype == DataType.DOUBLE else 128
        return g.Where(g.Greater(degree, highest), value_of(g, np.nan, x.element), result)
    if family.closed is None:
        return result
    inside = g.And(g.Less(g.Abs(x), 1.0), g.Greater(degree, 6))
    if inside.array is not None and not inside.array.any():
        return result
    angle = unary(g, "Acos", g.Where(inside, x, value_of(g, 0.5, x.element)))
    return g.Where(inside, family.closed(g, cast(g, degree, x.element), angle), result)


def _register(name: str, family: Family, shifted: bool) -> None:
    def function(g: GraphBuilder, x: Scalar, n: Scalar) -> Value:
        dtype = float_type(x, n)
        at = value_of(g, x, dtype)
        if shifted:
            at = g.Sub(g.Add(at, at), 1.0)
        degree = cast(g, n, DataType.INT64) if isinstance(n, Value) else value_of(g, n, DataType.INT64)
        return _polynomial(g, family, at, degree)

    full = f"special_{'shifted_' if shifted else ''}{name}"
    function.__doc__ = f"aten::{full}(Tensor x, Tensor n) -> Tensor"
    function.__name__ = function.__qualname__ = full
    symbolic("aten", full)(function)


for _name, _family in FAMILIES.items():
    _register(_name, _family, shifted=False)
    if _family.closed is not None:
        _register(_name, _family, shifted=True)
