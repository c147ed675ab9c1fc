"""Replays existing ONNX nodes through a builder: raised to authoring signatures, then written at the asked opset.

Used for models (`from_onnx`) and for the official bodies of function operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from .adapt import run_symbolic
from .builder import GraphBuilder, Wanted
from .dims import Dim
from .errors import MissingOp, TranslationError, UnsupportedOps
from .registry import registry
from .schemas import ML_DOMAIN
from .value import Value

Environment = dict[ir.Value, "Value | None"]
DOMAINS = ("", ML_DOMAIN)


class Replay:
    """Replays nodes written at some opset.

    Args:
        versions: Opset of each domain that the nodes are written at.
        attributes: Values for attribute references (inside function bodies).
    """

    def __init__(self, versions: Mapping[str, int], attributes: Mapping[str, Any] | None = None):
        self.versions = dict(versions)
        self.attributes = attributes or {}

    def nodes(self, g: GraphBuilder, nodes: Iterable[ir.Node], env: Environment) -> None:
        """Replays nodes in order; results are added to `env`."""
        for node in nodes:
            location = node.name or (node.outputs[0].name if node.outputs else "") or node.op_type
            with g.at(g.location if self.attributes or not location else location):
                self._node(g, node, env)

    def _node(self, g: GraphBuilder, node: ir.Node, env: Environment) -> None:
        args = [None if v is None else self._operand(g, v, env) for v in node.inputs]
        attributes = {a.name: self._attribute(g, a, env) for a in node.attributes.values()}
        attributes = {k: v for k, v in attributes.items() if v is not None}
        flags = [bool(o.name) for o in node.outputs]
        while flags and not flags[-1]:
            flags.pop()
        outputs: Wanted = len(flags) if all(flags) else flags
        results = self.call(g, node.domain, node.op_type, args, attributes, outputs)
        for output, result in zip(node.outputs, results, strict=False):
            env[output] = result
            if result is not None and result.name is None and output.name and not self.attributes:
                result.name = output.name

    def call(
        self,
        g: GraphBuilder,
        domain: str,
        op: str,
        args: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
    ) -> Sequence[Value | None]:
        """Calls one operator that is written at the source opset."""
        if domain not in DOMAINS:
            raise UnsupportedOps([MissingOp(domain, op, 1, (g.location,))])
        name = f"{domain}.{op}" if domain else op
        row = registry.lookup("onnx_import", name, self.versions[domain])
        if row is not None:
            results = run_symbolic(row, g, args, attributes, outputs)
            if results is not None:
                return results
        if op == "Constant":
            return [g.constant(constant_array(attributes))]
        result = g.call(op, *args, outputs=outputs, domain=domain, **attributes)
        return result if isinstance(result, tuple) else (result,)

    def _operand(self, g: GraphBuilder, value: ir.Value, env: Environment) -> Value | None:
        if value in env:
            return env[value]
        if value.const_value is not None and value.is_initializer():
            env[value] = g.root.initializer(value.name or "weight", value.const_value)
            return env[value]
        raise TranslationError(f"the value {value.name!r} isn't defined", location=g.location)

    def _attribute(self, g: GraphBuilder, attr: ir.Attr, env: Environment) -> Any:
        if attr.is_ref():
            return self.attributes.get(attr.ref_attr_name or "")
        if attr.type is ir.AttributeType.GRAPH:
            return self.graph(g, attr.value, env)
        return attr.value

    def graph(self, g: GraphBuilder, graph: ir.Graph, env: Environment) -> GraphBuilder:
        """Replays the body of a control-flow node in a child builder."""
        child = g.subgraph(graph.name or "body")
        inner = dict(env)
        for value in graph.inputs:
            inner[value] = child.input(
                value.name or "", value.type or ir.TensorType(ir.DataType.UNDEFINED), sizes_of(value)
            )
        self.nodes(child, graph, inner)
        for output in graph.outputs:
            result = self._operand(child, output, inner)
            if result is None:
                raise TranslationError(f"the body's output {output.name!r} isn't defined", location=g.location)
            child.output(result)
        return child


def sizes_of(value: ir.Value) -> tuple[int | Dim | None, ...] | None:
    """Sizes of an ``ir.Value`` in our terms; dims that aren't plain names stay unknown."""
    if value.shape is None:
        return None
    found: list[int | Dim | None] = []
    for dim in value.shape:
        text = dim if isinstance(dim, int) else dim.value
        found.append(dim if isinstance(dim, int) else Dim(text) if text else None)
    return tuple(found)


def constant_array(attributes: Mapping[str, Any]) -> Any:
    """Contents of a Constant node."""
    for name, value in attributes.items():
        if name == "value":
            return value.numpy()
        dtype = {"float": np.float32, "int": np.int64, "string": object}.get(name[6:].rstrip("s"))
        if dtype is not None:
            return np.asarray(value, dtype)
    raise TranslationError(f"a constant of kind {sorted(attributes)}", op="Constant")


def replay_function(
    g: GraphBuilder,
    body: onnx.FunctionProto,
    args: Sequence[Value | None],
    attributes: Mapping[str, Any],
    outputs: Wanted,
) -> list[Value | None]:
    """Replays a function body on operands.

    Args:
        g: Builder to write to.
        body: The function.
        args: Operands; those that are missing count as left out.
        attributes: Attributes of the call.
        outputs: Results that are wanted.
    """
    names = list(body.output)
    produced = {o for node in body.node for o in node.output} | set(body.input)
    # a context-dependent body names results that it doesn't make when they aren't wanted
    body.ClearField("output")
    body.output.extend(n for n in names if n in produced)
    function = ir.serde.deserialize_function(body)
    versions = {o.domain: o.version for o in body.opset_import}
    env: Environment = dict.fromkeys(function.inputs)
    env.update(zip(function.inputs, args, strict=False))
    defaults = {a.name: ir.serde.deserialize_attribute(a).value for a in body.attribute_proto}
    Replay(versions, {**defaults, **attributes, "": None}).nodes(g, function, env)
    count = outputs if isinstance(outputs, int) else len(outputs)
    results = {o.name: env[o] for o in function.outputs}
    return [results.get(n) for n in names[:count]]
