"""``anyonnx opset``: an ONNX file at another opset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Debug, NoCompare, NoOptimize, Output, Provider, Quiet, Report, Tolerance


def opset(
    model: Annotated[Path, typer.Argument(help="An ONNX file.", metavar="MODEL")],
    to: Annotated[int, typer.Option("--to", metavar="N", help="The opset of the result.")],
    output: Output = None,
    providers: Provider = None,
    no_compare: NoCompare = False,
    no_optimize: NoOptimize = False,
    tolerance: Tolerance = None,
    report: Report = None,
    debug: Debug = False,
    quiet: Quiet = False,
) -> None:
    """Writes an ONNX file again at opset N, and compares both.

    The result is MODEL.opsetN.onnx if -o does not name another.
    """
    from .convert import deliver
    from .inspect_model import onnx_file
    from .request import ready_providers, report_path, result_path

    if no_compare and (providers or tolerance is not None or report is not None):
        raise typer.BadParameter("--no-compare leaves nothing for --provider, --tolerance or --report")
    source = onnx_file(model)
    deliver(
        source,
        result_path(output, str(model), to),
        report=report_path(report),
        quiet=quiet,
        framework="onnx",
        opset=to,
        optimize=not no_optimize,
        compare=False if no_compare else ready_providers(providers),
        tolerance=tolerance,
    )
