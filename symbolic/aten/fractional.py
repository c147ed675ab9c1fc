"""Maximum pooling over windows at random distances; the random numbers are an operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, cast, unsupported
from .shape import size_at


def _starts(g: GraphBuilder, sample: Value, size: int, kernel: int, count: int) -> Value:
    """First index of each window, (batch, channels, count): the last window ends the axis."""
    if count == 1:
        last = cast(g, g.Unsqueeze(g.Mul(sample, 0.0), [-1]), DataType.INT64)
        return g.Add(last, size - kernel)
    dtype = sample.element.numpy()
    step = g.constant(dtype.type(dtype.type(size - kernel) / dtype.type(count - 1)))
    index = g.constant(np.arange(count - 1).astype(dtype))
    sample = g.Unsqueeze(sample, [-1])
    reached = g.Cast(g.Mul(g.Add(index, sample), step), to=DataType.INT64)
    begins = g.Sub(reached, g.Cast(g.Mul(sample, step), to=DataType.INT64))
    last = g.Add(g.Mul(g.Cast(sample, to=DataType.INT64), 0), size - kernel)
    return g.Concat(begins, last, axis=-1)


def _pool(
    g: GraphBuilder, x: Value, kernel: Sequence[int], output: Sequence[int], samples: Value, order: Sequence[int]
) -> tuple[Value, Value]:
    """Maximum of each window and its index in the plane; `order` tells which random number is for which axis."""
    axes = len(kernel)
    added = x.rank == axes + 1
    x = g.Unsqueeze(x, [0]) if added else x
    batch, channels = size_at(g, x, 0), size_at(g, x, 1)
    plane = [x.dim(i + 2) for i in range(axes)]
    if any(not isinstance(s, int) for s in plane):
        raise unsupported("fractional pooling of planes of open sizes", g)
    samples = g.Slice(samples, [0], g.shape_vector([batch]), [0]) if samples.dim(0) != batch else samples
    flat: Any = None
    for i in range(axes):
        size = int(plane[i])  # type: ignore[arg-type]
        sample = g.Gather(samples, g.constant(np.array(order[i], np.int64)), axis=2)
        starts = _starts(g, sample, size, kernel[i], output[i])
        index = g.Add(g.Unsqueeze(starts, [-1]), g.constant(np.arange(kernel[i], dtype=np.int64)))
        # (batch, channels, out ..., kernel ...): this axis' sizes, ones elsewhere
        shape = [batch, channels, *(output[i] if j == i else 1 for j in range(axes)),
                 *(kernel[i] if j == i else 1 for j in range(axes))]  # fmt: skip
        part = g.reshape(index, shape)
        flat = part if flat is None else g.Add(g.Mul(flat, size), part)
    windows = [batch, channels, *output, int(np.prod(kernel))]
    places = g.reshape(flat, windows)
    count = int(np.prod(windows[2:]))
    values = g.GatherElements(g.reshape(x, [batch, channels, -1]), g.reshape(places, [batch, channels, count]), axis=2)
    values = g.reshape(values, windows)
    best = g.ReduceMax(values, [-1], keepdims=0)
    which = g.ArgMax(values, axis=-1, keepdims=1)
    index = g.Squeeze(g.GatherElements(places, which, axis=-1), [-1])
    return (g.Squeeze(best, [0]), g.Squeeze(index, [0])) if added else (best, index)


@symbolic("aten", "fractional_max_pool2d")
def fractional_max_pool2d(
    g: GraphBuilder, self: Value, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Value
) -> tuple[Value, Value]:
    """aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> ..."""
    return _pool(g, self, kernel_size, output_size, random_samples, (1, 0))


@symbolic("aten", "fractional_max_pool3d")
def fractional_max_pool3d(
    g: GraphBuilder, self: Value, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Value
) -> tuple[Value, Value]:
    """aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> ..."""
    return _pool(g, self, kernel_size, output_size, random_samples, (0, 1, 2))
