"""A loaded PyTorch model: it runs in torch, and it is translated from its captured graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Dim
from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec
from ...symbolic.value import Value
from ..base import Arrays, Options, Source, renamed
from . import complex_nodes
from .capture import FAILURES, evaluation, plain_attention
from .conditions import Conditions
from .dims import Dims, symbol_of
from .graph import Walk, is_check, onnx_dtype, prepare, refuse_state
from .inputs import Arguments, key_text, resized
from .weights import to_numpy, to_torch


class TorchSource(Source):
    """A captured PyTorch model.

    Args:
        program: ``torch.export.ExportedProgram``.
        options: What the caller asked for.
        description: One line for people.
        module: The live module and the arguments it was captured with; None for a file.
        symbols: Names for open dims of a file's inputs: input name -> axis -> symbol.
    """

    framework = "torch"

    def __init__(
        self,
        program: Any,
        options: Options,
        description: str,
        *,
        module: tuple[Any, Arguments] | None = None,
        symbols: Mapping[str, Mapping[int, str]] | None = None,
    ):
        self.program, self.description = program, description
        self._module = module
        self._prepared = program
        self._ran: tuple[Arrays, Arrays] | None = None  # inputs that were tried, and what they gave
        self._last: list[Any] = []  # all outputs of the last run of a captured graph
        self._placeholders = _tensor_inputs(program)
        names = module[1].names if module else [n.name for n in self._placeholders]
        if len(names) != len(self._placeholders):
            raise CaptureError(f"{len(names)} tensors were given, the captured graph takes {len(self._placeholders)}")
        self.input_names = renamed(names, options.input_names, "input")
        if module:
            wanted = module[1].axes
            _check_open(self._placeholders, names, wanted)
        else:
            wanted = [dict((symbols or {}).get(n, {})) for n in names]
        self._dims = Dims(_symbol_names(self._placeholders, self.input_names, wanted))
        self.specs = [self._spec(n, p) for n, p in zip(self.input_names, self._placeholders, strict=True)]
        self._conditions = Conditions(self._placeholders, self._dims.names)
        self._outputs = _outputs(program)
        if not self._outputs:
            raise CaptureError("the model returns no tensor")
        taken = set(self.input_names)
        own = [f"{name}_out" if name in taken else name for name, _ in self._outputs]
        self.output_names = renamed(own, options.output_names, "output")
        self.samples = self._samples()

    def _spec(self, name: str, node: Any) -> TensorSpec:
        value = node.meta["val"]
        dtype = onnx_dtype(value.dtype)
        if dtype is None or value.is_quantized:
            raise InputSpecError(f"the input {name} is {value.dtype}, which ONNX doesn't have")
        sizes = self._dims.sizes(value.shape)
        shape = tuple(s if isinstance(s, int) else str(s) for s in sizes)
        return TensorSpec(name, str(value.dtype).removeprefix("torch."), shape)

    def _samples(self) -> Arrays | None:
        if self._module:
            arguments = self._module[1]
            if arguments.made_up:
                return None
            tensors = list(arguments.tensors.values())
        else:
            if self.program.example_inputs is None:
                return None
            tensors = _tensors(self.program.example_inputs)
        if len(tensors) != len(self.specs):
            return None
        return {s.name: to_numpy(t) for s, t in zip(self.specs, tensors, strict=True)}

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes inside the ranges that the capture found."""
        sizes = super().choose_sizes(which, base)
        for symbol, limits in self.program.range_constraints.items():
            name = self._dims.names.get(str(symbol))
            if name in sizes:
                low, high = _bound(limits.lower), _bound(limits.upper)
                size = max(sizes[name], low or 0)
                sizes[name] = size if high is None else min(size, high)
        return self._complete(self._conditions.kept(sizes, base or {}))

    def _complete(self, sizes: dict[str, int]) -> dict[str, int]:
        """Sizes with those that follow from them: an axis may be m + 1 where another is m."""
        for node in self._placeholders:
            for size in self._dims.sizes(node.meta["val"].shape):
                if isinstance(size, Dim) and size.name is None and size.symbols() <= set(sizes):
                    sizes[str(size)] = size.evaluate(sizes)
        return sizes

    def refuse_other_ways(self) -> None:
        """Raises CaptureError where the module runs at sizes that the capture excludes, and computes something else."""
        if self._module is None or not len(self._conditions):
            return
        refuse_state(self.program, self._carried())  # else a run here would change the caller's module
        examples = list(self._module[1].tensors.values())
        specs = self.specs[: len(examples)]
        base = {
            size: t.shape[axis]
            for spec, t in zip(specs, examples, strict=True)
            for axis, size in enumerate(spec.shape)
            if isinstance(size, str)
        }
        if not self._conditions.dims <= set(base):
            return
        for condition, sizes in self._conditions.broken(base):
            sizes = self._complete(sizes)
            if min(sizes.values()) < 0:
                continue
            tensors = [resized(t, s.sized(sizes)) for t, s in zip(examples, specs, strict=True)]
            shown = ", ".join(f"{name} = {size}" for name, size in sizes.items() if base[name] != size)
            if self._differs(tensors):
                raise CaptureError(
                    f"the capture holds only where {condition}: at {shown} the model computes something else. "
                    "Fix that dim, or let its size choose nothing in Python; capture='export' (--capture export) takes "
                    "the capture as it is"
                )

    def _differs(self, tensors: Sequence[Any]) -> bool:
        """Whether the module runs on tensors, and gives something else than the captured graph."""
        import torch

        with torch.no_grad(), plain_attention(), torch.random.fork_rng(devices=[]):
            try:
                self._restore_state()
                torch.manual_seed(0)
                wanted = _tensors(self._run_module([t.clone() for t in tensors]))
            except FAILURES:
                return False  # the model itself doesn't take these sizes
            try:
                self._restore_state()
                torch.manual_seed(0)
                found = _tensors(self._interpret(self.program, [t.clone() for t in tensors], {}, checks=False))
            except FAILURES:
                return True
        return len(wanted) != len(found) or not all(map(_alike, wanted, found))

    def _restore_state(self) -> None:
        """Prepares a run with the buffers as they were captured."""

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the module (for a file: its captured graph) in evaluation mode."""
        import torch

        if self._ran is not None and all(np.array_equal(inputs[name], array) for name, array in self._ran[0].items()):
            return self._ran[1]
        tensors = [to_torch(inputs[s.name]) for s in self.specs]
        try:
            with torch.no_grad(), plain_attention():
                leaves = self._run_module(tensors) if self._module else self._interpret(self.program, tensors, {})
        except FAILURES as error:
            sizes = ", ".join(f"{s.name} {list(inputs[s.name].shape)}" for s in self.specs)
            text = str(error).strip().splitlines()
            made_up = self.samples is None or any(inputs[n] is not a for n, a in self.samples.items())
            hint = " (these inputs are made up: give inputs that suit the model)" if made_up else ""
            raise InputSpecError(
                f"the model itself fails on {sizes}: {type(error).__name__}: {text[0] if text else ''}{hint}"
            ) from error
        return {
            name: to_numpy(leaves[index]) for name, (_, index) in zip(self.output_names, self._outputs, strict=True)
        }

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays | None:
        """The samples at other sizes, their elements repeated, where the model doesn't take drawn numbers.

        Numbers may have to be in order, or to fit each other: offsets, lengths, variances. So the model is tried first.
        """
        if seed == 0 or self.samples is None:
            return None
        from ..api import varied

        for made in (varied(self.samples, self.specs, sizes), self._stretched(sizes)):
            try:
                self._ran = (made, self.run({name: array.copy() for name, array in made.items()}))
                return made
            except (InputSpecError, *FAILURES):
                continue
        return None

    def _stretched(self, sizes: Mapping[str, int]) -> Arrays:
        assert self.samples is not None
        made = {}
        for spec in self.specs:
            array = self.samples[spec.name]
            for axis, size in enumerate(spec.sized(sizes)):
                if array.shape[axis]:
                    array = array.take(np.minimum(np.arange(size), array.shape[axis] - 1), axis)
            made[spec.name] = array
        return made

    def _run_module(self, tensors: Sequence[Any]) -> list[Any]:
        import torch
        from torch.utils import _pytree as pytree

        assert self._module is not None
        module, arguments = self._module
        leaves, structure = pytree.tree_flatten((arguments.args, arguments.kwargs))
        ordered = iter(tensors)
        leaves = [next(ordered) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(leaves, structure)
        with evaluation(module):
            return list(pytree.tree_leaves(self._call_module(module, args, kwargs)))

    def _call_module(self, module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return module(*args, **kwargs)

    def _held(self, program: Any, spec: Any) -> Any:
        """The tensor that a parameter, buffer or constant has in a run."""
        return stored(program, spec)

    def _interpret(
        self, program: Any, tensors: Sequence[Any], capture: dict[str, Any], *, checks: bool = True
    ) -> list[Any]:
        """Runs a captured graph; values of the nodes named in `capture` are put there."""
        import torch

        class Recorder(torch.fx.Interpreter):  # type: ignore[misc]
            def run_node(self, n: Any) -> Any:
                if not checks and n.op == "call_function" and is_check(n.target):
                    return None
                value = super().run_node(n)
                if n.name in capture and isinstance(value, torch.Tensor):
                    capture[n.name] = value.detach().clone()  # an in-place op may change it later
                return value

        users = iter(tensors)
        names = {p.name for p in self._placeholders}
        arguments = []
        for spec in program.graph_signature.input_specs:
            if spec.kind.name == "USER_INPUT":
                arguments.append(next(users) if spec.arg.name in names else getattr(spec.arg, "value", None))
            else:
                arguments.append(self._held(program, spec))
        outputs = Recorder(program.graph_module).run(*arguments, enable_io_processing=False)
        self._last = list(outputs)
        kinds = [s.kind.name for s in program.graph_signature.output_specs]
        return [o for o, kind in zip(outputs, kinds, strict=True) if kind == "USER_OUTPUT"]

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """Values of captured nodes by name."""
        import torch

        found: dict[str, Any] = dict.fromkeys(names)
        with torch.no_grad():
            self._interpret(self._prepared, [to_torch(inputs[s.name]) for s in self.specs], found)
        return {name: to_numpy(value) for name, value in found.items() if value is not None}

    # --- translating -------------------------------------------------------------------------------------------------

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model from the captured graph."""
        program = self._prepared = prepare(self.program, g.opset, carried=self._carried())
        self._refuse_fixed()
        walk = Walk(g, self._dims)
        order = dict(zip((p.name for p in self._placeholders), self.specs, strict=False))
        specs = program.graph_signature.input_specs
        users_first = sorted(range(len(specs)), key=lambda i: specs[i].kind.name != "USER_INPUT")
        arguments = {i: self._argument(g, walk, program, specs[i], order) for i in users_first}
        results = walk.run(program.graph_module, [arguments[i] for i in range(len(specs))])
        self._finish(g, program, results)

    def _refuse_fixed(self) -> None:
        """Raises CaptureError where taking an op apart has fixed a size that was open."""
        for spec, node in zip(self.specs, self._placeholders, strict=False):
            for axis, (said, size) in enumerate(zip(spec.shape, self._dims.sizes(node.meta["val"].shape), strict=True)):
                if isinstance(said, str) and isinstance(size, int):
                    raise CaptureError(
                        f"an op that had to be taken apart fixes axis {axis} of {spec.name} to {size}: leave the dim "
                        f"{said} out of the open ones"
                    )

    def _carried(self) -> frozenset[str]:
        """Buffers whose changes are outputs."""
        return frozenset()

    def _finish(self, g: GraphBuilder, program: Any, results: Sequence[Any]) -> None:
        """Declares the outputs, given all results of the graph."""
        kinds = [s.kind.name for s in program.graph_signature.output_specs]
        results = [r for r, kind in zip(results, kinds, strict=True) if kind == "USER_OUTPUT"]
        for name, (_, index) in zip(self.output_names, self._outputs, strict=False):
            result = complex_nodes.as_output(g, results[index])
            if not isinstance(result, Value):
                result = self._number(g, result)
            g.output(result, name)

    def _number(self, g: GraphBuilder, value: Any) -> Value:
        """A result that is a number in Python: its floats are double."""
        if isinstance(value, float):
            return g.constant(np.array(value, np.float64))
        return g.constant(value) if isinstance(value, (bool, int)) else g.size(value)

    def _argument(self, g: GraphBuilder, walk: Walk, program: Any, spec: Any, order: Mapping[str, TensorSpec]) -> Any:
        if spec.kind.name == "TOKEN":  # orders checks, and holds nothing
            return None
        if spec.kind.name != "USER_INPUT":
            return walk.weights.value(str(spec.target), stored(program, spec))
        described = order.get(spec.arg.name)
        if described is None:
            return getattr(spec.arg, "value", None)
        node = next(p for p in self._placeholders if p.name == spec.arg.name)
        return complex_nodes.as_input(
            g, described.name, described.dtype, self._dims.sizes(node.meta["val"].shape)
        )  # fmt: skip


