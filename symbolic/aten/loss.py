"""Loss functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.sizes import as_value
from ..registry import symbolic
from ..value import Value
from .precision import rounded_once
from .promotion import DataType, as_float, cast, float_type, promoted, unread, unsupported, value_of
from .reduction import average, reduce
from .shape import size_at

_NONE, _MEAN, _SUM = 0, 1, 2


def reduced(g: GraphBuilder, loss: Value, reduction: int) -> Value:
    """The loss of every element, their mean, or their sum."""
    if reduction == _NONE:
        return loss
    return average(g, loss, None, False) if reduction == _MEAN else reduce(g, "ReduceSum", loss)


@symbolic("aten", "mse_loss")
def mse_loss(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN) -> Value:
    """aten::mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    a, b = promoted(g, self, target)
    gap = g.Sub(a, b)
    return reduced(g, g.Mul(gap, gap), reduction)


@symbolic("aten", "l1_loss")
def l1_loss(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN) -> Value:
    """aten::l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    a, b = promoted(g, self, target)
    return reduced(g, g.Abs(g.Sub(a, b)), reduction)


@symbolic("aten", "smooth_l1_loss")
def smooth_l1_loss(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN, beta: float = 1.0) -> Value:
    """aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor"""
    a, b = promoted(g, self, target)
    return reduced(g, _smooth(g, a, b, beta), reduction)


@rounded_once
def _smooth(g: GraphBuilder, a: Value, b: Value, beta: float) -> Value:
    gap = g.Abs(g.Sub(a, b))
    if beta == 0:
        return gap
    near = g.Div(g.Mul(g.Mul(gap, gap), 0.5), beta)
    return g.Where(g.Less(gap, beta), near, g.Sub(gap, 0.5 * beta))


@symbolic("aten", "huber_loss")
def huber_loss(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN, delta: float = 1.0) -> Value:
    """aten::huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor"""
    a, b = promoted(g, self, target)
    return reduced(g, _huber(g, a, b, delta), reduction)


@rounded_once
def _huber(g: GraphBuilder, a: Value, b: Value, delta: float) -> Value:
    gap = g.Abs(g.Sub(a, b))
    near, far = g.Mul(g.Mul(gap, gap), 0.5), g.Mul(g.Sub(gap, 0.5 * delta), delta)
    return g.Where(g.LessOrEqual(gap, delta), near, far)


@symbolic("aten", "binary_cross_entropy")
def binary_cross_entropy(
    g: GraphBuilder, self: Value, target: Value, weight: Value | None = None, reduction: int = _MEAN
) -> Value:
    """aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor"""
    loss = _cross_entropy(g, self, target)
    return reduced(g, loss if weight is None else g.Mul(loss, weight), reduction)


@rounded_once
def _cross_entropy(g: GraphBuilder, probability: Value, target: Value) -> Value:
    yes, no = (g.Max(g.Log(v), -100.0) for v in (probability, g.Sub(1.0, probability)))
    return g.Neg(g.Add(g.Mul(target, yes), g.Mul(g.Sub(1.0, target), no)))


@symbolic("aten", "binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    g: GraphBuilder, self: Value, target: Value, weight: Value | None = None, pos_weight: Value | None = None,
    reduction: int = _MEAN,
) -> Value:  # fmt: skip
    """aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, ...) -> Tensor"""
    from .activation import log_sigmoid

    log_weight: Any = 1.0
    if pos_weight is not None:
        log_weight = g.Add(g.Mul(g.Sub(pos_weight, 1.0), target), 1.0)
    loss = g.Sub(g.Mul(g.Sub(1.0, target), self), g.Mul(log_sigmoid(g, self), log_weight))
    return reduced(g, loss if weight is None else g.Mul(loss, weight), reduction)


@symbolic("aten", "kl_div")
def kl_div(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN, log_target: bool = False) -> Value:
    """aten::kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor"""
    from .arithmetic import xlogy

    if log_target:
        return reduced(g, g.Mul(g.Exp(target), g.Sub(target, self)), reduction)
    return reduced(g, g.Sub(xlogy(g, target, target), g.Mul(target, self)), reduction)


@symbolic("aten", "soft_margin_loss")
def soft_margin_loss(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN) -> Value:
    """aten::soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    from .unary import log1p

    return reduced(g, log1p(g, g.Exp(g.Neg(g.Mul(target, self)))), reduction)


@symbolic("aten", "hinge_embedding_loss")
def hinge_embedding_loss(
    g: GraphBuilder, self: Value, target: Value, margin: float = 1.0, reduction: int = _MEAN
) -> Value:
    """aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor"""
    one = value_of(g, 1, target.element)
    far = g.Where(g.Equal(target, one), 0.0, g.Relu(g.Sub(margin, self)))
    near = g.Where(g.Equal(target, g.Neg(one)), 0.0, self)
    return reduced(g, g.Add(far, near), reduction)


