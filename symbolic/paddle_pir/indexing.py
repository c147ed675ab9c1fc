"""Gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import (
    INTEGERS,
    DataType,
    as_value,
    axis_of,
    cast,
    flat,
    ints,
    like,
    merged,
    refused,
    shape_of,
    size_at,
    size_list,
    sizes,
)


@symbolic("paddle_pir")
def embedding(g: GraphBuilder, x: Value, weight: Value, padding_idx: int = -1, sparse: bool = False) -> Value:
    """embedding(Tensor x, Tensor weight, int padding_idx, bool sparse) -> Tensor"""
    rows = g.Gather(weight, x, axis=0)
    if padding_idx == -1 or (weight.array is not None and not np.any(weight.array[padding_idx])):
        return rows
    padding = g.Unsqueeze(g.Equal(x, like(g, x, padding_idx)), [-1])
    return g.Where(padding, like(g, weight, 0), rows)


@symbolic("paddle_pir")
def gather(g: GraphBuilder, x: Value, index: Value, axis: Any = 0) -> Value:
    """gather(Tensor x, Tensor index, Scalar axis) -> Tensor"""
    (at,) = ints(g, axis, "gather", "an axis")
    index = g.Squeeze(index, [1]) if index.rank == 2 else index
    return g.Gather(x, index, axis=at)


@symbolic("paddle_pir")
def gather_nd(g: GraphBuilder, x: Value, index: Value) -> Value:
    """gather_nd(Tensor x, Tensor index) -> Tensor"""
    if index.dim(-1) == 0:
        return g.expand(x, [*sizes(g, index)[:-1], *sizes(g, x)])
    return g.GatherND(x, cast(g, index, DataType.INT64))


@symbolic("paddle_pir")
def index_select(g: GraphBuilder, x: Value, index: Value, axis: int = 0) -> Value:
    """index_select(Tensor x, Tensor index, int axis) -> Tensor"""
    return g.Gather(x, index, axis=axis)


@symbolic("paddle_pir")
def index_select_strided(g: GraphBuilder, x: Value, index: int, axis: int = 0) -> Value:
    """index_select_strided(Tensor x, int index, int axis) -> Tensor"""
    return g.Gather(x, g.constant(np.int64(index)), axis=axis)


@symbolic("paddle_pir")
def index_sample(g: GraphBuilder, x: Value, index: Value) -> Value:
    """index_sample(Tensor x, Tensor index) -> Tensor"""
    return g.GatherElements(x, index, axis=1)


@symbolic("paddle_pir")
def take_along_axis(g: GraphBuilder, arr: Value, indices: Value, axis: int) -> Value:
    """take_along_axis(Tensor arr, Tensor indices, int axis) -> Tensor"""
    return g.GatherElements(arr, indices, axis=axis)


_REDUCTIONS = {"assign": "none", "add": "add", "mul": "mul", "multiply": "mul", "amin": "min", "amax": "max"}


@symbolic("paddle_pir")
def put_along_axis(
    g: GraphBuilder, arr: Value, indices: Value, values: Value, axis: int, reduce: str = "assign",
    include_self: bool = True,
) -> Value:  # fmt: skip
    """put_along_axis(Tensor arr, Tensor indices, Tensor values, int axis, str reduce, bool include_self) -> Tensor"""
    if reduce not in _REDUCTIONS or (not include_self and reduce != "assign"):
        raise refused(g, "put_along_axis", f"reduce={reduce!r} with include_self={include_self} isn't supported")
    updates = g.expand(values, sizes(g, indices)) if values.sizes != indices.sizes else values
    return g.ScatterElements(arr, indices, updates, axis=axis, reduction=_REDUCTIONS[reduce])


@symbolic("paddle_pir")
def scatter(g: GraphBuilder, x: Value, index: Value, updates: Value, overwrite: bool = True) -> Value:
    """scatter(Tensor x, Tensor index, Tensor updates, bool overwrite) -> Tensor"""
    rows = cast(g, flat(g, index) if index.rank != 1 else index, DataType.INT64)
    if updates.rank < x.rank:
        updates = g.reshape(updates, [size_at(g, rows, 0), *sizes(g, x)[1:]])
    places = g.Unsqueeze(rows, [1])
    if overwrite:
        return g.ScatterND(x, places, updates)
    cleared = g.ScatterND(x, places, g.Mul(updates, like(g, updates, 0)))
    return g.ScatterND(cleared, places, updates, reduction="add")


@symbolic("paddle_pir")
def scatter_nd_add(g: GraphBuilder, x: Value, index: Value, updates: Value) -> Value:
    """scatter_nd_add(Tensor x, Tensor index, Tensor updates) -> Tensor"""
    return g.ScatterND(x, cast(g, index, DataType.INT64), updates, reduction="add")


@symbolic("paddle_pir")
def index_add(g: GraphBuilder, x: Value, index: Value, add_value: Value, axis: int = 0) -> Value:
    """index_add(Tensor x, Tensor index, Tensor add_value, int axis) -> Tensor"""
    axis = axis_of(axis, x.rank)
    order = [axis, *(i for i in range(x.rank) if i != axis)]
    inverse = [order.index(i) for i in range(x.rank)]
    source, updates = (g.Transpose(v, perm=order) if axis else v for v in (x, add_value))
    result = g.ScatterND(source, g.Unsqueeze(cast(g, index, DataType.INT64), [1]), updates, reduction="add")
    return g.Transpose(result, perm=inverse) if axis else result


@symbolic("paddle_pir")
def index_put(g: GraphBuilder, x: Value, indices: Sequence[Value], value: Value, accumulate: bool = False) -> Value:
    """index_put(Tensor x, Tensor[] indices, Tensor value, bool accumulate) -> Tensor"""
    if any(i.element not in INTEGERS for i in indices):
        if len(indices) != 1 or accumulate or indices[0].rank != x.rank or value.size != 1:
            raise refused(g, "index_put", "a mask together with values that aren't one number isn't supported")
        return g.Where(indices[0], g.Reshape(value, []), x)
    parts = [cast(g, i, DataType.INT64) for i in indices]
    zero = parts[0]
    for part in parts[1:]:
        zero = zero + part
    zero = zero * 0
    places = g.Concat(*(g.Unsqueeze(p + zero, [-1]) for p in parts), axis=-1)
    updates = g.expand(value, [*sizes(g, zero), *sizes(g, x)[len(parts) :]])
    return g.ScatterND(x, places, updates, reduction="add" if accumulate else "none")


def _set(
    g: GraphBuilder, x: Value, value: Value, starts: Any, ends: Any, steps: Any, axes: Sequence[int],
    decrease_axes: Sequence[int], none_axes: Sequence[int],
) -> Value:  # fmt: skip
    """x with the elements of a slice replaced."""
    count = merged(g, sizes(g, x))
    numbers = g.constant(np.arange(count)) if isinstance(count, int) else g.Range(
        np.int64(0), as_value(g, count), np.int64(1))  # fmt: skip
    grid = g.reshape(numbers, sizes(g, x))
    first, last = (g.shape_vector(size_list(g, b, "set_value")) for b in (starts, ends))
    stride = ints(g, steps, "set_value", "a step")
    places = g.Slice(grid, first, last, list(axes), stride) if axes else grid
    shaped = g.Squeeze(places, list(decrease_axes)) if decrease_axes else places
    for a in none_axes:
        shaped = g.Unsqueeze(shaped, [a])
    while value.rank > shaped.rank:
        value = g.Squeeze(value, [0])
    updates = g.Expand(value, shape_of(g, shaped))
    result = g.ScatterElements(g.Reshape(x, [-1]), g.Reshape(places, [-1]), g.Reshape(updates, [-1]), axis=0)
    return g.reshape(result, sizes(g, x))


@symbolic("paddle_pir")
def set_value(
    g: GraphBuilder, x: Value, starts: Any, ends: Any, steps: Any, axes: Sequence[int] = (),
    decrease_axes: Sequence[int] = (), none_axes: Sequence[int] = (), shape: Sequence[int] = (),
    values: Sequence[Any] = (),
) -> Value:  # fmt: skip
    """set_value(Tensor x, int[] starts, int[] ends, int[] steps, int[] axes, int[] decrease_axes, int[] none_axes,
    int[] shape, Scalar[] values) -> Tensor"""
    value = g.constant(np.array(values).astype(x.element.numpy()).reshape(list(shape)))
    return _set(g, x, value, starts, ends, steps, axes, decrease_axes, none_axes)


@symbolic("paddle_pir")
def set_value_with_tensor(
    g: GraphBuilder, x: Value, values: Value, starts: Any, ends: Any, steps: Any, axes: Sequence[int] = (),
    decrease_axes: Sequence[int] = (), none_axes: Sequence[int] = (),
) -> Value:  # fmt: skip
    """set_value_with_tensor(Tensor x, Tensor values, int[] starts, int[] ends, int[] steps, int[] axes, int[]
    decrease_axes, int[] none_axes) -> Tensor"""
    return _set(g, x, cast(g, values, x.element), starts, ends, steps, axes, decrease_axes, none_axes)


@symbolic("paddle_pir", "nonzero", "where_index")
def nonzero(g: GraphBuilder, condition: Value) -> Value:
    """nonzero(Tensor condition) -> Tensor"""
    return g.Transpose(g.NonZero(condition), perm=[1, 0])


@symbolic("paddle_pir")
def masked_select(g: GraphBuilder, x: Value, mask: Value) -> Value:
    """masked_select(Tensor x, Tensor mask) -> Tensor"""
    if x.sizes != mask.sizes:
        both = g.Shape(g.Expand(cast(g, mask, DataType.INT32), shape_of(g, x)))
        x, mask = g.Expand(x, both), cast(g, g.Expand(cast(g, mask, DataType.INT32), both), DataType.BOOL)
    return g.Compress(g.Reshape(x, [-1]), g.Reshape(mask, [-1]), axis=0)


@symbolic("paddle_pir")
def one_hot(g: GraphBuilder, x: Value, num_classes: Any, dtype: DataType | None = None) -> Value:
    """one_hot(Tensor x, Scalar num_classes) -> Tensor"""
    (depth,) = ints(g, num_classes, "one_hot", "a number of classes")
    return cast(g, g.Equal(g.Unsqueeze(x, [-1]), g.constant(np.arange(depth), x.element)), dtype or DataType.FLOAT)


@symbolic("paddle_pir")
def multiplex(g: GraphBuilder, inputs: Sequence[Value], index: Value) -> Value:
    """multiplex(Tensor[] inputs, Tensor index) -> Tensor"""
    rows = g.Concat(*(g.Unsqueeze(v, [1]) for v in inputs), axis=1)
    return g.GatherND(rows, cast(g, g.Reshape(index, [-1, 1]), DataType.INT64), batch_dims=1)


@symbolic("paddle_pir")
def sequence_mask(g: GraphBuilder, x: Value, max_len: Any, out_dtype: Any) -> Value:
    """sequence_mask(Tensor x, Scalar max_len, DataType out_dtype) -> Tensor"""
    from .common import known_number, scalar_of

    known = known_number(max_len)
    if known is not None and known >= 0:
        places = g.constant(np.arange(int(known)), x.element)
    else:
        end = cast(g, scalar_of(g, max_len), x.element) if known is None else g.ReduceMax(x, keepdims=0)
        places = g.Range(like(g, x, 0), end, like(g, x, 1))
    return cast(g, g.Less(places, g.Unsqueeze(x, [-1])), out_dtype)


@symbolic("paddle_pir")
def shard_index(
    g: GraphBuilder, input: Value, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1
) -> Value:
    """shard_index(Tensor input, int index_num, int nshards, int shard_id, int ignore_value) -> Tensor"""
    size = like(g, input, -(-index_num // nshards))
    mine = g.Equal(g.Div(input, size), like(g, input, shard_id))
    return g.Where(mine, g.Mod(input, size), like(g, input, ignore_value))


@symbolic("paddle_pir")
def fill_diagonal(g: GraphBuilder, x: Value, value: float = 0.0, offset: int = 0, wrap: bool = False) -> Value:
    """fill_diagonal(Tensor x, float value, int offset, bool wrap) -> Tensor"""
    rows, columns = (x.dim(0), x.dim(1)) if x.rank == 2 else (None, None)
    if not isinstance(rows, int) or not isinstance(columns, int) or wrap:
        raise refused(g, "fill_diagonal", "only matrices of a fixed size, without wrap, are supported")
    mask = np.eye(rows, columns, k=offset, dtype=bool)
    return g.Where(g.constant(mask), like(g, x, value), x)


@symbolic("paddle_pir")
def fill(g: GraphBuilder, x: Value, value: Any) -> Value:
    """fill(Tensor x, Scalar value) -> Tensor"""
    from .common import known_number, scalar_of

    known = known_number(value)
    number = cast(g, scalar_of(g, value), x.element) if known is None else like(g, x, known)
    return g.expand(number, sizes(g, x))
