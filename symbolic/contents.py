"""Symbolic contents of small integer vectors: Shape -> Gather -> Concat -> Reshape keeps "batch".

Each rule gives the entries of a result as ints, Dims and Nones, or None where nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from .dims import Dim, Size, Sizes, call, product
from .value import Value

Args = Sequence["Value | None"]
_LIMIT = 64
_INTEGERS = (ir.DataType.INT64, ir.DataType.INT32)


def of_array(array: np.ndarray) -> Sizes | None:
    """Contents of a constant, if it is a small integer scalar or vector."""
    if array.ndim > 1 or array.size > _LIMIT or array.dtype not in (np.int64, np.int32):
        return None
    return tuple(int(v) for v in array.reshape(-1))


def contents(op: str, args: Args, attributes: Mapping[str, Any]) -> Sizes | None:
    """Contents of the (first) result of an operator, where they can be told."""
    rule = _RULES.get(op)
    if rule is None:
        return None
    found = rule(args, attributes)
    return found if found is not None and len(found) <= _LIMIT else None


def _shape(args: Args, attributes: Mapping[str, Any]) -> Sizes | None:
    x = args[0]
    assert x is not None
    return None if x.sizes is None else x.sizes[slice(attributes.get("start", 0), attributes.get("end"))]


def _size(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    x = args[0]
    assert x is not None
    return None if x.sizes is None or None in x.sizes else (product(s for s in x.sizes if s is not None),)


def _gather(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    x, indices = args
    assert x is not None and indices is not None
    if x.dims is None or x.sizes is None or len(x.sizes) != 1 or indices.array is None or indices.array.ndim > 1:
        return None
    picks = indices.array.reshape(-1)
    if any(not -len(x.dims) <= int(i) < len(x.dims) for i in picks):
        return None
    return tuple(x.dims[int(i)] for i in picks)


def _concat(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    parts = [a for a in args if a is not None]
    if any(p.sizes is None or len(p.sizes) != 1 or (p.dims is None and p.size != 0) for p in parts):
        return _partial_concat(parts)
    return tuple(d for p in parts for d in p.dims or ())


def _partial_concat(parts: Sequence[Value]) -> Sizes | None:
    found: list[Size | None] = []
    for part in parts:
        if part.element not in _INTEGERS or not part.sizes or not isinstance(part.sizes[0], int) or len(part.sizes) > 1:
            return None
        found.extend(part.dims if part.dims is not None else [None] * part.sizes[0])
    return tuple(found)


def _slice(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    x = args[0]
    assert x is not None
    bounds = [None if a is None else a.array for a in args[1:]]
    if x.dims is None or x.sizes is None or len(x.sizes) != 1 or any(b is None or b.size != 1 for b in bounds):
        return None
    start, end = (int(b.item()) for b in bounds[:2] if b is not None)
    step = int(bounds[3].item()) if len(bounds) > 3 and bounds[3] is not None else 1
    return x.dims[start:end:step] if step > 0 else None


def _same(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    x = args[0]
    assert x is not None
    return x.dims


def _reshape(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    x, shape = args
    assert x is not None and shape is not None
    return x.dims if shape.sizes in ((0,), (1,)) else None


def _unsqueeze(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    x = args[0]
    assert x is not None
    return x.dims if x.sizes == () and args[1] is not None and args[1].size == 1 else None


def _cast(args: Args, attributes: Mapping[str, Any]) -> Sizes | None:
    return _same(args, attributes) if attributes["to"] in _INTEGERS else None


def _binary(
    function: Callable[[Size, Size], Size | None],
) -> Callable[[Args, Mapping[str, Any]], Sizes | None]:
    def rule(args: Args, _: Mapping[str, Any]) -> Sizes | None:
        a, b = args if len(args) == 2 else (None, None)  # Min and Max take any number
        if a is None or b is None or a.dims is None or b.dims is None:
            return None
        count = max(len(a.dims), len(b.dims)) if a.dims and b.dims else 0
        if len(a.dims) not in (1, count) or len(b.dims) not in (1, count):
            return None
        left = a.dims if len(a.dims) == count else a.dims * count
        right = b.dims if len(b.dims) == count else b.dims * count
        return tuple(None if x is None or y is None else function(x, y) for x, y in zip(left, right, strict=True))

    return rule


def _div(a: Size, b: Size) -> Size | None:
    if b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):  # ONNX rounds toward zero
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a // b if isinstance(b, Dim) or b > 0 else None


def _mod(a: Size, b: Size) -> Size | None:
    return None if b == 0 else a % b


def _prod(args: Args, attributes: Mapping[str, Any]) -> Sizes | None:
    x = args[0]
    assert x is not None
    if (
        x.dims is None
        or None in x.dims
        or x.sizes is None
        or len(x.sizes) != 1
        or attributes.get("noop_with_empty_axes")
    ):
        return None
    return (product(d for d in x.dims if d is not None),)


def _where(args: Args, _: Mapping[str, Any]) -> Sizes | None:
    condition, x, y = args
    assert condition is not None and x is not None and y is not None
    if condition.array is None or x.dims is None or y.dims is None or not len(x.dims) == len(y.dims) == condition.size:
        return None
    picks = zip(condition.array.reshape(-1), x.dims, y.dims, strict=True)
    return tuple(a if c else b for c, a, b in picks)


_RULES: dict[str, Callable[[Args, Mapping[str, Any]], Sizes | None]] = {
    "Shape": _shape,
    "Size": _size,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Identity": _same,
    "Squeeze": _same,
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Cast": _cast,
    "Add": _binary(lambda a, b: a + b),
    "Sub": _binary(lambda a, b: a - b),
    "Mul": _binary(lambda a, b: a * b),
    "Div": _binary(_div),
    "Mod": _binary(_mod),
    "Min": _binary(lambda a, b: call("min", a, b)),
    "Max": _binary(lambda a, b: call("max", a, b)),
    "ReduceProd": _prod,
    "Where": _where,
}
