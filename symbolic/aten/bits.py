"""Parts and neighbours of floating-point numbers."""

from __future__ import annotations

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, cast, promoted, value_of

#: Bits of the mantissa with its leading one, and exponent of the smallest number.
_FORMATS = {
    DataType.FLOAT16: (11, -24), DataType.BFLOAT16: (8, -133), DataType.FLOAT: (24, -149),
    DataType.DOUBLE: (53, -1074),
}  # fmt: skip


def _parts(g: GraphBuilder, x: Value, dtype: DataType) -> tuple[Value, Value]:
    """|x| = mantissa * 2 ** exponent with 1/2 <= mantissa < 1, for finite x; x is double, of numbers of `dtype`."""
    lowest = _FORMATS[dtype][1]
    highest = 1024 if dtype == DataType.DOUBLE else 128
    table = np.ldexp(1.0, np.arange(lowest, highest))  # powers[i] = 2 ** (lowest + i)
    size = g.Abs(x)
    powers = g.constant(table)
    safe = g.Where(g.And(g.Greater(size, 0.0), g.Less(size, np.inf)), size, 1.0)
    guess = cast(g, g.Floor(g.Div(g.Log(safe), float(np.log(2.0)))), DataType.INT64)
    place = g.Max(g.Min(g.Sub(guess, lowest), highest - lowest - 1), 0)
    # the logarithm may be off by one
    place = g.Max(g.Sub(place, cast(g, g.Less(safe, g.Gather(powers, place)), DataType.INT64)), 0)
    following = g.Min(g.Add(place, 1), highest - lowest - 1)
    more = g.And(g.GreaterOrEqual(safe, g.Gather(powers, following)), g.Less(place, following))
    place = g.Add(place, cast(g, more, DataType.INT64))
    mantissa = g.Mul(g.Div(safe, g.Gather(powers, place)), 0.5)
    return mantissa, g.Add(place, lowest + 1)


@symbolic("aten", "frexp.Tensor")
def frexp(g: GraphBuilder, self: Value) -> tuple[Value, Value]:
    """aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)"""
    x = cast(g, self, DataType.DOUBLE)
    mantissa, exponent = _parts(g, x, self.element)
    special = g.Or(g.Or(g.Equal(x, 0.0), g.IsNaN(x)), g.Equal(g.Abs(x), np.inf))
    mantissa = g.Where(special, x, g.Where(g.Less(x, 0.0), g.Neg(mantissa), mantissa))
    exponent = g.Where(special, value_of(g, 0, DataType.INT64), exponent)
    return cast(g, mantissa, self.element), cast(g, exponent, DataType.INT32)


@symbolic("aten", "nextafter")
def nextafter(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::nextafter(Tensor self, Tensor other) -> Tensor"""
    from .shape import broadcast_tensors

    a, b = broadcast_tensors(g, promoted(g, self, other))
    dtype = a.element
    digits, lowest = _FORMATS[dtype]
    x, y = cast(g, a, DataType.DOUBLE), cast(g, b, DataType.DOUBLE)
    mantissa, exponent = _parts(g, x, dtype)
    up = g.Greater(y, x)
    outwards = g.Equal(up, g.Greater(x, 0.0))
    # numbers are half as far apart below a power of two
    finer = g.And(g.Not(outwards), g.Equal(mantissa, 0.5))
    gap = g.Max(g.Sub(g.Sub(exponent, digits), cast(g, finer, DataType.INT64)), lowest)
    highest = 1024 - digits if dtype == DataType.DOUBLE else 128
    table = np.ldexp(1.0, np.arange(lowest, highest))
    ulp = g.Gather(g.constant(table), g.Sub(gap, lowest))
    moved = g.Where(up, g.Add(x, ulp), g.Sub(x, ulp))
    least = value_of(g, float(np.ldexp(1.0, lowest)), DataType.DOUBLE)
    moved = g.Where(g.Equal(x, 0.0), g.Where(up, least, g.Neg(least)), moved)
    top = float(np.finfo(dtype.numpy()).max) if dtype != DataType.BFLOAT16 else 3.3895313892515355e38
    infinite = g.Equal(g.Abs(x), np.inf)
    moved = g.Where(infinite, g.Mul(g.Sign(x), top), moved)
    moved = g.Where(g.Equal(x, y), y, moved)
    return cast(g, g.Where(g.Or(g.IsNaN(x), g.IsNaN(y)), np.nan, moved), dtype)
