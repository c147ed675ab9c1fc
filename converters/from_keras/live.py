"""Configuration and weights of a live Keras model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.errors import CaptureError

_FUNCTIONAL = "keras.src.models.functional.Functional"
_SEQUENTIAL = "keras.src.models.sequential.Sequential"


def serialised(model: Any) -> Mapping[str, Any]:
    """The configuration of a live model, as a file would have it.

    Raises:
        CaptureError: It is no Functional or Sequential model, or a layer can't be serialised.
    """
    import keras

    bases = [f"{c.__module__}.{c.__qualname__}" for c in type(model).__mro__]
    if _FUNCTIONAL not in bases and _SEQUENTIAL not in bases:
        raise CaptureError(
            f"{type(model).__qualname__} is a subclassed model, whose graph is Python code; only Functional and "
            "Sequential models have a graph of layers. Rebuild it with keras.Model(inputs, outputs)"
        )
    if not model.built:
        raise CaptureError("the model has no weights yet: call it once, or give it an Input, before converting")
    try:
        config: Mapping[str, Any] = keras.saving.serialize_keras_object(model)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise CaptureError(f"Keras can't serialise the model: {error}") from error
    if bases[0] != _FUNCTIONAL and _FUNCTIONAL in bases and _SEQUENTIAL not in bases:
        config = {**config, "class_name": "Functional", "module": "keras.models", "registered_name": None}
    return config


def live_weights(model: Any, wanted: Sequence[Any]) -> dict[str, ir.TensorProtocol]:
    """Weights of a live model by variable path (`symbolic.keras_layers.variables.Variable`)."""
    found: dict[str, ir.TensorProtocol] = {}
    owners: dict[tuple[str, ...], Any] = {(): model}
    for variable in wanted:
        owner = _owner(owners, variable.steps, variable.in_model)
        value = getattr(owner, f"adapt_{variable.name}", None)  # Normalization's own `mean` is no variable
        value = getattr(owner, variable.name, None) if value is None else value
        if value is not None and hasattr(value, "value"):
            found[variable.path] = ir.Tensor(to_numpy(value), name=variable.path)
    return found


def _owner(owners: dict[tuple[str, ...], Any], steps: tuple[str, ...], in_model: Sequence[bool]) -> Any:
    found = owners.get(steps)
    if found is None:
        outer = _owner(owners, steps[:-1], in_model[:-1])
        name = steps[-1]
        found = outer.get_layer(name) if in_model[-1] else getattr(outer, name, None) or getattr(outer, f"_{name}")
        owners[steps] = found
    return found


def to_numpy(value: Any) -> np.ndarray:
    """A tensor or variable of any Keras backend as an array."""
    import keras

    array: np.ndarray = np.asarray(keras.ops.convert_to_numpy(value))
    return array
