"""Simulated quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..registry import symbolic
from ..value import Value
from .common import DIALECT, number, refused

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
    if round_mode != "HALF_TO_EVEN":
        raise refused(g, "QuantizeAndDequantizeV2", f"the rounding {round_mode} isn't supported")
    if not range_given:
        raise refused(g, "QuantizeAndDequantizeV2", "a range that is taken from the input isn't supported")
    f = x.element.numpy().type
    bottom = -(2 ** (num_bits - 1)) + int(narrow_range) if signed_input else 0
    top = 2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1
    ends = [np.asarray(v.array) if v.array is not None else None for v in (low, high)]
    if ends[0] is None or ends[1] is None:
        raise refused(g, "QuantizeAndDequantizeV2", "a range computed by the model isn't supported")
    shape = [1] * x.rank
    if axis >= 0:
        shape[axis] = -1
    least, most = (np.asarray(e, f).reshape(shape if axis >= 0 else []) for e in ends)
    with np.errstate(divide="ignore"):  # the scale that makes both ends fit, taken from the end that needs more
        by_low = np.where(bottom * least > 0, f(bottom) / least, np.finfo(f).max)
        by_high = np.where(top * most > 0, f(top) / most, np.finfo(f).max)
    scale = np.minimum(by_low, by_high).astype(f)
    inverse = np.where(by_low < by_high, least / f(bottom or 1), most / f(top)).astype(f)
    if np.any(scale == np.finfo(f).max):
        raise refused(g, "QuantizeAndDequantizeV2", "an empty range isn't supported")
    inside = g.Min(g.Max(x, g.constant((f(bottom) * inverse).astype(f))), g.constant((f(top) * inverse).astype(f)))
    return g.Mul(g.Round(g.Mul(inside, g.constant(scale))), g.constant(inverse))
