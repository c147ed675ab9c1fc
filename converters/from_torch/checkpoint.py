"""Files of weights: state_dicts, checkpoints that hold one, safetensors; put into a model without copying them."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from ...symbolic.errors import InputSpecError, MissingDependency, UntrustedFile
from ..base import type_names
from ..files import pickle_imports
from .capture import FAILURES

MODULE = "torch.nn.modules.module.Module"
#: How deep a state_dict is looked for inside a checkpoint, and how many names a message lists.
_DEPTH, _SHOWN = 4, 6
#: Prefixes that wrappers of training put before every name.
_WRAPPERS = ("module.", "_orig_mod.", "model.")
_SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64",
}  # fmt: skip


# --- reading ---------------------------------------------------------------------------------------------------------


def read_checkpoint(path: Path, *, legacy: bool, trust: bool, allowed: Sequence[str]) -> Any:
    """What `torch.save` wrote; the weights stay in the file (mapped into memory) where its format lets them.

    Args:
        path: The file.
        legacy: It is in a format of before 1.6, which can't be mapped.
        trust: It may run code.
        allowed: Full names of classes and functions that it may import besides those of plain weights.

    Raises:
        UntrustedFile: It imports other names, and isn't trusted.
        InputSpecError: It is damaged, or a class that it needs isn't there.
    """
    import torch

    found = [_Allowed(name) for name in allowed]
    mapped = {} if legacy else {"mmap": True}
    with warnings.catch_warnings(), torch.serialization.safe_globals([f.pair for f in found]):
        warnings.simplefilter("ignore")
        try:
            return torch.load(path, weights_only=True, map_location="cpu", **mapped)
        except UnpicklingError as error:
            foreign = [name for name in _foreign(path, legacy) if name not in allowed]
            if not trust:
                if not foreign:
                    raise InputSpecError(f"torch can't load {path}: {_first_line(error)}") from error
                raise UntrustedFile(str(path), foreign, _what(foreign)) from error
        except (*FAILURES, OSError) as error:
            raise InputSpecError(f"torch can't load {path}: {_first_line(error)}") from error
        return _load_trusted(path, mapped)


def _load_trusted(path: Path, mapped: Mapping[str, Any]) -> Any:
    import torch

    try:
        return torch.load(path, weights_only=False, map_location="cpu", **mapped)
    except (ImportError, AttributeError) as error:
        raise InputSpecError(f"{path} needs a class that isn't there: {_first_line(error)}") from error
    except (*FAILURES, OSError, UnpicklingError) as error:
        raise InputSpecError(f"torch can't load {path}: {_first_line(error)}") from error


class _Allowed:
    """A class or function by its full name, as `torch.serialization.safe_globals` takes it."""

    def __init__(self, name: str):
        module, _, attribute = name.rpartition(".")
        if not module:
            raise InputSpecError(f"--allow-global takes a full name such as argparse.Namespace, not {name!r}")
        try:
            self.pair = (getattr(import_module(module), attribute), name)
        except (ImportError, AttributeError) as error:
            raise InputSpecError(f"there is no {name} to allow ({_first_line(error)})") from error


def _foreign(path: Path, legacy: bool) -> list[str]:
    """Names that the file imports and plain weights don't."""
    import torch

    if not legacy:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            listed: list[str] = sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
        return listed
    return [name for name in pickle_imports(path) if not is_data(name)]


def is_data(name: str) -> bool:
    """Whether a name that a pickle imports is only what state_dicts are made of."""
    return name in ("collections.OrderedDict", "torch.Size", "torch.device", "numpy.dtype") or name.startswith(
        ("torch._utils._rebuild_", "torch._tensor._rebuild", "torch.storage.", "_codecs.encode")
    ) or (name.startswith("torch.") and name.endswith("Storage"))  # fmt: skip


def _what(foreign: Sequence[str]) -> str:
    whole = any(name.startswith("torch.nn.modules") for name in foreign)
    return ("a pickled PyTorch module" if whole else "a checkpoint with foreign objects") + (
        ", which --allow-global NAME lets in one by one"
    )


