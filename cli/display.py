"""What a command shows: stages with their times on stderr, results on stdout."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.status import Status

    from ..validation.report import ParityReport


class Stages:
    """Shows the running stage with a spinner and each finished one with its time.

    Args:
        quiet: Show nothing.
    """

    def __init__(self, quiet: bool = False):
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._quiet = quiet
        self._status: Status | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, stage: str, seconds: float | None) -> None:
        """The ``on_stage`` of `to_onnx`."""
        if self._quiet:
            return
        if seconds is None:
            self._stop()
            self._status = self._console.status(f"{stage} ...")
            self._status.start()
        else:
            self._stop()
            self._console.print(f"  {stage:<10} {seconds:8.2f} s")

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def warn(text: str) -> None:
    """A warning that --quiet does not hide."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"WARNING: {text}", style="bold yellow", markup=False)


def show_report(report: ParityReport, path: Path | None, quiet: bool) -> None:
    """Prints a parity report (coloured on a terminal), and writes it where the user asked for a file."""
    if path is not None:
        report.save(path)
    if quiet:
        return
    console = Console()
    if console.is_terminal:
        report.render(console)
    else:
        print(report)


def size_text(count: int) -> str:
    """A number of bytes for people."""
    size = float(count)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
