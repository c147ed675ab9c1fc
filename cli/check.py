"""``anyonnx check``: is a file a valid ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Debug


def check(
    model: Annotated[Path, typer.Argument(help="An ONNX file.", metavar="MODEL")],
    opset: Annotated[int | None, typer.Option("--opset", metavar="N", help="The opset it must have.")] = None,
    debug: Debug = False,
) -> None:
    """Validates an ONNX file: full check with shape inference, opset, only the default domains."""
    from ..converters.api import check as check_file
    from .inspect_model import onnx_file

    check_file(onnx_file(model), opset=opset)
    typer.echo(f"{model} is valid")
