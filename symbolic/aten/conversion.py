"""Changes of dtype, and ops that only copy."""

from __future__ import annotations

from typing import Any

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .promotion import DataType, cast
from .shape import sizes


@symbolic(
    "aten", "clone", "detach", "contiguous", "alias", "lift_fresh_copy", "lift", "lift_fresh", "detach_copy",
    "alias_copy", "resolve_conj", "resolve_neg", "view_as_real_copy", "conj_physical", "conj", "real", "requires_grad",
)  # fmt: skip
def clone(g: GraphBuilder, self: Value) -> Value:
    """aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"""
    return self


@symbolic("aten", "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(g: GraphBuilder, input: Value, p: float, train: bool) -> Value:
    """aten::dropout(Tensor input, float p, bool train) -> Tensor"""
    from .promotion import unsupported

    if train and p:
        raise unsupported("dropout in training mode: put the model in evaluation mode", g)
    return input


@symbolic("aten", "native_dropout")
def native_dropout(g: GraphBuilder, input: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    """aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"""
    from .creation import ones_like

    return dropout(g, input, p, bool(train)), ones_like(g, input, dtype=DataType.BOOL)


@symbolic("aten", "to.dtype")
def to_dtype(g: GraphBuilder, self: Value, dtype: DataType, non_blocking: Any = False, copy: Any = False,
             memory_format: Any = None) -> Value:  # fmt: skip
    """aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, ...) -> Tensor(a)"""
    return cast(g, self, dtype)


@symbolic("aten", "to.device")
def to_device(g: GraphBuilder, self: Value, device: Any, dtype: DataType, non_blocking: Any = False, copy: Any = False,
              memory_format: Any = None) -> Value:  # fmt: skip
    """aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, ...) -> Tensor(a)"""
    return cast(g, self, dtype)


@symbolic("aten", "to.dtype_layout", "_to_copy", "to.prim_Device")
def to_copy(
    g: GraphBuilder, self: Value, device: Any = None, dtype: DataType | None = None, copy: Any = False
) -> Value:
    """aten::_to_copy(Tensor self, *, ScalarType? dtype=None, ...) -> Tensor"""
    return self if dtype is None else cast(g, self, dtype)


@symbolic("aten", "to.prim_dtype")
def to_prim_dtype(g: GraphBuilder, self: Value, dtype: DataType | None = None, non_blocking: Any = False,
                  copy: Any = False) -> Value:  # fmt: skip
    """aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(a|b)"""
    return self if dtype is None else cast(g, self, dtype)


@symbolic("aten", "to.other")
def to_other(g: GraphBuilder, self: Value, other: Value, non_blocking: Any = False, copy: Any = False,
             memory_format: Any = None) -> Value:  # fmt: skip
    """aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, ...) -> Tensor(a)"""
    return cast(g, self, other.element)


@symbolic("aten", "type_as")
def type_as(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::type_as(Tensor self, Tensor other) -> Tensor"""
    return cast(g, self, other.element)


@symbolic("prims", "convert_element_type")
def convert_element_type(g: GraphBuilder, a: Value, dtype: DataType) -> Value:
    """prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor"""
    return cast(g, a, dtype)


@symbolic("aten", "item", "_local_scalar_dense")
def item(g: GraphBuilder, self: Value) -> Value:
    """aten::item(Tensor self) -> Scalar"""
    return self if self.rank == 0 else g.reshape(self, [])


@symbolic("aten", "copy")
def copy(g: GraphBuilder, self: Value, src: Value, non_blocking: Any = False) -> Value:
    """aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"""
    return g.expand(cast(g, src, self.element), sizes(g, self))
