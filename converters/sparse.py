"""Sparse weights and constants of an ONNX file as dense ones: the builder knows dense tensors only."""

from __future__ import annotations

import numpy as np
import onnx

from ..validation.models import iter_graphs


def without_sparse(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model itself where nothing in it is sparse, else a copy with dense tensors."""
    if not any(_has_sparse(graph) for graph in iter_graphs(model.graph)):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for graph in iter_graphs(copy.graph):
        for sparse in graph.sparse_initializer:
            graph.initializer.append(dense(sparse))
        del graph.sparse_initializer[:]
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name == "sparse_value" and attribute.HasField("sparse_tensor"):
                    tensor = dense(attribute.sparse_tensor)
                    attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))
    return copy


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
