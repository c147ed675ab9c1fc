"""Arithmetic and comparisons of complex tensors."""

from __future__ import annotations

import numpy as np

from ..aten.promotion import DataType
from ..builder import GraphBuilder
from ..complex import arithmetic, functions
from ..complex.number import Complex, Number, as_complex, filled, multilinear, scalar, select
from ..registry import symbolic
from ..value import Value
from .operands import DIALECT, Operand, is_complex, number, numbers, refused


def _scaled(g: GraphBuilder, x: Number, alpha: Operand) -> Number:
    return x if alpha == 1 else arithmetic.mul(g, x, number(g, alpha, x.element))


@symbolic(DIALECT, "add")
def add(g: GraphBuilder, self: Operand, other: Operand, alpha: Operand = 1) -> Number:
    """aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = numbers(g, self, other)
    return arithmetic.add(g, a, _scaled(g, b, alpha))


@symbolic(DIALECT, "sub", "subtract")
def sub(g: GraphBuilder, self: Operand, other: Operand, alpha: Operand = 1) -> Number:
    """aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = numbers(g, self, other)
    return arithmetic.sub(g, a, _scaled(g, b, alpha))


@symbolic(DIALECT, "rsub")
def rsub(g: GraphBuilder, self: Operand, other: Operand, alpha: Operand = 1) -> Number:
    """aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    return sub(g, other, self, alpha)


@symbolic(DIALECT, "mul", "multiply")
def mul(g: GraphBuilder, self: Operand, other: Operand) -> Number:
    """aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"""
    return arithmetic.mul(g, *numbers(g, self, other))


@symbolic(DIALECT, "div", "divide", "true_divide")
def div(g: GraphBuilder, self: Operand, other: Operand, rounding_mode: str | None = None) -> Number:
    """aten::div.Tensor(Tensor self, Tensor other) -> Tensor"""
    if rounding_mode is not None:
        raise refused(g, "div", "rounded division")
    return arithmetic.div(g, *numbers(g, self, other))


@symbolic(DIALECT, "neg", "negative")
def neg(g: GraphBuilder, self: Complex) -> Number:
    """aten::neg(Tensor self) -> Tensor"""
    return arithmetic.neg(g, self)


@symbolic(DIALECT, "reciprocal")
def reciprocal(g: GraphBuilder, self: Complex) -> Number:
    """aten::reciprocal(Tensor self) -> Tensor"""
    return arithmetic.reciprocal(g, self)


@symbolic(DIALECT, "rsqrt")
def rsqrt(g: GraphBuilder, self: Complex) -> Number:
    """aten::rsqrt(Tensor self) -> Tensor"""
    return arithmetic.reciprocal(g, functions.sqrt(g, self))


@symbolic(DIALECT, "square")
def square(g: GraphBuilder, self: Complex) -> Number:
    """aten::square(Tensor self) -> Tensor"""
    return arithmetic.mul(g, self, self)


@symbolic(DIALECT, "sgn")
def sgn(g: GraphBuilder, self: Complex) -> Number:
    """aten::sgn(Tensor self) -> Tensor"""
    return arithmetic.sgn(g, self)


@symbolic(DIALECT, "pow")
def pow(g: GraphBuilder, self: Operand, exponent: Operand) -> Number:
    """aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"""
    base, power = numbers(g, self, exponent)
    if isinstance(base, Complex) and isinstance(exponent, (int, float)) and not isinstance(exponent, bool):
        if float(exponent).is_integer() and -4 <= exponent <= 4:
            return functions.integer_power(g, base, int(exponent))
        if exponent == 0.5:
            return functions.sqrt(g, base)
    return functions.power(g, base, power)


@symbolic(DIALECT, "float_power")
def float_power(g: GraphBuilder, self: Operand, exponent: Operand) -> Number:
    """aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"""
    base = number(g, self, DataType.DOUBLE)
    if isinstance(exponent, (Complex, Value)):
        return pow(g, base, number(g, exponent, DataType.DOUBLE))
    return pow(g, as_complex(g, base), exponent)


@symbolic(DIALECT, "addcmul")
def addcmul(g: GraphBuilder, self: Number, tensor1: Number, tensor2: Number, value: Operand = 1) -> Number:
    """aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""
    x, a, b = numbers(g, self, tensor1, tensor2)
    return arithmetic.add(g, x, _scaled(g, arithmetic.mul(g, a, b), value))


@symbolic(DIALECT, "addcdiv")
def addcdiv(g: GraphBuilder, self: Number, tensor1: Number, tensor2: Number, value: Operand = 1) -> Number:
    """aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""
    x, a, b = numbers(g, self, tensor1, tensor2)
    return arithmetic.add(g, x, arithmetic.div(g, _scaled(g, a, value), b))


@symbolic(DIALECT, "lerp")
def lerp(g: GraphBuilder, self: Number, end: Number, weight: Operand) -> Number:
    """aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"""
    x, y = numbers(g, self, end)
    return arithmetic.add(g, x, arithmetic.mul(g, number(g, weight, x.element), arithmetic.sub(g, y, x)))


# --- comparisons -----------------------------------------------------------------------------------------------------


@symbolic(DIALECT, "eq")
def eq(g: GraphBuilder, self: Operand, other: Operand) -> Value:
    """aten::eq.Tensor(Tensor self, Tensor other) -> Tensor"""
    return arithmetic.equal(g, *numbers(g, self, other))


@symbolic(DIALECT, "ne", "not_equal")
def ne(g: GraphBuilder, self: Operand, other: Operand) -> Value:
    """aten::ne.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.Not(eq(g, self, other))


