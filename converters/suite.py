"""The parity job: a list of models, each converted at several opsets and compared with its source.

Models of one framework share a process, different frameworks never do; a process that dies takes down one case only.
Run as a module it is that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..symbolic.errors import (
    AnyonnxError,
    CaptureError,
    InputSpecError,
    MissingDependency,
    OpsetError,
    ParityError,
    UnsupportedOps,
)
from ..symbolic.opsets import DEFAULT_OPSET, check_opset

GOOD = ("pass", "refused as expected")
_PARITY_FAILED, _INTERNAL = 5, 1


@dataclass(frozen=True)
class Case:
    """One model at one opset.

    Attributes:
        name: Name in the report.
        path: Model file, or ``package.module:attribute``.
        framework: Source framework; found from the file where empty.
        opset: Opset to write.
        inputs: Input specs as text, or one path of an ``.npz`` file.
        reference: ``.npz`` file with inputs and outputs recorded from the source, for machines without its framework.
        tolerance: Largest max|err| / max|ref| that passes; chosen by dtype where None.
        trust: The file may run code.
        refused: This opset is expected to be refused; anything else fails.
        options: Options of the framework's own frontend, such as ``factory`` for files of weights.
    """

    name: str
    path: str
    framework: str
    opset: int
    inputs: tuple[str, ...] = ()
    reference: str = ""
    tolerance: float | None = None
    trust: bool = False
    refused: bool = False
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of a case.

    Attributes:
        case: The case.
        status: pass, fail, unsupported, skipped, not compared, error, crashed or "refused as expected".
        detail: Why, in words.
        exit_code: Exit code that belongs to it.
        seconds: Time it took.
        worst: Largest max|err| / max|ref| over all outputs and settings.
    """

    case: Case
    status: str
    detail: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    worst: float | None = None

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self.status in GOOD


