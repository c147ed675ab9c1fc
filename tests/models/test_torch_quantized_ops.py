"""Operators on quantised tensors, in TorchScript: levels are equal, or one step off where torch rounds otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch_quantized_table import ROWS, Row

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import UnsupportedOps

#: Opsets by turns: each operator is converted at one.
OPSETS = (13, 17, 21, 25, 11)
pytestmark = pytest.mark.filterwarnings("ignore")


class One(torch.nn.Module):
    """Calls an operator; quantised results leave as levels and as numbers."""

    def __init__(self, row: Row):
        super().__init__()
        self.function = row.function
        self.packed = None if row.packed is None else row.packed()

    def results(self, *tensors):
        found = self.function(*tensors) if self.packed is None else self.function(*tensors, self.packed)
        for part in found if isinstance(found, (tuple, list)) else (found,):
            yield from (part.int_repr().to(torch.int32), part.dequantize()) if part.is_quantized else (part,)

    def forward(self, x):
        return tuple(self.results(x))


class Two(One):
    def forward(self, x, y):
        return tuple(self.results(x, y))


class Three(One):
    def forward(self, x, y, z):
        return tuple(self.results(x, y, z))


@pytest.fixture(autouse=True)
def engine():
    before = torch.backends.quantized.engine
    yield
    torch.backends.quantized.engine = before


def runs(model: bytes, inputs: list[np.ndarray]) -> list[list[np.ndarray]]:
    found = []
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 3
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        found.append(session.run(None, dict(zip([i.name for i in session.get_inputs()], inputs, strict=True))))
    return found


@pytest.mark.parametrize("index, name", list(enumerate(ROWS)), ids=list(ROWS))
def test_operator(index, name):
    row = ROWS[name]
    torch.backends.quantized.engine = row.engine
    generator = torch.Generator().manual_seed(1)
    tensors = tuple(torch.randn(*shape, generator=generator) for shape in row.shapes)
    module = (One, Two, Three)[len(tensors) - 1](row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [t.numpy() for t in module(*tensors)]
        traced = torch.jit.trace(module, tensors, check_trace=False)
    conversion = to_onnx(traced, tensors, opset=OPSETS[index % len(OPSETS)], compare=False)
    for results in runs(conversion.proto().SerializeToString(), [t.numpy() for t in tensors]):
        for result, right in zip(results, expected, strict=True):
            assert result.shape == right.shape and result.dtype == right.dtype
            if right.dtype == np.int32:
                steps = np.abs(result.astype(np.int64) - right)
                assert steps.max(initial=0) <= (1 if row.share else 0)
                assert np.mean(steps > 0) <= row.share
            elif "conv2d_dynamic" in name:  # rounded to 128 levels of the input's range, and cut off there
                off = np.abs(result - right) / (np.ptp(tensors[0].numpy()) / 127)
                assert off.max() < 1.01 and np.mean(off > 0.01) <= row.share
            elif right.dtype == np.float32 and row.share:
                # of layers with floats as result, and of the levels that are compared above
                near = 1e-6 if "dynamic" in name else 0.12
                np.testing.assert_allclose(result, right, atol=near * max(np.abs(right).max(), 1.0))
            else:
                np.testing.assert_array_equal(result, right)


class Strided(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_strided(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8), [2, 2], [1, 2]).dequantize()


def test_an_operator_without_a_quantised_form_is_refused():
    with pytest.raises(UnsupportedOps, match=r"as_strided.*of a quantised tensor"):
        to_onnx(torch.jit.script(Strided()), (torch.randn(4),))
