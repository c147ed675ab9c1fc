"""In-place ops that write through views: every view of the memory sees the write, without a second capture."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.converters.from_torch import capture


def slices(x):
    y = x.clone()
    y[:, 1:3] = 5.0
    y[0, -2:] += 1.0
    y[1] *= 2.0
    return y


def seen_by_older_views(x):
    y = x * 2
    first, row = y[:, :2], y[0]
    y.add_(1.0)
    y[:, 1] = -3.0
    return first + 1, row, y


def transposed(x):
    y = x + 1
    y.t()[2].mul_(3.0)
    y.transpose(0, 1)[:2, 1:].fill_(7.0)
    return y


def reshaped(x):
    y = x.clone()
    y.view(-1)[3:7] = 0.0
    y.unsqueeze(0)[0, 1].neg_()
    return y.sum(0), y


def through_the_diagonal(x):
    y = x[:, :3].clone()
    y.diagonal().zero_()
    return y


def nested_and_read_between(x):
    y = x.clone()
    part = y[1:]
    before = part + 0
    part[:, 0] = 9.0
    after = y[1, 0] + part.sum()
    part.copy_(before * 2)
    return y, after


def empty_and_out_of_range(x):
    y = x.clone()
    y[2:1] = 4.0
    y[:, 10:] = 4.0
    y[:, :-9] = 4.0
    y[:, -9:2] = 6.0
    return y


def masks(x):
    mask = x.new_zeros((8, 8))
    count = 0
    for rows in (slice(0, -4), slice(-4, -2), slice(-2, None)):
        for columns in (slice(0, -4), slice(-4, -2), slice(-2, None)):
            mask[rows, columns] = count
            count += 1
    return x.sum() + mask.view(2, 4, 2, 4).permute(0, 2, 1, 3).reshape(4, 16)


def strided(x):
    y = x.clone()
    y[:, ::2] = 1.0
    y[-2:3, 1:-1] = 2.0
    return y


def results_of_one_op(x):
    values, places = x.topk(2, dim=1)
    values.div_(values.sum(-1, keepdim=True))
    largest, smallest = (x * 2).split(2, dim=0)
    return values, places + 1, largest, smallest


FUNCTIONS = [
    slices, seen_by_older_views, transposed, reshaped, nested_and_read_between,
    empty_and_out_of_range, masks, strided, results_of_one_op,
]  # fmt: skip


class Plain(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


OPEN = {0: {1: "columns"}}
RUNS = [(f, dynamic) for f in FUNCTIONS for dynamic in (None, OPEN)]
RUNS.append((through_the_diagonal, None))  # diagonal_scatter needs fixed sizes


@pytest.mark.parametrize(("function", "dynamic"), RUNS, ids=lambda p: getattr(p, "__name__", "open" if p else "fixed"))
@pytest.mark.parametrize("opset", [13, 21])
def test_writes_through_views(function, dynamic, opset, monkeypatch):
    def never(program):
        raise AssertionError("captured a second time")

    monkeypatch.setattr(capture, "functionalized", never)
    x = torch.arange(15.0).reshape(3, 5)
    conversion = to_onnx(Plain(function), (x,), dynamic=dynamic, opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)


def test_a_constant_mask_is_folded():
    conversion = to_onnx(Plain(masks), (torch.ones(3, 5),), compare=False)
    assert len(conversion.model.graph) <= 2


def test_a_write_through_a_reshape_is_left_to_torch():
    """Whether reshape copies depends on the strides: torch's own rewriting knows."""

    def function(x):
        y = x.clone()
        y.reshape(-1)[2] = 5.0
        z = x.clone().t()
        z.reshape(-1)[2] = 5.0
        return y, z

    conversion = to_onnx(Plain(function), (torch.arange(15.0).reshape(3, 5),))
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
