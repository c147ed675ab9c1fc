"""Cholesky's factorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
from .steps import across, column, down, filled, known, repeat, row, sizes_of, swapped
from .triangular import triangular_solve

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def cholesky(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """The lower triangular L with L L^T = x, and the order of the first minor that isn't positive, or 0.

    Only the lower triangle of x is read. A matrix that isn't positive definite gives not-a-number.
    """
    rows, columns = down(g, x), across(g, x)
    symmetric = g.Where(g.GreaterOrEqual(rows, columns), x, swapped(g, x))

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        lower, failed = carried
        done = b.MatMul(lower, swapped(b, row(b, lower, number)))
        rest = b.Sub(column(b, symmetric, number), done)
        square = row(b, rest, number)
        fails = b.And(b.Not(b.Greater(square, 0.0)), b.Equal(failed, 0))
        below = b.Where(b.Less(rows, number), 0.0, b.Div(rest, b.Sqrt(square)))
        return [b.Where(b.Equal(columns, number), below, lower), b.Where(fails, b.Add(number, 1), failed)]

    zeros = filled(g, x, sizes_of(g, x))
    never = g.expand(g.constant(np.zeros((), np.int64)), [*sizes_of(g, x, -2), 1, 1])
    lower, failed = repeat(g, known(x, -1), [zeros, never], step)
    spoiled = g.And(g.Greater(failed, 0), g.GreaterOrEqual(rows, columns))
    nan = np.asarray(np.nan, x.element.numpy())
    return g.Where(spoiled, nan, lower), g.Squeeze(failed, [-2, -1])


def cholesky_solve(g: GraphBuilder, factor: Value, b: Value, *, lower: bool = True) -> Value:
    """The x with A x = b, for the Cholesky factor of A."""
    half_way = triangular_solve(g, factor, b, lower=lower, transposed=not lower)
    return triangular_solve(g, factor, half_way, lower=lower, transposed=lower)
