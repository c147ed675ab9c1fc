"""What Paddle's ops share: arguments that come as operands, axes, dtypes, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..errors import MissingOp, UnsupportedOps
from ..nn.sizes import Size as Size
from ..nn.sizes import as_value as as_value
from ..nn.sizes import axis_of as axis_of
from ..nn.sizes import size_at as size_at
from ..nn.sizes import sizes_of, times
from ..value import Value

DataType = ir.DataType
FLOATS = (DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT, DataType.DOUBLE)
INTEGERS = (
    *(DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64),
    *(DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64),
)
#: Integers that arithmetic is done in int32 for: onnxruntime has few kernels for them.
NARROW = (DataType.INT8, DataType.INT16, DataType.UINT8, DataType.UINT16)
#: Sizes of all axes.
sizes = sizes_of
#: Product of sizes.
merged = times


def refused(g: GraphBuilder, op: str, reason: str) -> UnsupportedOps:
    """The error for an option that an op's function doesn't do."""
    return UnsupportedOps([MissingOp("paddle_pir", op, 1, (g.location,), reason)])


def is_float(x: Value) -> bool:
    """Whether the elements are floating-point numbers."""
    return x.element in FLOATS


def cast(g: GraphBuilder, x: Value, dtype: DataType | None) -> Value:
    """The tensor in another dtype; None: as it is."""
    return x if dtype is None or x.dtype == dtype else g.Cast(x, to=dtype)


def compute(g: GraphBuilder, op: str, *operands: Value, **attributes: Any) -> Value:
    """An operator on tensors of one dtype; narrow integers are computed in int32 and cut back, as they wrap round."""
    dtype = operands[0].element
    if dtype not in NARROW:
        return g.call(op, *operands, **attributes)  # type: ignore[no-any-return]
    wide = [cast(g, o, DataType.INT32) if o.dtype == dtype else o for o in operands]
    result: Value = g.call(op, *wide, **attributes)
    return cast(g, result, dtype) if result.dtype == DataType.INT32 else result


def ints(g: GraphBuilder, operand: Any, op: str, what: str) -> list[int]:
    """A list of numbers that has to be known: an attribute, or a constant operand."""
    if operand is None:
        return []
    if isinstance(operand, (int, np.integer)):
        return [int(operand)]
    if isinstance(operand, Value):
        dims = operand.dims
        if operand.array is not None:
            return [int(v) for v in operand.array.reshape(-1)]
        if dims is not None and all(isinstance(d, int) for d in dims):
            return [int(d) for d in dims]  # type: ignore[arg-type]
        raise refused(g, op, f"{what} computed by the model isn't supported")
    found: list[int] = []
    for one in operand:
        found.extend(ints(g, one, op, what))
    return found


def number(g: GraphBuilder, operand: Any, op: str, what: str) -> float:
    """A number that has to be known: an attribute, or a constant operand."""
    if isinstance(operand, Value):
        if operand.array is None or operand.array.size != 1:
            raise refused(g, op, f"{what} computed by the model isn't supported")
        return operand.array.reshape(-1)[0].item()  # type: ignore[no-any-return]
    return operand  # type: ignore[no-any-return]


def known_number(operand: Any) -> float | None:
    """A number where it is known, else None."""
    if isinstance(operand, Value):
        return operand.array.reshape(-1)[0].item() if operand.array is not None and operand.array.size == 1 else None
    return operand  # type: ignore[no-any-return]


def size_list(g: GraphBuilder, operand: Any, op: str) -> list[Size]:
    """Sizes from an attribute, a vector, or a list of scalars; those that are not known stay values."""
    if isinstance(operand, Value):
        if operand.dims is not None and None not in operand.dims:
            return list(operand.dims)  # type: ignore[arg-type]
        if operand.rank == 0:
            return [_int64(g, operand)]
        count = operand.dim(0)
        if not isinstance(count, int):
            raise refused(g, op, "a shape of unknown length isn't supported")
        known = operand.dims or (None,) * count
        return [
            d if d is not None else g.Squeeze(g.Slice(_int64(g, operand), [i], [i + 1], [0]), [0])
            for i, d in enumerate(known)
        ]
    found: list[Size] = []
    for one in operand:
        found.extend([int(one)] if isinstance(one, (int, np.integer)) else size_list(g, one, op))
    return found


def _int64(g: GraphBuilder, x: Value) -> Value:
    x = cast(g, x, DataType.INT64)
    return g.Reshape(x, []) if x.rank == 0 and x.sizes != () else x


def move(g: GraphBuilder, x: Value, order: Sequence[int]) -> Value:
    """Transpose, unless the order is as it was."""
    return x if list(order) == list(range(len(order))) else g.Transpose(x, perm=list(order))


def shape_of(g: GraphBuilder, x: Value) -> Value:
    """The whole shape as a vector."""
    return g.shape_vector(sizes(g, x)) if x.rank else g.constant(np.zeros(0, np.int64))


def flat(g: GraphBuilder, x: Value) -> Value:
    """The tensor as a vector."""
    return x if x.rank == 1 else g.Reshape(x, [-1])


def scalar_of(g: GraphBuilder, x: Value) -> Value:
    """A tensor of one element as a scalar."""
    return x if x.rank == 0 else g.Reshape(x, [])


def full(g: GraphBuilder, sizes: Sequence[Size], value: Any, dtype: DataType) -> Value:
    """A tensor of one number."""
    fill = np.asarray(value).astype(dtype.numpy())
    if all(isinstance(s, int) for s in sizes):
        return g.constant(np.full([int(s) for s in sizes], fill, dtype.numpy()))  # type: ignore[arg-type]
    return g.expand(g.constant(fill), list(sizes))


def like(g: GraphBuilder, x: Value, value: Any) -> Value:
    """The number as a scalar constant of the tensor's dtype."""
    return g.constant(np.asarray(value).astype(x.element.numpy()))
