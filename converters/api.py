"""The public way of a model: load, translate, optimise, check, compare, save."""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..symbolic.builder import GraphBuilder, gc_paused
from ..symbolic.errors import InputSpecError, MissingDependency, ParityError, UnsupportedOps
from ..symbolic.opsets import DEFAULT_OPSET, check_opset
from ..symbolic.spec import TensorSpec
from ..symbolic.value import MARK
from . import single
from .base import Arrays, Frontend, Options, Source

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

    from ..validation.layers import Trace
    from ..validation.report import ParityReport

#: Framework name -> module and class of its frontend. A frontend is imported when it is needed.
FRONTENDS = {
    "torch": (".from_torch", "TorchFrontend"),
    "sklearn": (".from_sklearn", "SklearnFrontend"),
    "xgboost": (".from_xgboost", "XgboostFrontend"),
    "lightgbm": (".from_lightgbm", "LightgbmFrontend"),
    "catboost": (".from_catboost", "CatboostFrontend"),
    "paddle": (".from_paddle", "PaddleFrontend"),
    "jax": (".from_jax", "JaxFrontend"),
    "keras": (".from_keras", "KerasFrontend"),
    "tensorflow": (".from_tensorflow", "TensorflowFrontend"),
    "tflite": (".from_tflite", "TfliteFrontend"),
    "onnx": (".from_onnx", "OnnxFrontend"),
}
#: Where a model is compared that onnxruntime has no kernels for.
REFERENCE = "onnx-reference"
Stage = Callable[[str, "float | None"], None]
Dynamic = Mapping[str | int, Mapping[int, str]]


@dataclass
class Conversion:
    """A converted model, and what is known about it.

    Attributes:
        model: The ONNX model.
        source: What it was made from; it can be run again.
        parity: The comparison with the source; None if none was made: then nothing shows that the model is right.
        not_compared: Why there is no comparison, where one was asked for.
        stages: Seconds that each stage took.
        trace_values: ONNX value name -> name of the same value in the source.
    """

    model: ir.Model
    source: Source
    parity: ParityReport | None = None
    stages: dict[str, float] = field(default_factory=dict)
    trace_values: dict[str, str] = field(default_factory=dict)
    not_compared: str = ""

    def proto(self) -> onnx.ModelProto:
        """The model as protobuf (weights are copied into it)."""
        import onnx_ir

        return onnx_ir.to_proto(self.model)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the model, completely or not at all; weights above 1.5 GB go to ``<path>.data``."""
        from .saving import save_model

        return save_model(self.model, path)

    def trace(self) -> Trace:
        """Access to the source's inner values, for a comparison node by node."""
        from ..validation.layers import Trace

        locations = {
            output.name: node.meta["source"]
            for node in self.model.graph
            for output in node.outputs
            if output.name and "source" in node.meta
        }
        return Trace(self.trace_values, self.source.trace, locations)

    def __str__(self) -> str:
        why = f": {self.not_compared}" if self.not_compared else ""
        verdict = f"NOT COMPARED with its source{why}" if self.parity is None else str(self.parity)
        return f"{self.source.description} at opset {self.model.opset_imports['']}: {verdict}"


