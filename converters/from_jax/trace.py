"""Values inside a jaxpr, computed equation by equation, under the names that the walk marks them with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from .graph import CALLS, equations, mark_name, needed, opened, to_numpy
from .params import functions_in, is_key


def alike(one: Any, other: Any) -> bool:
    """Whether two jaxprs have the same equations, of sizes that may differ."""
    return [e.primitive.name for e in equations(one)] == [e.primitive.name for e in equations(other)]


def evaluate(
    jaxpr: Any, arguments: Sequence[Any], names: Collection[str], found: dict[str, np.ndarray], path: str = ""
) -> list[Any]:
    """Runs a jaxpr and keeps the values of some names; functions that are only called are run in the same way."""
    inner, consts = opened(jaxpr)
    known: dict[Any, Any] = dict(zip(inner.constvars, consts, strict=True))
    known.update(zip(inner.invars, arguments, strict=True))

    def read(var: Any) -> Any:
        return var.val if hasattr(var, "val") else known[var]

    for number, equation in enumerate(needed(inner)):
        operands = [read(v) for v in equation.invars]
        called = [f for p in equation.params.values() for f in functions_in(p)]
        if equation.primitive.name in CALLS and len(called) == 1:
            results = evaluate(called[0], operands, names, found, f"{path}{number}.")
        else:
            results = _run(inner, equation, operands)
        for place, (var, value) in enumerate(zip(equation.outvars, results, strict=True)):
            known[var] = value
            name = mark_name(path, number, place)
            if name in names and not is_key(value.dtype):
                found[name] = to_numpy(value)
    return [read(v) for v in inner.outvars]


def _run(jaxpr: Any, equation: Any, operands: Sequence[Any]) -> list[Any]:
    """Runs one equation of a jaxpr."""
    import jax

    given = {v: o for v, o in zip(equation.invars, operands, strict=True) if not hasattr(v, "val")}
    alone = jaxpr.replace(eqns=[equation], constvars=[], invars=list(given), outvars=list(equation.outvars))
    results: list[Any] = jax.core.eval_jaxpr(alone, [], *given.values())
    return results
