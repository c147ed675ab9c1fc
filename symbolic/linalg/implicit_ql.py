"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices by implicit QL steps, as LAPACK takes them (steqr).

The choices are LAPACK's up to 3.9, which MKL keeps to: which end of a block is cleared first, when an element counts as
zero, the shift, and the signs of rotations. The signs of eigenvectors follow from them.

A batch goes in lockstep. Its state is one tensor of rows (n, batch, 2 + n): row i has element i of the diagonal, the
element that joins it to the next one, and column i of the vectors. One step turns a block of each matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .rotations import length_of
from .steps import fixed, repeat, sign_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: Up to this order LAPACK takes these steps; above, it divides and conquers.
MOST = 25
#: Steps for each eigenvalue, at most. 1.7 are usual.
_STEPS = 30


def diagonalised(g: GraphBuilder, diagonal: Value, joints: Value, basis: Value, unit: float) -> tuple[Value, Value]:
    """Eigenvalues in no order, and the basis turned to the eigenvectors.

    Args:
        g: Builder.
        diagonal: (batch, n), n from 2.
        joints: Elements beside the diagonal, and a zero: (batch, n).
        basis: Matrices (batch, n, n), or such with less rows.
        unit: Largest relative rounding error of the precision in which LAPACK does the same.
    """
    size = fixed(diagonal, -1)
    by_row = [g.Unsqueeze(g.Transpose(v, perm=[1, 0]), [2]) for v in (diagonal, joints)]
    rows: Value = g.Concat(*by_row, g.Transpose(basis, perm=[2, 0, 1]), axis=2)
    rows, turned = _cleared_from_the_smaller_end(g, rows, unit)

    def step(b: GraphBuilder, _: Value, carried: list[Value]) -> list[Value]:
        return [_step(b, carried[0], turned, unit)]

    def going(b: GraphBuilder, _: Value, new: list[Value]) -> Value:
        left = b.ReduceSum(b.Abs(_parts(b, new[0])[1]), keepdims=0)
        return b.Not(b.Equal(left, 0.0))

    (rows,) = repeat(g, _STEPS * size, [rows], step, going)
    values, _, vectors = _parts(g, rows)
    return g.Transpose(g.Squeeze(values, [2]), perm=[1, 0]), g.Transpose(vectors, perm=[1, 2, 0])


def _parts(b: GraphBuilder, rows: Value) -> tuple[Value, Value, Value]:
    """Diagonal, joints and vectors."""
    parts: tuple[Value, Value, Value] = b.Split(rows, [1, 1, fixed(rows, 2) - 2], axis=2, outputs=3)
    return parts


def _taken(b: GraphBuilder, rows: Value, places: Value) -> Value:
    """Rows of each matrix in an order of its own: places (n, batch, 1)."""
    return b.GatherElements(rows, b.Expand(places, b.Shape(rows)), axis=0)


def _numbers(rows: Value) -> np.ndarray:
    return np.arange(fixed(rows, 0)).reshape(-1, 1, 1)


def _live(b: GraphBuilder, diagonal: Value, joints: Value, unit: float) -> Value:
    """Which joints count. None that is no number does, and the last one, which is zero, doesn't."""
    following = b.Gather(diagonal, b.constant(np.roll(np.arange(fixed(diagonal, 0)), -1)), axis=0)
    limit = b.Mul(b.Mul(b.Sqrt(b.Abs(diagonal)), b.Sqrt(b.Abs(following))), unit)
    return b.Greater(b.Abs(joints), b.Add(limit, float(np.finfo(diagonal.element.numpy()).tiny)))


# --- blocks ----------------------------------------------------------------------------------------------------------


