"""Numbers of a TorchScript program: computed at once where they are known, else as sizes or in the graph."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Dim, call
from ...symbolic.value import Value
from .script_values import Number

INT, FLOAT, BOOL = ir.DataType.INT64, ir.DataType.DOUBLE, ir.DataType.BOOL


def is_known(number: Any) -> bool:
    """Whether a number is known now."""
    return isinstance(number, (bool, int, float)) and not isinstance(number, (Dim, Value))


def is_number(value: Any) -> bool:
    """Whether it is a number: known, a size, or in the graph."""
    return isinstance(value, (bool, int, float, Dim, Value))


def kind(number: Number) -> ir.DataType:
    """INT, FLOAT or BOOL."""
    if isinstance(number, Value):
        return number.element
    if isinstance(number, bool):
        return BOOL
    return FLOAT if isinstance(number, float) else INT


def as_value(g: GraphBuilder, number: Number, wanted: ir.DataType | None = None) -> Value:
    """A number as a tensor without axes."""
    wanted = wanted or kind(number)
    if isinstance(number, Dim):
        number = g.size(number)
    if not isinstance(number, Value):
        return g.constant(np.array(number).astype(wanted.numpy()))
    return number if number.dtype == wanted else g.Cast(number, to=wanted)


def simplest(g: GraphBuilder, value: Value) -> Number:
    """A number in the graph as what is known of it: its contents, or the size that it is."""
    if value.is_constant and value.array is not None:
        found: Number = value.array.reshape(()).item()
        return found
    if value.dtype == INT and value.dims is not None and len(value.dims) == 1 and value.dims[0] is not None:
        return value.dims[0]
    return value


# --- arithmetic ------------------------------------------------------------------------------------------------------

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "remainder": operator.mod, "mod": operator.mod, "min": min, "max": max,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor, "fmod": math.fmod,
    "__lshift__": operator.lshift, "__rshift__": operator.rshift,
}  # fmt: skip
_COMPARE = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_LOGIC = {"__and__": "And", "__or__": "Or", "__xor__": "Xor"}
_GRAPH = {"add": "Add", "sub": "Sub", "mul": "Mul", "min": "Min", "max": "Max"}


def binary(g: GraphBuilder, op: str, a: Number, b: Number) -> Number | None:
    """A binary operator on numbers, with Python's meaning; None where it can't be done."""
    if is_known(a) and is_known(b):
        found: Number = _PYTHON[op](a, b)
        return found
    if not isinstance(a, Value) and not isinstance(b, Value) and not isinstance(a, float) and not isinstance(b, float):
        size = _on_sizes(op, a, b)
        if size is not None:
            return size
    result = _in_graph(g, op, a, b)
    return None if result is None else simplest(g, result)


def _on_sizes(op: str, a: int | Dim, b: int | Dim) -> Number | None:
    if op in ("add", "sub", "mul"):
        found: Number = _PYTHON[op](a, b)
        return found
    if op in ("floordiv", "remainder") and (isinstance(b, Dim) or b > 0):
        return a // b if op == "floordiv" else a % b
    if op in ("min", "max"):
        return call(op, a, b)
    if op in _COMPARE or op == "ne":
        return compare_sizes(op, a, b)
    return None


def compare_sizes(op: str, a: int | Dim, b: int | Dim) -> bool | None:
    """Whether sizes are equal, less ..., whatever the open dims are; None where it depends on them."""
    difference = a - b
    if isinstance(difference, int):
        return bool(_PYTHON[op](difference, 0))
    low, high = _least(difference), _least(-difference)
    if low is not None and low >= 0:  # a >= b
        strict = low > 0
        return {"ge": True, "lt": False}.get(
            op, {"gt": True, "le": False, "eq": False, "ne": True}.get(op) if strict else None
        )
    if high is not None and high >= 0:  # a <= b
        strict = high > 0
        return {"le": True, "gt": False}.get(
            op, {"lt": True, "ge": False, "eq": False, "ne": True}.get(op) if strict else None
        )
    return None


def _least(size: int | Dim) -> int | None:
    """The least that a sum of sizes with no negative part can be; None where it has one."""
    if isinstance(size, int):
        return size
    constant = 0
    for monomial, coefficient in size.terms:
        if not monomial:
            constant = coefficient
        elif coefficient < 0 or not all(_not_negative(atom) for atom in monomial):
            return None
    return constant


def _not_negative(atom: Any) -> bool:
    if isinstance(atom, str):
        return True
    parts = [_least(p) for p in atom[1:]]
    known = [p is not None and p >= 0 for p in parts]
    return {"max": any(known), "mod": True}.get(atom[0], all(known))


def _in_graph(g: GraphBuilder, op: str, a: Number, b: Number) -> Value | None:
    kinds = {kind(a), kind(b)}
    if op in _LOGIC and kinds == {BOOL}:
        result: Value = g.call(_LOGIC[op], as_value(g, a), as_value(g, b))
        return result
    if op == "ne":
        equal = _in_graph(g, "eq", a, b)
        return None if equal is None else g.Not(equal)
    if op == "div":
        return g.Div(as_value(g, a, FLOAT), as_value(g, b, FLOAT))
    common = FLOAT if FLOAT in kinds else BOOL if kinds == {BOOL} and op == "eq" else INT
    x, y = as_value(g, a, common), as_value(g, b, common)
    if op in _GRAPH or op in _COMPARE:
        computed: Value = g.call(_GRAPH.get(op) or _COMPARE[op], x, y)
        return computed
    if op in ("floordiv", "remainder", "mod"):
        return _division(g, op, x, y, common)
    if op == "pow":
        return g.Pow(as_value(g, a, FLOAT), as_value(g, b, FLOAT)) if common == FLOAT else None
    return None


def _division(g: GraphBuilder, op: str, x: Value, y: Value, common: ir.DataType) -> Value:
    """Division that rounds down, and its remainder, which has the divisor's sign."""
    if common == FLOAT:
        quotient = g.Floor(g.Div(x, y))
        return quotient if op == "floordiv" else g.Sub(x, g.Mul(quotient, y))
    remainder = g.Mod(x, y)
    return g.Div(g.Sub(x, remainder), y) if op == "floordiv" else remainder


