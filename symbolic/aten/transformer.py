"""The fused inference kernels of torch's own transformer layers, which TorchScript files hold."""

from __future__ import annotations

import math

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .activation import gelu
from .linalg import linear
from .normalization import layer_norm
from .promotion import DataType, cast, unsupported, value_of
from .shape import sizes


@symbolic("aten", "_native_multi_head_attention")
def native_multi_head_attention(
    g: GraphBuilder, query: Value, key: Value, value: Value, embed_dim: int, num_head: int, qkv_weight: Value,
    qkv_bias: Value, proj_weight: Value, proj_bias: Value, mask: Value | None = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Value, Value | None]:  # fmt: skip
    """aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, ...) -> (Tensor, Tensor)"""
    weights = g.Split(qkv_weight, axis=0, num_outputs=3, outputs=3)
    biases = g.Split(qkv_bias, axis=0, num_outputs=3, outputs=3)
    q, k, v = (
        _heads(g, linear(g, x, w, b), num_head)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )  # fmt: skip
    q = g.Mul(q, value_of(g, 1 / math.sqrt(embed_dim // num_head), q.element))
    scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
    attention = _softmax(g, scores, mask, mask_type)
    batch, length = sizes(g, query)[:2]
    mixed = g.reshape(g.Transpose(g.MatMul(attention, v), perm=[0, 2, 1, 3]), [batch, length, embed_dim])
    output = linear(g, mixed, proj_weight, proj_bias)
    if not need_weights:
        return output, None
    return output, g.ReduceMean(attention, [1], keepdims=0) if average_attn_weights else attention


def _heads(g: GraphBuilder, x: Value, count: int) -> Value:
    batch, length, width = sizes(g, x)
    return g.Transpose(g.reshape(x, [batch, length, count, width // count]), perm=[0, 2, 1, 3])


def _softmax(g: GraphBuilder, scores: Value, mask: Value | None, kind: int | None) -> Value:
    """Softmax over the keys that the mask leaves; what isn't zero in it is masked, whatever its dtype."""
    if mask is None:
        return g.Softmax(scores, axis=-1)
    hidden = cast(g, mask, DataType.BOOL)
    if kind == 1:  # (batch, keys)
        hidden = g.Unsqueeze(hidden, [1, 2])
    elif kind not in (0, 2):
        raise unsupported(f"an attention mask of type {kind}", g)
    low = value_of(g, -math.inf, scores.element)
    return g.Softmax(g.Where(hidden, low, scores), axis=-1)


@symbolic("aten", "_transformer_encoder_layer_fwd")
def transformer_encoder_layer(
    g: GraphBuilder, src: Value, embed_dim: int, num_heads: int, qkv_weight: Value, qkv_bias: Value,
    proj_weight: Value, proj_bias: Value, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Value,
    norm_bias_1: Value, norm_weight_2: Value, norm_bias_2: Value, ffn_weight_1: Value, ffn_bias_1: Value,
    ffn_weight_2: Value, ffn_bias_2: Value, mask: Value | None = None, mask_type: int | None = None,
) -> Value:  # fmt: skip
    """aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, ...) -> Tensor"""

    def attend(x: Value) -> Value:
        return native_multi_head_attention(
            g, x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
        )[0]

    def feed(x: Value) -> Value:
        inner = linear(g, x, ffn_weight_1, ffn_bias_1)
        return linear(g, gelu(g, inner) if use_gelu else g.Relu(inner), ffn_weight_2, ffn_bias_2)

    def first(x: Value) -> Value:
        return layer_norm(g, x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def second(x: Value) -> Value:
        return layer_norm(g, x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = g.Add(src, attend(first(src)))
        return g.Add(x, feed(second(x)))
    x = first(g.Add(src, attend(src)))
    return second(g.Add(x, feed(x)))
