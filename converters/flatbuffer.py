"""Reads flatbuffers: tables, vectors and strings by the number of their field."""

from __future__ import annotations

import struct

import numpy as np


class FlatbufferError(ValueError):
    """The bytes are no flatbuffer of the expected kind."""


class Table:
    """A table in a buffer.

    Args:
        data: The whole buffer.
        at: Where the table begins.
    """

    def __init__(self, data: bytes, at: int):
        self.data, self.at = data, at
        vtable = at - _unpack("<i", data, at)
        size = _unpack("<H", data, vtable)
        self.fields = np.frombuffer(data, "<u2", (size - 4) // 2, vtable + 4) if size >= 4 else np.zeros(0, "<u2")

    @classmethod
    def root(cls, data: bytes) -> Table:
        """The table that the buffer holds."""
        return cls(data, _unpack("<I", data, 0))

    def place(self, field: int) -> int:
        """Where a field's value stands; 0 where it has its default."""
        if field >= len(self.fields) or not self.fields[field]:
            return 0
        return self.at + int(self.fields[field])

    def number(self, field: int, form: str, default: float) -> float:
        """A number, by its `struct` form."""
        at = self.place(field)
        return _unpack(f"<{form}", self.data, at) if at else default

    def table(self, field: int) -> Table | None:
        """A nested table."""
        at = self.place(field)
        return Table(self.data, at + _unpack("<I", self.data, at)) if at else None

    def array(self, field: int, dtype: str) -> np.ndarray:
        """A vector of numbers or structs."""
        start, count = self._vector(field)
        kind = np.dtype(dtype)
        if start + count * kind.itemsize > len(self.data):
            raise FlatbufferError("a vector reaches beyond the end")
        return np.frombuffer(self.data, kind, count, start) if count else np.zeros(0, kind)

    def tables(self, field: int) -> list[Table]:
        """A vector of tables."""
        start, count = self._vector(field)
        places = [start + 4 * i for i in range(count)]
        return [Table(self.data, at + _unpack("<I", self.data, at)) for at in places]

    def text(self, field: int) -> str:
        """A string."""
        start, count = self._vector(field)
        return self.data[start : start + count].decode("utf-8")

    def texts(self, field: int) -> list[str]:
        """A vector of strings."""
        start, count = self._vector(field)
        found = []
        for place in range(start, start + 4 * count, 4):
            at = place + _unpack("<I", self.data, place)
            found.append(self.data[at + 4 : at + 4 + _unpack("<I", self.data, at)].decode("utf-8"))
        return found

    def _vector(self, field: int) -> tuple[int, int]:
        at = self.place(field)
        if not at:
            return 0, 0
        start = at + _unpack("<I", self.data, at)
        count = _unpack("<I", self.data, start)
        if start + 4 + count > len(self.data):
            raise FlatbufferError("a vector reaches beyond the end")
        return start + 4, count


def _unpack(form: str, data: bytes, at: int) -> int:
    try:
        found: int = struct.unpack_from(form, data, at)[0]
    except struct.error as error:
        raise FlatbufferError(str(error)) from error
    return found
