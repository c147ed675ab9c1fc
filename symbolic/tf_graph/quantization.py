"""Simulated quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, number

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic(DIALECT, "FakeQuantWithMinMaxVars")
def fake_quant_vars(
    g: GraphBuilder, x: Value, low: Value, high: Value, *, num_bits: int = 8, narrow_range: bool = False
) -> Value:
    """FakeQuantWithMinMaxVars(inputs: float, min: float, max: float, num_bits: int, narrow_range: bool) -> float"""
    ends = [float(number(g, v, "FakeQuantWithMinMaxVars", "a range")) for v in (low, high)]
    return _fake_quant(g, x, ends[0], ends[1], num_bits, narrow_range)


@symbolic(DIALECT, "FakeQuantWithMinMaxArgs")
def fake_quant_args(
    g: GraphBuilder,
    x: Value,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
) -> Value:
    """FakeQuantWithMinMaxArgs(inputs: float, min: float, max: float, num_bits: int, narrow_range: bool) -> float"""
    return _fake_quant(g, x, min, max, num_bits, narrow_range)


def _fake_quant(g: GraphBuilder, x: Value, low: float, high: float, bits: int, narrow: bool) -> Value:
    """Clamped to a range that is moved so that it holds 0 exactly, then rounded to a multiple of its step."""
    f = np.float32
    bottom, top = f(1 if narrow else 0), f(2**bits - 1)
    step = (f(high) - f(low)) / (top - bottom)
    inverse = (top - bottom) / (f(high) - f(low))
    zero = bottom - f(low) / step
    nudged = bottom if zero < bottom else top if zero > top else np.floor(zero + f(0.5))
    least, most = (bottom - nudged) * step, (top - nudged) * step
    clamped = g.Clip(x, g.constant(f(least)), g.constant(f(most)))
    shifted = g.Mul(g.Sub(clamped, g.constant(f(least))), g.constant(f(inverse)))
    whole = g.Floor(g.Add(shifted, 0.5))
    return g.Add(g.Mul(whole, g.constant(f(step))), g.constant(f(least)))


@symbolic(DIALECT, "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(
    g: GraphBuilder,
    x: Value,
    low: Value,
    high: Value,
    *,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
) -> Value:
    """QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T, signed_input, num_bits, range_given ...) -> T"""
    dtype = x.element.numpy()
    bottom = float(-(2 ** (num_bits - 1)) + int(narrow_range) if signed_input else 0)
    top = float(2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1)
    others = [a for a in range(x.rank) if axis >= 0 and a != axis]
    if range_given:
        least, most = (g.Unsqueeze(v, others) if others and v.rank else v for v in (low, high))
    elif x.rank:
        axes = others if axis >= 0 else list(range(x.rank))
        least, most = (call(g, op, x, axes, keepdims=int(axis >= 0)) for op in ("ReduceMin", "ReduceMax"))
    else:
        least = most = x
    # the scale that makes both ends fit, taken from the end that needs more
    largest = g.constant(np.array(np.finfo(dtype).max, dtype))
    by_low = g.Where(g.Greater(g.Mul(least, bottom), 0.0), g.Div(bottom, least), largest)
    by_high = g.Where(g.Greater(g.Mul(most, top), 0.0), g.Div(top, most), largest)
    scale = g.Min(by_low, by_high)
    inverse = g.Where(g.Less(by_low, by_high), g.Div(least, bottom or 1.0), g.Div(most, top))
    inside = g.Max(g.Min(x, g.Mul(inverse, top)), g.Mul(inverse, bottom)) if range_given else x
    scaled = g.Mul(inside, scale)
    whole = g.Round(scaled) if round_mode == "HALF_TO_EVEN" else g.Floor(g.Add(scaled, 0.5))
    return g.Mul(whole, inverse)


@symbolic(DIALECT, "QuantizeAndDequantizeV3")
def quantize_and_dequantize_v3(
    g: GraphBuilder,
    x: Value,
    low: Value,
    high: Value,
    bits: Value,
    *,
    signed_input: bool = True,
    range_given: bool = True,
    narrow_range: bool = False,
    axis: int = -1,
) -> Value:
    """QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32, signed_input ...) -> T"""
    return quantize_and_dequantize(
        g,
        x,
        low,
        high,
        signed_input=signed_input,
        num_bits=number(g, bits, "QuantizeAndDequantizeV3", "a number of bits"),
        range_given=range_given,
        narrow_range=narrow_range,
        axis=axis,
    )