# --- one operand -----------------------------------------------------------------------------------------------------

_UNARY: dict[str, tuple[Callable[[Any], Any], str]] = {
    "neg": (operator.neg, "Neg"), "abs": (abs, "Abs"), "sqrt": (math.sqrt, "Sqrt"), "exp": (math.exp, "Exp"),
    "log": (math.log, "Log"), "sin": (math.sin, "Sin"), "cos": (math.cos, "Cos"), "tanh": (math.tanh, "Tanh"),
}  # fmt: skip


def unary(g: GraphBuilder, op: str, x: Number) -> Number | None:
    """An operator on one number; None where it can't be done."""
    if op in ("__not__",):
        return (not x) if is_known(x) else g.Not(as_value(g, x, BOOL))
    if op in ("floor", "ceil", "round"):
        return _rounded(g, op, x)
    if op not in _UNARY:
        return None
    python, name = _UNARY[op]
    if is_known(x) or (op == "neg" and isinstance(x, Dim)):
        found: Number = python(x)
        return found
    wanted = kind(x) if op in ("neg", "abs") else FLOAT
    return simplest(g, g.call(name, as_value(g, x, wanted)))


def _rounded(g: GraphBuilder, op: str, x: Number) -> Number:
    if is_known(x):
        rounding: dict[str, Callable[[Any], Any]] = {"floor": math.floor, "ceil": math.ceil, "round": round}
        return int(rounding[op](x))
    if kind(x) != FLOAT:
        return x
    rounded = g.call(op.capitalize(), as_value(g, x, FLOAT))
    return rounded if op == "round" else simplest(g, as_value(g, rounded, INT))


def converted(g: GraphBuilder, x: Number, wanted: ir.DataType) -> Number:
    """int(x), float(x), bool(x)."""
    if is_known(x):
        found: Number = {INT: int, FLOAT: float, BOOL: bool}[wanted](x)
        return found
    if wanted == BOOL and isinstance(x, Dim):
        truth = compare_sizes("ne", x, 0)
        if truth is not None:
            return truth
    if wanted == INT and isinstance(x, Dim):
        return x
    return simplest(g, as_value(g, x, wanted))
