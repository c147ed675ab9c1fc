"""Every opset from 11 to the newest: the very opset that was asked for, valid, and equal to torch."""

from __future__ import annotations

from functools import lru_cache

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from anyonnx.converters.base import Options
from anyonnx.converters.from_torch import TorchFrontend, TorchSource
from anyonnx.optimization.pipeline import optimize
from anyonnx.symbolic.builder import GraphBuilder, gc_paused
from anyonnx.symbolic.opsets import AUTHORING_OPSET
from anyonnx.validation.checker import check_model
from anyonnx.validation.parity import compare_model

OPSETS = range(11, AUTHORING_OPSET + 1)


class Plain(nn.Module):
    def __init__(self, function, *parts):
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(parts)

    def forward(self, *inputs):
        return self.function(*self.parts, *inputs)


def net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
    )


def cond(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


HEADS = (2, 4, 5, 8)
MODULES = {
    "convolution net": lambda: (net(), [(2, 3, 12, 12)]),
    "layer norm and gelu": lambda: (nn.Sequential(nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 4)), [(2, 5, 8)]),
    "group norm": lambda: (nn.GroupNorm(2, 8), [(2, 8, 5, 5)]),
    "rms norm": lambda: (nn.RMSNorm(8, eps=1e-6), [(2, 5, 8)]),
    "attention": lambda: (Plain(attention), [HEADS, HEADS, HEADS]),
    "multi-head attention": lambda: (
        Plain(lambda m, x: m(x, x, x, need_weights=False)[0], nn.MultiheadAttention(8, 2, batch_first=True)),
        [(2, 5, 8)],
    ),
    "lstm": lambda: (nn.LSTM(4, 3, bidirectional=True), [(5, 2, 4)]),
    "gru": lambda: (nn.GRU(4, 3, num_layers=2), [(5, 2, 4)]),
    "resize": lambda: (
        Plain(lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)), [(2, 3, 6, 5)]
    ),
    "resize with antialias": lambda: (
        Plain(lambda x: F.interpolate(x, (4, 3), mode="bicubic", antialias=True)), [(2, 3, 9, 8)]
    ),
    "grid sample": lambda: (
        Plain(lambda x, grid: F.grid_sample(x, grid.tanh(), align_corners=False)), [(2, 3, 6, 5), (2, 4, 4, 2)]
    ),
    "reductions": lambda: (
        Plain(lambda x: (x.logsumexp(1), x.prod(2), x.amax((1, 2)), x.std(0), x.cumsum(1))), [(3, 4, 5)]
    ),
    "scatter": lambda: (
        Plain(lambda x: x.scatter_reduce(0, (x > 0).to(torch.int64), x, "mean")), [(3, 4)]
    ),
    "cond": lambda: (Plain(cond), [(3, 4)]),
    "pad, roll, unique": lambda: (
        Plain(lambda x: (F.pad(x, (1, 2), mode="reflect"), x.roll(2, 1), (x > 0).to(torch.int64).unique())), [(2, 3, 6)]
    ),
}  # fmt: skip


@lru_cache(maxsize=1)
def captured(name: str) -> TorchSource:
    torch.manual_seed(0)
    module, shapes = MODULES[name]()
    inputs = tuple(torch.randn(shape) for shape in shapes)
    return TorchFrontend().load(
        module, inputs, Options(AUTHORING_OPSET, dynamic={i: {0: "rows"} for i in range(len(shapes))})
    )


@pytest.mark.parametrize("name", MODULES)
def test_every_opset(name):
    source = captured(name)
    for opset in OPSETS:
        with gc_paused():
            g = GraphBuilder(opset)
            source.translate(g)
            model = g.build()
            optimize(model)
        check_model(model, opset=opset)
        assert model.opset_imports[""] == opset
        report = compare_model(model, source.run, [source.samples])
        assert report.passed, f"opset {opset}: {report}"
