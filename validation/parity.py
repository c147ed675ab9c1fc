"""Runs a model and its source on the same inputs, in every provider asked for, and compares all outputs."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx

from ..symbolic.errors import AnyonnxError
from .inputs import InputSet, as_pairs, digest
from .layers import Trace, search
from .metrics import is_text, measure
from .models import LoadedModel, ModelLike, load_model
from .providers import Provider, ProviderError, UnsupportedByProvider, resolve
from .report import InputRecord, ParityReport, ParityRow, Status
from .rewriting import rewriting_notes
from .tolerances import NumericProfile, UserTolerance, choose_tolerance, profile

__all__ = ["ParityReport", "ParityRow", "Reference", "compare_model", "compare_outputs"]

Array = np.ndarray[Any, Any]
Reference = Callable[[dict[str, Array]], Mapping[str, Any]]


def compare_model(
    model: ModelLike,
    reference: Reference,
    input_sets: Sequence[Mapping[str, Array]],
    *,
    providers: Sequence[str | Provider] | None = None,
    tolerance: UserTolerance | None = None,
    trace: Trace | None = None,
    labels: Collection[str] = (),
) -> ParityReport:
    """Compares a model with its source.

    The source runs once for each input set, then every setting of every provider runs the model.
    If an output differs through the conversion's fault and there is a trace, the first differing node is looked for.

    Args:
        model: ``onnx.ModelProto``, ``onnx_ir.Model`` or a path.
        reference: The source: takes arrays by input name, gives arrays by output name (a list of arrays for a
            sequence). It gets copies, so it may change its inputs.
        input_sets: Arrays by input name. An ``InputSet`` brings its seed and sizes into the report.
        providers: Names or providers; None for onnxruntime on the CPU, with optimisations off and on.
        tolerance: The user's own limits (see ``choose_tolerance``); None chooses by dtype, model and provider.
        trace: The source's inner values.
        labels: Outputs that hold labels: they must be equal, whatever their dtype.

    Raises:
        InputSpecError: A provider name or the tolerance is wrong.
        CheckFailed: The model can't be read as one.
    """
    chosen = resolve(providers)
    loaded = load_model(model)
    numeric = profile(loaded)
    report = ParityReport(versions=_versions(chosen))
    report.inputs = [_record(inputs) for inputs in input_sets]
    usable = []
    for provider in chosen:
        why = provider.available()
        if why:
            report.rows.append(ParityRow(-1, provider.name, provider.setting, "", "skipped", why))
        else:
            usable.append(provider)
    if not usable:
        report.notes.append("nothing was run: no provider is available")
        return report
    how = {"model": numeric, "tolerance": tolerance, "labels": labels}
    _run_all(report, loaded, reference, input_sets, usable, how)
    report.rows = _blamed(report.rows)
    report.notes += _vacuous(report.rows) + rewriting_notes(loaded, report.rows)
    _explain_failure(report, loaded, trace, input_sets, tolerance)
    return report


def compare_outputs(
    expected: Mapping[str, Array],
    results: Mapping[str, Array],
    template: ParityRow,
    *,
    model: NumericProfile,
    precision: str = "",
    tolerance: UserTolerance | None = None,
    labels: Collection[str] = (),
) -> list[ParityRow]:
    """Compares all outputs of one run: dtype, shape, then values.

    Args:
        expected: What is right, by output name.
        results: What came out, by output name.
        template: Row with the input set, provider and setting filled in.
        model: Numeric types inside the model.
        precision: What the provider computes in (tier name), empty if it keeps the model's types.
        tolerance: The user's limits.
        labels: Outputs that must be equal.

    Returns:
        One row for each output, of either side.
    """
    rows = []
    for name, right in expected.items():
        row = replace(template, output=name)
        if name not in results:
            rows.append(replace(row, status="fail", reason="the model has no such output"))
            continue
        result = results[name]
        if _dtype(result) != _dtype(right):
            reason = f"dtype {_dtype(result)}, but the source gives {_dtype(right)}"
            rows.append(replace(row, status="fail", reason=reason))
            continue
        if result.shape != right.shape:
            reason = f"shape {list(result.shape)}, but the source gives {list(right.shape)}"
            rows.append(replace(row, status="fail", reason=reason))
            continue
        limits = choose_tolerance(
            _dtype(right),
            output=name,
            model=model,
            precision=precision,
            runtime=template.provider,
            user=tolerance,
            label=name in labels,
        )
        metrics = measure(right, result, rows=True)
        problems = limits.problems(metrics)
        status: Status = "fail" if problems else "pass"
        rows.append(replace(row, status=status, reason="; ".join(problems), metrics=metrics, tolerance=limits))
    surplus = [name for name in results if name not in expected]
    rows += [replace(template, output=n, status="fail", reason="the source has no such output") for n in surplus]
    return rows


def flatten(outputs: Mapping[str, Any]) -> dict[str, Array]:
    """Arrays by name, complex ones as pairs; the parts of a sequence get the names ``name[0]``, ``name[1]`` ..."""
    flat: dict[str, Array] = {}
    for name, value in outputs.items():
        if isinstance(value, (list, tuple)) and not (value and np.isscalar(value[0])):
            flat[f"{name}.length"] = np.asarray(len(value), dtype=np.int64)
            flat |= {f"{name}[{index}]": np.asarray(part) for index, part in enumerate(value)}
        else:
            flat[name] = np.asarray(value)
    return as_pairs(flat)


def _run_all(
    report: ParityReport,
    loaded: LoadedModel,
    reference: Reference,
    input_sets: Sequence[Mapping[str, Array]],
    providers: Sequence[Provider],
    how: Mapping[str, Any],
) -> None:
    """Fills in the report's rows, placements and the differences between settings of one provider."""
    expected = [flatten(reference({name: np.array(a) for name, a in inputs.items()})) for inputs in input_sets]
    first: dict[tuple[int, str], tuple[str, dict[str, Array]]] = {}
    for provider in providers:
        own = {**how, "precision": provider.precision}
        for index, inputs in enumerate(input_sets):
            rows, results = _run_one(loaded, provider, index, inputs, expected[index], own)
            report.rows += rows
            if results is None:
                continue
            report.placements[_place(provider)] = str(provider.placement())
            base = first.setdefault((index, provider.name), (provider.setting, results))
            if base[1] is not results:
                blank = ParityRow(index, provider.name, provider.setting, "", "fail")
                report.runtime += _own_differences(base, results, blank, **own)
        provider.close()


