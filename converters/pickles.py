"""Lists what the pickles in a file would import, without loading them: a symbolic walk over the opcodes.

Nothing is imported or called. joblib writes array bytes between the opcodes; they are skipped by the shape
and dtype that the opcodes before them describe.
"""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import io
import lzma
import os
import pickle
import pickletools
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import IO, Any

from ..symbolic.errors import CaptureError, InputSpecError, UntrustedFile

# first bytes of what torch.save wrote before 1.6: five pickles, then the raw weights
TORCH_LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_LEGACY_PICKLES = 5
_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x5d\x00\x00": lzma.LZMAFile,
    b"\x5d\x00\x40": lzma.LZMAFile,
}
_JOBLIB_ARRAY = "joblib.numpy_pickle.NumpyArrayWrapper"
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_LITERALS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_EXTENSIONS = frozenset({"EXT1", "EXT2", "EXT4"})
_DTYPE = re.compile(r"^[<>|=]?([A-Za-z])(\d+)$")


@dataclass
class _Name:
    """A global that the pickle refers to."""

    text: str


@dataclass
class _Object:
    """The result of a call or an instantiation that was not carried out."""

    name: str
    args: tuple[Any, ...] = ()
    state: Any = None


@dataclass
class _Walker:
    """A pickle machine whose values are literals, names and calls that never happen."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def pop_to_mark(self) -> list[Any]:
        """Removes the values above the last mark, and the mark."""
        values: list[Any] = []
        while (value := self.stack.pop()) is not pickletools.markobject:
            values.append(value)
        return values[::-1]

    def step(self, op: pickletools.OpcodeInfo, arg: Any) -> str | None:
        """Carries out one opcode; returns the global that it would import."""
        name, stack = op.name, self.stack
        if name in ("GLOBAL", "INST"):
            if name == "INST":
                self.pop_to_mark()
            stack.append(_Name(_dotted(*arg.split(" ", 1))))
            return str(stack[-1].text)
        if name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(_Name(_dotted(module, attribute)))
            return str(stack[-1].text)
        if name in _EXTENSIONS:
            stack.append(_Name(f"copyreg extension {arg}"))
            return str(stack[-1].text)
        if name in _PUTS or name == "MEMOIZE":
            self.memo[len(self.memo) if name == "MEMOIZE" else int(arg)] = stack[-1]
        elif name in _GETS:
            stack.append(self.memo[int(arg)])
        elif name in _LITERALS:
            stack.append(_LITERALS[name])
        elif name == "MARK":
            stack.append(pickletools.markobject)
        elif name in ("POP", "POP_MARK", "DUP"):
            self._shuffle(name)
        elif not self._call(name) and not self._container(name):
            self._generic(op, arg)
        return None

    def _shuffle(self, name: str) -> None:
        if name == "POP":
            self.stack.pop()
        elif name == "POP_MARK":
            self.pop_to_mark()
        else:
            self.stack.append(self.stack[-1])

    def _call(self, name: str) -> bool:
        """REDUCE, NEWOBJ, BUILD and kin: remembers who is called with what, and calls nothing."""
        stack = self.stack
        if name == "BUILD":
            state = stack.pop()
            if isinstance(stack[-1], _Object):
                stack[-1].state = state
            return True
        if name == "OBJ":
            called, *args = self.pop_to_mark()
        elif name in ("REDUCE", "NEWOBJ"):
            args, called = stack.pop(), stack.pop()
        elif name == "NEWOBJ_EX":
            stack.pop()
            args, called = stack.pop(), stack.pop()
        else:
            return False
        text = called.text if isinstance(called, _Name) else ""
        stack.append(_Object(text, tuple(args) if isinstance(args, tuple | list) else ()))
        return True

    def _container(self, name: str) -> bool:
        """Tuples and dicts, whose contents describe a joblib array."""
        stack = self.stack
        if name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(stack[-count:])]
        elif name in ("TUPLE", "EMPTY_TUPLE"):
            stack.append(tuple(self.pop_to_mark()) if name == "TUPLE" else ())
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name in ("SETITEM", "SETITEMS", "DICT"):
            if name == "SETITEM":
                pairs = [stack.pop(-2), stack.pop()]
            else:
                pairs = self.pop_to_mark()
            if name == "DICT":
                stack.append({})
            if isinstance(stack[-1], dict):
                items = zip(pairs[::2], pairs[1::2], strict=False)
                stack[-1].update((k, v) for k, v in items if isinstance(k, str))
        else:
            return False
        return True

    def _generic(self, op: pickletools.OpcodeInfo, arg: Any) -> None:
        """Any other opcode: its documented effect on the stack, with literals kept."""
        before = op.stack_before
        if pickletools.markobject in before:
            self.pop_to_mark()
            before = before[: before.index(pickletools.markobject)]
        for _ in before:
            self.stack.pop()
        literal = arg if isinstance(arg, str | int) and op.name not in ("PERSID", "PROTO", "FRAME") else None
        self.stack.extend(literal for _ in op.stack_after)


def _dotted(module: Any, attribute: Any) -> str:
    if not isinstance(module, str) or not isinstance(attribute, str):
        return "a name that is computed while loading"
    return f"{_RENAMED.get(module, module)}.{attribute}"


def walk_pickle(stream: IO[bytes]) -> Iterator[str]:
    """The globals that one pickle in the stream would import, in order, with repeats.

    Args:
        stream: Positioned at the start of the pickle; afterwards it stands behind the pickle's STOP.

    Raises:
        ValueError: The bytes are not a whole pickle.
    """
    walker = _Walker()
    try:
        for op, arg, _ in pickletools.genops(stream):
            found = walker.step(op, arg)
            if found is not None:
                yield found
            if op.name == "BUILD" and walker.stack and isinstance(walker.stack[-1], _Object):
                top = walker.stack[-1]
                if top.name == _JOBLIB_ARRAY and isinstance(top.state, dict):
                    yield from _skip_array(stream, top.state)
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"an opcode without its operands ({error})") from error


def _skip_array(stream: IO[bytes], state: dict[str, Any]) -> Iterator[str]:
    """Moves behind the array that joblib wrote after its description."""
    dtype = state.get("dtype")
    if _holds_objects(dtype):
        yield from walk_pickle(stream)
        return
    if state.get("numpy_array_alignment_bytes") is not None:
        padding = stream.read(1)
        stream.seek(padding[0] if padding else 0, 1)
    stream.seek(prod(state["shape"]) * _item_size(dtype), 1)


def _holds_objects(dtype: Any) -> bool:
    if not isinstance(dtype, _Object) or not dtype.args:
        return False
    if str(dtype.args[0]).lstrip("<>|=").startswith("O"):
        return True
    fields = dtype.state[4] if isinstance(dtype.state, tuple) and len(dtype.state) > 4 else None
    return isinstance(fields, dict) and any(_holds_objects(entry[0]) for entry in fields.values())


def _item_size(dtype: Any) -> int:
    match = _DTYPE.match(str(dtype.args[0])) if isinstance(dtype, _Object) and dtype.args else None
    if match is None:
        raise ValueError("an array whose dtype can't be read")
    kind, size = match[1], int(match[2])
    return size * 4 if kind == "U" else size


def is_pickle(head: bytes) -> bool:
    """Whether a file that starts so is a pickle of protocol 2 to 5."""
    return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5


def is_packed(head: bytes) -> bool:
    """Whether a file that starts so is compressed, as joblib does it."""
    return any(head.startswith(magic) for magic in _PACKED) or _is_zlib(head)


def _is_zlib(head: bytes) -> bool:
    return len(head) > 1 and head[0] == 0x78 and int.from_bytes(head[:2], "big") % 31 == 0


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, decompressed where joblib compressed them."""
    with path.open("rb") as raw:
        head = raw.read(8)
        raw.seek(0)
        opener = next((opener for magic, opener in _PACKED.items() if head.startswith(magic)), None)
        if opener is not None:
            with opener(raw) as stream:
                yield stream
        elif _is_zlib(head):
            with readable(path), tempfile.SpooledTemporaryFile(max_size=1 << 26) as spool:
                unpack = zlib.decompressobj()
                while not unpack.eof:
                    chunk = raw.read(1 << 20)
                    if not chunk:
                        raise EOFError("the compressed data ends too early")
                    spool.write(unpack.decompress(chunk))
                spool.seek(0)
                yield spool
        else:
            yield raw


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns what damaged pickles and compressed files raise into one clear line."""
    try:
        yield
    except (ValueError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        text = str(error).split("\n")[0]
        raise InputSpecError(f"{path} is a truncated or damaged pickle ({text})") from error


def is_pickle_file(path: Path) -> bool:
    """Whether a file is a pickle, maybe packed by joblib."""
    with path.open("rb") as stream:
        head = stream.read(8)
    return is_pickle(head) or is_packed(head)


def unpickle(path: Path, trust: bool) -> Any:
    """What a pickle (of joblib too) holds.

    Raises:
        UntrustedFile: Loading it runs code, and nobody said that it may.
        CaptureError: What is installed can't load it.
    """
    if not trust:
        raise UntrustedFile(str(path), pickle_imports(path))
    try:
        if importlib.util.find_spec("joblib") is None:
            with path.open("rb") as stream:
                return pickle.load(stream)
        import joblib

        return joblib.load(path)
    except (AttributeError, ImportError, KeyError, TypeError, ValueError, pickle.UnpicklingError, EOFError) as error:
        text = str(error).split("\n")[0]
        raise CaptureError(f"{path} can't be loaded ({text}); if another release wrote it, install that one") from error


def pickle_imports(path: str | os.PathLike[str]) -> list[str]:
    """The names that loading this file would import, in the order of first use; nothing is loaded.

    Files without a pickle give an empty list. Zip archives of PyTorch are searched in all their pickles.

    Raises:
        InputSpecError: Missing, or a pickle in it is damaged.
    """
    file = Path(path)
    if not file.is_file():
        raise InputSpecError(f"there is no file {file}")
    with file.open("rb") as stream:
        head = stream.read(32)
        stream.seek(0)
        if head.startswith(b"PK\x03\x04"):
            return list(dict.fromkeys(_zip_imports(file, stream)))
    if not is_packed(head) and not is_pickle(head):
        return []
    names: dict[str, None] = {}
    with unpacked(file) as stream, readable(file):
        for _ in range(_LEGACY_PICKLES if head.startswith(TORCH_LEGACY) else 1):
            names.update(dict.fromkeys(walk_pickle(stream)))
    return list(names)


def _zip_imports(path: Path, stream: IO[bytes]) -> Iterator[str]:
    try:
        with zipfile.ZipFile(stream) as archive:
            for name in archive.namelist():
                if name.endswith(".debug_pkl"):
                    continue
                with archive.open(name) as member, readable(path):
                    head = member.read(4)
                    if head.startswith(b"PK\x03\x04") and name.endswith(".pt"):
                        yield from _zip_imports(path, io.BytesIO(head + member.read()))
                    elif name.endswith(".pkl") and is_pickle(head):
                        yield from walk_pickle(io.BytesIO(head + member.read()))
    except zipfile.BadZipFile as error:
        raise InputSpecError(f"{path} is a truncated or damaged zip archive ({error})") from error
