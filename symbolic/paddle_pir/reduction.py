"""Reductions and running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.layout import reduce
from ..registry import symbolic
from ..value import Value
from .common import DataType, axis_of, cast, ints, is_float, like, refused, scalar_of, sizes


def axes_of(g: GraphBuilder, x: Value, axis: Any, op: str, every: bool = False) -> list[int]:
    """Axes to reduce; none given means all."""
    axes = [] if every else ints(g, axis, op, "an axis")
    return [axis_of(a, x.rank) for a in axes] or list(range(x.rank))


def _reduced(g: GraphBuilder, op: str, x: Value, axes: Sequence[int], keepdim: bool) -> Value:
    return reduce(g, op, x, axes, keepdim) if x.rank else x


@symbolic("paddle_pir", "sum")
def total(g: GraphBuilder, x: Value, axis: Any = None, dtype: DataType | None = None, keepdim: bool = False) -> Value:
    """sum(Tensor x, int[] axis, DataType dtype, bool keepdim) -> Tensor"""
    if dtype is None and x.element in (DataType.BOOL, DataType.INT32):
        dtype = DataType.INT64
    return _reduced(g, "ReduceSum", cast(g, x, dtype), axes_of(g, x, axis, "sum"), keepdim)


@symbolic("paddle_pir")
def nansum(g: GraphBuilder, x: Value, axis: Any = None, dtype: DataType | None = None, keepdim: bool = False) -> Value:
    """nansum(Tensor x, int[] axis, DataType dtype, bool keepdim) -> Tensor"""
    clean = g.Where(g.IsNaN(x), like(g, x, 0), x) if is_float(x) else x
    return total(g, clean, axis, dtype, keepdim)


@symbolic("paddle_pir")
def mean(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """mean(Tensor x, int[] axis, bool keepdim) -> Tensor"""
    return _reduced(g, "ReduceMean", x, axes_of(g, x, axis, "mean"), keepdim)


@symbolic("paddle_pir")
def mean_all(g: GraphBuilder, x: Value) -> Value:
    """mean_all(Tensor x) -> Tensor"""
    return mean(g, x)


@symbolic("paddle_pir", "max", "amax")
def largest(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """max(Tensor x, int[] axis, bool keepdim) -> Tensor"""
    return _reduced(g, "ReduceMax", x, axes_of(g, x, axis, "max"), keepdim)


@symbolic("paddle_pir", "min", "amin")
def smallest(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """min(Tensor x, int[] axis, bool keepdim) -> Tensor"""
    return _reduced(g, "ReduceMin", x, axes_of(g, x, axis, "min"), keepdim)


@symbolic("paddle_pir")
def prod(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False, reduce_all: bool = False) -> Value:
    """prod(Tensor x, int[] axis, bool keepdim, bool reduce_all) -> Tensor"""
    return _reduced(g, "ReduceProd", x, axes_of(g, x, axis, "prod", reduce_all), keepdim)


@symbolic("paddle_pir")
def logsumexp(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False, reduce_all: bool = False) -> Value:
    """logsumexp(Tensor x, int[] axis, bool keepdim, bool reduce_all) -> Tensor"""
    axes = axes_of(g, x, axis, "logsumexp", reduce_all)
    top = g.ReduceMax(x, axes, keepdims=1)  # runtimes don't all guard against overflow themselves
    kept = g.Log(g.ReduceSum(g.Exp(x - top), axes, keepdims=1)) + top
    return kept if keepdim else g.Squeeze(kept, axes)


@symbolic("paddle_pir")
def any(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """any(Tensor x, int[] axis, bool keepdim) -> Tensor"""
    truth = cast(g, cast(g, x, DataType.BOOL), DataType.INT32)
    return cast(g, _reduced(g, "ReduceMax", truth, axes_of(g, x, axis, "any"), keepdim), DataType.BOOL)


@symbolic("paddle_pir")
def all(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """all(Tensor x, int[] axis, bool keepdim) -> Tensor"""
    truth = cast(g, cast(g, x, DataType.BOOL), DataType.INT32)
    return cast(g, _reduced(g, "ReduceMin", truth, axes_of(g, x, axis, "all"), keepdim), DataType.BOOL)


def _variance(g: GraphBuilder, x: Value, axes: Sequence[int], keepdim: bool, correction: float) -> Value:
    axes = list(axes)
    centred = x - g.ReduceMean(x, axes, keepdims=1)
    spread = g.ReduceMean(centred * centred, axes, keepdims=int(keepdim))
    if not correction:
        return spread
    count = g.Cast(g.ReduceProd(g.Gather(g.Shape(x), g.constant(np.array(axes))), keepdims=0), to=x.element)
    return spread * (count / (count - correction))


@symbolic("paddle_pir")
def var(
    g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False, unbiased: bool = True, correction: float = 1.0
) -> Value:
    """var(Tensor x, int[] axis, bool keepdim, bool unbiased, double correction) -> Tensor"""
    return _variance(g, x, axes_of(g, x, axis, "var"), keepdim, correction if unbiased else 0.0)


@symbolic("paddle_pir")
def std(
    g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False, unbiased: bool = True, correction: float = 1.0
) -> Value:
    """std(Tensor x, int[] axis, bool keepdim, bool unbiased, double correction) -> Tensor"""
    return g.Sqrt(var(g, x, axis, keepdim, unbiased, correction))


@symbolic("paddle_pir")
def variance(g: GraphBuilder, x: Value, axis: Any = None, keepdim: bool = False) -> Value:
    """variance(Tensor x, int[] axis, bool keepdim) -> Tensor"""
    return _variance(g, x, axes_of(g, x, axis, "variance"), keepdim, 0.0)


@symbolic("paddle_pir")
def reduce_as(g: GraphBuilder, x: Value, target: Value) -> Value:
    """reduce_as(Tensor x, Tensor target) -> Tensor"""
    lead = x.rank - target.rank
    axes = [i for i in range(x.rank) if i < lead or (target.dim(i - lead) == 1 and x.dim(i) != 1)]
    if not axes:
        return x
    summed = g.ReduceSum(x, axes, keepdims=1)
    return g.Squeeze(summed, list(range(lead))) if lead else summed


# --- running ----------------------------------------------------------------------------------------------------------


@symbolic("paddle_pir")
def cumsum(
    g: GraphBuilder, x: Value, axis: Any = -1, flatten: bool = False, exclusive: bool = False, reverse: bool = False
) -> Value:
    """cumsum(Tensor x, Scalar axis, bool flatten, bool exclusive, bool reverse) -> Tensor"""
    if x.element == DataType.BOOL:
        x = cast(g, x, DataType.INT64)
    if flatten or x.rank == 0:
        x = g.Reshape(x, [-1]) if flatten else x
        axis = 0
    if x.rank == 0:
        return x
    (at,) = ints(g, axis, "cumsum", "an axis")
    return g.CumSum(x, np.int64(at), exclusive=int(exclusive), reverse=int(reverse))


Step = Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]]


def scan(g: GraphBuilder, values: tuple[Value, ...], fills: Sequence[Any], axis: int, step: Step) -> tuple[Value, ...]:
    """Running combination along an axis of fixed size, in as many rounds as the size has bits.

    Args:
        values: Tensors that are combined together.
        fills: For each, what stands before the first element and changes nothing.
        axis: The axis.
        step: Combines the earlier with the later.
    """
    size = values[0].dim(axis)
    if not isinstance(size, int):
        raise refused(g, "cumprod", "a running product or maximum over an open size isn't supported")
    rank, far = values[0].rank, size
    reach = 1
    while reach < size:
        pads = [0] * (2 * rank)
        pads[axis] = reach
        earlier = tuple(
            g.Slice(g.Pad(v, pads, like(g, v, f)), [0], [far], [axis]) for v, f in zip(values, fills, strict=True)
        )
        values = step(earlier, values)
        reach *= 2
    return values


def _reversed(g: GraphBuilder, x: Value, axis: int) -> Value:
    return g.Slice(x, [-1], [np.iinfo(np.int64).min], [axis], [-1])


@symbolic("paddle_pir")
def cumprod(g: GraphBuilder, x: Value, dim: int, exclusive: bool = False, reverse: bool = False) -> Value:
    """cumprod(Tensor x, int dim, bool exclusive, bool reverse) -> Tensor"""
    if x.rank == 0:
        return x
    axis = axis_of(dim, x.rank)
    source = _reversed(g, x, axis) if reverse else x
    (result,) = scan(g, (source,), [1], axis, lambda a, b: (a[0] * b[0],))
    if exclusive:
        pads = [0] * (2 * x.rank)
        pads[axis] = 1
        result = g.Slice(g.Pad(result, pads, like(g, x, 1)), [0], [-1], [axis])
    return _reversed(g, result, axis) if reverse else result


@symbolic("paddle_pir")
def logcumsumexp(
    g: GraphBuilder, x: Value, axis: int = -1, flatten: bool = False, exclusive: bool = False, reverse: bool = False
) -> Value:
    """logcumsumexp(Tensor x, int axis, bool flatten, bool exclusive, bool reverse) -> Tensor"""
    if exclusive or reverse:
        raise refused(g, "logcumsumexp", "exclusive and reverse aren't supported")
    x = g.Reshape(x, [-1]) if flatten else x
    lowest = float(np.finfo(x.element.numpy()).min)

    def step(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[Value, ...]:
        top = g.Max(a[0], b[0])
        return (top + g.Log(g.Exp(a[0] - top) + g.Exp(b[0] - top)),)

    return scan(g, (x,), [lowest], 0 if flatten else axis_of(axis, x.rank), step)[0]


def _running_extreme(g: GraphBuilder, x: Value, axis: int, dtype: DataType | None, op: str) -> tuple[Value, Value]:
    axis = axis_of(axis, x.rank)
    size = x.dim(axis)
    shape = [1] * x.rank
    shape[axis] = size if isinstance(size, int) else 1
    places = g.constant(np.arange(shape[axis]).reshape(shape))
    index = g.expand(places, sizes(g, x))
    number = x.element.numpy()
    ends = np.finfo(number) if is_float(x) else np.iinfo(number)
    fill = ends.min if op == "GreaterOrEqual" else ends.max

    def step(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[Value, ...]:
        later = g.call(op, b[0], a[0])
        return g.Where(later, b[0], a[0]), g.Where(later, b[1], a[1])

    value, where = scan(g, (x, index), [fill, 0], axis, step)
    return value, cast(g, where, dtype)


@symbolic("paddle_pir")
def cummax(g: GraphBuilder, x: Value, axis: int = -1, dtype: DataType | None = None) -> Any:
    """cummax(Tensor x, int axis, DataType dtype) -> (Tensor, Tensor)"""
    return _running_extreme(g, x, axis, dtype, "GreaterOrEqual")


@symbolic("paddle_pir")
def cummin(g: GraphBuilder, x: Value, axis: int = -1, dtype: DataType | None = None) -> Any:
    """cummin(Tensor x, int axis, DataType dtype) -> (Tensor, Tensor)"""
    return _running_extreme(g, x, axis, dtype, "LessOrEqual")


# --- losses -----------------------------------------------------------------------------------------------------------


@symbolic("paddle_pir")
def cross_entropy_with_softmax(
    g: GraphBuilder, input: Value, label: Value, soft_label: bool = False, use_softmax: bool = True,
    numeric_stable_mode: bool = True, ignore_index: int = -100, axis: int = -1,
) -> Any:  # fmt: skip
    """cross_entropy_with_softmax(Tensor input, Tensor label, bool soft_label, bool use_softmax, bool
    numeric_stable_mode, int ignore_index, int axis) -> (Tensor, Tensor)"""
    axis = axis_of(axis, input.rank)
    probabilities = g.Softmax(input, axis=axis) if use_softmax else input
    logs = g.LogSoftmax(input, axis=axis) if use_softmax else g.Log(input)
    if soft_label:
        return probabilities, g.Neg(g.ReduceSum(logs * label, [axis], keepdims=1))
    index = cast(g, label, DataType.INT64)
    index = index if index.rank == input.rank else g.Unsqueeze(index, [axis])
    ignored = g.Equal(index, np.int64(ignore_index))
    picked = g.GatherElements(logs, g.Where(ignored, np.int64(0), index), axis=axis)
    return probabilities, g.Where(ignored, like(g, input, 0), g.Neg(picked))


@symbolic("paddle_pir")
def kldiv_loss(g: GraphBuilder, x: Value, label: Value, reduction: str = "mean", log_target: bool = False) -> Value:
    """kldiv_loss(Tensor x, Tensor label, str reduction, bool log_target) -> Tensor"""
    if log_target:
        loss = g.Exp(label) * (label - x)
    else:
        inner = g.Where(g.Greater(label, like(g, label, 0)), label, like(g, label, 1))
        loss = g.Where(g.Greater(label, like(g, label, 0)), label * (g.Log(inner) - x), like(g, x, 0))
    if reduction == "none":
        return loss
    if reduction == "batchmean":
        return g.ReduceSum(loss, keepdims=0) / g.Cast(g.Squeeze(g.Shape(x, start=0, end=1), [0]), to=x.element)
    return g.ReduceMean(loss, keepdims=0) if reduction == "mean" else g.ReduceSum(loss, keepdims=0)


@symbolic("paddle_pir")
def huber_loss(g: GraphBuilder, input: Value, label: Value, delta: float) -> Any:
    """huber_loss(Tensor input, Tensor label, float delta) -> (Tensor, Tensor)"""
    rest = label - input
    size = g.Abs(rest)
    small = g.LessOrEqual(size, like(g, rest, delta))
    return g.Where(small, rest * rest * 0.5, (size - 0.5 * delta) * delta), rest


@symbolic("paddle_pir")
def log_loss(g: GraphBuilder, input: Value, label: Value, epsilon: float) -> Value:
    """log_loss(Tensor input, Tensor label, float epsilon) -> Tensor"""
    return g.Neg(label * g.Log(input + epsilon)) - (1.0 - label) * g.Log((1.0 - input) + epsilon)


@symbolic("paddle_pir")
def nll_loss(
    g: GraphBuilder, input: Value, label: Value, weight: Value | None = None, ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """nll_loss(Tensor input, Tensor label, Tensor? weight, int ignore_index, str reduction) -> (Tensor, Tensor)"""
    loss = g.NegativeLogLikelihoodLoss(input, label, weight, ignore_index=ignore_index, reduction=reduction)
    return loss, None


@symbolic("paddle_pir")
def clip_by_norm(g: GraphBuilder, x: Value, max_norm: float) -> Value:
    """clip_by_norm(Tensor x, float max_norm) -> Tensor"""
    size = scalar_of(g, g.Sqrt(g.ReduceSumSquare(x, keepdims=0)))
    limit = like(g, x, max_norm)
    return g.Where(g.Greater(size, limit), x * (limit / size), x)
