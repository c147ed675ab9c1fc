"""Modules that torch.ao.quantization quantises, from live ones and from TorchScript files, with every engine."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.ao import quantization
from torch.ao.quantization import quantize_fx
from torch.nn import functional as F

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError, InputSpecError, TranslationError

ENGINES = [e for e in ("fbgemm", "qnnpack", "x86") if e in torch.backends.quantized.supported_engines]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def engine():
    before = torch.backends.quantized.engine
    torch.manual_seed(0)
    yield
    torch.backends.quantized.engine = before


class Small(nn.Module):
    """A convolution and a linear layer with everything that eager quantisation needs."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(inplace=True)
        self.pool, self.linear = nn.MaxPool2d(2), nn.Linear(8 * 16, 5)
        self.sum = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        y = self.relu(self.conv(self.quant(x)))
        y = self.pool(self.sum.add(y, y))
        return self.dequant(self.linear(y.flatten(1)))


class Large(nn.Module):
    """Most layers that are quantised, one after the other."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.grouped, self.swish = nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.Hardswish()
        self.up, self.transposed = nn.Upsample(scale_factor=2), nn.ConvTranspose2d(8, 8, 3, stride=2)
        self.groups, self.instances = nn.GroupNorm(2, 8), nn.InstanceNorm2d(8, affine=True)
        self.leaky, self.elu, self.sigmoid = nn.LeakyReLU(), nn.ELU(), nn.Sigmoid()
        self.reflecting = nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect")
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        y = F.relu(self.norm(self.first(x)))
        z = self.swish(self.grouped(y)) + y
        z = F.max_pool2d(torch.cat([z, y], 1)[:, 4:12], 2)
        z = self.instances(self.groups(self.transposed(self.up(z))))
        z = self.leaky(z)
        z = self.reflecting(self.elu(z) * self.sigmoid(z))
        z = F.adaptive_avg_pool2d(F.avg_pool2d(z, 2), 1).flatten(1)
        return self.last(z)


def eager(engine):
    torch.backends.quantized.engine = engine
    module = Small().eval()
    module.qconfig = quantization.get_default_qconfig(engine)
    if engine != "qnnpack":
        quantization.fuse_modules(module, [["conv", "relu"]], inplace=True)
    quantization.prepare(module, inplace=True)
    module(torch.randn(4, 3, 8, 8))
    return quantization.convert(module, inplace=True), (torch.randn(16, 3, 8, 8),)


def traced_graph(engine):
    torch.backends.quantized.engine = engine
    x = (torch.randn(4, 3, 16, 16),)
    prepared = quantize_fx.prepare_fx(Large().eval(), quantization.get_default_qconfig_mapping(engine), x)
    prepared(*x)
    return quantize_fx.convert_fx(prepared), x


def steps(report) -> float:
    """The largest error of an output, as a share of its range."""
    return max(row.metrics.sc for row in report.rows)


@pytest.mark.parametrize("engine_name", ENGINES)
@pytest.mark.parametrize("opset", [13, 21])
def test_eager_mode(engine_name, opset, tmp_path):
    """Equal without optimisations; a bias that onnxruntime's rounds to int32 moves single levels by one."""
    module, inputs = eager(engine_name)
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(module), str(path))
    for source in (module, torch.jit.trace(module, inputs), path):
        conversion = to_onnx(source, inputs, opset=opset, dynamic={0: {0: "batch"}})
        assert conversion.parity.passed
        plain = [row.metrics for row in conversion.parity.rows if row.setting == "optimisations off"]
        assert all(m.max_abs == 0 for m in plain)
        assert steps(conversion.parity) < 0.02  # one level of about 100 that are used
        assert {v.dtype.name for v in conversion.model.graph.initializers.values()} >= {"INT8", "UINT8"}


@pytest.mark.parametrize("engine_name", ENGINES)
def test_graph_mode(engine_name):
    """A network of 20 kinds of layers.

    Each is at most one level off for the same input (averages that torch rounds the other way, sums near halfway): over
    all of them that made 0 to 3 levels of the output for any of 4 seeds and 3 engines, with optimisations off and on.
    """
    module, inputs = traced_graph(engine_name)
    conversion = to_onnx(module, inputs, opset=17, dynamic={0: {0: "batch"}})
    assert conversion.parity.passed
    assert max(row.metrics.max_abs for row in conversion.parity.rows) < 3.01 * module.last.scale
    assert not {"Conv", "Gemm"} - {n.op_type for n in conversion.model.graph}


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(8, 6, **options)

    def forward(self, x):
        found = self.layer(x)
        return found[0] if isinstance(found, tuple) else found


