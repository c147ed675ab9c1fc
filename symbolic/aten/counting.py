"""Histograms, distinct elements, bags of embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .precision import rounded_once
from .promotion import DataType, cast, compute, is_float, unread, unsupported, value_of
from .shape import axis_of, size_at, sizes

_END = np.iinfo(np.int64).max


@symbolic("aten", "histc")
def histc(g: GraphBuilder, self: Value, bins: int = 100, min: float = 0, max: float = 0) -> Value:
    """aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor"""
    x = g.reshape(self, [-1])
    if min == max == 0:
        low, high = g.ReduceMin(x, keepdims=0), g.ReduceMax(x, keepdims=0)
        same = g.Equal(low, high)
        low, high = g.Where(same, g.Sub(low, 1.0), low), g.Where(same, g.Add(high, 1.0), high)
    else:
        low, high = value_of(g, min, x.element), value_of(g, max, x.element)
    place = g.Floor(g.Div(g.Mul(g.Sub(x, low), value_of(g, bins, x.element)), g.Sub(high, low)))
    place = g.Min(place, value_of(g, bins - 1, x.element))  # the last bin holds its upper edge
    inside = g.And(g.GreaterOrEqual(x, low), g.LessOrEqual(x, high))
    wanted = g.constant(np.arange(bins).astype(x.element.numpy()).reshape(bins, 1))
    return _counts(g, g.And(g.Equal(wanted, place), inside), x.element)


def _counts(g: GraphBuilder, hits: Value, dtype: DataType) -> Value:
    return cast(g, g.ReduceSum(cast(g, hits, DataType.INT64), [-1], keepdims=0), dtype)


@symbolic("aten", "bincount")
def bincount(g: GraphBuilder, self: Value, weights: Value | None = None, minlength: int = 0) -> Value:
    """aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"""
    x = cast(g, self, DataType.INT64)
    # the constant keeps the largest element of an empty tensor at -1
    least = g.Concat(x, g.constant(np.array([-1], np.int64)), axis=0)
    count = g.Max(g.Add(g.ReduceMax(least, keepdims=0), 1), minlength)
    hits = g.Equal(g.Unsqueeze(g.Range(0, count, 1), [1]), x)
    if weights is None:
        return _counts(g, hits, DataType.INT64)
    dtype = DataType.FLOAT if weights.dtype == DataType.FLOAT else DataType.DOUBLE
    w = cast(g, weights, dtype)
    return g.ReduceSum(g.Where(hits, w, value_of(g, 0, dtype)), [-1], keepdims=0)


def _wide(g: GraphBuilder, x: Value) -> Value:
    """The tensor in a dtype that Unique has a kernel for."""
    if x.element in (DataType.FLOAT, DataType.DOUBLE, DataType.INT64, DataType.INT8):
        return x
    return cast(g, x, DataType.FLOAT if is_float(x.element) else DataType.INT64)


def _unasked(g: GraphBuilder) -> Any:
    return unread(g, "of unique that wasn't asked for")


@symbolic("aten", "_unique2", "unique2")
def unique2(
    g: GraphBuilder, self: Value, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Value, Value, Value]:
    """aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, ...) -> (Tensor, Tensor, Tensor)"""
    # torch sorts on the CPU whether asked or not
    values, _, inverse, counts = g.Unique(g.reshape(_wide(g, self), [-1]), sorted=1, outputs=4)
    values = cast(g, values, self.element)
    inverse = g.reshape(inverse, sizes(g, self)) if return_inverse else _unasked(g)
    return values, inverse, counts if return_counts else _unasked(g)


@symbolic("aten", "unique_dim")
def unique_dim(
    g: GraphBuilder, self: Value, dim: int, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, ...) -> (Tensor, ...)"""
    values, _, inverse, counts = g.Unique(_wide(g, self), axis=dim, sorted=1, outputs=4)
    values = cast(g, values, self.element)
    return values, inverse if return_inverse else _unasked(g), counts if return_counts else _unasked(g)


