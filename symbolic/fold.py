"""Eager constant folding: what numpy computes exactly as the ONNX operator does.

An operator that is not here, or an input larger than the limit, simply isn't folded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

#: Most elements of an input or a result that is folded; larger constants stay as they are, weights never are copied.
FOLD_LIMIT = 65_536

Arrays = Sequence["np.ndarray | None"]
Attributes = Mapping[str, Any]


def fold(op: str, arrays: Arrays, attributes: Attributes, outputs: int) -> list[np.ndarray] | None:
    """Results of an operator of the default domain on constants, or None where it isn't folded.

    Args:
        op: Operator name, signature of the authoring opset.
        arrays: Operands; None for one that is left out.
        attributes: Attributes that are set.
        outputs: How many results are wanted.
    """
    rule = _RULES.get(op)
    if rule is None or any(a is not None and a.size > FOLD_LIMIT for a in arrays):
        return None
    with np.errstate(all="ignore"):
        result = rule(arrays, attributes)
    if result is None:
        return None
    results = list(result) if isinstance(result, list) else [result]
    if len(results) != outputs or sum(r.size for r in results) > FOLD_LIMIT:
        return None
    return [np.asarray(r) for r in results]


def _binary(function: Callable[..., Any]) -> Callable[[Arrays, Attributes], Any]:
    def rule(arrays: Arrays, _: Attributes) -> np.ndarray | None:
        a, b = arrays
        assert a is not None and b is not None
        if a.dtype != b.dtype or math.prod(np.broadcast_shapes(a.shape, b.shape)) > FOLD_LIMIT:
            return None
        result = function(a, b)
        return np.asarray(result) if result.dtype == np.bool_ else np.asarray(result, dtype=a.dtype)

    return rule


def _unary(function: Callable[..., Any]) -> Callable[[Arrays, Attributes], Any]:
    return lambda arrays, _: np.asarray(function(arrays[0]), dtype=arrays[0].dtype)  # type: ignore[union-attr]


def _variadic(function: Callable[..., Any]) -> Callable[[Arrays, Attributes], Any]:
    def rule(arrays: Arrays, _: Attributes) -> np.ndarray:
        result = arrays[0]
        for other in arrays[1:]:
            result = function(result, other)
        return np.asarray(result)

    return rule


def _div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not np.issubdtype(a.dtype, np.integer):
        return np.asarray(a / b)
    # ONNX leaves the rounding of integer division to C: toward zero
    quotient = np.abs(a) // np.abs(np.where(b == 0, 1, b))
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))


def _cast(arrays: Arrays, attributes: Attributes) -> np.ndarray | None:
    (x,) = arrays
    assert x is not None
    to = ir.DataType(attributes["to"])
    if (
        to.name.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2", "STRING", "FLOAT6"))
        or x.dtype.kind in "OSU"
    ):
        return None
    target = to.numpy()
    if np.issubdtype(target, np.integer) and x.dtype.kind not in "biu":
        as_float = x.astype(np.float64)
        limits = np.iinfo(target)
        if not np.all(np.isfinite(as_float) & (as_float >= limits.min) & (as_float <= limits.max)):
            return None  # out of range is undefined in ONNX: leave it to the runtime
    return x.astype(target)


def _axes(value: np.ndarray | None, rank: int) -> list[int] | None:
    return None if value is None else [int(a) % max(rank, 1) for a in value.reshape(-1)]


def _unsqueeze(arrays: Arrays, _: Attributes) -> np.ndarray:
    x, axes = arrays
    assert x is not None and axes is not None
    return np.expand_dims(x, tuple(int(a) for a in axes.reshape(-1)))


def _squeeze(arrays: Arrays, _: Attributes) -> np.ndarray:
    x = arrays[0]
    axes = arrays[1] if len(arrays) > 1 else None
    assert x is not None
    return np.squeeze(x, None if axes is None else tuple(int(a) for a in axes.reshape(-1)))


def _slice(arrays: Arrays, _: Attributes) -> np.ndarray:
    x, starts, ends, axes, steps = (list(arrays) + [None] * 5)[:5]
    assert x is not None and starts is not None and ends is not None
    index = [slice(None)] * x.ndim
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        axis = int(axes[i]) if axes is not None else i
        step = int(steps[i]) if steps is not None else 1
        size = x.shape[axis]
        # numpy takes -1 as "the last" where ONNX means "before the first" only below -size
        if step < 0 and end < -size:
            end = None
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


def _reshape(arrays: Arrays, attributes: Attributes) -> np.ndarray:
    x, shape = arrays
    assert x is not None and shape is not None
    sizes = [int(s) for s in shape]
    if not attributes.get("allowzero", 0):
        sizes = [x.shape[i] if s == 0 else s for i, s in enumerate(sizes)]
    return x.reshape(sizes)


def _reduce(function: Callable[..., Any]) -> Callable[[Arrays, Attributes], Any]:
    def rule(arrays: Arrays, attributes: Attributes) -> np.ndarray | None:
        x = arrays[0]
        axes = arrays[1] if len(arrays) > 1 else None
        assert x is not None
        if (axes is None or axes.size == 0) and attributes.get("noop_with_empty_axes", 0):
            return None
        if x.size == 0:
            return None
        axis = None if axes is None or axes.size == 0 else tuple(_axes(axes, x.ndim) or ())
        result = function(x, axis=axis, keepdims=bool(attributes.get("keepdims", 1)))
        return np.asarray(result, dtype=x.dtype)

    return rule


def _range(arrays: Arrays, _: Attributes) -> np.ndarray | None:
    start, limit, delta = (a.item() for a in arrays if a is not None)
    assert arrays[0] is not None
    count = max(math.ceil((limit - start) / delta), 0) if delta else 0
    if not delta or count > FOLD_LIMIT:
        return None
    return np.asarray(start + np.arange(count) * delta, dtype=arrays[0].dtype)


def _expand(arrays: Arrays, _: Attributes) -> np.ndarray | None:
    x, shape = arrays
    assert x is not None and shape is not None
    sizes = np.broadcast_shapes(x.shape, tuple(int(s) for s in shape))
    return None if math.prod(sizes) > FOLD_LIMIT else np.broadcast_to(x, sizes).copy()


def _where(arrays: Arrays, _: Attributes) -> np.ndarray | None:
    condition, x, y = arrays
    assert condition is not None and x is not None and y is not None
    if math.prod(np.broadcast_shapes(condition.shape, x.shape, y.shape)) > FOLD_LIMIT:
        return None
    return np.asarray(np.where(condition, x, y), dtype=x.dtype)


def _constant_of_shape(arrays: Arrays, attributes: Attributes) -> np.ndarray | None:
    (shape,) = arrays
    assert shape is not None
    sizes = tuple(int(s) for s in shape)
    value = attributes.get("value")
    if math.prod(sizes) > FOLD_LIMIT:
        return None
    fill = np.zeros(1, np.float32) if value is None else np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return np.broadcast_to(fill.reshape(()), sizes).copy()


def _gather(arrays: Arrays, attributes: Attributes) -> np.ndarray | None:
    x, indices = arrays
    assert x is not None and indices is not None
    axis = int(attributes.get("axis", 0))
    if indices.size and (indices.max() >= x.shape[axis] or indices.min() < -x.shape[axis]):
        return None
    return np.take(x, indices, axis=axis)


def _tile(arrays: Arrays, _: Attributes) -> np.ndarray | None:
    x, repeats = arrays
    assert x is not None and repeats is not None
    return None if x.size * int(np.prod(repeats)) > FOLD_LIMIT else np.tile(x, repeats.tolist())


def _concat(arrays: Arrays, attributes: Attributes) -> np.ndarray:
    return np.concatenate([a for a in arrays if a is not None], axis=int(attributes["axis"]))


def _trilu(arrays: Arrays, attributes: Attributes) -> np.ndarray:
    x = arrays[0]
    k = arrays[1] if len(arrays) > 1 else None
    assert x is not None
    offset = int(k) if k is not None else 0
    return np.triu(x, offset) if attributes.get("upper", 1) else np.tril(x, offset)


def _cumsum(arrays: Arrays, attributes: Attributes) -> np.ndarray | None:
    x, axis = arrays
    assert x is not None and axis is not None
    if attributes.get("exclusive", 0) or attributes.get("reverse", 0):
        return None
    return np.cumsum(x, axis=int(axis), dtype=x.dtype)


def _transpose(arrays: Arrays, attributes: Attributes) -> np.ndarray:
    x = arrays[0]
    assert x is not None
    return np.transpose(x, attributes.get("perm"))


def _shape(arrays: Arrays, attributes: Attributes) -> np.ndarray:
    x = arrays[0]
    assert x is not None
    return np.asarray(x.shape[slice(attributes.get("start", 0), attributes.get("end"))], dtype=np.int64)


def _size(arrays: Arrays, _: Attributes) -> np.ndarray:
    x = arrays[0]
    assert x is not None
    return np.asarray(x.size, dtype=np.int64)


_RULES: dict[str, Callable[[Arrays, Attributes], Any]] = {
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _binary(_div),
    "Equal": _binary(np.equal),
    "Less": _binary(np.less),
    "Greater": _binary(np.greater),
    "LessOrEqual": _binary(np.less_equal),
    "GreaterOrEqual": _binary(np.greater_equal),
    "And": _binary(np.logical_and),
    "Or": _binary(np.logical_or),
    "Xor": _binary(np.logical_xor),
    "Min": _variadic(np.minimum),
    "Max": _variadic(np.maximum),
    "Neg": _unary(np.negative),
    "Abs": _unary(np.abs),
    "Sqrt": _unary(np.sqrt),
    "Exp": _unary(np.exp),
    "Log": _unary(np.log),
    "Floor": _unary(np.floor),
    "Ceil": _unary(np.ceil),
    "Round": _unary(np.round),
    "Reciprocal": _unary(lambda x: 1 / x),
    "Not": _unary(np.logical_not),
    "Identity": _unary(lambda x: x),
    "Cast": _cast,
    "Concat": _concat,
    "Gather": _gather,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Shape": _shape,
    "Size": _size,
    "Range": _range,
    "Expand": _expand,
    "Tile": _tile,
    "Where": _where,
    "ConstantOfShape": _constant_of_shape,
    "ReduceSum": _reduce(np.sum),
    "ReduceProd": _reduce(np.prod),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "Trilu": _trilu,
    "CumSum": _cumsum,
}
