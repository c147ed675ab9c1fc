"""Random numbers: of the same distribution; which ones they are differs from TensorFlow's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from ..value import Value
from .common import DIALECT, cast, int64

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _uniform(g: GraphBuilder, sizes: Value, dtype: ir.DataType) -> Value:
    zeros = g.Expand(g.constant(np.zeros((), np.float32)), int64(g, sizes))
    return cast(g, g.RandomUniformLike(zeros, dtype=_T.FLOAT), dtype)


@symbolic(DIALECT, "RandomUniform")
def random_uniform(g: GraphBuilder, sizes: Value, *, dtype: ir.DataType, seed: int = 0, seed2: int = 0) -> Value:
    """RandomUniform(shape: T, dtype: type, seed: int, seed2: int) -> dtype"""
    return _uniform(g, sizes, dtype)


@symbolic(DIALECT, "RandomStandardNormal")
def random_normal(g: GraphBuilder, sizes: Value, *, dtype: ir.DataType, seed: int = 0, seed2: int = 0) -> Value:
    """RandomStandardNormal(shape: T, dtype: type, seed: int, seed2: int) -> dtype"""
    zeros = g.Expand(g.constant(np.zeros((), np.float32)), int64(g, sizes))
    return cast(g, g.RandomNormalLike(zeros, dtype=_T.FLOAT), dtype)


@symbolic(DIALECT, "RandomUniformInt")
def random_uniform_int(
    g: GraphBuilder, sizes: Value, low: Value, high: Value, *, seed: int = 0, seed2: int = 0
) -> Value:
    """RandomUniformInt(shape: T, minval: Tout, maxval: Tout, seed: int, seed2: int) -> Tout"""
    span: Any = g.Cast(g.Sub(high, low), to=_T.DOUBLE)
    drawn = g.Floor(g.Mul(_uniform(g, sizes, _T.DOUBLE), span))
    below = g.Min(drawn, g.Sub(span, 1.0))
    return g.Add(g.Cast(below, to=low.element), low)
