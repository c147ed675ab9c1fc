"""What the caller gives as inputs: leaves of pytrees, named, with open dims; everything else is fixed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...symbolic.errors import InputSpecError
from ...symbolic.spec import TensorSpec, parse_spec
from .params import is_key


@dataclass
class Leaf:
    """One tensor among the arguments.

    Attributes:
        name: Name of the argument and the path in it.
        dtype: numpy dtype, as JAX computes with it.
        shape: Sizes and names of open dims.
        array: The caller's array; None where only a spec is given.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int | str, ...]
    array: np.ndarray | None = None


@dataclass
class Arguments:
    """Arguments of a function: tensors, and the rest, which is fixed.

    Attributes:
        leaves: The tensors.
        call: Calls a function with tensors in the place of the leaves.
    """

    leaves: list[Leaf]
    call: Callable[[Callable[..., Any], Sequence[Any]], Any]


def bind(function: Any, inputs: Any, dynamic: Mapping[str | int, Mapping[int, str]] | None) -> Arguments:
    """The caller's inputs as leaves.

    Raises:
        InputSpecError: They don't fit the function, or an open dim is named wrongly.
    """
    import jax

    names = parameter_names(function)
    if inputs is None:
        if names:
            raise InputSpecError(
                "a JAX function doesn't say what it takes: pass example inputs, or specs such as "
                f'"x:float32[batch,4]", for ({", ".join(names)})'
            )
        inputs = ()
    if isinstance(inputs, Mapping):
        args, kwargs = (), {k: _read(v, k) for k, v in inputs.items()}
    else:
        given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        args = tuple(_read(v, names[i] if i < len(names) else f"input_{i}") for i, v in enumerate(given))
        kwargs = {}
    flat, structure = jax.tree_util.tree_flatten_with_path((args, kwargs), is_leaf=_is_spec)
    leaves: list[Leaf] = []
    places: list[int] = []
    for i, (path, value) in enumerate(flat):
        if _is_tensor(value):
            places.append(i)
            leaves.append(_leaf(_name(path, names), value))
    _open(leaves, dynamic)
    values = [value for _, value in flat]

    def call(f: Callable[..., Any], tensors: Sequence[Any]) -> Any:
        filled = list(values)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        positional, keywords = jax.tree_util.tree_unflatten(structure, filled)
        return f(*positional, **keywords)

    return Arguments(_unique(leaves), call)


def parameter_names(function: Any) -> list[str]:
    """Names of the positional parameters, as far as they can be told."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in signature.parameters.values() if p.kind in kinds]


def _read(value: Any, default: str) -> Any:
    if isinstance(value, str) and set(value) & set(":["):
        return parse_spec(value, default)
    return value


def _is_spec(value: Any) -> bool:
    return isinstance(value, TensorSpec) or type(value).__name__ == "ShapeDtypeStruct"


def _is_tensor(value: Any) -> bool:
    return _is_spec(value) or isinstance(value, (np.ndarray, np.generic)) or type(value).__module__.startswith("jaxlib")


def _leaf(name: str, value: Any) -> Leaf:
    import jax

    if isinstance(value, TensorSpec):
        if value.dtype == "string":
            raise InputSpecError(f"the input {value.name} holds strings, which JAX doesn't have")
        return Leaf(value.name, _canonical(_numpy_dtype(value.dtype), value.name), value.shape)
    if _is_spec(value):
        shape = tuple(int(s) if isinstance(s, (int, np.integer)) else str(s) for s in value.shape)
        return Leaf(name, _canonical(np.dtype(value.dtype), name), shape)
    if is_key(value.dtype):
        raise InputSpecError(f"the input {name} is a random key: pass its words (jax.random.key_data)")
    array = np.asarray(value)
    return Leaf(name, jax.dtypes.canonicalize_dtype(array.dtype), array.shape, array)


def _numpy_dtype(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def _canonical(dtype: np.dtype, name: str) -> np.dtype:
    import jax

    found: np.dtype = jax.dtypes.canonicalize_dtype(dtype)
    if found != dtype:
        raise InputSpecError(
            f"the input {name} is {dtype}, which JAX computes as {found} unless jax_enable_x64 is set: "
            f"write {found}, or set it"
        )
    return found


def _name(path: Sequence[Any], names: Sequence[str]) -> str:
    """Name of the argument, then the keys of the path in it."""
    _, first, *rest = path
    key = key_text(first)
    if hasattr(first, "idx"):
        key = names[first.idx] if first.idx < len(names) else f"input_{first.idx}"
    return "_".join([key, *(key_text(k) for k in rest)])


def key_text(key: Any) -> str:
    """One step of a pytree path, as a part of a name."""
    for attribute in ("idx", "key", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _open(leaves: Sequence[Leaf], dynamic: Mapping[str | int, Mapping[int, str]] | None) -> None:
    names = [leaf.name for leaf in leaves]
    for key, axes in (dynamic or {}).items():
        index = names.index(key) if key in names else key
        if not isinstance(index, int) or not 0 <= index < len(leaves):
            raise InputSpecError(f"dynamic names the input {key!r}; the inputs are {', '.join(names)}")
        leaf = leaves[index]
        rank = len(leaf.shape)
        shape = list(leaf.shape)
        for axis, symbol in axes.items():
            if not -rank <= axis < rank:
                raise InputSpecError(f"dynamic opens axis {axis} of {leaf.name}, which has {rank} axes")
            shape[axis] = symbol
        leaf.shape = tuple(shape)


def _unique(leaves: list[Leaf]) -> list[Leaf]:
    taken: set[str] = set()
    for leaf in leaves:
        name, n = leaf.name, 1
        while leaf.name in taken:
            leaf.name = f"{name}_{n}"
            n += 1
        taken.add(leaf.name)
    return leaves
