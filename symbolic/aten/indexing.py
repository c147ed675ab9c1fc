"""Reading and writing by index, slice and mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import NARROW, DataType, Scalar, cast, result_type, value_of, where
from .shape import axis_of, broadcast_tensors, size_at, sizes

_END = np.iinfo(np.int64).max


@symbolic("aten", "slice.Tensor", "slice_copy.Tensor")
def slice(g: GraphBuilder, self: Value, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Value:
    """aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, ...) -> Tensor(a)"""
    axis = axis_of(dim, self.rank)
    start = 0 if start is None else start
    end = _END if end is None else end
    whole = isinstance(start, int) and start == 0 and (end == self.dim(axis) or (isinstance(end, int) and end >= _END))
    if whole and step == 1:
        return self
    return g.Slice(self, g.shape_vector([start]), g.shape_vector([end]), [axis], g.shape_vector([step]))


@symbolic("aten", "narrow")
def narrow(g: GraphBuilder, self: Value, dim: int, start: Any, length: Any) -> Value:
    """aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)"""
    if isinstance(start, int) and start < 0:
        start = start + size_at(g, self, dim)
    return slice(g, self, dim, start, start + length)


@symbolic("aten", "select.int", "select_copy.int")
def select(g: GraphBuilder, self: Value, dim: int, index: Any) -> Value:
    """aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)"""
    at = index if isinstance(index, Value) else g.size(index)
    return g.Gather(self, at, axis=axis_of(dim, self.rank))


@symbolic("aten", "index_select")
def index_select(g: GraphBuilder, self: Value, dim: int, index: Value) -> Value:
    """aten::index_select(Tensor self, int dim, Tensor index) -> Tensor"""
    if self.rank == 0:
        return self
    index = g.reshape(index, [1]) if index.rank == 0 else index
    return g.Gather(self, index, axis=axis_of(dim, self.rank))


@symbolic("aten", "embedding")
def embedding(
    g: GraphBuilder, weight: Value, indices: Value, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:  # fmt: skip
    """aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, ...) -> Tensor"""
    # the other arguments concern gradients
    return g.Gather(weight, indices, axis=0)


@symbolic("aten", "embedding_renorm")
def embedding_renorm(g: GraphBuilder, self: Value, indices: Value, max_norm: float, norm_type: float) -> Value:
    """aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor"""
    from .reduction import linalg_vector_norm

    length = linalg_vector_norm(g, self, norm_type, [1], True)
    factor = g.Div(value_of(g, max_norm, self.element), g.Add(length, 1e-7))
    looked_up = scatter_value(g, g.expand(value_of(g, 0, DataType.INT32), [size_at(g, self, 0)]), 0,
                              g.reshape(indices, [-1]), 1)  # fmt: skip
    long = g.And(g.Greater(length, max_norm), g.Unsqueeze(g.Equal(looked_up, 1), [1]))
    return g.Where(long, g.Mul(self, factor), self)


@symbolic("aten", "take")
def take(g: GraphBuilder, self: Value, index: Value) -> Value:
    """aten::take(Tensor self, Tensor index) -> Tensor"""
    return g.Gather(g.reshape(self, [-1]), index, axis=0)


@symbolic("aten", "take_along_dim")
def take_along_dim(g: GraphBuilder, self: Value, indices: Value, dim: int | None = None) -> Value:
    """aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor"""
    if dim is None:
        return g.GatherElements(g.reshape(self, [-1]), g.reshape(indices, [-1]), axis=0)
    axis = axis_of(dim, self.rank)
    ours, theirs = sizes(g, self), sizes(g, indices)
    common = [a if b == 1 else b for a, b in zip(ours, theirs, strict=True)]
    wide = g.expand(self, [s if i == axis else c for i, (s, c) in enumerate(zip(ours, common, strict=True))])
    index = g.expand(indices, [s if i == axis else c for i, (s, c) in enumerate(zip(theirs, common, strict=True))])
    return g.GatherElements(wide, index, axis=axis)


@symbolic("aten", "gather")
def gather(g: GraphBuilder, self: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    """aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"""
    if 0 in (index.sizes or ()):  # torch takes an empty index of any rank
        return g.expand(g.constant(np.zeros((), self.element.numpy())), sizes(g, index))
    if self.rank == 0 or index.rank == 0:
        flat = g.GatherElements(g.reshape(self, [-1]), g.reshape(index, [-1]), axis=0)
        return g.reshape(flat, sizes(g, index))
    return g.GatherElements(self, cast(g, index, DataType.INT64), axis=axis_of(dim, self.rank))


# --- index with tensors ----------------------------------------------------------------------------------------------


def _positions(g: GraphBuilder, indices: Sequence[Value | None]) -> list[Value | None]:
    """Index tensors, a mask becoming one int64 tensor for each of its axes."""
    found: list[Value | None] = []
    for index in indices:
        if index is None or index.dtype not in (DataType.BOOL, DataType.UINT8):
            found.append(None if index is None else cast(g, index, DataType.INT64))
            continue
        places = g.NonZero(cast(g, index, DataType.BOOL))  # (axes, count)
        rank = index.rank
        if rank == 1:
            found.append(g.Squeeze(places, [0]))
        else:
            found.extend(g.Gather(places, g.constant(np.array(i, np.int64)), axis=0) for i in range(rank))
    return found


class _Plan:
    """How an indexed read or write is laid out: indexed axes first, the others behind.

    Attributes:
        axes: Indexed axes.
        order: Permutation that brings them to the front.
        together: They stand side by side: then the index axes of the result stand where they stood.
        index: (..., axes) positions, broadcast together.
    """

    def __init__(self, g: GraphBuilder, rank: int, indices: Sequence[Value | None]):
        positions = _positions(g, indices)
        self.axes = [i for i, p in enumerate(positions) if p is not None]
        others = [i for i in range(rank) if i not in self.axes]
        self.order = [*self.axes, *others]
        self.together = self.axes == list(range(self.axes[0], self.axes[0] + len(self.axes)))
        chosen = [p for p in positions if p is not None]
        shared = broadcast_tensors(g, chosen) if len(chosen) > 1 else chosen
        self.width = shared[0].rank
        self.parts = shared
        self.index = g.Concat(*(g.Unsqueeze(p, [-1]) for p in shared), axis=-1) if len(shared) > 1 else None

    def result_order(self, rank: int) -> list[int]:
        """Permutation from (index axes, other axes) to the result's layout."""
        first = self.axes[0] if self.together else 0
        others = list(range(self.width, rank))
        return [*others[:first], *range(self.width), *others[first:]]


