"""Pooling over windows, fixed and adaptive."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.sizes import as_value
from ..registry import symbolic
from ..value import Value
from .convolution import Ints, spread
from .precision import rounded_once
from .promotion import NARROW, DataType, cast, unsupported, value_of
from .shape import size_at

_AXES = {"1d": 1, "2d": 2, "3d": 3}


def _with_batch(g: GraphBuilder, x: Value, count: int) -> tuple[Value, bool]:
    """The tensor with a batch axis, and whether one was added."""
    return (g.Unsqueeze(x, [0]), True) if x.rank == count + 1 else (x, False)


def _pooled(g: GraphBuilder, x: Value, kernel: list[int], stride: list[int], pads: list[int], dilation: list[int],
            ceil_mode: bool, outputs: int = 1) -> Any:  # fmt: skip
    return g.MaxPool(
        x, kernel_shape=kernel, strides=stride, pads=pads * 2, dilations=dilation, ceil_mode=int(ceil_mode),
        outputs=outputs,
    )  # fmt: skip


def _max_pool(
    g: GraphBuilder, x: Value, count: int, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    ceil_mode: bool, *, indices: bool,
) -> Any:  # fmt: skip
    kernel = spread(kernel_size, count)
    steps = spread(stride, count) if stride not in ([], ()) else kernel
    x, added = _with_batch(g, x, count)
    dtype = x.element
    wide = cast(g, x, DataType.DOUBLE if dtype in (DataType.INT64, DataType.INT32) else DataType.FLOAT) \
        if dtype in NARROW or dtype in (DataType.INT64, DataType.INT32) else x  # fmt: skip
    settings = (kernel, steps, spread(padding, count), spread(dilation, count), ceil_mode)
    if not indices:
        y = cast(g, _pooled(g, wide, *settings), dtype)
        return g.Squeeze(y, [0]) if added else y
    y, index = _pooled(g, wide, *settings, outputs=2)
    y = cast(g, y, dtype)
    plane = [size_at(g, x, i) for i in range(2, 2 + count)]
    total = plane[0]
    for size in plane[1:]:
        total = total * size
    # ONNX counts through the whole tensor, torch inside each plane
    index = g.Mod(index, total if isinstance(total, Value) else g.size(total))
    return (g.Squeeze(y, [0]), g.Squeeze(index, [0])) if added else (y, index)


def _register_max_pool(suffix: str, count: int) -> None:
    def pool(
        g: GraphBuilder,
        self: Value,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> Value:
        return _max_pool(  # type: ignore[no-any-return]
            g, self, count, kernel_size, stride, padding, dilation, ceil_mode, indices=False
        )

    def with_indices(
        g: GraphBuilder,
        self: Value,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
    ) -> tuple[Value, Value]:
        return _max_pool(  # type: ignore[no-any-return]
            g, self, count, kernel_size, stride, padding, dilation, ceil_mode, indices=True
        )

    pool.__doc__ = f"aten::max_pool{suffix}(Tensor self, int[] kernel_size, int[] stride=[], ...) -> Tensor"
    with_indices.__doc__ = (
        f"aten::max_pool{suffix}_with_indices(Tensor self, int[] kernel_size, ...) -> (Tensor, Tensor)"
    )
    symbolic("aten", f"max_pool{suffix}")(pool)
    symbolic("aten", f"max_pool{suffix}_with_indices")(with_indices)


for _suffix, _count in _AXES.items():
    _register_max_pool(_suffix, _count)


def _avg_pool(
    g: GraphBuilder, x: Value, count: int, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Value:  # fmt: skip
    kernel = spread(kernel_size, count)
    steps = spread(stride, count) if stride not in ([], ()) else kernel
    pads = spread(padding, count)
    x, added = _with_batch(g, x, count)
    if x.element not in (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16):
        y = _summed_windows(g, x, kernel, steps, pads, ceil_mode, count_include_pad, divisor_override)
        return g.Squeeze(y, [0]) if added else y
    include = count_include_pad or divisor_override is not None
    if include and any(pads):
        x = g.Pad(x, [0, 0, *pads, 0, 0, *pads], None, None, mode="constant")
        pads = [0] * count
    if divisor_override is not None:
        right = _missing_right(g, x, kernel, steps) if ceil_mode else [0] * count
        if any(right):
            x = g.Pad(x, [0] * (4 + count) + right, None, None, mode="constant")
        y = _divided_windows(g, x, kernel, steps, divisor_override)
    else:
        # what the last window of ceil_mode sees beyond the padding doesn't count
        y = g.AveragePool(
            x, kernel_shape=kernel, strides=steps, pads=pads * 2, ceil_mode=int(ceil_mode), count_include_pad=0
        )  # fmt: skip
    return g.Squeeze(y, [0]) if added else y


@rounded_once
def _divided_windows(g: GraphBuilder, x: Value, kernel: list[int], steps: list[int], divisor: int) -> Value:
    y = g.AveragePool(x, kernel_shape=kernel, strides=steps, pads=[0] * 2 * len(kernel))
    return g.Mul(y, prod(kernel) / divisor)


def _summed_windows(
    g: GraphBuilder, x: Value, kernel: list[int], steps: list[int], pads: list[int], ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Value:  # fmt: skip
    """Average pooling in dtypes that runtimes have no kernel for: the elements of each window, axis by axis."""
    divisor = g.constant(np.ones((), np.int64))
    for axis, (k, step, pad) in enumerate(zip(kernel, steps, pads, strict=True), start=2):
        size = as_value(g, size_at(g, x, axis))
        windows = g.Add(g.Div(g.Add(size, 2 * pad - k + (step - 1 if ceil_mode else 0)), step), 1)
        if ceil_mode:  # none begins in the right padding
            beyond = g.GreaterOrEqual(g.Mul(g.Sub(windows, 1), step), g.Add(size, pad))
            windows = g.Sub(windows, g.Cast(beyond, to=DataType.INT64))
        begins = g.Sub(g.Mul(g.Range(0, windows, 1), step), pad)
        ends = g.Min(g.Add(begins, k), g.Add(size, pad))
        inside = g.Sub(g.Min(ends, size), g.Max(begins, 0))
        divisor = g.Mul(g.Unsqueeze(divisor, [-1]), g.Sub(ends, begins) if count_include_pad else inside)
        places = g.Add(g.Unsqueeze(begins, [1]), np.arange(k))
        there = g.And(g.GreaterOrEqual(places, 0), g.Less(places, size))
        taken = g.Gather(x, g.Min(g.Max(places, 0), g.Sub(size, 1)), axis=axis)
        trailing = list(range(2, x.rank - axis + 1))
        taken = g.Where(g.Unsqueeze(there, trailing) if trailing else there, taken, value_of(g, 0, x.element))
        x = g.ReduceSum(taken, [axis + 1], keepdims=0)
    if divisor_override is not None:
        return g.Div(x, value_of(g, divisor_override, x.element))
    return g.Div(x, cast(g, divisor, x.element))


def _missing_right(g: GraphBuilder, x: Value, kernel: list[int], steps: list[int]) -> list[int]:
    """How far the last window of ceil_mode reaches beyond each axis."""
    missing = []
    for axis, (k, s) in enumerate(zip(kernel, steps, strict=True), start=2):
        size = x.dim(axis)
        if not isinstance(size, int):
            raise unsupported("divisor_override with ceil_mode on an axis of open size", g)
        windows = -(-(size - k) // s) + 1
        if (windows - 1) * s >= size:
            windows -= 1
        missing.append(max((windows - 1) * s + k - size, 0))
    return missing


def _register_avg_pool(suffix: str, count: int) -> None:
    def pool(
        g: GraphBuilder,
        self: Value,
        kernel_size: Ints,
        stride: Ints = (),
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        return _avg_pool(
            g, self, count, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )  # fmt: skip

    pool.__doc__ = f"aten::avg_pool{suffix}(Tensor self, int[] kernel_size, int[] stride=[], ...) -> Tensor"
    symbolic("aten", f"avg_pool{suffix}")(pool)


for _suffix, _count in _AXES.items():
    _register_avg_pool(_suffix, _count)


# --- adaptive --------------------------------------------------------------------------------------------------------


def _bounds(g: GraphBuilder, size: Any, out: Any) -> tuple[Value, Value]:
    """First and one past the last element of each window, torch's rule: floor(i*in/out), ceil((i+1)*in/out)."""
    index = g.Range(0, g.size(out), 1)
    total = size if isinstance(size, Value) else g.size(size)
    count = g.size(out)
    first = g.Div(g.Mul(index, total), count)
    last = g.Div(g.Add(g.Mul(g.Add(index, 1), total), g.Sub(count, 1)), count)
    return first, last


