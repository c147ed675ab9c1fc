"""Floats as bits and bits as floats, by arithmetic: ONNX has no operator for it before opset 26."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .functions import is_negative
from .kernels import BITS, FLOATS, INTEGERS, UNSIGNED, call
from .pointwise import scalar, unsigned

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


@dataclass(frozen=True)
class Format:
    """Bits of a float: mantissa, exponent, and the exponent's offset."""

    mantissa: int
    exponent: int

    @property
    def bias(self) -> int:
        """What is added to the exponent."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def width(self) -> int:
        """All bits."""
        return 1 + self.exponent + self.mantissa


_FORMATS = {
    _T.FLOAT16: Format(10, 5), _T.BFLOAT16: Format(7, 8), _T.FLOAT: Format(23, 8), _T.DOUBLE: Format(52, 11),
}  # fmt: skip


def bitcast(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """The same bits as another dtype of the same width."""
    if x.element is dtype:
        return x
    if x.array is not None and x.size is not None and x.size <= 65536:
        return g.constant(x.array.view(dtype.numpy()))
    if x.element in INTEGERS and dtype in INTEGERS and BITS[x.element] == BITS[dtype]:
        return g.Cast(x, to=dtype)
    if x.element in INTEGERS and dtype in FLOATS and BITS[x.element] == _FORMATS[dtype].width:
        return _to_float(g, x, dtype)
    if x.element in FLOATS and dtype in INTEGERS and _FORMATS[x.element].width == BITS[dtype]:
        return _from_float(g, x, dtype)
    raise ValueError(f"the bits of {x.element.name} can't be read as {dtype.name}")


def _to_float(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """sign * mantissa * 2**exponent; the power is looked up."""
    form = _FORMATS[dtype]
    word = unsigned(x.element)
    bits = x if x.element is word else g.Cast(x, to=word)
    mantissa = g.BitwiseAnd(bits, scalar(g, (1 << form.mantissa) - 1, bits))
    shifted = g.BitShift(bits, scalar(g, form.mantissa, bits), direction="RIGHT")
    top = (1 << form.exponent) - 1
    exponent = g.Cast(g.BitwiseAnd(shifted, scalar(g, top, bits)), to=_T.INT64)
    wide = _T.DOUBLE if dtype is _T.DOUBLE else _T.FLOAT
    # one table for the power of the last bit, one for the leading bit that is not written
    powers = np.ldexp(np.ones(top + 1), np.maximum(np.arange(top + 1), 1) - form.bias - form.mantissa)
    powers[top] = 0
    hidden = np.full(top + 1, float(1 << form.mantissa))
    hidden[[0, top]] = 0
    number = g.Add(g.Cast(mantissa, to=wide), g.Gather(g.constant(hidden.astype(wide.numpy())), exponent))
    value = g.Mul(number, g.Gather(g.constant(powers.astype(wide.numpy())), exponent))
    special = g.Equal(exponent, top)
    inf, nan = (g.constant(np.array(v, wide.numpy())) for v in (np.inf, np.nan))
    value = g.Where(special, g.Where(g.Equal(mantissa, scalar(g, 0, bits)), inf, nan), value)
    negative = g.GreaterOrEqual(bits, scalar(g, 1 << (form.width - 1), bits))
    signed = g.Where(negative, g.Neg(value), value)
    return signed if wide is dtype else g.Cast(signed, to=dtype)


def _from_float(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """The exponent by logarithm, corrected by comparison with powers of two; the mantissa by division."""
    form = _FORMATS[x.element]
    wide = _T.DOUBLE
    value = g.Cast(x, to=wide)
    size = g.Abs(value)
    if form.width == 64:
        raise ValueError("the bits of double-precision numbers can't be read")
    lowest = 1 - form.bias
    tiny = 2.0**lowest
    safe = g.Min(g.Max(size, scalar(g, tiny, value)), scalar(g, 2.0 ** (form.bias + 1), value))
    guess = g.Floor(g.Div(g.Log(safe), scalar(g, np.log(2), value)))
    index = g.Sub(g.Cast(guess, to=_T.INT64), lowest)
    index = g.Min(g.Max(index, 0), form.bias + 1 - lowest)
    table = g.constant(np.ldexp(np.ones(form.bias + 2 - lowest + 1), np.arange(lowest, form.bias + 3)))
    index = g.Sub(index, g.Cast(g.Less(safe, g.Gather(table, index)), to=_T.INT64))
    index = g.Add(index, g.Cast(g.GreaterOrEqual(safe, g.Gather(table, g.Add(index, 1))), to=_T.INT64))
    scaled = g.Div(size, g.Gather(table, index))  # 1 <= scaled < 2, below 1 without the leading bit
    mantissa = g.Cast(g.Mul(scaled, scalar(g, float(1 << form.mantissa), value)), to=_T.INT64)
    bits = g.Add(g.Mul(index, 1 << form.mantissa), mantissa)
    special = ((1 << form.exponent) - 1) << form.mantissa
    bits = g.Where(g.IsInf(size), np.array(special), bits)
    bits = g.Where(g.IsNaN(value), np.array(special | 1 << (form.mantissa - 1)), bits)
    bits = g.Where(is_negative(g, value), g.Add(bits, 1 << (form.width - 1)), bits)
    word = g.Cast(bits, to=unsigned(dtype))
    return word if dtype in UNSIGNED else g.Cast(word, to=dtype)


def next_after(g: GraphBuilder, x: Value, y: Value) -> Value:
    """The next float from x in the direction of y."""
    word = ir.DataType[f"INT{_FORMATS[x.element].width}"]
    zero = scalar(g, 0, x)
    bits = bitcast(g, x, word)
    up = g.Greater(y, x)
    away = g.Equal(up, g.Greater(x, zero))
    step = call(g, "Where", away, scalar(g, 1, bits), scalar(g, -1, bits))
    moved = bitcast(g, g.Add(bits, step), x.element)
    least = bitcast(g, g.constant(np.array(1, word.numpy())), x.element)
    at_zero = call(g, "Where", up, least, call(g, "Neg", least))
    moved = call(g, "Where", g.Equal(x, zero), at_zero, moved)
    moved = call(g, "Where", g.Equal(x, y), y, moved)
    either = g.Or(call(g, "IsNaN", x), call(g, "IsNaN", y))
    return call(g, "Where", either, call(g, "Add", x, y), moved)
