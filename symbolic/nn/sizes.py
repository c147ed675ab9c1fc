"""Sizes of tensors, known or not: numbers, Dims, and int64 scalars for what is known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..dims import Dim, product
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: A size: number, Dim, or an int64 scalar known at run time.
Size = int | Dim | Value


def axis_of(axis: int, rank: int) -> int:
    """A possibly negative axis as an index."""
    return axis % rank if rank else 0


def size_at(g: GraphBuilder, x: Value, axis: int) -> Size:
    """Size of an axis."""
    size = x.dim(axis)
    if size is not None:
        return size
    axis = axis_of(axis, x.rank)
    scalar: Value = g.Squeeze(g.Shape(x, start=axis, end=axis + 1), [0])
    return scalar


def sizes_of(g: GraphBuilder, x: Value) -> list[Size]:
    """Sizes of all axes."""
    return [size_at(g, x, i) for i in range(x.rank)]


def as_value(g: GraphBuilder, size: Size) -> Value:
    """A size as an int64 scalar."""
    return size if isinstance(size, Value) else g.size(size)


def times(g: GraphBuilder, sizes: Sequence[Size]) -> Size:
    """Product of sizes."""
    total: Size = product([s for s in sizes if not isinstance(s, Value)])
    for size in sizes:
        if isinstance(size, Value):
            total = size if isinstance(total, int) and total == 1 else g.Mul(as_value(g, total), size)
    return total
