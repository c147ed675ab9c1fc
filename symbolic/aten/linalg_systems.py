"""Systems of equations, inverses and determinants: LU, Cholesky and triangular matrices."""

from __future__ import annotations

import numpy as np

from ..builder import GraphBuilder
from ..linalg import cholesky, ldl, solve, triangular
from ..linalg.steps import broadcast_batches, identity, known, sizes_of, smaller, swapped, triangle
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, cast, unsupported


def empty(g: GraphBuilder, like: Value) -> Value:
    """What stands for a result that isn't asked for."""
    return g.constant(np.zeros(0, like.element.numpy()))


# --- LU --------------------------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_lu_factor_ex", "_lu_with_info")
def linalg_lu_factor_ex(
    g: GraphBuilder, A: Value, pivot: bool = True, check_errors: bool = False
) -> tuple[Value, Value, Value]:
    """aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor, Tensor, Tensor)"""
    if not pivot:  # torch has it on GPUs only
        raise unsupported("LU without pivoting", g)
    factors, pivots, _ = solve.lu(g, A)
    return factors, g.Add(pivots, 1), solve.first_zero(g, factors)


@symbolic("aten", "linalg_lu")
def linalg_lu(g: GraphBuilder, A: Value, pivot: bool = True) -> tuple[Value, Value, Value]:
    """aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)"""
    if not pivot:
        raise unsupported("LU without pivoting", g)
    factors, _, permutation = solve.lu(g, A)
    return swapped(g, solve.permutation_matrix(g, permutation, A)), *_triangles(g, factors)


@symbolic("aten", "lu_unpack")
def lu_unpack(
    g: GraphBuilder, LU_data: Value, LU_pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Value, Value, Value]:
    """aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (...)"""
    p = lower = upper = empty(g, LU_data)
    if unpack_pivots:
        permutation = solve.pivots_to_permutation(g, g.Sub(LU_pivots, 1), known(LU_data, -2))
        p = swapped(g, solve.permutation_matrix(g, permutation, LU_data))
    if unpack_data:
        lower, upper = _triangles(g, LU_data)
    return p, lower, upper


def _triangles(g: GraphBuilder, factors: Value) -> tuple[Value, Value]:
    """L with ones on the diagonal, and U."""
    rows, columns = known(factors, -2), known(factors, -1)
    count = smaller(rows, columns)
    left = factors if count == columns else g.Slice(factors, [0], g.size_vector(count), [-1])
    right = factors if count == rows else g.Slice(factors, [0], g.size_vector(count), [-2])
    return triangle(g, left, lower=True, diagonal=1), triangle(g, right, lower=False)


@symbolic("aten", "linalg_lu_solve")
def linalg_lu_solve(
    g: GraphBuilder, LU: Value, pivots: Value, B: Value, left: bool = True, adjoint: bool = False
) -> Value:
    """aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor"""
    permutation = solve.pivots_to_permutation(g, g.Sub(pivots, 1), known(LU, -1))
    if left:
        return solve.lu_solve(g, LU, permutation, B, transposed=adjoint)
    return swapped(g, solve.lu_solve(g, LU, permutation, swapped(g, B), transposed=not adjoint))


# --- systems ---------------------------------------------------------------------------------------------------------


@symbolic("aten", "_linalg_solve_ex")
def linalg_solve_ex(
    g: GraphBuilder, A: Value, B: Value, left: bool = True, check_errors: bool = False
) -> tuple[Value, Value, Value, Value]:
    """aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (...)"""
    # as torch does for matrices that lie row by row, the transpose is factored
    factors, pivots, permutation = solve.lu(g, swapped(g, A))
    vector = B.rank == 1 or (A.rank - 1 == B.rank and B.sizes == (A.sizes or ())[:-1])
    right = g.Unsqueeze(B, [-1]) if vector else B
    if left:
        x = solve.lu_solve(g, factors, permutation, right, transposed=True)
    else:
        x = swapped(g, solve.lu_solve(g, factors, permutation, swapped(g, right)))
    return (
        g.Squeeze(x, [-1]) if vector else x,
        factors,
        g.Add(pivots, 1),
        solve.first_zero(g, factors),
    )


