"""Comparisons, logic, bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import NARROW, DataType, cast, is_float, known_number, like, refused, scalar_of


def _comparable(g: GraphBuilder, x: Value) -> Value:
    """Narrow integers and bools as int32, for which runtimes have comparisons."""
    return cast(g, x, DataType.INT32) if x.element in (*NARROW, DataType.BOOL) else x


def _compare(g: GraphBuilder, op: str, x: Value, y: Value) -> Value:
    result: Value = g.call(op, _comparable(g, x), _comparable(g, y))
    return result


@symbolic("paddle_pir")
def equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """equal(Tensor x, Tensor y) -> Tensor"""
    return g.Equal(x, y) if x.element == DataType.BOOL else _compare(g, "Equal", x, y)


@symbolic("paddle_pir")
def not_equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """not_equal(Tensor x, Tensor y) -> Tensor"""
    return g.Not(equal(g, x, y))


@symbolic("paddle_pir")
def less_than(g: GraphBuilder, x: Value, y: Value) -> Value:
    """less_than(Tensor x, Tensor y) -> Tensor"""
    return _compare(g, "Less", x, y)


@symbolic("paddle_pir")
def less_equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """less_equal(Tensor x, Tensor y) -> Tensor"""
    return _compare(g, "LessOrEqual", x, y)


@symbolic("paddle_pir")
def greater_than(g: GraphBuilder, x: Value, y: Value) -> Value:
    """greater_than(Tensor x, Tensor y) -> Tensor"""
    return _compare(g, "Greater", x, y)


@symbolic("paddle_pir")
def greater_equal(g: GraphBuilder, x: Value, y: Value) -> Value:
    """greater_equal(Tensor x, Tensor y) -> Tensor"""
    return _compare(g, "GreaterOrEqual", x, y)


@symbolic("paddle_pir")
def equal_all(g: GraphBuilder, x: Value, y: Value) -> Value:
    """equal_all(Tensor x, Tensor y) -> Tensor"""
    if x.sizes is None or x.sizes != y.sizes or None in x.sizes:
        raise refused(g, "equal_all", "tensors whose shapes are not known to be equal aren't supported")
    return every(g, equal(g, x, y))


def every(g: GraphBuilder, truth: Value) -> Value:
    """Whether all elements hold."""
    least: Value = g.ReduceMin(cast(g, truth, DataType.INT32), keepdims=0)
    return cast(g, least, DataType.BOOL)


def _truth(g: GraphBuilder, x: Value) -> Value:
    return cast(g, x, DataType.BOOL)


@symbolic("paddle_pir")
def logical_and(g: GraphBuilder, x: Value, y: Value) -> Value:
    """logical_and(Tensor x, Tensor y) -> Tensor"""
    return g.And(_truth(g, x), _truth(g, y))


@symbolic("paddle_pir")
def logical_or(g: GraphBuilder, x: Value, y: Value) -> Value:
    """logical_or(Tensor x, Tensor y) -> Tensor"""
    return g.Or(_truth(g, x), _truth(g, y))


@symbolic("paddle_pir")
def logical_xor(g: GraphBuilder, x: Value, y: Value) -> Value:
    """logical_xor(Tensor x, Tensor y) -> Tensor"""
    return g.Xor(_truth(g, x), _truth(g, y))


@symbolic("paddle_pir")
def logical_not(g: GraphBuilder, x: Value) -> Value:
    """logical_not(Tensor x) -> Tensor"""
    return g.Not(_truth(g, x))


@symbolic("paddle_pir")
def bitwise_and(g: GraphBuilder, x: Value, y: Value) -> Value:
    """bitwise_and(Tensor x, Tensor y) -> Tensor"""
    return g.And(x, y) if x.element == DataType.BOOL else g.BitwiseAnd(x, y)


@symbolic("paddle_pir")
def bitwise_or(g: GraphBuilder, x: Value, y: Value) -> Value:
    """bitwise_or(Tensor x, Tensor y) -> Tensor"""
    return g.Or(x, y) if x.element == DataType.BOOL else g.BitwiseOr(x, y)


@symbolic("paddle_pir")
def bitwise_xor(g: GraphBuilder, x: Value, y: Value) -> Value:
    """bitwise_xor(Tensor x, Tensor y) -> Tensor"""
    return g.Xor(x, y) if x.element == DataType.BOOL else g.BitwiseXor(x, y)


@symbolic("paddle_pir")
def bitwise_not(g: GraphBuilder, x: Value) -> Value:
    """bitwise_not(Tensor x) -> Tensor"""
    if x.element == DataType.BOOL:
        return g.Not(x)
    if x.element.name.startswith("U"):
        return g.BitwiseNot(x)
    return like(g, x, -1) - x  # what two's complement makes of it, at every opset


@symbolic("paddle_pir")
def isnan(g: GraphBuilder, x: Value) -> Value:
    """isnan(Tensor x) -> Tensor"""
    return g.IsNaN(x) if is_float(x) else g.Not(g.Equal(x, x))


@symbolic("paddle_pir")
def isinf(g: GraphBuilder, x: Value) -> Value:
    """isinf(Tensor x) -> Tensor"""
    return g.IsInf(x) if is_float(x) else g.Not(g.Equal(x, x))


@symbolic("paddle_pir")
def isfinite(g: GraphBuilder, x: Value) -> Value:
    """isfinite(Tensor x) -> Tensor"""
    return g.Not(g.Or(g.IsNaN(x), g.IsInf(x))) if is_float(x) else g.Equal(x, x)


@symbolic("paddle_pir")
def isclose(g: GraphBuilder, x: Value, y: Value, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Value:
    """isclose(Tensor x, Tensor y, Scalar rtol, Scalar atol, bool equal_nan) -> Tensor"""
    if not is_float(x):
        x, y = cast(g, x, DataType.DOUBLE), cast(g, y, DataType.DOUBLE)
    relative, absolute = (_tolerance(g, x, t) for t in (rtol, atol))
    near = g.LessOrEqual(g.Abs(x - y), absolute + relative * g.Abs(y))
    near = g.Or(g.And(near, isfinite(g, y)), g.Equal(x, y))
    return g.Or(near, g.And(g.IsNaN(x), g.IsNaN(y))) if equal_nan else near


def _tolerance(g: GraphBuilder, x: Value, tolerance: Any) -> Value:
    known = known_number(tolerance)
    return cast(g, scalar_of(g, tolerance), x.element) if known is None else like(g, x, known)


@symbolic("paddle_pir")
def allclose(g: GraphBuilder, x: Value, y: Value, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Value:
    """allclose(Tensor x, Tensor y, Scalar rtol, Scalar atol, bool equal_nan) -> Tensor"""
    return every(g, isclose(g, x, y, rtol, atol, equal_nan))


@symbolic("paddle_pir")
def where(g: GraphBuilder, condition: Value, x: Value, y: Value) -> Value:
    """where(Tensor condition, Tensor x, Tensor y) -> Tensor"""
    dtype = x.element
    if dtype in NARROW and dtype != DataType.UINT8:
        wide = g.Where(_truth(g, condition), cast(g, x, DataType.INT32), cast(g, y, DataType.INT32))
        return cast(g, wide, dtype)
    return g.Where(_truth(g, condition), x, y)


@symbolic("paddle_pir")
def masked_fill(g: GraphBuilder, x: Value, mask: Value, value: Value) -> Value:
    """masked_fill(Tensor x, Tensor mask, Tensor value) -> Tensor"""
    return where(g, mask, cast(g, value, x.element), x)


@symbolic("paddle_pir")
def is_empty(g: GraphBuilder, x: Value) -> Value:
    """is_empty(Tensor x) -> Tensor"""
    return g.Equal(g.Size(x), np.int64(0))
