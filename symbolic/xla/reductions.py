"""Reductions, cumulative ones, and where the extremes lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Size, product
from ..nn.layout import reduce as reduce_on_twin
from ..value import Value
from .kernels import FLOATS, call
from .pointwise import add as add_
from .pointwise import bitwise, maximum, minimum, mul, scalar
from .region import Region, expanded
from .shapes import reverse

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_REDUCERS = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


def identity(kind: str, dtype: ir.DataType) -> Any:
    """What a reduction starts from."""
    if kind in ("add", "or", "xor"):
        return 0
    if kind == "mul":
        return 1
    if kind == "and":
        return True if dtype is _T.BOOL else -1
    if dtype is _T.BOOL:
        return kind == "min"
    if dtype in FLOATS:
        return -np.inf if kind == "max" else np.inf
    limits = np.iinfo(dtype.numpy())
    return limits.min if kind == "max" else limits.max


def is_identity(value: Value, kind: str) -> bool:
    """Whether a constant changes nothing in a reduction."""
    if value.array is None or value.size != 1:
        return False
    neutral = np.asarray(identity(kind, value.element)).astype(value.array.dtype)
    return bool(value.array.reshape(-1)[0] == neutral)


def combine(g: GraphBuilder, kind: str, x: Value, y: Value) -> Value:
    """One step of a reduction."""
    if kind in ("and", "or", "xor"):
        return bitwise(g, kind.capitalize(), x, y)
    if kind == "logaddexp":
        return _logaddexp(g, x, y)
    return {"add": add_, "mul": mul, "max": maximum, "min": minimum}[kind](g, x, y)


def reduce(g: GraphBuilder, x: Value, kind: str, axes: Sequence[int]) -> Value:
    """Reduction over axes by add, mul, max, min, and, or, xor."""
    if not axes:
        return x
    if x.element is _T.BOOL and kind != "xor":
        return _reduce_truth(g, x, "min" if kind in ("and", "min", "mul") else "max", axes)
    if kind in ("and", "or", "xor"):
        return _halved(g, x, kind, axes)
    if any(x.dim(a) == 0 for a in axes):
        left = [s for i, s in enumerate(x.sizes or ()) if i not in axes]
        return g.expand(scalar(g, identity(kind, x.element), x), left)
    op = _REDUCERS[kind]
    if x.channels_first is not None and x.element in (_T.FLOAT, _T.FLOAT16):
        return reduce_on_twin(g, op, x, axes)
    if kind in ("max", "min") and x.element is _T.UINT64:
        half = scalar(g, 1 << 63, x)  # the order of unsigned numbers, the first bit turned, is that of signed ones
        turned = g.Cast(g.BitwiseXor(x, half), to=_T.INT64)
        return g.BitwiseXor(g.Cast(g.call(op, turned, list(axes), keepdims=0), to=_T.UINT64), half)
    return call(g, op, x, list(axes), keepdims=0)


def _reduce_truth(g: GraphBuilder, x: Value, kind: str, axes: Sequence[int]) -> Value:
    numbers = g.Cast(x, to=_T.INT32)
    return g.Cast(reduce(g, numbers, kind, axes), to=_T.BOOL)


def _halved(g: GraphBuilder, x: Value, kind: str, axes: Sequence[int]) -> Value:
    """Reduction of bits: an axis is folded in half until nothing is left to fold."""
    for axis in sorted(axes, reverse=True):
        size = x.dim(axis)
        if not isinstance(size, int):
            raise ValueError(f"a reduction by {kind} over an open axis isn't supported")
        while size > 1:
            half = size // 2
            low = _range(g, x, axis, 0, half)
            folded = combine(g, kind, low, _range(g, x, axis, half, 2 * half))
            x = folded if size % 2 == 0 else g.Concat(folded, _range(g, x, axis, 2 * half, size), axis=axis)
            size -= half
        x = g.Squeeze(x, [axis])
    return x


def _range(g: GraphBuilder, x: Value, axis: int, start: int, end: int) -> Value:
    return g.Slice(x, [start], [end], [axis])


def arg_extreme(g: GraphBuilder, x: Value, largest: bool, axis: int, dtype: ir.DataType) -> Value:
    """Index of the first largest (or smallest) element on an axis."""
    index = call(g, "ArgMax" if largest else "ArgMin", x, axis=axis, keepdims=0)
    return index if dtype is _T.INT64 else g.Cast(index, to=dtype)


def reduce_region(
    g: GraphBuilder, operands: Sequence[Value], inits: Sequence[Value], body: Region, axes: Sequence[int]
) -> list[Value]:
    """Reduction by any function: a known one, else step by step in a Scan."""
    if body.combiner is not None and len(operands) == 1:
        start, kind = inits[0], body.combiner
        result = reduce(g, operands[0], kind, axes)
        return [result if is_identity(start, kind) else combine(g, kind, result, start)]
    rank = operands[0].rank
    left = [i for i in range(rank) if i not in axes]
    sizes: list[Size] = [s for s in (operands[0].dim(i) for i in left) if s is not None]
    steps = product(s for s in (operands[0].dim(i) for i in axes) if s is not None)
    rows = [g.reshape(g.Transpose(x, perm=[*axes, *left]), [steps, *sizes]) for x in operands]
    states = [expanded(g, i, sizes) for i in inits]
    inner = g.subgraph("reduce")
    state_in = [inner.input(f"state{i}", v.element, sizes) for i, v in enumerate(states)]
    row_in = [inner.input(f"row{i}", v.element, sizes) for i, v in enumerate(rows)]
    assert body.elementwise is not None  # it is a function of scalars: all that is left is done at once
    for value, like in zip(body.elementwise(inner, [*state_in, *row_in]), state_in, strict=True):
        inner.output(expanded(inner, value, like.sizes or ()))  # type: ignore[arg-type]
    results = g.call("Scan", *states, *rows, body=inner, num_scan_inputs=len(rows), outputs=len(states))
    return list(results) if isinstance(results, tuple) else [results]


# --- cumulative reductions -------------------------------------------------------------------------------------------


def cumulative(
    g: GraphBuilder, x: Value, kind: str, axis: int, backwards: bool, function: Region | None = None
) -> Value:
    """Reduction of the elements up to each one: add, mul, max, min, logaddexp, or any associative function."""
    if kind == "add":
        return call(g, "CumSum", x, np.array(axis), reverse=1 if backwards else None)
    size = x.dim(axis)
    if not isinstance(size, int):
        if function is not None:
            raise ValueError("this reduction over an open axis isn't supported")
        return _scanned(g, x, kind, axis, backwards)
    if backwards:
        x = reverse(g, x, [axis])
    step = 1
    while step < size:
        # what lies `step` before is combined with each element that has such a one
        head = _range(g, x, axis, 0, step)
        pair = [_range(g, x, axis, 0, size - step), _range(g, x, axis, step, size)]
        if function is not None and function.elementwise is not None:
            joined = function.elementwise(g, pair)[0]
        else:
            joined = combine(g, kind, *pair)
        x = g.Concat(head, joined, axis=axis)
        step *= 2
    return reverse(g, x, [axis]) if backwards else x


def _scanned(g: GraphBuilder, x: Value, kind: str, axis: int, backwards: bool) -> Value:
    assert x.sizes is not None
    sizes: list[Size] = [s for i, s in enumerate(x.sizes) if i != axis and s is not None]
    start = identity("max" if kind == "logaddexp" else kind, x.element)
    body = g.subgraph("cumulate")
    state, row = body.input("state", x.element, sizes), body.input("row", x.element, sizes)
    result = combine(body, kind, state, row)
    body.output(result)
    body.output(body.Identity(result))
    _, rows = g.call(
        "Scan", g.expand(scalar(g, start, x), sizes), x, body=body, num_scan_inputs=1, scan_input_axes=[axis],
        scan_output_axes=[axis], scan_input_directions=[int(backwards)], scan_output_directions=[int(backwards)],
        outputs=2,
    )  # fmt: skip
    whole: Value = rows
    return whole


def _logaddexp(g: GraphBuilder, x: Value, y: Value) -> Value:
    high = call(g, "Max", x, y)
    low = call(g, "Min", x, y)
    same = call(g, "Equal", x, y)  # also two infinities, whose difference is not a number
    apart = call(g, "Where", same, scalar(g, 0, x), call(g, "Sub", low, high))
    return call(g, "Add", high, call(g, "Log", call(g, "Add", call(g, "Exp", apart), scalar(g, 1, x))))
