"""Loads PyTorch modules and exported programs (.pt2)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError, InputSpecError, UntrustedFile
from ...symbolic.spec import TensorSpec, parse_spec
from ..base import Frontend, Options, type_names
from ..files import pickle_imports, sniff
from .capture import FAILURES, capture
from .inputs import bind
from .source import TorchSource

_MODULE = "torch.nn.modules.module.Module"
_PROGRAM = "torch.export.exported_program.ExportedProgram"
_SCRIPT = ("torch.jit._script.ScriptModule", "torch.jit._trace.TopLevelTracedModule")


class TorchFrontend(Frontend):
    """PyTorch: ``nn.Module``, ``torch.export.ExportedProgram`` and ``.pt2`` files."""

    name = "torch"
    packages = ("torch",)
    extra = "torch"

    def accepts(self, model: object) -> bool:
        """Whether it is a module or an exported program."""
        names = type_names(model)
        return _MODULE in names or _PROGRAM in names

    def load(self, model: Any, inputs: Any, options: Options) -> TorchSource:
        """Captures a module, or takes an exported program as it is."""
        _keep_triton_out()
        if isinstance(model, (str, Path)):
            model = _read(Path(model), options)
        names = type_names(model)
        if any(n in _SCRIPT for n in names):
            raise InputSpecError(
                "TorchScript modules can't be converted yet: pass the nn.Module it was made from, "
                "or a .pt2 file saved with torch.export.save"
            )
        if _PROGRAM in names:
            return _from_program(model, inputs, options)
        if _MODULE not in names:
            raise InputSpecError(f"the file holds a {names[0]}, not an nn.Module")
        arguments = bind(model, inputs, options.dynamic)
        program = capture(model, arguments)
        return TorchSource(program, options, f"{type(model).__name__} (torch)", module=(model, arguments))


def _keep_triton_out() -> None:
    """Lets torch go without Triton where TensorFlow was loaded first: their LLVMs together crash the process.

    Capturing needs no Triton, and where it can't be imported torch takes it for not installed.
    """
    if "tensorflow" in sys.modules:
        sys.modules.setdefault("triton", None)  # type: ignore[arg-type]


def _read(path: Path, options: Options) -> Any:
    """The object in a file: an exported program, or a pickled module where the caller trusts the file."""
    import torch

    kind = sniff(path)
    if kind.format == "pt2":
        try:
            return torch.export.load(path)
        except (*FAILURES, OSError) as error:
            raise CaptureError(f"torch.export can't load {path}: {error}") from error
    if kind.format == "torchscript":
        raise InputSpecError(f"{path} is a TorchScript archive, which can't be converted yet: save the model as .pt2")
    if kind.format == "safetensors":
        raise InputSpecError(f"{path} holds weights without a model: load them into a module and pass that module")
    foreign = [n for n in pickle_imports(path) if not _is_data(n)]
    if not foreign:
        raise InputSpecError(
            f"{path} holds weights (a state_dict) without a model: load them into the module and pass that module, "
            "or save it as .pt2 with torch.export.save"
        )
    if not options.trust:
        raise UntrustedFile(str(path), foreign, "a pickled PyTorch module")
    try:
        return torch.load(path, weights_only=False, map_location="cpu")
    except (*FAILURES, OSError, ImportError) as error:
        raise InputSpecError(f"torch can't load {path}: {error}") from error


def _is_data(name: str) -> bool:
    """Whether a name that a pickle imports is only what state_dicts are made of."""
    return name in ("collections.OrderedDict", "torch.Size", "torch.device", "numpy.dtype") or name.startswith(
        ("torch._utils._rebuild_", "torch.FloatStorage", "torch._tensor._rebuild", "torch.storage.", "_codecs.encode")
    ) or (name.startswith("torch.") and name.endswith("Storage"))  # fmt: skip


def _from_program(program: Any, inputs: Any, options: Options) -> TorchSource:
    """An exported program: it knows its inputs; the caller's only name the open dims or serve as samples."""
    symbols: dict[str, dict[int, str]] = {}
    plain = TorchSource(program, Options(options.opset), "")
    names = plain.input_names
    arrays: dict[str, Any] = {}
    for i, (key, value) in enumerate(_named(inputs, names)):
        if isinstance(value, str):
            value = parse_spec(value, key)
        if isinstance(value, TensorSpec):
            key = value.name if value.name in names else names[i]
            symbols[key] = _opened(value, plain.specs[names.index(key)])
        elif value is not None:
            arrays[key] = value
    for wanted, axes in (options.dynamic or {}).items():
        name = names[wanted] if isinstance(wanted, int) and wanted < len(names) else str(wanted)
        if name not in names:
            raise InputSpecError(f"dynamic names the input {wanted!r}; the inputs are {', '.join(names)}")
        symbols.setdefault(name, {}).update(axes)
    _check_dynamic(plain, symbols)
    source = TorchSource(program, options, "an exported program (torch)", symbols=symbols)
    if arrays:
        if set(arrays) != set(names):
            raise InputSpecError(f"the model takes {', '.join(names)}; given are {', '.join(arrays)}")
        source.samples = {s.name: np.asarray(arrays[n]) for s, n in zip(source.specs, names, strict=True)}
    return source


def _named(inputs: Any, names: list[str]) -> list[tuple[str, Any]]:
    if inputs is None:
        return []
    if isinstance(inputs, Mapping):
        return list(inputs.items())
    listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    if len(listed) > len(names):
        raise InputSpecError(f"{len(listed)} inputs are given, the model takes {len(names)}: {', '.join(names)}")
    return list(zip(names, listed, strict=False))


def _opened(wanted: TensorSpec, own: TensorSpec) -> dict[int, str]:
    """The names that a spec gives to open axes; raises where it asks for other sizes than the file has."""
    if len(wanted.shape) != len(own.shape) or wanted.dtype != own.dtype:
        raise InputSpecError(f"the file's input is {own}, not {wanted}")
    for ours, theirs in zip(own.shape, wanted.shape, strict=True):
        if isinstance(ours, int) and ours != theirs:
            raise InputSpecError(f"the file's input is {own}, not {wanted}: export it again with that dim open")
    return {a: s for a, s in enumerate(wanted.shape) if isinstance(s, str)}


def _check_dynamic(source: TorchSource, symbols: Mapping[str, Mapping[int, str]]) -> None:
    for name, axes in symbols.items():
        spec = source.specs[source.input_names.index(name)]
        for axis in axes:
            if not -len(spec.shape) <= axis < len(spec.shape) or isinstance(spec.shape[axis], int):
                raise InputSpecError(f"axis {axis} of {spec} is fixed in the file: export it again with that dim open")
