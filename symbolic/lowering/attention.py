"""Attention and rotary embeddings: they came with opset 23, windows with 25."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import count_of, known_rank

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


@dataclass
class _Masking:
    """What says which keys a query sees."""

    mask: Value | None
    causal: bool
    left: int
    right: int
    past: Value | None
    nonpad: Value | None

    @property
    def may_hide_all(self) -> bool:
        """Whether a query may be left without any key."""
        given = self.mask is not None
        if given and self.mask is not None and self.mask.array is not None and self.mask.element is ir.DataType.BOOL:
            given = not self.mask.array.any(axis=-1).all() or self.causal
        return given or self.nonpad is not None or self.left >= 0


@symbolic("onnx", "Attention", until=24)
def attention(
    g: GraphBuilder,
    Q: Value,
    K: Value,
    V: Value,
    attn_mask: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    nonpad_kv_seqlen: Value | None = None,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    q_num_heads: int | None = None,
    left_window_size: int = -1,
    right_window_size: int = -1,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    outputs: Any = 1,
) -> Any:
    """(Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen?, ...) -> Y, present_key, present_value, qk"""
    windowed = left_window_size >= 0 or right_window_size >= 0
    if g.opset >= 23 and not windowed and (g.opset >= 24 or nonpad_kv_seqlen is None):
        return NotImplemented
    if Q.element is ir.DataType.BFLOAT16:  # few kernels take it: as a whole in float
        return _in_float(g, (Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen), count_of(outputs), {
            "is_causal": is_causal, "kv_num_heads": kv_num_heads, "q_num_heads": q_num_heads, "softcap": softcap,
            "left_window_size": left_window_size, "right_window_size": right_window_size, "scale": scale,
            "qk_matmul_output_mode": qk_matmul_output_mode,
        })  # fmt: skip
    rank = known_rank(g, Q, "Attention", 23)
    query, key, value = (_heads(g, x, heads) for x, heads in ((Q, q_num_heads), (K, kv_num_heads), (V, kv_num_heads)))
    if past_key is not None:
        key, value = g.Concat(past_key, key, axis=2), g.Concat(past_value, value, axis=2)
    present = [key, value]
    ratio = _heads_per_key(query, key)
    if ratio is None or query.element is not value.element:
        return NotImplemented  # heads of unknown number: the standard's own body copes with them
    if ratio > 1:
        key, value = (_repeated(g, x, ratio) for x in (key, value))
    scores = g.MatMul(_scaled(g, query, scale), g.Transpose(key, perm=[0, 1, 3, 2]))
    kinds = [scores]
    if softcap:
        scores = g.Mul(g.Tanh(g.Div(scores, softcap)), softcap)
    kinds.append(scores)
    masking = _Masking(attn_mask, bool(is_causal), left_window_size, right_window_size, past_key, nonpad_kv_seqlen)
    scores = _masked(g, scores, query, key, masking)
    kinds.append(scores)
    weights = _softmax(g, scores, softmax_precision, masking.may_hide_all)
    kinds.append(weights)
    y = g.MatMul(weights, value)
    if rank == 3:
        y = g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])
    return [y, *present, kinds[qk_matmul_output_mode]][: count_of(outputs)]


def _in_float(g: GraphBuilder, args: tuple[Value | None, ...], outputs: int, attributes: dict[str, Any]) -> list[Any]:
    narrow = ir.DataType.BFLOAT16
    wide: list[Any] = [g.Cast(x, to=ir.DataType.FLOAT) if x is not None and x.element is narrow else x for x in args]
    found = g.Attention(*wide, outputs=outputs, **attributes)
    return [g.Cast(y, to=narrow) for y in (found if isinstance(found, tuple) else (found,))]


def _heads(g: GraphBuilder, x: Value, heads: int | None) -> Value:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    if x.rank == 4:
        return x
    return g.Transpose(g.Reshape(x, [0, 0, heads, -1]), perm=[0, 2, 1, 3])


def _heads_per_key(query: Value, key: Value) -> int | None:
    ours, theirs = query.dim(1), key.dim(1)
    if ours == theirs and ours is not None:
        return 1
    return ours // theirs if isinstance(ours, int) and isinstance(theirs, int) else None


def _repeated(g: GraphBuilder, x: Value, ratio: int) -> Value:
    """Each head `ratio` times."""
    heads, size = x.dim(1), x.dim(3)
    assert isinstance(heads, int)
    more = g.Expand(g.Unsqueeze(x, [2]), [1, 1, ratio, 1, 1])
    last = size if isinstance(size, int) else g.Gather(g.Shape(x), 3, axis=0)
    return g.Reshape(more, g.shape_vector([0, heads * ratio, -1, last]))


def _scaled(g: GraphBuilder, query: Value, scale: float | None) -> Value:
    size = query.dim(3)
    if scale is None and isinstance(size, int):
        scale = 1 / math.sqrt(size)
    if scale is not None:
        return g.Mul(query, scale)
    width = g.Cast(g.Gather(g.Shape(query), 3, axis=0), to=ir.DataType.FLOAT)
    return g.Mul(query, g.Cast(g.Reciprocal(g.Sqrt(width)), to=query.element))


def _masked(g: GraphBuilder, scores: Value, query: Value, key: Value, masking: _Masking) -> Value:
    """Scores with minus infinity where a query doesn't see a key."""
    seen = _window(g, query, key, masking)
    mask = masking.mask
    if mask is not None:
        mask = _as_long_as(g, mask, key)
        if mask.element is ir.DataType.BOOL:
            seen = mask if seen is None else g.And(seen, mask)
        else:
            scores = g.Add(scores, mask)
    if seen is None:
        return scores
    return g.Where(seen, scores, g.constant(-np.inf, scores.element))


