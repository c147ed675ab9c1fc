"""Nodes of a captured graph that take complex or quantised tensors: they have symbolic functions of their own."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from ...symbolic.builder import GraphBuilder, as_dtype
from ...symbolic.complex.arithmetic import each
from ...symbolic.complex.number import PARTS, Complex, as_complex, cast, from_pair, to_pair
from ...symbolic.dims import Dim
from ...symbolic.errors import TranslationError
from ...symbolic.quantized.tensor import Quantized, requantized
from ...symbolic.value import Value

#: What a tensor of the program is in the graph.
TENSOR = (Value, Complex, Quantized)


def touches_complex(node: Any) -> bool:
    """Whether a node's result or one of its operands is complex."""
    return _is_complex(node.meta.get("val")) or any(_is_complex(n.meta.get("val")) for n in node.all_input_nodes)


def _is_complex(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_is_complex(part) for part in value)
    dtype = getattr(value, "dtype", None)
    return dtype is not None and bool(getattr(dtype, "is_complex", False))


def _takes_spectrum(node: Any) -> bool:
    """Whether a node transforms half a spectrum, which may be given in real numbers."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.name.startswith(("aten::fft_irfft", "aten::fft_hfft"))


def _takes_quantized(node: Any) -> bool:
    found = [n.meta.get("val") for n in node.all_input_nodes]
    return any(getattr(v, "is_quantized", False) for v in found)


def dialect_of(node: Any) -> str:
    """The dialect in which a node's function is looked up."""
    if touches_complex(node) or _takes_spectrum(node):
        return "aten.complex"
    return "aten.quantized" if _takes_quantized(node) else "aten"


def as_input(g: GraphBuilder, name: str, dtype: str, sizes: list[int | Dim | None]) -> Value | Complex:
    """A graph input; a complex one is a pair of real numbers along a last axis."""
    part = PARTS.get(as_dtype(dtype))
    if part is None:
        return g.input(name, dtype, sizes)
    return from_pair(g, g.input(name, part, [*sizes, 2]))


def as_output(g: GraphBuilder, value: Any) -> Any:
    """A graph output: a complex tensor leaves as a pair, a quantised one as the numbers that it stands for."""
    if isinstance(value, Quantized):
        return value.numbers
    return to_pair(g, value) if isinstance(value, Complex) else value


def expected(g: GraphBuilder, value: Any, dtype: ir.DataType | None, sizes: list[int | Dim | None]) -> Any:
    """Compares a tensor with what the capture says about it.

    Raises:
        TranslationError: It is complex and should not be, or a part of it contradicts.
    """
    if isinstance(value, Quantized):
        g.expect(value.numbers, dtype, sizes)
        return value
    if dtype in PARTS:
        whole = as_complex(g, value)
        for part in (whole.real, whole.imag):
            g.expect(part, PARTS[dtype], sizes)
        return whole
    if isinstance(value, Complex):
        raise TranslationError("the result is complex, the source says it isn't", location=g.location)
    return g.expect(value, dtype, sizes)


def like(g: GraphBuilder, value: Any, before: Any) -> Any:
    """The result of an in-place op in the dtype of the tensor that it writes to."""
    if isinstance(before, Quantized):
        return value if isinstance(value, Quantized) else requantized(g, value, before)
    if isinstance(value, Quantized):
        value = value.numbers
    if isinstance(before, Complex):
        return cast(g, as_complex(g, value), before.element)
    if isinstance(value, Complex):
        value = value.real
    return value if value.dtype is before.dtype else g.Cast(value, to=before.element)


def flat(results: list[Any]) -> list[Value]:
    """Results of a branch with the parts of complex ones side by side."""
    return [part for r in results for part in ((r.real, r.imag) if isinstance(r, Complex) else (r,))]


def grouped(parts: list[Value], kinds: list[Any]) -> list[Value | Complex]:
    """The inverse of `flat`: parts joined as in results of these kinds."""
    rest = iter(parts)
    return [Complex(next(rest), next(rest)) if isinstance(k, Complex) else next(rest) for k in kinds]


def reshaped(g: GraphBuilder, value: Value | Complex, sizes: list[Any]) -> Value | Complex:
    """The tensor in another shape."""
    return each(value, lambda part: g.reshape(part, sizes))