def _moved(g: GraphBuilder, x: Value, order: Sequence[int]) -> Value:
    return x if list(order) == list(range(len(order))) else g.Transpose(x, perm=list(order))


def _counted(g: GraphBuilder, self: Value, indices: Sequence[Value | None]) -> Value | None:
    """The tensor itself, its axes moved, where every axis is indexed by all its positions in order.

    Attention masks are read so: mask[arange(batch)[:, None, None, None], arange(keys)].
    """
    if len(indices) != self.rank or any(i is None or i.sizes is None for i in indices):
        return None
    width = max(i.rank for i in indices if i is not None)
    places = [None if i is None else _count_axis(i, self.dim(axis), width) for axis, i in enumerate(indices)]
    found = [p for p in places if p is not None]
    if len(set(found)) < self.rank:
        return None
    order = sorted(range(self.rank), key=lambda axis: found[axis])
    moved = _moved(g, self, order)
    added = [i for i in range(width) if i not in found]
    return g.Unsqueeze(moved, added) if added else moved


def _count_axis(index: Value, size: Any, width: int) -> int | None:
    """The axis of an index tensor along which it counts 0, 1 ... size-1, being one long in all others."""
    long = [i for i, s in enumerate(index.sizes or ()) if s != 1]
    source: Any = index
    while (node := source.producer()) is not None and node.op_type in ("Unsqueeze", "Reshape", "Add", "Cast"):
        if node.op_type == "Add" and not (node.inputs[1].array is not None and not node.inputs[1].array.any()):
            return None
        source = node.inputs[0]
    if len(long) != 1 or node is None or node.op_type != "Range" or size is None:
        return None
    start, limit, step = (v.dims for v in node.inputs)
    return long[0] + width - index.rank if (start, limit, step) == ((0,), (size,), (1,)) else None


@symbolic("aten", "index.Tensor", "_unsafe_index.Tensor")
def index(g: GraphBuilder, self: Value, indices: Sequence[Value | None]) -> Value:
    """aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"""
    if all(i is None for i in indices):
        return self
    if self.rank == 0:
        return g.reshape(index(g, g.Unsqueeze(self, [0]), [g.Unsqueeze(i, [0]) for i in indices if i is not None]),
                         [-1])  # fmt: skip
    counted = _counted(g, self, indices)
    if counted is not None:
        return counted
    plan = _Plan(g, self.rank, indices)
    if plan.index is None:
        return g.Gather(self, plan.parts[0], axis=plan.axes[0])
    picked = g.GatherND(_moved(g, self, plan.order), plan.index)
    return _moved(g, picked, plan.result_order(picked.rank))


