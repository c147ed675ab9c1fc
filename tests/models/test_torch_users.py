"""Models as people hand them in: masks, losses, functions, wrappers, and what can't be converted."""

from __future__ import annotations

import functools
import io
from contextlib import redirect_stderr

import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError, InputSpecError


class Causal(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        return self.encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]))


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)


def ids(*shape, below=10):
    return torch.randint(0, below, shape)


BATCH = {0: {0: "b"}, 1: {0: "b"}}
MASKED = {0: {0: "b", 1: "t"}, 1: {0: "t", 1: "t"}}
ROWS = {
    "encoder_float_mask": (encoder, (torch.randn(2, 5, 8), torch.full((5, 5), -torch.inf).triu(1)), MASKED),
    "encoder_bool_mask": (encoder, (torch.randn(2, 5, 8), torch.ones(5, 5).triu(1).bool()), MASKED),
    "encoder_own_mask": (lambda: Causal(encoder()), (torch.randn(2, 5, 8),), {0: {0: "b", 1: "t"}}),
    "gaussian_loss": (
        nn.GaussianNLLLoss, (torch.randn(3, 5), torch.rand(3, 5), torch.rand(3, 5)), BATCH | {2: {0: "b"}},
    ),
    "gaussian_loss_full": (
        lambda: nn.GaussianNLLLoss(full=True, reduction="none"),
        (torch.randn(3, 5), torch.rand(3, 5), torch.rand(3, 1)),
        BATCH | {2: {0: "b"}},
    ),
    "adaptive_softmax": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]), (torch.randn(6, 8), ids(6, below=20)), BATCH,
    ),
    "bags": (lambda: nn.EmbeddingBag(10, 3), (ids(9), torch.tensor([0, 3, 3, 7])), {0: {0: "n"}, 1: {0: "bags"}}),
    "short_embedding": (lambda: nn.Embedding(10, 3, max_norm=1.0, norm_type=1), (ids(4, 5),), {0: {0: "b", 1: "n"}}),
    "short_bags": (lambda: nn.EmbeddingBag(10, 3, max_norm=1.0), (ids(4, 5),), {0: {0: "b", 1: "n"}}),
    "double_layer_norm": (lambda: nn.LayerNorm(8).double(), (torch.randn(3, 8).double() * 0.01,), {0: {0: "b"}}),
    "double_batch_norm": (lambda: nn.BatchNorm1d(8).double(), (torch.randn(3, 8).double(),), {0: {0: "b"}}),
    "compiled": (lambda: torch.compile(nn.Linear(4, 3)), (torch.randn(3, 4),), {"input": {0: "b"}}),
    "compiled_part": (
        lambda: nn.Sequential(torch.compile(nn.Linear(4, 3)), nn.ReLU()), (torch.randn(3, 4),), {0: {0: "b"}},
    ),
    "data_parallel": (lambda: nn.DataParallel(nn.Linear(4, 3)), (torch.randn(3, 4),), {"input": {0: "b"}}),
    "method": (lambda: nn.Linear(4, 3).forward, (torch.randn(3, 4),), {"input": {0: "b"}}),
    "partial": (
        lambda: functools.partial(nn.Bilinear(4, 4, 3), input2=torch.ones(1, 4).expand(3, 4)), (torch.randn(3, 4),), {},
    ),
    "of_a_program": (
        lambda: torch.export.export(nn.Linear(4, 3), (torch.randn(2, 4),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
        .module(), (torch.randn(3, 4),), {0: {0: "b"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_converts(name):
    make, inputs, dynamic = ROWS[name]
    torch.manual_seed(0)
    model = make()
    if isinstance(model, nn.Module) and name != "of_a_program":
        model.eval()
    assert to_onnx(model, inputs, dynamic=dynamic).parity.passed


def test_a_function_with_a_module_in_it():
    layer = nn.Linear(4, 3)
    result = to_onnx(lambda x, y: layer(x) + y, ["x:float32[b,4]", "y:float32[3]"], framework="torch")
    assert [s.name for s in result.source.specs] == ["x", "y"] and result.parity.passed


def test_numbers_among_the_results():
    class Mixed(nn.Module):
        def forward(self, x):
            return {"t": x * 2, "n": 3, "f": 1.5, "flag": True, "none": None, "size": x.shape[0]}

    result = to_onnx(Mixed(), ["x:float32[b,4]"])
    assert result.source.output_names == ["t", "n", "f", "flag", "size"] and result.parity.passed


class Text(nn.Module):
    def forward(self, x):
        return {"t": x, "s": "text"}


class Lengths(nn.Module):
    def forward(self, x, n):
        torch._check(int(n.max()) < 3)
        return x


REFUSED = {
    "lazy": (lambda: nn.LazyLinear(3), (torch.randn(3, 4),), CaptureError, "lazy module that hasn't seen data"),
    "meta": (lambda: nn.Linear(4, 3, device="meta"), (torch.randn(3, 4),), CaptureError, "weight is on the meta"),
    "meta_input": (lambda: nn.Linear(4, 3), (torch.randn(3, 4, device="meta"),), InputSpecError, "on the meta device"),
    "text": (Text, (torch.randn(3, 4),), CaptureError, "the output s is text"),
    "builtin": (lambda: torch.relu, (torch.randn(3),), InputSpecError, "relu doesn't say what it takes"),
    "made_up": (
        lambda: nn.EmbeddingBag(10, 3), ["input:int64[n]", "offsets:int64[bags]"], InputSpecError,
        "the model itself fails on .*made up: give inputs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, inputs, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        to_onnx(make(), inputs)


def test_a_failed_capture_prints_nothing():
    class Choosing(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    printed = io.StringIO()
    with redirect_stderr(printed), pytest.raises(CaptureError):
        to_onnx(Choosing(), (torch.randn(3),), capture="export")
    assert printed.getvalue() == ""


def test_torch_keeps_none_of_our_shape_functions():
    from torch._export.utils import _collect_all_valid_cia_ops_for_aten_namespace

    to_onnx(nn.Linear(4, 3), ["float32[b,4]"], compare=False)
    assert torch.ops.aten.histogram.bin_ct not in _collect_all_valid_cia_ops_for_aten_namespace()


def test_places_are_those_of_the_model():
    class Embedded(nn.Module):
        def forward(self, x, w):
            return torch.nn.functional.embedding(x, w)

    result = to_onnx(Embedded(), (ids(3), torch.randn(10, 4)), compare=False)
    gather = next(n for n in result.model.graph if n.op_type == "Gather")
    assert "test_torch_users.py" in gather.meta["source"]
