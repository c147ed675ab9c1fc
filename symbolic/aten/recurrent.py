"""LSTM, GRU and plain recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..builder import GraphBuilder
from ..nn.recurrent import layered, stacked_gates
from ..registry import symbolic
from ..value import Value
from .promotion import unsupported
from .shape import size_at


class Kind(NamedTuple):
    """A recurrent layer: ONNX's operator, its gates as positions in torch's order, what it is told besides."""

    op: str
    gates: Sequence[int]
    attributes: Mapping[str, Any] = {}
    activation: str = ""


KINDS = {
    "lstm": Kind("LSTM", (0, 3, 1, 2)),  # torch: input, forget, cell, output; ONNX: input, output, forget, cell
    "gru": Kind("GRU", (1, 0, 2), {"linear_before_reset": 1}),  # torch: reset, update, new; ONNX: update first
    "rnn_tanh": Kind("RNN", (0,), activation="Tanh"),
    "rnn_relu": Kind("RNN", (0,), activation="Relu"),
}


def recurrent_layers(
    g: GraphBuilder, kind: Kind, x: Value, hx: Value | Sequence[Value], params: Sequence[Value], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, lengths: Value | None = None,
) -> list[Value]:  # fmt: skip
    """All layers of a recurrent network; gives the output and the last states."""
    if train and dropout:
        raise unsupported("recurrent dropout in training mode: put the model in evaluation mode", g)
    states = [hx] if isinstance(hx, Value) else hx
    directions = 2 if bidirectional else 1
    per_cell = 4 if has_biases else 2
    if len(params) != num_layers * directions * per_cell:
        return projected_layers(g, x, states, params, has_biases, directions, batch_first, lengths)
    layers: list[tuple[Value, Value, Value | None]] = []
    for first in range(0, len(params), directions * per_cell):
        cells = params[first : first + directions * per_cell]
        weights = [stacked_gates(g, cells[i::per_cell], kind.gates) for i in range(per_cell)]
        layers.append((weights[0], weights[1], g.Concat(*weights[2:], axis=1) if has_biases else None))
    x = g.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    attributes = dict(kind.attributes)
    if kind.activation:
        attributes["activations"] = [kind.activation] * directions
    y, finals = layered(g, kind.op, x, states, layers, size_at(g, params[1], 1), lengths=lengths, **attributes)
    return [g.Transpose(y, perm=[1, 0, 2]) if batch_first else y, *finals]


def projected_layers(
    g: GraphBuilder, x: Value, states: Sequence[Value], params: Sequence[Value], has_biases: bool, directions: int,
    batch_first: bool, lengths: Value | None,
) -> list[Value]:  # fmt: skip
    """Layers of LSTM whose hidden state is projected (proj_size), which ONNX's LSTM doesn't have: one Scan each."""
    if lengths is not None:
        raise unsupported("a packed sequence through LSTM with proj_size", g)
    per_cell = 5 if has_biases else 3
    x = g.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    finals: list[tuple[Value, Value]] = []
    for first in range(0, len(params), directions * per_cell):
        sequences = []
        for direction in range(directions):
            at = first + direction * per_cell
            begin = [g.Gather(s, len(finals), axis=0) for s in states]
            hidden, cell, y = _projected(g, x, begin, params[at : at + per_cell], direction == 1)
            finals.append((hidden, cell))
            sequences.append(y)
        x = sequences[0] if directions == 1 else g.Concat(*sequences, axis=-1)
    last = [g.Concat(*(g.Unsqueeze(pair[i], [0]) for pair in finals), axis=0) for i in (0, 1)]
    return [g.Transpose(x, perm=[1, 0, 2]) if batch_first else x, *last]


def _projected(
    g: GraphBuilder, x: Value, begin: Sequence[Value], params: Sequence[Value], backwards: bool
) -> list[Value]:
    """One direction of one layer: the last hidden and cell state, and all hidden states."""
    w_ih, w_hh, *biases, w_hr = params
    from .linalg import linear

    inputs = linear(g, x, w_ih, g.Add(*biases) if biases else None)
    body = g.subgraph()
    hidden, cell = (body.input(n, s.element, s.sizes or ()) for n, s in zip(("hidden", "cell"), begin, strict=True))
    step = body.input("step", inputs.element, (inputs.sizes or ())[1:])
    gates = body.Add(step, linear(body, hidden, w_hh))
    i, f, c, o = body.Split(gates, axis=-1, num_outputs=4, outputs=4)
    cell = body.Add(body.Mul(body.Sigmoid(f), cell), body.Mul(body.Sigmoid(i), body.Tanh(c)))
    hidden = linear(body, body.Mul(body.Sigmoid(o), body.Tanh(cell)), w_hr)
    for value in (hidden, cell, hidden):
        body.output(value)
    order = [int(backwards)]
    results = g.call("Scan", *begin, inputs, body=body, num_scan_inputs=1, scan_input_directions=order,
                     scan_output_directions=order, outputs=3)  # fmt: skip
    return list(results)


def _register(name: str, kind: Kind) -> None:
    def function(
        g: GraphBuilder, input: Value, hx: Value | Sequence[Value], params: Sequence[Value], has_biases: bool,
        num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
    ) -> tuple[Value, ...]:  # fmt: skip
        settings = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
        return tuple(recurrent_layers(g, kind, input, hx, params, *settings))

    states, results = ("Tensor[] hx", "Tensor, Tensor, Tensor") if name == "lstm" else ("Tensor hx", "Tensor, Tensor")
    function.__doc__ = (
        f"aten::{name}.input(Tensor input, {states}, Tensor[] params, bool has_biases, ...) -> ({results})"
    )
    function.__name__ = function.__qualname__ = name
    symbolic("aten", f"{name}.input")(function)


for _name, _kind in KINDS.items():
    _register(_name, _kind)


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
