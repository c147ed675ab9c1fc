"""Transposes weights ahead of time where only the transposed form is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import onnx_ir as ir

#: Bytes of a transposed weight that are in memory at a time while it is written.
_PART = 16 * 1024 * 1024


def fold_weight_transposes(model: ir.Model) -> int:
    """Replaces Transpose of an initializer by a transposed initializer; returns how many.

    A weight that is also used as it is (a tied embedding) stays: folding would store it twice.
    """
    folded = 0
    for node in list(model.graph):
        source = node.inputs[0] if node.inputs else None
        if node.op_type != "Transpose" or node.domain or source is None or source.const_value is None:
            continue
        if source.is_graph_input() or len(source.uses()) != 1 or node.outputs[0].is_graph_output():
            continue
        _fold(model.graph, node, source)
        folded += 1
    return folded


def _fold(graph: ir.Graph, node: ir.Node, source: ir.Value) -> None:
    tensor = source.const_value
    assert tensor is not None
    permutation = node.attributes.get_ints("perm") or list(range(len(tensor.shape)))[::-1]
    value = transposed_weight(tensor, permutation, f"{source.name}.transposed")
    graph.register_initializer(value)
    node.outputs[0].replace_all_uses_with(value)
    graph.remove(node, safe=True)


def transposed_weight(tensor: ir.TensorProtocol, permutation: Sequence[int], name: str) -> ir.Value:
    """An initializer that is transposed whenever it is read; its contents are held nowhere."""
    lazy = _Transposed(tensor, permutation, name)
    return ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=lazy.shape, const_value=lazy)


class _Transposed(ir.LazyTensor):
    """A transposed tensor, written in parts: a whole copy of a large embedding is much memory."""

    __slots__ = ("_permutation", "_source")

    def __init__(self, source: ir.TensorProtocol, permutation: Sequence[int], name: str):
        self._source, self._permutation = source, tuple(permutation)
        super().__init__(
            lambda: ir.Tensor(np.ascontiguousarray(self._view()), dtype=source.dtype),
            dtype=source.dtype,
            shape=ir.Shape([int(source.shape[p]) for p in permutation]),  # type: ignore[arg-type]
            name=name,
        )

    def _view(self) -> np.ndarray[Any, Any]:
        return self._source.numpy().transpose(self._permutation)

    def tofile(self, file: IO[bytes]) -> None:
        """Writes the raw bytes."""
        if self.dtype.bitwidth < 8 or sys.byteorder != "little" or not self.size:
            super().tofile(file)
            return
        view = self._view()
        rows = max(1, _PART * len(view) // view.nbytes)
        for start in range(0, len(view), rows):
            file.write(np.ascontiguousarray(view[start : start + rows]).view(np.uint8).data)
