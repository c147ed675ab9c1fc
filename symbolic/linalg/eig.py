"""Eigenvalues and eigenvectors of square matrices, as LAPACK finds and scales them (geev)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..value import Value
from .hessenberg import balanced, hessenberg
from .jacobi import scale_of
from .rotations import length_of, safe
from .schur import bands_of, schur, shifted
from .steps import down, epsilon, filled, fixed, numbers, repeat, row, sign_of, sizes_of, swapped

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Real and imaginary part.
Parts = tuple[Value, Value]


def eig(g: GraphBuilder, x: Value, *, vectors: bool = True) -> tuple[Parts, Parts | None]:
    """Eigenvalues in the order in which LAPACK finds them, and the eigenvectors in columns of length 1 if wanted.

    Of conjugate pairs the value with the positive imaginary part comes first; the largest element of a complex vector
    is real. The signs of vectors are LAPACK's where rounding errors don't decide on them.
    """
    size, batch = fixed(x, -1), sizes_of(g, x, -2)
    if size == 0:
        none = filled(g, x, [*batch, 0])
        return (none, none), (x, x)
    x = x if x.rank == 3 else g.reshape(x, [-1, size, size])
    scale = scale_of(g, x)
    a, scales = balanced(g, g.Div(x, scale))
    h, basis = hessenberg(g, a, vectors=vectors)
    t, basis = schur(g, h, basis)
    pairs = _standardised(g, t)
    back = g.Squeeze(scale, [2])
    values = _reshaped(g, (g.Mul(pairs.real, back), g.Mul(pairs.imaginary, back)), [*batch, size])
    if basis is None:
        return values, None
    turn = _rotation(g, pairs)
    t = g.MatMul(g.MatMul(swapped(g, turn), t), turn)
    found = _vectors(g, t, g.MatMul(scales, g.MatMul(basis, turn)), pairs)
    return values, _reshaped(g, found, [*batch, size, size])


def _reshaped(g: GraphBuilder, x: Parts, sizes: list[Any]) -> Parts:
    return g.reshape(x[0], sizes), g.reshape(x[1], sizes)


# --- blocks of two rows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Rows k and k + 1 of blocks ((a, b), (c, a)) after a rotation that splits or standardises them, (batch, n) each.

    Attributes:
        starts: A block of two rows starts in row k.
        complex: And its eigenvalues aren't real; then b c < 0.
        cosine: Of the rotation.
        sine: Of the rotation.
        above: b, else 1.
        below: c, else 0.
        real: Real parts of all eigenvalues.
        imaginary: Imaginary parts of all eigenvalues.
    """

    starts: Value
    complex: Value
    cosine: Value
    sine: Value
    above: Value
    below: Value
    real: Value
    imaginary: Value


