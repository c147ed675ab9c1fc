"""In-place ops in a captured graph: which of them are plain renames, and which write through a view."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

#: Ops whose result is always a view, of one tensor.
VIEWS = frozenset((
    "slice.Tensor", "select.int", "view.default", "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims",
    "transpose.int", "permute.default", "t.default", "alias.default", "detach.default", "expand.default",
    "diagonal.default", "narrow.default",
))  # fmt: skip
#: Views through which a write reaches the tensor that is viewed -> how: by the op that writes a part of it, by the view
#: itself (its own inverse), or by giving the values the viewed tensor's shape.
WRITE_BACK = {
    "slice.Tensor": "slice_scatter", "select.int": "select_scatter", "diagonal.default": "diagonal_scatter",
    "transpose.int": "itself", "t.default": "itself",
    "view.default": "shape", "unsqueeze.default": "shape", "squeeze.default": "shape", "squeeze.dim": "shape",
    "squeeze.dims": "shape", "alias.default": "shape", "detach.default": "shape",
}  # fmt: skip


def is_overload(target: Any) -> bool:
    """Whether a call target is an operator of torch's dispatcher."""
    return hasattr(target, "_schema") and hasattr(target, "overloadpacket")


@cache  # torch makes a schema's parts anew whenever they are asked for
def mutates(target: Any) -> bool:
    """Whether an operator writes into an argument."""
    return is_overload(target) and bool(target._schema.is_mutable)


@cache
def functional_name(target: Any) -> str:
    """Name of an operator without the underscore of its in-place form, ``name.overload``."""
    if not is_overload(target):
        return str(target.name()) if callable(getattr(target, "name", None)) else str(target)
    name = target._schema.name.removeprefix("aten::")
    if mutates(target) and name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return f"{name}.{target._overloadname}"


class Aliases:
    """Which nodes of a graph share their memory.

    Attributes:
        same: In-place result -> the node whose whole tensor it is.
        root: Node -> the node whose memory it looks at.
        parent: View -> the node that it is a view of.
    """

    def __init__(self, graph: Any):
        self.same: dict[Any, Any] = {}
        self.root: dict[Any, Any] = {}
        self.parent: dict[Any, Any] = {}
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self._groups: dict[Any, list[Any]] = {}
        self.writes: list[tuple[Any, Any]] = []
        for node in graph.nodes:
            self._add(node)

    def canonical(self, node: Any) -> Any:
        """The first node that stands for the same whole tensor."""
        return self.same.get(node, node)

    def _add(self, node: Any) -> None:
        source = _aliased_argument(node)
        if source is not None and mutates(node.target):
            self.writes.append((node, source))
            self.same[node] = self.canonical(source)
        elif source is not None:
            self.parent[node] = self.canonical(source)
        root = node if source is None else self.root.get(source, source)
        self.root[node] = root
        self._groups.setdefault(root, []).append(node)

    def written(self) -> list[Any]:
        """Roots of the memory that in-place ops write to."""
        return [self.root[target] for _, target in self.writes]

    def group(self, node: Any) -> list[Any]:
        """All nodes that look at the same memory as a node."""
        return self._groups[self.root[node]]

    def beyond_views(self) -> bool:
        """Whether an in-place op changes memory that is used later in a way that `Memory` can't follow."""
        for writer, target in self.writes:
            whole, at = self.canonical(target), self.order[writer]
            later = [
                other
                for other in self.group(target)
                if self.canonical(other) is not whole
                and self.order[other] < at
                and any(self.order[user] > at for user in other.users)
            ]
            root = self.root[target]
            if root is not whole and root.op == "placeholder":
                return True
            if later and not (self._written_back(whole) and all(self._viewed_again(o) for o in later)):
                return True
        return False

    def _written_back(self, node: Any) -> bool:
        while node in self.parent:
            if functional_name(node.target) not in WRITE_BACK:
                return False
            node = self.parent[node]
        return True

    def _viewed_again(self, node: Any) -> bool:
        node = self.canonical(node)
        while node in self.parent:
            if functional_name(node.target) not in VIEWS:
                return False
            node = self.parent[node]
        return True


def _aliased_argument(node: Any) -> Any:
    """The argument whose memory the node's result shares (for an in-place op: the one it writes to)."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        # parts of a split look at one memory; results of topk have their own
        made = node.args[0].target
        views = is_overload(made) and any(r.alias_info is not None for r in made._schema.returns)
        return node.args[0] if views else None
    position = _aliased_position(node.target)
    if position is None:
        return None
    index, name = position
    value = node.args[index] if index < len(node.args) else node.kwargs.get(name)
    return value if hasattr(value, "users") else None


@cache
def _aliased_position(target: Any) -> tuple[int, str] | None:
    """Index and name of the argument whose memory an operator's result shares, or that it writes to."""
    if not is_overload(target):
        return None
    write = mutates(target)
    if not write and all(r.alias_info is None for r in target._schema.returns):
        return None
    for i, argument in enumerate(target._schema.arguments):
        info = argument.alias_info
        if info is not None and (info.is_write or not write):
            return i, argument.name
    return None


class Memory:
    """Values of a graph's nodes while it is walked; a write to a tensor reaches every view of its memory.

    Args:
        aliases: What shares its memory in the graph.
        view: Computes a view's value anew: (node) -> value.
        write_back: Gives a viewed tensor's new value: (view, its new value) -> value.
    """

    def __init__(self, aliases: Aliases, view: Callable[[Any], Any], write_back: Callable[[Any, Any], Any]):
        self._aliases, self._view, self._write_back = aliases, view, write_back
        self._values: dict[Any, Any] = {}
        self._stale: set[Any] = set()

    def __getitem__(self, node: Any) -> Any:
        node = self._aliases.canonical(node)
        if node in self._stale:
            self._stale.discard(node)
            self._values[node] = self._view(node)
        return self._values[node]

    def __setitem__(self, node: Any, value: Any) -> None:
        """Sets what a node gives; for an in-place op this is a write to its tensor."""
        whole = self._aliases.canonical(node)
        changed = {whole}
        self._values[whole] = value
        if whole is node:
            return
        while whole in self._aliases.parent:
            parent = self._aliases.parent[whole]
            if functional_name(whole.target) not in WRITE_BACK:
                break  # nothing reads the viewed tensor later: `Aliases.beyond_views` has looked
            value = self._write_back(whole, value)
            self._values[parent] = value
            changed.add(parent)
            whole = parent
        others = {self._aliases.canonical(n) for n in self._aliases.group(node)} & self._values.keys()
        self._stale |= {n for n in others - changed if n in self._aliases.parent}
        self._stale -= changed


def unsupported_writes(graph: Any) -> list[Any]:
    """In-place ops that aren't the in-place form of a functional op (``out=`` forms, several written arguments)."""
    found = []
    for node in graph.nodes:
        if node.op == "call_function" and mutates(node.target):
            schema = node.target._schema
            written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
            if len(written) != 1 or written[0].name != "self" or not schema.name.endswith("_"):
                found.append(node)
    return found
