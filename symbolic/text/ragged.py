"""Lists of different lengths, laid end to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value

INT64 = ir.DataType.INT64
_FIRST = np.int64(0)


@dataclass(frozen=True)
class Ragged:
    """Lists of values.

    Attributes:
        values: All values, one list after the other: [total].
        starts: Place of each list's first value: int64[lists].
        counts: Length of each list: int64[lists].
    """

    values: Value
    starts: Value
    counts: Value


def length(g: GraphBuilder, x: Value) -> Value:
    """Number of elements along the first axis, int64 scalar."""
    return g.Squeeze(g.Shape(x, start=0, end=1), [0])


def numbers(g: GraphBuilder, count: Value) -> Value:
    """0, 1, 2 ... count - 1."""
    return g.Range(np.int64(0), count, np.int64(1))


def same(g: GraphBuilder, number: int, size: Value) -> Value:
    """One number over and over: int64[size], `size` is an int64[1]."""
    return g.Expand(np.array([number], np.int64), size)


def before(g: GraphBuilder, counts: Value) -> Value:
    """Sum of all counts before each one."""
    return g.CumSum(counts, _FIRST, exclusive=1)


def greatest(g: GraphBuilder, counts: Value, least: int = 0) -> Value:
    """The greatest count, `least` where there is none: int64 scalar."""
    return g.ReduceMax(g.Concat(counts, np.array([least], np.int64), axis=0), [0], keepdims=0)


def count_of(g: GraphBuilder, owners: Value, lists: Value) -> Value:
    """How many values each of the lists owns.

    Args:
        owners: The list of each value, int64[total].
        lists: How many lists there are, int64 scalar.
    """
    zeros = same(g, 0, g.Reshape(lists, [1]))
    ones = same(g, 1, g.Shape(owners))
    return g.ScatterElements(zeros, owners, ones, axis=0, reduction="add")


def owned(g: GraphBuilder, values: Value, owners: Value, lists: Value) -> Ragged:
    """Values whose owners ascend as lists."""
    counts = count_of(g, owners, lists)
    return Ragged(values, before(g, counts), counts)


def owners_of(g: GraphBuilder, counts: Value) -> Value:
    """For each value of lists of these lengths the number of its list: int64[total]."""
    total = g.ReduceSum(counts, [0], keepdims=0)
    marks = count_of(g, before(g, counts), g.Add(total, np.int64(1)))
    every = g.Sub(g.CumSum(marks, _FIRST), np.int64(1))
    return g.Slice(every, [0], [-1], [0])


def chosen(g: GraphBuilder, lists: Ragged, which: Value) -> tuple[Value, Value]:
    """The lists with the given numbers, one after the other.

    Returns:
        Their values, and for each value the place in `which` of its list.
    """
    counts = g.Gather(lists.counts, which, axis=0)
    owners = owners_of(g, counts)
    within = g.Sub(numbers(g, length(g, owners)), g.Gather(before(g, counts), owners, axis=0))
    at = g.Add(g.Gather(g.Gather(lists.starts, which, axis=0), owners, axis=0), within)
    return g.Gather(lists.values, at, axis=0), owners


def padded(g: GraphBuilder, lists: Ragged, pad: np.ndarray) -> Value:
    """The lists as rows of a matrix, filled up with `pad`: [lists, longest]; at least one column."""
    columns = g.Unsqueeze(numbers(g, greatest(g, lists.counts, 1)), [0])
    inside = g.Less(columns, g.Unsqueeze(lists.counts, [1]))
    at = g.Where(inside, g.Add(g.Unsqueeze(lists.starts, [1]), columns), length(g, lists.values))
    return g.Gather(g.Concat(lists.values, g.constant(pad.reshape(1)), axis=0), at, axis=0)


def merged(g: GraphBuilder, parts: list[tuple[Value, Ragged]], count: Value) -> Ragged:
    """Lists of several parts as one.

    Args:
        parts: For each part the numbers that its lists get, and its lists.
        count: How many lists there are in all.
    """
    values = g.Concat(*(p.values for _, p in parts), axis=0)
    offset: Value | None = None
    starts = []
    for _, part in parts:
        starts.append(part.starts if offset is None else g.Add(part.starts, offset))
        size = length(g, part.values)
        offset = size if offset is None else g.Add(offset, size)
    own = g.Concat(*(n for n, _ in parts), axis=0)
    zeros = same(g, 0, g.Reshape(count, [1]))
    place = g.ScatterElements(zeros, own, numbers(g, length(g, own)), axis=0)
    counts = g.Concat(*(p.counts for _, p in parts), axis=0)
    return Ragged(
        values, g.Gather(g.Concat(*starts, axis=0), place, axis=0), g.Gather(counts, place, axis=0)
    )  # fmt: skip


def starts_of_runs(g: GraphBuilder, member: Value, owners: Value) -> Value:
    """Where a run of members begins: a member whose neighbour before is none, or belongs to another list."""
    joined = g.And(member, shifted(g, member))
    same = g.Equal(owners, g.Concat(np.array([-1], np.int64), g.Slice(owners, [0], [-1], [0]), axis=0))
    return g.And(member, g.Not(g.And(joined, same)))


def shifted(g: GraphBuilder, flags: Value, by: int = 1) -> Value:
    """Each flag's neighbour before (1) or after (-1); False at the end."""
    edge = np.array([False])
    if by > 0:
        return g.Concat(edge, g.Slice(flags, [0], [-1], [0]), axis=0)
    return g.Concat(g.Slice(flags, [1], [np.iinfo(np.int64).max], [0]), edge, axis=0)
