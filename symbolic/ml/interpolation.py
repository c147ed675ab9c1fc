"""Piecewise linear functions: numpy's `searchsorted` and `interp`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value


def count_reached(g: GraphBuilder, x: Value, points: np.ndarray) -> Value:
    """How many of the ascending points do not lie above x: ``np.searchsorted(points, x, side="right")``, int64.

    By halves, so that no [rows, points] table is made; 0 for NaN.
    """
    steps = len(points).bit_length()
    padded = np.full(2**steps, np.inf)
    padded[: len(points)] = points
    found: Value | None = None
    for step in (2**i for i in reversed(range(steps))):
        if found is None:
            reached = g.GreaterOrEqual(x, padded[step - 1])
            found = g.Mul(g.Cast(reached, to=ir.DataType.INT64), np.int64(step))
            continue
        # point number `found + step`, counted from 1
        next_point = g.Gather(padded, g.Add(found, np.int64(step - 1)), axis=0)
        reached = g.GreaterOrEqual(x, next_point)
        found = g.Add(found, g.Mul(g.Cast(reached, to=ir.DataType.INT64), np.int64(step)))
    assert found is not None
    return g.Min(found, np.int64(len(points)))  # an infinite x reaches the padding


def interpolate(
    g: GraphBuilder, x: Value, points: np.ndarray, heights: np.ndarray, *, outside: float | None = None
) -> Value:
    """``np.interp(x, points, heights)`` of doubles.

    Args:
        x: Where; NaN gives NaN.
        points: Where the curve bends, ascending.
        heights: Its value there.
        outside: Value below and beyond the points; that of the nearest one where None.
    """
    points, heights = np.asarray(points, np.float64), np.asarray(heights, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.append(np.diff(heights) / np.diff(points), 0.0)
    slopes = np.where(np.isnan(slopes), 0.0, slopes)  # between equal points lies nothing
    count = count_reached(g, x, points)
    at = g.Max(g.Sub(count, np.int64(1)), np.int64(0))
    start, height = g.Gather(points, at, axis=0), g.Gather(heights, at, axis=0)
    inside = g.Add(g.Mul(g.Gather(slopes, at, axis=0), g.Sub(x, start)), height)
    if np.isinf(slopes).any():  # points so near each other that the slope overflows
        inside = g.Where(g.Equal(x, start), height, inside)
    below, beyond = g.Equal(count, np.int64(0)), g.Equal(count, np.int64(len(points)))
    if outside is not None:
        beyond, inside = g.Greater(x, points[-1]), g.Where(beyond, heights[-1], inside)
    left, right = (heights[0], heights[-1]) if outside is None else (np.float64(outside),) * 2
    found = g.Where(beyond, right, g.Where(below, left, inside))
    return g.Where(g.IsNaN(x), x, found)
