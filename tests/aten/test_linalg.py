"""Linear algebra against torch: results that are unique are equal, others fulfil their definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import linalg

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import TranslationError, UnsupportedOps
from anyonnx.validation.checker import check_model
from anyonnx.validation.parity import compare_model

OPSETS = (11, 13, 17, 21, 25)


class Call(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


def matrices(text: str, which: int) -> list[torch.Tensor]:
    """Tensors as in ``"s[n,4,4] dr[n,4,2]"``; a letter d before it: float64.

    s square and regular, p positive definite, y symmetric, z symmetric with zeros on the diagonal, r any.
    """
    generator = torch.Generator().manual_seed(which)
    made = []
    for part in text.split():
        double = part.startswith("d")
        kind, sizes = part.removeprefix("d").rstrip("]").split("[")
        shape = [(2, 3)[which] if s == "n" else int(s) for s in sizes.split(",") if s]
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        if kind == "s":
            x = x + 3 * torch.eye(shape[-1])
        elif kind == "p":
            x = x @ x.mT + torch.eye(shape[-1])
        elif kind == "y":
            x = x + x.mT
        elif kind == "z":
            x = (x + x.mT) * (1 - torch.eye(shape[-1]))
        made.append(x if double else x.float())
    return made


def check(function: Callable[..., Any], text: str, opset: int) -> None:
    inputs = matrices(text, 0)
    shapes = [part.split("[")[1].rstrip("]").split(",") for part in text.split()]
    opened = {i: {0: "n"} for i, sizes in enumerate(shapes) if sizes[0] == "n"}
    conversion = to_onnx(Call(function), tuple(inputs), dynamic=opened, opset=opset, compare=False)
    check_model(conversion.model, opset=opset)
    names = [s.name for s in conversion.source.specs]
    sets = [{n: t.numpy() for n, t in zip(names, matrices(text, i), strict=True)} for i in (0, 1)]
    report = compare_model(conversion.model, conversion.source.run, sets)
    assert report.passed, str(report)


def lu_parts(a: torch.Tensor) -> Any:
    factors, pivots = linalg.lu_factor(a)
    return factors, pivots, *torch.lu_unpack(factors, pivots)


def reflections(a: torch.Tensor, b: torch.Tensor) -> Any:
    packed, tau = torch.geqrf(a)
    options = ((True, True), (True, False), (False, True), (False, False))
    done = [torch.ormqr(packed, tau, b if left else b.mT, left, turned) for left, turned in options]
    return packed, tau, linalg.householder_product(packed, tau), *done


def eigenparts(a: torch.Tensor) -> Any:
    values, vectors = linalg.eigh(a)
    return values, vectors.abs(), (vectors * values.unsqueeze(-2)) @ vectors.mT


def general_eigenparts(a: torch.Tensor) -> Any:
    values, vectors = linalg.eig(a)
    return values, vectors.abs(), (vectors * values.exp().unsqueeze(-2)) @ linalg.inv(vectors)


def singular_parts(a: torch.Tensor) -> Any:
    u, values, vh = linalg.svd(a, full_matrices=False)
    return values, u.abs(), vh.abs(), u @ vh


def deficient(a: torch.Tensor) -> torch.Tensor:
    """The second column is twice the first."""
    return torch.cat([a[..., :1], 2 * a[..., :1], a[..., 2:]], -1)


#: Name -> function, inputs.
# fmt: off
CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "inv": (lambda a: (linalg.inv(a), torch.inverse(a), *linalg.inv_ex(a)), "s[n,4,4]"),
    "inv_large": (linalg.inv, "s[16,16]"),
    "inv_double": (linalg.inv, "ds[n,5,5]"),
    "solve": (lambda a, b: (linalg.solve(a, b), *linalg.solve_ex(a, b)), "s[n,4,4] r[n,4,2]"),
    "solve_vector": (linalg.solve, "s[5,5] r[5]"),
    "solve_vectors": (linalg.solve, "s[n,3,3] r[n,3]"),
    "solve_right": (lambda a, b: linalg.solve(a, b, left=False), "s[n,3,3] r[n,2,3]"),
    "solve_broadcast": (linalg.solve, "s[2,1,3,3] r[4,3,2]"),
    "solve_triangular": (
        lambda a, b: [
            linalg.solve_triangular(a, b if left else b.mT, upper=upper, left=left, unitriangular=unit)
            for upper in (True, False) for left in (True, False) for unit in (True, False)
        ],
        "s[n,3,3] r[n,3,2]",
    ),
    "triangular_solve": (
        lambda b, a: [torch.triangular_solve(b, a, up, turn)[0] for up in (True, False) for turn in (True, False)],
        "r[2,3,2] s[3,3]",
    ),
    "cholesky": (lambda a: (linalg.cholesky(a), linalg.cholesky(a, upper=True), *linalg.cholesky_ex(a)), "p[n,4,4]"),
    "cholesky_large": (linalg.cholesky, "dp[12,12]"),
    "cholesky_solve": (
        lambda b, a: [torch.cholesky_solve(b, linalg.cholesky(a, upper=u), upper=u) for u in (False, True)],
        "r[n,4,2] p[n,4,4]",
    ),
    "cholesky_inverse": (
        lambda a: [torch.cholesky_inverse(linalg.cholesky(a, upper=u), upper=u) for u in (False, True)], "p[n,5,5]",
    ),
    "lu": (lambda a: (*lu_parts(a), *linalg.lu(a)), "r[n,4,4]"),
    "lu_tall": (lambda a: (*lu_parts(a), *linalg.lu(a)), "r[5,3]"),
    "lu_wide": (lambda a: (*lu_parts(a), *linalg.lu(a)), "dr[2,3,6]"),
    "lu_solve": (
        lambda a, b: [
            linalg.lu_solve(*linalg.lu_factor(a), b if left else b.mT, left=left, adjoint=adjoint)
            for left in (True, False) for adjoint in (True, False)
        ] + [torch.lu_solve(b, *linalg.lu_factor(a))],
        "s[n,3,3] r[n,3,2]",
    ),
    "ldl": (
        lambda a, b: (*linalg.ldl_factor_ex(a), linalg.ldl_solve(*linalg.ldl_factor(a), b)), "y[n,5,5] r[n,5,2]",
    ),
    "ldl_hollow": (  # nothing on the diagonal: blocks of two rows
        lambda a, b: (linalg.ldl_factor_ex(a), linalg.ldl_solve(*linalg.ldl_factor(a), b[0])), "dz[3,6,6] dr[3,6,2]",
    ),
    "det": (lambda a: (linalg.det(a), *linalg.slogdet(a), torch.logdet(a)), "r[n,4,4]"),
    "det_double": (lambda a: (torch.det(a), *torch.slogdet(a)), "dr[n,6,6]"),
    "det_singular": (lambda a: linalg.slogdet(a * 0), "r[n,3,3]"),
    "qr": (lambda a: (*linalg.qr(a), *linalg.qr(a, "complete"), linalg.qr(a, "r")[1]), "r[n,4,4]"),
    "qr_tall": (lambda a: (*linalg.qr(a), *linalg.qr(a, "complete"), linalg.qr(a, "r")[1]), "r[n,7,3]"),
    "qr_wide": (lambda a: (*linalg.qr(a), *linalg.qr(a, "complete"), linalg.qr(a, "r")[1]), "dr[3,5]"),
    "reflections": (reflections, "r[n,4,3] r[n,4,2]"),
    "eigh": (eigenparts, "y[n,4,4]"),
    "eigh_of_two": (linalg.eigh, "y[n,2,2]"),
    "eigh_signs": (linalg.eigh, "dy[n,6,6]"),
    "eigh_signs_single": (linalg.eigh, "y[4,2,3,3]"),
    "svd_signs": (linalg.svd, "dr[n,5,5]"),
    "svd_signs_single": (lambda a: (*linalg.svd(a, full_matrices=False), *torch.svd(a.mT)), "r[3,2,4,3]"),
    "svd_many": (singular_parts, "dr[2,30,27]"),
    "eigh_many": (eigenparts, "dy[2,30,30]"),
    "svd_of_two": (linalg.svd, "r[n,4,2]"),
    "svd_of_two_wide": (lambda a: linalg.svd(a, full_matrices=False), "dr[n,2,3]"),
    "svd_of_one": (lambda a: (*linalg.svd(a[:, :1]), *linalg.svd(a[..., :1], full_matrices=False)), "r[n,4,5]"),
    "eig": (general_eigenparts, "dr[n,5,5]"),
    "eig_single": (general_eigenparts, "r[2,1,4,4]"),
    "eig_of_one": (lambda a: (*linalg.eig(a), linalg.eigvals(a)), "dr[n,1,1]"),
    "eig_of_two": (lambda a: (*linalg.eig(a), linalg.eigvals(a)), "r[n,2,2]"),
    "eigvals": (lambda a: (linalg.eigvals(a), linalg.eigvals(a.tril()), linalg.eigvals(a.round())), "dr[n,9,9]"),
    "eigvals_single": (linalg.eigvals, "r[n,6,6]"),
    "eigh_odd": (eigenparts, "dy[7,7]"),
    "eigh_upper": (lambda a: (linalg.eigvalsh(a, UPLO="U"), linalg.eigvalsh(a)), "r[n,3,3]"),
    "svd": (singular_parts, "s[n,4,4]"),
    "svd_tall": (singular_parts, "r[n,6,3]"),
    "svd_wide": (singular_parts, "dr[3,7]"),
    "svd_values": (lambda a: (linalg.svdvals(a), torch.svd(a, compute_uv=False)), "r[2,2,5,4]"),
    "svd_old": (lambda a: [(u * s.unsqueeze(-2)) @ v.mT for u, s, v in (torch.svd(a), torch.svd(a.mT))], "r[n,5,3]"),
    "svd_full": (lambda a: [u @ u.mT for u in linalg.svd(a)[::2]], "r[n,5,3]"),
    "svd_deficient": (
        lambda a: [(u[..., :3] * s.unsqueeze(-2)) @ v for u, s, v in [linalg.svd(deficient(a))]], "r[n,4,3]",
    ),
    "polar": (linalg.polar, "r[n,4,3]"),
    "matrix_sqrth": (linalg.matrix_sqrth, "p[n,4,4]"),
    "pinv": (lambda a: (linalg.pinv(a), linalg.pinv(a, atol=0.5), linalg.pinv(a, rtol=0.3)), "r[n,4,3]"),
    "pinv_old": (lambda a: (torch.pinverse(a), linalg.pinv(a, 0.2)), "r[3,5]"),
    "pinv_deficient": (lambda a: linalg.pinv(deficient(a)), "r[n,5,4]"),
    "pinv_hermitian": (lambda a: linalg.pinv(a, hermitian=True), "y[n,4,4]"),
    "pinv_limits": (lambda a, t: (linalg.pinv(a, rtol=t), linalg.pinv(a, atol=t, rtol=t)), "r[n,4,4] r[n]"),
    "matrix_rank": (
        lambda a: (
            linalg.matrix_rank(a), linalg.matrix_rank(deficient(a)), linalg.matrix_rank(a, atol=1.5),
            linalg.matrix_rank(a, rtol=0.4), linalg.matrix_rank(a, 1.5), linalg.matrix_rank(a + a.mT, hermitian=True),
        ),
        "r[n,4,4]",
    ),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[::2], "r[2,6,3] r[2,6,2]"),
    "lstsq_vector": (lambda a, b: linalg.lstsq(a, b)[0], "r[2,6,3] r[2,6]"),
    "lstsq_wide": (lambda a, b: linalg.lstsq(a, b).solution, "r[3,6] r[3,2]"),
    "lstsq_deficient": (lambda a, b: linalg.lstsq(deficient(a), b)[::2], "r[6,4] r[6,2]"),
    "lstsq_gels": (lambda a, b: linalg.lstsq(a, b, driver="gels")[:2], "r[6,3] r[6,2]"),
    "lstsq_gels_wide": (lambda a, b: linalg.lstsq(a, b, driver="gels")[0], "r[3,6] r[3,2]"),
    "lstsq_gelsd": (lambda a, b: linalg.lstsq(a, b, driver="gelsd"), "r[2,6,3] r[2,6,2]"),
    "cond": (lambda a: [linalg.cond(a, p) for p in (None, 2, -2, 1, -1, torch.inf, "fro", "nuc")], "s[n,4,4]"),
    "matrix_norm": (
        lambda a: [linalg.matrix_norm(a, p, keepdim=k) for p in ("fro", "nuc", 1, -1, 2, -2, torch.inf, -torch.inf)
                   for k in (False, True)],
        "r[n,4,3]",
    ),
    "matrix_norm_axes": (
        lambda a: [linalg.matrix_norm(a, p, dim) for p in ("nuc", 1, 2, -torch.inf) for dim in ((0, 2), (2, 1))],
        "r[3,4,2]",
    ),
    "norm": (
        lambda a: (linalg.norm(a), linalg.norm(a[0], 2), linalg.norm(a, "nuc", (1, 2)), linalg.norm(a[0, 0], 1),
                   torch.norm(a[0], "nuc"), linalg.norm(a, 3, 1)),
        "r[2,4,3]",
    ),
    "matrix_exp": (lambda a: (linalg.matrix_exp(a), torch.matrix_exp(a * 0)), "r[n,4,4]"),
    "matrix_exp_large": (lambda a: linalg.matrix_exp(8 * a), "r[n,5,5]"),
    "matrix_exp_of_one": (linalg.matrix_exp, "r[n,1,1]"),
    "matrix_exp_double": (linalg.matrix_exp, "ds[n,6,6]"),
    "matrix_power": (lambda a: [linalg.matrix_power(a, n) for n in (-3, -1, 0, 1, 2, 5)], "s[n,3,3]"),
    "tensorinv": (lambda a: linalg.tensorinv(a.reshape(2, 3, 6)), "s[6,6]"),
    "tensorsolve": (
        lambda a, b: (
            linalg.tensorsolve(a.reshape(2, 3, 6), b),
            linalg.tensorsolve(a.reshape(2, 3, 6).movedim(2, 0), b, dims=(0,)),
        ),
        "s[6,6] r[2,3]",
    ),
    "multi_dot": (lambda a, b: linalg.multi_dot([a, b, a]), "r[3,4] r[4,3]"),
    "vander": (lambda a: (linalg.vander(a), linalg.vander(a, N=5), torch.vander(a[0])), "r[2,3]"),
    "cov": (lambda a: (torch.cov(a), torch.cov(a, correction=0), torch.corrcoef(a), torch.cov(a[0])), "r[3,5]"),
    "cov_weights": (
        lambda a, w: [
            torch.cov(a, fweights=torch.tensor([1, 2, 1, 3, 0]), aweights=w.abs()), torch.cov(a, aweights=w.abs()),
            torch.cov(a, fweights=torch.tensor([1, 2, 1, 3, 0])), torch.cov(a, correction=0, aweights=w.abs()),
        ],
        "r[3,5] r[5]",
    ),
    "whitening": (
        lambda a: (lambda w, v: a @ (v * w.rsqrt().unsqueeze(-2)) @ v.mT)(*linalg.eigh(a.mT @ a)), "r[n,8,4]",
    ),
    "rotation": (  # the rotation nearest to a matrix, as point clouds are aligned
        lambda a: (lambda u, s, v: u @ torch.diag_embed(
            torch.stack([torch.ones_like(s[..., 0]), torch.ones_like(s[..., 0]), linalg.det(u @ v)], -1)) @ v
        )(*linalg.svd(a)),
        "r[n,3,3]",
    ),
}
# fmt: on


def cases() -> list[Any]:
    """Each case at one opset, in turn; the sweep has all."""
    return [pytest.param(name, OPSETS[i % len(OPSETS)], id=name) for i, name in enumerate(CASES)]


@pytest.mark.parametrize(("name", "opset"), cases())
def test_torch_gives_the_same(name: str, opset: int) -> None:
    check(*CASES[name], opset)


@pytest.mark.slow
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", CASES)
def test_torch_gives_the_same_at_every_opset(name: str, opset: int) -> None:
    check(*CASES[name], opset)


def symmetric(kind: str, n: int) -> torch.Tensor:
    """A hundred symmetric matrices; none has an eigenvalue twice."""
    generator = torch.Generator().manual_seed(n)
    x = torch.randn((100, n, n), generator=generator, dtype=torch.float64)
    x = x + x.mT
    upper = torch.ones(n, n).triu(1)
    if kind == "hollow":
        return x * (1 - torch.eye(n))
    if kind == "tridiagonal":
        return x * (1 - upper.triu(2)) * (1 - upper.triu(2)).mT
    if kind == "blocks":
        return x * (torch.arange(n) < n // 2).eq((torch.arange(n) < n // 2).unsqueeze(1))
    return {"any": x, "positive": x @ x.mT, "negative": -x @ x.mT, "large": x * 1e200, "small": x * 1e-200}[kind]


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("kind", ["any", "hollow", "tridiagonal", "blocks", "positive", "negative", "large", "small"])
def test_signs_of_eigenvectors_are_lapacks(kind: str, uplo: str) -> None:
    for n in (2, 3, 5) if kind != "any" else (2, 3, 4, 5, 8, 13):
        x = symmetric(kind, n)
        conversion = to_onnx(Call(lambda a: linalg.eigh(a, UPLO=uplo)), (x,), compare=False)
        report = compare_model(conversion.model, conversion.source.run, [{conversion.source.specs[0].name: x.numpy()}])
        assert report.passed, f"order {n}: {report}"


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", ["3,3", "6,6", "13,13", "4,3", "6,5", "7,5", "3,4", "5,9", "2,39", "2,40", "3,61"])
def test_signs_of_singular_vectors_are_lapacks(shape: str, full: bool) -> None:
    """Matrices that are made triangular first, by rows or columns, and others."""
    m, n = (int(s) for s in shape.split(","))
    x = torch.randn((50, m, n), generator=torch.Generator().manual_seed(m + n), dtype=torch.float64)
    x[::5] *= torch.logspace(0, -4, n, dtype=torch.float64)  # with and without shifts, up and down
    x[1::5] *= torch.logspace(0, -4, m, dtype=torch.float64).flip(0).unsqueeze(1)
    conversion = to_onnx(Call(lambda a: linalg.svd(a, full_matrices=full)), (x,), compare=False)
    for found, torchs in zip(run_once(conversion, x), linalg.svd(x, full_matrices=full), strict=True):
        np.testing.assert_allclose(found, torchs.numpy(), atol=1e-10)  # the condition of these vectors is up to 1e4


def test_above_order_25_signs_of_eigenvectors_are_free_and_parity_says_so() -> None:
    """There LAPACK divides and conquers; where our signs differ from torch's, the comparison fails."""
    x = matrices("dy[26,26]", 0)[0]
    conversion = to_onnx(Call(linalg.eigh), (x,), compare=False)
    inputs = {conversion.source.specs[0].name: x.numpy()}
    vectors, torchs = run_once(conversion, x)[1], linalg.eigh(x)[1].numpy()
    np.testing.assert_allclose(np.abs(vectors), np.abs(torchs), atol=1e-10)
    report = compare_model(conversion.model, conversion.source.run, [inputs])
    assert report.passed == np.allclose(vectors, torchs, atol=1e-3)
    assert not report.passed


