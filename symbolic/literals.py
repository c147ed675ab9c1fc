"""Python literals as tensors, and Python values as ONNX attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.defs
import onnx_ir as ir

_Kind = onnx.defs.OpSchema.AttrType


def literal(value: Any, dtype: ir.DataType | None) -> np.ndarray:
    """A Python literal (or nested list) as an array.

    Args:
        value: bool, int, float, str, or lists of them.
        dtype: Dtype of the operand it meets; None: bool, int64, float32 or string after its own type.

    Raises:
        ValueError: It can't be held by the dtype (0.5 as an integer).
    """
    own = np.asarray(value)
    if own.size == 0 and dtype is None:
        return own.astype(np.int64)
    if dtype is None:
        dtype = {
            "b": ir.DataType.BOOL,
            "i": ir.DataType.INT64,
            "u": ir.DataType.INT64,
            "f": ir.DataType.FLOAT,
        }.get(own.dtype.kind, ir.DataType.STRING)
    if dtype is ir.DataType.STRING:
        return own.astype(object)
    target = dtype.numpy()
    if own.dtype.kind == "f" and np.issubdtype(target, np.integer) and not np.all(own == np.trunc(own)):
        raise ValueError(f"the literal {value} isn't a whole number, but meets {dtype.name}")
    return own.astype(target)


def attribute(name: str, value: Any, kind: Any = None) -> ir.Attr:
    """A Python value as an attribute.

    Args:
        name: Attribute name.
        value: int, float, str, list of them, array or ``ir.TensorProtocol``, child builder or ``ir.Graph``, type.
        kind: The attribute's type in the schema; guessed from the value where it is None.
    """
    if isinstance(value, ir.Attr):
        return value
    if kind is None:
        return _guess(name, value)
    made: ir.Attr = _MAKERS.get(kind, _guess)(name, value)
    return made


def _graph(value: Any) -> ir.Graph:
    if isinstance(value, ir.Graph):
        return value
    from .finish import finish_graph

    return finish_graph(value)


def _tensor(value: Any) -> ir.TensorProtocol:
    if isinstance(value, np.ndarray) and value.dtype == object:
        encoded = [v.encode() if isinstance(v, str) else v for v in value.reshape(-1)]
        return ir.StringTensor(encoded, shape=ir.Shape(value.shape))
    tensor: ir.TensorProtocol = ir.tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value
    return tensor


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


_MAKERS: dict[Any, Any] = {
    _Kind.INT: lambda n, v: ir.AttrInt64(n, int(v)),
    _Kind.FLOAT: lambda n, v: ir.AttrFloat32(n, float(v)),
    _Kind.STRING: lambda n, v: ir.AttrString(n, _text(v)),
    _Kind.INTS: lambda n, v: ir.AttrInt64s(n, [int(i) for i in v]),
    _Kind.FLOATS: lambda n, v: ir.AttrFloat32s(n, [float(f) for f in v]),
    _Kind.STRINGS: lambda n, v: ir.AttrStrings(n, [_text(s) for s in v]),
    _Kind.TENSOR: lambda n, v: ir.AttrTensor(n, _tensor(v)),
    _Kind.GRAPH: lambda n, v: ir.AttrGraph(n, _graph(v)),
    _Kind.TYPE_PROTO: lambda n, v: ir.AttrTypeProto(n, v),
}


def _guess(name: str, value: Any) -> ir.Attr:
    if isinstance(value, np.ndarray):
        return ir.AttrTensor(name, _tensor(value))
    if hasattr(value, "subgraph"):
        return ir.AttrGraph(name, _graph(value))
    if isinstance(value, np.generic):
        value = value.item()
    return ir.convenience.convert_attribute(name, _text(value))