def _cleared_from_the_smaller_end(g: GraphBuilder, rows: Value, unit: float) -> tuple[Value, Value]:
    """Blocks whose last element is smaller than the first one are turned round, and which rows are in such blocks."""
    size = fixed(rows, 0)
    diagonal, joints, vectors = _parts(g, rows)
    live = _live(g, diagonal, joints, unit)
    here, other = _numbers(rows), np.arange(size).reshape(-1, 1, 1, 1)  # with `other`, the row itself is along axis 1
    last = g.Where(live, size, here)  # number of the row, if it is the last one of a block
    first = g.Where(g.Gather(live, g.constant(np.roll(np.arange(size), 1)), axis=0), -1, here)
    last = g.ReduceMin(g.Where(g.constant(other >= here), g.Unsqueeze(last, [1]), size), [0], keepdims=0)
    first = g.ReduceMax(g.Where(g.constant(other <= here), g.Unsqueeze(first, [1]), -1), [0], keepdims=0)
    turned = g.Less(*(g.Abs(g.GatherElements(diagonal, p, axis=0)) for p in (last, first)))
    places = g.Where(turned, g.Sub(g.Add(first, last), here), here)
    before = g.Mod(g.Where(turned, g.Sub(places, 1), here), size)  # the joint before a row comes after it then
    joints = g.GatherElements(g.Where(live, joints, 0.0), before, axis=0)
    diagonal, _, vectors = _parts(g, _taken(g, rows, places))
    return g.Concat(diagonal, joints, vectors, axis=2), turned


def _step(b: GraphBuilder, rows: Value, turned: Value, unit: float) -> Value:
    """The rows after one QL step in the first block of each matrix that isn't diagonal yet."""
    size = fixed(rows, 0)
    here = b.constant(_numbers(rows))
    diagonal, joints, vectors = _parts(b, rows)
    live = _live(b, diagonal, joints, unit)
    joints = b.Where(live, joints, 0.0)
    top = b.ArgMax(b.Cast(live, to=_T.FLOAT), axis=0, keepdims=1)  # (1, batch, 1)
    ends = b.And(b.Not(live), b.GreaterOrEqual(here, top))
    bottom = b.ArgMax(b.Cast(ends, to=_T.FLOAT), axis=0, keepdims=1)
    # the block from its last row up to its first one, then the rows that aren't in it
    places = b.Mod(b.Sub(bottom, here), size)
    ordered = _taken(b, b.Concat(diagonal, joints, vectors, axis=2), places)
    count = b.Sub(bottom, top)
    pair = b.Equal(count, 1)
    ordered = _solved(b, ordered, pair, b.GatherElements(turned, bottom, axis=0))
    swept = _taken(b, _swept(b, ordered, b.Where(pair, 0, count)), places)
    diagonal, changed, vectors = _parts(b, b.expect(swept, None, rows.sizes))
    inside = b.And(b.GreaterOrEqual(here, top), b.Less(here, bottom))
    return b.Concat(diagonal, b.Where(inside, changed, joints), vectors, axis=2)


def _solved(b: GraphBuilder, rows: Value, pair: Value, turned: Value) -> Value:
    """Blocks of two, which are the first two rows where `pair` holds, made diagonal (laev2)."""
    size = fixed(rows, 0)
    near, far = b.Slice(rows, [0], [1], [0]), b.Slice(rows, [1], [2], [0])
    (d0, _, z0), (d1, joint, z1) = _parts(b, near), _parts(b, far)
    first, second = b.Where(turned, d0, d1), b.Where(turned, d1, d0)
    total, gap, double = b.Add(first, second), b.Sub(first, second), b.Mul(joint, 2.0)
    root = length_of(b, gap, double)
    upper = b.GreaterOrEqual(total, 0.0)
    large = b.Mul(b.Where(upper, b.Add(total, root), b.Sub(total, root)), 0.5)
    bigger = b.Greater(b.Abs(first), b.Abs(second))
    most, least = b.Where(bigger, first, second), b.Where(bigger, second, first)
    small = b.Sub(b.Mul(b.Div(most, large), least), b.Mul(b.Div(joint, large), joint))
    rising = b.GreaterOrEqual(gap, 0.0)
    pivot = b.Where(rising, b.Add(gap, root), b.Sub(gap, root))
    sign = b.Where(b.Greater(b.Abs(pivot), b.Abs(double)), sign_of(b, pivot), b.Neg(sign_of(b, double)))
    length = b.Mul(sign, length_of(b, pivot, double))
    cosine, sine = b.Div(b.Neg(double), length), b.Div(pivot, length)
    same = b.Equal(upper, rising)
    cosine, sine = b.Where(same, b.Neg(sine), cosine), b.Where(same, cosine, sine)
    sine = b.Where(turned, sine, b.Neg(sine))
    nothing = b.Mul(joint, 0.0)
    new_near = [b.Where(turned, large, small), nothing, b.Add(b.Mul(cosine, z0), b.Mul(sine, z1))]
    new_far = [b.Where(turned, small, large), nothing, b.Sub(b.Mul(cosine, z1), b.Mul(sine, z0))]
    parts = [b.Where(pair, b.Concat(*new_near, axis=2), near), b.Where(pair, b.Concat(*new_far, axis=2), far)]
    if size != 2:
        parts.append(b.Slice(rows, [2], [size], [0]))
    return b.Concat(*parts, axis=0)


