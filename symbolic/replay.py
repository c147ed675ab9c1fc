"""Replays existing ONNX nodes through a builder: raised to authoring signatures, then written at the asked opset.

Used for models (`from_onnx`) and for the official bodies of function operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from . import opsets
from .adapt import run_symbolic
from .bodies import function_body
from .builder import GraphBuilder, Wanted
from .control import body_inputs, declared_sizes
from .dims import Dim, Sizes
from .errors import MissingOp, OpsetError, TranslationError, UnsupportedOps
from .infer import Inferred
from .registry import registry
from .schemas import ML_DOMAIN, Signature, signature
from .value import Value

#: What stands for each value of the source.
Environment = dict[ir.Value, "Value | None"]
#: Local functions of a model by domain, name and overload.
Functions = Mapping[tuple[str, str, str], ir.Function]
DOMAINS = ("", ML_DOMAIN)


class Replay:
    """Replays nodes written at some opset.

    Args:
        versions: Opset of each domain that the nodes are written at.
        attributes: Values for attribute references; given inside function bodies, whose names aren't kept.
        functions: Local functions of the model: a call of one is replaced with its body.
    """

    def __init__(
        self,
        versions: Mapping[str, int],
        attributes: Mapping[str, Any] | None = None,
        functions: Functions | None = None,
    ):
        self.versions = {plain_domain(d): v for d, v in versions.items()}
        self.attributes = attributes or {}
        self.functions = functions or {}
        self.keeps_names = attributes is None

    def nodes(self, g: GraphBuilder, nodes: Iterable[ir.Node], env: Environment) -> None:
        """Replays nodes in order; results are added to `env`."""
        for node in nodes:
            location = node.name or (node.outputs[0].name if node.outputs else "") or node.op_type
            with g.at(location if self.keeps_names and location else g.location):
                self._node(g, node, env)

    def _node(self, g: GraphBuilder, node: ir.Node, env: Environment) -> None:
        args = [None if v is None else self._operand(g, v, env) for v in node.inputs]
        flags = self._wanted(node)
        if not any(flags):
            return
        attributes = {a.name: self._attribute(g, a, node, args, env) for a in node.attributes.values()}
        attributes = {k: v for k, v in attributes.items() if v is not None}
        outputs: Wanted = len(flags) if all(flags) else flags
        function = self.functions.get(node.op_identifier())
        if function is not None:
            results = self._function(g, function, args, attributes)
        else:
            results = self.call(g, node.domain, node.op_type, args, attributes, outputs)
        for output, result in zip(node.outputs, results, strict=False):
            env[output] = result
            if result is not None and output.name:
                self._describe(g, output, result)

    def _wanted(self, node: ir.Node) -> list[bool]:
        """Which outputs are named; those at the end that nobody uses count only where their number means something."""
        flags = [bool(o.name) for o in node.outputs]
        found = self._signature(node.domain, node.op_type)
        kinds = found.outputs if found is not None else ()
        if (kinds and kinds[-1].variadic) or node.op_type == "BatchNormalization":  # whose further outputs say: train
            return flags
        while flags:
            last = node.outputs[len(flags) - 1]
            optional = len(flags) <= len(kinds) and kinds[len(flags) - 1].optional
            if flags[-1] and not (optional and not last.uses() and not last.is_graph_output()):
                break
            flags.pop()
        return flags

    def _signature(self, domain: str, op: str) -> Signature | None:
        domain = plain_domain(domain)
        return signature(op, self.versions[domain], domain) if domain in self.versions else None

    def _describe(self, g: GraphBuilder, output: ir.Value, result: Value) -> None:
        """Gives a result the source's name, and what only the source knows: the rank of a Loop's output, say."""
        if result.type is None:
            result.type = output.type
        if result.sizes is None and output.shape is not None:
            result.sizes = (None,) * len(output.shape)
        if self.keeps_names:
            if result.name is None:
                result.name = output.name
            if not result.is_constant:
                g.mark(result, output.name or "")

    def call(
        self,
        g: GraphBuilder,
        domain: str,
        op: str,
        args: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
    ) -> Sequence[Value | None]:
        """Calls one operator that is written at the source opset.

        Raises:
            UnsupportedOps: It belongs to a foreign domain, or its opset has no such operator.
            OpsetError: It came after the authoring opset and can't be written with what was there before.
        """
        domain = plain_domain(domain)
        if domain not in DOMAINS or domain not in self.versions:
            raise UnsupportedOps([MissingOp(domain, op, 1, (g.location,))])
        name = f"{domain}.{op}" if domain else op
        row = registry.lookup("onnx_import", name, self.versions[domain])
        if row is not None:
            results = run_symbolic(row, g, args, attributes, outputs)
            if results is not None:
                return results
        if op == "Constant" and not domain:
            return [g.constant(constant_array(attributes))]
        newest = opsets.AUTHORING_ML_OPSET if domain else opsets.AUTHORING_OPSET
        if signature(op, newest, domain) is None:
            return self._foreign_version(g, domain, op, args, attributes, outputs)
        result = g.call(op, *args, outputs=outputs, domain=domain, **attributes)
        return result if isinstance(result, tuple) else (result,)

    def _foreign_version(
        self,
        g: GraphBuilder,
        domain: str,
        op: str,
        args: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
    ) -> Sequence[Value | None]:
        """An operator that the authoring opset lacks: its official body at its own opset."""
        found = self._signature(domain, op)
        if found is None:
            where = f"opset {self.versions[domain]} of {domain or 'ai.onnx'} has no such operator"
            raise UnsupportedOps([MissingOp(domain or "onnx", op, 1, (g.location,), where)])
        body = function_body(found, args, attributes, outputs)
        if body is None:
            raise OpsetError(op, needs=found.since, target=g.opset, location=g.location)
        return replay_function(g, body, args, attributes, outputs)

    def _function(
        self, g: GraphBuilder, function: ir.Function, args: Sequence[Value | None], attributes: Mapping[str, Any]
    ) -> Sequence[Value | None]:
        env: Environment = dict.fromkeys(function.inputs)
        env.update(zip(function.inputs, args, strict=False))
        defaults = {a.name: a.value for a in function.attributes.values() if a.value is not None}
        versions = {**self.versions, **function.opset_imports}
        inner = Replay(versions, {**defaults, **attributes}, self.functions)
        inner.nodes(g, function, env)
        return [inner._operand(g, o, env) for o in function.outputs]

    def _operand(self, g: GraphBuilder, value: ir.Value, env: Environment) -> Value | None:
        if value in env:
            return env[value]
        if value.const_value is not None and value.is_initializer():
            env[value] = source_weight(g, value)
            return env[value]
        raise TranslationError(f"the value {value.name!r} isn't defined", location=g.location)

    def _attribute(
        self, g: GraphBuilder, attr: ir.Attr, node: ir.Node, args: Sequence[Value | None], env: Environment
    ) -> Any:
        if attr.is_ref():
            return self.attributes.get(attr.ref_attr_name or "")
        if attr.type is ir.AttributeType.GRAPH:
            sizes = {k: a.value for k, a in node.attributes.items() if not a.is_ref() and a.type != attr.type}
            known = body_inputs(node.op_type, self.versions.get("", 0), args, sizes)
            return self.graph(g, attr.value, env, known)
        return attr.value

    def graph(self, g: GraphBuilder, graph: ir.Graph, env: Environment, known: Inferred | None = None) -> GraphBuilder:
        """Replays the body of a control-flow node in a child builder.

        Args:
            g: Builder of the graph around it.
            graph: The body.
            env: What stands for the values around it; those of the body are added.
            known: Types and sizes of the body's inputs, as far as the node's operands tell.
        """
        child = g.subgraph(graph.name or "body")
        for i, value in enumerate(graph.inputs):
            type_, sizes = known[i] if known and i < len(known) else (None, None)
            type_ = value.type or type_
            if type_ is None:
                raise TranslationError(f"the type of the body's input {value.name!r} isn't known", location=g.location)
            env[value] = child.input(value.name or "", type_, declared_sizes(value, sizes))
        self.nodes(child, graph, env)
        for output in graph.outputs:
            result = self._operand(child, output, env)
            if result is None:
                raise TranslationError(f"the body's output {output.name!r} isn't defined", location=g.location)
            child.output(result)
        return child


def source_weight(g: GraphBuilder, value: ir.Value) -> Value:
    """An initializer of the source, under a tensor of our own: naming it anew must not rename the source's."""
    tensor, name = value.const_value, value.name or "weight"
    assert tensor is not None
    own: ir.TensorProtocol
    if tensor.dtype is ir.DataType.STRING:
        own = ir.StringTensor(tensor.string_data(), shape=tensor.shape, name=name)  # type: ignore[attr-defined, arg-type]
    elif isinstance(tensor, ir.ExternalTensor):
        own = ir.ExternalTensor(
            tensor.location, tensor.offset, tensor.length, tensor.dtype,
            shape=tensor.shape, name=name, base_dir=tensor.base_dir,
        )  # fmt: skip
    elif isinstance(tensor, ir.Tensor):
        own = ir.Tensor(tensor.raw, tensor.dtype, shape=tensor.shape, name=name)
    else:
        own = ir.LazyTensor(lambda: tensor, tensor.dtype, shape=tensor.shape, name=name)  # type: ignore[arg-type]
    return g.root.initializer(name, own)


def sizes_of(value: ir.Value) -> Sizes | None:
    """Sizes of an ``ir.Value`` in our terms; dims that aren't plain names stay unknown."""
    if value.shape is None:
        return None
    found: list[int | Dim | None] = []
    for dim in value.shape:
        if isinstance(dim, int):
            found.append(dim if dim >= 0 else None)
        else:
            found.append(Dim(dim.value) if dim.value and dim.value.isidentifier() else None)
    return tuple(found)


def plain_domain(domain: str) -> str:
    """A domain's name; the default domain has two."""
    return "" if domain == "ai.onnx" else domain


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
    Replay(versions, {**defaults, **attributes}).nodes(g, function, env)
    count = outputs if isinstance(outputs, int) else len(outputs)
    results = {o.name: env[o] for o in function.outputs}
    return [results.get(n) for n in names[:count]]
