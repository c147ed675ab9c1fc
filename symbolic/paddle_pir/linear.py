"""Matrix products and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..linalg.solve import solve
from ..linalg.steps import identity, known
from ..registry import symbolic
from ..value import Value
from .common import is_float, like, merged, refused, sizes


def _swapped(g: GraphBuilder, x: Value) -> Value:
    """The last two axes exchanged; a vector stays."""
    if x.rank < 2:
        return x
    return g.Transpose(x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])


@symbolic("paddle_pir", "matmul")
def matmul(g: GraphBuilder, x: Value, y: Value, transpose_x: bool = False, transpose_y: bool = False) -> Value:
    """matmul(Tensor x, Tensor y, bool transpose_x, bool transpose_y) -> Tensor"""
    return g.MatMul(_swapped(g, x) if transpose_x else x, _swapped(g, y) if transpose_y else y)


@symbolic("paddle_pir")
def legacy_matmul(
    g: GraphBuilder, x: Value, y: Value, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0
) -> Value:
    """legacy_matmul(Tensor x, Tensor y, bool transpose_x, bool transpose_y, float alpha) -> Tensor"""
    result = matmul(g, x, y, transpose_x, transpose_y)
    return result if alpha == 1 else result * like(g, result, alpha)


@symbolic("paddle_pir")
def matmul_with_flatten(g: GraphBuilder, x: Value, y: Value, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Value:
    """matmul_with_flatten(Tensor x, Tensor y, int x_num_col_dims, int y_num_col_dims) -> Tensor"""

    def flat(v: Value, at: int) -> Value:
        if v.rank == 2 and at == 1:
            return v
        shape = sizes(g, v)
        return g.reshape(v, [merged(g, shape[:at]), merged(g, shape[at:])])

    result = g.MatMul(flat(x, x_num_col_dims), flat(y, y_num_col_dims))
    outer = [*sizes(g, x)[:x_num_col_dims], *sizes(g, y)[y_num_col_dims:]]
    return result if len(outer) == 2 else g.reshape(result, outer)


@symbolic("paddle_pir")
def linear_v2(
    g: GraphBuilder, input: Value, weight: Value, bias: Value | None = None, transpose_weight: bool = False
) -> Value:
    """linear_v2(Tensor input, Tensor weight, Tensor? bias, bool transpose_weight) -> Tensor"""
    result = g.MatMul(input, _swapped(g, weight) if transpose_weight else weight)
    return result if bias is None else result + bias


@symbolic("paddle_pir", "bmm", "mv")
def bmm(g: GraphBuilder, x: Value, y: Value) -> Value:
    """bmm(Tensor x, Tensor y) -> Tensor"""
    return g.MatMul(x, y)


@symbolic("paddle_pir")
def dot(g: GraphBuilder, x: Value, y: Value) -> Value:
    """dot(Tensor x, Tensor y) -> Tensor"""
    return g.ReduceSum(x * y, [-1], keepdims=0)


@symbolic("paddle_pir")
def multi_dot(g: GraphBuilder, x: Sequence[Value]) -> Value:
    """multi_dot(Tensor[] x) -> Tensor"""
    result = x[0]
    for one in x[1:]:
        result = g.MatMul(result, one)
    return result


@symbolic("paddle_pir")
def einsum(g: GraphBuilder, x: Sequence[Value] | Value, equation: str) -> Any:
    """einsum(Tensor[] x, str equation) -> (Tensor, Tensor[], Tensor[])"""
    operands = [x] if isinstance(x, Value) else list(x)
    return g.Einsum(*operands, equation=equation), None, None


@symbolic("paddle_pir")
def bilinear(g: GraphBuilder, x: Value, y: Value, weight: Value, bias: Value | None = None) -> Value:
    """bilinear(Tensor x, Tensor y, Tensor weight, Tensor? bias) -> Tensor"""
    # out[b, k] = sum_ij x[b, i] weight[k, i, j] y[b, j]
    left = g.MatMul(g.Unsqueeze(x, [0]), weight)
    result = g.Transpose(g.ReduceSum(left * y, [2], keepdims=0), perm=[1, 0])
    return result if bias is None else result + bias


@symbolic("paddle_pir")
def kron(g: GraphBuilder, x: Value, y: Value) -> Value:
    """kron(Tensor x, Tensor y) -> Tensor"""
    rank = max(x.rank, y.rank)
    a, b = (g.Unsqueeze(v, list(range(rank - v.rank))) if v.rank < rank else v for v in (x, y))
    product = g.Unsqueeze(a, [2 * i + 1 for i in range(rank)]) * g.Unsqueeze(b, [2 * i for i in range(rank)])
    shape = [merged(g, pair) for pair in zip(sizes(g, a), sizes(g, b), strict=True)]
    return g.reshape(product, shape)


@symbolic("paddle_pir")
def cross(g: GraphBuilder, x: Value, y: Value, axis: int = 9) -> Value:
    """cross(Tensor x, Tensor y, int axis) -> Tensor"""
    if axis == 9:  # the first axis of three elements
        axis = next((i for i, s in enumerate(x.sizes or ()) if not isinstance(s, int) or s == 3), -1)
        if axis < 0 or x.dim(axis) != 3:
            raise refused(g, "cross", "which axis is the first of three elements isn't known: name it")
    a, b = ([g.Gather(v, g.constant(np.array([i])), axis=axis) for i in range(3)] for v in (x, y))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return g.Concat(*parts, axis=axis)


@symbolic("paddle_pir")
def matrix_power(g: GraphBuilder, x: Value, n: int) -> Value:
    """matrix_power(Tensor x, int n) -> Tensor"""
    if n < 0:
        x, n = solve(g, x), -n
    if n == 0:
        return g.expand(identity(g, x, known(x, -1)), sizes(g, x))
    result = None
    while n:
        if n & 1:
            result = x if result is None else g.MatMul(result, x)
        n >>= 1
        x = g.MatMul(x, x) if n else x
    assert result is not None
    return result


@symbolic("paddle_pir")
def diagonal(g: GraphBuilder, x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """diagonal(Tensor x, int offset, int axis1, int axis2) -> Tensor"""
    a, b = axis1 % x.rank, axis2 % x.rank
    moved = g.Transpose(x, perm=[*(i for i in range(x.rank) if i not in (a, b)), a, b])
    rows, columns = moved.dim(-2), moved.dim(-1)
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise refused(g, "diagonal", "open sizes of the two axes aren't supported")
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    flat = g.reshape(moved, [*sizes(g, moved)[:-2], rows * columns])
    start = offset if offset >= 0 else -offset * columns
    return g.Gather(flat, g.constant(start + np.arange(count) * (columns + 1)), axis=-1)


@symbolic("paddle_pir")
def trace(g: GraphBuilder, x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """trace(Tensor x, int offset, int axis1, int axis2) -> Tensor"""
    return g.ReduceSum(diagonal(g, x, offset, axis1, axis2), [-1], keepdims=0)


@symbolic("paddle_pir")
def diag(g: GraphBuilder, x: Value, offset: int = 0, padding_value: float = 0.0) -> Value:
    """diag(Tensor x, int offset, float padding_value) -> Tensor"""
    if x.rank == 2:
        return diagonal(g, x, offset, 0, 1)
    n = x.dim(0)
    if not isinstance(n, int):
        raise refused(g, "diag", "an open size isn't supported")
    side = n + abs(offset)
    mask = np.eye(side, k=offset, dtype=bool)
    before, after = max(offset, 0), max(-offset, 0)
    spread = g.Pad(x, [before, after]) if offset else x
    fill = like(g, x, padding_value if is_float(x) else int(padding_value))
    return g.Where(g.constant(mask), g.Unsqueeze(spread, [0]), fill)


@symbolic("paddle_pir")
def diag_embed(g: GraphBuilder, input: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """diag_embed(Tensor input, int offset, int dim1, int dim2) -> Tensor"""
    n = input.dim(-1)
    if not isinstance(n, int):
        raise refused(g, "diag_embed", "an open size isn't supported")
    rank = input.rank + 1
    lead = [0] * (input.rank - 1)
    spread = g.Pad(input, [*lead, max(offset, 0), *lead, max(-offset, 0)]) if offset else input
    mask = np.eye(n + abs(offset), k=offset, dtype=bool)
    made = g.Where(g.constant(mask), g.Unsqueeze(spread, [-2]), like(g, input, 0))
    a, b = dim1 % rank, dim2 % rank
    rest = iter(range(rank - 2))
    order = [rank - 2 if i == a else rank - 1 if i == b else next(rest) for i in range(rank)]
    return g.Transpose(made, perm=order)
