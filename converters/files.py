"""Says which framework and format a model file has, from its bytes only; never by trying loaders.

`sniff` reports every format it knows, also those that no frontend reads yet; `identify` refuses those, and
files that are not what the caller said. Nothing here runs code from a file.
"""

from __future__ import annotations

import io
import mmap
import os
import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from ..symbolic.errors import InputSpecError
from .pickles import TORCH_LEGACY, is_packed, is_pickle, pickle_imports, readable, unpacked, walk_pickle

__all__ = ["FRAMEWORKS", "FileKind", "identify", "pickle_imports", "sniff"]

FRAMEWORKS = (
    "torch",
    "tensorflow",
    "keras",
    "tflite",
    "jax",
    "sklearn",
    "xgboost",
    "lightgbm",
    "catboost",
    "paddle",
    "onnx",
)

# a file of the first framework may be asked for by the names of the others
_FAMILY = {"keras": ("tensorflow",), "tensorflow": ("keras",), "tflite": ("tensorflow",)}
_HEAD = 4096
_NOT_MODELS = {
    b"version https://git-lfs": "a Git LFS pointer: the real file was not fetched (run git lfs pull)",
    b"<!doctype html": "an HTML page: a download that went wrong",
    b"<html": "an HTML page: a download that went wrong",
    b"%pdf": "a PDF document",
    b"gguf": "a GGUF file, which has weights but no graph",
    b"\x93numpy": "a numpy array (.npy), not a model",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it first",
}


@dataclass(frozen=True)
class FileKind:
    """What a file is.

    Attributes:
        framework: One of `FRAMEWORKS`; empty for a pickle that names none of them.
        format: Short name of the file format, for instance ``pt2``, ``checkpoint``, ``joblib``.
        detail: The format in words.
    """

    framework: str
    format: str
    detail: str = ""

    def __str__(self) -> str:
        return self.detail or f"{self.framework} {self.format}"


def sniff(path: str | os.PathLike[str]) -> FileKind:
    """Framework and format of a model file or directory.

    Raises:
        InputSpecError: Missing, empty, truncated or unknown; the message says what was found.
    """
    file = Path(path)
    if not file.exists():
        raise InputSpecError(f"there is no file {file}")
    if file.is_dir():
        return _sniff_directory(file)
    size = file.stat().st_size
    if size == 0:
        raise InputSpecError(f"{file} is empty")
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
    for magic, what in _NOT_MODELS.items():
        if head.lstrip().lower().startswith(magic):
            raise InputSpecError(f"{file} is {what}")
    for test in (_by_magic, _by_pickle, _by_text, _by_protobuf, _by_flatbuffer):
        kind = test(file, head, size)
        if kind is not None:
            return kind
    raise InputSpecError(f"{file} is no model file that anyonnx knows; it starts with {_shown(head)}")


def identify(
    path: str | os.PathLike[str], framework: str | None = None, *, available: Collection[str] = FRAMEWORKS
) -> FileKind:
    """`sniff`, with the caller's word about the framework checked against the file's bytes.

    Args:
        path: Model file or directory.
        framework: What the caller says it is; None to leave it to the file.
        available: Frameworks that have a frontend.

    Returns:
        The kind, its framework never empty.

    Raises:
        InputSpecError: As `sniff`; or the file is of another framework, says none, or has no frontend yet.
    """
    name = os.fspath(path)
    kind = sniff(path)
    if not kind.framework:
        if framework is None:
            raise InputSpecError(f"{name} is {kind} that names no framework; say it with --from (framework=)")
        kind = replace(kind, framework=framework)
    if framework is not None and framework != kind.framework and framework not in _FAMILY.get(kind.framework, ()):
        raise InputSpecError(f"{name} is {kind}: its framework is {kind.framework}, not {framework}")
    if kind.framework not in available:
        raise InputSpecError(
            f"{name} is {kind} (framework {kind.framework}, format {kind.format}), "
            f"which is not supported yet; supported: {', '.join(available)}"
        )
    return kind


def _shown(head: bytes) -> str:
    text = head[:24]
    return (
        repr(text.decode("ascii")) if text.isascii() and text.decode().isprintable() else f"bytes {text[:12].hex(' ')}"
    )


