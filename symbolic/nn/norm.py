"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value
from .layout import channels_first, channels_last, elementwise, has_twin, reduce

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def batch_norm(
    g: GraphBuilder,
    x: Value,
    scale: Value,
    shift: Value,
    mean: Value,
    variance: Value,
    *,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Value:
    """Normalises each channel with fixed statistics; channels lie on `axis` of a tensor in its own layout."""
    at = axis % x.rank
    if at == 1 or x.rank == 2:
        plain: Value = g.BatchNormalization(x, scale, shift, mean, variance, epsilon=epsilon)
        return plain
    if at == x.rank - 1:
        y: Value = g.BatchNormalization(channels_first(g, x), scale, shift, mean, variance, epsilon=epsilon)
        return channels_last(g, y)
    order = [0, at, *(i for i in range(1, x.rank) if i != at)]
    y = g.BatchNormalization(g.Transpose(x, perm=order), scale, shift, mean, variance, epsilon=epsilon)
    return g.Transpose(y, perm=[order.index(i) for i in range(x.rank)])


def layer_norm(
    g: GraphBuilder, x: Value, scale: Value | None, shift: Value | None, *, axes: Sequence[int], epsilon: float
) -> Value:
    """Normalises over `axes`; statistics in float32 at least.

    Args:
        g: Builder.
        x: Tensor.
        scale: One number for each element of `axes`, or None.
        shift: Likewise.
        axes: Axes that are normalised over.
        epsilon: Added to the variance.
    """
    rank = x.rank
    over = sorted(a % rank for a in axes)
    trailing = over == list(range(over[0], rank))
    sizes = [s for s in (x.dim(a) for a in over) if isinstance(s, int)]
    if trailing and len(sizes) == len(over) and not (has_twin(x) and len(over) > 1):
        gain = scale if scale is not None else g.constant(np.ones(sizes, x.element.numpy()))
        gain = gain if gain.element == x.element else g.Cast(gain, to=x.element)
        offset = shift if shift is None or shift.element == x.element else g.Cast(shift, to=x.element)
        normalised: Value = g.LayerNormalization(x, gain, offset, axis=over[0] - rank, epsilon=epsilon)
        return normalised
    wide = elementwise(g, "Cast", x, to=ir.DataType.FLOAT) if x.element.itemsize < 4 else x
    mean = reduce(g, "ReduceMean", wide, over, keepdims=True)
    centred = elementwise(g, "Sub", wide, mean)
    variance = reduce(g, "ReduceMean", elementwise(g, "Mul", centred, centred), over, keepdims=True)
    y = elementwise(g, "Div", centred, elementwise(g, "Sqrt", elementwise(g, "Add", variance, float(epsilon))))
    lost = [a for a in range(over[0], rank) if a not in over]
    for op, parameter in (("Mul", scale), ("Add", shift)):
        if parameter is not None:
            y = elementwise(g, op, y, g.Unsqueeze(parameter, [a - rank for a in lost]) if lost else parameter)
    return y if y.element == x.element else elementwise(g, "Cast", y, to=x.element)


def rms_norm(g: GraphBuilder, x: Value, scale: Value, *, axes: Sequence[int], epsilon: float) -> Value:
    """x / sqrt(mean(x^2) + epsilon) * scale over trailing axes."""
    over = sorted(a % x.rank for a in axes)
    if over != list(range(over[0], x.rank)):
        raise ValueError(f"the axes {list(axes)} are not the last ones")
    gain = scale if scale.element == x.element else g.Cast(scale, to=x.element)
    return g.RMSNormalization(x, gain, axis=over[0] - x.rank, epsilon=epsilon)


def group_norm(g: GraphBuilder, x: Value, scale: Value, shift: Value, *, groups: int, epsilon: float) -> Value:
    """Normalises each group of channels of a channels-first tensor, then scales by channel."""
    gain, offset = (p if p.element == x.element else g.Cast(p, to=x.element) for p in (scale, shift))
    return g.GroupNormalization(x, gain, offset, num_groups=groups, epsilon=epsilon)
