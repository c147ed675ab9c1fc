"""Writing through views: what a new value of a view makes of the tensor whose memory it looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...symbolic.registry import registry
from ...symbolic.value import Value
from .script_program import Op

if TYPE_CHECKING:
    from .script_graph import ScriptWalk

Scatter = Callable[[Value, Value], Value]
#: Views that hold all elements in the same order.
_RESHAPED = (
    "view", "_unsafe_view", "view_as", "unsqueeze", "squeeze", "_reshape_alias", "unflatten",
)  # fmt: skip


def scatter_of(walk: ScriptWalk, op: Op, args: Sequence[Any]) -> Scatter | None:
    """(base, new view) -> new base, for the view that an op makes; None where it can't be told.

    reshape, flatten and contiguous are among the latter: they may be views or copies.
    """
    name = op.name.split(".")[0]
    if name in ("detach", "alias", "lift_fresh"):
        return lambda _, new: new
    if name in _RESHAPED:
        return lambda base, new: walk.g.reshape(new, _sizes(walk, base))
    if name in ("transpose", "t", "permute", "swapaxes", "numpy_T"):
        return lambda base, new: walk.g.Transpose(new, perm=_inverse(base.rank, name, args))
    functional = {"select": "select_scatter", "slice": "slice_scatter", "diagonal": "diagonal_scatter"}.get(name)
    if functional is None:
        return None

    def write(base: Value, new: Value) -> Value:
        row = registry.lookup("aten", functional, walk.g.opset)
        assert row is not None
        result: Value = row.function(walk.g, base, new, *args[1:])
        result.sizes = base.sizes
        return result

    return write


def _sizes(walk: ScriptWalk, base: Value) -> list[Any]:
    from ...symbolic.aten.shape import sizes

    return sizes(walk.g, base)


def _inverse(rank: int, name: str, args: Sequence[Any]) -> list[int]:
    order = list(range(rank))
    if name == "permute":
        order = [d % rank for d in args[1].items]
    elif name in ("t", "numpy_T"):
        order.reverse()
    elif rank:
        a, b = args[1] % rank, args[2] % rank
        order[a], order[b] = order[b], order[a]
    return [order.index(i) for i in range(rank)]
