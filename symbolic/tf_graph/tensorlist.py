"""Lists of tensors (TensorArray), kept as one tensor whose first axis counts the elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ..dims import Sizes
from ..registry import symbolic
from ..value import Value
from .common import DIALECT, cast, int64, like, refused

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@dataclass(frozen=True)
class TensorList:
    """A list of tensors of one shape.

    Attributes:
        dtype: Dtype of the elements.
        length: Number of elements, an int64 scalar.
        data: All elements, stacked; None as long as nothing is known about their shape.
        sizes: What is known about the shape of an element.
    """

    dtype: ir.DataType
    length: Value
    data: Value | None = None
    sizes: Sizes | None = None


def _sizes(shape: Value) -> Sizes | None:
    """Sizes out of the operand that describes an element; -1 alone means any rank."""
    if shape.rank == 0 or shape.dims is None:
        return None
    return tuple(None if isinstance(d, int) and d < 0 else d for d in shape.dims)


def filled(g: GraphBuilder, items: TensorList, sizes: Sizes | None) -> TensorList:
    """A list that has a tensor: zeros where there was none."""
    if items.data is not None:
        return items
    known = items.sizes if sizes is None else sizes
    if known is None or any(d is None for d in known):
        raise refused(g, "TensorListReserve", "the shape of the elements isn't known")
    zero = g.constant(np.zeros((), items.dtype.numpy()))
    data = g.Expand(zero, g.shape_vector([items.length, *known]))
    first = items.length.dims[0] if items.length.dims else None
    data.sizes = (first, *known)
    return replace(items, data=data, sizes=tuple(known))


def _data(g: GraphBuilder, items: TensorList) -> Value:
    found = filled(g, items, None).data
    assert found is not None
    return found


@symbolic(DIALECT, "TensorListReserve")
def reserve(g: GraphBuilder, shape: Value, count: Value, *, element_dtype: ir.DataType) -> TensorList:
    """TensorListReserve(element_shape: shape_type, num_elements: int32, element_dtype: type) -> variant"""
    return TensorList(element_dtype, g.Reshape(int64(g, count), []), None, _sizes(shape))


@symbolic(DIALECT, "EmptyTensorList")
def empty(g: GraphBuilder, shape: Value, most: Value, *, element_dtype: ir.DataType) -> TensorList:
    """EmptyTensorList(element_shape: shape_type, max_num_elements: int32, element_dtype: type) -> variant"""
    return TensorList(element_dtype, g.constant(np.array(0)), None, _sizes(shape))


@symbolic(DIALECT, "TensorListFromTensor")
def from_tensor(g: GraphBuilder, x: Value, shape: Value) -> TensorList:
    """TensorListFromTensor(tensor: element_dtype, element_shape: shape_type) -> variant"""
    sizes = None if x.sizes is None else x.sizes[1:]
    return TensorList(x.element, g.Squeeze(g.Shape(x, end=1), [0]), x, sizes)


@symbolic(DIALECT, "TensorListGetItem")
def get_item(g: GraphBuilder, items: TensorList, index: Value, shape: Value, *, element_dtype: Any = None) -> Value:
    """TensorListGetItem(input_handle: variant, index: int32, element_shape: int32, element_dtype) -> element_dtype"""
    return g.Gather(_data(g, items), index, axis=0)


@symbolic(DIALECT, "TensorListSetItem")
def set_item(
    g: GraphBuilder, items: TensorList, index: Value, item: Value, *, resize_if_index_out_of_bounds: bool = False
) -> TensorList:
    """TensorListSetItem(input_handle: variant, index: int32, item: element_dtype) -> variant"""
    if resize_if_index_out_of_bounds:
        items = _reaching(g, items, index, item)
    whole = filled(g, items, item.sizes) if items.sizes is None or None in items.sizes else filled(g, items, None)
    at = g.Reshape(int64(g, index), [1, 1])
    assert whole.data is not None
    data: Value = g.ScatterND(whole.data, at, g.Unsqueeze(item, [0]))
    data.sizes = whole.data.sizes
    return replace(whole, data=data)


def _reaching(g: GraphBuilder, items: TensorList, index: Value, item: Value) -> TensorList:
    """The list with as many elements as an index needs; new ones are zeros."""
    length = g.Max(items.length, g.Add(g.Reshape(int64(g, index), []), 1))
    if items.data is None and items.length.dims == (0,) and item.sizes is not None and None not in item.sizes:
        return filled(g, replace(items, length=length), item.sizes)
    whole = filled(g, items, item.sizes)
    assert whole.data is not None
    rank = whole.data.rank
    pads = g.shape_vector([0] * rank + [g.Sub(length, items.length)] + [0] * (rank - 1))
    data: Value = g.Pad(whole.data, pads, like(g, 0, whole.data))
    data.sizes = (None, *whole.data.sizes[1:])  # type: ignore[index]
    return replace(whole, data=data, length=length)


@symbolic(DIALECT, "TensorListPushBack")
def push_back(g: GraphBuilder, items: TensorList, item: Value) -> TensorList:
    """TensorListPushBack(input_handle: variant, tensor: element_dtype) -> variant"""
    one = g.Unsqueeze(item, [0])
    length = g.Add(items.length, 1)
    if items.data is None and items.length.dims == (0,):
        return replace(items, data=one, length=length, sizes=item.sizes)
    whole = filled(g, items, item.sizes)
    return replace(whole, data=g.Concat(whole.data, one, axis=0), length=length)


@symbolic(DIALECT, "TensorListPopBack")
def pop_back(
    g: GraphBuilder, items: TensorList, shape: Value, *, element_dtype: Any = None
) -> tuple[TensorList, Value]:
    """TensorListPopBack(input_handle: variant, element_shape: int32) -> (variant, element_dtype)"""
    data = _data(g, items)
    last = g.Squeeze(g.Slice(data, [-1], [2**31 - 1], [0]), [0])
    return replace(items, data=g.Slice(data, [0], [-1], [0]), length=g.Sub(items.length, 1)), last


@symbolic(DIALECT, "TensorListStack")
def stack(
    g: GraphBuilder, items: TensorList, shape: Value, *, element_dtype: Any = None, num_elements: int = -1
) -> Value:
    """TensorListStack(input_handle: variant, element_shape: int32, num_elements: int) -> element_dtype"""
    told = _sizes(shape)
    if items.data is None and items.sizes is None and told is not None:
        return _data(g, filled(g, items, told))
    return _data(g, items)


@symbolic(DIALECT, "TensorListGather")
def gather(g: GraphBuilder, items: TensorList, indices: Value, shape: Value, *, element_dtype: Any = None) -> Value:
    """TensorListGather(input_handle: variant, indices: int32, element_shape: int32) -> element_dtype"""
    return g.Gather(_data(g, items), indices, axis=0)


@symbolic(DIALECT, "TensorListScatterIntoExistingList")
def scatter_into(g: GraphBuilder, items: TensorList, x: Value, indices: Value) -> TensorList:
    """TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: int32) -> variant"""
    whole = filled(g, items, None if x.sizes is None else x.sizes[1:])
    assert whole.data is not None
    data: Value = g.ScatterND(whole.data, g.Unsqueeze(int64(g, indices), [1]), x)
    data.sizes = whole.data.sizes
    return replace(whole, data=data)


@symbolic(DIALECT, "TensorListLength")
def length(g: GraphBuilder, items: TensorList) -> Value:
    """TensorListLength(input_handle: variant) -> int32"""
    return cast(g, items.length, ir.DataType.INT32)


@symbolic(DIALECT, "TensorListElementShape")
def element_shape(g: GraphBuilder, items: TensorList, *, shape_type: ir.DataType) -> Value:
    """TensorListElementShape(input_handle: variant, shape_type: type) -> shape_type"""
    if items.data is not None:
        return cast(g, g.Shape(items.data, start=1), shape_type)
    if items.sizes is None or any(not isinstance(s, int) for s in items.sizes):
        raise refused(g, "TensorListElementShape", "the shape of the elements isn't known")
    return g.constant(np.array(items.sizes, shape_type.numpy()))


@symbolic(DIALECT, "TensorListResize")
def resize(g: GraphBuilder, items: TensorList, count: Value) -> TensorList:
    """TensorListResize(input_handle: variant, size: int32) -> variant"""
    wanted = g.Reshape(int64(g, count), [])
    if items.data is None:
        return replace(items, length=wanted)
    more = g.Max(g.Sub(wanted, items.length), 0)
    rank = items.data.rank
    pads = g.shape_vector([0] * rank + [more] + [0] * (rank - 1))
    grown = g.Pad(items.data, pads, like(g, 0, items.data))
    cut: Value = g.Slice(grown, [0], g.Reshape(wanted, [1]), [0])
    return replace(items, data=cut, length=wanted)
