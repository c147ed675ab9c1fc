"""Random numbers. They can't equal the source's: a comparison shows that such a model isn't deterministic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .creation import filled
from .promotion import DataType, Scalar, cast, is_float, unsupported, value_of
from .shape import sizes

Sizes = Sequence[Any]
_SHORT = (DataType.FLOAT16, DataType.BFLOAT16)


def _uniform(g: GraphBuilder, size: Sizes, dtype: DataType) -> Value:
    """Uniform numbers from 0 up to 1; those of 16 bits are drawn in 32."""
    if dtype in _SHORT:
        return cast(g, _uniform(g, size, DataType.FLOAT), dtype)
    if all(isinstance(s, int) for s in size):
        return g.RandomUniform(shape=list(size), dtype=dtype)
    return g.RandomUniformLike(filled(g, size, 0, dtype))


def _normal(g: GraphBuilder, size: Sizes, dtype: DataType) -> Value:
    """Normally distributed numbers; those of 16 bits are drawn in 32."""
    if dtype in _SHORT:
        return cast(g, _normal(g, size, DataType.FLOAT), dtype)
    if all(isinstance(s, int) for s in size):
        return g.RandomNormal(shape=list(size), dtype=dtype)
    return g.RandomNormalLike(filled(g, size, 0, dtype))


@symbolic("aten", "rand")
def rand(g: GraphBuilder, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::rand(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return _uniform(g, size, dtype or DataType.FLOAT)


@symbolic("aten", "randn")
def randn(g: GraphBuilder, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::randn(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return _normal(g, size, dtype or DataType.FLOAT)


@symbolic("aten", "rand_like")
def rand_like(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::rand_like(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor"""
    return _uniform(g, sizes(g, self), dtype or self.element)


@symbolic("aten", "randn_like")
def randn_like(g: GraphBuilder, self: Value, dtype: DataType | None = None) -> Value:
    """aten::randn_like(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor"""
    return _normal(g, sizes(g, self), dtype or self.element)


@symbolic("aten", "normal.float_float")
def normal_numbers(g: GraphBuilder, mean: float, std: float, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::normal.float_float(float mean, float std, SymInt[] size, *, ...) -> Tensor"""
    return g.Add(g.Mul(_normal(g, size, dtype or DataType.FLOAT), std), mean)


@symbolic("aten", "normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal(g: GraphBuilder, mean: Scalar, std: Scalar = 1.0) -> Value:
    """aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor"""
    from .arithmetic import add, mul

    like = mean if isinstance(mean, Value) else std
    assert isinstance(like, Value)
    shape = add(g, mean, std)
    return add(g, mul(g, _normal(g, sizes(g, shape), like.element), std), mean)


@symbolic("aten", "uniform")
def uniform(g: GraphBuilder, self: Value, from_: float = 0.0, to: float = 1.0) -> Value:
    """aten::uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor"""
    return g.Add(g.Mul(_uniform(g, sizes(g, self), self.element), to - from_), from_)


@symbolic("aten", "normal_functional", "normal.default")
def normal_functional(g: GraphBuilder, self: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    """aten::normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor"""
    return g.Add(g.Mul(_normal(g, sizes(g, self), self.element), std), mean)


@symbolic("aten", "randint")
def randint(g: GraphBuilder, high: int, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, ...) -> Tensor"""
    return randint_low(g, 0, high, size, dtype)


@symbolic("aten", "randint.low")
def randint_low(g: GraphBuilder, low: int, high: int, size: Sizes, dtype: DataType | None = None) -> Value:
    """aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, ...) -> Tensor"""
    if not isinstance(low, int) or not isinstance(high, int):
        raise unsupported("random integers up to an open size", g)
    numbers = g.Floor(g.Add(g.Mul(_uniform(g, size, DataType.DOUBLE), float(high - low)), float(low)))
    return cast(g, numbers, dtype or DataType.INT64)


@symbolic("aten", "randint_like")
def randint_like(g: GraphBuilder, self: Value, high: int, dtype: DataType | None = None) -> Value:
    """aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, ...) -> Tensor"""
    return randint_low(g, 0, high, sizes(g, self), dtype or self.element)


@symbolic("aten", "randint_like.low_dtype")
def randint_like_low(g: GraphBuilder, self: Value, low: int, high: int, dtype: DataType | None = None) -> Value:
    """aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, ...) -> Tensor"""
    return randint_low(g, low, high, sizes(g, self), dtype or self.element)


@symbolic("aten", "randperm")
def randperm(g: GraphBuilder, n: Any, dtype: DataType | None = None) -> Value:
    """aten::randperm(SymInt n, *, ScalarType? dtype=long, ...) -> Tensor"""
    _, order = g.TopK(_uniform(g, [n], DataType.FLOAT), g.shape_vector([n]), axis=0, outputs=2)
    return cast(g, order, dtype or DataType.INT64)


@symbolic("aten", "bernoulli.default")
def bernoulli(g: GraphBuilder, self: Value) -> Value:
    """aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor"""
    return cast(g, g.Less(_uniform(g, sizes(g, self), self.element), self), self.element)


@symbolic("aten", "bernoulli.p", "bernoulli.Tensor", "bernoulli.float")
def bernoulli_p(g: GraphBuilder, self: Value, p: Scalar = 0.5) -> Value:
    """aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor"""
    numbers = _uniform(g, sizes(g, self), DataType.FLOAT)
    return cast(g, g.Less(numbers, value_of(g, p, DataType.FLOAT)), self.element)


@symbolic("aten", "exponential")
def exponential(g: GraphBuilder, self: Value, lambd: float = 1.0) -> Value:
    """aten::exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor"""
    if not is_float(self.element):
        raise unsupported("exponentially distributed integers", g)
    return g.Div(g.Neg(g.Log(g.Sub(1.0, _uniform(g, sizes(g, self), self.element)))), lambd)


@symbolic("aten", "geometric")
def geometric(g: GraphBuilder, self: Value, p: float) -> Value:
    """aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor"""
    numbers = g.Log(g.Sub(1.0, _uniform(g, sizes(g, self), DataType.DOUBLE)))
    return cast(g, g.Max(g.Ceil(g.Div(numbers, math.log1p(-p))), 1.0), self.element)


@symbolic("aten", "multinomial")
def multinomial(g: GraphBuilder, self: Value, num_samples: int, replacement: bool = False) -> Value:
    """aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, ...) -> Tensor"""
    # the largest of log(p) plus Gumbel noise: one draw each with replacement, the first k without
    logs = g.Log(cast(g, self, DataType.FLOAT))
    draws = num_samples if replacement else 1
    shape = [*sizes(g, self)[:-1], draws, sizes(g, self)[-1]]
    noise = g.Neg(g.Log(g.Neg(g.Log(_uniform(g, shape, DataType.FLOAT)))))
    scores = g.Add(g.Unsqueeze(logs, [-2]), noise)
    if replacement:
        return g.ArgMax(scores, axis=-1, keepdims=0)
    order: Value = g.TopK(g.Squeeze(scores, [-2]), g.shape_vector([num_samples]), axis=-1, outputs=2)[1]
    return order
