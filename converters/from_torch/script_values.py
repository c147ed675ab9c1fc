"""What a TorchScript program computes with while it is translated: tensors that share memory, lists, dicts, objects.

A program changes tensors, lists and attributes in place; ONNX values never change. Each thing that can change is an
object here, whose contents are replaced. `Memory` knows what a branch or a loop body changed, so that it can be undone
and made a result of the If or Loop instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.dims import Dim
from ...symbolic.errors import TranslationError
from ...symbolic.quantized.tensor import Quantized
from ...symbolic.value import Value

#: A number of the program: known, a size, or computed in the graph (int64, double or bool without axes).
Number = bool | int | float | Dim | Value


class Mutable(ABC):
    """Something that a program can change.

    Attributes:
        born: Number of the frame it was made in.
    """

    born: int

    @abstractmethod
    def contents(self) -> Any:
        """What it holds now, to be given to `put` later."""

    @abstractmethod
    def put(self, contents: Any) -> None:
        """Gives it what `contents` gave once."""


class Tensor(Mutable):
    """A tensor of the program: its present value, and whose memory it looks at.

    Attributes:
        value: Present value; of a view, as computed from `seen`.
        base: The tensor whose memory a view looks at.
        replay: Computes a view from its base's value.
        scatter: Base's value and new view -> new value of the base; None where that isn't known.
        seen: The base's value that `value` was computed from.
        lost: Why the present value isn't known any more.
        attribute: Path of the module attribute that it is.
    """

    __slots__ = ("attribute", "base", "born", "lost", "replay", "scatter", "seen", "value")

    def __init__(self, value: Value | Complex | Quantized, born: int, attribute: str = ""):
        # a complex tensor is handed on like any other: the type says Value for the sake of the many that aren't
        self.value: Any = value
        self.born, self.attribute = born, attribute
        self.base: Tensor | None = None
        self.replay: Callable[[Value], Value] | None = None
        self.scatter: Callable[[Value, Value], Value] | None = None
        self.seen: Value | None = None
        self.lost = ""

    def contents(self) -> Any:
        """Value, base and what belongs to it."""
        return self.value, self.base, self.seen, self.lost

    def put(self, contents: Any) -> None:
        """Takes what `contents` gave."""
        self.value, self.base, self.seen, self.lost = contents


class Items(Mutable):
    """A list of the program.

    Attributes:
        items: Its elements.
        run: Elements behind them that a Loop has made, one for each step: stacked along a new first axis, or joined.
        joined: The axis that the run is joined along, where its elements differ in size.
        growing: A loop body appends to it: nothing else can be done with it there.
    """

    __slots__ = ("born", "growing", "items", "joined", "run")

    def __init__(self, items: list[Any], born: int):
        self.items, self.born = items, born
        self.run: Value | None = None
        self.joined: int | None = None
        self.growing = False

    def contents(self) -> Any:
        """Elements and run."""
        return list(self.items), self.run, self.joined

    def put(self, contents: Any) -> None:
        """Takes what `contents` gave."""
        items, self.run, self.joined = contents
        self.items = list(items)


class Table(Mutable):
    """A dict of the program."""

    __slots__ = ("born", "items")

    def __init__(self, items: dict[Any, Any], born: int):
        self.items, self.born = items, born

    def contents(self) -> Any:
        """Its items."""
        return dict(self.items)

    def put(self, contents: Any) -> None:
        """Takes what `contents` gave."""
        self.items = dict(contents)


class Record(Mutable):
    """A module, or an object of a class of the program, with attributes.

    Attributes:
        path: Where a module stands; None for other objects.
        native: torch's object that the attributes are read from; None for an object that the program makes.
        items: Attributes that were set.
        loaded: Attributes that were read from `native`.
    """

    __slots__ = ("born", "items", "loaded", "native", "path")

    def __init__(self, path: str | None, native: Any, born: int):
        self.path, self.native, self.born = path, native, born
        self.items: dict[str, Any] = {}
        self.loaded: dict[str, Any] = {}

    def contents(self) -> Any:
        """The attributes that were set."""
        return dict(self.items)

    def put(self, contents: Any) -> None:
        """Takes what `contents` gave."""
        self.items = dict(contents)


@dataclass(eq=False)
class Frame:
    """A graph, branch or loop body that is being translated.

    Attributes:
        number: Objects with a smaller `born` come from outside.
        g: Its builder.
        before: What outer objects held before they were changed here.
    """

    number: int
    g: GraphBuilder
    before: dict[int, tuple[Mutable, Any]] = field(default_factory=dict)


class Memory:
    """The frames, innermost last, and all access to things that change.

    Args:
        g: Builder of the graph.
    """

    def __init__(self, g: GraphBuilder):
        self.frames = [Frame(1, g)]
        self._last = 1

    @property
    def g(self) -> GraphBuilder:
        """Builder of the innermost frame."""
        return self.frames[-1].g

    @property
    def now(self) -> int:
        """Number of the innermost frame."""
        return self.frames[-1].number

    # --- frames ------------------------------------------------------------------------------------------------------

    def enter(self, g: GraphBuilder) -> Frame:
        """Starts a branch or body."""
        self._last += 1
        frame = Frame(self._last, g)
        self.frames.append(frame)
        return frame

    def leave(self) -> list[tuple[Mutable, Any]]:
        """Ends the innermost frame, undoes what it changed outside, and gives what the changed objects held then."""
        frame = self.frames.pop()
        after = [(thing, thing.contents()) for thing, _ in frame.before.values()]
        for thing, contents in frame.before.values():
            thing.put(contents)
        return after

    def change(self, thing: Mutable) -> None:
        """Is called before a thing is changed."""
        for frame in reversed(self.frames):
            if thing.born >= frame.number:
                return
            frame.before.setdefault(id(thing), (thing, thing.contents()))

    # --- making ------------------------------------------------------------------------------------------------------

    def tensor(self, value: Value | Complex | Quantized) -> Tensor:
        """A new tensor."""
        return Tensor(value, self.now)

    def items(self, items: list[Any]) -> Items:
        """A new list."""
        return Items(items, self.now)

    def table(self, items: dict[Any, Any]) -> Table:
        """A new dict."""
        return Table(items, self.now)

    def view(
        self, base: Tensor, value: Value | Complex | Quantized, replay: Callable[[Value], Value],
        scatter: Callable[[Value, Value], Value] | None,
    ) -> Tensor:  # fmt: skip
        """A tensor that looks at the memory of another."""
        made = Tensor(value, self.now)
        made.base, made.replay, made.scatter, made.seen = base, replay, scatter, self.read(base)
        return made

    # --- reading and writing -----------------------------------------------------------------------------------------

    def read(self, tensor: Tensor) -> Any:
        """The present value of a tensor: a Value, or a Complex."""
        if tensor.lost:
            raise TranslationError(tensor.lost, location=self.g.location)
        if tensor.base is None:
            return tensor.value
        base = self.read(tensor.base)
        if base is not tensor.seen:
            assert tensor.replay is not None
            self.change(tensor)
            tensor.value, tensor.seen = tensor.replay(base), base
        return tensor.value

    def write(self, tensor: Tensor, value: Value) -> None:
        """Gives a tensor (and the one whose memory it looks at) a new value."""
        if tensor.base is None:
            self.change(tensor)
            tensor.value = value
            return
        base = tensor.base
        if tensor.scatter is None:
            self._lose(base, f"a part of this tensor is written at {self.g.location}: which can't be followed")
            self.change(tensor)
            tensor.base, tensor.value = None, value
            return
        changed = tensor.scatter(self.read(base), value)
        self.write(base, changed)
        self.change(tensor)
        tensor.value, tensor.seen = value, changed

    def _lose(self, tensor: Tensor, why: str) -> None:
        whole: Tensor | None = tensor
        while whole is not None:
            self.change(whole)
            whole.lost, whole = why, whole.base


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Everything in a value that isn't a list, tuple or dict, with where it stands."""
    if isinstance(value, Items):
        value = value.items
    if isinstance(value, Table):
        value = value.items
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path, value
