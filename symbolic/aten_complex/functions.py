"""Elementwise functions of one complex tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..builder import GraphBuilder
from ..complex import arithmetic, functions
from ..complex.number import Complex, Number, scalar
from ..registry import symbolic
from .operands import DIALECT

_LN2 = math.log(2.0)

#: aten names -> function.
FUNCTIONS: dict[str, Callable[[GraphBuilder, Complex], Number]] = {
    "exp": functions.exp, "expm1": functions.expm1, "special_expm1": functions.expm1,
    "exp2": lambda g, z: functions.exp(g, _times(g, z, _LN2)),
    "special_exp2": lambda g, z: functions.exp(g, _times(g, z, _LN2)),
    "log": functions.log, "log1p": functions.log1p, "special_log1p": functions.log1p,
    "log2": lambda g, z: functions.log_base(g, z, 2.0), "log10": lambda g, z: functions.log_base(g, z, 10.0),
    "sqrt": functions.sqrt,
    "sin": functions.sin, "cos": functions.cos, "tan": functions.tan,
    "sinh": functions.sinh, "cosh": functions.cosh, "tanh": functions.tanh,
    "asin": functions.asin, "acos": functions.acos, "atan": functions.atan,
    "asinh": functions.asinh, "acosh": functions.acosh, "atanh": functions.atanh,
    "sigmoid": functions.sigmoid, "special_expit": functions.sigmoid,
    "silu": lambda g, z: arithmetic.mul(g, z, functions.sigmoid(g, z)),
    "sinc": functions.sinc, "special_sinc": functions.sinc,
}  # fmt: skip


def _times(g: GraphBuilder, z: Complex, factor: float) -> Complex:
    value = scalar(g, factor, z.real)
    return Complex(g.Mul(z.real, value), g.Mul(z.imag, value))


def _register(name: str, definition: Callable[[GraphBuilder, Complex], Number]) -> None:
    def function(g: GraphBuilder, self: Complex) -> Any:
        return definition(g, self)

    function.__doc__ = f"aten::{name}(Tensor self) -> Tensor"
    function.__name__ = function.__qualname__ = name
    symbolic(DIALECT, name)(function)


for _name, _definition in FUNCTIONS.items():
    _register(_name, _definition)