def _standardised(g: GraphBuilder, t: Value) -> _Pairs:
    """What makes blocks of two rows triangular, or their diagonal elements equal (lanv2)."""
    bands = bands_of(g, t)
    a, b, c, d = bands.diagonal, *(shifted(g, v, 1) for v in (bands.above, bands.left, bands.diagonal))
    starts = g.Not(g.Equal(c, 0.0))
    gap, p = g.Sub(a, d), g.Mul(g.Sub(a, d), 0.5)
    most, least = g.Max(g.Abs(b), g.Abs(c)), g.Min(g.Abs(b), g.Abs(c))
    least = g.Mul(least, g.Mul(sign_of(g, b), sign_of(g, c)))
    scale = safe(g, g.Max(g.Abs(p), most))
    z = g.Add(g.Mul(g.Div(p, scale), p), g.Mul(g.Div(most, scale), least))
    real = g.GreaterOrEqual(z, 4 * epsilon(t))
    # two real eigenvalues
    root = g.Mul(g.Sqrt(scale), g.Sqrt(g.Max(z, 0.0)))
    z = safe(g, g.Add(p, g.Mul(sign_of(g, p), root)))
    length = safe(g, length_of(g, c, z))
    empty = g.Equal(b, 0.0)  # then both rows change places
    first = g.Where(empty, d, g.Add(d, z))
    second = g.Where(empty, a, g.Sub(d, g.Mul(g.Div(most, z), least)))
    cosine, sine = g.Where(empty, 0.0, g.Div(z, length)), g.Where(empty, 1.0, g.Div(c, length))
    real = g.Or(real, empty)
    # complex ones, or nearly equal ones
    sigma = g.Add(b, c)
    length = length_of(g, sigma, gap)
    ratio = g.Where(g.Equal(length, 0.0), 1.0, g.Div(g.Abs(sigma), safe(g, length)))
    cs = g.Sqrt(g.Mul(g.Add(ratio, 1.0), 0.5))
    sn = g.Neg(g.Mul(g.Div(p, safe(g, g.Mul(length, cs))), sign_of(g, sigma)))
    aa, bb = g.Add(g.Mul(a, cs), g.Mul(b, sn)), g.Sub(g.Mul(b, cs), g.Mul(a, sn))
    cc, dd = g.Add(g.Mul(c, cs), g.Mul(d, sn)), g.Sub(g.Mul(d, cs), g.Mul(c, sn))
    above, below = g.Add(g.Mul(bb, cs), g.Mul(dd, sn)), g.Sub(g.Mul(cc, cs), g.Mul(aa, sn))
    middle = g.Mul(g.Add(g.Add(g.Mul(aa, cs), g.Mul(cc, sn)), g.Sub(g.Mul(dd, cs), g.Mul(bb, sn))), 0.5)
    roots = g.Sqrt(g.Abs(above)), g.Sqrt(g.Abs(below))
    product = g.Mul(*roots)
    equal = g.GreaterOrEqual(g.Mul(sign_of(g, above), below), 0.0)  # real after all
    spread = g.Mul(product, sign_of(g, below))
    length = safe(g, g.Sqrt(g.Abs(g.Add(above, below))))
    cs1, sn1 = g.Div(roots[0], length), g.Div(roots[1], length)
    turned = g.Sub(g.Mul(cs, cs1), g.Mul(sn, sn1)), g.Add(g.Mul(cs, sn1), g.Mul(sn, cs1))
    cs, sn = g.Where(equal, turned[0], cs), g.Where(equal, turned[1], sn)
    spread = g.Where(equal, spread, 0.0)
    is_complex = g.And(starts, g.Not(g.Or(real, equal)))
    first = g.Where(real, first, g.Add(middle, spread))
    second = g.Where(real, second, g.Sub(middle, spread))
    after = shifted(g, starts, -1)
    imaginary = g.Where(is_complex, product, 0.0)
    return _Pairs(
        starts, is_complex, g.Where(real, cosine, cs), g.Where(real, sine, sn), g.Where(is_complex, above, 1.0),
        g.Where(is_complex, below, 0.0),
        g.Where(starts, first, g.Where(after, shifted(g, second, -1), bands.diagonal)),
        g.Sub(imaginary, shifted(g, imaginary, -1)),
    )  # fmt: skip


def _on(g: GraphBuilder, x: Value, offset: int = 0) -> Value:
    """Matrices with element k of a vector in row k of a diagonal."""
    mask = g.constant(np.eye(fixed(x, -1), k=offset, dtype=bool))
    return g.Where(mask, g.Unsqueeze(x, [2]), 0.0)


def _in_blocks(g: GraphBuilder, starts: Value, x: Value, otherwise: float) -> Value:
    """x of both rows of a block of two, and a number elsewhere."""
    return g.Where(starts, x, g.Where(shifted(g, starts, -1), shifted(g, x, -1), otherwise))


def _rotation(g: GraphBuilder, pairs: _Pairs) -> Value:
    """The rotations of all blocks."""
    sine = g.Where(pairs.starts, pairs.sine, 0.0)
    upper = _on(g, sine, 1)
    return g.Add(_on(g, _in_blocks(g, pairs.starts, pairs.cosine, 1.0)), g.Sub(swapped(g, upper), upper))


# --- eigenvectors ----------------------------------------------------------------------------------------------------


def _vectors(g: GraphBuilder, t: Value, basis: Value, pairs: _Pairs) -> Parts:
    """Eigenvectors of the matrix whose real Schur form is t, in its Schur vectors."""
    # the unitary rotations (u, i s; i s, u) make t triangular
    ratio = g.Div(pairs.imaginary, pairs.above)
    u = g.Div(1.0, g.Sqrt(g.Add(g.Mul(ratio, ratio), 1.0)))
    upper = _on(g, g.Where(pairs.complex, g.Mul(ratio, u), 0.0), 1)
    straight, crossed = _on(g, _in_blocks(g, pairs.complex, u, 1.0)), g.Add(upper, swapped(g, upper))
    right, left = g.MatMul(t, straight), g.MatMul(t, crossed)
    real = g.Add(g.MatMul(straight, right), g.MatMul(crossed, left))
    imaginary = g.Sub(g.MatMul(straight, left), g.MatMul(crossed, right))
    x, y = _substituted(g, (real, imaginary), (pairs.real, pairs.imaginary))
    x, y = (
        g.Sub(g.MatMul(straight, x), g.MatMul(crossed, y)),
        g.Add(g.MatMul(straight, y), g.MatMul(crossed, x)),
    )
    return _normalised(g, (g.MatMul(basis, x), g.MatMul(basis, y)), pairs)


