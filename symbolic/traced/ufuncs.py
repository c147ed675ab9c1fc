"""numpy's element-wise functions as operators, in the dtypes that numpy computes in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from ..xla import functions as special
from ..xla import pointwise as plain
from .array import TracedArray, TraceError, traced

Function = Callable[..., Value]


def _by(op: str) -> Function:
    return lambda g, x: special.unary(g, op, x)


def _floor_divide(g: GraphBuilder, x: Value, y: Value) -> Value:
    if x.element.is_floating_point():
        # numpy takes the rest out first, so that the quotient is exact
        rest = _remainder(g, x, y)
        quotient = g.Div(g.Sub(x, rest), y)
        whole = g.Floor(quotient)
        half = plain.scalar(g, 0.5, x)
        up = g.Greater(g.Sub(quotient, whole), half)
        return g.Where(up, g.Add(whole, plain.scalar(g, 1, x)), whole)
    quotient = plain.div(g, x, y)
    rest = g.Sub(x, g.Mul(quotient, y))
    zero = plain.scalar(g, 0, x)
    inexact = g.And(g.Not(g.Equal(rest, zero)), g.Xor(g.Less(rest, zero), g.Less(y, zero)))
    return g.Where(inexact, g.Sub(quotient, plain.scalar(g, 1, x)), quotient)


def _remainder(g: GraphBuilder, x: Value, y: Value) -> Value:
    rest = plain.rem(g, x, y)
    zero = plain.scalar(g, 0, x)
    other = g.And(g.Not(g.Equal(rest, zero)), g.Xor(g.Less(rest, zero), g.Less(y, zero)))
    return g.Where(other, g.Add(rest, y), rest)


def _power(g: GraphBuilder, x: Value, y: Value) -> Value:
    if y.array is not None and y.array.ndim == 0:
        if y.array == 2:
            return g.Mul(x, x)
        if y.array == 0.5 and x.element.is_floating_point():
            return g.Sqrt(x)
    return plain.power(g, x, y)


def _ignoring_nan(pick: Function) -> Function:
    def function(g: GraphBuilder, x: Value, y: Value) -> Value:
        if not x.element.is_floating_point():
            return pick(g, x, y)
        return g.Where(plain.is_nan(g, x), y, g.Where(plain.is_nan(g, y), x, pick(g, x, y)))

    return function


def _times(factor: float) -> Function:
    return lambda g, x: g.Mul(x, plain.scalar(g, factor, x))


def _hypot(g: GraphBuilder, x: Value, y: Value) -> Value:
    x, y = g.Abs(x), g.Abs(y)
    large = plain.maximum(g, x, y)
    small = g.Div(plain.minimum(g, x, y), g.Where(g.Equal(large, plain.scalar(g, 0, x)), plain.scalar(g, 1, x), large))
    return g.Mul(large, g.Sqrt(g.Add(g.Mul(small, small), plain.scalar(g, 1, x))))


def _log_add_exp(g: GraphBuilder, x: Value, y: Value) -> Value:
    large, small = plain.maximum(g, x, y), plain.minimum(g, x, y)
    return g.Add(large, special.log1p(g, g.Exp(g.Sub(small, large))))


def _heaviside(g: GraphBuilder, x: Value, at_zero: Value) -> Value:
    zero, one = plain.scalar(g, 0, x), plain.scalar(g, 1, x)
    found = g.Where(g.Less(x, zero), zero, g.Where(g.Greater(x, zero), one, at_zero))
    return g.Where(plain.is_nan(g, x), x, found)


def _truncated(g: GraphBuilder, x: Value) -> Value:
    return g.Where(g.Less(x, plain.scalar(g, 0, x)), g.Ceil(x), g.Floor(x))


def _whole_or(function: Function) -> Function:
    return lambda g, x: function(g, x) if x.element.is_floating_point() else x


_TABLE: dict[str, Function] = {
    "add": plain.add, "subtract": plain.sub, "multiply": plain.mul, "divide": plain.div,
    "floor_divide": _floor_divide, "remainder": _remainder, "fmod": plain.rem, "power": _power, "float_power": _power,
    "negative": plain.negate, "positive": lambda g, x: x, "absolute": plain.absolute, "fabs": plain.absolute,
    "sign": plain.sign, "square": lambda g, x: g.Mul(x, x), "sqrt": _by("Sqrt"), "cbrt": special.cbrt,
    "reciprocal": lambda g, x: plain.div(g, plain.scalar(g, 1, x), x),
    "exp": _by("Exp"), "exp2": special.exp2, "expm1": special.expm1, "log": _by("Log"), "log2": special.log2,
    "log10": lambda g, x: g.Div(g.Log(x), plain.scalar(g, math.log(10), x)), "log1p": special.log1p,
    "logaddexp": _log_add_exp, "sin": _by("Sin"), "cos": _by("Cos"), "tan": _by("Tan"), "arcsin": _by("Asin"),
    "arccos": _by("Acos"), "arctan": _by("Atan"), "arctan2": special.atan2, "sinh": _by("Sinh"), "cosh": _by("Cosh"),
    "tanh": _by("Tanh"), "arcsinh": _by("Asinh"), "arccosh": _by("Acosh"), "arctanh": _by("Atanh"),
    "hypot": _hypot, "deg2rad": _times(math.pi / 180), "radians": _times(math.pi / 180),
    "rad2deg": _times(180 / math.pi), "degrees": _times(180 / math.pi),
    "floor": _whole_or(plain.floor), "ceil": _whole_or(plain.ceil), "trunc": _whole_or(_truncated),
    "rint": _whole_or(plain.round_even), "isnan": plain.is_nan, "isfinite": plain.is_finite,
    "isinf": lambda g, x: g.IsInf(x), "signbit": special.is_negative,
    "maximum": plain.maximum, "minimum": plain.minimum,
    "fmax": _ignoring_nan(plain.maximum), "fmin": _ignoring_nan(plain.minimum), "heaviside": _heaviside,
    "equal": plain.equal, "not_equal": plain.not_equal, "less": plain.less, "less_equal": plain.less_equal,
    "greater": plain.greater, "greater_equal": plain.greater_equal,
    "logical_and": lambda g, x, y: g.And(x, y), "logical_or": lambda g, x, y: g.Or(x, y),
    "logical_xor": lambda g, x, y: g.Xor(x, y), "logical_not": lambda g, x: g.Not(x),
    "bitwise_and": plain.bitwise_and, "bitwise_or": plain.bitwise_or, "bitwise_xor": plain.bitwise_xor,
    "invert": plain.bitwise_not, "left_shift": plain.shift_left, "right_shift": plain.shift_right_arithmetic,
    "matmul": lambda g, x, y: g.MatMul(x, y), "clip": lambda g, x, low, high: plain.clamp(g, low, x, high),
}  # fmt: skip
_TRUTH = ("logical_and", "logical_or", "logical_xor", "logical_not")


def apply(g: GraphBuilder, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a ufunc gives for operands of which some are traced."""
    if method == "reduce":
        from .functions import reduce_ufunc

        return reduce_ufunc(g, ufunc, *inputs, **options)
    function = _TABLE.get(ufunc.__name__)
    if method != "__call__" or function is None:
        raise TraceError(f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method} is not traced")
    out, wanted = options.pop("out", None), options.pop("dtype", None)
    if options.pop("where", True) is not True or options:
        raise TraceError(f"np.{ufunc.__name__} with where= or {', '.join(options)}")
    loops, result = _dtypes(ufunc, inputs, wanted)
    operands = [traced(g, x, loop).value for x, loop in zip(inputs, loops, strict=True)]
    found = TracedArray(g, function(g, *operands))
    if out is not None and out[0] is not None:
        (target,) = out
        if not isinstance(target, TracedArray):
            raise TraceError("out= is a real array")
        if not np.can_cast(result, target.dtype, "same_kind"):
            raise TraceError(f"np.{ufunc.__name__} of {result} into {target.dtype}")
        target.write(found.value)
        return target
    return traced(g, found, result)


