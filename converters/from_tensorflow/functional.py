"""Branches and loops of TensorFlow 1 (Switch and Merge, Enter and Exit), and lowered ones, as If, Case and While.

Every tensor has a place: the frames of the loops that it lies in, and the branches that it depends on, as pairs of a
condition and the number of the output that a Switch on it feeds. A Merge ends what one condition began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from ...symbolic.errors import MissingOp, UnsupportedOps
from .graph import Callee, Graph, Library, Node

#: A tensor: node, or argument of a function, and number of the result.
Tensor = tuple[str, int]
_SWITCHES = frozenset({"Switch", "RefSwitch", "_SwitchN"})
_MERGES = frozenset({"Merge", "RefMerge"})
_ENTERS = frozenset({"Enter", "RefEnter"})
_EXITS = frozenset({"Exit", "RefExit"})
_NEXT = frozenset({"NextIteration", "RefNextIteration"})
_DATAFLOW = _SWITCHES | _MERGES | _ENTERS


@dataclass(frozen=True)
class _Place:
    """Where a node lies.

    Attributes:
        frames: Loops around it, from the outermost.
        branches: Conditions that it depends on, with the output of a Switch each.
        depth: How many ended conditionals on the same condition lie before it, by condition.
    """

    frames: tuple[str, ...] = ()
    branches: frozenset[tuple[Tensor, int]] = frozenset()
    depth: Mapping[Tensor, int] = field(default_factory=dict)


def functional(graph: Graph, results: Sequence[str], library: Library) -> Graph:
    """The graph with functional control flow; functions of it are added to the library.

    Raises:
        UnsupportedOps: Its branches or loops are of a form that no conditional or loop of TensorFlow has.
    """
    if not any(n.op in _DATAFLOW for n in graph.nodes.values()):
        return graph
    return _Raiser(graph, [*results, *graph.kept], library).raised()


def functional_library(library: Library) -> None:
    """As `functional`, for all functions of a library."""
    for name, function in list(library.functions.items()):
        library.functions[name] = functional(function, function.results, library)


class _Raiser:
    """Raises the outermost loops and conditionals of one graph; what lies in them is raised in their functions."""

    def __init__(self, graph: Graph, results: Sequence[str], library: Library):
        self.graph, self.results, self.library = graph, results, library
        self.nodes = graph.nodes

    def raised(self) -> Graph:
        """The graph with If, Case and While in the place of Merge and Exit."""
        for raise_one_kind in (self._loops, self._conditionals):
            self.nodes = self.graph.nodes
            self.places = self._located()
            made = raise_one_kind()
            self.graph = replace(self.graph, nodes={**self.nodes, **made})
        return self.graph

    def _refused(self, op: str, name: str, reason: str) -> NoReturn:
        place = f"{self.graph.name}/{name}" if self.graph.name else name
        raise UnsupportedOps([MissingOp("tf_graph", op, 1, (place,), reason)])

    # --- places ------------------------------------------------------------------------------------------------------

    def _before(self, node: Node) -> list[Tensor]:
        """What a node takes and what runs before it, as tensors; edges that close a loop are left out."""
        closes = node.op in _MERGES
        found = [self.graph.find(r) for r in node.inputs]
        found = [t for t in found if not (closes and t[0] in self.nodes and self.nodes[t[0]].op in _NEXT)]
        return found + [(c, 0) for c in node.controls if c in self.nodes]

    def _order(self) -> Iterator[Node]:
        """All nodes that results need, each after those before it."""
        pending = [self.graph.find(r)[0] for r in self.results]
        state: dict[str, int] = {}
        while pending:
            stack = [pending.pop()]
            while stack:
                node = self.nodes.get(stack[-1])
                if node is None or state.get(node.name) == 2:
                    stack.pop()
                elif state.get(node.name) == 1:
                    state[node.name] = 2
                    stack.pop()
                    yield node
                else:
                    state[node.name] = 1
                    stack.extend(n for n, _ in self._before(node) if n not in state)
                    if node.op in _MERGES:
                        pending.extend(self.graph.find(r)[0] for r in node.inputs)

    def _located(self) -> dict[str, _Place]:
        places: dict[str, _Place] = {}
        self.places = places
        for node in self._order():
            before = [self._place_of(t) for t in self._before(node)]
            frames = max((p.frames for p in before), key=len, default=())
            branches = frozenset[tuple[Tensor, int]]().union(*(p.branches for p in before))
            depth = _deepest([p.depth for p in before])
            if node.op in _ENTERS:
                frames = (*frames, str(node.attributes["frame_name"]))
            elif node.op in _EXITS:
                frames = frames[:-1]
            elif node.op in _MERGES and not self._closes(node):
                ended = self._ended(node)
                if ended is not None:
                    condition, _, branches = ended
                    depth = {**depth, condition: depth.get(condition, 0) + 1}
            places[node.name] = _Place(frames, branches, depth)
        return places

    def _place_of(self, tensor: Tensor) -> _Place:
        name, index = tensor
        place = self.places.get(name, _Place())
        node = self.nodes.get(name)
        if node is None or node.op not in _SWITCHES or self._continues(node):
            return place
        return replace(place, branches=place.branches | {(self._condition(node), index)})

    def _condition(self, switch: Node) -> Tensor:
        """What a Switch is steered by."""
        return self._origin(self.graph.find(switch.inputs[1]))

    def _origin(self, tensor: Tensor) -> Tensor:
        node = self.nodes.get(tensor[0])
        while node is not None and node.op == "Identity":
            tensor = self.graph.find(node.inputs[0])
            node = self.nodes.get(tensor[0])
        return tensor

    def _continues(self, switch: Node) -> bool:
        """Whether a Switch is that of a loop variable."""
        node = self.nodes.get(self._condition(switch)[0])
        return node is not None and node.op == "LoopCond"

    def _closes(self, merge: Node) -> bool:
        """Whether a Merge is that of a loop variable."""
        return any(n in self.nodes and self.nodes[n].op in _NEXT for n, _ in map(self.graph.find, merge.inputs))

    def _ended(self, merge: Node) -> tuple[Tensor, list[int], frozenset[tuple[Tensor, int]]] | None:
        """The condition that a Merge ends, the branch of each input, and the branches that stay; None: unclear."""
        each = [self._place_of(self.graph.find(r)).branches for r in merge.inputs]
        common = frozenset[tuple[Tensor, int]].intersection(*each)
        own = [b - common for b in each]
        if any(len(b) != 1 for b in own):
            return None
        pairs = [next(iter(b)) for b in own]
        numbers = [n for _, n in pairs]
        if len({c for c, _ in pairs}) > 1 or sorted(numbers) != list(range(len(numbers))):
            return None
        return pairs[0][0], numbers, common

    # --- conditionals ------------------------------------------------------------------------------------------------

    def _conditionals(self) -> dict[str, Node]:
        """If and Case nodes, and what stands in the place of each outermost Merge."""
        groups: dict[tuple[Tensor, int], list[Node]] = {}
        for name, place in self.places.items():
            node = self.nodes[name]
            if node.op not in _MERGES or self._closes(node):
                continue
            ended = self._ended(node)
            if ended is None:
                self._refused(node.op, name, "it does not join the branches of one condition")
            if place.frames or place.branches:
                continue
            groups.setdefault((ended[0], place.depth[ended[0]]), []).append(node)
        made: dict[str, Node] = {}
        for (condition, _), merges in groups.items():
            made.update(self._conditional(condition, merges))
        return made

    def _conditional(self, condition: Tensor, merges: list[Node]) -> dict[str, Node]:
        count = len(merges[0].inputs)
        switches = [n for n in self.nodes.values() if n.op in _SWITCHES and n.name in self.places
                    and self._condition(n) == condition]  # fmt: skip
        captured = _Captured()
        parts = []
        for branch in range(count):
            fed = {(s.name, branch): self.graph.find(s.inputs[0]) for s in switches
                   if not self._inside(s.name, condition)}  # fmt: skip
            wanted = [m.inputs[self._ended(m)[1].index(branch)] for m in merges]  # type: ignore[index]
            inside = self._dependent(condition, branch)
            parts.append((f"{merges[0].name}/branch_{branch}", wanted, inside, fed))
        bodies = [self._extract(*p, {}, captured) for p in parts]
        for body in bodies:
            self._add(body, captured)
        name = f"{merges[0].name}/{'If' if count == 2 else 'Case'}"
        inputs = [_reference(condition), *map(_reference, captured.tensors)]
        controls = [c for body in bodies for c in body.kept]
        callees = [Callee(b.name) for b in bodies]
        two = switches[0].op != "_SwitchN"
        attributes = {"else_branch": callees[0], "then_branch": callees[1]} if two else {"branches": callees}
        node = Node(name, "If" if two else "Case", inputs, controls, {}, attributes)
        return {name: node, **{m.name: _stand_in(m, f"{name}:{i}") for i, m in enumerate(merges)}}

    def _inside(self, name: str, condition: Tensor) -> bool:
        return any(c == condition for c, _ in self.places[name].branches)

    def _dependent(self, condition: Tensor, branch: int) -> Callable[[str], bool]:
        return lambda name: name in self.places and (condition, branch) in self.places[name].branches

    # --- loops -------------------------------------------------------------------------------------------------------

    def _loops(self) -> dict[str, Node]:
        """While nodes, and what stands in the place of each Exit of the outermost loops."""
        frames: dict[str, list[Node]] = {}
        outside: set[str] = set()
        for name, place in self.places.items():
            node = self.nodes[name]
            if node.op in _ENTERS and len(place.frames) == 1:
                frames.setdefault(place.frames[0], []).append(node)
                if place.branches:  # raised with the branch that it lies in
                    outside.add(place.frames[0])
        made: dict[str, Node] = {}
        for frame, enters in frames.items():
            if frame not in outside:
                made.update(self._loop(frame, enters))
        return made

    def _loop(self, frame: str, enters: list[Node]) -> dict[str, Node]:
        names = {e.name for e in enters}
        inner = [self.nodes[n] for n, p in self.places.items() if p.frames == (frame,)]
        merges = [n for n in inner if n.op in _MERGES and self._closes(n)
                  and any(self.graph.find(r)[0] in names for r in n.inputs)]  # fmt: skip
        switches = {self.graph.find(n.inputs[0])[0]: n for n in inner if n.op in _SWITCHES and self._continues(n)}
        conditions = {self._condition(s) for s in switches.values()}
        if len(conditions) != 1 or not merges:
            self._refused("LoopCond", frame, "a loop without one condition isn't supported")
        captured = _Captured()
        starts, following, own = [], [], {}
        for merge in merges:
            pair = [self.graph.find(r) for r in merge.inputs]
            (start,) = (t[0] for t in pair if t[0] in names)
            (again,) = (t[0] for t in pair if t[0] not in names)
            starts.append(self.graph.find(self.nodes[start].inputs[0]))
            following.append(self.nodes[again].inputs[0])
            own[merge.name, 0] = captured.own(len(starts) - 1)
            if merge.name in switches:
                own[switches[merge.name].name, 1] = captured.own(len(starts) - 1)
        fed = {(e.name, 0): self.graph.find(e.inputs[0]) for e in enters if e.attributes.get("is_constant")}
        (condition,) = conditions
        goes_on = self.nodes[condition[0]].inputs
        inside = self._framed(frame)
        bodies = [
            self._extract(f"{frame}/condition", goes_on, inside, fed, own, captured),
            self._extract(f"{frame}/body", following, inside, fed, own, captured),
        ]
        bodies[1].results += [captured.name(t) for t in captured.tensors]
        for body in bodies:
            self._add(body, captured, [captured.own(i) for i in range(len(starts))])
        name = f"{frame}/While"
        inputs = [_reference(t) for t in (*starts, *captured.tensors)]
        attributes = {"cond": Callee(bodies[0].name), "body": Callee(bodies[1].name)}
        made = {name: Node(name, "While", inputs, [c for b in bodies for c in b.kept], {}, attributes)}
        numbers = {switches[m.name].name: i for i, m in enumerate(merges) if m.name in switches}
        for node in self.nodes.values():
            if node.op in _EXITS and self.graph.find(node.inputs[0])[0] in numbers:
                made[node.name] = _stand_in(node, f"{name}:{numbers[self.graph.find(node.inputs[0])[0]]}")
        return made

    def _framed(self, frame: str) -> Callable[[str], bool]:
        return lambda name: name in self.places and self.places[name].frames[:1] == (frame,)

    # --- functions ---------------------------------------------------------------------------------------------------

    def _extract(
        self,
        name: str,
        results: Sequence[str],
        inside: Callable[[str], bool],
        fed: Mapping[Tensor, Tensor],
        own: Mapping[Tensor, str],
        captured: _Captured,
    ) -> Graph:
        """A function of the nodes inside that results need; its `kept` are what has to run before it, outside.

        Args:
            name: Its name.
            results: What it gives.
            inside: Whether a node belongs to it.
            fed: Tensors that hand on one from outside.
            own: Tensors that are its own arguments.
            captured: What it takes from outside.
        """
        nodes: dict[str, Node] = {}
        before: list[str] = []
        pending: list[str] = []

        def taken(reference: str) -> str:
            tensor = self.graph.find(reference)
            if tensor in own:
                return own[tensor]
            tensor = fed.get(tensor, tensor)
            if inside(tensor[0]):
                pending.append(tensor[0])
                return reference
            place = self.places.get(tensor[0], _Place())
            if place.frames or place.branches:
                op = self.nodes[tensor[0]].op
                self._refused(op, tensor[0], "it is used in a branch or loop that it doesn't lie in")
            return captured.name(tensor)

        wanted = [taken(r) for r in results]
        stand_ins = {n for n, _ in (*fed, *own)}
        while pending:
            node = self.nodes[pending.pop()]
            if node.name in nodes:
                continue
            nodes[node.name] = node  # first, as loops in it lead back to it
            inputs = [taken(r) for r in node.inputs]
            controls = [c for c in node.controls if inside(c) and c not in stand_ins]
            pending += controls
            before += [c for c in node.controls if c in self.nodes and c in self.places and not inside(c)]
            nodes[node.name] = replace(node, inputs=inputs, controls=controls)
        return Graph(name, nodes, [], wanted, [], [c for c in before if c not in stand_ins])

    def _add(self, body: Graph, captured: _Captured, own: Sequence[str] = ()) -> None:
        """Puts a function into the library, with all arguments, and with functional control flow itself."""
        arguments = [*own, *(captured.name(t) for t in captured.tensors)]
        whole = replace(body, arguments=arguments, kept=[])
        if body.name in self.library.functions:
            self._refused("Merge", body.name, "a function of this name is there already")
        self.library.functions[body.name] = functional(whole, whole.results, self.library)


class _Captured:
    """Names of the arguments of functions: their own, and what they take from outside."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self._names: dict[Tensor, str] = {}

    @staticmethod
    def own(index: int) -> str:
        """Name of an argument that no outer tensor stands behind."""
        return f"@{index}"

    def name(self, tensor: Tensor) -> str:
        """Name of the argument for an outer tensor."""
        if tensor not in self._names:
            self._names[tensor] = f"@{_reference(tensor).replace(':', '@')}"
            self.tensors.append(tensor)
        return self._names[tensor]


def _reference(tensor: Tensor) -> str:
    name, index = tensor
    return f"{name}:{index}" if index else name


def _stand_in(node: Node, reference: str) -> Node:
    """An Identity in the place of a node, with what is known about its shape."""
    shapes = {k: v for k, v in node.raw.items() if k == "_output_shapes"}
    return Node(node.name, "Identity", [reference], [], shapes)


def _deepest(depths: list[Mapping[Tensor, int]]) -> Mapping[Tensor, int]:
    known = [d for d in depths if d]
    if len(known) < 2:
        return known[0] if known else {}
    found = dict(known[0])
    for other in known[1:]:
        for condition, depth in other.items():
            found[condition] = max(found.get(condition, 0), depth)
    return found
