"""Recurrent layers as ONNX LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..nn.weights import derived
from ..registry import symbolic
from ..value import Value
from .common import DataType, cast, refused, sizes

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
    half = len(weight_list) // 2  # all weights, then all biases
    finals: list[list[Value]] = [[] for _ in pre_state]
    for layer in range(num_layers):
        first = 2 * directions * layer
        weights = weight_list[first : first + 2 * directions]
        biases = weight_list[half + first : half + first + 2 * directions]
        states = [g.Slice(s, [layer * directions], [(layer + 1) * directions], [0]) if num_layers > 1 else s
                  for s in pre_state]  # fmt: skip
        y, *last = _layer(g, x, states, weights, biases, lengths, mode, hidden_size)
        for found, one in zip(finals, last, strict=True):
            found.append(one)
        x = _joined(g, y, directions, hidden_size)
    ends = [f[0] if len(f) == 1 else g.Concat(*f, axis=0) for f in finals]
    return x, None, ends, None


def _layer(
    g: GraphBuilder, x: Value, states: Sequence[Value], weights: Sequence[Value], biases: Sequence[Value],
    lengths: Value | None, mode: str, hidden: int,
) -> Any:  # fmt: skip
    """One layer in both directions: all outputs (T, directions, B, H) and the last states (directions, B, H)."""
    order = _GATES[mode]
    w, r = (_packed(g, weights[i::2], order, hidden) for i in (0, 1))
    b = _packed_biases(g, biases, order, hidden)
    common: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if len(weights) == 4 else "forward"}
    if mode == "LSTM":
        return g.LSTM(x, w, r, b, lengths, states[0], states[1], outputs=3, **common)
    if mode == "GRU":
        return g.GRU(x, w, r, b, lengths, states[0], linear_before_reset=1, outputs=2, **common)
    activations = ["Relu" if mode == "RNN_RELU" else "Tanh"] * (len(weights) // 2)
    return g.RNN(x, w, r, b, lengths, states[0], activations=activations, outputs=2, **common)


def _joined(g: GraphBuilder, y: Value, directions: int, hidden: int) -> Value:
    """(T, directions, B, H) as (T, B, directions * H)."""
    if directions == 1:
        return g.Squeeze(y, [1])
    moved = g.Transpose(y, perm=[0, 2, 1, 3])
    shape = sizes(g, moved)
    return g.reshape(moved, [shape[0], shape[1], directions * hidden])


def _packed(g: GraphBuilder, parts: Sequence[Value], order: Sequence[int], hidden: int) -> Value:
    """Weights of all directions (gates * H, n) as ONNX has them: (directions, gates * H, n), gates reordered."""
    rows = len(order) * hidden
    width = parts[0].dim(1)
    if all(p.is_constant for p in parts) and isinstance(width, int):

        def compute(*arrays: np.ndarray) -> np.ndarray:
            return np.stack([_reordered(a, order, hidden) for a in arrays])

        return derived(g, "gates", parts, [len(parts), rows, width], compute)
    index = g.constant(np.concatenate([np.arange(hidden) + k * hidden for k in order]))
    moved = [g.Unsqueeze(g.Gather(p, index, axis=0), [0]) for p in parts]
    return moved[0] if len(moved) == 1 else g.Concat(*moved, axis=0)


def _packed_biases(g: GraphBuilder, parts: Sequence[Value], order: Sequence[int], hidden: int) -> Value:
    """Biases of all directions, input's then state's: (directions, 2 * gates * H)."""
    count = len(parts) // 2
    rows = len(order) * hidden
    if all(p.is_constant for p in parts):

        def compute(*arrays: np.ndarray) -> np.ndarray:
            moved = [_reordered(a, order, hidden) for a in arrays]
            return np.stack([np.concatenate(moved[2 * i : 2 * i + 2]) for i in range(count)])

        return derived(g, "gates", parts, [count, 2 * rows], compute)
    index = g.constant(np.concatenate([np.arange(hidden) + k * hidden for k in order]))
    return g.Reshape(g.Concat(*(g.Gather(p, index, axis=0) for p in parts), axis=0), [count, 2 * rows])


def _reordered(array: np.ndarray, order: Sequence[int], hidden: int) -> np.ndarray:
    blocks = array.reshape(len(order), hidden, *array.shape[1:])
    return blocks[list(order)].reshape(array.shape)
