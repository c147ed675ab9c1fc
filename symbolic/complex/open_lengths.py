"""Fourier transforms along a last axis of open length: by a matrix if it is short, by a chirp if it is long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import Size
from ..value import Value
from .arithmetic import each, mul
from .number import Complex, Number, as_complex, from_pair, real_part, scalar, to_pair
from .waves import Length, circle_at, matrix_product, open_waves, value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Longest signal that is multiplied by a matrix, where there is another way.
_SHORT = 512
_POWERS = 2 ** np.arange(1, 31, dtype=np.int64)


def spectrum(g: GraphBuilder, x: Number, size: Length, rows: Length, columns: Length, inverse: bool) -> Complex:
    """The first `columns` results for a signal that fills `rows` of a length."""

    def by_matrix(b: GraphBuilder) -> list[Value]:
        found = matrix_product(b, x, open_waves(b, size, rows, columns, real_part(x).element), inverse)
        return [found.real, found.imag]

    def by_chirp(b: GraphBuilder) -> list[Value]:
        found = _chirp(b, as_complex(b, x), size, rows, columns, inverse)
        return [found.real, found.imag]

    return Complex(*_by_length(g, size, by_matrix, by_chirp, _result(real_part(x), columns), 2))


def real_signal(
    g: GraphBuilder, z: Complex, size: Length, half: Length, rows: Length, factor: Value | None
) -> Value:  # fmt: skip
    """The real signal of a half spectrum, times a factor."""

    def by_matrix(b: GraphBuilder) -> list[Value]:
        index = b.Range(0, value(b, rows), 1)
        outer = b.Or(b.Equal(index, 0), b.Equal(b.Mul(index, 2), value(b, size)))
        weight = b.Where(outer, scalar(b, 1.0, z.real), scalar(b, 2.0, z.real))
        cosine, sine = open_waves(b, size, rows, size, z.element)
        return [b.Sub(b.MatMul(b.Mul(z.real, weight), cosine), b.MatMul(b.Mul(z.imag, weight), sine))]

    def by_chirp(b: GraphBuilder) -> list[Value]:
        count = value(b, half)
        full = each(z, lambda part: _padded(b, part, b.Sub(count, value(b, rows))))
        last = b.Unsqueeze(b.Div(b.Sub(value(b, size), 1), 2), [0])
        back = each(full, lambda part: b.Slice(part, last, [0], [-1], [-1]))
        whole = Complex(
            b.Concat(full.real, back.real, axis=-1), b.Concat(full.imag, b.Neg(back.imag), axis=-1)
        )  # fmt: skip
        return [_chirp(b, whole, size, size, size, True).real]

    (signal,) = _by_length(g, size, by_matrix, by_chirp, _result(z.real, size), 1)
    return signal if factor is None else g.Mul(signal, factor)


def _result(x: Value, length: Length) -> tuple[Size | None, ...]:
    return (*(x.sizes or ())[:-1], None if isinstance(length, Value) else length)


def _by_length(
    g: GraphBuilder, size: Length, short: Callable[[Any], list[Value]], long: Callable[[Any], list[Value]],
    sizes: tuple[Size | None, ...], count: int,
) -> list[Value]:  # fmt: skip
    if g.opset < 17:  # there is no transform at run time that a long one could be built upon
        return short(g)
    bodies = []
    for way in (short, long):
        body = g.subgraph()
        for part in way(body):
            body.output(part)
        bodies.append(body)
    found = g.call(
        "If", g.LessOrEqual(value(g, size), _SHORT), then_branch=bodies[0], else_branch=bodies[1], outputs=count
    )
    results = list(found) if isinstance(found, tuple) else [found]
    for result in results:
        result.sizes = sizes
    return results


def _chirp(g: GraphBuilder, z: Complex, size: Length, rows: Length, columns: Length, inverse: bool) -> Complex:
    """By Bluestein's identity j k = (j^2 + k^2 - (k - j)^2) / 2: a convolution, done at a power of two.

    At these lengths the runtime's own transform is exact.
    """
    if z.rank == 1:
        row = each(z, lambda part: g.Unsqueeze(part, [0]))
        return each(_chirp(g, row, size, rows, columns, inverse), lambda part: g.Squeeze(part, [0]))
    length = value(g, size)
    steps, double = g.Range(0, length, 1), g.Mul(length, 2)
    cosine, sine = circle_at(g, g.Mod(g.Mul(steps, steps), double), double, z.element)
    chirp = Complex(cosine, sine if inverse else g.Neg(sine))
    needed = g.Sub(double, 1)
    table = g.constant(_POWERS)
    whole = g.ReduceMin(g.Where(g.GreaterOrEqual(table, needed), table, int(_POWERS[-1])), [0], keepdims=0)

    def first(part: Value, count: Length) -> Value:
        result: Value = g.Slice(part, [0], g.Unsqueeze(value(g, count), [0]), [-1])
        return result

    def filter_(part: Value) -> Value:
        back = g.Slice(part, g.Unsqueeze(g.Sub(length, 1), [0]), [0], [-1], [-1])
        tail = _padded(g, part, g.Sub(whole, needed))
        return g.Unsqueeze(g.Concat(tail, back, axis=-1), [0])

    signal = as_complex(g, mul(g, z, each(chirp, lambda part: first(part, rows))))
    filled = each(signal, lambda part: _padded(g, part, g.Sub(whole, value(g, rows))))
    response = _transform(g, each(Complex(chirp.real, g.Neg(chirp.imag)), filter_))
    product = as_complex(g, mul(g, _transform(g, filled), response))
    folded = each(_transform(g, product, inverse=1), lambda part: first(part, columns))
    return as_complex(g, mul(g, folded, each(chirp, lambda part: first(part, columns))))


def _transform(g: GraphBuilder, z: Complex, inverse: int = 0) -> Complex:
    """The runtime's own transform of the last axis."""
    return from_pair(g, g.DFT(to_pair(g, z), None, z.rank - 1, inverse=inverse))


def _padded(g: GraphBuilder, x: Value, count: Value) -> Value:
    """Zeros added at the end of the last axis."""
    result: Value = g.Pad(x, g.shape_vector([0] * (2 * x.rank - 1) + [count]))
    return result
