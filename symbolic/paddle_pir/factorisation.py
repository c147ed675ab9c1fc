"""Factorisations of matrices, and the systems and determinants that follow from them."""

from __future__ import annotations

import onnx_ir as ir

from ..builder import GraphBuilder
from ..linalg import cholesky as cholesky_factors
from ..linalg import eigh as eigenvalues
from ..linalg import least_squares, triangular
from ..linalg import qr as reflections
from ..linalg import solve as systems
from ..linalg import svd as singular
from ..linalg.steps import broadcast_batches, fixed, known, smaller, swapped, triangle
from ..registry import symbolic
from ..value import Value
from .common import refused


@symbolic("paddle_pir", "det")
def det(g: GraphBuilder, x: Value) -> Value:
    """det(Tensor x) -> Tensor"""
    return systems.det(g, x)


@symbolic("paddle_pir")
def inverse(g: GraphBuilder, x: Value) -> Value:
    """inverse(Tensor x) -> Tensor"""
    return systems.solve(g, x)


@symbolic("paddle_pir")
def solve(g: GraphBuilder, x: Value, y: Value) -> Value:
    """solve(Tensor x, Tensor y) -> Tensor"""
    vector = y.rank == x.rank - 1
    result = systems.solve(g, x, g.Unsqueeze(y, [-1]) if vector else y)
    return g.Squeeze(result, [-1]) if vector else result


@symbolic("paddle_pir")
def triangular_solve(
    g: GraphBuilder, x: Value, y: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Value:
    """triangular_solve(Tensor x, Tensor y, bool upper, bool transpose, bool unitriangular) -> Tensor"""
    a, b = broadcast_batches(g, x, y)
    return triangular.triangular_solve(g, a, b, lower=not upper, transposed=transpose, unit=unitriangular)


@symbolic("paddle_pir")
def cholesky(g: GraphBuilder, x: Value, upper: bool = False) -> Value:
    """cholesky(Tensor x, bool upper) -> Tensor; not-a-number where Paddle fails"""
    factor, _ = cholesky_factors.cholesky(g, swapped(g, x) if upper else x)
    return swapped(g, factor) if upper else factor


@symbolic("paddle_pir")
def cholesky_solve(g: GraphBuilder, x: Value, y: Value, upper: bool = False) -> Value:
    """cholesky_solve(Tensor x, Tensor y, bool upper) -> Tensor"""
    factor, b = broadcast_batches(g, y, x)
    return cholesky_factors.cholesky_solve(g, factor, b, lower=not upper)


@symbolic("paddle_pir")
def lu(g: GraphBuilder, x: Value, pivot: bool = True) -> tuple[Value, Value, Value]:
    """lu(Tensor x, bool pivot) -> Tensor out, Tensor pivots, Tensor infos"""
    if not pivot:
        raise refused(g, "lu", "factors without pivots aren't supported")
    factors, pivots, _ = systems.lu(g, x)
    return factors, g.Add(pivots, 1), systems.first_zero(g, factors)


@symbolic("paddle_pir")
def lu_unpack(
    g: GraphBuilder, x: Value, y: Value, unpack_ludata: bool = True, unpack_pivots: bool = True
) -> tuple[Value, Value, Value]:
    """lu_unpack(Tensor x, Tensor y, bool unpack_ludata, bool unpack_pivots) -> Tensor, Tensor l, Tensor u"""
    count = g.size_vector(smaller(known(x, -2), known(x, -1)))
    permutation = systems.pivots_to_permutation(g, g.Sub(y, 1), known(x, -2))
    lower = triangle(g, g.Slice(x, [0], count, [-1]), lower=True, diagonal=1)
    upper = triangle(g, g.Slice(x, [0], count, [-2]), lower=False)
    return swapped(g, systems.permutation_matrix(g, permutation, x)), lower, upper


@symbolic("paddle_pir")
def qr(g: GraphBuilder, x: Value, mode: str = "reduced") -> tuple[Value, Value]:
    """qr(Tensor x, str mode) -> Tensor q, Tensor r"""
    return reflections.qr(g, x, complete=mode == "complete")


@symbolic("paddle_pir")
def svd(g: GraphBuilder, x: Value, full_matrices: bool = False) -> tuple[Value, Value, Value]:
    """svd(Tensor x, bool full_matrices) -> Tensor u, Tensor s, Tensor vh; signs of vectors may be others"""
    return singular.svd(g, x, full=full_matrices)


@symbolic("paddle_pir")
def svdvals(g: GraphBuilder, x: Value) -> Value:
    """svdvals(Tensor x) -> Tensor"""
    return singular.singular_values(g, x)


@symbolic("paddle_pir")
def eigh(g: GraphBuilder, x: Value, UPLO: str = "L") -> tuple[Value, Value | None]:
    """eigh(Tensor x, str UPLO) -> Tensor out_w, Tensor out_v; signs of eigenvectors may be others"""
    return eigenvalues.eigh(g, x, lower=UPLO == "L")


@symbolic("paddle_pir")
def eigvalsh(g: GraphBuilder, x: Value, uplo: str = "L", is_test: bool = False) -> tuple[Value, Value | None]:
    """eigvalsh(Tensor x, str uplo, bool is_test) -> Tensor eigenvalues, Tensor eigenvectors"""
    return eigenvalues.eigh(g, x, lower=uplo == "L")


@symbolic("paddle_pir")
def lstsq(
    g: GraphBuilder, x: Value, y: Value, rcond: Value, driver: str = "gelsy"
) -> tuple[Value, Value, Value, Value]:
    """lstsq(Tensor x, Tensor y, Scalar rcond, str driver) -> solution, residuals, rank, singular_values"""
    if rcond.array is None:
        raise refused(g, "lstsq", "a limit that is computed isn't supported")
    solution, rank, values = least_squares.any_rank(g, x, y, float(rcond.array.reshape(-1)[0]))
    nothing = g.constant(0.0, x.element)
    empty = g.expand(nothing, [0])
    residuals = empty
    if fixed(x, -2) > fixed(x, -1) and driver != "gelsy":
        gap = g.Sub(g.MatMul(x, solution), y)
        residuals = g.ReduceSum(g.Mul(gap, gap), [-2], keepdims=0)
    return solution, residuals, g.Cast(rank, to=ir.DataType.INT32), values if driver in ("gelsd", "gelss") else empty
