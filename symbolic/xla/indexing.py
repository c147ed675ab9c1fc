"""Gather, scatter and slices that start at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Dim, Size
from ..value import Value
from .kernels import FLOATS, call
from .pointwise import scalar, select
from .reductions import identity
from .region import Region
from .shapes import slice_, transpose

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: What happens outside the operand: the start is moved inside, or the element is filled (gather) or dropped (scatter).
CLIP, FILL_OR_DROP = "CLIP", "FILL_OR_DROP"
_FAR = 2**62


@dataclass(frozen=True)
class Numbers:
    """Dimension numbers of a gather or scatter.

    Attributes:
        window: Axes of the result (gather) or updates (scatter) that come from slices.
        collapsed: Axes of the operand whose slices, of size one, leave no axis.
        indexed: Axes of the operand that the components of an index stand for.
        operand_batch: Axes of the operand in common with the indices.
        index_batch: The same axes of the indices.
    """

    window: Sequence[int]
    collapsed: Sequence[int]
    indexed: Sequence[int]
    operand_batch: Sequence[int] = field(default=())
    index_batch: Sequence[int] = field(default=())


# --- index arithmetic ------------------------------------------------------------------------------------------------


def _last(size: Size, window: Size) -> Size:
    """The last place where a window still lies inside."""
    return size - window


def _as_int64(g: GraphBuilder, x: Value) -> Value:
    return x if x.element is _T.INT64 else g.Cast(x, to=_T.INT64)


def clamped(g: GraphBuilder, start: Value, last: Size) -> Value:
    """An int64 index moved into 0 ... last."""
    if start.array is not None and isinstance(last, int):
        return g.constant(np.clip(start.array, 0, last).astype(np.int64))
    high = g.size(last) if isinstance(last, Dim) else g.constant(np.array(last, np.int64))
    return g.Min(g.Max(start, 0), high)


def _outside(g: GraphBuilder, start: Value, last: Size) -> Value | None:
    """Whether an index lies outside 0 ... last; None where it never does."""
    if start.array is not None and isinstance(last, int) and ((start.array >= 0) & (start.array <= last)).all():
        return None
    high = g.size(last) if isinstance(last, Dim) else g.constant(np.array(last, np.int64))
    return g.Or(g.Less(start, 0), g.Greater(start, high))


def _place(g: GraphBuilder, x: Value, axes: Sequence[int], rank: int) -> Value:
    """A tensor with its axes at `axes` of `rank`, the others of size one."""
    missing = [i for i in range(rank) if i not in axes]
    return g.Unsqueeze(x, missing) if missing else x


@dataclass
class _Plan:
    """How a gather or scatter is done with one index tensor over the leading axes of the operand.

    Attributes:
        lead: Axes of the operand that are indexed, in order.
        free: Axes that are taken whole.
        index: Index of every element, components last.
        outside: Where the window lies (partly) outside; over the batch axes only.
        batch_rank: Number of batch axes of the indices.
        windows: Indexed axes that keep an axis of more than one start.
    """

    lead: list[int]
    free: list[int]
    index: Value
    outside: Value | None
    batch_rank: int
    windows: list[int]


def _components(g: GraphBuilder, indices: Value, count: int) -> list[Value]:
    """The components of the indices, whose last axis they lie on."""
    indices = _as_int64(g, indices)
    if count == 1:
        return [g.Squeeze(indices, [indices.rank - 1])]
    last = indices.rank - 1
    parts = g.call("Split", indices, [1] * count, axis=last, outputs=count) if indices.array is None else None
    if parts is None:
        assert indices.array is not None
        return [g.constant(np.array(indices.array[..., i])) for i in range(count)]
    return [g.Squeeze(p, [last]) for p in parts]


def _plan(
    g: GraphBuilder, operand: Value, indices: Value, numbers: Numbers, sizes: Sequence[Size], mode: str, drop: bool
) -> _Plan:
    assert operand.sizes is not None and indices.sizes is not None
    starts = dict(zip(numbers.indexed, _components(g, indices, len(numbers.indexed)), strict=True))
    batch_rank = indices.rank - 1
    lead = [i for i in range(operand.rank) if i in starts or i in numbers.operand_batch or sizes[i] != operand.dim(i)]
    lead = [i for i in lead if not (i in starts and sizes[i] == operand.dim(i) and i not in numbers.collapsed)]
    free = [i for i in range(operand.rank) if i not in lead]
    windows = [i for i in lead if i not in numbers.collapsed and i not in numbers.operand_batch]
    if not lead:  # every axis is taken whole, from 0: one index component of nothing
        lead, free, windows = [0], free[1:], [0]
    rank = batch_rank + len(windows)
    outside: Value | None = None
    parts = []
    for axis in lead:
        window, whole = sizes[axis], operand.sizes[axis]
        assert whole is not None
        if axis in numbers.operand_batch:
            place = numbers.index_batch[list(numbers.operand_batch).index(axis)]
            parts.append(_place(g, _range(g, whole), [place], rank))
            continue
        start = starts.get(axis)
        if start is not None:
            last = _last(whole, window)
            out = _outside(g, start, last)
            if out is not None and mode == FILL_OR_DROP:
                outside = out if outside is None else g.Or(outside, out)
            if out is not None and not drop:
                start = clamped(g, start, last)
            start = _place(g, start, list(range(batch_rank)), rank)
        if axis in windows and not (start is not None and window == 1):
            offset = _place(g, _range(g, window), [batch_rank + windows.index(axis)], rank)
            start = offset if start is None else g.Add(start, offset)
        parts.append(start if start is not None else g.constant(np.zeros([1] * rank, np.int64)))
    # an axis that is taken whole may be indexed too: its start can only be 0, or outside
    for axis, start in starts.items():
        if axis not in lead or sizes[axis] == operand.dim(axis):
            out = _outside(g, start, 0) if axis not in numbers.collapsed else None
            if out is not None and mode == FILL_OR_DROP:
                outside = out if outside is None else g.Or(outside, out)
    common: list[Size] = [s for s in indices.sizes[:-1] if s is not None]
    common += [sizes[i] for i in windows]
    index = _stack(g, parts, common)
    return _Plan(lead, free, index, outside, batch_rank, windows)


def _range(g: GraphBuilder, size: Size) -> Value:
    if isinstance(size, int):
        return g.constant(np.arange(size))
    numbers = g.Range(0, g.size(size), 1)
    numbers.sizes = (size,)
    return numbers


def _stack(g: GraphBuilder, parts: Sequence[Value], common: Sequence[Size]) -> Value:
    """Index components, broadcast to the common sizes, on a new last axis."""
    whole = [g.Unsqueeze(g.expand(p, list(common)), [len(common)]) for p in parts]
    return whole[0] if len(whole) == 1 else g.Concat(*whole, axis=len(common))


# --- gather ----------------------------------------------------------------------------------------------------------


def gather(
    g: GraphBuilder,
    operand: Value,
    indices: Value,
    numbers: Numbers,
    slice_sizes: Sequence[Size],
    mode: str = CLIP,
    fill: Any = None,
) -> Value:
    """XLA's gather; the components of an index lie on the last axis of the indices.

    Args:
        g: Builder.
        operand: What is gathered from.
        indices: Starts of the slices.
        numbers: Dimension numbers.
        slice_sizes: Size of the slices on every axis of the operand.
        mode: CLIP or FILL_OR_DROP.
        fill: What fills; None: not-a-number, the smallest signed, the largest unsigned number, True.
    """
    rank = indices.rank - 1 + len(numbers.window)
    batch_axes = [i for i in range(rank) if i not in numbers.window]
    simple = _take(g, operand, indices, numbers, slice_sizes, mode, fill, batch_axes)
    if simple is not None:
        return simple
    plan = _plan(g, operand, indices, numbers, slice_sizes, mode, drop=False)
    moved = transpose(g, operand, [*plan.lead, *plan.free])
    found = g.GatherND(moved, plan.index)
    # axes now: batch, windows of the indexed axes, free axes
    produced = [*plan.windows, *plan.free]
    kept = [i for i in range(operand.rank) if i not in numbers.collapsed and i not in numbers.operand_batch]
    target = dict(zip(kept, numbers.window, strict=True))
    places = [*batch_axes, *(target[i] for i in produced)]
    result = transpose(g, found, [int(i) for i in np.argsort(places)])
    if plan.outside is None:
        return result
    return _filled(g, result, plan.outside, batch_axes, rank, fill)


def _take(
    g: GraphBuilder,
    operand: Value,
    indices: Value,
    numbers: Numbers,
    slice_sizes: Sequence[Size],
    mode: str,
    fill: Any,
    batch_axes: Sequence[int],
) -> Value | None:
    """Whole slices of one axis, as Gather; None where it isn't that."""
    if len(numbers.indexed) != 1 or numbers.operand_batch:
        return None
    (axis,) = numbers.indexed
    whole = all(s == operand.dim(i) for i, s in enumerate(slice_sizes) if i != axis)
    if not whole or slice_sizes[axis] != 1 or operand.dim(axis) is None or axis not in numbers.collapsed:
        return None
    size = operand.dim(axis)
    assert size is not None
    start = _components(g, indices, 1)[0]
    out = _outside(g, start, size - 1)
    place = start if out is None else clamped(g, start, size - 1)
    found = g.Gather(operand, place, axis=axis)
    # Gather puts the axes of the indices where the axis was
    kept = [i for i in range(operand.rank) if i != axis]
    target = dict(zip(kept, numbers.window, strict=True))
    places = [target[i] for i in range(axis)] + list(batch_axes) + [target[i] for i in kept if i > axis]
    result = transpose(g, found, [int(i) for i in np.argsort(places)])
    if out is None or mode != FILL_OR_DROP:
        return result
    return _filled(g, result, out, batch_axes, result.rank, fill)