@symbolic("aten", "index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(
    g: GraphBuilder, self: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False,
    unsafe: bool = False,
) -> Value:  # fmt: skip
    """aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"""
    values = cast(g, values, self.element)
    only = next(i for i in indices if i is not None)
    if len(indices) == 1 and only.dtype == DataType.BOOL and not values.rank and not accumulate:
        mask = g.Unsqueeze(only, list(range(only.rank, self.rank))) if only.rank < self.rank else only
        return where(g, mask, values, self)
    plan = _Plan(g, self.rank, indices)
    at = plan.index if plan.index is not None else g.Unsqueeze(plan.parts[0], [-1])
    base = _moved(g, self, plan.order)
    lead: list[Any] = [size_at(g, at, i) for i in range(at.rank - 1)]
    rest = [size_at(g, base, i) for i in range(len(plan.axes), base.rank)]
    layout = plan.result_order(len(lead) + len(rest))
    whole = [*lead, *rest]
    updates = g.expand(values, [whole[i] for i in layout])
    updates = _moved(g, updates, [layout.index(i) for i in range(len(layout))])
    written = _scatter_nd(g, base, at, updates, accumulate)
    back = [plan.order.index(i) for i in range(self.rank)]
    return _moved(g, written, back)


def _scatter_nd(g: GraphBuilder, base: Value, at: Value, updates: Value, accumulate: bool) -> Value:
    dtype = base.element
    if dtype in NARROW or (dtype == DataType.BOOL and accumulate):
        base, updates = cast(g, base, DataType.INT32), cast(g, updates, DataType.INT32)
    elif dtype in (DataType.FLOAT16, DataType.BFLOAT16) and accumulate:
        base, updates = cast(g, base, DataType.FLOAT), cast(g, updates, DataType.FLOAT)
    return cast(g, g.ScatterND(base, at, updates, reduction="add" if accumulate else "none"), dtype)


@symbolic("aten", "masked_select")
def masked_select(g: GraphBuilder, self: Value, mask: Value) -> Value:
    """aten::masked_select(Tensor self, Tensor mask) -> Tensor"""
    x, flags = broadcast_tensors(g, [self, mask])
    if x.rank == 0:
        x, flags = g.reshape(x, [1]), g.reshape(flags, [1])
    return g.Compress(g.reshape(x, [-1]), g.reshape(flags, [-1]), axis=0)


@symbolic("aten", "masked_scatter")
def masked_scatter(g: GraphBuilder, self: Value, mask: Value, source: Value) -> Value:
    """aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor"""
    x, flags = broadcast_tensors(g, [self, mask])
    shape = sizes(g, x)
    flat, flags = g.reshape(x, [-1]), g.reshape(flags, [-1])
    place = g.Sub(g.CumSum(cast(g, flags, DataType.INT64), 0), 1)
    values = g.Gather(g.reshape(source, [-1]), g.Max(place, 0), axis=0)
    return g.reshape(where(g, flags, values, flat), shape)


@symbolic("aten", "nonzero")
def nonzero(g: GraphBuilder, self: Value) -> Value:
    """aten::nonzero(Tensor self) -> Tensor"""
    self = cast(g, self, DataType.BOOL) if self.dtype == DataType.DOUBLE else self  # no kernel
    if self.rank == 0:
        return g.Slice(g.Transpose(g.NonZero(g.reshape(self, [1])), perm=[1, 0]), [0], [0], [1])
    return g.Transpose(g.NonZero(self), perm=[1, 0])


@symbolic("aten", "nonzero_numpy", "where.default")
def nonzero_numpy(g: GraphBuilder, self: Value) -> list[Value]:
    """aten::nonzero_numpy(Tensor self) -> Tensor[]"""
    self = g.reshape(self, [1]) if self.rank == 0 else self
    places = g.NonZero(cast(g, self, DataType.BOOL) if self.dtype == DataType.DOUBLE else self)
    return [g.Gather(places, g.constant(np.array(i, np.int64)), axis=0) for i in range(self.rank)]


# --- scatter ---------------------------------------------------------------------------------------------------------

