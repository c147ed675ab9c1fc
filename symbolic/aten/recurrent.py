"""LSTM, GRU and plain recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import unsupported
from .shape import size_at

#: Order of the gates in ONNX, as positions in torch's order.
_LSTM_GATES = (0, 3, 1, 2)  # torch: input, forget, cell, output; ONNX: input, output, forget, cell
_GRU_GATES = (1, 0, 2)  # torch: reset, update, new; ONNX: update, reset, hidden


def _reordered(g: GraphBuilder, x: Value, gates: Sequence[int]) -> Value:
    """The rows of a weight or bias with its gates in ONNX's order."""
    if len(gates) < 2:
        return x
    parts = g.Split(x, axis=0, num_outputs=len(gates), outputs=len(gates))
    return g.Concat(*(parts[i] for i in gates), axis=0)


def _stacked(g: GraphBuilder, tensors: Sequence[Value]) -> Value:
    """Tensors along a new first axis; weights are put together when the file is written, not before."""
    if any(t.const_value is None for t in tensors):
        return g.Concat(*(g.Unsqueeze(t, [0]) for t in tensors), axis=0)
    parts = [t.const_value for t in tensors]
    first = parts[0]
    assert first is not None
    shape = ir.Shape([len(parts), *(int(s) for s in first.shape)])  # type: ignore[arg-type]
    name = (tensors[0].name or "weight") + "_stacked"

    def stack() -> ir.TensorProtocol:
        return ir.Tensor(np.stack([p.numpy() for p in parts if p is not None]))

    return g.initializer(name, ir.LazyTensor(stack, dtype=first.dtype, shape=shape, name=name))


def _arranged(g: GraphBuilder, tensors: Sequence[Value], gates: Sequence[int]) -> Value:
    """Weights of the directions of a layer, each with its gates in ONNX's order, one below the other."""
    if any(t.const_value is None for t in tensors):
        return _stacked(g, [_reordered(g, t, gates) for t in tensors])
    parts = [t.const_value for t in tensors]
    first = parts[0]
    assert first is not None
    shape = ir.Shape([len(parts), *(int(s) for s in first.shape)])  # type: ignore[arg-type]
    name = (tensors[0].name or "weight") + "_onnx"

    def arrange() -> ir.TensorProtocol:
        arrays = [p.numpy() for p in parts if p is not None]
        pieces = [np.split(a, len(gates), axis=0) for a in arrays]
        return ir.Tensor(np.stack([np.concatenate([p[i] for i in gates], axis=0) for p in pieces]))

    return g.initializer(name, ir.LazyTensor(arrange, dtype=first.dtype, shape=shape, name=name))


def _layers(
    g: GraphBuilder, op: str, x: Value, states: Sequence[Value], params: Sequence[Value], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, gates: Sequence[int],
    **attributes: Any,
) -> list[Value]:  # fmt: skip
    """All layers of a recurrent network; gives the output and the last states."""
    if train and dropout:
        raise unsupported("recurrent dropout in training mode: put the model in evaluation mode", g)
    directions = 2 if bidirectional else 1
    per_cell = 4 if has_biases else 2
    if len(params) != num_layers * directions * per_cell:
        raise unsupported("a projection of the hidden state (proj_size)", g)
    hidden = size_at(g, params[1], 1)
    x = g.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    finals: list[list[Value]] = [[] for _ in states]
    for layer in range(num_layers):
        first = layer * directions
        cells = [params[(first + d) * per_cell : (first + d + 1) * per_cell] for d in range(directions)]
        weights = [_arranged(g, [c[i] for c in cells], gates) for i in range(per_cell)]
        bias = g.Concat(weights[2], weights[3], axis=1) if has_biases else None
        begin = [_rows(g, s, first, directions, num_layers) for s in states]
        y, *last = g.call(
            op, x, weights[0], weights[1], bias, None, *begin, hidden_size=hidden,
            direction="bidirectional" if bidirectional else "forward", outputs=1 + len(states), **attributes,
        )  # fmt: skip
        # (time, directions, batch, hidden) -> (time, batch, directions * hidden)
        if bidirectional:
            y = g.Transpose(y, perm=[0, 2, 1, 3])
            y = g.reshape(y, [*(y.sizes or ())[:2], directions * hidden]) if _known(y) else g.Reshape(y, [0, 0, -1])
        else:
            y = g.Squeeze(y, [1])
        x = y
        for kept, value in zip(finals, last, strict=True):
            kept.append(value)
    x = g.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    return [x, *(g.Concat(*kept, axis=0) if len(kept) > 1 else kept[0] for kept in finals)]


