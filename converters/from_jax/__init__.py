"""JAX: live functions through their jaxpr; files of jax.export and StableHLO."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

from ..base import Frontend, Options, Source, type_names

_ROOTS = ("jax", "jaxlib", "flax", "equinox", "haiku", "optax")


class JaxFrontend(Frontend):
    """Functions, modules that can be called, exported files."""

    name = "jax"
    packages = ("jax",)
    extra = "jax"

    def accepts(self, model: object) -> bool:
        """A callable of JAX or its libraries, or a Python function that uses them."""
        if not callable(model):
            return False
        if any(name.split(".")[0] in _ROOTS for name in type_names(model)):
            return True
        function: Any = model
        while hasattr(function, "func") or hasattr(function, "__wrapped__"):
            function = getattr(function, "func", None) or function.__wrapped__
        function = getattr(function, "__func__", function)
        return isinstance(function, types.FunctionType) and _mentions(function)

    def load(self, model: Any, inputs: Any, options: Options) -> Source:
        """Traces a live function; reads a file."""
        if isinstance(model, Path):
            from .exported import load_file

            return load_file(model, options)
        from .source import FunctionSource

        return FunctionSource(model, inputs, options)


def _mentions(function: types.FunctionType) -> bool:
    """Whether a function uses JAX: by a global name, or something of JAX that it closes over."""
    names = [function.__globals__.get(n) for n in function.__globals__]
    cells = [c.cell_contents for c in function.__closure__ or () if _filled(c)]
    for value in (*names, *cells):
        module = value.__name__ if isinstance(value, types.ModuleType) else type(value).__module__
        if str(module).split(".")[0] in _ROOTS:
            return True
    return False


def _filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