DYNAMIC = {
    "linear": (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (16, 8)),
    "LSTM of two layers": (Recurrent(nn.LSTM, num_layers=2, bidirectional=True), (7, 3, 8)),
    "LSTM batch first": (Recurrent(nn.LSTM, batch_first=True), (3, 7, 8)),
    "GRU": (Recurrent(nn.GRU, bidirectional=True), (7, 3, 8)),
    "LSTMCell": (Recurrent(nn.LSTMCell), (3, 8)),
    "GRUCell": (Recurrent(nn.GRUCell), (3, 8)),
    "RNNCell": (Recurrent(nn.RNNCell), (3, 8)),
    "RNNCell with relu": (Recurrent(nn.RNNCell, nonlinearity="relu"), (3, 8)),
}


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16], ids=["int8", "float16"])
def test_dynamic_quantisation(name, dtype):
    """Inputs and hidden states take the range that they have: results are floats, equal but for float rounding."""
    module, shape = DYNAMIC[name]
    torch.backends.quantized.engine = "fbgemm"
    kinds = {nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell}
    module = quantization.quantize_dynamic(module.eval(), kinds, dtype=dtype)
    conversion = to_onnx(module, (torch.randn(*shape),), dynamic={0: {0: "rows"}}, opset=17)
    # a hidden state on the edge of a level may take the next one: 1 of 127 then
    assert conversion.parity.passed and steps(conversion.parity) < (8e-3 if dtype == torch.qint8 else 2e-6)


class Embedded(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class Bags(Embedded):
    def forward(self, x: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.layer(x, offsets)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("bags", [False, True])
def test_embeddings(bits, bags):
    config = quantization.float_qparams_weight_only_qconfig
    config = config if bits == 8 else quantization.float_qparams_weight_only_qconfig_4bit
    module = (Bags if bags else Embedded)(nn.EmbeddingBag(10, 12, mode="sum"))
    module.layer.qconfig = config
    quantization.prepare(module, inplace=True)
    quantization.convert(module, inplace=True)
    x = torch.tensor([1, 2, 9, 0, 3, 5])
    inputs = (x, torch.tensor([0, 2, 2])) if bags else (x.reshape(2, 3),)
    conversion = to_onnx(module, inputs)
    assert conversion.parity.passed and steps(conversion.parity) < 1e-6


def test_a_wrong_kernel_of_torch_is_refused():
    """fbgemm's transposed convolution of 8 channels with a kernel of size 2 doesn't compute what its weights say."""
    torch.backends.quantized.engine = "fbgemm"
    operators = torch.ops.quantized

    class Transposed(nn.Module):
        def __init__(self):
            super().__init__()
            weight = torch.quantize_per_tensor(torch.randn(8, 8, 2, 2), 0.02, 0, torch.qint8)
            self.packed = operators.conv_transpose2d_prepack(weight, None, [2, 2], [0, 0], [0, 0], [1, 1], 1)

        def forward(self, x):
            q = torch.quantize_per_tensor(x, 0.05, 64, torch.quint8)
            return operators.conv_transpose2d(q, self.packed, 0.1, 100).dequantize()

    x = (torch.randn(1, 8, 4, 4),)
    with pytest.raises(TranslationError, match="transposed convolution packed wrongly"):
        to_onnx(torch.jit.trace(Transposed(), x), x)


class Dequantizing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.dequantize() + 1


@pytest.mark.parametrize("capture", ["auto", "script"])
def test_quantised_inputs_are_refused(capture):
    x = torch.quantize_per_tensor(torch.randn(3), 0.1, 3, torch.quint8)
    with pytest.raises((InputSpecError, CaptureError), match=r"the input x is torch\.quint8"):
        to_onnx(Dequantizing(), (x,), capture=capture)


class Branches(nn.Module):
    """A branch on data, whose results have one scale, or not."""

    def __init__(self, same: bool):
        super().__init__()
        self.same = same

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        if bool(x.sum() > 0):
            y = torch.relu(q)
        elif self.same:
            y = torch.clamp(q, -0.5, 0.5)
        else:
            y = torch.sigmoid(q)
        return y.dequantize()


def test_branches_of_one_scale_are_joined_others_refused():
    x = (torch.tensor([0.3, 0.9, -0.8]),)
    assert to_onnx(torch.jit.script(Branches(same=True)), x).parity.passed
    with pytest.raises(TranslationError, match="one of another scale"):
        to_onnx(torch.jit.script(Branches(same=False)), x)
