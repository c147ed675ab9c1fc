"""Which layers hand masks on, and which make one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..value import Value
from .layer import Layer, mask_of, with_mask

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Layers whose result has the mask of their first operand.
_PASS = frozenset(
    (
        "Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dense", "Dropout", "ELU",
        "GaussianDropout", "GaussianNoise", "GroupNormalization", "Identity", "LayerNormalization", "LeakyReLU",
        "MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention", "Normalization", "PReLU", "ReLU",
        "Rescaling", "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "TimeDistributed"
        "UnitNormalization",
    )
)  # fmt: skip
_RECURRENT = frozenset(("SimpleRNN", "LSTM", "GRU", "RNN", "Bidirectional"))
_MERGES = frozenset(("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"))


def output_mask(g: GraphBuilder, layer: Layer, inputs: Any, mask: Any, results: Any) -> Any:
    """Puts the mask that Keras computes for a layer's result on it, unless its function has put one there already.

    Returns:
        The results; a layer that drops masks never gives back the very value that has one.
    """
    first = results[0] if isinstance(results, (list, tuple)) else results
    if not isinstance(first, Value):
        return results
    found: Value | None = None
    name = layer.class_name
    if name in _PASS or (name in _RECURRENT and _gives_sequences(layer)):
        found = mask if isinstance(mask, Value) else mask_of(inputs) if isinstance(inputs, Value) else None
    elif name in _MERGES and isinstance(mask, list) and mask and all(m is not None for m in mask):
        found = mask[0]
        for other in mask[1:]:
            found = g.Or(found, other)
    if first is inputs and mask_of(first) is not found and first is results:
        results = first = same(g, first)
    with_mask(g, first, found)
    return results


def _gives_sequences(layer: Layer) -> bool:
    inner = layer.inner["layer"] if layer.class_name == "Bidirectional" else layer
    return bool(inner.config.get("return_sequences"))


def same(g: GraphBuilder, x: Value) -> Value:
    """The same tensor as another value, so that it can have another mask."""
    copy = g.emit("", "Identity", [x], {}, 1, [(x.type, x.sizes)])[0]
    if x.channels_first is not None:
        copy.channels_first = x.channels_first
    return copy
