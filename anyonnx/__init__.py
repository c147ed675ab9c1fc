"""anyonnx: trained models of any framework to ONNX, at the opset you ask for, proved against the source.

The public names below are imported on first use, so that ``import anyonnx`` costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .converters.api import Conversion, check, compare, to_onnx
    from .symbolic.errors import (
        AnyonnxError,
        CaptureError,
        CheckFailed,
        InputSpecError,
        MissingDependency,
        OpsetError,
        ParityError,
        TranslationError,
        UnsupportedOps,
        UntrustedFile,
    )
    from .symbolic.registry import symbolic
    from .symbolic.spec import TensorSpec, parse_spec

__version__ = "0.1.0"

__all__ = [
    "AnyonnxError",
    "CaptureError",
    "CheckFailed",
    "Conversion",
    "InputSpecError",
    "MissingDependency",
    "OpsetError",
    "ParityError",
    "TensorSpec",
    "TranslationError",
    "UnsupportedOps",
    "UntrustedFile",
    "__version__",
    "check",
    "compare",
    "parse_spec",
    "symbolic",
    "to_onnx",
]

_HOMES = {
    ".converters.api": ("Conversion", "check", "compare", "to_onnx"),
    ".symbolic.spec": ("TensorSpec", "parse_spec"),
    ".symbolic.errors": (
        "AnyonnxError",
        "CaptureError",
        "CheckFailed",
        "InputSpecError",
        "MissingDependency",
        "OpsetError",
        "ParityError",
        "TranslationError",
        "UnsupportedOps",
        "UntrustedFile",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


class _SymbolicModule(ModuleType):
    """The package `anyonnx.symbolic`, which is also the decorator ``@anyonnx.symbolic(dialect, *names)``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Registers a symbolic function; see `anyonnx.symbolic.registry.symbolic`."""
        from .symbolic.registry import symbolic as register

        return register(*args, **options)


class _Face(ModuleType):
    """This module: makes the sub-package `symbolic` callable when the import system hangs it in here."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "symbolic" and isinstance(value, ModuleType):
            value.__class__ = _SymbolicModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __getattr__(name: str) -> Any:
    if name == "symbolic":
        return importlib.import_module(".symbolic", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
