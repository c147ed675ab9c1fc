"""numpy's functions and the methods of arrays, on traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.interpolation import count_reached, interpolate
from ..value import Value
from ..xla import pointwise as plain
from ..xla.kernels import call as kernel
from .array import TracedArray, TraceError, traced

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
FUNCTIONS: dict[Any, Function] = {}
METHODS: dict[str, Function] = {}
_OMITTED = np._NoValue


def _serves(*functions: Any, method: str = "") -> Callable[[F], F]:
    def register(function: F) -> F:
        FUNCTIONS.update(dict.fromkeys(functions, function))
        if method:
            METHODS[method] = function
        return function

    return register


def _new(g: GraphBuilder, value: Value) -> TracedArray:
    return TracedArray(g, value)


def common_dtype(*things: Any) -> np.dtype:
    """What numpy makes of several arrays and numbers."""
    kinds = [t if type(t) in (int, float, bool) else getattr(t, "dtype", None) or np.asarray(t).dtype for t in things]
    if any(isinstance(k, np.dtype) and k.kind in "OUT" for k in kinds):
        return np.dtype(object)
    return np.result_type(*kinds)


def _axes(x: TracedArray, axis: Any) -> list[int]:
    if axis is None or axis is _OMITTED:
        return list(range(x.ndim))
    return [a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))]


def _wide(g: GraphBuilder, x: TracedArray, dtype: Any) -> TracedArray:
    """The dtype that numpy sums in: whole numbers as int64."""
    if dtype is not None:
        return traced(g, x, np.dtype(dtype))
    return traced(g, x, np.dtype(np.int64)) if x.dtype.kind in "bi" else x


# --- reductions ------------------------------------------------------------------------------------------------------


def _reduced(g: GraphBuilder, op: str, x: TracedArray, axis: Any, keepdims: Any) -> TracedArray:
    keep = 0 if keepdims is _OMITTED else int(bool(keepdims))
    return _new(g, kernel(g, op, x.value, np.array(_axes(x, axis), np.int64), keepdims=keep))


@_serves(np.sum, method="sum")
def _sum(g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> TracedArray:
    return _reduced(g, "ReduceSum", _wide(g, traced(g, x), dtype), axis, keepdims)


@_serves(np.prod, method="prod")
def _prod(g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> TracedArray:
    return _reduced(g, "ReduceProd", _wide(g, traced(g, x), dtype), axis, keepdims)


def _count(g: GraphBuilder, x: TracedArray, axis: Any, dtype: np.dtype) -> Value:
    number: Any = 1
    for a in _axes(x, axis):
        number = number * x.shape[a]
    return g.Cast(g.size(number), to=ir.DataType.from_numpy(dtype))


@_serves(np.mean, method="mean")
def _mean(g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> TracedArray:
    x = traced(g, x)
    x = traced(g, x, np.dtype(dtype) if dtype is not None else np.dtype(np.float64) if x.dtype.kind in "biu" else None)
    total = _reduced(g, "ReduceSum", x, axis, keepdims)
    return _new(g, g.Div(total.value, _count(g, x, axis, x.dtype)))


@_serves(np.var, method="var")
def _var(
    g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: Any = False
) -> TracedArray:
    x = traced(g, x)
    centred = x - _mean(g, x, axis, dtype, True)
    total = _reduced(g, "ReduceSum", centred * centred, axis, keepdims)
    count = g.Sub(_count(g, x, axis, total.dtype), np.array(ddof, total.dtype))
    return _new(g, g.Div(total.value, count))


@_serves(np.std, method="std")
def _std(
    g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: Any = False
) -> TracedArray:
    return _new(g, g.Sqrt(_var(g, x, axis, dtype, ddof, keepdims).value))


def _extreme(op: str, worst: float) -> Function:
    def function(g: GraphBuilder, x: Any, axis: Any = None, keepdims: Any = False) -> TracedArray:
        x = traced(g, x)
        if x.dtype.kind != "f":
            return _reduced(g, op, x, axis, keepdims)
        missing = plain.is_nan(g, x.value)
        filled = _new(g, g.Where(missing, plain.scalar(g, worst, x.value), x.value))
        found = _reduced(g, op, filled, axis, keepdims)
        spoilt = _any(g, _new(g, missing), axis, keepdims)
        return _new(g, g.Where(spoilt.value, plain.scalar(g, np.nan, x.value), found.value))

    return function


_max = _serves(np.max, np.amax, method="max")(_extreme("ReduceMax", -np.inf))
_min = _serves(np.min, np.amin, method="min")(_extreme("ReduceMin", np.inf))


@_serves(np.any, method="any")
def _any(g: GraphBuilder, x: Any, axis: Any = None, keepdims: Any = False) -> TracedArray:
    flags = traced(g, traced(g, x, np.dtype(bool)), np.dtype(np.int32))
    return traced(g, _reduced(g, "ReduceMax", flags, axis, keepdims), np.dtype(bool))


@_serves(np.all, method="all")
def _all(g: GraphBuilder, x: Any, axis: Any = None, keepdims: Any = False) -> TracedArray:
    flags = traced(g, traced(g, x, np.dtype(bool)), np.dtype(np.int32))
    return traced(g, _reduced(g, "ReduceMin", flags, axis, keepdims), np.dtype(bool))


def reduce_ufunc(
    g: GraphBuilder, ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, **options: Any
) -> TracedArray:
    """``ufunc.reduce(x)``."""
    if options.get("out") is not None or options.get("where", True) not in (True, _OMITTED):
        raise TraceError(f"np.{ufunc.__name__}.reduce with out= or where=")
    given = {"axis": axis, "keepdims": keepdims}
    name = ufunc.__name__
    if name in ("add", "multiply"):
        found: TracedArray = (_sum if name == "add" else _prod)(g, x, dtype=dtype, **given)
        return found
    table = {"maximum": _max, "minimum": _min, "logical_or": _any, "logical_and": _all}
    if name not in table:
        raise TraceError(f"np.{name}.reduce is not traced")
    result: TracedArray = table[name](g, x, **given)
    return result


def _filled(g: GraphBuilder, x: TracedArray, fill: float) -> tuple[TracedArray, TracedArray]:
    missing = _new(g, plain.is_nan(g, x.value))
    return _new(g, g.Where(missing.value, plain.scalar(g, fill, x.value), x.value)), missing


@_serves(np.nansum)
def _nansum(g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> TracedArray:
    return _sum(g, _filled(g, traced(g, x), 0.0)[0], axis, dtype, keepdims)


@_serves(np.nanmean)
def _nanmean(g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
    filled, missing = _filled(g, traced(g, x), 0.0)
    count = _sum(g, ~missing, axis, None, keepdims)
    return _sum(g, filled, axis, dtype, keepdims) / traced(g, count, filled.dtype)


def _nanextreme(function: Function, worst: float) -> Function:
    def extreme(g: GraphBuilder, x: Any, axis: Any = None, keepdims: Any = False) -> Any:
        filled, missing = _filled(g, traced(g, x), worst)
        empty = _all(g, missing, axis, keepdims)
        return _where(g, empty, np.array(np.nan, filled.dtype), function(g, filled, axis, keepdims))

    return extreme


FUNCTIONS[np.nanmax] = _nanextreme(_max, -np.inf)
FUNCTIONS[np.nanmin] = _nanextreme(_min, np.inf)


def _place(op: str) -> Function:
    def function(g: GraphBuilder, x: Any, axis: Any = None, keepdims: Any = False) -> TracedArray:
        x = traced(g, x)
        if axis is None:
            x, axis = _reshape(g, x, (-1,)), 0
        keep = 0 if keepdims is _OMITTED else int(bool(keepdims))
        found = kernel(g, op, x.value, axis=axis, keepdims=keep)
        if x.dtype.kind == "f":  # the first that is not a number comes before all numbers
            missing = g.Cast(plain.is_nan(g, x.value), to=ir.DataType.INT32)
            spoilt = g.Cast(g.ReduceMax(missing, [axis], keepdims=keep), to=ir.DataType.BOOL)
            found = g.Where(spoilt, g.ArgMax(missing, axis=axis, keepdims=keep), found)
        return _new(g, found)

    return function


_serves(np.argmax, method="argmax")(_place("ArgMax"))
_serves(np.argmin, method="argmin")(_place("ArgMin"))


@_serves(np.cumsum, method="cumsum")
def _cumsum(g: GraphBuilder, x: Any, axis: Any = None, dtype: Any = None) -> TracedArray:
    x = _wide(g, traced(g, x), dtype)
    if axis is None:
        x, axis = _reshape(g, x, (-1,)), 0
    return _new(g, kernel(g, "CumSum", x.value, np.int64(axis % x.ndim)))


@_serves(np.linalg.norm)
def _norm(g: GraphBuilder, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = traced(g, x)
    x = traced(g, x, None if x.dtype.kind == "f" else np.dtype(np.float64))
    if axis is None and x.ndim > 1 and ord is not None:
        raise TraceError("np.linalg.norm of a whole matrix")
    if ord in (None, 2):
        return np.sqrt(_sum(g, x * x, axis, None, keepdims))
    if ord == 1:
        return _sum(g, abs(x), axis, None, keepdims)
    if ord == np.inf:
        return _max(g, abs(x), axis, keepdims)
    raise TraceError(f"np.linalg.norm with ord={ord!r}")


# --- shapes ----------------------------------------------------------------------------------------------------------


@_serves(np.reshape)
def _reshape(g: GraphBuilder, x: Any, shape: Any, order: str = "C", **_: Any) -> TracedArray:
    if order != "C":
        raise TraceError(f"reshape with order={order!r}")
    x = traced(g, x)
    sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if -1 in sizes:
        rest: Any = 1
        for size in sizes:
            rest = rest * (1 if size == -1 else size)
        sizes[sizes.index(-1)] = x.size // rest
    return TracedArray(g, g.reshape(x.value, sizes), base=x)


@_serves(method="reshape")
def _reshape_method(g: GraphBuilder, x: Any, *shape: Any, **options: Any) -> TracedArray:
    return _reshape(g, x, shape[0] if len(shape) == 1 else shape, **options)


@_serves(np.ravel, method="ravel")
def _ravel(g: GraphBuilder, x: Any, order: str = "C") -> TracedArray:
    return _reshape(g, x, (-1,), order)


@_serves(method="flatten")
def _flatten(g: GraphBuilder, x: Any, order: str = "C") -> TracedArray:
    return _new(g, _reshape(g, x, (-1,), order).value)


@_serves(np.transpose, method="transpose")
def _transpose(g: GraphBuilder, x: Any, *axes: Any) -> TracedArray:
    x = traced(g, x)
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    perm = [a % x.ndim for a in given] if given is not None else list(range(x.ndim))[::-1]
    return TracedArray(g, g.Transpose(x.value, perm=perm), base=x)


@_serves(np.squeeze, method="squeeze")
def _squeeze(g: GraphBuilder, x: Any, axis: Any = None) -> TracedArray:
    x = traced(g, x)
    axes = [i for i, s in enumerate(x.shape) if s == 1] if axis is None else _axes(x, axis)
    return TracedArray(g, g.Squeeze(x.value, axes), base=x) if axes else x


@_serves(np.expand_dims)
def _expand_dims(g: GraphBuilder, x: Any, axis: Any) -> TracedArray:
    x = traced(g, x)
    return TracedArray(g, g.Unsqueeze(x.value, list(axis) if isinstance(axis, tuple) else [axis]), base=x)


@_serves(np.atleast_2d)
def _atleast_2d(g: GraphBuilder, x: Any) -> Any:
    x = traced(g, x)
    return x if x.ndim >= 2 else x[None, :] if x.ndim else x.reshape(1, 1)


@_serves(np.concatenate)
def _concatenate(g: GraphBuilder, arrays: Any, axis: int = 0, **_: Any) -> TracedArray:
    dtype = common_dtype(*arrays)
    parts = [traced(g, a, dtype) for a in arrays]
    return _new(g, g.Concat(*(p.value for p in parts), axis=axis % parts[0].ndim))


@_serves(np.stack)
def _stack(g: GraphBuilder, arrays: Any, axis: int = 0, **_: Any) -> TracedArray:
    dtype = common_dtype(*arrays)
    parts = [traced(g, a, dtype).value for a in arrays]
    at = axis % (parts[0].rank + 1)
    return _new(g, g.Concat(*(g.Unsqueeze(p, [at]) for p in parts), axis=at))


@_serves(np.hstack)
def _hstack(g: GraphBuilder, arrays: Any, **_: Any) -> TracedArray:
    parts = [traced(g, a) for a in arrays]
    return _concatenate(g, parts, 0 if parts[0].ndim == 1 else 1)


@_serves(np.vstack)
def _vstack(g: GraphBuilder, arrays: Any, **_: Any) -> TracedArray:
    return _concatenate(g, [_atleast_2d(g, a) for a in arrays], 0)


@_serves(np.column_stack)
def _column_stack(g: GraphBuilder, arrays: Any) -> TracedArray:
    parts = [traced(g, a) for a in arrays]
    return _concatenate(g, [p[:, None] if p.ndim == 1 else p for p in parts], 1)


FUNCTIONS[np.append] = lambda g, x, values, axis=None: (
    _concatenate(g, [_ravel(g, x), _ravel(g, values)]) if axis is None else _concatenate(g, [x, values], axis)
)
FUNCTIONS[np.shape] = lambda g, x: traced(g, x).shape
FUNCTIONS[np.ndim] = lambda g, x: traced(g, x).ndim
FUNCTIONS[np.size] = lambda g, x, axis=None: traced(g, x).size if axis is None else traced(g, x).shape[axis]


@_serves(np.delete)
def _delete(g: GraphBuilder, x: Any, places: Any, axis: Any = None) -> Any:
    x = traced(g, x)
    if axis is None or not isinstance(x.shape[axis], int):
        raise TraceError("np.delete without an axis of known size")
    kept = np.delete(np.arange(x.shape[axis]), places)
    return _new(g, g.Gather(x.value, kept, axis=axis % x.ndim))


@_serves(np.take, method="take")
def _take(g: GraphBuilder, x: Any, places: Any, axis: Any = None, **_: Any) -> TracedArray:
    x = traced(g, x)
    if axis is None:
        x, axis = _ravel(g, x), 0
    return _new(g, g.Gather(x.value, traced(g, places, np.dtype(np.int64)).value, axis=axis % x.ndim))


@_serves(np.flip)
def _flip(g: GraphBuilder, x: Any, axis: Any = None) -> Any:
    x = traced(g, x)
    axes = _axes(x, axis)
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))]


@_serves(np.diff)
def _diff(g: GraphBuilder, x: Any, n: int = 1, axis: int = -1, **_: Any) -> Any:
    x = traced(g, x)
    for _step in range(n):
        later = tuple(slice(1, None) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
        sooner = tuple(slice(None, -1) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
        x = x[later] - x[sooner]
    return x


# --- values ----------------------------------------------------------------------------------------------------------


@_serves(np.where)
def _where(g: GraphBuilder, condition: Any, x: Any = None, y: Any = None) -> TracedArray:
    if x is None:
        raise TraceError("np.where with a condition only, whose result has a size that depends on the data")
    dtype = common_dtype(x, y)
    flags = traced(g, condition, np.dtype(bool)).value
    return _new(g, g.Where(flags, traced(g, x, dtype).value, traced(g, y, dtype).value))


@_serves(np.select)
def _select(g: GraphBuilder, conditions: Any, choices: Any, default: Any = 0) -> TracedArray:
    dtype = common_dtype(*choices, default)
    found = traced(g, default, dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = _where(g, condition, traced(g, choice, dtype), found)
    return found


@_serves(np.clip, method="clip")
def _clip(g: GraphBuilder, x: Any, low: Any = None, high: Any = None, **options: Any) -> Any:
    low, high = options.get("min", low), options.get("max", high)
    found = x if low is None else np.maximum(x, low)
    return found if high is None else np.minimum(found, high)


@_serves(np.round, np.around, method="round")
def _round(g: GraphBuilder, x: Any, decimals: int = 0) -> Any:
    x = traced(g, x)
    if x.dtype.kind in "iu" and decimals >= 0:
        return x
    if decimals == 0:
        return np.rint(x)
    scale = float(10 ** abs(decimals))
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


@_serves(np.nan_to_num)
def _nan_to_num(
    g: GraphBuilder, x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> TracedArray:
    x = traced(g, x)
    if x.dtype.kind != "f":
        return _new(g, x.value)
    limits = np.finfo(x.dtype)
    high = plain.scalar(g, limits.max if posinf is None else posinf, x.value)
    low = plain.scalar(g, limits.min if neginf is None else neginf, x.value)
    value = g.Where(g.Equal(x.value, plain.scalar(g, np.inf, x.value)), high, x.value)
    value = g.Where(g.Equal(value, plain.scalar(g, -np.inf, x.value)), low, value)
    return _new(g, g.Where(plain.is_nan(g, x.value), plain.scalar(g, nan, x.value), value))


@_serves(np.full_like)
def _full_like(g: GraphBuilder, x: Any, fill: Any, dtype: Any = None, shape: Any = None, **_: Any) -> TracedArray:
    x = traced(g, x)
    sizes = list(x.shape) if shape is None else list(shape if isinstance(shape, (tuple, list)) else (shape,))
    return _new(g, g.expand(traced(g, fill, np.dtype(dtype or x.dtype)).value, sizes))


FUNCTIONS[np.zeros_like] = lambda g, x, dtype=None, shape=None, **_: _full_like(g, x, 0, dtype, shape)
FUNCTIONS[np.empty_like] = FUNCTIONS[np.zeros_like]
FUNCTIONS[np.ones_like] = lambda g, x, dtype=None, shape=None, **_: _full_like(g, x, 1, dtype, shape)


@_serves(np.broadcast_to)
def _broadcast_to(g: GraphBuilder, x: Any, shape: Any, **_: Any) -> TracedArray:
    return _new(g, g.expand(traced(g, x).value, list(shape)))


@_serves(np.dot, method="dot")
def _dot(g: GraphBuilder, x: Any, y: Any) -> Any:
    return np.multiply(x, y) if 0 in (np.ndim(x), np.ndim(y)) else np.matmul(x, y)


@_serves(np.isclose)
def _isclose(g: GraphBuilder, x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, **_: Any) -> Any:
    return (abs(x - y) <= atol + rtol * abs(y)) | (traced(g, x) == y)


@_serves(np.interp)
def _interp(g: GraphBuilder, x: Any, points: Any, heights: Any, **options: Any) -> TracedArray:
    if options:
        raise TraceError(f"np.interp with {', '.join(options)}")
    return _new(g, interpolate(g, traced(g, x, np.dtype(float)).value, np.asarray(points), np.asarray(heights)))


@_serves(np.searchsorted)
def _searchsorted(g: GraphBuilder, points: Any, x: Any, side: str = "left", **_: Any) -> TracedArray:
    known = np.asarray(points, np.float64)
    value = traced(g, x, np.dtype(float)).value
    every = np.int64(len(known))
    if side == "right":
        found = count_reached(g, value, known)
    else:
        found = g.Sub(every, count_reached(g, g.Neg(value), -known[::-1]))
    return _new(g, g.Where(g.IsNaN(value), every, found))  # what is not a number comes last


@_serves(np.digitize)
def _digitize(g: GraphBuilder, x: Any, bins: Any, right: bool = False) -> TracedArray:
    known = np.asarray(bins, np.float64)
    if (np.diff(known) < 0).any():
        raise TraceError("np.digitize with falling bins")
    return _searchsorted(g, known, x, "left" if right else "right")


@_serves(np.sort)
def _sort(g: GraphBuilder, x: Any, axis: int = -1, **_: Any) -> TracedArray:
    x = traced(g, x)
    at = axis % x.ndim
    count = x.shape[at]
    if not isinstance(count, int):
        raise TraceError("np.sort along an axis of unknown size")
    filled, missing = _filled(g, x, np.inf) if x.dtype.kind == "f" else (x, None)
    found = g.TopK(filled.value, [count], axis=at, largest=0, sorted=1, outputs=2)[0]
    if missing is not None:  # what is not a number comes last
        absent = _sum(g, missing, at, None, True)
        place = np.arange(count).reshape([count if i == at else 1 for i in range(x.ndim)])
        last = g.GreaterOrEqual(g.Add(place, absent.value), np.int64(count))
        found = g.Where(last, plain.scalar(g, np.nan, x.value), found)
    return _new(g, found)


@_serves(np.median)
def _median(g: GraphBuilder, x: Any, axis: Any = None, keepdims: Any = False, **_: Any) -> Any:
    x = traced(g, x)
    if not isinstance(axis, int):
        raise TraceError("np.median without one axis")
    ordered = _sort(g, x, axis)
    count = x.shape[axis]
    middle = [count // 2] if count % 2 else [count // 2 - 1, count // 2]
    found = _mean(g, _take(g, ordered, middle, axis), axis, None, keepdims)
    if x.dtype.kind != "f":
        return found
    return _where(g, _any(g, np.isnan(x), axis, keepdims), np.array(np.nan, found.dtype), found)


# --- methods ---------------------------------------------------------------------------------------------------------


@_serves(np.copy, method="copy")
def _copy(g: GraphBuilder, x: Any, *_: Any, **__: Any) -> TracedArray:
    return _new(g, traced(g, x).value)


@_serves(method="astype")
def _astype(g: GraphBuilder, x: TracedArray, dtype: Any, **_: Any) -> TracedArray:
    wanted = np.dtype(dtype)
    if wanted.kind in "OUS" or x.dtype.kind == "O":
        if x.dtype == object and wanted.kind in "OU":
            return _copy(g, x)
        raise TraceError(f"astype({dtype!r}) of {x.dtype}: the text of numbers, or numbers of a text")
    return _new(g, plain.convert(g, x.value, ir.DataType.from_numpy(wanted)))


METHODS["to_numpy"] = _copy
