"""What the caller gives as inputs, as positional and keyword arguments of ``forward`` with named open dims."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...symbolic.errors import InputSpecError
from ...symbolic.spec import TensorSpec, parse_spec
from .containers import register

Axes = dict[int, str]

# Sizes for made-up examples: none is 0 or 1 (these would be taken for constants), all differ.
_SMALL = (7, 11, 13, 17, 19, 23, 29, 31)
_SPATIAL = (64, 96, 160, 224)


@dataclass
class Arguments:
    """Arguments of ``forward``, and which axes are open.

    Attributes:
        args: Positional arguments, tensors in place of arrays and specs.
        kwargs: Keyword arguments.
        names: Name of every tensor leaf, in order.
        axes: Open axes of every tensor leaf: axis -> symbol.
        made_up: Some tensors were made from specs: they are no samples.
        tensors: The caller's tensors by leaf name.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: list[str]
    axes: list[Axes]
    made_up: bool
    tensors: dict[str, Any] = field(default_factory=dict)


def bind(module: Any, inputs: Any, dynamic: Mapping[str | int, Mapping[int, str]] | None) -> Arguments:
    """Binds the caller's inputs to the parameters of ``module.forward``.

    Raises:
        InputSpecError: They don't fit, or an open dim is named wrongly.
    """
    from torch.utils import _pytree as pytree

    args, kwargs, specs = _split(inputs, module)
    register(pytree.tree_leaves((args, kwargs)))
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        wanted = ", ".join(str(p) for p in signature.parameters.values())
        raise InputSpecError(f"the inputs don't fit {type(module).__name__}.forward({wanted}): {error}") from error
    examples = _Examples(specs.values())
    bound.arguments = type(bound.arguments)((k, examples.fill(v)) for k, v in bound.arguments.items())
    leaves = list(tensor_leaves(bound))
    axes = _open_axes(leaves, examples, dynamic)
    _enlarge(bound, leaves, axes)
    tensors = dict(leaves)
    return Arguments(bound.args, dict(bound.kwargs), [n for n, _ in leaves], axes, bool(examples.axes), tensors)


