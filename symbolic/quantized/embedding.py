"""Embeddings whose rows are bytes, or halves of bytes, with a scale and a zero point for each row."""

from __future__ import annotations

from ..aten.counting import embedding_bag as float_embedding_bag
from ..aten.promotion import DataType, cast, unsupported
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .packed import PackedEmbedding


def _rows(g: GraphBuilder, weight: PackedEmbedding, indices: Value) -> Value:
    """The rows at these places. The level of 0 needn't be whole, which DequantizeLinear doesn't know."""
    levels = cast(g, g.Gather(weight.levels, indices, axis=0), DataType.FLOAT)
    offset = g.Neg(g.Mul(weight.scale, weight.zero))
    scale, offset = (g.Unsqueeze(g.Gather(v, indices, axis=0), [-1]) for v in (weight.scale, offset))
    return g.Add(g.Mul(levels, scale), offset)


def _check(g: GraphBuilder, pruned_weights: bool) -> None:
    if pruned_weights:
        raise unsupported("an embedding with pruned rows", g)


@symbolic("quantized", "embedding_byte", "embedding_4bit")
def embedding(g: GraphBuilder, weight: PackedEmbedding, indices: Value, pruned_weights: bool = False) -> Value:
    """quantized::embedding_byte(EmbeddingPackedParamsBase weight, Tensor indices, bool pruned_weights) -> Tensor"""
    _check(g, pruned_weights)
    return _rows(g, weight, indices)


@symbolic("quantized", "embedding_bag_byte", "embedding_bag_4bit")
def embedding_bag(
    g: GraphBuilder, weight: PackedEmbedding, indices: Value, offsets: Value | None = None,
    scale_grad_by_freq: bool = False, mode: int = 0, pruned_weights: bool = False,
    per_sample_weights: Value | None = None, compressed_indices_mapping: Value | None = None,
    include_last_offset: bool = False,
) -> Value:  # fmt: skip
    """quantized::embedding_bag_byte(EmbeddingPackedParamsBase weight, Tensor indices, Tensor? offsets=None, ...)"""
    _check(g, pruned_weights)
    if compressed_indices_mapping is not None:
        raise unsupported("an embedding with pruned rows", g)
    if indices.rank == 2 and offsets is None:  # a bag in each row
        rows = _rows(g, weight, indices)
        if per_sample_weights is not None:
            rows = g.Mul(rows, g.Unsqueeze(per_sample_weights, [-1]))
        return g.ReduceSum(rows, [1], keepdims=0)
    if offsets is None:
        raise unsupported("bags without offsets", g)
    places = g.Range(0, g.Size(indices), 1)
    bags: tuple[Value, ...] = float_embedding_bag(
        g, _rows(g, weight, indices), places, cast(g, offsets, DataType.INT64), False, 0, False, per_sample_weights,
        include_last_offset,
    )  # fmt: skip
    return bags[0]
