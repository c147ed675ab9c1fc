"""Operations that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Size
from ..registry import symbolic
from ..value import Value
from ..xla import indexing, shapes
from ..xla.apply import lenient
from ..xla.region import Region, Typed

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def known_sizes(value: Value) -> list[Size]:
    """Contents of a vector of sizes.

    Raises:
        ValueError: They aren't known as expressions of the open dims.
    """
    if value.dims is None or None in value.dims:
        raise ValueError("a size is computed in a way that can't be followed")
    return [d for d in value.dims if d is not None]


@symbolic("stablehlo", "broadcast_in_dim")
@lenient
def broadcast_in_dim(g: GraphBuilder, operand: Value, result: Typed, broadcast_dimensions: Sequence[int] = ()) -> Value:
    """stablehlo.broadcast_in_dim(operand, broadcast_dimensions)"""
    return _broadcast(g, operand, len(result.sizes), list(broadcast_dimensions))


@symbolic("stablehlo", "dynamic_broadcast_in_dim")
@lenient
def dynamic_broadcast_in_dim(
    g: GraphBuilder,
    operand: Value,
    output_dimensions: Value,
    result: Typed,
    broadcast_dimensions: Sequence[int] = (),
    **_: Any,
) -> Value:
    """stablehlo.dynamic_broadcast_in_dim(operand, output_dimensions, broadcast_dimensions)"""
    return _broadcast(g, operand, len(result.sizes), list(broadcast_dimensions))


def _broadcast(g: GraphBuilder, x: Value, rank: int, dims: list[int]) -> Value:
    if dims != sorted(dims) and x.rank == len(dims):
        x = shapes.transpose(g, x, [int(i) for i in np.argsort(dims)])
        dims = sorted(dims)
    return shapes.broadcast_in_dim(g, x, rank, dims)


@symbolic("stablehlo", "reshape")
def reshape(g: GraphBuilder, operand: Value, result: Typed) -> Value:
    """stablehlo.reshape(operand)"""
    return g.reshape(operand, list(result.sizes))


@symbolic("stablehlo", "dynamic_reshape")
def dynamic_reshape(g: GraphBuilder, operand: Value, output_shape: Value) -> Value:
    """stablehlo.dynamic_reshape(operand, output_shape)"""
    return g.reshape(operand, known_sizes(output_shape))


@symbolic("stablehlo", "transpose")
def transpose(g: GraphBuilder, operand: Value, permutation: Sequence[int]) -> Value:
    """stablehlo.transpose(operand, permutation)"""
    return shapes.transpose(g, operand, list(permutation))


@symbolic("stablehlo", "concatenate")
def concatenate(g: GraphBuilder, *inputs: Value, dimension: int) -> Value:
    """stablehlo.concatenate(*inputs, dimension)"""
    return shapes.concatenate(g, inputs, dimension)


@symbolic("stablehlo", "reverse")
def reverse(g: GraphBuilder, operand: Value, dimensions: Sequence[int]) -> Value:
    """stablehlo.reverse(operand, dimensions)"""
    return shapes.reverse(g, operand, list(dimensions))


@symbolic("stablehlo", "iota")
@lenient
def iota(g: GraphBuilder, result: Typed, iota_dimension: int) -> Value:
    """stablehlo.iota(iota_dimension)"""
    return shapes.iota(g, result.dtype, result.sizes, iota_dimension)


@symbolic("stablehlo", "dynamic_iota")
@lenient
def dynamic_iota(g: GraphBuilder, output_shape: Value, result: Typed, iota_dimension: int) -> Value:
    """stablehlo.dynamic_iota(output_shape, iota_dimension)"""
    return shapes.iota(g, result.dtype, known_sizes(output_shape), iota_dimension)


@symbolic("stablehlo", "get_dimension_size")
@lenient
def get_dimension_size(g: GraphBuilder, operand: Value, dimension: int, declared: Sequence[Typed]) -> Value:
    """stablehlo.get_dimension_size(operand, dimension)"""
    return g.Cast(g.size(declared[0].sizes[dimension]), to=6)


@symbolic("stablehlo", "slice")
def slice(
    g: GraphBuilder,
    operand: Value,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int],
) -> Value:
    """stablehlo.slice(operand, start_indices, limit_indices, strides)"""
    # "up to the end" is printed as the size even where the size is open
    return shapes.slice_(g, operand, list(start_indices), list(limit_indices), list(strides))


@symbolic("stablehlo", "real_dynamic_slice")
def real_dynamic_slice(
    g: GraphBuilder, operand: Value, start_indices: Value, limit_indices: Value, strides: Value, result: Typed
) -> Value:
    """stablehlo.real_dynamic_slice(operand, start_indices, limit_indices, strides)"""
    steps = [s for s in known_sizes(strides) if isinstance(s, int)]
    starts, limits = (v.dims or (None,) * operand.rank for v in (start_indices, limit_indices))
    if None not in starts and None not in limits:
        return shapes.slice_(g, operand, known_sizes(start_indices), known_sizes(limit_indices), steps)
    begin, end = (g.Cast(v, to=ir.DataType.INT64) for v in (start_indices, limit_indices))
    cut = g.Slice(operand, begin, end, list(range(operand.rank)), steps)
    sizes = list(result.sizes)
    for i, (size, start, limit) in enumerate(zip(result.sizes, starts, limits, strict=True)):
        if size is None and start is not None and limit is not None and steps[i] == 1:
            sizes[i] = limit - start
    cut.sizes = tuple(sizes)
    return cut


@symbolic("stablehlo", "pad")
def pad(
    g: GraphBuilder,
    operand: Value,
    padding_value: Value,
    edge_padding_low: Sequence[int],
    edge_padding_high: Sequence[int],
    interior_padding: Sequence[int],
) -> Value:
    """stablehlo.pad(operand, padding_value, edge_padding_low, edge_padding_high, interior_padding)"""
    config = list(zip(edge_padding_low, edge_padding_high, interior_padding, strict=True))
    return shapes.pad(g, operand, padding_value, config)


@symbolic("stablehlo", "dynamic_pad")
def dynamic_pad(g: GraphBuilder, operand: Value, padding_value: Value, low: Value, high: Value, inside: Value) -> Value:
    """stablehlo.dynamic_pad(operand, padding_value, edge_padding_low, edge_padding_high, interior_padding)"""
    steps = [s for s in known_sizes(inside) if isinstance(s, int)]
    config = list(zip(known_sizes(low), known_sizes(high), steps, strict=True))
    return shapes.pad(g, operand, padding_value, config)


@symbolic("stablehlo", "dynamic_slice")
def dynamic_slice(g: GraphBuilder, operand: Value, *starts: Value, slice_sizes: Sequence[int]) -> Value:
    """stablehlo.dynamic_slice(operand, *start_indices, slice_sizes)"""
    return indexing.dynamic_slice(g, operand, starts, list(slice_sizes))


@symbolic("stablehlo", "dynamic_update_slice")
def dynamic_update_slice(g: GraphBuilder, operand: Value, update: Value, *starts: Value) -> Value:
    """stablehlo.dynamic_update_slice(operand, update, *start_indices)"""
    return indexing.dynamic_update_slice(g, operand, update, starts)


def _with_index_axis(g: GraphBuilder, indices: Value, axis: int) -> Value:
    """Indices with their components on the last axis."""
    if axis == indices.rank:
        return g.Unsqueeze(indices, [axis])
    if axis == indices.rank - 1:
        return indices
    return g.Transpose(indices, perm=[*(i for i in range(indices.rank) if i != axis), axis])


@symbolic("stablehlo", "gather")
def gather(
    g: GraphBuilder, operand: Value, start_indices: Value, dimension_numbers: Any, slice_sizes: Sequence[Size], **_: Any
) -> Value:
    """stablehlo.gather(operand, start_indices, dimension_numbers, slice_sizes): starts are moved inside"""
    n = dimension_numbers
    numbers = indexing.Numbers(
        list(n.offset_dims),
        list(n.collapsed_slice_dims),
        list(n.start_index_map),
        list(n.operand_batching_dims),
        list(n.start_indices_batching_dims),
    )
    indices = _with_index_axis(g, start_indices, n.index_vector_dim)
    return indexing.gather(g, operand, indices, numbers, list(slice_sizes))


@symbolic("stablehlo", "dynamic_gather")
def dynamic_gather(
    g: GraphBuilder, operand: Value, start_indices: Value, slice_sizes: Value, dimension_numbers: Any, **_: Any
) -> Value:
    """stablehlo.dynamic_gather(operand, start_indices, slice_sizes, dimension_numbers)"""
    return gather(g, operand, start_indices, dimension_numbers, known_sizes(slice_sizes))


@symbolic("stablehlo", "scatter")
def scatter(
    g: GraphBuilder,
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    scatter_dimension_numbers: Any,
    regions: Sequence[Region],
    **_: Any,
) -> Value:
    """stablehlo.scatter(input, scatter_indices, update, scatter_dimension_numbers), windows outside are dropped"""
    n = scatter_dimension_numbers
    numbers = indexing.Numbers(
        list(n.update_window_dims),
        list(n.inserted_window_dims),
        list(n.scattered_dims_to_operand_dims),
        list(n.input_batching_dims),
        list(n.scatter_indices_batching_dims),
    )
    kind = {"second": "set"}.get(regions[0].combiner or "", regions[0].combiner)
    indices = _with_index_axis(g, scatter_indices, n.index_vector_dim)
    if kind == "sub":
        kind, updates = "add", g.Neg(updates)
    if kind == "first":
        return indexing.scatter_apply(g, operand, indices, updates, numbers, regions[0], indexing.FILL_OR_DROP)
    if kind not in ("set", "add", "mul", "max", "min", "and", "or"):
        raise ValueError("scatter by this function isn't supported")
    return indexing.scatter(g, operand, indices, updates, numbers, kind, indexing.FILL_OR_DROP)
