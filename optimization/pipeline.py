"""The pass pipeline: a list of names that users can edit.

A pass takes an ``ir.Model``, changes it in place and returns how much it changed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import onnx_ir as ir

from ..symbolic.errors import InputSpecError

Pass = Callable[[ir.Model], int]

#: Passes of a normal conversion, in order; each is a module of this folder with a function of the same name.
DEFAULT_PASSES = (
    "drop_identities",
    "simplify_shapes",
    "fuse_batch_norm",
    "fold_weight_transposes",
    "move_levels",
    "share_subexpressions",
    "drop_unused",
)


def find_pass(name: str) -> Pass:
    """The pass of a name; raises InputSpecError where there is none."""
    try:
        module = importlib.import_module(f".{name}", __package__)
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.{name}":
            raise
        raise InputSpecError(
            f"there is no optimisation pass {name!r}; the usual ones are {', '.join(DEFAULT_PASSES)}"
        ) from error
    found: Pass = getattr(module, name)
    return found


def optimize(model: ir.Model, passes: Sequence[str] = DEFAULT_PASSES) -> dict[str, int]:
    """Runs passes over a model, in place.

    Args:
        model: The model.
        passes: Names of passes, in order.

    Returns:
        How much each pass changed.

    Raises:
        InputSpecError: A pass of that name doesn't exist.
    """
    return {name: find_pass(name)(model) for name in passes}
