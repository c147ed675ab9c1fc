"""Signs of singular vectors of matrices of order two, as LAPACK's closed form (slasv2) gives them.

From order three on they follow from the steps of LAPACK's iteration, which isn't the one that is taken here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..value import Value
from .steps import sign_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def _parts(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value, Value]:
    """The four elements of 2 x 2 matrices, row by row, (..., 1, 1) each."""
    top, bottom = g.Split(x, axis=x.rank - 2, num_outputs=2, outputs=2)
    a, b = g.Split(top, axis=x.rank - 1, num_outputs=2, outputs=2)
    c, d = g.Split(bottom, axis=x.rank - 1, num_outputs=2, outputs=2)
    return a, b, c, d


def singular_vectors(g: GraphBuilder, x: Value, vh: Value, *, lower: bool) -> Value:
    """The signs of the rows of V^T, (..., 2, 1).

    Args:
        g: Builder.
        x: Matrices of order two.
        vh: V^T with any signs.
        lower: LAPACK makes x upper triangular by a rotation, as it does for wide matrices, not by a reflection.
    """
    a, b, c, d = _parts(g, x)
    v00, v01, v10, v11 = _parts(g, vh)
    determinant = g.Sub(g.Mul(a, d), g.Mul(b, c))
    # signs of the diagonal of the triangular matrix
    first = sign_of(g, a)
    second = g.Mul(sign_of(g, determinant), first)
    if not lower:
        first = g.Where(g.Equal(c, 0.0), first, g.Neg(first))
    ordered = g.LessOrEqual(g.Abs(determinant), g.Add(g.Mul(a, a), g.Mul(c, c)))
    top = g.Where(ordered, g.Mul(v00, first), g.Mul(v01, second))
    bottom = g.Where(ordered, g.Mul(v11, second), g.Neg(g.Mul(v10, first)))
    return sign_of(g, g.Concat(top, bottom, axis=-2))
