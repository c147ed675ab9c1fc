"""Packed parameters of quantised layers: torch's objects say what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...symbolic.errors import TranslationError
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
    if transposed:
        options = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
        _check_transposed(native, name, tensors[1], {**options, "groups": groups})
    return PackedConv(
        weights.value(f"{name}.weight", tensors[1]), _parameter(weights, optional[0], f"{name}.bias"), _engine(),
        stride, padding, dilation, output_padding, groups, bool(transposed),
    )  # fmt: skip


def _check_transposed(native: Any, name: str, weight: Any, options: dict[str, Any]) -> None:
    """Raises where torch's own kernel of a transposed convolution computes something else than the layer says.

    Some do: fbgemm's for kernels of size 2 and 8 channels, onednn's where the channels differ (torch 2.14).
    """
    import torch

    axes = weight.dim() - 2
    plain = torch.nn.functional.conv_transpose2d if axes == 2 else torch.nn.functional.conv_transpose3d
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(1, weight.shape[0], *(1 if k == 1 else 3 for k in weight.shape[2:]), generator=generator)
    x = torch.quantize_per_tensor(x, 1 / 64, 32, torch.quint8)
    with torch.no_grad():
        wanted = plain(x.dequantize(), weight.dequantize(), native.bias(), **options)
        step = float(wanted.abs().max()) / 120 or 1.0
        found = getattr(torch.ops.quantized, f"conv_transpose{axes}d")(x, native, step, 128).dequantize()
    if float((found - wanted).abs().max()) > 1.1 * step:
        raise TranslationError(
            f"torch's {_engine()} computes the transposed convolution {name} wrongly; choose another engine, as in "
            "torch.backends.quantized.engine = 'qnnpack', before the model is made or loaded"
        )


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
        levels = torch.stack((levels & 15, levels >> 4), -1).flatten()[: weight.numel()].view(weight.shape)
    scale = weight.q_per_channel_scales().float()
    offset = -weight.q_per_channel_zero_points().float() * scale
    if bits == 4:  # where these lie in half precision
        scale, offset = scale.half().float(), offset.half().float()
    return PackedEmbedding(
        weights.value(f"{name}.weight", levels),
        weights.value(f"{name}.scale", scale),
        weights.value(f"{name}.offset", offset),
        bits,
    )
