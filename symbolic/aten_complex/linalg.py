"""Systems, inverses, singular values and functions of complex matrices, by real ones of twice the size; eigenvalues
of real ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aten import linalg_factors, linalg_systems
from ..aten.linalg_least_squares import linalg_lstsq as least_squares
from ..aten.shape import transpose, tril, triu
from ..builder import GraphBuilder
from ..complex.arithmetic import each
from ..complex.matrices import column, embedded, every_second, from_column, from_embedded
from ..complex.number import Complex, Number, as_complex
from ..linalg.eig import eig
from ..linalg.exponential import matrix_exp
from ..linalg.steps import epsilon, fixed
from ..registry import symbolic
from ..value import Value
from .operands import DIALECT, numbers, refused


def _transposed(g: GraphBuilder, x: Number) -> Number:
    return each(x, lambda part: transpose(g, part, -2, -1))


def _solved(g: GraphBuilder, a: Number, b: Number, left: bool) -> tuple[Complex, Value]:
    """x of a x = b (of x a = b where not left), and which pivot of the real system is zero."""
    if not left:
        turned, info = _solved(g, _transposed(g, a), _transposed(g, b), True)
        return each(turned, lambda part: transpose(g, part, -2, -1)), info
    x, _, _, info = linalg_systems.linalg_solve_ex(g, embedded(g, a), column(g, b))
    return from_column(g, x), info


def _hermitian(g: GraphBuilder, x: Complex, lower: bool) -> Complex:
    """The Hermitian matrix of one triangle; the imaginary part of the diagonal doesn't count."""
    half = as_complex(g, each(x, lambda part: tril(g, part, -1) if lower else triu(g, part, 1)))
    across = as_complex(g, _transposed(g, half))
    diagonal = tril(g, triu(g, x.real))
    return Complex(g.Add(g.Add(half.real, across.real), diagonal), g.Sub(half.imag, across.imag))


@symbolic(DIALECT, "_linalg_solve_ex")
def linalg_solve_ex(
    g: GraphBuilder, A: Number, B: Number, left: bool = True, check_errors: bool = False
) -> tuple[Any, Any, Any, Any]:
    """aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (...)"""
    a, b = numbers(g, A, B)
    vector = b.rank == 1 or (a.rank - 1 == b.rank and b.sizes == (a.sizes or ())[:-1])
    right = each(b, lambda part: g.Unsqueeze(part, [-1])) if vector else b
    x, info = _solved(g, a, right, left)
    # the factors of the complex matrix aren't computed
    return each(x, lambda part: g.Squeeze(part, [-1])) if vector else x, None, None, info


@symbolic(DIALECT, "linalg_lstsq")
def linalg_lstsq(
    g: GraphBuilder, self: Number, b: Number, rcond: float | None = None, driver: str | None = None
) -> tuple[Any, None, Value, None]:
    """aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor, Tensor, ...)"""
    a, right = (as_complex(g, x) for x in numbers(g, self, b))
    vector = a.rank - 1 == right.rank
    column_of = column(g, each(right, lambda part: g.Unsqueeze(part, [-1])) if vector else right)
    limit = epsilon(a.real) * max(fixed(a.real, -2), fixed(a.real, -1)) if rcond is None else rcond
    solution, _, rank, _ = least_squares(g, embedded(g, a), column_of, limit, driver)
    x = from_column(g, solution)
    # residuals and singular values, which are real, aren't computed
    return (
        each(x, lambda part: g.Squeeze(part, [-1])) if vector else x, None,
        rank if driver == "gels" else g.Div(rank, 2), None,
    )  # fmt: skip


@symbolic(DIALECT, "linalg_inv_ex")
def linalg_inv_ex(g: GraphBuilder, A: Complex, check_errors: bool = False) -> tuple[Complex, Value]:
    """aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)"""
    inverse, info = linalg_systems.linalg_inv_ex(g, embedded(g, A))
    return from_embedded(g, inverse), info


