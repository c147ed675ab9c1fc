"""Removes Identity nodes whose input can take their place."""

from __future__ import annotations

import onnx_ir as ir

from ..symbolic.value import MARK


def drop_identities(model: ir.Model) -> int:
    """Removes Identity nodes, in subgraphs too; returns how many.

    One that names a graph output stays where its input is a graph input, an initializer or an output already.
    """
    removed = 0
    for graph in (model.graph, *model.graph.subgraphs()):
        for node in list(graph):
            if node.op_type == "Identity" and not node.domain and _drop(graph, node):
                removed += 1
    return removed


def _drop(graph: ir.Graph, node: ir.Node) -> bool:
    source, result = node.inputs[0], node.outputs[0]
    if source is None:
        return False
    if result.is_graph_output():
        producer = source.producer()
        if producer is None or producer.graph is not graph or source.is_graph_output():
            return False
        name = result.name
        result.name = None
        source.name = name
        if source.shape is None:
            source.shape = result.shape
    if MARK in result.meta and source.producer() is not None:
        source.meta.setdefault(MARK, result.meta[MARK])
    result.replace_all_uses_with(source, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    return True
