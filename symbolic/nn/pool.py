"""Pooling on channels-first tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..value import Value
from .conv import Padding, window_pads

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def max_pool(
    g: GraphBuilder, x: Value, kernel: Sequence[int], *, strides: Sequence[int], padding: Padding = "VALID"
) -> Value:
    """Largest element of each window; padding never wins."""
    assert x.sizes is not None
    pads = window_pads(padding, x.sizes[2:], kernel, strides, [1] * len(kernel))
    pooled: Value = g.MaxPool(x, kernel_shape=list(kernel), strides=list(strides), **pads)
    return pooled


def average_pool(
    g: GraphBuilder,
    x: Value,
    kernel: Sequence[int],
    *,
    strides: Sequence[int],
    padding: Padding = "VALID",
    count_padding: bool = False,
) -> Value:
    """Mean of each window; the padding isn't counted unless `count_padding`."""
    assert x.sizes is not None
    pads = window_pads(padding, x.sizes[2:], kernel, strides, [1] * len(kernel))
    return g.AveragePool(
        x, kernel_shape=list(kernel), strides=list(strides), count_include_pad=int(count_padding), **pads
    )
