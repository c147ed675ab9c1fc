"""Signs of vectors of matrices of order two, as LAPACK's closed forms (slaev2, slasv2) give them.

From order three on the signs follow from the number of iterations that LAPACK takes: they can't be foretold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..value import Value
from .steps import epsilon, sign_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def _parts(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value, Value]:
    """The four elements of 2 x 2 matrices, row by row, (..., 1, 1) each."""
    top, bottom = g.Split(x, axis=x.rank - 2, num_outputs=2, outputs=2)
    a, b = g.Split(top, axis=x.rank - 1, num_outputs=2, outputs=2)
    c, d = g.Split(bottom, axis=x.rank - 1, num_outputs=2, outputs=2)
    return a, b, c, d


def eigenvectors(g: GraphBuilder, x: Value, vectors: Value) -> Value:
    """The columns with the signs that they have for a symmetric x; eigenvalues ascend."""
    a, _, b, c = _parts(g, x)
    zero = np.zeros((), x.element.numpy())
    v00, v01, v10, v11 = _parts(g, vectors)
    # of the eigenvalue that is larger without its sign, and of the other one
    upper = g.GreaterOrEqual(g.Add(a, c), zero)
    large0, large1 = g.Where(upper, v01, v00), g.Where(upper, v11, v10)
    small0, small1 = g.Where(upper, v00, v01), g.Where(upper, v10, v11)
    same = g.Equal(upper, g.GreaterOrEqual(a, c))
    even = g.Equal(a, c)
    large = g.Where(even, g.Where(upper, large1, large0), g.Where(same, g.Neg(large0), large1))
    small = g.Where(even, g.Where(upper, g.Neg(small0), small1), g.Neg(g.Where(same, small1, small0)))
    # a matrix that is diagonal, or as good as that, is left alone
    limit = g.Mul(g.Mul(g.Sqrt(g.Abs(a)), g.Sqrt(g.Abs(c))), epsilon(x) / 2)
    diagonal = g.LessOrEqual(g.Abs(b), limit)
    large = g.Where(diagonal, g.Add(large0, large1), large)
    small = g.Where(diagonal, g.Add(small0, small1), small)
    first, second = g.Where(upper, small, large), g.Where(upper, large, small)
    return g.Mul(vectors, sign_of(g, g.Concat(first, second, axis=-1)))


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
