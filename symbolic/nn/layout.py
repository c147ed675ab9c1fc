"""Channels-last tensors, worked on through their channels-first twins (`Value.channels_first`).

A function of a channels-last framework takes the twin of its operand (`channels_first`), calls ONNX operators on it and
gives back the channels-last value of the result (`channels_last`). The Transpose that defines that value is dropped at
the end wherever the next function used the twin instead, so a whole network keeps one Transpose at each border.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..value import Operand, Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def channels_first(g: GraphBuilder, x: Value) -> Value:
    """The twin of a channels-last tensor: the one it was made from, else a Transpose, made once."""
    if x.channels_first is not None or x.rank < 3:
        return x.channels_first or x
    spatial, channels = x.sizes[1:-1], x.sizes[-1]  # type: ignore[index]
    if all(s == 1 for s in spatial) and x.sizes[0] is not None and channels is not None:  # type: ignore[index]
        twin = g.reshape(x, [x.sizes[0], channels, *spatial])  # type: ignore[index]
    else:
        twin = g.Transpose(x, perm=[0, x.rank - 1, *range(1, x.rank - 1)])
    if x.builder is g:  # a twin made in a body can't be used outside it
        x.channels_first = twin
    return twin


def channels_last(g: GraphBuilder, y: Value) -> Value:
    """The channels-last value of a channels-first result, which becomes its twin."""
    if y.rank < 3:
        return y
    x: Value = g.Transpose(y, perm=[0, *range(2, y.rank), 1])
    if x is not y and not x.is_constant:
        x.channels_first = y
    return x


def twin_axis(axis: int, rank: int) -> int:
    """Where an axis of a channels-last tensor lies in its twin."""
    axis %= rank
    return axis if axis == 0 or rank < 3 else 1 if axis == rank - 1 else axis + 1


def has_twin(x: object) -> bool:
    """Whether a value is defined through a twin."""
    return isinstance(x, Value) and x.channels_first is not None


def elementwise(g: GraphBuilder, op: str, *operands: Operand, **attributes: Any) -> Value:
    """An elementwise operator with numpy's broadcasting, on twins where an operand of full rank has one."""
    values = [g.constant(o) if isinstance(o, np.ndarray) else o for o in operands]
    ranks = [v.rank for v in values if isinstance(v, Value) and v.sizes is not None]
    unknown = any(isinstance(v, Value) and v.sizes is None for v in values)
    rank = max(ranks, default=0)
    if rank < 3 or unknown or not any(has_twin(v) and v.rank == rank for v in values):  # type: ignore[union-attr]
        result: Value = g.call(op, *values, **attributes)
        return result
    moved = [broadcast_twin(g, v, rank) if isinstance(v, Value) else v for v in values]
    return channels_last(g, g.call(op, *moved, **attributes))


def broadcast_twin(g: GraphBuilder, x: Value, rank: int) -> Value:
    """The twin of an operand that broadcasts against channels-last tensors of `rank`."""
    if x.rank == rank:
        return channels_first(g, x)
    if x.rank == 0:
        return x
    if x.rank == 1:
        return g.Unsqueeze(x, list(range(1, rank - 1)))
    return channels_first(g, g.Unsqueeze(x, list(range(rank - x.rank))))


def reduce(g: GraphBuilder, op: str, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
    """A Reduce operator over axes of a channels-last tensor, on the twin where the order of what is left allows it."""
    rank = x.rank
    gone = sorted({a % rank for a in axes})
    if not has_twin(x):
        result: Value = g.call(op, x, gone, keepdims=int(keepdims))
        return result
    twin = channels_first(g, x)
    moved = [twin_axis(a, rank) for a in gone]
    if keepdims:
        return channels_last(g, g.call(op, twin, moved, keepdims=1))
    left = [twin_axis(a, rank) for a in range(rank) if a not in gone]
    source, where = (twin, moved) if left == sorted(left) else (x, gone)
    result = g.call(op, source, where, keepdims=0)
    return result


def along_axis(g: GraphBuilder, op: str, x: Value, axis: int, **attributes: Any) -> Value:
    """An operator with an `axis` attribute that keeps the shape (Softmax ...), on the twin where there is one."""
    if not has_twin(x):
        result: Value = g.call(op, x, axis=axis, **attributes)
        return result
    return channels_last(g, g.call(op, channels_first(g, x), axis=twin_axis(axis, x.rank), **attributes))


def concat(g: GraphBuilder, parts: Sequence[Value], axis: int) -> Value:
    """Concatenation of channels-last tensors, on twins where a part has one."""
    if len(parts) == 1:
        return parts[0]
    rank = parts[0].rank
    if rank < 3 or not any(has_twin(p) for p in parts):
        return g.Concat(*parts, axis=axis)
    return channels_last(g, g.Concat(*(channels_first(g, p) for p in parts), axis=twin_axis(axis, rank)))


def pad(
    g: GraphBuilder, x: Value, pads: Sequence[tuple[int, int]], mode: str = "constant", value: Operand | None = None
) -> Value:
    """Padding of a channels-last tensor: (before, after) for each axis.

    On the twin where there is one, and for images, as what follows is a convolution or pooling.
    """
    if not any(p for pair in pads for p in pair):
        return x
    source, pairs = x, list(pads)
    on_twin = has_twin(x) or (x.rank > 3 and not any((*pads[0], *pads[-1])))
    if on_twin:
        source = channels_first(g, x)
        pairs = [pads[0], pads[-1], *pads[1:-1]]
    flat = [p[0] for p in pairs] + [p[1] for p in pairs]
    fill = None if mode != "constant" else value
    padded: Value = g.Pad(source, flat, fill, mode=mode)
    return channels_last(g, padded) if on_twin else padded
