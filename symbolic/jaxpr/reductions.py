"""Reductions, sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..registry import symbolic
from ..value import Value
from ..xla import reductions, sorting
from ..xla.kernels import several

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def _reduction(kind: str) -> Any:
    def function(g: GraphBuilder, operand: Value, axes: Sequence[int], **_: Any) -> Value:
        """reduce_*(operand, *, axes)"""
        return reductions.reduce(g, operand, kind, axes)

    return function


for _name, _kind in {
    "reduce_sum": "add", "reduce_prod": "mul", "reduce_max": "max", "reduce_min": "min", "reduce_and": "and",
    "reduce_or": "or", "reduce_xor": "xor",
}.items():  # fmt: skip
    symbolic("jaxpr", _name)(_reduction(_kind))


@symbolic("jaxpr", "reduce")
def reduce(g: GraphBuilder, *operands: Value, jaxpr: Any, dimensions: Sequence[int], **_: Any) -> list[Value]:
    """reduce(*operands_and_inits, jaxpr, dimensions)"""
    count = len(operands) // 2
    return reductions.reduce_region(g, operands[:count], operands[count:], jaxpr, dimensions)


@symbolic("jaxpr", "argmax")
def argmax(g: GraphBuilder, operand: Value, axes: Sequence[int], index_dtype: ir.DataType) -> Value:
    """argmax(operand, *, axes, index_dtype)"""
    return reductions.arg_extreme(g, operand, True, axes[0], index_dtype)


@symbolic("jaxpr", "argmin")
def argmin(g: GraphBuilder, operand: Value, axes: Sequence[int], index_dtype: ir.DataType) -> Value:
    """argmin(operand, *, axes, index_dtype)"""
    return reductions.arg_extreme(g, operand, False, axes[0], index_dtype)


def _cumulative(kind: str) -> Any:
    def function(g: GraphBuilder, operand: Value, axis: int, reverse: bool = False) -> Value:
        """cum*(operand, *, axis, reverse)"""
        return reductions.cumulative(g, operand, kind, axis, reverse)

    return function


for _name, _kind in {
    "cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min", "cumlogsumexp": "logaddexp",
}.items():  # fmt: skip
    symbolic("jaxpr", _name)(_cumulative(_kind))


@symbolic("jaxpr", "sort")
def sort(g: GraphBuilder, *operands: Value, dimension: int, num_keys: int = 1, is_stable: bool = True) -> list[Value]:
    """sort(*operands, dimension, is_stable, num_keys)"""
    return sorting.sort(g, operands, dimension, num_keys)


@symbolic("jaxpr", "top_k")
def top_k(g: GraphBuilder, operand: Value, k: int, axis: int | None = None, **_: Any) -> list[Value]:
    """top_k(operand, *, k, axis)"""
    return sorting.top_k(g, operand, k, operand.rank - 1 if axis is None else axis, ir.DataType.INT32)


@symbolic("jaxpr", "approx_top_k")
def approx_top_k(
    g: GraphBuilder, operand: Value, k: int, reduction_dimension: int, is_max_k: bool = True, **_: Any
) -> list[Value]:
    """approx_top_k(operand, *, k, reduction_dimension, is_max_k ...): exact, as on CPUs"""
    axis = reduction_dimension % operand.rank
    if is_max_k:
        return sorting.top_k(g, operand, k, axis, ir.DataType.INT32)
    values, where = several(g, "TopK", operand, [k], axis=axis, largest=0, outputs=2)
    return [values, g.Cast(where, to=ir.DataType.INT32)]
