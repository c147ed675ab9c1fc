"""Loads Keras models: files without Keras, and live models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError, InputSpecError
from ...symbolic.keras_layers.layer import MODELS, Layer, read_layer
from ...symbolic.keras_layers.model import output_refs
from ...symbolic.keras_layers.variables import model_layers, variables
from ...symbolic.spec import TensorSpec, parse_spec
from ..base import Frontend, Options, named_shape, type_names
from ..files import sniff
from .files import archive_weights, h5_weights, read_model
from .live import live_weights, serialised
from .source import KerasSource

_MODEL = "keras.src.models.model.Model"


class KerasFrontend(Frontend):
    """Keras: ``.keras`` and ``.h5`` files, Functional and Sequential models."""

    name = "keras"
    packages = ()  # files are read without Keras; h5py is asked for when one is
    extra = "keras"

    def accepts(self, model: object) -> bool:
        """Whether it is a Keras model."""
        return _MODEL in type_names(model)

    def load(self, model: Any, inputs: Any, options: Options) -> KerasSource:
        """Reads a file or a live model."""
        if isinstance(model, (str, Path)):
            return _from_file(Path(model), inputs, options)
        if _MODEL not in type_names(model):
            raise InputSpecError(f"a {type_names(model)[0]} is no Keras model")
        layer = read_layer(serialised(model))
        specs, samples = described(layer, inputs, options)
        tensors = live_weights(model, variables(layer))
        source = KerasSource(layer, specs, tensors, options, f"{layer.name} (keras)", model=model)
        source.samples = samples
        return source


def _from_file(path: Path, inputs: Any, options: Options) -> KerasSource:
    stored = read_model(path, sniff(path).format)
    if "class_name" not in stored.config:
        raise InputSpecError(f"{path} has no model in its configuration")
    layer = read_layer(stored.config)
    if layer.class_name not in MODELS or "layers" not in layer.config:
        raise CaptureError(
            f"{path} holds a {layer.class_name}, whose graph is Python code; only Functional and Sequential models "
            "have a graph of layers. Rebuild it with keras.Model(inputs, outputs) and save that"
        )
    wanted = variables(layer)
    tensors = (archive_weights if stored.format == "keras" else h5_weights)(stored.data, wanted)
    specs, samples = described(layer, inputs, options)
    source = KerasSource(layer, specs, tensors, options, f"{path.name} (Keras {stored.version})", path=path)
    source.samples = samples
    return source


# --- inputs ----------------------------------------------------------------------------------------------------------


def described(layer: Layer, inputs: Any, options: Options) -> tuple[list[TensorSpec], dict[str, np.ndarray] | None]:
    """Inputs of a model: its own, with what the caller says about names and sizes of open dims; and the samples."""
    own = _declared(layer)
    given = _given(inputs, [s.name for s in own])
    if not own:
        own = _undeclared(layer, given)
    names = [s.name for s in own]
    specs, samples = [], {}
    for spec in own:
        value = given.pop(spec.name, None)
        if isinstance(value, TensorSpec):
            spec = _narrowed(spec, value)
        elif value is not None:
            samples[spec.name] = np.asarray(value).astype(object if spec.dtype == "string" else spec.dtype, copy=False)
        specs.append(spec)
    if given:
        raise InputSpecError(f"the model has no input {', '.join(given)}; its inputs are {', '.join(names)}")
    for key, axes in (options.dynamic or {}).items():
        at = key if isinstance(key, int) else names.index(key) if key in names else -1
        if not 0 <= at < len(specs):
            raise InputSpecError(f"dynamic names the input {key!r}; the inputs are {', '.join(names)}")
        specs[at] = _opened(specs[at], axes)
    if samples and len(samples) < len(specs):
        raise InputSpecError(f"the model takes {', '.join(names)}; given are {', '.join(samples)}")
    final = options.input_names or names
    return specs, {n: samples[s.name] for n, s in zip(final, specs, strict=True)} if samples else None


def _given(inputs: Any, names: list[str]) -> dict[str, Any]:
    """What the caller gave, by input name; spec strings parsed."""
    if inputs is None:
        return {}
    if isinstance(inputs, Mapping):
        found = dict(inputs)
    else:
        listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        if names and len(listed) > len(names):
            raise InputSpecError(f"{len(listed)} inputs are given, the model takes {len(names)}: {', '.join(names)}")
        found = {}
        for i, value in enumerate(listed):
            default = names[i] if i < len(names) else "input"
            value = parse_spec(value, default) if isinstance(value, str) else value
            named = isinstance(value, TensorSpec) and (value.name in names or not names)
            found[value.name if named else default] = value
    return {k: parse_spec(v, k) if isinstance(v, str) else v for k, v in found.items()}


def _declared(layer: Layer) -> list[TensorSpec]:
    """The inputs that a model's configuration declares."""
    entries = model_layers(layer)
    if layer.class_name == "Sequential":
        first = entries[0] if entries else None
        if first is not None and first.class_name == "InputLayer":
            return [_spec(first)]
        shape = layer.config.get("build_input_shape") or layer.built_on
        if shape is None and first is not None:
            shape = first.config.get("batch_input_shape") or first.config.get("batch_shape")
        if shape is None:
            if first is not None and first.class_name in MODELS:
                return _declared(first)
            return []
        name = f"{first.name}_input" if first is not None else "input"
        return [TensorSpec(name, "float32", _dims(shape, name))]
    by_name = {e.name: e for e in entries}
    return [_spec(by_name[name]) for name, _, _ in output_refs(layer.config["input_layers"])]


