"""Normalisation layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn import norm as nn
from ..nn.layout import channels_first, channels_last, elementwise, reduce
from ..registry import symbolic
from ..value import Value
from .layer import DIALECT, Layer, Weights, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def one_axis(axis: Any) -> int:
    """An axis that may come as a list of one."""
    return int(axis[0]) if isinstance(axis, (list, tuple)) and len(axis) == 1 else int(axis)


@symbolic(DIALECT, "BatchNormalization", "SyncBatchNormalization")
def batch_normalization(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    axis: Any = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: Any = None,
    fused: Any = None,
    virtual_batch_size: Any = None,
) -> Value:
    """keras.layers.BatchNormalization(axis=-1, epsilon=1e-3, center=True, scale=True), by its moving statistics"""
    if renorm:
        refuse(g, layer, "renorm=True is not supported")
    stored = weights.cast(None)
    mean, variance = stored["moving_mean"], stored["moving_variance"]
    size = mean.size or 0
    gamma = stored.get("gamma", scale) or g.constant(np.ones(size, mean.element.numpy()))
    beta = stored.get("beta", center) or g.constant(np.zeros(size, mean.element.numpy()))
    narrow = x.element
    x = elementwise(g, "Cast", x, to=ir.DataType.FLOAT) if narrow.itemsize < 4 else x
    y = nn.batch_norm(g, x, gamma, beta, mean, variance, axis=one_axis(axis), epsilon=epsilon)
    return y if narrow == y.element else elementwise(g, "Cast", y, to=narrow)


@symbolic(DIALECT, "LayerNormalization")
def layer_normalization(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    axis: Any = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    rms_scaling: bool = False,
) -> Value:
    """keras.layers.LayerNormalization(axis=-1, epsilon=1e-3, center=True, scale=True)"""
    if rms_scaling:
        refuse(g, layer, "rms_scaling=True is not supported")
    axes = [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)]
    stored = weights.cast(None)
    return nn.layer_norm(g, x, stored.get("gamma", scale), stored.get("beta", center), axes=axes, epsilon=epsilon)


@symbolic(DIALECT, "RMSNormalization")
def rms_normalization(g: GraphBuilder, x: Value, *, weights: Weights, axis: Any = -1, epsilon: float = 1e-6) -> Value:
    """keras.layers.RMSNormalization(axis=-1, epsilon=1e-6)"""
    axes = [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)]
    return nn.rms_norm(g, x, weights["scale"], axes=axes, epsilon=epsilon)


@symbolic(DIALECT, "GroupNormalization")
def group_normalization(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    groups: int = 32,
    axis: Any = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
) -> Value:
    """keras.layers.GroupNormalization(groups=32, axis=-1, epsilon=1e-3, center=True, scale=True)"""
    at = one_axis(axis) % x.rank
    channels = x.dim(at)
    if not isinstance(channels, int) or at not in (1, x.rank - 1):
        refuse(g, layer, f"axis={axis} is not supported")
    stored = weights.cast(None)
    dtype = np.float32
    gamma = stored.get("gamma", scale) or g.constant(np.ones(channels, dtype))
    beta = stored.get("beta", center) or g.constant(np.zeros(channels, dtype))
    count = channels if groups == -1 else groups
    twin = channels_first(g, x) if at == x.rank - 1 else x
    y = nn.group_norm(g, twin, gamma, beta, groups=count, epsilon=epsilon)
    return channels_last(g, y) if at == x.rank - 1 else y


@symbolic(DIALECT, "UnitNormalization")
def unit_normalization(g: GraphBuilder, x: Value, *, axis: Any = -1) -> Value:
    """keras.layers.UnitNormalization(axis=-1): x / sqrt(max(sum(x^2), 1e-12))"""
    axes = [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)]
    total = reduce(g, "ReduceSum", elementwise(g, "Mul", x, x), axes, keepdims=True)
    return elementwise(g, "Div", x, elementwise(g, "Sqrt", elementwise(g, "Max", total, 1e-12)))


@symbolic(DIALECT, "LayerScale")
def layer_scale(
    g: GraphBuilder, x: Value, *, weights: Weights, init_values: float = 0.0, projection_dim: int = 0
) -> Value:
    """The layer of keras.applications' ConvNeXt: x * gamma along the channels"""
    return elementwise(g, "Mul", x, weights["gamma"])


@symbolic(DIALECT, "StochasticDepth")
def stochastic_depth(g: GraphBuilder, x: Value, *, drop_path_rate: float = 0.0) -> Value:
    """The layer of keras.applications' ConvNeXt: nothing in inference"""
    return x
