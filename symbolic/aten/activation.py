"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .arithmetic import clamp
from .error_function import erfc_double
from .precision import rounded_once
from .promotion import DataType, Scalar, as_float, compute, is_float, unsupported, value_of, where
from .shape import axis_of, size_at
from .unary import expm1, log1p


@symbolic("aten", "relu")
def relu(g: GraphBuilder, self: Value) -> Value:
    """aten::relu(Tensor self) -> Tensor"""
    if is_float(self.element):
        return g.Relu(self)
    return compute(g, "Max", self, value_of(g, 0, self.element))


@symbolic("aten", "relu6")
def relu6(g: GraphBuilder, self: Value) -> Value:
    """aten::relu6(Tensor self) -> Tensor"""
    return clamp(g, self, 0, 6)


@symbolic("aten", "hardtanh")
def hardtanh(g: GraphBuilder, self: Value, min_val: Scalar = -1, max_val: Scalar = 1) -> Value:
    """aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"""
    low, high = (value_of(g, v, self.element) for v in (min_val, max_val))
    return clamp(g, self, low, high)


@symbolic("aten", "gelu")
def gelu(g: GraphBuilder, self: Value, approximate: str = "none") -> Value:
    """aten::gelu(Tensor self, *, str approximate='none') -> Tensor"""
    if self.dtype == DataType.DOUBLE and approximate == "none":
        return g.Mul(g.Mul(self, 0.5), erfc_double(g, g.Mul(self, -math.sqrt(0.5))))
    return g.Gelu(self, approximate=approximate)


@symbolic("aten", "silu")
@rounded_once
def silu(g: GraphBuilder, self: Value) -> Value:
    """aten::silu(Tensor self) -> Tensor"""
    return g.Mul(self, g.Sigmoid(self))


@symbolic("aten", "mish")
def mish(g: GraphBuilder, self: Value) -> Value:
    """aten::mish(Tensor self) -> Tensor"""
    return g.Mul(self, g.Tanh(_softplus(g, self))) if self.dtype == DataType.DOUBLE else g.Mish(self)


@symbolic("aten", "hardswish")
def hardswish(g: GraphBuilder, self: Value) -> Value:
    """aten::hardswish(Tensor self) -> Tensor"""
    return g.Mul(self, _hard_sigmoid(g, self)) if self.dtype == DataType.DOUBLE else g.HardSwish(self)


@symbolic("aten", "hardsigmoid")
def hardsigmoid(g: GraphBuilder, self: Value) -> Value:
    """aten::hardsigmoid(Tensor self) -> Tensor"""
    if self.dtype == DataType.DOUBLE:
        return _hard_sigmoid(g, self)
    return g.HardSigmoid(self, alpha=1.0 / 6.0, beta=0.5)


