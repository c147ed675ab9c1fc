"""Reads Paddle's weight files (.pdiparams) without Paddle: tensors one after the other, without names."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .program import FormatError
from .wire import fields

#: Element types by the number of Paddle's VarType.
DTYPES = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 19: "uint64",
    20: "uint8", 21: "int8", 22: "bfloat16", 23: "complex64", 24: "complex128", 32: "float8_e4m3fn", 33: "float8_e5m2",
}  # fmt: skip


def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype of an element type, those of ml_dtypes too."""
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        kind: type = getattr(ml_dtypes, name)
        return np.dtype(kind)
    return np.dtype(name)


def read_parameters(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, np.ndarray]:
    """The weights in a file, memory-mapped.

    Args:
        path: The file.
        names: Names of all weights of the program; the file holds them sorted.

    Raises:
        FormatError: The file holds another number of tensors: it belongs to another program.
    """
    if not names:
        return {}
    if Path(path).stat().st_size == 0:
        raise FormatError(f"{path} is empty, the program has {len(names)} weights")
    with open(path, "rb") as stream:
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    found: dict[str, np.ndarray] = {}
    position = 0
    for name in sorted(names):
        if position >= len(data):
            raise FormatError(f"{path} ends after {len(found)} of {len(names)} weights: it belongs to another program")
        found[name], position = read_tensor(data, position, path)
    if position != len(data):
        raise FormatError(f"{path} has {len(data) - position} bytes after the last weight: it is another program's")
    return found


def read_tensor(data: mmap.mmap, position: int, path: object) -> tuple[np.ndarray, int]:
    """One tensor of a file, and where the next one begins."""

    def integer(size: int) -> int:
        nonlocal position
        piece = data[position : position + size]
        position += size
        if len(piece) < size:
            raise FormatError(f"{path} is truncated")
        return int.from_bytes(piece, "little")

    if integer(4) != 0:
        raise FormatError(f"{path} is no weight file, or of a version that isn't known")
    for _ in range(integer(8)):  # levels of detail, which only sequences of the oldest versions have
        position += integer(8)
    integer(4)
    length = integer(4)
    shape: list[int] = []
    dtype = None
    for number, value in fields(data[position : position + length]):
        if number == 1 and isinstance(value, int):
            dtype = DTYPES.get(value)
        elif number == 2 and isinstance(value, int):
            shape.append(value)
    position += length
    if dtype is None:
        raise FormatError(f"{path} holds a tensor of an unknown element type")
    kind = numpy_dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if position + count * kind.itemsize > len(data):
        raise FormatError(f"{path} is truncated, or belongs to another program")
    array = np.frombuffer(data, kind, count, position).reshape(shape)
    return array, position + count * kind.itemsize