def _substituted(g: GraphBuilder, t: Parts, values: Parts) -> Parts:
    """Eigenvectors of triangular matrices by back substitution, up to positive factors; ones are on the diagonal."""
    size = fixed(t[0], -1)
    rows, columns = down(g, t[0]), numbers(g, size)
    across = [g.Unsqueeze(v, [1]) for v in values]
    smallest = float(np.finfo(t[0].element.numpy()).tiny) / epsilon(t[0]) * size
    limit = g.Max(g.Mul(g.Add(*(g.Abs(v) for v in across)), epsilon(t[0])), smallest)

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        x, y = carried
        at = b.Sub(size - 1, number)
        right = b.Greater(columns, at)
        p, q = (b.Where(right, row(b, part, at), 0.0) for part in t)
        real, imaginary = b.Sub(b.MatMul(p, x), b.MatMul(q, y)), b.Add(b.MatMul(p, y), b.MatMul(q, x))
        # over the difference of eigenvalues, which doesn't count as less than a rounding error
        c, d = (b.Sub(v, b.Gather(v, b.Unsqueeze(at, [0]), axis=2)) for v in across)
        close = b.Less(b.Max(b.Abs(c), b.Abs(d)), limit)
        c, d = b.Where(close, b.Neg(limit), c), b.Where(close, 0.0, d)
        scale = b.Max(b.Abs(c), b.Abs(d))
        c, d = b.Div(c, scale), b.Div(d, scale)
        square = b.Mul(scale, b.Add(b.Mul(c, c), b.Mul(d, d)))
        new = (
            b.Div(b.Add(b.Mul(real, c), b.Mul(imaginary, d)), square),
            b.Div(b.Sub(b.Mul(imaginary, c), b.Mul(real, d)), square),
        )
        new = b.Where(right, new[0], 0.0), b.Where(right, new[1], 0.0)
        here = b.Equal(rows, at)
        size_of_new = b.Max(b.Max(b.Abs(new[0]), b.Abs(new[1])), 1.0)
        return [b.Div(b.Where(here, n, part), size_of_new) for n, part in zip(
            (b.Where(b.Equal(columns, at), 1.0, new[0]), new[1]), (x, y), strict=True)]  # fmt: skip

    zeros = filled(g, t[0], sizes_of(g, t[0]))
    x, y = repeat(g, size, [zeros, zeros], step)
    return x, y


def _normalised(g: GraphBuilder, vectors: Parts, pairs: _Pairs) -> Parts:
    """Of length 1. The largest element of complex ones is real, and the second one of each pair is conjugate."""
    x, y = vectors
    is_complex, second = (g.Unsqueeze(v, [1]) for v in (pairs.complex, shifted(g, pairs.complex, -1)))
    y = g.Where(is_complex, y, 0.0)
    largest = g.ReduceMax(g.Max(g.Abs(x), g.Abs(y)), [1], keepdims=1)
    x, y = (g.Div(v, safe(g, largest)) for v in (x, y))
    squares = g.Add(g.Mul(x, x), g.Mul(y, y))
    length = safe(g, g.Sqrt(g.ReduceSum(squares, [1], keepdims=1)))
    x, y = g.Div(x, length), g.Div(y, length)
    place = g.ArgMax(squares, axis=1, keepdims=1)
    real, imaginary = g.GatherElements(x, place, axis=1), g.GatherElements(y, place, axis=1)
    # the sign that this element gets: LAPACK begins with another multiple of the vector in one of two cases
    begins = g.And(g.Less(g.Abs(pairs.above), g.Abs(pairs.below)), g.Greater(pairs.below, 0.0))
    start = g.Where(g.Unsqueeze(begins, [1]), g.Neg(real), real)
    negative = g.Less(start, 0.0)
    if x.element.numpy() == np.float64:  # MKL's rotations differ in single and double precision
        negative = g.And(negative, g.Greater(g.Abs(real), g.Abs(imaginary)))
    length = safe(g, length_of(g, real, imaginary))
    length = g.Where(negative, g.Neg(length), length)
    c, d = g.Div(real, length), g.Div(imaginary, length)
    turned = g.Add(g.Mul(x, c), g.Mul(y, d)), g.Sub(g.Mul(y, c), g.Mul(x, d))
    exact = g.Equal(down(g, x), place)
    turned = turned[0], g.Where(exact, 0.0, turned[1])
    x, y = g.Where(is_complex, turned[0], x), g.Where(is_complex, turned[1], y)
    before = g.constant(np.roll(np.arange(fixed(x, -1)), 1))
    return (
        g.Where(second, g.Gather(x, before, axis=2), x),
        g.Where(second, g.Neg(g.Gather(y, before, axis=2)), y),
    )
