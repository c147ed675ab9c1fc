"""Loads PyTorch models: live ones, and every kind of file."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.errors import AnyonnxError, CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec, parse_spec
from ..base import Frontend, Options, Source, type_names
from ..files import sniff
from . import checkpoint
from .callables import function_module, is_torch_function, unwrapped
from .capture import FAILURES, capture, refuse_observers, refuse_without_weights
from .checkpoint import MODULE
from .inputs import bind
from .script import load_script, script_source, scripted
from .source import TorchSource
from .state import StatefulSource

_PROGRAM = "torch.export.exported_program.ExportedProgram"
_SCRIPT = ("torch.jit._script.ScriptModule", "torch.jit._trace.TopLevelTracedModule")
#: Options of this frontend, as they are called on the command line.
OPTIONS = {
    "factory": "--model",
    "model_args": "--model-args",
    "key": "--key",
    "allow_globals": "--allow-global",
    "method": "--method",
    "state": "--state",
    "capture": "--capture",
}
#: Which of them a kind of model takes.
_WEIGHTS = ("factory", "model_args", "key", "allow_globals", "capture", "method", "state")
_TAKES = {
    "pt2": ("state",),
    "torchscript": ("method", "state"),
    "safetensors": ("factory", "model_args", "capture", "method", "state"),
    "checkpoint": _WEIGHTS,
    "legacy": _WEIGHTS,
    "module": ("capture", "method", "state"),
}
CAPTURES = ("auto", "export", "script")


class TorchFrontend(Frontend):
    """PyTorch: modules, exported programs and TorchScript, live or in files; files of weights with their model.

    Options in ``Options.extra``:
        factory: For files of weights: the module, or a class or function that makes it, or ``package.module:name``.
        model_args: Arguments of the factory: a list or a dict.
        key: Where in a checkpoint the weights stand: ``model.state_dict``.
        allow_globals: Full names that a checkpoint may import besides those of plain weights.
        capture: How a module is captured: ``export`` (torch.export), ``script`` (torch.jit.script), or ``auto``: the
            first, and the second where torch.export can't capture it.
        method: Of TorchScript: the method to convert, ``forward`` by default.
        state: Of TorchScript whose method changes attributes: ``carry`` makes them inputs and outputs, ``fresh`` starts
            every run from the values in the file.
    """

    name = "torch"
    packages = ("torch",)
    extra = "torch"

    def accepts(self, model: object) -> bool:
        """Whether it is a module, a method of one, a function of torch or an exported program."""
        names = type_names(model)
        return MODULE in names or _PROGRAM in names or is_torch_function(model)

    def load(self, model: Any, inputs: Any, options: Options) -> Source:
        """Captures a module, or takes an exported program or TorchScript as it is."""
        _keep_triton_out()
        unknown = sorted(set(options.extra) - set(OPTIONS))
        if unknown:
            raise InputSpecError(f"unknown option {', '.join(unknown)} for torch; it has {', '.join(OPTIONS)}")
        if isinstance(model, (str, Path)):
            model, described = _read(Path(model), options)
        else:
            described = ""
        names = type_names(model)
        if _PROGRAM in names:
            if not described:
                _check_options("an exported program", "pt2", options)
            return _from_program(model, inputs, options)
        if any(n in _SCRIPT for n in names):
            if not described:
                _check_options("a TorchScript module", "torchscript", options)
            return script_source(model, inputs, options, described)
        if MODULE not in names and callable(model) and not isinstance(model, type):
            model = function_module(model)
        elif MODULE not in names:
            raise InputSpecError(f"{described or 'the model'} is a {names[0]}, not an nn.Module")
        model = unwrapped(model)
        if not described:
            _check_options("a module", "module", options)
        return _from_module(model, inputs, options)


def _from_module(module: Any, inputs: Any, options: Options) -> Source:
    """A module, by torch.export, or by torch.jit.script where that can't capture it."""
    refuse_observers(module)
    refuse_without_weights(module)
    how = options.extra.get("capture") or "auto"
    if how not in CAPTURES:
        raise InputSpecError(f"the capture {how!r} is none of {', '.join(CAPTURES)}")
    description = f"{type(module).__name__} (torch)"
    carry = options.extra.get("state") == "carry"
    scripted_only = [o for o in ("method", "state") if options.extra.get(o) and not (o == "state" and carry)]
    if scripted_only and how != "script":
        shown = " and ".join(OPTIONS[o] for o in scripted_only)
        raise InputSpecError(f"{shown} is for TorchScript: say --capture script (capture='script') with a module")
    if how == "script":
        return script_source(scripted(module), inputs, options, description, module)
    arguments = bind(module, inputs, options.dynamic)
    try:
        program = capture(module, arguments)
        kind = StatefulSource if carry else TorchSource
        source = kind(program, options, description, module=(module, arguments))
        try:
            source.refuse_other_ways()
        except CaptureError as error:
            if how != "export":
                raise
            warnings.warn(str(error), stacklevel=2)  # this capture was asked for
        return source
    except CaptureError as error:
        if how == "export":
            raise
        return _scripted_instead(module, inputs, options, description, error)


