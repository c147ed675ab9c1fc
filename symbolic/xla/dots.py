"""General products of tensors as MatMul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from ..dims import Size, product
from ..nn.weights import reshaped
from ..value import Value
from .kernels import call
from .pointwise import convert
from .shapes import transpose

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def dot_general(
    g: GraphBuilder,
    lhs: Value,
    rhs: Value,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
    dtype: ir.DataType,
) -> Value:
    """Sums over the contracting axes; axes of the result: batch, what is left of lhs, what is left of rhs.

    Args:
        g: Builder.
        lhs: Left operand.
        rhs: Right operand.
        contracting: Axes of each operand that are summed over.
        batch: Axes of each operand that are kept in common.
        dtype: Dtype to accumulate in and to give.
    """
    lhs, rhs = _widened(g, lhs, dtype), _widened(g, rhs, dtype)
    if lhs.is_constant and not rhs.is_constant and not batch[0]:
        # a weight on the left: the same product with it on the right, where it is ready for MatMul
        swapped = dot_general(g, rhs, lhs, (contracting[1], contracting[0]), batch, dtype)
        kept = rhs.rank - len(contracting[1])
        return transpose(g, swapped, [*range(kept, swapped.rank), *range(kept)])
    left = [i for i in range(lhs.rank) if i not in contracting[0] and i not in batch[0]]
    right = [i for i in range(rhs.rank) if i not in contracting[1] and i not in batch[1]]
    sizes = [_size(lhs, i) for i in (*batch[0], *left)] + [_size(rhs, i) for i in right]
    inner = product(_size(lhs, i) for i in contracting[0])
    if isinstance(inner, int) and inner == 0:
        return g.expand(g.constant(0, dtype), sizes)
    common = [_size(lhs, i) for i in batch[0]]
    a = transpose(g, lhs, (*batch[0], *left, *contracting[0]))
    b = transpose(g, rhs, (*batch[1], *contracting[1], *right))
    # without batch axes, MatMul takes any number of axes on the left
    rows = [_size(lhs, i) for i in left]
    if batch[0] or not left:
        rows = [product(rows)] if len(rows) != 1 else rows
    a = _reshaped(g, a, [*common, *rows, inner])
    b = _reshaped(g, b, [*common, inner, product(_size(rhs, i) for i in right)])
    result: Value = call(g, "MatMul", a, b)
    return convert(g, g.reshape(result, sizes), dtype)


def _widened(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """The operand in the dtype to accumulate in, where that is wider."""
    return x if x.element is dtype or x.element.itemsize > dtype.itemsize else convert(g, x, dtype)


def _reshaped(g: GraphBuilder, x: Value, sizes: Sequence[Size]) -> Value:
    fixed = [s for s in sizes if isinstance(s, int)]
    return reshaped(g, x, fixed) if x.is_constant and len(fixed) == len(sizes) else g.reshape(x, list(sizes))


def _size(x: Value, axis: int) -> Size:
    size = x.dim(axis)
    if size is None:
        raise ValueError(f"the size of axis {axis} of an operand is unknown")
    return size
