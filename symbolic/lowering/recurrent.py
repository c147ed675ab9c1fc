"""Recurrent operators: batch-first layout came with opset 14."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from .common import count_of, wanted

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

_BATCH_FIRST = [1, 0, 2]


def _layout(op: str, states: int) -> Callable[..., Any]:
    def recurrent(
        g: GraphBuilder, *operands: Value | None, layout: int = 0, outputs: Any = 1, **attributes: Any
    ) -> Any:
        """(X, W, R, B?, sequence_lens?, initial states?, ...) -> Y, last states"""
        if not layout:
            return g.raw(op, *operands, outputs=outputs, **attributes)
        swapped = {0, *range(5, 5 + states)}
        args = [
            g.Transpose(x, perm=_BATCH_FIRST) if x is not None and i in swapped else x for i, x in enumerate(operands)
        ]
        found = g.raw(op, *args, outputs=outputs, **attributes)
        found = list(found) if isinstance(found, tuple) else [found]
        for i in range(count_of(outputs)):
            if wanted(outputs, i):  # [steps, directions, batch, hidden], then [directions, batch, hidden]
                found[i] = g.Transpose(found[i], perm=_BATCH_FIRST if i else [2, 0, 1, 3])
        return found

    return recurrent


for _op, _states in (("RNN", 1), ("GRU", 1), ("LSTM", 2)):
    symbolic("onnx", _op, until=13)(_layout(_op, _states))
