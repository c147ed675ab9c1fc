"""Complex matrices as real ones of twice the size: [[a, -b], [b, a]] stands for a + i b.

Sums, products, inverses, pseudo-inverses and exponentials of such matrices are such matrices again. Singular
values, and eigenvalues of Hermitian matrices, come twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..value import Value
from .number import Complex, Number, as_complex

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def embedded(g: GraphBuilder, x: Number) -> Value:
    """The real matrix that stands for a complex one."""
    z = as_complex(g, x)
    upper = g.Concat(z.real, g.Neg(z.imag), axis=-1)
    lower = g.Concat(z.imag, z.real, axis=-1)
    whole: Value = g.Concat(upper, lower, axis=-2)
    return whole


def column(g: GraphBuilder, x: Number) -> Value:
    """The left half of `embedded`: the right side of a system."""
    z = as_complex(g, x)
    half: Value = g.Concat(z.real, z.imag, axis=-2)
    return half


def from_column(g: GraphBuilder, x: Value) -> Complex:
    """The complex matrix whose real part lies above its imaginary part."""
    real, imaginary = g.Split(x, axis=-2, num_outputs=2, outputs=2)
    return Complex(real, imaginary)


def from_embedded(g: GraphBuilder, x: Value) -> Complex:
    """The complex matrix that a real one stands for."""
    left, _ = g.Split(x, axis=-1, num_outputs=2, outputs=2)
    return from_column(g, left)


def every_second(g: GraphBuilder, values: Value) -> Value:
    """One of each pair of sorted values."""
    end: Any = [2**62]
    single: Value = g.Slice(values, [0], end, [-1], [2])
    return single
