"""Elementwise functions of one tensor."""

from __future__ import annotations

import math

import numpy as np
from ml_dtypes import finfo

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from ..xla.functions import unary
from .error_function import erf_double
from .precision import rounded_once
from .promotion import DataType, Scalar, apply, as_float, cast, compute, float_type, is_float, limits, value_of

#: aten name -> ONNX operator; integers become float32.
FLOAT_OPERATORS = {
    "exp": "Exp", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "sqrt": "Sqrt", "log": "Log",
    "sigmoid": "Sigmoid", "tanh": "Tanh", "erf": "Erf", "reciprocal": "Reciprocal", "special_expit": "Sigmoid",
    "special_erf": "Erf",
}  # fmt: skip


def _register_float(name: str, op: str) -> None:
    def function(g: GraphBuilder, self: Value) -> Value:
        x = as_float(g, self)
        if x.dtype == DataType.DOUBLE:  # onnxruntime has few kernels for it
            return erf_double(g, x) if op == "Erf" else unary(g, op, x)
        return apply(g, op, x)

    function.__doc__ = f"aten::{name}(Tensor self) -> Tensor"
    function.__name__ = function.__qualname__ = name
    symbolic("aten", name)(function)


for _name, _op in FLOAT_OPERATORS.items():
    _register_float(_name, _op)


@symbolic("aten", "neg", "negative")
def neg(g: GraphBuilder, self: Value) -> Value:
    """aten::neg(Tensor self) -> Tensor"""
    return compute(g, "Neg", self)


@symbolic("aten", "positive")
def positive(g: GraphBuilder, self: Value) -> Value:
    """aten::positive(Tensor(a) self) -> Tensor(a)"""
    return self


@symbolic("aten", "abs", "absolute")
def abs(g: GraphBuilder, self: Value) -> Value:
    """aten::abs(Tensor self) -> Tensor"""
    return self if self.dtype == DataType.BOOL else compute(g, "Abs", self)


@symbolic("aten", "sign", "sgn")
def sign(g: GraphBuilder, self: Value) -> Value:
    """aten::sign(Tensor self) -> Tensor"""
    if self.dtype == DataType.BOOL:
        return self
    result = compute(g, "Sign", self)
    return g.Where(g.IsNaN(self), 0.0, result) if is_float(self.element) else result


@symbolic("aten", "square")
def square(g: GraphBuilder, self: Value) -> Value:
    """aten::square(Tensor self) -> Tensor"""
    x = cast(g, self, DataType.INT64) if self.dtype == DataType.BOOL else self
    return compute(g, "Mul", x, x)


@symbolic("aten", "rsqrt")
@rounded_once
def rsqrt(g: GraphBuilder, self: Value) -> Value:
    """aten::rsqrt(Tensor self) -> Tensor"""
    return g.Reciprocal(g.Sqrt(as_float(g, self)))


@symbolic("aten", "exp2", "special_exp2")
def exp2(g: GraphBuilder, self: Value) -> Value:
    """aten::exp2(Tensor self) -> Tensor"""
    x = as_float(g, self)
    return g.Pow(value_of(g, 2.0, x.element), x)


@symbolic("aten", "expm1", "special_expm1")
@rounded_once
def expm1(g: GraphBuilder, self: Value) -> Value:
    """aten::expm1(Tensor self) -> Tensor"""
    # tanh(x/2) * (exp(x) + 1) keeps the digits that exp(x) - 1 loses near zero
    x = as_float(g, self)
    grown = g.Exp(x)
    near = g.Mul(g.Tanh(g.Mul(x, 0.5)), g.Add(grown, 1.0))
    return g.Where(g.Less(g.Abs(x), 1.0), near, g.Sub(grown, 1.0))


