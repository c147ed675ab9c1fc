"""In-place ops in a captured graph: which of them are plain renames, and which write through a view."""

from __future__ import annotations

import operator
from typing import Any


def is_overload(target: Any) -> bool:
    """Whether a call target is an operator of torch's dispatcher."""
    return hasattr(target, "_schema") and hasattr(target, "overloadpacket")


def mutates(target: Any) -> bool:
    """Whether an operator writes into an argument."""
    return is_overload(target) and bool(target._schema.is_mutable)


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
    """

    def __init__(self, graph: Any):
        self.same: dict[Any, Any] = {}
        self.root: dict[Any, Any] = {}
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
        root = node if source is None else self.root.get(source, source)
        self.root[node] = root
        self._groups.setdefault(root, []).append(node)

    def written(self) -> list[Any]:
        """Roots of the memory that in-place ops write to."""
        return [self.root[target] for _, target in self.writes]

    def through_views(self) -> bool:
        """Whether an in-place op changes a tensor that is used later under another view."""
        for writer, target in self.writes:
            whole, at = self.canonical(target), self.order[writer]
            for other in self._groups[self.root[target]]:
                if self.canonical(other) is whole or self.order[other] >= at:
                    continue
                if any(self.order[user] > at for user in other.users):
                    return True
            root = self.root[target]
            if root is not whole and root.op == "placeholder":
                return True
        return False


def _aliased_argument(node: Any) -> Any:
    """The argument whose memory the node's result shares (for an in-place op: the one it writes to)."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        return node.args[0]
    if not is_overload(node.target):
        return None
    schema = node.target._schema
    shared = [r.alias_info for r in schema.returns if r.alias_info is not None]
    write = mutates(node.target)
    if not shared and not write:
        return None
    for i, argument in enumerate(schema.arguments):
        info = argument.alias_info
        if info is None or (write and not info.is_write):
            continue
        value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
        return value if hasattr(value, "users") else None
    return None


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
