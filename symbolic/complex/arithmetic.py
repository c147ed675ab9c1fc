"""Arithmetic of complex tensors. Operands may be real as well; their parts have one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, overload

import numpy as np

from ..value import Value
from ..xla import functions
from .number import (
    Complex,
    Number,
    as_complex,
    imaginary_part,
    multilinear,
    real_part,
    scalar,
    spread,
)

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@overload
def each(x: Complex, function: Callable[[Value], Value]) -> Complex: ...


@overload
def each(x: Number, function: Callable[[Value], Value]) -> Number: ...


def each(x: Number, function: Callable[[Value], Value]) -> Number:
    """Applies a function of real tensors, which moves elements about, to both parts."""
    return Complex(function(x.real), function(x.imag)) if isinstance(x, Complex) else function(x)


def add(g: GraphBuilder, x: Number, y: Number) -> Number:
    """x + y"""
    real = g.Add(real_part(x), real_part(y))
    a, b = imaginary_part(x), imaginary_part(y)
    if a is not None and b is not None:
        return Complex(real, g.Add(a, b))
    either = b if a is None else a
    return real if either is None else Complex(real, spread(g, either, real))


def sub(g: GraphBuilder, x: Number, y: Number) -> Number:
    """x - y"""
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(g.Sub(x.real, y.real), g.Sub(x.imag, y.imag))
    real = g.Sub(real_part(x), real_part(y))
    if isinstance(x, Complex):
        return Complex(real, spread(g, x.imag, real))
    return Complex(real, spread(g, g.Neg(y.imag), real)) if isinstance(y, Complex) else real


def neg(g: GraphBuilder, x: Number) -> Number:
    """-x"""
    return Complex(g.Neg(x.real), g.Neg(x.imag)) if isinstance(x, Complex) else g.Neg(x)


def conj(g: GraphBuilder, x: Number) -> Number:
    """The complex conjugate."""
    return Complex(x.real, g.Neg(x.imag)) if isinstance(x, Complex) else x


def mul(g: GraphBuilder, x: Number, y: Number) -> Number:
    """x * y"""
    return multilinear(g, g.Mul, [x, y])


def times_i(g: GraphBuilder, z: Complex, factor: int = 1) -> Complex:
    """z * i, or z * -i for the factor -1."""
    return Complex(g.Neg(z.imag), z.real) if factor > 0 else Complex(z.imag, g.Neg(z.real))


def div(g: GraphBuilder, x: Number, y: Number) -> Number:
    """x / y by Smith's method, on the larger part of the divisor: nothing overflows or vanishes on the way."""
    if not isinstance(y, Complex):
        return each(x, lambda part: g.Div(part, y))
    zero = scalar(g, 0.0, y.real)
    real, imaginary = real_part(x), imaginary_part(x)
    rest = zero if imaginary is None else imaginary
    flat = g.GreaterOrEqual(g.Abs(y.real), g.Abs(y.imag))
    large, small = g.Where(flat, y.real, y.imag), g.Where(flat, y.imag, y.real)
    ratio = g.Where(g.Equal(large, zero), zero, g.Div(small, large))
    scale = g.Reciprocal(g.Add(large, g.Mul(small, ratio)))
    first, second = g.Where(flat, real, rest), g.Where(flat, rest, real)
    return Complex(
        g.Mul(g.Add(first, g.Mul(second, ratio)), scale),
        g.Mul(g.Sub(second, g.Mul(first, ratio)), g.Where(flat, scale, g.Neg(scale))),
    )


def reciprocal(g: GraphBuilder, z: Complex) -> Number:
    """1 / z"""
    return div(g, scalar(g, 1.0, z.real), z)


def absolute(g: GraphBuilder, x: Number) -> Value:
    """|x|, scaled by the larger part: squares neither overflow nor vanish."""
    if not isinstance(x, Complex):
        result: Value = g.Abs(x)
        return result
    a, b = g.Abs(x.real), g.Abs(x.imag)
    info = np.finfo(x.element.numpy())
    large = g.Max(a, b)
    # the bounds keep 0 / 0 and inf / inf out
    safe = g.Min(g.Max(large, scalar(g, info.tiny, large)), scalar(g, info.max, large))
    ratio = g.Div(g.Min(a, b), safe)
    return g.Mul(large, g.Sqrt(g.Add(g.Mul(ratio, ratio), scalar(g, 1.0, large))))


