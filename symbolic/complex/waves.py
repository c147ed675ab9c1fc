"""Matrices of cosines and sines, and products with them. The angles are reduced in whole numbers: they stay exact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Dim
from ..value import Value
from .number import Complex, Number, imaginary_part, real_part, scalar

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: A length: number, Dim, or an int64 scalar known at run time.
Length = int | Dim | Value
_T = ir.DataType


def value(g: GraphBuilder, size: Length) -> Value:
    """A length as an int64 scalar."""
    return size if isinstance(size, Value) else g.size(size)


def known(size: Length) -> Length:
    """A length as a number, where its value is known."""
    if isinstance(size, Value) and size.array is not None:
        return int(size.array.reshape(-1)[0])
    return size


def waves(
    g: GraphBuilder, size: int, rows: int, columns: int, like: Number, power: float = 0.0, weight: Any = 1.0
) -> tuple[Value, Value]:
    """cos and sin of 2 pi row column / size, divided by a power of the size."""
    cosine, sine = unit_circle(np.outer(np.arange(rows), np.arange(columns)), max(size, 1))
    factor = weight * float(max(size, 1)) ** -power
    dtype = real_part(like).element
    return g.constant(cosine * factor, dtype), g.constant(sine * factor, dtype)


def unit_circle(turns: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi turns / size, for whole numbers; exactly 0 and 1 where they should be."""
    steps = np.arange(size)
    angles = steps * (2 * np.pi / size)
    cosine, sine = np.cos(angles), np.sin(angles)
    cosine[(4 * steps == size) | (4 * steps == 3 * size)] = 0.0
    sine[2 * steps == size] = 0.0
    index = turns % size
    return cosine[index], sine[index]


def open_waves(g: GraphBuilder, size: Length, rows: Length, columns: Length, dtype: ir.DataType) -> tuple[Value, Value]:
    """As `waves`, made at run time."""
    length = value(g, size)
    row, column = (g.Range(0, value(g, count), 1) for count in (rows, columns))
    return circle_at(g, g.Mod(g.Mul(g.Unsqueeze(row, [1]), column), length), length, dtype)


def circle_at(g: GraphBuilder, turns: Value, length: Value, dtype: ir.DataType) -> tuple[Value, Value]:
    """cos and sin of 2 pi turns / length at run time, for whole numbers of turns below the length."""
    # a half turn is a sign: angles up to pi keep one digit more, and the zeros of the sine are exact
    wide = dtype if dtype.itemsize >= 4 else _T.FLOAT
    double = g.Mul(turns, 2)
    turned = g.GreaterOrEqual(double, length)
    rest = g.Where(turned, g.Sub(double, length), double)
    angle = g.Mul(g.Div(g.Cast(rest, to=wide), g.Cast(length, to=wide)), math.pi)
    signed = [g.Where(turned, g.Neg(w), w) for w in (g.Cos(angle), g.Sin(angle))]
    cosine, sine = (w if wide is dtype else g.Cast(w, to=dtype) for w in signed)
    return cosine, sine


def matrix_product(g: GraphBuilder, x: Number, wave: tuple[Value, Value], inverse: bool) -> Complex:
    """x (cos - i sin), for the inverse x (cos + i sin)."""
    cosine, sine = wave
    a, b = real_part(x), imaginary_part(x)
    real, imaginary = g.MatMul(a, cosine), g.MatMul(a, sine)
    if b is not None:
        other, across = g.MatMul(b, sine), g.MatMul(b, cosine)
        real = g.Sub(real, other) if inverse else g.Add(real, other)
        imaginary = g.Add(across, imaginary) if inverse else g.Sub(across, imaginary)
        return Complex(real, imaginary)
    return Complex(real, imaginary if inverse else g.Sub(scalar(g, 0.0, real), imaginary))
