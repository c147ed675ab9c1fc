"""Operators on quantised tensors: a function of float tensors, their shapes, and how many levels may be one step off.

torch computes some operators with the levels and rounds what QuantizeLinear rounds the other way: numbers that lie
halfway between two levels (sums of levels with a simple ratio of scales, averages), and those within a float32 rounding
of halfway. The share says how many elements that may be; 0 means equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

Q = torch.ops.quantized
X, IMAGE, VOLUME, SERIES = (6, 7), (3, 4, 9, 10), (2, 4, 5, 6, 5), (2, 4, 11)


@dataclass(frozen=True)
class Row:
    """One operator.

    Attributes:
        function: Of float tensors, and of `packed` where there is any.
        shapes: Of the tensors.
        share: Share of the elements that may be one level off.
        packed: Makes packed parameters.
        engine: torch's engine to run it with.
    """

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    share: float = 0.0
    packed: Callable[[], Any] | None = None
    engine: str = "fbgemm"


ROWS: dict[str, Row] = {}


def u8(x: torch.Tensor) -> torch.Tensor:
    """Quantised to unsigned bytes."""
    return torch.quantize_per_tensor(x, 0.05, 64, torch.quint8)


def i8(x: torch.Tensor) -> torch.Tensor:
    """Quantised to signed bytes; the zero point is odd."""
    return torch.quantize_per_tensor(x, 0.04, -3, torch.qint8)


def row(name: str, function: Callable[..., Any], *shapes: tuple[int, ...], share: float = 0.0) -> None:
    """Adds an operator for both kinds of levels; its first parameter is the quantiser."""
    for kind in (u8, i8):
        ROWS[f"{name} {kind.__name__}"] = Row(lambda *xs, k=kind: function(k, *xs), shapes, share)


def numbers(count: int, seed: int = 3) -> torch.Tensor:
    """Floats for parameters."""
    return torch.randn(count, generator=torch.Generator().manual_seed(seed))


SCALE, SHIFT, MEAN, VARIANCE = (numbers(4, seed) for seed in (3, 4, 5, 6))
VARIANCE = VARIANCE**2 + 0.3
PRELU = torch.tensor([0.1, 0.2, 0.3, 0.4])
SCALES, SHIFTS = numbers(7), numbers(7, 4)


row("quantize", lambda q, x: q(x), X)
row("relu", lambda q, x: torch.relu(q(x)), X)
row("relu_ in place", lambda q, x: torch.relu_(q(x)), X)
row("sigmoid", lambda q, x: torch.sigmoid(q(x)), X)
row("tanh", lambda q, x: torch.tanh(q(x)), X)
row("hardsigmoid", lambda q, x: F.hardsigmoid(q(x)), X)
row("hardtanh", lambda q, x: F.hardtanh(q(x), -0.73, 0.81), X)
row("clamp", lambda q, x: torch.clamp(q(x), -0.73, 0.81), X)
row("leaky_relu of its own scale", lambda q, x: F.leaky_relu(q(x), 0.1), X)
row("gelu", lambda q, x: F.gelu(q(x)), X)
row("threshold", lambda q, x: F.threshold(q(x), 0.3, 0.2), X)
row("add", lambda q, x, y: Q.add(q(x), q(y), 0.081, 50), X, X, share=0.05)
row("add with ties", lambda q, x, y: Q.add(q(x), q(y), 0.1, 51), X, X, share=0.6)
row("add_relu", lambda q, x, y: Q.add_relu(q(x), q(y), 0.081, 5), X, X, share=0.05)
row("mul", lambda q, x, y: Q.mul(q(x), q(y), 0.031, 50), X, X, share=0.05)
row("mul_relu", lambda q, x, y: Q.mul_relu(q(x), q(y), 0.031, 5), X, X, share=0.05)
row("add_scalar", lambda q, x: (Q.add_scalar(q(x), 0.37), Q.add_scalar(q(x), -3.0)), X)
row("add_scalar beyond the range", lambda q, x: (Q.add_scalar(q(x), 9.0), Q.add_scalar(q(x), -20.0)), X, share=0.1)
row("add_scalar_relu", lambda q, x: (Q.add_scalar_relu(q(x), 0.37), Q.add_scalar_relu(q(x), 20.0)), X, share=0.1)
row("mul_scalar", lambda q, x: (Q.mul_scalar(q(x), 0.37), Q.mul_scalar(q(x), -3.0), Q.mul_scalar(q(x), 0.0)), X)
row("mul_scalar_relu", lambda q, x: (Q.mul_scalar_relu(q(x), 0.37), Q.mul_scalar_relu(q(x), -3.0)), X)
row("cat", lambda q, x, y: Q.cat([q(x), q(y)], 1, 0.06, 33), X, X, share=0.15)
row("cat of one scale", lambda q, x, y: torch.cat([q(x), q(y)], 1), X, X)
row(
    "cat of two scales",
    lambda q, x, y: torch.cat([q(x), torch.quantize_per_tensor(y, 0.03, 3, q(x).dtype)], 1),
    X,
    X,
    share=0.15,
)
row("cat_relu", lambda q, x, y: Q.cat_relu([q(x), q(y)], 0, 0.06, 33), X, X, share=0.15)
row("stack", lambda q, x, y: torch.stack([q(x), q(y)], 1), X, X)
row("relu6", lambda q, x: Q.relu6(q(4 * x)), X)
row("quantized clamp", lambda q, x: Q.clamp(q(x), -0.5, 0.9), X)
row("quantized threshold", lambda q, x: Q.threshold(q(x), 0.3, 0.2), X)
row("leaky_relu", lambda q, x: Q.leaky_relu(q(x), 0.2, False, 0.04, 40), X, share=0.2)
row("elu", lambda q, x: (Q.elu(q(x), 0.03, 40), Q.elu(q(x), 0.03, 40, 1.5, 1.2, 0.7)), X, share=0.05)
row("celu", lambda q, x: Q.celu(q(x), 0.03, 40, 1.3), X, share=0.05)
row("hardswish", lambda q, x: Q.hardswish(q(x), 0.03, 20), X, share=0.15)
row("quantized sigmoid", lambda q, x: Q.sigmoid(q(x), 0.005, 2), X, share=0.05)
ROWS["prelu"] = Row(lambda x: Q.prelu(u8(x), u8(PRELU), 0.05, 50), (IMAGE,), 0.05)
row("avg_pool2d", lambda q, x: F.avg_pool2d(q(x), 2), IMAGE, share=0.35)
row(
    "avg_pool2d with padding",
    lambda q, x: (F.avg_pool2d(q(x), 3, 2, 1), F.avg_pool2d(q(x), 3, 2, 1, count_include_pad=False)),
    IMAGE,
    share=0.15,
)
row("avg_pool1d and 3d", lambda q, x, y: (F.avg_pool1d(q(x), 3), F.avg_pool3d(q(y), 2)), SERIES, VOLUME, share=0.15)
row(
    "adaptive_avg_pool2d",
    lambda q, x: (F.adaptive_avg_pool2d(q(x), 1), F.adaptive_avg_pool2d(q(x), (3, 5))),
    IMAGE,
    share=0.25,
)
row("adaptive_avg_pool3d", lambda q, x: F.adaptive_avg_pool3d(q(x), 1), VOLUME, share=0.1)
row(
    "max_pool",
    lambda q, x, y, z: (F.max_pool1d(q(x), 3, 2, 1), F.max_pool2d(q(y), 3, 2, 1), F.max_pool3d(q(z), 2)),
    SERIES,
    IMAGE,
    VOLUME,
)
row("mean", lambda q, x: (q(x).mean([2, 3]), q(x).mean(1, True)), IMAGE, share=0.15)
row("std", lambda q, x: torch.std(q(x), 1), IMAGE, share=0.05)
row(
    "upsample_nearest",
    lambda q, x, y: (F.interpolate(q(x), scale_factor=2.0), F.interpolate(q(y), scale_factor=2.0)),
    IMAGE,
    VOLUME,
)
row(
    "upsample_bilinear2d",
    lambda q, x: (
        F.interpolate(q(x), size=(13, 17), mode="bilinear"),
        F.interpolate(q(x), size=(13, 17), mode="bilinear", align_corners=True),
    ),
    IMAGE,
    share=0.06,
)
row(
    "views",
    lambda q, x: (
        q(x).permute(0, 2, 3, 1).contiguous(),
        q(x).transpose(1, 2),
        q(x).reshape(3, -1),
        q(x).view(3, 4, 90),
        q(x).flatten(1),
        q(x)[:, 1:3],
        q(x)[:, -1],
        q(x).flip(2),
        q(x).unsqueeze(1).squeeze(1),
        torch.index_select(q(x), 1, torch.tensor([2, 0])),
    ),
    IMAGE,
)
row("parts", lambda q, x: (*q(x).chunk(2, 1), *q(x).split(3, 2), *q(x).unbind(0)), IMAGE)
row("padding", lambda q, x: (F.pad(q(x), (1, 2, 1, 1), mode="reflect"), F.pad(q(x), (1, 2, 1, 1), value=0.37)), IMAGE)
row("sort and topk", lambda q, x: (torch.sort(q(x), dim=1)[0], torch.topk(q(x), 3, 1)[0]), X)
row("max and min", lambda q, x: (q(x).max(), q(x).min(), q(x).max(1)[0], q(x).min(0)[0]), X)
row("comparisons", lambda q, x, y: (q(x) > q(y), q(x) <= 0.2, q(x) == q(y), q(x) != q(y)), X, X)
row("masked_fill", lambda q, x: q(x).masked_fill(x > 0.5, 0.33), X)
row("dequantize and int_repr", lambda q, x: (q(x).dequantize(), q(x).int_repr()), X)
row("layer_norm", lambda q, x: Q.layer_norm(q(x), [7], SCALES, SHIFTS, 1e-5, 0.04, 30), X, share=0.05)
row("group_norm", lambda q, x: Q.group_norm(q(x), 2, SCALE, SHIFT, 1e-5, 0.04, 30), IMAGE, share=0.02)
row("instance_norm", lambda q, x: Q.instance_norm(q(x), SCALE, SHIFT, 1e-5, 0.04, 30), IMAGE, share=0.02)
row(
    "batch_norm2d",
    lambda q, x: Q.batch_norm2d(q(x), SCALE, SHIFT, MEAN, VARIANCE, 1e-5, 0.06, 60),
    IMAGE,
    share=0.02,
)
row(
    "batch_norm3d with relu",
    lambda q, x: Q.batch_norm3d_relu(q(x), SCALE, SHIFT, MEAN, VARIANCE, 1e-5, 0.06, 60),
    VOLUME,
    share=0.02,
)
row("matmul", lambda q, x, y: Q.matmul(q(x), q(y), 0.1, 60), (2, 3, 4, 5), (2, 3, 5, 6), share=0.06)
ROWS["softmax"] = Row(lambda x: Q.softmax(u8(x), 1, 1 / 256, 0), (X,), 0.05)
ROWS["channel_shuffle"] = Row(lambda x: torch.channel_shuffle(u8(x), 2), (IMAGE,))
ROWS["grid_sample"] = Row(lambda x, at: F.grid_sample(u8(x), at, align_corners=False), (IMAGE, (3, 5, 6, 2)), 0.05)
ROWS["quantize to qint32"] = Row(lambda x: torch.quantize_per_tensor(x, 1e-4, 7, torch.qint32), (X,))
ROWS["quantize by channel"] = Row(
    lambda x: torch.quantize_per_channel(
        x, torch.tensor([0.1, 0.05, 0.02, 0.03]), torch.tensor([3, 60, 100, 9]), 1, torch.quint8
    ),
    (IMAGE,),
)


# --- layers with packed parameters -----------------------------------------------------------------------------------


def weight(*shape: int, by_channel: bool, axis: int = 0) -> torch.Tensor:
    """A quantised weight."""
    generator = torch.Generator().manual_seed(7)
    floats = torch.randn(*shape, generator=generator)
    if not by_channel:
        return torch.quantize_per_tensor(floats, 0.02, 0, torch.qint8)
    scales = torch.rand(shape[axis], generator=generator) * 0.02 + 0.01
    return torch.quantize_per_channel(floats, scales, torch.zeros(shape[axis], dtype=torch.int64), axis, torch.qint8)


def layers(engine: str, by_channel: bool, bias: bool) -> None:
    """Adds the layers that an engine has."""

    def add(name: str, function: Callable[..., Any], packed: Callable[[], Any], *shapes: tuple[int, ...]) -> None:
        name = f"{name} {engine}{' by channel' if by_channel else ''}{' with bias' if bias else ''}"
        ROWS[name] = Row(function, shapes, 0.05, packed, engine)

    def offset(count: int) -> torch.Tensor | None:
        return numbers(count) if bias else None

    def w(*shape: int) -> torch.Tensor:
        return weight(*shape, by_channel=by_channel)

    linear = lambda: Q.linear_prepack(w(5, 7), offset(5))  # noqa: E731
    add("linear", lambda x, p: (Q.linear(u8(x), p, 0.06, 60), Q.linear_relu(u8(x), p, 0.06, 3)), linear, X)
    add("linear of three axes", lambda x, p: Q.linear(u8(x), p, 0.06, 60), linear, (2, 3, 7))
    add("linear_dynamic", lambda x, p: (Q.linear_dynamic(x, p, True), Q.linear_dynamic(x, p, False)), linear, X)
    add("linear_relu_dynamic", lambda x, p: Q.linear_relu_dynamic(x, p, True), linear, X)
    for groups in (1, 2):
        conv = lambda n=groups: Q.conv2d_prepack(  # noqa: E731
            w(6, 4 // n, 3, 3), offset(6), [2, 1], [1, 2], [1, 1], n
        )
        add(
            f"conv2d of {groups} groups",
            lambda x, p: (Q.conv2d(u8(x), p, 0.09, 60), Q.conv2d_relu(u8(x), p, 0.09, 0)),
            conv,
            IMAGE,
        )
    add("conv2d_dynamic", lambda x, p: Q.conv2d_dynamic(x, p, True), conv, IMAGE)
    add(
        "conv1d",
        lambda x, p: (Q.conv1d(u8(x), p, 0.09, 60), Q.conv1d_relu(u8(x), p, 0.09, 6)),
        lambda: Q.conv1d_prepack(w(6, 4, 3), offset(6), [2], [1], [2], 1),
        SERIES,
    )
    if engine != "qnnpack":
        add(
            "conv3d",
            lambda x, p: (Q.conv3d(u8(x), p, 0.09, 60), Q.conv3d_relu(u8(x), p, 0.09, 0)),
            lambda: Q.conv3d_prepack(w(6, 4, 2, 3, 2), offset(6), [1, 2, 1], [1, 0, 1], [1, 1, 1], 1),
            VOLUME,
        )
    if not by_channel and engine != "onednn":
        add(
            "conv_transpose2d",
            lambda x, p: Q.conv_transpose2d(u8(x), p, 0.09, 60),
            lambda: Q.conv_transpose2d_prepack(w(4, 6, 3, 3), offset(6), [2, 2], [1, 1], [1, 0], [1, 1], 1),
            IMAGE,
        )
        add(
            "conv_transpose1d",
            lambda x, p: Q.conv_transpose1d(u8(x), p, 0.09, 60),
            lambda: Q.conv_transpose1d_prepack(w(4, 6, 3), offset(6), [2], [1], [1], [1], 1),
            SERIES,
        )


for _engine in ("fbgemm", "qnnpack", "onednn"):
    layers(_engine, True, True)
    layers(_engine, False, False)
ROWS["linear_dynamic_fp16"] = Row(
    lambda x, p: (Q.linear_dynamic_fp16(x, p), Q.linear_relu_dynamic_fp16(x, p)),
    (X,),
    0.0,
    lambda: Q.linear_prepack_fp16(numbers(35).reshape(5, 7), numbers(5)),
)
ROWS["linear_leaky_relu"] = Row(
    lambda x, p: Q.linear_leaky_relu(u8(x), p, 0.06, 60, 0.1),
    (X,),
    0.05,
    lambda: Q.linear_prepack(weight(5, 7, by_channel=True), numbers(5)),
    "onednn",
)
ROWS["linear_tanh"] = Row(
    lambda x, p: Q.linear_tanh(u8(x), p, 0.01, 100),
    (X,),
    0.05,
    lambda: Q.linear_prepack(weight(5, 7, by_channel=True), numbers(5)),
    "onednn",
)
ROWS["conv2d_add"] = Row(
    lambda x, y, p: (Q.conv2d_add(u8(x), u8(y), p, 0.1, 60), Q.conv2d_add_relu(u8(x), u8(y), p, 0.1, 3)),
    (IMAGE, IMAGE),
    0.05,
    lambda: Q.conv2d_prepack(weight(4, 4, 3, 3, by_channel=True), numbers(4), [1, 1], [1, 1], [1, 1], 1),
    "onednn",
)
