"""Broadcasting, reshapes, padding, slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Dim, Size
from ..nn.layout import channels_first, channels_last, concat, has_twin, twin_axis
from ..nn.weights import transposed
from ..value import Value
from .kernels import call

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_END = 2**62


def broadcast_in_dim(g: GraphBuilder, x: Value, rank: int, dims: Sequence[int]) -> Value:
    """The operand with its axes at `dims` of `rank` axes; the elements are copied where they are needed (see apply).

    Args:
        g: Builder.
        x: Operand, perhaps not broadcast yet: then its axes are the last of `dims`.
        rank: Rank of the result.
        dims: Axis of the result for each axis of the operand.
    """
    if x.rank == 0 or x.size == 1:
        return x if x.rank == 0 else g.reshape(x, [])
    places = list(dims)[len(dims) - x.rank :]
    if places == list(range(rank - x.rank, rank)):
        return x
    new = [axis for axis in range(places[0] if places else 0, rank) if axis not in places]
    return g.Unsqueeze(x, [axis - places[0] for axis in new]) if new else x


def iota(g: GraphBuilder, dtype: ir.DataType, shape: Sequence[Size], dimension: int) -> Value:
    """0, 1, 2 ... along an axis; broadcast where it is needed."""
    size = shape[dimension]
    if isinstance(size, int):
        numbers = g.constant(np.arange(size).astype(dtype.numpy()))
    else:
        whole = g.Range(0, g.size(size), 1)
        whole.sizes = (size,)
        numbers = whole if dtype is ir.DataType.INT64 else g.Cast(whole, to=dtype)
    after = len(shape) - 1 - dimension
    return g.Unsqueeze(numbers, list(range(1, after + 1))) if after else numbers


def transpose(g: GraphBuilder, x: Value, permutation: Sequence[int]) -> Value:
    """Axes in another order."""
    if list(permutation) == list(range(len(permutation))):
        return x
    node = x.producer()
    if node is not None and node.op_type == "Transpose" and x.builder is g and isinstance(node.inputs[0], Value):
        before = node.attributes["perm"].as_ints()
        return transpose(g, node.inputs[0], [before[p] for p in permutation])
    return transposed(g, x, permutation)


def slice_(
    g: GraphBuilder, x: Value, starts: Sequence[Size], limits: Sequence[Size], strides: Sequence[int] | None
) -> Value:
    """Elements start, start + stride ... below limit, on every axis."""
    steps = list(strides) if strides else [1] * x.rank
    axes = [
        i
        for i, (a, b, s) in enumerate(zip(starts, limits, steps, strict=True))
        if not (a == 0 and b == x.dim(i) and s == 1)
    ]
    if not axes:
        return x
    source, places = x, axes
    if has_twin(x):
        source = channels_first(g, x)
        places = [twin_axis(a, x.rank) for a in axes]
    cut = g.Slice(
        source,
        g.shape_vector([starts[a] for a in axes]),
        g.shape_vector([limits[a] for a in axes]),
        places,
        [steps[a] for a in axes],
    )
    return channels_last(g, cut) if source is not x else cut


def reverse(g: GraphBuilder, x: Value, dimensions: Sequence[int]) -> Value:
    """Axes read backwards."""
    count = len(dimensions)
    if not count:
        return x
    return g.Slice(x, [-1] * count, [-_END] * count, list(dimensions), [-1] * count)


def concatenate(g: GraphBuilder, parts: Sequence[Value], dimension: int) -> Value:
    """Tensors one after the other."""
    kept = [p for p in parts if p.dim(dimension) != 0] or list(parts[:1])
    return concat(g, kept, dimension)


def pad(g: GraphBuilder, x: Value, value: Value, config: Sequence[tuple[Size, Size, int]]) -> Value:
    """Padding (low, high, interior) of every axis; what is negative is cut off.

    Args:
        g: Builder.
        x: Operand.
        value: Scalar to fill with.
        config: low, high and the number of elements between two, for each axis.
    """
    if any(interior for _, _, interior in config):
        x = dilate(g, x, value, [interior + 1 for _, _, interior in config])
    cuts = [(_cut(low), _cut(high)) for low, high, _ in config]
    if any(c != (0, 0) for c in cuts):
        assert x.sizes is not None
        limits = [s - b for s, (_, b) in zip(x.sizes, cuts, strict=True)]  # type: ignore[operator]
        x = slice_(g, x, [a for a, _ in cuts], limits, None)
    pads = [(low + a, high + b) for (low, high, _), (a, b) in zip(config, cuts, strict=True)]
    if all(p == (0, 0) for p in pads):
        return x
    source = x
    if has_twin(x):
        source = channels_first(g, x)
        pads = [pads[0], pads[-1], *pads[1:-1]]
    padded: Value = call(g, "Pad", source, g.shape_vector([p[0] for p in pads] + [p[1] for p in pads]), value)
    return channels_last(g, padded) if source is not x else padded


def _cut(amount: Size) -> int:
    return -amount if isinstance(amount, int) and amount < 0 else 0


def dilate(g: GraphBuilder, x: Value, value: Value, steps: Sequence[int]) -> Value:
    """Puts step - 1 fill elements between every two elements of an axis: padded on a new axis, then joined."""
    assert x.sizes is not None
    spread = [i for i, s in enumerate(steps) if s > 1]
    if not spread:
        return x
    new_axes = [axis + i + 1 for i, axis in enumerate(spread)]
    wide = g.Unsqueeze(x, new_axes)
    after = [0] * wide.rank
    for axis, place in zip(spread, new_axes, strict=True):
        after[place] = steps[axis] - 1
    wide = call(g, "Pad", wide, [0] * wide.rank + after, value)
    sizes = [_times(s, steps[i]) for i, s in enumerate(x.sizes)]
    joined = g.reshape(wide, sizes)
    limits = [s - (steps[i] - 1) if i in spread else s for i, s in enumerate(sizes)]
    return slice_(g, joined, [0] * x.rank, limits, None)


def _times(size: int | Dim | None, factor: int) -> Size:
    if size is None:
        raise ValueError("the size of an axis that is dilated is unknown")
    return size * factor


def split(g: GraphBuilder, x: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    """Consecutive parts of an axis."""
    if len(sizes) == 1:
        return [x]
    parts = g.call("Split", x, list(sizes), axis=axis, outputs=len(sizes))
    return list(parts)


def tile(g: GraphBuilder, x: Value, repeats: Sequence[int]) -> Value:
    """Copies of the whole, one after the other on each axis."""
    if all(r == 1 for r in repeats):
        return x
    return call(g, "Tile", x, list(repeats))
