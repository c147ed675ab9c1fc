"""Complex tensors: ONNX runtimes compute with real ones, so that a complex tensor is two of them.

Inside a graph these are its real and its imaginary part. Where a tensor enters or leaves the graph, or is looked at as
numbers, they are one tensor whose last axis, of size 2, holds both: the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Sizes
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: Complex dtype -> dtype of its parts.
PARTS = {_T.COMPLEX64: _T.FLOAT, _T.COMPLEX128: _T.DOUBLE}
_WHOLE = {part: whole for whole, part in PARTS.items()}


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex tensor.

    Attributes:
        real: Real part.
        imag: Imaginary part, of the same dtype and shape.
        pair: Both in one tensor, where that is what it was made from.
    """

    real: Value
    imag: Value
    pair: Value | None = field(default=None, compare=False)

    @property
    def element(self) -> ir.DataType:
        """Dtype of the parts."""
        return self.real.element

    @property
    def dtype(self) -> ir.DataType:
        """The complex dtype."""
        return _WHOLE[self.real.element]

    @property
    def sizes(self) -> Sizes | None:
        """Sizes of the tensor, as `Value.sizes`."""
        return self.real.sizes

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.real.rank

    def dim(self, axis: int) -> Any:
        """Size of one axis, as `Value.dim`."""
        return self.real.dim(axis)


#: A tensor of complex or real numbers.
Number = Complex | Value


def from_pair(g: GraphBuilder, pair: Value) -> Complex:
    """The complex tensor whose parts lie along the last axis."""
    return Complex(g.Gather(pair, 0, axis=-1), g.Gather(pair, 1, axis=-1), pair)


def to_pair(g: GraphBuilder, z: Complex) -> Value:
    """Both parts along a new last axis."""
    if z.pair is not None:
        return z.pair
    rank = z.real.rank
    result: Value = g.Concat(g.Unsqueeze(z.real, [rank]), g.Unsqueeze(z.imag, [rank]), axis=rank)
    return result


def constant(g: GraphBuilder, array: Any, part: ir.DataType) -> Number:
    """A known number or array; a real tensor where no part is imaginary."""
    array = np.asarray(array)
    real = g.constant(np.array(array.real), part)
    if array.dtype.kind != "c" or not np.any(array.imag):
        return real
    return Complex(real, g.constant(np.array(array.imag), part))


def scalar(g: GraphBuilder, value: float, like: Value) -> Value:
    """A real number in the dtype of a tensor."""
    return g.constant(np.asarray(value).astype(like.element.numpy()))


def filled(g: GraphBuilder, value: float, like: Value) -> Value:
    """A real number in the dtype and shape of a tensor."""
    return spread(g, scalar(g, value, like), like)


def spread(g: GraphBuilder, x: Value, like: Value) -> Value:
    """The tensor broadcast to the shape of another one."""
    sizes = like.sizes
    if sizes is None or None in sizes:
        result: Value = g.Expand(x, g.Shape(like))
        return result
    return g.expand(x, sizes)


def as_complex(g: GraphBuilder, x: Number) -> Complex:
    """The tensor as a complex one; no part of a real one is imaginary."""
    return x if isinstance(x, Complex) else Complex(x, filled(g, 0.0, x))


def real_part(x: Number) -> Value:
    """The real part; a real tensor itself."""
    return x.real if isinstance(x, Complex) else x


def imaginary_part(x: Number) -> Value | None:
    """The imaginary part; None for a real tensor."""
    return x.imag if isinstance(x, Complex) else None


def cast(g: GraphBuilder, x: Number, part: ir.DataType) -> Number:
    """The tensor with parts of another dtype."""
    if isinstance(x, Complex):
        return x if x.element is part else Complex(g.Cast(x.real, to=part), g.Cast(x.imag, to=part))
    return x if x.element is part else g.Cast(x, to=part)


def select(g: GraphBuilder, condition: Value, x: Complex, y: Complex) -> Complex:
    """x where the condition holds, else y."""
    return Complex(g.Where(condition, x.real, y.real), g.Where(condition, x.imag, y.imag))


def multilinear(g: GraphBuilder, function: Callable[..., Value], operands: Sequence[Number]) -> Number:
    """A function that is linear in each of its operands (a product, a convolution ...), from the function of real ones.

    Args:
        g: Builder.
        function: Takes a real tensor for each operand.
        operands: The operands.
    """
    real: Value | None = None
    imaginary: Value | None = None
    for mask in range(1 << len(operands)):
        chosen = [imaginary_part(x) if mask >> i & 1 else real_part(x) for i, x in enumerate(operands)]
        if any(part is None for part in chosen):
            continue
        term = function(*chosen)
        power = mask.bit_count()  # of i
        if power % 2:
            imaginary = _accumulated(g, imaginary, term, negative=power % 4 == 3)
        else:
            real = _accumulated(g, real, term, negative=power % 4 == 2)
    assert real is not None
    return real if imaginary is None else Complex(real, imaginary)


def _accumulated(g: GraphBuilder, total: Value | None, term: Value, *, negative: bool) -> Value:
    if total is None:
        result: Value = g.Neg(term) if negative else term
        return result
    return g.Sub(total, term) if negative else g.Add(total, term)
