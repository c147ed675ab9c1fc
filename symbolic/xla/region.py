"""Regions: functions inside operations (loop bodies, branches, combiners) that frontends hand to the lowerings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from ..dims import Size
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder


@dataclass(frozen=True)
class Typed:
    """Dtype and sizes, as the source declares them."""

    dtype: ir.DataType
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Region:
    """A function inside an operation.

    Attributes:
        inputs: Types of its parameters.
        outputs: Types of its results.
        run: Translates it, in any builder, on values for its parameters.
        combiner: The operation (add, mul, min, max, and, or, xor) if it does just that to its two parameters; "second"
            if it gives the second one.
        elementwise: As `run`, of a function of scalars on whole tensors; raises where it isn't elementwise.
    """

    inputs: Sequence[Typed]
    outputs: Sequence[Typed]
    run: Callable[[GraphBuilder, Sequence[Value]], list[Value]]
    combiner: str | None = None
    elementwise: Callable[[GraphBuilder, Sequence[Value]], list[Value]] | None = None

    def __call__(self, g: GraphBuilder, *values: Value) -> list[Value]:
        """Translates the region in place; results may still have to be broadcast."""
        return self.run(g, values)

    def whole(self, g: GraphBuilder, *values: Value) -> list[Value]:
        """Translates the region in place; results have their declared sizes."""
        return [expanded(g, v, t.sizes) for v, t in zip(self.run(g, values), self.outputs, strict=True)]


def expanded(g: GraphBuilder, x: Value, sizes: Sequence[Size]) -> Value:
    """A value with all the elements that the source says it has (see `apply`)."""
    if x.sizes == tuple(sizes) or None in sizes:
        return x
    if x.dtype is ir.DataType.BFLOAT16:  # Expand has no kernel for it
        wide = g.expand(g.Cast(x, to=ir.DataType.FLOAT), sizes)
        return g.Cast(wide, to=ir.DataType.BFLOAT16)
    return g.expand(x, list(sizes))