def to_onnx(
    model: Any,
    inputs: Any = None,
    *,
    framework: str | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic: Dynamic | None = None,
    opset: int = DEFAULT_OPSET,
    optimize: bool | Sequence[str] = True,
    check: bool = True,
    compare: bool | Sequence[str] = True,
    output: str | os.PathLike[str] | None = None,
    trust: bool = False,
    tolerance: Any = None,
    plugins: Sequence[str] = (),
    on_stage: Stage | None = None,
    keep_locations: bool = False,
    reference: Mapping[str, Any] | None = None,
    via: str | None = None,
    float32: bool = False,
    **extra: Any,
) -> Conversion:
    """Converts a model to ONNX, checks the result and compares it with its source.

    Args:
        model: Live object of a framework, or path of a model file.
        inputs: Tuple or list: positional inputs, as arrays, tensors or spec strings
            (``"x:float32[batch,3,224,224]"``). Dict: keyword inputs. Estimators take their X.
        framework: torch, sklearn, onnx ...; found out where it isn't given.
        input_names: Names for the inputs; the model's own where not given.
        output_names: Names for the outputs.
        dynamic: Open dims: input name or index -> axis -> symbol; the same symbol means the same size.
        opset: Opset to write, 11 to 25.
        optimize: False: no passes. A list: these passes.
        check: Check the model against the ONNX standard.
        compare: True: compare in onnxruntime. A list of providers: in these. False: not at all.
        output: Where to save the model. Nothing is written if anything fails.
        trust: The file may run code when it is loaded.
        tolerance: Limits for the comparison; chosen by dtype and provider where not given.
        plugins: Modules with more symbolic functions.
        on_stage: Called with a stage's name and None when it starts, and with its seconds when it ends.
        keep_locations: Write source locations into the file.
        reference: Recorded inputs and outputs of the source, arrays by name: compared with where the source can't be
            run because its framework isn't installed.
        via: Another converter that translates instead of ours (docs/via.md); the rest of the way stays the same.
        float32: Trees compare and add in single precision, which is faster where their source uses doubles; the
            report tells how often they agree on the hardest rows.
        **extra: Options of single frontends.

    Raises:
        InputSpecError: Path, inputs, names or options are wrong.
        UnsupportedOps: Operators without a symbolic function, all of them at once.
        OpsetError: The asked opset can't express something.
        CaptureError: The framework could not give its graph.
        TranslationError: What was built contradicts the framework.
        CheckFailed: The result is not a valid model of that opset.
        ParityError: The result computes something else than the source. What only the runtime's own optimisations
            change is no error: it stands in the report, whose `passed` is False then.
        MissingDependency: A package is missing.
        UntrustedFile: The file runs code, and `trust` isn't set.
    """
    check_opset(opset)
    stages = _Stages(on_stage)
    options = Options(opset, input_names, output_names, dynamic, trust, extra)
    load_plugins(plugins)
    frontend, model = find_frontend(model, framework)
    if float32:
        single.check_use(frontend.name, via)
    with stages("load"), _advised(frontend.name, via):
        source = frontend.load(model, inputs, options)
    source = source if via is None else _through_peer(via, source, model, inputs, options)
    with stages("translate"), gc_paused(), _advised(frontend.name, via):
        g = GraphBuilder(opset)
        g.float_trees = float32
        source.translate(g)
        result = Conversion(g.build(keep_locations=keep_locations), source, stages=stages.seconds)
    if optimize:
        from ..optimization.pipeline import DEFAULT_PASSES
        from ..optimization.pipeline import optimize as run_passes

        with stages("optimize"), gc_paused():
            run_passes(result.model, DEFAULT_PASSES if optimize is True else tuple(optimize))
    result.trace_values = _marked(result.model)
    if check:
        from ..validation.checker import check_model

        with stages("check"):
            check_model(result.model, opset=opset)
    if compare is not False:
        with stages("compare"):
            _compare(result, None if compare is True else tuple(compare), tolerance, reference, float32)
    if output is not None:
        with stages("save"):
            result.save(output)
    return result


def _through_peer(via: str, source: Source, model: Any, inputs: Any, options: Options) -> Source:
    """The source, but translated by another converter."""
    from .via import ViaSource, find_peer

    return ViaSource(source, find_peer(via, source.framework), model, inputs, options)


def compare(
    model: Any,
    source: Any,
    inputs: Any = None,
    providers: Sequence[str] | None = None,
    *,
    framework: str | None = None,
    dynamic: Dynamic | None = None,
    trust: bool = False,
    tolerance: Any = None,
    **extra: Any,
) -> ParityReport:
    """Compares an existing ONNX model with the model it was made from.

    Args:
        model: Path, ``onnx.ModelProto`` or ``onnx_ir.Model``; inputs and outputs stand in the source's order.
        source: Live object of a framework, or path of its file.
        inputs: As in `to_onnx`.
        providers: Where to run it; onnxruntime on the CPU where not given.
        framework: Framework of the source; found out where not given.
        dynamic: Open dims, as in `to_onnx`; those of the ONNX model's inputs where not given.
        trust: The source file may run code.
        tolerance: Limits; chosen by dtype and provider where not given.
        **extra: Options of single frontends.

    Returns:
        The report; its `passed` tells the verdict.
    """
    from ..validation.models import load_model
    from ..validation.parity import compare_model

    loaded = load_model(model)
    ports = {v.name: v for v in loaded.proto.graph.input}
    names = loaded.input_names
    if dynamic is None:
        dynamic = {
            i: {a: d.dim_param for a, d in enumerate(ports[n].type.tensor_type.shape.dim) if d.dim_param.isidentifier()}
            for i, n in enumerate(names)
        }
    options = Options(DEFAULT_OPSET, names, loaded.output_names, dynamic, trust, extra)
    frontend, native = find_frontend(source, framework)
    loaded_source = frontend.load(native, inputs, options)
    return compare_model(
        loaded,
        loaded_source.run,
        input_sets(loaded_source),
        providers=providers,
        tolerance=tolerance if tolerance is not None else loaded_source.precision or None,
        labels=loaded_source.labels,
    )


