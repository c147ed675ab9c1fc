"""What the two Jacobi methods share: rotations of pairs of columns, all pairs in turn.

The columns stand in two halves; column i of the first is paired with column i of the second. After each step they move
round as the teams of a tournament do, so that after n - 1 steps all pairs have met, and all are at their places again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .steps import Going, epsilon

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Passes over all pairs, at most. The methods converge quadratically: 6 to 10 are what they take.
SWEEPS = 24


def even(g: GraphBuilder, x: Value, axes: list[int], size: int) -> Value:
    """Padded with zeros to an even size along axes: a column of zeros is never rotated."""
    if size % 2 == 0:
        return x
    pads = np.zeros((2, x.rank), np.int64)
    pads[1, axes] = 1
    return g.Pad(x, pads.reshape(-1).tolist())


def turn(size: int) -> np.ndarray:
    """Which column comes to each place after a step; the first one stays."""
    half = size // 2
    ring = [*range(1, half), *range(size - 1, half - 1, -1)]
    order = np.arange(size)
    order[ring] = [ring[-1], *ring[:-1]]
    return order


def rotation(b: GraphBuilder, first: Value, second: Value, joint: Value) -> tuple[Value, Value]:
    """Sine and tangent of the half angle of the rotation that takes `joint` off ((first, joint), (joint, second))."""
    ratio = b.Div(b.Sub(second, first), b.Mul(joint, 2.0))
    size = b.Abs(ratio)
    tangent = b.Div(1.0, b.Add(size, b.Sqrt(b.Add(b.Mul(size, size), 1.0))))
    tangent = b.Where(b.Less(ratio, 0.0), b.Neg(tangent), tangent)
    tangent = b.Where(b.Equal(joint, 0.0), 0.0, tangent)
    cosine = b.Div(1.0, b.Sqrt(b.Add(b.Mul(tangent, tangent), 1.0)))
    sine = b.Mul(tangent, cosine)
    return sine, b.Div(sine, b.Add(cosine, 1.0))


def rotated(b: GraphBuilder, x: Value, sine: Value, half: Value, axis: int) -> Value:
    """Pairs along an axis rotated, then moved on to the next pairs.

    What is added is small where the angle is: rounding errors don't pile up as they do by the plain formula.
    """
    size = x.dim(axis)
    assert isinstance(size, int)
    left, right = b.Split(x, axis=axis, num_outputs=2, outputs=2)
    new = b.Concat(
        b.Sub(left, b.Mul(sine, b.Add(right, b.Mul(half, left)))),
        b.Add(right, b.Mul(sine, b.Sub(left, b.Mul(half, right)))),
        axis=axis,
    )
    return b.Gather(new, b.constant(turn(size)), axis=axis) if size > 2 else new


def counted(b: GraphBuilder, number: Value, size: int, before: Value, pairs: Value) -> Value:
    """How many pairs of this pass weren't at rest yet, after one more step."""
    begins = b.Equal(b.Mod(number, size - 1), 0)
    found = b.ReduceSum(b.Cast(pairs, to=ir.DataType.FLOAT), keepdims=0)
    return b.Add(b.Where(begins, 0.0, before), found)


def goes_on(size: int) -> Going:
    """Another step follows unless a pass ends in which all pairs were at rest; their number is the second state."""

    def going(b: GraphBuilder, number: Value, new: list[Value]) -> Value:
        ends = b.Equal(b.Mod(number, size - 1), size - 2)
        return b.Or(b.Not(ends), b.Greater(new[1], 0.0))

    return going


def scale_of(g: GraphBuilder, x: Value) -> Value:
    """A power of two near the largest number of each matrix: squares of what it divides don't overflow."""
    largest = g.ReduceMax(g.Abs(x), [-2, -1], keepdims=1)
    exponent = g.Ceil(g.Div(g.Log(g.Where(g.Greater(largest, 0.0), largest, 1.0)), float(np.log(2))))
    limit = float(np.finfo(x.element.numpy()).maxexp - 2)
    return g.Pow(np.asarray(2, x.element.numpy()), g.Max(g.Min(exponent, limit), -limit))


def tolerance(x: Value, size: int) -> float:
    """What counts as nothing beside 1: the rounding errors of a sum of so many products."""
    return 4 * epsilon(x) * float(np.sqrt(size))
