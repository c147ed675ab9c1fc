"""Folds a BatchNormalization with constant statistics into the convolution before it."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..symbolic.value import MARK

_FUSED_INTO = ("Conv", "ConvTranspose")


def fuse_batch_norm(model: ir.Model) -> int:
    """Fuses Conv -> BatchNormalization pairs; returns how many.

    The new weights are computed in float64 when they are read, and rounded once.
    """
    fused = 0
    for node in list(model.graph):
        if node.op_type == "BatchNormalization" and not node.domain and _fuse(model.graph, node):
            fused += 1
    return fused


def _fuse(graph: ir.Graph, norm: ir.Node) -> bool:
    x = norm.inputs[0]
    conv = x.producer() if x is not None else None
    if x is None or conv is None or conv.op_type not in _FUSED_INTO or conv.domain or conv.graph is not graph:
        return False
    if len(x.uses()) != 1 or x.is_graph_output() or len(norm.outputs) != 1 or _flag(norm, "training_mode"):
        return False
    operands = [*norm.inputs[1:5], conv.inputs[1], *conv.inputs[2:3]]
    if any(v is None or v.const_value is None or v.is_graph_input() for v in operands):
        return False
    scale, shift, mean, variance = (_numbers(v) for v in norm.inputs[1:5])
    factor = scale / np.sqrt(variance + norm.attributes.get_float("epsilon", 1e-5))
    weight = conv.inputs[1]
    bias = conv.inputs[2] if len(conv.inputs) > 2 else None
    assert weight is not None and weight.const_value is not None
    offset = shift + ((_numbers(bias) if bias is not None else 0.0) - mean) * factor
    new_weight = _scaled(weight, factor, _channel_axes(conv, weight))
    dtype = weight.const_value.dtype
    new_bias = _initializer(f"{weight.name}.fused_bias", ir.Tensor(offset.astype(dtype.numpy())))
    for value in (new_weight, new_bias):
        graph.register_initializer(value)
    conv.replace_input_with(1, new_weight)
    if bias is None:
        conv.resize_inputs(3)
    conv.replace_input_with(2, new_bias)
    _take_over(norm.outputs[0], x)
    graph.remove(norm, safe=True)
    return True


def _channel_axes(conv: ir.Node, weight: ir.Value) -> tuple[int, int]:
    """Axis of the output channels in the weights, and the number of groups that share it."""
    return (0, 1) if conv.op_type == "Conv" else (1, conv.attributes.get_int("group", 1))


def _scaled(weight: ir.Value, factor: np.ndarray, channels: tuple[int, int]) -> ir.Value:
    tensor = weight.const_value
    assert tensor is not None
    axis, groups = channels

    def compute() -> ir.Tensor:
        array = tensor.numpy()
        parts = array if axis == 0 else array.reshape(groups, -1, *array.shape[1:])
        # a ConvTranspose has the input channels first, each group with its own output channels
        factors = factor.reshape(*([-1] if axis == 0 else [groups, 1, -1]), *[1] * (array.ndim - axis - 1))
        scaled = np.empty(parts.shape, array.dtype)
        np.multiply(parts, factors, out=scaled, dtype=np.float64, casting="same_kind")  # holds no float64 copy
        return ir.Tensor(scaled.reshape(array.shape))

    lazy = ir.LazyTensor(compute, dtype=tensor.dtype, shape=ir.Shape(tensor.shape), name=weight.name)
    return _initializer(f"{weight.name}.fused", lazy)


def _take_over(old: ir.Value, new: ir.Value) -> None:
    """Puts `new` in the place of `old`: its name, its uses, its place among the outputs."""
    name = old.name
    old.name = None
    new.name = name
    new.meta.pop(MARK, None)  # it holds the normalised value from now on
    if MARK in old.meta:
        new.meta[MARK] = old.meta[MARK]
    old.replace_all_uses_with(new, replace_graph_outputs=True)


def _initializer(name: str, tensor: ir.TensorProtocol) -> ir.Value:
    value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.shape), const_value=tensor)
    tensor.name = name
    return value


def _numbers(value: ir.Value | None) -> np.ndarray:
    assert value is not None and value.const_value is not None
    return value.const_value.numpy().astype(np.float64)


def _flag(node: ir.Node, name: str) -> bool:
    return bool(node.attributes.get_int(name, 0))
