"""The factorisations themselves: residuals in float64, beside those of LAPACK, on matrices that are hard."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from anyonnx.symbolic.builder import GraphBuilder
from anyonnx.symbolic.errors import TranslationError
from anyonnx.symbolic.linalg import cholesky, eig, eigh, exponential, ldl, qr, solve, svd, taylor, triangular

OPSETS = (11, 13, 17, 21, 25)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32)
LEVELS = (
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
)


def runs(
    function: Callable[..., Any], *arrays: np.ndarray, opset: int = 21, shapes: Any = None
) -> Iterator[list[np.ndarray]]:
    """What the graph gives, which is checked before, without and with optimisations."""
    g = GraphBuilder(opset)
    shapes = shapes or [a.shape for a in arrays]
    inputs = [g.input(f"x{i}", a.dtype.name, s) for i, (a, s) in enumerate(zip(arrays, shapes, strict=True))]
    results = function(g, *inputs)
    for result in results if isinstance(results, (tuple, list)) else [results]:
        g.output(result)
    model = ir.to_proto(g.build())
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == opset
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        yield session.run(None, {f"x{i}": a for i, a in enumerate(arrays)})


def run(function: Callable[..., Any], *arrays: np.ndarray, **options: Any) -> list[np.ndarray]:
    """Results that are unique: optimisations change no more than roundings."""
    plain, fast = runs(function, *arrays, **options)
    for a, b in zip(plain, fast, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.nanmax(np.abs(a), initial=1))
    return fast


# --- matrices --------------------------------------------------------------------------------------------------------


def spectrum(kind: str, n: int) -> np.ndarray:
    """Singular values (or eigenvalues) of a matrix."""
    values = {
        "even": np.linspace(1, 2, n),
        "graded": np.geomspace(1, 1e-4, n),
        "deficient": np.r_[np.linspace(1, 2, n - n // 2), np.zeros(n // 2)],
        "repeated": np.r_[np.full(n - n // 2, 2.0), np.ones(n // 2)],
        "opposite": np.where(np.arange(n) % 2, -1.0, 1.0),
        "zero": np.zeros(n),
        "large": np.linspace(1, 2, n) * 1e15,
        "small": np.linspace(1, 2, n) * 1e-15,
    }
    return values[kind]


def orthogonal(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def general(kind: str, m: int, n: int, dtype: Any) -> np.ndarray:
    """Two m x n matrices with the singular values of a kind."""
    rng = np.random.default_rng(m * 100 + n)
    k = min(m, n)
    if kind == "random":
        return rng.standard_normal((2, m, n)).astype(dtype)
    made = [(orthogonal(rng, m)[:, :k] * spectrum(kind, k)) @ orthogonal(rng, n)[:k] for _ in range(2)]
    return np.stack(made).astype(dtype)


def symmetric(kind: str, n: int, dtype: Any) -> np.ndarray:
    """Two symmetric matrices with the eigenvalues of a kind."""
    rng = np.random.default_rng(n)
    made = []
    for _ in range(2):
        q = orthogonal(rng, n)
        made.append((q * (rng.standard_normal(n) if kind == "random" else spectrum(kind, n))) @ q.T)
    x = np.stack(made).astype(dtype)
    return np.tril(x) + np.tril(x, -1).transpose(0, 2, 1)


def turned(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-1, -2)


def gap(found: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference beside the largest number."""
    largest = float(np.abs(wanted).max(initial=0)) or 1.0
    return float(np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)) / largest


