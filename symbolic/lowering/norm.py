"""Normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import count_of, known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


def _computed_in(x: Value, stash_type: int) -> ir.DataType:
    """The dtype that statistics are computed in: the stash type, but never less than the operand's own."""
    return ir.DataType.DOUBLE if x.element is ir.DataType.DOUBLE else ir.DataType(stash_type)


def _cast(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    return x if x.element == dtype else g.Cast(x, to=dtype)


@symbolic("onnx", "LayerNormalization", until=16)
def layer_normalization(
    g: GraphBuilder,
    X: Value,
    Scale: Value,
    B: Value | None = None,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    outputs: Any = 1,
) -> Any:
    """(X, Scale, B?, axis, epsilon, stash_type) -> Y, Mean, InvStdDev"""
    x = _cast(g, X, _computed_in(X, stash_type))
    axes = _from_axis(g, X, axis, "LayerNormalization")
    mean = g.ReduceMean(x, axes)
    centred = g.Sub(x, mean)
    deviation = g.Sqrt(g.Add(g.ReduceMean(g.Mul(centred, centred), axes), epsilon))
    # as kernels do, a 16-bit float is rounded once: behind the scale
    y = g.Mul(g.Div(centred, deviation), _cast(g, Scale, x.element))
    y = _cast(g, y if B is None else g.Add(y, _cast(g, B, x.element)), X.element)
    return y if count_of(outputs) == 1 else [y, mean, g.Reciprocal(deviation)][: count_of(outputs)]


def _from_axis(g: GraphBuilder, x: Value, axis: int, op: str) -> list[int]:
    """All axes from one on."""
    if axis < 0:
        return list(range(axis, 0))
    return list(range(axis, known_rank(g, x, op)))


@symbolic("onnx", "RMSNormalization", until=22)
def rms_normalization(
    g: GraphBuilder, X: Value, scale: Value, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """(X, scale, axis, epsilon, stash_type) -> X / sqrt(mean(X^2) + epsilon) * scale"""
    x = _cast(g, X, _computed_in(X, stash_type))
    mean = g.ReduceMean(g.Mul(x, x), _from_axis(g, X, axis, "RMSNormalization"))
    y = _cast(g, g.Div(x, g.Sqrt(g.Add(mean, epsilon))), X.element)
    return g.Mul(_cast(g, y, scale.element), scale)


@symbolic("onnx", "GroupNormalization", until=20)
def group_normalization(
    g: GraphBuilder, X: Value, scale: Value, bias: Value, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """(X, scale, bias, num_groups, epsilon) -> each group of channels normalised, then scaled by channel"""
    rank = known_rank(g, X, "GroupNormalization", 21)
    x = _cast(g, X, _computed_in(X, stash_type))
    ones, zeros = (g.constant(np.full(num_groups, v, x.element.numpy())) for v in (1, 0))
    groups = g.InstanceNormalization(g.Reshape(x, [0, num_groups, -1]), ones, zeros, epsilon=epsilon)
    y = _cast(g, g.Reshape(groups, g.Shape(X)), X.element)
    channels = list(range(1, rank - 1))
    return g.Add(g.Mul(y, g.Unsqueeze(scale, channels)), g.Unsqueeze(bias, channels))


@symbolic("onnx", "BatchNormalization", until=14)
def batch_normalization(
    g: GraphBuilder,
    X: Value,
    scale: Value,
    B: Value,
    input_mean: Value,
    input_var: Value,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    outputs: Any = 1,
) -> Any:
    """(X, scale, B, input_mean, input_var, epsilon, momentum, training_mode) -> Y, running_mean, running_var"""
    statistics = [input_mean, input_var]
    if training_mode:
        if g.opset == 14:
            return NotImplemented
        rank = known_rank(g, X, "BatchNormalization", 14)
        axes = [i for i in range(rank) if i != 1]
        mean = g.ReduceMean(X, axes)
        centred = g.Sub(X, mean)
        batch = [g.Squeeze(s, axes) for s in (mean, g.ReduceMean(g.Mul(centred, centred), axes))]
        running = [
            g.Add(g.Mul(old, momentum), g.Mul(_cast(g, new, old.element), 1 - momentum))
            for old, new in zip(statistics, batch, strict=True)
        ]
    elif count_of(outputs) > 1:
        refuse(g, "BatchNormalization", "running statistics without training_mode")
    else:
        batch, running = statistics, []
    wide = max((X, scale, input_mean), key=lambda v: v.element.itemsize).element
    parameters = [_cast(g, p, wide) for p in (scale, B, *batch)]
    y = _cast(g, g.raw("BatchNormalization", _cast(g, X, wide), *parameters, epsilon=epsilon), X.element)
    return [y, *running][: count_of(outputs)]


@symbolic("onnx", "MeanVarianceNormalization")
def mean_variance_normalization(g: GraphBuilder, X: Value, axes: list[int] | None = None) -> Any:
    """(X, axes) -> X normalised over axes; they are written out, as the standard's inference stumbles without"""
    return g.raw("MeanVarianceNormalization", X, axes=axes or [0, 2, 3])