def _filled(g: GraphBuilder, result: Value, outside: Value, batch_axes: Sequence[int], rank: int, fill: Any) -> Value:
    if fill is None:
        dtype = result.element
        if dtype in FLOATS:
            fill = np.nan
        elif dtype is _T.BOOL:
            fill = True
        else:
            limits = np.iinfo(dtype.numpy())
            fill = limits.min if limits.min else limits.max
    return select(g, _place(g, outside, list(batch_axes), rank), scalar(g, fill, result), result)


# --- scatter ---------------------------------------------------------------------------------------------------------

_REDUCTIONS = {"set": "none", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def scatter(
    g: GraphBuilder, operand: Value, indices: Value, updates: Value, numbers: Numbers, kind: str, mode: str
) -> Value:
    """XLA's scatter by set, add, mul, max, min; windows that lie partly outside are dropped (or moved: CLIP).

    Args:
        g: Builder.
        operand: What is scattered into.
        indices: Starts of the windows, components on the last axis.
        updates: What is scattered.
        numbers: Dimension numbers; `window` are axes of the updates.
        kind: How an update and what is there are combined.
        mode: CLIP or FILL_OR_DROP.
    """
    assert operand.sizes is not None
    if operand.element is _T.BOOL or operand.element is _T.BFLOAT16:
        wide = _T.INT32 if operand.element is _T.BOOL else _T.FLOAT
        results = scatter(
            g, g.Cast(operand, to=wide), indices, g.Cast(updates, to=wide), numbers, _of_numbers(kind), mode
        )
        return g.Cast(results, to=operand.element)
    kept = [i for i in range(operand.rank) if i not in numbers.collapsed and i not in numbers.operand_batch]
    place = dict(zip(kept, numbers.window, strict=True))
    sizes: list[Size] = []
    for i in range(operand.rank):
        size = updates.dim(place[i]) if i in place else 1
        assert size is not None
        sizes.append(size)
    drop = mode != CLIP
    plan = _plan(g, operand, indices, numbers, sizes, FILL_OR_DROP if drop else CLIP, drop=False)
    order = [*plan.lead, *plan.free]
    data = transpose(g, operand, order)
    batch_axes = [i for i in range(updates.rank) if i not in numbers.window]
    values = transpose(g, updates, [*batch_axes, *(place[i] for i in (*plan.windows, *plan.free))])
    if plan.outside is None:
        result = g.ScatterND(data, plan.index, values, reduction=_REDUCTIONS[kind])
    else:
        result = _scatter_inside(g, data, plan, values, kind)
    return transpose(g, result, [int(i) for i in np.argsort(order)])


def _of_numbers(kind: str) -> str:
    return {"or": "max", "and": "min"}.get(kind, kind)


def _scatter_inside(g: GraphBuilder, data: Value, plan: _Plan, values: Value, kind: str) -> Value:
    """Scatter without the windows outside: their updates change nothing, or go to a row that is cut off again."""
    assert plan.outside is not None
    if kind in ("add", "mul", "max", "min"):
        where = _place(g, plan.outside, list(range(plan.batch_rank)), values.rank)
        values_in = call(g, "Where", where, scalar(g, identity(kind, values.element), values), values)
        assert values.sizes is not None
        return g.ScatterND(data, plan.index, g.expand(values_in, list(values.sizes)), reduction=kind)
    assert data.sizes is not None and data.sizes[0] is not None and plan.index.sizes is not None
    rows = data.sizes[0]
    padded = call(g, "Pad", data, [0] * data.rank + [1] + [0] * (data.rank - 1))
    where = _place(g, plan.outside, list(range(plan.batch_rank)), plan.index.rank)
    count = plan.index.sizes[-1]
    assert isinstance(count, int)
    beyond = g.shape_vector([rows, *[0] * (count - 1)])
    index = g.Where(where, beyond, plan.index)
    written = g.ScatterND(padded, index, values)
    return slice_(g, written, [0] * data.rank, [s for s in data.sizes if s is not None], None)


def scatter_apply(
    g: GraphBuilder, operand: Value, indices: Value, updates: Value, numbers: Numbers, function: Region, mode: str
) -> Value:
    """A function applied to elements in place, to each as often as an index names it."""
    if function.elementwise is None:
        raise ValueError("scatter by this function isn't supported")
    ones = g.expand(g.constant(np.ones((), np.int32)), [s for s in updates.sizes or () if s is not None])
    zeros = g.expand(g.constant(np.zeros((), np.int32)), [s for s in operand.sizes or () if s is not None])
    hits = scatter(g, zeros, indices, ones, numbers, "add", mode)
    body = g.subgraph("apply")
    step, going = body.input("step", _T.INT64, ()), body.input("continues", _T.BOOL, ())
    before = body.input("before", operand.element, operand.sizes)
    new = function.elementwise(body, [before, scalar(body, 0, updates)])[0]
    body.output(going)
    body.output(select(body, body.Greater(hits, body.Cast(step, to=_T.INT32)), new, before))
    times = g.Cast(g.ReduceMax(hits, keepdims=0), to=_T.INT64)
    result: Value = g.call("Loop", times, None, operand, body=body)
    return result


# --- slices at computed places ---------------------------------------------------------------------------------------


def dynamic_slice(g: GraphBuilder, x: Value, starts: Sequence[Value], sizes: Sequence[Size]) -> Value:
    """A slice of fixed size; starts are moved so that it lies inside."""
    axes = [i for i, s in enumerate(sizes) if s != x.dim(i)]
    if not axes:
        return x
    begins = [_start(g, x, starts[a], a, sizes[a]) for a in axes]
    ends = [g.Add(b, g.size_vector(sizes[a])) for b, a in zip(begins, axes, strict=True)]
    result: Value = g.Slice(x, _joined(g, begins), _joined(g, ends), axes)
    result.sizes = tuple(sizes)
    return result


def _joined(g: GraphBuilder, parts: Sequence[Value]) -> Value:
    return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=0)