def dynamic_shapes(module: Any, arguments: Arguments, *, relaxed: bool = False) -> dict[str, Any] | None:
    """The open axes in the form ``torch.export`` takes; None where nothing is open.

    Args:
        module: The module.
        arguments: Its arguments.
        relaxed: torch may limit the sizes, and finds out itself which are equal.
    """
    import torch
    from torch.utils import _pytree as pytree

    if not any(arguments.axes):
        return None
    bound = inspect.signature(module.forward).bind(*arguments.args, **arguments.kwargs)
    symbols = {s for axes in arguments.axes for s in axes.values()}
    dims = {s: torch.export.Dim.AUTO if relaxed else torch.export.Dim(f"dim_{s}") for s in symbols}
    axes = iter(arguments.axes)

    def shape(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {axis: dims[s] for axis, s in next(axes).items()}
        if isinstance(value, dict):
            return {key: shape(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            parts = [shape(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        # torch.export takes the parts of any other container in a list
        node = pytree.SUPPORTED_NODES.get(type(value))
        return None if node is None else [shape(part) for part in node.flatten_fn(value)[0]]

    return {name: shape(value) for name, value in _flat_arguments(bound)}


def tensor_leaves(bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
    """Name and tensor of every tensor among the arguments, in order."""
    import torch
    from torch.utils import _pytree as pytree

    for name, value in _flat_arguments(bound):
        for path, leaf in pytree.tree_flatten_with_path(value)[0]:
            if isinstance(leaf, torch.Tensor):
                yield "_".join([name, *(key_text(k) for k in path)]), leaf


def _flat_arguments(bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
    """Arguments by name, ``**kwargs`` spread out, as torch.export orders them."""
    parameters = bound.signature.parameters
    for name, value in bound.arguments.items():
        if parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            yield from value.items()
        else:
            yield name, value


def key_text(key: Any) -> str:
    """One step of a pytree path, as a part of a name."""
    for attribute in ("idx", "key", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _split(inputs: Any, module: Any) -> tuple[list[Any], dict[str, Any], dict[str, TensorSpec]]:
    if inputs is None:
        parameters = ", ".join(inspect.signature(module.forward).parameters)
        raise InputSpecError(
            f"a PyTorch module doesn't say what it takes: pass example inputs, or specs such as "
            f'"x:float32[batch,3,224,224]", for forward({parameters})'
        )
    specs: dict[str, TensorSpec] = {}
    names = list(inspect.signature(module.forward).parameters)

    def read(value: Any, default: str) -> Any:
        if isinstance(value, str) and set(value) & set(":["):
            value = parse_spec(value, default)
        if isinstance(value, TensorSpec):
            specs[default] = value
        return value

    if isinstance(inputs, Mapping):
        return [], _listed({k: read(v, k) for k, v in inputs.items()}, names), specs
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for i, value in enumerate(inputs):
        value = read(value, names[i] if i < len(names) else f"input_{i}")
        name = value.name if isinstance(value, TensorSpec) else ""
        if (name in names and (kwargs or names.index(name) != i)) or _element(name, names):
            kwargs[name] = value
        else:
            args.append(value)
    return args, _listed(kwargs, names), specs


def _element(name: str, parameters: Sequence[str]) -> tuple[str, int] | None:
    """The parameter and place that ``images_0`` stands for, where there is a parameter ``images``."""
    found = re.match(r"^(.+)_(\d+)$", name)
    known = found is not None and name not in parameters and found[1] in parameters
    return (found[1], int(found[2])) if found is not None and known else None


def _listed(given: Mapping[str, Any], parameters: Sequence[str]) -> dict[str, Any]:
    """Arguments in which the elements of a list were given one by one."""
    result: dict[str, Any] = {}
    for name, value in given.items():
        element = _element(name, parameters)
        if element is None:
            result[name] = value
            continue
        items = result.setdefault(element[0], [])
        if not isinstance(items, list) or element[1] != len(items):
            raise InputSpecError(f"the elements of {element[0]} are given in order, from {element[0]}_0 on")
        items.append(value)
    return result


class _Examples:
    """Makes tensors in place of arrays and specs; remembers the open axes that specs name."""

    def __init__(self, specs: Any):
        self.axes: dict[int, Axes] = {}
        fixed = {d for spec in specs for d in spec.shape if isinstance(d, int)}
        self._small = itertools.chain((s for s in _SMALL if s not in fixed), itertools.count(37))
        self._spatial = itertools.chain((s for s in _SPATIAL if s not in fixed), itertools.count(256, 32))
        self.sizes: dict[str, int] = {}
        self._keep: list[Any] = []
        self._seen: set[int] = set()

    def fill(self, value: Any) -> Any:
        """The argument with tensors in it, each one an object of its own: torch.export takes equal ones for one."""
        import torch
        from torch.utils import _pytree as pytree

        def leaf(item: Any) -> Any:
            if isinstance(item, str) and set(item) & set(":["):
                item = parse_spec(item)  # inside a list or dict; other strings are plain arguments
            if isinstance(item, TensorSpec):
                return self._example(item)
            if isinstance(item, (np.ndarray, np.generic)):
                return _from_numpy(np.asarray(item))
            if isinstance(item, torch.Tensor):
                if item.is_meta:
                    raise InputSpecError("an input is on the meta device, which holds no numbers: give a spec instead")
                if id(item) in self._seen:
                    item = item.detach().clone()
                self._seen.add(id(item))
                self._keep.append(item)
            return item

        return pytree.tree_map(leaf, value)

    def _example(self, spec: TensorSpec) -> Any:
        from ...validation.inputs import make_inputs

        for axis, size in enumerate(spec.shape):
            if isinstance(size, str) and size not in self.sizes:
                spatial = axis >= 2 and len(spec.shape) >= 4
                self.sizes[size] = next(self._spatial if spatial else self._small)
        array = make_inputs([spec], sizes=self.sizes)[spec.name]
        tensor = _from_numpy(array)
        self.axes[id(tensor)] = {a: s for a, s in enumerate(spec.shape) if isinstance(s, str)}
        self._keep.append(tensor)  # ids stay unique only while the objects live
        return tensor


def _from_numpy(array: Any) -> Any:
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(array, order="C"))


def _open_axes(
    leaves: Sequence[tuple[str, Any]], examples: _Examples, dynamic: Mapping[str | int, Mapping[int, str]] | None
) -> list[Axes]:
    axes = [dict(examples.axes.get(id(tensor), {})) for _, tensor in leaves]
    names = [name for name, _ in leaves]
    for key, wanted in (dynamic or {}).items():
        index = names.index(key) if key in names else key
        if not isinstance(index, int) or not 0 <= index < len(leaves):
            raise InputSpecError(f"dynamic names the input {key!r}; the inputs are {', '.join(names)}")
        rank = leaves[index][1].dim()
        for axis, symbol in wanted.items():
            if not -rank <= axis < rank:
                raise InputSpecError(f"dynamic opens axis {axis} of {names[index]}, which has {rank} axes")
            if not symbol.isidentifier():
                raise InputSpecError(f"the open dim {symbol!r} isn't a name (letters, digits, underscores)")
            axes[index][axis % rank] = symbol
    return axes


def resized(tensor: Any, shape: Sequence[int]) -> Any:
    """An example at other sizes: cut off, or its elements repeated from the front; order and range stay."""
    import torch

    for axis, (own, size) in enumerate(zip(tensor.shape, shape, strict=True)):
        if own != size and own:
            tensor = tensor.index_select(axis, torch.arange(size) % own)
        elif own != size:
            tensor = tensor.new_zeros([*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]])
    return tensor


def _enlarge(bound: inspect.BoundArguments, leaves: list[tuple[str, Any]], axes: Sequence[Axes]) -> None:
    """Repeats examples along open axes of size 0 or 1, which the capture would take for constants."""
    import torch
    from torch.utils import _pytree as pytree

    sizes: dict[str, int] = {}
    for (name, tensor), opened in zip(leaves, axes, strict=True):
        if tensor.layout is not torch.strided:
            raise InputSpecError(f"the input {name} is a sparse tensor, which can't be converted")
        for axis, symbol in opened.items():
            size = sizes.setdefault(symbol, tensor.shape[axis])
            if size != tensor.shape[axis]:
                raise InputSpecError(
                    f"the dim {symbol} is {size} in one input and {tensor.shape[axis]} on axis {axis} of {name}"
                )
    taken = set(sizes.values())
    free = (s for s in itertools.chain(_SMALL, itertools.count(37)) if s not in taken)
    grown = {symbol: next(free) for symbol, size in sizes.items() if size < 2}
    if not grown:
        return
    changed: dict[int, Any] = {}
    for (_, tensor), opened in zip(leaves, axes, strict=True):
        larger = tensor
        for axis, symbol in opened.items():
            if symbol in grown and tensor.shape[axis]:
                larger = larger.index_select(axis, torch.zeros(grown[symbol], dtype=torch.int64))
            elif symbol in grown:
                shape = [grown[symbol] if i == axis else s for i, s in enumerate(larger.shape)]
                larger = larger.new_zeros(shape)
        changed[id(tensor)] = larger
    for name, value in list(bound.arguments.items()):
        bound.arguments[name] = pytree.tree_map(lambda t: changed.get(id(t), t), value)
