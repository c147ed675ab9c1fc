"""Complex tensors from real ones and real ones from complex ones; changes of dtype."""

from __future__ import annotations

from typing import Any

from ..aten.promotion import DataType, cast, promoted
from ..builder import GraphBuilder
from ..complex import arithmetic
from ..complex.number import PARTS, Complex, Number, as_complex, from_pair, real_part, spread, to_pair
from ..registry import symbolic
from ..value import Value
from .operands import DIALECT, Operand, component, number, part_type


@symbolic(DIALECT, "view_as_complex", "view_as_complex_copy")
def view_as_complex(g: GraphBuilder, self: Value) -> Complex:
    """aten::view_as_complex(Tensor(a) self) -> Tensor(a)"""
    return from_pair(g, self)


@symbolic(DIALECT, "view_as_real", "view_as_real_copy", "_view_as_real_physical")
def view_as_real(g: GraphBuilder, self: Complex) -> Value:
    """aten::view_as_real(Tensor(a) self) -> Tensor(a)"""
    return to_pair(g, self)


@symbolic(DIALECT, "complex")
def complex_(g: GraphBuilder, real: Value, imag: Value) -> Complex:
    """aten::complex(Tensor real, Tensor imag) -> Tensor"""
    a, b = promoted(g, real, imag)
    whole = g.Add(a, g.Mul(b, 0.0)) if a.sizes != b.sizes else a
    return Complex(spread(g, a, whole), spread(g, b, whole))


@symbolic(DIALECT, "polar")
def polar(g: GraphBuilder, abs: Value, angle: Value) -> Complex:
    """aten::polar(Tensor abs, Tensor angle) -> Tensor"""
    return arithmetic.polar(g, *promoted(g, abs, angle))


@symbolic(DIALECT, "real")
def real(g: GraphBuilder, self: Number) -> Value:
    """aten::real(Tensor(a) self) -> Tensor(a)"""
    return real_part(self)


@symbolic(DIALECT, "imag")
def imag(g: GraphBuilder, self: Complex) -> Value:
    """aten::imag(Tensor(a) self) -> Tensor(a)"""
    return self.imag


@symbolic(DIALECT, "abs", "absolute")
def abs(g: GraphBuilder, self: Complex) -> Value:
    """aten::abs(Tensor self) -> Tensor"""
    return arithmetic.absolute(g, self)


@symbolic(DIALECT, "angle")
def angle(g: GraphBuilder, self: Complex) -> Value:
    """aten::angle(Tensor self) -> Tensor"""
    return arithmetic.angle(g, self)


@symbolic(DIALECT, "conj", "_conj", "conj_physical", "_conj_physical", "_conj_copy")
def conj(g: GraphBuilder, self: Number) -> Number:
    """aten::conj(Tensor(a) self) -> Tensor(a)"""
    return arithmetic.conj(g, self)


@symbolic(DIALECT, "mH", "matrix_H", "adjoint")
def adjoint(g: GraphBuilder, self: Complex) -> Number:
    """aten::mH(Tensor(a) self) -> Tensor(a)"""
    from ..aten.shape import transpose

    return arithmetic.each(arithmetic.conj(g, self), lambda p: transpose(g, p, -2, -1))


# --- dtypes ----------------------------------------------------------------------------------------------------------


def convert(g: GraphBuilder, x: Operand, dtype: DataType) -> Number:
    """The tensor in another dtype, complex or not; a real one drops the imaginary part."""
    part = component(dtype)
    assert part is not None
    if dtype in PARTS:
        return as_complex(g, number(g, x, part))
    if dtype == DataType.BOOL and isinstance(x, Complex):
        return g.Not(arithmetic.is_zero(g, x))
    return cast(g, x.real if isinstance(x, Complex) else x, dtype)  # type: ignore[arg-type]


@symbolic(DIALECT, "to.dtype")
def to_dtype(g: GraphBuilder, self: Number, dtype: DataType, non_blocking: Any = False, copy: Any = False,
             memory_format: Any = None) -> Number:  # fmt: skip
    """aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, ...) -> Tensor(a)"""
    return convert(g, self, dtype)


@symbolic(DIALECT, "to.device")
def to_device(g: GraphBuilder, self: Number, device: Any, dtype: DataType, non_blocking: Any = False, copy: Any = False,
              memory_format: Any = None) -> Number:  # fmt: skip
    """aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, ...) -> Tensor(a)"""
    return convert(g, self, dtype)


@symbolic(DIALECT, "to.dtype_layout", "_to_copy", "to.prim_Device")
def to_copy(
    g: GraphBuilder, self: Number, device: Any = None, dtype: DataType | None = None, copy: Any = False
) -> Number:
    """aten::_to_copy(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor"""
    return self if dtype is None else convert(g, self, dtype)


@symbolic(DIALECT, "to.prim_dtype")
def to_prim_dtype(g: GraphBuilder, self: Number, dtype: DataType | None = None, non_blocking: Any = False,
                  copy: Any = False) -> Number:  # fmt: skip
    """aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(a|b)"""
    return self if dtype is None else convert(g, self, dtype)


@symbolic(DIALECT, "to.other", "type_as")
def to_other(g: GraphBuilder, self: Number, other: Number, non_blocking: Any = False, copy: Any = False,
             memory_format: Any = None) -> Number:  # fmt: skip
    """aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, ...) -> Tensor(a)"""
    return convert(g, self, other.dtype if isinstance(other, Complex) else other.element)


@symbolic(DIALECT, "copy")
def copy(g: GraphBuilder, self: Number, src: Number, non_blocking: Any = False) -> Number:
    """aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"""
    whole = convert(g, src, self.dtype if isinstance(self, Complex) else self.element)
    return arithmetic.each(whole, lambda p: spread(g, p, real_part(self)))


@symbolic(DIALECT, "linspace")
def linspace(g: GraphBuilder, start: Operand, end: Operand, steps: Any, dtype: DataType | None = None) -> Number:
    """aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, ...) -> Tensor"""
    from ..aten.creation import linspace as real_linspace

    part = component(dtype) or part_type(start, end)
    ends = [as_complex(g, number(g, e, part)) for e in (start, end)]
    return Complex(
        real_linspace(g, ends[0].real, ends[1].real, steps, part),
        real_linspace(g, ends[0].imag, ends[1].imag, steps, part),
    )
