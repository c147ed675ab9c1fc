"""Discrete Fourier transforms along one axis, as products with matrices of cosines and sines.

Runtimes' own transforms lose up to four digits where the length isn't a power of two, so that none is used here.
A known length that is long and has factors is transformed in two steps, row by row and column by column; a long one
without (a large prime) as a convolution with a chirp. The angles are reduced in whole numbers: long signals stay exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..value import Value
from . import arithmetic, open_lengths
from .number import Complex, Number, as_complex, imaginary_part, real_part, scalar
from .waves import Length, known, matrix_product, unit_circle, value, waves

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Most elements of a matrix that is written into the model.
_LARGEST = 1 << 18


def transform(
    g: GraphBuilder, x: Number, axis: int, length: Length | None = None, *, inverse: bool = False, power: float = 0.0
) -> Complex:
    """The discrete Fourier transform along an axis.

    Args:
        g: Builder.
        x: Real or complex tensor.
        axis: Axis, counted from the front.
        length: Length of the transform: the signal is cut off, or zeros are added; its own where None.
        inverse: The inverse transform, without its factor.
        power: The result is divided by the length to this power.
    """
    x, size, rows = _fitted(g, x, axis, length)
    return _moved(g, x, axis, lambda z: _last(g, z, size, rows, None, inverse, power))


def half_transform(
    g: GraphBuilder, x: Value, axis: int, length: Length | None = None, *, power: float = 0.0
) -> Complex:
    """The non-negative half of a real signal's spectrum: as `transform`, the first length // 2 + 1 results."""
    signal, size, rows = _fitted(g, x, axis, length)
    return _moved(g, signal, axis, lambda z: _last(g, z, size, rows, _half(g, size), False, power))


def half_inverse(g: GraphBuilder, x: Number, axis: int, length: Length | None = None, *, power: float = 1.0) -> Value:
    """The real signal whose spectrum has this non-negative half; the inverse of `half_transform`.

    Args:
        g: Builder.
        x: The half spectrum; what it has beyond length // 2 + 1 is cut off, what lacks counts as zero.
        axis: Axis, counted from the front.
        length: Length of the signal; 2 (bins - 1) where None.
        power: The result is divided by the length to this power.
    """
    bins = _size(g, x, axis)
    size = length if length is not None else _plus(g, bins, bins, -2)
    z, half, rows = _fitted(g, x, axis, _half(g, size))
    found = _moved(g, z, axis, lambda s: Complex(_real_last(g, s, size, half, rows, power), real_part(s)))
    return found.real


# --- lengths ---------------------------------------------------------------------------------------------------------


def _size(g: GraphBuilder, x: Number, axis: int) -> Length:
    part = real_part(x)
    size = part.dim(axis)
    if size is not None:
        return size
    found: Value = g.Squeeze(g.Shape(part, start=axis, end=axis + 1), [0])
    return found


def _plus(g: GraphBuilder, a: Length, b: Length, c: int) -> Length:
    if isinstance(a, Value) or isinstance(b, Value):
        total: Value = g.Add(g.Add(value(g, a), value(g, b)), c)
        return total
    return a + b + c


def _half(g: GraphBuilder, size: Length) -> Length:
    if isinstance(size, Value):
        half: Value = g.Add(g.Div(size, 2), 1)
        return half
    return size // 2 + 1


def _fitted(g: GraphBuilder, x: Number, axis: int, length: Length | None) -> tuple[Number, Length, Length]:
    """The signal cut off at a length, the length, and how much of it the signal fills: the rest counts as zero."""
    own = known(_size(g, x, axis))
    if length is None:
        return x, own, own
    size = known(length)
    if own == size or (isinstance(own, int) and isinstance(size, int) and own < size):
        return x, size, own

    def cut(part: Value) -> Value:
        result: Value = g.Slice(part, [0], g.shape_vector([size]), [axis])
        return result

    shorter = Complex(cut(x.real), cut(x.imag)) if isinstance(x, Complex) else cut(x)
    if isinstance(own, int) and isinstance(size, int):
        return shorter, size, size
    return shorter, size, g.Min(value(g, own), value(g, size))


def _moved(g: GraphBuilder, x: Number, axis: int, function: Any) -> Complex:
    """Applies a function along an axis that it finds last."""
    rank = real_part(x).rank
    if axis == rank - 1:
        result: Complex = function(x)
        return result
    order = [i for i in range(rank) if i != axis] + [axis]
    back = [order.index(i) for i in range(rank)]
    found: Complex = function(arithmetic.each(x, lambda p: g.Transpose(p, perm=order)))
    return arithmetic.each(found, lambda p: g.Transpose(p, perm=back))


# --- the last axis ---------------------------------------------------------------------------------------------------


def _last(
    g: GraphBuilder, x: Number, size: Length, rows: Length, columns: Length | None, inverse: bool, power: float
) -> Complex:
    """`columns` results (all where None) of a signal that fills `rows` of a length."""
    if not isinstance(size, int):
        found = open_lengths.spectrum(g, x, size, rows, size if columns is None else columns, inverse)
        return _divided(g, found, size, power)
    count = size if columns is None else columns
    assert isinstance(count, int)
    if size < 4 or (isinstance(rows, int) and rows * count <= _LARGEST):
        taken = rows if isinstance(rows, int) else size
        return matrix_product(g, _filled(g, x, rows, taken), waves(g, size, taken, count, x, power), inverse)
    x = _filled(g, x, rows, size)
    first = max(f for f in range(1, math.isqrt(size) + 1) if size % f == 0)
    if first * 16 < math.isqrt(size):  # a large prime factor
        whole = _chirp(g, as_complex(g, x), size, inverse)
    else:
        whole = _in_two_steps(g, x, size, first, inverse)
    return _divided(g, arithmetic.each(whole, lambda p: _first(g, p, count, size)), size, power)


