"""Random numbers that follow from a seed alone: TensorFlow's own, bit for bit (normal ones up to rounding)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Dim
from ..registry import symbolic
from ..value import Value
from ..xla.philox import joined, philox4x32, skip
from .common import DIALECT, as_value, cast, number, refused, sizes_of, times

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: Bits of the mantissa: that many random bits make a number.
_MANTISSA = {_T.FLOAT: 23, _T.DOUBLE: 52, _T.FLOAT16: 10, _T.BFLOAT16: 7}
_WIDE = (_T.DOUBLE, _T.INT64, _T.UINT64)
_LEAST = 1e-7
_PHILOX, _AUTOMATIC = 1, 3
#: Counters that TensorFlow sets apart for each number whose words are drawn until they suit.
_RESERVED = 256
_BOUND = 2.0

#: Makes numbers, as [counters, numbers of each], of a counter's words: 0 and 2, 1 and 3.
Distribution = Callable[["GraphBuilder", Value, Value], Value]


def _uint64(g: GraphBuilder, x: Value) -> Value:
    return x if x.element is _T.UINT64 else g.Cast(cast(g, x, _T.INT64), to=_T.UINT64)


@symbolic(DIALECT, "StatelessRandomGetKeyCounter")
def key_counter(g: GraphBuilder, seed: Value) -> list[Value]:
    """StatelessRandomGetKeyCounter(seed: Tseed) -> key: uint64, counter: uint64"""
    seeds = _uint64(g, seed)
    scrambler = g.constant(np.array([0x02461E293EC8F720], np.uint64))
    even, odd = philox4x32(g, g.Gather(seeds, [0]), g.Gather(seeds, [1]), scrambler)
    both = g.Reshape(joined(g, even, odd), [2])
    counter = g.Concat(g.constant(np.zeros(1, np.uint64)), g.Gather(both, [1]), axis=0)
    return [g.Gather(both, [0]), counter]


@symbolic(DIALECT, "StatelessRandomGetAlg")
def algorithm(g: GraphBuilder) -> Value:
    """StatelessRandomGetAlg() -> int32"""
    return g.constant(np.array(_PHILOX, np.int32))


@symbolic(DIALECT, "StatelessRandomGetKeyCounterAlg")
def key_counter_algorithm(g: GraphBuilder, seed: Value) -> list[Value]:
    """StatelessRandomGetKeyCounterAlg(seed: Tseed) -> key: uint64, counter: uint64, alg: int32"""
    return [*key_counter(g, seed), algorithm(g)]


def _is_philox(g: GraphBuilder, alg: Value, op: str) -> None:
    if number(g, alg, op, "a generator") not in (_PHILOX, _AUTOMATIC):
        raise refused(g, op, "only the generator Philox is supported")


# --- distributions --------------------------------------------------------------------------------------------------


def _listed(g: GraphBuilder, first: Value, second: Value) -> Value:
    """[n, 2] and [n, 2] as [n, 4], in turn."""
    turns = g.Concat(g.Unsqueeze(first, [2]), g.Unsqueeze(second, [2]), axis=2)
    result: Value = g.Reshape(turns, [-1, 4])
    return result


def _fraction(g: GraphBuilder, x: Value, bits: int, dtype: ir.DataType) -> Value:
    """The lowest bits of words, as a number from 0 up to 1."""
    kept = g.Mod(x, g.constant(np.array(1 << bits, x.element.numpy())))
    result: Value = g.Mul(g.Cast(kept, to=dtype), 2.0**-bits)
    return result


def _double_fraction(g: GraphBuilder, even: Value, odd: Value) -> Value:
    return _fraction(g, joined(g, odd, even), _MANTISSA[_T.DOUBLE], _T.DOUBLE)


def _uniform(dtype: ir.DataType) -> Distribution:
    def draw(g: GraphBuilder, even: Value, odd: Value) -> Value:
        if dtype is _T.DOUBLE:
            return _double_fraction(g, even, odd)
        return cast(g, _fraction(g, _listed(g, even, odd), _MANTISSA[dtype], _T.FLOAT), dtype)

    return draw


def _whole(dtype: ir.DataType) -> Distribution:
    def draw(g: GraphBuilder, even: Value, odd: Value) -> Value:
        return joined(g, even, odd) if dtype in _WIDE else _listed(g, even, odd)

    return draw


def _normal(dtype: ir.DataType) -> Distribution:
    """Box and Muller's transformation of two uniform numbers each, in the precision of TensorFlow."""

    def draw(g: GraphBuilder, even: Value, odd: Value) -> Value:
        if dtype is _T.DOUBLE:
            both = _double_fraction(g, even, odd)
            length, angle = g.Gather(both, [0], axis=1), g.Gather(both, [1], axis=1)
        else:
            length, angle = (_fraction(g, x, _MANTISSA[_T.FLOAT], _T.FLOAT) for x in (even, odd))
        radius = g.Sqrt(g.Mul(g.Log(g.Max(length, _LEAST)), -2.0))
        turn = cast(g, g.Mul(cast(g, angle, _T.DOUBLE), 2 * np.pi), length.element)
        sine, cosine = g.Mul(g.Sin(turn), radius), g.Mul(g.Cos(turn), radius)
        return g.Concat(sine, cosine, axis=1) if dtype is _T.DOUBLE else _listed(g, sine, cosine)

    return draw


