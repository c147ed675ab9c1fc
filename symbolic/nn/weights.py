"""Weights in another order than the source keeps them: computed when they are read, never held twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def derived(
    g: GraphBuilder, name: str, sources: Sequence[Value], shape: Sequence[int], compute: Callable[..., np.ndarray]
) -> Value:
    """A constant computed from constants when it is read.

    Args:
        g: Builder.
        name: Its name; the same name on the same first source gives the same value again.
        sources: Constants; their arrays are what `compute` takes.
        shape: Shape of the result; its dtype is that of the first source.
        compute: Gives the array.
    """
    first = sources[0]
    key = f"derived.{name}"
    for others, made in first.meta.get(key, ()):
        if len(others) == len(sources) and all(a is b for a, b in zip(others, sources, strict=True)):
            known: Value = made
            return known
    tensors = [s.const_value for s in sources]
    dtype = first.element

    def read() -> ir.TensorProtocol:
        arrays = [t.numpy() for t in tensors if t is not None]
        return ir.Tensor(np.ascontiguousarray(compute(*arrays)).astype(dtype.numpy(), copy=False))

    full = f"{first.name or 'const'}.{name}"
    value = g.initializer(full, ir.LazyTensor(read, dtype=dtype, shape=ir.Shape(shape), name=full))
    first.meta.setdefault(key, []).append((list(sources), value))
    return value


def transposed(g: GraphBuilder, weight: Value, perm: Sequence[int]) -> Value:
    """A weight with its axes permuted: ahead of time where it is constant."""
    if list(perm) == list(range(len(perm))):
        return weight
    if not weight.is_constant:
        return g.Transpose(weight, perm=list(perm))
    shape = [_size(weight, p) for p in perm]
    name = "perm" + "".join(map(str, perm))
    return derived(g, name, [weight], shape, lambda w: w.transpose(perm))


def reshaped(g: GraphBuilder, weight: Value, shape: Sequence[int]) -> Value:
    """A weight in another shape: ahead of time where it is constant."""
    if tuple(shape) == weight.sizes:
        return weight
    if not weight.is_constant:
        return g.reshape(weight, list(shape))
    return derived(g, "x".join(map(str, shape)), [weight], shape, lambda w: w.reshape(shape))


def cast(g: GraphBuilder, weight: Value, dtype: ir.DataType) -> Value:
    """A weight in another dtype (mixed precision); a Cast, as both may be used."""
    return weight if weight.element == dtype else g.Cast(weight, to=dtype)


def channels_last_kernel(g: GraphBuilder, kernel: Value) -> Value:
    """(*kernel, in / groups, out) -> (out, in / groups, *kernel), what ONNX's Conv takes."""
    rank = kernel.rank
    return transposed(g, kernel, [rank - 1, rank - 2, *range(rank - 2)])


def depthwise_kernel(g: GraphBuilder, kernel: Value) -> Value:
    """(*kernel, channels, multiplier) -> (channels * multiplier, 1, *kernel), for as many groups as channels."""
    rank = kernel.rank
    moved = transposed(g, kernel, [rank - 2, rank - 1, *range(rank - 2)])
    out = _size(kernel, rank - 2) * _size(kernel, rank - 1)
    return reshaped(g, moved, [out, 1, *(_size(kernel, i) for i in range(rank - 2))])


def transposed_conv_kernel(g: GraphBuilder, kernel: Value) -> Value:
    """(*kernel, out, in) -> (in, out, *kernel), what ONNX's ConvTranspose takes."""
    return channels_last_kernel(g, kernel)


def _size(weight: Value, axis: int) -> int:
    size = weight.dim(axis)
    if not isinstance(size, int):
        raise ValueError(f"axis {axis} of the weight {weight.name} has no fixed size")
    return size
