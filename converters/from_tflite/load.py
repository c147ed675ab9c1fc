"""Loads TensorFlow Lite models: translation, and how the interpreter runs them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import (
    CaptureError,
    InputSpecError,
    MissingDependency,
)
from ...symbolic.spec import TensorSpec
from ...symbolic.tflite_ops.common import QUANTIZED
from ...symbolic.value import Value
from ...validation.inputs import choose_sizes, make_inputs
from ..base import Arrays, Frontend, Options, Source, named_shape, renamed, same_by_axis
from ..binding import as_spec, bind
from .graph import Walk, require
from .reader import Model, read_model
from .variables import Key, Variable, find_variables, unused, with_state


class TfliteFrontend(Frontend):
    """TensorFlow Lite: ``.tflite`` files, floats and integers."""

    name = "tflite"
    packages = ()  # files are read without TensorFlow
    extra = "tensorflow"

    def accepts(self, model: object) -> bool:
        """There are no live objects: a model is its file."""
        return False

    def load(self, model: Any, inputs: Any, options: Options) -> Source:
        """Reads a file."""
        if not isinstance(model, (str, Path)):
            raise InputSpecError("a TensorFlow Lite model is given by the path of its file")
        path = Path(model)
        found = read_model(path)
        own = [_label(found, i) for i in found.inputs]
        kept = [v for v in find_variables(found) if v.assigned is not None]
        for variable in kept:
            own.append(unused(variable.label, own))
        names = renamed(own, options.input_names, "input")
        specs = []
        for name, index in zip(names, found.inputs, strict=False):
            tensor = found.tensors[index]
            if not tensor.dtype:
                raise CaptureError(f"the input {name} has an element type that isn't supported")
            dims = named_shape(name, tensor.shape, first=index == found.inputs[0])
            specs.append(TensorSpec(name, tensor.dtype, dims))
        states = names[len(specs) :]
        for name, variable in zip(states, kept, strict=True):
            specs.append(TensorSpec(name, variable.initial.dtype.name, variable.initial.shape))
        initial = {n: v.initial for n, v in zip(states, kept, strict=True)}
        if initial and inputs is not None:
            inputs = _with_initial(inputs, names, initial)
        specs, samples = bind(specs, inputs, options.dynamic, names)
        source = TfliteSource(found, path, specs, options, dict(zip(states, kept, strict=True)))
        source.samples = samples
        return source


def _with_initial(inputs: Any, names: list[str], initial: Arrays) -> dict[str, Any]:
    """What the caller gave, and what variables hold before the first call where values are given without theirs."""
    if not isinstance(inputs, Mapping):
        listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        if len(listed) > len(names):
            raise InputSpecError(f"{len(listed)} inputs are given, the model takes {len(names)}: {', '.join(names)}")
        inputs = dict(zip(names, listed, strict=False))
    if all(value is None or as_spec(value, str(name)) is not None for name, value in inputs.items()):
        return dict(inputs)
    return {**initial, **inputs}


def _label(model: Model, index: int) -> str:
    """Name of an input or output: the signature's, else the tensor's."""
    name = model.names.get(index) or model.tensors[index].name.removeprefix("serving_default_").split(":")[0]
    return name.split("/")[-1] or f"tensor_{index}"


class TfliteSource(Source):
    """A TensorFlow Lite model.

    Integers are computed as the interpreter's reference kernels do it, bit by bit; its delegates (XNNPACK, on by
    default) round differently, so the comparison runs the reference kernels.

    Args:
        model: What the file holds.
        path: The file.
        specs: Inputs, under their names in the ONNX model.
        options: What the caller asked for.
        state: Variables that calls change, by the names of their inputs.
    """

    framework = "tflite"

    def __init__(
        self, model: Model, path: Path, specs: list[TensorSpec], options: Options, state: Mapping[str, Variable]
    ):
        self.model, self.path, self.specs, self.state = model, path, specs, state
        self.description = f"{path.name} (TensorFlow Lite, schema {model.version})"
        taken = {s.name for s in specs}
        own: list[str] = []
        for index in model.outputs:
            name = _label(model, index)
            own.append(name if name not in taken else f"{name}_out" if f"{name}_out" not in taken else f"out_{index}")
            taken.add(own[-1])
        for name in state:
            own.append(unused(f"{name}_next", [*taken, *own]))
        self.tensors = [*model.outputs, *(v.assigned for v in state.values() if v.assigned is not None)]
        self.output_names = renamed(own, options.output_names, "output")
        # integers must be equal, not near
        self.labels = [
            n for n, i in zip(self.output_names, self.tensors, strict=True) if "int" in model.tensors[i].dtype
        ]

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes for open dims, such as the interpreter takes.

        The file doesn't say which are equal, so the same axis of all inputs gets one size; convolutions over time
        may need far more than a few frames.
        """
        sizes = same_by_axis(self.specs, choose_sizes(self.specs, which, base))
        if base is None and sizes and importlib.util.find_spec("tensorflow") is not None:
            first = {s.shape[0] for s in self.specs if s.shape}
            for factor in (1, 16, 256):
                grown = {k: n if k in first else n * factor for k, n in sizes.items()}
                if self._fits(grown):
                    return grown
        return sizes

    def _fits(self, sizes: Mapping[str, int]) -> bool:
        try:
            self._interpreter(make_inputs(self.specs, sizes=sizes))
        except InputSpecError:
            return False
        return True

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays | None:
        """Quantised inputs over their whole range; variables as before the first call, then at random."""
        if self.samples is not None:
            return None
        quantized = [self.model.tensors[i].quantization for i in self.model.inputs]
        quantized += [v.quantization for v in self.state.values()]
        made = dict(make_inputs(self.specs, seed=seed, sizes=sizes))
        generator = np.random.default_rng(seed)
        for spec, found in zip(self.specs, quantized, strict=True):
            if found is not None and "int" in spec.dtype:
                limits = np.iinfo(spec.dtype)
                shape = made[spec.name].shape
                made[spec.name] = generator.integers(limits.min, limits.max, shape, spec.dtype, endpoint=True)
        return made | {n: v.initial for n, v in self.state.items()} if seed == 0 else made

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the model in the interpreter, without delegates; integers with its reference kernels.

        The interpreter keeps variables to itself. It is given the file with the wanted state in the place of the
        initial one, and what it assigns is read from the tensors that hold it.
        """
        interpreter = self._interpreter(inputs)
        interpreter.invoke()
        places = [d["index"] for d in interpreter.get_output_details()] + self.tensors[len(self.model.outputs) :]
        results = [interpreter.get_tensor(place) for place in places]
        return dict(zip(self.output_names, results, strict=True))

    def _interpreter(self, inputs: Mapping[str, np.ndarray]) -> Any:
        """An interpreter that has taken inputs and state."""
        if importlib.util.find_spec("tensorflow") is None:
            raise MissingDependency("tensorflow", "tensorflow", f"running {self.path} to compare with it")
        import tensorflow as tf

        kinds = tf.lite.experimental.OpResolverType
        integers = any(t.quantization is not None and t.array is None for t in self.model.tensors)
        resolver = kinds.BUILTIN_REF if integers else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        state: dict[Key, np.ndarray] = {v.key: inputs[name] for name, v in self.state.items()}
        how: dict[str, Any] = {
            "model_content": with_state(self.path, self.model, state) if state else self.path.read_bytes(),
            "experimental_preserve_all_tensors": bool(state),
        }
        try:
            interpreter = tf.lite.Interpreter(experimental_op_resolver_type=resolver, **how)
        except ValueError:  # an operator (ELU ...) has no reference kernel
            resolver = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            interpreter = tf.lite.Interpreter(experimental_op_resolver_type=resolver, **how)
        details = interpreter.get_input_details()
        arrays = [inputs[s.name] for s in self.specs[: len(details)]]
        for detail, array in zip(details, arrays, strict=True):
            interpreter.resize_tensor_input(detail["index"], array.shape)
        try:
            interpreter.allocate_tensors()
        except RuntimeError as error:
            shapes = ", ".join(str(list(a.shape)) for a in arrays)
            raise InputSpecError(f"the interpreter refuses inputs of the shapes {shapes}: {error}") from error
        for detail, array in zip(details, arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        return interpreter

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model operator by operator."""
        require(self.model, g.opset)
        given = [g.input(spec.name, spec.dtype, spec.shape) for spec in self.specs]
        count = len(self.model.inputs)
        walk = Walk(self.model, self._variables(g, given[count:]))
        results = walk.run(g, self.model.graphs[0], given[:count], self.tensors)
        for name, result in zip(self.output_names, results, strict=True):
            g.output(result, name)

    def _variables(self, g: GraphBuilder, given: list[Value]) -> dict[Key, Value]:
        """What variables hold: those that calls change, inputs; others, what they are set to at first."""
        held = {v.key: g.initializer(v.label, v.initial) for v in find_variables(self.model) if v.assigned is None}
        told: dict[str, object] = {}
        following = self.output_names[len(self.model.outputs) :]
        for value, (name, variable), after in zip(given, self.state.items(), following, strict=True):
            held[variable.key] = value
            if variable.quantization is not None:
                value.meta[QUANTIZED] = variable.quantization
            first = variable.initial
            even = bool(first.size) and bool((first == first.flat[0]).all())
            told[name] = {"next": after, "initial": first.flat[0].item() if even else first.tolist()}
        if told:
            g.metadata["anyonnx.state"] = json.dumps(told)
        return held
