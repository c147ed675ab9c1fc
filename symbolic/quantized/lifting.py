"""ATen operators on quantised tensors, made from their functions on floats.

What moves elements or chooses among them gives levels again. What computes new numbers is rounded to the levels of the
operand, or to fixed ones. Comparisons look at the numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..aten.promotion import DataType, cast, unsupported
from ..aten.shape import axis_of
from ..builder import GraphBuilder
from ..registry import Symbolic, registry, symbolic
from ..value import Value
from .pointwise import cat
from .tensor import Quantized, levels_of, moved, quantized, requantized

DIALECT = "aten.quantized"
#: Operators whose results hold elements of the operand, at other places.
MOVED = frozenset(
    {
        "_reshape_alias", "_unsafe_view", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d", "broadcast_to", "channel_shuffle", "chunk", "expand", "expand_as", "flatten",
        "flip", "fliplr", "flipud", "gather", "index", "index_select", "mT", "max", "max_pool1d", "max_pool2d",
        "max_pool3d", "min", "moveaxis", "movedim", "narrow", "native_channel_shuffle", "numpy_T", "permute",
        "pixel_shuffle", "pixel_unshuffle", "quantized_max_pool1d", "quantized_max_pool2d", "quantized_max_pool3d",
        "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "repeat", "repeat_interleave",
        "replication_pad1d", "replication_pad2d", "replication_pad3d", "reshape", "reshape_as", "roll", "rot90",
        "select", "slice", "sort", "split", "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "take",
        "tensor_split", "tile", "topk", "transpose", "unbind", "unflatten", "unfold", "unsqueeze",
        "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "view", "view_as",
    }
)  # fmt: skip
#: Operators that leave each element where it is.
KEPT = frozenset({"alias", "clone", "contiguous", "detach", "dropout", "feature_dropout", "lift_fresh"})
#: Operators whose results are rounded to the levels of the operand.
ROUNDED = frozenset(
    {
        "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_prelu_kernel", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
        "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "clamp", "clamp_max", "clamp_min", "clip",
        "constant_pad_nd", "fill", "gelu", "grid_sampler", "grid_sampler_2d", "hardtanh", "index_put", "leaky_relu",
        "masked_fill", "mean", "pad", "prelu", "relu6", "std", "threshold", "upsample_bilinear2d", "zero",
    }
)  # fmt: skip
#: Operators that give plain tensors of what the numbers are.
PLAIN = frozenset({"argmax", "argmin", "argsort", "eq", "equal", "ge", "gt", "le", "lt", "ne"})
#: Operators with results of fixed levels: numbers in a step, and the place of 0 for signed and unsigned levels.
FIXED = {"sigmoid": (1 / 256, -128, 0), "hardsigmoid": (1 / 256, -128, 0), "tanh": (2 / 256, 0, 128)}


def _numbers(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return [_numbers(a) for a in argument]
    return argument.numbers if isinstance(argument, Quantized) else argument


def _first(arguments: Sequence[Any]) -> Quantized:
    for argument in arguments:
        if isinstance(argument, Quantized):
            return argument
        if isinstance(argument, (list, tuple)) and argument:
            return _first(argument)
    raise TypeError("no operand is quantised")


def _each(result: Any, made: Callable[[Value], Any]) -> Any:
    """Float results as quantised tensors; positions and truth values stay."""
    if isinstance(result, (list, tuple)):
        return [_each(r, made) for r in result]
    return made(result) if isinstance(result, Value) and result.dtype == DataType.FLOAT else result


def _lifted(row: Symbolic, how: str) -> Callable[..., Any]:
    def function(g: GraphBuilder, *args: Any, **attributes: Any) -> Any:
        like = _first([*args, *attributes.values()])
        if like.axis is not None and how not in ("kept", "plain"):
            raise unsupported(f"{row.name} of a tensor that is quantised by channel", g)
        result = row.function(g, *map(_numbers, args), **{k: _numbers(v) for k, v in attributes.items()})
        if how == "plain":
            return result
        if how in ("moved", "kept"):
            return like if result is like.numbers else _each(result, lambda x: moved(g, x, like))
        return _each(result, lambda x: requantized(g, x, like))

    function.__doc__ = row.function.__doc__
    function.__name__ = function.__qualname__ = row.function.__name__
    function.__signature__ = inspect.signature(row.function)  # type: ignore[attr-defined]
    return function


def _register() -> None:
    groups = {"moved": MOVED, "kept": KEPT, "rounded": ROUNDED, "plain": PLAIN}
    for row in registry.rows("aten"):
        for how, names in groups.items():
            if row.name.split(".")[0] in names:
                symbolic(DIALECT, row.name, since=row.since, until=row.until)(_lifted(row, how))
        fixed = FIXED.get(row.name)
        if fixed is not None:
            _register_fixed(row, *fixed)
        if row.name in ("max_pool1d", "max_pool2d"):
            symbolic("quantized", row.name)(_lifted(row, "moved"))


def _register_fixed(row: Symbolic, step: float, signed: int, unsigned: int) -> None:
    def function(g: GraphBuilder, self: Quantized) -> Quantized:
        zero = {DataType.INT8: signed, DataType.UINT8: unsigned}.get(self.kind, 0)
        return quantized(g, row.function(g, self.numbers), step, zero, self.kind)

    function.__doc__ = row.function.__doc__
    function.__name__ = function.__qualname__ = row.name
    symbolic(DIALECT, row.name)(function)


_register()


@symbolic(DIALECT, "cat", "concat", "concatenate")
def concatenate(g: GraphBuilder, tensors: Sequence[Quantized], dim: int = 0) -> Quantized:
    """aten::cat(Tensor[] tensors, int dim=0) -> Tensor"""
    return cat(g, tensors, dim)


@symbolic(DIALECT, "stack")
def stack(g: GraphBuilder, tensors: Sequence[Quantized], dim: int = 0) -> Quantized:
    """aten::stack(Tensor[] tensors, int dim=0) -> Tensor"""
    axis = axis_of(dim, tensors[0].rank + 1)
    return cat(g, [replace(t, numbers=g.Unsqueeze(t.numbers, [axis]), levels=None) for t in tensors], axis)


# --- what a tensor is made of ----------------------------------------------------------------------------------------


@symbolic(DIALECT, "dequantize.self", "dequantize")
def dequantize(g: GraphBuilder, self: Quantized) -> Value:
    """aten::dequantize.self(Tensor self) -> Tensor"""
    return self.numbers


@symbolic(DIALECT, "dequantize.tensors")
def dequantize_all(g: GraphBuilder, tensors: Sequence[Quantized]) -> list[Value]:
    """aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]"""
    return [t.numbers for t in tensors]


@symbolic(DIALECT, "int_repr")
def int_repr(g: GraphBuilder, self: Quantized) -> Value:
    """aten::int_repr(Tensor self) -> Tensor"""
    return levels_of(g, self)


@symbolic(DIALECT, "q_scale")
def q_scale(g: GraphBuilder, self: Quantized) -> Value:
    """aten::q_scale(Tensor self) -> float"""
    return cast(g, self.scale, DataType.DOUBLE) if self.step is None else g.constant(np.array(self.step))


@symbolic(DIALECT, "q_zero_point")
def q_zero_point(g: GraphBuilder, self: Quantized) -> Value:
    """aten::q_zero_point(Tensor self) -> int"""
    return cast(g, self.zero, DataType.INT64)


@symbolic(DIALECT, "q_per_channel_scales")
def q_per_channel_scales(g: GraphBuilder, self: Quantized) -> Value:
    """aten::q_per_channel_scales(Tensor self) -> Tensor"""
    return cast(g, self.scale, DataType.DOUBLE)


@symbolic(DIALECT, "q_per_channel_zero_points")
def q_per_channel_zero_points(g: GraphBuilder, self: Quantized) -> Value:
    """aten::q_per_channel_zero_points(Tensor self) -> Tensor"""
    return cast(g, self.zero, DataType.INT64)


@symbolic(DIALECT, "q_per_channel_axis")
def q_per_channel_axis(g: GraphBuilder, self: Quantized) -> Value:
    """aten::q_per_channel_axis(Tensor self) -> int"""
    return g.constant(np.array(self.axis or 0, np.int64))
