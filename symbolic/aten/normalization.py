"""Normalisation layers and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ml_dtypes import finfo

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .precision import rounded_once
from .promotion import DataType, apply, as_float, cast, unsupported
from .reduction import average
from .shape import axis_of, size_at, sizes


def _filled(g: GraphBuilder, like: Value, count: Any, value: float) -> Value:
    if isinstance(count, int):
        return g.constant(np.full(count, value, like.element.numpy()))
    return g.expand(g.constant(np.array(value, like.element.numpy())), [count])


@symbolic("aten", "batch_norm")
def batch_norm(
    g: GraphBuilder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Value:
    """aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, ...) -> Tensor"""
    if input.rank < 2:
        raise unsupported("batch_norm of a tensor without channels", g)
    channels = size_at(g, input, 1)
    weight = _filled(g, input, channels, 1.0) if weight is None else weight
    bias = _filled(g, input, channels, 0.0) if bias is None else bias
    if training or running_mean is None or running_var is None:
        if running_mean is not None and running_mean.is_constant and momentum:
            raise unsupported("batch_norm in training mode changes its running statistics: call eval()", g)
        return _batch_statistics(g, input, weight, bias, eps)
    if input.element == DataType.DOUBLE:  # the operator keeps eps in single precision
        shape = _channels(g, input)
        scale = g.Div(weight, g.Sqrt(g.Add(running_var, eps)))
        shifted = g.Mul(g.Sub(input, g.reshape(running_mean, shape)), g.reshape(scale, shape))
        return g.Add(shifted, g.reshape(bias, shape))
    result: Value = g.BatchNormalization(input, weight, bias, running_mean, running_var, epsilon=eps)
    return result


def _batch_statistics(g: GraphBuilder, x: Value, weight: Value, bias: Value, eps: float) -> Value:
    return _normalized(g, x, weight, bias, eps, [0, *range(2, x.rank)], _channels(g, x))


def _channels(g: GraphBuilder, x: Value) -> list[Any]:
    return [size_at(g, x, 1)] + [1] * (x.rank - 2)


@rounded_once
def _normalized(
    g: GraphBuilder, x: Value, weight: Value, bias: Value | None, eps: float, axes: list[int], shape: list[Any]
) -> Value:
    """Centred and scaled over these axes; weight and bias of this shape."""
    centred = g.Sub(x, g.ReduceMean(x, axes))
    variance = g.ReduceMean(g.Mul(centred, centred), axes)
    normal = g.Div(centred, g.Sqrt(g.Add(variance, eps)))
    scaled = g.Mul(normal, g.reshape(weight, shape))
    return scaled if bias is None else g.Add(scaled, g.reshape(bias, shape))


@symbolic("aten", "_native_batch_norm_legit_no_training")
def native_batch_norm_no_training(
    g: GraphBuilder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value, running_var: Value,
    momentum: float, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, ...) -> (Tensor, Tensor, Tensor)"""
    y = batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)
    empty = g.constant(np.zeros(0, input.element.numpy()))
    return y, empty, empty


