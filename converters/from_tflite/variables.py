"""Resource variables: what a model keeps between calls, as extra inputs and outputs of the graph."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.tflite_ops.common import DIALECT, Quantization
from .reader import Graph, Model

#: Operators that the translation of a graph does itself.
OPERATORS = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
Key = tuple[str, str]


@dataclass(slots=True)
class Variable:
    """A variable.

    Attributes:
        key: Its container and name in the file.
        initial: What it holds before the first call.
        quantization: How its integers stand for numbers.
        assigned: Tensor of the main graph that it holds after a call; None where no call changes it.
    """

    key: Key
    initial: np.ndarray
    quantization: Quantization | None
    assigned: int | None = None

    @property
    def label(self) -> str:
        """Its name, as that of an input."""
        return "".join(c if c.isalnum() or c in "._" else "_" for c in self.key[1]) or "state"


def handles(graph: Graph) -> dict[int, Key]:
    """The variables that tensors of a graph stand for."""
    return {
        o.outputs[0]: (o.options["container"], o.options["shared_name"])
        for o in graph.operators
        if o.name == "VAR_HANDLE"
    }


def find_variables(model: Model) -> list[Variable]:
    """The variables of the main graph, with what CALL_ONCE sets them to.

    Raises:
        UnsupportedOps: A variable isn't set by CALL_ONCE, or not to a constant.
    """
    main = model.graphs[0]
    known: dict[Key, Variable] = {}
    for graph in _once(model):
        places = handles(graph)
        for operator in graph.operators:
            if operator.name == "VAR_HANDLE":
                continue
            value = graph.tensors[operator.inputs[1]] if operator.name == "ASSIGN_VARIABLE" else None
            if value is None or value.array is None:
                raise _refused("CALL_ONCE", f"it runs {operator.name}, not only sets variables to constants")
            key = places[operator.inputs[0]]
            known[key] = Variable(key, value.array, value.quantization)
    places = handles(main)
    for key in places.values():
        if key not in known:
            raise _refused("VAR_HANDLE", f"nothing sets the variable {key[1]} before the first call")
    for operator in main.operators:
        if operator.name == "ASSIGN_VARIABLE":
            known[places[operator.inputs[0]]].assigned = operator.inputs[1]
    return [known[key] for key in dict.fromkeys(places.values())]


def _once(model: Model) -> list[Graph]:
    return [model.graphs[o.options["graph"]] for o in model.graphs[0].operators if o.name == "CALL_ONCE"]


def _refused(op: str, reason: str) -> UnsupportedOps:
    return UnsupportedOps([MissingOp(DIALECT, op, 1, (), reason)])


def with_state(path: Path, model: Model, state: Mapping[Key, np.ndarray]) -> bytes:
    """The file with other initial values of its variables: how the interpreter is made to start from a state."""
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    found = flatbuffer_utils.read_model(str(path))
    for operator in model.graphs[0].operators:
        if operator.name != "CALL_ONCE":
            continue
        number = operator.options["graph"]
        places = handles(model.graphs[number])
        graph = found.subgraphs[number]
        for known, written in zip(model.graphs[number].operators, graph.operators, strict=True):
            if known.name != "ASSIGN_VARIABLE" or places[known.inputs[0]] not in state:
                continue
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(state[places[known.inputs[0]]].tobytes(), np.uint8)
            tensor = copy.copy(graph.tensors[known.inputs[1]])  # several variables may share one constant
            tensor.buffer = len(found.buffers)
            found.buffers.append(buffer)
            written.inputs = np.array([known.inputs[0], len(graph.tensors)], np.int32)
            graph.tensors.append(tensor)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(found))


def unused(name: str, taken: Sequence[str]) -> str:
    """The name, with a number behind it where it is taken."""
    number, found = 1, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found
