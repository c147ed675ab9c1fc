"""Linear algebra: what JAX exports for CPUs are calls of LAPACK.

Each call's settings are the letters that the LAPACK routine takes, as numbers, in ``mhlo.backend_config``. Operands
after the matrices hold sizes of the results, which are known without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..linalg.cholesky import cholesky
from ..linalg.eigh import eigh
from ..linalg.qr import geqrf, householder_product, reflect
from ..linalg.solve import first_zero, lu
from ..linalg.steps import filled, sizes_of, swapped
from ..linalg.svd import singular_values, svd
from ..linalg.triangular import triangular_solve
from ..registry import symbolic
from ..value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..builder import GraphBuilder
    from ..xla.region import Typed


def _calls(routine: str) -> tuple[str, str]:
    """Names of the calls of a routine in float32 and float64."""
    return f"custom_call.lapack_s{routine}_ffi", f"custom_call.lapack_d{routine}_ffi"


def _letter(attributes: dict[str, Any], name: str) -> str:
    """A setting of the call."""
    return chr(int(attributes["mhlo.backend_config"][name]))


def _success(g: GraphBuilder, x: Value) -> Value:
    """The routine's own result: 0 for each matrix."""
    return g.expand(g.constant(np.zeros((), np.int32)), sizes_of(g, x, -2))


@symbolic("stablehlo", *_calls("potrf"))
def potrf(g: GraphBuilder, x: Value, *_: Value, **attributes: Any) -> list[Value]:
    """custom_call @lapack_potrf_ffi(x): the factor, the order of the minor that isn't positive"""
    if _letter(attributes, "uplo") == "L":
        factor, failed = cholesky(g, x)
        return [factor, g.Cast(failed, to=ir.DataType.INT32)]
    factor, failed = cholesky(g, swapped(g, x))
    return [swapped(g, factor), g.Cast(failed, to=ir.DataType.INT32)]


@symbolic("stablehlo", *_calls("getrf"))
def getrf(g: GraphBuilder, x: Value, *_: Value, **__: Any) -> list[Value]:
    """custom_call @lapack_getrf_ffi(x): LU factors, pivots from 1, number of the first zero pivot"""
    factors, pivots, _permutation = lu(g, x)
    return [factors, g.Add(pivots, 1), first_zero(g, factors)]


@symbolic("stablehlo", "custom_call.blas_strsm_ffi", "custom_call.blas_dtrsm_ffi", *_calls("trsm"))
def trsm(g: GraphBuilder, a: Value, b: Value, *_: Value, **attributes: Any) -> Value:
    """custom_call @lapack_trsm_ffi(a, b): the solution of a triangular system"""
    return triangular_solve(
        g, a, b, left=_letter(attributes, "side") == "L", lower=_letter(attributes, "uplo") == "L",
        transposed=_letter(attributes, "trans_x") != "N", unit=_letter(attributes, "diag") == "U",
    )  # fmt: skip


@symbolic("stablehlo", *_calls("geqrf"))
def geqrf_call(g: GraphBuilder, x: Value, *_: Value, **__: Any) -> list[Value]:
    """custom_call @lapack_geqrf_ffi(x): R and packed reflections, their factors"""
    return list(geqrf(g, x))


@symbolic("stablehlo", *_calls("orgqr"))
def orgqr(g: GraphBuilder, x: Value, taus: Value, *_: Value, **__: Any) -> Value:
    """custom_call @lapack_orgqr_ffi(x, taus): the product of reflections"""
    return householder_product(g, x, taus)


@symbolic("stablehlo", *_calls("ormqr"))
def ormqr(g: GraphBuilder, x: Value, taus: Value, c: Value, *_: Value, **attributes: Any) -> Value:
    """custom_call @lapack_ormqr_ffi(x, taus, c): the product of reflections times c"""
    left, transposed = _letter(attributes, "side") == "L", _letter(attributes, "trans") != "N"
    return reflect(g, x, taus, c, left=left, transposed=transposed)


@symbolic("stablehlo", *_calls("syevd"))
def syevd(g: GraphBuilder, x: Value, *_: Value, **attributes: Any) -> list[Value]:
    """custom_call @lapack_syevd_ffi(x): eigenvectors, whose signs are free, and eigenvalues"""
    values, vectors = eigh(g, x, lower=_letter(attributes, "uplo") == "L", vectors=_letter(attributes, "mode") == "V")
    return [x if vectors is None else vectors, values, _success(g, x)]


@symbolic("stablehlo", *_calls("gesdd"))
def gesdd(g: GraphBuilder, x: Value, *_: Value, results: Sequence[Typed], **attributes: Any) -> list[Value]:
    """custom_call @lapack_gesdd_ffi(x): nothing of use, singular values, U, V^T, whose signs are free"""
    mode = _letter(attributes, "mode")
    if mode == "N":  # the places of U and V^T hold nothing of use either
        u, vh = (filled(g, x, [*sizes_of(g, x, -2), *r.sizes[-2:]]) for r in results[2:4])
        values = singular_values(g, x)
    else:
        u, values, vh = svd(g, x, full=mode == "A")
    return [x, values, u, vh, _success(g, x)]
