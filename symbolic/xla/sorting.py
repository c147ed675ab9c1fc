"""Sorting and the largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from ..dims import Size
from ..value import Value
from .kernels import FLOATS, call, several

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def sort(g: GraphBuilder, operands: Sequence[Value], axis: int, keys: int, *, descending: bool = False) -> list[Value]:
    """All operands in the order of the first `keys` of them, stable; not-a-number comes last.

    Args:
        g: Builder.
        operands: Tensors of one shape.
        axis: Axis to sort along.
        keys: How many of them are keys, the most significant first.
        descending: Largest first; not-a-number then comes first.
    """
    found = list(operands)
    size = operands[0].dim(axis)
    assert size is not None
    if size in (0, 1):
        return found
    for key in range(keys - 1, -1, -1):
        x = found[key]
        order = _order(g, x, axis, size, descending)
        found = [_permuted(g, v, order, axis) for v in found]
        if x.element in FLOATS:  # numbers before what is none: a second stable pass
            flags = g.Cast(call(g, "IsNaN", found[key]), to=_T.INT32)
            last = _order(g, flags, axis, size, descending)
            found = [_permuted(g, v, last, axis) for v in found]
    return found


def _order(g: GraphBuilder, x: Value, axis: int, size: Size, descending: bool) -> Value:
    """Indices that sort a tensor: equal elements stay in their order."""
    if x.element in (_T.UINT64,):
        raise ValueError("sorting of 64-bit unsigned integers isn't supported")
    return several(g, "TopK", x, g.size_vector(size), axis=axis, largest=int(descending), outputs=2)[1]


def _permuted(g: GraphBuilder, x: Value, order: Value, axis: int) -> Value:
    moved = g.GatherElements(x, order, axis=axis)
    moved.sizes = x.sizes
    return moved


def top_k(g: GraphBuilder, x: Value, k: Size, axis: int, index: ir.DataType) -> list[Value]:
    """The k largest elements, largest first, and where they are."""
    values, where = several(g, "TopK", x, g.size_vector(k), axis=axis, outputs=2)
    return [values, where if index is _T.INT64 else g.Cast(where, to=index)]
