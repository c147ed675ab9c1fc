"""Transposes weights ahead of time where only the transposed form is used."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir


def fold_weight_transposes(model: ir.Model) -> int:
    """Replaces Transpose of an initializer by a transposed initializer; returns how many.

    A weight that is also used as it is (a tied embedding) stays: folding would store it twice.
    """
    folded = 0
    for node in list(model.graph):
        source = node.inputs[0] if node.inputs else None
        if node.op_type != "Transpose" or node.domain or source is None or source.const_value is None:
            continue
        if source.is_graph_input() or len(source.uses()) != 1 or node.outputs[0].is_graph_output():
            continue
        _fold(model.graph, node, source)
        folded += 1
    return folded


def _fold(graph: ir.Graph, node: ir.Node, source: ir.Value) -> None:
    tensor = source.const_value
    assert tensor is not None
    permutation = node.attributes.get_ints("perm") or list(range(len(tensor.shape)))[::-1]
    shape = ir.Shape([tensor.shape[p] for p in permutation])
    name = f"{source.name}.transposed"
    lazy = ir.LazyTensor(
        lambda: ir.Tensor(np.ascontiguousarray(tensor.numpy().transpose(permutation)), dtype=tensor.dtype),
        dtype=tensor.dtype,
        shape=shape,
        name=name,
    )
    value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=shape, const_value=lazy)
    graph.register_initializer(value)
    node.outputs[0].replace_all_uses_with(value)
    graph.remove(node, safe=True)
