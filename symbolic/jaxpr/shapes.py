"""Primitives that move elements."""

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
from ..xla.pointwise import convert, scalar
from ..xla.region import Typed

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("jaxpr", "broadcast_in_dim")
@lenient
def broadcast_in_dim(
    g: GraphBuilder, operand: Value, *sizes: Value, shape: Sequence[Size], broadcast_dimensions: Sequence[int]
) -> Value:
    """broadcast_in_dim(operand, *, shape, broadcast_dimensions)"""
    return shapes.broadcast_in_dim(g, operand, len(shape), broadcast_dimensions)


@symbolic("jaxpr", "reshape")
def reshape(
    g: GraphBuilder, operand: Value, *_: Value, new_sizes: Sequence[Size], dimensions: Sequence[int] | None = None
) -> Value:
    """reshape(operand, *, new_sizes, dimensions)"""
    if dimensions is not None:
        operand = shapes.transpose(g, operand, dimensions)
    return g.reshape(operand, list(new_sizes))


@symbolic("jaxpr", "squeeze")
def squeeze(g: GraphBuilder, operand: Value, dimensions: Sequence[int]) -> Value:
    """squeeze(array, *, dimensions)"""
    return g.Squeeze(operand, list(dimensions)) if dimensions else operand


@symbolic("jaxpr", "expand_dims")
def expand_dims(g: GraphBuilder, operand: Value, dimensions: Sequence[int]) -> Value:
    """expand_dims(array, *, dimensions)"""
    return g.Unsqueeze(operand, list(dimensions))


@symbolic("jaxpr", "transpose")
def transpose(g: GraphBuilder, operand: Value, permutation: Sequence[int]) -> Value:
    """transpose(operand, *, permutation)"""
    return shapes.transpose(g, operand, permutation)


@symbolic("jaxpr", "concatenate")
def concatenate(g: GraphBuilder, *operands: Value, dimension: int) -> Value:
    """concatenate(*operands, dimension)"""
    return shapes.concatenate(g, operands, dimension)


@symbolic("jaxpr", "stack")
def stack(g: GraphBuilder, *operands: Value, axis: int = 0) -> Value:
    """stack(*operands, axis)"""
    return g.Concat(*(g.Unsqueeze(o, [axis]) for o in operands), axis=axis)


@symbolic("jaxpr", "unstack")
def unstack(g: GraphBuilder, operand: Value, axis: int = 0) -> list[Value]:
    """unstack(operand, *, axis)"""
    size = operand.dim(axis)
    if not isinstance(size, int):
        raise ValueError("the number of parts isn't fixed")
    return [g.Squeeze(p, [axis]) for p in shapes.split(g, operand, [1] * size, axis)]


