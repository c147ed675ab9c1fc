"""Symmetric matrices made tridiagonal by Householder's reflections, as LAPACK does it (sytd2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..value import Value
from .qr import reflection
from .steps import across, column, down, fixed, repeat, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def tridiagonal(g: GraphBuilder, x: Value, basis: Value) -> tuple[Value, Value]:
    """The tridiagonal T of x = Q T Q^T, and basis Q; off its bands T isn't cleared."""
    rows = down(g, x)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, moved = carried
        v, tau, _ = reflection(b, column(b, a, number), rows, b.Add(number, 1))
        image = b.Mul(tau, b.MatMul(a, v))
        along = b.Mul(b.Mul(tau, 0.5), b.MatMul(swapped(b, image), v))
        change = b.MatMul(v, swapped(b, b.Sub(image, b.Mul(along, v))))
        turned = b.MatMul(b.MatMul(moved, v), swapped(b, b.Mul(tau, v)))
        return [b.Sub(b.Sub(a, change), swapped(b, change)), b.Sub(moved, turned)]

    a, moved = repeat(g, max(fixed(x, -1) - 2, 0), [x, basis], step)
    return a, moved


def bands(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """The diagonal and the elements below it, with a zero at the end: (..., n) each."""
    rows, columns = down(g, x), across(g, x)
    diagonal = g.ReduceSum(g.Where(g.Equal(rows, columns), x, 0.0), [-2], keepdims=0)
    below = g.ReduceSum(g.Where(g.Equal(rows, g.Add(columns, 1)), x, 0.0), [-2], keepdims=0)
    return diagonal, below
