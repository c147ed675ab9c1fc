"""Loads TensorFlow models: SavedModels and frozen graphs without TensorFlow, and live functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...symbolic.errors import InputSpecError
from ..base import Frontend, Options, type_names
from .source import TensorflowSource

_LIVE = (
    "tensorflow.python.eager.polymorphic_function.polymorphic_function.Function",
    "tensorflow.python.eager.polymorphic_function.concrete_function.ConcreteFunction",
    "tensorflow.python.module.module.Module",
    "tensorflow.python.trackable.autotrackable.AutoTrackable",
)


class TensorflowFrontend(Frontend):
    """TensorFlow: SavedModel directories, frozen ``.pb`` graphs, tf.functions and modules."""

    name = "tensorflow"
    packages = ()  # files are read without TensorFlow
    extra = "tensorflow"

    def accepts(self, model: object) -> bool:
        """Whether it is a function or module of TensorFlow."""
        return any(n in _LIVE for n in type_names(model))

    def load(self, model: Any, inputs: Any, options: Options) -> TensorflowSource:
        """Reads a file without TensorFlow, or captures a live function."""
        if isinstance(model, (str, Path)):
            from .files import load_file

            return load_file(Path(model), inputs, options)
        if not self.accepts(model):
            raise InputSpecError(f"a {type_names(model)[0]} is no function or module of TensorFlow")
        from .live import capture

        return capture(model, inputs, options)
