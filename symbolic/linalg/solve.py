"""LU factors with partial pivoting, and what follows from them: systems, inverses, determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Size
from ..value import Value
from .steps import (
    across,
    broadcast_batches,
    column,
    diagonal_of,
    down,
    identity,
    known,
    numbers,
    repeat,
    row,
    sizes_of,
    smaller,
)
from .triangular import triangular_solve

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def lu(g: GraphBuilder, x: Value) -> list[Value]:
    """Factors in one matrix, pivots (from 0), and the permutation of the rows: x[permutation] = L U.

    The largest element of a column is the pivot, the first one among equals.
    """
    rows, count = known(x, -2), smaller(known(x, -2), known(x, -1))
    rank, batch = x.rank, sizes_of(g, x, -2)
    lines, columns, order = down(g, x), across(g, x), numbers(g, count)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, pivots, permutation = carried
        open_rows = b.Where(b.GreaterOrEqual(lines, number), b.Abs(column(b, a, number)), -1.0)
        best = b.ArgMax(open_rows, axis=rank - 2, keepdims=1)  # (..., 1, 1)
        is_pivot, is_row = b.Equal(lines, best), b.Equal(lines, number)
        pivot_row = b.ReduceSum(b.Where(is_pivot, a, 0.0), [rank - 2], keepdims=1)
        exchanged = b.Where(is_row, pivot_row, b.Where(is_pivot, row(b, a, number), a))
        pivot = b.Unsqueeze(b.Gather(pivot_row, number, axis=rank - 1), [rank - 1])
        nothing = b.Equal(pivot, 0.0)  # then the column below is all zeros
        below = b.And(b.Greater(lines, number), b.Not(nothing))
        factors = b.Where(below, b.Div(column(b, exchanged, number), b.Where(nothing, 1.0, pivot)), 0.0)
        right = b.Where(b.Greater(columns, number), pivot_row, 0.0)
        left_in = b.Sub(exchanged, b.MatMul(factors, right))
        here = b.And(below, b.Equal(columns, number))
        place = b.Squeeze(best, [rank - 1])  # (..., 1)
        pivots = b.Where(b.Equal(order, number), b.Cast(place, to=_T.INT32), pivots)
        return [b.Where(here, factors, left_in), pivots, _exchanged(b, permutation, number, place)]

    start = [
        x,
        g.expand(g.constant(np.zeros((), np.int32)), [*batch, count]),
        g.expand(g.Cast(numbers(g, rows), to=_T.INT32), [*batch, rows]),
    ]
    return repeat(g, count, start, step)


def _exchanged(b: GraphBuilder, permutation: Value, number: Value, place: Value) -> Value:
    """A permutation with two entries exchanged: that of a number and that of a place (..., 1)."""
    last = permutation.rank - 1
    order = numbers(b, known(permutation, -1))
    here, there = b.Equal(order, number), b.Equal(order, place)
    at_place = b.ReduceSum(b.Where(there, permutation, 0), [last], keepdims=1)
    at_number = b.Unsqueeze(b.Gather(permutation, number, axis=last), [last])
    return b.Where(here, at_place, b.Where(there, at_number, permutation))


def pivots_to_permutation(g: GraphBuilder, pivots: Value, size: Size) -> Value:
    """The permutation that exchanging rows in turn amounts to; pivots count from 0."""
    last = pivots.rank - 1

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        place = b.Cast(b.Unsqueeze(b.Gather(pivots, number, axis=last), [last]), to=_T.INT64)
        return [_exchanged(b, carried[0], number, place)]

    start = g.expand(g.Cast(numbers(g, size), to=_T.INT32), [*sizes_of(g, pivots, -1), size])
    return repeat(g, known(pivots, -1), [start], step)[0]


def permutation_matrix(g: GraphBuilder, permutation: Value, like: Value) -> Value:
    """The matrix P with P x = x[permutation], in the dtype of another value."""
    order = g.Cast(numbers(g, known(permutation, -1)), to=permutation.element)
    return g.Cast(g.Equal(g.Unsqueeze(permutation, [-1]), order), to=like.element)


def lu_solve(g: GraphBuilder, factors: Value, permutation: Value, b: Value, *, transposed: bool = False) -> Value:
    """The x with a x = b, or with a^T x = b, for the LU factors of a; batch axes are broadcast."""
    exchange = permutation_matrix(g, permutation, factors)
    if not transposed:
        factors, right = broadcast_batches(g, factors, g.MatMul(exchange, b))
        half_way = triangular_solve(g, factors, right, lower=True, unit=True)
        return triangular_solve(g, factors, half_way, lower=False)
    factors, b = broadcast_batches(g, factors, b)
    half_way = triangular_solve(g, factors, b, lower=False, transposed=True)
    whole = triangular_solve(g, factors, half_way, lower=True, transposed=True, unit=True)
    rank = exchange.rank
    return g.MatMul(g.Transpose(exchange, perm=[*range(rank - 2), rank - 1, rank - 2]), whole)


def solve(g: GraphBuilder, a: Value, b: Value | None = None) -> Value:
    """The x with a x = b for square matrices; the inverse of a without b."""
    factors, _, permutation = lu(g, a)
    return lu_solve(g, factors, permutation, identity(g, a, known(a, -1)) if b is None else b)


def first_zero(g: GraphBuilder, factors: Value) -> Value:
    """Number of the first pivot that is zero, from 1; 0 where there is none."""
    count = smaller(known(factors, -2), known(factors, -1))
    if count == 0:
        return g.expand(g.constant(np.zeros((), np.int32)), sizes_of(g, factors, -2))
    beyond = g.Add(g.size(count), 1)
    places = g.Where(g.Equal(diagonal_of(g, factors), 0.0), g.Add(numbers(g, count), 1), beyond)
    first = g.ReduceMin(places, [-1], keepdims=0)
    return g.Cast(g.Where(g.Equal(first, beyond), 0, first), to=_T.INT32)


def sign_and_log(g: GraphBuilder, factors: Value, pivots: Value) -> tuple[Value, Value]:
    """Sign and logarithm of the absolute value of the determinant, from LU factors; 0 and -inf where it is zero."""
    diagonal = diagonal_of(g, factors)
    signs = g.Mul(g.ReduceProd(g.Sign(diagonal), [-1], keepdims=0), _parity(g, pivots, factors))
    return signs, g.ReduceSum(g.Log(g.Abs(diagonal)), [-1], keepdims=0)


def det(g: GraphBuilder, x: Value) -> Value:
    """The determinant of square matrices."""
    if x.element is _T.FLOAT and x.dim(-1) != 0:  # what runtimes have a kernel for
        return g.Det(x)
    factors, pivots, _ = lu(g, x)
    return determinant(g, factors, pivots)


def determinant(g: GraphBuilder, factors: Value, pivots: Value) -> Value:
    """The determinant from LU factors."""
    return g.Mul(g.ReduceProd(diagonal_of(g, factors), [-1], keepdims=0), _parity(g, pivots, factors))


def _parity(g: GraphBuilder, pivots: Value, like: Value) -> Value:
    """1 for an even number of exchanges, -1 for an odd one."""
    stays = g.Equal(pivots, g.Cast(numbers(g, known(pivots, -1)), to=pivots.element))
    one = np.ones((), like.element.numpy())
    return g.ReduceProd(g.Where(stays, one, -one), [-1], keepdims=0)
