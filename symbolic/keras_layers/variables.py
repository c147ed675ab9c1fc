"""The variables that a layer has, in the order in which Keras creates them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .layer import MODELS, Layer, read_layer


@dataclass(frozen=True)
class Variable:
    """One variable of a model.

    Attributes:
        steps: Names that lead to its layer: of layers in a model, of attributes in a layer.
        store: Path of the layer's group in a weights file of Keras 3.
        index: Position among the layer's own variables.
        name: Attribute of the layer that holds it.
        trainable: Whether it is trained; decides its place in .h5 files.
        in_model: For each step, whether it names a layer of a model (else an attribute).
    """

    steps: tuple[str, ...]
    store: str
    index: int
    name: str
    trainable: bool = True
    in_model: tuple[bool, ...] = ()

    @property
    def path(self) -> str:
        """Path by which symbolic functions find it."""
        return "/".join((*self.steps, self.name))

    def under(self, step: str, store: str, *, in_model: bool, trainable: bool = True) -> Variable:
        """The same variable, seen from the layer around."""
        return replace(
            self,
            steps=(step, *self.steps),
            store=f"{store}/{self.store}" if self.store else store,
            trainable=self.trainable and trainable,
            in_model=(in_model, *self.in_model),
        )


def variables(layer: Layer) -> list[Variable]:
    """All variables of a layer or model."""
    if layer.class_name in MODELS:
        found = _of_model(layer)
    elif layer.class_name in _NESTED:
        found = [
            v.under(step, step, in_model=False)
            for step, inner in _NESTED[layer.class_name](layer)
            for v in (variables(inner) if isinstance(inner, Layer) else inner)
        ]
    else:
        names = _OWN.get(layer.class_name, _none)(layer.config)
        found = [Variable((), "", i, n, n not in _FIXED) for i, n in enumerate(names)]
    if layer.config.get("trainable") is False:
        found = [replace(v, trainable=False) for v in found]
    return found


_FIXED = frozenset(("moving_mean", "moving_variance", "mean", "variance", "count", "moving_stddev", "vector_u"))


def model_layers(model: Layer) -> list[Layer]:
    """Layers (and operations) of a Functional or Sequential model, as its configuration lists them."""
    if model.listed is None:
        model.listed = [_read(d) for d in model.config["layers"]]
    return model.listed


def _read(data: Mapping[str, Any]) -> Layer:
    calls = data.get("inbound_nodes") or []
    first = calls[0] if calls else None
    count = len(first.get("args", ())) if isinstance(first, Mapping) else 1
    return read_layer(data, arguments=count)


def _of_model(model: Layer) -> list[Variable]:
    found: list[Variable] = []
    taken: dict[str, int] = {}
    for layer in model_layers(model):
        if layer.is_op:
            continue
        stem = snake_case(layer.class_name)
        count = taken.get(stem, 0)
        taken[stem] = count + 1
        store = f"layers/{stem}_{count}" if count else f"layers/{stem}"
        found += [v.under(layer.name, store, in_model=True) for v in variables(layer)]
    return found


def snake_case(name: str) -> str:
    """Class name as Keras spells it in weights files."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


# --- own variables ---------------------------------------------------------------------------------------------------

Config = Mapping[str, Any]


def _none(c: Config) -> list[str]:
    return []


def _kernel_and_bias(c: Config) -> list[str]:
    return ["kernel", "bias"] if c.get("use_bias", True) else ["kernel"]


def _einsum_dense(c: Config) -> list[str]:
    return ["kernel", "bias"] if c.get("bias_axes") else ["kernel"]


def _separable(c: Config) -> list[str]:
    return ["depthwise_kernel", "pointwise_kernel", *(["bias"] if c.get("use_bias", True) else [])]


def _scale_and_centre(c: Config) -> list[str]:
    return [*(["gamma"] if c.get("scale", True) else []), *(["beta"] if c.get("center", True) else [])]


def _layer_norm(c: Config) -> list[str]:
    if c.get("rms_scaling"):
        return ["gamma"]
    return _scale_and_centre(c)


def _cell(c: Config) -> list[str]:
    return ["kernel", "recurrent_kernel", *(["bias"] if c.get("use_bias", True) else [])]


def _normalization(c: Config) -> list[str]:
    return [] if c.get("mean") is not None else ["mean", "variance", "count"]


_OWN: dict[str, Callable[[Config], list[str]]] = {
    **dict.fromkeys(("Dense", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D"), _kernel_and_bias),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), _kernel_and_bias),
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), _separable),
    **dict.fromkeys(("SimpleRNNCell", "LSTMCell", "GRUCell"), _cell),
    "EinsumDense": _einsum_dense,
    "Embedding": lambda c: ["embeddings"],
    "BatchNormalization": lambda c: [*_scale_and_centre(c), "moving_mean", "moving_variance"],
    "LayerNormalization": _layer_norm,
    "GroupNormalization": _scale_and_centre,
    "RMSNormalization": lambda c: ["scale"],
    "PReLU": lambda c: ["alpha"],
    "LayerScale": lambda c: ["gamma"],
    "Normalization": _normalization,
    "AdditiveAttention": lambda c: ["scale"] if c.get("use_scale", True) else [],
    "Attention": lambda c: [
        *(["scale"] if c.get("use_scale") else []),
        *(["concat_score_weight"] if c.get("score_mode") == "concat" else []),
    ],
}

# --- layers inside layers --------------------------------------------------------------------------------------------

Inner = list[tuple[str, "Layer | list[Variable]"]]


def _recurrent(layer: Layer) -> Inner:
    return [("cell", variables(replace(layer, class_name=f"{layer.class_name}Cell", inner={})))]


def _bidirectional(layer: Layer) -> Inner:
    forward = layer.inner["layer"]
    backward = layer.inner.get("backward_layer", forward)
    return [("forward_layer", forward), ("backward_layer", backward)]


def _attention(layer: Layer) -> Inner:
    own = [Variable((), "", i, n) for i, n in enumerate(_kernel_and_bias(layer.config))]
    gate = [("gate_dense", own)] if layer.config.get("use_gate") else []
    found: Inner = [("query_dense", own), ("key_dense", own), *gate, ("value_dense", own), ("output_dense", own)]
    return found


_NESTED: dict[str, Callable[[Layer], Inner]] = {
    "SimpleRNN": _recurrent,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": lambda layer: [("cell", layer.inner["cell"])],
    "Bidirectional": _bidirectional,
    "TimeDistributed": lambda layer: [("layer", layer.inner["layer"])],
    "MultiHeadAttention": _attention,
    "GroupQueryAttention": _attention,
    "GroupedQueryAttention": _attention,
}
