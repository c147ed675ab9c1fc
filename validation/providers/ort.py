"""onnxruntime: any of its execution providers, with graph optimisations off or on."""

from __future__ import annotations

import ctypes
import importlib.util
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ...symbolic.errors import InputSpecError, MissingDependency
from ..models import BFLOAT16, LoadedModel, ModelLike, load_model
from .base import Array, Placement, ProviderError, UnsupportedByProvider

CPU = "CPUExecutionProvider"
_CPU_ONLY = frozenset(("Shape", "Size", "Constant", "MemcpyFromHost", "MemcpyToHost"))
_UNSUPPORTED_MARKS = ("Could not find an implementation", "NOT_IMPLEMENTED", "not supported", "not implemented")


def import_onnxruntime() -> Any:
    """The module ``onnxruntime``.

    Raises:
        MissingDependency: It is not installed.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingDependency("onnxruntime", "runtime", "running an ONNX model") from error
    return onnxruntime


@dataclass(frozen=True)
class Assignment:
    """One node and the execution provider that onnxruntime gave it to."""

    provider: str
    op_type: str


class Session:
    """An onnxruntime session that takes and gives numpy arrays of every dtype, ``bfloat16`` too.

    Args:
        model: The model; its detached weights are lent to onnxruntime, not copied.
        optimize: All graph optimisations, or none.
        execution_provider: Name in onnxruntime's terms.

    Raises:
        UnsupportedByProvider: onnxruntime lacks an operator or a type of the model.
        ProviderError: onnxruntime rejects the model.
        MissingDependency: onnxruntime is not installed.
    """

    def __init__(self, model: LoadedModel, *, optimize: bool, execution_provider: str = CPU):
        ort = import_onnxruntime()
        options = ort.SessionOptions()
        levels = ort.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
        options.log_severity_level = 4  # errors come as exceptions: their text needn't go to stderr as well
        # Sessions are made for one or two runs: keeping memory for later ones only raises the peak.
        options.enable_cpu_mem_arena = False
        if not optimize:
            # Prepacking copies the weights into another layout: memory, and one more way to be wrong.
            options.add_session_config_entry("session.disable_prepacking", "1")
        if model.folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", model.folder)
        if execution_provider != CPU:
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        self._ort = ort
        self._model = model  # onnxruntime reads the lent weights where they are: they must outlive the session
        self._lent = {name: self._to_value(array) for name, array in model.weights.items()}
        if self._lent:
            options.add_external_initializers(list(self._lent), list(self._lent.values()))
        try:
            self._session = ort.InferenceSession(
                model.proto.SerializeToString(), options, providers=[execution_provider]
            )
        except _errors() as error:
            raise _explain(error, "onnxruntime rejects the model") from error
        self.output_names: list[str] = [value.name for value in self._session.get_outputs()]
        self._plain = not any(
            "bfloat16" in value.type for value in [*self._session.get_inputs(), *self._session.get_outputs()]
        )

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Any]:
        """Runs the model: an array for each output, a list of arrays for a sequence output.

        Raises:
            UnsupportedByProvider: A kernel is missing.
            ProviderError: The run failed, or an output is neither a tensor nor a sequence of tensors.
        """
        feed = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
        feed = {name: array.reshape(np.shape(inputs[name])) for name, array in feed.items()}
        try:
            if self._plain:
                results = self._session.run(None, feed)
            else:
                values = {name: self._to_value(array) for name, array in feed.items()}
                results = [_from_value(value) for value in self._session.run_with_ort_values(None, values)]
        except _errors() as error:
            raise _explain(error, "onnxruntime failed") from error
        return dict(zip(self.output_names, results, strict=True))

    def assignments(self) -> list[Assignment]:
        """Which execution provider each node was given to, before fusion; empty where it isn't recorded."""
        if not hasattr(self._session, "get_provider_graph_assignment_info"):
            return []
        return [
            Assignment(part.ep_name, node.op_type)
            for part in self._session.get_provider_graph_assignment_info()
            for node in part.get_nodes()
        ]

    def execution_providers(self) -> list[str]:
        """The execution providers of the session, first choice first."""
        return list(self._session.get_providers())

    def _to_value(self, array: Array) -> Any:
        make = self._ort.OrtValue
        if array.dtype == BFLOAT16:
            # numpy has no bfloat16 of its own, so onnxruntime takes the bits and the type separately.
            return make.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), onnx.TensorProto.BFLOAT16)
        return make.ortvalue_from_numpy(array)


