"""Operators whose attributes became operands: axes, split, starts, pads, bounds, k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder, Wanted
from ..registry import symbolic
from ..value import Value


def _reduction(op: str, until: int) -> None:
    @symbolic("onnx_import", op, until=until)
    def reduce(g: GraphBuilder, data: Value, axes: Sequence[int] | None = None, keepdims: int = 1) -> Value:
        """Reduce*-1, 11, 13(data) {axes, keepdims}: no axes, or an empty list of them, means all."""
        return g.call(op, data, list(axes) if axes else None, keepdims=keepdims)  # type: ignore[no-any-return]


_reduction("ReduceSum", 12)
for _op in ("ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
            "ReduceLogSumExp", "ReduceSumSquare"):  # fmt: skip
    _reduction(_op, 17)


@symbolic("onnx_import", "Squeeze", until=12)
def squeeze(g: GraphBuilder, data: Value, axes: Sequence[int] | None = None) -> Value:
    """Squeeze-1, 11(data) {axes}."""
    return g.Squeeze(data, list(axes) if axes else None)


@symbolic("onnx_import", "Unsqueeze", until=12)
def unsqueeze(g: GraphBuilder, data: Value, axes: Sequence[int]) -> Value:
    """Unsqueeze-1, 11(data) {axes}."""
    return g.Unsqueeze(data, list(axes))


@symbolic("onnx_import", "Split", until=12)
def split_attribute(
    g: GraphBuilder, input: Value, axis: int = 0, split: Sequence[int] | None = None, outputs: Wanted = 1
) -> Any:
    """Split-2, 11(input) {axis, split}: equal parts where no split is given."""
    return split_operand(g, input, g.constant(np.array(split, np.int64)) if split else None, axis, outputs)


@symbolic("onnx_import", "Split", since=13, until=17)
def split_operand(g: GraphBuilder, input: Value, split: Value | None = None, axis: int = 0, outputs: Wanted = 1) -> Any:
    """Split-13(input, split) {axis}: equal parts where no split is given."""
    if split is not None:
        return g.call("Split", input, split, axis=axis, outputs=outputs)
    count = outputs if isinstance(outputs, int) else len(outputs)
    return g.call("Split", input, axis=axis, num_outputs=count, outputs=outputs)


@symbolic("onnx_import", "Slice", until=9)
def slice_(
    g: GraphBuilder, data: Value, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Value:
    """Slice-1(data) {starts, ends, axes}."""
    return g.Slice(data, list(starts), list(ends), list(axes) if axes else None)


@symbolic("onnx_import", "Pad", until=10)
def pad(g: GraphBuilder, data: Value, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Value:
    """Pad-2(data) {pads, mode, value}."""
    return g.Pad(data, list(pads), value if mode == "constant" else None, mode=mode)


@symbolic("onnx_import", "Clip", until=10)
def clip(g: GraphBuilder, input: Value, min: float | None = None, max: float | None = None) -> Value:
    """Clip-6(input) {min, max}: the defaults are the limits of float, which bound nothing."""
    limits = np.finfo(input.element.numpy())
    low = None if min is None or min <= limits.min else min
    high = None if max is None or max >= limits.max else max
    return g.Clip(input, low, high)


@symbolic("onnx_import", "TopK", until=9)
def top_k(g: GraphBuilder, X: Value, k: int, axis: int = -1, outputs: Wanted = 2) -> Any:
    """TopK-1(X) {axis, k}."""
    return g.call("TopK", X, [k], axis=axis, outputs=outputs)


@symbolic("onnx_import", "DFT", until=19)
def dft(
    g: GraphBuilder, input: Value, dft_length: Value | None = None, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Value:
    """DFT-17(input, dft_length) {axis, inverse, onesided}."""
    return g.DFT(input, dft_length, axis, inverse=inverse, onesided=onesided)


@symbolic("onnx_import", "Scatter", until=10)
def scatter(g: GraphBuilder, data: Value, indices: Value, updates: Value, axis: int = 0) -> Value:
    """Scatter-9(data, indices, updates) {axis}: the old name of ScatterElements."""
    return g.ScatterElements(data, indices, updates, axis=axis)


def _flattening(op: str) -> Callable[..., Value]:
    @symbolic("onnx_import", op, until=12)
    def flattened(g: GraphBuilder, input: Value, axis: int = 1) -> Value:
        """Softmax, LogSoftmax, Hardmax-1, 11(input) {axis}: over all axes from `axis` on, taken together."""
        if g.opset < 13:
            return g.raw(op, input, axis=axis)  # type: ignore[no-any-return]
        if input.sizes is not None:
            axis = axis + input.rank if axis < 0 else axis
            if all(size == 1 for size in input.sizes[axis + 1 :]):
                return g.call(op, input, axis=axis)  # type: ignore[no-any-return]
        flat = g.call(op, g.Flatten(input, axis=axis), axis=-1)
        if input.sizes is not None and None not in input.sizes:
            return g.reshape(flat, input.sizes)
        return g.Reshape(flat, g.Shape(input))

    return flattened


for _op in ("Softmax", "LogSoftmax", "Hardmax"):
    _flattening(_op)
