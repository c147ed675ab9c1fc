"""Branches and loops as If and Loop; their bodies use values from outside as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.dims import Dim, Sizes
from ...symbolic.errors import MissingOp, UnsupportedOps
from ...symbolic.tf_graph.tensorlist import TensorList, filled
from ...symbolic.value import Value
from .graph import Graph, Node, shape

if TYPE_CHECKING:
    from .walk import Walk


def _refused(g: GraphBuilder, op: str, reason: str) -> UnsupportedOps:
    return UnsupportedOps([MissingOp("tf_graph", op, 1, (g.location,), reason)])


def truth(g: GraphBuilder, value: Value) -> Value:
    """A condition as TensorFlow sees it: a scalar that isn't 0."""
    if value.rank > 0 and value.size != 1:
        raise _refused(g, "If", "a condition that isn't a scalar isn't supported")
    value = value if value.rank == 0 else g.Reshape(value, [])
    return value if value.element == ir.DataType.BOOL else g.Cast(value, to=ir.DataType.BOOL)


# --- branches -------------------------------------------------------------------------------------------------------


def branch(walk: Walk, node: Node, operands: Sequence[Any], where: str) -> Sequence[Any]:
    """If(cond: Tcond, input: list, then_branch: func, else_branch: func); Case(branch_index: int32, ...)"""
    chosen, *arguments = operands
    names = [c.name for c in node.attributes["branches"]] if node.op.endswith("Case") else [
        node.attributes[k].name for k in ("else_branch", "then_branch")
    ]  # fmt: skip
    functions = [walk.library[n] for n in names]
    if not node.op.endswith("Case"):
        condition = truth(walk.g, chosen)
        if condition.array is not None:
            function = functions[int(bool(condition.array))]
            return walk.run(function, function.results, arguments, where)
        return _either(walk, condition, functions[1:], functions[:1], None, arguments, where)
    if chosen.array is not None:
        number = int(chosen.array.reshape(-1)[0])
        function = functions[number if 0 <= number < len(functions) else -1]
        return walk.run(function, function.results, arguments, where)
    # a number outside of the range means the last branch
    index = walk.g.Where(walk.g.Less(chosen, 0), len(functions) - 1, chosen)
    return _chain(walk, index, functions, arguments, where)


def _chain(walk: Walk, index: Value, functions: Sequence[Graph], arguments: Sequence[Any], where: str) -> Sequence[Any]:
    if len(functions) == 1:
        return walk.run(functions[0], functions[0].results, arguments, where)
    first = walk.g.LessOrEqual(index, 0)
    return _either(walk, first, functions[:1], functions[1:], index, arguments, where)


def _either(
    walk: Walk,
    condition: Value,
    then: Sequence[Graph],
    other: Sequence[Graph],
    index: Value | None,
    arguments: Sequence[Any],
    where: str,
) -> Sequence[Any]:
    g = walk.g
    if not then[0].results:
        return []
    bodies, results = [], []
    for functions in (then, other):
        body = g.subgraph()
        walk.g = body
        try:
            following = index if index is None or functions is then else body.Sub(index, 1)
            found = (
                walk.run(functions[0], functions[0].results, arguments, where)
                if following is None or len(functions) == 1
                else _chain(walk, following, functions, arguments, where)
            )
        finally:
            walk.g = g
        bodies.append(body)
        results.append(list(found))
    lists = [isinstance(v, TensorList) for v in results[0]]
    for body, found in zip(bodies, results, strict=True):
        for value, is_list in zip(found, lists, strict=True):
            if is_list or not isinstance(value, Value):
                raise _refused(g, "If", "a branch that gives a list or a variable isn't supported")
            body.output(value)
    made = g.If(condition, then_branch=bodies[0], else_branch=bodies[1], outputs=len(lists))
    return [made] if isinstance(made, Value) else list(made)


# --- loops ----------------------------------------------------------------------------------------------------------


def loop(walk: Walk, node: Node, operands: Sequence[Any], where: str) -> Sequence[Any]:
    """While(input: list, cond: func, body: func, output_shapes) -> list"""
    g = walk.g
    condition, body = (walk.library[node.attributes[k].name] for k in ("cond", "body"))
    values = list(operands)
    carried = [i for i in range(len(values)) if not _stays(body, i)]
    if not carried:
        return values
    told = [shape(s) for s in node.raw["output_shapes"].list.shape] if "output_shapes" in node.raw else []
    for i in carried:
        if not isinstance(values[i], (Value, TensorList)):
            raise _refused(g, node.op, "a loop that changes which variable it uses isn't supported")
    sizes = _settle(walk, condition, body, values, carried, told, where)
    for i in carried:
        if isinstance(values[i], TensorList):
            values[i] = filled(g, values[i], None if sizes[i] is None else sizes[i][1:])  # type: ignore[index]
    inner, results = _translated(walk, condition, body, values, carried, sizes, where)
    first = truth(g, walk.run(condition, condition.results, values, where)[0])
    starts = [tensor for i in carried for tensor in _parts(values[i])]
    inner.output(results[0])
    for value in results[1:]:
        for tensor in _parts(value):
            inner.output(tensor)
    made = g.call("Loop", None, first, *starts, body=inner, outputs=len(starts))
    found = [made] if isinstance(made, Value) else list(made)
    for i in carried:
        values[i] = _joined(values[i], found)
    return values


