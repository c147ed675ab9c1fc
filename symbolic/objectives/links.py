"""Links in float32 as a C library computes them: functions in double, rounded once."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml.dtypes import cast, double
from ..value import Value


def column(g: GraphBuilder, x: Value) -> Value:
    """[batch, 1] as [batch]; wider results as they are."""
    return g.Squeeze(x, [1]) if x.dim(1) == 1 else x


def exp(g: GraphBuilder, x: Value) -> Value:
    """``expf``: the double result, rounded to the dtype of x."""
    return cast(g, g.Exp(double(g, x)), x.element)


def sigmoid(g: GraphBuilder, x: Value, scale: float = 1.0) -> Value:
    """``1 / (1 + exp(-scale * x))`` in double."""
    wide = double(g, x)
    scaled = wide if scale == 1 else g.Mul(wide, np.float64(scale))
    return g.Div(np.float64(1), g.Add(np.float64(1), g.Exp(g.Neg(scaled))))


def softmax(g: GraphBuilder, x: Value) -> Value:
    """Softmax over the outputs: exponentials in the dtype of x, their sum in double."""
    terms = exp(g, g.Sub(x, g.ReduceMax(x, [1], keepdims=1)))
    total = cast(g, g.ReduceSum(double(g, terms), [1], keepdims=1), x.element)
    return g.Div(terms, total)


def first_greatest(g: GraphBuilder, x: Value) -> Value:
    """Index of the first of the greatest outputs, int64[batch]."""
    return g.ArgMax(double(g, x), axis=1, keepdims=0)


def as_dtype(g: GraphBuilder, x: Value, kind: type) -> Value:
    """The value in a numpy dtype."""
    return cast(g, x, ir.DataType.from_numpy(np.dtype(kind)))
