"""Slices, gathers, scatters, searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn.layout import channels_first, channels_last, has_twin, twin_axis
from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call, several
from .common import DIALECT, END, cast, int64, ints, known_axis, like, number, refused

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _element(g: GraphBuilder, vector: Value, index: int) -> Value:
    """One element of a vector, as a vector of one; known where its contents are."""
    if vector.array is not None:
        return g.constant(vector.array.astype(np.int64)[index : index + 1])
    return g.Slice(int64(g, vector), [index], [index + 1], [0])


def _masks(mask: int, index: int) -> bool:
    return bool(mask >> index & 1)


@symbolic(DIALECT, "StridedSlice")
def strided_slice(
    g: GraphBuilder,
    x: Value,
    begin: Value,
    end: Value,
    strides: Value,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Value:
    """StridedSlice(input: T, begin: Index, end: Index, strides: Index, masks ...) -> T"""
    count = next((v.dim(0) for v in (begin, end, strides) if isinstance(v.dim(0), int)), None)
    if not isinstance(count, int):
        raise refused(g, "StridedSlice", "a slice of an unknown number of axes isn't supported")
    steps = ints(g, strides, "StridedSlice", "strides")
    used = sum(not _masks(new_axis_mask, i) and not _masks(ellipsis_mask, i) for i in range(count))
    starts, ends, axes, by, shrunk, added = [], [], [], [], [], []
    axis = place = 0  # axis of the operand; axis of the result before any is dropped
    for i in range(count):
        if _masks(ellipsis_mask, i):
            skipped = x.rank - used
            axis, place = axis + skipped, place + skipped
            continue
        if _masks(new_axis_mask, i):
            added.append(place)
            place += 1
            continue
        if _masks(shrink_axis_mask, i):
            first = _element(g, begin, i)
            after = g.Add(first, 1)
            starts.append(first)
            ends.append(g.Where(g.Equal(first, -1), g.constant([END]), after))
            by.append(1)
            axes.append(axis)
            shrunk.append(place)
        else:
            whole = _masks(begin_mask, i), _masks(end_mask, i)
            if not (all(whole) and steps[i] == 1):
                edge = (0, END) if steps[i] > 0 else (END, -END)
                starts.append(g.constant([edge[0]]) if whole[0] else _element(g, begin, i))
                ends.append(g.constant([edge[1]]) if whole[1] else _element(g, end, i))
                by.append(steps[i])
                axes.append(axis)
        axis, place = axis + 1, place + 1
    return _sliced(g, x, starts, ends, axes, by, shrunk, added)


def _sliced(
    g: GraphBuilder,
    x: Value,
    starts: Sequence[Value],
    ends: Sequence[Value],
    axes: Sequence[int],
    steps: Sequence[int],
    shrunk: Sequence[int],
    added: Sequence[int],
) -> Value:
    """Cuts axes, then puts new ones in and drops those of which one element is taken (both counted after the other)."""
    if axes:
        one = len(axes) == 1
        bounds = [v[0] if one else g.Concat(*v, axis=0) for v in (starts, ends)]
        plain = any(v is not None for v in (x.array, x.dims)) or not has_twin(x)
        source = x if plain else channels_first(g, x)
        places = list(axes) if plain else [twin_axis(a, x.rank) for a in axes]
        cut: Value = g.Slice(source, bounds[0], bounds[1], places, list(steps))
        x = cut if plain else channels_last(g, cut)
    if shrunk:
        dropped = [p - sum(a < p for a in added) for p in shrunk]
        x = g.Squeeze(x, dropped)
    if added:
        x = g.Unsqueeze(x, [p - sum(s < p for s in shrunk) for p in added])
    return x


@symbolic(DIALECT, "Slice")
def slice_(g: GraphBuilder, x: Value, begin: Value, size: Value) -> Value:
    """Slice(input: T, begin: Index, size: Index) -> T"""
    if size.array is not None:
        counts = size.array.astype(np.int64)
        whole = counts == -1
        if begin.array is not None:
            starts = begin.array.astype(np.int64)
            ends = np.where(whole, END, starts + counts)
            axes = [i for i in range(x.rank) if not (starts[i] == 0 and (whole[i] or counts[i] == x.dim(i)))]
            return g.Slice(x, starts[axes], ends[axes], axes) if axes else x
        start = int64(g, begin)
        last: Value = g.Where(g.constant(whole), g.constant(END), g.Add(start, g.constant(counts)))
        y: Value = g.Slice(x, start, last, list(range(x.rank)))
        y.sizes = tuple(None if c == -1 else int(c) for c in counts)
        return y
    start, count = int64(g, begin), int64(g, size)
    last = g.Where(g.Equal(count, -1), g.constant(END), g.Add(start, count))
    return g.Slice(x, start, last, list(range(x.rank)))


@symbolic(DIALECT, "GatherV2", "Gather")
def gather(
    g: GraphBuilder,
    x: Value,
    indices: Value,
    axis: Value | None = None,
    *,
    batch_dims: int = 0,
    validate_indices: bool = True,
) -> Value:
    """GatherV2(params: Tparams, indices: Tindices, axis: Taxis, batch_dims: int) -> Tparams"""
    at = 0 if axis is None else known_axis(g, axis, x.rank, "GatherV2")
    batch = batch_dims % (indices.rank + 1) if batch_dims < 0 else batch_dims
    if not batch:
        return g.Gather(
            x, cast(g, indices, _T.INT64) if indices.element not in (_T.INT32, _T.INT64) else indices, axis=at
        )
    # batch axes, then the indexed one: what lies between is moved behind and comes back after
    between = list(range(batch, at))
    order = [*range(batch), at, *between, *range(at + 1, x.rank)]
    moved = x if not between else g.Transpose(x, perm=order)
    found = g.GatherND(moved, g.Unsqueeze(int64(g, indices), [-1]), batch_dims=batch)
    if not between:
        return found
    new = list(range(batch, indices.rank))
    shift = indices.rank
    back = [*range(batch), *range(shift, shift + len(between)), *new, *range(shift + len(between), found.rank)]
    return g.Transpose(found, perm=back)


@symbolic(DIALECT, "GatherNd")
def gather_nd(g: GraphBuilder, x: Value, indices: Value, *, bad_indices_policy: str = "") -> Value:
    """GatherNd(params: Tparams, indices: Tindices) -> Tparams"""
    if indices.dim(-1) == 0:
        raise refused(g, "GatherNd", "indices without elements aren't supported")
    return g.GatherND(x, int64(g, indices))


def _scatter(name: str, kind: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, indices: Value, updates: Value, *, bad_indices_policy: str = "") -> Value:
        updates = g.Neg(updates) if name.endswith("Sub") else updates
        return call(g, "ScatterND", x, int64(g, indices), updates, reduction=kind)

    function.__doc__ = f"{name}(tensor: T, indices: Tindices, updates: T) -> T"


for _name, _kind in {"Update": "none", "Add": "add", "Sub": "add", "Max": "max", "Min": "min"}.items():
    _scatter(f"TensorScatter{_name}", _kind)


@symbolic(DIALECT, "ScatterNd")
def scatter_nd(g: GraphBuilder, indices: Value, updates: Value, shape: Value, *, bad_indices_policy: str = "") -> Value:
    """ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> T: what meets is added"""
    zeros = g.Expand(like(g, 0, updates), int64(g, shape))
    return call(g, "ScatterND", zeros, int64(g, indices), updates, reduction="add")


@symbolic(DIALECT, "SparseToDense")
def sparse_to_dense(
    g: GraphBuilder, indices: Value, shape: Value, values: Value, default: Value, *, validate_indices: bool = True
) -> Value:
    """SparseToDense(sparse_indices, output_shape, sparse_values: T, default_value: T) -> T"""
    start = g.Expand(default, int64(g, shape))
    at = int64(g, indices)
    at = g.Unsqueeze(at, [-1]) if at.rank == 1 else at
    rows = g.Expand(values, g.Shape(at, end=1)) if values.rank == 0 else values
    return call(g, "ScatterND", start, at, rows)


@symbolic(DIALECT, "OneHot")
def one_hot(g: GraphBuilder, indices: Value, depth: Value, on: Value, off: Value, *, axis: int = -1) -> Value:
    """OneHot(indices: TI, depth: int32, on_value: T, off_value: T, axis: int) -> T"""
    at = axis if axis >= 0 else indices.rank
    hit = g.Equal(
        g.Unsqueeze(int64(g, indices), [at]),
        g.Reshape(g.Range(0, g.Reshape(int64(g, depth), []), 1), [-1, *[1] * (indices.rank - at)]),
    )
    if on.element is _T.BOOL:
        return g.Or(g.And(hit, on), g.And(g.Not(hit), off))
    return call(g, "Where", hit, on, off)


@symbolic(DIALECT, "TopKV2", "TopK")
def top_k(
    g: GraphBuilder,
    x: Value,
    k: Value | None = None,
    *,
    sorted: bool = True,
    index_type: Any = _T.INT32,
) -> tuple[Value, Value]:
    """TopKV2(input: T, k: Tk, sorted: bool, index_type: type) -> (values: T, indices: index_type)"""
    if k is None:
        raise refused(g, "TopK", "k as an attribute isn't supported")
    values, indices = several(g, "TopK", x, g.Reshape(int64(g, k), [1]), axis=-1, outputs=2)
    return values, cast(g, indices, index_type)


@symbolic(DIALECT, "Where")
def where(g: GraphBuilder, condition: Value) -> Value:
    """Where(condition: T) -> int64: places of what isn't zero, one row each"""
    return g.Transpose(g.NonZero(condition), perm=[1, 0])


