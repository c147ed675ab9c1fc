"""Rows of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, END, as_value, int64, ints, refused, size_at

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
    if list(row_partition_types) != ["ROW_SPLITS"]:
        raise refused(g, _OP, f"rows given as {', '.join(row_partition_types)} aren't supported, only as ROW_SPLITS")
    rows, width, *_ = [*ints(g, shape, _OP, "a shape"), -1, -1]  # a scalar -1: nothing is known
    if rows >= 0:
        raise refused(g, _OP, "a fixed number of rows isn't supported")
    splits = int64(g, partitions[0])
    starts, ends = g.Slice(splits, [0], [-1], [0]), g.Slice(splits, [1], [END], [0])
    lengths = g.Sub(ends, starts)
    columns = g.constant(width) if width >= 0 else g.ReduceMax(g.Concat(lengths, [0], axis=0), keepdims=0)
    numbers = g.Range(0, columns, 1)
    # the default value lies behind the others: elements that a row lacks point there
    behind = as_value(g, size_at(g, values, 0))
    filler = g.Expand(default, g.Concat([1], g.Shape(values, start=1), axis=0))
    present = g.Less(numbers, g.Unsqueeze(lengths, [1]))
    places = g.Where(present, g.Add(g.Unsqueeze(starts, [1]), numbers), behind)
    return g.Gather(call(g, "Concat", values, filler, axis=0), places, axis=0)
