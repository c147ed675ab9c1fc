"""Reads variables out of TensorFlow's checkpoints (``.index`` and ``.data-...`` files) without TensorFlow.

The index is a sorted table of keys in the format of LevelDB; every entry says where in which data file a tensor lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from .graph import numpy_dtype
from .protos import parse

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_LITTLE = 0


class Checkpoint:
    """A checkpoint's tensors by key, mapped into memory when they are read.

    Args:
        prefix: Path without ``.index``.

    Raises:
        CaptureError: It is damaged, or of a form that isn't read.
    """

    def __init__(self, prefix: Path):
        self.prefix = prefix
        index = prefix.with_name(prefix.name + ".index")
        if not index.is_file():
            raise CaptureError(f"the variables are missing: there is no {index}")
        self._entries = dict(_table(index.read_bytes(), index))
        header = parse("BundleHeaderProto", self._entries.pop(b"", b""))
        if header.endianness != _LITTLE:
            raise CaptureError(f"{index} was written on a big-endian machine, which isn't supported")
        self._shards = max(header.num_shards, 1)

    def __contains__(self, key: str) -> bool:
        return key.encode() in self._entries

    def array(self, key: str) -> np.ndarray:
        """The tensor of a key."""
        if key not in self:
            raise CaptureError(f"the checkpoint {self.prefix} has no {key}")
        entry: Any = parse("BundleEntryProto", self._entries[key.encode()])
        if entry.slices:
            raise CaptureError(f"{key} is stored in slices, which isn't supported")
        shape = tuple(d.size for d in entry.shape.dim)
        dtype = numpy_dtype(entry.dtype)
        if dtype.kind == "O":
            raise CaptureError(f"{key} holds strings, which isn't supported")
        data = self.prefix.with_name(f"{self.prefix.name}.data-{entry.shard_id:05d}-of-{self._shards:05d}")
        if not data.is_file() or data.stat().st_size < entry.offset + entry.size:
            raise CaptureError(f"the variables are missing or truncated: {data}")
        if entry.size != int(np.prod(shape, dtype=np.int64)) * dtype.itemsize:
            raise CaptureError(f"{key} in {self.prefix} has another size than its shape says")
        if not entry.size:
            return np.zeros(shape, dtype)
        return np.memmap(data, dtype, "r", entry.offset, shape)


def _table(data: bytes, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """All keys and values of a sorted table."""
    footer = data[-_FOOTER:]
    if len(footer) < _FOOTER or int.from_bytes(footer[-8:], "little") != _MAGIC:
        raise CaptureError(f"{path} is no checkpoint index, or it is truncated")
    try:
        _, at = _handle(footer, 0)
        index, _ = _handle(footer, at)
        for _, value in _block(data, *index, path):
            block, _ = _handle(value, 0)
            yield from _block(data, *block, path)
    except IndexError as error:
        raise CaptureError(f"{path} is damaged") from error


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _block(data: bytes, offset: int, size: int, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block; each key is written as what differs from the one before."""
    if data[offset + size] != 0:
        raise CaptureError(f"{path} is compressed, which isn't supported")
    block = data[offset : offset + size]
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    key, at = b"", 0
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
