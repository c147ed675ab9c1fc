"""Parameters, dtypes and sizes of JAX in our terms."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.dims import Dim, Size, call
from ...symbolic.errors import CaptureError
from ...symbolic.xla.region import Typed

#: Parameters that say nothing about the values that a primitive computes.
_PLACEMENT = frozenset(
    {"accuracy", "sharding", "out_sharding", "precision", "unreduced", "out_type", "mesh_axis_types"}
)


@lru_cache(maxsize=4096)
def size_of_text(text: str) -> Size:
    """A size expression as JAX prints it: ``2*b``, ``floordiv(b, 2)``, ``mod(b, 3) + b``, ``b^2``."""
    return _size(ast.parse(text.replace("^", "**"), mode="eval").body, text)


def _size(node: ast.expr, text: str) -> Size:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return Dim(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _size(node.operand, text) * -1
    if isinstance(node, ast.BinOp):
        left, right = _size(node.left, text), _size(node.right, text)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow) and isinstance(right, int):
            result: Size = 1
            for _ in range(right):
                result = result * left
            return result
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        arguments = [_size(a, text) for a in node.args]
        if node.func.id == "floordiv":
            return _floor_quotient(*arguments)
        if node.func.id in ("mod", "max", "min"):
            return call(node.func.id, *arguments)
        if node.func.id == "non_negative":
            return call("max", arguments[0], 0)
    raise CaptureError(f"the size {text} has no counterpart")


def _floor_quotient(a: Size, b: Size) -> Size:
    """a // b; -((c + b - 1) // b) for a = -c, so that no operand is negative."""
    if isinstance(a, Dim) and all(coefficient < 0 for _, coefficient in a.terms):
        return ((a * -1) + (b - 1)) // b * -1
    return a // b


def size(value: Any) -> Size:
    """A size of a shape."""
    return int(value) if isinstance(value, (int, np.integer)) else size_of_text(str(value))


def is_key(dtype: Any) -> bool:
    """Whether a dtype is that of random keys."""
    return not isinstance(dtype, np.dtype) and hasattr(dtype, "_impl")


def dtype(value: Any) -> ir.DataType:
    """An element type; of random keys that of their words."""
    if is_key(value):
        return ir.DataType.UINT32
    found = np.dtype(value)
    if found.name == "float0":
        return ir.DataType.BOOL
    return ir.DataType.from_numpy(found)


def typed(aval: Any) -> Typed:
    """Dtype and sizes of an abstract value."""
    sizes = tuple(size(s) for s in aval.shape)
    if is_key(aval.dtype):
        sizes = (*sizes, *aval.dtype._impl.key_shape)
    return Typed(dtype(aval.dtype), sizes)


def is_jaxpr(value: Any) -> bool:
    """Whether a parameter is a function: a jaxpr, open or closed."""
    return hasattr(value, "eqns") and (hasattr(value, "jaxpr") or hasattr(value, "invars"))


def plain(value: Any, function: Callable[[Any], Any]) -> Any:
    """A parameter in our terms; functions in it become what `function` makes of them."""
    if isinstance(value, Enum) and not isinstance(value, ir.DataType):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str, ir.DataType)):
        return value
    if is_jaxpr(value):
        return function(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)) or is_key(value):
        return dtype(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(plain(v, function) for v in value))
    if isinstance(value, (tuple, list)):
        return tuple(plain(v, function) for v in value)
    if type(value).__name__ == "_DimExpr":
        return size_of_text(str(value))
    if type(value).__name__ == "Primitive":
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def parameters(params: dict[str, Any], function: Callable[[Any], Any]) -> dict[str, Any]:
    """All parameters of an equation that matter to what it computes."""
    return {
        k: plain(v, function) for k, v in params.items() if k not in _PLACEMENT and (v is not None or k != "out_dtype")
    }


def functions_in(value: Any) -> list[Any]:
    """The jaxprs in a parameter."""
    if is_jaxpr(value):
        return [value]
    if isinstance(value, (tuple, list)):
        return [found for v in value for found in functions_in(v)]
    return []
