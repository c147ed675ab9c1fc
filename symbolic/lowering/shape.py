"""Shapes and pure data movement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Dim
from ..registry import symbolic
from .axes import squeeze_flagged, unsqueeze_flagged
from .common import count_of, known_ints, known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


@symbolic("onnx", "Squeeze", until=12)
def squeeze(g: GraphBuilder, data: Value, axes: Value | None = None) -> Any:
    """(data, axes?) -> squeezed; axes are an attribute below opset 13"""
    if axes is not None and not axes.is_constant and data.sizes is not None:
        return squeeze_flagged(g, data, axes)
    return g.raw("Squeeze", data, axes=None if axes is None else known_ints(g, axes, "Squeeze", "axes", 13))


@symbolic("onnx", "Unsqueeze", until=12)
def unsqueeze(g: GraphBuilder, data: Value, axes: Value) -> Any:
    """(data, axes) -> expanded; axes are an attribute below opset 13"""
    if not axes.is_constant and data.sizes is not None:
        return unsqueeze_flagged(g, data, axes)
    return g.raw("Unsqueeze", data, axes=known_ints(g, axes, "Unsqueeze", "axes", 13))


@symbolic("onnx", "Shape", until=14)
def shape(g: GraphBuilder, data: Value, start: int = 0, end: int | None = None) -> Any:
    """(data, start, end) -> shape; below opset 15 the whole shape, then a Slice"""
    if start == 0 and end is None:
        return g.raw("Shape", data)
    if data.sizes is not None:
        first, last, _ = slice(start, end).indices(len(data.sizes))
        if (first, last) == (0, len(data.sizes)):
            return g.Shape(data)
        start, end = first, max(first, last)
    return g.Slice(g.Shape(data), [start], [2**62 if end is None else end], [0])


@symbolic("onnx", "Split")
def split(
    g: GraphBuilder,
    input: Value,
    split: Value | None = None,
    axis: int = 0,
    num_outputs: int | None = None,
    outputs: Any = 1,
) -> Any:
    """(input, split?, axis, num_outputs) -> parts; split is an attribute below 13, num_outputs came with 18"""
    count = count_of(outputs)
    if split is not None:
        if g.opset >= 13:
            return NotImplemented
        sizes = None if split.array is None else [int(s) for s in split.array]
        if sizes is not None:
            return g.raw("Split", input, split=sizes, axis=axis, outputs=outputs)
        return _slices(g, input, axis, [g.Slice(split, [i], [i + 1], [0]) for i in range(count)])
    if g.opset >= 18:
        return g.raw("Split", input, axis=axis, num_outputs=count, outputs=outputs)
    size = input.dim(axis)
    if isinstance(size, int):
        if size % count == 0:
            return g.raw("Split", input, axis=axis, outputs=outputs)
        chunk = -(-size // count)
        sizes = [max(min(chunk, size - chunk * i), 0) for i in range(count)]
        return g.Split(input, sizes, axis=axis, outputs=outputs)
    whole = g.Gather(g.Shape(input), [axis], axis=0)
    part = g.Div(g.Add(whole, [count - 1]), [count])
    rest = g.Sub(whole, g.Mul(part, [count - 1]))
    return _slices(g, input, axis, [part] * (count - 1) + [rest])


def _slices(g: GraphBuilder, x: Value, axis: int, sizes: list[Value]) -> list[Value]:
    """Consecutive parts of an axis, sizes known at run time only."""
    parts, start = [], g.constant(np.array([0]))
    for size in sizes:
        end = g.Add(start, size)
        parts.append(g.Slice(x, start, end, [axis]))
        start = end
    return parts


@symbolic("onnx", "Reshape", until=13)
def reshape(g: GraphBuilder, data: Value, shape: Value, allowzero: int = 0) -> Any:
    """(data, shape, allowzero) -> reshaped; below opset 14 a zero always copies"""
    if not allowzero:
        return g.raw("Reshape", data, shape)
    dims = shape.dims
    if dims is None or None in dims:
        # a size of zero makes the result empty: then there is nothing to reshape
        empties, others = g.subgraph("empty"), g.subgraph("reshaped")
        empties.output(empty(empties, shape, data.element))
        others.output(others.raw("Reshape", data, shape))
        return g.If(g.Equal(g.ReduceProd(shape, keepdims=0), 0), then_branch=empties, else_branch=others)
    if 0 not in dims:  # dims are taken to be positive
        return g.raw("Reshape", data, shape)
    if data.sizes is not None and all(data.sizes[i : i + 1] == (0,) for i, d in enumerate(dims) if d == 0):
        return g.raw("Reshape", data, shape)  # it copies zeros
    if -1 in dims or data.dtype is None:
        refuse(g, "Reshape", "attribute allowzero", 14)
    return empty(g, shape, data.element)  # nothing is in it, so nothing has to be copied


def empty(g: GraphBuilder, shape: Value, dtype: ir.DataType) -> Any:
    """A tensor of zeros."""
    return g.ConstantOfShape(shape, value=ir.Tensor(np.zeros(1, dtype.numpy())))


@symbolic("onnx", "Trilu", until=13)
def trilu(g: GraphBuilder, input: Value, k: Value | None = None, upper: int = 1) -> Any:
    """(input, k?, upper) -> triangle; below opset 14 a comparison of row and column numbers"""
    known_rank(g, input, "Trilu", 14)
    rows, columns = (g.Range(0, _size(g, input, axis), 1) for axis in (-2, -1))
    diagonal = g.Unsqueeze(rows, [1])
    if k is not None:
        diagonal = g.Add(diagonal, k if k.sizes == () else g.Squeeze(k))
    outside = g.Less(columns, diagonal) if upper else g.Greater(columns, diagonal)
    return g.Where(outside, zero(g, input.element), input)


def zero(g: GraphBuilder, dtype: ir.DataType) -> Value:
    """A scalar zero (or empty string)."""
    if dtype is ir.DataType.STRING:
        return g.constant(np.array("", object))
    return g.constant(np.zeros((), dtype.numpy()))


def _size(g: GraphBuilder, x: Value, axis: int) -> Value:
    size = x.dim(axis)
    if isinstance(size, (int, Dim)):
        return g.size(size)
    return g.Gather(g.Shape(x), axis, axis=0)


@symbolic("onnx", "Dropout", until=11)
def dropout(
    g: GraphBuilder,
    data: Value,
    ratio: Value | None = None,
    training_mode: Value | None = None,
    seed: int | None = None,
    outputs: Any = 1,
) -> Any:
    """(data, ratio?, training_mode?, seed) -> data, mask; only inference can be written below opset 12"""
    if training_mode is not None and (training_mode.array is None or training_mode.array.any()):
        refuse(g, "Dropout", "input training_mode", 12)
    if count_of(outputs) == 1:
        return data
    mask = g.ConstantOfShape(g.Shape(data), value=ir.Tensor(np.ones(1, np.bool_)))
    return [data, mask]


@symbolic("onnx", "Pad", until=18)
def pad(
    g: GraphBuilder,
    data: Value,
    pads: Value,
    constant_value: Value | None = None,
    axes: Value | None = None,
    mode: str = "constant",
) -> Any:
    """(data, pads, constant_value?, axes?, mode) -> padded; axes came with opset 18, the mode wrap with 19"""
    if mode == "wrap":
        return _wrap(g, data, pads, axes)
    if axes is None or g.opset >= 18:
        return g.raw("Pad", data, pads, constant_value, axes, mode=mode)
    rank = known_rank(g, data, "Pad", 18)
    listed = [a % rank for a in known_ints(g, axes, "Pad", "axes", 18)]
    if listed != list(range(rank)):
        none = g.constant(np.array([0]))
        entry = {a: i for i, a in enumerate(listed)}
        before = [g.Slice(pads, [entry[a]], [entry[a] + 1], [0]) if a in entry else none for a in range(rank)]
        after = [
            g.Slice(pads, [entry[a] + len(listed)], [entry[a] + len(listed) + 1], [0]) if a in entry else none
            for a in range(rank)
        ]
        pads = g.Concat(*before, *after, axis=0)
    return g.raw("Pad", data, pads, constant_value, mode=mode)


def _wrap(g: GraphBuilder, x: Value, pads: Value, axes: Value | None) -> Value:
    """Pads by going round: picks index mod size on each axis."""
    rank = known_rank(g, x, "Pad", 19)
    listed = list(range(rank)) if axes is None else [a % rank for a in known_ints(g, axes, "Pad", "axes", 18)]
    for i, axis in enumerate(listed):
        before, after = (g.Squeeze(g.Slice(pads, [j], [j + 1], [0]), [0]) for j in (i, i + len(listed)))
        if before.array is not None and after.array is not None and not before.array and not after.array:
            continue
        size = _size(g, x, axis)
        x = g.Gather(x, g.Mod(g.Range(g.Neg(before), g.Add(size, after), 1), size), axis=axis)
    return x


@symbolic("onnx", "GatherND", until=11)
def gather_nd(g: GraphBuilder, data: Value, indices: Value, batch_dims: int = 0) -> Any:
    """(data, indices, batch_dims) -> picked; below opset 12 the batch index becomes part of the index"""
    if not batch_dims:
        return g.raw("GatherND", data, indices)
    rank = known_rank(g, indices, "GatherND", 12)
    known_rank(g, data, "GatherND", 12)
    whole = g.Slice(g.Shape(indices), [0], [rank - 1], [0])
    parts = []
    for axis in range(batch_dims):
        numbers = g.Range(0, _size(g, data, axis), 1)
        numbers = g.Unsqueeze(numbers, [i for i in range(rank) if i != axis])
        parts.append(g.Expand(numbers, g.Concat(whole, [1], axis=0)))
    return g.raw("GatherND", data, g.Concat(*parts, indices, axis=-1))
