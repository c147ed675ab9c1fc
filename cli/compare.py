"""``anyonnx compare``: does an ONNX file compute what its source computes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    AllowGlobal,
    Capture,
    Debug,
    From,
    Input,
    Inputs,
    Key,
    Method,
    Model,
    ModelArgs,
    Provider,
    Quiet,
    Report,
    State,
    Tolerance,
    Trust,
)


def compare(
    model: Annotated[Path, typer.Argument(help="An ONNX file.", metavar="MODEL")],
    source: Annotated[
        str,
        typer.Option("--source", metavar="SRC", help="What it was made from: a file, or module:attribute."),
    ],
    framework: From = None,
    specs: Input = None,
    arrays: Inputs = None,
    providers: Provider = None,
    tolerance: Tolerance = None,
    trust: Trust = False,
    factory: Model = None,
    model_args: ModelArgs = None,
    key: Key = None,
    allow_globals: AllowGlobal = None,
    capture: Capture = None,
    method: Method = None,
    state: State = None,
    report: Report = None,
    debug: Debug = False,
    quiet: Quiet = False,
) -> None:
    """Compares an ONNX file with its source, output by output, in every provider asked for."""
    from ..converters.api import compare as compare_models
    from ..symbolic.errors import ParityError
    from .display import show_report
    from .inspect_model import onnx_file
    from .request import (
        find_model,
        framework_name,
        read_inputs,
        ready_providers,
        report_path,
        search_here,
        torch_options,
    )

    framework = framework_name(framework)
    report = report_path(report)
    ready_providers(providers)
    search_here()
    inputs, dynamic = read_inputs(specs, arrays)
    extra = torch_options(source, framework, factory, model_args, key, allow_globals, capture, method, state)
    parity = compare_models(
        onnx_file(model),
        find_model(source, framework),
        inputs,
        providers or None,
        framework=framework,
        dynamic=dynamic,
        tolerance=tolerance,
        trust=trust,
        **extra,
    )
    show_report(parity, report, quiet=quiet or not parity.passed)
    if not parity.passed:
        raise ParityError(parity)
