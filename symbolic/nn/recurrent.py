"""Recurrent layers on the ONNX operators RNN, LSTM and GRU: weight packing, time masks, directions, states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..value import Value
from .sizes import sizes_of
from .weights import derived

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Key in a value's meta: the same (batch, time, features) tensor as (time, batch, features).
TIME_MAJOR = "time_major"


@dataclass(frozen=True)
class Activation:
    """One of ONNX's activations of recurrent operators, with its parameters."""

    name: str
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True)
class Packed:
    """Weights of one recurrent operator as ONNX takes them: (directions, gates * hidden, ...).

    Attributes:
        op: RNN, LSTM or GRU.
        hidden: Size of the state.
        w: Input weights.
        r: Recurrent weights.
        b: Input and recurrent biases, or None.
        activations: Of each gate function, for all directions.
        linear_before_reset: GRU: the reset gate is applied to the product with the recurrent weights.
    """

    op: str
    hidden: int
    w: Value
    r: Value
    b: Value | None
    activations: Sequence[Activation]
    linear_before_reset: bool = False


@dataclass(frozen=True)
class Result:
    """What a recurrent layer gives.

    Attributes:
        sequence: State after each step, (batch, time, directions, hidden), each direction in the order of time.
        states: Last hidden state (and cell state of LSTM), (batch, directions, hidden).
    """

    sequence: Value
    states: tuple[Value, ...]


def in_order(array: np.ndarray, gates: Sequence[int]) -> np.ndarray:
    """Rows of an array with the gates that they belong to in another order."""
    blocks = array.reshape(len(gates), -1, *array.shape[1:])
    return blocks[list(gates)].reshape(array.shape)


def gate_weights(g: GraphBuilder, matrices: Sequence[Value], gates: Sequence[int], hidden: int) -> Value:
    """Matrices (in, gates * hidden), one for each direction, as (directions, gates * hidden, in).

    Args:
        g: Builder.
        matrices: Constants.
        gates: Which of the source's gates is ONNX's first, second ...
        hidden: Size of the state.
    """
    size = matrices[0].dim(0)
    assert isinstance(size, int)

    def pack(*arrays: np.ndarray) -> np.ndarray:
        return np.stack([in_order(a.T, gates) for a in arrays])

    return derived(g, "gates", matrices, [len(matrices), len(gates) * hidden, size], pack)


def gate_biases(g: GraphBuilder, biases: Sequence[Value], gates: Sequence[int], hidden: int) -> Value:
    """Biases, one for each direction, as (directions, 2 * gates * hidden).

    A bias (gates * hidden) belongs to the input; one of (2, gates * hidden) has a second row for the recurrent product.
    """

    def pack(*arrays: np.ndarray) -> np.ndarray:
        rows = []
        for array in arrays:
            first, *second = (in_order(part, gates) for part in array.reshape(-1, len(gates) * hidden))
            rows.append(np.concatenate([first, second[0] if second else np.zeros_like(first)]))
        return np.stack(rows)

    return derived(g, "gates", biases, [len(biases), 2 * len(gates) * hidden], pack)


def stacked_gates(g: GraphBuilder, tensors: Sequence[Value], gates: Sequence[int]) -> Value:
    """Weights (gates * hidden, in) or biases, one for each direction, along a new first axis, gates in ONNX's order."""
    sizes = tensors[0].sizes
    if all(t.is_constant for t in tensors) and sizes is not None:

        def pack(*arrays: np.ndarray) -> np.ndarray:
            return np.stack([in_order(a, gates) for a in arrays])

        fixed = [s for s in sizes if isinstance(s, int)]
        return derived(g, "gates" + "".join(map(str, gates)), tensors, [len(tensors), *fixed], pack)
    return g.Concat(*(g.Unsqueeze(_reordered(g, t, gates), [0]) for t in tensors), axis=0)


def _reordered(g: GraphBuilder, x: Value, gates: Sequence[int]) -> Value:
    if len(gates) < 2:
        return x
    parts = g.Split(x, axis=0, num_outputs=len(gates), outputs=len(gates))
    return g.Concat(*(parts[i] for i in gates), axis=0)


def layered(
    g: GraphBuilder,
    op: str,
    x: Value,
    states: Sequence[Value],
    layers: Sequence[tuple[Value, Value, Value | None]],
    hidden: int,
    *,
    lengths: Value | None = None,
    **attributes: Any,
) -> tuple[Value, list[Value]]:
    """Recurrent layers, each over what the one before it gives.

    Args:
        g: Builder.
        op: RNN, LSTM or GRU.
        x: (time, batch, features).
        states: First hidden (and cell) state of all layers, (layers * directions, batch, hidden).
        layers: Input weights, recurrent weights and biases of each layer, as ONNX takes them.
        hidden: Size of the state.
        lengths: Steps of each sequence, int32.
        **attributes: Others of the operator.

    Returns:
        (time, batch, directions * hidden), and the last states in the form of the first ones.
    """
    directions = layers[0][0].dim(0)
    assert isinstance(directions, int)
    finals: list[list[Value]] = [[] for _ in states]
    for number, (w, r, b) in enumerate(layers):
        first = number * directions
        begin = [s if len(layers) == 1 else g.Slice(s, [first], [first + directions], [0]) for s in states]
        y, *last = g.call(
            op,
            x,
            w,
            r,
            b,
            lengths,
            *begin,
            hidden_size=hidden,
            direction="bidirectional" if directions == 2 else "forward",
            outputs=1 + len(states),
            **attributes,
        )
        if directions == 1:
            x = g.Squeeze(y, [1])
        else:  # (time, directions, batch, hidden)
            y = g.Transpose(y, perm=[0, 2, 1, 3])
            x = g.reshape(y, [*sizes_of(g, y)[:2], directions * hidden])
        for kept, value in zip(finals, last, strict=True):
            kept.append(value)
    return x, [k[0] if len(k) == 1 else g.Concat(*k, axis=0) for k in finals]


