"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

From = Annotated[
    str | None,
    typer.Option("--from", metavar="FRAMEWORK", help="Source framework; by default found from the file."),
]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="SPEC",
        help='One input, as "x:float32[batch,3,224,224]"; names in the brackets are open dims. Repeatable.',
    ),
]
Inputs = Annotated[
    Path | None,
    typer.Option("--inputs", metavar="FILE.npz", help="Sample inputs, one array for each name."),
]
Opset = Annotated[int, typer.Option("--opset", metavar="N", help="ONNX opset of the result.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Result; by default the model's name + .onnx, here."),
]
Provider = Annotated[
    list[str] | None,
    typer.Option("--provider", metavar="NAME", help="Runtime to compare in (anyonnx providers). Repeatable."),
]
NoCompare = Annotated[bool, typer.Option("--no-compare", help="Do not compare the result with its source.")]
NoOptimize = Annotated[bool, typer.Option("--no-optimize", help="Leave the graph as it was translated.")]
Tolerance = Annotated[
    float | None,
    typer.Option("--tolerance", metavar="X", help="Largest max|err|/max|ref| that passes."),
]
Trust = Annotated[bool, typer.Option("--trust", help="Load a file that runs code when it is loaded.")]
Plugin = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE", help="Module that registers symbolic functions. Repeatable."),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write the parity report: .json or JUnit .xml."),
]
Reference = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE.npz",
        help="Inputs and outputs recorded from the source, by name: compare with these where its framework is missing.",
    ),
]
Via = Annotated[
    str | None,
    typer.Option(
        "--via",
        metavar="PEER",
        help="Let another converter translate: torch.onnx, skl2onnx, onnxmltools, tf2onnx, jax2onnx, paddle2onnx. "
        "Its model is checked and compared all the same.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]
