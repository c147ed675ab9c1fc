"""Ops that move elements without computing: reshapes, joins, splits, slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim
from ..infer import broadcast
from ..registry import symbolic
from ..value import Value
from .common import (
    DataType,
    Size,
    as_value,
    axis_of,
    cast,
    ints,
    merged,
    move,
    refused,
    shape_of,
    size_at,
    size_list,
    sizes,
)


@symbolic("paddle_pir")
def shape64(g: GraphBuilder, input: Value) -> Value:
    """shape64(Tensor input) -> Tensor"""
    return g.Shape(input)


@symbolic("paddle_pir", "shape")
def shape32(g: GraphBuilder, input: Value) -> Value:
    """shape(Tensor input) -> Tensor"""
    return cast(g, g.Shape(input), DataType.INT32)


@symbolic("paddle_pir")
def numel(g: GraphBuilder, x: Value) -> Value:
    """numel(Tensor x) -> Tensor"""
    return g.Size(x)


@symbolic("paddle_pir", "reshape", "legacy_reshape")
def reshape(g: GraphBuilder, x: Value, shape: Any) -> Value:
    """reshape(Tensor x, int[] shape) -> Tensor"""
    if isinstance(shape, Value) and shape.dims is None and not isinstance(shape.dim(0), int):
        return g.Reshape(x, cast(g, shape, DataType.INT64))
    wanted = size_list(g, shape, "reshape")
    return g.reshape(x, [size_at(g, x, i) if isinstance(s, int) and s == 0 and _copies(x, i) else s
                         for i, s in enumerate(wanted)])  # fmt: skip


def _copies(x: Value, axis: int) -> bool:
    """A 0 copies the size of that axis."""
    return axis < x.rank


@symbolic("paddle_pir")
def view_shape(g: GraphBuilder, input: Value, dims: Sequence[int] = ()) -> Value:
    """view_shape(Tensor input, int[] dims) -> Tensor"""
    return g.reshape(input, list(dims))


@symbolic("paddle_pir")
def transpose(g: GraphBuilder, x: Value, perm: Sequence[int]) -> Value:
    """transpose(Tensor x, int[] perm) -> Tensor"""
    return move(g, x, [axis_of(p, x.rank) for p in perm])


@symbolic("paddle_pir")
def flatten(g: GraphBuilder, x: Value, start_axis: int = 1, stop_axis: int = 1) -> Value:
    """flatten(Tensor x, int start_axis, int stop_axis) -> Tensor"""
    if x.rank == 0:
        return g.Reshape(x, [1])
    start, stop = axis_of(start_axis, x.rank), axis_of(stop_axis, x.rank)
    shape = sizes(g, x)
    inner = merged(g, shape[start : stop + 1])
    return g.reshape(x, [*shape[:start], -1 if isinstance(inner, Value) else inner, *shape[stop + 1 :]])


@symbolic("paddle_pir")
def squeeze(g: GraphBuilder, x: Value, axis: Any) -> Value:
    """squeeze(Tensor x, int[] axis) -> Tensor"""
    axes = [axis_of(a, x.rank) for a in ints(g, axis, "squeeze", "an axis")]
    if not axes:
        if x.sizes is None or any(not isinstance(s, int) for s in x.sizes):
            raise refused(g, "squeeze", "squeezing all axes of a tensor with open sizes isn't supported: name them")
        axes = list(range(x.rank))
    # an open size is taken to be 1, as Paddle types the result; the runtime refuses others
    gone = [a for a in axes if not isinstance(x.dim(a), int) or x.dim(a) == 1]
    return g.Squeeze(x, gone) if gone else x


@symbolic("paddle_pir")
def unsqueeze(g: GraphBuilder, x: Value, axis: Any) -> Value:
    """unsqueeze(Tensor x, int[] axis) -> Tensor"""
    result = x
    for a in ints(g, axis, "unsqueeze", "an axis"):  # each counts in the tensor that the ones before have made
        result = g.Unsqueeze(result, [a])
    return result


@symbolic("paddle_pir")
def concat(g: GraphBuilder, x: Sequence[Value], axis: Any) -> Value:
    """concat(Tensor[] x, Scalar axis) -> Tensor"""
    (at,) = ints(g, axis, "concat", "an axis")
    parts = [g.Reshape(p, [1]) if p.rank == 0 else p for p in x]
    parts = [p for p in parts if not (p.rank == 1 and p.size == 0 and parts[0].rank != 1)] or parts
    return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=at)


@symbolic("paddle_pir")
def stack(g: GraphBuilder, x: Sequence[Value], axis: int = 0) -> Value:
    """stack(Tensor[] x, int axis) -> Tensor"""
    parts = [g.Unsqueeze(p, [axis]) for p in x]
    return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=axis)


@symbolic("paddle_pir")
def split(g: GraphBuilder, x: Value, sections: Any, axis: Any) -> list[Value]:
    """split(Tensor x, int[] sections, Scalar axis) -> Tensor[]"""
    (at,) = ints(g, axis, "split", "an axis")
    parts = size_list(g, sections, "split")
    if -1 in parts:
        rest = size_at(g, x, at)
        for part in parts:
            if not (isinstance(part, int) and part == -1):
                rest = as_value(g, rest) - as_value(g, part) if _any_value(rest, part) else rest - part  # type: ignore[operator]
        parts[parts.index(-1)] = rest
    if len(parts) == 1:
        return [x]
    return list(g.Split(x, g.shape_vector(parts), axis=at, outputs=len(parts)))


def _any_value(*sizes: Size) -> bool:
    return any(isinstance(s, Value) for s in sizes)


@symbolic("paddle_pir")
def split_with_num(g: GraphBuilder, x: Value, axis: Any, num: int) -> list[Value]:
    """split_with_num(Tensor x, Scalar axis, int num) -> Tensor[]"""
    (at,) = ints(g, axis, "split_with_num", "an axis")
    return [x] if num == 1 else list(g.Split(x, axis=at, num_outputs=num, outputs=num))


@symbolic("paddle_pir", "unbind", "unstack")
def unbind(g: GraphBuilder, input: Value, axis: int = 0, num: int = 0) -> list[Value]:
    """unbind(Tensor input, int axis) -> Tensor[]"""
    count = input.dim(axis)
    if not isinstance(count, int):
        raise refused(g, "unbind", "unbinding an axis of open size isn't supported")
    parts = [input] if count == 1 else g.Split(input, axis=axis, num_outputs=count, outputs=count)
    return [g.Squeeze(p, [axis]) for p in parts]


@symbolic("paddle_pir")
def expand(g: GraphBuilder, x: Value, shape: Any) -> Value:
    """expand(Tensor x, int[] shape) -> Tensor"""
    if isinstance(shape, Value) and shape.dims is None and not isinstance(shape.dim(0), int):
        return g.Expand(x, cast(g, shape, DataType.INT64))
    wanted = size_list(g, shape, "expand")
    lead = len(wanted) - x.rank
    known = [size_at(g, x, i - lead) if isinstance(s, int) and s == -1 and i >= lead else s
             for i, s in enumerate(wanted)]  # fmt: skip
    narrow = x.element == DataType.BOOL
    result = g.expand(cast(g, x, DataType.INT32) if narrow else x, known)
    return cast(g, result, DataType.BOOL) if narrow else result


@symbolic("paddle_pir")
def expand_as(g: GraphBuilder, x: Value, y: Value | None = None, target_shape: Sequence[int] = ()) -> Value:
    """expand_as(Tensor x, Tensor? y, int[] target_shape) -> Tensor"""
    wanted = [int(s) for s in target_shape] if y is None else sizes(g, y)
    return g.expand(x, wanted)


@symbolic("paddle_pir")
def broadcast_tensors(g: GraphBuilder, input: Sequence[Value]) -> list[Value]:
    """broadcast_tensors(Tensor[] input) -> Tensor[]"""
    common = broadcast(*(t.sizes for t in input))
    if common is not None and None not in common:
        return [g.expand(t, list(common)) for t in input]
    total = shape_of(g, input[0])
    for other in input[1:]:
        total = g.Shape(g.Expand(g.ConstantOfShape(total), shape_of(g, other)))
    return [g.Expand(t, total) for t in input]


@symbolic("paddle_pir")
def tile(g: GraphBuilder, x: Value, repeat_times: Any) -> Value:
    """tile(Tensor x, int[] repeat_times) -> Tensor"""
    repeats = size_list(g, repeat_times, "tile")
    if len(repeats) < x.rank:
        repeats = [1] * (x.rank - len(repeats)) + repeats
    elif len(repeats) > x.rank:
        x = g.Unsqueeze(x, list(range(len(repeats) - x.rank))) if x.rank else g.Reshape(x, [1] * len(repeats))
    return x if all(isinstance(r, int) and r == 1 for r in repeats) else g.Tile(x, g.shape_vector(repeats))


@symbolic("paddle_pir")
def flip(g: GraphBuilder, x: Value, axis: Sequence[int]) -> Value:
    """flip(Tensor x, int[] axis) -> Tensor"""
    axes = [axis_of(a, x.rank) for a in axis]
    if not axes:
        return x
    far = np.iinfo(np.int64).min
    return g.Slice(x, [-1] * len(axes), [far] * len(axes), axes, [-1] * len(axes))


@symbolic("paddle_pir", "reverse")
def reverse(g: GraphBuilder, x: Value, axis: Any) -> Value:
    """reverse(Tensor x, int[] axis) -> Tensor"""
    return flip(g, x, ints(g, axis, "reverse", "an axis"))


@symbolic("paddle_pir")
def roll(g: GraphBuilder, x: Value, shifts: Any, axis: Sequence[int] = ()) -> Value:
    """roll(Tensor x, int[] shifts, int[] axis) -> Tensor"""
    steps = ints(g, shifts, "roll", "a shift")
    if not axis:
        return g.reshape(_rolled(g, g.Reshape(x, [-1]), steps[0], 0), sizes(g, x))
    for shift, a in zip(steps, axis, strict=True):
        x = _rolled(g, x, shift, axis_of(a, x.rank))
    return x


def _rolled(g: GraphBuilder, x: Value, shift: int, axis: int) -> Value:
    size = x.dim(axis)
    if isinstance(size, int):
        shift = shift % size if size else 0
        if shift == 0:
            return x
        starts, ends = [-shift], [-shift]
    else:  # where the shift may exceed the size, it is taken modulo the size
        whole = as_value(g, size_at(g, x, axis))
        rest = g.Mod(g.constant(np.int64(shift)), whole)
        starts = ends = g.Reshape(whole - rest, [1])  # type: ignore[assignment]
    far = np.iinfo(np.int64).max
    return g.Concat(g.Slice(x, starts, [far], [axis]), g.Slice(x, [0], ends, [axis]), axis=axis)


@symbolic("paddle_pir", "slice")
def slice_op(
    g: GraphBuilder, input: Any, starts: Any, ends: Any, axes: Sequence[int] = (), infer_flags: Sequence[int] = (),
    decrease_axis: Sequence[int] = (),
) -> Any:  # fmt: skip
    """slice(Tensor input, int[] starts, int[] ends, int[] axes, int[] infer_flags, int[] decrease_axis) -> Tensor"""
    first, last = size_list(g, starts, "slice"), size_list(g, ends, "slice")
    if isinstance(input, (list, tuple)):
        return _slice_list(g, input, first, last, decrease_axis)
    result = input
    if len(axes) == 1 and list(decrease_axis) == list(axes) and isinstance(first[0], int):
        return _picked(g, input, first[0], axes[0])
    if axes:
        result = g.Slice(input, g.shape_vector(first), g.shape_vector(last), list(axes))
        result = _clamped(input, result, axes, first, last)
    return g.Squeeze(result, list(decrease_axis)) if decrease_axis else result


def _picked(g: GraphBuilder, x: Value, index: int, axis: int) -> Value:
    """One element of an axis, the axis gone."""
    return g.Gather(x, g.constant(np.int64(index)), axis=axis)


def _clamped(x: Value, result: Value, axes: Sequence[int], first: Sequence[Size], last: Sequence[Size]) -> Value:
    """Sizes of axes that are cut down to one element, where the bounds are a run-time value and the next one."""
    if result.sizes is None:
        return result
    shape = list(result.sizes)
    for a, start, end in zip(axes, first, last, strict=True):
        if isinstance(start, Dim) and isinstance(end, Dim) and end - start == 1:
            shape[a] = 1
    result.sizes = tuple(shape)
    return result


def _slice_list(
    g: GraphBuilder, parts: Sequence[Value], first: Sequence[Size], last: Sequence[Size], decrease: Sequence[int]
) -> Any:
    """A slice of a list of tensors."""
    if not isinstance(first[0], int) or not isinstance(last[0], int):
        raise refused(g, "slice", "an index into a tensor array that the model computes isn't supported")
    return parts[first[0]] if decrease else list(parts[first[0] : last[0]])


@symbolic("paddle_pir")
def strided_slice(
    g: GraphBuilder, x: Value, starts: Any, ends: Any, strides: Any, axes: Sequence[int],
    infer_flags: Sequence[int] = (), decrease_axis: Sequence[int] = (),
) -> Value:  # fmt: skip
    """strided_slice(Tensor x, int[] starts, int[] ends, int[] strides, int[] axes) -> Tensor"""
    steps = ints(g, strides, "strided_slice", "a step")
    first, last = size_list(g, starts, "strided_slice"), size_list(g, ends, "strided_slice")
    lowest = np.iinfo(np.int64).min
    # counting down, Paddle takes -size - 1 and below as "before the first", and -1 as an index from the end
    last = [lowest if s < 0 and isinstance(e, int) and isinstance(x.dim(a), int) and e < -int(x.dim(a)) else e  # type: ignore[arg-type]
            for s, e, a in zip(steps, last, axes, strict=True)]  # fmt: skip
    result = g.Slice(x, g.shape_vector(first), g.shape_vector(last), list(axes), steps)
    return g.Squeeze(result, list(decrease_axis)) if decrease_axis else result


@symbolic("paddle_pir")
def crop(g: GraphBuilder, x: Value, shape: Any, offsets: Any) -> Value:
    """crop(Tensor x, int[] shape, int[] offsets) -> Tensor"""
    starts = ints(g, offsets, "crop", "an offset")
    counts = ints(g, shape, "crop", "a shape")
    far = np.iinfo(np.int64).max
    ends = [far if c == -1 else s + c for s, c in zip(starts, counts, strict=True)]
    return g.Slice(x, starts, ends, list(range(x.rank)))


@symbolic("paddle_pir")
def meshgrid(g: GraphBuilder, inputs: Sequence[Value]) -> list[Value]:
    """meshgrid(Tensor[] inputs) -> Tensor[]"""
    vectors = [g.Reshape(v, [-1]) if v.rank != 1 else v for v in inputs]
    shape = [size_at(g, v, 0) for v in vectors]
    return [g.expand(g.Reshape(v, [1] * i + [-1] + [1] * (len(vectors) - 1 - i)), shape) for i, v in enumerate(vectors)]


@symbolic("paddle_pir")
def repeat_interleave(g: GraphBuilder, x: Value, repeats: int, axis: int, output_size: int = -1) -> Value:
    """repeat_interleave(Tensor x, int repeats, int axis, int output_size) -> Tensor"""
    axis = axis_of(axis, x.rank)
    shape = sizes(g, x)
    wide = g.expand(g.Unsqueeze(x, [axis + 1]), [*shape[: axis + 1], repeats, *shape[axis + 1 :]])
    joined = merged(g, [shape[axis], repeats])
    return g.reshape(wide, [*shape[:axis], joined, *shape[axis + 1 :]])


@symbolic("paddle_pir")
def repeat_interleave_with_tensor_index(
    g: GraphBuilder, x: Value, repeats: Value, axis: int, output_size: int = -1
) -> Value:
    """repeat_interleave_with_tensor_index(Tensor x, Tensor repeats, int axis, int output_size) -> Tensor"""
    counts = cast(g, repeats, DataType.INT64)
    if counts.sizes == (1,):
        counts = g.expand(counts, [size_at(g, x, axis)])
    ends = g.CumSum(counts, np.int64(0))
    places = g.Range(np.int64(0), g.ReduceSum(counts, keepdims=0), np.int64(1))
    before = g.LessOrEqual(g.Unsqueeze(ends, [0]), g.Unsqueeze(places, [1]))
    index = g.ReduceSum(cast(g, before, DataType.INT64), [1], keepdims=0)
    return g.Gather(x, index, axis=axis)


@symbolic("paddle_pir")
def channel_shuffle(g: GraphBuilder, x: Value, groups: int, data_format: str = "NCHW") -> Value:
    """channel_shuffle(Tensor x, int groups, str data_format) -> Tensor"""
    shape = sizes(g, x)
    at = 3 if data_format == "NHWC" else 1
    channels = shape[at]
    if not isinstance(channels, int):
        raise refused(g, "channel_shuffle", "an open number of channels isn't supported")
    parts = g.reshape(x, [*shape[:at], groups, channels // groups, *shape[at + 1 :]])
    order = [*range(at), at + 1, at, *range(at + 2, 5)]
    return g.reshape(g.Transpose(parts, perm=order), shape)


@symbolic("paddle_pir", "shuffle_channel")
def shuffle_channel(g: GraphBuilder, x: Value, group: int = 1) -> Value:
    """shuffle_channel(Tensor x, int group) -> Tensor"""
    return channel_shuffle(g, x, group)


@symbolic("paddle_pir")
def pixel_shuffle(g: GraphBuilder, x: Value, upscale_factor: int = 1, data_format: str = "NCHW") -> Value:
    """pixel_shuffle(Tensor x, int upscale_factor, str data_format) -> Tensor"""
    from .convolution import back, first

    source = first(g, x, data_format)
    return back(g, g.DepthToSpace(source, blocksize=upscale_factor, mode="CRD"), data_format)


@symbolic("paddle_pir")
def pixel_unshuffle(g: GraphBuilder, x: Value, downscale_factor: int = 1, data_format: str = "NCHW") -> Value:
    """pixel_unshuffle(Tensor x, int downscale_factor, str data_format) -> Tensor"""
    from .convolution import back, first

    source = first(g, x, data_format)
    n, c, h, w = sizes(g, source)
    r = downscale_factor
    if isinstance(h, Value) or isinstance(w, Value) or isinstance(c, Value):
        raise refused(g, "pixel_unshuffle", "sizes known only at run time aren't supported")
    parts = g.reshape(source, [n, c, h // r, r, w // r, r])
    moved = g.Transpose(parts, perm=[0, 1, 3, 5, 2, 4])
    return back(g, g.reshape(moved, [n, c * r * r, h // r, w // r]), data_format)


@symbolic("paddle_pir")
def temporal_shift(
    g: GraphBuilder, x: Value, seg_num: int, shift_ratio: float = 0.25, data_format: str = "NCHW"
) -> Value:
    """temporal_shift(Tensor x, int seg_num, float shift_ratio, str data_format) -> Tensor"""
    from .convolution import back, first

    source = first(g, x, data_format)
    shape = sizes(g, source)
    channels = shape[1]
    if not isinstance(channels, int):
        raise refused(g, "temporal_shift", "an open number of channels isn't supported")
    one, two = int(channels * shift_ratio), int(channels * 2 * shift_ratio)
    video = g.reshape(source, [-1, seg_num, *shape[1:]])
    padded = g.Pad(video, [0, 1, 0, 0, 0, 0, 1, 0, 0, 0])
    far = np.iinfo(np.int64).max
    pieces = [
        g.Slice(padded, [0, 0], [seg_num, one], [1, 2]),
        g.Slice(padded, [2, one], [seg_num + 2, two], [1, 2]),
        g.Slice(padded, [1, two], [seg_num + 1, far], [1, 2]),
    ]
    return back(g, g.reshape(g.Concat(*pieces, axis=2), shape), data_format)


@symbolic("paddle_pir")
def partial_concat(g: GraphBuilder, x: Sequence[Value], start_index: int = 0, length: int = -1) -> Value:
    """partial_concat(Tensor[] x, int start_index, int length) -> Tensor"""
    return g.Concat(*_partial(g, x, start_index, length), axis=1)


@symbolic("paddle_pir")
def partial_sum(g: GraphBuilder, x: Sequence[Value], start_index: int = 0, length: int = -1) -> Value:
    """partial_sum(Tensor[] x, int start_index, int length) -> Tensor"""
    parts = _partial(g, x, start_index, length)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _partial(g: GraphBuilder, parts: Sequence[Value], start: int, length: int) -> list[Value]:
    end = np.iinfo(np.int64).max if length < 0 else start + length
    return [g.Slice(p, [start], [end], [1]) for p in parts]


@symbolic("paddle_pir")
def tril(g: GraphBuilder, x: Value, diagonal: int = 0) -> Value:
    """tril(Tensor x, int diagonal) -> Tensor"""
    return g.Trilu(x, np.int64(diagonal), upper=0)


@symbolic("paddle_pir")
def triu(g: GraphBuilder, x: Value, diagonal: int = 0) -> Value:
    """triu(Tensor x, int diagonal) -> Tensor"""
    return g.Trilu(x, np.int64(diagonal), upper=1)
