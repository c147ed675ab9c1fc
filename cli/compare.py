"""``anyonnx compare``: does an ONNX file compute what its source computes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Debug, From, Input, Inputs, Provider, Quiet, Report, Tolerance, Trust


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
    report: Report = None,
    debug: Debug = False,
    quiet: Quiet = False,
) -> None:
    """Compares an ONNX file with its source, output by output, in every provider asked for."""
    from ..converters.api import compare as compare_models
    from ..symbolic.errors import ParityError
    from .display import show_report
    from .inspect_model import onnx_file
    from .request import find_model, framework_name, read_inputs, ready_providers, report_path

    framework = framework_name(framework)
    report = report_path(report)
    ready_providers(providers)
    inputs, dynamic = read_inputs(specs, arrays)
    parity = compare_models(
        onnx_file(model),
        find_model(source, framework),
        inputs,
        providers or None,
        framework=framework,
        dynamic=dynamic,
        tolerance=tolerance,
        trust=trust,
    )
    show_report(parity, report, quiet=quiet or not parity.passed)
    if not parity.passed:
        raise ParityError(parity)