_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def _scatter(g: GraphBuilder, self: Value, dim: int, index: Value, src: Value, reduction: str = "none") -> Value:
    if self.rank == 0:
        flat = _scatter(g, g.reshape(self, [1]), 0, g.reshape(index, [1]), g.reshape(src, [1]), reduction)
        return g.reshape(flat, [])
    if index.rank == 0:
        index, src = g.reshape(index, [1]), g.reshape(src, [1])
    dtype = self.element
    if src.sizes != index.sizes:  # only the part of src that the index covers is written
        ends = g.shape_vector(sizes(g, index))
        src = g.Slice(src, [0] * src.rank, ends, list(range(src.rank)))
    if dtype in NARROW or (dtype == DataType.BOOL and reduction != "none"):
        self, src = cast(g, self, DataType.INT32), cast(g, src, DataType.INT32)
    elif dtype in (DataType.FLOAT16, DataType.BFLOAT16) and reduction != "none":
        self, src = cast(g, self, DataType.FLOAT), cast(g, src, DataType.FLOAT)
    result = g.ScatterElements(
        self, cast(g, index, DataType.INT64), src, axis=axis_of(dim, self.rank), reduction=reduction
    )  # fmt: skip
    return cast(g, result, dtype)


@symbolic("aten", "scatter.src", "scatter.reduce")
def scatter(g: GraphBuilder, self: Value, dim: int, index: Value, src: Value, reduce: str = "") -> Value:
    """aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"""
    return _scatter(g, self, dim, index, src, _REDUCTIONS[reduce] if reduce else "none")


@symbolic("aten", "scatter.value", "scatter.value_reduce")
def scatter_value(g: GraphBuilder, self: Value, dim: int, index: Value, value: Scalar, reduce: str = "") -> Value:
    """aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"""
    src = g.expand(value_of(g, value, self.element), sizes(g, index))
    return _scatter(g, self, dim, index, src, _REDUCTIONS[reduce] if reduce else "none")


@symbolic("aten", "scatter_add")
def scatter_add(g: GraphBuilder, self: Value, dim: int, index: Value, src: Value) -> Value:
    """aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"""
    return _scatter(g, self, dim, index, src, "add")


@symbolic("aten", "scatter_reduce.two")
def scatter_reduce(
    g: GraphBuilder, self: Value, dim: int, index: Value, src: Value, reduce: str, include_self: bool = True
) -> Value:
    """aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, ...) -> Tensor"""
    index = g.reshape(index, [1]) if index.rank == 0 and self.rank else index
    base = self
    if not include_self:
        # what is written to starts from the neutral element
        neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": _bound(self, "lowest"), "amin": _bound(self, "highest")}
        base = scatter_value(g, self, dim, index, neutral[reduce])
    if reduce != "mean":
        return _scatter(g, base, dim, index, src, _REDUCTIONS[reduce])
    summed = _scatter(g, base, dim, index, src, "add")
    one = g.constant(np.array(1, self.element.numpy()))
    start = g.expand(one, sizes(g, self))
    if not include_self:
        start = scatter_value(g, start, dim, index, 0)
    counts = _scatter(g, start, dim, index, g.expand(one, sizes(g, index)), "add")
    from .arithmetic import div

    return cast(g, div(g, summed, counts, None if result_type(self) in _FLOATS else "floor"), self.element)


_FLOATS = (DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT, DataType.DOUBLE)


def _bound(x: Value, side: str) -> Any:
    if x.element in _FLOATS:
        return -np.inf if side == "lowest" else np.inf
    info = np.iinfo(x.element.numpy()) if x.element != DataType.BOOL else None
    if info is None:
        return side == "highest"
    return int(info.min if side == "lowest" else info.max)


def _along(g: GraphBuilder, like: Value, dim: int, index: Value, source: Value) -> tuple[Value, Value]:
    """A one-dimensional index spread over the source's shape."""
    axis = axis_of(dim, like.rank)
    shape = sizes(g, source)
    index = g.reshape(index, [1]) if index.rank == 0 else index
    spread = g.reshape(index, [1] * axis + [size_at(g, index, 0)] + [1] * (like.rank - axis - 1))
    return g.expand(spread, shape), source


