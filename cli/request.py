"""Reads what the user named: the model, its inputs, where the result goes. Every error is one clear line."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..symbolic.errors import InputSpecError, MissingDependency

_ATTRIBUTE = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
_ARGUMENT = re.compile(r"^\s*[A-Za-z_]\w*\s*=")
_UNNAMED = re.compile(r"^arr_\d+$")


def framework_name(name: str | None) -> str | None:
    """The framework's name, if it is one."""
    from ..converters.files import FRAMEWORKS

    if name is None or name in FRAMEWORKS:
        return name
    close = difflib.get_close_matches(name.lower(), FRAMEWORKS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(FRAMEWORKS)}"
    raise InputSpecError(f"unknown framework {name!r}; {hint}")


def find_model(text: str, framework: str | None) -> Any:
    """The model that the user named: a path, or the object at ``package.module:attribute``.

    A class, or (where the framework is known) a function that makes the model, is called without arguments.
    """
    path = Path(text)
    if path.exists():
        return path
    if not _ATTRIBUTE.match(text):
        raise InputSpecError(f"there is no file {text} (and it is not a package.module:attribute)")
    search_here()
    module_name, _, attribute = text.partition(":")
    found = _attribute(module_name, attribute)
    if inspect.isclass(found):
        return found()
    if inspect.isroutine(found) and framework not in ("jax", "tensorflow"):
        if framework is None:
            raise InputSpecError(f"{text} is a function: say with --from what it makes")
        return found()
    return found


