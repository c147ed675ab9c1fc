"""Quantised programs of torch.export: packed weights of 4 bits, torchao's quantize_ and its PT2E."""

from __future__ import annotations

import importlib.util

import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import TranslationError

pytestmark = pytest.mark.filterwarnings("ignore")
needs_torchao = pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="torchao isn't installed")
ROWS, COLUMNS = 32, 64


def close(conversion, limit=1e-6):
    assert conversion.parity.passed, str(conversion.parity)
    assert max(row.metrics.sc for row in conversion.parity.rows) < limit, str(conversion.parity)


def dtypes(conversion):
    return {v.dtype.name for v in conversion.model.graph.initializers.values()}


class Packed(nn.Module):
    """Weights of 4 bits, packed for this processor."""

    def __init__(self, group, zeros, dtype):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        levels = torch.randint(0, 16, (ROWS, COLUMNS), dtype=torch.int32, generator=generator)
        scales = torch.rand(COLUMNS // group, ROWS, 2, generator=generator) * 0.1
        scales[..., 1] *= zeros
        self.group = group
        self.register_buffer("packed", torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels, 2))
        self.register_buffer("scales", scales.to(dtype))

    def forward(self, x):
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.packed, self.group, self.scales)


@pytest.mark.parametrize("opset", [11, 13, 21, 25])
@pytest.mark.parametrize("group, zeros, dtype", [(32, True, torch.float32), (64, False, torch.float32),
                                                 (32, True, torch.float16)])  # fmt: skip
def test_packed_weights(group, zeros, dtype, opset):
    x = (torch.randn(5, COLUMNS, dtype=dtype),)
    conversion = to_onnx(Packed(group, zeros, dtype), x, opset=opset, dynamic={0: {0: "rows"}})
    close(conversion)
    if opset >= 21:
        assert "UINT4" in dtypes(conversion) and "DequantizeLinear" in {n.op_type for n in conversion.model.graph}


class PacksItself(nn.Module):
    def forward(self, x, levels):
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels, 2)
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, 32, torch.ones(2, ROWS, 2))


def test_weights_that_the_program_packs_are_refused():
    inputs = (torch.randn(5, COLUMNS), torch.randint(0, 16, (ROWS, COLUMNS), dtype=torch.int32))
    with pytest.raises(Exception, match=r"_convert_weight_to_int4pack_for_cpu|packs itself") as caught:
        to_onnx(PacksItself(), inputs, capture="export")
    assert isinstance(caught.value, TranslationError) or "unsupported" in str(caught.value)


class Dynamic(nn.Module):
    """Weights of 4 bits, inputs quantised by the range of each row."""

    def __init__(self, block, bias):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        halves = torch.randint(0, 256, (ROWS, COLUMNS // 2), dtype=torch.uint8, generator=generator)
        scales = torch.rand(ROWS, COLUMNS // block, generator=generator) * 0.1 + 0.01
        offset = torch.randn(ROWS, generator=generator) if bias else None
        pack = torch.ops.aten._dyn_quant_pack_4bit_weight
        self.block = block
        self.register_buffer("packed", pack(halves, scales, offset, block, COLUMNS, ROWS))

    def forward(self, x):
        return torch.ops.aten._dyn_quant_matmul_4bit(x, self.packed, self.block, COLUMNS, ROWS)


@pytest.mark.parametrize("opset", [11, 17, 21])
@pytest.mark.parametrize("block, bias", [(64, True), (32, False)])
def test_dynamic_inputs(block, bias, opset):
    module = Dynamic(block, bias)
    if module.packed.dtype != torch.float32:
        pytest.skip("this processor has a layout of its own")
    close(to_onnx(module, (torch.randn(5, COLUMNS),), opset=opset, dynamic={0: {0: "rows"}}), 2e-6)


def configurations():
    if importlib.util.find_spec("torchao") is None:
        return {}
    from torchao import quantization as q
    from torchao.quantization.granularity import PerGroup

    return {
        "int8 weights": q.Int8WeightOnlyConfig(),
        "int8 weights and inputs": q.Int8DynamicActivationInt8WeightConfig(),
        "weights by group": q.IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerGroup(32)),
        "weights of 4 bits": q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)),
        "weights by channel": q.IntxWeightOnlyConfig(),
        "int8 inputs, 4 bits": q.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerGroup(32)
        ),
        "float8 weights": q.Float8WeightOnlyConfig(),
    }


def shapes():
    """Matrices for every configuration, batches of them for the one that onnxruntime rewrites; the others are slow."""
    for name in configurations():
        yield pytest.param(name, (5, 64), id=f"{name}-matrix")
        slow = () if name == "weights by channel" else (pytest.mark.slow,)
        yield pytest.param(name, (2, 5, 64), id=f"{name}-batch", marks=slow)


@needs_torchao
@pytest.mark.parametrize("name, shape", list(shapes()))
def test_torchao(name, shape):
    from torchao.quantization import quantize_

    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32)).eval()
    quantize_(module, configurations()[name])
    for opset in (13, 21) if len(shape) == 2 else (21,):
        dynamic = {0: {axis: f"size{axis}" for axis in range(len(shape) - 1)}}
        conversion = to_onnx(module, (torch.randn(*shape),), opset=opset, dynamic=dynamic)
        plain = [row.metrics.sc for row in conversion.parity.rows if row.setting == "optimisations off"]
        assert conversion.parity.passed and max(plain) < 1e-6
        if name == "weights by channel" and len(shape) == 3:
            # onnxruntime's own rewriting rounds the input to int8, too, and the report says so
            assert any("MatMulNBits" in note for note in conversion.parity.notes)
        else:
            close(conversion)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        z = torch.relu(self.second(y) + y[:, :, 1:-1, 1:-1])
        return self.last(nn.functional.max_pool2d(z, 2).mean([2, 3]))


@needs_torchao
@pytest.mark.parametrize("is_dynamic", [False, True], ids=["static", "dynamic"])
def test_pt2e(is_dynamic):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    torch.manual_seed(0)
    inputs = (torch.randn(4, 3, 12, 12),)
    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config(is_dynamic=is_dynamic))
    shapes = ({0: torch.export.Dim("batch")},)
    prepared = prepare_pt2e(
        torch.export.export(Convolutions().eval(), inputs, dynamic_shapes=shapes).module(), quantizer
    )
    prepared(*inputs)
    module = convert_pt2e(prepared)
    for opset in (11, 21):
        close(to_onnx(module, inputs, opset=opset, dynamic={0: {0: "batch"}}))


class ByChannel(nn.Module):
    def __init__(self):
        super().__init__()
        import torch.ao.quantization.fx._decomposed  # registers the operators

        self.register_buffer("weight", torch.randint(-90, 90, (4, 6), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(4) * 0.1 + 0.01)
        self.register_buffer("zero", torch.zeros(4, dtype=torch.int64))

    def forward(self, x):
        weight = torch.ops.quantized_decomposed.dequantize_per_channel(
            self.weight, self.scale, self.zero, 0, -127, 127, torch.int8
        )
        return x @ weight.t()


@pytest.mark.parametrize("opset", [13, 21])
def test_optimisations_leave_a_product_with_a_dequantised_weight_in_float(opset):
    """As MatMul, onnxruntime would round the input to int8 (0.6 % of the range)."""
    conversion = to_onnx(ByChannel(), (torch.randn(2, 6),), opset=opset)
    close(conversion)
    assert [n.op_type for n in conversion.model.graph] == ["DequantizeLinear", "Gemm"]
