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
from typing import IO, TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..symbolic.errors import InputSpecError
from ..symbolic.ml.numbers import Numbers

if TYPE_CHECKING:
    import onnx

SINGLE_FILE_LIMIT = 1_500_000_000
# smaller tensors stay inside the protobuf message that is made in memory
_STREAM_FROM = 4096
_GRAPH_FIELD, _INITIALIZER_FIELD, _RAW_DATA_FIELD = 7, 5, 9
_NODE_FIELD, _ATTRIBUTE_FIELD, _FLOATS_FIELD, _INTS_FIELD = 1, 5, 7, 8
# attributes of fewer numbers stay as protobuf writes them
_PACK_FROM = 256


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
    packed = _packed_nodes(model)
    with _emptied(model, big), _shortened(packed):
        proto = ir.to_proto(model)
    small = [t for t in proto.graph.initializer if t.name not in big]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(small)
    graph = _nodes(model, proto, packed) + proto.graph.SerializeToString()
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


def _packed_nodes(model: ir.Model) -> dict[ir.Node, list[ir.Attr]]:
    """Nodes of the main graph with attributes of many numbers, as trees have them."""
    found: dict[ir.Node, list[ir.Attr]] = {}
    for node in model.graph:
        big = [a for a in node.attributes.values() if isinstance(a.value, Numbers) and len(a.value) >= _PACK_FROM]
        if big:
            found[node] = big
    return found


@contextmanager
def _shortened(nodes: Mapping[ir.Node, list[ir.Attr]]) -> Iterator[None]:
    """Takes these attributes' numbers out of the model for a while."""
    attributes = [a for own in nodes.values() for a in own]
    numbers = [a._value for a in attributes]
    try:
        for attribute in attributes:
            attribute._value = ()
        yield
    finally:
        for attribute, value in zip(attributes, numbers, strict=True):
            attribute._value = value


def _nodes(model: ir.Model, proto: onnx.ModelProto, packed: Mapping[ir.Node, list[ir.Attr]]) -> bytes:
    """The nodes in order, moved out of the graph's message, where some have packed attributes; else nothing."""
    if not packed:
        return b""
    found = bytearray()
    for node, message in zip(model.graph, proto.graph.node, strict=True):
        own = {a.name: a for a in packed.get(node, ())}
        bodies = [_packed_attribute(own[a.name]) if a.name in own else a.SerializeToString() for a in message.attribute]
        del message.attribute[:]
        parts = [message.SerializeToString()]
        for body in bodies:
            parts += [_key(_ATTRIBUTE_FIELD, len(body)), body]
        found += _key(_NODE_FIELD, sum(map(len, parts)))
        for part in parts:
            found += part
    del proto.graph.node[:]
    return bytes(found)


def _packed_attribute(attribute: ir.Attr) -> bytes:
    """An attribute whose numbers stand one behind the other, without a key before each: every reader takes both."""
    import onnx

    array = attribute.value.array
    whole = array.dtype.kind == "i"
    kind = onnx.AttributeProto.INTS if whole else onnx.AttributeProto.FLOATS
    head: bytes = onnx.AttributeProto(name=attribute.name, type=kind).SerializeToString()
    body = _varints(array) if whole else array.astype("<f4").tobytes()
    return head + _key(_INTS_FIELD if whole else _FLOATS_FIELD, len(body)) + body


def _varints(numbers: np.ndarray) -> bytes:
    """Whole numbers as protobuf writes them: seven bits in a byte, the lowest first."""
    rest = np.ascontiguousarray(numbers, np.int64).view(np.uint64)
    parts, size = [rest], np.ones(len(rest), np.int64)
    while (rest := rest >> np.uint64(7)).any():
        parts.append(rest)
        size += rest != 0
    first = np.cumsum(size) - size
    found = np.empty(int(size.sum()), np.uint8)
    for i, part in enumerate(parts):
        own = size > i
        found[first[own] + i] = (part[own] & np.uint64(0x7F)).astype(np.uint8) | (size[own] > i + 1) * np.uint8(0x80)
    return found.tobytes()


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
