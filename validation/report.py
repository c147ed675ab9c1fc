"""The parity report: one row for each output of each run, as a table, JSON or JUnit XML."""

from __future__ import annotations

import json
import math
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..symbolic.errors import InputSpecError
from .layers import Divergence
from .metrics import Metrics
from .tolerances import Tolerance

if TYPE_CHECKING:
    from rich.console import Console

Status = Literal["pass", "fail", "unsupported", "skipped", "fell-back"]
Blame = Literal["", "conversion", "runtime"]

# XML 1.0 has no way to write these characters.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES = {"pass": "green", "fail": "bold red", "unsupported": "yellow", "skipped": "yellow", "fell-back": "magenta"}


@dataclass(frozen=True)
class ParityRow:
    """What one provider setting made of one output for one input set.

    Attributes:
        input_set: Index of the input set; -1 where nothing was run.
        provider: Name of the provider.
        setting: Its setting.
        output: Name of the output; empty where the row is about the run as a whole.
        status: pass, fail, unsupported (the provider can't), skipped (it isn't here) or fell-back (another one ran it).
        reason: Why it isn't a pass.
        metrics: Distance from the reference, where shape and dtype are right.
        tolerance: The limits, and why they were chosen.
        blame: Of a failure: ``conversion``, or ``runtime`` where the provider's other setting agrees with the source.
    """

    input_set: int
    provider: str
    setting: str
    output: str
    status: Status
    reason: str = ""
    metrics: Metrics | None = None
    tolerance: Tolerance | None = None
    blame: Blame = ""


@dataclass(frozen=True)
class InputRecord:
    """What is needed to make an input set again.

    Attributes:
        seed: Seed of the random generator; None where the values came from elsewhere.
        sizes: Sizes of the open dims.
        shapes: Input name -> dtype and shape as text.
        sha256: Hash over names, dtypes, shapes and values.
    """

    seed: int | None
    sizes: Mapping[str, int]
    shapes: Mapping[str, str]
    sha256: str