@symbolic("jaxpr", "split")
def split(g: GraphBuilder, operand: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    """split(operand, *, sizes, axis)"""
    return shapes.split(g, operand, sizes, axis)


@symbolic("jaxpr", "tile")
def tile(g: GraphBuilder, operand: Value, reps: Sequence[int]) -> Value:
    """tile(operand, *, reps)"""
    return shapes.tile(g, operand, reps)


@symbolic("jaxpr", "pad")
def pad(g: GraphBuilder, operand: Value, padding_value: Value, padding_config: Sequence[Any]) -> Value:
    """pad(operand, padding_value, *, padding_config): low, high, interior of each axis"""
    return shapes.pad(g, operand, padding_value, padding_config)


@symbolic("jaxpr", "slice")
def slice(
    g: GraphBuilder,
    operand: Value,
    start_indices: Sequence[Size],
    limit_indices: Sequence[Size],
    strides: Sequence[int] | None = None,
) -> Value:
    """slice(operand, *, start_indices, limit_indices, strides)"""
    return shapes.slice_(g, operand, start_indices, limit_indices, strides)


@symbolic("jaxpr", "rev")
def rev(g: GraphBuilder, operand: Value, dimensions: Sequence[int]) -> Value:
    """rev(operand, *, dimensions)"""
    return shapes.reverse(g, operand, dimensions)


@symbolic("jaxpr", "iota")
@lenient
def iota(g: GraphBuilder, *_: Value, dtype: ir.DataType, shape: Sequence[Size], dimension: int) -> Value:
    """iota(*, dtype, shape, dimension)"""
    return shapes.iota(g, dtype, shape, dimension)


@symbolic("jaxpr", "empty", "empty2")
@lenient
def empty(g: GraphBuilder, *_: Value, dtype: ir.DataType, **__: Any) -> Value:
    """empty(*, shape, dtype): zeros"""
    return g.constant(np.zeros((), dtype.numpy()))


@symbolic("jaxpr", "zeros_like")
@lenient
def zeros_like(g: GraphBuilder, operand: Value) -> Value:
    """zeros_like(operand)"""
    return scalar(g, 0, operand)


@symbolic("jaxpr", "dim_as_value")
def dim_as_value(g: GraphBuilder, dim: Size, result: Typed) -> Value:
    """dim_as_value(*, dim): a size as a number"""
    return g.Cast(g.size(dim), to=result.dtype)


@symbolic("jaxpr", "dynamic_slice")
def dynamic_slice(g: GraphBuilder, operand: Value, *starts: Value, slice_sizes: Sequence[Size]) -> Value:
    """dynamic_slice(operand, *starts, slice_sizes): starts are moved so that the slice lies inside"""
    return indexing.dynamic_slice(g, operand, starts[: operand.rank], slice_sizes)


@symbolic("jaxpr", "dynamic_update_slice")
def dynamic_update_slice(g: GraphBuilder, operand: Value, update: Value, *starts: Value) -> Value:
    """dynamic_update_slice(operand, update, *starts): starts are moved so that the slice lies inside"""
    return indexing.dynamic_update_slice(g, operand, update, starts)


def _mode(mode: str) -> str:
    return indexing.FILL_OR_DROP if mode == "FILL_OR_DROP" else indexing.CLIP


@symbolic("jaxpr", "gather")
def gather(
    g: GraphBuilder,
    operand: Value,
    indices: Value,
    dimension_numbers: Any,
    slice_sizes: Sequence[Size],
    mode: str = "CLIP",
    fill_value: Any = None,
    **_: Any,
) -> Value:
    """gather(operand, indices, *, dimension_numbers, slice_sizes, mode, fill_value)"""
    n = dimension_numbers
    numbers = indexing.Numbers(
        n.offset_dims,
        n.collapsed_slice_dims,
        n.start_index_map,
        n.operand_batching_dims,
        n.start_indices_batching_dims,
    )
    return indexing.gather(g, operand, indices, numbers, slice_sizes, _mode(mode), fill_value)


def _scatter(kind: str) -> Any:
    def function(
        g: GraphBuilder,
        operand: Value,
        indices: Value,
        updates: Value,
        dimension_numbers: Any,
        mode: str = "CLIP",
        update_jaxpr: Any = None,
        **_: Any,
    ) -> Value:
        """scatter(operand, indices, updates, *, dimension_numbers, mode)"""
        n = dimension_numbers
        numbers = indexing.Numbers(
            n.update_window_dims,
            n.inserted_window_dims,
            n.scatter_dims_to_operand_dims,
            n.operand_batching_dims,
            n.scatter_indices_batching_dims,
        )
        how = indexing.CLIP if mode == "CLIP" else indexing.FILL_OR_DROP
        if kind == "sub":
            negated = g.Neg(convert(g, updates, updates.element))
            return indexing.scatter(g, operand, indices, negated, numbers, "add", how)
        if kind == "apply" or (kind == "set" and update_jaxpr is not None and not _just_sets(update_jaxpr)):
            return indexing.scatter_apply(g, operand, indices, updates, numbers, update_jaxpr, how)
        return indexing.scatter(g, operand, indices, updates, numbers, kind, how)

    return function


def _just_sets(region: Any) -> bool:
    return bool(region.combiner == "second")


for _name, _kind in {
    "scatter": "set", "scatter-add": "add", "scatter_add": "add", "scatter-mul": "mul", "scatter_mul": "mul",
    "scatter-min": "min", "scatter_min": "min", "scatter-max": "max", "scatter_max": "max", "scatter-sub": "sub",
    "scatter_sub": "sub",
}.items():  # fmt: skip
    symbolic("jaxpr", _name)(_scatter(_kind))
