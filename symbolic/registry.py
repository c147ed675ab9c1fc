"""The one registry of symbolic functions, for every dialect."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import AnyonnxError, MissingOp, UnsupportedOps

#: Folder of each built-in dialect, imported on the first look-up.
DIALECT_PACKAGES = {
    "onnx": "lowering",
    "onnx_import": "onnx_import",
    "aten": "aten",
    "aten.complex": "aten_complex",
    "torch_nn": "aten",
    "torchvision": "torchvision_ops",
    "transformers": "aten",
    "quantized_decomposed": "quantized_decomposed",
    "torchao": "quantized_decomposed",
    "quantized": "quantized",
    "aten.quantized": "quantized",
    "estimators": "estimators",
    "jaxpr": "jaxpr",
    "stablehlo": "stablehlo",
    "keras_layers": "keras_layers",
    "paddle_pir": "paddle_pir",
    "tf_graph": "tf_graph",
    "tflite_ops": "tflite_ops",
    "xgboost": "objectives",
    "lightgbm": "objectives",
    "catboost": "objectives",
}

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Symbolic:
    """One registered symbolic function.

    Attributes:
        dialect: Dialect it belongs to.
        name: Operator name in the dialect's terms.
        function: ``f(g, *operands, **attributes)``.
        since: First opset it serves.
        until: Last opset it serves.
        wants_outputs: It takes the keyword ``outputs``: how many outputs the caller uses.
    """

    dialect: str
    name: str
    function: Callable[..., Any]
    since: int
    until: int
    wants_outputs: bool

    @property
    def place(self) -> str:
        """Module and name of the function, for messages."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def serves(self, opset: int) -> bool:
        """Whether it is meant for `opset`."""
        return self.since <= opset <= self.until


class Registry:
    """Symbolic functions by dialect and name."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[Symbolic]] = {}
        self._loaded: set[str] = set()

    def add(self, row: Symbolic, *, override: bool = False) -> None:
        """Adds a function; raises AnyonnxError naming the holder if its opsets are taken already."""
        own = f"{__package__}.{DIALECT_PACKAGES.get(row.dialect)}."
        if not row.function.__module__.startswith(own):
            self.load(row.dialect)  # built-in rows come first, so that a user's row meets them whenever it is added
        rows = self._rows.setdefault((row.dialect, row.name), [])
        for other in rows:
            if not override and other.since <= row.until and row.since <= other.until:
                raise AnyonnxError(
                    f"{row.dialect}::{row.name} is registered twice: {other.place} holds it, {row.place} asks for it; "
                    "pass override=True to replace it"
                )
        rows.insert(0, row)

    def load(self, dialect: str) -> None:
        """Imports every module of a built-in dialect's folder, once."""
        if dialect in self._loaded or dialect not in DIALECT_PACKAGES:
            return
        self._loaded.add(dialect)
        package = importlib.import_module(f".{DIALECT_PACKAGES[dialect]}", __package__)
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"{package.__name__}.{module}")

    def lookup(self, dialect: str, name: str, opset: int) -> Symbolic | None:
        """The function that serves `name` at `opset`, or None."""
        self.load(dialect)
        for row in self._rows.get((dialect, name), ()):
            if row.since <= opset <= row.until:
                return row
        return None

    def rows(self, dialect: str | None = None) -> list[Symbolic]:
        """All rows (of one dialect), by name."""
        if dialect is not None:
            self.load(dialect)
        found = [r for (d, _), rows in self._rows.items() if dialect in (None, d) for r in rows]
        return sorted(found, key=lambda r: (r.dialect, r.name, r.since))

    def require(self, dialect: str, uses: Iterable[tuple[str, str]], opset: int) -> None:
        """Looks every used op up and raises UnsupportedOps with all that are missing.

        Args:
            dialect: Dialect of the ops.
            uses: Pairs of op name and location.
            opset: The opset that is asked for.
        """
        missing: dict[str, list[str]] = {}
        for name, location in uses:
            if self.lookup(dialect, name, opset) is None:
                missing.setdefault(name, []).append(location)
        if missing:
            ops = [MissingOp(dialect, n, len(at), tuple(x for x in at if x)[:3]) for n, at in missing.items()]
            raise UnsupportedOps(ops)


registry = Registry()


def symbolic(
    dialect: str, *names: str, since: int = 0, until: int = 999, override: bool = False
) -> Callable[[Function], Function]:
    """Registers a symbolic function ``f(g, *operands, **attributes)``.

    Args:
        dialect: Dialect of the operator: ``aten``, ``onnx``, ``estimators`` ...
        *names: Names of the operator in the dialect's terms; the function's own name where none is given.
        since: First opset the function serves.
        until: Last opset the function serves.
        override: Replace what is registered already, instead of raising.

    Returns:
        The decorator; it gives the function back unchanged.

    Raises:
        AnyonnxError: The name is taken for some of these opsets.
    """

    def register(function: Function) -> Function:
        wants = "outputs" in inspect.signature(function).parameters
        for name in names or (function.__name__,):
            registry.add(Symbolic(dialect, name, function, since, until, wants), override=override)
        return function

    return register
