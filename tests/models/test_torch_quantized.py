"""Quantised PyTorch programs come out as QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError

decomposed = torch.ops.quantized_decomposed
OPSETS = [11, 13, 21]


class Plain(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.function(x, self.layer)


def per_tensor(x, layer):
    import torch.ao.quantization.fx._decomposed

    q = decomposed.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
    w = decomposed.quantize_per_tensor(layer.weight, 0.01, 0, -127, 127, torch.int8)
    x = decomposed.dequantize_per_tensor(q, 0.05, 3, -128, 127, torch.int8)
    w = decomposed.dequantize_per_tensor(w, 0.01, 0, -127, 127, torch.int8)
    return nn.functional.linear(x, w, layer.bias), q


def per_channel(x, layer):
    scales, zeros = torch.tensor([0.01, 0.02, 0.03]), torch.tensor([0, 1, -1])
    w = decomposed.quantize_per_channel(layer.weight, scales, zeros, 0, -128, 127, torch.int8)
    return nn.functional.linear(x, decomposed.dequantize_per_channel(w, scales, zeros, 0, -128, 127, torch.int8))


def wide_levels(x, layer):
    q = decomposed.quantize_per_tensor(x, 0.001, 0, -32768, 32767, torch.int16)
    return decomposed.dequantize_per_tensor(q, 0.001, 0, -32768, 32767, torch.int16), q


def dynamic_range(x, layer):
    scale, zero = decomposed.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8)
    q = decomposed.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
    return decomposed.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, torch.int8), zero


FUNCTIONS = [per_tensor, per_channel, wide_levels, dynamic_range]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_function(function, opset):
    torch.manual_seed(0)
    conversion = to_onnx(Plain(function), (torch.randn(5, 4),), opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
    if function is not wide_levels and opset >= 13:
        assert "QuantizeLinear" in {n.op_type for n in conversion.model.graph}


class Tensors(nn.Module):
    """Quantised tensors, which torch.export doesn't know."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q = torch.quantize_per_tensor(x, 0.05, 3, torch.qint8)
        scales, zeros = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.zeros(4, dtype=torch.int64)
        by_channel = torch.quantize_per_channel(x, scales, zeros, 1, torch.quint8)
        return q.dequantize(), q.int_repr(), by_channel.dequantize()


@pytest.mark.parametrize("opset", OPSETS)
def test_quantized_tensors(opset):
    torch.manual_seed(0)
    conversion = to_onnx(torch.jit.script(Tensors()), (torch.randn(5, 4),), opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)


class Faked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fake = torch.ao.quantization.FakeQuantize()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(self.fake(x))


def test_fake_quantisation_with_its_observer_off():
    torch.manual_seed(0)
    module = Faked()
    module(torch.randn(5, 4))
    with pytest.raises(CaptureError, match="disable_observer"):
        to_onnx(module.eval(), (torch.randn(5, 4),))
    module.apply(torch.ao.quantization.disable_observer)
    conversion = to_onnx(module, (torch.randn(5, 4),), dynamic={0: {0: "batch"}})
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
    assert [n.op_type for n in conversion.model.graph][:2] == ["QuantizeLinear", "DequantizeLinear"]


class WeightOnly(nn.Module):
    """A linear layer whose weights are bytes with a scale for each row."""

    def __init__(self):
        super().__init__()
        weight = torch.randn(6, 32)
        scale = weight.abs().amax(1) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (weight / scale[:, None]).round().to(torch.int8))

    def forward(self, x):
        return nn.functional.linear(x, self.weight.to(x.dtype)) * self.scale


class PackedWeight(WeightOnly):
    def forward(self, x):
        return torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scale)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("kind", [WeightOnly, PackedWeight])
def test_weight_only(kind, opset):
    torch.manual_seed(0)
    conversion = to_onnx(kind(), (torch.randn(5, 32),), opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
