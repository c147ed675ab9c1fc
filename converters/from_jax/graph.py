"""Walks a jaxpr and calls the symbolic function of every equation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder
from ...symbolic.errors import MissingOp, TranslationError, UnsupportedOps
from ...symbolic.registry import Symbolic, registry
from ...symbolic.value import Value
from ...symbolic.xla.apply import apply, is_pointwise
from ...symbolic.xla.region import Region
from .keys import physical
from .params import functions_in, is_key, parameters, typed

_COMBINERS = {
    "add": "add", "add_any": "add", "mul": "mul", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip
#: Primitives that only call the function they hold.
CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "checkpoint")
_SMALL = 64


def opened(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """A jaxpr and its constants."""
    return (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "jaxpr") else (jaxpr, getattr(jaxpr, "consts", ()) or ())


def needed(jaxpr: Any) -> list[Any]:
    """The equations whose results are used, in order."""
    used = {id(v) for v in jaxpr.outvars}
    kept = []
    for equation in reversed(jaxpr.eqns):
        if any(id(v) in used for v in equation.outvars):
            kept.append(equation)
            used.update(id(v) for v in equation.invars)
    return kept[::-1]


def equations(jaxpr: Any) -> Iterator[Any]:
    """All equations, those of functions inside them included."""
    inner, _ = opened(jaxpr)
    for equation in needed(inner):
        yield equation
        for value in equation.params.values():
            for function in functions_in(value):
                yield from equations(function)


def require(jaxpr: Any, opset: int) -> None:
    """Raises UnsupportedOps with everything that has no symbolic function, or a dtype that ONNX can't compute with."""
    found = list(equations(jaxpr))
    missing: dict[str, MissingOp] = {}
    for equation in found:
        name = equation.primitive.name
        reason = None
        if registry.lookup("jaxpr", name, opset) is None:
            reason = _WHY.get(name, "")
        elif any(_is_complex(v) for v in (*equation.invars, *equation.outvars)):
            reason = "complex numbers aren't supported"
            name = f"{name}[complex]"
        if reason is None:
            continue
        before = missing.get(name)
        places = (*(before.locations if before else ()), location(equation))[:3]
        missing[name] = MissingOp("jaxpr", name, 1 + (before.count if before else 0), places, reason)
    if missing:
        raise UnsupportedOps(list(missing.values()))


_WHY = {
    "pure_callback": "it calls back into Python",
    "io_callback": "it calls back into Python",
    "ffi_call": "it calls foreign code",
    "pallas_call": "it is a kernel for one kind of device",
}


def _is_complex(var: Any) -> bool:
    kind = getattr(getattr(var.aval, "dtype", None), "kind", "")
    return kind == "c"


def location(equation: Any) -> str:
    """Name stack and source line of an equation: ``Dense_0/dot_general (model.py:12)``."""
    info = equation.source_info
    stack = str(getattr(info, "name_stack", "") or "")
    name = f"{stack}/{equation.primitive.name}" if stack else equation.primitive.name
    line = _user_line(info)
    return f"{name} ({line})" if line else name


def _user_line(info: Any) -> str:
    try:
        from jax._src import source_info_util
    except ImportError:  # the module is private: without it, errors name no line
        return ""
    summarize = getattr(source_info_util, "summarize", None)
    text = str(summarize(info)) if summarize is not None else ""
    return text.split(" ")[0].rsplit("/", 1)[-1] if ":" in text else ""


