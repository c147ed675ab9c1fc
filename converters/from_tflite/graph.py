"""Translates the graphs of a file operator by operator; branches of IF in child builders."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder, as_dtype
from ...symbolic.errors import CaptureError, MissingOp, TranslationError, UnsupportedOps
from ...symbolic.registry import registry
from ...symbolic.tflite_ops.common import DIALECT, QUANTIZED, Quantization
from ...symbolic.value import Value
from .reader import DTYPES, Graph, Model, Operator
from .variables import OPERATORS as VARIABLES
from .variables import Key, handles

Values = dict[int, Value | None]


def require(model: Model, opset: int) -> None:
    """Looks up every operator that runs.

    Raises:
        UnsupportedOps: Some have no symbolic function.
    """
    missing: dict[tuple[str, str], list[str]] = {}
    for graph in _running(model, model.graphs[0]):
        for number, operator in enumerate(graph.operators):
            reason = ""
            if operator.name in VARIABLES:
                if graph is model.graphs[0]:
                    continue
                reason = "variables in a branch aren't supported"
            elif operator.name == "IF" or registry.lookup(DIALECT, operator.name, opset) is not None:
                if all(graph.tensors[i].dtype for i in (*operator.inputs, *operator.outputs) if i >= 0):
                    continue
                reason = "tensors of this element type aren't supported"
            missing.setdefault((operator.name, reason), []).append(_place(graph, number, operator))
    if missing:
        raise UnsupportedOps([MissingOp(DIALECT, op, len(at), tuple(at[:3]), why) for (op, why), at in missing.items()])


def _running(model: Model, graph: Graph) -> list[Graph]:
    found = [graph]
    for operator in graph.operators:
        if operator.name == "IF":
            for key in ("then_graph", "else_graph"):
                found += _running(model, model.graphs[operator.options[key]])
    return found


def _place(graph: Graph, number: int, operator: Operator) -> str:
    names = [graph.tensors[i].name for i in operator.outputs[:1]]
    return f"operator {number} ({names[0] if names else operator.name})"


class Walk:
    """A walk through the graphs of a file.

    Args:
        model: What the file holds.
        held: What its variables hold now.
    """

    def __init__(self, model: Model, held: dict[Key, Value]):
        self.model, self.held = model, held

    def run(self, g: GraphBuilder, graph: Graph, given: Sequence[Value], wanted: Sequence[int]) -> list[Value]:
        """The values of the wanted tensors of a graph."""
        values: Values = {-1: None, **dict(zip(graph.inputs, given, strict=True))}
        main = graph is self.model.graphs[0]
        for index, tensor in enumerate(graph.tensors):
            if tensor.array is not None and index not in values:
                large = tensor.array.size > 64 or tensor.array.ndim > 2
                values[index] = g.initializer(tensor.name, tensor.array) if large else g.constant(tensor.array)
                _tell(values[index], tensor.quantization)
        if main:
            for index in graph.inputs:
                _tell(values[index], graph.tensors[index].quantization)
        places = handles(graph)
        for number, operator in enumerate(graph.operators):
            with g.at(_place(graph, number, operator)):
                if operator.name == "READ_VARIABLE":
                    _keep(g, graph, operator, [self.held[places[operator.inputs[0]]]], values, mark=main)
                elif operator.name == "ASSIGN_VARIABLE":
                    self.held[places[operator.inputs[0]]] = _value(graph, operator.inputs[1], values)
                elif operator.name == "IF":
                    _keep(g, graph, operator, self._either(g, graph, operator, values), values, mark=main)
                elif operator.name not in VARIABLES:
                    _keep(g, graph, operator, _results(g, graph, operator, values), values, mark=main)
        return [_value(graph, index, values) for index in wanted]

    def _either(self, g: GraphBuilder, graph: Graph, operator: Operator, values: Values) -> list[Value]:
        """IF(condition, operands; then_graph, else_graph)"""
        condition, *given = [_value(graph, index, values) for index in operator.inputs]
        bodies = []
        for key in ("then_graph", "else_graph"):
            branch = self.model.graphs[operator.options[key]]
            body = g.subgraph()
            for value in self.run(body, branch, given, branch.outputs):
                body.output(value)
            bodies.append(body)
        single = g.reshape(condition, [])
        made = g.If(single, then_branch=bodies[0], else_branch=bodies[1], outputs=len(operator.outputs))
        return [made] if isinstance(made, Value) else list(made)


def _tell(value: Value | None, quantization: Quantization | None) -> None:
    if value is not None and quantization is not None:
        value.meta[QUANTIZED] = quantization


def _value(graph: Graph, index: int, values: Values) -> Value:
    found = values.get(index)
    if found is None:
        raise CaptureError(f"nothing gives the tensor {graph.tensors[index].name}")
    return found


def _results(g: GraphBuilder, graph: Graph, operator: Operator, values: Values) -> Sequence[Value | None]:
    row = registry.lookup(DIALECT, operator.name, g.opset)
    assert row is not None
    if any(i not in values for i in operator.inputs):
        raise CaptureError(f"{operator.name} takes a tensor that nothing gives (at {g.location})")
    told = [graph.tensors[i] for i in operator.outputs]
    options = dict(operator.options)
    for key in ("output_type", "out_type"):
        if key in options:
            options[key] = as_dtype(DTYPES[int(options[key])])
    options["results"] = [(as_dtype(t.dtype), t.quantization) for t in told]
    found = run_symbolic(row, g, [values[i] for i in operator.inputs], options, len(told))
    if found is None:
        raise TranslationError("these operands aren't supported", op=operator.name, location=g.location)
    return found


def _keep(
    g: GraphBuilder, graph: Graph, operator: Operator, found: Sequence[Value | None], values: Values, *, mark: bool
) -> None:
    """Enters results under the numbers of their tensors, with what the file says about them."""
    for index, value in zip(operator.outputs, found, strict=True):
        if value is None:
            continue
        tensor = graph.tensors[index]
        if value.is_constant or QUANTIZED in value.meta:
            value = _apart(g, value, tensor.quantization)
        g.expect(value, tensor.dtype, None)
        _tell(value, tensor.quantization)
        if mark:
            g.mark(value, str(index))
        values[index] = value


def _apart(g: GraphBuilder, value: Value, quantization: Quantization | None) -> Value:
    """A value of its own where another tensor's value would get this one's quantisation."""
    known = value.meta.get(QUANTIZED)
    if quantization is None or known is quantization or (known is not None and known.same(quantization)):
        return value
    array = value.array
    if not value.is_constant or array is None:
        raise TranslationError("a tensor would have two quantisations", location=g.location)
    return g.initializer("", array)