def angle(g: GraphBuilder, x: Number) -> Value:
    """The argument; of a real tensor 0 or pi."""
    if isinstance(x, Complex):
        return functions.atan2(g, x.imag, x.real)
    turned = g.Where(g.Less(x, scalar(g, 0.0, x)), scalar(g, np.pi, x), scalar(g, 0.0, x))
    return g.Where(g.IsNaN(x), x, turned)


def polar(g: GraphBuilder, size: Value, angle: Value) -> Complex:
    """size * exp(i angle)"""
    return Complex(g.Mul(size, g.Cos(angle)), g.Mul(size, g.Sin(angle)))


def sgn(g: GraphBuilder, z: Complex) -> Complex:
    """z / |z|; 0 for 0."""
    size = absolute(g, z)
    zero = g.Equal(size, scalar(g, 0.0, size))
    size = g.Where(zero, scalar(g, 1.0, size), size)
    return Complex(g.Div(z.real, size), g.Div(z.imag, size))


def equal(g: GraphBuilder, x: Number, y: Number) -> Value:
    """Whether both parts are equal."""
    same: Value = g.Equal(real_part(x), real_part(y))
    if not isinstance(x, Complex) and not isinstance(y, Complex):
        return same
    zero = scalar(g, 0.0, real_part(x))
    parts = [zero if part is None else part for part in (imaginary_part(x), imaginary_part(y))]
    return g.And(same, g.Equal(*parts))


def is_zero(g: GraphBuilder, z: Complex) -> Value:
    """Whether both parts are zero."""
    zero = scalar(g, 0.0, z.real)
    return g.And(g.Equal(z.real, zero), g.Equal(z.imag, zero))


def product(g: GraphBuilder, z: Complex, axis: int, count: int) -> Complex:
    """Product of `count` elements along an axis, which is dropped: halves are multiplied with each other."""
    if not count:
        sums = each(z, lambda part: g.ReduceSum(part, [axis], keepdims=0))
        return Complex(g.Add(sums.real, scalar(g, 1.0, z.real)), sums.imag)
    while count > 1:
        half = count // 2
        parts = [_cut(g, z, axis, start, half) for start in (0, half)]
        folded = as_complex(g, mul(g, parts[0], parts[1]))
        if count % 2:
            rest = _cut(g, z, axis, 2 * half, 1)
            folded = Complex(
                g.Concat(folded.real, rest.real, axis=axis), g.Concat(folded.imag, rest.imag, axis=axis)
            )  # fmt: skip
        z, count = folded, half + count % 2
    return Complex(g.Squeeze(z.real, [axis]), g.Squeeze(z.imag, [axis]))


def _cut(g: GraphBuilder, z: Complex, axis: int, start: int, count: int) -> Complex:
    ends = [start], [start + count], [axis]
    return Complex(g.Slice(z.real, *ends), g.Slice(z.imag, *ends))


def running_product(g: GraphBuilder, z: Complex, axis: int) -> Complex:
    """Products of all elements up to each one along an axis."""
    if z.dim(axis) == 0:
        return z
    return _scanned(g, z, axis)[1]


def product_in_turn(g: GraphBuilder, z: Complex, axis: int) -> Complex:
    """Product of all elements along an axis of open size, which is dropped; 1 where there are none."""
    return _scanned(g, z, axis)[0]


def _scanned(g: GraphBuilder, z: Complex, axis: int) -> tuple[Complex, Complex]:
    body = g.subgraph("cumprod")
    sizes = None if z.sizes is None else [s for i, s in enumerate(z.sizes) if i != axis]
    before = Complex(*(body.input(n, z.element, sizes) for n in ("real", "imag")))
    here = Complex(*(body.input(n, z.element, sizes) for n in ("x", "y")))
    after = as_complex(body, mul(body, before, here))
    for value in (after.real, after.imag, after.real, after.imag):
        body.output(value)
    if sizes is None or None in sizes:
        shape = g.Gather(g.Shape(z.real), [i for i in range(z.rank) if i != axis])
        ones, zeros = (g.Expand(scalar(g, value, z.real), shape) for value in (1.0, 0.0))
    else:
        ones, zeros = (g.expand(scalar(g, value, z.real), sizes) for value in (1.0, 0.0))
    axes = [axis, axis]
    results = g.call(
        "Scan", ones, zeros, z.real, z.imag, body=body, num_scan_inputs=2, scan_input_axes=axes, scan_output_axes=axes,
        outputs=4,
    )  # fmt: skip
    return Complex(*results[:2]), Complex(*results[2:])