def _tensor_inputs(program: Any) -> list[Any]:
    """Placeholders of the inputs that are tensors, in order."""
    import torch

    placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    found = []
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT" or spec.arg.name not in placeholders:
            continue
        value = placeholders[spec.arg.name].meta.get("val")
        if isinstance(value, torch.Tensor):
            found.append(placeholders[spec.arg.name])
        elif isinstance(value, torch.SymInt):
            raise CaptureError(f"the input {spec.arg.name} is an open number; pass it as a tensor")
    return found


def _bound(limit: Any) -> int | None:
    return int(limit) if getattr(limit, "is_Integer", False) else None


def stored(program: Any, spec: Any) -> Any:
    """The parameter, buffer or constant that a placeholder stands for."""
    if spec.target in program.state_dict:
        return program.state_dict[spec.target]
    if spec.target in program.constants:
        return program.constants[spec.target]
    raise CaptureError(f"the captured program has no value for {spec.target} ({spec.kind.name.lower()})")


def _tensors(tree: Any) -> list[Any]:
    import torch
    from torch.utils import _pytree as pytree

    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _alike(a: Any, b: Any) -> bool:
    """Whether two results are the same but for rounding, and for axes of size 1 that `squeeze` takes away."""
    if a.numel() != b.numel() or [s for s in a.shape if s != 1] != [s for s in b.shape if s != 1]:
        return False
    if a.is_floating_point() or a.is_complex():
        return bool(a.reshape(-1).allclose(b.reshape(-1).to(a.dtype), rtol=1e-3, atol=1e-4, equal_nan=True))
    return bool((a.reshape(-1) == b.reshape(-1)).all())