@symbolic(DIALECT, "Unique", "UniqueV2")
def unique(g: GraphBuilder, x: Value, axis: Value | None = None, *, out_idx: Any = _T.INT32) -> tuple[Value, Value]:
    """Unique(x: T, out_idx: type) -> (y: T, idx: out_idx)"""
    values, _, inverse, _ = _unique(g, x, axis)
    return values, cast(g, inverse, out_idx)


@symbolic(DIALECT, "UniqueWithCounts", "UniqueWithCountsV2")
def unique_with_counts(
    g: GraphBuilder, x: Value, axis: Value | None = None, *, out_idx: Any = _T.INT32
) -> tuple[Value, Value, Value]:
    """UniqueWithCounts(x: T, out_idx: type) -> (y: T, idx: out_idx, count: out_idx)"""
    values, _, inverse, counts = _unique(g, x, axis)
    return values, cast(g, inverse, out_idx), cast(g, counts, out_idx)


def _unique(g: GraphBuilder, x: Value, axis: Value | None) -> Sequence[Value]:
    """The four results of ONNX's Unique, in order of first occurrence."""
    if x.rank != 1 or (axis is not None and axis.size not in (0, 1)):
        raise refused(g, "UniqueV2", "unique rows of a tensor aren't supported")
    dtype = x.element
    wide = {_T.INT32: _T.INT64, _T.FLOAT16: _T.FLOAT, _T.BFLOAT16: _T.FLOAT, _T.UINT8: _T.INT64, _T.INT16: _T.INT64}
    values, *rest = g.call("Unique", cast(g, x, wide.get(dtype, dtype)), sorted=0, outputs=4)
    return [cast(g, values, dtype), *rest]


