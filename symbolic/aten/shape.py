"""Ops that move elements without computing: views, joins, splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim, product
from ..nn import sizes as measures
from ..nn.sizes import axis_of as axis_of
from ..registry import symbolic
from ..value import Value
from .promotion import NARROW, DataType, cast, compute, is_float, result_type, unsupported

Sizes = Sequence[Any]
#: Size of an axis: int or Dim where it is known, else an int64 scalar.
size_at: Callable[[GraphBuilder, Value, int], Any] = measures.size_at
#: Sizes of all axes, each as `size_at` gives it.
sizes: Callable[[GraphBuilder, Value], list[Any]] = measures.sizes_of


def merged(g: GraphBuilder, parts: Sequence[Any]) -> Any:
    """Product of sizes; -1 (inferred) where one is known only at run time."""
    return -1 if any(isinstance(p, Value) for p in parts) else product(parts)


def move(g: GraphBuilder, x: Value, order: Sequence[int]) -> Value:
    """Transpose, unless the order is as it was."""
    return x if list(order) == list(range(len(order))) else g.Transpose(x, perm=list(order))


@symbolic("aten", "view", "reshape", "_unsafe_view", "view_copy", "_reshape_alias")
def view(g: GraphBuilder, self: Value, size: Sizes, stride: Any = None) -> Value:
    """aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"""
    return g.reshape(self, list(size))


@symbolic("aten", "view.dtype")
def view_dtype(g: GraphBuilder, self: Value, dtype: DataType) -> Value:
    """aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)"""
    if dtype.itemsize != self.element.itemsize:
        raise unsupported(f"a view of {self.element.name} as {dtype.name}", g)
    return g.call("BitCast", self, to=dtype) if self.dtype != dtype else self


@symbolic("aten", "view_as", "reshape_as")
def view_as(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)"""
    return g.reshape(self, sizes(g, other))


@symbolic("aten", "expand_as")
def expand_as(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)"""
    return g.expand(self, sizes(g, other))


@symbolic("aten", "expand", "expand_copy")
def expand(g: GraphBuilder, self: Value, size: Sizes, implicit: bool = False) -> Value:
    """aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)"""
    lead = len(size) - self.rank
    wanted = [size_at(g, self, i - lead) if isinstance(s, int) and s == -1 else s for i, s in enumerate(size)]
    return g.expand(self, wanted)


@symbolic("aten", "broadcast_to")
def broadcast_to(g: GraphBuilder, self: Value, size: Sizes) -> Value:
    """aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)"""
    return expand(g, self, size)


@symbolic("aten", "broadcast_tensors")
def broadcast_tensors(g: GraphBuilder, tensors: Sequence[Value]) -> list[Value]:
    """aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]"""
    from ..infer import broadcast

    common = broadcast(*(t.sizes for t in tensors))
    if common is not None and None not in common:
        return [g.expand(t, list(common)) for t in tensors]
    total: Value = g.Shape(tensors[0])
    for other in tensors[1:]:
        total = g.Shape(g.Expand(g.ConstantOfShape(total), g.Shape(other)))
    return [g.Expand(t, total) for t in tensors]


@symbolic("aten", "permute", "permute_copy")
def permute(g: GraphBuilder, self: Value, dims: Sequence[int]) -> Value:
    """aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)"""
    return move(g, self, [axis_of(d, self.rank) for d in dims])


@symbolic("aten", "transpose.int", "swapaxes", "swapdims", "transpose_copy")
def transpose(g: GraphBuilder, self: Value, dim0: int, dim1: int) -> Value:
    """aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"""
    if self.rank == 0:
        return self
    order = list(range(self.rank))
    a, b = axis_of(dim0, self.rank), axis_of(dim1, self.rank)
    order[a], order[b] = order[b], order[a]
    return move(g, self, order)


@symbolic("aten", "t", "t_copy", "numpy_T")
def t(g: GraphBuilder, self: Value) -> Value:
    """aten::t(Tensor(a) self) -> Tensor(a)"""
    return move(g, self, list(range(self.rank))[::-1])


@symbolic("aten", "mT", "mH", "adjoint", "matrix_H")
def matrix_transpose(g: GraphBuilder, self: Value) -> Value:
    """aten::mT(Tensor(a) self) -> Tensor(a)"""
    return transpose(g, self, -2, -1)


@symbolic("aten", "movedim.int", "moveaxis.int")
def movedim_int(g: GraphBuilder, self: Value, source: int, destination: int) -> Value:
    """aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)"""
    return movedim(g, self, [source], [destination])


@symbolic("aten", "movedim.intlist", "moveaxis.intlist")
def movedim(g: GraphBuilder, self: Value, source: Sequence[int], destination: Sequence[int]) -> Value:
    """aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)"""
    froms = [axis_of(s, self.rank) for s in source]
    targets = [axis_of(d, self.rank) for d in destination]
    order = [i for i in range(self.rank) if i not in froms]
    for target, source_axis in sorted(zip(targets, froms, strict=True)):
        order.insert(target, source_axis)
    return move(g, self, order)


@symbolic("aten", "flatten.using_ints")
def flatten(g: GraphBuilder, self: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)"""
    if self.rank == 0:
        return g.reshape(self, [1])
    start, end = axis_of(start_dim, self.rank), axis_of(end_dim, self.rank)
    if start == end:
        return self
    all_sizes = sizes(g, self)
    return g.reshape(self, [*all_sizes[:start], merged(g, all_sizes[start : end + 1]), *all_sizes[end + 1 :]])


