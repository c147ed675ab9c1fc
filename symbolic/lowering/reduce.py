"""Reductions: axes became an operand at opset 13 (ReduceSum) and 18 (the others)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..registry import symbolic
from .axes import reduce_flagged
from .common import known_ints, known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

#: Reductions that give their operand back where there is nothing to reduce.
_NEUTRAL = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp"}
#: Reductions that can't be done axis by axis: what comes first, the reduction, what comes last.
_PARTS = {"ReduceSumSquare": (True, "ReduceSum", None), "ReduceLogSum": (False, "ReduceSum", "Log")}


def _with_axes_attribute(op: str, needs: int) -> Callable[..., Any]:
    def reduction(
        g: GraphBuilder, data: Value, axes: Value | None = None, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Any:
        """(data, axes?, keepdims, noop_with_empty_axes) -> reduced"""
        if axes is not None and not axes.is_constant and axes.sizes != (0,):
            return _at_run_time(g, op, needs, data, axes, keepdims, noop_with_empty_axes)
        listed = None if axes is None or axes.sizes == (0,) else known_ints(g, axes, op, "axes", needs)
        if not listed and noop_with_empty_axes:
            if op not in _NEUTRAL:
                refuse(g, op, "attribute noop_with_empty_axes", needs)
            return data
        return g.raw(op, data, axes=listed or None, keepdims=keepdims)

    return reduction


def _at_run_time(g: GraphBuilder, op: str, needs: int, data: Value, axes: Value, keepdims: int, noop: int) -> Any:
    known_rank(g, data, op, needs)
    if noop and op not in _NEUTRAL:
        refuse(g, op, "attribute noop_with_empty_axes", needs)
    squared, reduction, last = _PARTS.get(op, (False, op, None))
    if squared:
        data = g.Mul(data, data)
    result = reduce_flagged(
        g, data, axes, lambda inner, x, axis: inner.call(reduction, x, [axis]), keepdims=keepdims, noop=noop
    )
    return result if last is None else g.call(last, result)


for _op in ("Sum", "Mean", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"):
    _needs = 13 if _op == "Sum" else 18
    symbolic("onnx", f"Reduce{_op}", until=_needs - 1)(_with_axes_attribute(f"Reduce{_op}", _needs))


def _extreme(op: str) -> Callable[..., Any]:
    reduction = _with_axes_attribute(op, 18)

    def extreme(g: GraphBuilder, data: Value, axes: Value | None = None, **attributes: Any) -> Any:
        """(data, axes?, keepdims, noop_with_empty_axes) -> maximum or minimum; bool came with opset 20"""
        kind = data.element
        if kind is ir.DataType.BOOL:  # the extreme of nothing is the least or greatest int32
            found = g.call(op, g.Cast(data, to=ir.DataType.INT32), axes, **attributes)
            return g.Greater(found, 0)
        if g.opset >= 18:
            return NotImplemented
        if kind in (ir.DataType.INT8, ir.DataType.UINT8) and g.opset < 12:
            limits = np.iinfo(kind.numpy())
            found = g.call(op, g.Cast(data, to=ir.DataType.INT32), axes, **attributes)
            return g.Cast(g.Clip(found, int(limits.min), int(limits.max)), to=kind)
        return reduction(g, data, axes, **attributes)

    return extreme


for _op in ("ReduceMax", "ReduceMin"):
    symbolic("onnx", _op, until=19)(_extreme(_op))


def _last_index(op: str) -> Callable[..., Any]:
    def arg_reduction(
        g: GraphBuilder, data: Value, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> Any:
        """(data, axis, keepdims, select_last_index) -> indices"""
        if not select_last_index:
            return g.raw(op, data, axis=axis, keepdims=keepdims)
        # the last of equal elements is the first one from behind
        backwards = g.Slice(data, [-1], [-(2**63) + 1], [axis], [-1])
        index = g.raw(op, backwards, axis=axis, keepdims=keepdims)
        last = g.Sub(g.Gather(g.Shape(data), axis, axis=0), 1)
        return g.Sub(last, index)

    return arg_reduction


for _op in ("ArgMax", "ArgMin"):
    symbolic("onnx", _op, until=11)(_last_index(_op))
