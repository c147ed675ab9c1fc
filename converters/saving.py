"""Writes a model to disk: weights streamed one at a time, and either the whole file or none of it.

Below 1.5 GB everything is one file, above it the weights lie beside it (protobuf ends at 2 GB).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import onnx_ir as ir

from ..symbolic.errors import InputSpecError

SINGLE_FILE_LIMIT = 1_500_000_000
# smaller tensors stay inside the protobuf message that is made in memory
_STREAM_FROM = 4096
_GRAPH_FIELD, _INITIALIZER_FIELD, _RAW_DATA_FIELD = 7, 5, 9


def save_model(model: ir.Model, path: str | os.PathLike[str], *, single_file_limit: int = SINGLE_FILE_LIMIT) -> Path:
    """Saves a model; an existing file is replaced only by a complete one.

    Args:
        model: The model; its weights are read once and not copied.
        path: Where to write. Weights of a large model go to ``<path>.data``.
        single_file_limit: Bytes of weights above which they get a file of their own.

    Returns:
        The path.

    Raises:
        InputSpecError: Nothing can be written there.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise InputSpecError(f"can't write {target}: it is there already and is no regular file")
    weights = sum(v.const_value.nbytes for v in model.graph.initializers.values() if v.const_value is not None)
    try:
        with _beside(target) as folder:
            written = folder / target.name
            if weights <= single_file_limit:
                with written.open("wb") as stream:
                    write_streamed(model, stream)
            else:
                ir.save(model, written, external_data=f"{target.name}.data")
                os.replace(f"{written}.data", f"{target}.data")
            os.replace(written, target)
    except OSError as error:
        raise InputSpecError(f"can't write {target}: {error.strerror or error}") from error
    return target


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A scratch folder on the target's file system, gone afterwards whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_streamed(model: ir.Model, stream: IO[bytes]) -> None:
    """Writes the model's protobuf form; big weights go from their own memory to the stream.

    The message is put together by hand only where the weights enter: header fields, then one graph field that holds
    the graph without its big weights, followed by these.
    """
    big = {
        name: value.const_value
        for name, value in model.graph.initializers.items()
        if value.const_value is not None
        and value.const_value.nbytes >= _STREAM_FROM
        and value.const_value.dtype is not ir.DataType.STRING
    }
    with _emptied(model, big):
        proto = ir.to_proto(model)
    small = [t for t in proto.graph.initializer if t.name not in big]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(small)
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    heads = [_tensor_head(name, tensor) for name, tensor in big.items()]
    sizes = [len(head) + tensor.nbytes for head, tensor in zip(heads, big.values(), strict=True)]
    total = len(graph) + sum(len(_key(_INITIALIZER_FIELD, size)) + size for size in sizes)
    stream.write(proto.SerializeToString())
    stream.write(_key(_GRAPH_FIELD, total))
    stream.write(graph)
    for head, size, tensor in zip(heads, sizes, big.values(), strict=True):
        stream.write(_key(_INITIALIZER_FIELD, size))
        stream.write(head)
        _write_bytes(tensor, stream)


def _write_bytes(tensor: ir.TensorProtocol, stream: IO[bytes]) -> None:
    if hasattr(tensor, "tofile"):
        stream.flush()
        tensor.tofile(stream)
    else:
        stream.write(tensor.tobytes())


@contextmanager
def _emptied(model: ir.Model, tensors: Mapping[str, ir.TensorProtocol]) -> Iterator[None]:
    """Takes some weights' contents out of the model for a while, so that making its protobuf form copies none."""
    values = model.graph.initializers
    try:
        for name in tensors:
            values[name].const_value = ir.Tensor(np.zeros(0, np.int8), name=name)
        yield
    finally:
        for name, tensor in tensors.items():
            values[name].const_value = tensor


def _tensor_head(name: str, tensor: ir.TensorProtocol) -> bytes:
    import onnx

    proto = onnx.TensorProto(name=name, data_type=int(tensor.dtype), dims=[int(d) for d in tensor.shape])  # type: ignore[arg-type]
    head: bytes = proto.SerializeToString()
    return head + _key(_RAW_DATA_FIELD, tensor.nbytes)


def _key(field: int, size: int) -> bytes:
    """Key and length of a length-delimited protobuf field."""
    return _varint(field << 3 | 2) + _varint(size)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