@symbolic(DIALECT, "Bucketize")
def bucketize(g: GraphBuilder, x: Value, *, boundaries: Sequence[float]) -> Value:
    """Bucketize(input: T, boundaries: list(float)) -> int32"""
    edges = g.constant(np.array(boundaries, np.float32 if x.element is not _T.DOUBLE else np.float64))
    wide = x if x.element in (_T.FLOAT, _T.DOUBLE) else cast(g, x, _T.FLOAT)
    above = cast(g, g.GreaterOrEqual(g.Unsqueeze(wide, [-1]), edges), _T.INT32)
    return g.ReduceSum(above, [-1], keepdims=0)


def _bound(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, rows: Value, values: Value, *, out_type: Any = _T.INT32) -> Value:
        below = g.call(op, g.Unsqueeze(rows, [1]), g.Unsqueeze(values, [2]))
        return g.ReduceSum(cast(g, below, out_type), [2], keepdims=0)

    function.__doc__ = f"{name}(sorted_inputs: T, values: T, out_type: type) -> out_type"


_bound("LowerBound", "Less")
_bound("UpperBound", "LessOrEqual")


@symbolic(DIALECT, "DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(g: GraphBuilder, *operands: Value) -> Value:
    """DynamicStitch(indices: N * int32, data: N * T) -> T"""
    count = len(operands) // 2
    indices = [g.Reshape(int64(g, i), [-1]) for i in operands[:count]]
    tails = [d.rank - i.rank for i, d in zip(operands[:count], operands[count:], strict=True)]
    rows = []
    for i, data in zip(operands[:count], operands[count:], strict=True):
        rest = g.Shape(data, start=i.rank) if data.rank > i.rank else None
        flat = g.constant([-1]) if rest is None else g.Concat(g.constant([-1]), rest, axis=0)
        rows.append(g.Reshape(data, flat))
    at = indices[0] if count == 1 else g.Concat(*indices, axis=0)
    values = rows[0] if count == 1 else g.Concat(*rows, axis=0)
    length = g.Unsqueeze(g.Add(g.ReduceMax(at, keepdims=0), 1), [0])
    size = length if not tails[0] else g.Concat(length, g.Shape(values, start=1), axis=0)
    return call(g, "ScatterND", g.Expand(like(g, 0, values), size), g.Unsqueeze(at, [1]), values)


@symbolic(DIALECT, "DynamicPartition")
def dynamic_partition(g: GraphBuilder, x: Value, partitions: Value, *, num_partitions: int) -> list[Value]:
    """DynamicPartition(data: T, partitions: int32, num_partitions: int) -> num_partitions * T"""
    if partitions.rank != 1:
        raise refused(g, "DynamicPartition", f"partitions of rank {partitions.rank} aren't supported")
    return [g.Compress(x, g.Equal(partitions, like(g, i, partitions)), axis=0) for i in range(num_partitions)]


@symbolic(DIALECT, "NthElement")
def nth_element(g: GraphBuilder, x: Value, n: Value, *, reverse: bool = False) -> Value:
    """NthElement(input: T, n: int32, reverse: bool) -> T"""
    at = int(number(g, n, "NthElement", "n"))
    values, _ = several(g, "TopK", x, [at + 1], axis=-1, largest=int(reverse), outputs=2)
    return g.Squeeze(g.Slice(values, [-1], [END], [-1]), [-1])


@symbolic(DIALECT, "InTopKV2")
def in_top_k(g: GraphBuilder, predictions: Value, targets: Value, k: Value) -> Value:
    """InTopKV2(predictions: float32, targets: T, k: T) -> bool: fewer than k are larger"""
    own = g.GatherElements(predictions, g.Unsqueeze(int64(g, targets), [1]), axis=1)
    larger = g.ReduceSum(cast(g, g.Greater(predictions, own), _T.INT64), [1], keepdims=0)
    return g.Less(larger, int64(g, k))