class OnnxRuntime:
    """A provider: one execution provider of onnxruntime, in one optimisation setting.

    Args:
        name: Name in the registry and in reports.
        execution_provider: Name in onnxruntime's terms.
        optimize: All graph optimisations, or none.
    """

    precision = ""

    def __init__(self, name: str, execution_provider: str = CPU, *, optimize: bool):
        self.name, self.execution_provider, self.optimize = name, execution_provider, optimize
        self.setting = "optimisations on" if optimize else "optimisations off"
        self._model: LoadedModel | None = None
        self._session: Session | None = None

    def available(self) -> str:
        """Empty if this execution provider is in the installed onnxruntime, else the reason why not."""
        if importlib.util.find_spec("onnxruntime") is None:
            return str(MissingDependency("onnxruntime", "runtime", "running an ONNX model"))
        present = import_onnxruntime().get_available_providers()
        if self.execution_provider not in present:
            return f"the installed onnxruntime has no {self.execution_provider} (it has {', '.join(present)})"
        return ""

    def run(self, model: ModelLike, inputs: Mapping[str, Array]) -> dict[str, Any]:
        """Runs a model (see ``Provider.run``)."""
        loaded = load_model(model)
        if self._session is None or self._model is not loaded:
            self.close()
            self._session = Session(loaded, optimize=self.optimize, execution_provider=self.execution_provider)
            self._model = loaded
        return self._session.run(inputs)

    def placement(self) -> Placement:
        """Where the nodes of the last model ran; work that was left to the CPU is a fall-back.

        Raises:
            InputSpecError: No model was run.
        """
        if self._session is None:
            raise InputSpecError(f"{self.name} has run no model yet")
        if self.execution_provider == CPU:
            return Placement()
        assigned = self._session.assignments()
        if not assigned:
            used = self._session.execution_providers()
            fell_back = self.execution_provider not in used
            return Placement({}, fell_back, "placement of single nodes is not recorded by this onnxruntime")
        nodes = Counter(a.provider for a in assigned)
        # Shapes live on the CPU by design; anything else there is work the provider did not do.
        elsewhere = Counter(
            a.op_type for a in assigned if a.provider != self.execution_provider and a.op_type not in _CPU_ONLY
        )
        detail = ", ".join(f"{op} x{count}" for op, count in elsewhere.most_common(8))
        return Placement(dict(nodes), bool(elsewhere), f"not on {self.execution_provider}: {detail}" if detail else "")

    def version(self) -> str:
        """Version of the installed onnxruntime; empty if there is none."""
        if importlib.util.find_spec("onnxruntime") is None:
            return ""
        return str(import_onnxruntime().__version__)

    def close(self) -> None:
        """Frees the session."""
        self._session = self._model = None


def _from_value(value: Any) -> Any:
    if value.is_tensor_sequence():
        raise ProviderError("a sequence output beside bfloat16 values can't be read from onnxruntime")
    if value.element_type() != onnx.TensorProto.BFLOAT16:
        return value.numpy()
    shape = tuple(value.shape())
    bits = ctypes.string_at(value.data_ptr(), 2 * int(np.prod(shape, dtype=np.int64)))
    return np.frombuffer(bits, dtype=BFLOAT16).reshape(shape)


def _errors() -> tuple[type[Exception], ...]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [getattr(state, name) for name in dir(state)]
    # onnxruntime's errors have no base class in common. RuntimeError and ValueError come from its Python layer.
    return (
        *(kind for kind in own if isinstance(kind, type) and issubclass(kind, Exception)),
        RuntimeError,
        ValueError,
    )


def _explain(error: Exception, what: str) -> ProviderError:
    text = " ".join(str(error).split())
    lacking = type(error).__name__ == "NotImplemented" or any(mark in text for mark in _UNSUPPORTED_MARKS)
    kind = UnsupportedByProvider if lacking else ProviderError
    return kind(f"{what}: {text}")
