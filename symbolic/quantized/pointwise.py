"""Arithmetic, activations and normalisation on quantised tensors, with the scale and zero point of the result given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..aten import activation
from ..aten.arithmetic import clamp as float_clamp
from ..aten.normalization import batch_norm as float_batch_norm
from ..aten.normalization import group_norm as float_group_norm
from ..aten.normalization import instance_norm as float_instance_norm
from ..aten.normalization import layer_norm as float_layer_norm
from ..aten.promotion import DataType, unsupported
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .tensor import LIMITS, Quantized, from_levels, levels_of, moved, quantized, requantized

Number = bool | int | float

# --- arithmetic ------------------------------------------------------------------------------------------------------


@symbolic("quantized", "add.default", "add.out")
def add(g: GraphBuilder, qa: Quantized, qb: Quantized, scale: float, zero_point: int) -> Quantized:
    """quantized::add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"""
    return quantized(g, g.Add(qa.numbers, qb.numbers), scale, zero_point, qa.kind)


@symbolic("quantized", "add_relu.default")
def add_relu(g: GraphBuilder, qa: Quantized, qb: Quantized, scale: float, zero_point: int) -> Quantized:
    """quantized::add_relu(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"""
    return quantized(g, g.Relu(g.Add(qa.numbers, qb.numbers)), scale, zero_point, qa.kind)


@symbolic("quantized", "mul.default")
def mul(g: GraphBuilder, qa: Quantized, qb: Quantized, scale: float, zero_point: int) -> Quantized:
    """quantized::mul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"""
    return quantized(g, g.Mul(qa.numbers, qb.numbers), scale, zero_point, qa.kind)


@symbolic("quantized", "mul_relu.default")
def mul_relu(g: GraphBuilder, qa: Quantized, qb: Quantized, scale: float, zero_point: int) -> Quantized:
    """quantized::mul_relu(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"""
    return quantized(g, g.Relu(g.Mul(qa.numbers, qb.numbers)), scale, zero_point, qa.kind)


def _known(g: GraphBuilder, qa: Quantized, b: Number | Value) -> tuple[float, int, float]:
    """Scale and zero point of a tensor and the number beside it: what the result's follow from."""
    scale, zero = qa.scale.array, qa.zero.array
    number = b.array if isinstance(b, Value) else np.asarray(b)
    if qa.axis is not None or scale is None or zero is None or number is None:
        raise unsupported("arithmetic with a number whose result's scale isn't known", g)
    return qa.step or float(scale), int(zero), float(number.reshape(()))


@symbolic("quantized", "add_scalar", "add.Scalar")
def add_scalar(g: GraphBuilder, qa: Quantized, b: Number | Value) -> Quantized:
    """quantized::add_scalar(Tensor qa, Scalar b) -> Tensor qc

    The number is rounded to levels and moves the zero point; where that leaves the range, the scale grows.
    """
    scale, zero, number = _known(g, qa, b)
    low, high = LIMITS[qa.kind]
    moved_by = int(np.rint(number / scale))
    place = zero - moved_by
    if low <= place <= high:
        shifted = from_levels(
            g, levels_of(g, qa), g.constant(np.float32(scale)), g.constant(np.array(place, qa.kind.numpy()))
        )
        return replace(shifted, step=scale)
    spread = (high - place) if place < low else (place - low)
    y = g.Add(qa.numbers, g.constant(np.float32(moved_by * scale)))
    return quantized(g, y, spread / (high - low) * scale, low if place < low else high, qa.kind)


@symbolic("quantized", "add_scalar_relu", "add_relu.Scalar")
def add_scalar_relu(g: GraphBuilder, qa: Quantized, b: Number | Value) -> Quantized:
    """quantized::add_scalar_relu(Tensor qa, Scalar b) -> Tensor qc"""
    return relu(g, add_scalar(g, qa, b))


@symbolic("quantized", "mul_scalar", "mul.Scalar")
def mul_scalar(g: GraphBuilder, qa: Quantized, b: Number | Value) -> Quantized:
    """quantized::mul_scalar(Tensor qa, Scalar b) -> Tensor qc

    The scale takes the number; the levels stay, mirrored for a negative one.
    """
    scale, zero, number = _known(g, qa, b)
    low, high = LIMITS[qa.kind]
    if number == 0:
        zeros = g.Mul(qa.numbers, 0.0)
        return quantized(g, zeros, 1.0, 0, qa.kind)
    levels = levels_of(g, qa)
    if number < 0:
        zero = high - (zero - low)
        wide = g.Sub(g.constant(np.array(high + low, np.int32)), g.Cast(levels, to=DataType.INT32))
        levels = g.Cast(wide, to=qa.kind)
    step = scale * abs(number)
    result = from_levels(g, levels, g.constant(np.float32(step)), g.constant(np.array(zero, qa.kind.numpy())))
    return replace(result, step=step)


@symbolic("quantized", "mul_scalar_relu", "mul_relu.Scalar")
def mul_scalar_relu(g: GraphBuilder, qa: Quantized, b: Number | Value) -> Quantized:
    """quantized::mul_scalar_relu(Tensor qa, Scalar b) -> Tensor qc"""
    return relu(g, mul_scalar(g, qa, b))


for _name, _function in (("add", add_scalar), ("add_relu", add_scalar_relu), ("mul", mul_scalar),
                         ("mul_relu", mul_scalar_relu)):  # fmt: skip

    def _number_first(
        g: GraphBuilder, b: Number | Value, qa: Quantized, *, _of: Callable[..., Quantized] = _function
    ) -> Quantized:
        """quantized::add.Scalar2(Scalar b, Tensor qa) -> Tensor qc"""
        return _of(g, qa, b)

    symbolic("quantized", f"{_name}.Scalar2")(_number_first)


@symbolic("quantized", "cat")
def cat(
    g: GraphBuilder, qx: Sequence[Quantized], dim: int, scale: float | None = None, zero_point: int | None = None
) -> Quantized:
    """quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor"""
    joined = g.Concat(*(x.numbers for x in qx), axis=dim) if len(qx) > 1 else qx[0].numbers
    if scale is None and all(x.same_levels(qx[0]) for x in qx):
        return moved(g, joined, qx[0])
    return quantized(
        g, joined, qx[0].scale if scale is None else scale, qx[0].zero if zero_point is None else zero_point, qx[0].kind
    )


@symbolic("quantized", "cat_relu")
def cat_relu(
    g: GraphBuilder, qx: Sequence[Quantized], dim: int, scale: float | None = None, zero_point: int | None = None
) -> Quantized:
    """quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor"""
    return relu(g, cat(g, qx, dim, scale, zero_point))


# --- activations -----------------------------------------------------------------------------------------------------


@symbolic("aten.quantized", "relu")
def relu(g: GraphBuilder, self: Quantized) -> Quantized:
    """aten::relu(Tensor self) -> Tensor"""
    return moved(g, g.Relu(self.numbers), self)


@symbolic("quantized", "relu6")
def relu6(g: GraphBuilder, qx: Quantized, inplace: bool = False) -> Quantized:
    """quantized::relu6(Tensor qx, bool inplace=False) -> Tensor"""
    return clamp(g, qx, 0, 6)


@symbolic("quantized", "clamp")
def clamp(g: GraphBuilder, qx: Quantized, min: Number | None = None, max: Number | None = None) -> Quantized:
    """quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy"""
    low, high = (None if b is None else float(b) for b in (min, max))
    return requantized(g, float_clamp(g, qx.numbers, low, high), qx)


@symbolic("quantized", "threshold")
def threshold(g: GraphBuilder, qx: Quantized, threshold: Number, value: Number) -> Quantized:
    """quantized::threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy"""
    return requantized(g, activation.threshold(g, qx.numbers, threshold, value), qx)


@symbolic("quantized", "leaky_relu")
def leaky_relu(
    g: GraphBuilder, qx: Quantized, negative_slope: Number, inplace: bool, output_scale: float, output_zero_point: int
) -> Quantized:
    """quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float, int) -> Tensor"""
    y = g.LeakyRelu(qx.numbers, alpha=float(negative_slope))
    return quantized(g, y, output_scale, output_zero_point, qx.kind)


@symbolic("quantized", "prelu")
def prelu(g: GraphBuilder, qx: Quantized, weight: Quantized, output_scale: float, output_zero_point: int) -> Quantized:
    """quantized::prelu(Tensor qx, Tensor weight, float output_scale, int output_zero_point) -> Tensor"""
    y = activation.prelu(g, qx.numbers, weight.numbers if isinstance(weight, Quantized) else weight)
    return quantized(g, y, output_scale, output_zero_point, qx.kind)


@symbolic("quantized", "elu")
def elu(
    g: GraphBuilder, self: Quantized, output_scale: float, output_zero_point: int, alpha: Number = 1,
    scale: Number = 1, input_scale: Number = 1,
) -> Quantized:  # fmt: skip
    """quantized::elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, ...) -> Tensor"""
    y = activation.elu(g, self.numbers, alpha, scale, input_scale)
    return quantized(g, y, output_scale, output_zero_point, self.kind)


@symbolic("quantized", "celu")
def celu(g: GraphBuilder, self: Quantized, output_scale: float, output_zero_point: int, alpha: Number = 1) -> Quantized:
    """quantized::celu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1) -> Tensor"""
    return quantized(g, activation.celu(g, self.numbers, float(alpha)), output_scale, output_zero_point, self.kind)


@symbolic("quantized", "hardswish")
def hardswish(g: GraphBuilder, input: Quantized, output_scale: float, output_zero_point: int) -> Quantized:
    """quantized::hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor"""
    return quantized(g, activation.hardswish(g, input.numbers), output_scale, output_zero_point, input.kind)


@symbolic("quantized", "sigmoid")
def sigmoid(g: GraphBuilder, qx: Quantized, output_scale: float, output_zero_point: int) -> Quantized:
    """quantized::sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor"""
    return quantized(g, g.Sigmoid(qx.numbers), output_scale, output_zero_point, qx.kind)


@symbolic("quantized", "softmax")
def softmax(g: GraphBuilder, qx: Quantized, dim: int, output_scale: float, output_zero_point: int) -> Quantized:
    """quantized::softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> Tensor"""
    return quantized(g, g.Softmax(qx.numbers, axis=dim), output_scale, output_zero_point, qx.kind)


@symbolic("quantized", "dropout")
def dropout(
    g: GraphBuilder, self: Quantized, output_scale: float, output_zero_point: int, p: Number = 0.5,
    training: bool = False,
) -> Quantized:  # fmt: skip
    """quantized::dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, bool) -> Tensor"""
    if training:
        raise unsupported("dropout in training mode", g)
    return self


# --- normalisation ---------------------------------------------------------------------------------------------------


def _register_batch_norm(name: str, after: Callable[[GraphBuilder, Value], Value] | None) -> None:
    def batch_norm(
        g: GraphBuilder, qx: Quantized, weight: Value | None, bias: Value | None, mean: Value, var: Value, eps: float,
        output_scale: float, output_zero_point: int,
    ) -> Quantized:  # fmt: skip
        y: Any = float_batch_norm(g, qx.numbers, weight, bias, mean, var, False, 0.0, eps, False)
        return quantized(g, y if after is None else after(g, y), output_scale, output_zero_point, qx.kind)

    batch_norm.__doc__ = f"quantized::{name}(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, ...) -> Tensor"
    batch_norm.__name__ = batch_norm.__qualname__ = name
    symbolic("quantized", name)(batch_norm)
    if name == "batch_norm":
        symbolic("aten.quantized", "quantized_batch_norm")(batch_norm)


for _rank in ("", "1d", "2d", "3d"):
    _register_batch_norm(f"batch_norm{_rank}", None)
    _register_batch_norm(f"batch_norm{_rank}_relu", lambda g, y: g.Relu(y))


@symbolic("quantized", "layer_norm")
def layer_norm(
    g: GraphBuilder, input: Quantized, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None,
    eps: float, output_scale: float, output_zero_point: int,
) -> Quantized:  # fmt: skip
    """quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, ...) -> Tensor"""
    y = float_layer_norm(g, input.numbers, normalized_shape, weight, bias, eps)
    return quantized(g, y, output_scale, output_zero_point, input.kind)


@symbolic("quantized", "group_norm")
def group_norm(
    g: GraphBuilder, input: Quantized, num_groups: int, weight: Value | None, bias: Value | None, eps: float,
    output_scale: float, output_zero_point: int,
) -> Quantized:  # fmt: skip
    """quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, ...) -> Tensor"""
    y = float_group_norm(g, input.numbers, num_groups, weight, bias, eps)
    return quantized(g, y, output_scale, output_zero_point, input.kind)


@symbolic("quantized", "instance_norm")
def instance_norm(
    g: GraphBuilder, input: Quantized, weight: Value | None, bias: Value | None, eps: float, output_scale: float,
    output_zero_point: int,
) -> Quantized:  # fmt: skip
    """quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float, int) -> Tensor"""
    y = float_instance_norm(g, input.numbers, weight, bias, None, None, True, 0.0, eps, False)
    return quantized(g, y, output_scale, output_zero_point, input.kind)
