"""A typed value in the graph being built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import numpy as np
import onnx_ir as ir

from .dims import Dim, Sizes

if TYPE_CHECKING:
    from .builder import GraphBuilder

#: What a symbolic function may pass where an operand is expected.
Operand = Union["Value", bool, int, float, str, complex, np.ndarray, np.generic, list[Any], tuple[Any, ...]]

#: Key in a value's meta: the name of the same value in the source. Passes that change what a value holds move it.
MARK = "source_value"

_TENSOR_TYPES = {dtype: ir.TensorType(dtype) for dtype in ir.DataType}


def tensor_type(dtype: ir.DataType) -> ir.TensorType:
    """The tensor type of a dtype; shared, so never mutated."""
    return _TENSOR_TYPES[dtype]


class Value(ir.Value):
    """An ``ir.Value`` that knows its builder, its sizes and, if small or constant, its contents.

    Attributes:
        sizes: One int, Dim or None (unknown) for each axis; None if the rank is unknown.
        dims: Contents of a small integer scalar or vector, as ints, Dims and Nones; None if unknown.
        location: Source location of what made it.
        channels_first: The same tensor with the channel axis second, where there is one: frontends whose tensors
            have it last keep working on this twin, and a Transpose that nothing reads is dropped.
    """

    __slots__ = ("_array", "_builder", "channels_first", "dims", "location", "sizes")

    sizes: Sizes | None
    dims: Sizes | None
    location: str
    channels_first: Value | None

    def __init__(
        self,
        builder: GraphBuilder,
        type: ir.TypeProtocol | None,
        sizes: Sizes | None,
        *,
        name: str | None = None,
        location: str = "",
    ):
        super().__init__(name=name, type=type)
        self._builder = builder
        self._array: np.ndarray | None = None
        self.sizes = sizes
        self.dims = None
        self.location = location
        self.channels_first = None

    @property
    def builder(self) -> GraphBuilder:
        """The builder that made it."""
        return self._builder

    @property
    def element(self) -> ir.DataType:
        """The dtype; raises where it isn't a tensor of a known dtype."""
        dtype = self.dtype
        if dtype is None:
            raise TypeError(f"{self} has no known dtype")
        return dtype

    @property
    def rank(self) -> int:
        """Number of axes; raises where it is unknown."""
        if self.sizes is None:
            raise ValueError(f"the rank of {self.name or 'a value'} is not known (made at {self.location or '?'})")
        return len(self.sizes)

    @property
    def is_constant(self) -> bool:
        """Whether its contents are known and never change."""
        return self._const_value is not None

    @property
    def array(self) -> np.ndarray | None:
        """Contents of a constant (not copied), else None."""
        if self._array is None and self._const_value is not None:
            self._array = self._const_value.numpy()
        return self._array

    @property
    def size(self) -> int | None:
        """Number of elements, where every size is known."""
        if self.sizes is None:
            return None
        count = 1
        for size in self.sizes:
            if not isinstance(size, int):
                return None
            count *= size
        return count

    def dim(self, axis: int) -> int | Dim | None:
        """Size of one axis (negative counts from the end), None where unknown."""
        return None if self.sizes is None else self.sizes[axis]

    # Operators promote literals to this value's dtype and fold constants like any call.
    def __add__(self, other: Operand) -> Value:
        return self._builder.Add(self, other)

    def __radd__(self, other: Operand) -> Value:
        return self._builder.Add(other, self)

    def __sub__(self, other: Operand) -> Value:
        return self._builder.Sub(self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._builder.Sub(other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._builder.Mul(self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self._builder.Mul(other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self._builder.Div(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._builder.Div(other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self._builder.MatMul(self, other)

    def __pow__(self, other: Operand) -> Value:
        return self._builder.Pow(self, other)

    def __neg__(self) -> Value:
        return self._builder.Neg(self)

    def __and__(self, other: Operand) -> Value:
        return self._builder.And(self, other)

    def __or__(self, other: Operand) -> Value:
        return self._builder.Or(self, other)

    def __invert__(self) -> Value:
        return self._builder.Not(self)

    def __lt__(self, other: Operand) -> Value:
        return self._builder.Less(self, other)

    def __le__(self, other: Operand) -> Value:
        return self._builder.LessOrEqual(self, other)

    def __gt__(self, other: Operand) -> Value:
        return self._builder.Greater(self, other)

    def __ge__(self, other: Operand) -> Value:
        return self._builder.GreaterOrEqual(self, other)
