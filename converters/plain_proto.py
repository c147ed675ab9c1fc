"""An ONNX model's protobuf in the form that the builder reads: sparse tensors dense, map types left out."""

from __future__ import annotations

import numpy as np
import onnx

from ..validation.models import iter_graphs


def plain(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model itself where there is nothing to change, else a copy.

    A map type is only left out here: operators that make or take maps are refused by name later.
    """
    graphs = list(iter_graphs(model.graph))
    if not any(_has_sparse(g) or any(map(_is_map, _values(g))) for g in graphs):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for graph in iter_graphs(copy.graph):
        for value in filter(_is_map, _values(graph)):
            value.ClearField("type")
        for sparse in graph.sparse_initializer:
            graph.initializer.append(dense(sparse))
        del graph.sparse_initializer[:]
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name == "sparse_value" and attribute.HasField("sparse_tensor"):
                    tensor = dense(attribute.sparse_tensor)
                    attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))
    return copy


def _values(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    return [*graph.input, *graph.output, *graph.value_info]


def _is_map(value: onnx.ValueInfoProto) -> bool:
    kind = value.type
    while True:
        if kind.HasField("sequence_type"):
            kind = kind.sequence_type.elem_type
        elif kind.HasField("optional_type"):
            kind = kind.optional_type.elem_type
        else:
            return bool(kind.HasField("map_type"))


def dense(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    """A sparse tensor, its indices linear or one row for each value, as a dense one."""
    values = onnx.numpy_helper.to_array(sparse.values)
    indices = onnx.numpy_helper.to_array(sparse.indices)
    array = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        array.reshape(-1)[indices] = values
    else:
        array[tuple(indices.T)] = values
    return onnx.numpy_helper.from_array(array, sparse.values.name)


def _has_sparse(graph: onnx.GraphProto) -> bool:
    return bool(graph.sparse_initializer) or any(a.HasField("sparse_tensor") for n in graph.node for a in n.attribute)