def _run_one(
    loaded: LoadedModel,
    provider: Provider,
    index: int,
    inputs: Mapping[str, Array],
    expected: Mapping[str, Array],
    how: Mapping[str, Any],
) -> tuple[list[ParityRow], dict[str, Array] | None]:
    blank = ParityRow(index, provider.name, provider.setting, "", "fail")
    wrong = _interface_problem(loaded, inputs)
    if wrong:
        return [replace(blank, reason=wrong)], None
    try:
        results = flatten(provider.run(loaded, as_pairs(inputs)))
    except UnsupportedByProvider as error:
        return [replace(blank, status="unsupported", reason=str(error))], None
    except ProviderError as error:
        return [replace(blank, reason=str(error))], None
    rows = compare_outputs(expected, results, blank, **how)
    placement = provider.placement()
    if placement.fell_back:
        # Right numbers from another device prove nothing about this one; wrong ones are wrong anyway.
        why = placement.detail or str(placement)
        rows = [replace(row, status="fell-back", reason=why) if row.status == "pass" else row for row in rows]
    return rows, results


def _interface_problem(model: LoadedModel, inputs: Mapping[str, Array]) -> str:
    wanted = model.input_names
    missing = [name for name in wanted if name not in inputs]
    surplus = [name for name in inputs if name not in wanted]
    parts = []
    if missing:
        parts.append(f"the model has inputs that the source has not: {', '.join(missing)}")
    if surplus:
        parts.append(f"the model lacks inputs of the source: {', '.join(surplus)}")
    return "; ".join(parts)


def _own_differences(
    base: tuple[str, dict[str, Array]],
    results: Mapping[str, Array],
    template: ParityRow,
    **how: Any,
) -> list[ParityRow]:
    """Rows for outputs in which a second setting of a provider differs from its first one."""
    setting, right = base
    rows = compare_outputs(right, results, replace(template, blame="runtime"), **how)
    return [
        replace(row, reason=f'"{row.setting}" differs from "{setting}": {row.reason}')
        for row in rows
        if row.status == "fail"
    ]


def _blamed(rows: Sequence[ParityRow]) -> list[ParityRow]:
    """Says whose every failure is: a provider whose other setting agrees with the source contradicts itself."""
    agreed = {(row.input_set, row.provider, row.output) for row in rows if row.status == "pass"}
    return [
        row
        if row.status != "fail"
        else replace(row, blame="runtime" if (row.input_set, row.provider, row.output) in agreed else "conversion")
        for row in rows
    ]


def _vacuous(rows: Sequence[ParityRow]) -> list[str]:
    """Notes on passes that prove little, because the source gave nothing that could be wrong by a little."""
    empty = {
        (row.input_set, row.output): "no elements" if not row.metrics.elements else "only zeros or non-finite values"
        for row in rows
        if row.status == "pass"
        and row.metrics is not None
        and row.tolerance is not None
        and not row.tolerance.exact
        and row.metrics.max_ref == 0.0
    }
    return [f"the source's {name} has {what} for input set {index}" for (index, name), what in empty.items()]


def _explain_failure(
    report: ParityReport,
    loaded: LoadedModel,
    trace: Trace | None,
    input_sets: Sequence[Mapping[str, Array]],
    tolerance: UserTolerance | None,
) -> None:
    """Looks for the first differing node, where a failure is the conversion's and there is a trace."""
    failed = next((row for row in report.rows if row.blame == "conversion"), None)
    if failed is None or trace is None:
        return
    # A limit by output name says nothing about inner values.
    limits = None if isinstance(tolerance, Mapping) else tolerance
    try:
        found = search(loaded, trace, input_sets[failed.input_set], tolerance=limits)
    except AnyonnxError as error:
        report.notes.append(f"the first differing node could not be looked for: {error}")
        return
    report.divergence = found.divergence
    if found.divergence is None:
        report.notes.append(
            f"{found.compared} of {found.traced} traced values were compared and agree: "
            "the difference arises behind them"
        )


def _record(inputs: Mapping[str, Array]) -> InputRecord:
    shapes = {name: f"{_dtype(np.asarray(a))}{list(np.shape(a))}" for name, a in inputs.items()}
    seed, sizes = (inputs.seed, inputs.sizes) if isinstance(inputs, InputSet) else (None, {})
    return InputRecord(seed, sizes, shapes, digest(inputs))


def _versions(providers: Sequence[Provider]) -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "onnx": onnx.__version__,
    }
    return versions | {provider.name: provider.version() or "not installed" for provider in providers}


def _place(provider: Provider) -> str:
    return f"{provider.name} ({provider.setting})" if provider.setting else provider.name


def _dtype(array: Array) -> str:
    return "string" if is_text(array) else array.dtype.name