@symbolic("aten", "index_add")
def index_add(g: GraphBuilder, self: Value, dim: int, index: Value, source: Value, alpha: Scalar = 1) -> Value:
    """aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"""
    if self.rank == 0:
        return g.reshape(index_add(g, g.reshape(self, [1]), 0, index, g.reshape(source, [1]), alpha), [])
    if alpha != 1:
        times = g.And if source.dtype == DataType.BOOL else g.Mul
        source = times(source, value_of(g, alpha, source.element))
    at, src = _along(g, self, dim, index, source)
    return _scatter(g, self, dim, at, src, "add")


@symbolic("aten", "index_copy")
def index_copy(g: GraphBuilder, self: Value, dim: int, index: Value, source: Value) -> Value:
    """aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"""
    if self.rank == 0:
        return g.reshape(source, [])
    at, src = _along(g, self, dim, index, source)
    return _scatter(g, self, dim, at, src)


@symbolic("aten", "index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(g: GraphBuilder, self: Value, dim: int, index: Value, value: Scalar) -> Value:
    """aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"""
    if self.rank == 0:
        return value_of(g, value, self.element)
    axis = axis_of(dim, self.rank)
    index = g.reshape(index, [1]) if index.rank == 0 else index
    shape = [size_at(g, index, 0) if i == axis else s for i, s in enumerate(sizes(g, self))]
    at = g.expand(g.reshape(index, [1] * axis + [size_at(g, index, 0)] + [1] * (self.rank - axis - 1)), shape)
    return _scatter(g, self, dim, at, g.expand(value_of(g, value, self.element), shape))


@symbolic("aten", "index_reduce")
def index_reduce(
    g: GraphBuilder, self: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    """aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, ...) -> Tensor"""
    if self.rank == 0:
        one = index_reduce(g, g.reshape(self, [1]), 0, index, g.reshape(source, [1]), reduce, include_self)
        return g.reshape(one, [])
    at, src = _along(g, self, dim, index, source)
    return scatter_reduce(g, self, dim, at, src, reduce, include_self)


@symbolic("aten", "select_scatter")
def select_scatter(g: GraphBuilder, self: Value, src: Value, dim: int, index: Any) -> Value:
    """aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"""
    axis = axis_of(dim, self.rank)
    if isinstance(index, int) and index < 0:
        index = index + size_at(g, self, axis)
    return slice_scatter(g, self, g.Unsqueeze(src, [axis]), axis, index, index + 1)


@symbolic("aten", "slice_scatter")
def slice_scatter(
    g: GraphBuilder, self: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Value:
    """aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, ...) -> Tensor"""
    axis = axis_of(dim, self.rank)
    src = g.expand(cast(g, src, self.element), sizes(g, src))
    if step == 1 and _ordered(start, end):
        parts = [] if start in (None, 0) else [slice(g, self, axis, 0, start)]
        parts += [src] if end is None or end == _END else [src, slice(g, self, axis, end)]
        return g.Concat(*parts, axis=axis) if len(parts) > 1 else src
    total = size_at(g, self, axis)
    places = g.Range(0, total if isinstance(total, Value) else g.size(total), 1)
    chosen = slice(g, places, 0, start, end, step)
    shape = [1] * axis + [-1] + [1] * (self.rank - axis - 1)
    whole = [size_at(g, src, i) if i == axis else s for i, s in enumerate(sizes(g, self))]
    return _scatter(g, self, axis, g.expand(g.Reshape(chosen, shape), whole), g.expand(src, whole))


def _ordered(start: Any, end: Any) -> bool:
    """Whether a slice starts before its end, whatever the size: what lies before and behind it doesn't overlap."""
    if start in (None, 0) or end is None or end == _END:
        return True
    return isinstance(start, int) and isinstance(end, int) and (start < 0) == (end < 0) and start <= end


@symbolic("aten", "diagonal_scatter")
def diagonal_scatter(g: GraphBuilder, self: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"""
    from .shape import diagonal

    shape = sizes(g, self)
    positions = g.reshape(g.Range(0, g.Size(self), 1), shape)
    at = g.reshape(diagonal(g, positions, offset, dim1, dim2), [-1])
    written = _scatter(g, g.reshape(self, [-1]), 0, at, g.reshape(src, [-1]))
    return g.reshape(written, shape)


@symbolic("aten", "put")
def put(g: GraphBuilder, self: Value, index: Value, source: Value, accumulate: bool = False) -> Value:
    """aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor"""
    flat, at, src = (g.reshape(v, [-1]) for v in (self, index, source))
    written = _scatter(g, flat, 0, at, src, "add" if accumulate else "none")
    return g.reshape(written, sizes(g, self))