def _filled(g: GraphBuilder, x: Number, rows: Length, size: int) -> Number:
    """The signal with zeros up to its full length."""
    if rows == size:
        return x
    rank = real_part(x).rank
    lacking = size - rows if isinstance(rows, int) else g.Sub(size, value(g, rows))
    pads = g.shape_vector([0] * (2 * rank - 1) + [lacking])
    padded = arithmetic.each(x, lambda p: g.Pad(p, pads))
    for part in (real_part(padded), imaginary_part(padded)):
        if part is not None and part.sizes is not None:
            part.sizes = (*part.sizes[:-1], size)
    return padded


def _first(g: GraphBuilder, x: Value, count: int, size: int) -> Value:
    return x if count == size else g.Slice(x, [0], [count], [-1])


def _divided(g: GraphBuilder, z: Complex, size: Length, power: float) -> Complex:
    if not power:
        return z
    factor = scalar(g, float(size) ** -power, z.real) if isinstance(size, int) else _factor(g, size, power, z.element)
    return Complex(g.Mul(z.real, factor), g.Mul(z.imag, factor))


def _factor(g: GraphBuilder, size: Length, power: float, dtype: ir.DataType) -> Value:
    length = g.Cast(value(g, size), to=dtype)
    result: Value = g.Reciprocal(g.Sqrt(length) if power == 0.5 else length)
    return result


def _real_last(g: GraphBuilder, x: Number, size: Length, half: Length, rows: Length, power: float) -> Value:
    """The real signal of a half spectrum: all frequencies but the outer ones stand for two."""
    z = as_complex(g, x)
    if isinstance(size, int) and isinstance(rows, int) and rows * size <= _LARGEST:
        weight = np.where((np.arange(rows) == 0) | (2 * np.arange(rows) == size), 1.0, 2.0)[:, None]
        cosine, sine = waves(g, size, rows, size, z, power, weight)
        result: Value = g.Sub(g.MatMul(z.real, cosine), g.MatMul(z.imag, sine))
        return result
    if isinstance(size, int) and isinstance(half, int):
        z = as_complex(g, _filled(g, z, rows, half))
        mirrored = Complex(_mirror(g, z.real, size), g.Neg(_mirror(g, z.imag, size)))
        whole = Complex(g.Concat(z.real, mirrored.real, axis=-1), g.Concat(z.imag, mirrored.imag, axis=-1))
        # the imaginary part of the outer frequencies has no place in a real signal: taking the real part drops it
        return _last(g, whole, size, size, None, True, power).real
    factor = _factor(g, size, power, z.element) if power else None
    return open_lengths.real_signal(g, z, size, half, rows, factor)


def _mirror(g: GraphBuilder, x: Value, size: int) -> Value:
    """The frequencies 1 to (size - 1) // 2, backwards."""
    count = (size - 1) // 2
    result: Value = g.Slice(x, [count], [0], [-1], [-1])
    return result


# --- long signals ----------------------------------------------------------------------------------------------------


def _in_two_steps(g: GraphBuilder, x: Number, size: int, first: int, inverse: bool) -> Complex:
    """By rows and columns of the signal as a (first, second) matrix: element n2 a + b gives frequency c + n1 d."""
    second = size // first
    *lead, _ = _sizes(g, x)
    table = arithmetic.each(x, lambda p: g.reshape(p, [*lead, first, second]))
    rank = len(lead) + 2
    swap = [*range(rank - 2), rank - 1, rank - 2]
    columns = _last(g, arithmetic.each(table, lambda p: g.Transpose(p, perm=swap)), first, first, None, inverse, 0.0)
    cosine, sine = unit_circle(np.outer(np.arange(second), np.arange(first)), size)  # (b, c)
    twiddle = Complex(g.constant(cosine, columns.element), g.constant(sine if inverse else -sine, columns.element))
    rotated = as_complex(g, arithmetic.mul(g, columns, twiddle))
    turned = arithmetic.each(rotated, lambda p: g.Transpose(p, perm=swap))  # (c, b)
    spectrum = _last(g, turned, second, second, None, inverse, 0.0)  # (c, d)
    return arithmetic.each(spectrum, lambda p: g.reshape(g.Transpose(p, perm=swap), [*lead, size]))


def _sizes(g: GraphBuilder, x: Number) -> list[Any]:
    return [_size(g, x, i) for i in range(real_part(x).rank)]


def _chirp(g: GraphBuilder, z: Complex, size: int, inverse: bool) -> Complex:
    """By Bluestein's identity j k = (j^2 + k^2 - (k - j)^2) / 2: a convolution, done at a length with factors."""
    index = np.arange(size)
    cosine, sine = unit_circle(index * index % (2 * size), 2 * size)
    sine = sine if inverse else -sine
    length = 1 << (2 * size - 1).bit_length()
    kernel = np.zeros(length, np.complex128)
    kernel[:size] = cosine - 1j * sine
    kernel[length - size + 1 :] = kernel[size - 1 : 0 : -1]
    response = np.fft.fft(kernel) / length
    dtype = z.element
    chirp = Complex(g.constant(cosine, dtype), g.constant(sine, dtype))
    filter_ = Complex(g.constant(response.real.copy(), dtype), g.constant(response.imag.copy(), dtype))
    spectrum = transform(g, arithmetic.mul(g, z, chirp), z.rank - 1, length)
    folded = transform(g, arithmetic.mul(g, spectrum, filter_), z.rank - 1, inverse=True)
    kept = arithmetic.each(folded, lambda p: g.Slice(p, [0], [size], [-1]))
    return as_complex(g, arithmetic.mul(g, kept, chirp))
