"""Higher-order operators of PyTorch: conditions on tensors and sizes, loops, scans, maps, and custom operators."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import anyonnx
from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import UnsupportedOps

OPSETS = [11, 21]


class Plain(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.eye(3) * 1.5)

    def forward(self, x):
        return self.function(x, self.weight)


def counted_loop(x, w):
    def going(i, x):
        return i < 4

    def step(i, x):
        return i + 1, x @ w + i

    return torch._higher_order_ops.while_loop(going, step, (torch.tensor(0), x))


def loop_until(x, w):
    def going(x):
        return x.abs().sum() < 100.0

    def step(x):
        return (x * 1.5 + w[0],)

    return torch._higher_order_ops.while_loop(going, step, (x,))


def never_entered(x, w):
    return torch._higher_order_ops.while_loop(lambda x: x.sum() > 1e9, lambda x: (x @ w,), (x,))


def scanned(x, w):
    from torch._higher_order_ops.scan import scan

    return scan(lambda c, row: (c + row @ w, c * row), torch.zeros(3), x, dim=0)


def scanned_backwards(x, w):
    from torch._higher_order_ops.scan import scan

    return scan(lambda c, row: (c * 0.5 + row, (c + 1, row @ w)), torch.ones(3), x, dim=0, reverse=True)


def mapped(x, w):
    from torch._higher_order_ops.map import map as map_rows

    return map_rows(lambda row, w: row @ w + 1, x, w)


def either(x, w):
    return torch.cond(x.sum() > 0, lambda x: x @ w, lambda x: x - 1, (x,))


def either_by_size(x, w):
    return torch.cond(x.shape[0] > 3, lambda x: x @ w, lambda x: x - 1, (x,))


def loop_in_a_branch(x, w):
    def often(x):
        return torch._higher_order_ops.while_loop(lambda x: x.sum() < 50, lambda x: (x * 2 + 1,), (x,))[0]

    return torch.cond(x.sum() > 0, often, lambda x: x - 1, (x,))


FUNCTIONS = [
    counted_loop, loop_until, never_entered, scanned, scanned_backwards, mapped, either, either_by_size,
    loop_in_a_branch,
]  # fmt: skip


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_function(function, opset):
    torch.manual_seed(0)
    for x in (torch.randn(2, 3), -torch.rand(5, 3)):
        conversion = to_onnx(Plain(function), (x,), dynamic={0: {0: "rows"}}, opset=opset)
        assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)


@torch.library.custom_op("anyonnx_tests::twice", mutates_args=())
def twice(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * 2 * factor


@twice.register_fake
def _(x, factor):
    return torch.empty_like(x)


def custom(x, w):
    return twice(x, 1.5) + 1


def test_a_custom_operator_is_refused_under_its_own_name_and_registered_by_it():
    with pytest.raises(UnsupportedOps, match="anyonnx_tests::twice"):
        to_onnx(Plain(custom), (torch.randn(2, 3),))

    @anyonnx.symbolic("anyonnx_tests", "twice")
    def symbolic_twice(g, x, factor):
        """anyonnx_tests::twice(Tensor x, float factor) -> Tensor"""
        return g.Mul(x, 2 * factor)

    conversion = to_onnx(Plain(custom), (torch.randn(2, 3),))
    assert conversion.parity is not None and conversion.parity.passed
