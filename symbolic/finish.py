"""Turns what a builder holds into an ``onnx_ir`` graph and model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import onnx_ir as ir

from . import opsets
from .dims import Sizes
from .schemas import ML_DOMAIN
from .value import Value

if TYPE_CHECKING:
    from .builder import GraphBuilder

SOURCE_KEY = "anyonnx.source"


def finish_graph(g: GraphBuilder) -> ir.Graph:
    """The graph of a child builder, for an attribute; names and constants are the root's work."""
    for i, value in enumerate(g.outputs):
        value.name = value.name or f"{g.name}_out{i}"
    return ir.Graph(g.inputs, g.outputs, nodes=g.nodes, name=g.name)


def finish_model(g: GraphBuilder, *, keep_locations: bool, producer: str) -> ir.Model:
    """The model of a root builder: dead nodes dropped, constants registered, everything named."""
    drop_dead_nodes(g.nodes, g.outputs)
    constants: dict[int, Value] = {}
    domains = {""}
    names = _Names(g)
    shapes: dict[Sizes, ir.Shape] = {}
    for node in _all_nodes(g.nodes):
        domains.add(node.domain)
        _collect_constants(node, constants)
        _finish_node(node, names, shapes, keep_locations)
    for value in (*g.inputs, *g.outputs):
        _set_shape(value, shapes)
    for value in constants.values():
        names.give(value, "const")
        _set_shape(value, shapes)
    imports = {d: g.ml_opset if d == ML_DOMAIN else g.opset if not d else 1 for d in sorted(domains)}
    graph = ir.Graph(
        g.inputs,
        g.outputs,
        nodes=g.nodes,
        initializers=list(constants.values()),
        opset_imports=imports,
        name=g.name,
    )
    return ir.Model(
        graph,
        ir_version=opsets.ir_version(g.opset),
        producer_name=producer,
        doc_string=g.doc_string,
        metadata_props=g.metadata,
    )


def drop_dead_nodes(nodes: list[ir.Node], outputs: list[Value]) -> None:
    """Removes nodes nothing uses, in place. Nodes come in topological order, so one backward sweep does it."""
    needed = {id(o) for o in outputs}
    kept = []
    for node in reversed(nodes):
        if any(o._uses or id(o) in needed for o in node.outputs):
            kept.append(node)
        else:
            _detach(node)
    nodes[:] = reversed(kept)


def _detach(node: ir.Node) -> None:
    for attr in node.attributes.values():
        if attr.type is ir.AttributeType.GRAPH:
            for inner in attr.value:
                _detach(inner)
    for i in range(len(node.inputs)):
        node.replace_input_with(i, None)


def _all_nodes(nodes: list[ir.Node]) -> Iterator[ir.Node]:
    for node in nodes:
        for attr in node.attributes.values():
            if attr.type is ir.AttributeType.GRAPH:
                yield from _all_nodes(list(attr.value))
        yield node


def _collect_constants(node: ir.Node, constants: dict[int, Value]) -> None:
    for value in node.inputs:
        if value is not None and value._const_value is not None and value._producer is None:
            constants.setdefault(id(value), value)  # type: ignore[arg-type]


def _finish_node(node: ir.Node, names: _Names, shapes: dict[Sizes, ir.Shape], keep_locations: bool) -> None:
    for output in node.outputs:
        if output._name != "":
            names.give(output, node.op_type)
        _set_shape(output, shapes)
    node.name = names.of_node(node)
    location = getattr(node.outputs[0], "location", "") if node.outputs else ""
    if location:
        node.meta["source"] = location
        if keep_locations:
            node.metadata_props[SOURCE_KEY] = location
    for attr in node.attributes.values():
        if attr.type is ir.AttributeType.GRAPH:
            for value in attr.value.inputs:
                names.give(value, "input")
            for value in (*attr.value.inputs, *attr.value.outputs):
                _set_shape(value, shapes)


def _set_shape(value: ir.Value, shapes: dict[Sizes, ir.Shape]) -> None:
    sizes = getattr(value, "sizes", None)
    if sizes is None:
        return
    shape = shapes.get(sizes)
    if shape is None:
        shape = ir.Shape([s if s is None or isinstance(s, int) else str(s) for s in sizes], frozen=True)
        shapes[sizes] = shape
    value._shape = shape


class _Names:
    """Unique names for values and nodes; those that are set already are kept where they are free."""

    def __init__(self, g: GraphBuilder):
        self._taken: dict[str, int] = {}
        self._values: set[int] = set()
        self._nodes: dict[str, int] = {}
        for value in (*g.inputs, *g.outputs):
            self.give(value, "value")

    def give(self, value: ir.Value, stem: str) -> None:
        """Makes the value's name unique, once."""
        if id(value) in self._values:
            return
        self._values.add(id(value))
        name = value._name or f"{stem}_0"
        if name in self._taken:
            base = name[:-2] if value._name is None else name
            count = self._taken[name]
            while (fresh := f"{base}_{count}") in self._taken:
                count += 1
            self._taken[name] = count + 1
            name = fresh
        self._taken[name] = 1
        value.name = name

    def of_node(self, node: ir.Node) -> str:
        """A unique node name: operator and running number."""
        count = self._nodes.get(node.op_type, 0)
        self._nodes[node.op_type] = count + 1
        return f"{node.op_type}_{count}"
