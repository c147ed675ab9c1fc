"""TorchScript: loads and runs it; `script_graph` translates it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Dim
from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec, parse_spec
from ...symbolic.value import Value
from ..base import Arrays, Options, Source, renamed
from . import complex_nodes
from .capture import FAILURES, plain_attention
from .graph import onnx_dtype
from .inputs import Arguments, bind
from .script_graph import ScriptWalk
from .script_numbers import FLOAT, as_value, is_number
from .script_program import Block, read_graph
from .script_values import Items, Record, Table, Tensor, leaves
from .weights import to_numpy, to_torch

STATES = ("carry", "fresh")
_NUMBERS = {"int": "int64", "float": "float64", "bool": "bool"}


def load_script(path: Path) -> Any:
    """The module in a TorchScript archive, in evaluation mode."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.jit.load(str(path), map_location="cpu").eval()
        except (*FAILURES, OSError) as error:
            raise CaptureError(f"torch.jit can't load {path}: {str(error).strip().splitlines()[0]}") from error


def scripted(module: Any) -> Any:
    """A module compiled by torch.jit.script, in evaluation mode; the module's own mode is restored."""
    import torch

    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.script(module).eval()
    except (*FAILURES, OSError, torch.jit.frontend.FrontendError) as error:
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise CaptureError(f"torch.jit.script can't compile {type(module).__name__}: {text}") from error
    finally:
        for child, mode in modes:
            child.training = mode


def script_source(
    module: Any, inputs: Any, options: Options, description: str, original: Any = None
) -> ScriptSource:  # fmt: skip
    """A TorchScript module with its inputs.

    Args:
        module: The ``ScriptModule``.
        inputs: What the caller gave.
        options: What the caller asked for.
        description: One line for people.
        original: The module that it was compiled from, if any: the result is compared with that.

    Raises:
        InputSpecError: The inputs or options don't fit its method.
        CaptureError: It fails on these inputs, or changes its state and nothing is said about that.
    """
    state = options.extra.get("state") or ""
    if state and state not in STATES:
        raise InputSpecError(f"the state {state!r} is none of {', '.join(STATES)}")
    name = options.extra.get("method") or "forward"
    if name not in module._c._method_names():
        known = ", ".join(sorted(n for n in module._c._method_names() if not n.startswith("_")))
        raise InputSpecError(f"the TorchScript module has no method {name}; it has {known}")
    method = getattr(module, name)
    program = read_graph(method.graph)
    attributes = _set_attributes(program, module)
    given, states = _split_states(inputs, attributes, state)
    opened = {k: axes for k, axes in (options.dynamic or {}).items() if k not in states}
    for name, carried in states.items():
        carried.open((options.dynamic or {}).get(name, {}))
    arguments = bind(_Signature(method), given, opened or None)
    source = ScriptSource(module, method, program, arguments, states, options, description or "TorchScript (torch)")
    source.original = None if state or method.name != "forward" else original
    return source


class _Signature:
    """A method's schema as the signature of a ``forward``."""

    def __init__(self, method: Any):
        parameters = []
        for argument in method.schema.arguments[1:]:
            default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
            parameters.append(
                inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
            )
        signature = inspect.Signature(parameters)

        def forward(*args: Any, **kwargs: Any) -> None:
            """Has the signature, and is never called."""

        forward.__signature__ = signature  # type: ignore[attr-defined]
        self.forward = forward


# --- state -----------------------------------------------------------------------------------------------------------


def _set_attributes(program: Block, module: Any) -> dict[str, Any]:
    """Attributes of modules that the program sets somewhere, with their values."""
    where: dict[int, Any] = {program.inputs[0]: ("", module._c)}
    found: dict[str, Any] = {}
    for op in program.all_ops():
        if op.kind not in ("prim::GetAttr", "prim::SetAttr") or op.inputs[0] not in where:
            continue
        path, native = where[op.inputs[0]]
        name = op.node.s("name")
        full = f"{path}.{name}" if path else name
        if op.kind == "prim::SetAttr":
            found[full] = native.getattr(name)
        elif op.node.output().type().kind() == "ClassType":
            where[op.outputs[0]] = (full, native.getattr(name))
    return found


