"""Functions of single elements: mathematics and activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.layout import channels_first, channels_last, elementwise
from ..registry import symbolic
from ..value import Value
from .common import INTEGERS, DataType, cast, compute, is_float, known_number, like, refused, scalar_of


def _plain(name: str, op: str) -> Callable[..., Value]:
    """An op that is one ONNX operator on floats; integers become float32 first, as Paddle does."""

    def function(g: GraphBuilder, x: Value) -> Value:
        return elementwise(g, op, x if is_float(x) else cast(g, x, DataType.FLOAT))

    function.__doc__ = f"{name}(Tensor x) -> Tensor"
    return function


for _name, _op in {
    "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "log": "Log", "reciprocal": "Reciprocal",
    "sigmoid": "Sigmoid", "sin": "Sin", "sinh": "Sinh", "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan",
    "tanh": "Tanh",
}.items():  # fmt: skip
    symbolic("paddle_pir", _name)(_plain(_name, _op))


@symbolic("paddle_pir", "abs")
def absolute(g: GraphBuilder, x: Value) -> Value:
    """abs(Tensor x) -> Tensor"""
    return elementwise(g, "Abs", x)


@symbolic("paddle_pir", "floor")
def floor(g: GraphBuilder, x: Value) -> Value:
    """floor(Tensor x) -> Tensor"""
    return g.Floor(x) if is_float(x) else x


@symbolic("paddle_pir", "ceil")
def ceil(g: GraphBuilder, x: Value) -> Value:
    """ceil(Tensor x) -> Tensor"""
    return g.Ceil(x) if is_float(x) else x


@symbolic("paddle_pir", "round")
def round_even(g: GraphBuilder, x: Value, decimals: int = 0) -> Value:
    """round(Tensor x, int decimals) -> Tensor"""
    if not is_float(x):
        return x
    return g.Round(x * 10.0**decimals) / 10.0**decimals if decimals else g.Round(x)


@symbolic("paddle_pir")
def conj(g: GraphBuilder, x: Value) -> Value:
    """conj(Tensor x) -> Tensor, of real numbers"""
    return x


@symbolic("paddle_pir")
def rint(g: GraphBuilder, x: Value) -> Value:
    """rint(Tensor x) -> Tensor"""
    return g.Round(x)


@symbolic("paddle_pir")
def trunc(g: GraphBuilder, input: Value) -> Value:
    """trunc(Tensor input) -> Tensor"""
    return g.Sign(input) * g.Floor(g.Abs(input)) if is_float(input) else input


@symbolic("paddle_pir")
def sign(g: GraphBuilder, x: Value) -> Value:
    """sign(Tensor x) -> Tensor"""
    return g.Sign(x)


@symbolic("paddle_pir")
def square(g: GraphBuilder, x: Value) -> Value:
    """square(Tensor x) -> Tensor"""
    return compute(g, "Mul", x, x)


@symbolic("paddle_pir")
def rsqrt(g: GraphBuilder, x: Value) -> Value:
    """rsqrt(Tensor x) -> Tensor"""
    return g.Reciprocal(g.Sqrt(x))


@symbolic("paddle_pir")
def expm1(g: GraphBuilder, x: Value) -> Value:
    """expm1(Tensor x) -> Tensor"""
    x = x if is_float(x) else cast(g, x, DataType.FLOAT)
    # near zero exp(x) - 1 loses digits: tanh(x / 2) doesn't
    half = g.Tanh(x * 0.5)
    return g.Where(g.Less(g.Abs(x), like(g, x, 0.5)), (half * 2.0) / (1.0 - half), g.Exp(x) - 1.0)


@symbolic("paddle_pir")
def log1p(g: GraphBuilder, x: Value) -> Value:
    """log1p(Tensor x) -> Tensor"""
    x = x if is_float(x) else cast(g, x, DataType.FLOAT)
    # log(u) * x / (u - 1) corrects the digits that u = 1 + x has lost
    u = x + 1.0
    lost = u - 1.0
    zero = g.Equal(lost, like(g, x, 0))
    corrected = g.Log(u) * (x / g.Where(zero, like(g, x, 1), lost))
    plain = g.Or(g.IsInf(u), g.LessOrEqual(u, like(g, x, 0)))
    return g.Where(zero, x, g.Where(plain, g.Log(u), corrected))


def _logarithm(g: GraphBuilder, x: Value, base: float) -> Value:
    x = x if is_float(x) else cast(g, x, DataType.FLOAT)
    return g.Log(x) * (1.0 / math.log(base))


@symbolic("paddle_pir")
def log2(g: GraphBuilder, x: Value) -> Value:
    """log2(Tensor x) -> Tensor"""
    return _logarithm(g, x, 2.0)


@symbolic("paddle_pir")
def log10(g: GraphBuilder, x: Value) -> Value:
    """log10(Tensor x) -> Tensor"""
    return _logarithm(g, x, 10.0)


@symbolic("paddle_pir")
def logit(g: GraphBuilder, x: Value, eps: float = 1e-6) -> Value:
    """logit(Tensor x, double eps) -> Tensor"""
    inner = g.Clip(x, like(g, x, eps), like(g, x, 1 - eps)) if eps > 0 else x
    return g.Log(inner / (1.0 - inner))


@symbolic("paddle_pir")
def erfinv(g: GraphBuilder, x: Value) -> Value:
    """erfinv(Tensor x) -> Tensor"""
    if x.element == DataType.DOUBLE:
        raise refused(g, "erfinv", "double precision isn't supported")
    # Giles' polynomials, as good as single precision, computed in double
    y = cast(g, x, DataType.DOUBLE)
    w = g.Neg(g.Log((1.0 - y) * (1.0 + y)))
    near, far = w - 2.5, g.Sqrt(g.Max(w, like(g, w, 5.0))) - 3.0
    p = _polynomial(g, near, [
        2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
        0.246640727, 1.50140941,
    ])  # fmt: skip
    q = _polynomial(g, far, [
        -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
        1.00167406, 2.83297682,
    ])  # fmt: skip
    z = g.Where(g.Less(w, like(g, w, 5.0)), p, q) * y
    edge = g.Equal(g.Abs(y), like(g, y, 1.0))
    return cast(g, g.Where(edge, y * np.inf, z), x.element)


def _polynomial(g: GraphBuilder, x: Value, coefficients: list[float]) -> Value:
    total = like(g, x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


@symbolic("paddle_pir", "relu")
def relu(g: GraphBuilder, x: Value) -> Value:
    """relu(Tensor x) -> Tensor"""
    return elementwise(g, "Relu", x)


@symbolic("paddle_pir")
def relu6(g: GraphBuilder, x: Value, threshold: float = 6.0) -> Value:
    """relu6(Tensor x) -> Tensor"""
    return elementwise(g, "Clip", x, like(g, x, 0), like(g, x, threshold))


@symbolic("paddle_pir")
def leaky_relu(g: GraphBuilder, x: Value, negative_slope: float = 0.02) -> Value:
    """leaky_relu(Tensor x, double negative_slope) -> Tensor"""
    return elementwise(g, "LeakyRelu", x, alpha=negative_slope)


@symbolic("paddle_pir")
def elu(g: GraphBuilder, x: Value, alpha: float = 1.0) -> Value:
    """elu(Tensor x, float alpha) -> Tensor"""
    return elementwise(g, "Elu", x, alpha=alpha)


@symbolic("paddle_pir")
def celu(g: GraphBuilder, x: Value, alpha: float = 1.0) -> Value:
    """celu(Tensor x, float alpha) -> Tensor"""
    return g.Celu(x, alpha=alpha)


@symbolic("paddle_pir")
def selu(g: GraphBuilder, x: Value, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Value:
    """selu(Tensor x, float scale, float alpha) -> Tensor"""
    return g.Selu(x, gamma=scale, alpha=alpha)


@symbolic("paddle_pir")
def gelu(g: GraphBuilder, x: Value, approximate: bool = False) -> Value:
    """gelu(Tensor x, bool approximate) -> Tensor"""
    return elementwise(g, "Gelu", x, approximate="tanh" if approximate else "none")


@symbolic("paddle_pir", "silu")
def silu(g: GraphBuilder, x: Value) -> Value:
    """silu(Tensor x) -> Tensor"""
    return elementwise(g, "Mul", x, elementwise(g, "Sigmoid", x))


@symbolic("paddle_pir")
def swish(g: GraphBuilder, x: Value, beta: float = 1.0) -> Value:
    """swish(Tensor x) -> Tensor"""
    inner = x if beta == 1 else elementwise(g, "Mul", x, like(g, x, beta))
    return elementwise(g, "Mul", x, elementwise(g, "Sigmoid", inner))


@symbolic("paddle_pir")
def swiglu(g: GraphBuilder, x: Value, y: Value | None = None) -> Value:
    """swiglu(Tensor x, Tensor? y) -> Tensor"""
    if y is None:
        x, y = g.Split(x, axis=-1, num_outputs=2, outputs=2)
    return silu(g, x) * y


@symbolic("paddle_pir")
def mish(g: GraphBuilder, x: Value, **threshold: float) -> Value:
    """mish(Tensor x, float lambda) -> Tensor"""
    return elementwise(g, "Mish", x)


@symbolic("paddle_pir")
def hardswish(g: GraphBuilder, x: Value, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0) -> Value:
    """hardswish(Tensor x) -> Tensor"""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return elementwise(g, "HardSwish", x)
    return x * g.Clip(x + offset, like(g, x, 0), like(g, x, threshold)) / scale


@symbolic("paddle_pir")
def hardsigmoid(g: GraphBuilder, x: Value, slope: float = 0.2, offset: float = 0.5) -> Value:
    """hardsigmoid(Tensor x, float slope, float offset) -> Tensor"""
    return elementwise(g, "HardSigmoid", x, alpha=slope, beta=offset)


@symbolic("paddle_pir")
def hardtanh(g: GraphBuilder, x: Value, t_min: float = 0.0, t_max: float = 24.0) -> Value:
    """hardtanh(Tensor x, float t_min, float t_max) -> Tensor"""
    return elementwise(g, "Clip", x, like(g, x, t_min), like(g, x, t_max))


@symbolic("paddle_pir")
def hardshrink(g: GraphBuilder, x: Value, threshold: float = 0.5) -> Value:
    """hardshrink(Tensor x, float threshold) -> Tensor"""
    return g.Where(g.Greater(g.Abs(x), like(g, x, threshold)), x, like(g, x, 0))


@symbolic("paddle_pir")
def softshrink(g: GraphBuilder, x: Value, threshold: float = 0.5) -> Value:
    """softshrink(Tensor x, float threshold) -> Tensor"""
    return g.Shrink(x, lambd=threshold, bias=threshold)


@symbolic("paddle_pir")
def tanh_shrink(g: GraphBuilder, x: Value) -> Value:
    """tanh_shrink(Tensor x) -> Tensor"""
    return x - g.Tanh(x)


@symbolic("paddle_pir")
def thresholded_relu(g: GraphBuilder, x: Value, threshold: float = 1.0, value: float = 0.0) -> Value:
    """thresholded_relu(Tensor x, float threshold, float value) -> Tensor"""
    return g.Where(g.Greater(x, like(g, x, threshold)), x, like(g, x, value))


@symbolic("paddle_pir")
def softplus(g: GraphBuilder, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """softplus(Tensor x, double beta, double threshold) -> Tensor"""
    scaled = x if beta == 1 else x * beta
    soft = g.Softplus(scaled) if beta == 1 else g.Softplus(scaled) / beta
    return g.Where(g.Greater(scaled, like(g, x, threshold)), x, soft)


@symbolic("paddle_pir")
def logsigmoid(g: GraphBuilder, x: Value) -> Value:
    """logsigmoid(Tensor x) -> Tensor"""
    return g.Neg(g.Softplus(g.Neg(x)))


@symbolic("paddle_pir")
def stanh(g: GraphBuilder, x: Value, scale_a: float = 0.67, scale_b: float = 1.7159) -> Value:
    """stanh(Tensor x, float scale_a, float scale_b) -> Tensor"""
    return g.Tanh(x * scale_a) * scale_b


@symbolic("paddle_pir")
def prelu(g: GraphBuilder, x: Value, alpha: Value, data_format: str = "NCHW", mode: str = "all") -> Value:
    """prelu(Tensor x, Tensor alpha, str data_format, str mode) -> Tensor"""
    if mode == "all" or x.rank < 2:
        return g.PRelu(x, g.Reshape(alpha, []) if mode == "all" else alpha)
    last = data_format.endswith("C") and x.rank > 2
    source = channels_first(g, x) if last else x
    if mode == "channel":
        slope = g.Reshape(alpha, [-1] + [1] * (x.rank - 2))
    elif mode == "element" and not last:
        slope = alpha
    else:
        raise refused(g, "prelu", f"mode {mode} with {data_format} isn't supported")
    result = g.PRelu(source, slope)
    return channels_last(g, result) if last else result


@symbolic("paddle_pir")
def rrelu(g: GraphBuilder, x: Value, lower: float = 0.125, upper: float = 1 / 3, is_test: bool = False) -> Any:
    """rrelu(Tensor x, float lower, float upper, bool is_test) -> (Tensor, Tensor)"""
    if not is_test:
        raise refused(g, "rrelu", "it draws random slopes in training mode: call eval() first")
    return g.LeakyRelu(x, alpha=(lower + upper) / 2), None


@symbolic("paddle_pir")
def maxout(g: GraphBuilder, x: Value, groups: int, axis: int = 1) -> Value:
    """maxout(Tensor x, int groups, int axis) -> Tensor"""
    from .common import sizes

    shape = sizes(g, x)
    axis %= x.rank
    channels = shape[axis]
    if not isinstance(channels, int):
        raise refused(g, "maxout", "an open number of channels isn't supported")
    parts = g.reshape(x, [*shape[:axis], channels // groups, groups, *shape[axis + 1 :]])
    return g.ReduceMax(parts, [axis + 1], keepdims=0)


@symbolic("paddle_pir")
def dropout(
    g: GraphBuilder, x: Value, seed_tensor: Value | None, p: Any, is_test: bool = False,
    mode: str = "downgrade_in_infer", seed: int = 0, fix_seed: bool = False,
) -> Any:  # fmt: skip
    """dropout(Tensor x, Tensor? seed_tensor, Scalar p, bool is_test, str mode, int seed, bool fix_seed)
    -> (Tensor, Tensor)"""
    if not is_test:
        if known_number(p) == 0:
            return x, None
        raise refused(g, "dropout", "it is random in training mode: call eval() first")
    if mode == "upscale_in_train":
        return x, None
    rate = known_number(p)
    keep = like(g, x, 1 - rate) if rate is not None else 1.0 - cast(g, scalar_of(g, p), x.element)
    return x * keep, None


@symbolic("paddle_pir")
def softmax(g: GraphBuilder, x: Value, axis: int = -1) -> Value:
    """softmax(Tensor x, int axis) -> Tensor"""
    return g.Softmax(x, axis=axis) if x.rank else like(g, x, 1)


@symbolic("paddle_pir")
def log_softmax(g: GraphBuilder, x: Value, axis: int = -1) -> Value:
    """log_softmax(Tensor x, int axis) -> Tensor"""
    return g.LogSoftmax(x, axis=axis) if x.rank else like(g, x, 0)


@symbolic("paddle_pir")
def soft_relu(g: GraphBuilder, x: Value, threshold: float = 40.0) -> Value:
    """soft_relu(Tensor x, float threshold) -> Tensor"""
    return g.Log(g.Exp(g.Clip(x, like(g, x, -threshold), like(g, x, threshold))) + 1.0)


@symbolic("paddle_pir", "bce_loss")
def bce_loss(g: GraphBuilder, input: Value, label: Value) -> Value:
    """bce_loss(Tensor input, Tensor label) -> Tensor"""
    floor = like(g, input, -100)
    first = g.Max(g.Log(input), floor) * label
    return g.Neg(first + g.Max(log1p(g, g.Neg(input)), floor) * (1.0 - label))


@symbolic("paddle_pir")
def sigmoid_cross_entropy_with_logits(
    g: GraphBuilder, x: Value, label: Value, pos_weight: Value | None = None, normalize: bool = False,
    ignore_index: int = -100,
) -> Value:  # fmt: skip
    """sigmoid_cross_entropy_with_logits(Tensor x, Tensor label, Tensor? pos_weight, bool normalize, int
    ignore_index) -> Tensor"""
    if normalize:
        raise refused(g, "sigmoid_cross_entropy_with_logits", "normalize isn't supported")
    zero = like(g, x, 0)
    positive, rest = g.Relu(x) - x * label, g.Softplus(g.Neg(g.Abs(x)))
    loss = positive + rest
    if pos_weight is not None:
        loss = loss * ((pos_weight - 1.0) * label + 1.0)
    return g.Where(g.Equal(label, like(g, label, ignore_index)), zero, loss)


@symbolic("paddle_pir")
def bitwise_left_shift(g: GraphBuilder, x: Value, y: Value, is_arithmetic: bool = True) -> Value:
    """bitwise_left_shift(Tensor x, Tensor y, bool is_arithmetic) -> Tensor"""
    if x.element not in INTEGERS or not x.element.name.startswith("U"):
        raise refused(g, "bitwise_left_shift", "shifts of signed integers aren't supported")
    return g.BitShift(x, y, direction="LEFT")