def _sniff_directory(path: Path) -> FileKind:
    names = sorted(p.name for p in path.iterdir())
    if "saved_model.pb" in names:
        return FileKind("tensorflow", "savedmodel", "a TensorFlow SavedModel directory")
    if any(name.endswith(".pdiparams") for name in names):
        raise InputSpecError(f"{path} is a directory with a Paddle model: name its .json or .pdmodel file")
    listed = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
    raise InputSpecError(f"{path} is a directory but not a SavedModel; it has: {listed or 'nothing'}")


def _by_magic(path: Path, head: bytes, size: int) -> FileKind | None:
    """Formats that say what they are in their first bytes."""
    if head.startswith(b"PK\x03\x04"):
        return _sniff_zip(path)
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return FileKind("keras", "h5", "a Keras HDF5 file (.h5)")
    if head[4:8] == b"TFL3":
        return FileKind("tflite", "tflite", "a TensorFlow Lite model")
    if head.startswith(b"CBM1"):
        return FileKind("catboost", "cbm", "a CatBoost model (.cbm)")
    if head.startswith(b"ML\xefR"):
        return FileKind("jax", "stablehlo", "StableHLO bytecode")
    if head.startswith(TORCH_LEGACY):
        return FileKind("torch", "legacy", "a PyTorch file in the pickle format of before 1.6")
    if head[257:262] == b"ustar":
        raise InputSpecError(
            f"{path} is a tar archive: unpack it first (what torch wrote so, before 0.1.10, has to be saved again)"
        )
    header = int.from_bytes(head[:8], "little")
    if head[8:9] == b"{" and 8 < header + 8 <= size and b'"dtype"' in head:
        return FileKind("torch", "safetensors", "safetensors weights without a model")
    return None


def _sniff_zip(path: Path) -> FileKind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise InputSpecError(f"{path} is a truncated or damaged zip archive ({error})") from error
    tails = {name.split("/", 1)[-1] for name in names}
    if "archive_format" in tails and any(tail.startswith("models/") for tail in tails):
        return FileKind("torch", "pt2", "a PyTorch exported program (.pt2)")
    if "constants.pkl" in tails and any(tail.startswith("code/") for tail in tails):
        return FileKind("torch", "torchscript", "a TorchScript archive")
    if "data.pkl" in tails:
        return FileKind("torch", "checkpoint", "a PyTorch checkpoint (torch.save)")
    if "schema.json" in names:
        return FileKind("sklearn", "skops", "a skops file")
    if "config.json" in names and "metadata.json" in names:
        return FileKind("keras", "keras", "a Keras archive (.keras)")
    if names and all(name.endswith(".npy") for name in names):
        raise InputSpecError(f"{path} holds numpy arrays (.npz), not a model; pass inputs with --inputs")
    listed = ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
    raise InputSpecError(f"{path} is a zip archive but no model; it has: {listed or 'nothing'}")


def _by_pickle(path: Path, head: bytes, size: int) -> FileKind | None:
    """Pickles, also packed ones: the framework is the first known one whose names they import."""
    packed = is_packed(head)
    if not packed and not is_pickle(head):
        return None
    joblib, framework = packed, ""
    with unpacked(path) as stream, readable(path):
        if packed and not is_pickle(stream.read(2)):
            raise InputSpecError(f"{path} is a compressed file but not a joblib pickle; unpack it first")
        stream.seek(0)
        for name in walk_pickle(stream):
            root = name.split(".")[0]
            joblib = joblib or root == "joblib"
            if root in FRAMEWORKS and not framework:
                framework = root
            if joblib and framework:
                break
    kind = "joblib" if joblib else "pickle"
    return FileKind(framework, kind, f"a {kind} file" + (f" of {framework} objects" if framework else ""))


_FIRST_KEY = re.compile(rb'^\s*\{\s*"([^"]*)"')


