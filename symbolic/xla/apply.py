"""Calls the symbolic function of an XLA operation: late broadcasting, channels-first twins, checks.

XLA broadcasts explicitly, ONNX implicitly. So a broadcast leaves its operand as it is (axes of size one put where they
belong), and the elements are copied only where an operation reads them that isn't elementwise: most copies vanish.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..adapt import run_symbolic
from ..dims import Sizes
from ..errors import TranslationError
from ..infer import broadcast
from ..nn.layout import broadcast_twin, channels_last, has_twin
from ..registry import Symbolic
from ..value import Value
from .region import Typed, expanded

if TYPE_CHECKING:
    from ..builder import GraphBuilder

Function = TypeVar("Function", bound=Callable[..., Any])

_POINTWISE: set[Callable[..., Any]] = set()
_LENIENT: set[Callable[..., Any]] = set()


def pointwise(function: Function) -> Function:
    """Marks an elementwise function: it takes operands not broadcast yet, in any layout."""
    _POINTWISE.add(function)
    return function


def lenient(function: Function) -> Function:
    """Marks a function that takes operands not broadcast yet."""
    _LENIENT.add(function)
    return function


def is_pointwise(function: Callable[..., Any]) -> bool:
    """Whether a function is marked as elementwise."""
    return function in _POINTWISE


def apply(
    g: GraphBuilder,
    row: Symbolic,
    operands: Sequence[Value],
    declared: Sequence[Typed],
    params: Mapping[str, Any],
    results: Sequence[Typed],
) -> list[Value]:
    """Runs a symbolic function on values that may not be broadcast yet.

    A function with the parameters `result`, `results` or `declared` is told the type of its first result, those of all
    its results, those of its operands.

    Args:
        g: Builder.
        row: The function.
        operands: Values of the operands.
        declared: What the source says about the operands.
        params: Parameters of the operation.
        results: What the source says about the results.

    Raises:
        TranslationError: The results contradict the source.
    """
    wanted = _wanted(row.function)
    told = {"result": results[0] if results else None, "results": results, "declared": declared}
    params = {**params, **{k: v for k, v in told.items() if k in wanted}}
    try:
        found = _run(g, row, operands, declared, params, len(results))
    except ValueError as error:
        raise TranslationError(str(error), op=row.name, location=g.location) from error
    if found is None:
        raise TranslationError("these operands aren't supported", op=row.name, location=g.location)
    values = [v for v in found if v is not None]
    if len(values) != len(results):
        raise TranslationError(
            f"gives {len(values)} results, the source says {len(results)}", op=row.name, location=g.location
        )
    return [_checked(g, row.name, v, t) for v, t in zip(values, results, strict=True)]


@lru_cache(maxsize=1024)
def _wanted(function: Callable[..., Any]) -> frozenset[str]:
    """Whether a function asks what the source says about its result or its operands."""
    return frozenset(inspect.signature(function).parameters) & {"result", "results", "declared"}


def _run(
    g: GraphBuilder,
    row: Symbolic,
    operands: Sequence[Value],
    declared: Sequence[Typed],
    params: Mapping[str, Any],
    count: int,
) -> Sequence[Value | None] | None:
    if row.function in _POINTWISE:
        return _on_twins(g, row, operands, params, count)
    if row.function not in _LENIENT:
        operands = [expanded(g, o, t.sizes) for o, t in zip(operands, declared, strict=True)]
    return run_symbolic(row, g, operands, dict(params), count)


def _on_twins(
    g: GraphBuilder, row: Symbolic, operands: Sequence[Value], params: Mapping[str, Any], count: int
) -> Sequence[Value | None] | None:
    rank = max((o.rank for o in operands), default=0)
    if rank < 3 or not any(has_twin(o) and o.rank == rank for o in operands):
        return run_symbolic(row, g, operands, dict(params), count)
    if any(o.size is None or o.size > 1 for o in operands if not has_twin(o) and o.rank == rank and not _flat(o)):
        # an operand whose layout would have to be changed for it
        return run_symbolic(row, g, operands, dict(params), count)
    found = run_symbolic(row, g, [broadcast_twin(g, o, rank) for o in operands], dict(params), count)
    return found and [channels_last(g, v) if v is not None and v.rank == rank else v for v in found]


def _flat(x: Value) -> bool:
    """Whether a change of layout is a mere reshape (or known at build time)."""
    return x.is_constant or (x.sizes is not None and all(s == 1 for s in x.sizes[1:-1]))


def _checked(g: GraphBuilder, name: str, value: Value, said: Typed) -> Value:
    if value.sizes is not None and len(value.sizes) <= len(said.sizes) and not _same_rank(value.sizes, said.sizes):
        if value.dtype is not said.dtype:
            raise TranslationError(
                f"the result is {value.element.name}, the source says {said.dtype.name}", op=name, location=g.location
            )
        if broadcast(value.sizes, said.sizes) is None:
            raise TranslationError("the result doesn't broadcast to what the source says", op=name, location=g.location)
        return value
    return g.expect(value, said.dtype, said.sizes)


def _same_rank(ours: Sizes, said: Sizes) -> bool:
    return len(ours) == len(said) and not any(o == 1 and s != 1 for o, s in zip(ours, said, strict=True))
