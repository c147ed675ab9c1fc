"""Walks an inlined TorchScript graph: what is known is computed at once, the rest goes through the symbolic functions.

Python numbers, lists, attributes and branches on them exist only during the walk. What depends on the data becomes
part of the graph: numbers as scalars, branches as If, loops as Loop (`script_loop`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder
from ...symbolic.complex.number import Complex
from ...symbolic.dims import Dim
from ...symbolic.errors import CaptureError, MissingOp, TranslationError, UnsupportedOps
from ...symbolic.quantized.tensor import Quantized
from ...symbolic.registry import Symbolic, registry
from ...symbolic.value import Value
from . import complex_nodes
from . import script_numbers as numbers
from .graph import onnx_dtype
from .script_decompose import decomposed
from .script_merge import Merge
from .script_packed import unpacked
from .script_program import Block, Op, dtype_of
from .script_values import Items, Memory, Record, Table, Tensor, leaves
from .script_views import scatter_of
from .weights import Weights

#: Kinds of tensors whose ops have a dialect of their own.
_KINDS = {"complex": Complex, "quantized": Quantized}
#: Arguments that say nothing about the values an op computes.
_PLACEMENT = ("device", "layout", "pin_memory", "memory_format", "non_blocking", "generator")


class ScriptWalk:
    """Translates one graph into a builder.

    Args:
        g: Builder of the graph.
        root: The module that the graph belongs to, torch's object.
        program: The graph.
    """

    def __init__(self, g: GraphBuilder, root: Any, program: Block):
        self.memory = Memory(g)
        self.program = program
        self.weights = Weights(g)
        self.root = Record("", root, 0)
        self.env: dict[int, Any] = {}
        #: What attributes of modules held at first, by id.
        self.first: dict[int, Any] = {}
        #: Axes that numbers in the graph are the size of, by id: number, tensor and axis.
        self.origins: dict[int, tuple[Value, Value, int]] = {}
        #: Numbers in the graph that depend on sizes alone, by id.
        self.sized: dict[int, Value] = {}
        #: Comparisons in the graph, by id: result, operator and operands.
        self.comparisons: dict[int, tuple[Value, str, Any, Any]] = {}
        self._kept: list[Any] = []  # ids stay unique while their objects live
        #: Places of checks on data that the model can't make.
        self.unchecked: list[str] = []
        #: Places where a size is taken to be more than 0: an empty tensor has another number of axes there.
        self.nonempty: list[str] = []
        #: How many loop bodies are being tried out: what they skip may still run.
        self.attempts = 0

    @property
    def g(self) -> GraphBuilder:
        """Builder of the innermost graph."""
        return self.memory.g

    def run(self, arguments: Sequence[Any]) -> Any:
        """Translates the graph on the given inputs (behind the module itself); gives its result."""
        results = self.block(self.program, [self.root, *arguments])
        if self.unchecked:
            places = ", ".join(dict.fromkeys(self.unchecked))
            warnings.warn(
                f"exceptions that depend on the data are no part of an ONNX model; left out are those at {places}",
                stacklevel=2,
            )
        if self.nonempty:
            places = ", ".join(dict.fromkeys(self.nonempty))
            warnings.warn(f"tensors are taken not to be empty at {places}: the model gives others there", stacklevel=2)
        return results[0] if len(results) == 1 else tuple(results)

    def block(self, block: Block, inputs: Sequence[Any]) -> list[Any]:
        """Runs a block in the present frame; gives its outputs."""
        env = self.env
        env.update(zip(block.inputs, inputs, strict=True))
        for op in block.ops:
            with self.g.at(op.location):
                results = self.op(op)
            env.update(zip(op.outputs, results, strict=True))
        return [env[o] for o in block.outputs]

    def op(self, op: Op) -> Sequence[Any]:
        """Runs one op; gives its results."""
        from .script_loop import loop
        from .script_ops import HANDLERS

        if op.kind == "prim::If":
            return self._if(op)
        if op.kind == "prim::Loop":
            return loop(self, op)
        args = [self.env[i] for i in op.inputs]
        handler = HANDLERS.get(op.kind)
        if handler is not None:
            result = handler(self, op, *args)
            if result is not NotImplemented:
                return result if isinstance(result, list) else [result]
        if op.schema is None:
            raise UnsupportedOps([MissingOp("torchscript", op.kind, 1, (op.location,))])
        if not _about_tensors(op.schema):
            return self._plain(op, args)
        return self._function(op, args)

    # --- Python's own ops --------------------------------------------------------------------------------------------

    def _plain(self, op: Op, args: list[Any]) -> list[Any]:
        """An op on numbers, strings and lists of them."""
        import torch

        name = op.schema.name.split("::")[1]
        if all(_is_plain(a) for a in args):
            packet = getattr(getattr(torch.ops, op.schema.name.split("::")[0]), name)
            try:
                found = getattr(packet, op.schema.overload_name or "default")(*map(_python, args))
            except (RuntimeError, ValueError, TypeError, LookupError, ArithmeticError) as error:
                raise TranslationError(f"{error}", op=op.kind, location=self.g.location) from error
            return [self.adopted(found)] if op.outputs else []
        result: Any = None
        if len(args) == 2 and all(map(numbers.is_number, args)):
            result = self.binary(name, *args)
        elif len(args) == 1 and numbers.is_number(args[0]):
            result = numbers.unary(self.g, name, args[0])
        if result is None:
            raise TranslationError("a value that this depends on isn't known before the model runs", op=op.kind,
                                   location=self.g.location)  # fmt: skip
        return [result]

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """A binary operator on numbers; what it compares is remembered."""
        result = numbers.binary(self.g, name, a, b)
        if isinstance(result, Value):
            if result.dtype == numbers.BOOL:
                self.comparisons[id(result)] = (result, name, a, b)
            if all(not isinstance(x, Value) or id(x) in self.sized for x in (a, b)):
                self.sized[id(result)] = result
        return result

    def adopted(self, value: Any, path: str = "") -> Any:
        """A value of Python or torch as the walk has it."""
        import torch

        if isinstance(value, torch.Tensor):
            if value.layout is not torch.strided or onnx_dtype(value.dtype) is None:
                raise TranslationError(f"{path or 'a constant'} is a {value.dtype} tensor, which ONNX doesn't have")
            made = Tensor(self.weights.value(path or f"constant_{len(self._kept)}", value), 0, path)
            self._kept.append(value)
            return made
        if isinstance(value, (torch.ScriptModule, torch._C.ScriptModule)):
            return Record(path, getattr(value, "_c", value), 0)
        if isinstance(value, torch._C.ScriptObject):
            packed = unpacked(self.weights, value, path or f"packed_{len(self._kept)}")
            self._kept.append(value)
            return Record(None, value, 0) if packed is None else packed
        if isinstance(value, tuple):
            return tuple(self.adopted(v, f"{path}.{i}" if path else "") for i, v in enumerate(value))
        if isinstance(value, Mapping) or hasattr(value, "items"):
            return Table({k: self.adopted(v, f"{path}.{k}") for k, v in value.items()}, 0 if path else self.memory.now)
        if isinstance(value, list) or type(value).__name__ == "ScriptList":
            items = [self.adopted(v, f"{path}.{i}" if path else "") for i, v in enumerate(value)]
            return Items(items, 0 if path else self.memory.now)
        if isinstance(value, (torch.device, torch.dtype, torch.layout)):
            return str(value)
        if value is None or isinstance(value, (bool, int, float, str)) or numbers.is_number(value):
            return value
        if isinstance(value, (Tensor, Items, Table, Record)):
            return value
        return Record(None, _Attributes(value), 0)  # an object of a class of the program: torch gives it as Python's

    def loaded(self, record: Record, name: str) -> Any:
        """An attribute as the file has it."""
        if name not in record.loaded:
            path = f"{record.path}.{name}" if record.path else name
            value = record.loaded[name] = self.adopted(record.native.getattr(name), path)
            if isinstance(value, (Tensor, Items, Table)):
                self.first[id(value)] = value.contents()
        return record.loaded[name]

    # --- tensors -----------------------------------------------------------------------------------------------------

    def tensor(self, value: Value | Complex | Quantized) -> Tensor:
        """A value as a new tensor of the program."""
        return self.memory.tensor(value)

    def read(self, tensor: Tensor) -> Any:
        """The present value of a tensor."""
        return self.memory.read(tensor)

    def _function(self, op: Op, args: list[Any]) -> list[Any]:
        tensors = [self.read(leaf) for _, leaf in leaves(args) if isinstance(leaf, Tensor)]
        kind = next((f".{k}" for k, t in _KINDS.items() if any(isinstance(x, t) for x in tensors)), "")
        row = self.lookup(op, kind)
        schema = op.schema
        if row is None and kind == ".quantized":
            raise UnsupportedOps([MissingOp("aten", op.name, 1, (op.location,), "of a quantised tensor")])
        if row is None:
            parts = decomposed(self, op, args)
            if parts is None:
                raise self._missing(op)
            made: list[Any] = [self.tensor(r) if isinstance(r, complex_nodes.TENSOR) else r for r in parts]
            single = len(schema.returns) == 1 and str(schema.returns[0].type).startswith("List")
            return [self.memory.items(made)] if single else made

        def call(first: Value | None = None) -> Sequence[Any]:
            positional, keywords = self._arguments(op, args, first)
            results = run_symbolic(row, self.g, positional, keywords, max(len(schema.returns), 1))
            if results is None:
                raise TranslationError("these operands aren't supported", op=row.name, location=self.g.location)
            return results

        results = call()
        if schema.is_mutable:
            return [self._written(op, args, results[0])]
        viewed = _viewed(schema, args)
        wrapped = [self._wrapped(r, viewed, op, args, call, i) for i, r in enumerate(results)]
        if len(schema.returns) == 1 and str(schema.returns[0].type).startswith("List"):
            return [self.memory.items(wrapped)]
        return wrapped[: len(op.outputs)]

    def call_op(self, op: Op, args: list[Any]) -> Any:
        """The (first) result of an op through its symbolic function."""
        return self._function(op, args)[0]

    def lookup(self, op: Op, kind: str = "") -> Symbolic | None:
        """The symbolic function of an op: by name and overload, else by name; one of another kind where none is.

        Args:
            op: The op.
            kind: Behind "aten" in the name of the dialect, for complex and quantised operands.
        """
        opset = self.memory.frames[0].g.opset
        library, name = op.place
        own = (f"aten{kind}",) if kind else ("aten", "aten.complex", "aten.quantized")
        for dialect in (library,) if library else own:
            for wanted in (name, name.rsplit(".", 1)[0]):
                if (row := registry.lookup(dialect, wanted, opset)) is not None:
                    return row
        return None

    def _missing(self, op: Op) -> UnsupportedOps:
        """The error for an op without a symbolic function, which names all others that may still be met."""
        from .script_ops import HANDLERS

        found: dict[tuple[str, str], list[str]] = {op.place: []}
        for other in self.program.all_ops():
            known = other.schema is None or other.kind in HANDLERS or not _about_tensors(other.schema)
            if not known and self.lookup(other) is None:
                found.setdefault(other.place, []).append(other.location)
        places = {n: at or [op.location] for n, at in found.items()}
        return UnsupportedOps(
            [MissingOp(library or "aten", n, len(at), tuple(at[:3])) for (library, n), at in places.items()]
        )

    def _arguments(self, op: Op, args: Sequence[Any], first: Value | None) -> tuple[list[Any], dict[str, Any]]:
        """Arguments as a symbolic function takes them; those that are as the schema has them anyway are left out."""
        floats = [self.read(t).element for t in args if isinstance(t, Tensor)]
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        plain = 0
        moves = str(op.schema.name).endswith("::to")
        for i, (argument, given) in enumerate(zip(op.schema.arguments, args, strict=True)):
            default = argument.has_default_value() and _is_plain(given) and _python(given) == argument.default_value
            if i == 0 and first is not None:
                value: Any = first
            else:
                value = self._operand(given, argument, floats)
            if argument.kwarg_only:
                if not default and argument.name not in _PLACEMENT:
                    keywords[argument.name] = value
                continue
            positional.append(value)
            if not default and (moves or argument.name not in _PLACEMENT):
                plain = len(positional)
        return positional[:plain], keywords

    def _operand(self, value: Any, argument: Any, tensors: Sequence[ir.DataType]) -> Any:
        if isinstance(value, Tensor):
            return self.read(value)
        if isinstance(value, Items):
            if value.growing or value.run is not None:
                raise TranslationError("a list whose length isn't known", location=self.g.location)
            return [self._operand(v, argument, tensors) for v in value.items]
        if isinstance(value, tuple):
            return [self._operand(v, argument, tensors) for v in value]
        if isinstance(value, int) and "ScalarType" in str(argument.real_type):
            found = dtype_of(value)
            if found is None:
                raise TranslationError(
                    f"torch's dtype number {value} has no ONNX counterpart", location=self.g.location
                )
            return found
        if isinstance(value, Value):
            return _weak(self.g, value, tensors) if "int" not in str(argument.type) else value
        if isinstance(value, (Table, Record)):
            raise TranslationError(f"a {type(value).__name__.lower()} as an operand", location=self.g.location)
        return value

    def _wrapped(self, result: Any, viewed: Tensor | None, op: Op, args: Sequence[Any], call: Callable[..., Any],
                 which: int) -> Any:  # fmt: skip
        """A result of a symbolic function as the program has it: tensor, number, or view of an operand's memory."""
        if not isinstance(result, complex_nodes.TENSOR):
            return result
        if op.schema.returns and len(op.schema.returns) > which and _is_number_type(op.schema.returns[which].type):
            return numbers.simplest(self.g, result) if isinstance(result, Value) else result
        if viewed is None:
            return self.tensor(result)
        scatter = scatter_of(self, op, args) if len(op.schema.returns) == 1 else None
        if isinstance(result, Quantized):
            scatter = None
        same = result is self.read(viewed)
        return self.memory.view(
            viewed, result, lambda base: call(base)[which], (lambda _, new: new) if same else scatter
        )

    def _written(self, op: Op, args: Sequence[Any], result: Any) -> Tensor:
        """The result of an in-place op, which becomes the value of its first operand."""
        target = args[0]
        written = [a for a in op.schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if not isinstance(target, Tensor) or len(written) != 1 or not isinstance(result, complex_nodes.TENSOR):
            raise UnsupportedOps([MissingOp("aten", op.kind, 1, (op.location,), "writes to its arguments")])
        before = self.read(target)
        result = complex_nodes.like(self.g, result, before)
        if isinstance(result, Value) and result.sizes is None:
            result.sizes = before.sizes
        self.memory.write(target, result)
        return target

    # --- branches ----------------------------------------------------------------------------------------------------

    def _if(self, op: Op) -> Sequence[Any]:
        condition = self.env[op.inputs[0]]
        then, other = op.blocks
        if isinstance(condition, Value):
            condition = numbers.simplest(self.g, condition)
        if not isinstance(condition, Value):
            if not self.attempts and len(self.memory.frames) == 1:
                (other if condition else then).skipped = True
            return self.block(then if condition else other, [])
        if then.raises or other.raises:
            return self._checked(op, condition, then, other)
        bodies: list[GraphBuilder] = []
        outputs, ends = [], []
        for block in (then, other):
            bodies.append(self.g.subgraph())
            self.memory.enter(bodies[-1])
            outputs.append(self.settled(self.block(block, [])))
            ends.append({id(thing): (thing, held) for thing, held in self.memory.leave()})
        merge = Merge(self, bodies, ends)
        results = [merge.value(a, b) for a, b in zip(*outputs, strict=True)]
        changed = {**ends[0], **ends[1]}
        contents = [(thing, merge.contents(thing)) for thing, _ in changed.values()]
        if merge.ranks_differ and self._about_emptiness(condition):
            self.nonempty.append(op.location)
            return self.block(then, [])
        values = merge.finish(condition)
        for thing, made in contents:
            if made is not None:
                self.memory.change(thing)
                thing.put(made(values))
        return [made(values) for made in results]

    def _about_emptiness(self, condition: Value) -> bool:
        """Whether a condition asks if a size is more than 0."""
        found = self.comparisons.get(id(condition))
        return found is not None and id(condition) in self.sized and found[1] in ("gt", "ne") and found[3] == 0

    def settled(self, values: Sequence[Any]) -> list[Any]:
        """Brings views up to date before their frame is left."""
        for value in values:
            for _, leaf in leaves(value):
                if isinstance(leaf, Tensor) and not leaf.lost:
                    self.read(leaf)
        return list(values)

    def _checked(self, op: Op, condition: Value, then: Block, other: Block) -> Sequence[Any]:
        """A branch with an exception on one side: the other is taken, and what was checked is known from then on."""
        if then.raises and other.raises:
            raise CaptureError(f"the model always raises an exception (at {op.location})")
        good = other if then.raises else then
        if not self._learned(condition, holds=good is then):
            self.unchecked.append(op.location)
        return self.block(good, [])

    def _learned(self, condition: Value, *, holds: bool) -> bool:
        """Notes a size that a check has made sure of; gives whether the check was about sizes only."""
        found = self.comparisons.get(id(condition))
        if found is None:
            return id(condition) in self.sized
        _, name, *sides = found
        if name == ("eq" if holds else "ne"):
            for number, known in (sides, sides[::-1]):
                origin = self.origins.get(id(number))
                if origin is not None and isinstance(known, (int, Dim)):
                    _, value, axis = origin
                    self.g.expect(value, None, [known if i == axis else None for i in range(value.rank)])
        return id(condition) in self.sized


class _Attributes:
    """A Python object read like one of torch's."""

    def __init__(self, value: Any):
        self._value = value

    def getattr(self, name: str) -> Any:
        """An attribute."""
        return getattr(self._value, name)


def _about_tensors(schema: Any) -> bool:
    types = [str(a.type) for a in (*schema.arguments, *schema.returns)]
    return any("Tensor" in t for t in types)


def _is_number_type(kind: Any) -> bool:
    return str(kind) in ("int", "float", "bool", "number", "Scalar")


def _viewed(schema: Any, args: Sequence[Any]) -> Tensor | None:
    """The operand whose memory the results look at."""
    if not any(r.alias_info is not None for r in schema.returns):
        return None
    for argument, given in zip(schema.arguments, args, strict=True):
        if argument.alias_info is not None:
            return given if isinstance(given, Tensor) else None
    return None


def _weak(g: GraphBuilder, number: Value, tensors: Sequence[ir.DataType]) -> Value:
    """A number of the graph in the dtype that a Python number would take beside these tensors."""
    floats = [d for d in tensors if d.is_floating_point()]
    if number.dtype == numbers.FLOAT:
        wanted = floats[0] if floats else ir.DataType.FLOAT
    elif number.dtype == numbers.INT:
        strong = [d for d in tensors if d != ir.DataType.BOOL]
        wanted = strong[0] if strong and not floats else numbers.INT
    else:
        return number
    return number if number.dtype == wanted else g.Cast(number, to=wanted)


def _is_plain(value: Any) -> bool:
    """Whether a value is all Python: known numbers, strings, None and lists of them."""
    return all(not isinstance(leaf, (Tensor, Value, Dim, Record)) for _, leaf in leaves(value)) and not (
        isinstance(value, Items) and (value.growing or value.run is not None)
    )


def _python(value: Any) -> Any:
    if isinstance(value, Items):
        return [_python(v) for v in value.items]
    if isinstance(value, tuple):
        return tuple(_python(v) for v in value)
    if isinstance(value, Table):
        return {k: _python(v) for k, v in value.items.items()}
    return value
