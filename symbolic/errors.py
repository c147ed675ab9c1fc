"""Every error that anyonnx raises on purpose, each with the exit code of the command line.

The message of an error is the text a user acts on: what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


class AnyonnxError(Exception):
    """Base class of all errors raised on purpose."""

    exit_code = 1


class InputSpecError(AnyonnxError):
    """The caller's model path, input specs, names, sizes or options are wrong."""

    exit_code = 2


@dataclass(frozen=True)
class MissingOp:
    """One source operator without a symbolic function.

    Attributes:
        dialect: Dialect the operator belongs to, for instance ``aten``.
        name: Operator name in the source framework's terms.
        count: How often it occurs in the model.
        locations: The first places where it occurs.
        reason: Why it can't be done, where more is known than that it is absent.
    """

    dialect: str
    name: str
    count: int = 1
    locations: Sequence[str] = field(default_factory=tuple)
    reason: str = ""


class UnsupportedOps(AnyonnxError):
    """The model uses operators (or options of them) that have no symbolic function.

    Args:
        missing: All missing operators of the model, found before anything is built.

    Attributes:
        advice: A last line: what else may help.
    """

    exit_code = 3
    advice = ""

    def __init__(self, missing: Sequence[MissingOp]):
        self.missing = tuple(missing)
        total = sum(op.count for op in self.missing)
        lines = [f"{len(self.missing)} unsupported operator(s), {total} use(s):"]
        for op in self.missing:
            where = "; ".join(op.locations)
            lines.append(
                f"  {op.dialect}::{op.name} x{op.count}"
                + (f" at {where}" if where else "")
                + (f": {op.reason}" if op.reason else "")
            )
        first = self.missing[0] if self.missing else MissingOp("aten", "my_op")
        lines.append(
            f'Add one with @anyonnx.symbolic("{first.dialect}", "{first.name}") in a module passed as --plugin '
            "(docs/add-an-op.md)."
        )
        super().__init__("\n".join(lines))

    def __str__(self) -> str:
        return super().__str__() + (f"\n{self.advice}" if self.advice else "")


class OpsetError(AnyonnxError):
    """An ONNX operator, or an option of it, can't be expressed at the asked opset.

    Attributes:
        op: ONNX operator name.
        detail: Attribute, input, dtype or meaning that is not available.
        needs: First opset that has it; ``None`` where no opset has it.
        target: The opset that was asked for.
        location: Source location of the operator.
    """

    exit_code = 8

    def __init__(
        self,
        op: str,
        *,
        detail: str = "",
        needs: int | None = None,
        target: int | None = None,
        location: str = "",
    ):
        self.op, self.detail, self.needs, self.target, self.location = op, detail, needs, target, location
        text = op + (f" ({detail})" if detail else "")
        if needs is not None:
            text += f" needs opset {needs} or newer"
        else:
            text += " can't be expressed"
        if target is not None:
            text += f"; the asked opset is {target}"
        if location:
            text += f" (at {location})"
        super().__init__(text)


class CaptureError(AnyonnxError):
    """The source framework could not give us the model's graph."""

    exit_code = 9


class TranslationError(AnyonnxError):
    """A symbolic function made something that contradicts the source, or was called wrongly.

    Args:
        message: What is wrong.
        op: Operator that was being translated.
        location: Source location of the operator.
    """

    exit_code = 9

    def __init__(self, message: str, *, op: str = "", location: str = ""):
        self.op, self.location = op, location
        super().__init__((f"{op}: " if op else "") + message + (f" (at {location})" if location else ""))


class CheckFailed(AnyonnxError):
    """The produced model is not a valid ONNX model of the asked opset.

    Args:
        problems: One line for each problem found.
    """

    exit_code = 4

    def __init__(self, problems: Sequence[str]):
        self.problems = tuple(problems)
        super().__init__("the model failed its check:\n" + "\n".join(f"  {p}" for p in self.problems))


class ParityError(AnyonnxError):
    """The produced model does not compute what the source computes, or nothing shows that it does.

    Args:
        report: The parity report; its text is the message.
    """

    exit_code = 5

    def __init__(self, report: object):
        self.report = report
        differs = getattr(report, "conversion_failed", True)
        verdict = "differs from its source" if differs else "could not be compared with its source"
        super().__init__(f"the ONNX model {verdict}\n{report}")


class MissingDependency(AnyonnxError):
    """A package that this work needs is not installed.

    Args:
        package: Import name of the package.
        extra: The extra of anyonnx that installs it.
        why: What needs it.
        command: What to run, where it isn't the installation of the extra.
    """

    exit_code = 6

    def __init__(self, package: str, extra: str, why: str = "", command: str = ""):
        self.package, self.extra = package, extra
        command = command or f"pip install 'anyonnx[{extra}]'"
        super().__init__(f"{why or 'this'} needs the package {package}: run  {command}")


class UntrustedFile(AnyonnxError):
    """The file runs code when it is loaded, and the caller has not said that it is trusted.

    Args:
        path: The file.
        imports: Names that loading it would import and call.
        why: What kind of file it is.
    """

    exit_code = 7

    def __init__(self, path: str, imports: Sequence[str], why: str = "a pickle"):
        self.path, self.imports = path, tuple(imports)
        names = "".join(f"\n  {name}" for name in self.imports)
        super().__init__(
            f"{path} is {why}: loading it runs code. It would import:{names or ' (nothing listed)'}\n"
            "Pass --trust (trust=True) only if you trust where the file comes from."
        )
