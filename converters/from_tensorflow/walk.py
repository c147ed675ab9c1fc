"""Walks a TensorFlow graph and calls the symbolic function of every op; calls of functions are inlined."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import CaptureError, MissingOp, TranslationError, UnsupportedOps
from ...symbolic.registry import Symbolic, registry
from ...symbolic.tf_graph.spectral import COMPLEX_OPERANDS, COMPLEX_RESULTS
from ...symbolic.value import Value
from . import control
from .graph import RESOURCE, Graph, Library, Node, array

DIALECT = "tf_graph"
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "RemoteCall"})
BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
LOOPS = frozenset({"While", "StatelessWhile"})
#: Ops that the walk itself understands.
STRUCTURE = (
    CALLS | BRANCHES | LOOPS | {"Const", "Placeholder", "VarHandleOp", "ReadVariableOp", "ResourceGather", "NoOp"}
)
#: Ops that change a variable: what is read after them isn't what the file holds.
_WRITES = (
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "ResourceScatter",
    "Assign",
    "ScatterUpdate",
)
#: Attributes that say nothing about what is computed.
_QUIET = frozenset(
    {
        "use_cudnn_on_gpu", "grad_a", "grad_b", "grad_x", "grad_y", "N", "U", "dtype", "shape_type", "element_dtype",
        "dct_method", "use_locking", "validate_shape", "num_split", "num", "index_type", "batch_dims", "is_stateless",
    }
)  # fmt: skip
_COMPLEX = (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128)
#: Constants above this size (in bytes) become initializers of their own, as kernels do.
_LARGE = 1024


@dataclass(frozen=True)
class Resource:
    """A variable, by the key that its contents are found under."""

    key: str


Environment = dict[tuple[str, int], Any]
#: Contents of a variable.
Variables = Callable[[str], "ir.TensorProtocol | np.ndarray"]


def is_call(graph_node: Node, library: Library) -> bool:
    """Whether a node calls a function: by attribute, or by being named like it."""
    return graph_node.op in CALLS or graph_node.op in library.functions


class Walk:
    """Translates graphs.

    Args:
        g: Builder.
        library: Functions that they call.
        variables: Gives the contents of variables.
    """

    def __init__(self, g: GraphBuilder, library: Library, variables: Variables):
        self.g, self.library, self.variables = g, library, variables
        self._constants: dict[tuple[str, str], Value] = {}
        self._weights: dict[str, Value] = {}

    # --- what is missing -------------------------------------------------------------------------------------------

    def require(self, graph: Graph, results: Sequence[str]) -> None:
        """Looks up every op that results need, in called functions too.

        Raises:
            UnsupportedOps: All ops, and options of them, that can't be translated.
        """
        missing: dict[tuple[str, str], list[str]] = {}
        for place, node, leaves in self._reached(graph, results, set()):
            for reason in self._problems(node, leaves):
                missing.setdefault((node.op, reason), []).append(place)
        if missing:
            raise UnsupportedOps(
                [MissingOp(DIALECT, op, len(at), tuple(at[:3]), why) for (op, why), at in missing.items()]
            )

    def _reached(self, graph: Graph, results: Sequence[str], seen: set[str]) -> Iterator[tuple[str, Node, bool]]:
        """Nodes, where they are, and whether the graph or function gives their results."""
        given = {graph.find(r)[0] for r in results}
        wanted = [*results, *graph.kept]
        data = {n.name for n in graph.live(results)}
        for node in graph.live(wanted, controls=True):
            place = f"{graph.name}/{node.name}" if graph.name else node.name
            if node.name in data or node.op.startswith(_WRITES) or node.functions or node.op in self.library.functions:
                yield place, node, node.name in given
            called = node.functions + ([node.op] if node.op in self.library.functions else [])
            for name in called:
                if name not in seen:
                    seen.add(name)
                    inner = self.library[name]
                    yield from self._reached(inner, inner.results, seen)

    def _problems(self, node: Node, leaves: bool) -> Iterator[str]:
        if node.op.startswith(_WRITES):
            yield "the graph changes a variable"
            return
        if _is_complex(node) and node.op not in COMPLEX_OPERANDS | COMPLEX_RESULTS:
            yield "complex numbers aren't supported: only between Fourier transforms and the parts taken of them"
            return
        if leaves and node.op in COMPLEX_RESULTS:
            yield "a complex result of the graph, or of a function in it, isn't supported"
            return
        if node.op in STRUCTURE or node.op in self.library.functions:
            return
        row = registry.lookup(DIALECT, node.op, self.g.opset)
        if row is None:
            yield ""
            return
        taken = accepted(row)
        for name, value in node.attributes.items():
            if name not in taken and name not in _QUIET and not name[0].isupper():
                yield f"the attribute {name}={value!r} isn't known"

    # --- translation -----------------------------------------------------------------------------------------------

    def run(self, graph: Graph, results: Sequence[str], arguments: Sequence[Any], path: str = "") -> list[Any]:
        """Translates what results need.

        Args:
            graph: Graph or function.
            results: References to results.
            arguments: Values of a function's arguments.
            path: Where it is called, for messages.
        """
        env: Environment = {(n, 0): v for n, v in zip(graph.arguments, arguments, strict=True)}
        return self.run_in(graph, results, env, path)

    def run_in(self, graph: Graph, results: Sequence[str], env: Environment, path: str = "") -> list[Any]:
        """As `run`, with values for some of the graph's tensors."""
        for node in _needed(graph, results, env):
            where = f"{path}/{node.name}" if path else node.name
            with self.g.at(where):
                operands = [self._read(graph, env, r) for r in node.inputs]
                found = self._node(graph, node, operands, where)
                told = node.shapes
                pair = node.op in COMPLEX_RESULTS
                for i, value in enumerate(found):
                    if isinstance(value, Value):
                        if i < len(told):
                            sizes = told[i]
                            self.g.expect(value, None, [*sizes, 2] if pair and sizes is not None else sizes)
                        if not path and not pair:
                            self.g.mark(value, f"{node.name}:{i}")
                    env[node.name, i] = value
        return [self._read(graph, env, r) for r in results]

    def _read(self, graph: Graph, env: Environment, reference: str) -> Any:
        name, index = graph.find(reference)
        if (name, index) not in env:
            raise CaptureError(f"the graph uses {reference}, which nothing gives (at {self.g.location})")
        value = env[name, index]
        if value is None:
            reason = f"its result {index} has no defined value in TensorFlow"
            raise UnsupportedOps([MissingOp(DIALECT, graph.nodes[name].op, 1, (name,), reason)])
        return value

    def _node(self, graph: Graph, node: Node, operands: list[Any], where: str) -> Sequence[Any]:
        if node.op == "Const":
            return [self._constant(graph, node)]
        if node.op == "VarHandleOp":
            return [Resource(str(node.attributes.get("shared_name") or node.name))]
        if node.op in ("VariableV2", "Variable"):
            return [self._weight(Resource(str(node.attributes.get("shared_name") or node.name)))]
        if node.op == "ReadVariableOp":
            return [self._weight(operands[0])]
        if node.op == "ResourceGather":
            row = registry.lookup(DIALECT, "GatherV2", self.g.opset)
            assert row is not None
            batch = node.attributes.get("batch_dims", 0)
            axis = self.g.constant(np.array(batch))
            return self._call(row, node, [self._weight(operands[0]), operands[1], axis], {"batch_dims": batch})
        if node.op in BRANCHES:
            return control.branch(self, node, operands, where)
        if node.op in LOOPS:
            return control.loop(self, node, operands, where)
        if is_call(node, self.library):
            name = node.op if node.op in self.library.functions else node.functions[0]
            function = self.library[name]
            return self.run(function, function.results, operands, where)
        row = registry.lookup(DIALECT, node.op, self.g.opset)
        if row is None:
            raise UnsupportedOps([MissingOp(DIALECT, node.op, 1, (where,))])
        taken = accepted(row)
        return self._call(row, node, operands, {k: v for k, v in node.attributes.items() if k in taken})

    def _call(self, row: Symbolic, node: Node, operands: list[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        for operand in operands:
            if isinstance(operand, Resource):
                raise UnsupportedOps([MissingOp(DIALECT, node.op, 1, (self.g.location,), "it works on a variable")])
        found = run_symbolic(row, self.g, operands, dict(attributes), 1)
        if found is None:
            raise TranslationError("these operands aren't supported", op=node.op, location=self.g.location)
        return found

    def _constant(self, graph: Graph, node: Node) -> Value:
        key = (graph.name, node.name)
        if key not in self._constants:
            contents = array(node.attributes["value"])
            large = (contents.nbytes > _LARGE or contents.ndim > 2) and contents.dtype.kind != "O"
            name = "/".join(k for k in key if k)
            root = self.g.root
            self._constants[key] = root.initializer(name, contents) if large else root.constant(contents)
        return self._constants[key]

    def _weight(self, resource: Any) -> Value:
        if not isinstance(resource, Resource):
            raise CaptureError(f"a variable is read that isn't one (at {self.g.location})")
        if resource.key not in self._weights:
            self._weights[resource.key] = self.g.root.initializer(resource.key, self.variables(resource.key))
        return self._weights[resource.key]

    def inside(self, body: GraphBuilder, function: Graph, arguments: Sequence[Any], where: str) -> list[Any]:
        """Translates a function into a child builder."""
        outer, self.g = self.g, body
        try:
            return self.run(function, function.results, arguments, where)
        finally:
            self.g = outer


def _needed(graph: Graph, results: Sequence[str], env: Environment) -> Iterator[Node]:
    """Nodes that results need and that have no value yet, each after what it takes."""
    for node in graph.live(results):
        if (node.name, 0) not in env:
            yield node


def _is_complex(node: Node) -> bool:
    """Whether a node takes or gives complex numbers, as its attributes tell."""
    return any(d in _COMPLEX for v in node.attributes.values() for d in (v if isinstance(v, list) else [v])
               if isinstance(d, ir.DataType))  # fmt: skip


_ACCEPTED: dict[Any, frozenset[str]] = {}


def accepted(row: Symbolic) -> frozenset[str]:
    """Names of the attributes that a symbolic function takes."""
    if row.function not in _ACCEPTED:
        parameters = inspect.signature(row.function).parameters.values()
        _ACCEPTED[row.function] = frozenset(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
    return _ACCEPTED[row.function]


def resource_arguments(graph: Graph) -> list[int]:
    """Numbers of a function's arguments that are variables."""
    return [i for i, d in enumerate(graph.dtypes) if d == RESOURCE]
