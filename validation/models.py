"""One form for every model that is checked or run: a small protobuf plus its weights, held apart.

A model may come as an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a path.
Runtimes and the checker want a serialised protobuf, which can't exceed 2 GB and would copy all the weights.
So big weights are taken out once, as numpy views where the source allows it.
The graph that is left is small: it can be changed, serialised and loaded again at no cost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError

from ..symbolic.errors import CheckFailed, InputSpecError

ModelLike: TypeAlias = "onnx.ModelProto | ir.Model | str | os.PathLike[str] | LoadedModel"

# Below this size a weight stays in the protobuf: shape vectors must be visible to shape inference.
BIG_WEIGHT = 16 * 1024

# Element types that can be handed to a runtime as a plain buffer.
_HANDED_OVER = frozenset(
    (
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.BFLOAT16,
        onnx.TensorProto.INT8,
        onnx.TensorProto.INT16,
        onnx.TensorProto.INT32,
        onnx.TensorProto.INT64,
        onnx.TensorProto.UINT8,
        onnx.TensorProto.UINT16,
        onnx.TensorProto.UINT32,
        onnx.TensorProto.UINT64,
        onnx.TensorProto.BOOL,
    )
)


class Arrays(Mapping[str, "np.ndarray[Any, Any]"]):
    """Arrays by name, each made when it is first asked for: a check looks at none of them."""

    def __init__(self, makers: Mapping[str, Callable[[], np.ndarray[Any, Any]]]):
        self._makers = dict(makers)
        self._made: dict[str, np.ndarray[Any, Any]] = {}

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@dataclass(eq=False)
class LoadedModel:
    """A model whose big weights are held beside its protobuf.

    Attributes:
        proto: The model; an initializer in ``weights`` has external location ``in-memory`` and no data.
        weights: Main-graph initializer name -> its array, in the tensor's own dtype and shape.
        folder: Where the external data files of the remaining initializers lie, if there are any.
        path: The file the model came from, if it came from one.
    """

    proto: onnx.ModelProto
    weights: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    folder: str | None = None
    path: str | None = None

    @property
    def input_names(self) -> list[str]:
        """Graph inputs that the caller must feed, without those that only give an initializer its default."""
        held = {tensor.name for tensor in self.proto.graph.initializer}
        return [value.name for value in self.proto.graph.input if value.name not in held]

    @property
    def output_names(self) -> list[str]:
        """Graph outputs, in order."""
        return [value.name for value in self.proto.graph.output]

    def without_weights(self) -> onnx.ModelProto:
        """The model with its big weights as graph inputs, for the checker and for shape inference.

        Nothing is lost by it: an input of the same type and shape is checked like an initializer, and that the data
        fit the shape was seen when they were loaded as an array.
        """
        if not self.weights:
            return self.proto
        model = onnx.ModelProto()
        model.CopyFrom(self.proto)
        graph = model.graph
        declared = {value.name for value in graph.input}
        kept = [tensor for tensor in graph.initializer if tensor.name not in self.weights]
        for tensor in graph.initializer:
            if tensor.name in self.weights and tensor.name not in declared:
                shape = list(tensor.dims)
                graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, shape))
        del graph.initializer[:]
        graph.initializer.extend(kept)
        return model


def load_model(model: ModelLike) -> LoadedModel:
    """Brings a model into the form that the checker and the providers use.

    Args:
        model: ``onnx.ModelProto``, ``onnx_ir.Model``, a path, or a ``LoadedModel`` (returned as it is).

    Raises:
        InputSpecError: The path can't be read, or the argument isn't a model.
        CheckFailed: The file isn't an ONNX model, or a weight's data don't fit its shape.
    """
    if isinstance(model, LoadedModel):
        return model
    if isinstance(model, ir.Model):
        try:
            return _from_ir(model)
        except OSError as error:
            raise InputSpecError(f"can't read the model's external data: {error}") from error
    if isinstance(model, onnx.ModelProto):
        return _from_proto(model)
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        loaded = _from_proto(read_proto(path))
        loaded.folder, loaded.path = os.path.dirname(os.path.abspath(path)), path
        return loaded
    raise InputSpecError(f"{type(model).__name__} is not a model: pass a path, onnx.ModelProto or onnx_ir.Model")


def read_proto(path: str) -> onnx.ModelProto:
    """Reads a model file, leaving external data on disk.

    Raises:
        InputSpecError: The file can't be read.
        CheckFailed: The file isn't an ONNX model.
    """
    try:
        proto: onnx.ModelProto = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise InputSpecError(f"can't read the model {path}: {error.strerror or error}") from error
    except DecodeError as error:
        raise CheckFailed([f"{path} is not an ONNX model: {error}"]) from error
    return proto


def iter_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and all graphs inside its nodes' attributes, outer ones first."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from iter_graphs(inner)


def iter_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node of the main graph, of its subgraphs and of the local functions."""
    for graph in iter_graphs(model.graph):
        yield from graph.node
    for function in model.functions:
        # A function body isn't a GraphProto, yet its nodes may hold graphs.
        yield from function.node
        for node in function.node:
            for attribute in node.attribute:
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    for graph in iter_graphs(inner):
                        yield from graph.node


