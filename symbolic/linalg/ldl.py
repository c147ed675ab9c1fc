"""Factors L D L^T of symmetric matrices with Bunch and Kaufman's pivots, packed as LAPACK packs them.

D has blocks of one or two rows. The pivots count from 1; both rows of a block of two hold the negative number of the
row that its second one was exchanged with. Columns of L are not exchanged by later pivots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .steps import (
    across,
    broadcast_batches,
    column,
    diagonal_of,
    down,
    filled,
    known,
    repeat,
    row,
    sizes_of,
    swapped,
)

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: Bounds the growth of one step by a block of two to that of two steps by one.
_ALPHA = (1 + 17**0.5) / 8


def ldl(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value]:
    """L below the diagonal and D in one matrix, the pivots, and the number of the first block that is zero, or 0.

    Only the lower triangle of x is read.
    """
    rows, columns, size = down(g, x), across(g, x), known(x, -1)
    whole = g.Where(g.GreaterOrEqual(rows, columns), x, swapped(g, x))
    last = g.size(size)

    def step(b: GraphBuilder, _: Value, carried: list[Value]) -> list[Value]:
        a, packed, pivots, k, failed = carried  # k: the column that each matrix has come to, (..., 1, 1)
        place, two, zero = _pivot(b, a, rows, columns, k)
        after = b.Add(k, b.Cast(two, to=_T.INT64))
        swap = _exchange(b, rows, columns, after, place, a)
        a = b.MatMul(b.MatMul(swap, a), swapped(b, swap))
        first, second = _column_at(b, a, columns, k), _column_at(b, a, columns, b.Add(k, 1))
        left, right = _multipliers(b, first, second, rows, k, two)
        left, right = (b.Where(b.And(b.Greater(rows, after), b.Not(zero)), v, 0.0) for v in (left, right))
        right = b.Where(two, right, 0.0)
        a = b.Sub(b.Sub(a, b.MatMul(left, swapped(b, first))), b.MatMul(right, swapped(b, second)))
        in_block = b.And(b.GreaterOrEqual(rows, k), b.LessOrEqual(rows, after))
        below = b.Equal(rows, after)
        packed = b.Where(b.Equal(columns, k), b.Where(in_block, first, left), packed)
        packed = b.Where(b.And(two, b.Equal(columns, after)), b.Where(below, second, right), packed)
        mine = b.And(b.GreaterOrEqual(columns, k), b.LessOrEqual(columns, after))
        number = b.Add(place, 1)
        pivots = b.Where(mine, b.Where(two, b.Neg(number), number), pivots)
        fails = b.And(b.And(zero, b.Equal(failed, 0)), b.Less(k, last))
        return [a, packed, pivots, b.Min(b.Add(after, 1), last), b.Where(fails, b.Add(k, 1), failed)]

    batch = sizes_of(g, x, -2)
    nothing = g.constant(np.zeros((), np.int64))
    start = [
        whole, filled(g, x, sizes_of(g, x)), g.expand(nothing, [*batch, 1, size]), g.expand(nothing, [*batch, 1, 1]),
        g.expand(nothing, [*batch, 1, 1]),
    ]  # fmt: skip
    _, packed, pivots, _, failed = repeat(g, size, start, step)
    return (
        packed, g.Cast(g.Squeeze(pivots, [-2]), to=_T.INT32), g.Cast(g.Squeeze(failed, [-2, -1]), to=_T.INT32),
    )  # fmt: skip


def _column_at(b: GraphBuilder, a: Value, columns: Value, k: Value) -> Value:
    """A column of each matrix, of a number of its own."""
    return b.ReduceSum(b.Where(b.Equal(columns, k), a, 0.0), [-1], keepdims=1)


def _pivot(b: GraphBuilder, a: Value, rows: Value, columns: Value, k: Value) -> tuple[Value, Value, Value]:
    """The row to exchange with, whether the block has two rows, and whether the column is zero."""
    here = b.Abs(_column_at(b, a, columns, k))
    own = b.ReduceSum(b.Where(b.Equal(rows, k), here, 0.0), [-2], keepdims=1)
    below = b.Where(b.Greater(rows, k), here, -1.0)
    largest, place = b.ReduceMax(below, [-2], keepdims=1), b.ArgMax(below, axis=-2, keepdims=1)
    other = b.Abs(_column_at(b, a, columns, place))
    beside = b.And(b.GreaterOrEqual(rows, k), b.Not(b.Equal(rows, place)))
    most = b.ReduceMax(b.Where(beside, other, 0.0), [-2], keepdims=1)
    zero = b.LessOrEqual(b.Max(own, largest), 0.0)
    growth = b.Mul(b.Mul(largest, _ALPHA), b.Div(largest, b.Where(b.Greater(most, 0.0), most, 1.0)))
    stays = b.Or(zero, b.Or(b.GreaterOrEqual(own, b.Mul(largest, _ALPHA)), b.GreaterOrEqual(own, growth)))
    theirs = b.ReduceSum(b.Where(b.Equal(rows, place), other, 0.0), [-2], keepdims=1)
    two = b.And(b.Not(stays), b.Less(theirs, b.Mul(most, _ALPHA)))
    return b.Where(stays, k, place), two, zero


def _multipliers(
    b: GraphBuilder, first: Value, second: Value, rows: Value, k: Value, two: Value
) -> tuple[Value, Value]:
    """Columns of L for a block of one or two rows; only what lies below the block counts."""

    def at(x: Value, number: Value) -> Value:
        return b.ReduceSum(b.Where(b.Equal(rows, number), x, 0.0), [-2], keepdims=1)

    after = b.Add(k, 1)
    joint = b.Where(two, at(first, after), 1.0)
    upper, lower = b.Div(at(second, after), joint), b.Div(at(first, k), joint)
    factor = b.Div(b.Div(1.0, b.Sub(b.Mul(upper, lower), 1.0)), joint)
    left = b.Mul(factor, b.Sub(b.Mul(upper, first), second))
    right = b.Mul(factor, b.Sub(b.Mul(lower, second), first))
    return b.Where(two, left, b.Div(first, at(first, k))), right


def _exchange(b: GraphBuilder, rows: Value, columns: Value, one: Value, other: Value, like: Value) -> Value:
    """The matrix that exchanges two rows, given by numbers of shape (..., 1, 1)."""
    source = b.Where(b.Equal(rows, one), other, b.Where(b.Equal(rows, other), one, rows))
    return b.Cast(b.Equal(source, columns), to=like.element)


def ldl_solve(g: GraphBuilder, packed: Value, pivots: Value, x: Value) -> Value:
    """The solution of A s = x for the factors of A; batch axes are broadcast."""
    marks = g.Unsqueeze(g.Cast(pivots, to=_T.INT64), [-1])  # (..., n, 1)
    packed, x = broadcast_batches(g, packed, x)
    rows, columns, size = down(g, packed), across(g, packed), known(packed, -1)
    paired = g.Less(marks, 0)
    before = g.CumSum(g.Cast(paired, to=_T.INT64), -2, exclusive=1)
    leads = g.And(paired, g.Equal(g.Mod(before, 2), 0))
    follows = g.And(paired, g.Not(leads))
    # what row k is exchanged with, and which one it is
    ones = g.Add(rows, g.Cast(leads, to=_T.INT64))
    others = g.Where(follows, ones, g.Sub(g.Abs(marks), 1))
    last = g.size(size - 1)

    def parts(b: GraphBuilder, k: Value) -> tuple[Value, Value]:
        one, other = row(b, ones, k), row(b, others, k)
        below = b.Where(b.Greater(rows, b.Add(k, b.Cast(row(b, leads, k), to=_T.INT64))), column(b, packed, k), 0.0)
        return _exchange(b, rows, columns, one, other, packed), below

    def forward(b: GraphBuilder, k: Value, carried: list[Value]) -> list[Value]:
        swap, below = parts(b, k)
        done = b.MatMul(swap, carried[0])
        return [b.Sub(done, b.MatMul(below, row(b, done, k)))]

    def backward(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        k = b.Sub(last, number)
        swap, below = parts(b, k)
        new = b.Sub(row(b, carried[0], k), b.MatMul(swapped(b, below), carried[0]))
        return [b.MatMul(swap, b.Where(b.Equal(rows, k), new, carried[0]))]

    (half_way,) = repeat(g, size, [x], forward)
    divided = _blocks_divided(g, packed, leads, follows, half_way)
    return repeat(g, size, [divided], backward)[0]


def _blocks_divided(g: GraphBuilder, packed: Value, leads: Value, follows: Value, x: Value) -> Value:
    """The blocks of D divided out."""
    rows, columns = down(g, packed), across(g, packed)
    step = g.Sub(g.Cast(leads, to=_T.INT64), g.Cast(follows, to=_T.INT64))
    partner = g.Cast(g.Equal(g.Add(rows, step), columns), to=packed.element)
    own = g.Unsqueeze(diagonal_of(g, packed), [-1])
    # the element beside the diagonal stands in the lower row of a block
    beside = g.ReduceSum(g.Where(g.Equal(g.Sub(rows, 1), columns), packed, 0.0), [-1], keepdims=1)
    joint = g.Where(follows, beside, g.MatMul(partner, beside))
    paired = g.Or(leads, follows)
    joint = g.Where(paired, joint, 1.0)
    mine, theirs = g.Div(own, joint), g.Div(g.MatMul(partner, own), joint)
    both = g.Div(
        g.Sub(g.Mul(theirs, g.Div(x, joint)), g.Div(g.MatMul(partner, x), joint)), g.Sub(g.Mul(mine, theirs), 1.0)
    )
    return g.Where(paired, both, g.Div(x, own))
