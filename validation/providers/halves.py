"""Models of 16-bit floats for onnx.reference: each operator computes in float32 and rounds its results once.

Kernels do so. onnx.reference computes in numpy's own half precision instead, and rounds wherever an operator's formula
or body has a step: a softmax or a layer normalisation of bfloat16 loses half of its digits.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto, helper

from ...symbolic.widen import EXACT, MOVING

_HALVES = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})


def dtypes(proto: onnx.ModelProto) -> dict[str, int]:
    """Element type of every value whose type can be told; weights may lie elsewhere."""
    found: dict[str, int] = {}

    def read(graph: onnx.GraphProto) -> None:
        for value in [*graph.input, *graph.value_info, *graph.output]:
            found[value.name] = value.type.tensor_type.elem_type
        for tensor in graph.initializer:
            found[tensor.name] = tensor.data_type
        for inner in (a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH):
            read(inner)

    read(onnx.shape_inference.infer_shapes(proto).graph)
    return found


def compute_in_float(graph: onnx.GraphProto, types: Mapping[str, int]) -> None:
    """Puts casts around every operator of a graph, and of those in it, that computes on 16-bit floats."""
    if _HALVES.isdisjoint(types.values()):
        return
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for inner in (a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH):
            compute_in_float(inner, types)
        moves = node.op_type in MOVING or node.op_type in EXACT
        nodes += [_copy(node)] if moves or node.domain else _between_casts(node, types)
    del graph.node[:]
    del graph.value_info[:]
    graph.node.extend(nodes)


def _between_casts(node: onnx.NodeProto, types: Mapping[str, int]) -> list[onnx.NodeProto]:
    wide = _copy(node)
    before, after = [], []
    for index, name in enumerate(node.input):
        if types.get(name) in _HALVES:
            wide.input[index] = f"{name}/float {index} of {node.output[0]}"
            before.append(helper.make_node("Cast", [name], [wide.input[index]], to=TensorProto.FLOAT))
    for index, name in enumerate(node.output):
        if types.get(name) in _HALVES:
            wide.output[index] = f"{name}/float"
            after.append(helper.make_node("Cast", [wide.output[index]], [name], to=types[name]))
    return [*before, wide, *after]


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copied = onnx.NodeProto()
    copied.CopyFrom(node)
    return copied
