"""Packed parameters of quantised layers: torch's objects say what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...symbolic.quantized.packed import PackedCell, PackedConv, PackedEmbedding, PackedLinear

if TYPE_CHECKING:
    from .weights import Weights

_LINEAR, _CONV = "LinearPackedParamsBase", ("Conv2dPackedParamsBase", "Conv3dPackedParamsBase")
_CELL, _EMBEDDING = "CellParamsBase", "EmbeddingPackedParamsBase"


def unpacked(weights: Weights, native: Any, name: str) -> Any:
    """What a packed object holds; None for an object of another class.

    Args:
        weights: Makes the initializers.
        native: ``torch.ScriptObject``.
        name: Its place in the module, for the names of the weights.
    """
    kind = str(native._type().qualified_name()).rsplit(".", 1)[-1]
    if kind == _LINEAR:
        return _linear(weights, native, name)
    if kind in _CONV:
        return _conv(weights, native, name)
    if kind == _CELL:
        return _cell(weights, native, name)
    if kind == _EMBEDDING:
        return _embedding(weights, native, name)
    return None


def _engine() -> str:
    import torch

    return str(torch.backends.quantized.engine)


def _parameter(weights: Weights, tensor: Any, name: str) -> Any:
    return None if tensor is None else weights.value(name, tensor)


def _linear(weights: Weights, native: Any, name: str) -> PackedLinear:
    (weight, bias), _ = native.__getstate__()
    return PackedLinear(
        weights.value(f"{name}.weight", weight), _parameter(weights, bias, f"{name}.bias"), _engine()
    )  # fmt: skip


def _conv(weights: Weights, native: Any, name: str) -> PackedConv:
    (_, tensors, optional), _ = native.__getstate__()
    numbers = [int(n) for n in tensors[0]]
    axes = numbers[0]
    stride, padding, dilation, output_padding = (numbers[1 + i * axes : 1 + (i + 1) * axes] for i in range(4))
    groups, transposed = numbers[1 + 4 * axes : 3 + 4 * axes]
    return PackedConv(
        weights.value(f"{name}.weight", tensors[1]), _parameter(weights, optional[0], f"{name}.bias"), _engine(),
        stride, padding, dilation, output_padding, groups, bool(transposed),
    )  # fmt: skip


def _cell(weights: Weights, native: Any, name: str) -> PackedCell:
    (_, _, _, numbers, (inputs, hidden)), _ = native.__getstate__()
    return PackedCell(
        _linear(weights, inputs, f"{name}.ih"), _linear(weights, hidden, f"{name}.hh"), bool(numbers and numbers[0])
    )  # fmt: skip


def _embedding(weights: Weights, native: Any, name: str) -> PackedEmbedding:
    import torch

    (_, (weight,), _, (bits,)), _ = native.__getstate__()
    levels = weight.int_repr()
    if bits == 4:  # two levels in a byte, the first one below
        levels = torch.stack((levels & 15, levels >> 4), -1).flatten(1)[:, : weight.shape[1]]
    return PackedEmbedding(
        weights.value(f"{name}.weight", levels),
        weights.value(f"{name}.scale", weight.q_per_channel_scales().float()),
        weights.value(f"{name}.zero", weight.q_per_channel_zero_points().float()),
    )
