"""Random numbers: the threefry generator; keys are their two words on a last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..dims import Size
from ..registry import symbolic
from ..value import Value
from ..xla import bits, random_bits
from ..xla.apply import pointwise as elementwise

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("jaxpr", "random_seed")
def random_seed(g: GraphBuilder, seeds: Value, impl: Any) -> Value:
    """random_seed(seeds, *, impl)"""
    _only_threefry(impl)
    return random_bits.seed(g, seeds)


def _only_threefry(impl: Any) -> None:
    tag = getattr(impl, "tag", "fry")
    if tag != "fry":
        raise ValueError(f"the generator {getattr(impl, 'name', tag)} isn't supported; threefry2x32 is")


@symbolic("jaxpr", "random_wrap")
def random_wrap(g: GraphBuilder, base: Value, impl: Any) -> Value:
    """random_wrap(base, *, impl)"""
    _only_threefry(impl)
    return base


@symbolic("jaxpr", "random_unwrap", "random_clone")
def random_unwrap(g: GraphBuilder, keys: Value, **_: Any) -> Value:
    """random_unwrap(keys)"""
    return keys


@symbolic("jaxpr", "random_split")
def random_split(g: GraphBuilder, keys: Value, shape: Sequence[Size]) -> Value:
    """random_split(keys, *, shape)"""
    return random_bits.split(g, keys, shape)


@symbolic("jaxpr", "random_fold_in")
def random_fold_in(g: GraphBuilder, keys: Value, msgs: Value) -> Value:
    """random_fold_in(keys, msgs)"""
    return random_bits.fold_in(g, keys, msgs)


@symbolic("jaxpr", "random_bits")
def random_bits_(g: GraphBuilder, keys: Value, bit_width: int, shape: Sequence[Size], **_: Any) -> Value:
    """random_bits(keys, *, bit_width, shape)"""
    return random_bits.bits(g, keys, bit_width, shape)


@symbolic("jaxpr", "threefry2x32")
def threefry2x32(g: GraphBuilder, k1: Value, k2: Value, x1: Value, x2: Value) -> list[Value]:
    """threefry2x32(k1, k2, x1, x2)"""
    return list(random_bits.threefry2x32(g, k1, k2, x1, x2))


@symbolic("jaxpr", "bitcast_convert_type")
@elementwise
def bitcast_convert_type(g: GraphBuilder, x: Value, new_dtype: ir.DataType) -> Value:
    """bitcast_convert_type(operand, *, new_dtype), of the same width"""
    return bits.bitcast(g, x, new_dtype)


@symbolic("jaxpr", "nextafter")
@elementwise
def nextafter(g: GraphBuilder, x: Value, y: Value) -> Value:
    """nextafter(x, y)"""
    return bits.next_after(g, x, y)
