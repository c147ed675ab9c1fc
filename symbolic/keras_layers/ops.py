"""Operations of `keras.ops` in the graph of a Functional model, under ``ops.<class>``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..builder import as_dtype
from ..dims import product
from ..nn.layout import along_axis, channels_first, channels_last, concat, elementwise, has_twin, pad, reduce, twin_axis
from ..registry import symbolic
from ..value import Value
from . import activation as act
from .layer import DIALECT, FLOATS, Layer, refuse
from .promotion import cast, together

if TYPE_CHECKING:
    from ..builder import GraphBuilder


# --- two operands ----------------------------------------------------------------------------------------------------


def _binary(op: str, *, floating: bool = False, doc: str = "") -> Callable[..., Value]:
    def function(g: GraphBuilder, x1: Any, x2: Any) -> Value:
        a, b = together(g, x1, x2, floating=floating)
        return elementwise(g, op, a, b)

    function.__doc__ = doc
    return function


def _arithmetic(op: str, doc: str) -> Callable[..., Value]:
    def function(g: GraphBuilder, x1: Any, x2: Any, *, layer: Layer) -> Value:
        a, b = together(g, x1, x2)
        if a.element == ir.DataType.BOOL:
            refuse(g, layer, "on two bool tensors it is not supported")
        return elementwise(g, op, a, b)

    function.__doc__ = doc
    return function


for _name, _op in (
    ("Add", "Add"), ("Subtract", "Sub"), ("Multiply", "Mul"), ("Maximum", "Max"), ("Minimum", "Min"),
):  # fmt: skip
    symbolic(DIALECT, f"ops.{_name}")(_arithmetic(_op, f"keras.ops.{_name.lower()}(x1, x2)"))
for _name, _op in (("Divide", "Div"), ("TrueDivide", "Div")):
    symbolic(DIALECT, f"ops.{_name}")(_binary(_op, floating=True, doc=f"keras.ops.{_name.lower()}(x1, x2)"))
for _name, _op in (
    ("Greater", "Greater"), ("GreaterEqual", "GreaterOrEqual"), ("Less", "Less"), ("LessEqual", "LessOrEqual"),
    ("Equal", "Equal"),
):  # fmt: skip
    symbolic(DIALECT, f"ops.{_name}")(_binary(_op, doc=f"keras.ops.{_name.lower()}(x1, x2)"))


@symbolic(DIALECT, "ops.NotEqual")
def not_equal(g: GraphBuilder, x1: Any, x2: Any) -> Value:
    """keras.ops.not_equal(x1, x2)"""
    a, b = together(g, x1, x2)
    return elementwise(g, "Not", elementwise(g, "Equal", a, b))


@symbolic(DIALECT, "ops.Power")
def power(g: GraphBuilder, x1: Any, x2: Any) -> Value:
    """keras.ops.power(x1, x2)"""
    a, b = together(g, x1, x2)
    return elementwise(g, "Pow", a, b)


@symbolic(DIALECT, "ops.Matmul")
def matmul(g: GraphBuilder, x1: Value, x2: Value) -> Value:
    """keras.ops.matmul(x1, x2)"""
    a, b = together(g, x1, x2)
    return g.MatMul(a, b)


def _logical(op: str) -> Callable[..., Value]:
    def function(g: GraphBuilder, x1: Any, x2: Any) -> Value:
        return elementwise(g, op, *(cast(g, x, ir.DataType.BOOL) if isinstance(x, Value) else x for x in (x1, x2)))

    function.__doc__ = "keras.ops.logical_and(x1, x2)"
    return function


for _name, _op in (("LogicalAnd", "And"), ("LogicalOr", "Or"), ("LogicalXor", "Xor")):
    symbolic(DIALECT, f"ops.{_name}")(_logical(_op))


@symbolic(DIALECT, "ops.Where")
def where(g: GraphBuilder, condition: Value, x1: Any, x2: Any) -> Value:
    """keras.ops.where(condition, x1, x2)"""
    a, b = together(g, x1, x2)
    return elementwise(g, "Where", cast(g, condition, ir.DataType.BOOL), a, b)


# --- one operand -----------------------------------------------------------------------------------------------------


def _unary(op: str, *, floating: bool = True) -> Callable[..., Value]:
    def function(g: GraphBuilder, x: Value) -> Value:
        source = x if x.element in FLOATS or not floating else cast(g, x, ir.DataType.FLOAT)
        return elementwise(g, op, source)

    function.__doc__ = f"keras.ops: {op} of each element"
    return function


for _op in ("Exp", "Log", "Sqrt", "Sin", "Cos", "Tan", "Tanh", "Sigmoid", "Erf", "Floor", "Ceil", "Reciprocal"):
    symbolic(DIALECT, f"ops.{_op}")(_unary(_op))
for _name, _op in (("Absolute", "Abs"), ("Abs", "Abs"), ("Negative", "Neg"), ("Sign", "Sign")):
    symbolic(DIALECT, f"ops.{_name}")(_unary(_op, floating=False))
symbolic(DIALECT, "ops.LogicalNot")(_unary("Not", floating=False))


@symbolic(DIALECT, "ops.Square")
def square(g: GraphBuilder, x: Value) -> Value:
    """keras.ops.square(x)"""
    return elementwise(g, "Mul", x, x)


@symbolic(DIALECT, "ops.Rsqrt")
def rsqrt(g: GraphBuilder, x: Value) -> Value:
    """keras.ops.rsqrt(x)"""
    return elementwise(g, "Reciprocal", elementwise(g, "Sqrt", x))


@symbolic(DIALECT, "ops.Clip")
def clip(g: GraphBuilder, x: Value, *, x_min: Any, x_max: Any) -> Value:
    """keras.ops.clip(x, x_min, x_max)"""
    a, low, high = together(g, x, x_min, x_max)
    return elementwise(g, "Min", elementwise(g, "Max", a, low), high)


@symbolic(DIALECT, "ops.Cast")
def cast_op(g: GraphBuilder, x: Value, *, dtype: str) -> Value:
    """keras.ops.cast(x, dtype)"""
    return cast(g, x, as_dtype(dtype))


@symbolic(DIALECT, "ops.StopGradient", "ops.Copy", "ops.ConvertToTensor")
def unchanged(g: GraphBuilder, x: Value, *, sparse: Any = None, ragged: Any = None) -> Value:
    """keras.ops.stop_gradient(x)"""
    return x


for _op, _activation in (
    ("Relu", "relu"), ("Relu6", "relu6"), ("Softplus", "softplus"), ("Softsign", "softsign"), ("Silu", "silu"),
    ("SparsePlus", "sparse_plus"), ("SparseSigmoid", "sparse_sigmoid"), ("LogSigmoid", "log_sigmoid"),
    ("HardSigmoid", "hard_sigmoid"), ("HardSilu", "hard_silu"), ("Selu", "selu"), ("TanhShrink", "tanh_shrink"),
    ("HardTanh", "hard_tanh"), ("Mish", "mish"),
):  # fmt: skip

    def _activation_function(g: GraphBuilder, x: Value, *, layer: Layer) -> Value:
        """keras.ops: an activation function"""
        return act.activate(g, x, _BY_CLASS[layer.class_name])

    symbolic(DIALECT, f"ops.{_op}")(_activation_function)
_BY_CLASS = {
    "Relu": "relu", "Relu6": "relu6", "Softplus": "softplus", "Softsign": "softsign", "Silu": "silu",
    "SparsePlus": "sparse_plus", "SparseSigmoid": "sparse_sigmoid", "LogSigmoid": "log_sigmoid",
    "HardSigmoid": "hard_sigmoid", "HardSilu": "hard_silu", "Selu": "selu", "TanhShrink": "tanh_shrink",
    "HardTanh": "hard_tanh", "Mish": "mish",
}  # fmt: skip


@symbolic(DIALECT, "ops.ReLU")
def relu_op(
    g: GraphBuilder, x: Value, *, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Value:
    """keras.activations.relu(x, negative_slope, max_value, threshold) on a symbolic tensor"""
    return act.relu(g, x, negative_slope, max_value, threshold)


@symbolic(DIALECT, "ops.Gelu")
def gelu_op(g: GraphBuilder, x: Value, *, approximate: bool = True) -> Value:
    """keras.ops.gelu(x, approximate=True)"""
    return act.gelu(g, x, approximate)


@symbolic(DIALECT, "ops.LeakyRelu")
def leaky_relu_op(g: GraphBuilder, x: Value, *, negative_slope: float = 0.2) -> Value:
    """keras.ops.leaky_relu(x, negative_slope=0.2)"""
    return act.relu(g, x, negative_slope)


@symbolic(DIALECT, "ops.Elu")
def elu_op(g: GraphBuilder, x: Value, *, alpha: float = 1.0) -> Value:
    """keras.ops.elu(x, alpha=1.0)"""
    return act.elu(g, x, alpha)


@symbolic(DIALECT, "ops.Softmax")
def softmax_op(g: GraphBuilder, x: Value, *, axis: int = -1) -> Value:
    """keras.ops.softmax(x, axis=-1)"""
    return act.softmax(g, x, axis)


@symbolic(DIALECT, "ops.LogSoftmax")
def log_softmax_op(g: GraphBuilder, x: Value, *, axis: int = -1) -> Value:
    """keras.ops.log_softmax(x, axis=-1)"""
    return along_axis(g, "LogSoftmax", x, axis)


# --- reductions ------------------------------------------------------------------------------------------------------


def _axes(x: Value, axis: Any) -> list[int]:
    if axis is None:
        return list(range(x.rank))
    return [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)]


def _reduction(op: str, *, floating: bool = False) -> Callable[..., Value]:
    def function(g: GraphBuilder, x: Value, *, layer: Layer, axis: Any = None, keepdims: bool = False) -> Value:
        source = cast(g, x, ir.DataType.FLOAT) if floating and x.element not in FLOATS else x
        if source.element == ir.DataType.BOOL:
            source = cast(g, source, ir.DataType.INT32)
        return reduce(g, op, source, _axes(x, axis), keepdims)

    function.__doc__ = f"keras.ops: {op}(x, axis=None, keepdims=False)"
    return function


for _name, _op, _floating in (
    ("Mean", "ReduceMean", True), ("Sum", "ReduceSum", False), ("Prod", "ReduceProd", False),
    ("Logsumexp", "ReduceLogSumExp", True), ("Amax", "ReduceMax", False), ("Amin", "ReduceMin", False),
):  # fmt: skip
    symbolic(DIALECT, f"ops.{_name}")(_reduction(_op, floating=_floating))


@symbolic(DIALECT, "ops.Max")
def max_op(g: GraphBuilder, x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    """keras.ops.max(x, axis=None, keepdims=False)"""
    return reduce(g, "ReduceMax", x, _axes(x, axis), keepdims)


@symbolic(DIALECT, "ops.Min")
def min_op(g: GraphBuilder, x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    """keras.ops.min(x, axis=None, keepdims=False)"""
    return reduce(g, "ReduceMin", x, _axes(x, axis), keepdims)


def _truth(op: str) -> Callable[..., Value]:
    def function(g: GraphBuilder, x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
        bits = cast(g, cast(g, x, ir.DataType.BOOL), ir.DataType.INT32)
        return cast(g, reduce(g, op, bits, _axes(x, axis), keepdims), ir.DataType.BOOL)

    function.__doc__ = f"keras.ops: {op} of truth values"
    return function


symbolic(DIALECT, "ops.Any")(_truth("ReduceMax"))
symbolic(DIALECT, "ops.All")(_truth("ReduceMin"))


@symbolic(DIALECT, "ops.Var")
def var(g: GraphBuilder, x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    """keras.ops.var(x, axis=None, keepdims=False)"""
    axes = _axes(x, axis)
    centred = elementwise(g, "Sub", x, reduce(g, "ReduceMean", x, axes, keepdims=True))
    return reduce(g, "ReduceMean", elementwise(g, "Mul", centred, centred), axes, keepdims)


@symbolic(DIALECT, "ops.Std")
def std(g: GraphBuilder, x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    """keras.ops.std(x, axis=None, keepdims=False)"""
    return elementwise(g, "Sqrt", var(g, x, axis=axis, keepdims=keepdims))


@symbolic(DIALECT, "ops.Argmax")
def argmax(g: GraphBuilder, x: Value, *, axis: int | None = None, keepdims: bool = False, layer: Layer) -> Value:
    """keras.ops.argmax(x, axis=None, keepdims=False)"""
    if axis is None:
        refuse(g, layer, "axis=None is not supported")
    return g.Cast(g.ArgMax(x, axis=axis, keepdims=int(keepdims)), to=ir.DataType.INT32)


# --- shapes ----------------------------------------------------------------------------------------------------------


@symbolic(DIALECT, "ops.Reshape")
def reshape(g: GraphBuilder, x: Value, *, newshape: Sequence[Any], layer: Layer) -> Value:
    """keras.ops.reshape(x, newshape)"""
    sizes = [-1 if s is None else s for s in newshape]
    if any(not isinstance(s, int) for s in sizes):
        refuse(g, layer, f"the shape {sizes} is not fixed")
    if sizes.count(-1) == 1 and x.sizes is not None and None not in x.sizes:
        known = product(s for s in sizes if s != -1)
        whole = product(s for s in x.sizes if s is not None)
        sizes = [whole // known if s == -1 and known else s for s in sizes]
    return g.reshape(x, sizes)


@symbolic(DIALECT, "ops.Transpose")
def transpose(g: GraphBuilder, x: Value, *, axes: Sequence[int] | None = None) -> Value:
    """keras.ops.transpose(x, axes=None)"""
    return g.Transpose(x, perm=list(range(x.rank))[::-1] if axes is None else [a % x.rank for a in axes])


@symbolic(DIALECT, "ops.Swapaxes")
def swapaxes(g: GraphBuilder, x: Value, *, axis1: int, axis2: int) -> Value:
    """keras.ops.swapaxes(x, axis1, axis2)"""
    order = list(range(x.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return g.Transpose(x, perm=order)


@symbolic(DIALECT, "ops.ExpandDims")
def expand_dims(g: GraphBuilder, x: Value, *, axis: Any) -> Value:
    """keras.ops.expand_dims(x, axis)"""
    return g.Unsqueeze(x, [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)])


@symbolic(DIALECT, "ops.Squeeze")
def squeeze(g: GraphBuilder, x: Value, *, axis: Any = None, layer: Layer) -> Value:
    """keras.ops.squeeze(x, axis=None)"""
    if axis is None:
        assert x.sizes is not None
        axis = [i for i, s in enumerate(x.sizes) if s == 1]
    return g.Squeeze(x, [int(a) for a in axis] if isinstance(axis, (list, tuple)) else [int(axis)])


@symbolic(DIALECT, "ops.Concatenate")
def concatenate(g: GraphBuilder, xs: Sequence[Value], *, axis: int = -1) -> Value:
    """keras.ops.concatenate(xs, axis=-1)"""
    return concat(g, together(g, *xs), axis)


@symbolic(DIALECT, "ops.Stack")
def stack(g: GraphBuilder, xs: Sequence[Value], *, axis: int = 0) -> Value:
    """keras.ops.stack(xs, axis=0)"""
    return g.Concat(*(g.Unsqueeze(x, [axis]) for x in together(g, *xs)), axis=axis)


@symbolic(DIALECT, "ops.Split")
def split(g: GraphBuilder, x: Value, *, indices_or_sections: Any, axis: int = 0, layer: Layer) -> Any:
    """keras.ops.split(x, indices_or_sections, axis=0)"""
    source, at = (channels_first(g, x), twin_axis(axis, x.rank)) if has_twin(x) else (x, axis)
    size = source.dim(at)
    if not isinstance(size, int):
        refuse(g, layer, "the axis that is split has no fixed size")
    if isinstance(indices_or_sections, int):
        sizes = [size // indices_or_sections] * indices_or_sections
    else:
        bounds = [0, *indices_or_sections, size]
        sizes = [b - a for a, b in pairwise(bounds)]
    parts = g.call("Split", source, sizes, axis=at, outputs=len(sizes)) if len(sizes) > 1 else (source,)
    return [channels_last(g, p) for p in parts] if has_twin(x) else list(parts)


@symbolic(DIALECT, "ops.Pad")
def pad_op(
    g: GraphBuilder, x: Value, constant_values: Any = None, *, pad_width: Any, mode: str = "constant", layer: Layer
) -> Value:
    """keras.ops.pad(x, pad_width, mode="constant", constant_values=None)"""
    modes = {"constant": "constant", "reflect": "reflect", "edge": "edge"}
    if mode not in modes:
        refuse(g, layer, f"mode={mode!r} is not supported")
    pairs = [(pad_width, pad_width)] if isinstance(pad_width, int) else [_pair(p) for p in pad_width]
    pairs = pairs * x.rank if len(pairs) == 1 else pairs
    return pad(g, x, pairs, modes[mode], constant_values)


def _pair(value: Any) -> tuple[int, int]:
    return (int(value), int(value)) if isinstance(value, int) else (int(value[0]), int(value[1]))


@symbolic(DIALECT, "ops.GetItem")
def get_item(g: GraphBuilder, x: Value, key: Any, *, layer: Layer) -> Value:
    """x[key], with ints, slices, None and ..."""
    entries = list(key) if isinstance(key, (list, tuple)) else [key]
    used = sum(1 for e in entries if e is not None and e is not ...)
    if ... in entries:
        at = entries.index(...)
        entries[at : at + 1] = [slice(None)] * (x.rank - used)
    starts, ends, axes, steps, dropped, added = [], [], [], [], [], []
    axis = position = 0
    for entry in entries:
        if entry is None:
            added.append(position)
            position += 1
            continue
        if isinstance(entry, slice):
            start, stop, step = entry.start, entry.stop, entry.step or 1
            if (start, stop, step) != (None, None, 1):
                far = 2**62 if step > 0 else -(2**62)
                starts.append((0 if step > 0 else -1) if start is None else int(start))
                ends.append(far if stop is None else int(stop))
                axes.append(axis)
                steps.append(step)
            position += 1
        elif isinstance(entry, int):
            starts.append(entry)
            ends.append(entry + 1 if entry != -1 else 2**62)
            axes.append(axis)
            steps.append(1)
            dropped.append(axis)
        else:
            refuse(g, layer, f"the index {entry!r} is not supported")
        axis += 1
    y = g.Slice(x, starts, ends, axes, steps) if axes else x
    y = g.Squeeze(y, dropped) if dropped else y
    return g.Unsqueeze(y, added) if added else y


@symbolic(DIALECT, "ops.Take")
def take(g: GraphBuilder, x: Value, indices: Any, *, axis: int | None = None, layer: Layer) -> Value:
    """keras.ops.take(x, indices, axis=None)"""
    if axis is None:
        refuse(g, layer, "axis=None is not supported")
    index = indices if isinstance(indices, Value) else g.constant(np.asarray(indices, np.int64))
    return g.Gather(x, cast(g, index, ir.DataType.INT64), axis=axis)


@symbolic(DIALECT, "ops.Repeat")
def repeat(g: GraphBuilder, x: Value, *, repeats: Any, axis: int | None = None, layer: Layer) -> Value:
    """keras.ops.repeat(x, repeats, axis=None)"""
    size = None if axis is None else x.dim(axis)
    if not isinstance(repeats, int) or axis is None or size is None or None in (x.sizes or (None,)):
        refuse(g, layer, f"repeats={repeats!r}, axis={axis!r} is not supported")
    at = axis % x.rank
    wide = g.Unsqueeze(x, [at + 1])
    tiled = g.Tile(wide, [repeats if i == at + 1 else 1 for i in range(x.rank + 1)])
    assert x.sizes is not None
    return g.reshape(tiled, [size * repeats if i == at else s for i, s in enumerate(x.sizes)])


@symbolic(DIALECT, "ops.ZerosLike", "ops.OnesLike")
def filled_like(g: GraphBuilder, x: Value, *, dtype: Any = None, layer: Layer) -> Value:
    """keras.ops.zeros_like(x, dtype=None)"""
    element = as_dtype(dtype) if dtype else x.element
    fill = np.asarray([int(layer.class_name == "OnesLike")], element.numpy())
    return g.ConstantOfShape(g.Shape(x), value=ir.tensor(fill))


@symbolic(DIALECT, "ops.Einsum")
def einsum(g: GraphBuilder, *operands: Value, subscripts: str) -> Value:
    """keras.ops.einsum(subscripts, *operands)"""
    return g.Einsum(*together(g, *operands), equation=subscripts.replace(" ", ""))


@symbolic(DIALECT, "ops.BroadcastTo")
def broadcast_to(g: GraphBuilder, x: Value, *, shape: Sequence[int]) -> Value:
    """keras.ops.broadcast_to(x, shape)"""
    return g.expand(x, list(shape))