@dataclass
class ParityReport:
    """The result of a comparison.

    Attributes:
        rows: One for each output of each run.
        runtime: Where the settings of one provider differ from each other: the runtime's own, not the conversion's.
        inputs: The input sets.
        versions: Name -> version of everything that took part.
        placements: Provider and setting -> where it ran.
        divergence: The first node that differs from the source, if it was looked for and found.
        notes: What else should be known.
    """

    rows: list[ParityRow] = field(default_factory=list)
    runtime: list[ParityRow] = field(default_factory=list)
    inputs: list[InputRecord] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    placements: dict[str, str] = field(default_factory=dict)
    divergence: Divergence | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Something was compared and agreed, and nothing that was compared differs.

        Rows that are unsupported, skipped or fell back are no proof either way.
        """
        counts = self.counts()
        return counts["pass"] > 0 and counts["fail"] == 0

    @property
    def conversion_failed(self) -> bool:
        """Whether a failure is the conversion's, rather than the runtime's own."""
        return any(row.blame == "conversion" for row in self.rows)

    def counts(self) -> Counter[str]:
        """Status -> number of rows."""
        return Counter(row.status for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts and lists; numbers that JSON can't hold become text (``"inf"``)."""
        plain = {
            "passed": self.passed,
            "conversion_failed": self.conversion_failed,
            "counts": dict(self.counts()),
            "rows": [asdict(row) for row in self.rows],
            "runtime_differences": [asdict(row) for row in self.runtime],
            "inputs": [asdict(record) for record in self.inputs],
            "versions": self.versions,
            "placements": self.placements,
            "first_divergence": self.divergence.to_dict() if self.divergence else None,
            "notes": self.notes,
        }
        cleaned: dict[str, Any] = _json_safe(plain)
        return cleaned

    def to_json(self) -> str:
        """The report as strict JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_junit(self) -> str:
        """The report as JUnit XML: one test case for each row."""
        counts = self.counts()
        attributes = {
            "name": "anyonnx parity",
            "tests": str(len(self.rows)),
            "failures": str(counts["fail"]),
            "errors": "0",
            "skipped": str(len(self.rows) - counts["fail"] - counts["pass"]),
        }
        root = ET.Element("testsuites", attributes)
        suite = ET.SubElement(root, "testsuite", attributes)
        properties = ET.SubElement(suite, "properties")
        for name, value in [*self.versions.items(), *self._input_properties()]:
            ET.SubElement(properties, "property", name=_xml(name), value=_xml(value))
        for row in self.rows:
            place = f"{row.provider} ({row.setting})" if row.setting else row.provider
            name = f"set {row.input_set}: {row.output}" if row.output else "run"
            case = ET.SubElement(suite, "testcase", classname=_xml(place), name=_xml(name))
            if row.status == "fail":
                failure = ET.SubElement(case, "failure", message=_xml(row.reason), type=row.blame or "parity")
                failure.text = _xml(str(self.divergence) if self.divergence else row.reason)
            elif row.status != "pass":
                ET.SubElement(case, "skipped", message=_xml(f"{row.status}: {row.reason}"))
            if row.metrics is not None:
                out = ET.SubElement(case, "system-out")
                out.text = _xml(_numbers(row))
        ET.indent(root)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report; the suffix chooses the format: ``.json`` or ``.xml`` (JUnit).

        Raises:
            InputSpecError: Another suffix, or the target exists and is no regular file.
        """
        target = Path(path)
        if target.suffix == ".json":
            text = self.to_json()
        elif target.suffix == ".xml":
            text = self.to_junit()
        else:
            raise InputSpecError(f"can't tell the report's format from {target.name}: use .json or .xml")
        if target.exists() and not target.is_file():
            raise InputSpecError(f"can't write {target}: it is there already and is no regular file")
        # Written beside the target and renamed, so that no half of a report is ever read.
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def __str__(self) -> str:
        lines = [self.headline()]
        if self.rows:
            cells = [_HEADER, *(_cells(row) for row in self.rows)]
            widths = [max(len(line[i]) for line in cells) for i in range(len(_HEADER))]
            lines += ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells]
        return "\n".join([*lines, *self.remarks()])

    def headline(self) -> str:
        """One line: passed or not, and the number of rows of each status."""
        counts = ", ".join(f"{count} {status}" for status, count in self.counts().items())
        if not self.rows:
            return "parity: NOT PROVED (nothing was run)"
        if self.passed:
            return f"parity: passed ({counts})"
        return f"parity: {'FAILED' if self.counts()['fail'] else 'NOT PROVED'} ({counts})"

    def remarks(self) -> list[str]:
        """The lines below the table: tolerances, differences of the runtime, first divergence, inputs, versions."""
        chosen = dict.fromkeys(
            f"{r.tolerance.tier} ({r.tolerance.limits()}): {r.tolerance.reason}" for r in self.rows if r.tolerance
        )
        lines = [f"tolerance {text}" for text in chosen]
        lines += [
            f"the runtime's own: {row.provider}, set {row.input_set}, {row.output}: {row.reason}"
            for row in self.runtime
        ]
        lines += [f"ran on {place}: {text}" for place, text in self.placements.items() if text]
        if self.divergence:
            lines.append(str(self.divergence))
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"{name}: {value}" for name, value in self._input_properties()]
        if self.versions:
            lines.append("versions: " + ", ".join(f"{name} {version}" for name, version in self.versions.items()))
        return [_printable(line) for line in lines]

    def render(self, console: Console) -> None:
        """Prints the report as a coloured table.

        Args:
            console: A ``rich.console.Console``.
        """
        from rich.markup import escape
        from rich.table import Table

        # A narrow terminal can't hold all numbers side by side; the ones that are judged stay.
        shown = [i for i, title in enumerate(_HEADER) if console.width >= _WIDE or title not in _NARROW_OMITS]
        table = Table(title=self.headline(), title_justify="left")
        for i in shown:
            table.add_column(_HEADER[i], overflow="fold")
        for row in self.rows:
            cells = _cells(row)
            style = _STYLES[row.status] if row.status != "pass" else ""
            table.add_row(*(escape(cells[i]) for i in shown), style=style)
        console.print(table)
        for line in self.remarks():
            console.print(line, markup=False, highlight=False)

    def _input_properties(self) -> list[tuple[str, str]]:
        found = []
        for index, record in enumerate(self.inputs):
            origin = f"seed {record.seed}" if record.seed is not None else "given by the caller"
            sizes = ", ".join(f"{symbol}={size}" for symbol, size in record.sizes.items())
            shapes = ", ".join(f"{name}:{text}" for name, text in record.shapes.items())
            found.append(
                (f"inputs {index}", "; ".join(p for p in (origin, sizes, shapes, f"sha256 {record.sha256[:16]}") if p))
            )
        return found


_WIDE = 130
_NARROW_OMITS = ("max_abs", "SQNR dB", "unequal")
_HEADER = ("set", "provider", "setting", "output", "status", "max_abs", "sc", "1-cos", "SQNR dB", "unequal", "why")


def _cells(row: ParityRow) -> tuple[str, ...]:
    numbers = ("", "", "", "", "")
    if row.metrics is not None:
        m = row.metrics
        numbers = (
            f"{m.max_abs:.3g}",
            f"{m.sc:.3g}",
            f"{m.one_minus_cos:.3g}",
            f"{m.sqnr_db:.1f}",
            f"{m.unequal}/{m.elements}",
        )
    why = row.reason
    if row.blame == "runtime":
        why += " (the runtime's own: its other setting agrees with the source)"
    index = str(row.input_set) if row.input_set >= 0 else ""
    cells = (index, row.provider, row.setting, row.output, row.status, *numbers, why)
    return tuple(_printable(cell) for cell in cells)


def _numbers(row: ParityRow) -> str:
    assert row.metrics is not None
    values = ", ".join(f"{name}={value}" for name, value in row.metrics.to_dict().items())
    limits = (
        f"; tolerance {row.tolerance.tier} ({row.tolerance.limits()}): {row.tolerance.reason}" if row.tolerance else ""
    )
    return values + limits


def _printable(text: str) -> str:
    """The text without control characters: names come from the model, whose author may not be a friend."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _xml(text: str) -> str:
    return _NOT_XML.sub("?", text)


def _json_safe(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _json_safe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_safe(item) for item in value]
    return value
