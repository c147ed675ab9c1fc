"""Products, variances and norms of complex tensors; sums are taken part by part (see `lifting`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..aten import reduction as of_real
from ..aten.promotion import DataType
from ..aten.shape import axis_of, size_at
from ..builder import GraphBuilder
from ..complex import arithmetic
from ..complex.number import Complex, Number, as_complex
from ..registry import symbolic
from ..value import Value
from .operands import DIALECT, component, numbers
from .parts import convert

Axes = Sequence[int] | int | None


def _in_dtype(g: GraphBuilder, x: Number, dtype: DataType | None) -> Complex:
    return as_complex(g, x if dtype is None else convert(g, x, dtype))


@symbolic(DIALECT, "prod.default")
def prod_all(g: GraphBuilder, self: Number, dtype: DataType | None = None) -> Number:
    """aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    return prod(g, arithmetic.each(self, lambda p: g.reshape(p, [-1])), 0, False, dtype)


@symbolic(DIALECT, "prod.dim_int")
def prod(g: GraphBuilder, self: Number, dim: int, keepdim: bool = False, dtype: DataType | None = None) -> Number:
    """aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    z = _in_dtype(g, self, dtype)
    if z.rank == 0:
        return z
    axis = axis_of(dim, z.rank)
    count = size_at(g, z.real, axis)
    if isinstance(count, int):
        result = arithmetic.product(g, z, axis, count)
    else:
        result = arithmetic.product_in_turn(g, z, axis)
    return arithmetic.each(result, lambda p: g.Unsqueeze(p, [axis])) if keepdim else result


@symbolic(DIALECT, "cumprod")
def cumprod(g: GraphBuilder, self: Number, dim: int, dtype: DataType | None = None) -> Number:
    """aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    z = _in_dtype(g, self, dtype)
    return arithmetic.running_product(g, z, axis_of(dim, z.rank)) if z.rank else z


# --- variances: the sum of those of the parts ------------------------------------------------------------------------


def _variance(g: GraphBuilder, z: Complex, dim: Axes, correction: float | None, keepdim: bool) -> tuple[Value, Complex]:
    real, imaginary = (of_real.variance(g, part, dim, correction, keepdim) for part in (z.real, z.imag))
    return g.Add(real[0], imaginary[0]), Complex(real[1], imaginary[1])


@symbolic(DIALECT, "var.correction")
def var(
    g: GraphBuilder, self: Complex, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> Value:
    """aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"""
    return _variance(g, self, dim, correction, keepdim)[0]


@symbolic(DIALECT, "var.dim")
def var_dim(g: GraphBuilder, self: Complex, dim: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    """aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"""
    return _variance(g, self, dim, float(unbiased), keepdim)[0]


@symbolic(DIALECT, "var.default")
def var_all(g: GraphBuilder, self: Complex, unbiased: bool = True) -> Value:
    """aten::var(Tensor self, bool unbiased=True) -> Tensor"""
    return _variance(g, self, None, float(unbiased), False)[0]


@symbolic(DIALECT, "std.correction")
def std(
    g: GraphBuilder, self: Complex, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> Value:
    """aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"""
    return g.Sqrt(var(g, self, dim, correction, keepdim))


@symbolic(DIALECT, "std.dim")
def std_dim(g: GraphBuilder, self: Complex, dim: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    """aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"""
    return g.Sqrt(var_dim(g, self, dim, unbiased, keepdim))


@symbolic(DIALECT, "std.default")
def std_all(g: GraphBuilder, self: Complex, unbiased: bool = True) -> Value:
    """aten::std(Tensor self, bool unbiased=True) -> Tensor"""
    return g.Sqrt(var_all(g, self, unbiased))


@symbolic(DIALECT, "var_mean.correction")
def var_mean(
    g: GraphBuilder, self: Complex, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Value, Complex]:
    """aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction, ...) -> (Tensor, Tensor)"""
    return _variance(g, self, dim, correction, keepdim)


@symbolic(DIALECT, "std_mean.correction")
def std_mean(
    g: GraphBuilder, self: Complex, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> tuple[Value, Complex]:
    """aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction, ...) -> (Tensor, Tensor)"""
    spread, centre = _variance(g, self, dim, correction, keepdim)
    return g.Sqrt(spread), centre


# --- norms: of the absolute values -----------------------------------------------------------------------------------


@symbolic(DIALECT, "linalg_vector_norm")
def linalg_vector_norm(
    g: GraphBuilder, self: Complex, ord: Any = 2, dim: Axes = None, keepdim: bool = False, dtype: DataType | None = None
) -> Value:
    """aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, ...) -> Tensor"""
    size = arithmetic.absolute(g, self)
    return of_real.linalg_vector_norm(g, size, ord, dim, keepdim, component(dtype))


@symbolic(DIALECT, "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype")
def norm(
    g: GraphBuilder, self: Complex, p: Any, dim: Axes, keepdim: bool = False, dtype: DataType | None = None
) -> Value:
    """aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor"""
    return linalg_vector_norm(g, self, 2 if p is None else p, dim, keepdim, dtype)


@symbolic(DIALECT, "norm.Scalar")
def norm_scalar(g: GraphBuilder, self: Complex, p: Any = 2) -> Value:
    """aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor"""
    return linalg_vector_norm(g, self, p)


@symbolic(DIALECT, "frobenius_norm.dim")
def frobenius_norm(g: GraphBuilder, self: Complex, dim: Axes, keepdim: bool = False) -> Value:
    """aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"""
    return linalg_vector_norm(g, self, 2, dim, keepdim)


@symbolic(DIALECT, "dist")
def dist(g: GraphBuilder, self: Number, other: Number, p: Any = 2) -> Value:
    """aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor"""
    a, b = numbers(g, self, other)
    return linalg_vector_norm(g, as_complex(g, arithmetic.sub(g, a, b)), p)
