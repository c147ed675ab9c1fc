"""A JAX function with its arguments: it runs in JAX, and it is translated from its jaxpr."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import as_size
from ...symbolic.errors import CaptureError
from ...symbolic.spec import TensorSpec
from ...symbolic.xla.region import expanded
from ..base import Arrays, Options, Source, renamed
from .graph import Walk, opened, require, to_numpy
from .inputs import Arguments, Leaf, bind, key_text
from .params import typed
from .trace import alike, evaluate


class FunctionSource(Source):
    """A live function (or module that can be called).

    Args:
        function: What is called.
        inputs: The caller's inputs.
        options: What the caller asked for.
    """

    framework = "jax"

    def __init__(self, function: Any, inputs: Any, options: Options):
        self.function = function
        self.description = f"JAX function {_title(function)}"
        self._arguments = bind(function, inputs, options.dynamic)
        leaves = self._arguments.leaves
        names = renamed([leaf.name for leaf in leaves], options.input_names, "input")
        self.jaxpr, self._outputs = _capture(function, self._arguments)
        self.specs = [_spec(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
        own = [name if name not in names else f"{name}_out" for name in self._outputs]
        self.output_names = renamed(own, options.output_names, "output")
        if all(leaf.array is not None for leaf in leaves) and leaves:
            arrays = [np.asarray(leaf.array, leaf.dtype) for leaf in leaves]
            self.samples = dict(zip(names, arrays, strict=True))

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the function, compiled as a whole."""
        import jax

        def call(*tensors: Any) -> list[Any]:
            return _tensors(self._arguments.call(self.function, tensors))

        values = jax.jit(call)(*(inputs[s.name] for s in self.specs))
        return {name: to_numpy(value) for name, value in zip(self.output_names, values, strict=True)}

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """Results of equations of the jaxpr, where it has the same equations at the sizes of the inputs."""
        import jax

        arrays = [jax.numpy.asarray(inputs[s.name]) for s in self.specs]
        jaxpr = _traced(self.function, self._arguments, arrays)[0]
        found: Arrays = {}
        if alike(jaxpr, self.jaxpr):
            evaluate(jaxpr, arrays, frozenset(names), found)
        return found

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model from the jaxpr."""
        require(self.jaxpr, g.opset)
        inner, _ = opened(self.jaxpr)
        values = []
        for spec, var in zip(self.specs, inner.invars, strict=True):
            type_ = typed(var.aval)
            values.append(g.input(spec.name, type_.dtype, [as_size(s) for s in type_.sizes]))
        results = Walk(constant_names(self.function)).run(g, self.jaxpr, values)
        for name, value, var in zip(self.output_names, results, inner.outvars, strict=True):
            g.output(expanded(g, value, typed(var.aval).sizes), name)


def _title(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", "") or ""
    return f"{module}.{name}" if module and module != "__main__" else name


def _spec(name: str, leaf: Leaf) -> TensorSpec:
    return TensorSpec(name, leaf.dtype.name, leaf.shape)


def _capture(function: Callable[..., Any], arguments: Arguments) -> tuple[Any, list[str]]:
    """The jaxpr of the function on abstract arguments, and the names of its outputs."""
    jaxpr, names = _traced(function, arguments, _abstract(arguments.leaves))
    if not names:
        raise CaptureError(f"{_title(function)} gives no arrays")
    return jaxpr, names


def _traced(function: Callable[..., Any], arguments: Arguments, leaves: Sequence[Any]) -> tuple[Any, list[str]]:
    import jax

    names: list[str] = []

    def call(*tensors: Any) -> list[Any]:
        result = arguments.call(function, tensors)
        flat, _ = jax.tree_util.tree_flatten_with_path(result)
        kept = [(path, value) for path, value in flat if _is_output(value)]
        names[:] = output_names([path for path, _ in kept])
        return [_array(value) for _, value in kept]

    try:
        jaxpr = jax.make_jaxpr(call)(*leaves)
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError, KeyError, NotImplementedError) as error:
        first = str(error).strip().split("\n\n")[0]
        raise CaptureError(f"JAX can't trace {_title(function)}: {type(error).__name__}: {first}") from error
    return jaxpr, names


def _abstract(leaves: Sequence[Leaf]) -> list[Any]:
    import jax

    scope = jax.export.SymbolicScope()
    found = []
    for leaf in leaves:
        shape: Sequence[Any] = leaf.shape
        if any(isinstance(s, str) for s in leaf.shape):
            shape = jax.export.symbolic_shape(", ".join(map(str, leaf.shape)) + ",", scope=scope)
        found.append(jax.ShapeDtypeStruct(tuple(shape), leaf.dtype))  # type: ignore[no-untyped-call]
    return found


def _is_output(value: Any) -> bool:
    return hasattr(value, "dtype") or isinstance(value, (bool, int, float)) or _is_size(value)


def _is_size(value: Any) -> bool:
    return type(value).__name__ == "_DimExpr"


def _array(value: Any) -> Any:
    """An output as an array; sizes become numbers."""
    import jax.numpy as jnp

    return jnp.asarray(value) if _is_size(value) else value


def _tensors(tree: Any) -> list[Any]:
    import jax

    return [leaf for leaf in jax.tree_util.tree_leaves(tree) if _is_output(leaf)]


def output_names(paths: Sequence[Sequence[Any]]) -> list[str]:
    """Names for outputs from their places: ``output``, ``output_0``, dict keys."""
    named = []
    for path in paths:
        keys = [key_text(k) for k in path]
        plain = not keys or keys[0].isdigit()
        named.append("_".join((["output"] if plain else []) + keys))
    if named == ["output_0"]:
        named = ["output"]
    return named


def constant_names(function: Any) -> dict[int, str]:
    """Names of the arrays that a function has hold of, by identity: ``params_Dense_0_kernel``."""
    import jax

    found: dict[int, str] = {}
    for name, tree in _held(function):
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            if hasattr(leaf, "dtype") and getattr(leaf, "shape", None):
                parts = ([name] if name else []) + [key_text(k) for k in path]
                found.setdefault(id(leaf), "_".join(p for p in parts if p and p != "value"))
    return found


def _held(function: Any) -> list[tuple[str, Any]]:
    if isinstance(function, functools.partial):
        bound = [("", a) for a in function.args] + [(k, v) for k, v in function.keywords.items()]
        return bound + _held(function.func)
    held: list[tuple[str, Any]] = []
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        held.append(("", owner))
    inner = getattr(function, "__wrapped__", None)
    if inner is not None and inner is not function:
        held += _held(inner)
    code = getattr(function, "__code__", None)
    if code is None:
        return held if callable(function) and held else [*held, ("", function)]
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False):
        try:
            held.append((name, cell.cell_contents))
        except ValueError:  # the cell is still empty
            continue
    names = getattr(function, "__globals__", {})
    held += [(n, names[n]) for n in code.co_names if n in names and not callable(names[n])]
    return held
