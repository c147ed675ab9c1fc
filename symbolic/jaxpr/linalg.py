"""Linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..linalg.cholesky import cholesky as cholesky_of
from ..linalg.solve import lu as lu_of
from ..linalg.solve import pivots_to_permutation
from ..linalg.triangular import triangular_solve as triangular_solve_of
from ..registry import symbolic
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("jaxpr", "cholesky")
def cholesky(g: GraphBuilder, x: Value, **_: Any) -> Value:
    """cholesky(x)"""
    return cholesky_of(g, x)[0]


@symbolic("jaxpr", "triangular_solve")
def triangular_solve(
    g: GraphBuilder,
    a: Value,
    b: Value,
    left_side: bool,
    lower: bool,
    transpose_a: Any,
    unit_diagonal: bool,
    **_: Any,
) -> Value:
    """triangular_solve(a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal)"""
    transposed = transpose_a not in (False, 0, "NO_TRANSPOSE")
    return triangular_solve_of(g, a, b, left=left_side, lower=lower, transposed=transposed, unit=unit_diagonal)


@symbolic("jaxpr", "lu")
def lu(g: GraphBuilder, x: Value, **_: Any) -> list[Value]:
    """lu(x): factors, pivots, permutation"""
    return lu_of(g, x)


@symbolic("jaxpr", "lu_pivots_to_permutation")
def lu_pivots_to_permutation(g: GraphBuilder, pivots: Value, permutation_size: int) -> Value:
    """lu_pivots_to_permutation(pivots, *, permutation_size)"""
    return pivots_to_permutation(g, pivots, permutation_size)