def recurrent(
    g: GraphBuilder,
    x: Value,
    packed: Packed,
    *,
    reverse: bool = False,
    mask: Value | None = None,
    zero_masked: bool = False,
    initial: Sequence[Value] | None = None,
) -> Result:
    """Runs a recurrent layer over (batch, time, features).

    Args:
        g: Builder.
        x: Input.
        packed: Weights; two directions make it bidirectional.
        reverse: The only direction runs backwards.
        mask: bool (batch, time); a step that is False leaves the state as it is, wherever it lies.
        zero_masked: A masked step gives zeros; otherwise what the step before it gave (zeros at first).
        initial: First hidden (and cell) state, (batch, directions, hidden).
    """
    dtype = x.element
    source = x.meta.get(TIME_MAJOR) if mask is None else None
    steps = None
    if mask is not None:
        steps = _Steps(g, mask)
        x = steps.packed(x)
    if isinstance(source, Value) and source.builder is g:
        time_major = source
    else:
        time_major = g.Transpose(x, perm=[1, 0, 2])
    single = ir.DataType.FLOAT
    time_major = time_major if time_major.element == single else g.Cast(time_major, to=single)
    both = packed.w.dim(0) == 2
    states = [g.Transpose(s if s.element == single else g.Cast(s, to=single), perm=[1, 0, 2]) for s in initial or ()]
    results = g.call(
        packed.op,
        time_major,
        packed.w,
        packed.r,
        packed.b,
        None if steps is None else steps.lengths,
        *states,
        outputs=3 if packed.op == "LSTM" else 2,
        hidden_size=packed.hidden,
        direction="bidirectional" if both else "reverse" if reverse else "forward",
        **_attributes(packed, 2 if both else 1),
    )
    results = [r if r.element == dtype else g.Cast(r, to=dtype) for r in results]
    sequence = g.Transpose(results[0], perm=[2, 0, 1, 3])
    if steps is not None:
        directions = [False, True] if both else [reverse]
        sequence = steps.spread(sequence, directions, zero_masked)
    else:
        sequence.meta[TIME_MAJOR] = results[0]
    return Result(sequence, tuple(g.Transpose(r, perm=[1, 0, 2]) for r in results[1:]))


def _attributes(packed: Packed, directions: int) -> dict[str, Any]:
    """Activations (where they aren't the default ones) and the place of GRU's reset gate."""
    found: dict[str, Any] = {}
    if packed.linear_before_reset:
        found["linear_before_reset"] = 1
    usual = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[packed.op]
    if [a.name for a in packed.activations] == usual:
        return found
    listed = list(packed.activations) * directions
    alphas = [a.alpha for a in listed if a.alpha is not None]
    betas = [a.beta for a in listed if a.beta is not None]
    return found | {
        "activations": [a.name for a in listed],
        "activation_alpha": alphas or None,
        "activation_beta": betas or None,
    }


class _Steps:
    """Masked time steps: the others are moved to the front, so that `sequence_lens` skips the masked ones.

    A masked step leaves the state alone, so running over the kept steps only, in their order, is the same.
    """

    def __init__(self, g: GraphBuilder, mask: Value):
        self.g, self.mask = g, mask
        kept = g.Cast(mask, to=ir.DataType.INT64)
        self.steps = g.Squeeze(g.Shape(mask, start=1, end=2), [0])
        numbers = g.Range(g.constant(np.array(0)), self.steps, g.constant(np.array(1)))
        #: For each step, how many are kept up to it.
        self.counted = g.CumSum(kept, 1)
        self.lengths = g.Cast(g.ReduceSum(kept, [1], keepdims=0), to=ir.DataType.INT32)
        self.kept = kept
        keys = g.Add(numbers, g.Mul(g.Sub(1, kept), self.steps))  # kept ones first, both in their order
        self.order = g.call("TopK", keys, g.Unsqueeze(self.steps, [0]), axis=1, largest=0, sorted=1, outputs=2)[1]

    def packed(self, x: Value) -> Value:
        """(batch, time, ...) with the kept steps in front."""
        return self._taken(x, self.order)

    def _taken(self, x: Value, index: Value) -> Value:
        y: Value = self.g.GatherND(x, self.g.Unsqueeze(index, [2]), batch_dims=1)
        y.sizes = x.sizes
        return y

    def spread(self, sequence: Value, directions: Sequence[bool], zero_masked: bool) -> Value:
        """Results of the packed steps, (batch, time, directions, hidden), back at their places in time."""
        g = self.g
        zero = g.constant(0.0, sequence.element)
        if zero_masked:
            found = self._taken(sequence, g.Max(g.Sub(self.counted, 1), 0))
            return g.Where(g.Unsqueeze(self.mask, [2, 3]), found, zero)
        parts = []
        for i, backwards in enumerate(directions):
            one = sequence if len(directions) == 1 else g.Slice(sequence, [i], [i + 1], [2])
            if backwards:  # the next kept step, which was run before it
                index = g.Sub(self.counted, self.kept)
                valid = g.Less(index, g.Unsqueeze(g.Cast(self.lengths, to=ir.DataType.INT64), [1]))
                index = g.Min(index, g.Sub(self.steps, 1))
            else:
                index = g.Max(g.Sub(self.counted, 1), 0)
                valid = g.Greater(self.counted, 0)
            parts.append(g.Where(g.Unsqueeze(valid, [2, 3]), self._taken(one, index), zero))
        return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=2)
