"""Reads Universal Binary JSON as XGBoost writes it: big-endian numbers, typed arrays as numpy arrays."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_NUMBERS: dict[bytes, np.dtype[Any]] = {
    b"i": np.dtype(">i1"),
    b"U": np.dtype(">u1"),
    b"I": np.dtype(">i2"),
    b"l": np.dtype(">i4"),
    b"L": np.dtype(">i8"),
    b"d": np.dtype(">f4"),
    b"D": np.dtype(">f8"),
}
_SINGLE = {mark: struct.Struct(">" + c) for mark, c in zip(_NUMBERS, "bBhiqfd", strict=True)}
_LONG, _LENGTH = ord("L"), _SINGLE[b"L"]
_WORDS = {b"Z": None, b"T": True, b"F": False}
_DEEPEST = 64


class UbjError(ValueError):
    """The bytes are no UBJSON document."""


def read_ubj(data: bytes) -> Any:
    """The document as dicts, lists, strings, numbers and, for typed arrays, numpy arrays.

    Raises:
        UbjError: Truncated or damaged.
    """
    try:
        value, end = _Reader(data).value(0, 0)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise UbjError(f"the UBJSON document is truncated or damaged ({error!r})") from error
    if data[end:].strip(b"N\0\n"):
        raise UbjError(f"{len(data) - end} bytes follow the UBJSON document")
    return value


class _Reader:
    def __init__(self, data: bytes):
        self.data = data

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value whose marker stands at `at`, and where it ends."""
        if depth > _DEEPEST:
            raise UbjError("the UBJSON document is nested too deeply")
        mark = self.data[at : at + 1]
        at += 1
        if mark in _SINGLE:
            form = _SINGLE[mark]
            return form.unpack_from(self.data, at)[0], at + form.size
        if mark == b"[":
            return self.array(at, depth)
        if mark == b"S":
            return self.text(at)
        if mark == b"C":
            return chr(self.data[at]), at + 1
        if mark == b"{":
            return self.mapping(at, depth)
        return _WORDS[mark], at

    def length(self, at: int) -> tuple[int, int]:
        if self.data[at] == _LONG:  # XGBoost writes all lengths so
            count, at = _LENGTH.unpack_from(self.data, at + 1)[0], at + 9
        else:
            count, at = self.value(at, 0)
        if not isinstance(count, int) or not 0 <= count <= len(self.data):
            raise UbjError(f"a length of {count!r} in the UBJSON document")
        return count, at

    def text(self, at: int) -> tuple[str, int]:
        count, at = self.length(at)
        if at + count > len(self.data):
            raise UbjError("the UBJSON document is truncated in a string")
        return self.data[at : at + count].decode("utf-8"), at + count

    def mapping(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while self.data[at : at + 1] != b"}":
            key, at = self.text(at)
            found[key], at = self.value(at, depth + 1)
        return found, at + 1

    def array(self, at: int, depth: int) -> tuple[Any, int]:
        kind = b""
        if self.data[at : at + 1] == b"$":
            kind, at = self.data[at + 1 : at + 2], at + 2
        if self.data[at : at + 1] != b"#":
            items = []
            while self.data[at : at + 1] != b"]":
                item, at = self.value(at, depth + 1)
                items.append(item)
            return items, at + 1
        count, at = self.length(at + 1)
        if kind:
            dtype = _NUMBERS[kind]
            end = at + count * dtype.itemsize
            if end > len(self.data):
                raise UbjError("the UBJSON document is truncated in an array")
            return np.frombuffer(self.data, dtype, count, at), end
        items = []
        for _ in range(count):
            item, at = self.value(at, depth + 1)
            items.append(item)
        return items, at
