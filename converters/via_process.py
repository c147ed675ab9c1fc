"""Processes and environments of other converters: guarded, limited, away from the user's own."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..symbolic.errors import MissingDependency

#: Seconds that an environment may take to be made.
INSTALL_LIMIT = 900.0


def last_words(text: str) -> str:
    """What a process said at its end: its exception and what caused that, else its last line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    said = []
    for part in text.split("Traceback (most recent call last):")[1:]:
        # the exception stands behind the last indented line, which is code
        said += [line.strip() for line in part.splitlines() if line.strip() and not line[0].isspace()][:1]
    if said:
        causes = [line for line in said[:1] if line != said[-1]]
        return "; caused by ".join(line[:400] for line in [said[-1], *causes])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else "no message"


def guarded(command: Sequence[str], environment: Mapping[str, str], limit: float) -> tuple[int | None, str]:
    """Runs a command in a process group of its own, which ends with it.

    Returns:
        Its exit status (None: the time ran out) and what it printed.
    """
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, env=environment, start_new_session=True
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
        printed.seek(0)
        return code, printed.read().decode("utf-8", "replace")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of a process and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def own_environment(peer: str, requirements: Sequence[str]) -> Path:
    """The Python of a peer's own virtual environment, in the user's cache; it is made the first time.

    Raises:
        MissingDependency: It can't be made: no network, say.
    """
    wanted = [_beside(r) for r in requirements]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    label = "-".join([*wanted, f"py{sys.version_info[0]}.{sys.version_info[1]}"]).replace("==", "-")
    folder = cache / "anyonnx" / "peers" / label
    python = folder / "bin" / "python"
    if python.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1", "PYTHONPATH": ""}
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as making:
        for command in (
            [sys.executable, "-m", "venv", making],
            [f"{making}/bin/python", "-m", "pip", "install", "--quiet", *wanted],
        ):
            code, text = guarded(command, environment, INSTALL_LIMIT)
            if code != 0:
                why = f"--via {peer}: {folder} can't be made ({last_words(text)}). It"
                raise MissingDependency(peer, "", why, command=f"pip install {' '.join(wanted)}")
        os.rename(making, folder)
        os.mkdir(making)  # what the context manager removes
    return python


def _beside(requirement: str) -> str:
    """A requirement, of the version that is installed here where it names none: both must read the same files."""
    if "==" in requirement:
        return requirement
    try:
        return f"{requirement}=={importlib.metadata.version(requirement)}"
    except importlib.metadata.PackageNotFoundError:
        return requirement
