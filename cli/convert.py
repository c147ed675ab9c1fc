"""``anyonnx convert``: a model to an ONNX file, checked and compared with its source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .options import (
    AllowGlobal,
    Capture,
    Debug,
    Float32,
    From,
    Input,
    Inputs,
    Key,
    Method,
    Model,
    ModelArgs,
    NamedOption,
    NoCompare,
    NoOptimize,
    Opset,
    Output,
    Plugin,
    Provider,
    Quiet,
    Reference,
    Report,
    State,
    Tolerance,
    Trust,
    Via,
)

if TYPE_CHECKING:
    from ..validation.report import ParityReport


def convert(
    model: Annotated[str, typer.Argument(help="A model file, or package.module:attribute.", metavar="MODEL")],
    framework: From = None,
    specs: Input = None,
    arrays: Inputs = None,
    opset: Opset = 21,
    output: Output = None,
    providers: Provider = None,
    no_compare: NoCompare = False,
    no_optimize: NoOptimize = False,
    tolerance: Tolerance = None,
    trust: Trust = False,
    plugins: Plugin = None,
    report: Report = None,
    reference: Reference = None,
    via: Via = None,
    factory: Model = None,
    model_args: ModelArgs = None,
    key: Key = None,
    allow_globals: AllowGlobal = None,
    capture: Capture = None,
    method: Method = None,
    state: State = None,
    float32: Float32 = False,
    options: NamedOption = None,
    debug: Debug = False,
    quiet: Quiet = False,
) -> None:
    """Converts MODEL to ONNX, checks the result and compares it with its source.

    convert --from torch model.pt2 --opset 17 -o model.onnx
    """
    from . import request

    if no_compare and (providers or tolerance is not None or report is not None):
        raise typer.BadParameter("--no-compare leaves nothing for --provider, --tolerance or --report")
    request.search_here()
    framework = request.framework_name(framework)
    result = request.result_path(output, model, opset)
    report = request.report_path(report)
    inputs, dynamic = request.read_inputs(specs, arrays)
    extra = request.torch_options(model, framework, factory, model_args, key, allow_globals, capture, method, state)
    deliver(
        request.find_model(model, framework),
        result,
        report=report,
        quiet=quiet,
        inputs=inputs,
        dynamic=dynamic,
        framework=framework,
        opset=opset,
        optimize=not no_optimize,
        compare=False if no_compare else request.ready_providers(providers),
        tolerance=tolerance,
        trust=trust,
        plugins=tuple(plugins or ()),
        reference=None if reference is None else request.read_reference(reference),
        via=via,
        float32=float32,
        **request.named_options(options),
        **extra,
    )


def deliver(model: Any, result: Path, *, report: Path | None, quiet: bool, **options: Any) -> None:
    """Converts with `to_onnx(model, **options)`, showing its stages, and shows what came out."""
    import time

    from ..converters.api import to_onnx
    from ..symbolic.errors import ParityError
    from .display import Stages, show_report, size_text, warn

    started = time.perf_counter()
    with Stages(quiet) as stages:
        try:
            conversion = to_onnx(model, output=result, on_stage=stages, **options)
        except ParityError as error:
            if report is not None:
                show_report(cast("ParityReport", error.report), report, quiet=True)
            raise
    if conversion.parity is not None:
        show_report(conversion.parity, report, quiet)
    if not quiet:
        nodes = sum(1 for _ in conversion.model.graph.all_nodes())
        typer.echo(
            f"wrote {result}: opset {options['opset']}, {nodes} nodes, {size_text(result.stat().st_size)}, "
            f"{time.perf_counter() - started:.1f} s"
        )
    if conversion.parity is not None and not conversion.parity.passed:
        warn(
            f"{result} is right with the runtime's optimisations off, but differs with them on: "
            "that is the runtime's own doing"
        )
    if conversion.parity is None:
        why = conversion.not_compared or "nothing shows that it computes the same"
        warn(f"{result} was NOT COMPARED with its source: {why}")
