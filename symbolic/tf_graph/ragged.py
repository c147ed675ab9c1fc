"""Rows of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, END, as_value, cast, int64, ints, refused, size_at

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_OP = "RaggedTensorToTensor"


@symbolic(DIALECT, _OP)
def ragged_to_tensor(
    g: GraphBuilder,
    shape: Value,
    values: Value,
    default: Value,
    *partitions: Value,
    row_partition_types: Sequence[str],
    num_row_partition_tensors: int = 1,
) -> Value:
    """RaggedTensorToTensor(shape, values: T, default_value: T, row_partition_tensors, row_partition_types) -> T"""
    levels = _levels(g, partitions, list(row_partition_types))
    told = ints(g, shape, _OP, "a shape") if shape.rank else []  # a scalar -1: nothing is known
    told += [-1] * (len(levels) + 1 - len(told))
    rows = as_value(g, size_at(g, levels[0], 0))
    count = g.constant(told[0]) if told[0] >= 0 else g.Sub(rows, 1)
    places = g.Range(0, count, 1)
    present = g.Less(places, g.Sub(rows, 1))
    for splits, width in zip(levels, told[1:], strict=False):
        last = g.Sub(as_value(g, size_at(g, splits, 0)), 1)
        here = g.Where(present, places, 0)
        starts, ends = (g.Gather(splits, g.Min(v, last)) for v in (here, g.Add(here, 1)))
        lengths = g.Sub(g.Slice(splits, [1], [END], [0]), g.Slice(splits, [0], [-1], [0]))
        columns = g.constant(width) if width >= 0 else g.ReduceMax(g.Concat(lengths, [0], axis=0), keepdims=0)
        numbers = g.Range(0, columns, 1)
        places = g.Add(g.Unsqueeze(starts, [-1]), numbers)
        filled = g.Less(numbers, g.Unsqueeze(g.Sub(ends, starts), [-1]))
        present = g.And(g.Unsqueeze(present, [-1]), filled)
    # the default value lies behind the others: elements that a row lacks point there
    behind = as_value(g, size_at(g, values, 0))
    filler = g.Expand(default, g.Concat([1], g.Shape(values, start=1), axis=0))
    return g.Gather(call(g, "Concat", values, filler, axis=0), g.Where(present, places, behind), axis=0)


def _levels(g: GraphBuilder, partitions: Sequence[Value], kinds: list[str]) -> list[Value]:
    """Where the rows of each level begin, and where the last one ends."""
    found: list[Value] = []
    rows: Value | None = None
    for kind, given in zip(kinds, partitions, strict=True):
        partition = int64(g, given)
        if kind == "FIRST_DIM_SIZE":
            rows = partition
        elif kind == "ROW_SPLITS":
            found.append(partition)
            rows = g.Squeeze(g.Slice(partition, [-1], [END], [0]), [0])
        elif kind == "VALUE_ROWIDS" and rows is not None:
            # a row begins behind the values of all rows before it
            earlier = g.Less(partition, g.Unsqueeze(g.Range(0, g.Add(rows, 1), 1), [1]))
            found.append(g.ReduceSum(g.Cast(earlier, to=ir.DataType.INT64), [1], keepdims=0))
            rows = as_value(g, size_at(g, partition, 0))
        else:
            raise refused(g, _OP, f"rows given as {', '.join(kinds)} aren't supported")
    return found


@symbolic(DIALECT, "RaggedRange")
def ragged_range(
    g: GraphBuilder, starts: Value, limits: Value, deltas: Value, *, Tsplits: ir.DataType = ir.DataType.INT64
) -> list[Value]:
    """RaggedRange(starts: T, limits: T, deltas: T, Tsplits: type) -> rt_nested_splits: Tsplits, rt_dense_values: T"""
    dtype = starts.element
    if dtype not in (ir.DataType.INT32, ir.DataType.INT64, ir.DataType.FLOAT, ir.DataType.DOUBLE):
        raise refused(g, "RaggedRange", f"numbers of {dtype.name} aren't supported")
    whole = dtype in (ir.DataType.INT32, ir.DataType.INT64)
    wide = ir.DataType.INT64 if whole else dtype
    start, limit, delta = (g.Cast(v, to=wide) for v in (starts, limits, deltas))
    span = g.Sub(limit, start)
    if whole:  # rounded up
        count = g.Div(g.Sub(g.Add(span, delta), g.Sign(delta)), delta)
    else:
        count = g.Cast(g.Ceil(g.Div(span, delta)), to=ir.DataType.INT64)
    ends = g.CumSum(g.Reshape(g.Expand(g.Max(count, 0), _together(g, starts, limits, deltas)), [-1]), 0)
    splits = g.Concat([0], ends, axis=0)
    numbers = g.Range(0, g.Squeeze(g.Slice(splits, [-1], [END], [0]), [0]), 1)
    # the row of a number: how many rows end at or before it
    row = g.ReduceSum(g.Cast(g.GreaterOrEqual(g.Unsqueeze(numbers, [1]), ends), to=ir.DataType.INT64), [1], keepdims=0)
    within = g.Cast(g.Sub(numbers, g.Gather(splits, row)), to=dtype)
    first, step = (g.Gather(g.Reshape(g.Expand(v, g.Shape(ends)), [-1]), row) for v in (starts, deltas))
    return [cast(g, splits, Tsplits), g.Add(first, g.Mul(within, step))]


def _together(g: GraphBuilder, *values: Value) -> Value:
    """The shape of vectors, or scalars, that are broadcast."""
    zeros = [g.Reshape(g.Mul(g.Cast(v, to=ir.DataType.INT64), 0), [-1]) for v in values]
    shape: Value = g.Shape(g.Add(g.Add(zeros[0], zeros[1]), zeros[2]))
    return shape


@symbolic(DIALECT, "SparseReshape")
def sparse_reshape(g: GraphBuilder, indices: Value, shape: Value, new_shape: Value) -> list[Value]:
    """SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> output_indices, output_shape"""
    ranks = [v.dim(0) for v in (shape, new_shape)]
    if not all(isinstance(r, int) and r > 0 for r in ranks):
        raise refused(g, "SparseReshape", "a shape of unknown length isn't supported")
    old, new = (_entries(g, v) for v in (shape, new_shape))
    total, known = _product(g, old), _product(g, [g.Where(g.Less(s, 0), 1, s) for s in new])
    new = [g.Where(g.Less(s, 0), g.Div(total, known), s) for s in new]
    steps = g.Concat(*(g.Unsqueeze(_product(g, old[i + 1 :]), [0]) for i in range(len(old))), axis=0)
    place = g.ReduceSum(g.Mul(indices, steps), [1], keepdims=0)
    columns = [g.Mod(g.Div(place, _product(g, new[i + 1 :])), g.Max(s, 1)) for i, s in enumerate(new)]
    wanted = g.Concat(*(g.Unsqueeze(s, [0]) for s in new), axis=0)
    return [g.Concat(*(g.Unsqueeze(c, [1]) for c in columns), axis=1), wanted]


def _entries(g: GraphBuilder, vector: Value) -> list[Value]:
    return [g.Gather(vector, i, axis=0) for i in range(int(vector.dim(0)))]  # type: ignore[arg-type]


def _product(g: GraphBuilder, numbers: Sequence[Value]) -> Value:
    total = g.constant(1)
    for number in numbers:
        total = g.Mul(total, number)
    return total
