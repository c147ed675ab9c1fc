"""Singular values and vectors by Jacobi's one-sided method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
from . import signs
from .jacobi import SWEEPS, counted, even, goes_on, rotated, rotation, scale_of, tolerance
from .qr import geqrf, householder_product, reflect, upper
from .steps import (
    columns_at,
    diagonal_of,
    filled,
    fixed,
    identity,
    repeat,
    sign_of,
    sizes_of,
    swapped,
)  # fmt: skip

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def singular_values(g: GraphBuilder, x: Value) -> Value:
    """Singular values in descending order."""
    rows, columns = fixed(x, -2), fixed(x, -1)
    if rows < columns:
        return singular_values(g, swapped(g, x))
    if columns == 0:
        return filled(g, x, [*sizes_of(g, x, -2), 0])
    if rows > columns:
        return singular_values(g, upper(g, geqrf(g, x)[0]))
    scale = scale_of(g, x)
    lengths = _lengths(g, _orthogonal(g, g.Div(x, scale), rows))
    ordered: tuple[Value, Value] = g.TopK(g.Mul(lengths, g.Squeeze(scale, [-1])), [columns], outputs=2)
    return ordered[0]


def svd(g: GraphBuilder, x: Value, *, full: bool = False) -> tuple[Value, Value, Value]:
    """U, the singular values in descending order, and V^T; square U and V where all of them are asked for.

    With more than two singular values, a pair of singular vectors may have the other sign than LAPACK's.
    """
    rows, columns = fixed(x, -2), fixed(x, -1)
    if rows == columns:
        return _square(g, x, lower=False)
    wide = rows < columns
    packed, taus = geqrf(g, swapped(g, x) if wide else x)  # only the triangle of a tall or wide matrix is rotated
    triangle = upper(g, packed)
    u, values, vh = _square(g, swapped(g, triangle) if wide else triangle, lower=wide)
    if wide:
        return u, values, swapped(g, _outward(g, packed, taus, swapped(g, vh), full))
    return _outward(g, packed, taus, u, full), values, vh


def _outward(g: GraphBuilder, packed: Value, taus: Value, x: Value, full: bool) -> Value:
    """Vectors of the triangle as vectors of the tall matrix, with those that complete the basis."""
    rows, columns, batch = fixed(packed, -2), fixed(packed, -1), sizes_of(g, packed, -2)
    more = rows - columns
    whole = g.Concat(x, filled(g, packed, [*batch, more, columns]), axis=-2)
    if full:
        eye = g.expand(identity(g, packed, more), [*batch, more, more])
        whole = g.Concat(whole, g.Concat(filled(g, packed, [*batch, columns, more]), eye, axis=-2), axis=-1)
    return reflect(g, packed, taus, whole)


def _square(g: GraphBuilder, x: Value, *, lower: bool) -> tuple[Value, Value, Value]:
    size = fixed(x, -1)
    if size == 0:
        return x, filled(g, x, [*sizes_of(g, x, -2), 0]), x
    scale = scale_of(g, x)
    scaled = g.Div(x, scale)
    both = _orthogonal(g, g.Concat(scaled, g.expand(identity(g, x, size), sizes_of(g, x)), axis=-2), size)
    product, v = g.Split(both, [size, size], axis=-2, outputs=2)
    values, places = g.TopK(_lengths(g, product), [size], outputs=2)
    # the columns are orthogonal: QR makes unit vectors of them, also where a column is zero or nearly so
    packed, taus = geqrf(g, columns_at(g, product, places))
    u = g.Mul(householder_product(g, packed, taus), g.Unsqueeze(sign_of(g, diagonal_of(g, packed)), [-2]))
    vh = swapped(g, columns_at(g, v, places))
    if size == 2:
        turned = signs.singular_vectors(g, scaled, vh, lower=lower)
        u, vh = g.Mul(u, swapped(g, turned)), g.Mul(vh, turned)
    return u, g.Mul(values, g.Squeeze(scale, [-1])), vh


def _lengths(g: GraphBuilder, x: Value) -> Value:
    return g.Sqrt(g.ReduceSum(g.Mul(x, x), [-2], keepdims=0))


def _orthogonal(g: GraphBuilder, x: Value, rows: int) -> Value:
    """Columns rotated until their first `rows` elements are orthogonal."""
    size = fixed(x, -1)
    if size == 1:
        return x
    last, whole = x.rank - 1, size + size % 2
    # products below this are lost in rounding
    nothing = float(np.finfo(x.element.numpy()).tiny / np.finfo(x.element.numpy()).eps)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, unsettled = carried
        left, right = b.Split(b.Slice(a, [0], [rows], [-2]), axis=last, num_outputs=2, outputs=2)
        first, second, joint = (
            b.ReduceSum(b.Mul(p, q), [-2], keepdims=1) for p, q in ((left, left), (right, right), (left, right))
        )
        sine, half = rotation(b, first, second, joint)
        rest = b.Add(b.Mul(b.Mul(b.Sqrt(first), b.Sqrt(second)), tolerance(x, rows)), nothing)
        unsettled = counted(b, number, whole, unsettled, b.Greater(b.Abs(joint), rest))
        return [rotated(b, a, sine, half, last), unsettled]

    start = [even(g, x, [last], size), g.constant(np.zeros((), np.float32))]
    done, _ = repeat(g, SWEEPS * (whole - 1), start, step, goes_on(whole))
    return done if whole == size else g.Slice(done, [0], [size], [-1])
