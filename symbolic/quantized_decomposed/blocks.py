"""Dialect ``torchao``: quantisation by blocks, whose sizes say for each axis how many elements share a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..aten.promotion import DataType, Scalar, cast, limits, promote_types, unsupported, value_of
from ..aten.shape import sizes
from ..builder import GraphBuilder
from ..dims import Dim
from ..registry import symbolic
from ..value import Value

Size = int | Dim | Value


@dataclass(frozen=True)
class _Blocks:
    """A tensor's axes, those with several blocks split in two.

    Attributes:
        split: Sizes, blocks and elements of a block apart.
        counts: Sizes with one element for each block.
        inner: Axes of `split` that lie in a block.
    """

    split: list[Size]
    counts: list[Size]
    inner: list[int]


def _blocks(g: GraphBuilder, x: Value, block_size: Sequence[Size]) -> _Blocks:
    split: list[Size] = []
    counts: list[Size] = []
    inner: list[int] = []
    for size, block in zip(sizes(g, x), block_size, strict=True):
        if block == 1:
            split, counts = [*split, size], [*counts, size]
        elif block in (size, -1):
            inner.append(len(split))
            split, counts = [*split, size], [*counts, 1]
        elif isinstance(size, int) and isinstance(block, int) and size % block == 0:
            inner.append(len(split) + 1)
            split, counts = [*split, size // block, block], [*counts, size // block, 1]
        else:
            raise unsupported(f"blocks of {block} along an axis of size {size}", g)
    return _Blocks(split, counts, inner)


def _range(low: Scalar | None, high: Scalar | None, dtype: DataType) -> tuple[float, float]:
    smallest, largest = limits(dtype)
    return float(smallest if low is None else low), float(largest if high is None else high)  # type: ignore[arg-type]


@symbolic("torchao", "quantize_affine")
def quantize_affine(
    g: GraphBuilder, input: Value, block_size: Sequence[Size], scale: Value, zero_point: Value | None,
    output_dtype: DataType, quant_min: Scalar | None = None, quant_max: Scalar | None = None,
) -> Value:  # fmt: skip
    """torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ...) -> Tensor"""
    blocks = _blocks(g, input, block_size)
    steps = g.Mul(g.reshape(input, blocks.split), g.Reciprocal(g.reshape(scale, blocks.counts)))
    steps = g.Round(steps)
    if zero_point is not None:
        steps = g.Add(steps, cast(g, g.reshape(zero_point, blocks.counts), input.element))
    low, high = (value_of(g, limit, input.element) for limit in _range(quant_min, quant_max, output_dtype))
    return cast(g, g.reshape(g.Clip(steps, low, high), sizes(g, input)), output_dtype)


@symbolic("torchao", "dequantize_affine")
def dequantize_affine(
    g: GraphBuilder, input: Value, block_size: Sequence[Size], scale: Value, zero_point: Value | None,
    input_dtype: DataType, quant_min: Scalar | None = None, quant_max: Scalar | None = None,
    output_dtype: DataType = DataType.FLOAT,
) -> Value:  # fmt: skip
    """torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ...) -> Tensor"""
    blocks = _blocks(g, input, block_size)
    zero_point = None if zero_point is None or zero_point.size == 0 else zero_point
    linear = _linear(g, input, block_size, scale, zero_point)
    if linear is not None:
        return cast(g, linear, output_dtype)
    x = cast(g, g.reshape(input, blocks.split), output_dtype)
    if zero_point is not None:
        x = g.Sub(x, cast(g, g.reshape(zero_point, blocks.counts), output_dtype))
    wide = promote_types(output_dtype, scale.element)
    x = g.Mul(cast(g, x, wide), cast(g, g.reshape(scale, blocks.counts), wide))
    return cast(g, g.reshape(x, sizes(g, input)), output_dtype)


def _linear(g: GraphBuilder, x: Value, block_size: Sequence[Size], scale: Value, zero: Value | None) -> Value | None:
    """As DequantizeLinear: one scale, one for each index of an axis, or one for each block along an axis."""
    if x.dtype not in (DataType.INT8, DataType.UINT8) or scale.dtype != DataType.FLOAT:
        return None
    if zero is not None and zero.element.is_floating_point():
        return None
    own = sizes(g, x)
    several = [a for a, (size, block) in enumerate(zip(own, block_size, strict=True)) if block not in (size, -1)]
    grouped = [a for a in several if block_size[a] != 1]
    shape: list[Size] = [own[a] for a in several]
    how: dict[str, int] = {"axis": several[0]} if several else {}
    if len(several) > 1 or grouped:
        # elements of a block lie along one axis: the others have a scale for each index
        axis = grouped[0] if len(grouped) == 1 else -1
        size, block = own[axis], block_size[axis]
        if axis < 0 or len(several) != x.rank or not isinstance(size, int) or not isinstance(block, int):
            return None
        shape[axis] = size // block
        how = {"axis": axis, "block_size": block}
    zero = None if zero is None else g.reshape(cast(g, zero, x.element), shape)
    result: Value = g.DequantizeLinear(x, g.reshape(scale, shape), zero, **how)
    return result


@symbolic("torchao", "choose_qparams_affine")
def choose_qparams_affine(
    g: GraphBuilder, input: Value, mapping_type: str, block_size: Sequence[Size], target_dtype: DataType,
    quant_min: Scalar | None = None, quant_max: Scalar | None = None, eps: float | None = None,
    scale_dtype: DataType | None = None, zero_point_dtype: DataType | None = None, keepdim: bool = False,
) -> tuple[Value, Value]:  # fmt: skip
    """torchao::choose_qparams_affine(Tensor input, str mapping_type, SymInt[] block_size, ...) -> (Tensor, Tensor)"""
    dtype = input.element
    low, high = _range(quant_min, quant_max, target_dtype)
    least = eps if eps is not None else float(np.finfo(np.float16 if dtype == DataType.FLOAT16 else np.float32).tiny)
    blocks = _blocks(g, input, block_size)
    split = g.reshape(input, blocks.split)
    smallest = g.Min(g.ReduceMin(split, blocks.inner, keepdims=int(keepdim)), value_of(g, 0.0, dtype))
    largest = g.Max(g.ReduceMax(split, blocks.inner, keepdims=int(keepdim)), value_of(g, 0.0, dtype))
    if mapping_type == "ASYMMETRIC":
        scale = g.Max(g.Div(g.Sub(largest, smallest), value_of(g, high - low, dtype)), value_of(g, least, dtype))
        zero = g.Sub(value_of(g, low, dtype), g.Round(g.Div(smallest, scale)))
        zero = cast(g, g.Clip(zero, value_of(g, low, dtype), value_of(g, high, dtype)),
                    zero_point_dtype or DataType.INT32)  # fmt: skip
    else:
        if mapping_type == "SYMMETRIC":
            scale = g.Div(g.Max(g.Neg(smallest), largest), value_of(g, (high - low) / 2, dtype))
        else:
            scale = g.Max(g.Div(smallest, value_of(g, low, dtype)), g.Div(largest, value_of(g, high, dtype)))
        scale = g.Max(scale, value_of(g, least, dtype))
        zero = g.Mul(cast(g, scale, zero_point_dtype or dtype), value_of(g, 0, zero_point_dtype or dtype))
        zero = g.Add(zero, value_of(g, int((high + low + 1) / 2), zero_point_dtype or dtype))
    if keepdim:
        out: list[Size] = [
            1 if block in (size, -1) else size if block == 1 else size // block
            for size, block in zip(sizes(g, input), block_size, strict=True)
        ]
        scale, zero = g.reshape(scale, out), g.reshape(zero, out)
    return cast(g, scale, scale_dtype or dtype), zero