def _spec(entry: Layer) -> TensorSpec:
    shape = entry.config.get("batch_shape", entry.config.get("batch_input_shape"))
    if shape is None or entry.config.get("sparse") or entry.config.get("ragged"):
        raise CaptureError(f"the input {entry.name} is sparse, ragged or has no shape, which ONNX doesn't have")
    dtype = entry.config.get("dtype") or "float32"
    return TensorSpec(entry.name, str(dtype) if isinstance(dtype, str) else entry.policy, _dims(shape, entry.name))


def _dims(shape: Any, name: str) -> tuple[int | str, ...]:
    if isinstance(shape, Mapping):
        shape = shape.get("config", {}).get("value", shape)
    return named_shape(name, shape, first=True)


def _undeclared(layer: Layer, given: Mapping[str, Any]) -> list[TensorSpec]:
    """The input of a Sequential model that was saved without one."""
    if len(given) != 1:
        raise InputSpecError(f'the model {layer.name} says nothing about its input: pass it, as "x:float32[batch,8]"')
    name, value = next(iter(given.items()))
    if isinstance(value, TensorSpec):
        return [value]
    array = np.asarray(value)
    return [TensorSpec(name, str(array.dtype), ("batch", *array.shape[1:]))]


def _narrowed(own: TensorSpec, wanted: TensorSpec) -> TensorSpec:
    """An input with the caller's names and sizes for its open dims."""
    fits = len(own.shape) == len(wanted.shape) and all(
        not isinstance(o, int) or o == w for o, w in zip(own.shape, wanted.shape, strict=True)
    )
    if not fits or own.dtype != wanted.dtype:
        raise InputSpecError(f"the model's input is {own}, not {wanted}")
    return TensorSpec(own.name, own.dtype, wanted.shape)


def _opened(spec: TensorSpec, axes: Mapping[int, str]) -> TensorSpec:
    shape = list(spec.shape)
    for axis, symbol in axes.items():
        if not -len(shape) <= axis < len(shape) or isinstance(shape[axis], int):
            raise InputSpecError(f"axis {axis} of {spec} is fixed in the model, or it has no such axis")
        shape[axis] = symbol
    return TensorSpec(spec.name, spec.dtype, tuple(shape))
