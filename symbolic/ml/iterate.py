"""Iterations that run until they have converged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value

#: One round: f(g, number from 0, values) -> whether to go on, new values.
Round = Callable[[GraphBuilder, Value, list[Value]], tuple[Value, list[Value]]]


def repeat_while(g: GraphBuilder, limit: int, start: Sequence[Value], step: Round) -> list[Value]:
    """Rounds until one says to stop, `limit` at most; the values keep their dtypes and sizes."""
    body = g.subgraph()
    number = body.input("number", "int64", ())
    body.input("go on", "bool", ())
    carried = [body.input(f"value {i}", v.element, v.sizes) for i, v in enumerate(start)]
    go_on, values = step(body, number, carried)
    body.output(go_on)
    for value in values:
        body.output(value)
    found = g.Loop(np.int64(limit), np.bool_(True), *start, body=body, outputs=len(start))
    results = [found] if len(start) == 1 else list(found)
    return [g.expect(r, None, s.sizes) for r, s in zip(results, start, strict=True)]


def any_of(g: GraphBuilder, flags: Value) -> Value:
    """Whether any of the flags holds, a scalar."""
    found: Value = g.Cast(g.ReduceMax(g.Cast(flags, to=ir.DataType.INT32), keepdims=0), to=ir.DataType.BOOL)
    return found
