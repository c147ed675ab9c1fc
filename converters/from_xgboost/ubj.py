"""Reads Universal Binary JSON as XGBoost writes it: big-endian numbers, typed arrays as numpy arrays."""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Any

import numpy as np

#: Markers, as the numbers of their letters.
_NUMBERS: dict[int, np.dtype[Any]] = {
    ord("i"): np.dtype(">i1"),
    ord("U"): np.dtype(">u1"),
    ord("I"): np.dtype(">i2"),
    ord("l"): np.dtype(">i4"),
    ord("L"): np.dtype(">i8"),
    ord("d"): np.dtype(">f4"),
    ord("D"): np.dtype(">f8"),
}
_SINGLE = {mark: struct.Struct(">" + c) for mark, c in zip(_NUMBERS, "bBhiqfd", strict=True)}
_LONG, _LENGTH = ord("L"), _SINGLE[ord("L")]
_WORDS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_TEXT, _LETTER, _ARRAY, _ARRAY_END, _MAPPING, _MAPPING_END, _TYPE, _COUNT = b"SC[]{}$#"
_DEEPEST = 64


class UbjError(ValueError):
    """The bytes are no UBJSON document."""


def read_ubj(data: bytes | bytearray, unused: Collection[str] = ()) -> Any:
    """The document as dicts, lists, strings, numbers and, for typed arrays, numpy arrays (on top of the data).

    Args:
        data: The bytes.
        unused: Keys of mappings to leave out.

    Raises:
        UbjError: Truncated or damaged.
    """
    try:
        value, end = _Reader(data, unused).value(0, 0)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise UbjError(f"the UBJSON document is truncated or damaged ({error!r})") from error
    if data[end:].strip(b"N\0\n"):
        raise UbjError(f"{len(data) - end} bytes follow the UBJSON document")
    return value


class _Reader:
    def __init__(self, data: bytes | bytearray, unused: Collection[str]):
        self.data, self.unused = data, unused
        self.keys: dict[bytes, str] = {}

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value whose marker stands at `at`, and where it ends."""
        if depth > _DEEPEST:
            raise UbjError("the UBJSON document is nested too deeply")
        mark = self.data[at]
        at += 1
        if mark == _ARRAY:
            return self.array(at, depth)
        if mark == _TEXT:
            return self.text(at)
        form = _SINGLE.get(mark)
        if form is not None:
            return form.unpack_from(self.data, at)[0], at + form.size
        if mark == _LETTER:
            return chr(self.data[at]), at + 1
        if mark == _MAPPING:
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
        while self.data[at] != _MAPPING_END:
            key, at = self.key(at)
            value, at = self.value(at, depth + 1)
            if key not in self.unused:
                found[key] = value
        return found, at + 1

    def key(self, at: int) -> tuple[str, int]:
        """A text that comes again and again: one string for all."""
        count, at = self.length(at)
        raw = bytes(self.data[at : at + count])
        if len(raw) < count:
            raise UbjError("the UBJSON document is truncated in a string")
        found = self.keys.get(raw)
        if found is None:
            found = self.keys[raw] = raw.decode("utf-8")
        return found, at + count

    def array(self, at: int, depth: int) -> tuple[Any, int]:
        kind = None
        if self.data[at] == _TYPE:
            kind, at = self.data[at + 1], at + 2
        if self.data[at] != _COUNT:
            items = []
            while self.data[at] != _ARRAY_END:
                item, at = self.value(at, depth + 1)
                items.append(item)
            return items, at + 1
        count, at = self.length(at + 1)
        if kind is not None:
            dtype = _NUMBERS[kind]
            end = at + count * dtype.itemsize
            if end > len(self.data):
                raise UbjError("the UBJSON document is truncated in an array")
            return np.ndarray(count, dtype, self.data, at), end
        items = []
        for _ in range(count):
            item, at = self.value(at, depth + 1)
            items.append(item)
        return items, at