def _attribute(module_name: str, attribute: str) -> Any:
    found: Any = _import(module_name, f"{module_name}:{attribute}")
    for name in attribute.split("."):
        if not hasattr(found, name):
            close = difflib.get_close_matches(name, dir(found), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputSpecError(f"{module_name} has no attribute {attribute}{hint}")
        found = getattr(found, name)
    return found


def search_here() -> None:
    """Lets modules of the working directory be imported, as ``python -m`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def _import(name: str, asked: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InputSpecError(f"there is no module {error.name} (from {asked})") from error
        raise InputSpecError(f"{asked} needs the module {error.name}, which is not installed") from error


def torch_options(
    model: str, framework: str | None, factory: str | None, model_args: str | None, key: str | None,
    allow_globals: Sequence[str] | None, capture: str | None, method: str | None, state: str | None,
) -> dict[str, Any]:  # fmt: skip
    """The options of the PyTorch frontend that are given; raises where the model is another framework's."""
    given = {
        "factory": factory, "model_args": model_args, "key": key, "allow_globals": allow_globals, "capture": capture,
        "method": method, "state": state,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value}
    if not given:
        return {}
    if Path(model).exists():
        from ..converters.files import identify

        framework = identify(model, framework).framework
    if framework not in (None, "torch"):
        flags = {"factory": "--model", "model_args": "--model-args", "allow_globals": "--allow-global"}
        shown = ", ".join(flags.get(name, f"--{name}") for name in given)
        raise InputSpecError(f"{shown}: for PyTorch models only; {model} is of {framework}")
    if "model_args" in given:
        try:
            given["model_args"] = json.loads(str(model_args))
        except ValueError as error:
            raise InputSpecError(f"--model-args is no JSON ({error}): {model_args}") from error
    return given


def named_options(given: Sequence[str] | None) -> dict[str, Any]:
    """Options of single frontends from ``name=value``: a value is JSON, or else text."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, mark, value = text.partition("=")
        if not mark or not name.isidentifier():
            raise InputSpecError(f"--option {text}: it is NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def read_inputs(specs: Sequence[str] | None, arrays: Path | None) -> tuple[Any, dict[str | int, dict[int, str]] | None]:
    """The arguments ``inputs`` and ``dynamic`` of `to_onnx`.

    Args:
        specs: Specs as text. Where there are arrays too, they only name the open dims. ``name=value`` is an argument
            that is no tensor.
        arrays: An ``.npz``, ``.npy`` or ``.pt`` file. Arrays without names are positional.
    """
    from ..symbolic.spec import parse_spec

    plain = dict(_argument(text) for text in specs or () if _ARGUMENT.match(text))
    specs = [text for text in specs or () if not _ARGUMENT.match(text)]
    parsed = [parse_spec(text) for text in specs]
    if arrays is None:
        if plain:
            return {**{spec.name: spec for spec in parsed}, **plain}, None
        return (tuple(specs) if specs else None), None
    values = _load_arrays(arrays)
    if plain and isinstance(values, tuple):
        raise InputSpecError(f"the arrays in {arrays} have no names, so {', '.join(plain)} can't be given beside them")
    dynamic: dict[str | int, dict[int, str]] = {}
    for spec in parsed:
        if isinstance(values, tuple):
            raise InputSpecError(f"the arrays in {arrays} have no names, so --input {spec} fits none of them")
        if spec.name not in values:
            raise InputSpecError(
                f"--input {spec} has no array in {arrays}, which has: {', '.join(values) or 'nothing'}"
            )
        shape = values[spec.name].shape
        fits = len(shape) == len(spec.shape) and all(
            isinstance(want, str) or want == have for want, have in zip(spec.shape, shape, strict=True)
        )
        if not fits or (spec.dtype != "string" and values[spec.name].dtype.name != spec.dtype):
            raise InputSpecError(
                f"--input {spec} does not fit its array in {arrays}: {values[spec.name].dtype}{list(shape)}"
            )
        dynamic[spec.name] = {axis: dim for axis, dim in enumerate(spec.shape) if isinstance(dim, str)}
    return ({**values, **plain} if plain else values), dynamic or None


def _argument(text: str) -> tuple[str, Any]:
    """``name=value``: a Python literal, else the text itself."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value.strip()


def read_reference(path: Path) -> dict[str, Any]:
    """Recorded inputs and outputs of a source, by name."""
    arrays = _load_arrays(path)
    if isinstance(arrays, tuple):
        raise InputSpecError(f"the arrays in {path} have no names: a reference names every input and output")
    return dict(arrays)


def _load_arrays(path: Path) -> Any:
    import numpy as np

    if not path.is_file():
        raise InputSpecError(f"there is no file {path}")
    if path.suffix in (".pt", ".pth"):
        return _load_tensors(path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return (loaded,)
        with loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputSpecError(f"{path} is no .npz file of plain arrays ({str(error).splitlines()[0]})") from error
    if not arrays:
        raise InputSpecError(f"{path} holds no arrays")
    return tuple(arrays.values()) if all(map(_UNNAMED.match, arrays)) else arrays


def _load_tensors(path: Path) -> Any:
    """Tensors that torch saved: one, a list or tuple of them, or a dict by name."""
    from ..converters.files import identify
    from ..converters.from_torch.checkpoint import read_checkpoint
    from ..converters.from_torch.weights import to_numpy

    kind = identify(path, "torch")
    if kind.format not in ("checkpoint", "legacy"):
        raise InputSpecError(f"{path} is {kind}, not a file of tensors")
    loaded = read_checkpoint(path, legacy=kind.format == "legacy", trust=False, allowed=())
    named = isinstance(loaded, dict)
    parts = list(loaded.values() if named else loaded if isinstance(loaded, (list, tuple)) else [loaded])
    if not parts or not all(hasattr(part, "detach") for part in parts):
        raise InputSpecError(f"{path} holds no tensors, list of tensors or dict of tensors")
    arrays = [to_numpy(part) for part in parts]
    return dict(zip(map(str, loaded), arrays, strict=True)) if named else tuple(arrays)


def result_path(output: Path | None, model: str, opset: int) -> Path:
    """Where the result goes; raises before any work is done if it can't go there."""
    if output is None:
        source = Path(model) if Path(model).exists() else Path(model.rpartition(":")[2])
        output = Path(source.stem + (f".opset{opset}.onnx" if source.suffix == ".onnx" else ".onnx"))
    if output.exists() and Path(model).exists() and output.samefile(model):
        raise InputSpecError(f"the result would replace the model {model}; name another file with -o")
    return writable(output)


def writable(path: Path) -> Path:
    """The path, if a file can be written there."""
    if path.is_dir():
        raise InputSpecError(f"can't write {path}: it is a directory")
    if path.exists() and not path.is_file():  # a result is renamed into place, which would replace a device
        raise InputSpecError(f"can't write {path}: it is not a regular file")
    if not path.parent.is_dir():
        raise InputSpecError(f"can't write {path}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputSpecError(f"can't write {path}: permission denied")
    return path


def report_path(path: Path | None) -> Path | None:
    """Where the report goes, if its kind is known."""
    if path is None:
        return None
    if path.suffix not in (".json", ".xml"):
        raise InputSpecError(f"the report {path} must end in .json or .xml")
    return writable(path)


def ready_providers(names: Sequence[str] | None) -> list[str] | bool:
    """The ``compare`` of `to_onnx`; raises before any work is done if a runtime that is asked for can't run here."""
    from ..validation.providers import resolve

    for provider in resolve(names or None):
        reason = provider.available()
        if reason and importlib.util.find_spec("onnxruntime") is None:
            raise MissingDependency("onnxruntime", "runtime", "comparing with the source (or --no-compare)")
        if reason:
            raise InputSpecError(f"can't compare in {provider.name}: {reason}")
    return list(names) if names else True
