"""Lets what only moves elements move the levels of a quantised tensor, before they become numbers."""

from __future__ import annotations

import onnx_ir as ir

_MOVES = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "MaxPool"})
#: From here on onnxruntime (1.32) makes the exchange itself, for int8 with a QuantizeLinear that it can't type.
_SINCE = 21


def move_levels(model: ir.Model) -> int:
    """Exchanges DequantizeLinear of int8 and a move behind it; returns how many moves now work on levels.

    Where all that follows a move is rounded again, the usual form stays: DequantizeLinear, move, QuantizeLinear.
    """
    if (model.opset_imports.get("") or 0) < _SINCE:
        return 0
    moved = 0
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        source = node.inputs[0].producer() if node.op_type in _MOVES and not node.domain and node.inputs[0] else None
        if source is not None and _fits(source) and len(node.outputs) == 1 and _floats_follow(node.outputs[0]):
            _exchange(source, node)
            moved += 1
    return moved


def _fits(source: ir.Node) -> bool:
    """Whether a node dequantises int8 that isn't a weight, all with one scale."""
    if source.op_type != "DequantizeLinear" or source.domain:
        return False
    levels, scale = source.inputs[:2]
    if levels is None or scale is None or levels.const_value is not None or levels.dtype != ir.DataType.INT8:
        return False
    return scale.shape is not None and len(scale.shape) == 0


def _floats_follow(value: ir.Value) -> bool:
    users = value.consumers()
    return not value.is_graph_output() and any(user.op_type != "QuantizeLinear" for user in users)


def _exchange(source: ir.Node, move: ir.Node) -> None:
    graph, before = move.graph, move.outputs[0]
    assert graph is not None
    levels = ir.Value(name=f"{before.name}.levels", type=ir.TensorType(ir.DataType.INT8), shape=before.shape)
    numbers = ir.Value(name=before.name, type=before.type, shape=before.shape)
    numbers.meta.update(before.meta)
    before.name = f"{before.name}.moved"
    first = ir.Node(
        "", move.op_type, [source.inputs[0], *move.inputs[1:]], list(move.attributes.values()), outputs=[levels]
    )
    second = ir.Node(
        "", "DequantizeLinear", [levels, *source.inputs[1:]], list(source.attributes.values()), outputs=[numbers]
    )
    graph.insert_after(move, [first, second])
    before.replace_all_uses_with(numbers)
    graph.remove(move, safe=True)
