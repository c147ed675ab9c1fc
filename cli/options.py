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
        help='One input, as "x:float32[batch,3,224,224]"; names in the brackets are open dims. An argument that is no '
        "tensor: rate=16000. Repeatable.",
    ),
]
Inputs = Annotated[
    Path | None,
    typer.Option(
        "--inputs",
        "--example",
        metavar="FILE",
        help="Sample inputs, one array for each name: .npz, .npy, or tensors saved by torch (.pt).",
    ),
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
_TORCH = "PyTorch"
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODULE:FACTORY",
        help="Class or function that makes the model which a file of weights belongs to; the module may be a .py file.",
        rich_help_panel=_TORCH,
    ),
]
ModelArgs = Annotated[
    str | None,
    typer.Option(
        "--model-args",
        metavar="JSON",
        help='Arguments of --model: a list, or an object such as {"layers": 2}.',
        rich_help_panel=_TORCH,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="NAME",
        help="Where in a checkpoint the weights stand, such as model.state_dict.",
        rich_help_panel=_TORCH,
    ),
]
AllowGlobal = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-global",
        metavar="NAME",
        help="A class that a checkpoint may hold, such as argparse.Namespace. Repeatable.",
        rich_help_panel=_TORCH,
    ),
]
Capture = Annotated[
    str | None,
    typer.Option(
        "--capture",
        metavar="HOW",
        help="export (torch.export), script (torch.jit.script), or auto: the second where the first can't.",
        rich_help_panel=_TORCH,
    ),
]
Method = Annotated[
    str | None,
    typer.Option("--method", metavar="NAME", help="Method of a TorchScript model.", rich_help_panel=_TORCH),
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="HOW",
        help="Attributes that TorchScript changes: carry (inputs and outputs) or fresh (as in the file, in every run).",
        rich_help_panel=_TORCH,
    ),
]
Float32 = Annotated[
    bool,
    typer.Option(
        "--float32",
        help="Trees compare and add in single precision: faster; how often labels agree on the hardest rows is told.",
    ),
]
NamedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the framework's own, such as rounds=50 or missing=-999 for XGBoost. Repeatable.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]
