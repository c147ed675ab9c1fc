"""Singular values and vectors of upper bidiagonal matrices by implicit QR steps, as LAPACK takes them (bdsqr).

The choices are LAPACK's: which end of a block is cleared, the criteria of convergence, when the shift is zero, and the
signs of rotations. The signs of singular vectors follow from them.

A batch goes in lockstep. Its state is one tensor of rows (n, batch, 2 + 2 n): row i has element i of the diagonal, the
element right of it, and columns i of both bases. A block that is chased upwards is one that is chased downwards, in
the reverse order and with the bases exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .rotations import length_of, rotation_of, safe
from .steps import fixed, repeat, sign_of, sizes_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_INT = ir.DataType.INT64
#: Up to this order LAPACK takes these steps; above, it divides and conquers.
MOST = 25
#: Steps for each singular value, at most: a sweep or the end of one. 3 are usual.
_STEPS = 30


def singular(g: GraphBuilder, rows: Value, unit: float) -> tuple[Value, Value, Value]:
    """Singular values in no order, and both bases turned to the singular vectors.

    Args:
        g: Builder.
        rows: The state at the start.
        unit: Largest relative rounding error of the precision in which LAPACK does the same.
    """
    values, _, left, right = _parts(g, _diagonalised(g, rows, unit))
    right = g.Where(g.Less(values, 0.0), g.Neg(right), right)
    by_matrix = g.Transpose(g.Squeeze(g.Abs(values), [2]), perm=[1, 0])
    return by_matrix, g.Transpose(left, perm=[1, 2, 0]), g.Transpose(right, perm=[1, 2, 0])


def as_rows(g: GraphBuilder, diagonal: Value, joints: Value, *bases: Value) -> Value:
    """The state, of matrices (batch, n) and (batch, n, n): columns of the left basis, then of the right one."""
    bands = [g.Unsqueeze(g.Transpose(v, perm=[1, 0]), [2]) for v in (diagonal, joints)]
    rows: Value = g.Concat(*bands, *(g.Transpose(v, perm=[2, 0, 1]) for v in bases), axis=2)
    return rows


def from_rows(g: GraphBuilder, rows: Value) -> tuple[Value, Value, Value]:
    """Diagonal, joints and basis of a state with one basis."""
    diagonal, joints, basis = g.Split(rows, [1, 1, fixed(rows, 2) - 2], axis=2, outputs=3)
    bands = [g.Transpose(g.Squeeze(v, [2]), perm=[1, 0]) for v in (diagonal, joints)]
    return bands[0], bands[1], g.Transpose(basis, perm=[1, 2, 0])


def _parts(b: GraphBuilder, rows: Value) -> tuple[Value, Value, Value, Value]:
    """Diagonal, joints and both bases."""
    width = (fixed(rows, 2) - 2) // 2
    parts: tuple[Value, Value, Value, Value] = b.Split(rows, [1, 1, width, width], axis=2, outputs=4)
    return parts


def _tolerance(unit: float) -> float:
    return max(10.0, min(100.0, float(unit**-0.125))) * unit


def _diagonalised(g: GraphBuilder, rows: Value, unit: float) -> Value:
    size = fixed(rows, 0)
    diagonal, joints, *_ = _parts(g, rows)
    bound = g.ReduceMin(_bounds(g, diagonal, joints), [0], keepdims=1)
    tiny = float(np.finfo(rows.element.numpy()).tiny)
    limit = g.Max(g.Mul(bound, _tolerance(unit) / size**0.5), 6 * size * size * tiny)
    limit = g.Where(g.Equal(limit, limit), limit, tiny)

    def step(b: GraphBuilder, _: Value, carried: list[Value]) -> list[Value]:
        return _step(b, carried, limit, unit)

    def going(b: GraphBuilder, _: Value, new: list[Value]) -> Value:
        left = b.ReduceSum(b.Abs(_parts(b, new[0])[1]), keepdims=0)
        return b.Not(b.Equal(left, 0.0))

    sizes = [1, sizes_of(g, rows, 2)[1], 1]
    none, downwards = (g.expand(g.constant(np.full((1, 1, 1), v)), sizes) for v in (np.int64(-1), False))
    return repeat(g, _STEPS * size, [rows, none, none, downwards], step, going)[0]


def _bounds(b: GraphBuilder, diagonal: Value, joints: Value) -> Value:
    """Numbers below which no singular value of the matrix that ends in each row lies, but for a small factor."""
    batch, size = diagonal.dim(1), fixed(diagonal, 0)
    body = b.subgraph("bounds")
    before = body.input("before", diagonal.element, (batch, 1))
    element, joint = (body.input(n, diagonal.element, (batch, 1)) for n in ("element", "joint"))
    new = body.Mul(element, body.Div(before, safe(body, body.Add(before, joint))))
    body.output(new)
    body.output(body.Add(new, 0.0))
    sizes, between = b.Abs(diagonal), b.Slice(b.Abs(joints), [0], [size - 1], [0])
    first = b.Slice(sizes, [0], [1], [0])
    _, rest = b.Scan(
        b.Squeeze(first, [0]), b.Slice(sizes, [1], [size], [0]), between, body=body, num_scan_inputs=2, outputs=2
    )  # fmt: skip
    found: Value = b.expect(b.Concat(first, rest, axis=0), None, diagonal.sizes)
    return found


# --- one step --------------------------------------------------------------------------------------------------------


def _step(b: GraphBuilder, carried: list[Value], limit: Value, unit: float) -> list[Value]:
    """The state after a QR step in the last block of each matrix, or after the block fell apart or was solved."""
    rows, old_first, old_last, upwards = carried
    size = fixed(rows, 0)
    here = b.constant(np.arange(size).reshape(-1, 1, 1))
    diagonal, joints, *_ = _parts(b, rows)
    live = b.Greater(b.Abs(joints), limit)
    joints = b.Where(live, joints, 0.0)
    last = b.ReduceMax(b.Where(live, b.Add(here, 1), 0), [0], keepdims=1)  # (1, batch, 1)
    cut = b.And(b.Not(live), b.Less(here, last))
    first = b.ReduceMax(b.Where(cut, b.Add(here, 1), 0), [0], keepdims=1)
    count = b.Sub(last, first)
    pair = b.Equal(count, 1)
    # a new block is cleared from its smaller end
    ends = [b.Abs(b.GatherElements(diagonal, p, axis=0)) for p in (first, last)]
    fresh = b.And(b.Or(b.Greater(first, old_last), b.Less(last, old_first)), b.Greater(count, 1))
    upwards = b.Or(b.And(fresh, b.Less(*ends)), b.And(b.Not(fresh), upwards))
    turned = b.And(upwards, b.Not(pair))
    start, way = b.Where(turned, last, first), b.Where(turned, -1, 1)
    places = b.Mod(b.Add(start, b.Mul(way, here)), size)
    between = b.Mod(b.Add(b.Where(turned, b.Sub(last, 1), first), b.Mul(way, here)), size)
    inside = b.Less(here, count)
    own = b.Where(inside, b.GatherElements(joints, between, axis=0), 0.0)
    d, _, u, v = _parts(b, _taken(b, rows, places))
    u, v = b.Where(turned, v, u), b.Where(turned, u, v)
    split, bounds = _split(b, d, own, count, unit)
    own = b.Where(split, 0.0, own)
    rests = b.Greater(b.ReduceMax(b.Cast(split, to=_INT), [0], keepdims=1), 0)
    turns = b.And(b.Greater(count, 1), b.Not(rests))
    ordered = _solved(b, b.Concat(d, own, u, v, axis=2), pair, unit)
    swept = _swept(b, ordered, bounds, b.Where(turns, count, 0), unit)
    d, own, u, v = _parts(b, b.expect(swept, None, rows.sizes))
    u, v = b.Where(turned, v, u), b.Where(turned, u, v)
    back = b.Mod(b.Mul(way, b.Sub(here, start)), size)
    d, _, u, v = _parts(b, _taken(b, b.Concat(d, own, u, v, axis=2), back))
    mine = b.And(b.GreaterOrEqual(here, first), b.Less(here, last))
    back = b.Mod(b.Where(turned, b.Sub(b.Sub(last, 1), here), b.Sub(here, first)), size)
    joints = b.Where(mine, b.GatherElements(own, back, axis=0), joints)
    rows = b.Concat(d, joints, u, v, axis=2)
    return [rows, b.Where(turns, first, old_first), b.Where(turns, last, old_last), upwards]


def _taken(b: GraphBuilder, rows: Value, places: Value) -> Value:
    """Rows of each matrix in an order of its own: places (n, batch, 1)."""
    return b.GatherElements(rows, b.Expand(places, b.Shape(rows)), axis=0)


def _split(b: GraphBuilder, diagonal: Value, joints: Value, count: Value, unit: float) -> tuple[Value, Value]:
    """The joint that counts as zero, if there is one in blocks of three rows or more, and the bounds of all rows."""
    size, tolerance = fixed(diagonal, 0), _tolerance(unit)
    here = b.constant(np.arange(size).reshape(-1, 1, 1))
    bounds = _bounds(b, diagonal, joints)
    end = b.GatherElements(diagonal, count, axis=0)
    at_end = b.Equal(here, b.Sub(count, 1))
    final = b.And(at_end, b.LessOrEqual(b.Abs(joints), b.Mul(b.Abs(end), tolerance)))
    small = b.And(b.LessOrEqual(b.Abs(joints), b.Mul(bounds, tolerance)), b.Less(here, count))
    first = b.ReduceMin(b.Where(small, here, size), [0], keepdims=1)
    ends = b.Greater(b.ReduceMax(b.Cast(final, to=_INT), [0], keepdims=1), 0)
    found = b.Where(ends, b.Sub(count, 1), first)
    return b.And(b.Equal(here, found), b.Greater(count, 1)), bounds


def _solved(b: GraphBuilder, rows: Value, pair: Value, unit: float) -> Value:
    """Blocks of two, which are the first two rows where `pair` holds, made diagonal (lasv2)."""
    size = fixed(rows, 0)
    near, far = b.Slice(rows, [0], [1], [0]), b.Slice(rows, [1], [2], [0])
    (f, joint, u0, v0), (h, _, u1, v1) = _parts(b, near), _parts(b, far)
    swap = b.Greater(b.Abs(h), b.Abs(f))
    large, small = b.Where(swap, h, f), b.Where(swap, f, h)
    fa, ha, ga = b.Abs(large), b.Abs(small), b.Abs(joint)
    gap = b.Sub(fa, ha)
    ratio = b.Where(b.Equal(gap, fa), 1.0, b.Div(gap, safe(b, fa)))
    m = b.Div(joint, safe(b, large))
    t = b.Sub(2.0, ratio)
    s, r = length_of(b, t, m), length_of(b, ratio, m)
    a = b.Mul(b.Add(s, r), 0.5)
    least, most = b.Div(ha, a), b.Mul(fa, a)
    t = b.Mul(b.Add(b.Div(m, b.Add(s, t)), b.Div(m, b.Add(r, ratio))), b.Add(a, 1.0))
    square = b.Mul(m, m)
    signed = b.Mul(sign_of(b, large), sign_of(b, joint))
    flat = b.Add(b.Div(joint, safe(b, b.Mul(gap, sign_of(b, large)))), b.Div(m, safe(b, b.Sub(2.0, ratio))))
    t = b.Where(b.Equal(square, 0.0), b.Where(b.Equal(ratio, 0.0), b.Mul(signed, 2.0), flat), t)
    length = length_of(b, t, b.constant(np.asarray(2, rows.element.numpy())))
    crt, srt = b.Div(2.0, length), b.Div(t, length)
    clt, slt = b.Div(b.Add(crt, b.Mul(srt, m)), a), b.Div(b.Mul(b.Div(small, safe(b, large)), srt), a)
    # the joint is all there is
    huge = b.Less(fa, b.Mul(ga, unit))
    over = safe(b, joint)
    clt, slt = b.Where(huge, 1.0, clt), b.Where(huge, b.Div(small, over), slt)
    crt, srt = b.Where(huge, b.Div(large, over), crt), b.Where(huge, 1.0, srt)
    least, most = b.Where(huge, b.Mul(b.Div(fa, b.Abs(over)), ha), least), b.Where(huge, ga, most)
    cl, sl = b.Where(swap, srt, clt), b.Where(swap, crt, slt)
    cr, sr = b.Where(swap, slt, crt), b.Where(swap, clt, srt)
    by_joint = b.Mul(b.Mul(sign_of(b, sr), sign_of(b, cl)), sign_of(b, joint))
    by_first = b.Mul(b.Mul(sign_of(b, cr), sign_of(b, cl)), sign_of(b, f))
    by_second = b.Mul(b.Mul(sign_of(b, sr), sign_of(b, sl)), sign_of(b, h))
    sign = b.Where(b.Greater(ga, fa), by_joint, b.Where(swap, by_second, by_first))
    least = b.Mul(least, b.Mul(sign, b.Mul(sign_of(b, f), sign_of(b, h))))
    nothing = b.Mul(joint, 0.0)
    new_near = [b.Mul(most, sign), nothing, b.Add(b.Mul(cl, u0), b.Mul(sl, u1)), b.Add(b.Mul(cr, v0), b.Mul(sr, v1))]
    new_far = [least, nothing, b.Sub(b.Mul(cl, u1), b.Mul(sl, u0)), b.Sub(b.Mul(cr, v1), b.Mul(sr, v0))]
    parts = [b.Where(pair, b.Concat(*new_near, axis=2), near), b.Where(pair, b.Concat(*new_far, axis=2), far)]
    if size != 2:
        parts.append(b.Slice(rows, [2], [size], [0]))
    return b.Concat(*parts, axis=0)


# --- the sweep -------------------------------------------------------------------------------------------------------


def _shift(b: GraphBuilder, diagonal: Value, joints: Value, bounds: Value, count: Value, unit: float) -> Value:
    """The smaller singular value of the last two rows (las2), or zero where it would harm small values."""
    size, tolerance = fixed(diagonal, 0), _tolerance(unit)
    here = b.constant(np.arange(size).reshape(-1, 1, 1))
    inside, before = b.LessOrEqual(here, count), b.Max(b.Sub(count, 1), 0)
    sizes = b.Max(b.Where(inside, b.Abs(diagonal), 0.0), b.Where(b.Less(here, count), b.Abs(joints), 0.0))
    largest = b.ReduceMax(sizes, [0], keepdims=1)
    first = b.Abs(b.Slice(diagonal, [0], [1], [0]))
    smallest = b.ReduceMin(b.Where(inside, bounds, b.Slice(bounds, [0], [1], [0])), [0], keepdims=1)
    f, h = (b.Abs(b.GatherElements(diagonal, p, axis=0)) for p in (before, count))
    joint = b.Abs(b.GatherElements(joints, before, axis=0))
    least, most = b.Min(f, h), b.Max(f, h)
    scale = safe(b, b.Max(most, joint))
    p, r, ratio = b.Div(most, scale), b.Div(joint, scale), b.Div(least, safe(b, most))
    lengths = [length_of(b, b.Mul(q, p), r) for q in (b.Add(ratio, 1.0), b.Sub(1.0, ratio))]
    shift = b.Div(b.Mul(b.Mul(least, 2.0), p), safe(b, b.Add(*lengths)))
    relative = b.Div(shift, safe(b, first))
    limit = max(unit, 0.01 * tolerance) / (size * tolerance)
    none = b.Or(
        b.LessOrEqual(b.Div(smallest, safe(b, largest)), limit),
        b.And(b.Greater(first, 0.0), b.Less(b.Mul(relative, relative), unit)),
    )
    return b.Where(b.Or(none, b.Equal(count, 0)), 0.0, shift)


def _swept(b: GraphBuilder, rows: Value, bounds: Value, count: Value, unit: float) -> Value:
    """Rows after a QR step in the first `count` + 1 of them (1, batch, 1); 0: no step."""
    size, here = fixed(rows, 0), b.constant(np.arange(fixed(rows, 0)).reshape(-1, 1, 1))
    diagonal, joints, left, right = _parts(b, rows)
    shift = _shift(b, diagonal, joints, bounds, count, unit)
    plain = b.Equal(shift, 0.0)
    own = b.Where(b.Less(here, count), joints, 0.0)
    first, joint, u, v = (b.Slice(p, [0], [1], [0]) for p in (diagonal, own, left, right))
    bulge = b.Mul(b.Sub(b.Abs(first), shift), b.Add(sign_of(b, first), b.Div(shift, safe(b, first))))
    none = b.Mul(joint, 0.0)
    one = b.Add(none, 1.0)
    steps = b.ReduceMax(b.Concat(b.Reshape(count, [-1]), [1], axis=0), keepdims=1)
    after = b.Add(steps, 1)
    body = _rotations(b, rows, b.Squeeze(plain, [0]))
    start = [b.Squeeze(p, [0]) for p in (one, one, one, bulge, first, u, v)]
    # each step takes a joint and the row after it
    read = b.Slice(b.Concat(diagonal, left, right, axis=2), [1], after, [0])
    cosine, c, s, bulge, last, u, v, done, lengths = b.Scan(
        *start, read, b.Slice(own, [0], steps, [0]), body=body, num_scan_inputs=2, outputs=9
    )
    cosine, c, s, bulge, last, u, v = (b.Unsqueeze(p, [0]) for p in (cosine, c, s, bulge, last, u, v))
    rest = b.Mul(last, cosine)
    end, final = b.Where(plain, b.Mul(rest, c), last), b.Where(plain, b.Mul(rest, s), bulge)
    diagonal, left, right = b.Split(
        b.Concat(done, b.Concat(end, u, v, axis=2), axis=0), [1, fixed(u, 2), fixed(v, 2)], axis=2, outputs=3
    )
    new = b.Concat(b.Slice(lengths, [1], [size], [0]), final, none, axis=0)  # a step gives the joint before it
    whole = b.Concat(diagonal, new, left, right, axis=2)
    whole = b.expect(b.Concat(whole, b.Slice(rows, after, [size], [0]), axis=0), None, rows.sizes)
    d, new, u, v = _parts(b, whole)
    result: Value = b.Concat(d, b.Where(b.Less(here, count), new, joints), u, v, axis=2)
    return result


def _rotations(b: GraphBuilder, rows: Value, plain: Value) -> GraphBuilder:
    """The body of a QR step: two rotations, of columns and of rows. `plain`: without a shift."""
    batch, width = rows.dim(1), (fixed(rows, 2) - 2) // 2
    body = b.subgraph("rotations")
    names = ("cosine", "c", "s", "bulge", "element")
    cosine, c, s, bulge, element = (body.input(n, rows.element, (batch, 1)) for n in names)
    u, v = (body.input(n, rows.element, (batch, width)) for n in ("left", "right"))
    row = body.input("row", rows.element, (batch, 1 + 2 * width))
    joint = body.input("joint", rows.element, (batch, 1))
    following, next_u, next_v = body.Split(row, [1, width, width], axis=1, outputs=3)
    first = body.Where(plain, body.Mul(element, cosine), bulge)
    second = body.Where(plain, joint, body.Mul(s, joint))
    joint = body.Mul(c, joint)
    cosine, sine, length = rotation_of(body, first, second)
    before = body.Where(plain, body.Mul(s, length), length)
    turned = body.Add(body.Mul(cosine, element), body.Mul(sine, joint))
    joint = body.Sub(body.Mul(cosine, joint), body.Mul(sine, element))
    first = body.Where(plain, body.Mul(c, length), turned)
    c, s, length = rotation_of(body, first, body.Mul(sine, following))
    rest = body.Mul(cosine, following)
    bulge = body.Add(body.Mul(c, joint), body.Mul(s, rest))
    element = body.Where(plain, following, body.Sub(body.Mul(c, rest), body.Mul(s, joint)))
    done_u, done_v = (
        body.Add(body.Mul(c, u), body.Mul(s, next_u)),
        body.Add(body.Mul(cosine, v), body.Mul(sine, next_v)),
    )
    u, v = body.Sub(body.Mul(c, next_u), body.Mul(s, u)), body.Sub(body.Mul(cosine, next_v), body.Mul(sine, v))
    for value in (cosine, c, s, bulge, element, u, v):
        body.output(value)
    body.output(body.Concat(length, done_u, done_v, axis=1))
    body.output(before)
    return body
