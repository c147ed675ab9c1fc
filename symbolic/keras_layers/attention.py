"""Attention layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..nn import attention as nn
from ..nn.weights import reshaped
from ..registry import symbolic
from ..value import Value
from .layer import DIALECT, MASK, Layer, Weights, mask_of, refuse, with_mask

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def _both(g: GraphBuilder, a: Value | None, b: Value) -> Value:
    return b if a is None else g.And(a, b)


def _scores_mask(
    g: GraphBuilder, query: Value, value: Value, masks: Sequence[Value | None], causal: bool, window: int | None
) -> Value | None:
    """(batch, query steps, value steps) from masks of the query, the value and the key, and of the pairs."""
    query_mask, value_mask, key_mask, pairs = masks
    found = g.Unsqueeze(query_mask, [-1]) if query_mask is not None else None
    for mask in (value_mask, key_mask):
        if mask is not None:
            found = _both(g, found, g.Unsqueeze(mask, [-2]))
    if causal:
        found = _both(g, found, g.Unsqueeze(nn.causal_mask(g, query, value), [0]))
    if window is not None:
        found = _both(g, found, g.Unsqueeze(nn.window_mask(g, query, value, window), [0]))
    if pairs is not None:
        pairs = g.Cast(pairs, to=ir.DataType.BOOL)
        found = pairs if found is None else g.And(pairs, found)
    return found


@symbolic(DIALECT, "MultiHeadAttention")
def multi_head_attention(
    g: GraphBuilder,
    query: Value,
    value: Value,
    key: Value | None = None,
    query_mask: Value | None = None,
    value_mask: Value | None = None,
    key_mask: Value | None = None,
    attention_mask: Value | None = None,
    *,
    weights: Weights,
    layer: Layer,
    num_heads: int,
    key_dim: int,
    value_dim: int | None = None,
    dropout: float = 0.0,
    use_bias: bool = True,
    use_gate: bool = False,
    output_shape: Any = None,
    attention_axes: Any = None,
    sliding_window: int | None = None,
    flash_attention: Any = None,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    """keras.layers.MultiHeadAttention(num_heads, key_dim, value_dim, use_bias, output_shape, attention_axes)"""
    axes = [attention_axes] if isinstance(attention_axes, int) else attention_axes
    if query.rank != 3 or (axes is not None and [a % 3 for a in axes] != [1]):
        refuse(g, layer, f"attention over the axes {axes} of a tensor of rank {query.rank} is not supported")
    if output_shape is not None and not isinstance(output_shape, int) and len(output_shape) != 1:
        refuse(g, layer, f"output_shape={output_shape} is not supported")
    sizes = (key_dim, key_dim, value_dim or key_dim)
    return _attend(
        g, (query, value, key), (query_mask, value_mask, key_mask, attention_mask), weights, (num_heads, num_heads),
        sizes, dropout, use_bias, use_gate, sliding_window, return_attention_scores, use_causal_mask, drop_masks=True
    )  # fmt: skip


@symbolic(DIALECT, "GroupQueryAttention", "GroupedQueryAttention")
def grouped_query_attention(
    g: GraphBuilder,
    query: Value,
    value: Value,
    key: Value | None = None,
    query_mask: Value | None = None,
    value_mask: Value | None = None,
    key_mask: Value | None = None,
    attention_mask: Value | None = None,
    *,
    weights: Weights,
    layer: Layer,
    head_dim: int,
    num_query_heads: int,
    num_key_value_heads: int,
    dropout: float = 0.0,
    use_bias: bool = True,
    use_gate: bool = False,
    sliding_window: int | None = None,
    flash_attention: Any = None,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    """keras.layers.GroupQueryAttention(head_dim, num_query_heads, num_key_value_heads, use_bias)"""
    heads = (num_query_heads, num_key_value_heads)
    return _attend(
        g, (query, value, key), (query_mask, value_mask, key_mask, attention_mask), weights, heads,
        (head_dim, head_dim, head_dim), dropout, use_bias, use_gate, sliding_window, return_attention_scores,
        use_causal_mask, drop_masks=False
    )  # fmt: skip


def _attend(
    g: GraphBuilder,
    operands: tuple[Value, Value, Value | None],
    masks: tuple[Value | None, ...],
    weights: Weights,
    heads: tuple[int, int],
    sizes: tuple[int, int, int],
    dropout: float,
    use_bias: bool,
    use_gate: bool,
    window: int | None,
    with_scores: bool,
    causal: bool,
    *,
    drop_masks: bool,
) -> Any:
    query, value, key = operands
    own = mask_of(query)
    auto = [
        own if drop_masks or masks[0] is None else masks[0],
        masks[1] if masks[1] is not None else mask_of(value),
        masks[2] if masks[2] is not None else mask_of(key),
        masks[3],
    ]
    key = value if key is None else key
    mask = _scores_mask(g, query, value, auto, causal, window)
    if drop_masks:  # as Keras does: layers that use these tensors later see no mask
        for operand in (query, value, key):
            operand.meta.pop(MASK, None)
    projected = [
        nn.project_heads(g, x, weights[f"{name}_dense/kernel"], weights.get(f"{name}_dense/bias", use_bias), n, size)
        for name, x, n, size in (
            ("query", query, heads[0], sizes[0]), ("key", key, heads[1], sizes[1]), ("value", value, heads[1], sizes[2])
        )
    ]  # fmt: skip
    repeats = heads[0] // heads[1]
    q, k, v = projected[0], *(nn.repeat_heads(g, p, repeats) for p in projected[1:])
    explicit = dropout > 0 or with_scores  # Keras then masks in its Softmax layer
    scores = nn.attention_weights(
        g, q, k, scale=1.0 / math.sqrt(sizes[0]), mask=None if mask is None else g.Unsqueeze(mask, [1]),
        zero_empty=explicit,
    )  # fmt: skip
    y = nn.join_heads(g, g.MatMul(scores, v))
    if use_gate:
        gate = nn.project_heads(
            g, query, weights["gate_dense/kernel"], weights.get("gate_dense/bias", use_bias), heads[0], sizes[2]
        )
        y = g.Mul(y, g.Sigmoid(nn.join_heads(g, gate)))
    y = _projected_out(g, y, weights["output_dense/kernel"], weights.get("output_dense/bias", use_bias))
    with_mask(g, y, own)
    return (y, scores) if with_scores else y


def _projected_out(g: GraphBuilder, heads: Value, kernel: Value, bias: Value | None) -> Value:
    """Joined heads times a kernel (heads, size, out)."""
    count, size, out = (kernel.dim(axis) for axis in range(3))
    assert isinstance(count, int) and isinstance(size, int) and isinstance(out, int)
    y: Value = g.MatMul(heads, reshaped(g, kernel, [count * size, out]))
    return y if bias is None else g.Add(y, bias)


def _score_with_masks(
    g: GraphBuilder, scores: Value, inputs: Sequence[Value], mask: Any, causal: bool, with_scores: bool
) -> Any:
    """Softmax of masked scores, the weighted values, zeros for masked queries."""
    query, value = inputs[0], inputs[1]
    query_mask, value_mask = (mask[0], mask[1]) if isinstance(mask, (list, tuple)) and mask else (None, None)
    kept = g.Unsqueeze(value_mask, [-2]) if value_mask is not None else None
    if causal:
        kept = _both(g, kept, g.Unsqueeze(nn.causal_mask(g, query, inputs[2] if len(inputs) > 2 else value), [0]))
    if kept is not None:
        low = 65504.0 if scores.element.name == "FLOAT16" else 1e9
        scores = g.Where(kept, scores, g.Sub(scores, low))
    shares = g.Softmax(scores, axis=-1)
    y = g.MatMul(shares, value)
    if query_mask is not None:
        y = g.Where(g.Unsqueeze(query_mask, [-1]), y, g.constant(0.0, y.element))
        with_mask(g, y, query_mask)
    return (y, shares) if with_scores else y


def _pairs(g: GraphBuilder, query: Value, key: Value) -> Value:
    """Sums of every query and every key: (batch, queries, keys, features)."""
    sums: Value = g.Add(g.Unsqueeze(query, [2]), g.Unsqueeze(key, [1]))
    return sums


@symbolic(DIALECT, "Attention")
def attention(
    g: GraphBuilder,
    inputs: Sequence[Value],
    *,
    weights: Weights,
    mask: Any = None,
    use_scale: bool = False,
    score_mode: str = "dot",
    dropout: float = 0.0,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    """keras.layers.Attention(use_scale=False, score_mode="dot"): on [query, value] or [query, value, key]"""
    query, key = inputs[0], inputs[2] if len(inputs) > 2 else inputs[1]
    scale = weights.get("scale", use_scale)
    if score_mode == "dot":
        scores = g.MatMul(query, g.Transpose(key, perm=[0, 2, 1]))
        scores = scores if scale is None else g.Mul(scores, scale)
    else:
        pairs = _pairs(g, query, key)
        pairs = pairs if scale is None else g.Mul(pairs, scale)
        scores = g.Mul(g.ReduceSum(g.Tanh(pairs), [-1], keepdims=0), weights["concat_score_weight"])
    return _score_with_masks(g, scores, inputs, mask, use_causal_mask, return_attention_scores)


@symbolic(DIALECT, "AdditiveAttention")
def additive_attention(
    g: GraphBuilder,
    inputs: Sequence[Value],
    *,
    weights: Weights,
    mask: Any = None,
    use_scale: bool = True,
    dropout: float = 0.0,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
) -> Any:
    """keras.layers.AdditiveAttention(use_scale=True): scores are sums of tanh(query + key)"""
    query, key = inputs[0], inputs[2] if len(inputs) > 2 else inputs[1]
    pairs = g.Tanh(_pairs(g, query, key))
    scale = weights.get("scale", use_scale)
    pairs = pairs if scale is None else g.Mul(pairs, scale)
    scores = g.ReduceSum(pairs, [-1], keepdims=0)
    return _score_with_masks(g, scores, inputs, mask, use_causal_mask, return_attention_scores)
