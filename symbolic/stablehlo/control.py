"""Branches and loops; what has no result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from ..value import Value
from ..xla import control
from ..xla.apply import lenient
from ..xla.region import Region

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@symbolic("stablehlo", "if")
@lenient
def if_(g: GraphBuilder, predicate: Value, regions: Sequence[Region]) -> list[Value]:
    """stablehlo.if(pred)"""
    if predicate.array is not None:
        return regions[0 if bool(predicate.array) else 1](g)
    return control.branch(g, predicate, regions[0], regions[1], [])


@symbolic("stablehlo", "case")
@lenient
def case(g: GraphBuilder, index: Value, regions: Sequence[Region]) -> list[Value]:
    """stablehlo.case(index): outside of the range the last branch"""
    if index.array is not None:
        number = int(index.array)
        return regions[number if 0 <= number < len(regions) else -1](g)
    count = len(regions)
    if count == 2 and control.converted_truth(index) is not None:
        return control.case(g, index, regions, [])
    inside = g.And(g.GreaterOrEqual(index, 0), g.Less(index, count))
    return control.case(g, g.Where(inside, index, g.Cast(g.constant(count - 1), to=index.element)), regions, [])


@symbolic("stablehlo", "while")
@lenient
def while_(g: GraphBuilder, *operands: Value, regions: Sequence[Region]) -> list[Value]:
    """stablehlo.while(*operands)"""
    return control.while_loop(g, regions[0], regions[1], [], [], operands)


@symbolic("stablehlo", "custom_call.shape_assertion", "custom_call.xla_ffi_python_cpu_callback.debug", "after_all")
@lenient
def nothing(g: GraphBuilder, *_: Value, **__: Any) -> list[Value]:
    """Has no result"""
    return []
