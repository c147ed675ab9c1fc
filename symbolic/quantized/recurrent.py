"""Recurrent layers whose inputs and hidden states are quantised by the range that they have at each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..aten.promotion import unsupported
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .layers import linear_by_range
from .packed import PackedCell, PackedLinear


def _lstm_step(g: GraphBuilder, inputs: Value, hidden: Value, states: Sequence[Value]) -> list[Value]:
    i, f, c, o = g.Split(g.Add(inputs, hidden), axis=-1, num_outputs=4, outputs=4)
    cell = g.Add(g.Mul(g.Sigmoid(f), states[1]), g.Mul(g.Sigmoid(i), g.Tanh(c)))
    return [g.Mul(g.Sigmoid(o), g.Tanh(cell)), cell]


def _gru_step(g: GraphBuilder, inputs: Value, hidden: Value, states: Sequence[Value]) -> list[Value]:
    r1, z1, n1 = g.Split(inputs, axis=-1, num_outputs=3, outputs=3)
    r2, z2, n2 = g.Split(hidden, axis=-1, num_outputs=3, outputs=3)
    reset, update = g.Sigmoid(g.Add(r1, r2)), g.Sigmoid(g.Add(z1, z2))
    new = g.Tanh(g.Add(n1, g.Mul(reset, n2)))
    return [g.Add(g.Mul(g.Sub(states[0], new), update), new)]


def _direction(
    g: GraphBuilder, step: Any, x: Value, begin: Sequence[Value], cell: PackedCell, backwards: bool
) -> list[Value]:
    """One direction of one layer: the last states, and all hidden states."""
    # the inputs of all steps are quantised together, as torch does; each hidden state by itself
    inputs = linear_by_range(g, x, cell.inputs, cell.reduce_range)
    body = g.subgraph()
    states = [body.input(f"state_{i}", s.element, s.sizes) for i, s in enumerate(begin)]
    now = body.input("step", inputs.element, (inputs.sizes or ())[1:])
    made = step(body, now, linear_by_range(body, states[0], cell.hidden, cell.reduce_range), states)
    for value in (*made, made[0]):
        body.output(value)
    order = [int(backwards)]
    results: Sequence[Value] = g.call(
        "Scan", *begin, inputs, body=body, num_scan_inputs=1, scan_input_directions=order,
        scan_output_directions=order, outputs=len(begin) + 1,
    )  # fmt: skip
    return list(results)


def _layers(
    g: GraphBuilder, step: Any, x: Value, hx: Sequence[Value], params: Sequence[PackedCell], num_layers: int,
    bidirectional: bool, batch_first: bool,
) -> list[Value]:  # fmt: skip
    """All layers: the output and the last states."""
    directions = 2 if bidirectional else 1
    if len(params) != num_layers * directions:
        raise unsupported(f"{len(params)} packed cells for {num_layers} layers", g)
    x = g.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    finals: list[list[Value]] = []
    for layer in range(num_layers):
        sequences = []
        for direction in range(directions):
            at = layer * directions + direction
            begin = [g.Gather(s, at, axis=0) for s in hx]
            *last, y = _direction(g, step, x, begin, params[at], direction == 1)
            finals.append(last)
            sequences.append(y)
        x = sequences[0] if directions == 1 else g.Concat(*sequences, axis=-1)
    ends = [g.Concat(*(g.Unsqueeze(last[i], [0]) for last in finals), axis=0) for i in range(len(hx))]
    return [g.Transpose(x, perm=[1, 0, 2]) if batch_first else x, *ends]


@symbolic("aten.quantized", "quantized_lstm.input")
def quantized_lstm(
    g: GraphBuilder, input: Value, hx: Sequence[Value], params: Sequence[PackedCell], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, dtype: Any = None,
    use_dynamic: bool = False,
) -> tuple[Value, ...]:  # fmt: skip
    """aten::quantized_lstm.input(Tensor input, Tensor[] hx, CellParamsBase[], ...) -> (Tensor, Tensor, Tensor)"""
    if train and dropout:
        raise unsupported("recurrent dropout in training mode: put the model in evaluation mode", g)
    return tuple(_layers(g, _lstm_step, input, hx, params, num_layers, bidirectional, batch_first))


@symbolic("aten.quantized", "quantized_gru.input")
def quantized_gru(
    g: GraphBuilder, input: Value, hx: Value, params: Sequence[PackedCell], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Value, ...]:  # fmt: skip
    """aten::quantized_gru.input(Tensor input, Tensor hx, CellParamsBase[] params, ...) -> (Tensor, Tensor)"""
    if train and dropout:
        raise unsupported("recurrent dropout in training mode: put the model in evaluation mode", g)
    return tuple(_layers(g, _gru_step, input, [hx], params, num_layers, bidirectional, batch_first))


# --- cells -----------------------------------------------------------------------------------------------------------


def _cell(g: GraphBuilder, input: Value, hidden: Value, w_ih: PackedLinear, w_hh: PackedLinear) -> tuple[Value, Value]:
    """What the input and the hidden state of a cell become; the biases are in the packed weights, too."""
    return linear_by_range(g, input, w_ih, True), linear_by_range(g, hidden, w_hh, True)


@symbolic("quantized", "quantized_lstm_cell_dynamic")
def quantized_lstm_cell(
    g: GraphBuilder, input: Value, hx: Sequence[Value], w_ih: PackedLinear, w_hh: PackedLinear, bias_ih: Value,
    bias_hh: Value,
) -> tuple[Value, Value]:  # fmt: skip
    """quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, LinearPackedParamsBase w_ih, ...) -> ..."""
    hidden, cell = _lstm_step(g, *_cell(g, input, hx[0], w_ih, w_hh), hx)
    return hidden, cell


@symbolic("quantized", "quantized_gru_cell_dynamic")
def quantized_gru_cell(
    g: GraphBuilder, input: Value, hx: Value, w_ih: PackedLinear, w_hh: PackedLinear, b_ih: Value, b_hh: Value
) -> Value:
    """quantized::quantized_gru_cell_dynamic(Tensor input, Tensor hx, LinearPackedParamsBase w_ih, ...) -> Tensor"""
    return _gru_step(g, *_cell(g, input, hx, w_ih, w_hh), [hx])[0]


@symbolic("quantized", "quantized_rnn_tanh_cell_dynamic")
def quantized_rnn_tanh_cell(
    g: GraphBuilder, input: Value, hx: Value, w_ih: PackedLinear, w_hh: PackedLinear, b_ih: Value, b_hh: Value
) -> Value:
    """quantized::quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, LinearPackedParamsBase, ...) -> Tensor"""
    return g.Tanh(g.Add(*_cell(g, input, hx, w_ih, w_hh)))


@symbolic("quantized", "quantized_rnn_relu_cell_dynamic")
def quantized_rnn_relu_cell(
    g: GraphBuilder, input: Value, hx: Value, w_ih: PackedLinear, w_hh: PackedLinear, b_ih: Value, b_hh: Value
) -> Value:
    """quantized::quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, LinearPackedParamsBase, ...) -> Tensor"""
    return g.Relu(g.Add(*_cell(g, input, hx, w_ih, w_hh)))
