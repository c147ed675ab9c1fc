"""What TensorFlow Lite's operators share: quantisation, fused activations, the arithmetic of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..errors import MissingOp, UnsupportedOps
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

DIALECT = "tflite_ops"
#: Key in a value's meta: its `Quantization`.
QUANTIZED = "tflite_quantization"
DataType = ir.DataType
#: Dtype and quantisation of a result.
Result = tuple[ir.DataType, "Quantization | None"]
_RANGES: dict[int, tuple[float, float]] = {0: (-math.inf, math.inf), 1: (0, math.inf), 2: (-1, 1), 3: (0, 6)}


@dataclass(frozen=True, eq=False)
class Quantization:
    """Integers stand for (integer - zero) * scale.

    Attributes:
        scale: One number, or one for each entry of an axis.
        zero: Likewise.
        axis: The axis of several.
    """

    scale: np.ndarray
    zero: np.ndarray
    axis: int

    def same(self, other: Quantization) -> bool:
        """Whether it says the same."""
        return np.array_equal(self.scale, other.scale) and np.array_equal(self.zero, other.zero)


def refused(g: GraphBuilder, op: str, reason: str) -> UnsupportedOps:
    """The error for an option that an operator's function doesn't do."""
    return UnsupportedOps([MissingOp(DIALECT, op, 1, (g.location,), reason)])


def quantization(x: Value) -> Quantization | None:
    """How the integers of a tensor stand for numbers; None where they stand for themselves."""
    found = x.meta.get(QUANTIZED)
    return found if isinstance(found, Quantization) else None


def is_float(x: Value) -> bool:
    """Whether a tensor holds floating-point numbers."""
    return x.element in (DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE)


def one(g: GraphBuilder, x: Value | Quantization | None, op: str) -> tuple[np.float32, int]:
    """Scale and zero point of a whole tensor.

    Raises:
        UnsupportedOps: It isn't quantised, or differently along an axis.
    """
    found = quantization(x) if isinstance(x, Value) else x
    if found is None or found.scale.size != 1:
        raise refused(g, op, "integers of this quantisation aren't supported")
    return np.float32(found.scale[0]), int(found.zero[0])


def activated(g: GraphBuilder, x: Value, activation: int, op: str) -> Value:
    """A fused activation on floats."""
    if activation == 4:
        return g.Tanh(x)
    if activation not in _RANGES:
        raise refused(g, op, f"the fused activation number {activation} isn't supported")
    low, high = _RANGES[activation]
    if activation == 0:
        return x
    return g.Relu(x) if activation == 1 else g.Clip(x, float(low), float(high))


def integer_range(g: GraphBuilder, activation: int, result: Result, op: str) -> tuple[int, int]:
    """What a fused activation lets through of the integers of a result."""
    if activation not in _RANGES:
        raise refused(g, op, f"the fused activation number {activation} on integers isn't supported")
    limits = np.iinfo(result[0].numpy())
    scale, zero = one(g, result[1], op)
    low, high = _RANGES[activation]
    least = limits.min if math.isinf(low) else max(limits.min, zero + _round(np.float32(low) / scale))
    most = limits.max if math.isinf(high) else min(limits.max, zero + _round(np.float32(high) / scale))
    return int(least), int(most)


def _round(x: np.floating[Any]) -> int:
    """Halves away from zero."""
    return math.floor(abs(float(x)) + 0.5) * (1 if x >= 0 else -1)


def multiplier(scale: float) -> tuple[int, int]:
    """A factor as an integer of 31 bits and a power of two."""
    if scale == 0:
        return 0, 0
    share, exponent = math.frexp(scale)
    whole = math.floor(share * (1 << 31) + 0.5)
    if whole == 1 << 31:
        whole, exponent = whole // 2, exponent + 1
    return (0, 0) if exponent < -31 else (whole, exponent)


def times(x: int, whole: int, exponent: int) -> int:
    """`scaled` of one integer."""

    def quotient(a: int, b: int) -> int:
        return a // b if a >= 0 else -(-a // b)

    product = x * (1 << max(exponent, 0)) * whole
    high = quotient(product + ((1 << 30) if product >= 0 else 1 - (1 << 30)), 1 << 31)
    right = 1 << max(-exponent, 0)
    return quotient(high + (right // 2 if high >= 0 else -(right // 2)), right)


def rescaled(g: GraphBuilder, x: Value, factors: Sequence[float], shape: Sequence[int] = ()) -> Value:
    """Integers (int64, within int32) times factors, rounded as the reference kernels round: twice.

    First the high half of the doubled product with the 31-bit multiplier, then a division by a power of two; both
    round to nearest, halves away from zero (the first: towards what a truncating division of the nudged product gives).

    Args:
        g: Builder.
        x: Integers.
        factors: One factor, or one for each channel.
        shape: Shape of the factors, to broadcast with x.
    """
    return scaled(g, x, [multiplier(f) for f in factors], shape)


def scaled(g: GraphBuilder, x: Value, pairs: Sequence[tuple[int, int]], shape: Sequence[int] = ()) -> Value:
    """`rescaled` by factors as `multiplier` gives them."""
    whole = np.array([m for m, _ in pairs], np.int64).reshape(shape)
    left = np.array([1 << max(e, 0) for _, e in pairs], np.int64).reshape(shape)
    right = np.array([1 << max(-e, 0) for _, e in pairs], np.int64).reshape(shape)
    if (left != 1).any():
        x = g.Mul(x, g.constant(left))
    product = g.Mul(x, g.constant(whole))
    nudge = g.Where(g.GreaterOrEqual(product, 0), g.constant(1 << 30), g.constant(1 - (1 << 30)))
    high = g.Div(g.Add(product, nudge), 1 << 31)
    if (right == 1).all():
        return high
    half = g.constant(right // 2)
    signed = g.Where(g.GreaterOrEqual(high, 0), half, g.Neg(half))
    return g.Div(g.Add(high, signed), g.constant(right))


def finished(g: GraphBuilder, x: Value, result: Result, bounds: tuple[int, int], zero: int) -> Value:
    """Integers with the zero point added, within bounds, in the result's dtype."""
    shifted = g.Add(x, zero) if zero else x
    return g.Cast(g.Min(g.Max(shifted, bounds[0]), bounds[1]), to=result[0])