def _window(g: GraphBuilder, query: Value, key: Value, masking: _Masking) -> Value | None:
    """Which keys lie within the causal limit, the window and the real length of each query; None: all of them."""
    seen: Value | None = None
    keys = g.Range(0, g.Gather(g.Shape(key), 2, axis=0), 1)
    nonpad = None if masking.nonpad is None else g.Unsqueeze(masking.nonpad, [1, 2, 3])
    if nonpad is not None:
        seen = g.Less(keys, nonpad)
    right = 0 if masking.causal else masking.right
    if right < 0 and masking.left < 0:
        return seen
    length = g.Gather(g.Shape(query), 2, axis=0)
    position = g.Unsqueeze(g.Range(0, length, 1), [1])
    if masking.past is not None:
        position = g.Add(position, g.Gather(g.Shape(masking.past), 2, axis=0))
    elif nonpad is not None:
        position = g.Add(position, g.Sub(nonpad, length))
    if right >= 0:
        before = g.Less(keys, g.Add(position, right + 1))
        seen = before if seen is None else g.And(seen, before)
    if masking.left >= 0:
        after = g.Greater(keys, g.Sub(position, masking.left + 1))
        seen = after if seen is None else g.And(seen, after)
    return seen


def _as_long_as(g: GraphBuilder, mask: Value, key: Value) -> Value:
    """A mask that ends before the keys do, filled up with "not seen"."""
    size, length = mask.dim(-1), key.dim(2)
    if size == length and size is not None:
        return mask
    rank = mask.rank
    missing = g.Sub(g.Shape(key, start=2, end=3), g.Shape(mask, start=rank - 1, end=rank))
    pads = g.Concat(np.zeros(2 * rank - 1, np.int64), missing, axis=0)
    hidden = g.constant(np.array(False)) if mask.element is ir.DataType.BOOL else g.constant(-np.inf, mask.element)
    return g.Pad(mask, pads, hidden)


def _softmax(g: GraphBuilder, scores: Value, precision: int | None, may_hide_all: bool) -> Value:
    """Softmax over the keys; a query without any key gets zeros."""
    kind = scores.element
    wide = scores if precision in (None, kind) else g.Cast(scores, to=precision)
    weights = g.Softmax(wide, axis=-1)
    if may_hide_all:
        nothing = g.Equal(g.ReduceMax(wide, [-1]), g.constant(-np.inf, wide.element))
        weights = g.Where(nothing, g.constant(0, wide.element), weights)
    return weights if weights.element == kind else g.Cast(weights, to=kind)


@symbolic("onnx", "RotaryEmbedding", until=22)
def rotary_embedding(
    g: GraphBuilder,
    X: Value,
    cos_cache: Value,
    sin_cache: Value,
    position_ids: Value | None = None,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Any:
    """(X, cos_cache, sin_cache, position_ids?, ...) -> pairs of features turned by their position's angle"""
    rank = known_rank(g, X, "RotaryEmbedding", 23)
    x = g.Reshape(X, [0, 0, num_heads, -1]) if rank == 3 else X
    angles = [c if position_ids is None else g.Gather(c, position_ids, axis=0) for c in (cos_cache, sin_cache)]
    cosine, sine = (g.Unsqueeze(a, [2 if rank == 3 else 1]) for a in angles)
    rest = None
    if rotary_embedding_dim:
        rest = g.Slice(x, [rotary_embedding_dim], [2**31 - 1], [3])
        x = g.Slice(x, [0], [rotary_embedding_dim], [3])
    if interleaved:
        first, second = (g.Slice(x, [i], [2**31 - 1], [3], [2]) for i in range(2))
    else:
        first, second = g.Split(x, axis=3, num_outputs=2, outputs=2)
    turned = [
        g.Sub(g.Mul(first, cosine), g.Mul(second, sine)),
        g.Add(g.Mul(first, sine), g.Mul(second, cosine)),
    ]
    if interleaved:
        y = g.Reshape(g.Concat(*(g.Unsqueeze(t, [4]) for t in turned), axis=4), [0, 0, 0, -1])
    else:
        y = g.Concat(*turned, axis=3)
    if rest is not None:
        y = g.Concat(y, rest, axis=3)
    return g.Reshape(y, [0, 0, -1]) if rank == 3 else y