@dataclass
class Carried:
    """An attribute that is an input and an output.

    Attributes:
        spec: Its spec.
        sample: Value for the comparison, where one is given.
    """

    spec: TensorSpec
    sample: np.ndarray | None = None

    def open(self, axes: Mapping[int, str]) -> None:
        """Names open axes."""
        shape = [axes.get(i, s) for i, s in enumerate(self.spec.shape)]
        self.spec = TensorSpec(self.spec.name, self.spec.dtype, tuple(shape))


def _split_states(inputs: Any, attributes: Mapping[str, Any], state: str) -> tuple[Any, dict[str, Carried]]:
    """Inputs without those that describe attributes, and the attributes that are carried."""
    import torch

    tensors = {n: v for n, v in attributes.items() if isinstance(v, torch.Tensor)}
    rest: Any = inputs
    described: dict[str, Any] = {}
    if isinstance(inputs, Mapping):
        described = {n: v for n, v in inputs.items() if n in tensors}
        rest = {n: v for n, v in inputs.items() if n not in tensors}
    elif isinstance(inputs, (tuple, list)):
        parsed = [_spec_of(v) for v in inputs]
        described = {s.name: s for s in parsed if s is not None and s.name in tensors}
        rest = [v for v, s in zip(inputs, parsed, strict=True) if s is None or s.name not in described]
    if described and state != "carry":
        raise InputSpecError(f"{', '.join(described)}: an attribute is an input only with --state carry")
    if state != "carry":
        return rest, {}
    if not tensors:
        raise InputSpecError("--state carry: the method sets no tensor attribute")
    return rest, {name: _carried(name, value, described.get(name)) for name, value in tensors.items()}


def _carried(name: str, value: Any, given: Any) -> Carried:
    spec = _spec_of(given)
    if spec is not None:
        return Carried(TensorSpec(name, spec.dtype, spec.shape))
    sample = to_numpy(value if given is None else given)
    own = TensorSpec(name, sample.dtype.name, tuple(sample.shape))
    return Carried(own, sample)


def _spec_of(value: Any) -> TensorSpec | None:
    if isinstance(value, str) and set(value) & set(":["):
        return parse_spec(value, "")
    return value if isinstance(value, TensorSpec) else None


# --- the source ------------------------------------------------------------------------------------------------------


