"""What the caller gives as inputs: arrays, tensors, specs; bound to the inputs that a program has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..symbolic.errors import InputSpecError
from ..symbolic.spec import TensorSpec, parse_spec
from .base import Arrays, type_names


def as_spec(value: Any, name: str) -> TensorSpec | None:
    """A spec from spec text, a TensorSpec, or Paddle's InputSpec; None for what holds values."""
    if isinstance(value, str):
        return parse_spec(value, name)
    if isinstance(value, TensorSpec):
        return value
    if any(n.endswith(".InputSpec") for n in type_names(value)):
        own = value.name or name
        shape = [f"{own}_dim{a}" if s in (-1, None) else int(s) for a, s in enumerate(value.shape)]
        if shape and shape[0] == f"{own}_dim0":
            shape[0] = "batch"
        return TensorSpec(own, str(value.dtype).removeprefix("paddle."), tuple(shape))
    return None


def as_array(value: Any) -> np.ndarray:
    """Values as an array; Paddle tensors too."""
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        value = value.numpy()
    return np.asarray(value)


def bind(
    own: Sequence[TensorSpec],
    given: Any,
    dynamic: Mapping[str | int, Mapping[int, str]] | None,
    keys: Sequence[str] | None = None,
) -> tuple[list[TensorSpec], Arrays | None]:
    """Specs as the caller wants them, and the caller's arrays.

    Args:
        own: Specs of the program.
        given: Positional or keyword arrays and specs; None where there are none.
        dynamic: Names for open dims.
        keys: The program's own names, where `own` has the caller's already.

    Raises:
        InputSpecError: Something doesn't fit the program.
    """
    specs = list(own)
    names = list(keys or [s.name for s in own])
    arrays: Arrays = {}
    for index, value in _indexed(given, names, [s.name for s in own]):
        spec = as_spec(value, specs[index].name)
        if spec is not None:
            specs[index] = _merged(specs[index], spec)
        elif value is not None:
            arrays[specs[index].name] = _fitting(specs[index], as_array(value))
    for key, axes in (dynamic or {}).items():
        index = key if isinstance(key, int) else _index(str(key), names, [s.name for s in own])
        if not 0 <= index < len(specs):
            raise InputSpecError(f"dynamic names input {key}; there are {len(specs)}")
        specs[index] = opened(specs[index], axes)
    if arrays and len(arrays) < len(specs):
        missing = ", ".join(s.name for s in specs if s.name not in arrays)
        raise InputSpecError(f"no values are given for {missing}")
    return specs, arrays or None


def _indexed(given: Any, names: Sequence[str], others: Sequence[str]) -> list[tuple[int, Any]]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(_index(str(k), names, others), v) for k, v in given.items()]
    listed = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(listed) > len(names):
        raise InputSpecError(f"{len(listed)} inputs are given, the model takes {len(names)}: {', '.join(names)}")
    return list(enumerate(listed))


def _index(key: str, *lists: Sequence[str]) -> int:
    for names in lists:
        if key in names:
            return names.index(key)
    raise InputSpecError(f"the model has no input {key}; its inputs are {', '.join(lists[0])}")


def _merged(own: TensorSpec, wanted: TensorSpec) -> TensorSpec:
    """The caller's spec on a program's input: it may fix open sizes and name them, nothing else."""
    fits = len(own.shape) == len(wanted.shape) and own.dtype == wanted.dtype
    if not fits or any(isinstance(a, int) and a != b for a, b in zip(own.shape, wanted.shape, strict=True)):
        raise InputSpecError(f"the model's input is {own}, not {wanted}")
    return replace(own, shape=wanted.shape)


def opened(spec: TensorSpec, axes: Mapping[int, str], *, fixed: bool = True) -> TensorSpec:
    """The spec with names for open dims; `fixed`: sizes that are numbers can't be opened any more."""
    shape = list(spec.shape)
    for axis, symbol in axes.items():
        if not -len(shape) <= axis < len(shape):
            raise InputSpecError(f"{spec} has no axis {axis}")
        if fixed and isinstance(shape[axis], int):
            raise InputSpecError(f"axis {axis} of {spec} is fixed in the program: save it again with that dim open")
        shape[axis] = symbol
    return replace(spec, shape=tuple(shape))


def _fitting(spec: TensorSpec, array: np.ndarray) -> np.ndarray:
    fixed = zip(spec.shape, array.shape, strict=False)
    if array.ndim != len(spec.shape) or any(isinstance(s, int) and s != n for s, n in fixed):
        raise InputSpecError(f"the values given for {spec} have the shape {list(array.shape)}")
    if array.dtype.name != spec.dtype:
        wanted = np.dtype(object if spec.dtype == "string" else spec.dtype)
        if array.dtype.kind != wanted.kind and not (spec.dtype == "string" and array.dtype.kind in "SU"):
            raise InputSpecError(f"the values given for {spec} are {array.dtype.name}")
        array = array.astype(wanted)
    return array
