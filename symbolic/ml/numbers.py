"""Attributes of many numbers: kept as arrays, where the graph library would make a Python object of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir


class Numbers(Sequence[Any]):
    """A sequence of numbers on top of an array.

    Args:
        array: int64 or float32, one axis; it is not changed any more.
    """

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray):
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, at: Any) -> Any:
        return self.array[at].item() if isinstance(at, int) else Numbers(self.array[at])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers):
            return np.array_equal(self.array, other.array)
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Numbers({self.array!r})"


def ints(name: str, values: np.ndarray) -> ir.Attr:
    """An attribute of whole numbers."""
    return _attribute(name, ir.AttributeType.INTS, np.ascontiguousarray(values, np.int64))


def floats(name: str, values: np.ndarray) -> ir.Attr:
    """An attribute of float32 numbers."""
    return _attribute(name, ir.AttributeType.FLOATS, np.ascontiguousarray(values, np.float32))


def _attribute(name: str, kind: ir.AttributeType, values: np.ndarray) -> ir.Attr:
    # the constructor would convert each number, which takes longer than all else about big trees
    found = ir.Attr(name, kind, ())
    found._value = Numbers(values)
    return found
