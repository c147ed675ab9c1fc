"""Scaled dot product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .precision import is_half
from .promotion import DataType, cast, unsupported, value_of
from .shape import size_at, sizes


@symbolic("aten", "scaled_dot_product_attention")
def scaled_dot_product_attention(
    g: GraphBuilder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, ...) -> Tensor"""
    if dropout_p:
        raise unsupported("attention with dropout: put the model in evaluation mode", g)
    if enable_gqa:
        key, value = (_shared_heads(g, query, x) for x in (key, value))
    if scale is None:
        scale = _scale(g, query)
    # half precision stays: products of halves are what accelerators are fast at, and they sum in float32
    factor = value_of(g, scale, query.element)
    keys = g.Transpose(key, perm=[*range(key.rank - 2), key.rank - 1, key.rank - 2])
    scores = g.MatMul(g.Mul(query, factor), keys)
    if is_causal:
        scores = g.Where(_causal(g, scores), scores, value_of(g, -np.inf, scores.element))
    visible: Value | None = None
    if attn_mask is not None:
        scores, visible = _masked(g, scores, attn_mask)
    result = g.MatMul(g.Softmax(scores, axis=-1), value)
    # a query that sees no key gives zeros in torch, where softmax gives NaN
    return result if visible is None else g.Where(visible, result, value_of(g, 0.0, result.element))


def _scale(g: GraphBuilder, query: Value) -> Any:
    size = query.dim(-1)
    if isinstance(size, int):
        return 1.0 / math.sqrt(size)
    raise unsupported("attention with a head size that is open", g)


def _causal(g: GraphBuilder, scores: Value) -> Value:
    """Key j is seen by query i where j <= i."""
    rows, columns = (size_at(g, scores, i) for i in (-2, -1))
    if isinstance(rows, int) and isinstance(columns, int):
        return g.constant(np.tril(np.ones((rows, columns), np.bool_)))
    i, j = (g.Range(0, s if isinstance(s, Value) else g.size(s), 1) for s in (rows, columns))
    return g.LessOrEqual(g.Unsqueeze(j, [0]), g.Unsqueeze(i, [1]))


def _masked(g: GraphBuilder, scores: Value, mask: Value) -> tuple[Value, Value]:
    """Scores with the mask applied, and which queries see any key."""
    if mask.dtype == DataType.BOOL:
        lowest = value_of(g, -np.inf, scores.element)
        return g.Where(mask, scores, lowest), g.ReduceMax(mask, [-1])
    added = g.Add(scores, cast(g, mask, scores.element))
    return added, g.Greater(g.ReduceMax(mask, [-1]), value_of(g, -np.inf, mask.element))


def _shared_heads(g: GraphBuilder, query: Value, x: Value) -> Value:
    """Each head of key or value for the group of query heads that shares it."""
    heads, own = query.dim(-3), x.dim(-3)
    if not isinstance(heads, int) or not isinstance(own, int):
        raise unsupported("grouped attention with an open number of heads", g)
    if heads == own:
        return x
    *lead, _, length, width = sizes(g, x)
    wide = g.expand(g.Unsqueeze(x, [-3]), [*lead, own, heads // own, length, width])
    return g.reshape(wide, [*lead, heads, length, width])


@symbolic("aten", "_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    g: GraphBuilder, query: Value, key: Value, value: Value, dropout_p: float = 0.0, is_causal: bool = False,
    attn_mask: Value | None = None, scale: float | None = None,
) -> tuple[Value, Value]:  # fmt: skip
    """aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, ...) -> (Tensor output, Tensor logsumexp)"""
    from .reduction import logsumexp

    dtype = query.element
    if is_half(query):  # the logarithms aren't rounded
        query, key, value = (cast(g, x, DataType.FLOAT) for x in (query, key, value))
    output = scaled_dot_product_attention(g, query, key, value, attn_mask, dropout_p, is_causal, scale)
    keys = g.Transpose(key, perm=[*range(key.rank - 2), key.rank - 1, key.rank - 2])
    factor = value_of(g, _scale(g, query) if scale is None else scale, query.element)
    scores = g.MatMul(g.Mul(query, factor), keys)
    if is_causal:
        scores = g.Where(_causal(g, scores), scores, value_of(g, -np.inf, scores.element))
    if attn_mask is not None:
        scores, _ = _masked(g, scores, attn_mask)
    return cast(g, output, dtype), logsumexp(g, scores, [-1])
