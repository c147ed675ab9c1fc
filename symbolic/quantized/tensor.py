"""Quantised tensors: whole numbers (levels) with a scale and a zero point.

Operators compute with the numbers that a tensor stands for, behind its DequantizeLinear, and what they give is rounded
by a QuantizeLinear again. Runtimes know this form, and compute with the levels where they have kernels for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..aten.promotion import Scalar, cast, unsupported, value_of
from ..dims import Sizes
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

DataType = ir.DataType
#: Smallest and largest level by dtype.
LIMITS = {DataType.INT8: (-128, 127), DataType.UINT8: (0, 255), DataType.INT32: (-(2**31), 2**31 - 1)}


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """A quantised tensor.

    Attributes:
        numbers: What it stands for, float32; each is a level's number exactly.
        scale: One float32, or one for each index along the axis.
        zero: The levels of 0, in the dtype of the levels.
        axis: The axis that has a scale for each index; None for one scale.
        levels: The levels, where something has made them already.
        step: The scale in double precision, where the program says it.
    """

    numbers: Value
    scale: Value
    zero: Value
    axis: int | None = None
    levels: Value | None = None
    step: float | None = None

    @property
    def kind(self) -> ir.DataType:
        """Dtype of the levels."""
        return self.zero.element

    @property
    def element(self) -> ir.DataType:
        """Dtype of the numbers."""
        return self.numbers.element

    dtype = element

    @property
    def sizes(self) -> Sizes | None:
        """Sizes of the tensor, as `Value.sizes`."""
        return self.numbers.sizes

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.numbers.rank

    def dim(self, axis: int) -> object:
        """Size of one axis, as `Value.dim`."""
        return self.numbers.dim(axis)

    def same_levels(self, other: Quantized) -> bool:
        """Whether a level stands for the same number in both."""
        return self.scale is other.scale and self.zero is other.zero and self.axis == other.axis


def from_levels(g: GraphBuilder, levels: Value, scale: Value, zero: Value, axis: int | None = None) -> Quantized:
    """The tensor that has these levels."""
    if levels.element == DataType.INT32 and not _is_zero(zero):  # DequantizeLinear takes no zero point for int32
        across, off = _across(g, scale, levels.rank, axis), _across(g, zero, levels.rank, axis)
        return Quantized(g.Mul(cast(g, g.Sub(levels, off), scale.element), across), scale, zero, axis, levels)
    how = {} if axis is None else {"axis": axis}
    numbers = g.DequantizeLinear(levels, scale, None if levels.element == DataType.INT32 else zero, **how)
    return Quantized(numbers, scale, zero, axis, levels)


def quantized(
    g: GraphBuilder, x: Value, scale: Scalar, zero: Scalar, kind: ir.DataType, axis: int | None = None
) -> Quantized:
    """A float tensor rounded to levels."""
    if kind not in LIMITS:
        raise unsupported(f"quantisation to {kind.name}", g)
    step = scale if isinstance(scale, float) else None
    scale, zero = value_of(g, scale, DataType.FLOAT), value_of(g, zero, kind)
    if axis is None:
        scale, zero = (g.reshape(v, []) if v.rank else v for v in (scale, zero))
    x = cast(g, x, DataType.FLOAT)
    if kind == DataType.INT32:  # which QuantizeLinear doesn't make
        steps = g.Round(g.Mul(x, g.Reciprocal(_across(g, scale, x.rank, axis))))
        steps = g.Add(cast(g, steps, DataType.INT64), cast(g, _across(g, zero, x.rank, axis), DataType.INT64))
        low, high = (g.constant(np.array(limit, np.int64)) for limit in LIMITS[kind])
        levels = cast(g, g.Min(g.Max(steps, low), high), kind)
    else:
        levels = g.QuantizeLinear(x, scale, zero, **({} if axis is None else {"axis": axis}))
    return replace(from_levels(g, levels, scale, zero, axis), step=step)


def requantized(g: GraphBuilder, x: Value, like: Quantized) -> Quantized:
    """A float tensor rounded to the levels of another tensor."""
    return replace(quantized(g, x, like.scale, like.zero, like.kind, like.axis), step=like.step)


def moved(g: GraphBuilder, numbers: Value, like: Quantized) -> Quantized:
    """Numbers of a tensor with one scale, at other places.

    They are levels' numbers already. A QuantizeLinear behind every operator is what runtimes look for all the same
    (onnxruntime 1.32 even fails, from opset 21 on, where none follows a moved int8 tensor).
    """
    return replace(like, numbers=numbers, levels=None) if like.kind == DataType.INT32 else requantized(g, numbers, like)


def levels_of(g: GraphBuilder, x: Quantized) -> Value:
    """The levels of a tensor."""
    if x.levels is not None:
        return x.levels
    found = requantized(g, x.numbers, x).levels
    assert found is not None
    return found


def _is_zero(zero: Value) -> bool:
    return zero.is_constant and zero.array is not None and not np.any(zero.array)


def _across(g: GraphBuilder, vector: Value, rank: int, axis: int | None) -> Value:
    """Numbers of channels, shaped to meet a tensor's axis."""
    if axis is None:
        return vector
    return g.Unsqueeze(vector, [i for i in range(rank) if i != axis]) if rank > 1 else vector