@symbolic("aten", "unique_consecutive")
def unique_consecutive(
    g: GraphBuilder, self: Value, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Value, Value, Value]:
    """aten::unique_consecutive(Tensor self, bool return_inverse=False, ...) -> (Tensor, Tensor, Tensor)"""
    axis = 0 if dim is None else axis_of(dim, self.rank)
    x = g.reshape(self, [-1]) if dim is None else self
    size = size_at(g, x, axis)
    if 0 in (x.sizes or ()) and size != 0:
        raise unsupported("unique_consecutive of an empty tensor along an axis that isn't empty", g)
    changed = g.Not(compute(g, "Equal", g.Slice(x, [1], [_END], [axis]), g.Slice(x, [0], [-1], [axis])))
    others = [i for i in range(x.rank) if i != axis]
    if others:
        changed = cast(g, g.ReduceMax(cast(g, changed, DataType.INT32), others, keepdims=0), DataType.BOOL)
    # the first element starts a run; an empty tensor has none
    first = g.Slice(g.expand(g.constant(np.array(True)), [size]), [0], [1], [0])
    starts = g.Concat(first, changed, axis=0)
    values = g.Compress(x, starts, axis=axis)
    empty = _unasked(g)
    run = g.Sub(g.CumSum(cast(g, starts, DataType.INT64), 0), 1)
    inverse = (g.reshape(run, sizes(g, self)) if dim is None else run) if return_inverse else empty
    if not return_counts:
        return values, inverse, empty
    index = g.Range(0, g.Squeeze(g.Shape(values, start=axis, end=axis + 1), [0]), 1)
    counts = _counts(g, g.Equal(g.Unsqueeze(index, [1]), run), DataType.INT64)
    return values, inverse, counts


@symbolic("aten", "nonzero_static")
def nonzero_static(g: GraphBuilder, self: Value, size: Any, fill_value: int = -1) -> Value:
    """aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor"""
    from .indexing import nonzero

    found = nonzero(g, self)
    spare = g.expand(g.constant(np.array(fill_value, np.int64)), [size, self.rank])
    return g.Slice(g.Concat(found, spare, axis=0), [0], g.shape_vector([size]), [0])


@symbolic("aten", "embedding_bag", "_embedding_bag", "_embedding_bag_forward_only", "embedding_bag.padding_idx")
def embedding_bag(
    g: GraphBuilder, weight: Value, indices: Value, offsets: Value, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Value | None = None, include_last_offset: bool = False,
    padding_idx: int | None = -1,
) -> tuple[Value, ...]:  # fmt: skip
    """aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, ...) -> (Tensor, Tensor, Tensor, Tensor)"""
    index, begins = (cast(g, v, DataType.INT64) for v in (indices, offsets))
    position = g.Range(0, g.Squeeze(g.Shape(index), [0]), 1)
    total = g.Shape(index)
    if include_last_offset:
        ends = g.Slice(begins, [1], [_END], [0])
        begins = g.Slice(begins, [0], [-1], [0])
    else:
        ends = g.Concat(g.Slice(begins, [1], [_END], [0]), total, axis=0)
    member = g.And(  # (bags, indices)
        g.GreaterOrEqual(position, g.Unsqueeze(begins, [1])), g.Less(position, g.Unsqueeze(ends, [1]))
    )  # fmt: skip
    if padding_idx is not None and padding_idx >= 0:
        member = g.And(member, g.Not(g.Equal(index, padding_idx)))
    rows = g.Gather(weight, index, axis=0)
    share = cast(g, member, weight.element)
    if mode == 2:
        lowest = value_of(g, -np.inf, weight.element)
        wide = g.Where(g.Unsqueeze(member, [2]), g.Unsqueeze(rows, [0]), lowest)
        bags = g.ReduceMax(wide, [1], keepdims=0)
        bags = g.Where(g.Equal(bags, lowest), value_of(g, 0, weight.element), bags)  # an empty bag
    else:
        bags = _summed_bags(g, share, rows, per_sample_weights, mode == 1)
    # the other results only serve the gradient; nothing that is exported for inference reads them
    return bags, *(unread(g, name) for name in ("offset2bag", "bag_size", "max_indices"))


@rounded_once
def _summed_bags(g: GraphBuilder, share: Value, rows: Value, weights: Value | None, mean: bool) -> Value:
    """Sums or means of the rows that each bag has, (bags, rows) being 1 for these."""
    if weights is not None:
        rows = g.Mul(rows, g.Unsqueeze(weights, [1]))
    bags = g.MatMul(share, rows)
    return g.Div(bags, g.Max(g.ReduceSum(share, [1]), 1.0)) if mean else bags


@symbolic("aten", "pdist", "_pdist_forward")
def pdist(g: GraphBuilder, self: Value, p: float = 2.0) -> Value:
    """aten::pdist(Tensor self, float p=2) -> Tensor"""
    from .reduction import cdist

    count = size_at(g, self, 0)
    if not isinstance(count, int):
        raise unsupported("pdist of an open number of rows", g)
    rows, columns = np.triu_indices(count, 1)
    pairs = g.constant(np.stack([rows, columns], axis=1).astype(np.int64))
    return g.GatherND(cdist(g, self, self, p), pairs)


@symbolic("aten", "cartesian_prod")
def cartesian_prod(g: GraphBuilder, tensors: list[Value]) -> Value:
    """aten::cartesian_prod(Tensor[] tensors) -> Tensor"""
    from .shape import meshgrid

    if len(tensors) == 1:
        return tensors[0]
    return g.Concat(*(g.Unsqueeze(g.reshape(x, [-1]), [1]) for x in meshgrid(g, tensors)), axis=1)