def _average_matrix(g: GraphBuilder, size: Any, out: Any, dtype: DataType) -> Value:
    """Matrix (in, out) that averages each window."""
    first, last = _bounds(g, size, out)
    position = g.Unsqueeze(g.Range(0, size if isinstance(size, Value) else g.size(size), 1), [1])
    inside = g.And(g.GreaterOrEqual(position, first), g.Less(position, last))
    return g.Div(cast(g, inside, dtype), cast(g, g.Sub(last, first), dtype))


def _adaptive_avg(g: GraphBuilder, x: Value, count: int, output_size: Sequence[Any]) -> Value:
    out = [size_at(g, x, i - count) if o is None else o for i, o in enumerate(_listed(output_size, count))]
    x, added = _with_batch(g, x, count)
    kernels = x.dtype != DataType.DOUBLE  # onnxruntime has none for it
    if kernels and all(isinstance(o, int) and o == 1 for o in out):
        y = g.GlobalAveragePool(x)
        return g.Squeeze(y, [0]) if added else y
    sizes = [x.dim(i) for i in range(2, 2 + count)]
    whole = all(isinstance(s, int) and isinstance(o, int) and s % o == 0 for s, o in zip(sizes, out, strict=True))
    if whole and kernels:
        kernel = [s // o for s, o in zip(sizes, out, strict=True)]
        y = x if prod(kernel) == 1 else g.AveragePool(x, kernel_shape=kernel, strides=kernel)
        return g.Squeeze(y, [0]) if added else y
    y = _averaged_axes(g, x, count, out)
    return g.Squeeze(y, [0]) if added else y


@rounded_once
def _averaged_axes(g: GraphBuilder, x: Value, count: int, out: Sequence[Any]) -> Value:
    """Adaptive averages by one matrix for each axis."""
    y = x
    for axis in range(2, 2 + count):
        size, wanted = size_at(g, x, axis), out[axis - 2]
        if size == wanted:
            continue
        last = y.rank - 1
        order = list(range(y.rank))
        order[axis], order[last] = order[last], order[axis]
        turned = g.Transpose(y, perm=order) if axis != last else y
        turned = g.MatMul(turned, _average_matrix(g, size, wanted, x.element))
        y = g.Transpose(turned, perm=order) if axis != last else turned
    return y


def _listed(output_size: Any, count: int) -> list[Any]:
    listed = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size]
    return listed * count if len(listed) == 1 else listed