def _parts(value: Any) -> list[Value]:
    """The tensors that a carried value consists of."""
    if isinstance(value, TensorList):
        assert value.data is not None
        return [value.data, value.length]
    assert isinstance(value, Value)
    return [value]


def _joined(like: Any, parts: list[Value]) -> Any:
    """The carried value out of its tensors, which are taken from the front."""
    if isinstance(like, TensorList):
        data, length = parts.pop(0), parts.pop(0)
        return replace(like, data=data, length=length, sizes=None if data.sizes is None else data.sizes[1:])
    return parts.pop(0)


def _stays(body: Graph, index: int) -> bool:
    """Whether a loop variable is handed on as it is."""
    name, _ = body.find(body.results[index])
    while name not in body.arguments:
        node = body.nodes[name]
        if node.op != "Identity":
            return False
        name, _ = body.find(node.inputs[0])
    return name == body.arguments[index]


def _settle(
    walk: Walk,
    condition: Graph,
    body: Graph,
    values: Sequence[Any],
    carried: Sequence[int],
    told: Sequence[Any],
    where: str,
) -> dict[int, Sizes | None]:
    """Sizes that every carried value has in all steps: tried, and loosened where a step changes them."""
    sizes: dict[int, Sizes | None] = {}
    for i in carried:
        start = values[i]
        if isinstance(start, TensorList):
            sizes[i] = None if start.data is None else start.data.sizes
        else:
            sizes[i] = start.sizes if start.sizes is not None else _told(told, i)
    for _ in range(6):
        _, results = _translated(walk, condition, body, values, carried, sizes, where)
        loosened = False
        for i, value in zip(carried, results[1:], strict=True):
            new = value.data.sizes if isinstance(value, TensorList) and value.data is not None else None
            new = value.sizes if isinstance(value, Value) else new
            if isinstance(values[i], TensorList) and values[i].data is None and sizes[i] is None and new is not None:
                if any(s is None or not _outside(walk.g, s) for s in new[1:]):
                    raise _refused(walk.g, "TensorListSetItem", "the shape of what a loop puts in a list isn't known")
                sizes[i] = (values[i].length.dims[0] if values[i].length.dims else None, *new[1:])
                loosened = True
                continue
            common = _common(sizes[i], new)
            if common != sizes[i]:
                sizes[i], loosened = common, True
        if not loosened:
            return sizes
    return sizes


def _outside(g: GraphBuilder, size: int | Dim) -> bool:
    """Whether a size can be computed outside of the loop."""
    return isinstance(size, int) or all(g._find_source(s) is not None for s in size.symbols())


def _told(told: Sequence[Any], index: int) -> Sizes | None:
    found = told[index] if index < len(told) else None
    return None if found is None else tuple(found)


def _common(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def _translated(
    walk: Walk,
    condition: Graph,
    body: Graph,
    values: Sequence[Any],
    carried: Sequence[int],
    sizes: dict[int, Sizes | None],
    where: str,
) -> tuple[GraphBuilder, list[Any]]:
    """One step in a child builder: whether it goes on, and the carried values."""
    inner = walk.g.subgraph()
    inner.input("", ir.DataType.INT64, ())
    inner.input("", ir.DataType.BOOL, ())
    arguments = list(values)
    for i in carried:
        arguments[i] = _input(inner, values[i], sizes[i])
    results = walk.inside(inner, body, arguments, where)
    again = walk.inside(inner, condition, results, where)[0]
    return inner, [truth(inner, again), *(results[i] for i in carried)]


def _input(inner: GraphBuilder, start: Any, sizes: Sizes | None) -> Any:
    if not isinstance(start, TensorList):
        return inner.input("", start.element, sizes)
    if sizes is None:  # a trial: the shape of the elements comes from what is put in
        length = inner.constant(np.array(0)) if start.length.dims == (0,) else start.length
        return replace(start, length=length)
    data = inner.input("", start.dtype, sizes)
    return TensorList(start.dtype, inner.input("", ir.DataType.INT64, ()), data, sizes[1:])
