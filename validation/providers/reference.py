"""onnx.reference: the specification in numpy. A second opinion only, slow, and wrong for some loops.

Half precision is rounded behind each operator, not inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.reference
from onnx.reference.op_run import OpRun

from ..models import LoadedModel, ModelLike, iter_nodes, load_model
from .base import Array, Placement, ProviderError, UnsupportedByProvider
from .halves import compute_in_float, dtypes


class OnnxReference:
    """The provider ``onnx-reference``."""

    name = "onnx-reference"
    setting = ""
    precision = ""

    def __init__(self) -> None:
        self._model: LoadedModel | None = None
        self._evaluator: onnx.reference.ReferenceEvaluator | None = None

    def available(self) -> str:
        """Always empty: onnx is a dependency of anyonnx."""
        return ""

    def run(self, model: ModelLike, inputs: Mapping[str, Array]) -> dict[str, Any]:
        """Runs a model (see ``Provider.run``)."""
        loaded = load_model(model)
        if self._evaluator is None or self._model is not loaded:
            self._evaluator, self._model = _evaluator(loaded), loaded
        try:
            results = self._evaluator.run(None, dict(inputs))
        except NotImplementedError as error:
            raise UnsupportedByProvider(f"onnx.reference lacks a part of the model: {error}") from error
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            # Its operators are plain numpy code, which fails with any of these.
            raise ProviderError(f"onnx.reference failed: {type(error).__name__}: {error}") from error
        return dict(zip(loaded.output_names, results, strict=True))

    def placement(self) -> Placement:
        """Nothing to tell: there is one place."""
        return Placement()

    def version(self) -> str:
        """Version of onnx."""
        return str(onnx.__version__)

    def close(self) -> None:
        """Frees the model."""
        self._evaluator = self._model = None


class GatherElements(OpRun):
    """The operator for axes of any size: onnx's own chooses among 64 elements at most."""

    op_domain = ""

    def _run(self, data: Array, indices: Array, axis: int = 0) -> tuple[Array]:
        axis %= data.ndim
        reached = data[tuple(slice(None if i == axis else n) for i, n in enumerate(indices.shape))]
        return (np.take_along_axis(reached, indices, axis),)


def _evaluator(model: LoadedModel) -> onnx.reference.ReferenceEvaluator:
    # onnx 1.23 concatenates scan outputs instead of stacking them.
    loops = sorted({node.op_type for node in iter_nodes(model.proto)} & {"Loop", "Scan"})
    if loops:
        raise UnsupportedByProvider(f"onnx.reference is not reliable for {', '.join(loops)}")
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    for tensor in proto.graph.initializer:
        if tensor.name in model.weights:
            tensor.CopyFrom(onnx.numpy_helper.from_array(model.weights[tensor.name], tensor.name))
    if model.folder is not None:
        onnx.load_external_data_for_model(proto, model.folder)
    try:
        compute_in_float(proto.graph, dtypes(model.proto))
        return onnx.reference.ReferenceEvaluator(proto, new_ops=[GatherElements])
    except NotImplementedError as error:
        raise UnsupportedByProvider(f"onnx.reference lacks a part of the model: {error}") from error
    except (RuntimeError, TypeError, ValueError) as error:
        raise ProviderError(f"onnx.reference rejects the model: {error}") from error
