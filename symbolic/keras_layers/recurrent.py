"""SimpleRNN, LSTM, GRU, Bidirectional and TimeDistributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..dims import product
from ..nn.recurrent import TIME_MAJOR, Activation, Packed, Result, gate_biases, gate_weights, recurrent
from ..registry import symbolic
from ..value import Value
from .layer import DIALECT, Layer, Weights, call_layer, mask_of, refuse, with_mask

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_ACTIVATIONS = {
    "tanh": Activation("Tanh"),
    "sigmoid": Activation("Sigmoid"),
    "relu": Activation("Relu"),
    "hard_sigmoid": Activation("HardSigmoid", 1 / 6, 0.5),
    "linear": Activation("Affine", 1.0, 0.0),
    None: Activation("Affine", 1.0, 0.0),
    "elu": Activation("Elu", 1.0),
    "leaky_relu": Activation("LeakyRelu", 0.2),
    "softsign": Activation("Softsign"),
    "softplus": Activation("Softplus"),
}
#: Operator of a layer or cell, and which of its gates is ONNX's first, second ...
_KINDS = {"SimpleRNN": ("RNN", (0,)), "LSTM": ("LSTM", (0, 3, 1, 2)), "GRU": ("GRU", (0, 1, 2))}


@dataclass(frozen=True)
class _Run:
    """How a recurrent layer is run."""

    sequences: bool
    states: bool
    backwards: bool
    zero_masked: bool

    @staticmethod
    def of(options: Mapping[str, Any]) -> _Run:
        """From its configuration."""
        names = ("return_sequences", "return_state", "go_backwards", "zero_output_for_mask")
        return _Run(*(bool(options.get(n)) for n in names))


def _packed(
    g: GraphBuilder, layer: Layer, options: Sequence[Mapping[str, Any]], cells: Sequence[Weights], kind: str
) -> Packed:
    """Weights of the cells of one or two directions, which have the same options but for their direction."""
    config = options[0]
    op, gates = _KINDS[kind]
    hidden = int(config["units"])
    names = [config.get("activation", "tanh")]
    if kind != "SimpleRNN":
        names = [config.get("recurrent_activation", "sigmoid"), *names]
    if kind == "LSTM":
        names.append(names[1])
    for name in names:
        if not isinstance(name, str | None) or name not in _ACTIVATIONS:
            refuse(g, layer, f"the activation {name!r} is not one that ONNX's {op} has")
    exact = [c.cast(None) for c in cells]
    biases = [c["bias"] for c in exact] if config.get("use_bias", True) else None
    if any(c["kernel"].element not in (ir.DataType.FLOAT,) for c in exact):
        refuse(g, layer, f"weights of type {exact[0]['kernel'].element.name} are not supported")
    return Packed(
        op,
        hidden,
        gate_weights(g, [c["kernel"] for c in exact], gates, hidden),
        gate_weights(g, [c["recurrent_kernel"] for c in exact], gates, hidden),
        None if biases is None else gate_biases(g, biases, gates, hidden),
        [_ACTIVATIONS[n] for n in names],
        linear_before_reset=kind == "GRU" and bool(config.get("reset_after", False)),
    )


def _refuse_state(g: GraphBuilder, layer: Layer, options: Mapping[str, Any]) -> None:
    if options.get("stateful"):
        refuse(g, layer, "stateful=True: an ONNX model keeps no state between runs")
    if options.get("time_major"):
        refuse(g, layer, "time_major=True is not supported")


def _flipped(g: GraphBuilder, x: Value) -> Value:
    return g.Slice(x, [-1], [-(2**63)], [1], [-1])


def _one_direction(g: GraphBuilder, result: Result, run: _Run, mask: Value | None) -> list[Value]:
    """Output and states of a layer with one direction, in the order that it ran."""
    states = [g.Squeeze(s, [1]) for s in result.states]
    if run.sequences:
        output = g.Squeeze(result.sequence, [2])
        time_major = result.sequence.meta.get(TIME_MAJOR)
        if time_major is not None:
            output.meta[TIME_MAJOR] = g.Squeeze(time_major, [1])
            output = _from_time_major(g, output.meta[TIME_MAJOR])
        output = _flipped(g, output) if run.backwards else output
    else:
        output = states[0]
        if mask is not None:
            output = g.Where(_has_output(g, mask, run), output, g.constant(0.0, output.element))
    return [output, *(states if run.states else [])]


def _from_time_major(g: GraphBuilder, x: Value) -> Value:
    y: Value = g.Transpose(x, perm=[1, 0, *range(2, x.rank)])
    y.meta[TIME_MAJOR] = x
    return y


def _has_output(g: GraphBuilder, mask: Value, run: _Run) -> Value:
    """(batch, 1): whether the last output isn't zeros: any step is kept, or the last one if masked ones give zeros."""
    if run.zero_masked:
        last = g.Slice(mask, [0], [1], [1]) if run.backwards else g.Slice(mask, [-1], [2**62], [1])
        return last
    kept = g.ReduceMax(g.Cast(mask, to=ir.DataType.INT32), [1], keepdims=1)
    return g.Cast(kept, to=ir.DataType.BOOL)


