"""Activation functions, by name and as layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..nn.layout import along_axis, elementwise, has_twin, reduce
from ..registry import registry, symbolic
from ..value import Value
from .layer import DIALECT, Layer, Weights, call_layer, read_layer, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def activate(g: GraphBuilder, x: Value, activation: Any) -> Value:
    """Applies what an `activation` option says: None, a name, or a serialised function or layer."""
    if activation is None:
        return x
    if isinstance(activation, Mapping):
        if activation.get("class_name") != "function":
            layer = read_layer(activation)
            result: Value = call_layer(g, layer, Weights(g, {}), [x])
            return result
        activation = activation.get("config")
        if isinstance(activation, Mapping):
            activation = activation.get("name")
    function = FUNCTIONS.get(str(activation))
    if function is None:
        refuse(g, f"activation {activation}", "it is not an activation of Keras; known are " + ", ".join(FUNCTIONS))
    return function(g, x)


def relu(
    g: GraphBuilder, x: Value, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Value:
    """keras.activations.relu(x, negative_slope, max_value, threshold)"""
    if negative_slope and max_value is None and not threshold:
        return elementwise(g, "LeakyRelu", x, alpha=float(negative_slope))
    negative = None
    if negative_slope:
        below = elementwise(g, "Neg", x)
        below = elementwise(g, "Add", below, float(threshold)) if threshold else below
        negative = elementwise(g, "Mul", elementwise(g, "Relu", below), float(negative_slope))
    if threshold:
        y = elementwise(g, "Where", elementwise(g, "Greater", x, float(threshold)), x, _scalar(g, x, 0.0))
        y = y if max_value is None else elementwise(g, "Clip", y, 0.0, float(max_value))
    elif max_value is not None:
        y = elementwise(g, "Clip", x, 0.0, float(max_value))
    else:
        y = elementwise(g, "Relu", x)
    return y if negative is None else elementwise(g, "Sub", y, negative)


def _scalar(g: GraphBuilder, like: Value, number: float) -> Value:
    """A number in the dtype of a value."""
    return g.constant(number, like.element)


def softmax(g: GraphBuilder, x: Value, axis: Any = -1) -> Value:
    """keras.activations.softmax(x, axis): over one axis, or several at once"""
    if isinstance(axis, (list, tuple)):
        if len(axis) == 1:
            return along_axis(g, "Softmax", x, int(axis[0]))
        total = reduce(g, "ReduceLogSumExp", x, [int(a) for a in axis], keepdims=True)
        return elementwise(g, "Exp", elementwise(g, "Sub", x, total))
    return along_axis(g, "Softmax", x, int(axis))


def elu(g: GraphBuilder, x: Value, alpha: float = 1.0) -> Value:
    """keras.activations.elu(x, alpha)"""
    return elementwise(g, "Elu", x, alpha=float(alpha))


def gelu(g: GraphBuilder, x: Value, approximate: bool = False) -> Value:
    """keras.activations.gelu(x, approximate)"""
    return elementwise(g, "Gelu", x, approximate="tanh" if approximate else "none")


def silu(g: GraphBuilder, x: Value) -> Value:
    """keras.activations.silu(x) = x * sigmoid(x)"""
    return elementwise(g, "Mul", x, elementwise(g, "Sigmoid", x))


def squareplus(g: GraphBuilder, x: Value, b: float = 4.0) -> Value:
    """keras.activations.squareplus(x, b) = (x + sqrt(x^2 + b)) / 2"""
    root = elementwise(g, "Sqrt", elementwise(g, "Add", elementwise(g, "Mul", x, x), float(b)))
    return elementwise(g, "Div", elementwise(g, "Add", x, root), 2.0)


def shrink(g: GraphBuilder, x: Value, threshold: float, bias: float) -> Value:
    """x less `bias` where |x| > threshold, else 0"""
    return elementwise(g, "Shrink", x, lambd=float(threshold), bias=float(bias))


def sparse_plus(g: GraphBuilder, x: Value) -> Value:
    """keras.activations.sparse_plus(x): 0, (x + 1)^2 / 4 between -1 and 1, x"""
    inner = elementwise(g, "Clip", elementwise(g, "Add", x, 1.0), 0.0, 2.0)
    square = elementwise(g, "Mul", elementwise(g, "Mul", inner, inner), 0.25)
    return elementwise(g, "Add", square, elementwise(g, "Relu", elementwise(g, "Sub", x, 1.0)))


def glu(g: GraphBuilder, x: Value, axis: int = -1) -> Value:
    """keras.activations.glu(x, axis): the first half times the sigmoid of the second"""
    a, b = g.call("Split", x, axis=axis, num_outputs=2, outputs=2)
    result: Value = g.Mul(a, g.Sigmoid(b))
    return result


def log_sigmoid(g: GraphBuilder, x: Value) -> Value:
    """keras.activations.log_sigmoid(x) = -softplus(-x)"""
    return elementwise(g, "Neg", elementwise(g, "Softplus", elementwise(g, "Neg", x)))


def _plain(op: str, **attributes: Any) -> Callable[[GraphBuilder, Value], Value]:
    return lambda g, x: elementwise(g, op, x, **attributes)


FUNCTIONS: dict[str, Callable[[GraphBuilder, Value], Value]] = {
    "linear": lambda g, x: x,
    "relu": relu,
    "relu6": lambda g, x: relu(g, x, max_value=6.0),
    "leaky_relu": lambda g, x: relu(g, x, negative_slope=0.2),
    "softmax": softmax,
    "log_softmax": lambda g, x: along_axis(g, "LogSoftmax", x, -1),
    "elu": elu,
    "selu": _plain("Selu"),
    "celu": _plain("Celu"),
    "softplus": _plain("Softplus"),
    "softsign": _plain("Softsign"),
    "tanh": _plain("Tanh"),
    "sigmoid": _plain("Sigmoid"),
    "exponential": _plain("Exp"),
    "mish": _plain("Mish"),
    "gelu": gelu,
    "silu": silu,
    "swish": silu,
    "hard_sigmoid": _plain("HardSigmoid", alpha=1 / 6, beta=0.5),
    "hard_silu": _plain("HardSwish"),
    "hard_swish": _plain("HardSwish"),
    "hard_tanh": lambda g, x: elementwise(g, "Clip", x, -1.0, 1.0),
    "tanh_shrink": lambda g, x: elementwise(g, "Sub", x, elementwise(g, "Tanh", x)),
    "soft_shrink": lambda g, x: shrink(g, x, 0.5, 0.5),
    "hard_shrink": lambda g, x: shrink(g, x, 0.5, 0.0),
    "squareplus": squareplus,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": _plain("HardSigmoid", alpha=0.5, beta=0.5),
    "glu": glu,
    "log_sigmoid": log_sigmoid,
}


# --- layers ----------------------------------------------------------------------------------------------------------


@symbolic(DIALECT, "Activation")
def activation_layer(g: GraphBuilder, x: Value, *, activation: Any) -> Value:
    """keras.layers.Activation(activation)"""
    return activate(g, x, activation)


@symbolic(DIALECT, "ReLU")
def relu_layer(
    g: GraphBuilder, x: Value, *, max_value: Any = None, negative_slope: Any = 0.0, threshold: Any = 0.0
) -> Value:
    """keras.layers.ReLU(max_value=None, negative_slope=0.0, threshold=0.0)"""
    top = None if max_value is None else number(max_value)
    return relu(g, x, number(negative_slope), top, number(threshold))


@symbolic(DIALECT, "LeakyReLU")
def leaky_relu_layer(g: GraphBuilder, x: Value, *, negative_slope: Any = None, alpha: Any = None) -> Value:
    """keras.layers.LeakyReLU(negative_slope=0.3); Keras 2 called it alpha"""
    slope = negative_slope if negative_slope is not None else alpha
    return elementwise(g, "LeakyRelu", x, alpha=0.3 if slope is None else number(slope))


@symbolic(DIALECT, "ELU")
def elu_layer(g: GraphBuilder, x: Value, *, alpha: Any = 1.0) -> Value:
    """keras.layers.ELU(alpha=1.0)"""
    return elu(g, x, number(alpha))


@symbolic(DIALECT, "Softmax")
def softmax_layer(g: GraphBuilder, x: Value, *, axis: Any = -1, mask: Value | None = None) -> Value:
    """keras.layers.Softmax(axis=-1): masked elements count as very small, and are 0 in the result"""
    if mask is None:
        return softmax(g, x, axis)
    masked = elementwise(g, "Where", mask, x, _scalar(g, x, large_negative(x)))
    return elementwise(g, "Where", mask, softmax(g, masked, axis), _scalar(g, x, 0.0))


@symbolic(DIALECT, "ThresholdedReLU")
def thresholded_relu(g: GraphBuilder, x: Value, *, theta: Any = 1.0) -> Value:
    """keras.layers.ThresholdedReLU(theta=1.0), of Keras 2"""
    return elementwise(g, "ThresholdedRelu", x, alpha=number(theta))


@symbolic(DIALECT, "PReLU")
def prelu(g: GraphBuilder, x: Value, *, weights: Weights, shared_axes: Any = None) -> Value:
    """keras.layers.PReLU(shared_axes=None): relu(x) - alpha * relu(-x)"""
    alpha = weights["alpha"]
    if has_twin(x) and alpha.rank == x.rank - 1:
        alpha = g.Unsqueeze(alpha, [0])
    return elementwise(g, "PRelu", x, alpha)


def number(value: Any) -> float:
    """A number of a configuration; Keras 2 wraps some."""
    if isinstance(value, Mapping):
        value = value.get("config", {}).get("value", value.get("value"))
    return float(value)


def large_negative(x: Value) -> float:
    """What Keras puts in place of masked scores."""
    return -3e4 if x.element.itemsize == 2 and x.element.name == "FLOAT16" else -1e9


def known_activation(activation: Any) -> bool:
    """Whether an `activation` option can be converted."""
    if activation is None:
        return True
    if isinstance(activation, Mapping):
        if activation.get("class_name") != "function":
            return registry.lookup(DIALECT, read_layer(activation).key, 25) is not None
        activation = activation.get("config")
    return isinstance(activation, str) and activation in FUNCTIONS


__all__ = ["FUNCTIONS", "Layer", "activate", "gelu", "known_activation", "large_negative", "number", "relu", "softmax"]
