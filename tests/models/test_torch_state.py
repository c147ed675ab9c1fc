"""Buffers that a module changes: an error, or inputs and outputs on request; never dropped."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.inner = nn.Module()
        self.inner.register_buffer("last", torch.ones(2, 3))

    def forward(self, x):
        self.total.add_(x.sum(0))
        self.inner.last[0] = x[0]
        return x + self.total + self.inner.last.sum()


X = (torch.arange(15.0).reshape(5, 3),)


def test_refused_by_default():
    with pytest.raises(CaptureError, match=r"forward changes inner.last, total.*state='carry'"):
        to_onnx(Counting(), X)


@pytest.mark.parametrize("dynamic", [None, {0: {0: "rows"}}], ids=["fixed", "open"])
def test_carried(dynamic):
    conversion = to_onnx(Counting(), X, state="carry", dynamic=dynamic)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
    assert [i.name for i in conversion.model.graph.inputs] == ["x", "total", "inner.last"]
    assert [o.name for o in conversion.model.graph.outputs] == ["output", "total_out", "inner.last_out"]
    # two runs, the state handed on, are two calls of the module
    session = onnxruntime.InferenceSession(ir.to_proto(conversion.model).SerializeToString())
    module, state = Counting(), {"total": np.zeros(3, np.float32), "inner.last": np.ones((2, 3), np.float32)}
    for shift in (0.0, 2.0):
        y, total, last = session.run(None, {"x": X[0].numpy() + np.float32(shift), **state})
        state = {"total": total, "inner.last": last}
        np.testing.assert_allclose(y, module(X[0] + shift).numpy(), rtol=1e-6)
        np.testing.assert_allclose(total, module.total.numpy(), rtol=1e-6)


def test_nothing_to_carry():
    with pytest.raises(CaptureError, match="changes none of its buffers"):
        to_onnx(nn.Linear(3, 2), X, state="carry")


def test_carried_from_a_file(tmp_path):
    path = tmp_path / "counting.pt2"
    torch.export.save(torch.export.export(Counting(), X), path)
    conversion = to_onnx(path, state="carry")
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
    assert [o.name for o in conversion.model.graph.outputs] == ["output", "total_out", "inner.last_out"]
