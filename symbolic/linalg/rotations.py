"""Lengths and rotations of pairs of numbers, as LAPACK computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def length_of(b: GraphBuilder, x: Value, y: Value) -> Value:
    """Of the vector (x, y); it neither overflows nor loses small numbers."""
    p, q = b.Abs(x), b.Abs(y)
    larger = b.Max(p, q)
    ratio = b.Div(b.Min(p, q), safe(b, larger))
    return b.Mul(larger, b.Sqrt(b.Add(b.Mul(ratio, ratio), 1.0)))


def safe(b: GraphBuilder, x: Value) -> Value:
    """A divisor: one in place of zero."""
    return b.Where(b.Equal(x, 0.0), 1.0, x)


def rotation_of(b: GraphBuilder, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Cosine, sine and length of the rotation that takes (x, y) to (length, 0); the length has the sign of x."""
    length = length_of(b, x, y)
    length = b.Where(b.Less(x, 0.0), b.Neg(length), length)
    divisor = safe(b, length)
    return b.Where(b.Equal(length, 0.0), 1.0, b.Div(x, divisor)), b.Div(y, divisor), length
