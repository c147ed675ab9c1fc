"""Functions that ONNX has in float32 only."""

from __future__ import annotations

import math

import numpy as np

from ..builder import GraphBuilder
from ..value import Value

_NEAR, _TERMS, _DEPTH = 3.0, 56, 36


def erf(g: GraphBuilder, x: Value) -> Value:
    """The error function of doubles.

    Up to 3 its series ``2 / sqrt(pi) exp(-x^2) sum x (2 x^2)^n / (1 3 5 ... (2 n + 1))``, whose terms are all positive;
    beyond the continued fraction of 1 - erf.
    """
    size = g.Abs(x)
    near = g.Min(size, np.float64(_NEAR))
    square = g.Mul(near, near)
    total = g.Mul(square, np.float64(0))
    for n in range(_TERMS, 0, -1):  # 1 + 2 s / 3 (1 + 2 s / 5 (1 + ...))
        total = g.Mul(g.Mul(square, np.float64(2 / (2 * n + 1))), g.Add(total, np.float64(1)))
    scale = g.Mul(g.Exp(g.Neg(square)), np.float64(2 / math.sqrt(math.pi)))
    series = g.Mul(g.Mul(scale, near), g.Add(total, np.float64(1)))
    far = g.Max(size, np.float64(_NEAR))
    fraction = far
    for n in range(_DEPTH, 0, -1):  # x + (1 / 2) / (x + (2 / 2) / (x + ...))
        fraction = g.Add(far, g.Div(np.float64(n / 2), fraction))
    tail = g.Div(g.Mul(g.Exp(g.Neg(g.Mul(far, far))), np.float64(1 / math.sqrt(math.pi))), fraction)
    found = g.Where(g.Less(size, np.float64(_NEAR)), series, g.Sub(np.float64(1), tail))
    return g.Where(g.Less(x, np.float64(0)), g.Neg(found), found)
