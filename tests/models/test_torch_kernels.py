"""Models that onnxruntime has no kernels for are compared in the reference implementation of ONNX."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx

MODELS = {
    "bfloat16": (nn.Linear(4, 3).bfloat16(), torch.zeros(2, 4, dtype=torch.bfloat16) + 0.5),
    "float64": (nn.Conv2d(3, 4, 3).double(), torch.linspace(-1, 1, 384, dtype=torch.float64).reshape(2, 3, 8, 8)),
}


@pytest.mark.parametrize("name", MODELS)
def test_compared_all_the_same(name):
    module, x = MODELS[name]
    parity = to_onnx(module, (x,), dynamic={0: {0: "batch"}}).parity
    assert parity is not None and parity.passed
    assert {(r.provider, r.status) for r in parity.rows} == {
        ("onnxruntime-cpu", "unsupported"),
        ("onnx-reference", "pass"),
    }
    assert "no kernel" in str(parity)


def test_half_precision_runs():
    parity = to_onnx(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).half(), (torch.ones(2, 3, 8, 8).half(),)).parity
    assert parity is not None and parity.passed and {r.provider for r in parity.rows} == {"onnxruntime-cpu"}