class ScriptSource(Source):
    """A TorchScript method.

    Args:
        module: The ``ScriptModule``.
        method: The method.
        program: Its graph.
        arguments: What it is called with.
        states: Attributes that are inputs and outputs.
        options: What the caller asked for.
        description: One line for people.
    """

    framework = "torch"
    original: Any = None

    def __init__(
        self, module: Any, method: Any, program: Block, arguments: Arguments, states: Mapping[str, Carried],
        options: Options, description: str,
    ):  # fmt: skip
        self.module, self.method, self.program = module, method, program
        self.arguments, self.states, self.description = arguments, dict(states), description
        self.keeps_state = options.extra.get("state") == "fresh"
        plain = [*arguments.names, *(n.replace(".", "_") for n in states)]
        self.input_names = renamed(plain, options.input_names, "input")
        self.specs = self._specs()
        self._initial = _State(module, _set_attributes(program, module))
        self._kinds = _number_inputs(method, arguments)
        self.samples = self._samples()
        outputs = self._first_run()
        self._places = [path for path, _ in outputs]
        if not outputs:
            raise CaptureError("the model returns no tensor")
        own = _output_names([p for p, _ in outputs], set(self.input_names))
        own += [f"{n.replace('.', '_')}_out" for n in states]
        self.output_names = renamed(own, options.output_names, "output")

    def _specs(self) -> list[TensorSpec]:
        specs = []
        for name, (leaf, tensor), axes in zip(
            self.input_names, self.arguments.tensors.items(), self.arguments.axes, strict=False
        ):
            if onnx_dtype(tensor.dtype) is None or tensor.is_quantized:
                raise InputSpecError(f"the input {leaf} is {tensor.dtype}, which ONNX doesn't have")
            shape = tuple(axes.get(i, s) for i, s in enumerate(tensor.shape))
            specs.append(TensorSpec(name, str(tensor.dtype).removeprefix("torch."), shape))
        for name, carried in zip(self.input_names[len(specs) :], self.states.values(), strict=True):
            specs.append(TensorSpec(name, carried.spec.dtype, carried.spec.shape))
        return specs

    def _samples(self) -> Arrays | None:
        states = [c.sample for c in self.states.values()]
        if self.arguments.made_up or any(s is None for s in states):
            return None
        given = [*(to_numpy(t) for t in self.arguments.tensors.values()), *(s for s in states if s is not None)]
        return {s.name: array for s, array in zip(self.specs, given, strict=True)}

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays | None:
        """For the second set: the caller's arrays, shifted, cut or repeated to other sizes, with a little noise.

        What a loop or branch of the model does depends on the values: they stay like those that were given.
        """
        if self.samples is None:
            return None
        generator = np.random.default_rng(seed)
        made = {}
        for spec in self.specs:
            array = self.samples[spec.name]
            if _is_ordered(array) and array.shape == spec.sized(sizes):
                made[spec.name] = array  # offsets, say, would no longer be any
                continue
            for axis, size in enumerate(spec.sized(sizes)):
                have = array.shape[axis]
                array = np.take(array, (np.arange(size) + have // 3) % have, axis) if have else array
            if array.dtype.kind == "f" and array.size > 1:
                scale = 0.01 * float(array.astype(np.float64).std())
                array = (array + generator.normal(0, scale, array.shape)).astype(array.dtype)
            made[spec.name] = np.ascontiguousarray(array).reshape(spec.sized(sizes))
        return made

    def _first_run(self) -> list[tuple[tuple[Any, ...], Any]]:
        """Runs once, to see what comes out."""
        from ...validation.inputs import make_inputs

        inputs = self.samples
        if inputs is None:
            inputs = make_inputs(self.specs, sizes=self.choose_sizes(0))
        result, _ = self._call(inputs)
        return [(path, leaf) for path, leaf in _result_leaves(result) if leaf is not None]

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the method from the state that the file has; of a compiled module, the module itself."""
        result, states = self._call(inputs)
        found = dict(_result_leaves(result))
        if self.original is not None:
            # compiled, a module may return more around the same tensors
            given = [leaf for leaf in found.values() if leaf is not None]
            if len(given) != len(self._places):
                raise CaptureError(f"compiled, the module returns {len(self._places)} tensors, else {len(given)}")
            found = dict(zip(self._places, given, strict=True))
        values = [found.get(path) for path in self._places]
        missing = [n for n, v in zip(self.output_names, values, strict=False) if v is None]
        if missing:
            raise CaptureError(f"the model gives no {', '.join(missing)} for these inputs")
        arrays = [_array(v) for v in values] + [to_numpy(s) for s in states]
        return dict(zip(self.output_names, arrays, strict=True))

    def _call(self, inputs: Mapping[str, np.ndarray]) -> tuple[Any, list[Any]]:
        import torch
        from torch.utils import _pytree as pytree

        tensors = [to_torch(inputs[s.name]) for s in self.specs]
        count = len(self.arguments.names)
        leaves_, structure = pytree.tree_flatten((self.arguments.args, self.arguments.kwargs))
        given = iter(t.item() if kind else t for t, kind in zip(tensors[:count], self._kinds, strict=True))
        filled = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves_]
        args, kwargs = pytree.tree_unflatten(filled, structure)
        with torch.no_grad(), plain_attention(), warnings.catch_warnings(), self._initial.restored():
            warnings.simplefilter("ignore")
            for name, tensor in zip(self.states, tensors[count:], strict=True):
                _set(self.module, name, tensor)
            try:
                result = self._run_original(args, kwargs) if self.original is not None else self.method(*args, **kwargs)
            except (*FAILURES, torch.jit.Error) as error:
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                raise CaptureError(
                    f"the TorchScript model fails on these inputs: {lines[-1] if lines else error}"
                ) from error
            states = [_get(self.module, name).clone() for name in self.states]
        return result, states

    def _run_original(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        modes = [(m, m.training) for m in self.original.modules()]
        self.original.eval()
        try:
            return self.original(*args, **kwargs)
        finally:
            for child, mode in modes:
                child.training = mode

    # --- translating -------------------------------------------------------------------------------------------------

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model from the graph of the method."""
        import torch
        from torch.utils import _pytree as pytree

        walk = ScriptWalk(g, self.module._c, self.program)
        values = [
            complex_nodes.as_input(g, s.name, s.dtype, [Dim(d) if isinstance(d, str) else d for d in s.shape])
            for s in self.specs
        ]
        given = iter(zip(values, self._kinds, strict=False))

        def argument(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            value, kind = next(given)
            return value if kind else Tensor(value, 1)

        leaves_, structure = pytree.tree_flatten((self.arguments.args, self.arguments.kwargs))
        args, kwargs = pytree.tree_unflatten([argument(leaf) for leaf in leaves_], structure)
        bound = inspect.signature(_Signature(self.method).forward).bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in zip(self.states, values[len(self._kinds) :], strict=True):
            holder, attribute = _holder(walk, name)
            holder.loaded[attribute] = Tensor(value, 0, name)
        result = walk.run([walk.adopted(v) for v in bound.arguments.values()])
        changed = _changed(walk)
        kept = [n for n in changed if n not in self.states and not _only_warns(self.program, n)]
        if kept and not self.states and not self.keeps_state:
            raise CaptureError(
                f"the method changes {', '.join(sorted(kept))}: an ONNX model keeps no state between runs. Say --state "
                "carry (state='carry') to make its tensors inputs and outputs, or --state fresh to start every run "
                "from the values in the file"
            )
        lost = [n for n in kept if changed[n]] if self.states else []
        if lost:
            raise CaptureError(f"the method changes {', '.join(sorted(lost))} in place, which can't be carried")
        self._write_outputs(walk, result)

    def _write_outputs(self, walk: ScriptWalk, result: Any) -> None:
        found = dict(leaves(result))
        for name, path in zip(self.output_names, self._places, strict=False):
            value = found.get(path)
            if isinstance(value, Tensor):
                walk.g.output(complex_nodes.as_output(walk.g, walk.read(value)), name)
            elif value is not None and is_number(value):
                walk.g.output(as_value(walk.g, value), name)
            else:
                raise CaptureError(f"the output {name} is a {type(value).__name__} in the converted model")
        for name, state in zip(self.output_names[len(self._places) :], self.states, strict=True):
            holder, attribute = _holder(walk, state)
            value = holder.items.get(attribute, holder.loaded[attribute])
            walk.g.output(walk.read(value), name)


def _number_inputs(method: Any, arguments: Arguments) -> list[bool]:
    """Which tensors stand for numbers: a spec or array was given for a parameter of type int, float or bool."""
    types = {a.name: str(a.type) for a in method.schema.arguments[1:]}
    return [types.get(name) in _NUMBERS for name in arguments.names]


def _output_names(paths: Sequence[tuple[Any, ...]], taken: set[str]) -> list[str]:
    names = []
    for path in paths:
        keys = [str(k) for k in path]
        name = "_".join((["output"] if not keys or keys[0].isdigit() else []) + keys)
        names.append(f"{name}_out" if name in taken else name)
    return ["output"] if names == ["output_0"] else names


def _result_leaves(result: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Tensors and numbers in what torch returned, with their places."""
    import torch

    for path, leaf in leaves(result):
        if isinstance(leaf, (torch.Tensor, bool, int, float)):
            yield path, leaf
        elif leaf is not None:
            raise CaptureError(f"the model returns a {type(leaf).__name__}, which ONNX doesn't have")


def _array(value: Any) -> np.ndarray:
    if isinstance(value, float):
        return np.asarray(value, FLOAT.numpy())
    return to_numpy(value)


# --- attributes of the module ----------------------------------------------------------------------------------------


def _native(module: Any, path: str) -> tuple[Any, str]:
    *outer, name = path.split(".")
    native = module._c
    for part in outer:
        native = native.getattr(part)
    return native, name


def _get(module: Any, path: str) -> Any:
    native, name = _native(module, path)
    return native.getattr(name)


def _set(module: Any, path: str, value: Any) -> None:
    native, name = _native(module, path)
    native.setattr(name, value)


def _is_ordered(array: np.ndarray) -> bool:
    """Whether it is a row of whole numbers none of which is smaller than the one before."""
    return array.ndim == 1 and array.dtype.kind in "iu" and array.size > 1 and bool(np.all(np.diff(array) >= 0))


class _State:
    """What a module's changing attributes and buffers held when it was loaded."""

    def __init__(self, module: Any, attributes: Mapping[str, Any]):
        self._module = module
        self._values = {n: _copied(v) for n, v in attributes.items()}
        self._buffers = {n: (b, b.detach().clone()) for n, b in module.named_buffers()}

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Starts from the first state, and comes back to it."""
        import torch

        try:
            for name, value in self._values.items():
                _set(self._module, name, _copied(value))
            yield
        finally:
            for name, value in self._values.items():
                _set(self._module, name, _copied(value))
            with torch.no_grad():
                for buffer, first in self._buffers.values():
                    if buffer._version and not torch.equal(buffer, first):
                        buffer.copy_(first)


def _copied(value: Any) -> Any:
    import torch

    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _holder(walk: ScriptWalk, path: str) -> tuple[Record, str]:
    *outer, name = path.split(".")
    record = walk.root
    for part in outer:
        record = walk.loaded(record, part)
    return record, name


def _changed(walk: ScriptWalk) -> dict[str, bool]:
    """Paths of attributes that hold something else than at first, and whether it is a tensor changed in place."""
    found: dict[str, bool] = {}
    seen: set[int] = set()

    def visit(record: Record) -> None:
        if id(record) in seen or record.path is None:
            return
        seen.add(id(record))
        for name, value in record.items.items():
            first = walk.loaded(record, name)
            if not _same(value, first):
                found[f"{record.path}.{name}" if record.path else name] = False
        for name, value in list(record.loaded.items()):
            full = f"{record.path}.{name}" if record.path else name
            if isinstance(value, Record):
                visit(value)
            elif isinstance(value, (Tensor, Items, Table)) and value.contents() != walk.first.get(id(value)):
                found.setdefault(full, True)

    visit(walk.root)
    return found


def _only_warns(program: Block, path: str) -> bool:
    """Whether an attribute of that name is read only to decide whether to warn once more."""
    name = path.rpartition(".")[2]
    ops = list(program.all_ops())
    read = {o for op in ops if op.kind == "prim::GetAttr" and op.node.s("name") == name for o in op.outputs}
    for op in ops:  # in the order of the program: what is made from them comes later
        if not read.intersection(op.inputs):
            continue
        if op.kind == "aten::__not__":
            read.update(op.outputs)
        elif op.kind != "prim::If" or op.outputs or not all(_silent(block, name) for block in op.blocks):
            return False
    return True


def _silent(block: Block, name: str) -> bool:
    kinds = ("prim::Constant", "aten::warn", "prim::Print", "aten::format")
    return all(op.kind in kinds or (op.kind == "prim::SetAttr" and op.node.s("name") == name) for op in block.ops)


def _same(value: Any, first: Any) -> bool:
    """Whether an attribute holds what it held at first, if in another list."""
    if value is first:
        return True
    now, before = dict(leaves(value)), dict(leaves(first))
    return list(now) == list(before) and all(_same_leaf(now[path], before[path]) for path in now)


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.value is b.value
    return a is b or (not isinstance(a, (Tensor, Record, Value)) and type(a) is type(b) and bool(a == b))
