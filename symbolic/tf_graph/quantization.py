"""Simulated quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..registry import symbolic
from ..value import Value
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
