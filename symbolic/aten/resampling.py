"""Resampling by one matrix for each axis: antialiased places that Resize doesn't know, and images of bytes.

The matrices are written with ONNX operators in double precision: constants at known sizes, computed by the running
model at open ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.sizes import Size, as_value, size_at
from ..value import Value
from .promotion import DataType, cast

#: Most bits behind the point in a weight of bytes, and the first weight that has too many.
_BITS, _TOO_LARGE = 22, 2.0**15


def filter_matrix(
    g: GraphBuilder, size: Size, out: Size, factor: float | None, mode: str, align_corners: bool, antialias: bool
) -> Value:
    """Weights (in, out) of an axis, in double precision.

    Args:
        g: The graph.
        size: Size of the axis.
        out: Its size afterwards.
        factor: How many times larger it gets, where that isn't ``out / size``.
        mode: ``linear`` or ``cubic``.
        align_corners: Whether the first and last elements keep their places.
        antialias: Whether the filter gets as wide as the step.
    """
    step = _step(g, size, out, factor, align_corners)
    index = _range(g, out)
    place = g.Unsqueeze(_range(g, size), [1])
    if antialias:
        return _wide(g, place, index, step, _double(g, size), mode)
    source = g.Mul(step, index) if align_corners else g.Sub(g.Mul(step, g.Add(index, 0.5)), 0.5)
    if mode == "linear":
        source = g.Max(source, 0.0)
    last = g.Sub(_double(g, size), 1.0)
    base = g.Min(g.Floor(source), last)
    beyond = g.Min(g.Max(g.Sub(source, base), 0.0), 1.0)
    total: Value | None = None
    for tap in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        weight = _curve(g, g.Abs(g.Sub(float(tap), beyond)), mode, -0.75)
        at = g.Min(g.Max(g.Add(base, float(tap)), 0.0), last)
        part = g.Mul(cast(g, g.Equal(place, at), DataType.DOUBLE), weight)
        total = part if total is None else g.Add(total, part)
    assert total is not None
    return total


def along(g: GraphBuilder, x: Value, axis: int, matrix: Value) -> Value:
    """Multiplies an axis by a matrix (in, out)."""
    order = list(range(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    return g.Transpose(g.MatMul(g.Transpose(x, perm=order), matrix), perm=order)


def resample_bytes(
    g: GraphBuilder, x: Value, output_size: list[Any], factors: list[float | None], mode: str,
    align_corners: bool, antialias: bool,
) -> Value:  # fmt: skip
    """Smooth resampling of a uint8 image: columns, then rows, each in whole numbers and rounded to bytes.

    The weights have 16 bits, as many of them behind the point as the largest weight leaves.
    """
    powers = 2.0 ** np.arange(_BITS + 1)
    for axis in (3, 2):
        size, out = x.dim(axis), output_size[axis - 2]
        if isinstance(size, int) and size == out:
            continue
        matrix = filter_matrix(g, size_at(g, x, axis), out, factors[axis - 2], mode, align_corners, antialias)
        largest = g.ReduceMax(matrix, keepdims=0)
        fits = g.Less(g.Add(g.Mul(largest, g.constant(powers[1:])), 0.5), _TOO_LARGE)
        bits = g.ReduceSum(cast(g, fits, DataType.INT64), None, keepdims=0)
        unit = g.Gather(g.constant(powers), bits)
        scaled = g.Mul(matrix, unit)
        whole = g.Mul(g.Sign(scaled), g.Floor(g.Add(g.Abs(scaled), 0.5)))
        summed = g.Add(along(g, cast(g, x, DataType.DOUBLE), axis, whole), g.Mul(unit, 0.5))
        x = cast(g, g.Min(g.Max(g.Floor(g.Div(summed, unit)), 0.0), 255.0), DataType.UINT8)
    return x


def _double(g: GraphBuilder, size: Size) -> Value:
    return cast(g, as_value(g, size), DataType.DOUBLE)


def _range(g: GraphBuilder, count: Size) -> Value:
    return cast(g, g.Range(0, as_value(g, count), 1), DataType.DOUBLE)


def _step(g: GraphBuilder, size: Size, out: Size, factor: float | None, align_corners: bool) -> Value:
    """How far apart neighbours of the result are in the input."""
    if not align_corners:
        return g.constant(np.float64(1 / factor)) if factor else g.Div(_double(g, size), _double(g, out))
    gaps = g.Sub(_double(g, out), 1.0)
    step = g.Div(g.Sub(_double(g, size), 1.0), g.Max(gaps, 1.0))
    return g.Where(g.Greater(gaps, 0.0), step, 0.0)


def _curve(g: GraphBuilder, at: Value, mode: str, a: float) -> Value:
    """The filter at these distances from its centre."""
    if mode == "linear":
        return g.Max(g.Sub(1.0, at), 0.0)
    inner = g.Add(g.Mul(g.Mul(g.Sub(g.Mul(at, a + 2), a + 3), at), at), 1.0)
    outer = g.Sub(g.Mul(g.Mul(g.Add(g.Mul(g.Sub(at, 5.0), at), 8.0), at), a), 4 * a)
    return g.Where(g.Less(at, 1.0), inner, g.Where(g.Less(at, 2.0), outer, 0.0))


def _wide(g: GraphBuilder, place: Value, index: Value, step: Value, size: Value, mode: str) -> Value:
    """Weights of the filter that is as wide as the step where that is above 1; it ends at the border."""
    wide = g.Max(step, 1.0)
    support = g.Mul(wide, 1.0 if mode == "linear" else 2.0)
    centre = g.Mul(step, g.Add(index, 0.5))
    first = g.Floor(g.Max(g.Add(g.Sub(centre, support), 0.5), 0.0))
    last = g.Min(g.Floor(g.Add(g.Add(centre, support), 0.5)), size)
    at = g.Abs(g.Div(g.Add(g.Sub(place, centre), 0.5), wide))
    inside = g.And(g.GreaterOrEqual(place, first), g.Less(place, last))
    weights = g.Where(inside, _curve(g, at, mode, -0.5), 0.0)
    return g.Div(weights, g.ReduceSum(weights, [0], keepdims=1))
