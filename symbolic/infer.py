"""Result types and sizes of operators, with symbolic sizes kept.

`infer` has quick rules for the common operators at the authoring signatures; whatever has none goes to the standard's
own inference (`infer_schema`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from .dims import Dim, Size, Sizes, exact_quotient, product
from .infer_composite import RULES
from .value import Value, tensor_type

Args = Sequence["Value | None"]
Attributes = Mapping[str, Any]
#: Type and sizes of each result.
Inferred = list[tuple["ir.TypeProtocol | None", "Sizes | None"]]
OneSize = int | Dim | None


def infer(op: str, args: Args, attributes: Attributes, outputs: int) -> Inferred | None:
    """Types and sizes of the results, or None where there is no quick rule."""
    rule = _RULES.get(op)
    if rule is None:
        return None
    return rule(args, attributes, outputs)


# --- sizes ---------------------------------------------------------------------------------------------------------


def broadcast_size(a: OneSize, b: OneSize) -> OneSize:
    """Size that two sizes broadcast to; None where that can't be told."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise ValueError(f"sizes {a} and {b} don't broadcast")
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    return None


def broadcast(*shapes: Sizes | None) -> Sizes | None:
    """Sizes that shapes broadcast to (numpy rule); None if a rank is unknown.

    Raises:
        ValueError: Two known sizes do not fit.
    """
    if len(shapes) == 2 and shapes[1] == () and shapes[0] is not None:
        return shapes[0]
    result: Sizes = ()
    for shape in shapes:
        if shape is None:
            return None
        if shape == result or not shape:
            continue
        if not result:
            result = shape
            continue
        if len(shape) < len(result):
            shape = (1,) * (len(result) - len(shape)) + shape
        elif len(result) < len(shape):
            result = (1,) * (len(shape) - len(result)) + result
        result = tuple(broadcast_size(a, b) for a, b in zip(result, shape, strict=True))
    return result


def constant_ints(value: Value | None) -> list[int] | None:
    """Contents of a constant integer operand as a flat list."""
    if value is None or value.array is None:
        return None
    return [int(v) for v in value.array.reshape(-1)]


def axis_index(axis: int, rank: int) -> int:
    """A possibly negative axis as an index; raises ValueError outside the rank."""
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"axis {axis} lies outside rank {rank}")
    return axis % rank if rank else 0


# --- rules ---------------------------------------------------------------------------------------------------------


def _same(args: Args, _: Attributes, __: int) -> Inferred:
    x = args[0]
    assert x is not None
    return [(x.type, x.sizes)]


def _elementwise(args: Args, _: Attributes, __: int) -> Inferred:
    first = args[0]
    assert first is not None
    return [(first.type, broadcast(*(a.sizes for a in args if a is not None)))]


def _comparison(args: Args, _: Attributes, __: int) -> Inferred:
    return [(tensor_type(ir.DataType.BOOL), broadcast(*(a.sizes for a in args if a is not None)))]


def _predicate(args: Args, _: Attributes, __: int) -> Inferred:
    assert args[0] is not None
    return [(tensor_type(ir.DataType.BOOL), args[0].sizes)]


def _where(args: Args, _: Attributes, __: int) -> Inferred:
    assert args[1] is not None
    return [(args[1].type, broadcast(*(a.sizes for a in args if a is not None)))]


def _cast(args: Args, attributes: Attributes, _: int) -> Inferred:
    assert args[0] is not None
    return [(tensor_type(ir.DataType(attributes["to"])), args[0].sizes)]


def _cast_like(args: Args, _: Attributes, __: int) -> Inferred:
    assert args[0] is not None and args[1] is not None
    return [(args[1].type, args[0].sizes)]


def _matmul(args: Args, _: Attributes, __: int) -> Inferred | None:
    a, b = args
    assert a is not None and b is not None
    if not a.sizes or not b.sizes:
        return None
    left, right = a.sizes, b.sizes
    inner = (left[-1], right[-2] if len(right) > 1 else right[-1])
    if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
        raise ValueError(f"matrix product of {_text(left)} and {_text(right)}: {inner[0]} is not {inner[1]}")
    batch = broadcast(left[:-2], right[:-2])
    assert batch is not None
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return [(a.type, batch + rows + columns)]


def _gemm(args: Args, attributes: Attributes, _: int) -> Inferred | None:
    a, b = args[0], args[1]
    assert a is not None and b is not None
    if a.sizes is None or b.sizes is None:
        return None
    m = a.sizes[1 if attributes.get("transA") else 0]
    n = b.sizes[0 if attributes.get("transB") else 1]
    return [(a.type, (m, n))]


