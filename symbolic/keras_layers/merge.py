"""Layers that merge several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..nn.layout import concat, elementwise
from ..registry import symbolic
from ..value import Value
from .layer import DIALECT, Layer, refuse, with_mask

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def _merge(g: GraphBuilder, op: str, xs: Sequence[Value]) -> Value:
    rank = max(x.rank for x in xs)
    wide = [g.Unsqueeze(x, list(range(1, 1 + rank - x.rank))) if x.rank < rank else x for x in xs]
    result = wide[0]
    for x in wide[1:]:
        result = elementwise(g, op, result, x)
    return result


@symbolic(DIALECT, "Add")
def add(g: GraphBuilder, xs: Sequence[Value]) -> Value:
    """keras.layers.Add()"""
    return _merge(g, "Add", xs)


@symbolic(DIALECT, "Subtract")
def subtract(g: GraphBuilder, xs: Sequence[Value]) -> Value:
    """keras.layers.Subtract()"""
    return _merge(g, "Sub", xs)


@symbolic(DIALECT, "Multiply")
def multiply(g: GraphBuilder, xs: Sequence[Value], *, mask: Any = None, layer: Layer) -> Value:
    """keras.layers.Multiply()"""
    _refuse_masks(g, layer, mask)
    return _merge(g, "Mul", xs)


@symbolic(DIALECT, "Average")
def average(g: GraphBuilder, xs: Sequence[Value]) -> Value:
    """keras.layers.Average()"""
    return elementwise(g, "Div", _merge(g, "Add", xs), float(len(xs)))


@symbolic(DIALECT, "Maximum")
def maximum(g: GraphBuilder, xs: Sequence[Value], *, mask: Any = None, layer: Layer) -> Value:
    """keras.layers.Maximum()"""
    _refuse_masks(g, layer, mask)
    return _merge(g, "Max", xs)


@symbolic(DIALECT, "Minimum")
def minimum(g: GraphBuilder, xs: Sequence[Value], *, mask: Any = None, layer: Layer) -> Value:
    """keras.layers.Minimum()"""
    _refuse_masks(g, layer, mask)
    return _merge(g, "Min", xs)


def _refuse_masks(g: GraphBuilder, layer: Layer, mask: Any) -> None:
    if isinstance(mask, list) and any(m is not None for m in mask):
        refuse(g, layer, "masked inputs are not supported here")


@symbolic(DIALECT, "Concatenate")
def concatenate(g: GraphBuilder, xs: Sequence[Value], *, axis: int = -1, mask: Any = None, layer: Layer) -> Value:
    """keras.layers.Concatenate(axis=-1)"""
    y = concat(g, xs, axis)
    if isinstance(mask, list) and any(m is not None for m in mask):
        with_mask(g, y, _concatenated_mask(g, layer, xs, mask, axis))
    return y


def _concatenated_mask(
    g: GraphBuilder, layer: Layer, xs: Sequence[Value], masks: Sequence[Value | None], axis: int
) -> Value:
    """Masks as wide as the inputs, concatenated; a step is kept if any of its elements is."""
    wide = []
    for x, mask in zip(xs, masks, strict=True):
        if mask is None:
            mask = g.constant(True)
        elif mask.rank < x.rank:
            mask = g.Unsqueeze(mask, [-1])
        if x.sizes is None or None in x.sizes:
            refuse(g, layer, "masked inputs of unknown sizes are not supported")
        wide.append(g.expand(mask, list(x.sizes)))
    whole = g.Cast(g.Concat(*wide, axis=axis), to=ir.DataType.INT32)
    return g.Cast(g.ReduceMax(whole, [-1], keepdims=0), to=ir.DataType.BOOL)


@symbolic(DIALECT, "Dot")
def dot(g: GraphBuilder, xs: Sequence[Value], *, axes: Any, normalize: bool = False, layer: Layer) -> Value:
    """keras.layers.Dot(axes, normalize=False): batch by batch, summed over one axis of each"""
    a, b = xs
    if a.rank not in (2, 3) or b.rank not in (2, 3):
        refuse(g, layer, f"inputs of rank {a.rank} and {b.rank} are not supported")
    first, second = (axes, axes) if isinstance(axes, int) else axes
    first, second = first % a.rank, second % b.rank
    if normalize:
        a, b = _unit(g, a, first), _unit(g, b, second)
    left, right = ["b", *"ij"[: a.rank - 1]], ["b", *"kl"[: b.rank - 1]]
    left[first] = right[second] = "s"
    rest = [x for x in left + right[1:] if x != "s"]
    y: Value = g.Einsum(a, b, equation=f"{''.join(left)},{''.join(right)}->{''.join(rest)}")
    return g.Unsqueeze(y, [1]) if y.rank == 1 else y


def _unit(g: GraphBuilder, x: Value, axis: int) -> Value:
    total = g.Max(g.ReduceSum(g.Mul(x, x), [axis], keepdims=1), 1e-12)
    return g.Div(x, g.Sqrt(total))
