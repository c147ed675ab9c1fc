"""Matrix products and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..linalg.cholesky import cholesky as cholesky_of
from ..linalg.eigh import eigh as eigh_of
from ..linalg.qr import qr as qr_of
from ..linalg.solve import det, sign_and_log, solve
from ..linalg.solve import lu as lu_of
from ..linalg.steps import broadcast_batches
from ..linalg.svd import singular_values
from ..linalg.svd import svd as svd_of
from ..linalg.triangular import triangular_solve as triangular_solve_of
from ..nn.weights import transposed
from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, as_value, cast, int64, like, refused, size_at

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _turned(g: GraphBuilder, x: Value, turn: bool) -> Value:
    """The last two axes swapped."""
    if not turn:
        return x
    return transposed(g, x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


@symbolic(DIALECT, "MatMul")
def matmul(g: GraphBuilder, a: Value, b: Value, *, transpose_a: bool = False, transpose_b: bool = False) -> Value:
    """MatMul(a: T, b: T, transpose_a: bool, transpose_b: bool) -> T"""
    return call(g, "MatMul", _turned(g, a, transpose_a), _turned(g, b, transpose_b))


@symbolic(DIALECT, "BatchMatMul", "BatchMatMulV2")
def batch_matmul(g: GraphBuilder, a: Value, b: Value, *, adj_x: bool = False, adj_y: bool = False) -> Value:
    """BatchMatMulV2(x: T, y: T, adj_x: bool, adj_y: bool) -> T"""
    return call(g, "MatMul", _turned(g, a, adj_x), _turned(g, b, adj_y))


@symbolic(DIALECT, "BatchMatMulV3")
def batch_matmul_v3(
    g: GraphBuilder, a: Value, b: Value, *, Tout: Any, adj_x: bool = False, adj_y: bool = False
) -> Value:
    """BatchMatMulV3(x: Ta, y: Tb, Tout: type, adj_x: bool, adj_y: bool) -> Tout"""
    return call(g, "MatMul", _turned(g, cast(g, a, Tout), adj_x), _turned(g, cast(g, b, Tout), adj_y))


@symbolic(DIALECT, "Einsum")
def einsum(g: GraphBuilder, *operands: Value, equation: str) -> Value:
    """Einsum(inputs: N * T, equation: string) -> T"""
    return call(g, "Einsum", *operands, equation=equation.replace(" ", ""))


@symbolic(DIALECT, "MatrixBandPart")
def matrix_band_part(g: GraphBuilder, x: Value, lower: Value, upper: Value) -> Value:
    """MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> T"""
    rows = g.Unsqueeze(g.Range(0, as_value(g, size_at(g, x, -2)), 1), [1])
    apart = g.Sub(rows, g.Range(0, as_value(g, size_at(g, x, -1)), 1))  # row - column
    low, high = (g.Reshape(int64(g, v), []) for v in (lower, upper))
    below = g.Or(g.Less(low, 0), g.LessOrEqual(apart, low))
    above = g.Or(g.Less(high, 0), g.LessOrEqual(g.Neg(apart), high))
    return (
        call(g, "Where", g.And(below, above), x, like(g, 0, x))
        if x.element is not _T.BOOL
        else g.And(g.And(below, above), x)
    )


@symbolic(DIALECT, "MatrixDeterminant")
def determinant(g: GraphBuilder, x: Value) -> Value:
    """MatrixDeterminant(input: T) -> T"""
    return det(g, x)


def _square(g: GraphBuilder, x: Value, op: str) -> int:
    """The order of square matrices, which must be fixed."""
    rows, columns = x.dim(-2), x.dim(-1)
    if not isinstance(rows, int) or rows != columns or x.element not in (_T.FLOAT, _T.DOUBLE):
        raise refused(g, op, "matrices whose order isn't known before the model runs aren't supported")
    return rows


@symbolic(DIALECT, "Cholesky", "BatchCholesky")
def cholesky(g: GraphBuilder, x: Value) -> Value:
    """Cholesky(input: T) -> T; not-a-number where TensorFlow fails: matrices that aren't positive definite"""
    _square(g, x, "Cholesky")
    return cholesky_of(g, x)[0]


