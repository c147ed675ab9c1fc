"""Primitives of Equinox that only mean something else under vmap, which is gone when a jaxpr is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from ..value import Value
from ..xla import reductions

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("jaxpr", "unvmap_any")
def unvmap_any(g: GraphBuilder, x: Value) -> Value:
    """unvmap_any(x): whether any element is true"""
    return reductions.reduce(g, x, "or", range(x.rank))


@symbolic("jaxpr", "unvmap_all")
def unvmap_all(g: GraphBuilder, x: Value) -> Value:
    """unvmap_all(x): whether all elements are true"""
    return reductions.reduce(g, x, "and", range(x.rank))


@symbolic("jaxpr", "unvmap_max")
def unvmap_max(g: GraphBuilder, x: Value) -> Value:
    """unvmap_max(x): the largest element"""
    return reductions.reduce(g, x, "max", range(x.rank))


@symbolic("jaxpr", "select_if_vmap")
def select_if_vmap(g: GraphBuilder, pred: Value, x: Value, y: Value, **_: Any) -> Value:
    """select_if_vmap(pred, x, y, *, makes_false_steps): x, as nothing is batched"""
    return x


@symbolic("jaxpr", "nonbatchable", "nontraceable", "nondifferentiable_backward")
def unchanged(g: GraphBuilder, x: Value, **_: Any) -> Value:
    """nonbatchable(x), nontraceable(x), nondifferentiable_backward(x): what they forbid has not happened"""
    return x