@symbolic("aten", "ravel")
def ravel(g: GraphBuilder, self: Value) -> Value:
    """aten::ravel(Tensor(a) self) -> Tensor(a)"""
    return g.reshape(self, [-1])


@symbolic("aten", "unflatten.int")
def unflatten(g: GraphBuilder, self: Value, dim: int, sizes_: Sizes = (), **named: Any) -> Value:
    """aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)"""
    axis = axis_of(dim, self.rank)
    inner = list(named.get("sizes", sizes_))
    outer = sizes(g, self)
    if -1 in inner:
        known = product(s for s in inner if not (isinstance(s, int) and s == -1))
        total = outer[axis]
        inner[inner.index(-1)] = total // known if not isinstance(total, Value) else -1
    return g.reshape(self, [*outer[:axis], *inner, *outer[axis + 1 :]])


@symbolic("aten", "unsqueeze", "unsqueeze_copy")
def unsqueeze(g: GraphBuilder, self: Value, dim: int) -> Value:
    """aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)"""
    return g.Unsqueeze(self, [dim])


@symbolic("aten", "squeeze.default", "squeeze_copy.default")
def squeeze(g: GraphBuilder, self: Value) -> Value:
    """aten::squeeze(Tensor(a) self) -> Tensor(a)"""
    return squeeze_dims(g, self, list(range(self.rank)))


@symbolic("aten", "squeeze.dim", "squeeze_copy.dim")
def squeeze_dim(g: GraphBuilder, self: Value, dim: int) -> Value:
    """aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)"""
    return squeeze_dims(g, self, [dim])


@symbolic("aten", "squeeze.dims", "squeeze_copy.dims")
def squeeze_dims(g: GraphBuilder, self: Value, dim: Sequence[int]) -> Value:
    """aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)"""
    # an open axis isn't squeezed: the capture has taken it to be another size than 1
    axes = [axis_of(d, self.rank) for d in dim]
    gone = [a for a in dict.fromkeys(axes) if self.rank and self.dim(a) == 1]
    return g.Squeeze(self, gone) if gone else self


@symbolic("aten", "cat", "concat", "concatenate")
def cat(g: GraphBuilder, tensors: Sequence[Value], dim: int = 0) -> Value:
    """aten::cat(Tensor[] tensors, int dim=0) -> Tensor"""
    dtype = result_type(*tensors)
    kept = [x for x in tensors if x.sizes != (0,)] or list(tensors[:1])  # old style empty tensors don't count
    if len(kept) == 1:
        return cast(g, kept[0], dtype)
    return g.Concat(*(cast(g, x, dtype) for x in kept), axis=axis_of(dim, kept[0].rank))


