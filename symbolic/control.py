"""Result types of If, Loop and Scan, read off the bodies (child builders) they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from .dims import Sizes
from .infer import Inferred
from .value import Value, tensor_type

if TYPE_CHECKING:
    from .builder import GraphBuilder


def body_types(op: str, args: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int) -> Inferred:
    """Types and sizes of the results of a control-flow operator.

    Args:
        op: If, Loop or Scan.
        args: Operands.
        attributes: Attributes; the bodies are child builders.
        outputs: How many results there are.

    Raises:
        ValueError: The bodies don't fit each other or the operands.
    """
    if op == "If":
        return _if(attributes["then_branch"], attributes["else_branch"], outputs)
    if op == "Loop":
        return _loop(args, attributes["body"], outputs)
    return _scan(args, attributes, outputs)


def _if(then: GraphBuilder, other: GraphBuilder, outputs: int) -> Inferred:
    if not len(then.outputs) == len(other.outputs) == outputs:
        raise ValueError(f"branches give {len(then.outputs)} and {len(other.outputs)} results, {outputs} are wanted")
    found: Inferred = []
    for a, b in zip(then.outputs, other.outputs, strict=True):
        if a.dtype != b.dtype:
            raise ValueError(f"a branch gives {a.dtype}, the other {b.dtype}")
        found.append((a.type, common_sizes(a.sizes, b.sizes)))
    return found


def common_sizes(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    """What holds of both shapes."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def _loop(args: Sequence[Value | None], body: GraphBuilder, outputs: int) -> Inferred:
    carried = len(body.inputs) - 2
    if len(body.outputs) - 1 != outputs:
        raise ValueError(f"the body gives {len(body.outputs) - 1} results, {outputs} are wanted")
    found: Inferred = []
    for i, value in enumerate(body.outputs[1:]):
        if i < carried:
            start = args[2 + i] if 2 + i < len(args) else None
            found.append((value.type, common_sizes(value.sizes, start.sizes if start is not None else None)))
        else:
            found.append((value.type, None if value.sizes is None else (None, *value.sizes)))
    return found


def _scan(args: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int) -> Inferred:
    body: GraphBuilder = attributes["body"]
    scanned = attributes["num_scan_inputs"]
    states = len(body.inputs) - scanned
    if len(body.outputs) != outputs:
        raise ValueError(f"the body gives {len(body.outputs)} results, {outputs} are wanted")
    first = args[states] if states < len(args) else None
    axes_in = attributes.get("scan_input_axes") or [0]
    steps = first.sizes[axes_in[0]] if first is not None and first.sizes else None
    axes_out = attributes.get("scan_output_axes") or [0] * (outputs - states)
    found: Inferred = []
    for i, value in enumerate(body.outputs):
        if i < states or value.sizes is None:
            found.append((value.type, value.sizes))
            continue
        axis = axes_out[i - states] % (len(value.sizes) + 1)
        found.append((value.type, (*value.sizes[:axis], steps, *value.sizes[axis:])))
    return found


def body_inputs(op: str, version: int, args: Sequence[Value | None], attributes: Mapping[str, Any]) -> Inferred:
    """Types and sizes of a body's inputs, as far as the operands of the node around it tell.

    Args:
        op: If, Loop or Scan.
        version: Opset of the node: the scan of opset 8 has a batch axis.
        args: Operands.
        attributes: Attributes, without the bodies.
    """
    if op == "Loop":
        # a carried value may grow: its first size says nothing about the later ones
        carried: Inferred = [(None if a is None else a.type, None) for a in args[2:]]
        return [(tensor_type(ir.DataType.INT64), ()), (tensor_type(ir.DataType.BOOL), ()), *carried]
    if op != "Scan":
        return []
    batched = version < 9
    values = args[1:] if batched else args
    states = len(values) - attributes["num_scan_inputs"]
    axes = attributes.get("scan_input_axes") or [0] * (len(values) - states)
    found: Inferred = []
    for i, value in enumerate(values):
        sizes = None if value is None else value.sizes
        if sizes is not None and batched:
            sizes = sizes[1:]
        if sizes is not None and i >= states:
            axis = axes[i - states] % len(sizes)
            sizes = (*sizes[:axis], *sizes[axis + 1 :])
        found.append((None if value is None else value.type, sizes))
    return found


def declared_sizes(value: ir.Value, known: Sizes | None) -> Sizes | None:
    """Sizes of a body's input: what is known of them and, where nothing is, the numbers that the body declares.

    Names that it declares are not used: exporters give them to values that grow from step to step.
    """
    if value.shape is None:
        return known
    declared = tuple(s if isinstance(s, int) and s >= 0 else None for s in value.shape)
    if known is None or len(known) != len(declared):
        return declared
    return tuple(d if k is None else k for k, d in zip(known, declared, strict=True))


def is_body(value: object) -> bool:
    """Whether an attribute value is a graph."""
    return isinstance(value, ir.Graph) or hasattr(value, "subgraph")
