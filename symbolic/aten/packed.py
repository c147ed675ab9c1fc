"""Packed sequences: rows of many sequences without padding, step by step, and recurrent layers over them.

A packed sequence is (data, batch_sizes): how many sequences reach each step, longest sequence first. Recurrent layers
of ONNX take padded steps and the lengths instead, so rows are spread out before and gathered again behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import GraphBuilder
from ..dims import Dim
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, Scalar, cast, value_of
from .recurrent import KINDS, Kind, recurrent_layers
from .shape import sizes


@symbolic("aten", "_pack_padded_sequence")
def pack_padded_sequence(g: GraphBuilder, input: Value, lengths: Value, batch_first: bool) -> tuple[Value, Value]:
    """aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"""
    steps = g.Transpose(input, perm=[1, 0, *range(2, input.rank)]) if batch_first else input
    lengths = cast(g, lengths, DataType.INT64)
    longest = g.ReduceMax(lengths, keepdims=0)
    reached = g.Less(g.Unsqueeze(g.Range(0, longest, 1), [1]), g.Unsqueeze(lengths, [0]))
    steps = g.Slice(steps, [0], g.Reshape(longest, [1]), [0])
    return _rows(g, steps, reached), g.ReduceSum(cast(g, reached, DataType.INT64), [1], keepdims=0)


@symbolic("aten", "_pad_packed_sequence")
def pad_packed_sequence(
    g: GraphBuilder, data: Value, batch_sizes: Value, batch_first: bool, padding_value: Scalar, total_length: Any
) -> tuple[Value, Value]:
    """aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar, int) -> (Tensor, Tensor)"""
    steps, reached = _steps(g, data, batch_sizes)
    trailing = list(range(2, steps.rank))
    padded = g.Where(g.Unsqueeze(reached, trailing) if trailing else reached, steps,
                     value_of(g, padding_value, data.element))  # fmt: skip
    if not isinstance(total_length, int) or total_length > 0:
        wanted = g.size(total_length) if isinstance(total_length, Dim) else total_length
        missing = g.Sub(wanted, g.Shape(batch_sizes))
        rest = g.expand(value_of(g, padding_value, data.element),
                        [g.Reshape(missing, []), *sizes(g, padded)[1:]])  # fmt: skip
        padded = g.Concat(padded, rest, axis=0)
    lengths = g.ReduceSum(cast(g, reached, DataType.INT64), [0], keepdims=0)
    return g.Transpose(padded, perm=[1, 0, *trailing]) if batch_first else padded, lengths


def _reached(g: GraphBuilder, batch_sizes: Value) -> Value:
    """(steps, batch): which sequences reach which step."""
    count = g.Gather(batch_sizes, 0, axis=0)
    return g.Less(g.Unsqueeze(g.Range(0, count, 1), [0]), g.Unsqueeze(batch_sizes, [1]))


def _steps(g: GraphBuilder, data: Value, batch_sizes: Value) -> tuple[Value, Value]:
    """Rows spread out to (steps, batch, ...), and which of them are there; the others hold any row."""
    batch_sizes = cast(g, batch_sizes, DataType.INT64)
    reached = _reached(g, batch_sizes)
    first = g.CumSum(batch_sizes, 0, exclusive=1)
    places = g.Add(g.Unsqueeze(first, [1]), g.Unsqueeze(g.Range(0, g.Gather(batch_sizes, 0, axis=0), 1), [0]))
    return g.Gather(data, g.Where(reached, places, 0), axis=0), reached


def _rows(g: GraphBuilder, steps: Value, reached: Value) -> Value:
    """The rows that are there, step by step."""
    flat = g.reshape(steps, [-1, *sizes(g, steps)[2:]])
    return g.Compress(flat, g.reshape(reached, [-1]), axis=0)


def _register(name: str, kind: Kind) -> None:
    def function(
        g: GraphBuilder, data: Value, batch_sizes: Value, hx: Value | Sequence[Value], params: Sequence[Value],
        has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
    ) -> tuple[Value, ...]:  # fmt: skip
        steps, reached = _steps(g, data, batch_sizes)
        lengths = g.ReduceSum(cast(g, reached, DataType.INT32), [0], keepdims=0)
        settings = (has_biases, num_layers, dropout, train, bidirectional, False)
        y, *last = recurrent_layers(g, kind, steps, hx, params, *settings, lengths)
        return (_rows(g, y, reached), *last)

    states, results = ("Tensor[] hx", "Tensor, Tensor, Tensor") if name == "lstm" else ("Tensor hx", "Tensor, Tensor")
    function.__doc__ = f"aten::{name}.data(Tensor data, Tensor batch_sizes, {states}, ...) -> ({results})"
    function.__name__ = function.__qualname__ = name
    symbolic("aten", f"{name}.data")(function)


for _name, _kind in KINDS.items():
    _register(_name, _kind)
