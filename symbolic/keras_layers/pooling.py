"""Pooling layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..nn import pool as nn
from ..nn.layout import channels_first, channels_last, has_twin, reduce
from ..registry import symbolic
from ..value import Value
from .conv import enter, leave, tuple_of
from .layer import DIALECT

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic(DIALECT, "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D")
def max_pooling(
    g: GraphBuilder,
    x: Value,
    *,
    pool_size: Any = 2,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Value:
    """keras.layers.MaxPooling2D(pool_size=2, strides=None, padding="valid", data_format)"""
    return _pooled(g, x, nn.max_pool, pool_size, strides, padding, data_format)


@symbolic(DIALECT, "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "AvgPool1D", "AvgPool2D", "AvgPool3D")
def average_pooling(
    g: GraphBuilder,
    x: Value,
    *,
    pool_size: Any = 2,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Value:
    """keras.layers.AveragePooling2D(pool_size=2, strides=None, padding="valid", data_format): padding isn't counted"""
    return _pooled(g, x, nn.average_pool, pool_size, strides, padding, data_format)


def _pooled(
    g: GraphBuilder,
    x: Value,
    pool: Callable[..., Value],
    pool_size: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
) -> Value:
    """Windows of a size, by default side by side."""
    kernel = tuple_of(pool_size, x.rank - 2)
    steps = kernel if strides is None else tuple_of(strides, x.rank - 2)
    return leave(g, pool(g, enter(g, x, data_format), kernel, strides=steps, padding=padding.upper()), data_format)


def _global(g: GraphBuilder, op: str, pool: str, x: Value, data_format: str | None, keepdims: bool) -> Value:
    axes = list(range(2, x.rank)) if data_format == "channels_first" else list(range(1, x.rank - 1))
    if data_format == "channels_first" or has_twin(x) or x.rank > 3:
        twin = x if data_format == "channels_first" else channels_first(g, x)
        y: Value = g.call(pool, twin)
        if keepdims:
            return y if data_format == "channels_first" else channels_last(g, y)
        return g.Flatten(y, axis=1)
    return reduce(g, op, x, axes, keepdims)


@symbolic(DIALECT, "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")
@symbolic(DIALECT, "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D")
def global_max_pooling(g: GraphBuilder, x: Value, *, data_format: str | None = None, keepdims: bool = False) -> Value:
    """keras.layers.GlobalMaxPooling2D(data_format, keepdims=False)"""
    return _global(g, "ReduceMax", "GlobalMaxPool", x, data_format, keepdims)


@symbolic(DIALECT, "GlobalAveragePooling2D", "GlobalAveragePooling3D", "GlobalAvgPool2D", "GlobalAvgPool3D")
def global_average_pooling(
    g: GraphBuilder, x: Value, *, data_format: str | None = None, keepdims: bool = False
) -> Value:
    """keras.layers.GlobalAveragePooling2D(data_format, keepdims=False)"""
    return _global(g, "ReduceMean", "GlobalAveragePool", x, data_format, keepdims)


@symbolic(DIALECT, "GlobalAveragePooling1D", "GlobalAvgPool1D")
def global_average_pooling_1d(
    g: GraphBuilder, x: Value, *, mask: Value | None = None, data_format: str | None = None, keepdims: bool = False
) -> Value:
    """keras.layers.GlobalAveragePooling1D(data_format, keepdims=False): the mean of the steps that aren't masked"""
    if mask is None:
        return _global(g, "ReduceMean", "GlobalAveragePool", x, data_format, keepdims)
    axis = 2 if data_format == "channels_first" else 1
    kept = g.Unsqueeze(mask, [1 if data_format == "channels_first" else 2])
    total = g.ReduceSum(g.Where(kept, x, g.constant(0.0, x.element)), [axis], keepdims=int(keepdims))
    count = g.ReduceSum(g.Cast(kept, to=x.element), [axis], keepdims=int(keepdims))
    return g.Div(total, count)
