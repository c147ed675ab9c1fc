"""HDF5 weights without a copy: datasets are mapped from the file, also where that lies inside a zip archive."""

from __future__ import annotations

import io
import math
import os
import struct
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.errors import InputSpecError, MissingDependency

_LOCAL_HEADER = 30


class Window(io.RawIOBase):
    """A part of a file, as a file of its own."""

    def __init__(self, path: Path, start: int, size: int):
        super().__init__()
        self._file = path.open("rb")
        self._start, self._size, self._at = start, size, 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to an offset."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Offset in the part."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Reads into a buffer."""
        view = memoryview(buffer).cast("B")
        count = max(min(len(view), self._size - self._at), 0)
        self._file.seek(self._start + self._at)
        data = self._file.read(count)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()


class Datasets:
    """The datasets of an HDF5 file.

    Args:
        path: File that holds it.
        start: Where it starts in the file.
        size: Its length; None: up to the end.
    """

    def __init__(self, path: Path, start: int = 0, size: int | None = None):
        try:
            import h5py
        except ImportError as error:
            raise MissingDependency("h5py", "keras", "reading Keras weights") from error
        self.path, self.start = path, start
        #: Folder that lives as long as the datasets do, where the file was unpacked for them.
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        length = path.stat().st_size - start if size is None else size
        self._window = Window(path, start, length)
        try:
            self.file = h5py.File(self._window, "r")
        except OSError as error:
            raise InputSpecError(f"{path} has damaged HDF5 data: {error}") from error
        self._group, self._external = h5py.Group, h5py.ExternalLink
        self._dataset = h5py.Dataset

    def tensor(self, group: Any, name: str) -> ir.TensorProtocol | None:
        """A dataset as a tensor that is read when it is needed; None where there is none."""
        if name not in group or isinstance(group.get(name, getlink=True), self._external):
            return None  # an external link could name any file of the machine
        dataset = group[name]
        if not isinstance(dataset, self._dataset):
            return None
        import ml_dtypes

        dtype = dataset.dtype
        if dataset.attrs.get("dtype") == "bfloat16":
            dtype = np.dtype(ml_dtypes.bfloat16)
        shape = tuple(int(s) for s in dataset.shape)
        offset = dataset.id.get_offset()
        plain = dataset.chunks is None and dataset.external is None and dtype.kind in "fiub"
        if offset is None or not plain or not dtype.isnative or math.prod(shape) < 64:
            array = np.asarray(dataset[()])
            if dtype.name == "bfloat16":
                array = array.view(dtype) if array.dtype.itemsize == 2 else array.astype(dtype)
            return ir.Tensor(array, name=name)
        start = self.start + offset

        def read() -> ir.TensorProtocol:  # holds on to self, and so to a file that was unpacked
            return ir.Tensor(np.memmap(self.path, dtype, "r", start, shape))

        return ir.LazyTensor(read, dtype=ir.DataType.from_numpy(dtype), shape=ir.Shape(shape), name=name)

    def group(self, path: str) -> Any:
        """A group, or an empty mapping."""
        try:
            found = self.file.get(path)
        except KeyError:
            return {}
        return found if isinstance(found, self._group) else {}

    def attributes(self, group: Any) -> Mapping[str, Any]:
        """Attributes of a group."""
        return dict(group.attrs) if hasattr(group, "attrs") else {}

    def strings(self, group: Any, name: str) -> list[str]:
        """A list of strings among a group's attributes; long ones are split over several."""
        attributes = self.attributes(group)
        if name in attributes:
            parts = [attributes[name]]
        else:
            parts = []
            while f"{name}{len(parts)}" in attributes:
                parts.append(attributes[f"{name}{len(parts)}"])
        return [n.decode() if isinstance(n, bytes) else str(n) for part in parts for n in part]


def member_offset(path: Path, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a stored (not compressed) member of a zip archive start."""
    with path.open("rb") as stream:
        stream.seek(member.header_offset)
        header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise InputSpecError(f"{path} is a damaged zip archive")
    name, extra = struct.unpack("<HH", header[26:30])
    return member.header_offset + _LOCAL_HEADER + int(name) + int(extra)