@symbolic("aten", "linalg_inv_ex")
def linalg_inv_ex(g: GraphBuilder, A: Value, check_errors: bool = False) -> tuple[Value, Value]:
    """aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)"""
    eye = g.expand(identity(g, A, known(A, -1)), sizes_of(g, A))
    inverse, _, _, info = linalg_solve_ex(g, A, eye)
    return inverse, info


@symbolic("aten", "linalg_solve_triangular")
def linalg_solve_triangular(
    g: GraphBuilder, self: Value, B: Value, upper: bool, left: bool = True, unitriangular: bool = False
) -> Value:
    """aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)"""
    a, b = broadcast_batches(g, self, B)
    return triangular.triangular_solve(g, a, b, lower=not upper, left=left, unit=unitriangular)


@symbolic("aten", "triangular_solve")
def triangular_solve(
    g: GraphBuilder, self: Value, A: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Value, Value]:
    """aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, ...) -> (Tensor, Tensor)"""
    a, b = broadcast_batches(g, A, self)
    x = triangular.triangular_solve(g, a, b, lower=not upper, transposed=transpose, unit=unitriangular)
    return x, a


# --- Cholesky --------------------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_cholesky_ex")
def linalg_cholesky_ex(
    g: GraphBuilder, self: Value, upper: bool = False, check_errors: bool = False
) -> tuple[Value, Value]:
    """aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)"""
    factor, failed = cholesky.cholesky(g, swapped(g, self) if upper else self)
    return swapped(g, factor) if upper else factor, cast(g, failed, DataType.INT32)


@symbolic("aten", "linalg_cholesky")
def linalg_cholesky(g: GraphBuilder, self: Value, upper: bool = False) -> Value:
    """aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor"""
    return linalg_cholesky_ex(g, self, upper)[0]


@symbolic("aten", "cholesky_solve")
def cholesky_solve(g: GraphBuilder, self: Value, input2: Value, upper: bool = False) -> Value:
    """aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor"""
    factor, b = broadcast_batches(g, input2, self)
    return cholesky.cholesky_solve(g, factor, b, lower=not upper)


@symbolic("aten", "cholesky_inverse")
def cholesky_inverse(g: GraphBuilder, self: Value, upper: bool = False) -> Value:
    """aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor"""
    eye = g.expand(identity(g, self, known(self, -1)), sizes_of(g, self))
    return cholesky.cholesky_solve(g, self, eye, lower=not upper)


# --- symmetric matrices -----------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_ldl_factor_ex")
def linalg_ldl_factor_ex(
    g: GraphBuilder, self: Value, hermitian: bool = False, check_errors: bool = False
) -> tuple[Value, Value, Value]:
    """aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False)"""
    return ldl.ldl(g, self)


@symbolic("aten", "linalg_ldl_factor")
def linalg_ldl_factor(g: GraphBuilder, self: Value, hermitian: bool = False) -> tuple[Value, Value]:
    """aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)"""
    return ldl.ldl(g, self)[:2]


@symbolic("aten", "linalg_ldl_solve")
def linalg_ldl_solve(g: GraphBuilder, LD: Value, pivots: Value, B: Value, hermitian: bool = False) -> Value:
    """aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor"""
    return ldl.ldl_solve(g, LD, pivots, B)


# --- determinants ----------------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_det", "det")
def linalg_det(g: GraphBuilder, A: Value) -> Value:
    """aten::linalg_det(Tensor A) -> Tensor"""
    return solve.det(g, A)


@symbolic("aten", "_linalg_slogdet")
def linalg_slogdet(g: GraphBuilder, A: Value) -> tuple[Value, Value, Value, Value]:
    """aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)"""
    factors, pivots, _ = solve.lu(g, swapped(g, A))  # of the transpose, as torch has it
    return *solve.sign_and_log(g, factors, pivots), factors, g.Add(pivots, 1)
