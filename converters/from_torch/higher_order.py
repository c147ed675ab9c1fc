"""Higher-order operators: conditions, loops, scans, and wrappers around a part of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.errors import TranslationError
from ...symbolic.value import Value
from . import complex_nodes

if TYPE_CHECKING:
    from .graph import Walk

Read = Callable[[Any], Any]

#: Wrappers that mean nothing for the numbers -> places of the graph and of its first operand among the arguments.
_WRAPPERS = {
    "wrap": (0, 1),
    "wrap_with_set_grad_enabled": (1, 2),
    "wrap_with_autocast": (4, 5),
    "tag_activation_checkpoint": (0, 1),
    "invoke_subgraph": (0, 2),
}
_RELATIONS = {
    "Equality": "Equal", "StrictGreaterThan": "Greater", "GreaterThan": "GreaterOrEqual", "StrictLessThan": "Less",
    "LessThan": "LessOrEqual",
}  # fmt: skip


def translate(walk: Walk, node: Any, read: Read) -> tuple[Any, ...]:
    """Translates a higher-order node; gives its results.

    Raises:
        TranslationError: Its operands aren't supported.
    """
    name = node.target.name()
    if name in _WRAPPERS:
        at, first = _WRAPPERS[name]
        return tuple(walk.run(read(node.args[at]), [read(a) for a in node.args[first:]], mark=False))
    return _LOOPS[name](walk, *(read(a) for a in node.args))


def _refuse(walk: Walk, name: str, why: str) -> TranslationError:
    return TranslationError(why, op=name, location=walk.g.location)


# --- If --------------------------------------------------------------------------------------------------------------


def _cond(walk: Walk, predicate: Any, then: Any, other: Any, operands: Sequence[Any] = ()) -> tuple[Any, ...]:
    g = walk.g
    if isinstance(predicate, bool):
        return tuple(walk.run(then if predicate else other, operands, mark=False))
    if not isinstance(predicate, Value):
        predicate = _truth(walk, predicate.node.expr)
    bodies, kinds = [], []
    for module in (then, other):
        body = g.subgraph()
        kinds = walk.inside(body).run(module, operands, mark=False)
        for result in complex_nodes.flat(kinds):
            body.output(result)
        bodies.append(body)
    count = len(bodies[0].outputs)
    results = g.call("If", predicate, then_branch=bodies[0], else_branch=bodies[1], outputs=count)
    parts = list(results) if isinstance(results, tuple) else [results]
    return tuple(complex_nodes.grouped(parts, kinds))


def _truth(walk: Walk, expression: Any) -> Value:
    """A relation between sizes as a bool scalar."""
    g, kind = walk.g, type(expression).__name__
    if kind in ("And", "Or"):
        first, *rest = (_truth(walk, a) for a in expression.args)
        for value in rest:
            first = g.And(first, value) if kind == "And" else g.Or(first, value)
        return first
    if kind in ("Not", "Unequality"):
        inner = expression.args[0] if kind == "Not" else expression.negated
        return g.Not(_truth(walk, inner))
    sizes = [walk.dims.expression(a) for a in expression.args]
    if kind not in _RELATIONS or any(s is None for s in sizes):
        raise _refuse(walk, "cond", f"the condition {expression} has no counterpart")
    result: Value = g.call(_RELATIONS[kind], *(g.size(s) for s in sizes if s is not None))
    return result


# --- Loop and Scan ---------------------------------------------------------------------------------------------------


def _while_loop(walk: Walk, test: Any, step: Any, carried: Sequence[Any], extra: Sequence[Any] = ()) -> tuple[Any, ...]:
    """While `test` holds of the carried tensors, they become what `step` gives."""
    g = walk.g
    start = [_tensor(walk, "while_loop", c) for c in carried]
    going = _flag(g, walk.run(test, [*start, *extra], mark=False)[0])
    body = g.subgraph()
    body.input("iteration", ir.DataType.INT64, ())
    body.input("going_on", ir.DataType.BOOL, ())
    inner = walk.inside(body)
    states = _inputs(inner, step, start, "state")
    after = [_tensor(inner, "while_loop", v) for v in inner.run(step, [*states, *extra], mark=False)]
    body.output(_flag(body, inner.run(test, [*after, *extra], mark=False)[0]))
    for value in after:
        body.output(value)
    return _results(g.call("Loop", None, going, *start, body=body, outputs=len(start)))


def _scan(
    walk: Walk, step: Any, initial: Sequence[Any], rows: Sequence[Any], extra: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """Steps along axis 0 of the scanned tensors: carried values first, what every step gives stacked behind."""
    g = walk.g
    start = [_tensor(walk, "scan", v) for v in initial]
    scanned = [_tensor(walk, "scan", v) for v in rows]
    body = g.subgraph()
    inner = walk.inside(body)
    given = _inputs(inner, step, [*start, *scanned], "scanned")
    results = [_tensor(inner, "scan", v) for v in inner.run(step, [*given, *extra], mark=False)]
    for value in results:
        body.output(value)
    return _results(g.call("Scan", *start, *scanned, body=body, num_scan_inputs=len(scanned), outputs=len(results)))


def _map(walk: Walk, step: Any, rows: Sequence[Any], extra: Sequence[Any] = ()) -> tuple[Any, ...]:
    """One step for every row of the mapped tensors."""
    return _scan(walk, step, (), rows, extra)


def _inputs(walk: Walk, module: Any, values: Sequence[Value], name: str) -> list[Value]:
    """Inputs of a body, of the sizes that the captured graph says."""
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    found = []
    for i, (value, node) in enumerate(zip(values, placeholders, strict=False)):
        said = node.meta["val"]
        sizes = walk.dims.sizes(said.shape) if hasattr(said, "shape") else []
        found.append(walk.g.input(f"{name}_{i}", value.element, sizes))
        if not hasattr(said, "shape") and (size := walk.dims.size(said)) is not None:
            walk.g.learn_size(size, found[-1])
    return found


def _tensor(walk: Walk, name: str, value: Any) -> Value:
    """A carried value as a tensor: sizes and numbers become scalars."""
    if isinstance(value, Complex):
        raise _refuse(walk, name, "complex values that are carried from step to step aren't supported")
    if isinstance(value, Value):
        return value
    return walk.g.constant(value) if isinstance(value, (bool, int, float)) else walk.g.size(value)


def _flag(g: GraphBuilder, value: Any) -> Value:
    return g.reshape(value, []) if isinstance(value, Value) else g.constant(bool(value))


def _results(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


_LOOPS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "cond": _cond,
    "while_loop": _while_loop,
    "scan": _scan,
    "map_impl": _map,
}
#: Operators that `translate` knows.
KNOWN = frozenset((*_WRAPPERS, *_LOOPS))