@symbolic("aten", "layer_norm")
def layer_norm(
    g: GraphBuilder,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Value:
    """aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, ...) -> Tensor"""
    if weight is None:
        ones = g.constant(np.array(1, input.element.numpy()))
        weight = g.expand(ones, list(normalized_shape))
    if input.element == DataType.DOUBLE:  # the operator keeps eps in single precision
        shape = list(normalized_shape)
        return _normalized(g, input, weight, bias, eps, list(range(-len(shape), 0)), shape)
    return apply(g, "LayerNormalization", input, weight, bias, axis=-len(normalized_shape), epsilon=eps)


@rounded_once
def _statistics(g: GraphBuilder, x: Value, axes: list[int], eps: float) -> tuple[Value, Value]:
    """The mean, and one over the standard deviation."""
    mean = g.ReduceMean(x, axes)
    centred = g.Sub(x, mean)
    return mean, g.Reciprocal(g.Sqrt(g.Add(g.ReduceMean(g.Mul(centred, centred), axes), eps)))


@symbolic("aten", "native_layer_norm")
def native_layer_norm(
    g: GraphBuilder, input: Value, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, ...) -> (Tensor, Tensor, Tensor)"""
    mean, inverse = _statistics(g, input, list(range(-len(normalized_shape), 0)), eps)
    return layer_norm(g, input, normalized_shape, weight, bias, eps), mean, inverse


def _instances(g: GraphBuilder, x: Value, weight: Value, bias: Value, eps: float) -> Value:
    """InstanceNormalization; written out in double precision, which onnxruntime has no kernel for."""
    if x.dtype != DataType.DOUBLE:
        return g.InstanceNormalization(x, weight, bias, epsilon=eps)
    return _normalized(g, x, weight, bias, eps, list(range(2, x.rank)), _channels(g, x))


@symbolic("aten", "group_norm")
@rounded_once
def group_norm(
    g: GraphBuilder,
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Value:
    """aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, ...) -> Tensor"""
    # not GroupNormalization: its official body takes the variance as a difference of squares, which loses all digits
    # where the mean is large; InstanceNormalization over the groups sums squared deviations, as torch does
    shape = sizes(g, input)
    groups = g.reshape(input, [shape[0], num_groups, -1])
    ones, zeros = (_filled(g, input, num_groups, v) for v in (1.0, 0.0))
    result = g.reshape(_instances(g, groups, ones, zeros, eps), shape)
    channels = [shape[1]] + [1] * (input.rank - 2)
    if weight is not None:
        result = g.Mul(result, g.reshape(weight, channels))
    return result if bias is None else g.Add(result, g.reshape(bias, channels))


@symbolic("aten", "native_group_norm")
@rounded_once
def native_group_norm(
    g: GraphBuilder, input: Value, weight: Value | None, bias: Value | None, N: Any, C: Any, HxW: Any, group: int,
    eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, ...) -> (Tensor, Tensor, Tensor)"""
    groups = g.reshape(input, [N, group, C * HxW // group])
    mean = average(g, groups, [2], True)
    centred = g.Sub(groups, mean)
    inverse = g.Reciprocal(g.Sqrt(g.Add(average(g, g.Mul(centred, centred), [2], True), eps)))
    result = input if input.size == 0 else group_norm(g, input, group, weight, bias, eps)
    return result, g.Squeeze(mean, [2]), g.Squeeze(inverse, [2])


@symbolic("aten", "instance_norm")
def instance_norm(
    g: GraphBuilder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Value:
    """aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, ...) -> Tensor"""
    if not use_input_stats:
        return batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)
    if running_mean is not None and running_mean.is_constant and momentum:
        raise unsupported("instance_norm that changes its running statistics: call eval()", g)
    channels = size_at(g, input, 1)
    weight = _filled(g, input, channels, 1.0) if weight is None else weight
    bias = _filled(g, input, channels, 0.0) if bias is None else bias
    return _instances(g, input, weight, bias, eps)


@symbolic("aten", "rms_norm", "_fused_rms_norm")
def rms_norm(
    g: GraphBuilder,
    input: Value,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    """aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"""
    # written out: torch keeps the precision of float32 inside, and casts before it scales
    x = as_float(g, input)
    wide = cast(g, x, DataType.FLOAT) if x.element in (DataType.FLOAT16, DataType.BFLOAT16) else x
    if eps is None:
        eps = float(finfo(x.element.numpy()).eps)  # type: ignore[no-untyped-call]
    axes = list(range(-len(normalized_shape), 0))
    scale = g.Sqrt(g.Add(g.ReduceMean(g.Mul(wide, wide), axes), eps))
    normal = g.Div(wide, scale)
    if weight is None:
        return cast(g, normal, x.element)
    return cast(g, g.Mul(normal, cast(g, weight, wide.element)), x.element)


@symbolic("aten", "local_response_norm")
def local_response_norm(
    g: GraphBuilder, input: Value, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Value:
    """aten::local_response_norm(Tensor input, int size, float alpha, float beta, float k) -> Tensor"""
    return g.LRN(input, size=size, alpha=alpha, beta=beta, bias=k)


def _softmax(g: GraphBuilder, op: str, x: Value, dim: int, dtype: DataType | None) -> Value:
    x = cast(g, x, dtype) if dtype is not None else as_float(g, x)
    if x.rank == 0:
        return g.reshape(apply(g, op, g.reshape(x, [1]), axis=0), [])
    return apply(g, op, x, axis=axis_of(dim, x.rank))


@symbolic("aten", "softmax.int")
def softmax(g: GraphBuilder, self: Value, dim: int, dtype: DataType | None = None) -> Value:
    """aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    return _softmax(g, "Softmax", self, dim, dtype)


@symbolic("aten", "_softmax")
def inner_softmax(g: GraphBuilder, self: Value, dim: int, half_to_float: bool) -> Value:
    """aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"""
    return _softmax(g, "Softmax", self, dim, DataType.FLOAT if half_to_float else None)


@symbolic("aten", "_safe_softmax")
def safe_softmax(g: GraphBuilder, self: Value, dim: int, dtype: DataType | None = None) -> Value:
    """aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    largest = g.ReduceMax(self, [dim])
    return g.Where(g.Equal(largest, -np.inf), 0.0, _softmax(g, "Softmax", self, dim, dtype))


@symbolic("aten", "log_softmax.int")
def log_softmax(g: GraphBuilder, self: Value, dim: int, dtype: DataType | None = None) -> Value:
    """aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    return _softmax(g, "LogSoftmax", self, dim, dtype)


@symbolic("aten", "_log_softmax")
def inner_log_softmax(g: GraphBuilder, self: Value, dim: int, half_to_float: bool) -> Value:
    """aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"""
    return _softmax(g, "LogSoftmax", self, dim, DataType.FLOAT if half_to_float else None)


@symbolic("aten", "cosine_similarity")
def cosine_similarity(g: GraphBuilder, x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"""
    from .shape import broadcast_tensors

    a, b = broadcast_tensors(g, [as_float(g, x1), as_float(g, x2)])
    if a.rank == 0:
        return g.reshape(cosine_similarity(g, g.reshape(a, [1]), g.reshape(b, [1]), 0, eps), [])
    lengths = [g.Max(g.ReduceL2(v, [dim]), eps) for v in (a, b)]
    return g.ReduceSum(g.Mul(g.Div(a, lengths[0]), g.Div(b, lengths[1])), [dim], keepdims=0)