@symbolic("aten", "stack")
def stack(g: GraphBuilder, tensors: Sequence[Value], dim: int = 0) -> Value:
    """aten::stack(Tensor[] tensors, int dim=0) -> Tensor"""
    dtype = result_type(*tensors)
    axis = axis_of(dim, tensors[0].rank + 1)
    return g.Concat(*(g.Unsqueeze(cast(g, x, dtype), [axis]) for x in tensors), axis=axis)


def cut(g: GraphBuilder, x: Value, axis: int, parts: Sequence[Any]) -> list[Value]:
    """Splits an axis into parts of these sizes."""
    if len(parts) == 1:
        return [x]
    results = g.Split(x, g.shape_vector(parts), axis=axis, outputs=len(parts))
    return list(results)


@symbolic("aten", "split.Tensor", "split_copy.Tensor")
def split(g: GraphBuilder, self: Value, split_size: Any, dim: int = 0, outputs: Any = 1) -> list[Value]:
    """aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]"""
    axis = axis_of(dim, self.rank)
    total = self.dim(axis)
    if not isinstance(total, int) or not isinstance(split_size, int):
        quotient = None if total is None else total // split_size
        if not isinstance(quotient, int):
            raise unsupported("a split of an axis of open size into parts of fixed size", g)
        return cut(g, self, axis, [split_size] * quotient)
    if total == 0:
        return [self]
    parts = [min(split_size, total - start) for start in range(0, total, split_size)]
    return cut(g, self, axis, parts)


@symbolic("aten", "split_with_sizes", "split.sizes", "split_with_sizes_copy")
def split_with_sizes(g: GraphBuilder, self: Value, split_sizes: Sizes, dim: int = 0) -> list[Value]:
    """aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]"""
    return cut(g, self, axis_of(dim, self.rank), list(split_sizes))