def _by_text(path: Path, head: bytes, size: int) -> FileKind | None:
    """JSON, UBJSON and LightGBM's text."""
    with path.open("rb") as stream:
        stream.seek(max(0, size - _HEAD))
        tail = stream.read()
    if head.startswith((b"tree\n", b"tree\r\n")) and b"version=" in head:
        if b"end of trees" not in tail and b"end of parameters" not in tail and size > _HEAD:
            raise InputSpecError(f"{path} is a truncated LightGBM text model")
        return FileKind("lightgbm", "txt", "a LightGBM text model")
    if re.match(rb"\{[iUIlL]\x00*[\x07](learner|version)", head):
        return FileKind("xgboost", "ubj", "an XGBoost model (.ubj)")
    first = _FIRST_KEY.match(head)
    if first is not None:
        if not tail.rstrip().endswith(b"}"):
            raise InputSpecError(f"{path} is a truncated JSON file")
        return _sniff_json(path, first[1].decode("utf-8", "replace"), head + tail)
    if b"stablehlo." in head and b"module" in head and b"\0" not in head:
        return FileKind("jax", "mlir", "StableHLO text (.mlir)")
    return None


def _sniff_json(path: Path, first: str, text: bytes) -> FileKind:
    if first == "base_code" and b'"pir"' in text:
        return FileKind("paddle", "pir", "a Paddle PIR program (.json)")
    if first in ("learner", "version") and b'"learner"' in text:
        return FileKind("xgboost", "json", "an XGBoost model (.json)")
    if b'"oblivious_trees"' in text or b'"features_info"' in text or b'"scale_and_bias"' in text:
        return FileKind("catboost", "json", "a CatBoost model (.json)")
    if b'"tree_info"' in text or b'"tree_sizes"' in text:
        return FileKind("lightgbm", "json", "a LightGBM model dump (.json)")
    raise InputSpecError(f"{path} is a JSON file but no model that anyonnx knows; its first key is {first!r}")


def _by_protobuf(path: Path, head: bytes, size: int) -> FileKind | None:
    """ONNX, TensorFlow and Paddle protobufs, told apart by their top-level fields."""
    if head[0] not in (0x08, 0x0A):
        return None
    with path.open("rb") as stream:
        fields, whole = _top_fields(stream, size)
    wires = dict(fields)
    if wires.get(1) == 0 and wires.get(7) == 2 and set(wires) <= {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26}:
        if not whole:
            raise InputSpecError(f"{path} is a truncated ONNX file")
        return FileKind("onnx", "onnx", "an ONNX model")
    if not whole and len(fields) < 2:
        return None
    if wires.get(1) == 0 and wires.get(2) == 2 and set(wires) <= {1, 2}:
        return FileKind("tensorflow", "savedmodel", "the protobuf of a SavedModel; name its directory")
    if wires.get(1) == 2 and set(wires) <= {1, 2, 3, 4, 5}:
        first = next(iter(head[offset] for offset in range(2, 12) if head[offset] in (0x08, 0x0A)), None)
        if first == 0x08:
            return FileKind("paddle", "pdmodel", "a Paddle program (.pdmodel)")
        return FileKind("tensorflow", "graphdef", "a frozen TensorFlow graph (.pb)")
    return None


def _top_fields(stream: IO[bytes], size: int) -> tuple[list[tuple[int, int]], bool]:
    """Field numbers and wire types of a protobuf message; and whether it ends where the file ends."""
    fields: list[tuple[int, int]] = []
    while (position := stream.tell()) < size:
        tag = _varint(stream)
        number, wire = tag >> 3, tag & 7
        if number == 0 or wire not in (0, 1, 2, 5) or position < 0 or tag < 0:
            return fields, False
        fields.append((number, wire))
        if wire == 0:
            skip = 0 if _varint(stream) >= 0 else size
        else:
            skip = _varint(stream) if wire == 2 else 8 if wire == 1 else 4
        if skip < 0 or stream.tell() + skip > size:
            return fields, False
        stream.seek(skip, io.SEEK_CUR)
    return fields, True


def _varint(stream: IO[bytes]) -> int:
    """A protobuf integer; -1 where the bytes are none."""
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)
        if not byte:
            return -1
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return -1


def _by_flatbuffer(path: Path, head: bytes, size: int) -> FileKind | None:
    """What jax.export writes: a flatbuffer that holds StableHLO bytecode."""
    if not 4 <= int.from_bytes(head[:4], "little") < size:
        return None
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data.find(b"ML\xefR") < 0 or data.find(b"StableHLO") < 0:
            return None
    return FileKind("jax", "export", "a function of jax.export")