def _known(y: Value) -> bool:
    return y.sizes is not None and None not in y.sizes[:2]


def _rows(g: GraphBuilder, state: Value, first: int, count: int, layers: int) -> Value:
    return state if layers == 1 else g.Slice(state, [first], [first + count], [0])


@symbolic("aten", "lstm.input")
def lstm(
    g: GraphBuilder, input: Value, hx: Sequence[Value], params: Sequence[Value], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Value, ...]:  # fmt: skip
    """aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, ...) -> (Tensor, Tensor, Tensor)"""
    return tuple(
        _layers(g, "LSTM", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first,
                _LSTM_GATES)
    )  # fmt: skip


@symbolic("aten", "gru.input")
def gru(
    g: GraphBuilder, input: Value, hx: Value, params: Sequence[Value], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Value, ...]:  # fmt: skip
    """aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, ...) -> (Tensor, Tensor)"""
    return tuple(
        _layers(g, "GRU", input, [hx], params, has_biases, num_layers, dropout, train, bidirectional, batch_first,
                _GRU_GATES, linear_before_reset=1)
    )  # fmt: skip


def _register_rnn(name: str, activation: str) -> None:
    def function(
        g: GraphBuilder, input: Value, hx: Value, params: Sequence[Value], has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool, batch_first: bool,
    ) -> tuple[Value, ...]:  # fmt: skip
        activations = [activation] * (2 if bidirectional else 1)
        return tuple(
            _layers(g, "RNN", input, [hx], params, has_biases, num_layers, dropout, train, bidirectional, batch_first,
                    (0,), activations=activations)
        )  # fmt: skip

    function.__doc__ = f"aten::{name}.input(Tensor input, Tensor hx, Tensor[] params, ...) -> (Tensor, Tensor)"
    function.__name__ = function.__qualname__ = name
    symbolic("aten", f"{name}.input")(function)


_register_rnn("rnn_tanh", "Tanh")
_register_rnn("rnn_relu", "Relu")


def _cell(g: GraphBuilder, x: Value, hidden: Value, w_ih: Value, w_hh: Value, b_ih: Value | None,
          b_hh: Value | None) -> tuple[Value, Value]:  # fmt: skip
    from .linalg import linear

    return linear(g, x, w_ih, b_ih), linear(g, hidden, w_hh, b_hh)


@symbolic("aten", "lstm_cell")
def lstm_cell(
    g: GraphBuilder, input: Value, hx: Sequence[Value], w_ih: Value, w_hh: Value, b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> tuple[Value, Value]:  # fmt: skip
    """aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih, ...) -> (Tensor, Tensor)"""
    a, b = _cell(g, input, hx[0], w_ih, w_hh, b_ih, b_hh)
    i, f, c, o = g.Split(g.Add(a, b), axis=-1, num_outputs=4, outputs=4)
    cell = g.Add(g.Mul(g.Sigmoid(f), hx[1]), g.Mul(g.Sigmoid(i), g.Tanh(c)))
    return g.Mul(g.Sigmoid(o), g.Tanh(cell)), cell


@symbolic("aten", "gru_cell")
def gru_cell(
    g: GraphBuilder, input: Value, hx: Value, w_ih: Value, w_hh: Value, b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:  # fmt: skip
    """aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, ...) -> Tensor"""
    a, b = _cell(g, input, hx, w_ih, w_hh, b_ih, b_hh)
    r1, z1, n1 = g.Split(a, axis=-1, num_outputs=3, outputs=3)
    r2, z2, n2 = g.Split(b, axis=-1, num_outputs=3, outputs=3)
    reset, update = g.Sigmoid(g.Add(r1, r2)), g.Sigmoid(g.Add(z1, z2))
    new = g.Tanh(g.Add(n1, g.Mul(reset, n2)))
    return g.Add(g.Mul(g.Sub(hx, new), update), new)


@symbolic("aten", "rnn_tanh_cell")
def rnn_tanh_cell(
    g: GraphBuilder, input: Value, hx: Value, w_ih: Value, w_hh: Value, b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:  # fmt: skip
    """aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, ...) -> Tensor"""
    return g.Tanh(g.Add(*_cell(g, input, hx, w_ih, w_hh, b_ih, b_hh)))


@symbolic("aten", "rnn_relu_cell")
def rnn_relu_cell(
    g: GraphBuilder, input: Value, hx: Value, w_ih: Value, w_hh: Value, b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:  # fmt: skip
    """aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, ...) -> Tensor"""
    return g.Relu(g.Add(*_cell(g, input, hx, w_ih, w_hh, b_ih, b_hh)))
