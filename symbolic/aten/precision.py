"""Half precision as torch computes it: one operator of ATen works in float32 inside, and rounds its results once.

An operator of ours that is made of several of ONNX would round after each of them, and take its constants and overflow
in half precision. What torch itself composes of operators that round (``diff``, ``logit``, most losses) is left so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..builder import GraphBuilder
from ..dims import Dim
from ..value import Value
from .promotion import DataType, Scalar, is_float, result_type
from .promotion import cast as as_dtype

Function = TypeVar("Function", bound=Callable[..., Any])

HALVES = (DataType.FLOAT16, DataType.BFLOAT16)


def is_half(x: Value) -> bool:
    """Whether a tensor is of 16-bit floats."""
    return x.dtype in HALVES


def rounded_once(function: Function) -> Function:
    """Gives a symbolic function half-precision operands in float32, and rounds what it gives back.

    Graphs of other dtypes are as they were; so are those of half-precision operands that torch promotes to float32.
    A tensor as large as an embedding or a layer's weight shouldn't pass through here: its cast is one more copy.
    """

    @wraps(function)
    def computed(g: GraphBuilder, *operands: Any, **attributes: Any) -> Any:
        floats = [v for v in _values([operands, attributes]) if v.dtype is not None and is_float(v.dtype)]
        dtype = result_type(*floats) if floats else None
        if dtype not in HALVES:
            return function(g, *operands, **attributes)
        wide = {name: _widened(g, value) for name, value in attributes.items()}
        return _rounded(g, function(g, *(_widened(g, o) for o in operands), **wide), dtype)

    return cast(Function, computed)


def scalar_in_float(function: Function) -> Function:
    """Takes the second operand in float32 where it is a scalar that half precision doesn't hold.

    torch multiplies and divides by numbers so: 0.3 isn't rounded to bfloat16 first.
    """
    once = rounded_once(function)

    @wraps(function)
    def computed(g: GraphBuilder, self: Scalar, other: Scalar, *settings: Any, **attributes: Any) -> Any:
        lost = isinstance(self, Value) and is_half(self) and not _holds(self.element, other)
        chosen = once if lost and result_type(self, other) in HALVES else function
        return chosen(g, self, other, *settings, **attributes)

    return cast(Function, computed)


def _holds(dtype: DataType, operand: Scalar) -> bool:
    """Whether a scalar is known to be a number of the dtype; tensors with axes are cast in any case."""
    if isinstance(operand, Value):
        if operand.rank or operand.dtype == dtype:
            return True
        if operand.array is None:
            return False
        operand = operand.array.item()
    if isinstance(operand, Dim):
        return False
    with np.errstate(over="ignore"):
        held = float(np.array(operand).astype(dtype.numpy()))
    return held == operand or held != held


def _values(operand: Any) -> Iterator[Value]:
    """The tensors of an operand: itself, or those in a list."""
    if isinstance(operand, Value):
        yield operand
    elif isinstance(operand, (list, tuple)):
        for one in operand:
            yield from _values(one)
    elif isinstance(operand, dict):
        yield from _values(list(operand.values()))


def _widened(g: GraphBuilder, operand: Any) -> Any:
    if isinstance(operand, Value):
        return as_dtype(g, operand, DataType.FLOAT) if is_half(operand) else operand
    if isinstance(operand, (list, tuple)):
        return [_widened(g, one) for one in operand]
    return operand


def _rounded(g: GraphBuilder, result: Any, dtype: DataType) -> Any:
    if isinstance(result, Value):
        return as_dtype(g, result, dtype) if result.dtype == DataType.FLOAT else result
    if isinstance(result, (list, tuple)):
        return type(result)(_rounded(g, one, dtype) for one in result)
    return result
