"""Embeddings whose rows are bytes, or halves of bytes, with a scale and a zero point for each row."""

from __future__ import annotations

from ..aten.counting import embedding_bag as float_embedding_bag
from ..aten.promotion import DataType, cast, unsupported
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .packed import PackedEmbedding


def _rows(g: GraphBuilder, weight: PackedEmbedding, indices: Value) -> Value:
    """The rows at these places. 0 may lie between two levels, which DequantizeLinear doesn't know."""
    levels = cast(g, g.Gather(weight.levels, indices, axis=0), DataType.FLOAT)
    scale, offset = (g.Unsqueeze(g.Gather(v, indices, axis=0), [-1]) for v in (weight.scale, weight.offset))
    return g.Add(g.Mul(levels, scale), offset)


def _register(name: str, bits: int) -> None:
    def check(g: GraphBuilder, weight: PackedEmbedding, pruned: bool) -> None:
        if pruned:
            raise unsupported("an embedding with pruned rows", g)
        if weight.bits != bits:
            raise unsupported(f"rows of {weight.bits} bits that are read as if they had {bits}", g)

    def embedding(g: GraphBuilder, weight: PackedEmbedding, indices: Value, pruned_weights: bool = False) -> Value:
        check(g, weight, pruned_weights)
        return _rows(g, weight, indices)

    def embedding_bag(
        g: GraphBuilder, weight: PackedEmbedding, indices: Value, offsets: Value | None = None,
        scale_grad_by_freq: bool = False, mode: int = 0, pruned_weights: bool = False,
        per_sample_weights: Value | None = None, compressed_indices_mapping: Value | None = None,
        include_last_offset: bool = False,
    ) -> Value:  # fmt: skip
        check(g, weight, pruned_weights or compressed_indices_mapping is not None)
        return _bags(g, _rows(g, weight, indices), indices, offsets, per_sample_weights, include_last_offset)

    embedding.__doc__ = f"quantized::embedding_{name}(EmbeddingPackedParamsBase weight, Tensor indices, ...) -> Tensor"
    embedding_bag.__doc__ = f"quantized::embedding_bag_{name}(EmbeddingPackedParamsBase weight, Tensor indices, ...)"
    symbolic("quantized", f"embedding_{name}")(embedding)
    symbolic("quantized", f"embedding_bag_{name}")(embedding_bag)


def _bags(
    g: GraphBuilder, rows: Value, indices: Value, offsets: Value | None, per_sample_weights: Value | None,
    include_last_offset: bool,
) -> Value:  # fmt: skip
    """Sums of rows (torch has no other mode here): of each row of indices, or from offset to offset."""
    if indices.rank == 2 and offsets is None:
        if per_sample_weights is not None:
            rows = g.Mul(rows, g.Unsqueeze(per_sample_weights, [-1]))
        return g.ReduceSum(rows, [1], keepdims=0)
    if offsets is None:
        raise unsupported("bags without offsets", g)
    places = g.Range(0, g.Size(indices), 1)
    bags: tuple[Value, ...] = float_embedding_bag(
        g, rows, places, cast(g, offsets, DataType.INT64), False, 0, False, per_sample_weights, include_last_offset
    )
    return bags[0]


_register("byte", 8)
_register("4bit", 4)
