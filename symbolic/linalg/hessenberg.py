"""Square matrices made ready for QR steps: balanced (gebal), and with one diagonal below the main one (gehrd)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .qr import column_length, reflection
from .steps import column, down, fixed, identity, numbers, repeat, row, sizes_of, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: Passes over all rows, at most; two are usual, the last of which changes nothing.
_PASSES = 20


def balanced(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """S^-1 x S with isolated eigenvalues outside of a block whose rows and columns have like lengths, and S.

    Args:
        g: Builder.
        x: (batch, n, n).
    """
    size, one = fixed(x, -1), np.ones((), x.element.numpy())
    rows, columns = down(g, x), numbers(g, size)
    x, order, low, high = _isolated(g, x)
    here = g.constant(np.arange(size).reshape(1, size, 1))
    active = g.And(g.GreaterOrEqual(here, g.Unsqueeze(low, [2])), g.LessOrEqual(here, g.Unsqueeze(high, [2])))

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, scales, changes = carried
        at = b.Mod(number, size)
        lengths = [
            column_length(b, b.Where(active, v, 0.0)) for v in (swapped(b, row(b, a, at)), column(b, a, at))
        ]  # fmt: skip
        factor = _factor(b, *lengths)
        new = b.Add(b.Div(lengths[0], factor), b.Mul(lengths[1], factor))
        gains = b.And(b.Less(new, b.Mul(b.Add(*lengths), 0.95 * one)), row(b, active, at))
        factor = b.Where(gains, factor, 1.0)
        in_column, in_row = b.Equal(columns, at), b.Equal(rows, at)
        scaled = b.Mul(a, b.Where(in_column, factor, b.Where(in_row, b.Div(1.0, factor), 1.0)))
        a = b.Where(b.And(in_column, in_row), a, scaled)
        changed = b.ReduceSum(b.Cast(gains, to=_T.FLOAT), keepdims=0)
        changes = b.Add(b.Where(b.Equal(at, 0), 0.0, changes), changed)
        return [a, b.Mul(scales, b.Where(in_row, factor, 1.0)), changes]

    def going(b: GraphBuilder, number: Value, new: list[Value]) -> Value:
        ends = b.Equal(b.Mod(number, size), size - 1)
        return b.Or(b.Not(ends), b.Greater(new[2], 0.0))

    start = g.expand(g.constant(one), [*sizes_of(g, x, -2), size, 1])
    a, scales, _ = repeat(g, _PASSES * size, [x, start, g.constant(np.zeros((), np.float32))], step, going)
    origin = g.Cast(g.Equal(g.Unsqueeze(order, [1]), rows), to=x.element)
    return a, g.Mul(origin, swapped(g, scales))


def _isolated(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value, Value]:
    """Rows and columns in an order that puts isolated eigenvalues at the ends: first those of rows, then of columns.

    Also the row that each one was, and the first and the last one that isn't isolated, (batch, 1).
    """
    size = fixed(x, -1)
    columns, beside = numbers(g, size), g.constant(~np.eye(size, dtype=bool))
    batch = sizes_of(g, x, 1)

    def search(b: GraphBuilder, carried: Sequence[Value], by_row: bool) -> list[Value]:
        a, order, low, high, _ = carried
        counts = b.And(b.And(b.GreaterOrEqual(columns, low), b.LessOrEqual(columns, high)), b.Less(low, high))
        others = b.And(b.Not(b.Equal(a, 0.0)), b.And(beside, b.Unsqueeze(counts, [1 if by_row else 2])))
        held = b.ReduceMax(b.Cast(others, to=_T.FLOAT), [2 if by_row else 1], keepdims=0)
        free = b.And(b.Equal(held, 0.0), counts)
        found = b.ReduceMax(b.Cast(free, to=_T.INT64), [1], keepdims=1)
        if by_row:
            place, end = b.ReduceMax(b.Where(free, columns, -1), [1], keepdims=1), high
        else:
            place, end = b.ReduceMin(b.Where(free, columns, size), [1], keepdims=1), low
        place = b.Where(b.Greater(found, 0), place, end)
        swap = b.Where(b.Equal(columns, place), end, b.Where(b.Equal(columns, end), place, columns))
        a = b.GatherElements(a, b.Expand(b.Unsqueeze(swap, [2]), b.Shape(a)), axis=1)
        a = b.GatherElements(a, b.Expand(b.Unsqueeze(swap, [1]), b.Shape(a)), axis=2)
        low, high = (low, b.Sub(high, found)) if by_row else (b.Add(low, found), high)
        total = b.ReduceSum(b.Cast(found, to=_T.FLOAT), keepdims=0)
        return [a, b.GatherElements(order, swap, axis=1), low, high, total]

    def going(b: GraphBuilder, _: Value, new: list[Value]) -> Value:
        return b.Greater(new[4], 0.0)

    start = [
        x, g.expand(columns, [*batch, size]), *(g.expand(g.constant([k]), [*batch, 1]) for k in (0, size - 1)),
        g.constant(np.zeros((), np.float32)),
    ]  # fmt: skip
    start = repeat(g, size, start, lambda b, _, carried: search(b, carried, True), going)
    start = repeat(g, size, start, lambda b, _, carried: search(b, carried, False), going)
    a, order, low, high, _ = start
    return a, order, low, high


def _factor(b: GraphBuilder, across: Value, along: Value) -> Value:
    """The power of two that brings the length of a column within a factor of two of that of its row."""
    empty = b.Or(b.Equal(across, 0.0), b.Equal(along, 0.0))
    ratio = b.Where(empty, 1.0, b.Div(across, along))
    fourth = float(1 / np.log(4))
    # the logarithms of powers of four are not exact
    up = b.Ceil(b.Sub(b.Mul(b.Log(b.Mul(ratio, 0.5)), fourth), 1e-4))
    lower = b.Add(b.Floor(b.Add(b.Mul(b.Log(b.Div(0.5, ratio)), fourth), 1e-4)), 1.0)
    exponent = b.Sub(b.Max(up, 0.0), b.Max(lower, 0.0))
    limit = float(np.finfo(across.element.numpy()).maxexp // 4)
    return b.Pow(np.asarray(2, across.element.numpy()), b.Max(b.Min(exponent, limit), -limit))


def hessenberg(g: GraphBuilder, x: Value, *, vectors: bool) -> tuple[Value, Value | None]:
    """The H of x = Q H Q^T, which is zero below the first diagonal under the main one, and Q where it is wanted."""
    size, rows = fixed(x, -1), down(g, x)
    basis = [g.expand(identity(g, x, size), sizes_of(g, x))] if vectors else []

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        a, *moved = carried
        v, tau, _ = reflection(b, column(b, a, number), rows, b.Add(number, 1))
        across = b.Mul(swapped(b, v), tau)
        a = b.Sub(a, b.MatMul(v, b.MatMul(across, a)))
        return [b.Sub(m, b.MatMul(b.MatMul(m, v), across)) for m in (a, *moved)]

    a, *moved = repeat(g, max(size - 2, 0), [x, *basis], step)
    below = g.Greater(rows, g.Add(numbers(g, size), 1))
    return g.Where(below, 0.0, a), moved[0] if moved else None