def check(model: Any, opset: int | None = None) -> None:
    """Checks an ONNX model: valid by the standard, of the asked opset, without foreign operators.

    Raises:
        CheckFailed: With all problems found.
    """
    from ..validation.checker import check_model

    check_model(model, opset=opset)


def find_frontend(model: Any, framework: str | None = None) -> tuple[Frontend, Any]:
    """The frontend for a path or live object, and the model in the form to hand it.

    Raises:
        InputSpecError: The framework's name is wrong, can't be told, or the file is another's.
        MissingDependency: The framework isn't installed.
    """
    if isinstance(model, (str, os.PathLike)):
        from .files import identify

        path = Path(model)
        kind = identify(path, framework, available=tuple(FRONTENDS))
        return _ready(make_frontend(kind.framework)), path
    if framework is not None:
        return _ready(make_frontend(framework)), model
    for name in FRONTENDS:
        frontend = make_frontend(name)
        if frontend.accepts(model):
            return _ready(frontend), model
    kind_name = f"{type(model).__module__}.{type(model).__qualname__}"
    raise InputSpecError(
        f"can't tell the framework of a {kind_name}; supported are {', '.join(FRONTENDS)}: say it with framework="
    )


def make_frontend(name: str) -> Frontend:
    """The frontend of a framework, its packages not checked yet."""
    if name not in FRONTENDS:
        raise InputSpecError(f"there is no frontend for {name!r} yet; supported are {', '.join(FRONTENDS)}")
    module, cls = FRONTENDS[name]
    frontend: Frontend = getattr(importlib.import_module(module, __package__), cls)()
    return frontend


def _ready(frontend: Frontend) -> Frontend:
    for package in frontend.packages:
        if importlib.util.find_spec(package) is None:
            raise MissingDependency(package, frontend.extra, f"converting from {frontend.name}")
    return frontend


def load_plugins(plugins: Sequence[str]) -> None:
    """Imports modules (names, or paths of .py files) that register symbolic functions."""
    for plugin in plugins:
        if plugin.endswith(".py"):
            spec = importlib.util.spec_from_file_location(f"anyonnx_plugin_{Path(plugin).stem}", plugin)
            if spec is None or spec.loader is None or not Path(plugin).is_file():
                raise InputSpecError(f"there is no plugin file {plugin}")
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
            continue
        try:
            importlib.import_module(plugin)
        except ModuleNotFoundError as error:
            if error.name is None or not (plugin == error.name or plugin.startswith(f"{error.name}.")):
                raise
            raise InputSpecError(f"there is no plugin module {plugin}") from error


def input_sets(source: Source) -> list[Mapping[str, Any]]:
    """Two input sets for a comparison: the source's samples or made-up ones, then another size of every open dim."""
    from ..validation.inputs import InputSet, make_inputs

    first = source.samples
    base = _sizes(source.specs, first) if first is not None else None
    sizes = source.choose_sizes(0, base)
    if first is None:
        first = source.make_samples(0, sizes)
    sets: list[Mapping[str, Any]] = []
    sets.append(make_inputs(source.specs, seed=0, sizes=sizes) if first is None else InputSet(first, sizes=sizes))
    other = source.choose_sizes(1, sizes)
    second = source.make_samples(1, other)
    if second is None and source.samples is not None:
        second = varied(source.samples, source.specs, other)
    sets.append(
        make_inputs(source.specs, seed=1, sizes=other) if second is None else InputSet(second, seed=1, sizes=other)
    )
    return sets


def _sizes(specs: Sequence[TensorSpec], arrays: Arrays) -> dict[str, int]:
    return {
        symbol: arrays[spec.name].shape[axis]
        for spec in specs
        for axis, symbol in enumerate(spec.shape)
        if isinstance(symbol, str) and spec.name in arrays
    }