def read_safetensors(path: Path) -> dict[str, Any]:
    """The tensors of a safetensors file, mapped: 8 bytes of length, a JSON header, the raw data."""
    import torch

    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length)
    try:
        entries = json.loads(header)
    except ValueError as error:
        raise InputSpecError(f"{path} has a damaged safetensors header ({_first_line(error)})") from error
    entries.pop("__metadata__", None)
    size = path.stat().st_size - 8 - length
    # copy-on-write: torch wants memory that could be written to
    data = torch.from_numpy(np.memmap(path, np.uint8, "c", offset=8 + length, shape=(size,))) if size else None
    tensors: dict[str, Any] = {}
    for name, entry in entries.items():
        start, end = entry["data_offsets"]
        dtype = getattr(torch, _SAFETENSORS.get(entry["dtype"], ""), None)
        if dtype is None:
            raise InputSpecError(f"{path} has the tensor {name} of dtype {entry['dtype']}, which isn't supported")
        if not 0 <= start <= end <= size:
            raise InputSpecError(f"{path} is truncated: the data of {name} lies outside the file")
        if data is None or start == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
        elif start % dtype.itemsize or (8 + length) % dtype.itemsize:
            tensors[name] = data[start:end].clone().view(dtype).reshape(entry["shape"])  # rare: not aligned
        else:
            tensors[name] = data[start:end].view(dtype).reshape(entry["shape"])
    return tensors


# --- finding the weights ---------------------------------------------------------------------------------------------


def is_module(value: Any) -> bool:
    """Whether a value is an nn.Module."""
    return MODULE in type_names(value)


def is_state_dict(value: Any) -> bool:
    """Whether a value is a mapping from names to tensors (numbers and other extra state aside)."""
    import torch

    if not isinstance(value, Mapping) or not value or not all(isinstance(k, str) for k in value):
        return False
    plain = [v for k, v in value.items() if not k.endswith("_extra_state")]
    return bool(plain) and all(isinstance(v, torch.Tensor) for v in plain)


def pick(loaded: Any, key: str | None, path: Path) -> tuple[Any, str]:
    """The module or state_dict in what was loaded, and where it stands there.

    Raises:
        InputSpecError: The key leads nowhere, there is none, or there are several.
    """
    if key is not None:
        return _follow(loaded, key, path), key
    found = list(_candidates(loaded, "", _DEPTH))
    if not found:
        raise InputSpecError(f"{path} holds no weights: it is {_described(loaded)}")
    if len(found) > 1:
        listed = ", ".join(f"{place} ({_described(value)})" for place, value in found[:_SHOWN])
        raise InputSpecError(f"{path} holds several sets of weights: choose one with --key: {listed}")
    place, value = found[0]
    return value, place