@symbolic("aten", "log1p", "special_log1p")
@rounded_once
def log1p(g: GraphBuilder, self: Value) -> Value:
    """aten::log1p(Tensor self) -> Tensor"""
    # log(u) * x / (u - 1) with u = 1 + x cancels the rounding error of u
    x = as_float(g, self)
    u = g.Add(x, 1.0)
    rest = g.Sub(u, 1.0)
    exact = g.Or(g.Equal(rest, 0.0), g.IsInf(x))
    fixed = g.Mul(g.Log(u), g.Div(x, g.Where(exact, 1.0, rest)))
    return g.Where(g.Equal(rest, 0.0), x, g.Where(g.IsInf(x), g.Log(u), fixed))


@symbolic("aten", "log2")
@rounded_once
def log2(g: GraphBuilder, self: Value) -> Value:
    """aten::log2(Tensor self) -> Tensor"""
    return g.Div(g.Log(as_float(g, self)), math.log(2.0))


@symbolic("aten", "log10")
@rounded_once
def log10(g: GraphBuilder, self: Value) -> Value:
    """aten::log10(Tensor self) -> Tensor"""
    return g.Div(g.Log(as_float(g, self)), math.log(10.0))


def _register_rounding(name: str, op: str) -> None:
    def function(g: GraphBuilder, self: Value) -> Value:
        return apply(g, op, self) if is_float(self.element) else self

    function.__doc__ = f"aten::{name}(Tensor self) -> Tensor"
    function.__name__ = function.__qualname__ = name
    symbolic("aten", name)(function)


_register_rounding("floor", "Floor")
_register_rounding("ceil", "Ceil")


@symbolic("aten", "trunc", "fix")
def trunc(g: GraphBuilder, self: Value) -> Value:
    """aten::trunc(Tensor self) -> Tensor"""
    return g.Mul(g.Sign(self), g.Floor(g.Abs(self))) if is_float(self.element) else self


@symbolic("aten", "frac")
def frac(g: GraphBuilder, self: Value) -> Value:
    """aten::frac(Tensor self) -> Tensor"""
    return g.Sub(self, trunc(g, self))


@symbolic("aten", "round", "special_round")
def round(g: GraphBuilder, self: Value, decimals: int = 0) -> Value:
    """aten::round.decimals(Tensor self, *, int decimals) -> Tensor"""
    if not is_float(self.element):
        return self
    if not decimals:
        return g.Round(self)
    scale = value_of(g, 10.0 ** (decimals if decimals > 0 else -decimals), self.element)
    if decimals > 0:
        return g.Div(g.Round(g.Mul(self, scale)), scale)
    return g.Mul(g.Round(g.Div(self, scale)), scale)


@symbolic("aten", "isnan")
def isnan(g: GraphBuilder, self: Value) -> Value:
    """aten::isnan(Tensor self) -> Tensor"""
    return g.IsNaN(self) if is_float(self.element) else _all(g, self, False)


@symbolic("aten", "isinf")
def isinf(g: GraphBuilder, self: Value) -> Value:
    """aten::isinf(Tensor self) -> Tensor"""
    return _is_inf(g, self) if is_float(self.element) else _all(g, self, False)


def _is_inf(g: GraphBuilder, x: Value, *, positive: int = 1, negative: int = 1) -> Value:
    if x.element in (DataType.FLOAT16, DataType.BFLOAT16):
        x = cast(g, x, DataType.FLOAT)
    return g.IsInf(x, detect_positive=positive, detect_negative=negative)


@symbolic("aten", "isposinf")
def isposinf(g: GraphBuilder, self: Value) -> Value:
    """aten::isposinf(Tensor self) -> Tensor"""
    return _is_inf(g, self, negative=0) if is_float(self.element) else _all(g, self, False)


@symbolic("aten", "isneginf")
def isneginf(g: GraphBuilder, self: Value) -> Value:
    """aten::isneginf(Tensor self) -> Tensor"""
    return _is_inf(g, self, positive=0) if is_float(self.element) else _all(g, self, False)


@symbolic("aten", "isfinite")
def isfinite(g: GraphBuilder, self: Value) -> Value:
    """aten::isfinite(Tensor self) -> Tensor"""
    if not is_float(self.element):
        return _all(g, self, True)
    return g.Not(g.Or(_is_inf(g, self), g.IsNaN(self)))


