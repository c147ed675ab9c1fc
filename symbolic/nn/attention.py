"""Dot-product attention out of plain operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .weights import reshaped

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def project_heads(g: GraphBuilder, x: Value, kernel: Value, bias: Value | None, heads: int, size: int) -> Value:
    """(batch, steps, features) through a kernel (features, heads, size) to (batch, heads, steps, size)."""
    features = kernel.dim(0)
    assert isinstance(features, int) and x.sizes is not None
    y = g.MatMul(x, reshaped(g, kernel, [features, heads * size]))
    if bias is not None:
        y = g.Add(y, reshaped(g, bias, [heads * size]))
    return split_heads(g, y, heads, size)


def split_heads(g: GraphBuilder, x: Value, heads: int, size: int) -> Value:
    """(batch, steps, heads * size) -> (batch, heads, steps, size)."""
    y: Value = g.Reshape(x, [0, 0, heads, size])
    assert x.sizes is not None
    y.sizes = (*x.sizes[:2], heads, size)
    return g.Transpose(y, perm=[0, 2, 1, 3])


def join_heads(g: GraphBuilder, x: Value) -> Value:
    """(batch, heads, steps, size) -> (batch, steps, heads * size)."""
    assert x.sizes is not None
    batch, heads, steps, size = x.sizes
    assert isinstance(heads, int) and isinstance(size, int)
    y: Value = g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, heads * size])
    y.sizes = (batch, steps, heads * size)
    return y


def repeat_heads(g: GraphBuilder, x: Value, count: int) -> Value:
    """Each head of (batch, heads, steps, size) `count` times in a row."""
    if count == 1:
        return x
    assert x.sizes is not None
    batch, heads, steps, size = x.sizes
    assert isinstance(heads, int)
    tiled: Value = g.Tile(g.Unsqueeze(x, [2]), [1, 1, count, 1, 1])
    y: Value = g.Reshape(tiled, [0, heads * count, -1, size])
    y.sizes = (batch, heads * count, steps, size)
    return y


def attention_weights(
    g: GraphBuilder, query: Value, key: Value, *, scale: float, mask: Value | None = None, zero_empty: bool = False
) -> Value:
    """softmax(query @ key^T * scale) over (batch, heads, steps, size).

    Args:
        g: Builder.
        query: Queries.
        key: Keys.
        scale: Factor of the scores.
        mask: bool, broadcast to the scores; where it is False there is no attention.
        zero_empty: A row that is masked completely gives zeros; otherwise equal weights.
    """
    scores = g.MatMul(g.Mul(query, scale), g.Transpose(key, perm=[0, 1, 3, 2]))
    if mask is None:
        return g.Softmax(scores, axis=-1)
    lowest = g.constant(-3e4 if scores.element == ir.DataType.FLOAT16 else -1e9, scores.element)
    weights = g.Softmax(g.Where(mask, scores, lowest), axis=-1)
    return g.Where(mask, weights, g.constant(0.0, scores.element)) if zero_empty else weights


def causal_mask(g: GraphBuilder, query: Value, key: Value, axis: int = 1) -> Value:
    """bool (query steps, key steps): a step sees itself and those before it."""
    rows, columns = _numbers(g, query, axis), _numbers(g, key, axis)
    return g.GreaterOrEqual(g.Unsqueeze(rows, [1]), g.Unsqueeze(columns, [0]))


def window_mask(g: GraphBuilder, query: Value, key: Value, width: int, axis: int = 1) -> Value:
    """bool (query steps, key steps): steps less than `width` apart."""
    rows, columns = _numbers(g, query, axis), _numbers(g, key, axis)
    return g.Less(g.Abs(g.Sub(g.Unsqueeze(rows, [1]), g.Unsqueeze(columns, [0]))), width)


def _numbers(g: GraphBuilder, x: Value, axis: int) -> Value:
    """0, 1 ... along an axis."""
    count = g.Squeeze(g.Shape(x, start=axis, end=axis + 1), [0])
    return g.Range(g.constant(np.array(0)), count, g.constant(np.array(1)))