def varied(samples: Arrays, specs: Sequence[TensorSpec], sizes: Mapping[str, int]) -> Arrays:
    """Arrays of other sizes whose elements are drawn from the samples', so that ids and masks stay in range."""
    import numpy as np

    generator = np.random.default_rng(1)
    varied = {}
    for spec in specs:
        sample = samples[spec.name]
        shape = spec.sized(sizes)
        if sample.size == 0:
            varied[spec.name] = np.zeros(shape, sample.dtype)
            continue
        drawn = generator.choice(sample.reshape(-1), size=shape)
        if sample.dtype.kind == "f" and sample.size > 1:
            finite = sample.astype(np.float64)[np.isfinite(sample.astype(np.float64))]
            drawn = drawn + generator.normal(0, 0.1 * (float(finite.std()) if finite.size else 0.0) + 1e-6, shape)
        varied[spec.name] = np.asarray(drawn, dtype=sample.dtype).reshape(shape)
    return varied


def _compare(
    result: Conversion,
    providers: Sequence[str] | None,
    tolerance: Any,
    reference: Mapping[str, Any] | None,
    float32: bool,
) -> None:
    from ..validation.parity import compare_model

    source = result.source
    if tolerance is None:
        tolerance = single.limits(source) if float32 else source.precision or None

    def against(
        run: Any, sets: Sequence[Mapping[str, Any]], trace: Trace | None, where: Sequence[str] | None = providers
    ) -> ParityReport:
        return compare_model(
            result.model,
            run,
            single.judged(sets) if float32 else sets,
            providers=where,
            tolerance=tolerance,
            trace=trace,
            labels=source.labels,
        )

    try:
        sets = input_sets(source)
        report = against(source.run, sets, result.trace() if result.trace_values else None)
        if providers is None and set(report.counts()) == {"unsupported"}:
            report = _without_kernels(report, against(source.run, sets, None, (REFERENCE,)))
        if float32:
            report.notes += single.agreement(result.model, source, sets)
    except MissingDependency as error:
        if error.extra == "runtime":
            raise
        # the file was read without its framework, which alone could run it
        if reference is None:
            result.not_compared = str(error)
            return
        report = against(*_recorded(source, reference), None)
        report.notes.append(f"compared with recorded outputs: {error}")
    result.parity = report
    if not report.passed and (report.conversion_failed or not report.counts()["pass"]):
        wrong = dict.fromkeys(row.output for row in report.rows if row.blame == "conversion" and row.output)
        if text := source.explain(result.model, list(wrong)):
            report.notes.append(text)
        raise ParityError(report)


def _without_kernels(report: ParityReport, second: ParityReport) -> ParityReport:
    """A report of a model that the runtime can't run, completed by what the ONNX reference implementation says."""
    second.rows = [*report.rows, *second.rows]
    second.notes.append(
        "onnxruntime has no kernel for a part of this model on the CPU: it was compared in the reference "
        "implementation of ONNX instead; the runtime that will serve it needs those kernels"
    )
    return second


@contextmanager
def _advised(framework: str, via: str | None) -> Iterator[None]:
    """Operators that we lack are reported with the other converters that may have them."""
    try:
        yield
    except UnsupportedOps as error:
        from .via import advice

        error.advice = advice(framework) if via is None else ""
        raise


def _recorded(
    source: Source, reference: Mapping[str, Any]
) -> tuple[Callable[[Mapping[str, Any]], Arrays], list[Mapping[str, Any]]]:
    """A stand-in for the source that knows the recorded inputs, and these as the only input set."""
    needed = [*(spec.name for spec in source.specs), *source.output_names]
    absent = [name for name in needed if name not in reference]
    if absent:
        raise InputSpecError(
            f"the recorded reference lacks {', '.join(absent)}; it has {', '.join(reference) or 'nothing'}"
        )
    inputs = {spec.name: reference[spec.name] for spec in source.specs}
    return lambda _: {name: reference[name] for name in source.output_names}, [inputs]


def _marked(model: ir.Model) -> dict[str, str]:
    """Source names of the values that are left after the passes."""
    return {o.name: o.meta[MARK] for node in model.graph for o in node.outputs if o.name and MARK in o.meta}


class _Stages:
    """Times the stages and tells the caller about them."""

    def __init__(self, on_stage: Stage | None):
        self.on_stage = on_stage
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if self.on_stage is not None:
            self.on_stage(name, None)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        if self.on_stage is not None:
            self.on_stage(name, self.seconds[name])