def _all(g: GraphBuilder, x: Value, truth: bool) -> Value:
    """One truth value in the shape of x."""
    from .shape import sizes

    return g.expand(g.constant(np.array(truth)), sizes(g, x))


@symbolic("aten", "signbit")
def signbit(g: GraphBuilder, self: Value) -> Value:
    """aten::signbit(Tensor self) -> Tensor"""
    if self.dtype == DataType.BOOL:
        return _all(g, self, False)
    negative = compute(g, "Less", self, value_of(g, 0, self.element))
    # 1 / -0.0 is -inf: the only way to see the sign of zero
    return g.Or(negative, g.Less(g.Reciprocal(self), 0.0)) if is_float(self.element) else negative


@symbolic("aten", "logit", "special_logit")
def logit(g: GraphBuilder, self: Value, eps: float | None = None) -> Value:
    """aten::logit(Tensor self, float? eps=None) -> Tensor"""
    x = as_float(g, self)
    if eps is not None:
        low, high = value_of(g, eps, x.element), value_of(g, 1.0 - eps, x.element)
        x = g.Where(g.Less(x, low), low, g.Where(g.Greater(x, high), high, x))  # low wins where they cross
    return g.Log(g.Div(x, g.Sub(1.0, x)))


@symbolic("aten", "nan_to_num")
def nan_to_num(
    g: GraphBuilder, self: Value, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Value:
    """aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"""
    if not is_float(self.element):
        return self
    top = float(finfo(self.element.numpy()).max)  # type: ignore[no-untyped-call]
    x = g.Where(g.IsNaN(self), value_of(g, nan or 0.0, self.element), self)
    x = g.Where(g.Equal(x, np.inf), value_of(g, top if posinf is None else posinf, self.element), x)
    return g.Where(g.Equal(x, -np.inf), value_of(g, -top if neginf is None else neginf, self.element), x)


@symbolic("aten", "sinc", "special_sinc")
@rounded_once
def sinc(g: GraphBuilder, self: Value) -> Value:
    """aten::sinc(Tensor self) -> Tensor"""
    x = as_float(g, self)
    turn = g.Mul(x, math.pi)
    zero = g.Equal(x, 0.0)
    return g.Where(zero, 1.0, g.Div(g.Sin(turn), g.Where(zero, 1.0, turn)))


@symbolic("aten", "deg2rad")
@rounded_once
def deg2rad(g: GraphBuilder, self: Value) -> Value:
    """aten::deg2rad(Tensor self) -> Tensor"""
    return g.Mul(as_float(g, self), math.pi / 180.0)


@symbolic("aten", "rad2deg")
@rounded_once
def rad2deg(g: GraphBuilder, self: Value) -> Value:
    """aten::rad2deg(Tensor self) -> Tensor"""
    return g.Mul(as_float(g, self), 180.0 / math.pi)


@symbolic("aten", "special_entr")
def special_entr(g: GraphBuilder, self: Value) -> Value:
    """aten::special_entr(Tensor self) -> Tensor"""
    x = as_float(g, self)
    positive = g.Greater(x, 0.0)
    inner = g.Neg(g.Mul(x, g.Log(g.Where(positive, x, 1.0))))
    outside = g.Where(g.Equal(x, 0.0), 0.0, value_of(g, -np.inf, x.element))
    return g.Where(g.IsNaN(x), x, g.Where(positive, inner, outside))


@symbolic("aten", "ldexp")
def ldexp(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor"""
    dtype = float_type(self, other)
    two = value_of(g, 2.0, dtype)
    return g.Mul(value_of(g, self, dtype), g.Pow(two, value_of(g, other, dtype)))


def largest(g: GraphBuilder, dtype: DataType) -> Scalar:
    """The largest number of a dtype."""
    return limits(dtype)[1]  # type: ignore[no-any-return]
