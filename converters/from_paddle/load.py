"""Loads Paddle models: PIR files, legacy files, live layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...symbolic.errors import CaptureError, InputSpecError
from ..base import Frontend, Options, type_names
from ..binding import bind
from ..files import sniff
from .parameters import read_parameters
from .pir import read_pir
from .program import FormatError, Program
from .source import PaddleSource, program_specs
from .worker import Worker

_LAYER = "paddle.nn.layer.layers.Layer"


class PaddleFrontend(Frontend):
    """PaddlePaddle: PIR ``.json`` and legacy ``.pdmodel`` files with their ``.pdiparams``, and live layers."""

    name = "paddle"
    packages = ()
    extra = "paddle"

    def accepts(self, model: object) -> bool:
        """Whether it is a layer."""
        return _LAYER in type_names(model)

    def load(self, model: Any, inputs: Any, options: Options) -> PaddleSource:
        """Reads a file without Paddle, or captures a layer."""
        if isinstance(model, (str, Path)):
            return _from_file(Path(model), inputs, options)
        if not self.accepts(model):
            raise InputSpecError(f"{type(model).__name__} is not a Paddle layer: pass a paddle.nn.Layer or a file")
        from .live import capture_layer

        return capture_layer(model, inputs, options)


def _from_file(path: Path, inputs: Any, options: Options) -> PaddleSource:
    kind = sniff(path)
    weights = path.with_suffix(".pdiparams")
    try:
        program = _read_program(path, kind.format)
        names = program.parameter_names
        if names:
            if not weights.exists():
                raise InputSpecError(f"the weights of {path.name} are missing: there is no {weights}")
            program.parameters = read_parameters(weights, names)
    except FormatError as error:
        raise CaptureError(str(error)) from error
    own = program_specs(program, options.input_names)
    keys = [op.attributes["name"] for op in program.inputs]
    specs, samples = bind(own, inputs, options.dynamic, keys)
    outputs = [op.attributes.get("name", f"output_{i}") for i, op in enumerate(program.outputs)]
    source = PaddleSource(
        program, specs, outputs, options, f"{path.name} ({kind.detail})", Worker(path, weights if names else None)
    )
    source.samples = samples
    return source


def _read_program(path: Path, kind: str) -> Program:
    if kind == "pir":
        return read_pir(path)
    from .legacy import read_legacy

    return read_legacy(path)
