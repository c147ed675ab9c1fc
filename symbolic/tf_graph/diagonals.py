"""Matrices out of diagonals, and diagonals out of matrices: one, or all of a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, as_value, int64, like, refused, scalar_of, shape_of, size_at, times

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@dataclass(frozen=True)
class _Band:
    """Diagonals of matrices, as they lie in a tensor: the highest first, each filled up to the longest.

    Attributes:
        low: Number of the lowest diagonal, an int64 scalar.
        high: Number of the highest one.
        single: There is one, without an axis of its own.
        rows: Rows of the matrices.
        columns: Their columns.
        longest: Length of the longest diagonal.
        align: On which side those above the main one and those below it begin.
    """

    low: Value
    high: Value
    single: bool
    rows: Value
    columns: Value
    longest: Value
    align: str

    def offsets(self, g: GraphBuilder, d: Value) -> Value | int:
        """How far the elements of diagonals are moved to the right."""
        above, below = self.align.split("_")
        if "RIGHT" not in (above, below):
            return 0
        ends = g.Sub(self.columns, g.Max(d, 0)), g.Add(self.rows, g.Min(d, 0))
        free = g.Sub(self.longest, g.Min(*ends))
        if above == below:
            return free
        moved = g.GreaterOrEqual(d, 0) if above == "RIGHT" else g.LessOrEqual(d, 0)
        result: Value = g.Where(moved, free, 0)
        return result


def _numbers(g: GraphBuilder, k: Value, op: str) -> tuple[Value, Value, bool]:
    """The lowest and the highest diagonal, and whether they are known to be one."""
    wide = int64(g, k)
    if wide.rank == 0 or wide.dim(0) == 1:
        one = scalar_of(g, wide)
        return one, one, True
    if wide.dim(0) != 2 or wide.array is None:
        raise refused(g, op, "a band of diagonals computed by the model isn't supported")
    low, high = (g.Gather(wide, i, axis=0) for i in (0, 1))
    return low, high, int(wide.array[0]) == int(wide.array[1])


def _spread(g: GraphBuilder, diagonals: Value, band: _Band, padding: Value) -> tuple[Value, Value]:
    """Matrices of diagonals, padding elsewhere, and where the diagonals lie."""
    numbers = g.Range(0, band.rows, 1), g.Range(0, band.columns, 1)
    d = g.Sub(numbers[1], g.Unsqueeze(numbers[0], [1]))
    hit = g.And(g.GreaterOrEqual(d, band.low), g.LessOrEqual(d, band.high))
    element = g.Add(g.Sub(numbers[1], g.Max(d, 0)), band.offsets(g, d))
    place = g.Add(g.Mul(g.Sub(band.high, d), band.longest), element)
    return _taken(g, diagonals, 1 if band.single else 2, place, hit, padding), hit


def _taken(g: GraphBuilder, x: Value, axes: int, places: Value, hit: Value, padding: Value) -> Value:
    """Elements of the last axes, seen as one, by their places; padding where there is no hit."""
    sizes = shape_of(g, x)
    count = times(g, sizes[-axes:])
    flat = g.reshape(x, [*sizes[:-axes], count]) if axes > 1 else x
    longer = call(g, "Pad", flat, [0] * (2 * flat.rank - 1) + [1], padding)
    result: Value = g.Gather(longer, g.Where(hit, places, as_value(g, count)), axis=-1)
    return result


def matrices(
    g: GraphBuilder, x: Value, k: Value, rows: Value, columns: Value, padding: Value, align: str, op: str
) -> Value:
    """Matrices of diagonals; a size of -1 is the least that holds them."""
    low, high, single = _numbers(g, k, op)
    if not isinstance(x.dim(-1), int) and (k.array is None or k.array.any()):
        # it takes an open size for -1 and adds to it, and everything behind inherits that
        raise refused(g, op, "TensorFlow tells a wrong shape for other diagonals than the main one of open length")
    longest = as_value(g, size_at(g, x, -1))
    least = g.Sub(longest, g.Min(high, 0)), g.Add(longest, g.Max(low, 0))
    given = [scalar_of(g, int64(g, v)) for v in (rows, columns)]
    open_ = [g.Less(v, 0) for v in given]
    square = g.And(*open_)
    height, width = (
        g.Where(square, g.Max(*least), g.Where(o, s, v)) for o, s, v in zip(open_, least, given, strict=True)
    )
    return _spread(g, x, _Band(low, high, single, height, width, longest, align), padding)[0]


def diagonals(g: GraphBuilder, x: Value, k: Value, padding: Value, align: str, op: str) -> Value:
    """Diagonals of matrices."""
    low, high, single = _numbers(g, k, op)
    rows, columns = (as_value(g, size_at(g, x, a)) for a in (-2, -1))
    longest = g.Min(g.Add(rows, g.Min(high, 0)), g.Sub(columns, g.Max(low, 0)))
    band = _Band(low, high, single, rows, columns, longest, align)
    d = high if single else g.Sub(high, g.Unsqueeze(g.Range(0, g.Add(g.Sub(high, low), 1), 1), [1]))
    elements = g.Sub(g.Range(0, longest, 1), 0 if single else band.offsets(g, d))
    row, column = g.Add(elements, g.Max(g.Neg(d), 0)), g.Add(elements, g.Max(d, 0))
    inside = [g.And(g.GreaterOrEqual(v, 0), g.Less(v, end)) for v, end in ((row, rows), (column, columns))]
    return _taken(g, x, 2, g.Add(g.Mul(row, columns), column), g.And(*inside), padding)


def with_diagonals(g: GraphBuilder, x: Value, diagonal: Value, k: Value, align: str, op: str) -> Value:
    """Matrices with other diagonals."""
    low, high, single = _numbers(g, k, op)
    rows, columns, longest = (as_value(g, s) for s in (size_at(g, x, -2), size_at(g, x, -1), size_at(g, diagonal, -1)))
    band = _Band(low, high, single, rows, columns, longest, align)
    spread, hit = _spread(g, diagonal, band, like(g, 0, x))
    return call(g, "Where", hit, spread, x)


# --- operations -----------------------------------------------------------------------------------------------------

_LEFT = "LEFT_LEFT"


@symbolic(DIALECT, "MatrixDiag")
def matrix_diag(g: GraphBuilder, x: Value) -> Value:
    """MatrixDiag(diagonal: T) -> T"""
    least = g.constant(-1)
    return matrices(g, x, g.constant(0), least, least, like(g, 0, x), _LEFT, "MatrixDiag")


@symbolic(DIALECT, "MatrixDiagV2")
def matrix_diag_v2(g: GraphBuilder, x: Value, k: Value, rows: Value, columns: Value, padding: Value) -> Value:
    """MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> T"""
    return matrices(g, x, k, rows, columns, padding, _LEFT, "MatrixDiagV2")


@symbolic(DIALECT, "MatrixDiagV3")
def matrix_diag_v3(
    g: GraphBuilder, x: Value, k: Value, rows: Value, columns: Value, padding: Value, *, align: str = "RIGHT_LEFT"
) -> Value:
    """MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T, align) -> T"""
    return matrices(g, x, k, rows, columns, padding, align, "MatrixDiagV3")


@symbolic(DIALECT, "MatrixDiagPart")
def matrix_diag_part(g: GraphBuilder, x: Value) -> Value:
    """MatrixDiagPart(input: T) -> T"""
    return diagonals(g, x, g.constant(0), like(g, 0, x), _LEFT, "MatrixDiagPart")


@symbolic(DIALECT, "MatrixDiagPartV2")
def matrix_diag_part_v2(g: GraphBuilder, x: Value, k: Value, padding: Value) -> Value:
    """MatrixDiagPartV2(input: T, k: int32, padding_value: T) -> T"""
    return diagonals(g, x, k, padding, _LEFT, "MatrixDiagPartV2")


@symbolic(DIALECT, "MatrixDiagPartV3")
def matrix_diag_part_v3(g: GraphBuilder, x: Value, k: Value, padding: Value, *, align: str = "RIGHT_LEFT") -> Value:
    """MatrixDiagPartV3(input: T, k: int32, padding_value: T, align: string) -> T"""
    return diagonals(g, x, k, padding, align, "MatrixDiagPartV3")


@symbolic(DIALECT, "MatrixSetDiag")
def matrix_set_diag(g: GraphBuilder, x: Value, diagonal: Value) -> Value:
    """MatrixSetDiag(input: T, diagonal: T) -> T"""
    return with_diagonals(g, x, diagonal, g.constant(0), _LEFT, "MatrixSetDiag")


@symbolic(DIALECT, "MatrixSetDiagV2")
def matrix_set_diag_v2(g: GraphBuilder, x: Value, diagonal: Value, k: Value) -> Value:
    """MatrixSetDiagV2(input: T, diagonal: T, k: int32) -> T"""
    return with_diagonals(g, x, diagonal, k, _LEFT, "MatrixSetDiagV2")


@symbolic(DIALECT, "MatrixSetDiagV3")
def matrix_set_diag_v3(g: GraphBuilder, x: Value, diagonal: Value, k: Value, *, align: Any = "RIGHT_LEFT") -> Value:
    """MatrixSetDiagV3(input: T, diagonal: T, k: int32, align: string) -> T"""
    return with_diagonals(g, x, diagonal, k, align, "MatrixSetDiagV3")