@symbolic("aten", "margin_ranking_loss")
def margin_ranking_loss(
    g: GraphBuilder, input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: int = _MEAN
) -> Value:
    """aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, ...) -> Tensor"""
    from .arithmetic import add, mul, sub

    gap = add(g, mul(g, g.Neg(target), sub(g, input1, input2)), float(margin))
    return reduced(g, g.Relu(gap), reduction)


@symbolic("aten", "multilabel_margin_loss")
def multilabel_margin_loss(g: GraphBuilder, self: Value, target: Value, reduction: int = _MEAN) -> Value:
    """aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    if self.rank < 2:
        x, labels = (g.reshape(v, [1, size_at(g, v, 0) if v.rank else 1]) for v in (self, target))
        loss = multilabel_margin_loss(g, x, labels, reduction)
        return g.Squeeze(loss, [0]) if reduction == _NONE else loss
    # the labels of a row end at the first -1
    ended = g.CumSum(cast(g, g.Equal(target, -1), DataType.INT32), 1)
    valid = g.Equal(ended, g.constant(np.array(0, np.int32)))
    label = g.Unsqueeze(g.Where(valid, target, 0), [2])
    valid = g.Unsqueeze(valid, [2])
    classes = as_value(g, size_at(g, self, 1))
    named = g.And(valid, g.Equal(label, g.Range(0, classes, 1)))  # (rows, labels, classes)
    other = g.Equal(g.ReduceSum(cast(g, named, DataType.INT32), [1]), g.constant(np.array(0, np.int32)))
    own = g.Unsqueeze(g.GatherElements(self, g.Squeeze(label, [2]), axis=1), [2])
    gap = g.Relu(g.Add(g.Sub(1.0, own), g.Unsqueeze(self, [1])))
    gap = g.Where(g.And(valid, other), gap, value_of(g, 0, self.element))
    return reduced(g, g.Div(g.ReduceSum(gap, [1, 2], keepdims=0), cast(g, classes, self.element)), reduction)


@symbolic("aten", "poisson_nll_loss")
def poisson_nll_loss(
    g: GraphBuilder, input: Value, target: Value, log_input: bool, full: bool, eps: float, reduction: int
) -> Value:
    """aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int ...) -> Tensor"""
    dtype = float_type(input, target)
    input, target = cast(g, input, dtype), cast(g, target, dtype)
    if log_input:
        loss = g.Sub(g.Exp(input), g.Mul(target, input))
    else:
        loss = g.Sub(input, g.Mul(target, g.Log(g.Add(input, eps))))
    if full:
        stirling = g.Add(
            g.Sub(g.Mul(target, g.Log(target)), target), g.Mul(g.Log(g.Mul(target, 2.0 * np.pi)), 0.5)
        )  # fmt: skip
        loss = g.Add(loss, g.Where(g.LessOrEqual(target, 1.0), 0.0, stirling))
    return reduced(g, loss, reduction)


# --- class labels ----------------------------------------------------------------------------------------------------


def _picked(
    g: GraphBuilder, log_probabilities: Value, target: Value, weight: Value | None, ignore_index: int
) -> tuple[Value, Value]:
    """Minus the log-probability of each label, weighted, and the weights; ignored labels count nothing."""
    axis = 0 if log_probabilities.rank == 1 else 1
    ignored = g.Equal(target, value_of(g, ignore_index, target.element))
    label = g.Where(ignored, value_of(g, 0, target.element), target)
    loss = g.Neg(g.Squeeze(g.GatherElements(log_probabilities, g.Unsqueeze(label, [axis]), axis=axis), [axis]))
    zero, one = (value_of(g, v, log_probabilities.element) for v in (0, 1))
    weights = g.Where(ignored, zero, one if weight is None else g.Gather(weight, label, axis=0))
    return g.Where(ignored, zero, g.Mul(loss, weights)), weights


@rounded_once
def _label_loss(g: GraphBuilder, loss: Value, weights: Value, reduction: int) -> Value:
    if reduction == _MEAN:
        return g.Div(reduce(g, "ReduceSum", loss), reduce(g, "ReduceSum", weights))
    return reduced(g, loss, reduction)


@symbolic("aten", "nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(
    g: GraphBuilder, self: Value, target: Value, weight: Value | None = None, reduction: int = _MEAN,
    ignore_index: int = -100,
) -> Value:  # fmt: skip
    """aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, ...) -> Tensor"""
    return _label_loss(g, *_picked(g, self, target, weight, ignore_index), reduction)


@symbolic("aten", "cross_entropy_loss")
def cross_entropy_loss(
    g: GraphBuilder, self: Value, target: Value, weight: Value | None = None, reduction: int = _MEAN,
    ignore_index: int = -100, label_smoothing: float = 0.0,
) -> Value:  # fmt: skip
    """aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, ...) -> Tensor"""
    axis = 0 if self.rank == 1 else 1
    logs = g.LogSoftmax(self, axis=axis)
    classes = size_at(g, self, axis)
    if isinstance(classes, Value):
        raise unsupported("cross entropy over an unknown number of classes", g)
    shaped = None if weight is None else g.reshape(weight, [classes] + [1] * (self.rank - axis - 1))
    if target.rank == self.rank:
        return _probability_loss(g, logs, target, shaped, reduction, label_smoothing, axis, classes)
    loss, weights = _picked(g, logs, target, weight, ignore_index)
    if label_smoothing:
        every = g.Neg(g.ReduceSum(logs if shaped is None else g.Mul(logs, shaped), [axis], keepdims=0))
        ignored = g.Equal(target, value_of(g, ignore_index, target.element))
        every = g.Where(ignored, value_of(g, 0, self.element), every)
        spread = value_of(g, label_smoothing, self.element)
        share = g.Div(spread, cast(g, g.size(classes), self.element))
        loss = g.Add(g.Mul(loss, 1.0 - label_smoothing), g.Mul(every, share))
    return _label_loss(g, loss, weights, reduction)


@symbolic("torch_nn", "_linear_cross_entropy_batch_chunked")
def linear_cross_entropy(
    g: GraphBuilder, input: Value, linear_weight: Value, target: Value, linear_bias: Value | None,
    weight: Value | None, reduction: str, ignore_index: int, label_smoothing: float, *options: Any, outputs: int = 1,
) -> tuple[Value, ...]:  # fmt: skip
    """torch_nn::_linear_cross_entropy_batch_chunked(Tensor input, Tensor linear_weight, Tensor target, ...) -> ..."""
    # the other results only serve the gradient, the other options the memory that it takes
    loss = _linear_loss(g, input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing)
    return (loss, *[unread(g, "a gradient")] * (outputs - 1))


@symbolic("torch_nn", "_linear_cross_entropy_batch_chunked_no_reduction")
def linear_cross_entropy_no_reduction(
    g: GraphBuilder, input: Value, linear_weight: Value, target: Value, linear_bias: Value | None,
    weight: Value | None, ignore_index: int, *options: Any,
) -> Value:  # fmt: skip
    """torch_nn::_linear_cross_entropy_batch_chunked_no_reduction(Tensor input, Tensor linear_weight, ...) -> Tensor"""
    return _linear_loss(g, input, linear_weight, target, linear_bias, weight, "none", ignore_index, 0.0)


def _linear_loss(
    g: GraphBuilder, x: Value, matrix: Value, target: Value, bias: Value | None, weight: Value | None, reduction: str,
    ignore_index: int, smoothing: float,
) -> Value:  # fmt: skip
    scores = g.MatMul(x, g.Transpose(matrix, perm=[1, 0]))
    scores = scores if bias is None else g.Add(scores, bias)
    kind = {"none": _NONE, "mean": _MEAN, "sum": _SUM}[reduction]
    return cross_entropy_loss(g, scores, target, weight, kind, ignore_index, smoothing)


def _probability_loss(
    g: GraphBuilder, logs: Value, target: Value, weight: Value | None, reduction: int, smoothing: float, axis: int,
    classes: Any,
) -> Value:  # fmt: skip
    count = cast(g, g.size(classes), logs.element)
    if smoothing:
        target = g.Add(g.Mul(target, 1.0 - smoothing), g.Div(value_of(g, smoothing, logs.element), count))
    terms = g.Mul(logs, target)
    terms = terms if weight is None else g.Mul(terms, weight)
    loss = g.Neg(g.ReduceSum(terms, [axis], keepdims=0))
    # the mean is over samples: all elements but the classes
    return reduced(g, loss, reduction)


@symbolic("aten", "cosine_embedding_loss")
def cosine_embedding_loss(
    g: GraphBuilder, input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: int = _MEAN
) -> Value:
    """aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, ...) -> Tensor"""
    eps = 1e-12
    input1, input2 = as_float(g, input1), as_float(g, input2)
    product = g.ReduceSum(g.Mul(input1, input2), [-1], keepdims=0)
    squares = [g.Add(g.ReduceSum(g.Mul(v, v), [-1], keepdims=0), eps) for v in (input1, input2)]
    cosine = g.Div(product, g.Sqrt(g.Mul(*squares)))
    target = cast(g, target, DataType.INT32) if target.dtype == DataType.BOOL else target
    one = value_of(g, 1, target.element)
    near = g.Where(g.Equal(target, one), g.Sub(1.0, cosine), value_of(g, 0, cosine.element))
    far = g.Where(g.Equal(target, g.Neg(one)), g.Relu(g.Sub(cosine, margin)), value_of(g, 0, cosine.element))
    return reduced(g, g.Add(near, far), reduction)
