"""Reductions, cumulative ones, counts, segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..nn.layout import along_axis, has_twin, reduce
from ..registry import symbolic
from ..value import Value
from ..xla import reductions
from ..xla.kernels import FLOATS, call
from .common import DIALECT, cast, int64, ints, known_axis, like, refused, size_at

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _any_axes(g: GraphBuilder, x: Value, axes: Value, op: str) -> list[int] | Value:
    """The axes; as a value where the model computes them."""
    known = axes.array is not None or axes.dims is not None
    return _axes(g, x, axes, op) if known else g.Reshape(int64(g, axes), [-1])


def _axes(g: GraphBuilder, x: Value, axes: Value, op: str) -> list[int]:
    return sorted({a % x.rank for a in ints(g, axes, op, "axes")}) if x.rank else []


def _reduce(g: GraphBuilder, op: str, x: Value, axes: list[int] | Value, keep_dims: bool) -> Value:
    if isinstance(axes, Value):
        wide = x if x.element is not _T.BOOL else cast(g, x, _T.INT32)
        return call(g, op, wide, axes, keepdims=int(keep_dims), noop_with_empty_axes=1)
    if not axes:
        return x
    if has_twin(x) and x.element in (_T.FLOAT, _T.FLOAT16):
        return reduce(g, op, x, axes, keep_dims)
    return call(g, op, x, axes, keepdims=int(keep_dims))


def _register(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, axes: Value, *, keep_dims: bool = False) -> Value:
        return _reduce(g, op, x, _any_axes(g, x, axes, name), keep_dims)

    function.__doc__ = f"{name}(input: T, reduction_indices: Tidx, keep_dims: bool) -> T"


for _name, _op in {"Sum": "ReduceSum", "Prod": "ReduceProd", "Max": "ReduceMax", "Min": "ReduceMin"}.items():
    _register(_name, _op)


@symbolic(DIALECT, "Mean")
def mean(g: GraphBuilder, x: Value, axes: Value, *, keep_dims: bool = False) -> Value:
    """Mean(input: T, reduction_indices: Tidx, keep_dims: bool) -> T"""
    over = _axes(g, x, axes, "Mean")
    if x.element in FLOATS or not over:
        return _reduce(g, "ReduceMean", x, over, keep_dims)
    total = _reduce(g, "ReduceSum", x, over, keep_dims)
    count = g.ReduceProd(g.Gather(g.Shape(x), np.array(over)), keepdims=0)
    return g.Div(total, cast(g, count, x.element))


@symbolic(DIALECT, "EuclideanNorm")
def euclidean_norm(g: GraphBuilder, x: Value, axes: Value, *, keep_dims: bool = False) -> Value:
    """EuclideanNorm(input: T, reduction_indices: Tidx, keep_dims: bool) -> T"""
    return call(g, "Sqrt", _reduce(g, "ReduceSum", call(g, "Mul", x, x), _axes(g, x, axes, "EuclideanNorm"), keep_dims))


def _truth(name: str, op: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, axes: Value, *, keep_dims: bool = False) -> Value:
        over = _any_axes(g, x, axes, name)
        return cast(g, _reduce(g, op, cast(g, x, _T.INT32), over, keep_dims), _T.BOOL)

    function.__doc__ = f"{name}(input: bool, reduction_indices: Tidx, keep_dims: bool) -> bool"


_truth("All", "ReduceMin")
_truth("Any", "ReduceMax")


def _arg(name: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, axis: Value, *, output_type: Any = _T.INT64) -> Value:
        x = cast(g, x, _T.INT32) if x.element is _T.BOOL else x
        return cast(g, call(g, name, x, axis=known_axis(g, axis, x.rank, name), keepdims=0), output_type)

    function.__doc__ = f"{name}(input: T, dimension: Tidx, output_type: type) -> output_type"


_arg("ArgMax")
_arg("ArgMin")


@symbolic(DIALECT, "Cumsum")
def cumsum(g: GraphBuilder, x: Value, axis: Value, *, exclusive: bool = False, reverse: bool = False) -> Value:
    """Cumsum(x: T, axis: Tidx, exclusive: bool, reverse: bool) -> T"""
    return call(g, "CumSum", x, int64(g, axis), exclusive=int(exclusive), reverse=int(reverse))


@symbolic(DIALECT, "Cumprod")
def cumprod(g: GraphBuilder, x: Value, axis: Value, *, exclusive: bool = False, reverse: bool = False) -> Value:
    """Cumprod(x: T, axis: Tidx, exclusive: bool, reverse: bool) -> T"""
    at = known_axis(g, axis, x.rank, "Cumprod")
    if exclusive:  # a one moves in, the last element falls out
        one_pads = [0] * (2 * x.rank)
        one_pads[at + (x.rank if reverse else 0)] = 1
        padded = call(g, "Pad", x, one_pads, like(g, 1, x))
        size = size_at(g, x, at)
        start = 1 if reverse else 0
        x = g.Slice(padded, [start], g.shape_vector([size + 1 if start else size]), [at])
    return reductions.cumulative(g, x, "mul", at, reverse)


def _softmax(name: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value) -> Value:
        if x.element is _T.BFLOAT16:
            return call(g, name, x, axis=-1)
        return along_axis(g, name, x, -1)

    function.__doc__ = f"{name}(logits: T) -> T"


_softmax("Softmax")
_softmax("LogSoftmax")


@symbolic(DIALECT, "L2Loss")
def l2_loss(g: GraphBuilder, x: Value) -> Value:
    """L2Loss(t: T) -> T: half the sum of squares"""
    return g.Mul(g.ReduceSumSquare(x, keepdims=0), like(g, 0.5, x))


@symbolic(DIALECT, "SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(g: GraphBuilder, logits: Value, labels: Value) -> tuple[Value, Value]:
    """SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)"""
    log = g.LogSoftmax(logits, axis=-1)
    loss = g.Neg(g.ReduceSum(g.Mul(log, labels), [-1], keepdims=0))
    return loss, g.Sub(g.Softmax(logits, axis=-1), labels)


@symbolic(DIALECT, "SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(g: GraphBuilder, logits: Value, labels: Value) -> tuple[Value, Value]:
    """SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)"""
    log = g.LogSoftmax(logits, axis=-1)
    at = g.Unsqueeze(int64(g, labels), [-1])
    loss = g.Neg(g.Squeeze(g.GatherElements(log, at, axis=-1), [-1]))
    classes = g.Range(0, g.Squeeze(g.Shape(logits, start=-1), [0]), 1)
    hot = cast(g, g.Equal(at, classes), logits.element)
    return loss, g.Sub(g.Softmax(logits, axis=-1), hot)


# --- segments -------------------------------------------------------------------------------------------------------


def _empty(kind: str, dtype: ir.DataType) -> Any:
    """What TensorFlow gives for a segment without rows."""
    if kind in ("add", "mul"):
        return 0 if kind == "add" else 1
    limits: Any = np.finfo(dtype.numpy()) if dtype in FLOATS else np.iinfo(dtype.numpy())
    return limits.min if kind == "max" else limits.max


def _segments(g: GraphBuilder, x: Value, ids: Value, count: Value, kind: str, fill: Any) -> Value:
    """Rows of each segment, reduced; rows with a negative id belong to none."""
    rank, deep = x.rank, ids.rank
    rows = (
        g.Reshape(x, g.Concat(g.constant([-1]), g.Shape(x, start=deep), axis=0)) if deep < rank else g.Reshape(x, [-1])
    )
    flat = g.Reshape(int64(g, ids), [-1])
    count = g.Reshape(int64(g, count), [1])
    whole = g.Add(count, 1)  # one more segment takes what belongs to none
    target = g.Where(g.Less(flat, 0), count, flat)
    size = whole if deep == rank else g.Concat(whole, g.Shape(x, start=deep), axis=0)
    start = g.Expand(like(g, fill, x), size)
    reduced = g.ScatterND(start, g.Unsqueeze(target, [1]), rows, reduction=kind)
    return g.Slice(reduced, [0], count, [0])


def _unsorted(name: str, kind: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, ids: Value, count: Value) -> Value:
        return _segments(g, x, ids, count, kind, _empty(kind, x.element))

    function.__doc__ = f"{name}(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> T"


def _sorted(name: str, kind: str) -> None:
    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, ids: Value) -> Value:
        count = g.Add(g.ReduceMax(int64(g, ids), keepdims=0), 1)
        fill = _empty(kind, x.element)
        reduced = _segments(g, x, ids, count, kind, fill)
        if kind in ("add", "mul"):
            return reduced
        one = cast(g, g.Expand(g.constant(1), g.Shape(ids)), _T.INT64)
        used = _segments(g, one, ids, count, "add", 0)  # segments without rows give 0
        used = g.Unsqueeze(used, list(range(1, x.rank))) if x.rank > 1 else used
        return g.Where(g.Greater(used, 0), reduced, like(g, 0, x))

    function.__doc__ = f"{name}(data: T, segment_ids: Tindices) -> T"


for _suffix, _kind in {"Sum": "add", "Prod": "mul", "Max": "max", "Min": "min"}.items():
    _unsorted(f"UnsortedSegment{_suffix}", _kind)
    _sorted(f"Segment{_suffix}", _kind)


@symbolic(DIALECT, "SegmentMean")
def segment_mean(g: GraphBuilder, x: Value, ids: Value) -> Value:
    """SegmentMean(data: T, segment_ids: Tindices) -> T"""
    count = g.Add(g.ReduceMax(int64(g, ids), keepdims=0), 1)
    total = _segments(g, x, ids, count, "add", 0)
    ones = g.Expand(like(g, 1, x), g.Shape(ids))
    rows = g.Max(_segments(g, ones, ids, count, "add", 0), like(g, 1, x))
    return g.Div(total, g.Unsqueeze(rows, list(range(1, x.rank))) if x.rank > 1 else rows)


def _sparse(name: str, root: int) -> None:
    """Sums of gathered rows, divided by the count of rows of each segment to the power of 1 / root (0: not at all)."""

    def reduced(g: GraphBuilder, x: Value, indices: Value, ids: Value, count: Value) -> Value:
        rows = g.Gather(x, int64(g, indices), axis=0)
        total = _segments(g, rows, ids, count, "add", 0)
        if not root:
            return total
        ones = g.Expand(like(g, 1, x), g.Shape(ids))
        counts = g.Max(_segments(g, ones, ids, count, "add", 0), like(g, 1, x))
        counts = g.Sqrt(counts) if root == 2 else counts
        return g.Div(total, g.Unsqueeze(counts, list(range(1, x.rank))) if x.rank > 1 else counts)

    @symbolic(DIALECT, name)
    def function(g: GraphBuilder, x: Value, indices: Value, ids: Value, *, sparse_gradient: bool = False) -> Value:
        # ids are sorted; without any, there are no segments
        last = g.ReduceMax(g.Concat(g.constant([-1]), int64(g, ids), axis=0), keepdims=0)
        return reduced(g, x, indices, ids, g.Add(last, 1))

    @symbolic(DIALECT, f"{name}WithNumSegments")
    def counted(
        g: GraphBuilder, x: Value, indices: Value, ids: Value, count: Value, *, sparse_gradient: bool = False
    ) -> Value:
        return reduced(g, x, indices, ids, count)

    function.__doc__ = f"{name}(data: T, indices: Tidx, segment_ids: Tsegmentids) -> T"
    counted.__doc__ = f"{name}WithNumSegments(data: T, indices: Tidx, segment_ids, num_segments) -> T"


for _suffix, _root in {"Sum": 0, "Mean": 1, "SqrtN": 2}.items():
    _sparse(f"SparseSegment{_suffix}", _root)


@symbolic(DIALECT, "Bincount", "DenseBincount")
def bincount(g: GraphBuilder, x: Value, size: Value, weights: Value, *, binary_output: bool = False) -> Value:
    """DenseBincount(input: Tidx, size: Tidx, weights: T, binary_output: bool) -> T"""
    if x.rank > 2:
        raise refused(g, "DenseBincount", f"a tensor of rank {x.rank} isn't supported")
    classes = g.Range(0, g.Reshape(int64(g, size), []), 1)
    hit = cast(g, g.Equal(g.Unsqueeze(int64(g, x), [-1]), classes), weights.element)
    if weights.dim(0) != 0 and not binary_output:
        hit = g.Mul(hit, g.Unsqueeze(weights, [-1]))
    return call(g, "ReduceMax" if binary_output else "ReduceSum", hit, [-2], keepdims=0)
