"""Pooling: windows, adaptive, global, with indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.conv import window_pads
from ..registry import symbolic
from ..value import Value
from .common import DataType, cast, ints, merged, refused, sizes
from .convolution import back, first, pad_pairs


@symbolic("paddle_pir", "pool2d", "pool3d")
def pool(
    g: GraphBuilder, x: Value, kernel_size: Any, strides: Sequence[int] = (1, 1), paddings: Sequence[int] = (0, 0),
    ceil_mode: bool = False, exclusive: bool = True, data_format: str = "NCHW", pooling_type: str = "max",
    global_pooling: bool = False, adaptive: bool = False, padding_algorithm: str = "EXPLICIT",
) -> Value:  # fmt: skip
    """pool2d(Tensor x, int[] kernel_size, int[] strides, int[] paddings, bool ceil_mode, bool exclusive, str
    data_format, str pooling_type, bool global_pooling, bool adaptive, str padding_algorithm) -> Tensor"""
    source = first(g, x, data_format)
    kernel = ints(g, kernel_size, "pool2d", "a window size")
    kernel = kernel * (source.rank - 2) if len(kernel) == 1 else kernel
    if global_pooling or (adaptive and all(k == 1 for k in kernel)):
        if source.element == DataType.DOUBLE:  # runtimes pool single precision only
            op = "ReduceMax" if pooling_type == "max" else "ReduceMean"
            return back(g, g.call(op, source, list(range(2, source.rank)), keepdims=1), data_format)
        op = "GlobalMaxPool" if pooling_type == "max" else "GlobalAveragePool"
        return back(g, g.call(op, source), data_format)
    if adaptive:
        return back(g, adaptive_pool(g, source, kernel, pooling_type), data_format)
    y = window_pool(
        g, source, kernel, strides, paddings, padding_algorithm, ceil_mode=ceil_mode, exclusive=exclusive,
        kind=pooling_type,
    )  # fmt: skip
    return back(g, y, data_format)


def window_pool(
    g: GraphBuilder, x: Value, kernel: Sequence[int], strides: Sequence[int], paddings: Sequence[int], algorithm: str,
    *, ceil_mode: bool, exclusive: bool, kind: str,
) -> Value:  # fmt: skip
    """A window that slides over channels-first `x`."""
    assert x.sizes is not None
    padding = pad_pairs(paddings, algorithm, len(kernel))
    if not isinstance(padding, str):
        padding = [_reaching(g, *axis, kind) for axis in zip(padding, x.sizes[2:], kernel, strides, strict=True)]
    pads = window_pads(padding, x.sizes[2:], kernel, strides, [1] * len(kernel))
    common = {"kernel_shape": list(kernel), "strides": list(strides), "ceil_mode": int(ceil_mode), **pads}
    if ceil_mode:
        _refuse_empty_windows(g, x.sizes[2:], kernel, strides, pads.get("pads", ()))
    if kind == "max":
        best: Value = g.MaxPool(x, **common)
        return best
    padded = any(pads.get("pads", ())) or "auto_pad" in pads
    if ceil_mode and not (exclusive or not padded):
        raise refused(g, "pool2d", "an average with ceil_mode that counts the padding isn't supported")
    if ceil_mode:
        return _average_of_present(g, x, common)
    return g.AveragePool(x, count_include_pad=int(not exclusive), **common)


def _reaching(
    g: GraphBuilder, pair: tuple[int, int], size: Any, kernel: int, stride: int, kind: str
) -> tuple[int, int]:
    """Padding that lets one window fit where it is larger than the padded axis: Paddle still has a result then."""
    if not isinstance(size, int) or size + sum(pair) >= kernel:
        return pair
    missing = kernel - size - sum(pair)
    if missing >= stride or kind != "max":
        raise refused(g, "pool2d", f"a window of {kernel} on {size} elements isn't supported")
    return pair[0], pair[1] + missing


def _average_of_present(g: GraphBuilder, x: Value, common: dict[str, Any]) -> Value:
    """Mean over the elements that windows really cover: with ceil_mode, runtimes disagree on how many these are."""
    assert x.sizes is not None
    window = float(np.prod(common["kernel_shape"]))
    axes = len(common["kernel_shape"])
    starts = common.get("pads", [0] * 2 * axes)
    extra = []
    for axis in range(axes):
        size, k, s = x.sizes[2 + axis], common["kernel_shape"][axis], common["strides"][axis]
        if not isinstance(size, int):
            raise refused(g, "pool2d", "an average with ceil_mode over open sizes isn't supported")
        whole = size + starts[axis] + starts[axes + axis]
        extra.append((-(-(whole - k) // s)) * s + k - whole)
    pads = [0, 0, *starts[:axes], 0, 0, *(p + e for p, e in zip(starts[axes:], extra, strict=True))]
    plain = {"kernel_shape": common["kernel_shape"], "strides": common["strides"]}
    total = g.AveragePool(g.Pad(x, pads), **plain) * window
    present = g.constant(np.ones([1, 1, *(int(s) for s in x.sizes[2:])], x.element.numpy()))  # type: ignore[arg-type]
    counts = g.AveragePool(g.Pad(present, pads), **plain) * window
    return total / counts


def _refuse_empty_windows(
    g: GraphBuilder, sizes: Sequence[Any], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> None:
    """With ceil_mode, Paddle has results for windows that begin after the last element; ONNX has none."""
    axes = len(kernel)
    for i, (size, k, s) in enumerate(zip(sizes, kernel, strides, strict=True)):
        before, after = (pads[i], pads[axes + i]) if pads else (0, 0)
        if isinstance(size, int):
            empty = -(-(size + before + after - k) // s) * s >= size + before
        else:
            empty = bool(before or after) or s > k
        if empty:
            raise refused(g, "pool2d", "ceil_mode with a window that may lie outside the tensor isn't supported")


def adaptive_pool(g: GraphBuilder, x: Value, wanted: Sequence[int], kind: str) -> Value:
    """Pooling to a wanted number of windows on each axis; uneven windows are cut out one by one."""
    assert x.sizes is not None
    sizes = x.sizes[2:]
    if all(isinstance(s, int) and s % w == 0 for s, w in zip(sizes, wanted, strict=True)):
        kernel = [int(s) // w for s, w in zip(sizes, wanted, strict=True)]  # type: ignore[arg-type]
        op = "MaxPool" if kind == "max" else "AveragePool"
        return x if all(k == 1 for k in kernel) else g.call(op, x, kernel_shape=kernel, strides=kernel)
    for i, (size, count) in enumerate(zip(sizes, wanted, strict=True)):
        axis = 2 + i
        if not isinstance(size, int):
            if count == 1:
                op = "ReduceMax" if kind == "max" else "ReduceMean"
                x = g.call(op, x, [axis], keepdims=1)
                continue
            raise refused(g, "pool2d", "adaptive pooling of open sizes to more than one element isn't supported")
        x = _adaptive_axis(g, x, axis, size, count, kind)
    return x


def _adaptive_axis(g: GraphBuilder, x: Value, axis: int, size: int, count: int, kind: str) -> Value:
    if size == count:
        return x
    bounds = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
    if kind != "max":  # a mean over windows is a product with a matrix
        weights = np.zeros((size, count), x.element.numpy())
        for i, (start, end) in enumerate(bounds):
            weights[start:end, i] = 1 / (end - start)
        last = x.rank - 1
        if axis == last:
            return g.MatMul(x, g.constant(weights))
        order = [*range(axis), *range(axis + 1, x.rank), axis]
        back_order = [*range(axis), last, *range(axis, last)]
        return g.Transpose(g.MatMul(g.Transpose(x, perm=order), g.constant(weights)), perm=back_order)
    parts = [g.ReduceMax(g.Slice(x, [s], [e], [axis]), [axis], keepdims=1) for s, e in bounds]
    return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=axis)


@symbolic("paddle_pir", "max_pool2d_with_index", "max_pool3d_with_index")
def max_pool_with_index(
    g: GraphBuilder, x: Value, kernel_size: Sequence[int], strides: Sequence[int] = (1, 1),
    paddings: Sequence[int] = (0, 0), global_pooling: bool = False, adaptive: bool = False, ceil_mode: bool = False,
    outputs: Sequence[bool] = (True, True),
) -> Any:  # fmt: skip
    """max_pool2d_with_index(Tensor x, int[] kernel_size, int[] strides, int[] paddings, bool global_pooling, bool
    adaptive, bool ceil_mode) -> (Tensor, Tensor)"""
    assert x.sizes is not None
    spatial = x.sizes[2:]
    if (adaptive or global_pooling) and not outputs[1]:
        return adaptive_pool(g, x, [1] * len(spatial) if global_pooling else list(kernel_size), "max"), None
    if adaptive or global_pooling:
        if any(not isinstance(s, int) for s in spatial):
            raise refused(g, "max_pool2d_with_index", "adaptive pooling of open sizes isn't supported")
        wanted = [1] * len(spatial) if global_pooling else list(kernel_size)
        if any(int(s) % w for s, w in zip(spatial, wanted, strict=True)):  # type: ignore[arg-type]
            raise refused(g, "max_pool2d_with_index", "indices of uneven adaptive windows aren't supported")
        kernel_size = [int(s) // w for s, w in zip(spatial, wanted, strict=True)]  # type: ignore[arg-type]
        strides, paddings = kernel_size, [0] * len(kernel_size)
    if ceil_mode:
        _refuse_empty_windows(g, spatial, kernel_size, strides, [*paddings, *paddings])
    y, index = g.MaxPool(
        x, kernel_shape=list(kernel_size), strides=list(strides), pads=[*paddings, *paddings],
        ceil_mode=int(ceil_mode), outputs=2,
    )  # fmt: skip
    plane = merged(g, sizes(g, x)[2:])  # ONNX counts through the whole tensor, Paddle through one channel
    return y, cast(g, g.Mod(index, plane if isinstance(plane, Value) else g.size(plane)), DataType.INT32)


@symbolic("paddle_pir")
def lp_pool2d(
    g: GraphBuilder, x: Value, kernel_size: Any, strides: Sequence[int] = (1, 1), paddings: Sequence[int] = (0, 0),
    ceil_mode: bool = False, exclusive: bool = True, data_format: str = "NCHW", pooling_type: str = "",
    global_pooling: bool = False, adaptive: bool = False, padding_algorithm: str = "EXPLICIT", norm_type: float = 0.0,
) -> Value:  # fmt: skip
    """lp_pool2d(Tensor x, int[] kernel_size, int[] strides, int[] paddings, bool ceil_mode, bool exclusive, str
    data_format, str pooling_type, bool global_pooling, bool adaptive, str padding_algorithm, float norm_type)
    -> Tensor"""
    if norm_type != int(norm_type) or norm_type < 1 or adaptive or ceil_mode:
        raise refused(g, "lp_pool2d", f"norm_type {norm_type}, adaptive or ceil_mode isn't supported")
    source = first(g, x, data_format)
    assert source.sizes is not None
    kernel = ints(g, kernel_size, "lp_pool2d", "a window size")
    if global_pooling:
        return back(g, g.GlobalLpPool(source, p=int(norm_type)), data_format)
    padding = pad_pairs(paddings, padding_algorithm, len(kernel))
    pads = window_pads(padding, source.sizes[2:], kernel, strides, [1] * len(kernel))
    # Paddle sums powers without taking absolute values: the same for even orders only
    if int(norm_type) % 2:
        summed = g.AveragePool(
            g.Pow(source, float(norm_type)), kernel_shape=kernel, strides=list(strides), count_include_pad=1, **pads
        )
        return back(g, g.Pow(summed * float(np.prod(kernel)), 1 / norm_type), data_format)
    return back(g, g.LpPool(source, kernel_shape=kernel, strides=list(strides), p=int(norm_type), **pads), data_format)
