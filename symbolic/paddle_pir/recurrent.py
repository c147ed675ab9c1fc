"""Recurrent layers as ONNX LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import GraphBuilder
from ..nn.recurrent import layered, stacked_gates
from ..registry import symbolic
from ..value import Value
from .common import DataType, cast, refused

#: Order of Paddle's gates in ONNX's order: Paddle has i f g o and r z n, ONNX i o f g and z r n.
_GATES = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN_TANH": [0], "RNN_RELU": [0]}


@symbolic("paddle_pir")
def rnn(
    g: GraphBuilder, x: Value, pre_state: Sequence[Value], weight_list: Sequence[Value],
    sequence_length: Value | None = None, dropout_state_in: Value | None = None, dropout_prob: float = 0.0,
    is_bidirec: bool = False, input_size: int = 10, hidden_size: int = 100, num_layers: int = 1, mode: str = "RNN_TANH",
    seed: int = 0, is_test: bool = False,
) -> Any:  # fmt: skip
    """rnn(Tensor x, Tensor[] pre_state, Tensor[] weight_list, Tensor? sequence_length, Tensor? dropout_state_in, float
    dropout_prob, bool is_bidirec, int input_size, int hidden_size, int num_layers, str mode, int seed, bool is_test)
    -> (Tensor, Tensor, Tensor[], Tensor)"""
    if not is_test and dropout_prob > 0:
        raise refused(g, "rnn", "its dropout is random in training mode: call eval() first")
    if mode not in _GATES:
        raise refused(g, "rnn", f"mode {mode} isn't supported")
    directions = 2 if is_bidirec else 1
    lengths = None if sequence_length is None else cast(g, sequence_length, DataType.INT32)
    half = len(weight_list) // 2  # all weights, then all biases; of each the input's and the state's in turn
    layers: list[tuple[Value, Value, Value | None]] = []
    for first in range(0, half, 2 * directions):
        cells = [weight_list[start + first : start + first + 2 * directions] for start in (0, half)]
        w, r, b, state_bias = (stacked_gates(g, c[i::2], _GATES[mode]) for c in cells for i in (0, 1))
        layers.append((w, r, g.Concat(b, state_bias, axis=1)))
    attributes: dict[str, Any] = {"linear_before_reset": 1} if mode == "GRU" else {}
    if mode.startswith("RNN"):
        attributes["activations"] = ["Relu" if mode == "RNN_RELU" else "Tanh"] * directions
    op = mode.split("_")[0]
    y, ends = layered(g, op, x, pre_state, layers, hidden_size, lengths=lengths, **attributes)
    return y, None, ends, None
