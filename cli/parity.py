"""``anyonnx parity``: the parity job, for CI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Debug, Quiet, Report

if TYPE_CHECKING:
    from ..converters.suite import Outcome, SuiteReport


def parity(
    suite: Annotated[Path, typer.Argument(help="A parity.toml: the models, their opsets.", metavar="FILE")],
    framework: Annotated[
        list[str] | None, typer.Option("--from", metavar="FRAMEWORK", help="Only models of it. Repeatable.")
    ] = None,
    report: Report = None,
    debug: Debug = False,
    quiet: Quiet = False,
) -> None:
    """Converts every model of FILE at each of its opsets and compares it with its source.

    Each framework runs in a process of its own. Exit code 0 only if all pass, 5 if a comparison failed.
    """
    from ..converters.suite import read_suite, run_suite
    from ..symbolic.errors import InputSpecError
    from .request import report_path

    report = report_path(report)
    cases = [c for c in read_suite(suite) if not framework or c.framework in framework]
    if not cases:
        raise InputSpecError(f"{suite} has no models" + (f" of {', '.join(framework)}" if framework else ""))
    found = run_suite(cases, None if quiet else _tell)
    if not quiet:
        _matrix(found)
    if report is not None:
        report.write_text(found.to_json() if report.suffix == ".json" else found.to_junit(), encoding="utf-8")
    good = sum(o.good for o in found.outcomes)
    typer.echo(f"{good} of {len(found.outcomes)} as they should be")
    if not found.passed:
        raise typer.Exit(found.exit_code)


def _tell(outcome: Outcome) -> None:
    if outcome.good:
        return
    first = outcome.detail.strip().split("\n")
    case = outcome.case
    typer.echo(f"{outcome.status}: {case.name} ({case.framework}) at opset {case.opset}: {first[0]}", err=True)
    for line in first[1:]:
        typer.echo(f"    {line}", err=True)


def _matrix(report: SuiteReport) -> None:
    from rich.console import Console
    from rich.table import Table

    opsets = sorted({o.case.opset for o in report.outcomes})
    table = Table(box=None, pad_edge=False)
    table.add_column("model", overflow="fold", no_wrap=True)
    for title in ("framework", *[f"opset {n}" for n in opsets]):
        table.add_column(title, no_wrap=True)
    rows: dict[tuple[str, str], dict[int, Outcome]] = {}
    for outcome in report.outcomes:
        rows.setdefault((outcome.case.name, outcome.case.framework), {})[outcome.case.opset] = outcome
    for (name, framework), found in rows.items():
        table.add_row(name, framework, *[_cell(found.get(n)) for n in opsets])
    # a log has no width: lines are never broken there
    Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 200).print(table)


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    if outcome.status == "pass" and outcome.worst is not None:
        return f"pass {outcome.worst:.1e}"
    return "refused" if outcome.status == "refused as expected" else outcome.status
