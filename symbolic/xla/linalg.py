"""Factorisations and triangular systems, one column after the other in a Loop; any number of batch axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Size
from ..value import Value
from .kernels import FLOATS
from .pointwise import scalar
from .shapes import reverse

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: From builder, number of the step and carried values to the new carried values.
Step = Callable[["GraphBuilder", Value, list[Value]], list[Value]]


def _loop(g: GraphBuilder, count: Size, states: Sequence[Value], step: Step) -> list[Value]:
    body = g.subgraph("columns")
    number, going = body.input("step", _T.INT64, ()), body.input("continues", _T.BOOL, ())
    carried = [body.input(f"carry{i}", s.element, s.sizes) for i, s in enumerate(states)]
    new = step(body, number, carried)
    body.output(going)
    for value in new:
        body.output(value)
    found = g.call("Loop", g.size(count), None, *states, body=body, outputs=len(states))
    results = list(found) if isinstance(found, tuple) else [found]
    for result, state in zip(results, states, strict=True):
        result.sizes = state.sizes
    return results


def _sizes(g: GraphBuilder, x: Value, until: int | None = None) -> list[Size | Value]:
    """Sizes of the axes before `until`; those that are not known are taken when the model runs."""
    known = enumerate((x.sizes or ())[:until])
    return [g.Squeeze(g.Shape(x, start=i, end=i + 1), [0]) if s is None else s for i, s in known]


def _order(x: Value) -> int:
    """Size of the last axis, which must be fixed; and the dtype one that Loop bodies can compute with."""
    size = x.dim(-1)
    if not isinstance(size, int) or x.element not in FLOATS:
        raise ValueError("factorisations need a fixed size and floats")
    return size


def _row(g: GraphBuilder, x: Value, number: Value) -> Value:
    """Row `number`: (..., 1, n)."""
    return g.Unsqueeze(g.Gather(x, number, axis=x.rank - 2), [x.rank - 2])


def _column(g: GraphBuilder, x: Value, number: Value) -> Value:
    """Column `number`: (..., m, 1)."""
    return g.Unsqueeze(g.Gather(x, number, axis=x.rank - 1), [x.rank - 1])


def _swapped(g: GraphBuilder, x: Value) -> Value:
    return g.Transpose(x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])


def cholesky(g: GraphBuilder, x: Value) -> Value:
    """Lower triangular L with L L^T = (x + x^T) / 2; not-a-number where x isn't positive definite."""
    size = _order(x)
    half = scalar(g, 0.5, x)
    symmetric = g.Mul(g.Add(x, _swapped(g, x)), half)
    numbers = np.arange(size)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        (lower,) = carried
        done = b.MatMul(lower, _swapped(b, _row(b, lower, number)))
        rest = b.Sub(_column(b, symmetric, number), done)
        pivot = b.Sqrt(_row(b, rest, number))
        zero = scalar(b, 0, x)
        below = b.Where(b.Less(b.constant(numbers[:, None]), number), zero, b.Div(rest, pivot))
        return [b.Where(b.Equal(b.constant(numbers), number), below, lower)]

    zeros = g.expand(scalar(g, 0, x), _sizes(g, x))
    (lower,) = _loop(g, size, [zeros], step)
    # one pivot that is not a number makes everything so
    trace = g.ReduceSum(lower, [x.rank - 2, x.rank - 1], keepdims=1)
    spoiled = g.IsNaN(trace)
    triangle = g.constant(np.tril(np.ones((size, size), np.bool_)))
    return g.Where(g.And(spoiled, triangle), scalar(g, np.nan, x), lower)


def triangular_solve(
    g: GraphBuilder, a: Value, b: Value, *, left: bool, lower: bool, transposed: bool, unit: bool
) -> Value:
    """The x with a x = b (left) or x a = b, for a triangular a, or its transpose."""
    if not left:  # x a = b: a^T x^T = b^T
        turned = triangular_solve(g, a, _swapped(g, b), left=True, lower=lower, transposed=not transposed, unit=unit)
        return _swapped(g, turned)
    if transposed:
        a, lower = _swapped(g, a), not lower
    size = _order(a)
    if not lower:
        flipped = reverse(g, a, [a.rank - 2, a.rank - 1])
        solved = _forward(g, flipped, reverse(g, b, [b.rank - 2]), size, unit)
        return reverse(g, solved, [b.rank - 2])
    return _forward(g, a, b, size, unit)


