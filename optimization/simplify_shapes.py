"""Merges and removes ops that only move or relabel elements, and ops that change nothing.

Every rewrite is exact. Sizes decide by what the graph says about them: an int, or the same symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from ..symbolic.value import MARK

#: Operator -> the constant operand that changes nothing, on either side (both) or the right one only.
_NEUTRAL_EITHER = {"Mul": 1, "And": True, "Or": False, "Xor": False}
_NEUTRAL_RIGHT = {"Sub": 0, "Div": 1, "Pow": 1}
#: Operators whose operands broadcast to the sizes of the result.
_BROADCASTING = frozenset((
    "Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual", "Where",
))  # fmt: skip
#: Most results that become smaller when one Expand goes.
_MOST_SMALLER = 64
_INTEGERS = (ir.DataType.INT64, ir.DataType.INT32, ir.DataType.INT16, ir.DataType.INT8)


def simplify_shapes(model: ir.Model) -> int:
    """Simplifies shape ops, in subgraphs too; returns how many nodes changed or went."""
    changed, constants = 0, _Constants(model.graph)
    for graph in (model.graph, *model.graph.subgraphs()):
        for node in list(graph):
            rule = _RULES.get(node.op_type) if not node.domain else None
            if rule is not None and len(node.outputs) == 1 and node.inputs and node.inputs[0] is not None:
                changed += rule(graph, node, constants)
    return changed


# --- what a value says ------------------------------------------------------------------------------------------------


def _constant(value: ir.Value | None) -> np.ndarray | None:
    """Contents of a small constant."""
    if value is None or value.const_value is None or value.is_graph_input() or value.const_value.size > 64:
        return None
    return value.const_value.numpy()


def _sizes(value: ir.Value | None) -> list[int | str] | None:
    """Sizes, every one an int or a symbol; None where one is unknown."""
    if value is None or value.shape is None:
        return None
    found = [s if isinstance(s, int) else s.value for s in value.shape]
    return None if any(s is None for s in found) else found  # type: ignore[return-value]


def _same(a: ir.Value, b: ir.Value) -> bool:
    """Whether two values have equal sizes and dtypes."""
    sizes = _sizes(a)
    return a.dtype is not None and a.dtype == b.dtype and sizes is not None and sizes == _sizes(b)


def _before(graph: ir.Graph, value: ir.Value | None, op: str) -> ir.Node | None:
    """The node of an operator that makes a value, in the same graph."""
    node = value.producer() if value is not None else None
    return node if node is not None and node.op_type == op and not node.domain and node.graph is graph else None


def _axes(node: ir.Node, rank: int) -> list[int] | None:
    """Axes of an Unsqueeze or Squeeze, counted from the front; None where they aren't constant."""
    if "axes" in node.attributes:
        axes = list(node.attributes.get_ints("axes", ()))
    else:
        array = _constant(node.inputs[1]) if len(node.inputs) > 1 else None
        if array is None:
            return None
        axes = [int(a) for a in array]
    return [a % rank for a in axes]


# --- rules ------------------------------------------------------------------------------------------------------------


def _drop(graph: ir.Graph, node: ir.Node, source: ir.Value) -> bool:
    """Puts a value in the place of a node's result."""
    result = node.outputs[0]
    if result.is_graph_output():
        return False
    if MARK in result.meta and source.producer() is not None:
        source.meta.setdefault(MARK, result.meta[MARK])
    result.replace_all_uses_with(source)
    graph.remove(node, safe=True)
    return True