@symbolic(DIALECT, "linalg_solve_triangular")
def linalg_solve_triangular(
    g: GraphBuilder, self: Number, B: Number, upper: bool, left: bool = True, unitriangular: bool = False
) -> Complex:
    """aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)"""
    a, b = numbers(g, self, B)
    size = a.dim(-1)
    if unitriangular and not isinstance(size, int):
        raise refused(g, "linalg_solve_triangular", "a matrix of open size with ones on its diagonal")
    shift = int(unitriangular)
    matrix = each(a, lambda part: triu(g, part, shift) if upper else tril(g, part, -shift))
    if unitriangular and isinstance(size, int):
        ones = g.constant(np.eye(size), a.element)
        matrix = as_complex(g, matrix)
        matrix = Complex(g.Add(matrix.real, ones), matrix.imag)
    return _solved(g, matrix, b, left)[0]


@symbolic(DIALECT, "linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float")
def linalg_pinv(g: GraphBuilder, self: Complex, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Complex:
    """aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"""
    rows, columns = self.dim(-2), self.dim(-1)
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise refused(g, "linalg_pinv", "a matrix of open size")
    if atol is None and rtol is None:  # the default goes by the size
        rtol = max(rows, columns) * float(np.finfo(self.element.numpy()).eps)
    matrix = _hermitian(g, self, True) if hermitian else self
    return from_embedded(g, linalg_factors.linalg_pinv(g, embedded(g, matrix), atol, rtol, hermitian))


@symbolic(DIALECT, "linalg_matrix_exp", "matrix_exp")
def linalg_matrix_exp(g: GraphBuilder, self: Complex) -> Complex:
    """aten::linalg_matrix_exp(Tensor self) -> Tensor"""
    whole = embedded(g, self)
    return from_embedded(g, whole if whole.dim(-1) == 0 else matrix_exp(g, whole))


@symbolic(DIALECT, "_linalg_svd")
def linalg_svd(
    g: GraphBuilder, A: Complex, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None
) -> tuple[None, Value, None]:
    """aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, ...) -> (Tensor, Tensor, Tensor)"""
    return None, linalg_svdvals(g, A), None


@symbolic(DIALECT, "linalg_svdvals")
def linalg_svdvals(g: GraphBuilder, A: Complex, driver: str | None = None) -> Value:
    """aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor"""
    return every_second(g, linalg_factors.linalg_svd(g, embedded(g, A), False, False)[1])


@symbolic(DIALECT, "_linalg_eigh")
def linalg_eigh(g: GraphBuilder, A: Complex, UPLO: str = "L", compute_v: bool = True) -> tuple[Value, None]:
    """aten::_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)"""
    return linalg_eigvalsh(g, A, UPLO), None


@symbolic(DIALECT, "linalg_eigvalsh")
def linalg_eigvalsh(g: GraphBuilder, self: Complex, UPLO: str = "L") -> Value:
    """aten::linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor"""
    whole = _hermitian(g, self, UPLO.upper() == "L")
    return every_second(g, linalg_factors.linalg_eigh(g, embedded(g, whole), UPLO, False)[0])


@symbolic(DIALECT, "linalg_eig")
def linalg_eig(g: GraphBuilder, self: Number) -> tuple[Complex, Complex]:
    """aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)"""
    if isinstance(self, Complex):
        raise refused(g, "linalg_eig", "eigenvalues of a matrix that need not be Hermitian")
    values, vectors = eig(g, self)
    assert vectors is not None
    return Complex(*values), Complex(*vectors)


@symbolic(DIALECT, "linalg_eigvals", "_linalg_eigvals")
def linalg_eigvals(g: GraphBuilder, self: Number) -> Complex:
    """aten::linalg_eigvals(Tensor self) -> Tensor"""
    if isinstance(self, Complex):
        raise refused(g, "linalg_eigvals", "eigenvalues of a matrix that need not be Hermitian")
    return Complex(*eig(g, self, vectors=False)[0])
