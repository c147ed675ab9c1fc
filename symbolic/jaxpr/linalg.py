"""Linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from ..value import Value
from ..xla import linalg

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("jaxpr", "cholesky")
def cholesky(g: GraphBuilder, x: Value, **_: Any) -> Value:
    """cholesky(x)"""
    return linalg.cholesky(g, x)


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
    return linalg.triangular_solve(g, a, b, left=left_side, lower=lower, transposed=transposed, unit=unit_diagonal)


@symbolic("jaxpr", "lu")
def lu(g: GraphBuilder, x: Value, **_: Any) -> list[Value]:
    """lu(x): factors, pivots, permutation"""
    return linalg.lu(g, x)


@symbolic("jaxpr", "lu_pivots_to_permutation")
def lu_pivots_to_permutation(g: GraphBuilder, pivots: Value, permutation_size: int) -> Value:
    """lu_pivots_to_permutation(pivots, *, permutation_size)"""
    return linalg.pivots_to_permutation(g, pivots, permutation_size)
