"""Graphs as TensorFlow's files hold them: nodes by name, functions, and attributes as Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from ...symbolic.errors import CaptureError

_T = ir.DataType
#: TensorFlow's dtype numbers.
DTYPES: dict[int, ir.DataType] = {
    1: _T.FLOAT, 2: _T.DOUBLE, 3: _T.INT32, 4: _T.UINT8, 5: _T.INT16, 6: _T.INT8, 7: _T.STRING, 8: _T.COMPLEX64,
    9: _T.INT64, 10: _T.BOOL, 14: _T.BFLOAT16, 17: _T.UINT16, 18: _T.COMPLEX128, 19: _T.FLOAT16, 22: _T.UINT32,
    23: _T.UINT64,
}  # fmt: skip
RESOURCE, VARIANT = 20, 21
_FIELDS = {
    1: "float_val", 2: "double_val", 3: "int_val", 4: "int_val", 5: "int_val", 6: "int_val", 7: "string_val",
    8: "scomplex_val", 9: "int64_val", 10: "bool_val", 14: "half_val", 17: "int_val", 18: "dcomplex_val",
    19: "half_val", 22: "uint32_val", 23: "uint64_val",
}  # fmt: skip
#: Names of the outputs of ops that have several, each a single tensor: function bodies refer to them by name.
OUTPUTS: dict[str, tuple[str, ...]] = {
    "TopKV2": ("values", "indices"), "TopK": ("values", "indices"), "Unique": ("y", "idx"), "UniqueV2": ("y", "idx"),
    "UniqueWithCounts": ("y", "idx", "count"), "UniqueWithCountsV2": ("y", "idx", "count"), "ListDiff": ("out", "idx"),
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV3": (
        "y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"
    ),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "CombinedNonMaxSuppression": ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"),
    "MaxPoolWithArgmax": ("output", "argmax"), "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"), "Switch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"), "LogMatrixDeterminant": ("sign", "log_abs_determinant"),
    "TensorListPopBack": ("output_handle", "tensor"), "TensorListConcatV2": ("tensor", "lengths"),
    "StatelessRandomGetKeyCounter": ("key", "counter"),
    "StatelessRandomGetKeyCounterAlg": ("key", "counter", "alg"),
    "Svd": ("s", "u", "v"), "Qr": ("q", "r"), "Lu": ("lu", "p"),
    "SelfAdjointEigV2": ("e", "v"), "Eig": ("e", "v"), "QuantizeV2": ("output", "output_min", "output_max"),
    "BlockLSTM": ("i", "cs", "f", "o", "ci", "co", "h"), "BlockLSTMV2": ("i", "cs", "f", "o", "ci", "co", "h"),
    "LSTMBlockCell": ("i", "cs", "f", "o", "ci", "co", "h"), "GRUBlockCell": ("r", "u", "c", "h"),
    "BroadcastGradientArgs": ("r0", "r1"), "RaggedRange": ("rt_nested_splits", "rt_dense_values"),
    "SparseReshape": ("output_indices", "output_shape"),
}  # fmt: skip


@dataclass(slots=True)
class Node:
    """One operation.

    Attributes:
        name: Its name in its graph.
        op: Operation, or the name of a function.
        inputs: References to the tensors it takes.
        controls: Nodes that run before it.
        raw: Its attributes as protobufs.
    """

    name: str
    op: str
    inputs: list[str]
    controls: list[str]
    raw: Mapping[str, Any]
    _attributes: dict[str, Any] | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes as Python values."""
        if self._attributes is None:
            self._attributes = {k: attribute(v) for k, v in self.raw.items() if not k.startswith("_")}
        return self._attributes

    @property
    def functions(self) -> list[str]:
        """Names of the functions that it calls."""
        found = []
        for value in self.attributes.values():
            found += [v.name for v in (value if isinstance(value, list) else [value]) if isinstance(value, Callee)
                      or isinstance(v, Callee)]  # fmt: skip
        return found

    @property
    def shapes(self) -> list[list[int | None] | None]:
        """Shapes of its results as far as the graph tells them."""
        raw = self.raw.get("_output_shapes")
        return [] if raw is None else [shape(s) for s in raw.list.shape]


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that is named by an attribute."""

    name: str


@dataclass(slots=True)
class Graph:
    """Nodes by name; a function has arguments and results, too.

    Attributes:
        name: Name of the function; empty for the main graph.
        nodes: Its nodes.
        arguments: Names of a function's arguments.
        results: References to a function's results.
        dtypes: TensorFlow's numbers of the dtypes of the arguments.
        kept: Nodes that a function runs for what they do.
    """

    name: str
    nodes: dict[str, Node]
    arguments: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    dtypes: list[int] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def find(self, reference: str) -> tuple[str, int]:
        """Node (or argument) and number of the result that a reference means."""
        parts = reference.split(":")
        if len(parts) == 1:
            return parts[0], 0
        if len(parts) == 2:
            return parts[0], int(parts[1])
        names = OUTPUTS.get(self.nodes[parts[0]].op, ())
        if parts[1] in names:
            return parts[0], names.index(parts[1])
        return parts[0], int(parts[2])

    def live(self, results: Sequence[str], *, controls: bool = False) -> Iterator[Node]:
        """Nodes that results depend on, each after those that it depends on.

        Args:
            results: References.
            controls: Also what only runs before them.
        """
        state: dict[str, int] = {}
        stack = [self.find(r)[0] for r in reversed(results)]
        arguments = set(self.arguments)
        while stack:
            name = stack[-1]
            if name in arguments or state.get(name) == 2:
                stack.pop()
                continue
            node = self.nodes.get(name)
            if node is None:
                raise CaptureError(f"the graph has no node {name}")
            if state.get(name) == 1:
                state[name] = 2
                stack.pop()
                yield node
                continue
            state[name] = 1
            before = [self.find(r)[0] for r in node.inputs] + (node.controls if controls else [])
            stack.extend(n for n in before if state.get(n) is None)


@dataclass(slots=True)
class Library:
    """Functions by name."""

    functions: dict[str, Graph]

    def __getitem__(self, name: str) -> Graph:
        if name not in self.functions:
            raise CaptureError(f"the graph calls a function {name} that it doesn't have")
        return self.functions[name]


def read_graph(proto: Any) -> tuple[Graph, Library]:
    """The main graph of a GraphDef, and its functions."""
    functions = {f.signature.name: _function(f) for f in proto.library.function}
    return Graph("", _nodes(proto.node)), Library(functions)


def _nodes(protos: Any) -> dict[str, Node]:
    found = {}
    for p in protos:
        inputs = [i for i in p.input if not i.startswith("^")]
        controls = [i[1:] for i in p.input if i.startswith("^")]
        found[p.name] = Node(p.name, p.op, inputs, controls, dict(p.attr))
    return found


def _function(proto: Any) -> Graph:
    arguments = proto.signature.input_arg
    return Graph(
        proto.signature.name,
        _nodes(proto.node_def),
        [a.name for a in arguments],
        [proto.ret[a.name] for a in proto.signature.output_arg],
        [a.type for a in arguments],
        list(proto.control_ret.values()),
    )


def attribute(proto: Any) -> Any:
    """An attribute as a Python value: dtypes as ``ir.DataType`` (numbers where ONNX has none), shapes as lists."""
    kind = proto.WhichOneof("value")
    if kind == "list":
        return _list(proto.list)
    if kind is None:
        return None
    return _single(kind, getattr(proto, kind))


def _single(kind: str, value: Any) -> Any:
    if kind == "s":
        return _text(value)
    if kind == "type":
        return DTYPES.get(value, value)
    if kind == "shape":
        return shape(value)
    if kind == "func":
        return Callee(value.name)
    return value


def _list(proto: Any) -> list[Any]:
    for kind in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        values = getattr(proto, kind)
        if values:
            return [_single(kind, v) for v in values]
    return []


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def shape(proto: Any) -> list[int | None] | None:
    """Sizes, None where open; None where the rank is unknown."""
    return None if proto.unknown_rank else [d.size if d.size >= 0 else None for d in proto.dim]


def numpy_dtype(number: int) -> np.dtype[Any]:
    """numpy's dtype for one of TensorFlow's."""
    if number not in DTYPES:
        raise CaptureError(f"tensors of TensorFlow's dtype number {number} are not supported")
    found = DTYPES[number]
    return np.dtype(object) if found is _T.STRING else np.dtype(found.numpy())


def array(proto: Any) -> np.ndarray:
    """A TensorProto as an array."""
    dtype = numpy_dtype(proto.dtype)
    sizes = [d.size for d in proto.tensor_shape.dim]
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, dtype).reshape(sizes)
    values = list(getattr(proto, _FIELDS[proto.dtype]))
    if proto.dtype in (14, 19):
        flat = np.array(values, np.uint16).view(ml_dtypes.bfloat16 if proto.dtype == 14 else np.float16)
    elif proto.dtype in (8, 18):
        flat = np.array(values, np.float64).view(np.complex128).astype(dtype)
    else:
        flat = np.empty(len(values), dtype)
        flat[:] = values
    count = int(np.prod(sizes, dtype=np.int64))
    if flat.size == 0 and count:
        flat = np.full(1, b"" if dtype.kind == "O" else 0, dtype)
    if flat.size < count:  # the last value stands for all that follow
        flat = np.concatenate([flat, np.repeat(flat[-1:], count - flat.size)])
    return flat[:count].reshape(sizes)
