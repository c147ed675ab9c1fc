"""Ops on the memory of a tensor. The walk gives them only tensors that lie in their memory row by row, alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .indexing import scatter
from .promotion import cast, unsupported
from .shape import sizes

Sizes = Sequence[Any]


def _places(g: GraphBuilder, size: Sizes, stride: Sizes, offset: Any) -> Value:
    """Where each element of a strided view lies."""
    if any(not isinstance(v, int) for v in (*size, *stride, offset)):
        raise unsupported("a strided view of open sizes", g)
    places = np.array(offset, np.int64)
    for count, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(count, dtype=np.int64) * step
    return g.constant(places)


@symbolic("aten", "as_strided", "as_strided_copy")
def as_strided(g: GraphBuilder, self: Value, size: Sizes, stride: Sizes, storage_offset: Any = None) -> Value:
    """aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)"""
    return g.Gather(g.reshape(self, [-1]), _places(g, size, stride, storage_offset or 0), axis=0)


@symbolic("aten", "as_strided_scatter")
def as_strided_scatter(
    g: GraphBuilder, self: Value, src: Value, size: Sizes, stride: Sizes, storage_offset: Any = None
) -> Value:
    """aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, ...) -> Tensor"""
    places = g.reshape(_places(g, size, stride, storage_offset or 0), [-1])
    values = g.reshape(g.expand(cast(g, src, self.element), list(size)), [-1])
    return g.reshape(scatter(g, g.reshape(self, [-1]), 0, places, values), sizes(g, self))


@symbolic("aten", "resize")
def resize(g: GraphBuilder, self: Value, size: Sizes, memory_format: Any = None) -> Value:
    """aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor"""
    if self.size is None or any(not isinstance(s, int) for s in size):
        raise unsupported("resize of or to open sizes", g)
    count = int(np.prod(size))
    if count > self.size:
        raise unsupported("resize to more elements than there are: what they hold is undefined", g)
    return g.reshape(g.Slice(g.reshape(self, [-1]), [0], [count], [0]), list(size))


@symbolic("aten", "resize_as")
def resize_as(g: GraphBuilder, self: Value, the_template: Value, memory_format: Any = None) -> Value:
    """aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor"""
    return resize(g, self, sizes(g, the_template))
