"""Numeric preprocessing layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn.layout import elementwise
from ..registry import symbolic
from ..value import Value
from .core import scaled
from .layer import DIALECT, FLOATS, Layer, Weights, refuse
from .promotion import cast

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_EPSILON = 1e-7


@symbolic(DIALECT, "Rescaling")
def rescaling(g: GraphBuilder, x: Value, *, layer: Layer, scale: Any, offset: Any = 0.0) -> Value:
    """keras.layers.Rescaling(scale, offset=0.0): x * scale + offset"""
    dtype = layer.compute_dtype or ir.DataType.FLOAT
    return scaled(g, cast(g, x, dtype), _array(scale), _array(offset))


def _array(value: Any) -> Any:
    """A number or list of a configuration; arrays are serialised with their dtype."""
    if isinstance(value, dict):
        value = value.get("config", {}).get("value", value)
    return np.asarray(value, np.float64)


@symbolic(DIALECT, "Normalization")
def normalization(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    invert: bool = False,
) -> Value:
    """keras.layers.Normalization(axis=-1, mean=None, variance=None, invert=False)"""
    dtype = layer.compute_dtype or ir.DataType.FLOAT
    x = x if x.element == dtype else cast(g, x, dtype)
    axes = [] if axis is None else [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)]
    kept = sorted(a % x.rank for a in axes)
    sizes = [x.dim(i) if i in kept else 1 for i in range(x.rank)]
    shape = [s for s in sizes if isinstance(s, int)]
    if len(shape) < x.rank:
        refuse(g, layer, f"the axes {axes} have no fixed sizes")
    if mean is not None:
        centre, spread = (np.asarray(v, np.float32) for v in (mean, variance))
        centre, spread = (np.broadcast_to(v, [s for i, s in enumerate(shape) if i in kept]) for v in (centre, spread))
    else:
        stored = [weights.exact(n).array for n in ("mean", "variance")]
        if any(s is None for s in stored):
            refuse(g, layer, "its statistics are not in the file")
        centre, spread = (np.asarray(s) for s in stored)
    numbers = dtype.numpy()
    centre = centre.reshape(shape).astype(numbers)
    deviation = np.maximum(np.sqrt(spread.reshape(shape)), _EPSILON).astype(numbers)
    if invert:
        return elementwise(g, "Add", elementwise(g, "Mul", x, deviation), centre)
    return elementwise(g, "Div", elementwise(g, "Sub", x, centre), deviation)


_RANDOM = (
    "RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomBrightness",
    "RandomHeight", "RandomWidth", "RandomColorJitter", "RandomColorDegeneration", "RandomErasing",
    "RandomGaussianBlur", "RandomGrayscale", "RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization",
    "RandomSaturation", "RandomSharpness", "RandomShear", "RandomElasticTransform",
)  # fmt: skip


def _augmentation(g: GraphBuilder, x: Value, *, layer: Layer, **_: Any) -> Value:
    """keras.layers.RandomFlip ...: nothing in inference"""
    if layer.compute_dtype is not None and x.element not in FLOATS:
        return cast(g, x, layer.compute_dtype)
    return x


symbolic(DIALECT, *_RANDOM)(_augmentation)


@symbolic(DIALECT, "CategoryEncoding")
def category_encoding(
    g: GraphBuilder,
    x: Value,
    *,
    layer: Layer,
    num_tokens: int,
    output_mode: str = "multi_hot",
    sparse: bool = False,
) -> Value:
    """keras.layers.CategoryEncoding(num_tokens, output_mode="multi_hot")"""
    if output_mode not in ("one_hot", "multi_hot", "count"):
        refuse(g, layer, f"output_mode={output_mode!r} is not supported")
    dtype = layer.compute_dtype or ir.DataType.FLOAT
    ids = cast(g, x, ir.DataType.INT64)
    hot = g.OneHot(ids, num_tokens, g.constant(np.array([0, 1], dtype.numpy())))
    if output_mode == "one_hot":
        return g.Squeeze(hot, [-2]) if x.rank > 1 and x.dim(-1) == 1 else hot
    axis = [-2] if x.rank > 1 else [0]
    encoded: Value = g.call("ReduceSum" if output_mode == "count" else "ReduceMax", hot, axis, keepdims=0)
    return encoded