@symbolic(DIALECT, "MatrixInverse", "BatchMatrixInverse")
def matrix_inverse(g: GraphBuilder, x: Value, *, adjoint: bool = False) -> Value:
    """MatrixInverse(input: T, adjoint: bool) -> T"""
    _square(g, x, "MatrixInverse")
    return solve(g, _turned(g, x, adjoint))


@symbolic(DIALECT, "MatrixSolve", "BatchMatrixSolve")
def matrix_solve(g: GraphBuilder, a: Value, b: Value, *, adjoint: bool = False) -> Value:
    """MatrixSolve(matrix: T, rhs: T, adjoint: bool) -> T"""
    _square(g, a, "MatrixSolve")
    return solve(g, _turned(g, a, adjoint), b)


@symbolic(DIALECT, "MatrixTriangularSolve", "BatchMatrixTriangularSolve")
def triangular_solve(g: GraphBuilder, a: Value, b: Value, *, lower: bool = True, adjoint: bool = False) -> Value:
    """MatrixTriangularSolve(matrix: T, rhs: T, lower: bool, adjoint: bool) -> T"""
    _square(g, a, "MatrixTriangularSolve")
    a, b = broadcast_batches(g, a, b)
    return triangular_solve_of(g, a, b, lower=lower, transposed=adjoint)


@symbolic(DIALECT, "LogMatrixDeterminant")
def log_determinant(g: GraphBuilder, x: Value) -> list[Value]:
    """LogMatrixDeterminant(input: T) -> sign: T, log_abs_determinant: T"""
    _square(g, x, "LogMatrixDeterminant")
    factors, pivots, _ = lu_of(g, x)
    return list(sign_and_log(g, factors, pivots))


@symbolic(DIALECT, "Lu")
def lu(g: GraphBuilder, x: Value, *, output_idx_type: ir.DataType = _T.INT32) -> list[Value]:
    """Lu(input: T, output_idx_type: type) -> lu: T, p: output_idx_type"""
    _square(g, x, "Lu")
    factors, _, permutation = lu_of(g, x)
    return [factors, cast(g, permutation, output_idx_type)]


@symbolic(DIALECT, "Qr")
def qr(g: GraphBuilder, x: Value, *, full_matrices: bool = False) -> list[Value]:
    """Qr(input: T, full_matrices: bool) -> q: T, r: T"""
    return list(qr_of(g, x, complete=full_matrices))


@symbolic(DIALECT, "Svd")
def svd(g: GraphBuilder, x: Value, *, compute_uv: bool = True, full_matrices: bool = False) -> list[Value | None]:
    """Svd(input: T, compute_uv: bool, full_matrices: bool) -> s: T, u: T, v: T"""
    # pairs of singular vectors may have other signs than TensorFlow's; what is made of U f(S) V^T is the same
    if not all(isinstance(x.dim(a), int) for a in (-2, -1)):
        raise refused(g, "Svd", "matrices whose order isn't known before the model runs aren't supported")
    if not compute_uv:
        return [singular_values(g, x), None, None]
    u, values, vh = svd_of(g, x, full=full_matrices)
    return [values, u, _turned(g, vh, True)]


@symbolic(DIALECT, "SelfAdjointEigV2")
def eigh(g: GraphBuilder, x: Value, *, compute_v: bool = True) -> list[Value | None]:
    """SelfAdjointEigV2(input: T, compute_v: bool) -> e: T, v: T; signs of eigenvectors may be others"""
    _square(g, x, "SelfAdjointEigV2")
    return list(eigh_of(g, x, vectors=compute_v))


@symbolic(DIALECT, "Cross")
def cross(g: GraphBuilder, a: Value, b: Value) -> Value:
    """Cross(a: T, b: T) -> T"""
    left, right = (np.array([1, 2, 0]), np.array([2, 0, 1]))
    first = g.Mul(g.Gather(a, left, axis=-1), g.Gather(b, right, axis=-1))
    return g.Sub(first, g.Mul(g.Gather(a, right, axis=-1), g.Gather(b, left, axis=-1)))
