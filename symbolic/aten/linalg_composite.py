"""Linear algebra under the names that users call: torch composes these of the factorisations, and so are they here."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..builder import GraphBuilder
from ..linalg import eigh, svd
from ..linalg.steps import fixed, identity, known, sizes_of, swapped
from ..registry import symbolic
from ..value import Value
from .linalg_factors import cutoff, linalg_eigh, linalg_pinv, linalg_svd
from .linalg_systems import linalg_inv_ex, linalg_lu_factor_ex, linalg_lu_solve, linalg_slogdet, linalg_solve_ex
from .promotion import DataType, Scalar, apply, as_float, cast
from .reduction import Axes, linalg_vector_norm
from .shape import axis_of, merged, move, sizes

# --- systems ---------------------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_inv", "inverse")
def linalg_inv(g: GraphBuilder, A: Value) -> Value:
    """aten::linalg_inv(Tensor A) -> Tensor"""
    return linalg_inv_ex(g, A)[0]


@symbolic("aten", "linalg_solve")
def linalg_solve(g: GraphBuilder, A: Value, B: Value, left: bool = True) -> Value:
    """aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor"""
    return linalg_solve_ex(g, A, B, left)[0]


@symbolic("aten", "linalg_solve_ex")
def linalg_solve_with_info(
    g: GraphBuilder, A: Value, B: Value, left: bool = True, check_errors: bool = False
) -> tuple[Value, Value]:
    """aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor, Tensor info)"""
    x, _, _, info = linalg_solve_ex(g, A, B, left)
    return x, info


@symbolic("aten", "linalg_lu_factor")
def linalg_lu_factor(g: GraphBuilder, A: Value, pivot: bool = True) -> tuple[Value, Value]:
    """aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)"""
    factors, pivots, _ = linalg_lu_factor_ex(g, A, pivot)
    return factors, pivots


@symbolic("aten", "lu_solve")
def lu_solve(g: GraphBuilder, self: Value, LU_data: Value, LU_pivots: Value) -> Value:
    """aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor"""
    return linalg_lu_solve(g, LU_data, LU_pivots, self)


@symbolic("aten", "linalg_tensorinv")
def linalg_tensorinv(g: GraphBuilder, self: Value, ind: int = 2) -> Value:
    """aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor"""
    all_sizes = sizes(g, self)
    first, last = all_sizes[:ind], all_sizes[ind:]
    matrix = g.reshape(self, [merged(g, first), merged(g, last)])
    return g.reshape(linalg_inv(g, matrix), [*last, *first])


@symbolic("aten", "linalg_tensorsolve")
def linalg_tensorsolve(g: GraphBuilder, self: Value, other: Value, dims: Sequence[int] | None = None) -> Value:
    """aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor"""
    if dims is not None:
        moved = [axis_of(d, self.rank) for d in dims]
        self = move(g, self, [i for i in range(self.rank) if i not in moved] + moved)
    shape = sizes(g, self)[other.rank :]
    count = merged(g, sizes(g, other))
    solution = linalg_solve(g, g.reshape(self, [count, merged(g, shape)]), g.reshape(other, [count]))
    return g.reshape(solution, shape)


@symbolic("aten", "linalg_matrix_power", "matrix_power")
def linalg_matrix_power(g: GraphBuilder, self: Value, n: int) -> Value:
    """aten::linalg_matrix_power(Tensor self, int n) -> Tensor"""
    if n == 0:
        return g.expand(identity(g, self, known(self, -1)), sizes_of(g, self))
    power = linalg_inv(g, self) if n < 0 else self
    result: Value | None = None
    for digit in reversed(f"{abs(n):b}"):
        if digit == "1":
            result = power if result is None else g.MatMul(result, power)
        power = g.MatMul(power, power)
    assert result is not None
    return result


# --- determinants ----------------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_slogdet", "slogdet")
def slogdet(g: GraphBuilder, A: Value) -> tuple[Value, Value]:
    """aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)"""
    sign, logarithm, _, _ = linalg_slogdet(g, A)
    return sign, logarithm


@symbolic("aten", "logdet")
def logdet(g: GraphBuilder, self: Value) -> Value:
    """aten::logdet(Tensor self) -> Tensor"""
    sign, logarithm = slogdet(g, self)
    return g.Where(g.Less(sign, 0.0), g.constant(math.nan, self.element), logarithm)


# --- eigenvalues and singular values ---------------------------------------------------------------------------------


@symbolic("aten", "linalg_eigh")
def linalg_eigh_vectors(g: GraphBuilder, self: Value, UPLO: str = "L") -> tuple[Value, Value]:
    """aten::linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)"""
    return linalg_eigh(g, self, UPLO)


@symbolic("aten", "linalg_eigvalsh")
def linalg_eigvalsh(g: GraphBuilder, self: Value, UPLO: str = "L") -> Value:
    """aten::linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor"""
    return linalg_eigh(g, self, UPLO, compute_v=False)[0]


@symbolic("aten", "linalg_svd")
def linalg_svd_full(
    g: GraphBuilder, A: Value, full_matrices: bool = True, driver: str | None = None
) -> tuple[Value, Value, Value]:
    """aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)"""
    return linalg_svd(g, A, full_matrices)


@symbolic("aten", "linalg_svdvals")
def linalg_svdvals(g: GraphBuilder, A: Value, driver: str | None = None) -> Value:
    """aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor"""
    return svd.singular_values(g, A)


@symbolic("aten", "linalg_pinv", "linalg_pinv.rcond_tensor", "pinverse")
def pinverse(g: GraphBuilder, self: Value, rcond: Value | float = 1e-15, hermitian: bool = False) -> Value:
    """aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor"""
    return linalg_pinv(g, self, 0.0, rcond, hermitian)


@symbolic("aten", "linalg_matrix_rank", "linalg_matrix_rank.tol_tensor")
def matrix_rank_above(g: GraphBuilder, self: Value, tol: Value | float, hermitian: bool = False) -> Value:
    """aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor"""
    return matrix_rank(g, self, tol, 0.0, hermitian)


@symbolic("aten", "linalg_matrix_rank.atol_rtol_tensor", "linalg_matrix_rank.atol_rtol_float")
def matrix_rank(
    g: GraphBuilder,
    input: Value,
    atol: Value | float | None = None,
    rtol: Value | float | None = None,
    hermitian: bool = False,
) -> Value:
    """aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, ...)"""
    if 0 in (input.dim(-2), input.dim(-1)):
        return g.expand(g.constant(0), sizes_of(g, input, -2))
    values = g.Abs(eigh.eigh(g, input, vectors=False)[0]) if hermitian else svd.singular_values(g, input)
    counted = g.Greater(values, cutoff(g, input, atol, rtol, values))
    return g.ReduceSum(cast(g, counted, DataType.INT64), [-1], keepdims=0)


# --- norms of matrices -----------------------------------------------------------------------------------------------


@symbolic("aten", "linalg_matrix_norm", "linalg_matrix_norm.str_ord")
def linalg_matrix_norm(
    g: GraphBuilder,
    self: Value,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: DataType | None = None,
) -> Value:
    """aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, ...) -> Tensor"""
    x = cast(g, self, dtype) if dtype is not None else as_float(g, self)
    rows, columns = (axis_of(d, x.rank) for d in dim)
    if ord == "fro":
        return linalg_vector_norm(g, x, 2, [rows, columns], keepdim)
    if ord == "nuc" or abs(float(ord)) == 2:
        rest = [i for i in range(x.rank) if i not in (rows, columns)]
        values = svd.singular_values(g, move(g, x, [*rest, rows, columns]))
        reduced = apply(g, _SPECTRAL[ord if isinstance(ord, str) else float(ord)], values, [-1], keepdims=0)
        return g.Unsqueeze(reduced, sorted((rows, columns))) if keepdim else reduced
    if math.isinf(float(ord)):
        rows, columns = columns, rows
    sums = g.ReduceSum(g.Abs(x), [rows], keepdims=1)
    return apply(
        g, "ReduceMax" if float(ord) > 0 else "ReduceMin", sums if keepdim else g.Squeeze(sums, [rows]),
        [columns if keepdim or columns < rows else columns - 1], keepdims=int(keepdim),
    )  # fmt: skip


#: What the singular values are reduced by.
_SPECTRAL: dict[float | str, str] = {"nuc": "ReduceSum", 2.0: "ReduceMax", -2.0: "ReduceMin"}


@symbolic("aten", "nuclear_norm")
def nuclear_norm(g: GraphBuilder, self: Value, keepdim: bool = False) -> Value:
    """aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor"""
    return linalg_matrix_norm(g, self, "nuc", (-2, -1), keepdim)


@symbolic("aten", "nuclear_norm.dim")
def nuclear_norm_dim(g: GraphBuilder, self: Value, dim: Sequence[int], keepdim: bool = False) -> Value:
    """aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor"""
    return linalg_matrix_norm(g, self, "nuc", dim, keepdim)


@symbolic("aten", "linalg_norm", "linalg_norm.ord_str")
def linalg_norm(
    g: GraphBuilder,
    self: Value,
    ord: Scalar | str | None = None,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: DataType | None = None,
) -> Value:
    """aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, ...) -> Tensor"""
    axes = [dim] if isinstance(dim, int) else dim
    if ord is not None and len(axes if axes is not None else range(self.rank)) == 2:
        return linalg_matrix_norm(g, self, ord, axes or (-2, -1), keepdim, dtype)  # type: ignore[arg-type]
    return linalg_vector_norm(g, self, 2 if ord is None else ord, axes, keepdim, dtype)  # type: ignore[arg-type]


@symbolic("aten", "linalg_cond", "linalg_cond.p_str")
def linalg_cond(g: GraphBuilder, self: Value, p: float | str | None = None) -> Value:
    """aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor"""
    if 0 in (self.dim(-2), self.dim(-1)):
        return g.expand(g.constant(0.0, self.element), sizes_of(g, self, -2))
    if p in (None, 2, -2):
        values = svd.singular_values(g, self)
        largest, smallest = (g.Gather(values, g.constant(i), axis=-1) for i in (0, fixed(values, -1) - 1))
        return g.Div(smallest, largest) if p == -2 else g.Div(largest, smallest)
    assert p is not None
    inverse, info = linalg_inv_ex(g, self)
    singular = g.Unsqueeze(g.Greater(info, 0), [-2, -1])
    inverse = g.Where(singular, g.constant(math.inf, self.element), inverse)
    return g.Mul(linalg_matrix_norm(g, self, p), linalg_matrix_norm(g, inverse, p))


@symbolic("aten", "svd")
def svd_with_v(g: GraphBuilder, self: Value, some: bool = True, compute_uv: bool = True) -> tuple[Value, Value, Value]:
    """aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)"""
    if compute_uv:
        u, values, vh = svd.svd(g, self, full=not some, signs=True)
        return u, values, swapped(g, vh)
    batch, zero = sizes_of(g, self, -2), g.constant(0.0, self.element)
    u, v = (g.expand(zero, [*batch, size, size]) for size in (fixed(self, -2), fixed(self, -1)))
    return u, svd.singular_values(g, self), v