def _dtypes(ufunc: np.ufunc, inputs: tuple[Any, ...], wanted: Any) -> tuple[list[np.dtype], np.dtype]:
    """Dtypes that numpy computes in, and that of the result."""
    if ufunc.__name__ in _TRUTH:
        return [np.dtype(bool)] * len(inputs), np.dtype(bool)
    kinds: list[Any] = []
    for x in inputs:
        if type(x) in (int, float):
            kinds.append(type(x))
        elif isinstance(x, (bool, np.bool_)):
            kinds.append(np.dtype(bool))
        else:
            kinds.append(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype)
    words = [np.dtype(k).kind in "OUST" if isinstance(k, np.dtype) else False for k in kinds]
    if any(words):
        if all(words) and ufunc.__name__ in ("equal", "not_equal"):
            return [np.dtype(object)] * len(kinds), np.dtype(bool)
        raise TraceError(f"np.{ufunc.__name__} of strings or Python objects")
    options: dict[str, Any] = {} if wanted is None else {"signature": (*([None] * ufunc.nin), np.dtype(wanted))}
    try:
        *loops, result = ufunc.resolve_dtypes((*kinds, None), **options)
    except TypeError as error:
        raise TraceError(str(error)) from error
    return list(loops), result


def is_float(dtype: np.dtype) -> bool:
    """Whether it is a floating-point dtype."""
    return ir.DataType.from_numpy(dtype).is_floating_point()
