"""The first node whose value differs from the source's, found in bounded memory.

Inner values of the ONNX model are made outputs, a chunk at a time, and compared with the values of the same name in
the source. A chunk holds as many values as fit the given number of bytes, so a model of any size can be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference

from ..symbolic.errors import InputSpecError
from .inputs import as_pairs
from .metrics import Metrics, is_float, measure
from .models import LoadedModel, ModelLike, iter_graphs, load_model
from .providers.ort import Session
from .tolerances import Tolerance, choose_tolerance, profile

Array = np.ndarray[Any, Any]

CHUNK_BYTES = 256 * 1024 * 1024
# Estimate for a value whose size can't be inferred, where no bigger one is known.
_UNKNOWN_BYTES = 1024 * 1024
_SUSPECTS = 8


@dataclass(frozen=True)
class Trace:
    """Access to the inner values of the source model.

    Attributes:
        values: ONNX value name -> name of the source value that must be equal to it (same shape and layout).
        run: ``run(inputs, names)`` computes the named source values. It is called with the names of one chunk at a
            time and should hold no others. Names it can't compute may be missing from its result.
        locations: ONNX value name -> where it comes from in the source: layer, file and line.
    """

    values: Mapping[str, str]
    run: Callable[[Mapping[str, Array], Sequence[str]], Mapping[str, Array]]
    locations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Divergence:
    """The first value, in the order of computation, that differs from the source.

    Attributes:
        value: ONNX value name.
        op_type: Operator of the node that makes it.
        node: Name of that node.
        source: Name of the value in the source.
        location: Source layer, file and line, as far as known.
        reason: What is wrong.
        metrics: Distance from the source; None where the shapes differ.
        tolerance: The limits that were exceeded.
        suspects: Nodes between the last values that agree and this one, ``op (name)``, nearest first.
        agreeing: The last values that agree, with their ``sc``: this node's (traced) inputs.
        compared: How many values agreed before this one.
    """

    value: str
    op_type: str
    node: str
    source: str
    location: str
    reason: str
    metrics: Metrics | None
    tolerance: Tolerance
    suspects: tuple[str, ...] = ()
    agreeing: Mapping[str, float] = field(default_factory=dict)
    compared: int = 0

    def __str__(self) -> str:
        lines = [
            f"first divergence: {self.op_type} node {self.node or '(unnamed)'}, value {self.value} "
            f"(source {self.source}{', at ' + self.location if self.location else ''})",
            f"  {self.reason}",
        ]
        if self.agreeing:
            worst = max(self.agreeing.values())
            lines.append(f"  its inputs agree: {', '.join(self.agreeing)} (sc <= {worst:.3g})")
        if len(self.suspects) > 1:
            lines.append(f"  nodes since the last agreeing values: {', '.join(self.suspects)}")
        lines.append(f"  {self.compared} value(s) before it agree")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts and lists."""
        return asdict(self)


@dataclass(frozen=True)
class Search:
    """How a search went.

    Attributes:
        divergence: What was found; None if all compared values agree.
        compared: Number of values that were compared.
        traced: Number of values of the trace.
        chunks: Number of runs of the ONNX model.
    """

    divergence: Divergence | None
    compared: int
    traced: int
    chunks: int


def first_divergence(
    model: ModelLike,
    trace: Trace,
    inputs: Mapping[str, Array],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    tolerance: float | str | Tolerance | None = None,
) -> Divergence | None:
    """Names the first node whose value differs from the source's.

    Args:
        model: ``onnx.ModelProto``, ``onnx_ir.Model`` or a path.
        trace: The source's inner values.
        inputs: One input set.
        chunk_bytes: Limit for the values that are held at a time, ONNX's and the source's together (a single value
            that is bigger makes a chunk of its own).
        tolerance: Limits for every value; None chooses by dtype and model, as for outputs.

    Returns:
        The first difference, or None if all traced values agree.

    Raises:
        InputSpecError: ``chunk_bytes`` is not positive.
        ProviderError: onnxruntime can't run a part of the model.
        MissingDependency: onnxruntime is not installed.
    """
    return search(model, trace, inputs, chunk_bytes=chunk_bytes, tolerance=tolerance).divergence


def search(
    model: ModelLike,
    trace: Trace,
    inputs: Mapping[str, Array],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    tolerance: float | str | Tolerance | None = None,
) -> Search:
    """Like ``first_divergence``, and tells how much was compared."""
    if chunk_bytes <= 0:
        raise InputSpecError(f"chunk_bytes={chunk_bytes}: it must be positive")
    loaded = load_model(model)
    graph = _Graph(loaded)
    wanted = [value for value in graph.values() if value in trace.values]
    fed = as_pairs(inputs)
    sizes = estimate_bytes(loaded, fed)
    # Twice: the source's value lies beside the model's.
    chunks = list(split(wanted, {name: 2 * size for name, size in sizes.items()}, chunk_bytes))
    numeric = profile(loaded)
    agreed: dict[str, float] = {}
    for done, names in enumerate(chunks, start=1):
        session = Session(graph.exposing(names), optimize=False)
        results = session.run({name: fed[name] for name in loaded.input_names if name in fed})
        sources = trace.run({name: array.copy() for name, array in inputs.items()}, [trace.values[n] for n in names])
        for name in names:
            if trace.values[name] not in sources:
                continue
            expected, result = np.asarray(sources[trace.values[name]]), np.asarray(results[name])
            limits = choose_tolerance(expected.dtype.name, output=name, model=numeric, user=tolerance)
            metrics, problems = compare_values(expected, result, limits)
            if problems:
                found = graph.describe(name, trace, "; ".join(problems), metrics, limits, agreed)
                return Search(found, len(agreed) + 1, len(trace.values), done)
            agreed[name] = metrics.sc if metrics else 0.0
        del session, results, sources
    return Search(None, len(agreed), len(trace.values), len(chunks))


