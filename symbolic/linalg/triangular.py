"""Triangular systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..value import Value
from .steps import across, down, filled, known, repeat, row, sizes_of, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def triangular_solve(
    g: GraphBuilder,
    a: Value,
    b: Value,
    *,
    lower: bool,
    left: bool = True,
    transposed: bool = False,
    unit: bool = False,
) -> Value:
    """The x with a x = b (left) or x a = b, for a triangular a, or its transpose.

    Args:
        g: Builder.
        a: Triangular matrices; the other triangle isn't read.
        b: Right sides, with the same batch axes.
        lower: Which triangle of a counts.
        left: a stands left of x.
        transposed: The transpose of a stands in its place.
        unit: The diagonal of a counts as ones and isn't read.
    """
    if not left:  # x a = b: a^T x^T = b^T
        turned = triangular_solve(g, a, swapped(g, b), lower=lower, transposed=not transposed, unit=unit)
        return swapped(g, turned)
    if transposed:
        a, lower = swapped(g, a), not lower
    size, columns, rows = known(a, -1), across(g, a), down(g, a)
    last = g.size(size - 1)

    def step(body: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        (x,) = carried
        at = number if lower else body.Sub(last, number)
        line = row(body, a, at)
        before = body.Less(columns, at) if lower else body.Greater(columns, at)
        done = body.MatMul(body.Where(before, line, 0.0), x)
        new = body.Sub(row(body, b, at), done)
        if not unit:
            new = body.Div(new, body.Unsqueeze(body.Gather(line, at, axis=a.rank - 1), [a.rank - 1]))
        return [body.Where(body.Equal(rows, at), new, x)]

    return repeat(g, size, [filled(g, b, sizes_of(g, b))], step)[0]