def departure(q: np.ndarray) -> float:
    """How far columns are from orthonormal."""
    wide = q.astype(np.float64)
    return gap(turned(wide) @ wide, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


def rounding(dtype: Any, n: int) -> float:
    """What backward stable algorithms keep to."""
    return 4 * float(np.finfo(dtype).eps) * max(n, 4)


KINDS = ("random", "even", "graded", "deficient", "repeated", "opposite", "zero", "large", "small")
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


# --- each factorisation ----------------------------------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize("signs", [False, True], ids=["free", "lapack"])
@pytest.mark.parametrize("n", SIZES)
def test_symmetric_eigenvalues(n: int, signs: bool, dtype: Any) -> None:
    x = np.concatenate([symmetric(kind, n, dtype) for kind in KINDS])

    def factor(g: GraphBuilder, a: Any) -> Any:
        return eigh.eigh(g, a, signs=signs)

    found = [pair for values, vectors in runs(factor, x) for pair in zip(values, vectors, strict=True)]
    for a, (w, v) in zip([*x, *x], found, strict=True):
        wide = a.astype(np.float64)
        assert gap(w, np.linalg.eigvalsh(wide)) < rounding(dtype, n)
        assert departure(v) < rounding(dtype, n)
        assert gap((v.astype(np.float64) * w) @ v.T, wide) < rounding(dtype, n)
        assert (np.diff(w) >= 0).all()


@each_dtype
@pytest.mark.parametrize("signs", [False, True], ids=["free", "lapack"])
@pytest.mark.parametrize(
    ("m", "n"), [(n, n) for n in SIZES] + [(5, 3), (3, 5), (1, 4), (4, 1), (9, 8), (20, 2), (2, 41)]
)
def test_singular_values(m: int, n: int, signs: bool, dtype: Any) -> None:
    x = np.concatenate([general(kind, m, n, dtype) for kind in KINDS])

    def factor(g: GraphBuilder, a: Any) -> Any:
        return svd.svd(g, a, full=n % 2 == 0, signs=signs)

    found = [parts for all_parts in runs(factor, x) for parts in zip(*all_parts, strict=True)]
    k = min(m, n)
    # LAPACK's own criterion: elements beside the diagonal that count as zero
    unit = np.finfo(dtype).eps / 2
    stop = max(10, min(100, unit**-0.125)) * unit if signs or k == 2 else 0.0
    for a, (left, w, right) in zip([*x, *x], found, strict=True):
        wide = a.astype(np.float64)
        assert gap(w, np.linalg.svd(wide, compute_uv=False)) < rounding(dtype, max(m, n))
        assert max(departure(left), departure(right.T)) < rounding(dtype, max(m, n))
        limit = rounding(dtype, max(m, n)) + stop * np.linalg.norm(wide, 2) / (np.abs(wide).max() or 1)
        assert gap((left[:, :k].astype(np.float64) * w) @ right[:k], wide) < limit
        assert (np.diff(w) <= 0).all()
        assert (w >= 0).all()


@each_dtype
@pytest.mark.parametrize(("m", "n"), [(n, n) for n in SIZES] + [(5, 3), (3, 5), (1, 4), (4, 1)])
def test_qr_is_lapacks(m: int, n: int, dtype: Any) -> None:
    x = np.concatenate([general(kind, m, n, dtype) for kind in ("random", "even", "graded", "large", "small")])
    q, r = run(lambda g, a: qr.qr(g, a, complete=n % 2 == 0), x)
    for i, a in enumerate(x):
        assert gap(q[i].astype(np.float64) @ r[i], a) < rounding(dtype, max(m, n))
        assert departure(q[i]) < rounding(dtype, max(m, n))
        lapack = np.linalg.qr(a.astype(np.float64), mode="r")
        signs = np.sign(np.diag(lapack))[np.abs(np.diag(lapack)) > 1e-3 * np.abs(lapack).max()]
        assert (np.sign(np.diag(r[i]))[: len(signs)] == signs).all()


@each_dtype
@pytest.mark.parametrize("n", SIZES)
def test_systems(n: int, dtype: Any) -> None:
    x = np.concatenate([general(kind, n, n, dtype) for kind in ("random", "even", "graded", "large", "small")])
    b = np.random.default_rng(1).standard_normal((*x.shape[:1], n, 3)).astype(dtype)
    (solution,) = run(solve.solve, x, b)
    for a, right, found in zip(x.astype(np.float64), b, solution.astype(np.float64), strict=True):
        scale = np.linalg.norm(a, np.inf) * np.abs(found).max() + np.abs(right).max()
        assert np.abs(a @ found - right).max() / scale < rounding(dtype, n)


@each_dtype
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (8, 8), (16, 16), (5, 3), (3, 5)])
def test_lu_and_its_pivots(m: int, n: int, dtype: Any) -> None:
    import scipy.linalg

    x = np.concatenate([general(kind, m, n, dtype) for kind in ("random", "graded", "zero")])
    factors, pivots, permutation = run(solve.lu, x)
    for i, a in enumerate(x):
        k = min(m, n)
        lower, upper = np.tril(factors[i][:, :k], -1) + np.eye(m, k), np.triu(factors[i][:k])
        assert gap(lower @ upper, a[permutation[i]]) < rounding(dtype, max(m, n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert (scipy.linalg.lu_factor(a, check_finite=False)[1] == pivots[i]).all()


@each_dtype
@pytest.mark.parametrize("n", SIZES)
def test_cholesky(n: int, dtype: Any) -> None:
    x = np.concatenate([symmetric(kind, n, dtype) for kind in ("even", "graded", "repeated", "large", "small")])
    b = np.random.default_rng(1).standard_normal((*x.shape[:1], n, 2)).astype(dtype)

    def both(g: GraphBuilder, a: Any, right: Any) -> list[Any]:
        factor, failed = cholesky.cholesky(g, a)
        return [factor, failed, cholesky.cholesky_solve(g, factor, right)]

    factor, failed, solution = run(both, x, b)
    assert not failed.any()
    for a, lower, right, found in zip(x.astype(np.float64), factor.astype(np.float64), b, solution, strict=True):
        assert gap(lower @ lower.T, a) < rounding(dtype, n)
        scale = np.linalg.norm(a, np.inf) * np.abs(found).max() + np.abs(right).max()
        assert np.abs(a @ found - right).max() / scale < rounding(dtype, n)


def test_cholesky_of_what_is_not_positive_definite() -> None:
    x = np.stack([np.diag([1.0, 2, -3, 4]), np.eye(4), np.diag([0.0, 1, 1, 1])])
    factor, failed = run(cholesky.cholesky, x)
    assert failed.tolist() == [3, 0, 1]
    assert np.isnan(factor[0][np.tril_indices(4)]).all()
    assert np.isnan(factor[2][np.tril_indices(4)]).all()
    np.testing.assert_array_equal(factor[1], np.eye(4))
    np.testing.assert_array_equal(np.triu(factor, 1), 0)


@each_dtype
@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("left", [True, False])
def test_triangular_systems(n: int, lower: bool, transposed: bool, left: bool, dtype: Any) -> None:
    a = (general("even", n, n, dtype) + 3 * np.eye(n)).astype(dtype)
    b = general("random", *((n, 2) if left else (2, n)), dtype)
    for unit in (False, True):
        (x,) = run(
            lambda g, p, q, unit=unit: triangular.triangular_solve(
                g, p, q, lower=lower, left=left, transposed=transposed, unit=unit
            ),
            a, b,
        )  # fmt: skip
        part = np.tril(a) if lower else np.triu(a)
        if unit:
            part = part * (1 - np.eye(n)) + np.eye(n)
        part = turned(part) if transposed else part
        assert gap(part @ x if left else x @ part, b) < rounding(dtype, n)


@each_dtype
@pytest.mark.parametrize("n", SIZES)
def test_indefinite_systems(n: int, dtype: Any) -> None:
    """One block of D after the other; hollow matrices need blocks of two rows."""
    x = np.concatenate([symmetric(kind, n, dtype) for kind in ("random", "even", "graded", "opposite", "large")])
    hollow = symmetric("random", n, dtype) * (1 - np.eye(n, dtype=dtype)) if n % 2 == 0 else x[:0]
    x = np.concatenate([x, hollow])
    b = np.random.default_rng(1).standard_normal((*x.shape[:1], n, 2)).astype(dtype)

    def both(g: GraphBuilder, a: Any, right: Any) -> list[Any]:
        packed, pivots, failed = ldl.ldl(g, a)
        return [failed, ldl.ldl_solve(g, packed, pivots, right)]

    failed, solution = run(both, x, b)
    assert not failed.any()
    for a, right, found in zip(x.astype(np.float64), b, solution.astype(np.float64), strict=True):
        scale = np.linalg.norm(a, np.inf) * np.abs(found).max() + np.abs(right).max()
        assert np.abs(a @ found - right).max() / scale < rounding(dtype, n)


def eig_parts(g: GraphBuilder, x: Any) -> list[Any]:
    """Real and imaginary parts of the values and of the vectors."""
    values, vectors = eig.eig(g, x)
    assert vectors is not None
    return [*values, *vectors]


def square(kind: str, n: int, dtype: Any) -> np.ndarray:
    """Two square matrices that have something about them."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((2, n, n))
    places = np.arange(n)
    halves = places < n // 2
    made = {
        "random": a,
        "symmetric": a + turned(a),
        "skew": a - turned(a),
        "orthogonal": np.stack([orthogonal(rng, n), orthogonal(rng, n)]),
        "upper": np.triu(a),
        "lower": np.tril(a),
        "blocks": a * (halves == halves[:, None]),
        "sparse": a * (rng.random(a.shape) < 0.4),
        "rank one": a[:, :, :1] * a[:, :1],
        "whole": np.round(2 * a),
        "cycle": np.broadcast_to(np.roll(np.eye(n), 1, 0), a.shape),
        "companion": np.where(places[:, None] == 0, a, np.eye(n, k=-1)),
        "Jordan": np.broadcast_to(2 * np.eye(n) + np.eye(n, k=1), a.shape),
        "nilpotent": np.broadcast_to(np.eye(n, k=-1), a.shape),
        "scaled": a * np.exp(rng.uniform(-5, 5, (n, 1))) / np.exp(rng.uniform(-5, 5, n)),
        "graded": a * np.geomspace(1, 1e-4, n)[:, None],
        "zero": 0 * a,
        "one": 0 * a + np.eye(n),
        "large": a * 1e15,
        "small": a * 1e-15,
    }[kind]
    return np.ascontiguousarray(made).astype(dtype)


SQUARES = (
    "random", "symmetric", "skew", "orthogonal", "upper", "lower", "blocks", "sparse", "rank one", "whole", "cycle",
    "companion", "Jordan", "nilpotent", "scaled", "graded", "zero", "one", "large", "small",
)  # fmt: skip


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 16])
def test_eigenvalues_of_square_matrices(n: int, dtype: Any) -> None:
    x = np.concatenate([square(kind, n, dtype) for kind in SQUARES])
    only_values = run(lambda g, a: eig.eig(g, a, vectors=False)[0], x)
    for wr, wi, vr, vi in runs(eig_parts, x):
        wide, w, v = x.astype(np.float64), wr + 1j * wi.astype(np.complex128), vr + 1j * vi.astype(np.complex128)
        residual = np.abs(wide @ v - v * w[:, None]).max((1, 2)) / np.maximum(np.abs(wide).max((1, 2)), 1e-300)
        assert residual.max() < rounding(dtype, n)
        assert np.abs(np.linalg.norm(v, axis=1) - 1).max() < rounding(dtype, n)
        sums = np.abs(w.sum(1) - np.trace(wide, axis1=1, axis2=2)) / np.maximum(np.abs(wide).max((1, 2)), 1e-300)
        assert sums.max() < rounding(dtype, n)
        # pairs: the positive imaginary part first, vectors conjugate, the largest element real
        starts = wi > 0
        assert (np.roll(starts, 1, 1) == (wi < 0)).all()
        assert (wr[starts] == wr[wi < 0]).all()
        assert (vi[np.broadcast_to((wi == 0)[:, None], vi.shape)] == 0).all()
        assert (turned(vi)[starts] == -turned(vi)[wi < 0]).all()
        sizes = np.abs(v)
        assert (np.where(vi == 0, sizes, 0).max(1) > (1 - rounding(dtype, n)) * sizes.max(1)).all()
        np.testing.assert_array_equal(only_values, [wr, wi])


def exact_exponential(x: np.ndarray) -> np.ndarray:
    """By its series, in extended precision."""
    scaled = x.astype(np.longdouble) / 2**12
    term = total = np.eye(len(x), dtype=np.longdouble)
    for k in range(1, 30):
        term = term @ scaled / k
        total = total + term
    for _ in range(12):
        total = total @ total
    return total.astype(np.float64)


@each_dtype
@pytest.mark.parametrize("function", [exponential.matrix_exp, taylor.matrix_exp], ids=["pade", "taylor"])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 16])
def test_exponential(n: int, function: Callable[..., Any], dtype: Any) -> None:
    x = np.concatenate([general(kind, n, n, dtype) * 3 for kind in ("random", "even", "deficient", "zero")])
    x = np.concatenate([x, *(x[:1] * dtype(10.0**-k) for k in range(1, 9))])  # every degree
    (found,) = run(function, x)
    for a, e in zip(x, found, strict=True):
        assert gap(e, exact_exponential(a)) < 10 * rounding(dtype, n)


@pytest.mark.parametrize("function", [exponential.matrix_exp, taylor.matrix_exp], ids=["pade", "taylor"])
def test_exponential_of_a_nilpotent_matrix(function: Callable[..., Any]) -> None:
    x = np.array([[[0, 1e10], [0, 0]], [[0, 0], [0, 0]]], np.float32)
    (found,) = run(function, x)
    np.testing.assert_allclose(found, x + np.eye(2, dtype=np.float32), rtol=1e-6)


# --- opsets, open and empty axes -------------------------------------------------------------------------------------

EVERY: dict[str, Callable[..., Any]] = {
    "lu": solve.lu,
    "inverse": solve.solve,
    "cholesky": cholesky.cholesky,
    "ldl": ldl.ldl,
    "qr": qr.qr,
    "eigh": eigh.eigh,
    "svd": svd.svd,
    "exponential": exponential.matrix_exp,
    "taylor": taylor.matrix_exp,
    "eig": eig_parts,
    "eigh_signs": partial(eigh.eigh, signs=True),
    "svd_signs": partial(svd.svd, signs=True),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_opset_gives_the_same(name: str) -> None:
    for n, dtype in ((3, np.float64), (6, np.float32)):
        x = symmetric("even", n, dtype)
        wanted = run(EVERY[name], x, opset=25)
        for opset in OPSETS[:-1]:
            for a, b in zip(run(EVERY[name], x, opset=opset), wanted, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0,)], ids=str)
def test_batches_may_be_open(name: str, batch: tuple[int, ...]) -> None:
    for n in (3, 6):
        x = np.broadcast_to(symmetric("even", n, np.float32)[0], (*batch, n, n)).copy()
        names = [f"batch{i}" for i in range(len(batch))]
        open_batch = run(EVERY[name], x, shapes=[(*names, n, n)])
        for a, b in zip(run(EVERY[name], x), open_batch, strict=True):
            assert a.shape == b.shape
            assert a.shape[: len(batch)] == batch
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["lu", "inverse", "cholesky", "ldl", "qr", "exponential", "taylor"])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_orders_may_be_open(name: str, n: int) -> None:
    x = symmetric("even", n, np.float32)
    for a, b in zip(run(EVERY[name], x), run(EVERY[name], x, shapes=[("batch", "n", "n")]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("name", ["eigh", "svd", "eig"])
def test_rotations_need_a_fixed_order(name: str) -> None:
    with pytest.raises(TranslationError, match="fixed size"):
        run(EVERY[name], np.eye(3, dtype=np.float32), shapes=[("n", "n")])


@pytest.mark.parametrize("name", ["lu", "inverse", "cholesky", "ldl", "qr", "eigh", "svd", "eig"])
def test_matrices_without_rows(name: str) -> None:
    for result in run(EVERY[name], np.zeros((2, 0, 0), np.float32)):
        assert result.shape[0] == 2
        assert result.size in (0, 2)


@pytest.mark.parametrize("name", EVERY)
def test_not_a_number_stays_one(name: str) -> None:
    x = np.stack([np.full((5, 5), np.nan, np.float32), 2 * np.eye(5, dtype=np.float32)])
    *_, results = runs(EVERY[name], x)
    assert any(np.isnan(r[0].astype(np.float32)).any() for r in results)
    assert not any(np.isnan(r[1].astype(np.float32)).any() for r in results)
