"""Matrix products and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..linalg.cholesky import cholesky as cholesky_of
from ..linalg.solve import solve
from ..nn.weights import transposed
from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, as_value, cast, int64, ints, like, refused, size_at

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _turned(g: GraphBuilder, x: Value, turn: bool) -> Value:
    """The last two axes swapped."""
    if not turn:
        return x
    return transposed(g, x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


@symbolic(DIALECT, "MatMul")
def matmul(g: GraphBuilder, a: Value, b: Value, *, transpose_a: bool = False, transpose_b: bool = False) -> Value:
    """MatMul(a: T, b: T, transpose_a: bool, transpose_b: bool) -> T"""
    return call(g, "MatMul", _turned(g, a, transpose_a), _turned(g, b, transpose_b))


@symbolic(DIALECT, "BatchMatMul", "BatchMatMulV2")
def batch_matmul(g: GraphBuilder, a: Value, b: Value, *, adj_x: bool = False, adj_y: bool = False) -> Value:
    """BatchMatMulV2(x: T, y: T, adj_x: bool, adj_y: bool) -> T"""
    return call(g, "MatMul", _turned(g, a, adj_x), _turned(g, b, adj_y))


@symbolic(DIALECT, "BatchMatMulV3")
def batch_matmul_v3(
    g: GraphBuilder, a: Value, b: Value, *, Tout: Any, adj_x: bool = False, adj_y: bool = False
) -> Value:
    """BatchMatMulV3(x: Ta, y: Tb, Tout: type, adj_x: bool, adj_y: bool) -> Tout"""
    return call(g, "MatMul", _turned(g, cast(g, a, Tout), adj_x), _turned(g, cast(g, b, Tout), adj_y))


@symbolic(DIALECT, "Einsum")
def einsum(g: GraphBuilder, *operands: Value, equation: str) -> Value:
    """Einsum(inputs: N * T, equation: string) -> T"""
    return call(g, "Einsum", *operands, equation=equation.replace(" ", ""))


@symbolic(DIALECT, "MatrixBandPart")
def matrix_band_part(g: GraphBuilder, x: Value, lower: Value, upper: Value) -> Value:
    """MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> T"""
    rows = g.Unsqueeze(g.Range(0, as_value(g, size_at(g, x, -2)), 1), [1])
    apart = g.Sub(rows, g.Range(0, as_value(g, size_at(g, x, -1)), 1))  # row - column
    low, high = (g.Reshape(int64(g, v), []) for v in (lower, upper))
    below = g.Or(g.Less(low, 0), g.LessOrEqual(apart, low))
    above = g.Or(g.Less(high, 0), g.LessOrEqual(g.Neg(apart), high))
    return (
        call(g, "Where", g.And(below, above), x, like(g, 0, x))
        if x.element is not _T.BOOL
        else g.And(g.And(below, above), x)
    )


@symbolic(DIALECT, "MatrixDiag")
def matrix_diag(g: GraphBuilder, x: Value) -> Value:
    """MatrixDiag(diagonal: T) -> T"""
    numbers = g.Range(0, as_value(g, size_at(g, x, -1)), 1)
    same = g.Equal(g.Unsqueeze(numbers, [1]), numbers)
    return call(g, "Where", same, g.Unsqueeze(x, [-1]), like(g, 0, x))


@symbolic(DIALECT, "MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_v3(
    g: GraphBuilder, x: Value, k: Value, rows: Value, columns: Value, padding: Value, *, align: str = "RIGHT_LEFT"
) -> Value:
    """MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T, align) -> T"""
    offsets = ints(g, k, "MatrixDiagV3", "a diagonal")
    given = [ints(g, v, "MatrixDiagV3", "a size")[0] for v in (rows, columns)]
    if len(set(offsets)) > 1 or given != [-1, -1]:
        raise refused(g, "MatrixDiagV3", "several diagonals, and sizes of the matrix, aren't supported")
    offset = offsets[0]
    length = as_value(g, size_at(g, x, -1))
    whole = g.Range(0, g.Add(length, abs(offset)), 1)
    # where a diagonal lies: column - row is its number; element i of it is row i, or column i below the main one
    hit = g.Equal(g.Sub(whole, g.Unsqueeze(whole, [1])), offset)
    pads = [0] * (2 * x.rank)
    pads[-1] = abs(offset)
    wide = call(g, "Pad", x, pads) if offset else x
    return call(g, "Where", hit, g.Unsqueeze(wide, [-1 if offset >= 0 else -2]), padding)


@symbolic(DIALECT, "MatrixDiagPart")
def matrix_diag_part(g: GraphBuilder, x: Value) -> Value:
    """MatrixDiagPart(input: T) -> T"""
    return _diagonal(g, x, 0)


@symbolic(DIALECT, "MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_v3(g: GraphBuilder, x: Value, k: Value, padding: Value, *, align: str = "RIGHT_LEFT") -> Value:
    """MatrixDiagPartV3(input: T, k: int32, padding_value: T, align: string) -> T"""
    offsets = ints(g, k, "MatrixDiagPartV3", "a diagonal")
    if len(set(offsets)) > 1:
        raise refused(g, "MatrixDiagPartV3", "several diagonals aren't supported")
    return _diagonal(g, x, offsets[0])


def _diagonal(g: GraphBuilder, x: Value, offset: int) -> Value:
    row, column = max(-offset, 0), max(offset, 0)
    heights = g.Sub(as_value(g, size_at(g, x, -2)), row)
    widths = g.Sub(as_value(g, size_at(g, x, -1)), column)
    numbers = g.Range(0, g.Min(heights, widths), 1)
    places = g.Concat(g.Unsqueeze(g.Add(numbers, row), [1]), g.Unsqueeze(g.Add(numbers, column), [1]), axis=1)
    if x.rank == 2:
        return g.GatherND(x, places)
    order = [x.rank - 2, x.rank - 1, *range(x.rank - 2)]
    taken = g.GatherND(g.Transpose(x, perm=order), places)
    return g.Transpose(taken, perm=[*range(1, taken.rank), 0])


@symbolic(DIALECT, "MatrixSetDiagV3", "MatrixSetDiagV2")
def matrix_set_diag(g: GraphBuilder, x: Value, diagonal: Value, k: Value, *, align: str = "RIGHT_LEFT") -> Value:
    """MatrixSetDiagV3(input: T, diagonal: T, k: int32, align: string) -> T"""
    if ints(g, k, "MatrixSetDiagV3", "a diagonal") not in ([0], [0, 0]):
        raise refused(g, "MatrixSetDiagV3", "other diagonals than the main one aren't supported")
    height, width = (as_value(g, size_at(g, x, a)) for a in (-2, -1))
    same = g.Equal(g.Unsqueeze(g.Range(0, height, 1), [1]), g.Range(0, width, 1))
    # the diagonal ends before the rows do where there are more rows than columns
    missing = g.Sub(height, as_value(g, size_at(g, diagonal, -1)))
    pads = g.shape_vector([0] * (2 * diagonal.rank - 1) + [missing])
    return call(g, "Where", same, g.Unsqueeze(call(g, "Pad", diagonal, pads), [-1]), x)


@symbolic(DIALECT, "MatrixDeterminant")
def determinant(g: GraphBuilder, x: Value) -> Value:
    """MatrixDeterminant(input: T) -> T"""
    return g.Det(x)


def _square(g: GraphBuilder, x: Value, op: str) -> int:
    """The order of square matrices, which must be fixed."""
    rows, columns = x.dim(-2), x.dim(-1)
    if not isinstance(rows, int) or rows != columns or x.element not in (_T.FLOAT, _T.DOUBLE):
        raise refused(g, op, "matrices whose order isn't known before the model runs aren't supported")
    return rows


@symbolic(DIALECT, "Cholesky", "BatchCholesky")
def cholesky(g: GraphBuilder, x: Value) -> Value:
    """Cholesky(input: T) -> T; not-a-number where TensorFlow fails: matrices that aren't positive definite"""
    _square(g, x, "Cholesky")
    return cholesky_of(g, x)[0]


@symbolic(DIALECT, "MatrixInverse", "BatchMatrixInverse")
def matrix_inverse(g: GraphBuilder, x: Value, *, adjoint: bool = False) -> Value:
    """MatrixInverse(input: T, adjoint: bool) -> T"""
    _square(g, x, "MatrixInverse")
    return solve(g, _turned(g, x, adjoint))


@symbolic(DIALECT, "Cross")
def cross(g: GraphBuilder, a: Value, b: Value) -> Value:
    """Cross(a: T, b: T) -> T"""
    left, right = (np.array([1, 2, 0]), np.array([2, 0, 1]))
    first = g.Mul(g.Gather(a, left, axis=-1), g.Gather(b, right, axis=-1))
    return g.Sub(first, g.Mul(g.Gather(a, right, axis=-1), g.Gather(b, left, axis=-1)))