@dataclass
class SuiteReport:
    """All outcomes of a job."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether there are cases and all are as they should be."""
        return bool(self.outcomes) and all(o.good for o in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0, or 5 if a comparison failed, else the code of the first that is not good."""
        bad = [o.exit_code for o in self.outcomes if not o.good]
        return 0 if self.passed else _PARITY_FAILED if _PARITY_FAILED in bad else bad[0] if bad else 2

    def to_json(self) -> str:
        """Everything as JSON."""
        rows = [{**asdict(o.case), **{k: v for k, v in asdict(o).items() if k != "case"}} for o in self.outcomes]
        return json.dumps({"passed": self.passed, "cases": rows}, indent=2)

    def to_junit(self) -> str:
        """A JUnit test suite with one test case for each model and opset."""
        from xml.etree import ElementTree

        bad = [o for o in self.outcomes if not o.good]
        suite = ElementTree.Element(
            "testsuite",
            name="anyonnx parity",
            tests=str(len(self.outcomes)),
            failures=str(sum(o.status == "fail" for o in bad)),
            errors=str(sum(o.status not in ("fail", "skipped") for o in bad)),
            skipped=str(sum(o.status == "skipped" for o in bad)),
        )
        for o in self.outcomes:
            name = f"{o.case.name} opset {o.case.opset}"
            row = ElementTree.SubElement(
                suite, "testcase", classname=o.case.framework or "model", name=name, time=f"{o.seconds:.3f}"
            )
            if not o.good:
                tag = {"fail": "failure", "skipped": "skipped"}.get(o.status, "error")
                ElementTree.SubElement(row, tag, message=o.status).text = _printable(o.detail)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _printable(text: str) -> str:
    return "".join(c for c in text if c >= " " or c in "\n\t")


# --- reading ---------------------------------------------------------------------------------------------------------

_KEYS = {"name", "path", "framework", "opsets", "refused", "inputs", "reference", "tolerance", "trust", "options"}


def read_suite(path: str | os.PathLike[str]) -> list[Case]:
    """Reads a ``parity.toml``: a list of ``[[model]]`` tables, paths relative to the file.

    Keys of a model: ``path``; optional ``name``, ``framework``, ``opsets`` (list), ``refused`` (opsets that must be
    refused), ``inputs`` (list of specs, or an ``.npz`` file), ``reference`` (``.npz``), ``tolerance``, ``trust``,
    ``options`` (table: options of the frontend; ``file.py:name`` in it is found beside this file).
    A table ``[defaults]`` gives values for all models.

    Raises:
        InputSpecError: The file can't be read, or says something that isn't known.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputSpecError(f"can't read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputSpecError(f"{file} is no TOML file: {error}") from error
    unknown = set(content) - {"defaults", "model"}
    if unknown or not isinstance(content.get("model"), list):
        raise InputSpecError(f"{file}: it holds [[model]] tables and [defaults], not {', '.join(unknown) or 'nothing'}")
    defaults = content.get("defaults", {})
    return [case for entry in content["model"] for case in _cases(file, {**defaults, **entry})]


def _cases(file: Path, entry: dict[str, Any]) -> Iterable[Case]:
    if unknown := set(entry) - _KEYS:
        raise InputSpecError(f"{file}: unknown key {', '.join(sorted(unknown))}; there are {', '.join(sorted(_KEYS))}")
    if "path" not in entry:
        raise InputSpecError(f"{file}: a model has no path")
    inputs = entry.get("inputs", [])
    refused = entry.get("refused", [])
    for opset in [*entry.get("opsets", [DEFAULT_OPSET]), *refused]:
        yield Case(
            name=entry.get("name", Path(entry["path"]).name),
            path=_beside(file, entry["path"]),
            framework=entry.get("framework", ""),
            opset=check_opset(opset),
            inputs=(_beside(file, inputs),) if isinstance(inputs, str) else tuple(inputs),
            reference=_beside(file, entry["reference"]) if "reference" in entry else "",
            tolerance=entry.get("tolerance"),
            trust=entry.get("trust", False),
            refused=opset in refused,
            options={k: _option_beside(file, v) for k, v in entry.get("options", {}).items()},
        )


def _beside(file: Path, name: str) -> str:
    found = file.parent / name
    return name if ":" in name and not found.exists() else str(found)


def _option_beside(file: Path, value: Any) -> Any:
    """``net.py:Net`` with its file's path; other values as they are."""
    script, _, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    found = file.parent / script
    return f"{found}:{name}" if script.endswith(".py") and found.is_file() else value


# --- running ---------------------------------------------------------------------------------------------------------


def run_suite(cases: Sequence[Case], on_outcome: Callable[[Outcome], None] | None = None) -> SuiteReport:
    """Runs all cases, each framework in processes of its own.

    Args:
        cases: What to run.
        on_outcome: Called with each outcome of a framework when its process has ended.
    """
    report = SuiteReport()
    for framework in dict.fromkeys(case.framework for case in cases):
        left = [case for case in cases if case.framework == framework]
        while left:
            done = _run_process(left)
            for outcome in done:
                report.outcomes.append(outcome)
                if on_outcome is not None:
                    on_outcome(outcome)
            left = left[len(done) :]
    return report


def _run_process(cases: Sequence[Case]) -> list[Outcome]:
    """Outcomes of as many cases as a process lives through; the one it dies at counts as crashed."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        results.touch()
        command = [sys.executable, "-m", __name__, str(results)]
        # frameworks print what they like: results go to a file of their own
        ended = subprocess.run(
            command, input=json.dumps([asdict(c) for c in cases]), capture_output=True, text=True, errors="replace"
        )
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    outcomes = [Outcome(case, **line) for case, line in zip(cases, lines, strict=False)]
    if len(outcomes) < len(cases):
        last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        why = f"the process ended with {ended.returncode}: {last[0]}"
        outcomes.append(Outcome(cases[len(outcomes)], "crashed", why, _INTERNAL))
    return outcomes


def run_case(case: Case) -> Outcome:
    """Converts and compares one case in this process."""
    from .api import to_onnx

    start = time.perf_counter()
    try:
        conversion = to_onnx(
            _model(case),
            _inputs(case),
            framework=case.framework or None,
            opset=case.opset,
            trust=case.trust,
            tolerance=case.tolerance,
            reference=_arrays(case.reference) if case.reference else None,
            **case.options,
        )
    except AnyonnxError as error:
        outcome = _of_error(case, error)
    else:
        outcome = _of_parity(case, conversion)
    outcome.seconds = time.perf_counter() - start
    return outcome


def _of_error(case: Case, error: AnyonnxError) -> Outcome:
    kinds: tuple[tuple[type[AnyonnxError] | tuple[type[AnyonnxError], ...], str], ...] = (
        (ParityError, "fail"),
        ((UnsupportedOps, OpsetError), "unsupported"),
        (MissingDependency, "skipped"),
        (CaptureError, "error"),
    )
    status = next((name for kind, name in kinds if isinstance(error, kind)), "error")
    if case.refused and status == "unsupported":
        return Outcome(case, "refused as expected", str(error))
    worst = _worst(error.report) if isinstance(error, ParityError) else None
    return Outcome(case, status, str(error), error.exit_code, worst=worst)


def _of_parity(case: Case, conversion: Any) -> Outcome:
    if case.refused:
        return Outcome(case, "fail", "it was expected to be refused, but converts", _PARITY_FAILED)
    if conversion.parity is None:
        return Outcome(case, "not compared", conversion.not_compared, MissingDependency.exit_code)
    own = "" if conversion.parity.passed else "with its optimisations on, the runtime differs from itself"
    return Outcome(case, "pass", own, worst=_worst(conversion.parity))


def _worst(report: Any) -> float | None:
    found = [row.metrics.sc for row in report.rows if row.metrics is not None and row.metrics.sc is not None]
    return max(found, default=None)


def _model(case: Case) -> Any:
    if Path(case.path).exists() or ":" not in case.path:
        return Path(case.path)
    import importlib

    module, _, attribute = case.path.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return found() if isinstance(found, type) else found


def _inputs(case: Case) -> Any:
    if len(case.inputs) == 1 and case.inputs[0].endswith(".npz"):
        return _arrays(case.inputs[0])
    return case.inputs or None


def _arrays(path: str) -> dict[str, Any]:
    import numpy as np

    if not Path(path).is_file():
        raise InputSpecError(f"there is no file {path}")
    with np.load(path, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def _worker(results: Path) -> None:
    names = {f.name for f in fields(Case)}
    for entry in json.load(sys.stdin):
        values: dict[str, Any] = {k: tuple(v) if k == "inputs" else v for k, v in entry.items() if k in names}
        case = Case(**values)
        outcome = asdict(run_case(case))
        outcome.pop("case")
        with results.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    _worker(Path(sys.argv[1]))