def dtype_name(element_type: int) -> str:
    """numpy name of an ONNX element type, ``string`` for strings."""
    if element_type == onnx.TensorProto.STRING:
        return "string"
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element_type)).name


def _from_proto(model: onnx.ModelProto) -> LoadedModel:
    light = onnx.ModelProto()
    _copy_fields(model, light, skip="graph")
    _copy_fields(model.graph, light.graph, skip="initializer")
    weights: dict[str, np.ndarray[Any, Any]] = {}
    for tensor in model.graph.initializer:
        inside = tensor.data_location != onnx.TensorProto.EXTERNAL
        if not inside or tensor.ByteSize() < BIG_WEIGHT or tensor.data_type not in _HANDED_OVER:
            light.graph.initializer.append(tensor)
            continue
        try:
            array = onnx.numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise CheckFailed([f"initializer {tensor.name}: its data don't fit its shape: {error}"]) from error
        weights[tensor.name] = array
        light.graph.initializer.append(_placeholder(tensor.name, tensor.data_type, array))
    return LoadedModel(light, weights)


def _from_ir(model: ir.Model) -> LoadedModel:
    makers: dict[str, Callable[[], np.ndarray[Any, Any]]] = {}
    # The weights are swapped for placeholders while the model is serialised, as ``ir.save`` does it:
    # a clone of the graph costs eight times as much as the serialisation.
    swapped: list[tuple[ir.Value, Any]] = []
    try:
        for graph in model.graphs():
            for value in graph.initializers.values():
                tensor, name = value.const_value, value.name
                if tensor is None or name is None:
                    continue
                big = tensor.nbytes >= BIG_WEIGHT and int(tensor.dtype) in _HANDED_OVER
                if big and graph is model.graph:
                    makers[name] = partial(_contiguous, tensor)
                    shape = ir.Shape([int(d) for d in tensor.shape])  # type: ignore[arg-type]
                    placeholder: Any = ir.ExternalTensor(
                        "in-memory", 0, tensor.nbytes, tensor.dtype, shape=shape, name=name, base_dir=""
                    )
                elif isinstance(tensor, ir.ExternalTensor):
                    # The caller's external files are known to the tensor only: the protobuf has no folder for them.
                    placeholder = ir.Tensor(tensor.numpy(), dtype=tensor.dtype, name=name)
                else:
                    continue
                swapped.append((value, tensor))
                value.const_value = placeholder
        proto = ir.to_proto(model)
    finally:
        for value, tensor in swapped:
            value.const_value = tensor
    return LoadedModel(proto, Arrays(makers))


def _contiguous(tensor: ir.TensorProtocol) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(tensor.numpy())


def _placeholder(name: str, data_type: int, array: np.ndarray[Any, Any]) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=data_type, dims=array.shape)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "in-memory"), ("offset", "0"), ("length", str(array.nbytes))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def _copy_fields(source: Any, target: Any, skip: str) -> None:
    """Copies all set fields of a message but one, without going through that one's bytes."""
    for descriptor, value in source.ListFields():
        if descriptor.name == skip:
            continue
        if hasattr(value, "extend"):
            getattr(target, descriptor.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(target, descriptor.name).CopyFrom(value)
        else:
            setattr(target, descriptor.name, value)


BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
