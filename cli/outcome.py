"""Ends a command: one clear line for every error, and the exit code that belongs to it."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..symbolic.errors import AnyonnxError

EXIT_CODES = (
    "Exit codes: 0 ok, 1 internal error, 2 usage or input, 3 unsupported operator, 4 check failed, "
    "5 parity failed, 6 missing package, 7 untrusted file, 8 opset, 9 capture or translation."
)
USAGE = 2
INTERRUPTED = 130

# typer 0.15 takes these from click, later ones from a copy of their own
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def run(app: typer.Typer, args: list[str], name: str) -> int:
    """Runs the command line and returns its exit code.

    Errors that are raised on purpose, and files that can't be read or written, give their text only; with
    ``--debug`` the traceback comes before it. Anything else is left to `sys.excepthook`.
    """
    debug = "--debug" in args
    if not debug:
        sys.excepthook = _unexpected
    command = typer.main.get_command(app)  # calling the app itself would install typer's own excepthook
    try:
        return int(command.main(args=args, prog_name=name, standalone_mode=False) or 0)
    except _UsageError as error:
        return _tell(f"{_message(error)} (see {_command(error, name)} --help)", USAGE)
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except _anyonnx_error() as error:
        if debug:
            traceback.print_exc()
        return _tell(str(error), error.exit_code)
    except OSError as error:
        if debug:
            traceback.print_exc()
        where = f"{error.filename}: " if error.filename else ""
        return _tell(f"{where}{error.strerror or error}", USAGE)


def _anyonnx_error() -> type[AnyonnxError]:
    from ..symbolic.errors import AnyonnxError

    return AnyonnxError


def _message(error: BaseException) -> str:
    formatted = getattr(error, "format_message", None)
    return str(formatted() if callable(formatted) else error).strip().rstrip(".")


def _command(error: BaseException, name: str) -> str:
    context = getattr(error, "ctx", None)
    return str(getattr(context, "command_path", name) or name)


def _tell(text: str, code: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return code


def _unexpected(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The hook for errors that nobody meant to raise: one line, and where it happened."""
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return
    frames = traceback.extract_tb(trace)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    text = "; ".join([str(error).strip().split("\n")[0], *getattr(error, "__notes__", ())])
    print(
        f"error: unexpected {kind.__name__}{': ' if text else ''}{text}{where}; "
        "run it again with --debug for the traceback",
        file=sys.stderr,
    )