def test_eigenvalues_come_in_torchs_order() -> None:
    """So do the vectors, but for signs: of those with a real value, and of others as wholes."""
    for n in (2, 3, 4, 7, 12):
        x = torch.randn((100, n, n), generator=torch.Generator().manual_seed(n), dtype=torch.float64)
        x[::5] = (x[::5]).tril()
        x[1::5] = x[1::5] * (torch.rand(x[1::5].shape, generator=torch.Generator().manual_seed(n)) < 0.5)
        conversion = to_onnx(Call(linalg.eig), (x,), compare=False)
        values, vectors = run_once(conversion, x)
        torchs_values, torchs_vectors = (torch.view_as_real(t).numpy() for t in linalg.eig(x))
        near = np.abs(values - torchs_values).max((1, 2)) < 1e-6
        assert near.mean() > 0.97
        same = (vectors * torchs_vectors).sum((1, 3), keepdims=True) > 0
        apart = np.abs(np.where(same, vectors, -vectors) - torchs_vectors).max((1, 2, 3))
        assert (apart < 1e-4).mean() > 0.9
        assert same.all((1, 2, 3)).mean() > 0.8  # LAPACK's own signs are as sensitive to the last bit


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
def test_least_squares_of_complex_matrices(driver: str) -> None:
    for m, n in ((4, 3), (3, 3), (2, 3)):
        a, b = (torch.randn(2, m, k, dtype=torch.complex64, generator=torch.Generator().manual_seed(k)) for k in (n, 2))
        to_onnx(Call(lambda a, b: linalg.lstsq(a, b, driver=driver)[:3:2]), (a, b))  # compares
    with pytest.raises(UnsupportedOps, match="result 1 isn't computed"):
        to_onnx(Call(lambda a, b: linalg.lstsq(a, b, driver=driver)[1]), (a, b), compare=False)


def run_once(conversion: Any, x: torch.Tensor) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(conversion.proto().SerializeToString())
    return session.run(None, {conversion.source.specs[0].name: x.numpy()})


def test_what_cannot_be_is_refused() -> None:
    x = torch.eye(3)
    with pytest.raises(UnsupportedOps, match="linalg_eigvals"):
        to_onnx(Call(linalg.eigvals), (torch.complex(x, x),), compare=False)
    with pytest.raises(TranslationError, match="fixed size"):
        to_onnx(Call(linalg.svdvals), (torch.randn(4, 4),), dynamic={0: {0: "n", 1: "n"}}, compare=False)