@symbolic("aten", "chunk")
def chunk(g: GraphBuilder, self: Value, chunks: int, dim: int = 0) -> list[Value]:
    """aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"""
    axis = axis_of(dim, self.rank)
    total = self.dim(axis)
    if not isinstance(total, int):
        if total is None:
            raise unsupported("chunks of an axis of unknown size", g)
        # as many as at the captured size, the last one shorter
        length = (total + chunks - 1) // chunks
        return cut(g, self, axis, [*[length] * (chunks - 1), total - length * (chunks - 1)])
    return split(g, self, max(-(-total // chunks), 1), axis)


@symbolic("aten", "tensor_split.sections")
def tensor_split(g: GraphBuilder, self: Value, sections: int, dim: int = 0) -> list[Value]:
    """aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]"""
    axis = axis_of(dim, self.rank)
    total = self.dim(axis)
    if total is None or not isinstance(sections, int):
        raise unsupported("sections of an axis of unknown size, or in an open number", g)
    if not isinstance(total, int):
        return cut(g, self, axis, [(total + sections - 1 - i) // sections for i in range(sections)])
    return cut(g, self, axis, [total // sections + (i < total % sections) for i in range(sections)])


@symbolic("aten", "unbind.int", "unbind_copy.int")
def unbind(g: GraphBuilder, self: Value, dim: int = 0) -> list[Value]:
    """aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]"""
    axis = axis_of(dim, self.rank)
    total = self.dim(axis)
    if not isinstance(total, int):
        raise unsupported("unbinding an axis of open size", g)
    return [g.Squeeze(part, [axis]) for part in cut(g, self, axis, [1] * total)]


@symbolic("aten", "flip")
def flip(g: GraphBuilder, self: Value, dims: Sequence[int]) -> Value:
    """aten::flip(Tensor self, int[] dims) -> Tensor"""
    axes = [axis_of(d, self.rank) for d in dims]
    if not axes or not self.rank:
        return self
    count = len(axes)
    last = [np.iinfo(np.int64).min + 1] * count
    return g.Slice(self, [-1] * count, last, axes, [-1] * count)


@symbolic("aten", "fliplr")
def fliplr(g: GraphBuilder, self: Value) -> Value:
    """aten::fliplr(Tensor self) -> Tensor"""
    return flip(g, self, [1])


@symbolic("aten", "flipud")
def flipud(g: GraphBuilder, self: Value) -> Value:
    """aten::flipud(Tensor self) -> Tensor"""
    return flip(g, self, [0])


@symbolic("aten", "roll")
def roll(g: GraphBuilder, self: Value, shifts: Sizes, dims: Sequence[int] | int = ()) -> Value:
    """aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"""
    if not isinstance(dims, int) and not dims:
        return g.reshape(roll(g, g.reshape(self, [-1]), shifts, [0]), sizes(g, self))
    x = self
    steps = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    for shift, dim in zip(steps, [dims] if isinstance(dims, int) else dims, strict=True):
        axis = axis_of(dim, x.rank)
        size = x.dim(axis)
        if isinstance(size, int) and isinstance(shift, int):
            shift = shift % size if size else 0
            if not shift:
                continue
        else:
            steps_back: Any = g.size(shift) if isinstance(shift, Dim) else shift
            index = g.Range(0, g.size(size_at(g, x, axis)) if size is not None else size_at(g, x, axis), 1)
            total = size_at(g, x, axis)
            total = total if isinstance(total, Value) else g.size(total)
            x = g.Gather(x, g.Mod(g.Sub(index, steps_back), total), axis=axis)
            continue
        head = g.Slice(x, [-shift], [np.iinfo(np.int64).max], [axis])
        tail = g.Slice(x, [0], [-shift], [axis])
        x = g.Concat(head, tail, axis=axis)
    return x


@symbolic("aten", "repeat")
def repeat(g: GraphBuilder, self: Value, repeats: Sizes) -> Value:
    """aten::repeat(Tensor self, SymInt[] repeats) -> Tensor"""
    lead = len(repeats) - self.rank
    x = g.reshape(self, [1] * lead + sizes(g, self)) if lead else self
    if all(isinstance(r, int) and r == 1 for r in repeats):
        return x
    return g.Tile(x, g.shape_vector(list(repeats)))


@symbolic("aten", "tile")
def tile(g: GraphBuilder, self: Value, dims: Sizes) -> Value:
    """aten::tile(Tensor self, SymInt[] dims) -> Tensor"""
    return repeat(g, self, [1] * (self.rank - len(dims)) + list(dims))


@symbolic("aten", "repeat_interleave.self_int")
def repeat_interleave(
    g: GraphBuilder, self: Value, repeats: Any, dim: int | None = None, output_size: Any = None
) -> Value:
    """aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size) -> Tensor"""
    if dim is None:
        self, dim = g.reshape(self, [-1]), 0
    axis = axis_of(dim, self.rank)
    own = sizes(g, self)
    if isinstance(own[axis], Value):
        return g.reshape(
            g.expand(g.Unsqueeze(self, [axis + 1]), [*own[: axis + 1], repeats, *own[axis + 1 :]]),
            [*own[:axis], -1, *own[axis + 1 :]],
        )
    wide = g.expand(g.Unsqueeze(self, [axis + 1]), [*own[: axis + 1], repeats, *own[axis + 1 :]])
    return g.reshape(wide, [*own[:axis], own[axis] * repeats, *own[axis + 1 :]])


@symbolic("aten", "repeat_interleave.Tensor")
def repeat_interleave_index(g: GraphBuilder, repeats: Value, output_size: Any = None) -> Value:
    """aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor"""
    # result i belongs to the first element whose running sum of repeats is above i
    ends = g.CumSum(cast(g, repeats, DataType.INT64), g.constant(np.array(0, np.int64)))
    total = g.ReduceMax(g.Concat(ends, np.array([0], np.int64), axis=0), keepdims=0)
    passed = g.LessOrEqual(ends, g.Unsqueeze(g.Range(0, total, 1), [1]))
    return cast(g, g.ReduceSum(cast(g, passed, DataType.INT64), [1], keepdims=0), repeats.element)


@symbolic("aten", "repeat_interleave.self_Tensor")
def repeat_interleave_tensor(
    g: GraphBuilder, self: Value, repeats: Value, dim: int | None = None, output_size: Any = None
) -> Value:
    """aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, ...) -> Tensor"""
    if dim is None:
        self, dim = g.reshape(self, [-1]), 0
    if self.rank == 0:
        self = g.reshape(self, [1])
    axis = axis_of(dim, self.rank)
    if repeats.rank == 0 or repeats.dim(0) == 1:
        repeats = g.expand(g.reshape(repeats, [1]), [size_at(g, self, axis)])
    return g.Gather(self, cast(g, repeat_interleave_index(g, repeats), DataType.INT64), axis=axis)


@symbolic("aten", "meshgrid")
def meshgrid(g: GraphBuilder, tensors: Sequence[Value], indexing: str = "ij") -> list[Value]:
    """aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"""
    count = len(tensors)
    flat = [g.reshape(x, [-1]) if x.rank != 1 else x for x in tensors]
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[0], order[1] = 1, 0
    lengths = [size_at(g, flat[i], 0) for i in order]
    results = []
    for i, x in enumerate(flat):
        place = order.index(i)
        shaped = g.reshape(x, [1] * place + [lengths[place]] + [1] * (count - place - 1))
        results.append(g.expand(shaped, lengths))
    return results


def _triangle(g: GraphBuilder, x: Value, diagonal: Any, upper: int) -> Value:
    k = g.constant(diagonal) if isinstance(diagonal, int) else g.size(diagonal)
    if x.dtype == DataType.BOOL or x.dtype in NARROW:
        return cast(g, g.Trilu(cast(g, x, DataType.INT64), k, upper=upper), x.element)
    return g.Trilu(x, k, upper=upper)


@symbolic("aten", "tril")
def tril(g: GraphBuilder, self: Value, diagonal: Any = 0) -> Value:
    """aten::tril(Tensor self, SymInt diagonal=0) -> Tensor"""
    return _triangle(g, self, diagonal, 0)


@symbolic("aten", "triu")
def triu(g: GraphBuilder, self: Value, diagonal: Any = 0) -> Value:
    """aten::triu(Tensor self, SymInt diagonal=0) -> Tensor"""
    return _triangle(g, self, diagonal, 1)


@symbolic("aten", "diagonal", "diagonal_copy")
def diagonal(g: GraphBuilder, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)"""
    a, b = axis_of(dim1, self.rank), axis_of(dim2, self.rank)
    others = [i for i in range(self.rank) if i not in (a, b)]
    x = move(g, self, [a, b, *others])
    rows, columns = (size_at(g, x, i) for i in (0, 1))
    first, second = max(-offset, 0), max(offset, 0)
    length = _diagonal_length(g, rows, columns, first, second)
    index = g.Range(0, length if isinstance(length, Value) else g.size(length), 1)
    pairs = g.Concat(
        g.Unsqueeze(g.Add(index, first), [1]), g.Unsqueeze(g.Add(index, second), [1]), axis=1
    )  # fmt: skip
    picked = g.GatherND(x, pairs)
    return move(g, picked, [*range(1, picked.rank), 0])


def _diagonal_length(g: GraphBuilder, rows: Any, columns: Any, first: int, second: int) -> Any:
    from ..dims import call

    if isinstance(rows, Value) or isinstance(columns, Value):
        low = g.Min(*(s if isinstance(s, Value) else g.size(s) for s in (rows - first, columns - second)))
        return g.Max(low, 0)
    shortest = call("min", rows - first, columns - second)
    return max(shortest, 0) if isinstance(shortest, int) else shortest


@symbolic("aten", "diag_embed")
def diag_embed(g: GraphBuilder, self: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"""
    from .creation import eye
    from .padding import constant_pad_nd

    length = size_at(g, self, -1)
    rank = self.rank + 1
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    pick = eye(g, length, DataType.BOOL) if not isinstance(length, Value) else _open_eye(g, length)
    zero = g.constant(np.zeros((), self.element.numpy()))
    from .promotion import where

    square = where(g, pick, g.Unsqueeze(self, [-1]), zero)
    shift = abs(offset)
    pads = [shift, 0, 0, shift] if offset > 0 else [0, shift, shift, 0]
    square = constant_pad_nd(g, square, pads, 0) if offset else square
    order = list(range(rank - 2))
    for axis, source in sorted([(a, rank - 2), (b, rank - 1)]):
        order.insert(axis, source)
    return move(g, square, order)


def _open_eye(g: GraphBuilder, length: Value) -> Value:
    index = g.Range(0, length, 1)
    return g.Equal(g.Unsqueeze(index, [1]), g.Unsqueeze(index, [0]))


@symbolic("aten", "unfold", "unfold_copy")
def unfold(g: GraphBuilder, self: Value, dimension: int, size: int, step: int) -> Value:
    """aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)"""
    if self.rank == 0:
        return g.reshape(self, [1])
    axis = axis_of(dimension, self.rank)
    total = size_at(g, self, axis)
    count = (total - size) // step + 1 if not isinstance(total, Value) else g.Add(g.Div(g.Sub(total, size), step), 1)
    starts = g.Mul(g.Range(0, count if isinstance(count, Value) else g.size(count), 1), step)
    index = g.Add(g.Unsqueeze(starts, [1]), g.constant(np.arange(size)))
    windows = g.Gather(self, index, axis=axis)  # (..., count, size, ...)
    order = [i for i in range(windows.rank) if i != axis + 1] + [axis + 1]
    return move(g, windows, order)


@symbolic("aten", "pixel_shuffle")
def pixel_shuffle(g: GraphBuilder, self: Value, upscale_factor: int) -> Value:
    """aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"""
    if self.rank == 4 and is_float(self.element):  # onnxruntime has no kernel for integers
        return g.DepthToSpace(self, blocksize=upscale_factor, mode="CRD")
    *batch, c, h, w = sizes(g, self)
    r = upscale_factor
    x = g.reshape(self, [*batch, c // (r * r), r, r, h, w])
    n = len(batch)
    x = move(g, x, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return g.reshape(x, [*batch, c // (r * r), h * r, w * r])


@symbolic("aten", "pixel_unshuffle")
def pixel_unshuffle(g: GraphBuilder, self: Value, downscale_factor: int) -> Value:
    """aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"""
    *batch, c, h, w = sizes(g, self)
    r = downscale_factor
    x = g.reshape(self, [*batch, c, h // r, r, w // r, r])
    n = len(batch)
    x = move(g, x, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return g.reshape(x, [*batch, c * r * r, h // r, w // r])


@symbolic("aten", "channel_shuffle", "native_channel_shuffle")
def channel_shuffle(g: GraphBuilder, self: Value, groups: int) -> Value:
    """aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor"""
    n, c, *rest = sizes(g, self)
    x = g.reshape(self, [n, groups, c // groups, *rest])
    return g.reshape(move(g, x, [0, 2, 1, *range(3, x.rank)]), [n, c, *rest])


@symbolic("aten", "one_hot")
def one_hot(g: GraphBuilder, self: Value, num_classes: Any = -1) -> Value:
    """aten::one_hot(Tensor self, int num_classes=-1) -> Tensor"""
    if num_classes == -1:
        largest = g.ReduceMax(self, keepdims=0)
        classes = g.Range(0, g.Add(largest, 1), 1)
    else:
        classes = g.Range(0, g.size(num_classes), 1)
    return cast(g, compute(g, "Equal", g.Unsqueeze(self, [-1]), classes), DataType.INT64)


@symbolic("aten", "numel", "sym_numel")
def numel(g: GraphBuilder, self: Value) -> Value:
    """aten::numel(Tensor self) -> int"""
    return g.Size(self)