def _register_adaptive_avg(suffix: str, count: int) -> None:
    def pool(g: GraphBuilder, self: Value, output_size: Sequence[Any]) -> Value:
        return _adaptive_avg(g, self, count, output_size)

    pool.__doc__ = f"aten::adaptive_avg_pool{suffix}(Tensor self, SymInt[] output_size) -> Tensor"
    symbolic("aten", f"adaptive_avg_pool{suffix}", f"_adaptive_avg_pool{suffix}")(pool)


for _suffix, _count in _AXES.items():
    _register_adaptive_avg(_suffix, _count)


def _adaptive_max(g: GraphBuilder, x: Value, count: int, output_size: Sequence[Any]) -> tuple[Value, Value]:
    out = _listed(output_size, count)
    x, added = _with_batch(g, x, count)
    known = [s for s in (x.dim(i) for i in range(2, 2 + count)) if isinstance(s, int)]
    if len(known) < count or not all(isinstance(o, int) for o in out):
        return _adaptive_max_by_axis(g, x, count, out, added)
    # every window as a row of flat positions, short rows filled up with their first position
    axes = [
        [list(range(i * s // o, -(-(i + 1) * s // o))) for i in range(o)] for s, o in zip(known, out, strict=True)
    ]  # fmt: skip
    rows = []
    for place in np.ndindex(*out):
        cells = np.meshgrid(*(axes[d][i] for d, i in enumerate(place)), indexing="ij")
        rows.append(np.ravel_multi_index([c.reshape(-1) for c in cells], known))
    width = max(len(r) for r in rows)
    table = np.array([np.concatenate([r, np.full(width - len(r), r[0])]) for r in rows], np.int64)
    flat = g.reshape(x, [size_at(g, x, 0), size_at(g, x, 1), prod(known)])
    windows = g.Gather(flat, g.constant(table), axis=2)
    best = g.ReduceMax(windows, [-1], keepdims=0)
    which = g.ArgMax(windows, axis=-1, keepdims=1)
    lead = [size_at(g, x, 0), size_at(g, x, 1)]
    places = g.expand(g.constant(table.reshape(1, 1, *table.shape)), [*lead, *table.shape])
    index = g.Squeeze(g.GatherElements(places, which, axis=-1), [-1])
    results = [g.reshape(v, [*lead, *out]) for v in (best, index)]
    return tuple(g.Squeeze(v, [0]) if added else v for v in results)  # type: ignore[return-value]


def _adaptive_max_by_axis(
    g: GraphBuilder, x: Value, count: int, out: Sequence[Any], added: bool
) -> tuple[Value, Value]:
    """Adaptive pooling of open sizes: the maximum along one axis after the other, the last one first."""
    best, place, inner = x, None, g.constant(np.array(1, np.int64))
    for axis in range(1 + count, 1, -1):
        size = as_value(g, size_at(g, x, axis))
        first, last = (g.Unsqueeze(v, [1]) for v in _bounds(g, size, out[axis - 2]))
        width = g.ReduceMax(g.Sub(last, first), keepdims=0)
        # short windows end with their last element again: the first of equal ones counts
        windows = g.Min(g.Add(first, g.Range(0, width, 1)), g.Sub(last, 1))
        values = g.Gather(best, windows, axis=axis)
        which = g.ArgMax(values, axis=axis + 1, keepdims=1)
        shape = [-1] + [1] * (1 + count - axis)
        along = g.Add(g.reshape(first, shape), g.Squeeze(which, [axis + 1]))
        if place is None:
            place = along
        else:
            chosen = g.GatherElements(g.Gather(place, windows, axis=axis), which, axis=axis + 1)
            place = g.Add(g.Mul(along, inner), g.Squeeze(chosen, [axis + 1]))
        best = g.ReduceMax(values, [axis + 1], keepdims=0)
        inner = g.Mul(inner, size)
    assert place is not None
    return (g.Squeeze(best, [0]), g.Squeeze(place, [0])) if added else (best, place)


def _register_adaptive_max(suffix: str, count: int) -> None:
    def pool(g: GraphBuilder, self: Value, output_size: Sequence[Any]) -> tuple[Value, Value]:
        return _adaptive_max(g, self, count, output_size)

    pool.__doc__ = f"aten::adaptive_max_pool{suffix}(Tensor self, int[] output_size) -> (Tensor, Tensor)"
    symbolic("aten", f"adaptive_max_pool{suffix}")(pool)


for _suffix, _count in _AXES.items():
    _register_adaptive_max(_suffix, _count)
