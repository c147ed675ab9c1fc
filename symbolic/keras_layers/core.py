"""Dense, embedding, shape and pass-through layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..dims import product
from ..nn.layout import elementwise, has_twin
from ..registry import symbolic
from ..value import Value
from .activation import activate
from .layer import DIALECT, FLOATS, Layer, Weights, refuse, with_mask

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic(DIALECT, "Dense")
def dense(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    lora_rank: Any = None,
    quantization_config: Any = None,
) -> Value:
    """keras.layers.Dense(units, activation=None, use_bias=True): activation(x @ kernel + bias)"""
    _refuse_low_rank(g, layer, lora_rank, quantization_config)
    kernel = weights["kernel"]
    x = x if x.dtype in FLOATS else g.Cast(x, to=kernel.element)
    bias = weights.get("bias", use_bias)
    if x.rank == 2:
        y = g.Gemm(x, kernel, bias) if bias is not None else g.MatMul(x, kernel)
    else:
        y = g.MatMul(x, kernel)
        y = y if bias is None else g.Add(y, bias)
    return activate(g, y, activation)


def _refuse_low_rank(g: GraphBuilder, layer: Layer, lora_rank: Any, quantization: Any) -> None:
    if lora_rank:
        refuse(g, layer, "LoRA weights are not supported: merge them into the kernel first")
    if quantization:
        refuse(g, layer, "quantised layers are not supported")


@symbolic(DIALECT, "EinsumDense")
def einsum_dense(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    equation: str,
    output_shape: Any,
    activation: Any = None,
    bias_axes: str | None = None,
    lora_rank: Any = None,
    quantization_config: Any = None,
    gptq_unpacked_column_size: Any = None,
) -> Value:
    """keras.layers.EinsumDense(equation, output_shape, activation=None, bias_axes=None)"""
    _refuse_low_rank(g, layer, lora_rank, quantization_config)
    y = g.Einsum(x, weights["kernel"], equation=plain_equation(equation, x.rank))
    if bias_axes:
        y = g.Add(y, weights["bias"])
    return activate(g, y, activation)


def plain_equation(equation: str, rank: int) -> str:
    """An einsum equation of two operands with the ellipsis of the first, of `rank` axes, spelled out."""
    equation = equation.replace(" ", "")
    if "..." not in equation:
        return equation
    first = equation.split(",")[0]
    count = rank - len(first.replace("...", ""))
    letters = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation][:count]
    return equation.replace("...", "".join(letters))


@symbolic(DIALECT, "Embedding")
def embedding(
    g: GraphBuilder,
    x: Value,
    *,
    weights: Weights,
    layer: Layer,
    input_dim: int,
    output_dim: int,
    mask_zero: bool = False,
    input_length: Any = None,
    sparse: bool = False,
    lora_rank: Any = None,
    quantization_config: Any = None,
) -> Value:
    """keras.layers.Embedding(input_dim, output_dim, mask_zero=False): rows of the table; 0 is masked if mask_zero"""
    _refuse_low_rank(g, layer, lora_rank, quantization_config)
    ids = x if x.dtype in (ir.DataType.INT32, ir.DataType.INT64) else g.Cast(x, to=ir.DataType.INT32)
    y: Value = g.Gather(weights["embeddings"], ids)
    if mask_zero:
        with_mask(g, y, g.Not(g.Equal(x, 0)))
    return y


@symbolic(DIALECT, "Masking")
def masking(g: GraphBuilder, x: Value, *, mask_value: float = 0.0) -> Value:
    """keras.layers.Masking(mask_value=0.0): steps whose elements all equal the value are masked, and set to 0"""
    differs = g.Cast(g.Not(g.Equal(x, float(mask_value))), to=ir.DataType.INT32)
    kept = g.Cast(g.ReduceMax(differs, [-1], keepdims=1), to=ir.DataType.BOOL)
    y: Value = g.Where(kept, x, g.constant(0.0, x.element))
    return with_mask(g, y, g.Squeeze(kept, [-1]))


@symbolic(DIALECT, "Dropout", "GaussianDropout", "AlphaDropout")
def dropout(
    g: GraphBuilder, x: Value, *, rate: float = 0.0, noise_shape: Any = None, data_format: str | None = None
) -> Value:
    """keras.layers.Dropout(rate): nothing in inference"""
    return x


@symbolic(DIALECT, "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def spatial_dropout(
    g: GraphBuilder, x: Value, *, rate: float = 0.0, data_format: str | None = None, noise_shape: Any = None
) -> Value:
    """keras.layers.SpatialDropout2D(rate): nothing in inference"""
    return x


@symbolic(DIALECT, "GaussianNoise")
def gaussian_noise(g: GraphBuilder, x: Value, *, stddev: float = 0.0) -> Value:
    """keras.layers.GaussianNoise(stddev): nothing in inference"""
    return x


@symbolic(DIALECT, "ActivityRegularization")
def activity_regularization(g: GraphBuilder, x: Value, *, l1: float = 0.0, l2: float = 0.0) -> Value:
    """keras.layers.ActivityRegularization(l1, l2): nothing in inference"""
    return x


@symbolic(DIALECT, "Identity")
def identity(g: GraphBuilder, x: Any) -> Any:
    """keras.layers.Identity()"""
    return x


# --- shapes ----------------------------------------------------------------------------------------------------------


@symbolic(DIALECT, "Flatten")
def flatten(g: GraphBuilder, x: Value, *, data_format: str = "channels_last") -> Value:
    """keras.layers.Flatten(data_format): one row for each sample, channels last"""
    if x.rank == 1:
        return g.Unsqueeze(x, [1])
    if data_format == "channels_first" and x.rank > 2:
        x = g.Transpose(x, perm=[0, *range(2, x.rank), 1])
    elif has_twin(x) and x.channels_first is not None and all(s == 1 for s in (x.sizes or ())[1:-1]):
        x = x.channels_first  # one pixel: both orders are the same
    assert x.sizes is not None
    if None in x.sizes[1:]:
        return g.Flatten(x, axis=1)
    return g.reshape(x, [x.sizes[0], product(s for s in x.sizes[1:] if s is not None)])


@symbolic(DIALECT, "Reshape")
def reshape(g: GraphBuilder, x: Value, *, target_shape: Sequence[int]) -> Value:
    """keras.layers.Reshape(target_shape): the batch axis stays"""
    sizes = list(target_shape)
    assert x.sizes is not None
    if -1 in sizes and None not in x.sizes[1:]:
        whole = product(s for s in x.sizes[1:] if s is not None)
        known = product(s for s in sizes if s != -1)
        rest = whole // known if not isinstance(known, int) or known else 0
        sizes = [rest if s == -1 else s for s in sizes]  # type: ignore[misc]
    source = x
    if has_twin(x) and x.channels_first is not None and all(s == 1 for s in x.sizes[1:-1]):
        source = x.channels_first
    if x.sizes[0] is None:
        return g.Reshape(source, [0, *sizes])
    return g.reshape(source, [x.sizes[0], *sizes])


@symbolic(DIALECT, "Permute")
def permute(g: GraphBuilder, x: Value, *, dims: Sequence[int]) -> Value:
    """keras.layers.Permute(dims): axes in another order, counted from 1"""
    y: Value = g.Transpose(x, perm=[0, *dims])
    return y


@symbolic(DIALECT, "RepeatVector")
def repeat_vector(g: GraphBuilder, x: Value, *, n: int) -> Value:
    """keras.layers.RepeatVector(n): (batch, features) -> (batch, n, features)"""
    y: Value = g.Tile(g.Unsqueeze(x, [1]), [1, n, 1])
    return y


def scaled(g: GraphBuilder, x: Value, scale: Any, offset: Any) -> Value:
    """x * scale + offset, with numbers or lists along the last axis."""
    import numpy as np

    dtype = x.element.numpy()
    if np.any(np.asarray(scale) != 1):
        x = elementwise(g, "Mul", x, np.asarray(scale, dtype))
    if np.any(np.asarray(offset) != 0):
        x = elementwise(g, "Add", x, np.asarray(offset, dtype))
    return x
