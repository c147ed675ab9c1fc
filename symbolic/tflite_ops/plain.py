"""Operators that do what an operation of TensorFlow does, and those that integers pass through as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn.layout import channels_first, channels_last, concat, elementwise
from ..registry import registry, symbolic
from ..value import Value
from .common import (
    DIALECT,
    Result,
    activated,
    finished,
    integer_range,
    is_float,
    multiplier,
    one,
    quantization,
    refused,
    rescaled,
    scaled,
)

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def tensorflow(g: GraphBuilder, op: str, *operands: Value | None, **attributes: Any) -> Any:
    """An operation of TensorFlow."""
    row = registry.lookup("tf_graph", op, g.opset)
    assert row is not None
    return row.function(g, *operands, **attributes)


def plain_numbers(g: GraphBuilder, op: str, *operands: Value | None) -> None:
    """Refuses quantised operands."""
    if any(o is not None and quantization(o) is not None and not is_float(o) for o in operands):
        raise refused(g, op, "quantised integers aren't supported")


def unchanged(g: GraphBuilder, op: str, results: Sequence[Result], *operands: Value | None) -> None:
    """Refuses quantised operands whose integers mean something else in the result."""
    for operand in operands:
        if operand is None or quantization(operand) is None or is_float(operand):
            continue
        given, told = quantization(operand), results[0][1]
        assert given is not None
        if told is None or not given.same(told):
            raise refused(g, op, "operands that are quantised otherwise than the result aren't supported")


#: Operators without options that do on plain numbers what an operation of TensorFlow does.
_PLAIN = {
    "FLOOR": "Floor", "CEIL": "Ceil", "ROUND": "Round", "LOG": "Log", "SIN": "Sin", "COS": "Cos",
    "SQRT": "Sqrt", "RSQRT": "Rsqrt", "SQUARE": "Square", "NEG": "Neg", "POW": "Pow",
    "FLOOR_DIV": "FloorDiv", "FLOOR_MOD": "FloorMod",
    "SQUARED_DIFFERENCE": "SquaredDifference", "LESS": "Less", "LESS_EQUAL": "LessEqual", "GREATER": "Greater",
    "GREATER_EQUAL": "GreaterEqual", "EQUAL": "Equal", "NOT_EQUAL": "NotEqual", "LOGICAL_AND": "LogicalAnd",
    "LOGICAL_OR": "LogicalOr", "LOGICAL_NOT": "LogicalNot", "LOG_SOFTMAX": "LogSoftmax", "ADD_N": "AddN",
    "RANGE": "Range", "WHERE": "Where", "SCATTER_ND": "ScatterNd", "PADV2": "PadV2",
}  # fmt: skip
#: Those that only move elements: quantised integers pass as they are.
_MOVING = {
    "TRANSPOSE": "Transpose", "SLICE": "Slice", "TILE": "Tile", "EXPAND_DIMS": "ExpandDims", "REVERSE_V2": "ReverseV2",
    "GATHER_ND": "GatherNd", "BROADCAST_TO": "BroadcastTo", "SELECT": "Select", "SELECT_V2": "SelectV2",
    "MAXIMUM": "Maximum", "MINIMUM": "Minimum", "SPACE_TO_BATCH_ND": "SpaceToBatchND",
    "BATCH_TO_SPACE_ND": "BatchToSpaceND",
}  # fmt: skip


def _register(names: dict[str, str], moving: bool) -> None:
    for name, op in names.items():

        def function(g: GraphBuilder, *operands: Value, results: list[Result], _name: str = name, _op: str = op) -> Any:
            if moving:
                unchanged(g, _name, results, *(o for o in operands if o.element is results[0][0]))
            else:
                plain_numbers(g, _name, *operands)
            return tensorflow(g, _op, *operands)

        function.__doc__ = f"{name}: {op} of TensorFlow."
        symbolic(DIALECT, name)(function)


_register(_PLAIN, moving=False)
_register(_MOVING, moving=True)


@symbolic(DIALECT, "RESHAPE")
def reshape(
    g: GraphBuilder, x: Value, shape: Value | None = None, *, new_shape: Sequence[int], results: list[Result]
) -> Value:
    """RESHAPE(tensor, shape; new_shape)"""
    unchanged(g, "RESHAPE", results, x)
    sizes = shape if shape is not None else g.constant(np.array(new_shape, np.int64))
    return tensorflow(g, "Reshape", x, sizes)  # type: ignore[no-any-return]


@symbolic(DIALECT, "SQUEEZE")
def squeeze(g: GraphBuilder, x: Value, *, squeeze_dims: Sequence[int], results: list[Result]) -> Value:
    """SQUEEZE(input; squeeze_dims)"""
    unchanged(g, "SQUEEZE", results, x)
    return tensorflow(g, "Squeeze", x, squeeze_dims=squeeze_dims)  # type: ignore[no-any-return]


@symbolic(DIALECT, "SHAPE")
def shape(g: GraphBuilder, x: Value, *, out_type: ir.DataType, results: list[Result]) -> Value:
    """SHAPE(input; out_type)"""
    return tensorflow(g, "Shape", x, out_type=results[0][0])  # type: ignore[no-any-return]


@symbolic(DIALECT, "STRIDED_SLICE")
def strided_slice(
    g: GraphBuilder,
    x: Value,
    begin: Value,
    end: Value,
    strides: Value,
    *,
    offset: int,
    results: list[Result],
    **masks: int,
) -> Value:
    """STRIDED_SLICE(input, begin, end, strides; masks)"""  # fmt: skip
    unchanged(g, "STRIDED_SLICE", results, x)
    if offset:
        raise refused(g, "STRIDED_SLICE", "ends counted from the beginning aren't supported")
    return tensorflow(g, "StridedSlice", x, begin, end, strides, **masks)  # type: ignore[no-any-return]


@symbolic(DIALECT, "GATHER")
def gather(g: GraphBuilder, x: Value, indices: Value, *, axis: int, batch_dims: int, results: list[Result]) -> Value:
    """GATHER(params, indices; axis, batch_dims)"""
    unchanged(g, "GATHER", results, x)
    at = g.constant(np.array(axis, np.int64))
    return tensorflow(g, "GatherV2", x, indices, at, batch_dims=batch_dims)  # type: ignore[no-any-return]


@symbolic(DIALECT, "PACK")
def pack(g: GraphBuilder, *parts: Value, axis: int, results: list[Result]) -> Value:
    """PACK(values; axis)"""
    unchanged(g, "PACK", results, *parts)
    return tensorflow(g, "Pack", *parts, axis=axis)  # type: ignore[no-any-return]


@symbolic(DIALECT, "UNPACK")
def unpack(g: GraphBuilder, x: Value, *, num: int, axis: int, results: list[Result]) -> Any:
    """UNPACK(input; num, axis)"""
    unchanged(g, "UNPACK", results, x)
    return tensorflow(g, "Unpack", x, num=num, axis=axis)


@symbolic(DIALECT, "SPLIT")
def split(g: GraphBuilder, axis: Value, x: Value, *, num_splits: int, results: list[Result]) -> Any:
    """SPLIT(axis, value; num_splits)"""
    unchanged(g, "SPLIT", results, x)
    return tensorflow(g, "Split", axis, x, num_split=num_splits)


@symbolic(DIALECT, "SPLIT_V")
def split_v(g: GraphBuilder, x: Value, sizes: Value, axis: Value, *, num_splits: int, results: list[Result]) -> Any:
    """SPLIT_V(value, sizes, axis; num_splits)"""
    unchanged(g, "SPLIT_V", results, x)
    return tensorflow(g, "SplitV", x, sizes, axis, num_split=num_splits)


@symbolic(DIALECT, "CONCATENATION")
def concatenation(g: GraphBuilder, *parts: Value, axis: int, activation: int, results: list[Result]) -> Value:
    """CONCATENATION(values; axis, activation)"""
    unchanged(g, "CONCATENATION", results, *parts)
    if activation:
        raise refused(g, "CONCATENATION", "a fused activation isn't supported")
    return concat(g, parts, axis % parts[0].rank)


@symbolic(DIALECT, "PAD")
def pad(g: GraphBuilder, x: Value, paddings: Value, *, results: list[Result]) -> Value:
    """PAD(input, paddings): zeros, which quantised are the zero point"""
    unchanged(g, "PAD", results, x)
    if is_float(x) or quantization(x) is None:
        return tensorflow(g, "Pad", x, paddings)  # type: ignore[no-any-return]
    zero = g.constant(np.array(one(g, x, "PAD")[1], x.element.numpy()))
    return tensorflow(g, "PadV2", x, paddings, zero)  # type: ignore[no-any-return]


@symbolic(DIALECT, "MIRROR_PAD")
def mirror_pad(g: GraphBuilder, x: Value, paddings: Value, *, mode: int, results: list[Result]) -> Value:
    """MIRROR_PAD(input, paddings; mode)"""
    unchanged(g, "MIRROR_PAD", results, x)
    return tensorflow(g, "MirrorPad", x, paddings, mode=("REFLECT", "SYMMETRIC")[mode])  # type: ignore[no-any-return]


def _reduction(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, axes: Value, *, keep_dims: int, results: list[Result]) -> Value:
        if op in ("Max", "Min"):
            unchanged(g, name, results, x)
        elif op == "Mean" and quantization(x) is not None and not is_float(x):
            return _mean(g, x, axes, bool(keep_dims), results[0])
        else:
            plain_numbers(g, name, x)
        return tensorflow(g, op, x, axes, keep_dims=bool(keep_dims))  # type: ignore[no-any-return]

    function.__doc__ = f"{name}(input, axes; keep_dims)"


def _mean(g: GraphBuilder, x: Value, axes: Value, keep_dims: bool, result: Result) -> Value:
    """The mean of integers: a sum times a factor, divided by the count in as many bits as the factor leaves."""
    found = axes.array
    if found is None or x.element is not result[0] or x.element is not _T.INT8:
        raise refused(g, "MEAN", "of quantised integers, int8 over constant axes is supported only")
    sizes = [x.dim(axis) for axis in {int(a) % x.rank for a in found.reshape(-1)}]
    if not all(isinstance(s, int) and s > 0 for s in sizes):
        raise refused(g, "MEAN", "the mean of integers over an axis of open size isn't supported")
    count = math.prod(int(s) for s in sizes if isinstance(s, int))
    (scale, zero), (out, out_zero) = one(g, x, "MEAN"), one(g, result[1], "MEAN")
    whole, exponent = multiplier(float(scale) / float(out))
    shift = min(count.bit_length() - 1, 32, 31 + exponent)
    wide = elementwise(g, "Sub", elementwise(g, "Cast", x, to=_T.INT64), zero)
    total = tensorflow(g, "Sum", wide, axes, keep_dims=keep_dims)
    return finished(g, scaled(g, total, [((whole << shift) // count, exponent - shift)]), result, (-128, 127), out_zero)


for _name, _op in {
    "SUM": "Sum", "MEAN": "Mean", "REDUCE_PROD": "Prod", "REDUCE_MAX": "Max", "REDUCE_MIN": "Min", "REDUCE_ANY": "Any",
    "REDUCE_ALL": "All",
}.items():  # fmt: skip
    _reduction(_name, _op)


def _binary(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, y: Value, *, activation: int, results: list[Result]) -> Value:
        if quantization(x) is not None and not is_float(x):
            return _binary_int8(g, name, x, y, activation, results[0])
        result = tensorflow(g, op, x, y)
        return _activated(g, result, activation, name)

    function.__doc__ = f"{name}(x, y; activation)"


def _activated(g: GraphBuilder, x: Value, activation: int, op: str) -> Value:
    if not activation:
        return x
    if not is_float(x):
        raise refused(g, op, "a fused activation on plain integers isn't supported")
    if x.channels_first is not None:
        return channels_last(g, activated(g, channels_first(g, x), activation, op))
    return activated(g, x, activation, op)


def _binary_int8(g: GraphBuilder, op: str, x: Value, y: Value, activation: int, result: Result) -> Value:
    """Sums, differences and products of int8 numbers."""
    if op == "DIV" or any(v.element is not _T.INT8 for v in (x, y)) or result[0] is not _T.INT8:
        raise refused(g, op, f"integers of {x.element.name} aren't supported")
    (first, first_zero), (second, second_zero) = one(g, x, op), one(g, y, op)
    out, zero = one(g, result[1], op)
    bounds = integer_range(g, activation, result, op)
    twins = x.rank == y.rank and x.channels_first is not None and y.channels_first is not None
    a, b = (
        g.Sub(g.Cast(channels_first(g, v) if twins else v, to=_T.INT64), zero_point)
        for v, zero_point in ((x, first_zero), (y, second_zero))
    )
    if op == "MUL":
        total = rescaled(g, g.Mul(a, b), [float(first) * float(second) / float(out)])
    else:  # both on the scale of twice the larger one, with 20 more bits
        largest = 2.0 * max(float(first), float(second))
        parts = [rescaled(g, g.Mul(v, 1 << 20), [float(s) / largest]) for v, s in ((a, first), (b, second))]
        total = g.Add(*parts) if op == "ADD" else g.Sub(*parts)
        total = rescaled(g, total, [largest / ((1 << 20) * float(out))])
    y_ = finished(g, total, result, bounds, zero)
    return channels_last(g, y_) if twins else y_


for _name, _op in {"ADD": "AddV2", "SUB": "Sub", "MUL": "Mul", "DIV": "RealDiv"}.items():
    _binary(_name, _op)


def _clipped(name: str, activation: int) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
        if quantization(x) is None or is_float(x):
            return _activated(g, x, activation, name)
        scale, zero = one(g, x, name)
        out, out_zero = one(g, results[0][1], name)
        shifted = g.Sub(g.Cast(x, to=_T.INT64), zero)
        bounds = integer_range(g, activation, results[0], name)
        return finished(g, rescaled(g, shifted, [float(scale) / float(out)]), results[0], bounds, out_zero)

    function.__doc__ = f"{name}(input)"


for _name, _number in {"RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}.items():
    _clipped(_name, _number)


@symbolic(DIALECT, "PRELU")
def prelu(g: GraphBuilder, x: Value, alpha: Value, *, results: list[Result]) -> Value:
    """PRELU(input, alpha)"""
    plain_numbers(g, "PRELU", x, alpha)
    return elementwise(g, "PRelu", x, alpha)


@symbolic(DIALECT, "HARD_SWISH")
def hard_swish(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
    """HARD_SWISH(input)"""
    plain_numbers(g, "HARD_SWISH", x)
    return elementwise(g, "HardSwish", x)


@symbolic(DIALECT, "L2_NORMALIZATION")
def l2_normalization(g: GraphBuilder, x: Value, *, activation: int, results: list[Result]) -> Value:
    """L2_NORMALIZATION(input; activation)"""
    plain_numbers(g, "L2_NORMALIZATION", x)
    length = g.Sqrt(g.ReduceSumSquare(x, [-1], keepdims=1))
    return activated(g, g.Div(x, g.Max(length, 1e-6)), activation, "L2_NORMALIZATION")


@symbolic(DIALECT, "CAST")
def cast(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
    """CAST(input)"""
    plain_numbers(g, "CAST", x)
    return tensorflow(g, "Cast", x, DstT=results[0][0])  # type: ignore[no-any-return]


@symbolic(DIALECT, "QUANTIZE")
def quantize(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
    """QUANTIZE(input): floats to integers, or integers to another scale"""
    out, zero = one(g, results[0][1], "QUANTIZE")
    limits = np.iinfo(results[0][0].numpy())
    if is_float(x):
        ratio = g.Div(x, g.constant(out))
        size = g.Floor(g.Abs(ratio))  # halves away from zero; adding 0.5 would round 0.49999997 up
        up = g.GreaterOrEqual(g.Sub(g.Abs(ratio), size), 0.5)
        whole = g.Mul(g.Add(size, g.Cast(up, to=_T.FLOAT)), g.Sign(ratio))
        shifted = g.Add(whole, float(zero))
        return g.Cast(g.Cast(g.Clip(shifted, float(limits.min), float(limits.max)), to=_T.INT32), to=results[0][0])
    scale, given = one(g, x, "QUANTIZE")
    shifted = g.Sub(g.Cast(x, to=_T.INT64), given)
    whole = rescaled(g, shifted, [float(scale) / float(out)])
    return finished(g, whole, results[0], (int(limits.min), int(limits.max)), zero)


@symbolic(DIALECT, "DEQUANTIZE")
def dequantize(g: GraphBuilder, x: Value, *, results: list[Result]) -> Value:
    """DEQUANTIZE(input): scale * (integer - zero point)"""
    if is_float(x):
        return g.Cast(x, to=_T.FLOAT)
    scale, zero = one(g, x, "DEQUANTIZE")
    return g.Mul(g.Sub(g.Cast(x, to=_T.FLOAT), float(zero)), g.constant(scale))


def _arg(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, axis: Value, *, output_type: ir.DataType, results: list[Result]) -> Value:
        return tensorflow(g, op, x, axis, output_type=results[0][0])  # type: ignore[no-any-return]

    function.__doc__ = f"{name}(input, axis; output_type)"


_arg("ARG_MAX", "ArgMax")
_arg("ARG_MIN", "ArgMin")


def _resize(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(
        g: GraphBuilder, x: Value, size: Value, *, align_corners: int, half_pixel_centers: int, results: list[Result]
    ) -> Value:
        if op == "ResizeBilinear":
            plain_numbers(g, name, x)
        else:
            unchanged(g, name, results, x)
        how = {"align_corners": bool(align_corners), "half_pixel_centers": bool(half_pixel_centers)}
        return tensorflow(g, op, x, size, **how)  # type: ignore[no-any-return]

    function.__doc__ = f"{name}(input, size; align_corners, half_pixel_centers)"


_resize("RESIZE_BILINEAR", "ResizeBilinear")
_resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor")


@symbolic(DIALECT, "BATCH_MATMUL")
def batch_matmul(g: GraphBuilder, x: Value, y: Value, *, adj_x: int, adj_y: int, results: list[Result]) -> Value:
    """BATCH_MATMUL(x, y; adj_x, adj_y)"""
    plain_numbers(g, "BATCH_MATMUL", x, y)
    return tensorflow(g, "BatchMatMulV2", x, y, adj_x=bool(adj_x), adj_y=bool(adj_y))  # type: ignore[no-any-return]


@symbolic(DIALECT, "TOPK_V2")
def top_k(g: GraphBuilder, x: Value, k: Value, *, results: list[Result]) -> Any:
    """TOPK_V2(input, k)"""
    plain_numbers(g, "TOPK_V2", x)
    return tensorflow(g, "TopKV2", x, k)


@symbolic(DIALECT, "TRANSPOSE_CONV")
def transpose_conv(
    g: GraphBuilder,
    sizes: Value,
    kernel: Value,
    x: Value,
    bias: Value | None = None,
    *,
    padding: int,
    stride_w: int,
    stride_h: int,
    activation: int,
    results: list[Result],
) -> Value:
    """TRANSPOSE_CONV(output_shape, weights (out, height, width, in), input, bias; TransposeConvOptions)"""  # fmt: skip
    plain_numbers(g, "TRANSPOSE_CONV", x, kernel)
    moved = g.Transpose(kernel if kernel.element is _T.FLOAT else g.Cast(kernel, to=_T.FLOAT), perm=[1, 2, 0, 3])
    strides = [1, stride_h, stride_w, 1]
    y = tensorflow(g, "Conv2DBackpropInput", sizes, moved, x, strides=strides, padding=("SAME", "VALID")[padding])
    y = y if bias is None else tensorflow(g, "BiasAdd", y, bias)
    return _activated(g, y, activation, "TRANSPOSE_CONV")
