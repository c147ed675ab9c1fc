"""Control flow, sequences and optionals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from ..value import Value
from .common import count_of

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("onnx", "Identity", until=13)
def identity(g: GraphBuilder, input: Value) -> Any:
    """(input) -> input; below opset 14 a sequence is copied by adding an element and taking it off again"""
    if not isinstance(input.type, ir.SequenceType):
        return NotImplemented
    inner = input.type.elem_type
    if not isinstance(inner, ir.TensorType):
        return NotImplemented
    text = inner.dtype is ir.DataType.STRING
    extra = g.constant(np.array("", object) if text else np.zeros((), inner.dtype.numpy()))
    return g.SequenceErase(g.SequenceInsert(input, extra))


@symbolic("onnx", "If")
def if_(g: GraphBuilder, cond: Value, then_branch: GraphBuilder, else_branch: GraphBuilder) -> Any:
    """(cond, then_branch, else_branch) -> outputs of one branch; where the condition is known, just that branch"""
    if cond.array is None:
        return NotImplemented
    branch = then_branch if cond.array.reshape(-1)[0] else else_branch
    for node in branch.nodes:
        for value in node.outputs:
            if isinstance(value, Value):
                value._builder = g
    g.nodes.extend(branch.nodes)
    return [_copied(value) for value in branch.outputs]


def _copied(value: Value) -> Value:
    """What a branch hands out: a value from outside it went through an Identity."""
    node = value.producer()
    if node is not None and node.op_type == "Identity" and isinstance(node.inputs[0], Value):
        return node.inputs[0]
    return value


@symbolic("onnx", "SequenceMap")
def sequence_map(g: GraphBuilder, *inputs: Value, body: GraphBuilder, outputs: Any = 1) -> Any:
    """(sequences or tensors..., body) -> sequences: a Loop that takes elements out and collects results"""
    loop = g.subgraph("sequence_map")
    step = loop.input("step", ir.DataType.INT64, ())
    loop.input("going_on", ir.DataType.BOOL, ())
    collected = [
        loop.input(f"collected_{i}", ir.SequenceType(o.type), None)  # type: ignore[arg-type]
        for i, o in enumerate(body.outputs)
    ]
    for formal, actual in zip(body.inputs, inputs, strict=True):
        element = loop.SequenceAt(actual, step) if isinstance(actual.type, ir.SequenceType) else actual
        formal.replace_all_uses_with(element)
    loop.nodes.extend(body.nodes)
    loop.output(loop.constant(np.array(True)))
    for sequence, result in zip(collected, body.outputs, strict=True):
        loop.output(loop.SequenceInsert(sequence, result))
    empty = [g.SequenceEmpty(dtype=int(o.element)) for o in body.outputs]
    count = g.SequenceLength(inputs[0])
    return g.Loop(count, np.array(True), *empty, body=loop, outputs=count_of(outputs))


@symbolic("onnx", "OptionalHasElement", until=17)
def optional_has_element(g: GraphBuilder, input: Value | None = None) -> Any:
    """(input?) -> bool; below opset 18 only of optionals: a tensor or a sequence is always there"""
    if input is None:
        return g.constant(np.array(False))
    return NotImplemented if isinstance(input.type, ir.OptionalType) else g.constant(np.array(True))


@symbolic("onnx", "OptionalGetElement", until=17)
def optional_get_element(g: GraphBuilder, input: Value) -> Any:
    """(input) -> element; below opset 18 only of optionals: a tensor or a sequence is its own element"""
    return NotImplemented if isinstance(input.type, ir.OptionalType) else input
