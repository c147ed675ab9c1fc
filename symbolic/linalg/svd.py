"""Singular values and vectors by Jacobi's one-sided method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
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

    A pair of singular vectors may have the other sign than the source's.
    """
    rows, columns = fixed(x, -2), fixed(x, -1)
    if rows < columns:
        right, values, left = svd(g, swapped(g, x), full=full)
        return swapped(g, left), values, swapped(g, right)
    batch, width = sizes_of(g, x, -2), rows if full else columns
    if columns == 0:
        u = g.expand(identity(g, x, rows, width), [*batch, rows, width])
        return u, filled(g, x, [*batch, 0]), filled(g, x, [*batch, 0, 0])
    if rows == columns:
        return _square(g, x)
    packed, taus = geqrf(g, x)  # of a tall matrix, R alone is rotated
    left, values, vh = _square(g, upper(g, packed))
    whole = g.Concat(left, filled(g, x, [*batch, rows - columns, columns]), axis=-2)
    if full:
        more = rows - columns
        eye = g.expand(identity(g, x, more), [*batch, more, more])
        beside = g.Concat(filled(g, x, [*batch, columns, more]), eye, axis=-2)
        whole = g.Concat(whole, beside, axis=-1)
    return reflect(g, packed, taus, whole), values, vh


def _square(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value]:
    size = fixed(x, -1)
    scale = scale_of(g, x)
    both = _orthogonal(g, g.Concat(g.Div(x, scale), g.expand(identity(g, x, size), sizes_of(g, x)), axis=-2), size)
    scaled, v = g.Split(both, [size, size], axis=-2, outputs=2)
    values, places = g.TopK(_lengths(g, scaled), [size], outputs=2)
    # the columns are orthogonal: QR makes unit vectors of them, also where a column is zero or nearly so
    packed, taus = geqrf(g, columns_at(g, scaled, places))
    signs = g.Unsqueeze(sign_of(g, diagonal_of(g, packed)), [-2])
    v = g.Mul(columns_at(g, v, places), signs)
    return householder_product(g, packed, taus), g.Mul(values, g.Squeeze(scale, [-1])), swapped(g, v)


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