@symbolic(DIALECT, "isnan")
def isnan(g: GraphBuilder, self: Complex) -> Value:
    """aten::isnan(Tensor self) -> Tensor"""
    return functions.isnan(g, self)


@symbolic(DIALECT, "isinf")
def isinf(g: GraphBuilder, self: Complex) -> Value:
    """aten::isinf(Tensor self) -> Tensor"""
    return functions.isinf(g, self)


@symbolic(DIALECT, "isfinite")
def isfinite(g: GraphBuilder, self: Complex) -> Value:
    """aten::isfinite(Tensor self) -> Tensor"""
    return g.Not(g.Or(functions.isinf(g, self), functions.isnan(g, self)))


@symbolic(DIALECT, "isreal")
def isreal(g: GraphBuilder, self: Complex) -> Value:
    """aten::isreal(Tensor self) -> Tensor"""
    return g.Equal(self.imag, scalar(g, 0.0, self.imag))


@symbolic(DIALECT, "isclose")
def isclose(
    g: GraphBuilder, self: Number, other: Number, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    """aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"""
    a, b = (as_complex(g, x) for x in numbers(g, self, other))
    equal = arithmetic.equal(g, a, b)
    gap = arithmetic.absolute(g, arithmetic.sub(g, a, b))
    near = g.LessOrEqual(gap, g.Add(atol, g.Mul(arithmetic.absolute(g, b), rtol)))
    finite = g.Less(gap, scalar(g, np.inf, gap))
    result = g.Or(equal, g.And(near, finite))
    return g.Or(result, g.And(functions.isnan(g, a), functions.isnan(g, b))) if equal_nan else result


@symbolic(DIALECT, "nan_to_num")
def nan_to_num(
    g: GraphBuilder, self: Complex, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Complex:
    """aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"""
    from ..aten.unary import nan_to_num as of_real

    return Complex(of_real(g, self.real, nan, posinf, neginf), of_real(g, self.imag, nan, posinf, neginf))


@symbolic(DIALECT, "xlogy", "special_xlogy")
def xlogy(g: GraphBuilder, self: Operand, other: Operand) -> Number:
    """aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"""
    x, y = (as_complex(g, v) for v in numbers(g, self, other))
    product = as_complex(g, arithmetic.mul(g, x, functions.log(g, y)))
    zero = Complex(filled(g, 0.0, product.real), filled(g, 0.0, product.real))
    return select(g, arithmetic.is_zero(g, x), zero, product)


# --- products --------------------------------------------------------------------------------------------------------


def _affine(g: GraphBuilder, base: Operand, product: Number, beta: Operand, alpha: Operand) -> Number:
    """beta * base + alpha * product; the base doesn't count where beta is 0."""
    product = _scaled(g, product, alpha)
    if not is_complex(beta) and beta == 0:
        return product
    return arithmetic.add(g, _scaled(g, number(g, base, product.element), beta), product)


@symbolic(DIALECT, "addmm", "baddbmm", "addmv")
def addmm(
    g: GraphBuilder, self: Number, mat1: Number, mat2: Number, beta: Operand = 1, alpha: Operand = 1
) -> Number:  # fmt: skip
    """aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    return _affine(g, self, matmul(g, mat1, mat2), beta, alpha)


@symbolic(DIALECT, "addbmm")
def addbmm(
    g: GraphBuilder, self: Number, batch1: Number, batch2: Number, beta: Operand = 1, alpha: Operand = 1
) -> Number:  # fmt: skip
    """aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    total = arithmetic.each(matmul(g, batch1, batch2), lambda p: g.ReduceSum(p, [0], keepdims=0))
    return _affine(g, self, total, beta, alpha)


@symbolic(DIALECT, "addr")
def addr(
    g: GraphBuilder, self: Number, vec1: Number, vec2: Number, beta: Operand = 1, alpha: Operand = 1
) -> Number:  # fmt: skip
    """aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    a, b = numbers(g, vec1, vec2)
    column = arithmetic.each(a, lambda p: g.Unsqueeze(p, [1]))
    return _affine(g, self, arithmetic.mul(g, column, b), beta, alpha)


def matmul(g: GraphBuilder, x: Number, y: Number) -> Number:
    """Matrix product."""
    return as_complex(g, multilinear(g, g.MatMul, numbers(g, x, y)))


@symbolic(DIALECT, "vdot")
def vdot(g: GraphBuilder, self: Complex, other: Complex) -> Number:
    """aten::vdot(Tensor self, Tensor other) -> Tensor"""
    return matmul(g, arithmetic.conj(g, self), other)


@symbolic(DIALECT, "linalg_vecdot")
def linalg_vecdot(g: GraphBuilder, x: Number, y: Number, dim: int = -1) -> Number:
    """aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor"""
    a, b = numbers(g, x, y)
    terms = arithmetic.mul(g, arithmetic.conj(g, a), b)
    return arithmetic.each(terms, lambda p: g.ReduceSum(p, [dim], keepdims=0))