def _check_open(placeholders: Sequence[Any], names: Sequence[str], axes: Sequence[Mapping[int, str]]) -> None:
    for node, name, opened in zip(placeholders, names, axes, strict=True):
        for axis, symbol in opened.items():
            size = node.meta["val"].shape[axis]
            if isinstance(size, int) or size.node.expr.is_number:
                raise CaptureError(
                    f"the model fixes axis {axis} of {name} to {size}: leave the dim {symbol} out of the open ones"
                )


def _symbol_names(
    placeholders: Sequence[Any], names: Sequence[str], axes: Sequence[Mapping[int, str]]
) -> dict[str, str]:
    """Captured symbol -> name: the caller's, else "batch" for an axis 0 that all share, else input and axis."""
    found: dict[str, str] = {}
    for node, opened in zip(placeholders, axes, strict=True):
        for axis, wanted in opened.items():
            symbol = symbol_of(node.meta["val"].shape[axis])
            if symbol is not None:
                found.setdefault(symbol, wanted)
    first = {symbol_of(n.meta["val"].shape[0]) for n in placeholders if n.meta["val"].dim()}
    if len(first) == 1 and (only := first.pop()) is not None and "batch" not in found.values():
        found.setdefault(only, "batch")
    for node, name in zip(placeholders, names, strict=True):
        for axis, size in enumerate(node.meta["val"].shape):
            symbol = symbol_of(size)
            if symbol is not None:
                found.setdefault(symbol, f"{name}_dim{axis}")
    return found


def _outputs(program: Any) -> list[tuple[str, int]]:
    """Name and leaf index of every output that is a tensor or number."""
    from torch.utils import _pytree as pytree

    specs = [s for s in program.graph_signature.output_specs if s.kind.name == "USER_OUTPUT"]
    structure = program.call_spec.out_spec
    # rebuilt from the captured (fake) values: a cache object, say, looks at what it is made of
    made = {n.name: n.meta.get("val") for n in program.graph.nodes}
    leaves = [made.get(getattr(s.arg, "name", None), getattr(s.arg, "value", None)) for s in specs]
    named: list[tuple[str, int]] = []
    for index, (path, _) in enumerate(pytree.tree_flatten_with_path(pytree.tree_unflatten(leaves, structure))[0]):
        keys = [key_text(k) for k in path]
        plain = not keys or keys[0].isdigit()
        name = "_".join((["output"] if plain else []) + keys)
        constant = getattr(specs[index].arg, "value", 0)
        if isinstance(constant, (str, bytes)):
            raise CaptureError(f"the output {name} is text ({constant!r}), which isn't computed: leave it out")
        if constant is not None:
            named.append((name, index))
    if len(named) == 1 and named[0][0] == "output_0":
        named = [("output", named[0][1])]
    return named