def _start(g: GraphBuilder, x: Value, start: Value, axis: int, size: Size) -> Value:
    """A start as int64 vector of one element, inside."""
    whole = x.dim(axis)
    assert whole is not None
    return g.reshape(clamped(g, _as_int64(g, start), _last(whole, size)), [1])


def dynamic_update_slice(g: GraphBuilder, x: Value, update: Value, starts: Sequence[Value]) -> Value:
    """x with a slice replaced; starts are moved so that it lies inside."""
    axes = [i for i in range(x.rank) if update.dim(i) != x.dim(i)]
    if not axes:
        return update
    begins = {}
    for axis in axes:
        size = update.dim(axis)
        assert size is not None
        begins[axis] = _start(g, x, starts[axis], axis, size)
    return _replaced(g, x, update, begins, axes)


def _replaced(g: GraphBuilder, x: Value, update: Value, begins: dict[int, Value], axes: Sequence[int]) -> Value:
    """What lies before, the update (on the other axes put into what is there), what comes after."""
    axis, *rest = axes
    size = update.dim(axis)
    assert size is not None
    begin = begins[axis]
    end = g.Add(begin, g.size_vector(size))
    if rest:
        middle = g.Slice(x, begin, end, [axis])
        assert x.sizes is not None
        middle.sizes = (*x.sizes[:axis], size, *x.sizes[axis + 1 :])
        update = _replaced(g, middle, update, begins, rest)
    parts = [g.Slice(x, [0], begin, [axis]), update, g.Slice(x, end, [_FAR], [axis])]
    kept = [p for p in parts if p.dim(axis) != 0]
    return g.Concat(*kept, axis=axis) if len(kept) > 1 else kept[0]
