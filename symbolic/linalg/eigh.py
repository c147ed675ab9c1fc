"""Eigenvalues and eigenvectors of symmetric matrices by Jacobi's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
from . import signs
from .jacobi import SWEEPS, counted, even, goes_on, rotated, rotation, scale_of, tolerance
from .steps import across, columns_at, down, filled, fixed, identity, repeat, sizes_of, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def eigh(g: GraphBuilder, x: Value, *, lower: bool = True, vectors: bool = True) -> tuple[Value, Value | None]:
    """Eigenvalues in ascending order, and the eigenvectors in columns where they are wanted.

    Only one triangle of x is read. The basis where an eigenvalue repeats is free, and from order three on the
    signs of eigenvectors are.
    """
    size = fixed(x, -1)
    if size == 0:
        return filled(g, x, [*sizes_of(g, x, -2), 0]), x
    rows, columns = down(g, x), across(g, x)
    kept = g.GreaterOrEqual(rows, columns) if lower else g.LessOrEqual(rows, columns)
    symmetric = g.Where(kept, x, swapped(g, x))
    scale = scale_of(g, symmetric)
    diagonal, basis = _diagonalised(g, g.Div(symmetric, scale), size, vectors)
    values = g.ReduceSum(g.Where(g.Equal(rows, columns), diagonal, 0.0), [-1], keepdims=0)
    values, places = g.TopK(g.Mul(values, g.Squeeze(scale, [-1])), [size], largest=0, outputs=2)
    if basis is None:
        return values, None
    basis = columns_at(g, basis, places)
    return values, signs.eigenvectors(g, symmetric, basis) if size == 2 else basis


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
