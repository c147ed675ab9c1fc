"""Piecewise linear curves."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value


def interpolate(g: GraphBuilder, x: Value, at: np.ndarray, values: np.ndarray) -> Value:
    """``np.interp(x, at, values)`` for doubles x of one axis, NaN outside the curve and for NaN.

    Args:
        x: double[batch].
        at: Where the curve bends, rising.
        values: Its value there.
    """
    knots, heights = np.asarray(at, np.float64), np.asarray(values, np.float64)
    count = len(knots)
    reached = g.Cast(g.GreaterOrEqual(g.Unsqueeze(x, [1]), knots), to=ir.DataType.INT64)
    below = g.Sub(g.ReduceSum(reached, [1], keepdims=0), np.int64(1))  # last knot that is not above x
    low = g.Min(g.Max(below, np.int64(0)), np.int64(count - 1))
    slopes = np.append(np.diff(heights) / np.diff(knots), 0.0)
    offset = g.Sub(x, g.Gather(knots, low, axis=0))
    found = g.Add(g.Mul(g.Gather(slopes, low, axis=0), offset), g.Gather(heights, low, axis=0))
    inside = g.And(g.GreaterOrEqual(x, knots[0]), g.LessOrEqual(x, knots[-1]))
    return g.Where(inside, found, np.float64(np.nan))
