"""Functions of one integer as tables of all its values, made with the arithmetic of the reference kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..nn.layout import channels_last, elementwise
from ..registry import symbolic
from ..value import Value
from .common import DIALECT, Result, is_float, multiplier, one, quantization, refused, times
from .plain import tensorflow

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def looked_up(g: GraphBuilder, x: Value, result: Result, op: str, function: Callable[[int], int]) -> Value:
    """Each integer of an int8 tensor replaced by what a function gives for it, brought into the result's range."""
    if x.element is not _T.INT8 or result[0] is not _T.INT8:
        raise refused(g, op, f"integers of {x.element.name} aren't supported")
    table = [min(max(function(i), -128), 127) for i in range(-128, 128)]
    wide = g.Cast(x if x.channels_first is None else x.channels_first, to=_T.INT32)
    y: Value = g.Gather(g.constant(np.array(table, np.int8)), g.Add(wide, g.constant(128, _T.INT32)), axis=0)
    return y if x.channels_first is None else channels_last(g, y)


def _of_numbers(g: GraphBuilder, x: Value, result: Result, op: str, function: Callable[[np.float32], float]) -> Value:
    """A function of the numbers that the integers stand for: single precision, halves away from zero."""
    (scale, zero), (out, out_zero) = one(g, x, op), one(g, result[1], op)
    inverse = np.float32(1) / out

    def integer(i: int) -> int:
        y = float(np.float32(function(scale * np.float32(i - zero))) * inverse)
        return int(math.copysign(math.floor(abs(y) + 0.5), y)) + out_zero

    return looked_up(g, x, result, op, integer)


def _logistic(x: np.float32) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(1) / (np.float32(1) + np.float32(np.exp(-np.float64(x))))


def _elu(x: np.float32) -> float:
    return math.expm1(x) if x < 0 else float(x)


def _exp(x: np.float32) -> float:
    return math.exp(min(float(x), 80.0))  # far above every range of 8 bits


#: TensorFlow's operation for floats, and the function that tables are made of.
_FUNCTIONS: dict[str, tuple[str, Callable[[np.float32], float]]] = {
    "LOGISTIC": ("Sigmoid", lambda x: float(_logistic(x))),
    "TANH": ("Tanh", math.tanh),
    "EXP": ("Exp", _exp),
    "ELU": ("Elu", _elu),
}


def _register(name: str, op: str, scalar: Callable[[np.float32], float]) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
        if quantization(x) is not None and not is_float(x):
            return _of_numbers(g, x, results[0], name, scalar)
        if op == "Sigmoid" and x.sizes is not None and x.rank <= 2:
            # scores: near 0 the definition keeps all digits, ONNX Runtime's Sigmoid only those above 2 ** -25
            return g.Reciprocal(g.Add(g.Exp(g.Neg(x)), 1.0))
        return tensorflow(g, op, x)  # type: ignore[no-any-return]

    function.__doc__ = f"{name}: {op} of TensorFlow; a table on quantised integers."


for _name, (_op, _scalar) in _FUNCTIONS.items():
    _register(_name, _op, _scalar)


@symbolic(DIALECT, "ABS")
def absolute(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
    """ABS(input)"""
    if quantization(x) is None or is_float(x):
        return elementwise(g, "Abs", x)
    (scale, zero), (out, out_zero) = one(g, x, "ABS"), one(g, results[0][1], "ABS")
    factor = multiplier(float(np.float32(scale / out)))
    return looked_up(g, x, results[0], "ABS", lambda i: times(abs(i - zero), *factor) + out_zero)


@symbolic(DIALECT, "GELU")
def gelu(g: GraphBuilder, x: Value, *, approximate: int, results: list[Result]) -> Value:
    """GELU(input; approximate)"""
    if quantization(x) is None or is_float(x):
        return elementwise(g, "Gelu", x, approximate="tanh" if approximate else "none")

    def scalar(number: np.float32) -> float:
        y = float(number)
        if approximate:
            return 0.5 * y * (1 + math.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
        return 0.5 * y * math.erfc(-y * math.sqrt(0.5))

    return _of_numbers(g, x, results[0], "GELU", scalar)


@symbolic(DIALECT, "LEAKY_RELU")
def leaky_relu(g: GraphBuilder, x: Value, *, alpha: float, results: list[Result]) -> Value:
    """LEAKY_RELU(input; alpha)"""
    if quantization(x) is None or is_float(x):
        return elementwise(g, "LeakyRelu", x, alpha=float(alpha))
    (scale, zero), (out, out_zero) = one(g, x, "LEAKY_RELU"), one(g, results[0][1], "LEAKY_RELU")
    above, below = multiplier(float(scale / out)), multiplier(float(scale * np.float32(alpha) / out))
    return looked_up(
        g, x, results[0], "LEAKY_RELU", lambda i: times(i - zero, *(above if i >= zero else below)) + out_zero
    )
