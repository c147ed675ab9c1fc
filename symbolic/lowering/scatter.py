"""Scattering with a reduction: add and mul came with opset 16, max and min with 18."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .common import known_rank

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

_OPERATORS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def _supported(g: GraphBuilder, reduction: str) -> bool:
    return reduction == "none" or g.opset >= (16 if reduction in ("add", "mul") else 18)


def _in_steps(g: GraphBuilder, data: Value, count: Value, step: Callable[[GraphBuilder, Value, Value], Value]) -> Any:
    """A Loop that carries the data through `count` steps; equal indices never meet within a step."""
    body = g.subgraph("scatter")
    number = body.input("step", ir.DataType.INT64, ())
    body.input("going_on", ir.DataType.BOOL, ())
    carried = body.input("data", data.element, data.sizes)
    body.output(body.constant(np.array(True)))
    body.output(step(body, carried, number))
    return g.Loop(count, np.array(True), data, body=body)


def _distinct(rows: np.ndarray) -> bool:
    return len(np.unique(rows, axis=0)) == len(rows)


@symbolic("onnx", "ScatterND", until=17)
def scatter_nd(g: GraphBuilder, data: Value, indices: Value, updates: Value, reduction: str = "none") -> Any:
    """(data, indices, updates, reduction) -> data with slices updated, one after the other where they may repeat"""
    if _supported(g, reduction):
        return NotImplemented
    operator = _OPERATORS[reduction]

    def update(b: GraphBuilder, x: Value, index: Value, new: Value) -> Any:
        return b.raw("ScatterND", x, index, b.call(operator, b.GatherND(x, index), new))

    at = indices.array
    if at is not None and (at >= 0).all() and _distinct(at.reshape(-1, at.shape[-1])):
        return update(g, data, indices, updates)
    rank = known_rank(g, indices, "ScatterND", 16)
    tail = g.Slice(g.Shape(indices), [rank - 1], [rank])
    rows = g.Reshape(indices, g.Concat([-1], tail, axis=0))
    slices = g.Slice(g.Shape(updates), [rank - 1], [2**31 - 1])
    news = g.Reshape(updates, g.Concat(g.Shape(rows, start=0, end=1), slices, axis=0))

    def step(b: GraphBuilder, x: Value, number: Value) -> Any:
        pick = b.Unsqueeze(number, [0])
        return update(b, x, b.Gather(rows, pick, axis=0), b.Gather(news, pick, axis=0))

    return _in_steps(g, data, g.Gather(g.Shape(rows), 0, axis=0), step)


@symbolic("onnx", "ScatterElements", until=17)
def scatter_elements(
    g: GraphBuilder, data: Value, indices: Value, updates: Value, axis: int = 0, reduction: str = "none"
) -> Any:
    """(data, indices, updates, axis, reduction) -> data with elements updated, index after index along the axis"""
    if _supported(g, reduction):
        return NotImplemented
    operator = _OPERATORS[reduction]

    def step(b: GraphBuilder, x: Value, number: Value) -> Any:
        pick = b.Unsqueeze(number, [0])
        index, new = b.Gather(indices, pick, axis=axis), b.Gather(updates, pick, axis=axis)
        old = b.GatherElements(x, index, axis=axis)
        return b.raw("ScatterElements", x, index, b.call(operator, old, new), axis=axis)

    size = indices.dim(axis)
    if size == 1:
        return step(g, data, g.constant(np.array(0)))
    return _in_steps(g, data, g.Gather(g.Shape(indices), axis, axis=0), step)


@symbolic("onnx", "TensorScatter", until=23)
def tensor_scatter(
    g: GraphBuilder,
    past_cache: Value,
    update: Value,
    write_indices: Value | None = None,
    axis: int = -2,
    mode: str = "linear",
) -> Any:
    """(past_cache, update, write_indices?, axis, mode) -> cache with the update written from an index on"""
    rank = known_rank(g, past_cache, "TensorScatter", 24)
    axis %= rank
    shape = g.Shape(update)
    places = g.Unsqueeze(g.Range(0, g.Gather(shape, axis, axis=0), 1), [i for i in range(rank) if i != axis])
    if write_indices is not None:
        places = g.Add(places, g.Unsqueeze(write_indices, list(range(1, rank))))
    if mode == "circular":
        places = g.Mod(places, g.Gather(g.Shape(past_cache), axis, axis=0))
    return g.ScatterElements(past_cache, g.Expand(places, shape), update, axis=axis)