def _initial(g: GraphBuilder, states: Any) -> list[Value] | None:
    if states is None:
        return None
    listed = states if isinstance(states, (list, tuple)) else [states]
    return [g.Unsqueeze(s, [1]) for s in listed]


def _run_layer(
    g: GraphBuilder,
    x: Value,
    kind: str,
    options: Mapping[str, Any],
    cell: Weights,
    owner: Layer,
    mask: Any,
    states: Any,
) -> Any:
    _refuse_state(g, owner, options)
    run = _Run.of(options)
    mask = mask[0] if isinstance(mask, (list, tuple)) else mask
    packed = _packed(g, owner, [options], [cell], kind)
    result = recurrent(
        g,
        x,
        packed,
        reverse=run.backwards,
        mask=mask,
        zero_masked=run.zero_masked,
        initial=_initial(g, states),
    )
    outputs = _one_direction(g, result, run, mask)
    return tuple(outputs) if run.states else outputs[0]


@symbolic(DIALECT, "SimpleRNN", "LSTM", "GRU", "CuDNNLSTM", "CuDNNGRU")
def recurrent_layer(
    g: GraphBuilder,
    x: Value,
    initial_state: Any = None,
    *,
    weights: Weights,
    layer: Layer,
    mask: Any = None,
    units: int,
    activation: Any = "tanh",
    recurrent_activation: Any = "sigmoid",
    use_bias: bool = True,
    unit_forget_bias: bool = True,
    dropout: float = 0.0,
    recurrent_dropout: float = 0.0,
    implementation: int = 2,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    unroll: bool = False,
    time_major: bool = False,
    use_cudnn: Any = "auto",
    reset_after: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:
    """keras.layers.LSTM(units, activation, recurrent_activation, use_bias, return_sequences, return_state ...)"""
    if isinstance(x, (list, tuple)):  # Keras 2 passes the states along
        x, initial_state = x[0], list(x[1:]) or initial_state
    return _run_layer(g, x, layer.class_name, layer.options, weights.sub("cell"), layer, mask, initial_state)


@symbolic(DIALECT, "RNN")
def rnn(
    g: GraphBuilder,
    x: Value,
    initial_state: Any = None,
    *,
    weights: Weights,
    layer: Layer,
    mask: Any = None,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    unroll: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:
    """keras.layers.RNN(cell, return_sequences ...) of a built-in cell"""
    inner = layer.inner["cell"]
    kind = inner.class_name.removesuffix("Cell")
    if kind not in _KINDS or inner.key != inner.class_name:
        refuse(g, layer, f"the cell {inner.class_name} is not supported")
    options = {**layer.options, **inner.options}
    return _run_layer(g, x, kind, options, weights.sub("cell"), layer, mask, initial_state)


@symbolic(DIALECT, "SimpleRNNCell", "LSTMCell", "GRUCell")
def cell_alone(
    g: GraphBuilder,
    *args: Any,
    layer: Layer,
    units: int,
    activation: Any = "tanh",
    recurrent_activation: Any = "sigmoid",
    use_bias: bool = True,
    unit_forget_bias: bool = True,
    dropout: float = 0.0,
    recurrent_dropout: float = 0.0,
    implementation: int = 2,
    reset_after: bool = False,
) -> Any:
    """keras.layers.LSTMCell(units): only inside keras.layers.RNN"""
    refuse(g, layer, "a cell outside keras.layers.RNN is not supported")


@symbolic(DIALECT, "Bidirectional")
def bidirectional(
    g: GraphBuilder,
    x: Value,
    initial_state: Any = None,
    *,
    weights: Weights,
    layer: Layer,
    mask: Any = None,
    merge_mode: str | None = "concat",
    forward_layer: Any = None,
) -> Any:
    """keras.layers.Bidirectional(layer, merge_mode="concat"): one operator where both directions are alike"""
    mask = mask[0] if isinstance(mask, (list, tuple)) else mask
    forward = layer.inner["layer"]
    backward = layer.inner.get("backward_layer") or _turned(forward)
    if forward.class_name not in _KINDS or backward.class_name not in _KINDS:
        refuse(g, layer, f"the layer {forward.class_name} is not supported")
    run = _Run.of(forward.options)
    states = list(initial_state) if initial_state is not None else None
    if _alike(forward, backward):
        sequence, last, final = _together(g, x, layer, weights, mask, states)
    else:
        sequence, last, final = _apart(g, x, layer, (forward, backward), weights, mask, states)
    parts = sequence if run.sequences else last
    output = _merged(g, layer, parts, merge_mode)
    if run.sequences and mask is not None and isinstance(output, tuple):
        with_mask(g, output[1], mask)
    if not run.states:
        return output
    return (*(output if isinstance(output, tuple) else (output,)), *final)


def _turned(layer: Layer) -> Layer:
    config = {**layer.config, "go_backwards": not layer.config.get("go_backwards")}
    return Layer(layer.class_name, layer.name, config, layer.key)


def _alike(a: Layer, b: Layer) -> bool:
    """Whether two layers differ only in their direction, the first running forwards."""
    names = ("units", "activation", "recurrent_activation", "use_bias", "reset_after", "zero_output_for_mask")
    same = a.class_name == b.class_name and all(a.config.get(n) == b.config.get(n) for n in names)
    return same and not a.config.get("go_backwards") and bool(b.config.get("go_backwards"))


def _together(
    g: GraphBuilder, x: Value, layer: Layer, weights: Weights, mask: Value | None, states: list[Value] | None
) -> tuple[list[Value], list[Value], list[Value]]:
    """Both directions in one operator: sequences in the order of time, last outputs, states."""
    forward = layer.inner["layer"]
    options = forward.options
    _refuse_state(g, layer, options)
    cells = [weights.sub(d).sub("cell") for d in ("forward_layer", "backward_layer")]
    packed = _packed(g, layer, [options, options], cells, forward.class_name)
    initial = None
    if states is not None:
        half = len(states) // 2
        initial = [g.Concat(*_stacked(g, states[i], states[half + i]), axis=1) for i in range(half)]
    zero = bool(options.get("return_sequences"))  # Bidirectional sets zero_output_for_mask so
    result = recurrent(g, x, packed, mask=mask, zero_masked=zero, initial=initial)
    final = [[g.Squeeze(g.Slice(s, [d], [d + 1], [1]), [1]) for s in result.states] for d in (0, 1)]
    last = [f[0] for f in final]
    if mask is not None:
        run = _Run(False, False, False, False)
        last = [g.Where(_has_output(g, mask, run), v, g.constant(0.0, v.element)) for v in last]
    sequences = [g.Squeeze(g.Slice(result.sequence, [d], [d + 1], [2]), [2]) for d in (0, 1)]
    sequences[0].meta["bidirectional"] = sequences[1].meta["bidirectional"] = result.sequence
    return sequences, last, [*final[0], *final[1]]


def _stacked(g: GraphBuilder, *states: Value) -> list[Value]:
    return [g.Unsqueeze(s, [1]) for s in states]


def _apart(
    g: GraphBuilder,
    x: Value,
    layer: Layer,
    directions: tuple[Layer, Layer],
    weights: Weights,
    mask: Value | None,
    states: list[Value] | None,
) -> tuple[list[Value], list[Value], list[Value]]:
    """Each direction by itself."""
    outputs, final = [], []
    for i, (inner, name) in enumerate(zip(directions, ("forward_layer", "backward_layer"), strict=True)):
        half = len(states) // 2 if states is not None else 0
        own = None if states is None else states[i * half : (i + 1) * half]
        options = {
            **inner.options,
            "return_state": True,
            "zero_output_for_mask": bool(inner.options.get("return_sequences")),
        }
        cell = weights.sub(name).sub("cell")
        found = _run_layer(g, x, inner.class_name, options, cell, layer, mask, own)
        output = found[0]
        if i == 1 and options.get("return_sequences"):
            output = _flipped(g, output)
        outputs.append(output)
        final += found[1:]
    return outputs, outputs, final


def _merged(g: GraphBuilder, layer: Layer, parts: Sequence[Value], mode: str | None) -> Any:
    a, b = parts
    if mode == "concat":
        whole = a.meta.get("bidirectional")
        if isinstance(whole, Value) and whole.sizes is not None:
            batch, steps, _, units = whole.sizes
            if None not in (batch, steps) and isinstance(units, int):
                return _joined(g, whole, batch, steps, units)
        return g.Concat(a, b, axis=-1)
    if mode == "sum":
        return g.Add(a, b)
    if mode == "ave":
        return g.Div(g.Add(a, b), 2.0)
    if mode == "mul":
        return g.Mul(a, b)
    if mode is not None:
        refuse(g, layer, f"merge_mode={mode!r} is not supported")
    return (a, b)


def _joined(g: GraphBuilder, whole: Value, batch: Any, steps: Any, units: int) -> Value:
    """(batch, time, 2, units) as (batch, time, 2 * units)."""
    time_major = whole.meta.get(TIME_MAJOR)
    if time_major is None:
        return g.reshape(whole, [batch, steps, 2 * units])
    joined = g.reshape(g.Transpose(time_major, perm=[0, 2, 1, 3]), [steps, batch, 2 * units])
    return _from_time_major(g, joined)


@symbolic(DIALECT, "TimeDistributed")
def time_distributed(g: GraphBuilder, x: Value, *, weights: Weights, layer: Layer, mask: Any = None) -> Any:
    """keras.layers.TimeDistributed(layer): the layer called on every step, steps joined to the batch"""
    inner = layer.inner["layer"]
    own = weights.sub("layer").cast(inner.compute_dtype)
    if inner.class_name in ("Dense", "Activation", "Dropout", "LayerNormalization") and x.rank > 2:
        found = call_layer(g, inner, own, [x])  # works on the last axis anyway
        return found
    assert x.sizes is not None
    batch, steps, *rest = x.sizes
    if batch is None or steps is None or None in rest:
        refuse(g, layer, "inputs of unknown sizes are not supported")
    each = g.reshape(x, [product([batch, steps]), *rest])
    if inner.class_name in ("Functional", "Sequential", "Model"):
        result = call_layer(g, inner, own, [each], {"path": f"{layer.name}/{inner.name}/"})
    else:
        if isinstance(mask, Value) and mask.rank > 2:
            refuse(g, layer, "masks of single steps are not supported")
        result = call_layer(g, inner, own, [each])
    if not isinstance(result, Value) or result.sizes is None:
        refuse(g, layer, f"the layer {inner.class_name} gives several results")
    if mask_of(result) is not None:
        refuse(g, layer, f"the layer {inner.class_name} makes a mask")
    return g.reshape(result, [batch, steps, *result.sizes[1:]])