def compare_values(expected: Array, result: Array, limits: Tolerance) -> tuple[Metrics | None, list[str]]:
    """Metrics of an inner value and what is wrong with it.

    Only the kind of dtype is compared: a source may hold a size as int32 where ONNX needs int64.
    """
    if expected.shape != result.shape:
        return None, [f"shape {list(result.shape)}, but the source has {list(expected.shape)}"]
    if is_float(expected) != is_float(result):
        return None, [f"dtype {result.dtype.name}, but the source has {expected.dtype.name}"]
    metrics = measure(expected, result)
    return metrics, limits.problems(metrics)


def split(names: Iterable[str], sizes: Mapping[str, int], limit: int) -> Iterator[list[str]]:
    """Splits names, in order, into chunks whose sizes add up to at most ``limit`` (or that hold one name)."""
    unknown = max([_UNKNOWN_BYTES, *sizes.values()])
    chunk: list[str] = []
    total = 0
    for name in names:
        size = sizes.get(name, unknown)
        if chunk and total + size > limit:
            yield chunk
            chunk, total = [], 0
        chunk.append(name)
        total += size
    if chunk:
        yield chunk


def estimate_bytes(model: LoadedModel, inputs: Mapping[str, Array]) -> dict[str, int]:
    """Value name -> size in bytes for these inputs, of every main-graph value whose shape can be inferred."""
    proto = onnx.ModelProto()
    proto.CopyFrom(model.without_weights())
    del proto.graph.value_info[:]
    for value in proto.graph.input:
        if value.name in inputs and value.type.HasField("tensor_type"):
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            for size in np.shape(inputs[value.name]):
                shape.dim.add(dim_value=size)
    try:
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError):
        return {}  # the run itself will tell what is wrong; without sizes the chunks are only smaller
    sizes = {}
    for value in [*proto.graph.value_info, *proto.graph.output]:
        kind = value.type.tensor_type
        if not kind.elem_type or not kind.HasField("shape") or kind.elem_type == onnx.TensorProto.STRING:
            continue
        if all(dim.HasField("dim_value") for dim in kind.shape.dim):
            itemsize = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)).itemsize
            sizes[value.name] = itemsize * int(np.prod([dim.dim_value for dim in kind.shape.dim], dtype=np.int64))
    return sizes


class _Graph:
    """The main graph by value, and parts of it as models."""

    def __init__(self, model: LoadedModel):
        self.model = model
        self.nodes = list(model.proto.graph.node)
        self.producer = {name: index for index, node in enumerate(self.nodes) for name in node.output if name}
        self.reads = [_reads(node) for node in self.nodes]

    def values(self) -> Iterator[str]:
        """Node outputs in the order of computation."""
        for node in self.nodes:
            yield from (name for name in node.output if name)

    def exposing(self, names: Sequence[str]) -> LoadedModel:
        """The part of the model that computes the named values, with these as outputs."""
        needed: set[int] = set()
        stack = [self.producer[name] for name in names]
        while stack:
            index = stack.pop()
            if index not in needed:
                needed.add(index)
                stack += [self.producer[name] for name in self.reads[index] if name in self.producer]
        read = {name for index in needed for name in self.reads[index]}
        proto = onnx.ModelProto(ir_version=self.model.proto.ir_version, functions=self.model.proto.functions)
        proto.opset_import.extend(self.model.proto.opset_import)
        source, target = self.model.proto.graph, proto.graph
        target.name = source.name
        target.node.extend(self.nodes[index] for index in sorted(needed))
        target.input.extend(source.input)
        target.initializer.extend(tensor for tensor in source.initializer if tensor.name in read)
        target.sparse_initializer.extend(source.sparse_initializer)
        target.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        weights = {name: self.model.weights[name] for name in self.model.weights if name in read}
        return LoadedModel(proto, weights, self.model.folder)

    def describe(
        self,
        name: str,
        trace: Trace,
        reason: str,
        metrics: Metrics | None,
        limits: Tolerance,
        agreed: Mapping[str, float],
    ) -> Divergence:
        node = self.nodes[self.producer[name]]
        suspects: dict[int, None] = {}
        agreeing: dict[str, float] = {}
        queue = [self.producer[name]]
        for index in queue:  # breadth first, so the nearest come first
            if index in suspects:
                continue
            suspects[index] = None
            for value in self.reads[index]:
                if value in agreed:
                    agreeing[value] = agreed[value]
                elif value in self.producer:
                    queue.append(self.producer[value])
        named = [f"{self.nodes[i].op_type} ({self.nodes[i].name or self.nodes[i].output[0]})" for i in suspects]
        if len(named) > _SUSPECTS:
            named = [*named[:_SUSPECTS], f"and {len(named) - _SUSPECTS} more"]
        return Divergence(
            value=name,
            op_type=node.op_type,
            node=node.name,
            source=trace.values[name],
            location=trace.locations.get(name, ""),
            reason=f"{reason} ({limits.tier}: {limits.reason})",
            metrics=metrics,
            tolerance=limits,
            suspects=tuple(named),
            agreeing=agreeing,
            compared=len(agreed),
        )


def _reads(node: onnx.NodeProto) -> list[str]:
    """Names that a node reads, with those that its subgraphs take from outside.

    Names that a subgraph defines itself are in the list too: they are unique in a model, so they do no harm.
    """
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            for inner in iter_graphs(graph):
                names += [name for inner_node in inner.node for name in inner_node.input if name]
                names += [value.name for value in inner.output]
    return names
