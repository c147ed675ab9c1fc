"""Open sizes: what a capture takes for granted about them is found, and a wrong number is never given for another."""

from __future__ import annotations

import math

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.converters.from_torch.capture import decomposed
from anyonnx.symbolic.errors import CaptureError


class Function(nn.Module):
    """A module that TorchScript can't compile: only its capture is there."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Operands(Function):
    """The same, of any number of inputs."""

    def forward(self, *operands):
        return self.function(*operands)


class Branch(nn.Module):
    def forward(self, x):
        if x.shape[1] > 10:
            return x * 2
        return x * 3


class Even(nn.Module):
    def forward(self, x):
        if x.shape[1] % 2 == 0:
            return x.flip(1)
        return x


class Long(nn.Module):
    def forward(self, x):
        return x * 2 if x.numel() > 20 else x


def same_at(conversion, module, *shapes):
    session = onnxruntime.InferenceSession(conversion.proto().SerializeToString())
    for shape in shapes:
        x = torch.randn(shape)
        found = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
        np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-6, err_msg=str(shape))


@pytest.mark.parametrize("module", [Branch(), Even(), Long()])
def test_branches_on_open_sizes_are_in_the_graph(module):
    result = to_onnx(module, (torch.randn(3, 12),), dynamic={0: {0: "b", 1: "t"}})
    assert "TorchScript" in result.source.description
    same_at(result, module, (3, 12), (2, 5), (1, 30), (2, 8))


@pytest.mark.parametrize(
    ("function", "condition"),
    [
        (lambda x: x * 2 if x.shape[1] > 10 else x * 3, "t > 10"),
        (lambda x: x * 2 if x.shape[1] % 2 == 0 else x * 3, r"Eq\(Mod\(t, 2\), 0\)"),
        (lambda x: x * 2 if x.shape[0] == x.shape[1] else x * 3, r"Ne\(b, t\)"),
        (lambda x: x * 2 if x.numel() > 20 else x, r"b\*t > 20"),
        (lambda x: x[:, : int(x.shape[1] * 0.7)], "0.7"),
        (lambda x: x.chunk(3, 1), "3"),
    ],
)
def test_a_capture_for_some_sizes_is_refused(function, condition):
    with pytest.raises(CaptureError, match=f"holds only where .*{condition}.*computes something else"):
        to_onnx(Function(function), (torch.randn(3, 12),), dynamic={0: {0: "b", 1: "t"}})


def test_a_capture_for_some_sizes_can_be_asked_for():
    with pytest.warns(UserWarning, match="holds only where t > 10"):
        result = to_onnx(Branch(), (torch.randn(3, 12),), dynamic={0: {1: "t"}}, capture="export")
    same_at(result, Branch(), (3, 11), (3, 40))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.unfold(1, 5, 2),  # at least 5
        lambda x: x.reshape(x.shape[0], -1, 4),  # a multiple of 4
        lambda x: x[:, :7] + torch.ones(7),  # another size of the slice fails
        lambda x: x.reshape(x.shape[0], 3, x.shape[1] // 3),
        lambda x: x[:, None].squeeze(1) if x.shape[1] > 1 else x,
    ],
)
def test_conditions_that_the_model_itself_makes_are_none(function):
    result = to_onnx(Function(function), (torch.randn(3, 12),), dynamic={0: {0: "b", 1: "t"}})
    assert result.source.specs[0].shape == ("b", "t")
    assert result.parity.passed


def test_a_changed_buffer_is_left_alone():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            self.calls += 1
            return x * 2 if x.shape[1] > 10 else x * 3

    module = Counting()
    with pytest.raises(CaptureError):
        to_onnx(module, (torch.randn(3, 12),), dynamic={0: {1: "t"}})
    assert float(module.calls) == 0


@pytest.mark.parametrize(
    "function", [torch.mean, torch.any, torch.linalg.vector_norm, F.mse_loss, F.l1_loss, torch.var]
)
def test_reductions_of_nothing(function):
    call = (lambda x: function(x, x * 0.5)) if function in (F.mse_loss, F.l1_loss) else function
    module = Function(call)
    result = to_onnx(module, (torch.randn(3, 4),), dynamic={0: {0: "b"}})
    session = onnxruntime.InferenceSession(result.proto().SerializeToString())
    found = session.run(None, {"x": np.zeros((0, 4), np.float32)})[0]
    np.testing.assert_array_equal(found, module(torch.zeros(0, 4)).numpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.linspace(-1, 2, x.shape[1]),
        lambda x: F.max_pool1d(x[:, None], x.shape[1]),
        lambda x: F.avg_pool2d(x[None, None], x.shape),
        lambda x: x[:, : math.ceil(x.shape[1] / 3)],
        lambda x: x[:, : round(x.shape[1] * 0.7)],
        lambda x: x[:, : math.floor(x.shape[1] * 0.7)],
        lambda x: x / math.sqrt(x.shape[1]),
        lambda x: F.one_hot(torch.arange(x.shape[0]), x.shape[1]),
        lambda x: x.roll(x.shape[1] // 2, 1),
        lambda x: x.kthvalue(x.shape[1] // 2, 1),
        lambda x: torch.fft.irfft(x, n=10, dim=1),
        lambda x: torch.fft.hfft(x),
        lambda x: F.interpolate(x[None], scale_factor=1.7, recompute_scale_factor=True),
        lambda x: F.interpolate(x[None, None], scale_factor=(1.3, 0.6), mode="area"),
        lambda x: F.interpolate(x[None], scale_factor=1.7, mode="area"),
        lambda x: F.affine_grid(x[:2, :3][None], (1, 1, x.shape[0], x.shape[1]), align_corners=False),
    ],
)  # fmt: skip
def test_sizes_that_torch_takes_for_numbers_stay_open(function):
    module = Function(function)
    result = to_onnx(module, (torch.randn(4, 12),), dynamic={0: {0: "b", 1: "t"}})
    assert result.source.specs[0].shape == ("b", "t")
    session = onnxruntime.InferenceSession(result.proto().SerializeToString())
    for shape in ((4, 12), (3, 7), (5, 13), (2, 4)):
        x = torch.randn(shape)
        wanted = module(x)
        found = session.run(None, {"x": x.numpy()})
        for a, b in zip(found, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-5, err_msg=str(shape))


def test_torch_has_its_functions_back():
    before = (math.sqrt, torch.linspace, F.max_pool1d, F.one_hot, nn.AdaptiveLogSoftmaxWithLoss.forward)
    to_onnx(nn.Linear(4, 2), ["float32[b,4]"], compare=False)
    assert before == (math.sqrt, torch.linspace, F.max_pool1d, F.one_hot, nn.AdaptiveLogSoftmaxWithLoss.forward)


def test_a_dim_that_follows_from_another():
    class Shifted(nn.Module):
        def forward(self, x, y):
            return x[:, 1:] + y

    dynamic = {"x": {0: "b", 1: "n"}, "y": {0: "b", 1: "m"}}
    result = to_onnx(Shifted(), (torch.randn(3, 5), torch.randn(3, 4)), dynamic=dynamic)
    assert [s.shape for s in result.source.specs] == [("b", "m + 1"), ("b", "m")]
    assert result.parity.passed


APART = {
    torch.ops.aten.kron.default: (torch.kron, [(2, 3), (3, 2)]),
    torch.ops.aten.linalg_matrix_norm.default: (lambda x: torch.linalg.matrix_norm(x, 2.0), [(3, 4)]),
    torch.ops.aten.max_pool1d.default: (lambda x: F.max_pool1d(x, 2), [(2, 3, 8)]),
}


@pytest.mark.parametrize("op", APART, ids=str)
def test_an_operator_taken_apart_is_computed(op):
    """Not by the function that stands in for its shapes while a model is captured."""
    function, shapes = APART[op]
    inputs = tuple(torch.randn(*shape) for shape in shapes)
    program = to_onnx(Operands(function), inputs, compare=False).source.program
    assert op in {node.target for node in program.graph.nodes}
    apart = decomposed(program, [op])
    assert op not in {node.target for node in apart.graph.nodes}
    torch.testing.assert_close(apart.module()(*inputs), function(*inputs))
