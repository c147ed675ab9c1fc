"""Exponential of matrices as PyTorch computes it: Taylor polynomials by few products, scaling and squaring.

Rounding errors grow with each squaring, so that results of large norm agree only where each operation is the same: the
degree, the order of sums, and the dtype. The polynomials are those of Bader, Blanes and Casas (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .steps import identity, known, repeat

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Up to these norms polynomials of degree 1, 2, 4, 8, 12 and 18 are exact to rounding.
_LIMITS = {
    ir.DataType.FLOAT: (
        1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02, 5.800524627688768e-01,
        1.461661507209034e00, 3.010066362817634e00,
    ),
    ir.DataType.DOUBLE: (
        2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04, 4.991228871115323e-02,
        2.996158913811580e-01, 1.090863719290036e00,
    ),
}  # fmt: skip
#: Coefficients of 1, x, x^2 and x^3 in the factors of degree 12.
_TWELVE = (
    (9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740),
    (5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989),
    (0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230),
    (-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359),
)
#: Coefficients of 1, x, x^2, x^3 and x^6 in the factors of degree 18.
_EIGHTEEN = (
    (0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.0),
    (
        0.0, 3.97849749499645077844e-01, 1.36783778460411720168e00, 4.98289622525382669416e-01,
        -6.37898194594723280150e-04,
    ),
    (
        -1.09676396052962061844e01, 1.68015813878906206114e00, 5.71779846478865511061e-02,
        -6.98210122488052056106e-03, 3.34975017086070470649e-05,
    ),
    (
        -9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
        2.95552570429315521194e-02, -1.39180257516060693404e-05,
    ),
    (0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)  # fmt: skip
#: Up to this order PyTorch multiplies matrices by a loop of its own, which rounds each product before it is added.
_LOOP = 8
#: More doublings than numbers have; those that are infinite ask for more.
_MOST = 1100.0


def matrix_exp(g: GraphBuilder, x: Value) -> Value:
    """The exponential of square matrices."""
    if x.dim(-1) == 1:
        return g.Exp(x)
    limits = _LIMITS[x.element]
    norm = g.ReduceMax(g.ReduceSum(g.Abs(x), [-2], keepdims=1), [-1], keepdims=1)
    one = identity(g, x, known(x, -1))
    square = _product(g, x, x)
    result = _squared(g, *_eighteen(g, x, norm, one, limits[-1]))
    smaller = (
        _twelve(g, one, x, square), _eight(g, one, x, square), _four(g, one, x, square),
        _sum(g, (one, x, square), (1.0, 1.0, 0.5)), g.Add(one, x),
    )  # fmt: skip
    for limit, polynomial in zip(limits[-2::-1], smaller, strict=True):
        result = g.Where(g.LessOrEqual(norm, limit), polynomial, result)
    return result


def _product(g: GraphBuilder, a: Value, b: Value) -> Value:
    """Of two matrices, summed in PyTorch's order."""
    size = a.dim(-1)
    if not isinstance(size, int) or size > _LOOP:
        return g.MatMul(a, b)
    columns = g.Split(a, axis=-1, num_outputs=size, outputs=size)
    rows = g.Split(b, axis=-2, num_outputs=size, outputs=size)
    total: Value = g.Mul(columns[0], rows[0])
    for column, row in zip(columns[1:], rows[1:], strict=True):
        total = g.Add(total, g.Mul(column, row))
    return total


def _sum(g: GraphBuilder, terms: Sequence[Value], weights: Sequence[float]) -> Value:
    """Weighted, from the first term to the last one."""
    total: Value | None = None
    for term, weight in zip(terms, weights, strict=True):
        if weight:
            part = term if weight == 1 else g.Mul(term, weight)
            total = part if total is None else g.Add(total, part)
    assert total is not None
    return total


def _four(g: GraphBuilder, one: Value, x: Value, square: Value) -> Value:
    high = _product(g, square, _sum(g, (one, x, square), (1 / 2, 1 / 6, 1 / 24)))
    return _sum(g, (one, x, high), (1.0, 1.0, 1.0))


def _eight(g: GraphBuilder, one: Value, x: Value, square: Value) -> Value:
    root = float(np.sqrt(177.0))
    third = 2.0 / 3.0
    fourth = _product(g, square, _sum(g, (x, square), (third * (1 + root) / 88, third * (1 + root) / 352)))
    weights = (
        (-271 + 29 * root) / (315 * third), 11 * (-1 + root) / (1260 * third), 11 * (-9 + root) / (5040 * third),
        (89 - root) / (5040 * third * third),
    )  # fmt: skip
    high = _product(g, _sum(g, (square, fourth), (third, 1.0)), _sum(g, (one, x, square, fourth), weights))
    return _sum(g, (one, x, square, high), (1.0, 1.0, (857 - 58 * root) / 630, 1.0))


def _twelve(g: GraphBuilder, one: Value, x: Value, square: Value) -> Value:
    powers = (one, x, square, _product(g, x, square))
    b0, b1, b2, b3 = (_sum(g, powers, weights) for weights in _TWELVE)
    sixth = g.Add(b2, _product(g, b3, b3))
    return g.Add(b0, _product(g, g.Add(b1, sixth), sixth))


def _eighteen(g: GraphBuilder, x: Value, norm: Value, one: Value, limit: float) -> tuple[Value, Value]:
    """Of the matrix divided by a power of two, and how often the result is to be squared."""
    doublings = g.Max(g.Ceil(g.Div(g.Log(g.Div(norm, limit)), float(np.log(2)))), 0.0)
    x = g.Div(x, g.Pow(np.asarray(2, x.element.numpy()), doublings))
    square = _product(g, x, x)
    cube = _product(g, x, square)
    powers = (one, x, square, cube, _product(g, cube, cube))
    b0, b1, b2, b3, b4 = (_sum(g, powers, weights) for weights in _EIGHTEEN)
    ninth = g.Add(b3, _product(g, b0, b4))
    return g.Add(b1, _product(g, g.Add(b2, ninth), ninth)), doublings


def _squared(g: GraphBuilder, x: Value, doublings: Value) -> Value:
    """Each matrix, squared as often as it asks for."""

    def square(b: GraphBuilder, number: Value, carried: list[Value]) -> list[Value]:
        goes = b.Less(b.Cast(number, to=doublings.element), doublings)
        return [b.Where(goes, _product(b, carried[0], carried[0]), carried[0])]

    none = g.constant(np.zeros(1, doublings.element.numpy()))
    most = g.ReduceMax(g.Concat(g.Reshape(doublings, [-1]), none, axis=0), keepdims=0)
    most = g.Where(g.Less(most, _MOST), most, _MOST)  # infinite or not a number: so is the result
    return repeat(g, g.Cast(most, to=ir.DataType.INT64), [x], square)[0]