@symbolic("aten", "elu")
def elu(g: GraphBuilder, self: Value, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Value:
    """aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"""
    if scale == 1 and input_scale == 1 and not isinstance(alpha, Value) and self.dtype != DataType.DOUBLE:
        return g.Elu(self, alpha=float(alpha))  # type: ignore[arg-type]
    return _scaled_elu(g, self, alpha, scale, input_scale)


@rounded_once
def _scaled_elu(g: GraphBuilder, x: Value, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> Value:
    grown = expm1(g, g.Mul(x, value_of(g, input_scale, x.element)))
    below = g.Mul(grown, value_of(g, alpha, x.element))
    return g.Mul(g.Where(g.Greater(x, 0.0), x, below), value_of(g, scale, x.element))


@symbolic("aten", "selu")
def selu(g: GraphBuilder, self: Value) -> Value:
    """aten::selu(Tensor self) -> Tensor"""
    if self.dtype == DataType.DOUBLE:
        return elu(g, self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
    return g.Selu(self)


@symbolic("aten", "celu")
def celu(g: GraphBuilder, self: Value, alpha: float = 1.0) -> Value:
    """aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor"""
    if self.dtype == DataType.DOUBLE:
        return elu(g, self, float(alpha), 1, 1.0 / float(alpha))
    return g.Celu(self, alpha=float(alpha))


@symbolic("aten", "leaky_relu")
def leaky_relu(g: GraphBuilder, self: Value, negative_slope: float = 0.01) -> Value:
    """aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"""
    if self.dtype == DataType.DOUBLE:
        return g.Where(g.Greater(self, 0.0), self, g.Mul(self, float(negative_slope)))
    return g.LeakyRelu(self, alpha=float(negative_slope))


@symbolic("aten", "rrelu")
def rrelu(
    g: GraphBuilder, self: Value, lower: float = 0.125, upper: float = 1.0 / 3.0, training: bool = False
) -> Value:
    """aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.333, bool training=False, ...) -> Tensor"""
    if training:
        raise unsupported("rrelu in training mode: put the model in evaluation mode", g)
    return leaky_relu(g, self, (lower + upper) / 2)


@symbolic("aten", "prelu", "_prelu_kernel")
def prelu(g: GraphBuilder, self: Value, weight: Value) -> Value:
    """aten::prelu(Tensor self, Tensor weight) -> Tensor"""
    count = weight.size
    if weight.rank == 1 and count != 1 and self.rank > 2:
        weight = g.reshape(weight, [size_at(g, weight, 0)] + [1] * (self.rank - 2))
    if self.rank == 0:
        weight = g.reshape(weight, [])
    if self.dtype == DataType.DOUBLE:
        return g.Where(g.Greater(self, 0.0), self, g.Mul(self, weight))
    return g.PRelu(self, weight)


@symbolic("aten", "softplus")
@rounded_once
def softplus(g: GraphBuilder, self: Value, beta: Scalar = 1, threshold: Scalar = 20) -> Value:
    """aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"""
    factor = value_of(g, beta, self.element)
    scaled = self if beta == 1 else g.Mul(self, factor)
    curve = _softplus(g, scaled)
    curve = curve if beta == 1 else g.Div(curve, factor)
    return g.Where(g.Greater(scaled, value_of(g, threshold, self.element)), self, curve)


def _softplus(g: GraphBuilder, x: Value) -> Value:
    """log(1 + exp(x))."""
    if x.dtype != DataType.DOUBLE:
        return g.Softplus(x)
    return g.Add(g.Max(x, 0.0), log1p(g, g.Exp(g.Neg(g.Abs(x)))))


def _hard_sigmoid(g: GraphBuilder, x: Value) -> Value:
    """Between 0 and 1, of slope 1/6, where there is no kernel for it."""
    return g.Max(g.Min(g.Add(g.Div(x, 6.0), 0.5), 1.0), 0.0)


@symbolic("aten", "softsign")
def softsign(g: GraphBuilder, self: Value) -> Value:
    """aten::softsign(Tensor self) -> Tensor"""
    x = as_float(g, self)
    return g.Div(x, g.Add(g.Abs(x), 1.0)) if x.dtype == DataType.DOUBLE else g.Softsign(x)


@symbolic("aten", "tanhshrink")
def tanhshrink(g: GraphBuilder, self: Value) -> Value:
    """aten::tanhshrink(Tensor self) -> Tensor"""
    return g.Sub(self, g.Tanh(self))


@symbolic("aten", "hardshrink")
def hardshrink(g: GraphBuilder, self: Value, lambd: Scalar = 0.5) -> Value:
    """aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"""
    inside = g.LessOrEqual(g.Abs(self), value_of(g, lambd, self.element))
    return g.Where(inside, 0.0, self)


@symbolic("aten", "softshrink")
def softshrink(g: GraphBuilder, self: Value, lambd: Scalar = 0.5) -> Value:
    """aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"""
    edge = value_of(g, lambd, self.element)
    above = g.Where(g.Greater(self, edge), g.Sub(self, edge), g.Mul(self, 0.0))
    return g.Where(g.Less(self, g.Neg(edge)), g.Add(self, edge), above)


@symbolic("aten", "threshold")
def threshold(g: GraphBuilder, self: Value, threshold: Scalar, value: Scalar) -> Value:
    """aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"""
    below = compute(g, "LessOrEqual", self, value_of(g, threshold, self.element))
    return where(g, below, value_of(g, value, self.element), self)


@symbolic("aten", "log_sigmoid")
@rounded_once
def log_sigmoid(g: GraphBuilder, self: Value) -> Value:
    """aten::log_sigmoid(Tensor self) -> Tensor"""
    # min(x, 0) - log(1 + exp(-|x|)) doesn't overflow
    return g.Sub(g.Min(self, 0.0), log1p(g, g.Exp(g.Neg(g.Abs(self)))))


@symbolic("aten", "glu")
@rounded_once
def glu(g: GraphBuilder, self: Value, dim: int = -1) -> Value:
    """aten::glu(Tensor self, int dim=-1) -> Tensor"""
    axis = axis_of(dim, self.rank)
    size = self.dim(axis)
    half: Any = None if size is None else size // 2
    if half is None:
        raise unsupported("glu on an axis of unknown size", g)
    a, b = g.Split(self, g.shape_vector([half, half]), axis=axis, outputs=2)
    return g.Mul(a, g.Sigmoid(b))