def _candidates(value: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    if is_module(value) or is_state_dict(value):
        yield place, value
    elif isinstance(value, Mapping) and depth:
        for key, inner in value.items():
            if isinstance(key, str):
                yield from _candidates(inner, f"{place}.{key}" if place else key, depth - 1)


def _follow(loaded: Any, key: str, path: Path) -> Any:
    value, rest = loaded, key
    while rest:
        if not isinstance(value, Mapping):
            raise InputSpecError(f"{path} has no {key}: there is {_described(value)} before {rest!r}")
        # a key of the checkpoint may have dots itself: the longest one that fits is taken
        fits = [k for k in value if isinstance(k, str) and (rest == k or rest.startswith(f"{k}."))]
        if not fits:
            keys = ", ".join(map(str, list(value)[:_SHOWN])) + (" ..." if len(value) > _SHOWN else "")
            raise InputSpecError(f"{path} has no key {key!r}; it has {keys or 'nothing'}")
        chosen = max(fits, key=len)
        value, rest = value[chosen], rest[len(chosen) + 1 :]
    if not is_module(value) and not is_state_dict(value):
        raise InputSpecError(f"{path}: {key} is {_described(value)}, not a state_dict")
    return value


def _described(value: Any) -> str:
    if is_state_dict(value):
        return f"{len(value)} tensors"
    if isinstance(value, Mapping):
        return f"a dict with {', '.join(map(str, list(value)[:_SHOWN])) or 'nothing'}"
    return f"a {type(value).__name__}"


# --- putting them into a model ---------------------------------------------------------------------------------------


def make_module(factory: Any, arguments: Any) -> Any:
    """The module that the weights belong to.

    Args:
        factory: A module, or a class or function that makes one; or ``package.module:name`` of it.
        arguments: What to call it with: a list of positional or a dict of keyword arguments.
    """
    name = factory if isinstance(factory, str) else getattr(factory, "__name__", type(factory).__name__)
    if isinstance(factory, str):
        factory = _imported(factory)
    if is_module(factory):
        if arguments:
            raise InputSpecError(f"{name} is a module already: --model-args has no use")
        return factory
    if not callable(factory):
        raise InputSpecError(f"{name} is a {type(factory).__name__}, not a module or what makes one")
    module = _called(factory, name, arguments)
    if not is_module(module):
        raise InputSpecError(f"{name} makes a {type(module).__name__}, not an nn.Module")
    return module


def _called(factory: Callable[..., Any], name: str, arguments: Any) -> Any:
    positional = arguments if isinstance(arguments, (list, tuple)) else ()
    keywords = arguments if isinstance(arguments, Mapping) else {}
    if arguments is not None and not isinstance(arguments, (list, tuple, Mapping)):
        raise InputSpecError(f"the arguments of {name} are a list or a dict, not {arguments!r}")
    try:
        return factory(*positional, **keywords)
    except TypeError as error:
        raise InputSpecError(f"can't make {name}: {_first_line(error)}; pass arguments with --model-args") from error
    except (*FAILURES, OSError) as error:
        raise InputSpecError(f"can't make {name}: {type(error).__name__}: {_first_line(error)}") from error


def _imported(text: str) -> Any:
    module_name, _, attribute = text.rpartition(":")
    if not module_name or not attribute:
        raise InputSpecError(f"the model {text!r} is not of the form package.module:factory")
    try:
        found: Any = _from_file(Path(module_name)) if module_name.endswith(".py") else import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if missing == module_name or module_name.startswith(f"{missing}."):
            raise InputSpecError(f"there is no module {missing} (from {text})") from error
        raise MissingDependency(missing, "torch", text, command=f"pip install {missing}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputSpecError(f"{module_name} has no attribute {attribute}")
        found = getattr(found, part)
    return found


def _from_file(path: Path) -> Any:
    """A module from its .py file; classes of the same file are the same classes when it is asked for again."""
    if not path.is_file():
        raise InputSpecError(f"there is no file {path}")
    name = f"anyonnx_model_{path.stem}_{abs(hash(path.resolve()))}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        with ExitStack() as failed:
            sys.modules[name] = module
            failed.callback(sys.modules.pop, name)
            spec.loader.exec_module(module)
            failed.pop_all()  # it ran: it stays
    return sys.modules[name]


def fill(module: Any, weights: Mapping[str, Any], path: Path) -> Any:
    """Lets a module use the tensors of a state_dict, not copied.

    Raises:
        InputSpecError: Names or shapes don't fit the module.
    """
    own = module.state_dict()
    weights = _with_tied(_unwrapped(weights, own), own)
    missing = [name for name in own if name not in weights and not _may_be_absent(name)]
    extra = [name for name in weights if name not in own and not _may_be_absent(name)]
    shapes = [
        f"{n} is {list(w.shape)}, the model has {list(own[n].shape)}"
        for n, w in weights.items()
        if n in own and hasattr(w, "shape") and hasattr(own[n], "shape") and w.shape != own[n].shape
    ]
    if missing or extra or shapes:
        told = [f"{text} {_listed(names)}" for text, names in
                (("it lacks", missing), ("the model has no", extra), ("shapes differ:", shapes)) if names]  # fmt: skip
        raise InputSpecError(f"the weights in {path} don't fit {type(module).__name__}: {'; '.join(told)}")
    module.load_state_dict(weights, strict=False, assign=True)
    return module


def _may_be_absent(name: str) -> bool:
    """Counters that only training uses, and that old files lack."""
    return name.endswith("num_batches_tracked")


def _unwrapped(weights: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The weights without a prefix that all of them have and the model's names haven't."""
    for prefix in _WRAPPERS:
        if all(n.startswith(prefix) for n in weights) and not any(n.startswith(prefix) for n in own):
            return {n.removeprefix(prefix): w for n, w in weights.items()}
    return weights


def _with_tied(weights: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The weights with those names that a file leaves out because the model shares their tensor with another name."""
    where = {tensor.data_ptr(): name for name, tensor in own.items() if name in weights and hasattr(tensor, "data_ptr")}
    tied = {
        name: weights[where[tensor.data_ptr()]]
        for name, tensor in own.items()
        if name not in weights and hasattr(tensor, "data_ptr") and tensor.numel() and tensor.data_ptr() in where
    }
    return {**weights, **tied} if tied else weights


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