def _forward(g: GraphBuilder, a: Value, b: Value, size: int, unit: bool) -> Value:
    numbers = np.arange(size)

    def step(body: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        (x,) = carried
        row = _row(body, a, number)
        before = body.Less(body.constant(numbers), number)
        known = body.MatMul(body.Where(before, row, scalar(body, 0, a)), x)
        new = body.Sub(_row(body, b, number), known)
        if not unit:
            new = body.Div(new, body.Unsqueeze(body.Gather(row, number, axis=a.rank - 1), [a.rank - 1]))
        return [body.Where(body.Equal(body.constant(numbers[:, None]), number), new, x)]

    zeros = g.expand(scalar(g, 0, b), _sizes(g, b))
    return _loop(g, size, [zeros], step)[0]


def lu(g: GraphBuilder, x: Value) -> list[Value]:
    """Factors in one matrix, pivots, and the permutation of the rows; the largest element of a column is the pivot."""
    size = _order(x)
    rows = x.dim(-2)
    if not isinstance(rows, int):
        raise ValueError("factorisations need a fixed size")
    count = min(rows, size)
    rank = x.rank
    batch = _sizes(g, x, -2)
    down, across = np.arange(rows)[:, None], np.arange(size)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, pivots, permutation = carried
        zero = scalar(b, 0, x)
        column = b.Abs(_column(b, a, number))
        open_rows = b.Where(b.GreaterOrEqual(b.constant(down), number), column, scalar(b, -1, x))
        best = b.ArgMax(open_rows, axis=rank - 2, keepdims=1)  # (..., 1, 1)
        is_pivot, is_row = b.Equal(b.constant(down), best), b.Equal(b.constant(down), number)
        pivot_row = b.ReduceSum(b.Where(is_pivot, a, zero), [rank - 2], keepdims=1)
        swapped = b.Where(is_row, pivot_row, b.Where(is_pivot, _row(b, a, number), a))
        pivot = b.Unsqueeze(b.Gather(pivot_row, number, axis=rank - 1), [rank - 1])
        below = b.Greater(b.constant(down), number)
        nothing = b.Equal(pivot, zero)
        ratio = b.Div(_column(b, swapped, number), b.Where(nothing, scalar(b, 1, x), pivot))
        factors = b.Where(b.Or(b.Not(below), nothing), zero, ratio)
        right = b.Where(b.Greater(b.constant(across), number), pivot_row, zero)
        left_in = b.Sub(swapped, b.MatMul(factors, right))
        here = b.And(b.And(below, b.Not(nothing)), b.Equal(b.constant(across), number))
        place = b.Squeeze(best, [rank - 1])  # (..., 1)
        order = b.constant(np.arange(count))
        pivots = b.Where(b.Equal(order, number), b.Cast(place, to=_T.INT32), pivots)
        return [b.Where(here, factors, left_in), pivots, _exchanged(b, permutation, number, place)]

    start = [
        x,
        g.expand(g.constant(np.zeros((), np.int32)), [*batch, count]),
        g.expand(g.constant(np.arange(rows, dtype=np.int32)), [*batch, rows]),
    ]
    return _loop(g, count, start, step)


def _exchanged(b: GraphBuilder, permutation: Value, number: Value, place: Value) -> Value:
    """A permutation with two entries exchanged: that of a number and that of a place (..., 1)."""
    last = permutation.rank - 1
    order = b.constant(np.arange(int(permutation.dim(last) or 0)))  # type: ignore[arg-type]
    here, there = b.Equal(order, number), b.Equal(order, place)
    zero = scalar(b, 0, permutation)
    at_place = b.ReduceSum(b.Where(there, permutation, zero), [last], keepdims=1)
    at_number = b.Unsqueeze(b.Gather(permutation, number, axis=last), [last])
    return b.Where(here, at_place, b.Where(there, at_number, permutation))


def pivots_to_permutation(g: GraphBuilder, pivots: Value, size: int) -> Value:
    """The permutation that exchanging rows in turn amounts to."""
    batch = _sizes(g, pivots, -1)
    last = pivots.rank - 1

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        place = b.Cast(b.Unsqueeze(b.Gather(pivots, number, axis=last), [last]), to=_T.INT64)
        return [_exchanged(b, carried[0], number, place)]

    start = g.expand(g.constant(np.arange(size, dtype=np.int32)), [*batch, size])
    count = pivots.dim(-1)
    assert count is not None
    return _loop(g, count, [start], step)[0]


def solve(g: GraphBuilder, a: Value, b: Value | None = None) -> Value:
    """The x with a x = b for square matrices; the inverse of a without b."""
    factors, _, permutation = lu(g, a)
    exchange = g.Equal(g.Unsqueeze(permutation, [-1]), g.constant(np.arange(_order(a), dtype=np.int32)))
    rows = g.Cast(exchange, to=a.element)
    right = rows if b is None else g.MatMul(rows, b)
    half_way = triangular_solve(g, factors, right, left=True, lower=True, transposed=False, unit=True)
    return triangular_solve(g, factors, half_way, left=True, lower=False, transposed=False, unit=False)