def _scripted_instead(module: Any, inputs: Any, options: Options, description: str, error: CaptureError) -> Source:
    """What torch.export can't capture, through TorchScript; the first error stands where that can't either."""
    try:
        return script_source(scripted(module), inputs, options, f"{description}, through TorchScript", module)
    except AnyonnxError as second:
        raise CaptureError(f"{error}\n  torch.jit.script, tried next: {str(second).splitlines()[0]}") from error


def _keep_triton_out() -> None:
    """Lets torch go without Triton where TensorFlow was loaded first: their LLVMs together crash the process.

    Capturing needs no Triton, and where it can't be imported torch takes it for not installed.
    """
    if "tensorflow" in sys.modules:
        sys.modules.setdefault("triton", None)  # type: ignore[arg-type]


# --- files -----------------------------------------------------------------------------------------------------------


def _check_options(what: str, kind: str, options: Options) -> None:
    """Raises InputSpecError where an option is given that this kind of model has no use for."""
    for option, flag in OPTIONS.items():
        if options.extra.get(option) and option not in _TAKES[kind]:
            why = {
                "pt2": "it holds its graph, weights and inputs",
                "torchscript": "it holds its code and weights",
                "safetensors": "it holds nothing but tensors by name",
                "module": "it has its weights already",
            }.get(kind, "")
            raise InputSpecError(f"{what} takes no {flag} ({option}=): {why}")


def _read(path: Path, options: Options) -> tuple[Any, str]:
    """The object in a file (exported program, TorchScript or module), and a word about the file."""
    import torch

    kind = sniff(path)
    if kind.format not in _TAKES:
        raise InputSpecError(f"{path} is {kind}, which torch.load doesn't read: save the model with torch.save")
    _check_options(f"{path} is {kind}, which", kind.format, options)
    described = f"{path.name} ({kind.format})"
    if kind.format == "pt2":
        try:
            return torch.export.load(path), described
        except (*FAILURES, OSError) as error:
            raise CaptureError(f"torch.export can't load {path}: {error}") from error
    if kind.format == "torchscript":
        return load_script(path), described
    if kind.format == "safetensors":
        return _with_model(checkpoint.read_safetensors(path), path, options), described
    loaded = checkpoint.read_checkpoint(
        path,
        legacy=kind.format == "legacy",
        trust=options.trust,
        allowed=tuple(options.extra.get("allow_globals") or ()),
    )
    found, _ = checkpoint.pick(loaded, options.extra.get("key"), path)
    if checkpoint.is_module(found):
        if options.extra.get("factory"):
            raise InputSpecError(f"{path} holds a whole {type(found).__name__}: --model (factory=) has no use")
        return found, described
    return _with_model(found, path, options), described


def _with_model(weights: Mapping[str, Any], path: Path, options: Options) -> Any:
    factory = options.extra.get("factory")
    if factory is None:
        names = ", ".join(list(weights)[:3]) + (" ..." if len(weights) > 3 else "")
        raise InputSpecError(
            f"{path} holds weights without a model ({names}): say what makes the model with "
            "--model package.module:factory (factory=), or save the model as .pt2 with torch.export.save"
        )
    return checkpoint.fill(checkpoint.make_module(factory, options.extra.get("model_args")), weights, path)


# --- exported programs -----------------------------------------------------------------------------------------------


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
    state = options.extra.get("state")
    if state not in (None, "carry"):
        raise InputSpecError(f"--state {state} (state=) is for TorchScript; an exported program knows carry")
    kind = StatefulSource if state else TorchSource
    source = kind(program, options, "an exported program (torch)", symbols=symbols)
    if arrays:
        if set(arrays) != set(names):
            raise InputSpecError(f"the model takes {', '.join(names)}; given are {', '.join(arrays)}")
        given = {s.name: np.asarray(arrays[n]) for s, n in zip(source.specs, names, strict=False)}
        source.samples = (source.samples or {}) | given
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
