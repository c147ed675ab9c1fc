"""Normalisation and dropout as they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder, Wanted
from ..registry import symbolic
from ..value import Value
from .refusals import refused


def _batch_normalization(
    g: GraphBuilder, x: Value, statistics: tuple[Value, Value, Value, Value], epsilon: float, outputs: Wanted
) -> Value:
    flags = [True] * outputs if isinstance(outputs, int) else list(outputs)
    if any(flags[1:]):
        raise refused(g, "BatchNormalization", "more than one output: it is in training mode")
    return g.BatchNormalization(x, *statistics, epsilon=epsilon)  # type: ignore[no-any-return]


@symbolic("onnx_import", "BatchNormalization", until=8)
def batch_normalization_7(
    g: GraphBuilder,
    X: Value,
    scale: Value,
    B: Value,
    mean: Value,
    var: Value,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
    outputs: Wanted = 1,
) -> Value:
    """BatchNormalization-7(X, scale, B, mean, var) {epsilon, momentum, spatial}: per activation if not spatial."""
    if spatial:
        return _batch_normalization(g, X, (scale, B, mean, var), epsilon, outputs)
    if outputs != 1 and (isinstance(outputs, int) or any(outputs[1:])):
        raise refused(g, "BatchNormalization", "more than one output: it is in training mode")
    return (X - mean) / g.Sqrt(var + epsilon) * scale + B


@symbolic("onnx_import", "BatchNormalization", since=9, until=13)
def batch_normalization_9(
    g: GraphBuilder,
    X: Value,
    scale: Value,
    B: Value,
    mean: Value,
    var: Value,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    outputs: Wanted = 1,
) -> Value:
    """BatchNormalization-9(X, scale, B, mean, var) {epsilon, momentum}."""
    return _batch_normalization(g, X, (scale, B, mean, var), epsilon, outputs)


@symbolic("onnx_import", "Dropout", until=11)
def dropout(g: GraphBuilder, data: Value, ratio: float = 0.5, outputs: Wanted = 1) -> Any:
    """Dropout-7, 10(data) {ratio}: they never drop anything; what their mask holds then is not defined."""
    flags = [True] * outputs if isinstance(outputs, int) else list(outputs)
    if any(flags[1:]):
        raise refused(g, "Dropout", "its mask is used, which no opset below 12 defines for inference")
    return data


@symbolic("onnx_import", "GroupNormalization", until=20)
def group_normalization(
    g: GraphBuilder, X: Value, scale: Value, bias: Value, num_groups: int, epsilon: float = 1e-5
) -> Value:
    """GroupNormalization-18(X, scale, bias) {epsilon, num_groups}: scale and bias are per group, not per channel."""
    channels = X.dim(1)
    if channels is None:
        count: Any = g.Div(g.Shape(X, start=1, end=2), np.array([num_groups], np.int64))
        size = g.Concat(np.array([num_groups], np.int64), count, axis=0)
    else:
        size = g.shape_vector([num_groups, channels // num_groups])

    def per_channel(value: Value) -> Value:
        return g.Reshape(g.Expand(g.Unsqueeze(value, [1]), size), [-1])

    return g.GroupNormalization(X, per_channel(scale), per_channel(bias), num_groups=num_groups, epsilon=epsilon)