class Walk:
    """Translates jaxprs into builders.

    Args:
        names: Names of constants by identity: what the caller calls them.
        made: Constants made already, by identity.
        free: Functions of scalars are run on whole tensors: sizes aren't what the jaxpr says.
    """

    def __init__(
        self, names: Mapping[int, str] | None = None, made: dict[int, Value] | None = None, *, free: bool = False
    ):
        self.names = names or {}
        self.free = free
        self._made: dict[int, Value] = {} if made is None else made
        self._kept: list[Any] = []  # ids stay unique only while the objects live
        self._path = ""

    def run(self, g: GraphBuilder, jaxpr: Any, arguments: Sequence[Value]) -> list[Value]:
        """Translates a jaxpr on values of its parameters; the results may still have to be broadcast."""
        inner, consts = opened(jaxpr)
        env: dict[Any, Value] = {}
        for var, const in zip(inner.constvars, consts, strict=True):
            env[var] = self.constant(g, const)
        env.update(zip(inner.invars, arguments, strict=True))
        path = self._path
        for number, equation in enumerate(needed(inner)):
            with g.at(location(equation)):
                operands = [self._read(g, env, v) for v in equation.invars]
                self._path = f"{path}{number}."  # of what the equation calls
                results = self._call(g, equation, operands)
                self._path = path
            env.update(zip((v for v in equation.outvars if _is_tensor(v)), results, strict=True))
            if g.parent is None and not self.free:
                self._mark(g, equation, results, path, number)
        return [self._read(g, env, v) for v in inner.outvars]

    def _mark(self, g: GraphBuilder, equation: Any, results: Sequence[Value], path: str, number: int) -> None:
        """Names results, so that they can be compared with JAX's; not those that still have to be broadcast."""
        for place, (var, value) in enumerate(zip(equation.outvars, results, strict=False)):
            if _is_tensor(var) and not is_key(var.aval.dtype) and value.sizes == tuple(typed(var.aval).sizes):
                g.mark(value, mark_name(path, number, place))

    def _read(self, g: GraphBuilder, env: Mapping[Any, Value], var: Any) -> Value:
        if hasattr(var, "val"):
            return g.constant(np.asarray(var.val, dtype=var.aval.dtype))
        return env[var]

    def _call(self, g: GraphBuilder, equation: Any, operands: Sequence[Value]) -> list[Value]:
        name = equation.primitive.name
        row = registry.lookup("jaxpr", name, g.opset)
        if row is None:
            raise UnsupportedOps([MissingOp("jaxpr", name, 1, (g.location,))])
        params = parameters(equation.params, self.region)
        if self.free:
            return self._call_freely(g, row, operands, params)
        if any(is_key(getattr(v.aval, "dtype", None)) for v in (*equation.invars, *equation.outvars)):
            operands, params = physical(g, name, equation, operands, params)
        declared = [typed(v.aval) for v in equation.invars]
        results = [typed(v.aval) for v in equation.outvars if _is_tensor(v)]
        return apply(g, row, operands, declared, params, results)

    def _call_freely(
        self, g: GraphBuilder, row: Symbolic, operands: Sequence[Value], params: Mapping[str, Any]
    ) -> list[Value]:
        if not is_pointwise(row.function) and row.name not in CALLS:
            raise TranslationError("is not elementwise, in a function of elements", op=row.name, location=g.location)
        found = run_symbolic(row, g, operands, dict(params), 1) or []
        return [v for v in found if v is not None]

    def region(self, jaxpr: Any) -> Region:
        """A function inside an equation."""
        inner, _ = opened(jaxpr)
        return Region(
            [typed(v.aval) for v in inner.invars if _is_tensor(v)],
            [typed(v.aval) for v in inner.outvars if _is_tensor(v)],
            lambda g, values: self.run(g, jaxpr, values),
            _combiner(inner),
            elementwise=lambda g, values: Walk(self.names, self._made, free=True).run(g, jaxpr, values),
        )

    def constant(self, g: GraphBuilder, array: Any) -> Value:
        """A constant: small ones are shared, large ones aren't copied."""
        found = self._made.get(id(array))
        if found is None:
            name = self.names.get(id(array))
            data = to_numpy(array)
            if name is None and data.size <= _SMALL:
                found = g.constant(data)
            else:
                title = name or f"const_{len(self._made)}"
                found = g.root.initializer(title, ir.Tensor(data, name=title))
            self._made[id(array)] = found
            self._kept.append(array)
        return found


def mark_name(path: str, number: int, place: int) -> str:
    """Name of a result of an equation: numbers of the equations that call it, its own, and that of the result."""
    return f"equation {path}{number}:{place}"


def to_numpy(array: Any) -> np.ndarray:
    """An array of JAX, numpy or Python as numpy; of random keys their words."""
    if is_key(getattr(array, "dtype", None)):
        import jax

        array = jax.random.key_data(array)
    return np.asarray(array)


def _is_tensor(var: Any) -> bool:
    return hasattr(var.aval, "shape") and hasattr(var.aval, "dtype")


def _combiner(jaxpr: Any) -> str | None:
    """What a function of two values does: one known operation on them, or giving the second one."""
    inner, _ = opened(jaxpr)
    if len(inner.invars) != 2 or len(inner.outvars) != 1:
        return None
    if not inner.eqns:
        return "second" if inner.outvars[0] is inner.invars[1] else None
    if len(inner.eqns) != 1 or inner.eqns[0].outvars[0] is not inner.outvars[0]:
        return None
    equation = inner.eqns[0]
    if any(v not in inner.invars for v in equation.invars if not hasattr(v, "val")) or len(equation.invars) != 2:
        return None
    if any(hasattr(v, "val") for v in equation.invars) or equation.invars[0] is equation.invars[1]:
        return None
    called = [f for p in equation.params.values() for f in functions_in(p)]
    if called:
        return _combiner(called[0]) if equation.primitive.name in CALLS else None
    return _COMBINERS.get(equation.primitive.name)
