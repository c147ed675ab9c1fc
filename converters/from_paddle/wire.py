"""Decodes protobuf messages field by field, as far as Paddle's files need it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .program import FormatError


def fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Number and value of every field: integers (64 bit, signed), floats, or bytes (text and inner messages)."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value - (1 << 64) if value >> 63 else value
        elif wire == 2:
            length, position = _varint(data, position)
            if position + length > end:
                raise FormatError("a message is truncated")
            yield number, data[position : position + length]
            position += length
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            if position + size > end:
                raise FormatError("a message is truncated")
            yield number, struct.unpack("<d" if wire == 1 else "<f", data[position : position + size])[0]
            position += size
        else:
            raise FormatError(f"a message has a field of wire type {wire}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise FormatError("a message is truncated")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def integers(value: int | float | bytes) -> list[int]:
    """A repeated integer field: one number, or many packed into bytes."""
    if not isinstance(value, bytes):
        return [int(value)]
    found, position = [], 0
    while position < len(value):
        number, position = _varint(value, position)
        found.append(number - (1 << 64) if number >> 63 else number)
    return found


def floats(value: int | float | bytes, size: int) -> list[float]:
    """A repeated float field of `size` bytes each: one number, or many packed into bytes."""
    if not isinstance(value, bytes):
        return [float(value)]
    return list(struct.unpack(f"<{len(value) // size}{'f' if size == 4 else 'd'}", value))
