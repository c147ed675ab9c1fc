"""What TensorFlow's ops share: operands that have to be known, sizes, layouts, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..errors import MissingOp, UnsupportedOps
from ..nn.layout import broadcast_twin, channels_last, has_twin
from ..nn.sizes import Size as Size
from ..nn.sizes import as_value as as_value
from ..nn.sizes import size_at as size_at
from ..nn.sizes import sizes_of as _sizes_of
from ..nn.sizes import times as times
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

DIALECT = "tf_graph"
#: Sizes of all axes.
shape_of = _sizes_of
DataType = ir.DataType
#: Larger than every size: the end of a slice that goes to the end.
END = 2**31 - 1


def refused(g: GraphBuilder, op: str, reason: str) -> UnsupportedOps:
    """The error for an option that an op's function doesn't do."""
    return UnsupportedOps([MissingOp(DIALECT, op, 1, (g.location,), reason)])


def cast(g: GraphBuilder, x: Value, dtype: ir.DataType) -> Value:
    """The tensor in another dtype."""
    return x if x.dtype == dtype else g.Cast(x, to=dtype)


def int64(g: GraphBuilder, x: Value) -> Value:
    """Integers as ONNX takes indices and sizes."""
    return cast(g, x, DataType.INT64)


def like(g: GraphBuilder, value: Any, x: Value) -> Value:
    """A number as a scalar constant of the tensor's dtype."""
    return g.constant(np.asarray(value).astype(x.element.numpy()))


def ints(g: GraphBuilder, x: Value, op: str, what: str) -> list[int]:
    """Integers that have to be known when the model is converted.

    Raises:
        UnsupportedOps: They are computed by the model.
    """
    if x.array is not None:
        return [int(v) for v in x.array.reshape(-1)]
    if x.dims is not None and all(isinstance(d, int) for d in x.dims):
        return [d for d in x.dims if isinstance(d, int)]
    raise refused(g, op, f"{what} computed by the model isn't supported")


def number(g: GraphBuilder, x: Value, op: str, what: str) -> Any:
    """A scalar that has to be known when the model is converted."""
    if x.array is None or x.array.size != 1:
        raise refused(g, op, f"{what} computed by the model isn't supported")
    return x.array.reshape(-1)[0].item()


def sizes_of(g: GraphBuilder, x: Value, op: str) -> list[Size]:
    """A vector of sizes; those that are not known stay values."""
    if x.dims is not None and None not in x.dims:
        return [d for d in x.dims if d is not None]
    count = x.dim(0) if x.rank else 1
    if not isinstance(count, int):
        raise refused(g, op, "a shape of unknown length isn't supported")
    vector = int64(g, x)
    if not x.rank:
        return [vector]
    known = x.dims or (None,) * count
    return [d if d is not None else g.Squeeze(g.Slice(vector, [i], [i + 1], [0]), [0]) for i, d in enumerate(known)]


def on_twins(g: GraphBuilder, function: Callable[..., Value], *operands: Value, **options: Any) -> Value:
    """An elementwise function with numpy's broadcasting, on channels-first twins where an operand has one."""
    known = [o for o in operands if o.sizes is not None]
    rank = max((o.rank for o in known), default=0)
    if rank < 3 or len(known) < len(operands) or not any(has_twin(o) and o.rank == rank for o in operands):
        return function(g, *operands, **options)
    return channels_last(g, function(g, *(broadcast_twin(g, o, rank) for o in operands), **options))


def scalar_of(g: GraphBuilder, x: Value) -> Value:
    """A tensor of one element as a scalar."""
    return x if x.sizes == () else g.Reshape(x, [])


def known_axis(g: GraphBuilder, axis: Value, rank: int, op: str) -> int:
    """An axis that an operand names."""
    return ints(g, axis, op, "an axis")[0] % max(rank, 1)