def _window(size: OneSize, kernel: OneSize, stride: int, pads: int, dilation: int, ceil: bool = False) -> OneSize:
    if size is None or kernel is None:
        return None
    span: Size = size + pads - (dilation * (kernel - 1) + 1)
    return (span + (stride - 1 if ceil else 0)) // stride + 1


def _spatial(sizes: Sizes, kernel: Sizes, attributes: Attributes) -> Sizes | None:
    count = len(kernel)
    strides = attributes.get("strides") or [1] * count
    dilations = attributes.get("dilations") or [1] * count
    pads = attributes.get("pads") or [0] * 2 * count
    mode = attributes.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        return tuple(None if s is None else (s + (t - 1)) // t for s, t in zip(sizes, strides, strict=True))
    if mode == "VALID":
        pads = [0] * 2 * count
    ceil = bool(attributes.get("ceil_mode", 0))
    if ceil:
        return None  # the last window may be dropped: left to the standard's inference
    return tuple(
        _window(sizes[i], kernel[i], strides[i], pads[i] + pads[count + i], dilations[i]) for i in range(count)
    )


def _conv(args: Args, attributes: Attributes, _: int) -> Inferred | None:
    x, w = args[0], args[1]
    assert x is not None and w is not None
    if x.sizes is None or w.sizes is None:
        return None
    kernel = tuple(attributes.get("kernel_shape") or w.sizes[2:])
    spatial = _spatial(x.sizes[2:], kernel, attributes)
    return None if spatial is None else [(x.type, (x.sizes[0], w.sizes[0], *spatial))]


def _pool(args: Args, attributes: Attributes, outputs: int) -> Inferred | None:
    x = args[0]
    assert x is not None
    if x.sizes is None:
        return None
    spatial = _spatial(x.sizes[2:], tuple(attributes["kernel_shape"]), attributes)
    if spatial is None:
        return None
    sizes = (*x.sizes[:2], *spatial)
    results: Inferred = [(x.type, sizes), (tensor_type(ir.DataType.INT64), sizes)]
    return results[:outputs]


def _global_pool(args: Args, _: Attributes, __: int) -> Inferred:
    x = args[0]
    assert x is not None
    return [(x.type, None if x.sizes is None else x.sizes[:2] + (1,) * (len(x.sizes) - 2))]


def _reshape(args: Args, attributes: Attributes, _: int) -> Inferred:
    x, shape = args
    assert x is not None and shape is not None
    wanted = shape.dims
    if wanted is None:
        count = shape.sizes[0] if shape.sizes else None
        return [(x.type, (None,) * count if isinstance(count, int) else None)]
    sizes: list[OneSize] = []
    for i, size in enumerate(wanted):
        copies = size == 0 and not attributes.get("allowzero", 0)
        sizes.append((x.sizes[i] if x.sizes is not None and i < len(x.sizes) else None) if copies else size)
    if -1 in sizes:
        hole = sizes.index(-1)
        sizes[hole] = None
        rest = [s for i, s in enumerate(sizes) if i != hole]
        if x.sizes is not None and None not in x.sizes and None not in rest:
            total, known = product(x.sizes), product(rest)  # type: ignore[arg-type]
            sizes[hole] = exact_quotient(total, known)
            if sizes[hole] is None and isinstance(known, int) and isinstance(total, int) and known:
                raise ValueError(f"{_text(x.sizes)} can't be reshaped to {_text(wanted)}")
    elif x.sizes is not None:
        counts = {_count(x.sizes), _count(tuple(sizes))} - {None}
        if len(counts) == 2:
            raise ValueError(f"{_text(x.sizes)} can't be reshaped to {_text(tuple(sizes))}")
    return [(x.type, tuple(sizes))]


def _count(sizes: Sizes) -> int | None:
    total = 1
    for size in sizes:
        if not isinstance(size, int):
            return None
        total *= size
    return total


def _transpose(args: Args, attributes: Attributes, _: int) -> Inferred:
    x = args[0]
    assert x is not None
    if x.sizes is None:
        return [(x.type, None)]
    permutation = attributes.get("perm") or range(len(x.sizes))[::-1]
    if sorted(permutation) != list(range(len(x.sizes))):
        raise ValueError(f"perm {list(permutation)} doesn't fit rank {len(x.sizes)}")
    return [(x.type, tuple(x.sizes[p] for p in permutation))]


def _concat(args: Args, attributes: Attributes, _: int) -> Inferred:
    parts = [a for a in args if a is not None]
    if any(p.sizes is None for p in parts):
        return [(parts[0].type, None)]
    shapes: list[Sizes] = [p.sizes for p in parts if p.sizes is not None]
    axis = axis_index(attributes["axis"], len(shapes[0]))
    sizes = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(sizes):
            raise ValueError(f"concatenation of ranks {len(sizes)} and {len(shape)}")
        for i, size in enumerate(shape):
            if i == axis:
                ours = sizes[i]
                sizes[i] = None if ours is None or size is None else ours + size
            elif isinstance(size, int) and isinstance(sizes[i], int) and size != sizes[i]:
                raise ValueError(f"concatenation on axis {axis} of {_text(shapes[0])} and {_text(shape)}")
            elif not isinstance(sizes[i], int):
                sizes[i] = size if size is not None else sizes[i]
    return [(parts[0].type, tuple(sizes))]


def _split(args: Args, attributes: Attributes, outputs: int) -> Inferred:
    x = args[0]
    assert x is not None
    if x.sizes is None:
        return [(x.type, None)] * outputs
    axis = axis_index(attributes.get("axis", 0), len(x.sizes))
    parts: Sequence[OneSize] | None = args[1].dims if len(args) > 1 and args[1] is not None else None
    total = x.sizes[axis]
    if parts is None and len(args) < 2 and isinstance(total, int):
        chunk = -(-total // outputs)
        parts = [min(chunk, max(total - chunk * i, 0)) for i in range(outputs)]
    if parts is None:
        parts = [None] * outputs
    return [(x.type, (*x.sizes[:axis], part, *x.sizes[axis + 1 :])) for part in parts]


def _slice(args: Args, _: Attributes, __: int) -> Inferred:
    x = args[0]
    assert x is not None
    if x.sizes is None:
        return [(x.type, None)]
    starts, ends = (args[i].dims if args[i] is not None else None for i in (1, 2))  # type: ignore[union-attr]
    axes = constant_ints(args[3] if len(args) > 3 else None)
    steps = constant_ints(args[4] if len(args) > 4 else None)
    if axes is None and (len(args) <= 3 or args[3] is None):
        count = args[1].sizes[0] if args[1] is not None and args[1].sizes else None
        axes = list(range(count)) if isinstance(count, int) else None
    if axes is None:
        return [(x.type, (None,) * len(x.sizes))]
    sizes = list(x.sizes)
    for i, axis in enumerate(axes):
        step = 1 if len(args) <= 4 or args[4] is None else steps[i] if steps else None
        bounds = (starts[i] if starts else None, ends[i] if ends else None)
        sizes[axis] = _sliced(x.sizes[axis], *bounds, step)
    return [(x.type, tuple(sizes))]


def _sliced(size: OneSize, start: OneSize, end: OneSize, step: int | None) -> OneSize:
    """Size that is left of an axis by start:end:step, where it can be told."""
    if start is None or end is None or step is None:
        return None
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        if step < 0 and end < -size:
            return len(range(size)[start::step])
        return len(range(size)[start:end:step])
    if step != 1 or size is None:
        return None
    far = 2**31 - 1
    if isinstance(start, int) and isinstance(end, int):
        if end >= far:  # up to the end of an open axis
            return size if start == 0 else (-start if start < 0 else size - start)
        if end < 0 <= start:
            return size + end - start
        if start < 0 and end < 0:
            return end - start
        return None
    if end == size:
        return size - start if isinstance(start, Dim) or start >= 0 else -start
    if isinstance(start, Dim) and isinstance(end, int) and end >= far:
        return size - start
    # bounds that are sizes themselves are taken to lie inside the axis only if the source says so (expect)
    return None


def _gather(args: Args, attributes: Attributes, _: int) -> Inferred:
    x, indices = args
    assert x is not None and indices is not None
    if x.sizes is None or indices.sizes is None:
        return [(x.type, None)]
    axis = axis_index(attributes.get("axis", 0), len(x.sizes))
    return [(x.type, x.sizes[:axis] + indices.sizes + x.sizes[axis + 1 :])]


def _like_second(args: Args, _: Attributes, __: int) -> Inferred:
    assert args[0] is not None and args[1] is not None
    return [(args[0].type, args[1].sizes)]


def _unsqueeze(args: Args, _: Attributes, __: int) -> Inferred:
    x = args[0]
    axes = constant_ints(args[1])
    assert x is not None
    if x.sizes is None or axes is None:
        count = _length(args[1])
        return [(x.type, None if x.sizes is None or count is None else (None,) * (len(x.sizes) + count))]
    rank = len(x.sizes) + len(axes)
    new = {axis_index(a, rank) for a in axes}
    rest = iter(x.sizes)
    return [(x.type, tuple(1 if i in new else next(rest) for i in range(rank)))]


def _squeeze(args: Args, _: Attributes, __: int) -> Inferred:
    x = args[0]
    assert x is not None
    axes = constant_ints(args[1] if len(args) > 1 else None)
    if x.sizes is None or axes is None:
        count = _length(args[1]) if len(args) > 1 else None
        if x.sizes is not None and count is not None:
            return [(x.type, (None,) * (len(x.sizes) - count))]
        known = x.sizes is not None and (len(args) < 2 or args[1] is None) and _count(x.sizes) is not None
        return [(x.type, tuple(s for s in x.sizes or () if s != 1) if known else None)]
    gone = {axis_index(a, len(x.sizes)) for a in axes}
    for axis in gone:
        if isinstance(x.sizes[axis], int) and x.sizes[axis] != 1:
            raise ValueError(f"axis {axis} of {_text(x.sizes)} can't be squeezed")
    return [(x.type, tuple(s for i, s in enumerate(x.sizes) if i not in gone))]


def _flatten(args: Args, attributes: Attributes, _: int) -> Inferred:
    x = args[0]
    assert x is not None
    if x.sizes is None:
        return [(x.type, (None, None))]
    axis = attributes.get("axis", 1)
    axis = axis + len(x.sizes) if axis < 0 else axis
    return [(x.type, tuple(None if None in part else product(part) for part in (x.sizes[:axis], x.sizes[axis:])))]  # type: ignore[arg-type]


def _expand(args: Args, _: Attributes, __: int) -> Inferred:
    x, shape = args
    assert x is not None and shape is not None
    if shape.dims is None:
        count = shape.sizes[0] if shape.sizes else None
        if not isinstance(count, int) or x.sizes is None:
            return [(x.type, None)]
        return [(x.type, (None,) * max(count, len(x.sizes)))]
    return [(x.type, broadcast(x.sizes, shape.dims))]


def _tile(args: Args, _: Attributes, __: int) -> Inferred:
    x, repeats = args
    assert x is not None and repeats is not None
    if x.sizes is None or repeats.dims is None:
        return [(x.type, None if x.sizes is None else (None,) * len(x.sizes))]
    pairs = zip(x.sizes, repeats.dims, strict=True)
    return [(x.type, tuple(None if s is None or r is None else s * r for s, r in pairs))]


def _shape(args: Args, attributes: Attributes, _: int) -> Inferred:
    x = args[0]
    assert x is not None
    window = slice(attributes.get("start", 0), attributes.get("end"))
    count = None if x.sizes is None else len(x.sizes[window])
    return [(tensor_type(ir.DataType.INT64), (count,))]


def _reduce(args: Args, attributes: Attributes, _: int) -> Inferred:
    x = args[0]
    assert x is not None
    given = len(args) > 1 and args[1] is not None
    count = _length(args[1]) if given else None
    axes = [] if count == 0 else constant_ints(args[1]) if given else None
    sizes = reduced(x.sizes, axes, given, attributes)
    if sizes is None and x.sizes is not None and count is not None:
        sizes = (None,) * (len(x.sizes) - count)
    return [(x.type, sizes)]


def _length(vector: Value | None) -> int | None:
    """Number of entries of a vector."""
    size = vector.sizes[0] if vector is not None and vector.sizes else None
    return size if isinstance(size, int) else None


def reduced(sizes: Sizes | None, axes: list[int] | None, given: bool, attributes: Attributes) -> Sizes | None:
    """Sizes after a reduction; `given` tells whether axes are there, also where their contents are unknown."""
    if sizes is None:
        return None
    keep = bool(attributes.get("keepdims", 1))
    if given and axes is None:
        return (None,) * len(sizes) if keep else None
    if not axes:
        if attributes.get("noop_with_empty_axes", 0):
            return sizes
        return (1,) * len(sizes) if keep else ()
    gone = {axis_index(a, len(sizes)) for a in axes}
    if keep:
        return tuple(1 if i in gone else s for i, s in enumerate(sizes))
    return tuple(s for i, s in enumerate(sizes) if i not in gone)


def _arg_reduce(args: Args, attributes: Attributes, _: int) -> Inferred:
    x = args[0]
    assert x is not None
    return [(tensor_type(ir.DataType.INT64), reduced(x.sizes, [attributes.get("axis", 0)], True, attributes))]


def _range(args: Args, _: Attributes, __: int) -> Inferred:
    start, limit, delta = args
    assert start is not None and limit is not None and delta is not None
    size: OneSize = None
    if start.dims and limit.dims and delta.dims == (1,) and start.dims[0] is not None and limit.dims[0] is not None:
        size = limit.dims[0] - start.dims[0]
    return [(start.type, (size,))]


def _constant_of_shape(args: Args, attributes: Attributes, _: int) -> Inferred:
    shape = args[0]
    assert shape is not None
    value = attributes.get("value")
    dtype = ir.DataType.FLOAT if value is None else ir.DataType(getattr(value, "dtype", None) or ir.DataType.FLOAT)
    if shape.dims is not None:
        return [(tensor_type(dtype), shape.dims)]
    count = shape.sizes[0] if shape.sizes else None
    return [(tensor_type(dtype), (None,) * count if isinstance(count, int) else None)]


def _pad(args: Args, _: Attributes, __: int) -> Inferred:
    x, pads = args[0], args[1]
    assert x is not None and pads is not None
    if x.sizes is None:
        return [(x.type, None)]
    given = len(args) > 3 and args[3] is not None
    axes = constant_ints(args[3]) if given else list(range(len(x.sizes)))
    if pads.dims is None or axes is None:
        return [(x.type, (None,) * len(x.sizes))]
    sizes = list(x.sizes)
    for i, axis in enumerate(axes):
        size, before, after = sizes[axis], pads.dims[i], pads.dims[len(axes) + i]
        sizes[axis] = None if size is None or before is None or after is None else size + before + after
    return [(x.type, tuple(sizes))]


def _normalization(args: Args, _: Attributes, outputs: int) -> Inferred | None:
    x = args[0]
    assert x is not None
    return [(x.type, x.sizes)] if outputs == 1 else None


def _nonzero(args: Args, _: Attributes, __: int) -> Inferred:
    x = args[0]
    assert x is not None
    return [(tensor_type(ir.DataType.INT64), (None if x.sizes is None else len(x.sizes), None))]


def _text(sizes: Sizes) -> str:
    return "[" + ", ".join("?" if s is None else str(s) for s in sizes) + "]"


def _table() -> dict[str, Callable[[Args, Attributes, int], Inferred | None]]:
    rules: dict[str, Callable[[Args, Attributes, int], Inferred | None]] = {
        **RULES,
        "Where": _where, "Cast": _cast, "CastLike": _cast_like, "MatMul": _matmul, "Gemm": _gemm, "Conv": _conv,
        "MaxPool": _pool, "AveragePool": _pool, "GlobalAveragePool": _global_pool, "GlobalMaxPool": _global_pool,
        "Reshape": _reshape, "Transpose": _transpose, "Concat": _concat, "Split": _split, "Slice": _slice,
        "Gather": _gather, "GatherElements": _like_second, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze,
        "Flatten": _flatten, "Expand": _expand, "Tile": _tile, "Shape": _shape, "Range": _range, "Pad": _pad,
        "Size": lambda a, _, __: [(tensor_type(ir.DataType.INT64), ())], "NonZero": _nonzero,
        "ConstantOfShape": _constant_of_shape, "ArgMax": _arg_reduce, "ArgMin": _arg_reduce,
    }  # fmt: skip
    for op in ("BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization",
               "RMSNormalization", "Dropout"):  # fmt: skip
        rules[op] = _normalization
    for op in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
               "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):  # fmt: skip
        rules[op] = _reduce
    for op in ("Add", "Sub", "Mul", "Div", "Pow", "Mod", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
               "BitShift", "Min", "Max", "Mean", "Sum"):  # fmt: skip
        rules[op] = _elementwise
    for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
        rules[op] = _comparison
    for op in ("IsNaN", "IsInf"):
        rules[op] = _predicate
    for op in ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg", "Abs", "Floor", "Ceil", "Round", "Sign",
               "Reciprocal", "Not", "Identity", "Softmax", "LogSoftmax", "Clip", "LeakyRelu", "Elu", "Selu", "Celu",
               "Gelu", "HardSigmoid", "HardSwish", "Mish", "Softplus", "Softsign", "PRelu", "Sin", "Cos", "Tan", "Asin",
               "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "CumSum", "Trilu", "ThresholdedRelu",
               "BitwiseNot", "ScatterElements", "ScatterND", "LRN", "Swish", "Hardmax"):  # fmt: skip
        rules[op] = _same
    return rules


_RULES = _table()
