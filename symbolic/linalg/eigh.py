"""Eigenvalues and eigenvectors of symmetric matrices: by LAPACK's steps for small ones, else by Jacobi's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from . import implicit_ql
from .jacobi import SWEEPS, counted, even, goes_on, rotated, rotation, scale_of, tolerance
from .steps import across, columns_at, diagonal_of, down, epsilon, filled, fixed, identity, repeat, sizes_of, swapped
from .tridiagonal import bands, tridiagonal

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_DOUBLE = ir.DataType.DOUBLE


def eigh(
    g: GraphBuilder, x: Value, *, lower: bool = True, vectors: bool = True, signs: bool = False
) -> tuple[Value, Value | None]:
    """Eigenvalues in ascending order, and the eigenvectors in columns where they are wanted.

    The basis where an eigenvalue repeats is free.

    Args:
        g: Builder.
        x: Matrices, one triangle of which is read.
        lower: Which one.
        vectors: Whether eigenvectors are wanted.
        signs: Their signs shall be LAPACK's own (those of MKL), up to the order where it takes QL steps; above, and
            from order three on without this, they are free.
    """
    size = fixed(x, -1)
    if size == 0:
        return filled(g, x, [*sizes_of(g, x, -2), 0]), x
    rows, columns = down(g, x), across(g, x)
    kept = g.GreaterOrEqual(rows, columns) if lower else g.LessOrEqual(rows, columns)
    symmetric = g.Where(kept, x, swapped(g, x))
    scale = scale_of(g, symmetric)
    basis: Value | None
    if vectors and (size == 2 or (signs and 2 <= size <= implicit_ql.MOST)):
        values, basis = _by_ql(g, g.Div(symmetric, scale), lower)
    else:
        diagonal, basis = _diagonalised(g, g.Div(symmetric, scale), size, vectors)
        values = diagonal_of(g, diagonal)
    values, places = g.TopK(g.Mul(values, g.Squeeze(scale, [-1])), [size], largest=0, outputs=2)
    if basis is None:
        return values, None
    return values, columns_at(g, basis, places)


def _by_ql(g: GraphBuilder, x: Value, lower: bool) -> tuple[Value, Value]:
    """Eigenvalues in no order, and eigenvectors with LAPACK's signs; in float64, so that only its own errors count."""
    if x.element is not _DOUBLE:
        values, basis = _steps(g, g.Cast(x, to=_DOUBLE), lower, epsilon(x) / 2)
        return g.Cast(values, to=x.element), g.Cast(basis, to=x.element)
    return _steps(g, x, lower, epsilon(x) / 2)


def _steps(g: GraphBuilder, x: Value, lower: bool, unit: float) -> tuple[Value, Value]:
    size, batch = fixed(x, -1), sizes_of(g, x, -2)
    x = x if x.rank == 3 else g.reshape(x, [-1, size, size])
    backwards = g.constant(np.arange(size)[::-1])
    if not lower:  # then LAPACK begins with the last column
        x = g.Gather(g.Gather(x, backwards, axis=1), backwards, axis=2)
    a, basis = tridiagonal(g, x, g.expand(identity(g, x, size), [*sizes_of(g, x, 1), size, size]))
    diagonal, joints = bands(g, a)
    if not lower:
        basis = g.Gather(g.Gather(basis, backwards, axis=2), backwards, axis=1)
        diagonal, joints = g.Gather(diagonal, backwards, axis=1), g.Gather(joints, backwards, axis=1)
        joints = g.Gather(joints, g.constant(np.roll(np.arange(size), -1)), axis=1)
    values, basis = implicit_ql.diagonalised(g, diagonal, joints, basis, unit)
    if len(batch) == 1:
        return values, basis
    return g.reshape(values, [*batch, size]), g.reshape(basis, [*batch, size, size])


def _diagonalised(g: GraphBuilder, x: Value, size: int, vectors: bool) -> tuple[Value, Value | None]:
    """Rotated until only the diagonal is left, and the product of the rotations."""
    basis = [g.expand(identity(g, x, size), sizes_of(g, x))] if vectors else []
    if size == 1:
        return x, basis[0] if basis else None
    last, whole = x.rank - 1, size + size % 2
    states = [even(g, s, [last - 1, last], size) for s in (x, *basis)]

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, unsettled, *moved = carried
        first, second, joint = _pairs(b, a, whole)
        sine, half = rotation(b, first, second, joint)
        a = rotated(b, a, sine, half, last)
        a = rotated(b, a, swapped(b, sine), swapped(b, half), last - 1)
        largest = b.ReduceMax(b.Max(b.Abs(first), b.Abs(second)), [-1], keepdims=1)
        counts = b.Greater(b.Abs(joint), b.Mul(largest, tolerance(x, size)))
        unsettled = counted(b, number, whole, unsettled, counts)
        return [a, unsettled, *(rotated(b, m, sine, half, last) for m in moved)]

    start = [states[0], g.constant(np.zeros((), np.float32)), *states[1:]]
    a, _, *moved = repeat(g, SWEEPS * (whole - 1), start, step, goes_on(whole))
    return _cut(g, a, size), _cut(g, moved[0], size) if moved else None


def _pairs(b: GraphBuilder, a: Value, size: int) -> tuple[Value, Value, Value]:
    """Of each pair the two diagonal elements and the one that joins them, (..., 1, half)."""
    half, last = size // 2, a.rank - 1
    diagonal = b.ReduceSum(b.Where(b.constant(np.eye(size, dtype=bool)), a, 0.0), [-2], keepdims=1)
    joint = b.ReduceSum(b.Where(b.constant(np.eye(size, k=half, dtype=bool)), a, 0.0), [-2], keepdims=1)
    first, second = b.Split(diagonal, axis=last, num_outputs=2, outputs=2)
    return first, second, b.Slice(joint, [half], [size], [last])


def _cut(g: GraphBuilder, x: Value, size: int) -> Value:
    """Without the padding."""
    if x.dim(-1) == size:
        return x
    return g.Slice(x, [0, 0], [size, size], [-2, -1])
