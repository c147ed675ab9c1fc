"""What lowerings share: refusals and constant operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import onnx_ir as ir

from ..errors import OpsetError
from ..infer import constant_ints

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

FLOATS = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE})
NARROW_FLOATS = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16})
BITS = {
    ir.DataType.INT8: 8, ir.DataType.INT16: 16, ir.DataType.INT32: 32, ir.DataType.INT64: 64,
    ir.DataType.UINT8: 8, ir.DataType.UINT16: 16, ir.DataType.UINT32: 32, ir.DataType.UINT64: 64,
}  # fmt: skip
SIGNED = frozenset({ir.DataType.INT8, ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64})


def refuse(g: GraphBuilder, op: str, detail: str, needs: int | None = None) -> NoReturn:
    """Raises OpsetError: `detail` of `op` isn't available at the asked opset."""
    raise OpsetError(op, detail=detail, needs=needs, target=g.opset, location=g.location)


def in_float(g: GraphBuilder, x: Value, compute: Callable[[Value], Any]) -> Any:
    """Computes on a 16-bit float in float, as kernels do; other dtypes as they are."""
    if x.element not in NARROW_FLOATS:
        return compute(x)
    return g.Cast(compute(g.Cast(x, to=ir.DataType.FLOAT)), to=x.element)


def known_ints(g: GraphBuilder, value: Value, op: str, name: str, needs: int) -> list[int]:
    """Contents of an operand that older versions take as an attribute; refused if only known at run time."""
    found = constant_ints(value)
    if found is None:
        refuse(g, op, f"input {name} computed at run time", needs)
    return found


def known_rank(g: GraphBuilder, value: Value, op: str, needs: int | None = None) -> int:
    """Rank of a tensor; refused if it is unknown."""
    if value.sizes is None:
        refuse(g, op, "input of unknown rank", needs)
    return len(value.sizes)


def count_of(outputs: int | list[bool]) -> int:
    """How many results a call names."""
    return outputs if isinstance(outputs, int) else len(outputs)


def wanted(outputs: int | list[bool], index: int) -> bool:
    """Whether the result at a position is wanted."""
    return index < outputs if isinstance(outputs, int) else index < len(outputs) and outputs[index]
