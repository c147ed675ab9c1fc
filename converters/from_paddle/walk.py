"""Walks a Paddle program and calls the symbolic function of every op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from ...symbolic.adapt import run_symbolic
from ...symbolic.builder import GraphBuilder, as_dtype
from ...symbolic.errors import CaptureError, MissingOp, TranslationError, UnsupportedOps
from ...symbolic.registry import Symbolic, registry
from ...symbolic.value import Value
from . import control
from .program import Block, Constant, Op, Operand, Program, Result, TensorType, Type

DIALECT = "paddle_pir"
#: Ops that the walk itself understands.
STRUCTURE = frozenset(
    {
        "builtin.parameter", "builtin.combine", "builtin.split", "builtin.slice", "builtin.shadow_output",
        "pd_op.data", "pd_op.fetch", "pd_op.print", "pd_op.if", "pd_op.while", "cf.yield",
    }
)  # fmt: skip
#: Where in-place ops write to another operand than the first; None: what they write is as it was.
_WRITES: dict[str, int | None] = {"assign_out_": 1, "batch_norm_": None}
#: Ops whose results Paddle types wrongly (float32, whatever they are).
_UNTYPED = ("unique", "unique_consecutive")
#: dtype attributes that mean "the operand's own".
_UNDEFINED = ("Undefined(ALL_DTYPE)", "undefined", "")

Environment = dict[Any, Any]


def lookup(op: Op, opset: int) -> Symbolic | None:
    """The symbolic function of an op; in-place ops share that of the op they are named after."""
    return registry.lookup(DIALECT, op.kind, opset) or registry.lookup(DIALECT, op.kind.removesuffix("_"), opset)


def prepare(program: Program, opset: int) -> Program:
    """The program without what no output needs.

    Raises:
        UnsupportedOps: Ops without a symbolic function, and element types without an ONNX counterpart, all of them.
    """
    block = live(program.block)
    missing: dict[str, list[str]] = {}
    odd: dict[tuple[str, str], list[str]] = {}
    for op in block.walk():
        if op.name not in STRUCTURE and lookup(op, opset) is None:
            missing.setdefault(op.kind, []).append(op.place)
        for dtype in _dtypes(op):
            if dtype.startswith(("complex", "float8")):
                odd.setdefault((op.kind, dtype), []).append(op.place)
    found = [MissingOp(DIALECT, n, len(at), tuple(at[:3])) for n, at in missing.items()]
    found += [
        MissingOp(DIALECT, n, len(at), tuple(at[:3]), f"{dtype} tensors aren't supported")
        for (n, dtype), at in odd.items()
        if n not in missing
    ]
    if found:
        raise UnsupportedOps(found)
    return Program(block, program.parameters)


def _dtypes(op: Op) -> Iterator[str]:
    def inner(kind: Type) -> Iterator[str]:
        if isinstance(kind, TensorType):
            yield kind.dtype
        elif isinstance(kind, list):
            for one in kind:
                yield from inner(one)

    for result in op.results:
        yield from inner(result.type)


def names_of(operand: Operand) -> Iterator[int | str]:
    """Names of the values that an operand uses."""
    if isinstance(operand, list):
        for one in operand:
            yield from names_of(one)
    elif operand is not None and not isinstance(operand, Constant):
        yield operand


def used_by(op: Op) -> Iterator[int | str]:
    """Names of the values that an op uses, without those that only its bodies use."""
    for operand in op.operands:
        yield from names_of(operand)


def live(block: Block) -> Block:
    """The block without ops that no output needs; ops that write in place stay if what they write is used."""
    used: set[int | str] = set()
    kept: list[Op] = []
    for op in reversed(block.ops):
        target = written(op)
        writes = target is not None and any(n in used for n in names_of(op.operands[target]))
        if op.name == "pd_op.print":
            continue
        needed = op.name in ("pd_op.fetch", "builtin.shadow_output", "cf.yield", "pd_op.data")
        if needed or writes or any(r.name in used for r in op.results):
            kept.append(op)
            used.update(used_by(op))
            used.update(n for inner in op.blocks for deep in inner.walk() for n in used_by(deep))
    return Block(block.arguments, kept[::-1])


def written(op: Op) -> int | None:
    """Index of the operand that an in-place op writes to; None where it writes to none."""
    if not op.kind.endswith("_") or op.name in STRUCTURE:
        return None
    index = _WRITES.get(op.kind, 0)
    return index if index is not None and index < len(op.operands) else None


@dataclass(slots=True)
class _Scope:
    """A block that is being translated.

    Attributes:
        kind: What it is a body of.
        own: Names defined in it so far.
        later: Names that are used in it after the body that is being translated now.
    """

    kind: str
    own: set[int | str]
    later: set[int | str]


class Walk:
    """Translates the blocks of one program.

    Args:
        g: Builder of the graph.
        program: The program that `prepare` gave.
    """

    def __init__(self, g: GraphBuilder, program: Program):
        self.g, self.weights = g, program.parameters
        self._used = {n for op in program.block.walk() for n in used_by(op)}
        self._initializers: dict[str, Value] = {}
        self._scopes: list[_Scope] = []

    def run(self, block: Block, env: Environment, kind: str = "") -> list[Any]:
        """Translates a block; gives what it yields or fetches.

        Args:
            block: The block.
            env: Values by name; it is filled.
            kind: ``if`` or ``while`` where it is a body of one.
        """
        results: list[Any] = []
        scope = _Scope(kind, {a.name for a in block.arguments}, set())
        self._scopes.append(scope)
        for i, op in enumerate(block.ops):
            with self.g.at(op.place):
                if op.name in ("pd_op.fetch", "builtin.shadow_output", "cf.yield"):
                    results.extend(self.read(o, env) for o in op.operands)
                    continue
                if op.blocks:
                    scope.later = {n for later in Block([], block.ops[i + 1 :]).walk() for n in used_by(later)}
                if op.name != "pd_op.data":
                    self._translate(op, env)
                scope.own.update(r.name for r in op.results)
        self._scopes.pop()
        return results

    def _translate(self, op: Op, env: Environment) -> None:
        for result, value in zip(op.results, self._op(op, env), strict=False):
            env[result.name] = self._expected(result, value, typed=op.kind not in _UNTYPED)
        target = written(op)
        for name in names_of(op.operands[target]) if target is not None else ():
            if not self._may_write(name):
                reason = "it writes to a tensor that is used outside its branch or loop"
                raise UnsupportedOps([MissingOp(DIALECT, op.kind, 1, (op.place,), reason)])
            env[name] = env[op.results[0].name]  # what comes later in this block sees the new value

    def _may_write(self, name: int | str) -> bool:
        """Whether nobody outside this block sees what an op here writes to the value."""
        for i in range(len(self._scopes) - 1, -1, -1):
            if name in self._scopes[i].own:
                return True
            if self._scopes[i].kind == "while" or (i and name in self._scopes[i - 1].later):
                return False
        return True

    def read(self, operand: Operand, env: Environment) -> Any:
        """An operand as a value, a list of values, or None."""
        if operand is None:
            return None
        if isinstance(operand, Constant):
            return self.g.constant(operand.array)
        if isinstance(operand, list):
            return [self.read(o, env) for o in operand]
        if operand not in env:
            raise CaptureError(f"the program uses a value %{operand} that nothing gives (at {self.g.location})")
        return env[operand]

    def _op(self, op: Op, env: Environment) -> Sequence[Any]:
        operands = [self.read(o, env) for o in op.operands]
        if op.name == "builtin.parameter":
            return [self._weight(op)]
        if op.name == "builtin.combine":
            return [operands]
        if op.name == "builtin.split":
            return list(operands[0])
        if op.name == "builtin.slice":
            return [operands[0][op.attributes["index"]]]
        if op.name == "pd_op.if":
            return control.branch(self, op, operands, env)
        if op.name == "pd_op.while":
            return control.loop(self, op, operands, env)
        row = lookup(op, self.g.opset)
        assert row is not None
        attributes = {k: _attribute(k, v) for k, v in op.attributes.items()}
        wanted = [r.name in self._used for r in op.results]
        results = run_symbolic(row, self.g, operands, attributes, wanted)
        if results is None:
            raise TranslationError("these operands aren't supported", op=op.kind, location=self.g.location)
        if len(op.results) == 1 and isinstance(op.results[0].type, list):
            return [results]
        return results

    def _weight(self, op: Op) -> Value | None:
        name = op.attributes["name"]
        if name not in self.weights:
            return None  # scratch memory of an op (the state of dropout), which inference doesn't read
        if name not in self._initializers:
            self._initializers[name] = self.g.root.initializer(name, self.weights[name])
        return self._initializers[name]

    def _expected(self, result: Result, value: Any, typed: bool = True) -> Any:
        """Compares a result with what the program says about it."""
        kind = result.type
        if result.name not in self._used:
            return value  # Paddle often has no types for results that aren't asked for
        if isinstance(value, Value) and isinstance(kind, TensorType) and not kind.dtype.startswith("array"):
            self.g.expect(value, kind.dtype if typed else None, sizes(kind))
        elif isinstance(value, (list, tuple)) and isinstance(kind, list):
            for one, told in zip(value, kind, strict=False):
                self._expected(Result(result.name, told), one)
        return value


def sizes(kind: TensorType) -> list[int | None] | None:
    """Sizes of a type as the builder takes them."""
    return None if kind.shape is None else [None if s < 0 else s for s in kind.shape]


def _attribute(name: str, value: Any) -> Any:
    if name in ("dtype", "out_dtype") and isinstance(value, str):
        return None if value in _UNDEFINED else as_dtype(value)
    return value


def onnx_type(dtype: str) -> ir.DataType:
    """ONNX dtype of an element type."""
    return as_dtype(dtype)