# --- as many numbers as a shape has ---------------------------------------------------------------------------------


def _counters(g: GraphBuilder, sizes: Value, each: int, op: str) -> tuple[list[Any], Any, Value]:
    """Sizes, their product, and how many counters, of `each` numbers, are needed, counted as uint64."""
    shape = sizes_of(g, sizes, op)
    count = times(g, shape)
    if isinstance(count, int):
        return shape, count, g.constant(np.arange(-(-count // each), dtype=np.uint64))
    groups: Any = (count + (each - 1)) // each if isinstance(count, Dim) else g.Div(g.Add(count, each - 1), each)
    return shape, count, g.Cast(g.Range(0, as_value(g, groups), 1), to=_T.UINT64)


def _shaped(g: GraphBuilder, numbers: Value, shape: list[Any], count: Any) -> Value:
    """The first of all numbers, in a shape."""
    if isinstance(count, int) and count == 0:
        return g.expand(g.constant(np.zeros((), numbers.element.numpy())), shape)
    flat = g.Reshape(numbers, [-1])
    if flat.size is None or flat.size != count:
        flat = g.Slice(flat, [0], g.Reshape(as_value(g, count), [1]), [0])
    return g.reshape(flat, shape)


def _drawn(
    g: GraphBuilder, sizes: Value, key: Value, counter: Value, dtype: ir.DataType, draw: Distribution, op: str
) -> Value:
    shape, count, steps = _counters(g, sizes, 2 if dtype in _WIDE else 4, op)
    return _shaped(g, draw(g, *philox4x32(g, *skip(g, counter, steps), key)), shape, count)


def uniform(g: GraphBuilder, sizes: Value, key: Value, counter: Value, dtype: ir.DataType, op: str) -> Value:
    """Numbers from 0 up to 1."""
    return _drawn(g, sizes, key, counter, dtype, _uniform(dtype), op)


def normal(g: GraphBuilder, sizes: Value, key: Value, counter: Value, dtype: ir.DataType, op: str) -> Value:
    """Numbers of mean 0 and variance 1."""
    return cast(g, _drawn(g, sizes, key, counter, dtype, _normal(dtype), op), dtype)


def full_int(g: GraphBuilder, sizes: Value, key: Value, counter: Value, dtype: ir.DataType, op: str) -> Value:
    """Integers of all that the dtype has."""
    return cast(g, _drawn(g, sizes, key, counter, dtype, _whole(dtype), op), dtype)


def uniform_int(g: GraphBuilder, sizes: Value, key: Value, counter: Value, low: Value, high: Value, op: str) -> Value:
    """Integers from `low` up to `high`, by the remainder."""
    dtype = low.element
    word = _T.UINT64 if dtype in _WIDE else _T.UINT32
    bits = _drawn(g, sizes, key, counter, word, _whole(word), op)
    start = cast(g, low, word)
    return cast(g, g.Add(g.Mod(bits, g.Sub(cast(g, high, word), start)), start), dtype)


def truncated_normal(g: GraphBuilder, sizes: Value, key: Value, counter: Value, dtype: ir.DataType, op: str) -> Value:
    """Numbers of a normal distribution; those from 2 on are drawn again, from the counters that follow."""
    each = 2 if dtype is _T.DOUBLE else 4
    draw = _normal(dtype)
    shape, count, steps = _counters(g, sizes, each, op)
    apart = g.Mul(steps, np.array(_RESERVED * each // 4, np.uint64))
    wide = _T.DOUBLE if dtype is _T.DOUBLE else _T.FLOAT
    groups = g.Shape(steps)
    filled = g.Expand(g.constant(np.zeros((1, 1), np.int64)), g.Concat(groups, [1], axis=0))
    numbers = g.Expand(g.constant(np.zeros((1, 1), wide.numpy())), g.Concat(groups, [each], axis=0))

    body = g.subgraph()
    turn = body.input("", _T.INT64, ())
    body.input("", _T.BOOL, ())
    taken, kept = body.input("", _T.INT64, filled.sizes), body.input("", wide, numbers.sizes)
    low, high = skip(body, counter, body.Add(apart, body.Cast(turn, to=_T.UINT64)))
    candidates = draw(body, *philox4x32(body, low, high, key))
    for i in range(each):
        candidate = body.Slice(candidates, [i], [i + 1], [1])
        fits = body.Less(body.Abs(candidate), _BOUND)
        here = body.And(fits, body.Equal(taken, np.arange(each)))  # none, where all places are taken
        kept = body.Where(here, candidate, kept)
        taken = body.Add(taken, body.Cast(fits, to=_T.INT64))
    left = body.ReduceMax(body.Cast(body.Less(taken, each), to=_T.INT32), None, keepdims=0)
    body.output(body.Cast(left, to=_T.BOOL))
    body.output(taken)
    body.output(kept)
    some = g.Greater(g.Squeeze(groups, [0]), 0)
    found = g.call("Loop", None, some, filled, numbers, body=body, outputs=2)[1]
    return cast(g, _shaped(g, found, shape, count), dtype)


# --- operations -----------------------------------------------------------------------------------------------------

_BY_DTYPE: dict[str, Callable[..., Value]] = {
    "RandomUniform": uniform, "RandomNormal": normal, "TruncatedNormal": truncated_normal,
    "RandomUniformFullInt": full_int,
}  # fmt: skip


def _register(name: str, make: Callable[..., Value]) -> None:
    first, second = f"Stateless{name}", f"Stateless{name}V2"

    @symbolic(DIALECT, first)
    def by_seed(g: GraphBuilder, sizes: Value, seed: Value, *, dtype: ir.DataType) -> Value:
        return make(g, sizes, *key_counter(g, seed), dtype, first)

    @symbolic(DIALECT, second)
    def by_key(g: GraphBuilder, sizes: Value, key: Value, counter: Value, alg: Value, *, dtype: ir.DataType) -> Value:
        _is_philox(g, alg, second)
        return make(g, sizes, key, counter, dtype, second)

    by_seed.__doc__ = f"{first}(shape: T, seed: Tseed, dtype: type) -> dtype"
    by_key.__doc__ = f"{second}(shape: Tshape, key: uint64, counter: uint64, alg: int32, dtype: type) -> dtype"


for _name, _make in _BY_DTYPE.items():
    _register(_name, _make)


@symbolic(DIALECT, "StatelessRandomUniformInt")
def stateless_uniform_int(
    g: GraphBuilder, sizes: Value, seed: Value, low: Value, high: Value, *, dtype: Any = None
) -> Value:
    """StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> dtype"""
    key, counter = key_counter(g, seed)
    return uniform_int(g, sizes, key, counter, low, high, "StatelessRandomUniformInt")


@symbolic(DIALECT, "StatelessRandomUniformIntV2")
def stateless_uniform_int_v2(
    g: GraphBuilder,
    sizes: Value,
    key: Value,
    counter: Value,
    alg: Value,
    low: Value,
    high: Value,
    *,
    dtype: Any = None,
) -> Value:
    """StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval, maxval) -> dtype"""
    op = "StatelessRandomUniformIntV2"
    _is_philox(g, alg, op)
    return uniform_int(g, sizes, key, counter, low, high, op)