def _swept(b: GraphBuilder, rows: Value, count: Value) -> Value:
    """Rows after a QL step with Wilkinson's shift in the first `count` + 1 of them (1, batch, 1); 0: no step."""
    size, here = fixed(rows, 0), b.constant(_numbers(rows))
    diagonal, joints, vectors = _parts(b, rows)
    joints = b.Where(b.And(b.Greater(here, 0), b.LessOrEqual(here, count)), joints, 0.0)
    end, joint = b.GatherElements(diagonal, count, axis=0), b.GatherElements(joints, count, axis=0)
    beside = b.GatherElements(diagonal, b.Max(b.Sub(count, 1), 0), axis=0)
    ratio = b.Div(b.Sub(beside, end), b.Where(b.Equal(joint, 0.0), 1.0, b.Mul(joint, 2.0)))
    root = b.Mul(sign_of(b, ratio), b.Sqrt(b.Add(b.Mul(ratio, ratio), 1.0)))
    top, _, first = (b.Squeeze(p, [0]) for p in _parts(b, b.Slice(rows, [0], [1], [0])))
    bulge = b.Add(b.Sub(top, b.Squeeze(end, [0])), b.Squeeze(b.Div(joint, b.Add(ratio, root)), [0]))
    none = b.Mul(bulge, 0.0)
    one = b.Add(none, 1.0)
    steps = b.ReduceMax(b.Concat(b.Reshape(count, [-1]), [1], axis=0), keepdims=1)
    after = b.Add(steps, 1)
    read = b.Concat(diagonal, joints, vectors, axis=2)
    body = _rotations(b, rows)
    start = [one, one, bulge, none, top, first]
    *_, bulge, shift, last, vector, done = b.Scan(
        *start, b.Slice(read, [1], after, [0]), body=body, num_scan_inputs=1, outputs=7
    )
    end_row = b.Unsqueeze(b.Concat(b.Sub(last, shift), bulge, vector, axis=1), [0])
    return b.Concat(done, end_row, b.Slice(rows, after, [size], [0]), axis=0)


def _rotations(b: GraphBuilder, rows: Value) -> GraphBuilder:
    """The body of a QL step: the rotation of one row with the next one."""
    batch, width = rows.dim(1), fixed(rows, 2)
    body = b.subgraph("rotations")
    names = ("cosine", "sine", "bulge", "shift", "element")
    cosine, sine, bulge, shift, element = (body.input(n, rows.element, (batch, 1)) for n in names)
    vector = body.input("vector", rows.element, (batch, width - 2))
    row = body.input("row", rows.element, (batch, width))
    following, joint, other = body.Split(row, [1, 1, width - 2], axis=1, outputs=3)
    rest, joint = body.Mul(cosine, joint), body.Mul(sine, joint)
    # the sign of the length: that of the larger one of both, where it is the first one; else none (lartg up to 3.9)
    deciding = body.Where(body.Equal(bulge, 0.0), joint, 1.0)
    deciding = body.Where(body.Greater(body.Abs(bulge), body.Abs(joint)), bulge, deciding)
    length = body.Mul(length_of(body, bulge, joint), sign_of(body, deciding))
    none = body.Equal(length, 0.0)
    divisor = body.Where(none, 1.0, length)
    cosine, sine = body.Where(none, 1.0, body.Div(bulge, divisor)), body.Div(joint, divisor)
    element = body.Sub(element, shift)
    change = body.Add(body.Mul(body.Sub(following, element), sine), body.Mul(body.Mul(cosine, rest), 2.0))
    shift = body.Mul(sine, change)
    bulge = body.Sub(body.Mul(cosine, change), rest)
    done = body.Add(body.Mul(cosine, vector), body.Mul(sine, other))
    vector = body.Sub(body.Mul(cosine, other), body.Mul(sine, vector))
    for value in (cosine, sine, bulge, shift, following, vector):
        body.output(value)
    body.output(body.Concat(body.Add(element, shift), length, done, axis=1))
    return body
