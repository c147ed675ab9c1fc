"""The commands ``anyonnx`` and ``convert`` (which is ``anyonnx convert``)."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from . import check, compare, convert, inspect_model, ops, opset, parity, providers
from .outcome import EXIT_CODES, run

app = typer.Typer(
    name="anyonnx",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"anyonnx {__version__}")
        raise typer.Exit


@app.callback()
def anyonnx(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Trained models of any framework to ONNX, at the opset you ask for, proved against the source."""


for _name, _function, _summary in (
    ("convert", convert.convert, "Convert a model to ONNX, check and compare it."),
    ("check", check.check, "Validate an ONNX file."),
    ("compare", compare.compare, "Compare an ONNX file with its source."),
    ("parity", parity.parity, "Convert and compare a list of models, for CI."),
    ("inspect", inspect_model.inspect_model, "Show what is in an ONNX file."),
    ("ops", ops.ops, "List the operators that can be converted."),
    ("providers", providers.providers, "List the runtimes to compare in."),
    ("opset", opset.opset, "Write an ONNX file at another opset."),
):
    app.command(_name, epilog=EXIT_CODES, short_help=_summary)(_function)


def main(args: list[str] | None = None) -> None:
    """Runs ``anyonnx`` and ends the process with its exit code; without arguments it shows the help."""
    sys.exit(run(app, (sys.argv[1:] if args is None else args) or ["--help"], "anyonnx"))


def convert_main(args: list[str] | None = None) -> None:
    """Runs ``convert``, which is ``anyonnx convert``."""
    single = typer.Typer(
        add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )
    single.command("convert", epilog=EXIT_CODES)(convert.convert)
    sys.exit(run(single, sys.argv[1:] if args is None else args, "convert"))
