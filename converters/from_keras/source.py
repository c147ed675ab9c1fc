"""A loaded Keras model: it runs in Keras where that is installed, and is translated from its configuration."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError, InputSpecError, MissingDependency, UnsupportedOps
from ...symbolic.keras_layers.layer import Layer, Weights, call_layer, missing
from ...symbolic.keras_layers.model import flat, is_ref
from ...symbolic.keras_layers.variables import model_layers
from ...symbolic.spec import TensorSpec
from ...validation.inputs import choose_sizes
from ..base import Arrays, Options, Source, renamed
from .live import to_numpy

_IMAGE, _STEPS = (64, 96), 12


class KerasSource(Source):
    """A Functional or Sequential model.

    Args:
        layer: The model's configuration.
        specs: Its inputs, under its own names.
        tensors: Its variables by path.
        options: What the caller asked for.
        description: One line for people.
        model: The live model; None for a file.
        path: The file; None for a live model.
    """

    framework = "keras"

    def __init__(
        self,
        layer: Layer,
        specs: Sequence[TensorSpec],
        tensors: Mapping[str, ir.TensorProtocol],
        options: Options,
        description: str,
        *,
        model: Any = None,
        path: Path | None = None,
    ):
        self.layer, self.tensors, self.description = layer, tensors, description
        self._model, self._path = model, path
        self._own_names = [s.name for s in specs]
        names = renamed(self._own_names, options.input_names, "input")
        self.specs = [TensorSpec(n, s.dtype, s.shape) for n, s in zip(names, specs, strict=True)]
        taken = set(names)
        own = [f"{n}_out" if n in taken else n for n in output_names(layer)]
        self.output_names = renamed(own, options.output_names, "output")

    # --- running -----------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Any:
        """The live model; a file is loaded into Keras the first time."""
        if self._model is None:
            if importlib.util.find_spec("keras") is None:
                raise MissingDependency(
                    "keras", "keras", f"comparing with {self._path} (compare=False, --no-compare skips it)"
                )
            import keras

            try:
                self._model = keras.models.load_model(self._path, compile=False)
            except (ValueError, TypeError, OSError, ImportError) as error:
                raise CaptureError(f"Keras can't load {self._path} to compare with it: {error}") from error
        return self._model

    def _inputs(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Arrays in the structure that the model is called with."""
        named = {own: arrays[s.name] for own, s in zip(self._own_names, self.specs, strict=True)}
        return _filled(self.layer.config.get("input_layers"), named, list(named.values()))

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Calls the model for inference."""
        results = self._call(self.model, inputs)
        return {n: to_numpy(r) for n, r in zip(self.output_names, flat(results), strict=True)}

    def _call(self, model: Any, inputs: Mapping[str, np.ndarray]) -> Any:
        import keras

        if keras.backend.backend() == "torch":
            import torch

            with torch.no_grad():
                return model(self._inputs(inputs), training=False)
        return model(self._inputs(inputs), training=False)

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """Results of layers, by the names that were marked: layer, call, result, and the layout."""
        import keras

        wanted: dict[str, Any] = {}
        for name in names:
            layer, call, result = name.split(":")[:3]
            node = self.model.get_layer(layer)._inbound_nodes[int(call)]
            wanted[name] = node.output_tensors[int(result)]
        probe = keras.Model(self.model.inputs, list(wanted.values()))
        values = flat(self._call_flat(probe, inputs))
        found = {}
        for name, value in zip(wanted, values, strict=True):
            array = to_numpy(value)
            found[name] = np.moveaxis(array, -1, 1) if name.endswith(":channels_first") else array
        return found

    def _call_flat(self, model: Any, inputs: Mapping[str, np.ndarray]) -> Any:
        arrays = [inputs[s.name] for s in self.specs]
        return model(arrays if len(arrays) != 1 else arrays[0], training=False)

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes for open dims: images large enough for the usual strides, sequences for the usual windows."""
        wanted: dict[str, int] = {}
        for spec in self.specs:
            for axis, symbol in enumerate(spec.shape):
                if isinstance(symbol, str) and axis and len(spec.shape) > 1:
                    wanted.setdefault(symbol, _IMAGE[(axis - 1) % 2] if len(spec.shape) > 3 else _STEPS + axis - 1)
        return choose_sizes(self.specs, which, {**wanted, **(base or {})})

    # --- translating -------------------------------------------------------------------------------------------------

    def translate(self, g: GraphBuilder) -> None:
        """Builds the model layer by layer."""
        problems = list(missing(self.layer, g.opset))
        for layer in every_layer(self.layer):
            problems += missing(layer, g.opset)
        if problems:
            raise UnsupportedOps(_merged(problems))
        values = {own: g.input(s.name, s.dtype, s.shape) for own, s in zip(self._own_names, self.specs, strict=True)}
        arguments = _filled(self.layer.config.get("input_layers"), values, list(values.values()))
        results = call_layer(g, self.layer, Weights(g, self.tensors), [arguments])
        for name, value in zip(self.output_names, flat(results), strict=True):
            g.output(value, name)


def every_layer(model: Layer) -> list[Layer]:
    """All layers and operations of a model, those of models inside it too."""
    found = []
    for layer in model_layers(model):
        if layer.class_name in ("InputLayer",):
            continue
        found.append(layer)
        for inner in (layer, *layer.inner.values()):
            if "layers" in inner.config and inner.class_name in ("Functional", "Sequential", "Model"):
                found += every_layer(inner)
    return found


def _merged(problems: Sequence[Any]) -> list[Any]:
    """One entry for each layer class and reason."""
    from dataclasses import replace

    rows: dict[tuple[str, str], Any] = {}
    for problem in problems:
        key = (problem.name, problem.reason)
        known = rows.get(key)
        rows[key] = (
            problem
            if known is None
            else replace(known, count=known.count + problem.count, locations=(*known.locations, *problem.locations)[:3])
        )
    return list(rows.values())


def output_names(layer: Layer) -> list[str]:
    """Names for a model's outputs: the keys of a dict, else the layers that make them."""
    if layer.class_name == "Sequential":
        return [model_layers(layer)[-1].name]
    names = _names(layer.config["output_layers"])
    unique: list[str] = []
    for name in names:
        count = 1
        fresh = name
        while fresh in unique:
            fresh = f"{name}_{count}"
            count += 1
        unique.append(fresh)
    return unique


def _names(tree: Any, key: str = "") -> list[str]:
    if is_ref(tree):
        return [key or str(tree[0])]
    if isinstance(tree, Mapping):
        return [n for k in sorted(tree) for n in _names(tree[k], f"{key}_{k}" if key else str(k))]
    return [n for i in tree for n in _names(i, key)]


def _filled(structure: Any, named: Mapping[str, Any], ordered: Sequence[Any]) -> Any:
    """Values in the structure of a model's inputs."""
    if structure is None:
        return ordered[0] if len(ordered) == 1 else list(ordered)
    if is_ref(structure):
        return named[str(structure[0])]
    if isinstance(structure, Mapping):
        return {k: _filled(v, named, ordered) for k, v in structure.items()}
    values = [_filled(v, named, ordered) for v in structure]
    if not values:
        raise InputSpecError("the model has no inputs")
    return values[0] if len(values) == 1 else values
