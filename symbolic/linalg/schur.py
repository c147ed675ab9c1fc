"""Real Schur forms by double-shift QR steps, as LAPACK takes them (lahqr): its shifts, its deflation, its order.

A batch goes in lockstep: each step of the outer Loop is a sweep in the lowest block of each matrix that has three rows
or more, the inner one its reflections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
from .qr import column_length
from .rotations import safe
from .steps import down, epsilon, filled, fixed, numbers, repeat, sizes_of, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Sweeps for each eigenvalue, at most. Less than two are usual.
_SWEEPS = 30
#: After so many sweeps without success the shifts are exceptional ones.
_STUCK = 10


@dataclass(frozen=True, slots=True)
class Bands:
    """Row by row, (batch, n): the diagonal, what is left of it, and the block that the rows belong to.

    Attributes:
        diagonal: H[k, k].
        left: H[k, k - 1].
        above: H[k - 1, k].
        splits: H[k, k - 1] counts as zero; holds of row 0 too.
    """

    diagonal: Value
    left: Value
    above: Value
    splits: Value


def schur(g: GraphBuilder, h: Value, basis: Value | None) -> tuple[Value, Value | None]:
    """T of H = Z T Z^T, with blocks of one and two rows on the diagonal, and basis Z.

    Args:
        g: Builder.
        h: (batch, n, n), zero below the first diagonal under the main one.
        basis: (batch, n, n), or None where it isn't wanted.
    """
    bottom = g.expand(g.constant(np.zeros((), np.int64)), [*sizes_of(g, h, 1), 1])

    def step(b: GraphBuilder, _: Value, carried: list[Value]) -> list[Value]:
        a, last, tries, *moved = carried
        bands = bands_of(b, a)
        first, final = _block(b, bands)
        tries = b.Where(b.Equal(final, last), b.Add(tries, 1), 1)
        found = b.And(bands.splits, b.GreaterOrEqual(numbers(b, fixed(a, -1)), first))
        a = b.Where(_under(b, found), 0.0, a)
        v, start = _start(b, a, bands, first, final, tries)
        a, *moved = _swept(b, [a, *moved], v, start, final)
        return [a, final, tries, *moved]

    def going(b: GraphBuilder, _: Value, new: list[Value]) -> Value:
        return b.Greater(b.ReduceMax(b.Concat(b.Reshape(new[1], [-1]), [0], axis=0), keepdims=0), 0)

    size = fixed(h, -1)
    start = [h, bottom, bottom, *([] if basis is None else [basis])]
    t, _, _, *moved = repeat(g, _SWEEPS * size, start, step, going) if size > 2 else start
    left = bands_of(g, t).splits
    return g.Where(_under(g, left), 0.0, t), moved[0] if moved else None


def _under(b: GraphBuilder, rows: Value) -> Value:
    """The elements left of the diagonal in these rows, as a mask of matrices."""
    size = fixed(rows, -1)
    return b.And(b.Unsqueeze(rows, [2]), b.constant(np.eye(size, k=-1, dtype=bool)))


def _diagonal(b: GraphBuilder, x: Value, offset: int) -> Value:
    """A diagonal, in the rows or columns that it lies in, zero at the end that it lacks."""
    axis = -1 if offset <= 0 else -2
    mask = b.constant(np.eye(fixed(x, -1), k=offset, dtype=bool))
    return b.ReduceSum(b.Where(mask, x, 0.0), [axis], keepdims=0)


def shifted(b: GraphBuilder, x: Value, by: int) -> Value:
    """The vector with x[k + by] in place k, round the end."""
    return b.Gather(x, b.constant(np.roll(np.arange(fixed(x, -1)), -by)), axis=1)


def bands_of(b: GraphBuilder, a: Value) -> Bands:
    """The bands, and where the matrix falls apart: small elements, by the criterion of Ahues and Tisseur."""
    ulp, tiny = epsilon(a), float(np.finfo(a.element.numpy()).tiny)
    smallest = tiny / ulp * fixed(a, -1)
    diagonal, left, above = (_diagonal(b, a, k) for k in (0, -1, 1))
    low, high, here = b.Abs(left), b.Abs(above), b.Abs(diagonal)
    before = shifted(b, diagonal, -1)
    around = b.Add(b.Abs(before), here)
    beside = b.Add(shifted(b, low, -1), shifted(b, low, 1))
    around = b.Where(b.Equal(around, 0.0), beside, around)
    gap = b.Abs(b.Sub(before, diagonal))
    most, least = b.Max(low, high), b.Min(low, high)
    wide, narrow = b.Max(here, gap), b.Min(here, gap)
    total = b.Add(wide, most)
    total = b.Where(b.Greater(total, 0.0), total, 1.0)
    limit = b.Max(b.Mul(b.Mul(narrow, b.Div(wide, total)), ulp), smallest)
    apart = b.And(
        b.LessOrEqual(low, b.Mul(around, ulp)), b.LessOrEqual(b.Mul(least, b.Div(most, total)), limit)
    )  # fmt: skip
    # what is no number is at rest
    joined = b.And(b.Greater(low, smallest), b.Not(apart))
    first = b.constant(np.arange(fixed(a, -1)) == 0)
    return Bands(diagonal, left, above, b.Or(first, b.Not(joined)))


def _block(b: GraphBuilder, bands: Bands) -> tuple[Value, Value]:
    """First and last row of the lowest block that has three rows or more, (batch, 1); both 0 where there is none."""
    joined = b.Not(bands.splits)
    order = numbers(b, fixed(joined, -1))
    deep = b.And(joined, shifted(b, joined, -1))
    final = b.ReduceMax(b.Where(deep, order, 0), [1], keepdims=1)
    starts = b.And(bands.splits, b.LessOrEqual(order, final))
    return b.ReduceMax(b.Where(starts, order, 0), [1], keepdims=1), final


def _at(b: GraphBuilder, x: Value, place: Value) -> Value:
    """One element of each row, (batch, 1)."""
    return b.GatherElements(x, b.Max(place, 0), axis=1)


# --- the start of a sweep --------------------------------------------------------------------------------------------


def _start(b: GraphBuilder, a: Value, bands: Bands, first: Value, final: Value, tries: Value) -> tuple[Value, Value]:
    """The first column of the shifted product, (batch, 3), and the row where the sweep begins."""
    order = numbers(b, fixed(a, -1))
    real, imaginary = _shifts(b, bands, first, final, tries)
    d, low = bands.diagonal, shifted(b, bands.left, 1)
    next_d, high, next_low = shifted(b, d, 1), shifted(b, bands.above, 1), shifted(b, low, 1)
    gap = b.Sub(d, real)
    scale = safe(b, b.Add(b.Add(b.Abs(gap), b.Abs(imaginary)), b.Abs(low)))
    ratio = b.Div(low, scale)
    v0 = b.Add(b.Add(b.Mul(ratio, high), b.Mul(gap, b.Div(gap, scale))), b.Mul(imaginary, b.Div(imaginary, scale)))
    v1 = b.Mul(ratio, b.Sub(b.Sub(b.Add(d, next_d), real), real))
    v2 = b.Mul(ratio, next_low)
    total = safe(b, b.Add(b.Add(b.Abs(v0), b.Abs(v1)), b.Abs(v2)))
    v0, v1, v2 = (b.Div(v, total) for v in (v0, v1, v2))
    # a sweep may begin below the first row, where two elements in a row are small
    around = b.Add(b.Add(b.Abs(shifted(b, d, -1)), b.Abs(d)), b.Abs(next_d))
    small = b.LessOrEqual(
        b.Mul(b.Abs(bands.left), b.Add(b.Abs(v1), b.Abs(v2))), b.Mul(b.Mul(b.Abs(v0), around), epsilon(a))
    )
    inside = b.And(b.GreaterOrEqual(order, first), b.LessOrEqual(order, b.Sub(final, 2)))
    begins = b.ReduceMax(b.Where(b.And(small, inside), order, first), [1], keepdims=1)
    return b.Concat(*(_at(b, v, begins) for v in (v0, v1, v2)), axis=1), begins


def _shifts(b: GraphBuilder, bands: Bands, first: Value, final: Value, tries: Value) -> tuple[Value, Value]:
    """Real and imaginary part of the shift; the second one is conjugate. Of two real ones the nearer is both."""
    d, left = bands.diagonal, bands.left
    before = b.Sub(final, 1)
    h00, h10, h01, h11 = _at(b, d, before), _at(b, left, final), _at(b, bands.above, final), _at(b, d, final)
    # exceptional shifts, at the bottom of the block and at its top in turn
    at_bottom, at_top = (b.Equal(b.Mod(tries, k), 0) for k in (2 * _STUCK, _STUCK))
    size = b.Add(b.Abs(h10), b.Abs(_at(b, left, before)))
    lowest = fixed(d, -1) - 1
    next_left = (_at(b, left, b.Min(b.Add(first, k), lowest)) for k in (1, 2))
    size = b.Where(at_bottom, size, b.Add(*(b.Abs(v) for v in next_left)))
    centre = b.Add(b.Mul(size, 0.75), b.Where(at_bottom, h11, _at(b, d, first)))
    h00, h11 = b.Where(at_top, centre, h00), b.Where(at_top, centre, h11)
    h01, h10 = b.Where(at_top, b.Mul(size, -0.4375), h01), b.Where(at_top, size, h10)
    scale = safe(b, b.Add(b.Add(b.Abs(h00), b.Abs(h01)), b.Add(b.Abs(h10), b.Abs(h11))))
    h00, h01, h10, h11 = (b.Div(v, scale) for v in (h00, h01, h10, h11))
    middle = b.Mul(b.Add(h00, h11), 0.5)
    determinant = b.Sub(b.Mul(b.Sub(h00, middle), b.Sub(h11, middle)), b.Mul(h01, h10))
    root = b.Sqrt(b.Abs(determinant))
    conjugate = b.GreaterOrEqual(determinant, 0.0)
    larger, smaller = b.Add(middle, root), b.Sub(middle, root)
    nearer = b.LessOrEqual(b.Abs(b.Sub(larger, h11)), b.Abs(b.Sub(smaller, h11)))
    real = b.Mul(b.Where(conjugate, middle, b.Where(nearer, larger, smaller)), scale)
    return real, b.Mul(b.Where(conjugate, root, 0.0), scale)


# --- the sweep -------------------------------------------------------------------------------------------------------


def _swept(g: GraphBuilder, states: list[Value], v: Value, begins: Value, final: Value) -> list[Value]:
    """H, and the basis if there is one, after the reflections that chase a bulge down the block."""
    rows, columns = down(g, states[0]), numbers(g, fixed(states[0], -1))
    begins, final = (g.Unsqueeze(p, [2]) for p in (begins, final))
    parts = g.Split(g.Unsqueeze(v, [2]), axis=1, num_outputs=3, outputs=3)
    bulge = filled(g, states[0], [1, 1, 1])
    for k, part in enumerate(parts):
        bulge = g.Where(g.Equal(rows, g.Add(begins, k)), part, bulge)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, *moved = carried
        at = b.Add(begins, number)
        starts, open_rows = b.Equal(number, 0), b.Less(at, final)
        here = b.Equal(columns, b.Sub(at, 1))
        old = b.ReduceSum(b.Where(here, a, 0.0), [-1], keepdims=1)
        x = b.Where(starts, bulge, b.Where(b.GreaterOrEqual(rows, at), old, 0.0))
        turn, tau, new = _reflection(b, b.Where(open_rows, x, 0.0), rows, at)
        is_head = b.Equal(rows, at)
        # left of the bulge: nothing below the head; at the start the head is only scaled
        new = b.Where(starts, b.Mul(old, b.Sub(1.0, tau)), new)
        under = b.And(b.GreaterOrEqual(rows, at), open_rows)
        clean = b.Where(under, b.Where(is_head, new, 0.0), old)
        a = b.Where(here, clean, b.MatMul(turn, a))
        return [b.MatMul(m, turn) for m in (a, *moved)]

    count = g.Concat(g.Reshape(g.Sub(final, begins), [-1]), [0], axis=0)
    return repeat(g, g.ReduceMax(count, keepdims=0), states, step)


def _reflection(b: GraphBuilder, x: Value, rows: Value, place: Value) -> tuple[Value, Value, Value]:
    """The reflection, as a matrix, that clears columns below a row of each matrix, its tau, and what it makes there."""
    head = b.ReduceSum(b.Where(b.Equal(rows, place), x, 0.0), [-2], keepdims=1)
    below = b.Where(b.Greater(rows, place), x, 0.0)
    nothing = b.Equal(b.ReduceMax(b.Abs(below), [-2], keepdims=1), 0.0)
    length = column_length(b, x)
    new = b.Where(nothing, head, b.Where(b.Less(head, 0.0), length, b.Neg(length)))
    tau = b.Where(nothing, 0.0, b.Div(b.Sub(new, head), b.Where(nothing, 1.0, new)))
    v = b.Where(b.Equal(rows, place), 1.0, b.Div(below, b.Where(nothing, 1.0, b.Sub(head, new))))
    eye = np.eye(fixed(rows, 0), dtype=x.element.numpy())
    return b.Sub(eye, b.MatMul(b.Mul(v, tau), swapped(b, v))), tau, new
