"""Singular values and vectors: vectors of small matrices by LAPACK's steps, the others by Jacobi's one-sided method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from . import implicit_svd
from .bidiagonal import bidiagonal, turned_upper
from .implicit_svd import as_rows, from_rows, singular
from .jacobi import SWEEPS, counted, even, goes_on, rotated, rotation, scale_of, tolerance
from .qr import geqrf, householder_product, reflect, upper
from .steps import (
    columns_at,
    diagonal_of,
    epsilon,
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

_DOUBLE = ir.DataType.DOUBLE


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


def svd(g: GraphBuilder, x: Value, *, full: bool = False, signs: bool = False) -> tuple[Value, Value, Value]:
    """U, the singular values in descending order, and V^T.

    Args:
        g: Builder.
        x: Matrices.
        full: U and V shall be square.
        signs: The signs of vectors shall be LAPACK's own (those of MKL), up to the order where it takes QR steps;
            above, and from order three on without this, pairs of vectors may have the other sign.
    """
    rows, columns = fixed(x, -2), fixed(x, -1)
    order = min(rows, columns)
    if order == 2 or (signs and 2 <= order <= implicit_svd.MOST):
        return _by_qr(g, x, full)
    if rows == columns:
        return _square(g, x)
    wide = rows < columns
    packed, taus = geqrf(g, swapped(g, x) if wide else x)  # only the triangle of a tall or wide matrix is rotated
    triangle = upper(g, packed)
    u, values, vh = _square(g, swapped(g, triangle) if wide else triangle)
    if wide:
        return u, values, swapped(g, _outward(g, packed, taus, swapped(g, vh), full))
    return _outward(g, packed, taus, u, full), values, vh


def _by_qr(g: GraphBuilder, x: Value, full: bool) -> tuple[Value, Value, Value]:
    """LAPACK's way, in float64, so that only its own errors count."""
    if x.element is not _DOUBLE:
        found = _steps(g, g.Cast(x, to=_DOUBLE), full, epsilon(x) / 2)
        u, values, vh = (g.Cast(f, to=x.element) for f in found)
        return u, values, vh
    return _steps(g, x, full, epsilon(x) / 2)


def _steps(g: GraphBuilder, x: Value, full: bool, unit: float) -> tuple[Value, Value, Value]:
    """gesdd. How tall or wide a matrix must be to be made triangular first is MKL's choice."""
    rows, columns, batch = fixed(x, -2), fixed(x, -1), sizes_of(g, x, -2)
    x = x if x.rank == 3 else g.reshape(x, [-1, rows, columns])
    scale = scale_of(g, x)
    x = g.Div(x, scale)
    if rows > columns and rows >= int(1.5 * columns):
        packed, taus = geqrf(g, x)
        u, values, v = _from_upper(g, upper(g, packed), False, unit)
        u = _outward(g, packed, taus, u, full)
    elif rows >= columns:
        u, values, v = _from_upper(g, x, full, unit)
    elif columns >= 20 * rows:
        packed, taus = geqrf(g, swapped(g, x))
        u, values, v = _from_upper(g, swapped(g, upper(g, packed)), False, unit)
        v = _outward(g, packed, taus, v, full)
    else:
        v, values, u = _from_lower(g, swapped(g, x), full, unit)
    found = u, g.Mul(values, g.Squeeze(scale, [2])), swapped(g, v)
    if len(batch) == 1:
        return found
    u, values, vh = (g.reshape(f, [*batch, *(f.sizes or ())[1:]]) for f in found)
    return u, values, vh


def _from_upper(g: GraphBuilder, x: Value, full: bool, unit: float) -> tuple[Value, Value, Value]:
    """U, singular values and V of matrices (batch, m, n), m >= n, by an upper bidiagonal matrix."""
    packed, taus, diagonal, above, basis = bidiagonal(g, x)
    eye = g.expand(identity(g, x, fixed(x, 2)), basis.sizes or ())
    u, values, v = _sorted(g, *singular(g, as_rows(g, diagonal, above, eye, basis), unit))
    return _outward(g, packed, taus, u, full), values, v


def _from_lower(g: GraphBuilder, x: Value, full: bool, unit: float) -> tuple[Value, Value, Value]:
    """The same, by the lower bidiagonal matrix to which the transpose of x leads."""
    packed, taus, diagonal, below, basis = bidiagonal(g, x)
    eye = g.expand(identity(g, x, fixed(x, 2)), basis.sizes or ())
    diagonal, above, basis = from_rows(g, turned_upper(g, as_rows(g, diagonal, below, basis)))
    v, values, u = _sorted(g, *singular(g, as_rows(g, diagonal, above, basis, eye), unit))
    return _outward(g, packed, taus, u, full), values, v


def _sorted(g: GraphBuilder, values: Value, left: Value, right: Value) -> tuple[Value, Value, Value]:
    """Left vectors, values in descending order, and right vectors."""
    ordered, places = g.TopK(values, [fixed(values, -1)], outputs=2)
    return columns_at(g, left, places), ordered, columns_at(g, right, places)


def _outward(g: GraphBuilder, packed: Value, taus: Value, x: Value, full: bool) -> Value:
    """Vectors of the triangle as vectors of the tall matrix, with those that complete the basis."""
    rows, columns, batch = fixed(packed, -2), fixed(packed, -1), sizes_of(g, packed, -2)
    more = rows - columns
    if not more:
        return reflect(g, packed, taus, x)
    whole = g.Concat(x, filled(g, packed, [*batch, more, columns]), axis=-2)
    if full:
        eye = g.expand(identity(g, packed, more), [*batch, more, more])
        whole = g.Concat(whole, g.Concat(filled(g, packed, [*batch, columns, more]), eye, axis=-2), axis=-1)
    return reflect(g, packed, taus, whole)


def _square(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value]:
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
