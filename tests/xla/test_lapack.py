"""Linear algebra in exported files, which are calls of LAPACK; signs of vectors are free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from anyonnx.converters.api import to_onnx

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda a, b: jnp.linalg.cholesky(a @ a.mT + jnp.eye(4)),
    "cholesky fails": lambda a, b: jnp.linalg.cholesky(-a @ a.mT),
    "lu": lambda a, b: (lax.linalg.lu(a), lax.linalg.lu(b)),
    "solve": lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), *jnp.linalg.slogdet(a)),
    "triangular": lambda a, b: [
        lax.linalg.triangular_solve(
            a, b if left else b.mT, left_side=left, lower=low, transpose_a=low, unit_diagonal=unit
        )
        for left in (True, False) for low in (True, False) for unit in (True, False)
    ],
    "qr": lambda a, b: (*jnp.linalg.qr(a), *jnp.linalg.qr(b), *jnp.linalg.qr(b, mode="complete")),
    "eigh": lambda a, b: (jnp.linalg.eigvalsh(a + a.mT), [abs(v) for v in jnp.linalg.eigh(a + a.mT)]),
    "svd": lambda a, b: (
        jnp.linalg.svdvals(b), [abs(v) for v in jnp.linalg.svd(b, full_matrices=False)], jnp.linalg.pinv(b),
        jnp.linalg.matrix_rank(a), jnp.linalg.svd(b)[1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("batch", ["fixed", "open"])
@pytest.mark.parametrize("name", CASES)
def test_lapack_in_a_file(name: str, batch: str, tmp_path: Any) -> None:
    sizes = jax.export.symbolic_shape("n,4,4") if batch == "open" else (2, 4, 4)
    specs = [jax.ShapeDtypeStruct(s, jnp.float32) for s in (sizes, (sizes[0], 4, 3))]
    call = CASES[name]
    exported = jax.export.export(jax.jit(lambda a, b: call(a + 3 * jnp.eye(4), b)))(*specs)
    path = tmp_path / "linear.jaxexp"
    path.write_bytes(exported.serialize())
    assert to_onnx(path, opset=11 if batch == "fixed" else 21).parity.passed
