"""Linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..linalg.cholesky import cholesky as cholesky_of
from ..linalg.eigh import eigh as eigh_of
from ..linalg.qr import geqrf as geqrf_of
from ..linalg.qr import householder_product as householder_product_of
from ..linalg.qr import qr as qr_of
from ..linalg.qr import reflect
from ..linalg.solve import lu as lu_of
from ..linalg.solve import pivots_to_permutation
from ..linalg.svd import singular_values
from ..linalg.svd import svd as svd_of
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


@symbolic("jaxpr", "geqrf")
def geqrf(g: GraphBuilder, a: Value) -> list[Value]:
    """geqrf(a): packed reflections and R, factors of the reflections"""
    return list(geqrf_of(g, a))


@symbolic("jaxpr", "householder_product")
def householder_product(g: GraphBuilder, a: Value, taus: Value) -> Value:
    """householder_product(a, taus)"""
    return householder_product_of(g, a, taus)


@symbolic("jaxpr", "ormqr")
def ormqr(g: GraphBuilder, a: Value, taus: Value, c: Value, left: bool, transpose: bool) -> Value:
    """ormqr(a, taus, c, *, left, transpose)"""
    return reflect(g, a, taus, c, left=left, transposed=transpose)


@symbolic("jaxpr", "qr")
def qr(g: GraphBuilder, a: Value, full_matrices: bool, pivoting: bool = False, use_magma: Any = None) -> list[Value]:
    """qr(a, *, pivoting, full_matrices, use_magma): Q, R"""
    if pivoting:
        raise ValueError("pivoting isn't supported")
    return list(qr_of(g, a, complete=full_matrices))


@symbolic("jaxpr", "svd")
def svd(
    g: GraphBuilder,
    a: Value,
    compute_uv: bool,
    full_matrices: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> list[Value]:
    """svd(a, *, full_matrices, compute_uv, subset_by_index, algorithm): singular values, U, V^T"""
    # pairs of singular vectors may have other signs than JAX's; what is made of U f(S) V^T is the same
    if subset_by_index not in (None, (0, min(a.dim(-2), a.dim(-1)))):  # type: ignore[type-var]
        raise ValueError("a part of the singular values isn't supported")
    if not compute_uv:
        return [singular_values(g, a)]
    u, values, vh = svd_of(g, a, full=full_matrices)
    return [values, u, vh]


@symbolic("jaxpr", "eigh")
def eigh(
    g: GraphBuilder,
    x: Value,
    lower: bool,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> list[Value | None]:
    """eigh(x, *, lower, sort_eigenvalues, subset_by_index, algorithm): eigenvectors, eigenvalues"""
    # eigenvectors may have other signs than JAX's
    if subset_by_index not in (None, (0, x.dim(-1))):
        raise ValueError("a part of the eigenvalues isn't supported")
    values, vectors = eigh_of(g, x, lower=lower)
    return [vectors, values]
