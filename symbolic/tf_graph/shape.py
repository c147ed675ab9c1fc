"""Shapes, reshapes, joining and cutting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn.layout import channels_first, channels_last, concat, has_twin, pad, twin_axis
from ..registry import symbolic
from ..value import Value
from ..xla import shapes
from ..xla.kernels import call
from .common import (
    DIALECT,
    END,
    Size,
    as_value,
    cast,
    int64,
    ints,
    known_axis,
    like,
    number,
    refused,
    shape_of,
    size_at,
    sizes_of,
    times,
)

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


@symbolic(DIALECT, "Shape")
def shape(g: GraphBuilder, x: Value, *, out_type: Any = _T.INT32) -> Value:
    """Shape(input: T, out_type: type) -> out_type"""
    return cast(g, g.Shape(x), out_type)


@symbolic(DIALECT, "ShapeN")
def shape_n(g: GraphBuilder, *operands: Value, out_type: Any = _T.INT32) -> list[Value]:
    """ShapeN(input: N * T, out_type: type) -> N * out_type"""
    return [shape(g, x, out_type=out_type) for x in operands]


@symbolic(DIALECT, "Size")
def size(g: GraphBuilder, x: Value, *, out_type: Any = _T.INT32) -> Value:
    """Size(input: T, out_type: type) -> out_type"""
    return cast(g, g.Size(x), out_type)


@symbolic(DIALECT, "Rank")
def rank(g: GraphBuilder, x: Value) -> Value:
    """Rank(input: T) -> int32"""
    return g.constant(np.array(x.rank, np.int32))


@symbolic(DIALECT, "Reshape")
def reshape(g: GraphBuilder, x: Value, sizes: Value) -> Value:
    """Reshape(tensor: T, shape: Tshape) -> T"""
    if sizes.dims is None and not isinstance(sizes.dim(0), int):
        return g.Reshape(x, int64(g, sizes), allowzero=1)
    return g.reshape(x, _with_known(x, sizes_of(g, sizes, "Reshape")))


def _with_known(x: Value, sizes: list[Size]) -> list[Size]:
    """The sizes, -1 worked out where everything is known."""
    if -1 not in [s for s in sizes if isinstance(s, int)] or x.size is None:
        return sizes
    known = [s for s in sizes if isinstance(s, int) and s != -1]
    if len(known) != len(sizes) - 1 or 0 in known:
        return sizes
    rest = x.size // int(np.prod(known, dtype=np.int64))
    return [rest if isinstance(s, int) and s == -1 else s for s in sizes]


@symbolic(DIALECT, "Squeeze")
def squeeze(g: GraphBuilder, x: Value, *, squeeze_dims: Sequence[int] = ()) -> Value:
    """Squeeze(input: T, squeeze_dims: list(int)) -> T"""
    if not squeeze_dims and any(not isinstance(s, int) for s in x.sizes or (None,)):
        raise refused(g, "Squeeze", "which axes are dropped depends on the input: name them with axis=")
    axes = [a % x.rank for a in squeeze_dims] or [i for i in range(x.rank) if x.dim(i) == 1]
    if has_twin(x) and axes == list(range(1, x.rank - 1)):
        return g.Squeeze(channels_first(g, x), list(range(2, x.rank)))
    return g.Squeeze(x, axes) if axes else x


@symbolic(DIALECT, "ExpandDims")
def expand_dims(g: GraphBuilder, x: Value, axis: Value) -> Value:
    """ExpandDims(input: T, dim: Tdim) -> T"""
    return g.Unsqueeze(x, [known_axis(g, axis, x.rank + 1, "ExpandDims")])


@symbolic(DIALECT, "Transpose", "ConjugateTranspose")
def transpose(g: GraphBuilder, x: Value, perm: Value) -> Value:
    """Transpose(x: T, perm: Tperm) -> T"""
    order = ints(g, perm, "Transpose", "a permutation")
    if order == [0, x.rank - 1, *range(1, x.rank - 1)] and x.rank > 2 and x.channels_first is not None:
        return channels_first(g, x)
    return shapes.transpose(g, x, order)


@symbolic(DIALECT, "ConcatV2")
def concat_v2(g: GraphBuilder, *operands: Value) -> Value:
    """ConcatV2(values: N * T, axis: Tidx) -> T"""
    *parts, axis = operands
    return concat(g, parts, known_axis(g, axis, parts[0].rank, "ConcatV2"))


@symbolic(DIALECT, "Concat")
def concat_v1(g: GraphBuilder, axis: Value, *parts: Value) -> Value:
    """Concat(concat_dim: int32, values: N * T) -> T"""
    return concat(g, parts, known_axis(g, axis, parts[0].rank, "Concat"))


@symbolic(DIALECT, "Pack")
def pack(g: GraphBuilder, *parts: Value, axis: int = 0) -> Value:
    """Pack(values: N * T, axis: int) -> T"""
    at = axis % (parts[0].rank + 1)
    raised = [g.Unsqueeze(p, [at]) for p in parts]
    return raised[0] if len(raised) == 1 else g.Concat(*raised, axis=at)


@symbolic(DIALECT, "Unpack")
def unpack(g: GraphBuilder, x: Value, *, num: int, axis: int = 0) -> list[Value]:
    """Unpack(value: T, num: int, axis: int) -> num * T"""
    at = axis % x.rank
    return [g.Squeeze(part, [at]) for part in shapes.split(g, x, [1] * num, at)]


@symbolic(DIALECT, "Split")
def split(g: GraphBuilder, axis: Value, x: Value, *, num_split: int) -> list[Value]:
    """Split(split_dim: int32, value: T, num_split: int) -> num_split * T"""
    at = known_axis(g, axis, x.rank, "Split")
    if num_split == 1:
        return [x]
    whole = x.dim(at)
    if isinstance(whole, int):
        return _split(g, x, [whole // num_split] * num_split, at)
    return list(g.call("Split", x, num_outputs=num_split, axis=at, outputs=num_split))


def _split(g: GraphBuilder, x: Value, sizes: list[int], axis: int) -> list[Value]:
    if not has_twin(x):
        return shapes.split(g, x, sizes, axis)
    parts = shapes.split(g, channels_first(g, x), sizes, twin_axis(axis, x.rank))
    return [channels_last(g, p) for p in parts]


@symbolic(DIALECT, "SplitV")
def split_v(g: GraphBuilder, x: Value, sizes: Value, axis: Value, *, num_split: int) -> list[Value]:
    """SplitV(value: T, size_splits: Tlen, split_dim: int32, num_split: int) -> num_split * T"""
    at = known_axis(g, axis, x.rank, "SplitV")
    if sizes.array is None and sizes.dims is None:
        return list(g.call("Split", x, int64(g, sizes), axis=at, outputs=num_split))
    known = ints(g, sizes, "SplitV", "sizes of parts")
    if -1 in known:
        whole = x.dim(at)
        if not isinstance(whole, int):
            if known[-1] != -1:
                raise refused(g, "SplitV", "an open part that isn't the last isn't supported")
            starts = np.cumsum([0, *known[:-1]]).tolist()
            return [g.Slice(x, [s], [e], [at]) for s, e in zip(starts, [*starts[1:], END], strict=True)]
        known[known.index(-1)] = whole - sum(s for s in known if s != -1)
    return _split(g, x, known, at)


@symbolic(DIALECT, "Fill")
def fill(g: GraphBuilder, sizes: Value, value: Value) -> Value:
    """Fill(dims: index_type, value: T) -> T"""
    if sizes.array is None and sizes.dims is None:
        return g.Expand(value, int64(g, sizes))
    return g.expand(value, sizes_of(g, sizes, "Fill"))


def _like(g: GraphBuilder, x: Value, value: int) -> Value:
    number_ = like(g, value, x)
    return g.Expand(number_, g.Shape(x)) if x.sizes is None else g.expand(number_, shape_of(g, x))


@symbolic(DIALECT, "ZerosLike")
def zeros_like(g: GraphBuilder, x: Value) -> Value:
    """ZerosLike(x: T) -> T"""
    return _like(g, x, 0)


@symbolic(DIALECT, "OnesLike")
def ones_like(g: GraphBuilder, x: Value) -> Value:
    """OnesLike(x: T) -> T"""
    return _like(g, x, 1)


@symbolic(DIALECT, "BroadcastTo")
def broadcast_to(g: GraphBuilder, x: Value, sizes: Value) -> Value:
    """BroadcastTo(input: T, shape: Tidx) -> T"""
    if sizes.dims is None and not isinstance(sizes.dim(0), int):
        return g.Expand(x, int64(g, sizes))
    return g.expand(x, sizes_of(g, sizes, "BroadcastTo"))


@symbolic(DIALECT, "BroadcastArgs")
def broadcast_args(g: GraphBuilder, a: Value, b: Value) -> Value:
    """BroadcastArgs(s0: T, s1: T) -> T: the shape that two shapes broadcast to"""
    left, right = (sizes_of(g, v, "BroadcastArgs") for v in (a, b))
    count = max(len(left), len(right))
    left, right = ([1] * (count - len(v)) + v for v in (left, right))
    found: list[Size] = []
    for x, y in zip(left, right, strict=True):
        same = not isinstance(x, Value) and not isinstance(y, Value) and x == y
        if same or (isinstance(y, int) and y == 1):
            found.append(x)
        elif isinstance(x, int) and x == 1:
            found.append(y)
        elif isinstance(x, int) or isinstance(y, int):
            found.append(x if isinstance(x, int) else y)
        else:
            first, second = as_value(g, x), as_value(g, y)
            found.append(g.Where(g.Equal(first, 1), second, first))
    return cast(g, g.shape_vector(found), a.element)


@symbolic(DIALECT, "Tile")
def tile(g: GraphBuilder, x: Value, multiples: Value) -> Value:
    """Tile(input: T, multiples: Tmultiples) -> T"""
    repeats = sizes_of(g, multiples, "Tile")
    if all(isinstance(r, int) and r == 1 for r in repeats):
        return x
    tiled: Value = call(g, "Tile", x, g.shape_vector(repeats))
    known = [None if isinstance(r, Value) or s is None else s * r for s, r in zip(x.sizes or (), repeats, strict=False)]
    if x.sizes is not None:
        tiled.sizes = tuple(known)
    return tiled


@symbolic(DIALECT, "Range")
def range_(g: GraphBuilder, start: Value, limit: Value, delta: Value) -> Value:
    """Range(start: Tidx, limit: Tidx, delta: Tidx) -> Tidx"""
    numbers: Value = g.Range(start, limit, delta)
    end = limit.dims[0] if limit.dims else None
    if start.dims == (0,) and delta.dims == (1,) and end is not None:
        numbers.sizes = (end,)
    return numbers


@symbolic(DIALECT, "LinSpace")
def lin_space(g: GraphBuilder, start: Value, stop: Value, count: Value) -> Value:
    """LinSpace(start: T, stop: T, num: Tidx) -> T"""
    known = int(number(g, count, "LinSpace", "the number of values"))
    if known == 1:
        return g.Reshape(start, [1])
    step = g.Div(g.Sub(stop, start), like(g, known - 1, start))
    steps = g.Mul(g.constant(np.arange(known - 1).astype(start.element.numpy())), step)
    return g.Concat(g.Add(steps, start), g.Reshape(stop, [1]), axis=0)


@symbolic(DIALECT, "Pad", "PadV2")
def pad_(g: GraphBuilder, x: Value, paddings: Value, value: Value | None = None) -> Value:
    """PadV2(input: T, paddings: Tpaddings, constant_values: T) -> T"""
    return _pad(g, x, paddings, "constant", value)


@symbolic(DIALECT, "MirrorPad")
def mirror_pad(g: GraphBuilder, x: Value, paddings: Value, *, mode: str) -> Value:
    """MirrorPad(input: T, paddings: Tpaddings, mode: string) -> T"""
    if mode == "REFLECT":
        return _pad(g, x, paddings, "reflect", None)
    for axis, (before, after) in enumerate(np.array(ints(g, paddings, "MirrorPad", "padding")).reshape(-1, 2).tolist()):
        parts = [x]
        if before:
            parts.insert(0, g.Slice(x, [before - 1], [-END], [axis], [-1]))
        if after:
            parts.append(g.Slice(x, [-1], [-1 - after], [axis], [-1]))
        x = concat(g, parts, axis)
    return x


def _pad(g: GraphBuilder, x: Value, paddings: Value, mode: str, value: Value | None) -> Value:
    if paddings.array is not None:
        pairs = [(int(a), int(b)) for a, b in paddings.array]
        if x.element in (_T.FLOAT, _T.FLOAT16, _T.DOUBLE, _T.INT32, _T.INT64):
            return pad(g, x, pairs, mode, value)
    flat = g.Reshape(g.Transpose(int64(g, paddings), perm=[1, 0]), [-1])
    return call(g, "Pad", x, flat, value, mode=mode) if value is not None else call(g, "Pad", x, flat, mode=mode)


@symbolic(DIALECT, "ReverseV2")
def reverse(g: GraphBuilder, x: Value, axes: Value) -> Value:
    """ReverseV2(tensor: T, axis: Tidx) -> T"""
    return shapes.reverse(g, x, [a % x.rank for a in ints(g, axes, "ReverseV2", "axes")])


@symbolic(DIALECT, "ReverseSequence")
def reverse_sequence(g: GraphBuilder, x: Value, lengths: Value, *, seq_dim: int, batch_dim: int = 0) -> Value:
    """ReverseSequence(input: T, seq_lengths: Tlen, seq_dim: int, batch_dim: int) -> T"""
    if {seq_dim, batch_dim} == {0, 1}:
        return call(g, "ReverseSequence", x, int64(g, lengths), time_axis=seq_dim, batch_axis=batch_dim)
    order = [batch_dim, seq_dim, *(i for i in range(x.rank) if i not in (batch_dim, seq_dim))]
    moved = g.Transpose(x, perm=order)
    turned = call(g, "ReverseSequence", moved, int64(g, lengths), time_axis=1, batch_axis=0)
    return g.Transpose(turned, perm=[order.index(i) for i in range(x.rank)])


@symbolic(DIALECT, "Roll")
def roll(g: GraphBuilder, x: Value, shift: Value, axis: Value) -> Value:
    """Roll(input: T, shift: Tshift, axis: Taxis) -> T"""
    axes = ints(g, axis, "Roll", "axes")
    if shift.array is None:
        for i, at in enumerate(axes):
            by_ = g.Gather(g.Reshape(int64(g, shift), [-1]), [i])
            length_ = g.Unsqueeze(as_value(g, size_at(g, x, at)), [0])
            x = _rolled(g, x, g.Mod(g.Sub(length_, by_), length_), at)
        return x
    for by, at in zip(ints(g, shift, "Roll", "shifts"), axes, strict=True):
        whole = x.dim(at)
        if isinstance(whole, int):
            by %= max(whole, 1)
            if by:
                x = g.Concat(g.Slice(x, [-by], [END], [at]), g.Slice(x, [0], [-by], [at]), axis=at % x.rank)
        elif by:
            # an open size may be smaller than the shift
            length = as_value(g, size_at(g, x, at))
            x = _rolled(g, x, g.Unsqueeze(g.Mod(g.Sub(length, by), length), [0]), at)
    return x


def _rolled(g: GraphBuilder, x: Value, cut: Value, axis: int) -> Value:
    """What lies before a place moved behind the rest."""
    return g.Concat(g.Slice(x, cut, [END], [axis]), g.Slice(x, [0], cut, [axis]), axis=axis % x.rank)


@symbolic(DIALECT, "InvertPermutation")
def invert_permutation(g: GraphBuilder, x: Value) -> Value:
    """InvertPermutation(x: T) -> T"""
    numbers = cast(g, g.Range(0, g.Squeeze(g.Shape(x), [0]), 1), x.element)
    return g.ScatterElements(g.Expand(like(g, 0, x), g.Shape(x)), int64(g, x), numbers, axis=0)


@symbolic(DIALECT, "SpaceToBatchND")
def space_to_batch(g: GraphBuilder, x: Value, block: Value, paddings: Value) -> Value:
    """SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> T"""
    blocks = ints(g, block, "SpaceToBatchND", "a block shape")
    count = len(blocks)
    around = [g.constant(np.zeros((n, 2), np.int64)) for n in (1, x.rank - 1 - count)]
    x = _pad(g, x, g.Concat(around[0], int64(g, paddings), around[1], axis=0), "constant", None)
    sizes = shape_of(g, x)
    parts: list[Size] = [sizes[0]]
    for length, b in zip(sizes[1 : 1 + count], blocks, strict=True):
        parts += [_quotient(g, length, b), b]
    wide = g.reshape(x, [*parts, *sizes[1 + count :]])
    inner = [2 * i + 2 for i in range(count)]
    outer = [2 * i + 1 for i in range(count)]
    rest = list(range(1 + 2 * count, 1 + 2 * count + x.rank - 1 - count))
    moved = g.Transpose(wide, perm=[*inner, 0, *outer, *rest])
    batch = times(g, [*blocks, sizes[0]])
    return g.reshape(moved, [batch, *(parts[i] for i in outer), *sizes[1 + count :]])


@symbolic(DIALECT, "BatchToSpaceND")
def batch_to_space(g: GraphBuilder, x: Value, block: Value, crops: Value) -> Value:
    """BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> T"""
    blocks = ints(g, block, "BatchToSpaceND", "a block shape")
    count = len(blocks)
    sizes = shape_of(g, x)
    batch = _quotient(g, sizes[0], int(np.prod(blocks)))
    wide = g.reshape(x, [*blocks, batch, *sizes[1:]])
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    moved = g.Transpose(wide, perm=[*order, *range(2 * count + 1, wide.rank)])
    grown = [times(g, [s, b]) for s, b in zip(sizes[1 : 1 + count], blocks, strict=True)]
    y = g.reshape(moved, [batch, *grown, *sizes[1 + count :]])
    before, after = (g.Squeeze(v, [1]) for v in g.call("Split", int64(g, crops), [1, 1], axis=1, outputs=2))
    ends = g.Sub(g.Shape(y, start=1, end=1 + count), after)
    return g.Slice(y, before, ends, list(range(1, 1 + count)))


def _quotient(g: GraphBuilder, length: Size, by: int) -> Size:
    return g.Div(length, by) if isinstance(length, Value) else length // by
