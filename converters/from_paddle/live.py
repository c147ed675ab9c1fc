"""Captures live layers through to_static; the layer itself stays as it is."""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.spec import TensorSpec
from ..base import Options, identifier, renamed
from ..binding import as_array, as_spec, opened
from .pir import read_pir
from .program import Op, Program
from .source import PaddleSource

#: What Paddle raises where it can't trace or run a model.
FAILURES = (
    RuntimeError, ValueError, TypeError, AttributeError, AssertionError, KeyError, IndexError, NotImplementedError,
    SyntaxError, OSError,
)  # fmt: skip
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def capture_layer(layer: Any, inputs: Any, options: Options) -> PaddleSource:
    """The program of a layer in eval mode, with its weights.

    Raises:
        InputSpecError: The inputs don't fit the layer.
        CaptureError: to_static can't trace it.
    """
    arguments = Arguments(layer, inputs, options)
    with evaluating(layer):
        program, outputs = _trace(layer, arguments)
    own = _own_names(outputs)
    source = PaddleSource(
        program, arguments.specs, own, options, f"{type(layer).__name__} (paddle layer, in eval mode)",
        lambda arrays: _run(layer, arguments, arrays),
    )  # fmt: skip
    source.samples = arguments.samples
    return source


@contextmanager
def evaluating(layer: Any) -> Iterator[None]:
    """The layer in eval mode; afterwards every part is in the mode that it was in."""
    before = [(part, part.training) for part in layer.sublayers(include_self=True)]
    layer.eval()
    try:
        yield
    finally:
        for part, training in before:
            part.training = training


