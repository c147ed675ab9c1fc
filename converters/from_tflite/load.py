"""Loads TensorFlow Lite models: translation, and how the interpreter runs them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder, as_dtype
from ...symbolic.errors import (
    CaptureError,
    InputSpecError,
    MissingDependency,
    MissingOp,
    TranslationError,
    UnsupportedOps,
)
from ...symbolic.registry import registry
from ...symbolic.spec import TensorSpec
from ...symbolic.tflite_ops.common import DIALECT, QUANTIZED
from ...symbolic.value import Value
from ...validation.inputs import choose_sizes
from ..base import Arrays, Frontend, Options, Source, renamed
from ..binding import bind
from .reader import DTYPES, Model, Operator, read_model


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
        names = renamed([_label(found, i) for i in found.inputs], options.input_names, "input")
        specs = []
        for name, index in zip(names, found.inputs, strict=True):
            tensor = found.tensors[index]
            if not tensor.dtype:
                raise CaptureError(f"the input {name} has an element type that isn't supported")
            dims = tuple(_dim(name, a, s, first=index == found.inputs[0]) for a, s in enumerate(tensor.shape))
            specs.append(TensorSpec(name, tensor.dtype, dims))
        specs, samples = bind(specs, inputs, options.dynamic, names)
        source = TfliteSource(found, path, specs, options)
        source.samples = samples
        return source


def _label(model: Model, index: int) -> str:
    """Name of an input or output: the signature's, else the tensor's."""
    name = model.names.get(index) or model.tensors[index].name.removeprefix("serving_default_").split(":")[0]
    return name.split("/")[-1] or f"tensor_{index}"


def _dim(name: str, axis: int, size: int | None, *, first: bool) -> int | str:
    if size is not None:
        return size
    stem = "".join(c if c.isalnum() else "_" for c in name)
    return "batch" if axis == 0 and first else f"{stem}_dim{axis}"


class TfliteSource(Source):
    """A TensorFlow Lite model.

    Integers are computed as the interpreter's reference kernels do it, bit by bit; its delegates (XNNPACK, on by
    default) round differently, so the comparison runs the reference kernels.

    Args:
        model: What the file holds.
        path: The file.
        specs: Inputs, under their names in the ONNX model.
        options: What the caller asked for.
    """

    framework = "tflite"

    def __init__(self, model: Model, path: Path, specs: list[TensorSpec], options: Options):
        self.model, self.path, self.specs = model, path, specs
        self.description = f"{path.name} (TensorFlow Lite, schema {model.version})"
        taken = {s.name for s in specs}
        own: list[str] = []
        for index in model.outputs:
            name = _label(model, index)
            own.append(name if name not in taken else f"{name}_out" if f"{name}_out" not in taken else f"out_{index}")
            taken.add(own[-1])
        self.output_names = renamed(own, options.output_names, "output")
        # integers must be equal, not near
        self.labels = [
            n for n, i in zip(self.output_names, model.outputs, strict=True) if "int" in model.tensors[i].dtype
        ]

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes for open dims; the file doesn't say which are equal, so the same axis of all inputs gets one size."""
        sizes = choose_sizes(self.specs, which, base)
        by_axis: dict[int, int] = {}
        for spec in self.specs:
            for axis, symbol in enumerate(spec.shape):
                if isinstance(symbol, str):
                    sizes[symbol] = by_axis.setdefault(axis, sizes[symbol])
        return sizes

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the model in the interpreter, without delegates; integers with its reference kernels."""
        if importlib.util.find_spec("tensorflow") is None:
            raise MissingDependency("tensorflow", "tensorflow", f"running {self.path} to compare with it")
        import tensorflow as tf

        kinds = tf.lite.experimental.OpResolverType
        integers = any(t.quantization is not None and t.array is None for t in self.model.tensors)
        resolver = kinds.BUILTIN_REF if integers else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = tf.lite.Interpreter(str(self.path), experimental_op_resolver_type=resolver)
        details = interpreter.get_input_details()
        arrays = [inputs[s.name] for s in self.specs]
        for detail, array in zip(details, arrays, strict=True):
            interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
        for detail, array in zip(details, arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        results = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
        return dict(zip(self.output_names, results, strict=True))

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model operator by operator."""
        self._require(g.opset)
        values: dict[int, Value | None] = {-1: None}
        for index, spec in zip(self.model.inputs, self.specs, strict=True):
            values[index] = g.input(spec.name, spec.dtype, spec.shape)
        for index, tensor in enumerate(self.model.tensors):
            if tensor.array is not None and index not in values:
                large = tensor.array.size > 64 or tensor.array.ndim > 2
                values[index] = g.initializer(tensor.name, tensor.array) if large else g.constant(tensor.array)
        for index, value in values.items():
            if value is not None and self.model.tensors[index].quantization is not None:
                value.meta[QUANTIZED] = self.model.tensors[index].quantization
        for number, operator in enumerate(self.model.operators):
            with g.at(self._place(number, operator)):
                self._operator(g, operator, values)
        for name, index in zip(self.output_names, self.model.outputs, strict=True):
            result = values.get(index)
            if result is None:
                raise CaptureError(f"nothing gives the output {name}")
            g.output(result, name)

    def _operator(self, g: GraphBuilder, operator: Operator, values: dict[int, Value | None]) -> None:
        row = registry.lookup(DIALECT, operator.name, g.opset)
        assert row is not None
        missing = [i for i in operator.inputs if i not in values]
        if missing:
            raise CaptureError(f"{operator.name} takes a tensor that nothing gives (at {g.location})")
        told = [self.model.tensors[i] for i in operator.outputs]
        options = dict(operator.options)
        for key in ("output_type", "out_type"):
            if key in options:
                options[key] = as_dtype(DTYPES[int(options[key])])
        options["results"] = [(as_dtype(t.dtype), t.quantization) for t in told]
        found = run_symbolic(row, g, [values[i] for i in operator.inputs], options, len(told))
        if found is None:
            raise TranslationError("these operands aren't supported", op=operator.name, location=g.location)
        for index, tensor, value in zip(operator.outputs, told, found, strict=True):
            if value is None:
                continue
            if value.is_constant or QUANTIZED in value.meta:
                value = _apart(g, value, tensor.quantization)
            g.expect(value, tensor.dtype, None)
            if tensor.quantization is not None:
                value.meta[QUANTIZED] = tensor.quantization
            g.mark(value, str(index))
            values[index] = value

    def _place(self, number: int, operator: Operator) -> str:
        names = [self.model.tensors[i].name for i in operator.outputs[:1]]
        return f"operator {number} ({names[0] if names else operator.name})"

    def _require(self, opset: int) -> None:
        missing: dict[tuple[str, str], list[str]] = {}
        for number, operator in enumerate(self.model.operators):
            reason = ""
            if registry.lookup(DIALECT, operator.name, opset) is not None:
                if all(self.model.tensors[i].dtype for i in (*operator.inputs, *operator.outputs) if i >= 0):
                    continue
                reason = "tensors of this element type aren't supported"
            missing.setdefault((operator.name, reason), []).append(self._place(number, operator))
        if missing:
            raise UnsupportedOps(
                [MissingOp(DIALECT, op, len(at), tuple(at[:3]), why) for (op, why), at in missing.items()]
            )


def _apart(g: GraphBuilder, value: Value, quantization: Any) -> Value:
    """A value of its own where another tensor's value would get this one's quantisation."""
    if quantization is None or value.meta.get(QUANTIZED) is quantization:
        return value
    known = value.meta.get(QUANTIZED)
    if known is not None and known.same(quantization):
        return value
    if not value.is_constant:
        raise TranslationError("a tensor would have two quantisations", location=g.location)
    array = value.array
    assert array is not None
    return g.initializer("", ir.Tensor(array))
