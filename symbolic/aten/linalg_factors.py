"""QR, eigenvalues of symmetric matrices, singular values, and functions of matrices that follow from them."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..linalg import eigh, qr, svd, taylor
from ..linalg.steps import epsilon, fixed, swapped
from ..registry import symbolic
from ..value import Value
from .linalg_systems import empty
from .precision import rounded_once
from .promotion import cast

# --- QR --------------------------------------------------------------------------------------------------------------


@symbolic("aten", "geqrf")
def geqrf(g: GraphBuilder, self: Value) -> tuple[Value, Value]:
    """aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)"""
    return qr.geqrf(g, self)


@symbolic("aten", "linalg_qr")
def linalg_qr(g: GraphBuilder, A: Value, mode: str = "reduced") -> tuple[Value, Value]:
    """aten::linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)"""
    if mode == "r":
        return empty(g, A), qr.upper(g, qr.geqrf(g, A)[0])
    return qr.qr(g, A, complete=mode == "complete")


@symbolic("aten", "linalg_householder_product", "orgqr")
def linalg_householder_product(g: GraphBuilder, input: Value, tau: Value) -> Value:
    """aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor"""
    return qr.householder_product(g, input, tau)


@symbolic("aten", "ormqr")
def ormqr(
    g: GraphBuilder, self: Value, input2: Value, input3: Value, left: bool = True, transpose: bool = False
) -> Value:
    """aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor"""
    return qr.reflect(g, self, input2, input3, left=left, transposed=transpose)


# --- eigenvalues and singular values ---------------------------------------------------------------------------------


@symbolic("aten", "_linalg_eigh")
def linalg_eigh(g: GraphBuilder, A: Value, UPLO: str = "L", compute_v: bool = True) -> tuple[Value, Value]:
    """aten::_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)"""
    # the signs of eigenvectors are torch's own up to order 25
    values, vectors = eigh.eigh(g, A, lower=UPLO.upper() == "L", vectors=compute_v, signs=True)
    return values, empty(g, A) if vectors is None else vectors


@symbolic("aten", "_linalg_svd")
def linalg_svd(
    g: GraphBuilder, A: Value, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None
) -> tuple[Value, Value, Value]:
    """aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, ...) -> (Tensor, Tensor, Tensor)"""
    # `driver` chooses between methods; the signs are those of the usual one, up to order 25
    if not compute_uv:
        return empty(g, A), svd.singular_values(g, A), empty(g, A)
    return svd.svd(g, A, full=full_matrices, signs=True)


@symbolic("aten", "linalg_polar")
def linalg_polar(g: GraphBuilder, A: Value) -> tuple[Value, Value]:
    """aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)"""
    u, values, vh = svd.svd(g, A)
    return g.MatMul(u, vh), g.MatMul(swapped(g, vh), g.Mul(g.Unsqueeze(values, [-1]), vh))


@symbolic("aten", "linalg_matrix_sqrth")
def linalg_matrix_sqrth(g: GraphBuilder, self: Value) -> Value:
    """aten::linalg_matrix_sqrth(Tensor self) -> Tensor"""
    values, vectors = eigh.eigh(g, self)
    assert vectors is not None
    return g.MatMul(g.Mul(vectors, g.Unsqueeze(g.Sqrt(values), [-2])), swapped(g, vectors))


@symbolic("aten", "linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float")
def linalg_pinv(
    g: GraphBuilder,
    self: Value,
    atol: Value | float | None = None,
    rtol: Value | float | None = None,
    hermitian: bool = False,
) -> Value:
    """aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"""
    if 0 in (self.dim(-2), self.dim(-1)):
        return swapped(g, self)
    if hermitian:
        values, vectors = eigh.eigh(g, self)
        assert vectors is not None
        u, v = vectors, vectors
    else:
        u, values, vh = svd.svd(g, self)
        v = swapped(g, vh)
    sizes = g.Abs(values)
    inverse = g.Where(g.Greater(sizes, cutoff(g, self, atol, rtol, sizes)), g.Div(1.0, values), 0.0)
    return g.MatMul(g.Mul(v, g.Unsqueeze(inverse, [-2])), swapped(g, u))


def cutoff(g: GraphBuilder, x: Value, atol: Value | float | None, rtol: Value | float | None, values: Value) -> Value:
    """Singular values of x up to this count as zero: the larger one of an absolute and a relative limit."""
    usual = epsilon(x) * max(fixed(x, -2), fixed(x, -1))
    absolute = _per_matrix(g, x, 0.0 if atol is None else atol)
    if rtol is None:  # a positive absolute limit takes the place of the usual relative one
        relative = g.Where(g.Greater(absolute, 0.0), 0.0, g.constant(usual, x.element))
    else:
        relative = _per_matrix(g, x, rtol)
    return g.Max(absolute, g.Mul(relative, g.ReduceMax(values, [-1], keepdims=1)))


def _per_matrix(g: GraphBuilder, x: Value, limit: Value | float) -> Value:
    """A limit for each matrix, or one for all, beside its values."""
    if not isinstance(limit, Value):
        return g.constant(limit, x.element)
    return g.Unsqueeze(cast(g, limit, x.element), [-1])


@symbolic("aten", "linalg_matrix_exp", "matrix_exp")
@rounded_once
def linalg_matrix_exp(g: GraphBuilder, self: Value) -> Value:
    """aten::linalg_matrix_exp(Tensor self) -> Tensor"""
    return self if self.dim(-1) == 0 else taylor.matrix_exp(g, self)
