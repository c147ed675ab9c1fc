"""prim::Loop: unrolled where its course is known and short, else an ONNX Loop.

What a body changes is found by trying: at first everything is taken to stay the same; what doesn't becomes a carried
value, with sizes that hold in every step; a list that is only appended to becomes a scan output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.control import common_sizes
from ...symbolic.dims import Dim, Sizes
from ...symbolic.errors import AnyonnxError, TranslationError
from ...symbolic.quantized.tensor import Quantized
from ...symbolic.value import Value
from . import script_numbers as numbers
from .script_merge import UNSET
from .script_program import Op
from .script_values import Items, Mutable, Record, Table, Tensor, leaves

if TYPE_CHECKING:
    from .script_graph import ScriptWalk

#: Loops of at most so many steps are unrolled; longer ones only where they can't be a Loop.
_SHORT, _LONGEST = 16, 512
_ENDLESS = 1 << 62
_MAX_TRIALS = 12
#: A place in what is carried: number of the carried value or id of a changed object, and the path in it.
Place = tuple[int, tuple[Any, ...]]


def loop(walk: ScriptWalk, op: Op) -> Sequence[Any]:
    """Translates a loop; gives its results."""
    trip, condition, *carried = (walk.env[i] for i in op.inputs)
    done, failed = 0, False
    walk.attempts += 1  # what one step skips, another may run
    try:
        while True:
            condition = numbers.simplest(walk.g, condition) if isinstance(condition, Value) else condition
            if condition is False or (isinstance(trip, int) and done >= trip):
                return carried
            known = condition is True and isinstance(trip, int)
            long = known and trip - done > _SHORT and trip < _ENDLESS and done < 2
            if not known or (long and not failed):
                try:
                    return _Loop(walk, op, trip, condition, carried, done).run()
                except _OtherKind:
                    if done or condition is not True or not _runs(trip):
                        raise
                except AnyonnxError:
                    if not known or trip - done > _LONGEST:
                        raise
                    failed = True
            if done > _LONGEST * 4:
                raise TranslationError(f"a loop of more than {done} steps", op=op.kind, location=op.location)
            condition, *carried = walk.block(op.blocks[0], [done, *carried])
            done += 1
    finally:
        walk.attempts -= 1


def _runs(trip: Any) -> bool:
    """Whether a loop whose first step is another makes a step at all: open sizes are taken to be at least 1."""
    if isinstance(trip, Dim):
        least = trip.evaluate(dict.fromkeys(trip.symbols(), 1))
        return least >= 1 and numbers.compare_sizes("ge", trip, 0) is True
    return isinstance(trip, int) and trip >= 1


@dataclass
class _Form:
    """What is carried at a place: a tensor or number."""

    dtype: ir.DataType
    sizes: Sizes | None
    is_tensor: bool


class _Widened(Exception):
    """More is carried than was thought: the body is tried again."""


class _OtherKind(TranslationError):
    """What the first step leaves is of another kind than what it starts from: it has to stand before the loop."""


class _Loop:
    """One loop that becomes a Loop."""

    def __init__(self, walk: ScriptWalk, op: Op, trip: Any, condition: Any, carried: Sequence[Any], done: int):
        self.walk, self.op, self.trip, self.condition, self.done = walk, op, trip, condition, done
        self.carried = list(carried)
        self.forms: dict[Place, _Form] = {}
        self.things: dict[int, Mutable] = {}
        self.growing: dict[int, Items] = {}
        #: Lists among these whose elements differ in size along one axis: they are joined along it.
        self.joined: dict[int, _Form] = {}

    def run(self) -> Sequence[Any]:
        """Tries the body until what it carries is known; writes the Loop; gives what the loop leaves."""
        for _ in range(_MAX_TRIALS):
            try:
                return self._trial()
            except _Widened:
                continue
        raise TranslationError("what this loop carries changes from step to step", op="prim::Loop",
                               location=self.op.location)  # fmt: skip

    # --- one trial ---------------------------------------------------------------------------------------------------

    def _trial(self) -> Sequence[Any]:
        walk, memory = self.walk, self.walk.memory
        body = walk.g.subgraph()
        memory.enter(body)
        try:
            step = body.input(f"step_{memory.now}", "int64", [])
            body.input(f"go_{memory.now}", "bool", [])
            values: dict[Place, Value] = {}
            for number, place in enumerate(self.forms):
                form = self.forms[place]
                values[place] = body.input(f"carried_{memory.now}_{number}", form.dtype, form.sizes)
            before = {
                key: body.input(f"joined_{memory.now}_{number}", form.dtype, form.sizes)
                for number, (key, form) in enumerate(self.joined.items())
            }
            inside = [self._rebuilt(c, j, values) for j, c in enumerate(self.carried)]
            for key, thing in self.things.items():
                memory.change(thing)
                thing.put(self._held(thing, key, values))
            for items in self.growing.values():
                memory.change(items)
                items.put(([], None, None))
                items.growing = True
            index = walk.binary("add", step, self.done)
            condition, *outputs = walk.settled(walk.block(self.op.blocks[0], [index, *inside]))
        finally:
            for items in self.growing.values():
                items.growing = False
            after = memory.leave()
        ends = self._checked(inside, outputs, after)
        return self._written(body, condition, ends, {id(t): held for t, held in after}, before)

    def _rebuilt(self, value: Any, source: int, values: dict[Place, Value], path: tuple[Any, ...] = ()) -> Any:
        """What is carried from outside, with the body's own inputs in place of what changes."""
        memory = self.walk.memory
        if (source, path) in values:
            found = values[source, path]
            return memory.tensor(found) if self.forms[source, path].is_tensor else found
        if not any(s == source and p[: len(path)] == path for s, p in values):
            return value
        if isinstance(value, tuple):
            return tuple(self._rebuilt(v, source, values, (*path, i)) for i, v in enumerate(value))
        if isinstance(value, Items):
            return memory.items([self._rebuilt(v, source, values, (*path, i)) for i, v in enumerate(value.items)])
        assert isinstance(value, Table)
        return memory.table({k: self._rebuilt(v, source, values, (*path, k)) for k, v in value.items.items()})

    def _held(self, thing: Mutable, key: int, values: dict[Place, Value]) -> Any:
        """Contents of a changed object, with the body's own inputs in place of what changes."""
        held = thing.contents()
        if isinstance(thing, Tensor):
            return (values[key, ()], None, None, "")
        if isinstance(thing, Items):
            return ([self._rebuilt(v, key, values, (i,)) for i, v in enumerate(held[0])], *held[1:])
        return {k: self._rebuilt(v, key, values, (k,)) for k, v in self._attributes(thing, key, held).items()}

    def _attributes(self, thing: Mutable, key: int, held: Any) -> dict[Any, Any]:
        """Items of a dict; of a module also those attributes that the body sets and nothing has set before."""
        names = {path[0]: None for source, path in self.forms if source == key and path}
        if isinstance(thing, Record):
            return {**{n: self.walk.loaded(thing, n) for n in names if n not in held}, **held}
        return dict(held)

    # --- comparing ---------------------------------------------------------------------------------------------------

    def _checked(
        self, inside: Sequence[Any], outputs: Sequence[Any], after: Sequence[tuple[Mutable, Any]]
    ) -> dict[Place, Any]:
        """What stands at every carried place at the end of a step; raises _Widened where more is carried."""
        ends: dict[Place, Any] = {}
        widened = False
        for j, (before, now) in enumerate(zip(inside, outputs, strict=True)):
            widened |= self._compare(j, before, now, ends)
        for thing, held in after:
            widened |= self._compare_thing(thing, held, ends)
        if widened:
            raise _Widened
        return ends

    def _compare(self, source: int, before: Any, now: Any, ends: dict[Place, Any], at: tuple[Any, ...] = ()) -> bool:
        if before is now:
            return self._unchanged(source, before, ends, at)
        old, new = dict(leaves(before, at)), dict(leaves(now, at))
        if list(old) != list(new):
            raise self._refusal("a list or dict whose length changes from step to step")
        widened = False
        for path, value in new.items():
            widened |= self._compare_leaf((source, path), old[path], value)
            ends[source, path] = value
        return widened

    def _unchanged(self, source: int, value: Any, ends: dict[Place, Any], at: tuple[Any, ...]) -> bool:
        ends.update({(source, path): leaf for path, leaf in leaves(value, at) if (source, path) in self.forms})
        return False

    def _compare_leaf(self, place: Place, old: Any, new: Any) -> bool:
        form = self.forms.get(place)
        if form is None:
            if new is old or (_is_constant(new) and type(old) is type(new) and old == new):
                return False
            self.forms[place] = self._form(old, new)
            return True
        if new is UNSET:
            return False
        found = self._form(old, new)
        if found.dtype != form.dtype:
            raise self._refusal(f"a value that is {form.dtype.name} in one step and {found.dtype.name} in another")
        sizes = self._common(form.sizes, found.sizes)
        changed, form.sizes = sizes != form.sizes, sizes
        return changed

    def _common(self, before: Sizes | None, now: Sizes | None) -> Sizes | None:
        """What holds of both shapes."""
        if before is not None and now is not None and len(before) != len(now):
            raise _OtherKind(self._refusal("a tensor whose number of axes changes from step to step").args[0])
        return common_sizes(before, now)

    def _form(self, old: Any, new: Any) -> _Form:
        """What is carried where this stands before a step and that behind it."""
        if old is UNSET:  # set in the step that leaves the loop, if any
            value = self._value(new) if isinstance(new, Tensor) else None
            if value is not None and value.sizes is not None:
                return _Form(value.element, (None,) * len(value.sizes), True)
            if numbers.is_number(new):
                return _Form(numbers.kind(new), (), False)
        if isinstance(new, Tensor) and isinstance(old, Tensor):
            value, before = self._value(new), self._value(old)
            if isinstance(value, Complex):
                raise self._refusal("a complex tensor")
            if isinstance(value, Quantized):
                raise self._refusal("a quantised tensor")
            return _Form(value.element, self._common(before.sizes, value.sizes), True)
        if isinstance(new, Value) and isinstance(old, Value) and not numbers.is_known(new):
            return _Form(new.element, new.sizes, bool(new.sizes))
        if numbers.is_number(new) and numbers.is_number(old):
            return _Form(numbers.kind(new), (), False)
        raise _OtherKind(self._refusal(f"a {type(old).__name__} that becomes a {type(new).__name__}").args[0])

    def _compare_thing(self, thing: Mutable, held: Any, ends: dict[Place, Any]) -> bool:
        """An object from outside that the body changed."""
        key, before = id(thing), thing.contents()
        if isinstance(thing, Tensor):
            return self._compare_tensor(thing, before, held, ends)
        if isinstance(thing, Items):
            if key in self.growing:
                if len(held[0]) != 1:
                    raise self._refusal("a list that doesn't grow by one element in every step")
                return self._joins(key, held[0][0])
            if len(held[0]) > len(before[0]) and key not in self.things:
                self.growing[key] = thing
                return True
            old, new = before[0], held[0]
        else:
            names = [*dict.fromkeys([*before, *held])]
            if isinstance(thing, Record):
                before, held = ({n: h.get(n, self.walk.loaded(thing, n)) for n in names} for h in (before, held))
            old, new = before, held
        widened = key not in self.things and old != new
        self.things[key] = thing
        return self._compare(key, old, new, ends) or widened

    def _joins(self, key: int, element: Any) -> bool:
        """Whether it is news that the elements of a list differ in size from step to step."""
        value = self._value(element) if isinstance(element, Tensor) else None
        if value is None or value.sizes is None or None not in value.sizes:
            return False
        form = self.joined.get(key)
        if form is None:
            if value.sizes.count(None) > 1:
                raise self._refusal("a list whose elements differ in more than one size")
            self.joined[key] = _Form(value.element, value.sizes, True)
        return form is None

    def _compare_tensor(self, thing: Tensor, before: Any, held: Any, ends: dict[Place, Any]) -> bool:
        if thing.base is not None:
            if held[1] is None or held[3]:
                raise self._refusal("a view that is written to")
            return False
        if held[3]:
            raise self._refusal(held[3])
        place = (id(thing), ())
        ends[place] = held[0]
        if id(thing) not in self.things:
            if held[0] is before[0]:
                return False
            self.things[id(thing)] = thing
            self.forms[place] = _Form(held[0].element, self._common(before[0].sizes, held[0].sizes), True)
            return True
        form = self.forms[place]
        sizes = self._common(form.sizes, held[0].sizes)
        changed, form.sizes = sizes != form.sizes, sizes
        return changed

    def _value(self, tensor: Tensor) -> Value:
        # the frame is left already: what a tensor of the body was read as last is its value
        value: Value = tensor.value if tensor.born > self.walk.memory.now else self.walk.read(tensor)
        return value

    def _refusal(self, what: str) -> TranslationError:
        return TranslationError(f"a loop over data carries {what}", op="prim::Loop", location=self.op.location)

    # --- writing -----------------------------------------------------------------------------------------------------

    def _written(
        self,
        body: GraphBuilder,
        condition: Any,
        ends: dict[Place, Any],
        after: dict[int, Any],
        before: dict[int, Value],
    ) -> list[Any]:
        g = self.walk.g
        body.output(numbers.as_value(body, condition, numbers.BOOL))
        starts = []
        for place, form in self.forms.items():
            body.output(self._ready(body, ends[place], form, after))
            starts.append(self._ready(g, self._start(place), form, {}))
        for key, form in self.joined.items():
            axis = (form.sizes or ()).index(None)
            body.output(body.Concat(before[key], after[key][0][0].value, axis=axis))
            shape = [0 if size is None else size for size in form.sizes or ()]
            starts.append(g.expand(g.constant(np.zeros((), form.dtype.numpy())), shape))
        for key in self.growing:
            if key not in self.joined:
                body.output(self._element(body, after[key][0][0]))
        endless = isinstance(self.trip, int) and self.trip >= _ENDLESS
        trip = None if endless else numbers.as_value(g, self.walk.binary("sub", self.trip, self.done), numbers.INT)
        go = numbers.as_value(g, self.condition, numbers.BOOL)
        count = len(self.forms) + len(self.growing)
        results = g.call("Loop", trip, go, *starts, body=body, outputs=count) if count else ()
        return self._left(results if isinstance(results, (tuple, list)) else (results,))

    def _element(self, body: GraphBuilder, element: Any) -> Value:
        if isinstance(element, Tensor):
            value: Value = element.value
            return value
        if numbers.is_number(element):
            return numbers.as_value(body, element)
        raise self._refusal("a list of something else than tensors and numbers")

    def _ready(self, g: GraphBuilder, value: Any, form: _Form, after: dict[int, Any]) -> Value:
        if value is UNSET:
            return g.constant(np.zeros((1,) * len(form.sizes or ()), form.dtype.numpy()))
        if isinstance(value, Tensor):
            if id(value) in after:
                found: Value = after[id(value)][0]
                return found
            return self._value(value)
        return value if isinstance(value, Value) and form.is_tensor else numbers.as_value(g, value, form.dtype)

    def _start(self, place: Place) -> Any:
        source, path = place
        thing = self.things.get(source)
        if isinstance(thing, Tensor):
            return thing
        if thing is None:
            value: Any = self.carried[source]
        elif isinstance(thing, Items):
            value = thing.items
        else:
            value = self._attributes(thing, source, thing.contents())
        for key in path:
            value = (value.items if isinstance(value, (Items, Table)) else value)[key]
        return value

    def _left(self, results: Sequence[Value]) -> list[Any]:
        """What stands after the loop."""
        walk = self.walk
        values = dict(zip(self.forms, results, strict=False))
        left = [self._rebuilt(c, j, values) for j, c in enumerate(self.carried)]
        contents = {key: self._held(thing, key, values) for key, thing in self.things.items()}
        for key, thing in self.things.items():
            walk.memory.change(thing)
            thing.put(contents[key])
        order = [*self.joined, *(key for key in self.growing if key not in self.joined)]
        for key, run in zip(order, results[len(self.forms) :], strict=True):
            items = self.growing[key]
            walk.memory.change(items)
            items.run = run
            items.joined = (self.joined[key].sizes or ()).index(None) if key in self.joined else None
        return [numbers.simplest(walk.g, v) if isinstance(v, Value) else v for v in left]


def _is_constant(value: Any) -> bool:
    return not isinstance(value, (Tensor, Value, Items, Table, Record, Callable))  # type: ignore[arg-type]