class Arguments:
    """The arguments of a layer's forward: nested lists and dicts whose leaves are inputs or plain Python values.

    Attributes:
        specs: Specs of the inputs under the names of the ONNX model.
        names: Their names in the program.
        samples: The caller's arrays by name, if they are all given.
    """

    def __init__(self, layer: Any, given: Any, options: Options):
        self.specs: list[TensorSpec] = []
        self.samples: dict[str, np.ndarray] | None = None
        arrays: list[np.ndarray | None] = []
        self.tree: dict[str, Any] = {name: self._leaves(value, name, arrays) for name, value in _named(layer, given)}
        self.names = [s.name for s in self.specs]
        if len(set(self.names)) < len(self.names):
            raise InputSpecError(f"two inputs have one name: {', '.join(self.names)}")
        for key, axes in (options.dynamic or {}).items():
            index = key if isinstance(key, int) else self.names.index(key) if key in self.names else -1
            if not 0 <= index < len(self.specs):
                raise InputSpecError(f"dynamic names input {key}; the inputs are {', '.join(self.names)}")
            self.specs[index] = opened(self.specs[index], axes, fixed=False)
        names = renamed(self.names, options.input_names, "input")
        self.specs = [TensorSpec(n, s.dtype, s.shape) for n, s in zip(names, self.specs, strict=True)]
        if arrays and all(a is not None for a in arrays):
            self.samples = dict(zip(names, (a for a in arrays if a is not None), strict=True))

    def _leaves(self, value: Any, name: str, arrays: list[np.ndarray | None]) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._leaves(v, f"{name}_{i}", arrays) for i, v in enumerate(value))
        if isinstance(value, Mapping):
            return {k: self._leaves(v, f"{name}_{k}", arrays) for k, v in value.items()}
        spec = as_spec(value, name)
        if spec is None and (value is None or isinstance(value, (bool, int, float))):
            return value
        if spec is None:
            array = as_array(value)
            spec = TensorSpec(name, str(array.dtype), array.shape)
            arrays.append(array)
        else:
            arrays.append(None)
        self.specs.append(spec)
        return _Leaf(len(self.specs) - 1)

    def filled(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """The arguments with `leaves` in the places of the inputs."""

        def fill(value: Any) -> Any:
            if isinstance(value, _Leaf):
                return leaves[value.index]
            if isinstance(value, (list, tuple)):
                return type(value)(fill(v) for v in value)
            return {k: fill(v) for k, v in value.items()} if isinstance(value, dict) else value

        return {name: fill(value) for name, value in self.tree.items()}


class _Leaf:
    """Place of an input among the arguments."""

    def __init__(self, index: int):
        self.index = index


def _named(layer: Any, given: Any) -> list[tuple[str, Any]]:
    """The caller's inputs by parameter name of forward."""
    forward = layer.forward
    static = getattr(forward, "_function_spec", None)
    if given is None:
        given = list(getattr(static, "input_spec", None) or ())
        if not given:
            raise InputSpecError(
                "a layer needs inputs: arrays, paddle.static.InputSpec, or spec text such as 'x:float32[batch,3,32,32]'"
            )
    signature = inspect.signature(getattr(forward, "dygraph_function", forward))
    parameters = [p for n, p in signature.parameters.items() if n != "self"]
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        raise CaptureError("forward takes *args, which to_static can't trace: give it a fixed number of arguments")
    names = [p.name for p in parameters]
    if isinstance(given, Mapping):
        unknown = [k for k in given if k not in names]
        if unknown:
            raise InputSpecError(f"forward has no argument {', '.join(unknown)}; it takes {', '.join(names)}")
        return list(given.items())
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(listed) > len(names):
        raise InputSpecError(f"{len(listed)} inputs are given, forward takes {len(names)}: {', '.join(names)}")
    return list(zip(names, listed, strict=False))


def _trace(layer: Any, arguments: Arguments) -> tuple[Program, list[tuple[str, Any]]]:
    import paddle
    from paddle.jit.dy2static.utils import Dygraph2StaticException
    from paddle.static import InputSpec

    specs = [
        InputSpec([None if isinstance(s, str) else s for s in spec.shape], spec.dtype, name)
        for name, spec in zip(arguments.names, arguments.specs, strict=True)
    ]
    forward = layer.forward
    # a layer that is traced already is traced again from its own function, for the sizes that are asked for now
    function = getattr(forward, "dygraph_function", forward)
    function = function if inspect.ismethod(function) else function.__get__(layer)
    with tempfile.TemporaryDirectory(prefix="anyonnx-paddle-") as folder:
        path = Path(folder) / "program.json"
        try:
            static = paddle.jit.to_static(function, full_graph=True)
            traced = static.get_concrete_program(**arguments.filled(specs))[0]
            results = traced.outputs
            if isinstance(results, list) and len(results) == 1:  # what isn't a list is wrapped into one
                results = results[0]
            outputs = list(named_leaves(results, lambda v: type(v).__name__ == "Value"))
            mapping = paddle.pir.IrMapping()
            copy = traced.main_program.clone(mapping)
            with paddle.static.program_guard(copy), _static_mode():
                for i, (name, value) in enumerate(outputs):
                    paddle._pir_ops.fetch(mapping.look_up(value), name or "output", i)
            paddle.core.serialize_pir_program(copy, str(path), True, True, True)
            program = read_pir(path)
        except (*FAILURES, Dygraph2StaticException) as error:
            text = str(error).strip()
            raise CaptureError(f"Paddle's to_static can't trace {type(layer).__name__}: {text[-2000:]}") from error
    for op, live in zip(program.block.walk(), _walk(copy.global_block()), strict=False):
        _add_line(op, live)
    for tensor in traced.parameters[0]:  # by its own name: values of unused ones are gone, touching them is fatal
        if tensor._is_initialized():
            program.parameters[tensor.name] = weight(tensor)
    order = {n: i for i, n in enumerate(arguments.names)}
    data = [op for op in program.block.ops if op.name == "pd_op.data"]
    rest = [op for op in program.block.ops if op.name != "pd_op.data"]
    program.block.ops = sorted(data, key=lambda op: order.get(op.attributes["name"], -1)) + rest
    return program, outputs


@contextmanager
def _static_mode() -> Iterator[None]:
    import paddle

    dynamic = paddle.in_dynamic_mode()
    paddle.enable_static()
    try:
        yield
    finally:
        if dynamic:
            paddle.disable_static()


def _walk(block: Any) -> Iterator[Any]:
    for op in block.ops:
        yield op
        for inner in op.blocks():
            yield from _walk(inner)


def _add_line(op: Op, live: Any) -> None:
    """Adds the user's source line to the place of an op."""
    stack = live.attrs().get("op_callstack") if live.name() == op.name else None
    frames = [f for text in stack or () for f in _FRAME.findall(text)]
    outside = [f for f in frames if "/paddle/" not in f[0].replace("\\", "/")]
    if outside:
        op.place = f"{op.place} ({re.split(r'[/]', outside[-1][0])[-1]}:{outside[-1][1]})"


def weight(tensor: Any) -> np.ndarray:
    """The contents of a Paddle tensor."""
    array: np.ndarray = tensor.numpy()
    if str(tensor.dtype).endswith("bfloat16"):
        import ml_dtypes

        array = array.view(ml_dtypes.bfloat16)
    return array


def named_leaves(value: Any, is_leaf: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Tensors in nested outputs, with names made of keys and indices."""
    if is_leaf(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from named_leaves(one, is_leaf, f"{name}_{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for i, one in enumerate(value):
            yield from named_leaves(one, is_leaf, f"{name}_{i}" if name else f"output_{i}")


def _own_names(outputs: list[tuple[str, Any]]) -> list[str]:
    if not outputs:
        raise CaptureError("the layer gives no tensor")
    return [identifier(name) or "output" for name, _ in outputs]


def _run(layer: Any, arguments: Arguments, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    import paddle

    tensors = [paddle.to_tensor(a) for a in arrays]
    with evaluating(layer), paddle.no_grad():
        try:
            results = layer(**arguments.filled(tensors))
        except FAILURES as error:
            raise CaptureError(f"Paddle can't run {type(layer).__name__}: {str(error).strip()[-1000:]}") from error
    return [weight(t) for _, t in named_leaves(results, lambda v: type(v).__name__ == "Tensor")]
