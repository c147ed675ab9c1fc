"""Normalisations and norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import DataType, cast, is_float, like, merged, refused, sizes
from .convolution import back, first


@symbolic("paddle_pir", "batch_norm")
def batch_norm(
    g: GraphBuilder, x: Value, mean: Value, variance: Value, scale: Value | None = None, bias: Value | None = None,
    is_test: bool = True, momentum: float = 0.9, epsilon: float = 1e-5, data_format: str = "NCHW",
    use_global_stats: bool = False, trainable_statistics: bool = False,
) -> Any:  # fmt: skip
    """batch_norm(Tensor x, Tensor mean, Tensor variance, Tensor? scale, Tensor? bias, bool is_test, float momentum,
    float epsilon, str data_format, bool use_global_stats, bool trainable_statistics) -> (Tensor x6)"""
    if not (is_test or use_global_stats):
        raise refused(g, "batch_norm", "it is in training mode: call eval() first")
    scale = like_filled(g, mean, 1) if scale is None else scale
    bias = like_filled(g, mean, 0) if bias is None else bias
    source = first(g, x, data_format) if x.rank > 2 else x
    result = g.BatchNormalization(source, scale, bias, mean, variance, epsilon=epsilon)
    y = back(g, result, data_format) if x.rank > 2 else result
    return y, mean, variance, None, None, None


def like_filled(g: GraphBuilder, x: Value, number: float) -> Value:
    """A tensor of the same shape, which is known, holding one number."""
    return g.constant(np.full([int(s) for s in x.sizes or ()], number, x.element.numpy()))  # type: ignore[arg-type]


@symbolic("paddle_pir")
def layer_norm(
    g: GraphBuilder, x: Value, scale: Value | None = None, bias: Value | None = None, epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> Any:  # fmt: skip
    """layer_norm(Tensor x, Tensor? scale, Tensor? bias, float epsilon, int begin_norm_axis)
    -> (Tensor, Tensor, Tensor)"""
    axis = begin_norm_axis % x.rank
    shape = sizes(g, x)
    inner = merged(g, shape[axis:])
    if not isinstance(inner, int):
        raise refused(g, "layer_norm", "open sizes of the normalised axes aren't supported")
    scale = g.constant(np.ones(inner, x.element.numpy())) if scale is None else scale
    if axis == x.rank - 1:
        return g.LayerNormalization(x, scale, bias, axis=axis, epsilon=epsilon), None, None
    # scale and bias are vectors over all normalised axes at once
    inner_shape = [int(s) for s in shape[axis:]]  # type: ignore[arg-type]
    scale = g.Reshape(scale, inner_shape)
    bias = None if bias is None else g.Reshape(bias, inner_shape)
    return g.LayerNormalization(x, scale, bias, axis=axis, epsilon=epsilon), None, None


@symbolic("paddle_pir")
def rms_norm(
    g: GraphBuilder, x: Value, scale: Value | None = None, normalized_shape: Sequence[int] = (), epsilon: float = 1e-5
) -> Any:
    """rms_norm(Tensor x, Tensor? scale, int[] normalized_shape, double epsilon) -> (Tensor, Tensor)"""
    axes = list(range(-max(len(normalized_shape), 1), 0))
    root = g.Sqrt(g.ReduceMean(x * x, axes, keepdims=1) + epsilon)
    y = x / root
    return (y if scale is None else y * scale), None


@symbolic("paddle_pir")
def instance_norm(
    g: GraphBuilder, x: Value, scale: Value | None = None, bias: Value | None = None, epsilon: float = 1e-5
) -> Any:
    """instance_norm(Tensor x, Tensor? scale, Tensor? bias, float epsilon) -> (Tensor, Tensor, Tensor)"""
    channels = x.dim(1)
    if not isinstance(channels, int):
        raise refused(g, "instance_norm", "an open number of channels isn't supported")
    scale = g.constant(np.ones(channels, x.element.numpy())) if scale is None else scale
    bias = g.constant(np.zeros(channels, x.element.numpy())) if bias is None else bias
    return g.InstanceNormalization(x, scale, bias, epsilon=epsilon), None, None


@symbolic("paddle_pir")
def group_norm(
    g: GraphBuilder, x: Value, scale: Value | None = None, bias: Value | None = None, epsilon: float = 1e-5,
    groups: int = -1, data_format: str = "NCHW",
) -> Any:  # fmt: skip
    """group_norm(Tensor x, Tensor? scale, Tensor? bias, double epsilon, int groups, str data_format)
    -> (Tensor, Tensor, Tensor)"""
    source = first(g, x, data_format)
    channels = source.dim(1)
    if not isinstance(channels, int):
        raise refused(g, "group_norm", "an open number of channels isn't supported")
    scale = g.constant(np.ones(channels, x.element.numpy())) if scale is None else scale
    bias = g.constant(np.zeros(channels, x.element.numpy())) if bias is None else bias
    y = g.GroupNormalization(source, scale, bias, num_groups=groups, epsilon=epsilon)
    return back(g, y, data_format), None, None


@symbolic("paddle_pir", "lrn")
def local_response_norm(
    g: GraphBuilder, x: Value, n: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75,
    data_format: str = "NCHW",
) -> Any:  # fmt: skip
    """lrn(Tensor x, int n, float k, float alpha, float beta, str data_format) -> (Tensor, Tensor)"""
    source = first(g, x, data_format)
    return back(g, g.LRN(source, size=n, alpha=alpha * n, beta=beta, bias=k), data_format), None


@symbolic("paddle_pir")
def p_norm(
    g: GraphBuilder, x: Value, porder: float = 2.0, axis: int = -1, epsilon: float = 1e-12, keepdim: bool = False,
    asvector: bool = False,
) -> Value:  # fmt: skip
    """p_norm(Tensor x, float porder, int axis, float epsilon, bool keepdim, bool asvector) -> Tensor"""
    if asvector:
        result = norm_of(g, g.Reshape(x, [-1]), porder, [0], keepdim)
        return g.Reshape(result, [1] * x.rank) if keepdim and x.rank > 1 else result
    return norm_of(g, x, porder, [axis], keepdim)


def norm_of(g: GraphBuilder, x: Value, order: float, axes: Sequence[int], keepdim: bool) -> Value:
    """(sum |x|^order)^(1/order) over some axes."""
    keep = int(keepdim)
    axes = list(axes)
    if not is_float(x):
        x = cast(g, x, DataType.FLOAT)
    if order == np.inf:
        return g.ReduceMax(g.Abs(x), axes, keepdims=keep)
    if order == -np.inf:
        return g.ReduceMin(g.Abs(x), axes, keepdims=keep)
    if order == 0:
        return g.ReduceSum(cast(g, g.Not(g.Equal(x, like(g, x, 0))), x.element), axes, keepdims=keep)
    if order == 1:
        return g.ReduceL1(x, axes, keepdims=keep)
    if order == 2:
        return g.ReduceL2(x, axes, keepdims=keep)
    total = g.ReduceSum(g.Pow(g.Abs(x), like(g, x, order)), axes, keepdims=keep)
    return g.Pow(total, like(g, total, 1 / order))


@symbolic("paddle_pir")
def dist(g: GraphBuilder, x: Value, y: Value, p: float = 2.0) -> Value:
    """dist(Tensor x, Tensor y, float p) -> Tensor"""
    return norm_of(g, g.Reshape(x - y, [-1]), p, [0], False)


@symbolic("paddle_pir")
def norm(g: GraphBuilder, x: Value, axis: int, epsilon: float, is_test: bool = True) -> Any:
    """norm(Tensor x, int axis, float epsilon, bool is_test) -> (Tensor, Tensor)"""
    size = g.Sqrt(g.ReduceSumSquare(x, [axis], keepdims=1) + epsilon)
    return x / size, size


@symbolic("paddle_pir")
def frobenius_norm(
    g: GraphBuilder, x: Value, axis: Any, keep_dim: bool = False, reduce_all: bool = False,
    dtype: DataType | None = None,
) -> Value:  # fmt: skip
    """frobenius_norm(Tensor x, int[] axis, bool keep_dim, bool reduce_all) -> Tensor"""
    from .common import ints

    axes = list(range(x.rank)) if reduce_all else ints(g, axis, "frobenius_norm", "an axis")
    return g.ReduceL2(cast(g, x, dtype), axes or list(range(x.rank)), keepdims=int(keep_dim))


@symbolic("paddle_pir")
def squared_l2_norm(g: GraphBuilder, x: Value) -> Value:
    """squared_l2_norm(Tensor x) -> Tensor"""
    return g.ReduceSumSquare(g.Reshape(x, [-1]), [0], keepdims=1)


@symbolic("paddle_pir")
def affine_channel(g: GraphBuilder, x: Value, scale: Value, bias: Value, data_layout: str = "AnyLayout") -> Value:
    """affine_channel(Tensor x, Tensor scale, Tensor bias, str data_layout) -> Tensor"""
    if data_layout == "NHWC":
        return x * scale + bias
    shape = [-1] + [1] * (x.rank - 2)
    return x * g.Reshape(scale, shape) + g.Reshape(bias, shape)
