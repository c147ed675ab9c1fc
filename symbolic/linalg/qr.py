"""QR by Householder's reflections, with LAPACK's signs and its packed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dims import Size
from ..value import Value
from .steps import (
    across,
    broadcast_batches,
    column,
    down,
    filled,
    identity,
    known,
    numbers,
    repeat,
    row,
    sizes_of,
    smaller,
    swapped,
    triangle,
)  # fmt: skip

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def geqrf(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """R on and above the diagonal, the reflections below it, and their factors tau.

    Reflection k is 1 - tau v v^T, v being 0 above row k, 1 in it, and column k below it.
    """
    count = smaller(known(x, -2), known(x, -1))
    rows, columns, order = down(g, x), across(g, x), numbers(g, count)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, taus = carried
        here = column(b, a, number)
        v, tau, new = reflection(b, here, rows, number)
        reflected = b.Sub(a, b.MatMul(b.Mul(v, tau), b.MatMul(swapped(b, v), a)))
        packed = b.Where(b.Greater(rows, number), v, b.Where(b.Equal(rows, number), new, here))
        a = b.Where(b.Greater(columns, number), reflected, b.Where(b.Equal(columns, number), packed, a))
        return [a, b.Where(b.Equal(order, number), b.Squeeze(tau, [-1]), taus)]

    taus = filled(g, x, [*sizes_of(g, x, -2), count])
    packed, taus = repeat(g, count, [x, taus], step)
    return packed, taus


def reflection(b: GraphBuilder, x: Value, rows: Value, number: Value) -> tuple[Value, Value, Value]:
    """v and tau of the reflection that clears columns below row `number`, and what it makes of that row."""
    below = b.Where(b.Greater(rows, number), x, 0.0)
    head = row(b, x, number)
    length = column_length(b, b.Where(b.GreaterOrEqual(rows, number), x, 0.0))
    nothing = b.Equal(b.ReduceMax(b.Abs(below), [-2], keepdims=1), 0.0)  # no reflection is needed
    new = b.Where(nothing, head, b.Where(b.Less(head, 0.0), length, b.Neg(length)))
    tau = b.Where(nothing, 0.0, b.Div(b.Sub(new, head), b.Where(nothing, 1.0, new)))
    tail = b.Div(below, b.Where(nothing, 1.0, b.Sub(head, new)))
    return b.Where(b.Equal(rows, number), 1.0, tail), tau, new


def column_length(b: GraphBuilder, x: Value) -> Value:
    """Lengths of columns, which neither overflows nor loses small numbers."""
    largest = b.ReduceMax(b.Abs(x), [-2], keepdims=1)
    scaled = b.Div(x, b.Where(b.Equal(largest, 0.0), 1.0, largest))
    return b.Mul(largest, b.Sqrt(b.ReduceSum(b.Mul(scaled, scaled), [-2], keepdims=1)))


def reflect(
    g: GraphBuilder, packed: Value, taus: Value, x: Value, *, left: bool = True, transposed: bool = False
) -> Value:
    """Q x, or x Q where `left` is false, or with the transpose of Q, for the packed reflections of Q."""
    if not left:  # x Q = (Q^T x^T)^T
        return swapped(g, reflect(g, packed, taus, swapped(g, x), transposed=not transposed))
    packed, x = broadcast_batches(g, packed, x)
    count, rows = known(taus, -1), down(g, packed)
    last = g.size(count - 1)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        (done,) = carried
        at = number if transposed else b.Sub(last, number)
        tail = b.Where(b.Greater(rows, at), column(b, packed, at), 0.0)
        v = b.Where(b.Equal(rows, at), 1.0, tail)
        tau = b.Unsqueeze(b.Gather(taus, at, axis=taus.rank - 1), [-1, -2])
        return [b.Sub(done, b.MatMul(b.Mul(v, tau), b.MatMul(swapped(b, v), done)))]

    return repeat(g, count, [x], step)[0]


def householder_product(g: GraphBuilder, packed: Value, taus: Value, columns: Size | None = None) -> Value:
    """The first columns of Q, as many as the packed matrix has."""
    rows = known(packed, -2)
    columns = known(packed, -1) if columns is None else columns
    eye = g.expand(identity(g, packed, rows, columns), [*sizes_of(g, packed, -2), rows, columns])
    return reflect(g, packed, taus, eye)


def qr(g: GraphBuilder, x: Value, *, complete: bool = False) -> tuple[Value, Value]:
    """Q with orthonormal columns (a square Q where it is asked to be complete) and the upper triangular R."""
    rows = known(x, -2)
    count = smaller(rows, known(x, -1))
    packed, taus = geqrf(g, x)
    return householder_product(g, packed, taus, rows if complete else count), upper(g, packed, complete=complete)


def upper(g: GraphBuilder, packed: Value, *, complete: bool = False) -> Value:
    """R of a packed matrix."""
    rows, columns = known(packed, -2), known(packed, -1)
    count = smaller(rows, columns)
    if not complete and count != rows:
        packed = g.Slice(packed, [0], g.size_vector(count), [-2])
        packed.sizes = (*(packed.sizes or ())[:-2], count, columns)
    return triangle(g, packed, lower=False)
