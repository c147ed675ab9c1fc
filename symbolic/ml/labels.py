"""Class labels, and the tails of classifiers: from scores to probabilities to the class."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from .dtypes import cast, double


def class_array(classes: np.ndarray) -> np.ndarray:
    """Class labels as ONNX keeps them: int64, bool, float or strings.

    Raises:
        TypeError: Labels of any other kind, or strings among other things.
    """
    array = np.asarray(classes)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "b" or array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "UT" or (array.dtype.kind == "O" and all(isinstance(c, str) for c in array)):
        return array.astype(object)
    if array.dtype.kind == "O" and all(isinstance(c, (bool, np.bool_)) for c in array):
        return array.astype(bool)
    if array.dtype.kind == "O" and all(isinstance(c, (int, np.integer)) for c in array):
        return array.astype(np.int64)
    raise TypeError(f"class labels of dtype {array.dtype} can't be held by ONNX")


def pick(g: GraphBuilder, classes: np.ndarray, index: Value) -> Value:
    """The labels at class indices."""
    labels = class_array(classes)
    if labels.dtype == np.int64 and index.dtype is ir.DataType.INT64 and np.array_equal(labels, np.arange(len(labels))):
        return index
    return g.Gather(g.constant(labels), index, axis=0)


def first_greatest(g: GraphBuilder, scores: Value) -> Value:
    """``argmax(scores, axis=1)``: the first of the greatest, in double."""
    return g.ArgMax(double(g, scores), axis=1, keepdims=0)


def above(g: GraphBuilder, scores: Value, limit: float = 0.0, *, reached: bool = False) -> Value:
    """Class index 1 where a binary score [batch] lies above the limit (or reaches it), else 0."""
    bound = np.array(limit, scores.element.numpy())
    positive = g.GreaterOrEqual(scores, bound) if reached else g.Greater(scores, bound)
    return g.Cast(positive, to=ir.DataType.INT64)


def sigmoid(g: GraphBuilder, scores: Value) -> Value:
    """``1 / (1 + exp(-scores))``, computed in double, in the dtype of the scores.

    onnxruntime's Sigmoid takes ``1 - p`` of the mirrored score, which loses small probabilities.
    """
    one = np.float64(1)
    found = cast(g, g.Div(one, g.Add(one, g.Exp(g.Neg(double(g, scores))))), scores.element)
    if scores.dtype is not ir.DataType.FLOAT:
        return found
    # where exp(-score) leaves float32 the source gets 0
    vanishes = g.Less(scores, np.float32(-np.log(np.finfo(np.float32).max)))
    return g.Where(vanishes, np.float32(0), found)


def softmax(g: GraphBuilder, scores: Value) -> Value:
    """Softmax over the classes of [batch, classes], computed in double, in the dtype of the scores."""
    return cast(g, g.Softmax(double(g, scores), axis=1), scores.element)


def two_columns(g: GraphBuilder, positive: Value) -> Value:
    """``[1 - p, p]`` for the probability of the second class, [batch]."""
    one = np.array(1, positive.element.numpy())
    p = g.Unsqueeze(positive, [1])
    return g.Concat(g.Sub(one, p), p, axis=1)


def shares(g: GraphBuilder, positive: Value) -> Value:
    """One-versus-rest scores as shares of their row's sum; equal shares where all are 0."""
    total = g.ReduceSum(positive, [1], keepdims=1)
    kind = positive.element.numpy()
    empty = g.Equal(total, np.zeros((), kind))
    width = positive.sizes[1] if positive.sizes else None
    assert isinstance(width, int)
    ones = g.Where(empty, np.ones((), kind), positive)
    return g.Div(ones, g.Where(empty, np.array(width, kind), total))
