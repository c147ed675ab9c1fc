"""Joins what the two branches of an If leave: equal values stay as they are, the rest becomes results of the If."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.errors import TranslationError
from ...symbolic.quantized.tensor import Quantized, moved
from ...symbolic.value import Value
from . import script_numbers as numbers
from .script_values import Items, Mutable, Record, Table, Tensor

if TYPE_CHECKING:
    from .script_graph import ScriptWalk

#: Makes the joined value from the results of the If.
Made = Callable[[Sequence[Value]], Any]
#: What outer objects held at the end of a branch, by id.
End = Mapping[int, tuple[Mutable, Any]]


class _Unset:
    """What a path of the program leaves where it ends early: nothing reads it."""


UNSET = _Unset()


class Merge:
    """Collects the results of an If.

    Args:
        walk: The walk.
        bodies: Builders of the branches.
        ends: What outer objects held at the end of each branch.
    """

    def __init__(self, walk: ScriptWalk, bodies: Sequence[GraphBuilder], ends: Sequence[End]):
        self.walk, self.bodies, self.ends = walk, bodies, ends
        self._pairs: list[tuple[Value, Value]] = []
        #: A tensor has another number of axes in one branch than in the other.
        self.ranks_differ = False

    def value(self, a: Any, b: Any) -> Made:
        """Joins what the first and the second branch give."""
        if a is b or (_is_constant(a) and _is_constant(b) and type(a) is type(b) and a == b):
            return lambda _: a
        if isinstance(a, _Unset) or isinstance(b, _Unset):
            return self._unset(a, b)
        if numbers.is_number(a) and numbers.is_number(b):
            return self._number(a, b)
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return self._tensor(a, b)
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            parts = [self.value(x, y) for x, y in zip(a, b, strict=True)]
            return lambda results: tuple(part(results) for part in parts)
        if isinstance(a, Items) and isinstance(b, Items):
            joined = self._items(self._contents(0, a), self._contents(1, b))
            return lambda results: self.walk.memory.items(joined(results)[0])
        if isinstance(a, Table) and isinstance(b, Table):
            table = self._table(self._contents(0, a), self._contents(1, b))
            return lambda results: self.walk.memory.table(table(results))
        if isinstance(a, Record) and isinstance(b, Record) and a.path is not None and a.path == b.path:
            return lambda _: a
        raise self._refusal(a, b)

    def contents(self, thing: Mutable) -> Made | None:
        """Joins what an outer object holds at the end of each branch; None where it is as before."""
        a, b = (self._contents(which, thing) for which in (0, 1))
        if isinstance(thing, Tensor):
            if thing.base is not None:
                # a view is computed anew from its base, unless a branch cut it off
                cut = a[1] is None or b[1] is None
                return (lambda _: (*thing.contents()[:3], "a branch writes to this view")) if cut else None
            value = self._pair(a[0], b[0])
            return lambda results: (value(results), None, None, a[3] or b[3])
        if isinstance(thing, Items):
            return self._items(a, b)
        if isinstance(thing, Record):
            names = dict.fromkeys([*a, *b])
            a, b = ({n: held.get(n, self.walk.loaded(thing, n)) for n in names} for held in (a, b))
        return self._table(a, b)

    def finish(self, condition: Value) -> Sequence[Value]:
        """Writes the If; gives its results."""
        if not self._pairs:
            return []
        for pair in self._pairs:
            for body, value in zip(self.bodies, pair, strict=True):
                body.output(value)
        then, other = self.bodies
        results = self.walk.g.call(
            "If", condition, then_branch=then, else_branch=other, outputs=len(self._pairs)
        )  # fmt: skip
        return results if isinstance(results, tuple) else (results,)

    # --- kinds of values ---------------------------------------------------------------------------------------------

    def _contents(self, which: int, thing: Mutable) -> Any:
        found = self.ends[which].get(id(thing))
        return thing.contents() if found is None else found[1]

    def _pair(self, a: Any, b: Any) -> Callable[[Sequence[Value]], Any]:
        if a is b:
            return lambda _: a
        if isinstance(a, Complex) and isinstance(b, Complex):
            real, imag = self._pair(a.real, b.real), self._pair(a.imag, b.imag)
            return lambda results: Complex(real(results), imag(results))
        if isinstance(a, Quantized) and isinstance(b, Quantized) and a.same_levels(b):
            numbers_ = self._pair(a.numbers, b.numbers)
            return lambda results: moved(self.walk.g, numbers_(results), a)
        if isinstance(a, Quantized) or isinstance(b, Quantized):
            raise self._refusal("a quantised tensor", "one of another scale")
        if a.sizes is not None and b.sizes is not None and len(a.sizes) != len(b.sizes):
            self.ranks_differ = True
        place = len(self._pairs)
        self._pairs.append((a, b))
        return lambda results: results[place]

    def _number(self, a: Any, b: Any) -> Made:
        wanted = numbers.kind(a)
        if wanted != numbers.kind(b):
            wanted = numbers.FLOAT
        values = [numbers.as_value(body, x, wanted) for body, x in zip(self.bodies, (a, b), strict=True)]
        joined = self._pair(values[0], values[1])
        return lambda results: numbers.simplest(self.walk.g, joined(results))

    def _tensor(self, a: Tensor, b: Tensor) -> Made:
        values = [self._contents(which, t)[0] for which, t in enumerate((a, b))]
        lost = a.lost or b.lost
        joined = self._pair(values[0], values[1])
        outer = next((r for t in (a, b) if (r := _root(t)).born <= self.walk.memory.now), None)

        def made(results: Sequence[Value]) -> Tensor:
            memory = self.walk.memory
            value = joined(results)
            tensor = memory.tensor(value)
            if lost:
                tensor.lost = lost
            elif outer is not None:
                tensor.base, tensor.replay, tensor.seen = outer, _changed, memory.read(outer)
            return tensor

        return made

    def _items(self, a: Any, b: Any) -> Made:
        if len(a[0]) != len(b[0]) or a[1] is not b[1]:
            raise self._refusal(f"a list of {len(a[0])}", f"one of {len(b[0])} elements")
        parts = [self.value(x, y) for x, y in zip(a[0], b[0], strict=True)]
        return lambda results: ([part(results) for part in parts], *a[1:])

    def _table(self, a: Mapping[Any, Any], b: Mapping[Any, Any]) -> Made:
        if list(a) != list(b):
            raise self._refusal(f"a dict with {', '.join(map(str, a))}", f"one with {', '.join(map(str, b))}")
        parts = {key: self.value(a[key], b[key]) for key in a}
        return lambda results: {key: part(results) for key, part in parts.items()}

    def _unset(self, a: Any, b: Any) -> Made:
        """One branch ends early: what the other gives, and anything of its kind in the first."""
        which = 1 if isinstance(a, _Unset) else 0
        real = b if which else a
        if isinstance(real, tuple):
            parts = [self._unset(*((UNSET, r) if which else (r, UNSET))) for r in real]
            return lambda results: tuple(part(results) for part in parts)
        if numbers.is_known(real) or real is None or isinstance(real, (str, Record, Items, Table)):
            return lambda _: real
        value = (
            self._contents(which, real)[0] if isinstance(real, Tensor) else numbers.as_value(self.bodies[which], real)
        )
        filler = self.bodies[1 - which].constant(np.zeros((1,) * len(value.sizes or ()), value.element.numpy()))
        joined = self._pair(*((filler, value) if which else (value, filler)))

        def made(results: Sequence[Value]) -> Any:
            result = joined(results)
            result.sizes = value.sizes
            return self.walk.tensor(result) if isinstance(real, Tensor) else result

        return made

    def _refusal(self, a: Any, b: Any) -> TranslationError:
        return TranslationError(
            f"the branches of an if on data give {_told(a)} and {_told(b)}, which can't be one result",
            op="prim::If",
            location=self.walk.g.location,
        )


def _root(tensor: Tensor) -> Tensor:
    while tensor.base is not None:
        tensor = tensor.base
    return tensor


def _changed(_: Value) -> Value:
    raise TranslationError("a tensor is changed in place after an if on data has chosen a view of it")


def _is_constant(value: Any) -> bool:
    return value is None or not isinstance(value, (Tensor, Items, Table, Record, Value, tuple, _Unset))


def _told(value: Any) -> str:
    return value if isinstance(value, str) else f"a {type(value).__name__}"