def _unchanged(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """Reshape, Expand, Cast, Tile ... to what is there already."""
    source = node.inputs[0]
    assert source is not None
    return _same(source, node.outputs[0]) and _drop(graph, node, source)


def _expand(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """An Expand goes where its users broadcast to the same sizes anyway."""
    if _unchanged(graph, node, constants):
        return True
    source, wide = node.inputs[0], node.outputs[0]
    changed = False
    for user, at in list(wide.uses()):
        smaller: dict[ir.Value, list[int | str]] = {}
        if _shrinks(user, at, _sizes(source), smaller):
            user.replace_input_with(at, source)
            for value, sizes in smaller.items():
                value.shape = ir.Shape(sizes)
                value.meta.pop(MARK, None)  # the source's value is the expanded one
            changed = True
    return changed


def _shrinks(user: ir.Node, at: int, sizes: list[int | str] | None, smaller: dict[ir.Value, list[int | str]]) -> bool:
    """Whether an operand may be one long where it was expanded: somewhere later it is broadcast anyway.

    Args:
        user: Node that takes the operand.
        at: Its place among the node's inputs.
        sizes: Its sizes without the expansion.
        smaller: Gets the sizes of results that become smaller.
    """
    result = user.outputs[0]
    after = _result_sizes(user, at, sizes, smaller)
    if after is None or len(smaller) > _MOST_SMALLER:
        return False
    if after == _sizes(result):
        return True
    if result.is_graph_output() or not result.uses():
        return False
    smaller[result] = after
    return all(_shrinks(later, place, after, smaller) for later, place in result.uses())


def _result_sizes(
    user: ir.Node, at: int, sizes: list[int | str] | None, smaller: dict[ir.Value, list[int | str]]
) -> list[int | str] | None:
    """Sizes of a node's result where one operand has other sizes; None where the node isn't known to broadcast."""
    if user.domain or sizes is None:
        return None
    if user.op_type in _BROADCASTING:
        return _broadcast([
            sizes if i == at else smaller.get(v) or _sizes(v) if v is not None else None
            for i, v in enumerate(user.inputs)
        ])  # fmt: skip
    if user.op_type in ("ReduceMax", "ReduceMin") and at == 0 and user.attributes.get_int("keepdims", 1):
        axes = _axes(user, len(sizes)) if len(user.inputs) > 1 or "axes" in user.attributes else None
        return None if axes is None else [1 if i in axes else size for i, size in enumerate(sizes)]
    return None


def _broadcast(shapes: Sequence[list[int | str] | None]) -> list[int | str] | None:
    """What shapes broadcast to; None where that isn't certain."""
    rank = max((len(s) for s in shapes if s is not None), default=0)
    result: list[int | str] = [1] * rank
    for shape in shapes:
        if shape is None:
            return None
        for i, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[i] not in (1, size):
                return None
            result[i] = size if size != 1 else result[i]
    return result


def _neutral(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """An operation with its neutral element."""
    either, right = _NEUTRAL_EITHER.get(node.op_type), _NEUTRAL_RIGHT.get(node.op_type)
    if node.op_type == "Add" and node.outputs[0].dtype in _INTEGERS:
        either = 0  # as a float, -0.0 + 0.0 isn't -0.0
    for source, other in (node.inputs, node.inputs[::-1]) if either is not None else (node.inputs,):
        array = _constant(other)
        wanted = right if either is None else either
        if source is not None and array is not None and array.size and bool(np.all(array == wanted)):
            return _same(source, node.outputs[0]) and _drop(graph, node, source)
    return False


def _transpose(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """Two transpositions in a row are one; none where they undo each other."""
    source = node.inputs[0]
    first = _before(graph, source, "Transpose")
    perm = node.attributes.get_ints("perm")
    if perm is not None and list(perm) == list(range(len(perm))) and source is not None:
        return _drop(graph, node, source)
    if first is None or perm is None or (earlier := first.attributes.get_ints("perm")) is None:
        return False
    combined = [earlier[p] for p in perm]
    origin = first.inputs[0]
    if combined == list(range(len(combined))) and origin is not None and _drop(graph, node, origin):
        return True
    node.attributes.add(ir.AttrInt64s("perm", combined))
    node.replace_input_with(0, origin)
    return True


def _unsqueeze(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """Two Unsqueeze in a row are one."""
    first = _before(graph, node.inputs[0], "Unsqueeze")
    whole, inner = node.outputs[0].shape, node.inputs[0].shape if node.inputs[0] is not None else None
    if first is None or whole is None or inner is None:
        return False
    added, earlier = _axes(node, len(whole)), _axes(first, len(inner))
    if added is None or earlier is None:
        return False
    kept = [i for i in range(len(whole)) if i not in added]
    axes = sorted([*added, *(kept[a] for a in earlier)])
    if len(node.inputs) > 1:
        node.replace_input_with(1, constants.vector(axes))
    else:
        node.attributes.add(ir.AttrInt64s("axes", axes))
    node.replace_input_with(0, first.inputs[0])
    return True


def _reshape(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """A Reshape to the same sizes goes; one after another replaces it; repeated heads become a Gather."""
    if _unchanged(graph, node, constants) or _repeated(graph, node, constants):
        return True
    first = _before(graph, node.inputs[0], "Reshape")
    target = _constant(node.inputs[1])
    if first is None or target is None or node.attributes.get_int("allowzero", 0) or bool(np.any(target == 0)):
        return False  # a 0 copies a size of the tensor between
    node.replace_input_with(0, first.inputs[0])
    return True


def _repeated(graph: ir.Graph, node: ir.Node, constants: _Constants) -> bool:
    """Unsqueeze, Expand, Reshape that repeat every slice of an axis: one Gather (grouped attention)."""
    expand = _before(graph, node.inputs[0], "Expand")
    unsqueeze = _before(graph, expand.inputs[0], "Unsqueeze") if expand is not None else None
    if expand is None or unsqueeze is None or unsqueeze.inputs[0] is None:
        return False
    source, wide, result = _sizes(unsqueeze.inputs[0]), _sizes(expand.outputs[0]), _sizes(node.outputs[0])
    axes = _axes(unsqueeze, len(wide)) if wide is not None else None
    if source is None or wide is None or result is None or axes is None or len(axes) != 1 or axes[0] == 0:
        return False
    axis, times = axes[0] - 1, wide[axes[0]]
    count = source[axis]
    if not isinstance(count, int) or not isinstance(times, int):
        return False
    if wide != [*source[: axis + 1], times, *source[axis + 1 :]]:
        return False
    if result != [*source[:axis], count * times, *source[axis + 1 :]]:
        return False
    picks = ir.Node(
        "", "Gather", [unsqueeze.inputs[0], constants.vector([i for i in range(count) for _ in range(times)])],
        [ir.AttrInt64("axis", axis)], num_outputs=1, version=node.version,
    )  # fmt: skip
    new, old = picks.outputs[0], node.outputs[0]
    picks.meta.update(node.meta)
    new.shape, new.type, name = old.shape, old.type, old.name
    new.meta.update(old.meta)
    graph.insert_before(node, picks)
    old.name = None
    new.name = name
    old.replace_all_uses_with(new, replace_graph_outputs=True)
    graph.remove(node, safe=True)
    return True


class _Constants:
    """New int64 vectors among the main graph's initializers, each once."""

    def __init__(self, graph: ir.Graph):
        self._graph = graph
        self._made: dict[tuple[int, ...], ir.Value] = {}
        self._taken: set[str | None] | None = None

    def vector(self, numbers: Sequence[int]) -> ir.Value:
        """The initializer that holds these numbers."""
        key = tuple(int(n) for n in numbers)
        if key not in self._made:
            name = f"ints_{len(self._made)}"
            while name in self._names():
                name += "_"
            tensor = ir.Tensor(np.array(key, np.int64), name=name)
            value = ir.Value(
                name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.shape), const_value=tensor
            )
            self._graph.register_initializer(value)
            self._made[key] = value
        return self._made[key]

    def _names(self) -> set[str | None]:
        """Names in use anywhere in the model."""
        if self._taken is None:
            graphs = (self._graph, *self._graph.subgraphs())
            values = [v for g in graphs for v in (*g.inputs, *g.initializers.values())]
            values += [o for g in graphs for node in g for o in node.outputs]
            self._taken = {v.name for v in values}
        return self._taken


_RULES: dict[str, Callable[[ir.Graph, ir.Node, _Constants], bool]] = {
    "Reshape": _reshape,
    "Expand": _expand,
    "Tile": _unchanged,
    "Cast": _unchanged,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    **dict.fromkeys((*_NEUTRAL_EITHER, *_NEUTRAL_RIGHT, "Add"), _neutral),
}
