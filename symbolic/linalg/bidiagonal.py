"""Matrices made bidiagonal by Householder's reflections, as LAPACK does it (gebrd)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
from .qr import reflection
from .rotations import rotation_of
from .steps import across, column, down, filled, fixed, identity, numbers, repeat, row, sizes_of, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def bidiagonal(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value, Value, Value]:
    """Of matrices (batch, m, n), m >= n: packed reflections of U and their factors, diagonal, upper diagonal, and V.

    x = U B V^T. The upper diagonal has a zero at the end.
    """
    size, batch = fixed(x, -1), sizes_of(g, x, 1)
    rows, columns, order = down(g, x), across(g, x), numbers(g, size)
    lines = g.Unsqueeze(columns, [1])

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, taus, basis = carried
        here = column(b, a, number)
        v, tau, new = reflection(b, here, rows, number)
        reflected = b.Sub(a, b.MatMul(b.Mul(v, tau), b.MatMul(swapped(b, v), a)))
        packed = b.Where(b.Greater(rows, number), v, b.Where(b.Equal(rows, number), new, here))
        a = b.Where(b.Greater(columns, number), reflected, b.Where(b.Equal(columns, number), packed, a))
        taus = b.Where(b.Equal(order, number), b.Squeeze(tau, [2]), taus)
        # from the right: the row but for its first element, of which the last one stays
        after = b.Min(b.Add(number, 1), b.constant(np.int64(size - 1)))
        w, sigma, _ = reflection(b, swapped(b, row(b, a, number)), lines, after)
        w = b.Where(b.Greater(lines, number), w, 0.0)
        turn = swapped(b, b.Mul(w, sigma))
        return [b.Sub(a, b.MatMul(b.MatMul(a, w), turn)), taus, b.Sub(basis, b.MatMul(b.MatMul(basis, w), turn))]

    start = [x, filled(g, x, [*batch, size]), g.expand(identity(g, x, size), [*batch, size, size])]
    packed, taus, basis = repeat(g, size, start, step)
    diagonal, above = (
        g.ReduceSum(g.Where(g.Equal(g.Add(rows, k), columns), packed, 0.0), [1], keepdims=0) for k in (0, 1)
    )
    places = g.constant(np.roll(np.arange(size), -1))
    return packed, taus, diagonal, g.Gather(above, places, axis=1), basis


def turned_upper(g: GraphBuilder, rows: Value) -> Value:
    """Lower bidiagonal matrices made upper ones by rotations of their rows.

    Args:
        g: Builder.
        rows: (n, batch, 2 + k): diagonal, lower diagonal, columns of the basis of rows.
    """
    batch, width = rows.dim(1), fixed(rows, 2)
    size = fixed(rows, 0)
    body = g.subgraph("upper")
    element = body.input("element", rows.element, (batch, 1))
    below = body.input("below", rows.element, (batch, 1))
    vector = body.input("vector", rows.element, (batch, width - 2))
    line = body.input("row", rows.element, (batch, width))
    following, next_below, other = body.Split(line, [1, 1, width - 2], axis=1, outputs=3)
    cosine, sine, length = rotation_of(body, element, below)
    done = body.Add(body.Mul(cosine, vector), body.Mul(sine, other))
    left = body.Sub(body.Mul(cosine, other), body.Mul(sine, vector))
    for value in (body.Mul(cosine, following), next_below, left):
        body.output(value)
    body.output(body.Concat(length, body.Mul(sine, following), done, axis=1))
    first = g.Split(g.Gather(rows, 0, axis=0), [1, 1, width - 2], axis=1, outputs=3)
    *last, swept = g.Scan(*first, g.Slice(rows, [1], [size], [0]), body=body, num_scan_inputs=1, outputs=4)
    found: Value = g.Concat(swept, g.Unsqueeze(g.Concat(*last, axis=1), [0]), axis=0)
    return g.expect(found, None, rows.sizes)
