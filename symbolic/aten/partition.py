"""More ways to split, stack and shape tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, is_float, unsupported, value_of
from .shape import axis_of, chunk, cut, diagonal, sizes, split, tensor_split


@symbolic("aten", "unsafe_chunk")
def unsafe_chunk(g: GraphBuilder, self: Value, chunks: int, dim: int = 0) -> list[Value]:
    """aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]"""
    return chunk(g, self, chunks, dim)


@symbolic("aten", "unsafe_split.Tensor")
def unsafe_split(g: GraphBuilder, self: Value, split_size: Any, dim: int = 0) -> list[Value]:
    """aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"""
    return split(g, self, split_size, dim)


@symbolic("aten", "unsafe_split_with_sizes")
def unsafe_split_with_sizes(g: GraphBuilder, self: Value, split_sizes: Sequence[Any], dim: int = 0) -> list[Value]:
    """aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"""
    return cut(g, self, axis_of(dim, self.rank), list(split_sizes))


@symbolic("aten", "tensor_split.indices")
def tensor_split_indices(g: GraphBuilder, self: Value, indices: Sequence[Any], dim: int = 0) -> list[Value]:
    """aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]"""
    axis = axis_of(dim, self.rank)
    bounds = [0, *indices, np.iinfo(np.int64).max]
    return [g.Slice(self, g.shape_vector([a]), g.shape_vector([b]), [axis]) for a, b in pairwise(bounds)]


@symbolic("aten", "tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(g: GraphBuilder, self: Value, tensor_indices_or_sections: Value, dim: int = 0) -> list[Value]:
    """aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor ..., int dim=0) -> Tensor(a)[]"""
    given = tensor_indices_or_sections
    if given.rank == 0:
        if given.array is None:
            raise unsupported("tensor_split into a number of sections that is computed", g)
        return tensor_split(g, self, int(given.array), dim)
    count = given.dim(0)
    if not isinstance(count, int):
        raise unsupported("tensor_split at an open number of indices", g)
    places = [g.Slice(given, [i], [i + 1], [0]) for i in range(count)]
    return tensor_split_indices(g, self, places, dim)


def _register_split(name: str, axis: int) -> None:
    def sections_of(g: GraphBuilder, self: Value, sections: int) -> list[Value]:
        return tensor_split(g, self, sections, 0 if name == "hsplit" and self.rank == 1 else axis)

    def indices_of(g: GraphBuilder, self: Value, indices: Sequence[int]) -> list[Value]:
        return tensor_split_indices(g, self, indices, 0 if name == "hsplit" and self.rank == 1 else axis)

    sections_of.__doc__ = f"aten::{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"
    indices_of.__doc__ = f"aten::{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"
    symbolic("aten", f"{name}.int")(sections_of)
    symbolic("aten", f"{name}.array")(indices_of)


for _name, _axis in {"vsplit": 0, "hsplit": 1, "dsplit": 2}.items():
    _register_split(_name, _axis)


def _at_least(g: GraphBuilder, x: Value, rank: int) -> Value:
    own = sizes(g, x)
    if x.rank >= rank:
        return x
    if rank == 3 and x.rank:  # (n) becomes (1, n, 1), (n, m) becomes (n, m, 1)
        return g.reshape(x, [1, *own, 1] if x.rank == 1 else [*own, 1])
    return g.reshape(x, [1] * (rank - x.rank) + own)


def _register_at_least(rank: int) -> None:
    def one(g: GraphBuilder, self: Value) -> Value:
        return _at_least(g, self, rank)

    def several(g: GraphBuilder, tensors: Sequence[Value]) -> list[Value]:
        return [_at_least(g, x, rank) for x in tensors]

    one.__doc__ = f"aten::atleast_{rank}d(Tensor self) -> Tensor"
    several.__doc__ = f"aten::atleast_{rank}d.Sequence(Tensor[] tensors) -> Tensor[]"
    symbolic("aten", f"atleast_{rank}d.default")(one)
    symbolic("aten", f"atleast_{rank}d.Sequence")(several)


for _rank in (1, 2, 3):
    _register_at_least(_rank)


@symbolic("aten", "linalg_diagonal")
def linalg_diagonal(g: GraphBuilder, A: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)"""
    return diagonal(g, A, offset, dim1, dim2)


@symbolic("aten", "angle")
def angle(g: GraphBuilder, self: Value) -> Value:
    """aten::angle(Tensor self) -> Tensor"""
    dtype = self.element if is_float(self.element) else DataType.FLOAT
    if self.dtype == DataType.BOOL:
        return g.expand(value_of(g, 0.0, dtype), sizes(g, self))
    negative = g.Less(self, value_of(g, 0, self.element))
    result = g.Where(negative, value_of(g, np.pi, dtype), value_of(g, 0.0, dtype))
    return g.Where(g.IsNaN(self), self, result) if is_float(self.element) else result


@symbolic("aten", "empty_permuted")
def empty_permuted(
    g: GraphBuilder, size: Sequence[Any], physical_layout: Sequence[int], dtype: DataType | None = None
) -> Value:
    """aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, ...) -> Tensor"""
    from .creation import filled

    # the layout is a matter of memory; what is in it is undefined
    return filled(g, size, 0, dtype or DataType.FLOAT)
