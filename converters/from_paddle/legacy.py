"""Reads legacy programs (.pdmodel) without Paddle, into the form that PIR programs have."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .legacy_ops import NOISE, RULES, Rule
from .parameters import DTYPES
from .program import Block, Constant, FormatError, Op, Operand, Program, Result, TensorType
from .wire import fields, floats, integers

#: Fields of an attribute that hold its value, by the number of its type.
_INT, _FLOAT, _STRING, _INTS, _FLOATS, _STRINGS, _BOOL, _BOOLS, _BLOCK, _LONG, _, _LONGS, _DOUBLES = range(13)
_SCALAR, _SCALARS = 16, 17


@dataclass(slots=True)
class LegacyOp:
    """An op as the file has it: names of tensors by slot."""

    kind: str
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attributes: dict[str, Any]

    def name(self, slot: str) -> str | None:
        """The tensor in an input slot."""
        found = self.inputs.get(slot)
        return found[0] if found else None


@dataclass(slots=True)
class Variable:
    """A declared tensor."""

    type: TensorType | None
    persistable: bool
    plumbing: bool


@dataclass(slots=True)
class LegacyBlock:
    """A block of the file."""

    parent: int
    variables: dict[str, Variable]
    ops: list[LegacyOp]


def read_legacy(path: str | os.PathLike[str]) -> Program:
    """The program in a .pdmodel file.

    Raises:
        FormatError: The file is damaged or no program.
    """
    try:
        blocks = [_block(v) for n, v in fields(Path(path).read_bytes()) if n == 1 and isinstance(v, bytes)]
    except (UnicodeDecodeError, KeyError, IndexError, TypeError) as error:
        raise FormatError(f"{path} is no Paddle program that can be read ({error})") from error
    if not blocks:
        raise FormatError(f"{path} holds no program")
    return Reader(blocks).program()


# --- decoding ---------------------------------------------------------------------------------------------------------


def _block(data: bytes) -> LegacyBlock:
    block = LegacyBlock(-1, {}, [])
    for number, value in fields(data):
        if number == 2:
            block.parent = int(value)
        elif number == 3 and isinstance(value, bytes):
            name, variable = _variable(value)
            block.variables[name] = variable
        elif number == 4 and isinstance(value, bytes):
            block.ops.append(_op(value))
    return block


def _variable(data: bytes) -> tuple[str, Variable]:
    name, persistable, kind, tensor = "", False, -1, None
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            name = value.decode()
        elif number == 3:
            persistable = bool(value)
        elif number == 2 and isinstance(value, bytes):
            for n, v in fields(value):
                if n == 1:
                    kind = int(v)
                elif n == 3 and isinstance(v, bytes):
                    tensor = next((_tensor_type(w) for m, w in fields(v) if m == 1 and isinstance(w, bytes)), None)
    return name, Variable(tensor, persistable, kind in (9, 10, 11, 13))


def _tensor_type(data: bytes) -> TensorType | None:
    dtype, shape = None, []
    for number, value in fields(data):
        if number == 1:
            dtype = DTYPES.get(int(value))
        elif number == 2:
            shape.extend(integers(value))
    return None if dtype is None else TensorType(dtype, tuple(shape))


def _op(data: bytes) -> LegacyOp:
    op = LegacyOp("", {}, {}, {})
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 3:
            op.kind = value.decode()
        elif number in (1, 2):
            slot, names = "", []
            for n, v in fields(value):
                if n == 1 and isinstance(v, bytes):
                    slot = v.decode()
                elif isinstance(v, bytes):
                    names.append(v.decode())
            (op.inputs if number == 1 else op.outputs)[slot] = names
        elif number == 4:
            name, attribute = _attribute(value)
            op.attributes[name] = attribute
    return op


def _attribute(data: bytes) -> tuple[str, Any]:
    found: dict[int, list[Any]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    name, kind = found[1][0].decode(), found[2][0]

    def one(number: int, default: Any = 0) -> Any:
        return found.get(number, [default])[-1]

    def many(number: int) -> list[int]:
        return [i for v in found.get(number, ()) for i in integers(v)]

    if kind == _STRING:
        return name, one(5, b"").decode(errors="replace")
    if kind == _STRINGS:
        return name, [v.decode(errors="replace") for v in found.get(8, ())]
    if kind == _BOOL:
        return name, bool(one(10))
    if kind == _BOOLS:
        return name, [bool(v) for v in many(11)]
    if kind == _FLOATS:
        return name, [f for v in found.get(7, ()) for f in floats(v, 4)]
    if kind == _DOUBLES:
        return name, [f for v in found.get(16, ()) for f in floats(v, 8)]
    if kind in (_SCALAR, _SCALARS):
        numbers = [_scalar(v) for v in found.get(20 if kind == _SCALAR else 21, ())]
        return name, numbers if kind == _SCALARS else numbers[-1]
    single = {_INT: 3, _FLOAT: 4, _BLOCK: 12, _LONG: 13, 15: 19}
    if kind in single:
        return name, one(single[kind])
    listed = {_INTS: 6, _LONGS: 15}
    return name, many(listed[kind]) if kind in listed else None


def _scalar(data: bytes) -> Any:
    """A number that says which kind it is of: 1 bool, 2 integer, 3 float."""
    found = dict(fields(data))
    kind = found.get(1)
    if kind == 1:
        return bool(found.get(2, 0))
    if kind == 2:
        return found.get(3, 0)
    if kind == 3:
        return found.get(4, 0.0)
    raise FormatError("an attribute is a number of an unknown kind")


# --- from names to values ---------------------------------------------------------------------------------------------


class Reader:
    """Turns the blocks of a file into a program: every op by its PIR name, its operands in PIR's order."""

    def __init__(self, blocks: list[LegacyBlock]):
        self.blocks = blocks
        self._counts: dict[str, int] = {}

    def program(self) -> Program:
        """The program; weights are its persistable tensors."""
        root = self.blocks[0]
        block = self._convert(0, set())
        weights = [
            Op("builtin.parameter", [], {"name": n, "persistable": True}, [Result(n, v.type)])
            for n, v in root.variables.items()
            if v.persistable and not v.plumbing
        ]
        return Program(Block([], weights + block.ops))

    def _convert(self, index: int, defined: set[str]) -> Block:
        """One block; `defined`: names of outer tensors that have a value when it begins."""
        source = self.blocks[index]
        block = Block([], [])
        known = set(defined) | {n for n, v in source.variables.items() if v.persistable}
        waiting: dict[str, tuple[str, int]] = {}
        ops = iter(range(len(source.ops)))
        for i in ops:
            op = source.ops[i]
            place = self._place(op)
            if op.kind == "while":
                made = [self._while(op, index, known, place)]
            elif op.kind == "conditional_block":
                made = self._conditional(op, index, known, waiting, place)
            elif op.kind == "select_input":
                group = [op]
                while i + 1 < len(source.ops) and source.ops[i + 1].kind == "select_input" and (
                    source.ops[i + 1].inputs["Mask"] == op.inputs["Mask"]):  # fmt: skip
                    i = next(ops)
                    group.append(source.ops[i])
                made = [self._select(group, index, known, waiting, place)]
            else:
                made = self._plain(op, index, place)
            for one in made:
                known.update(str(r.name) for r in one.results)
            block.ops.extend(made)
        return block

    def _place(self, op: LegacyOp) -> str:
        self._counts[op.kind] = self._counts.get(op.kind, 0) + 1
        return f"{op.kind} number {self._counts[op.kind]}"

    def type_of(self, name: str, index: int) -> TensorType | None:
        """Declared type of a tensor, seen from a block."""
        while index >= 0:
            found = self.blocks[index].variables.get(name)
            if found is not None:
                return found.type
            index = self.blocks[index].parent
        return None

    def _outer_writes(self, index: int) -> list[str]:
        """Names of tensors from outside that a block writes."""
        block = self.blocks[index]
        found: dict[str, None] = {}
        for op in block.ops:
            names = [n for slot, ns in op.outputs.items() if slot not in ("Scope", "StepScopes") for n in ns]
            if op.kind in ("while", "conditional_block"):
                names = self._outer_writes(op.attributes["sub_block"])
            found.update({n: None for n in names if n not in block.variables})
        return list(found)

    def _while(self, op: LegacyOp, index: int, known: set[str], place: str) -> Op:
        sub = op.attributes["sub_block"]
        condition = op.inputs["Condition"][0]
        carried = [n for n in self._outer_writes(sub) if n != condition and n in known]
        body = self._convert(sub, known)
        body.arguments = [Result(n, self.type_of(n, index)) for n in carried]
        body.ops.append(Op("cf.yield", [condition, *carried], {}, [], place=place))
        results = [Result(n, self.type_of(n, index)) for n in carried]
        return Op("pd_op.while", [condition, *carried], {}, results, [body], place)

    def _branch(self, sub: int | None, names: list[str], known: set[str], place: str) -> Block:
        block = Block([], []) if sub is None else self._convert(sub, known)
        block.ops.append(Op("cf.yield", list(names), {}, [], place=place))
        return block

    def _conditional(
        self, op: LegacyOp, index: int, known: set[str], waiting: dict[str, tuple[str, int]], place: str
    ) -> list[Op]:
        """A block that runs or doesn't. What it alone defines waits for the select_input that chooses it."""
        sub, condition = op.attributes["sub_block"], op.inputs["Cond"][0]
        names = self._outer_writes(sub)
        waiting.update({n: (condition, sub) for n in names if n not in known})
        kept = [n for n in names if n in known]
        if not kept:
            return []
        branches = [self._branch(sub, kept, known, place), self._branch(None, kept, known, place)]
        return [Op("pd_op.if", [condition], {}, [Result(n, self.type_of(n, index)) for n in kept], branches, place)]

    def _select(
        self, group: list[LegacyOp], index: int, known: set[str], waiting: dict[str, tuple[str, int]], place: str
    ) -> Op:
        """Tensors of the one or the other branch."""
        branches = []
        for side in (1, 0):  # true first
            names = [op.inputs["X"][side] for op in group]
            subs = {waiting[n][1] for n in names if n in waiting and n not in known}
            if len(subs) > 1:
                raise FormatError(f"{place} chooses among more than one branch")
            branches.append(self._branch(subs.pop() if subs else None, names, known, place))
        results = [Result(n, self.type_of(n, index)) for op in group for n in op.outputs["Out"]]
        return Op("pd_op.if", [group[0].inputs["Mask"][0]], {}, results, branches, place)

    def _plain(self, op: LegacyOp, index: int, place: str) -> list[Op]:
        special = _SPECIAL.get(op.kind)
        if special is not None:
            made: list[Op] = special(self, op, index, place)
            return made
        rule = RULES.get(op.kind)
        if rule is None:
            results = [Result(n, self.type_of(n, index)) for names in op.outputs.values() for n in names]
            # not by its own name: operands would come in the order of the slots' names
            return [
                Op(f"pd_op.legacy.{op.kind}", [n for ns in op.inputs.values() for n in ns], {}, results, place=place)
            ]
        return [self.by_rule(rule, op, index, place)]

    def by_rule(self, rule: Rule, op: LegacyOp, index: int, place: str) -> Op:
        """An op as its rule says."""
        attributes = dict(rule.fixed)
        renamed = {old: new for new, old in rule.attributes.items()}
        operands = {c[1:] for o in rule.operands for c in o.split("|") if c.startswith("@")}
        for name, value in op.attributes.items():
            if renamed.get(name) == "":
                continue  # says nothing here
            if name in renamed:
                attributes[renamed[name]] = _converted(renamed[name], value)
            elif name not in NOISE and name not in operands:
                attributes[name] = value  # the op's function doesn't know it, and says so
        results: list[Result] = []
        for slot in rule.outputs:
            names = op.outputs.get(slot.rstrip("*?"), [])
            if slot.endswith("*"):
                types = [self.type_of(n, index) for n in names]
                results.append(Result(f"{slot} of {place} at {id(op)}", types))
            else:
                kind = self.type_of(names[0], index) if names and not slot.endswith("?") else None
                results.append(Result(names[0] if names else f"-{id(op)}", kind))
        return Op(f"pd_op.{rule.name}", [_operand(s, op) for s in rule.operands], attributes, results, place=place)


def _converted(name: str, value: Any) -> Any:
    """An attribute; dtypes by name."""
    if name in ("dtype", "out_dtype"):
        return DTYPES.get(value, "")
    return value


def _operand(text: str, op: LegacyOp) -> Operand:
    for choice in text.split("|"):
        if choice.startswith("@"):
            value = op.attributes.get(choice[1:])
            value = float(value) if isinstance(value, str) else value
            return None if value is None else Constant(np.asarray(value if value != [] else np.zeros(0, np.int64)))
        names = op.inputs.get(choice.rstrip("*"))
        if names:
            return list(names) if choice.endswith("*") else names[0]
    return None


# --- ops that take more than a rule -----------------------------------------------------------------------------------


def _feed(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    name = op.outputs["Out"][0]
    attributes = {"name": name, "col": op.attributes["col"]}
    return [Op("pd_op.data", [], attributes, [Result(name, reader.type_of(name, index))], place=place)]


def _fetch(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    name = op.inputs["X"][0]
    return [Op("pd_op.fetch", [name], {"name": name, "col": op.attributes["col"]}, [], place=place)]


def _elementwise(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    """Operands whose axes are aligned at an axis of the first instead of at the last ones."""
    x, y, axis = op.inputs["X"][0], op.inputs["Y"][0], op.attributes.get("axis", -1)
    made = reader.by_rule(RULES[op.kind], op, index, place)
    made.attributes.pop("axis", None)
    kinds = [reader.type_of(n, index) for n in (x, y)]
    ranks = [len(k.shape) if k is not None and k.shape is not None else None for k in kinds]
    if axis == -1 or ranks[0] is None or ranks[1] is None or axis + ranks[1] >= ranks[0]:
        return [made]
    aligned = f"{y} aligned at {axis} in {place}"
    trailing = np.arange(ranks[1], ranks[0] - axis)
    made.operands[1] = aligned
    return [Op("pd_op.unsqueeze", [y, Constant(trailing)], {}, [Result(aligned, None)], place=place), made]


def _reduce(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    kind = op.kind.removeprefix("reduce_")
    axes = [] if op.attributes.get("reduce_all") else op.attributes.get("dim", [])
    attributes: dict[str, Any] = {"keepdim": op.attributes.get("keep_dim", False)}
    if kind == "sum":
        attributes["dtype"] = DTYPES.get(op.attributes.get("out_dtype", -1), "")
    result = op.outputs["Out"][0]
    operands: list[Operand] = [op.inputs["X"][0], Constant(np.asarray(axes, np.int64))]
    return [Op(f"pd_op.{kind}", operands, attributes, [Result(result, reader.type_of(result, index))], place=place)]


def _fill_constant(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    dtype = DTYPES[op.attributes["dtype"]]
    text = op.attributes.get("str_value") or op.attributes.get("value", 0.0)
    value: Operand = op.name("ValueTensor")
    if value is None:
        number = int(text) if isinstance(text, str) and text.lstrip("-").isdigit() else float(text)
        value = Constant(np.asarray(number).astype(dtype) if dtype != "bfloat16" else np.asarray(number, np.float32))
    shape = _operand("ShapeTensor|ShapeTensorList*|@shape", op)
    # the declared type is that of the variable's last value, not of this one
    result = Result(op.outputs["Out"][0], None)
    return [Op("pd_op.full_with_tensor", [value, shape], {"dtype": dtype}, [result], place=place)]


#: Attributes that hold numbers, one for each dtype.
_VALUES = ("fp32_values", "int32_values", "int64_values", "bool_values", "fp64_values", "values")


def _assign_value(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    values: Any = next((op.attributes[n] for n in _VALUES if op.attributes.get(n)), [])
    attributes = {"shape": op.attributes["shape"], "dtype": DTYPES[op.attributes["dtype"]], "values": values}
    return [Op("pd_op.assign_value", [], attributes, [Result(op.outputs["Out"][0], None)], place=place)]


def _split(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    names = op.outputs["Out"]
    axis = _operand("AxisTensor|@axis", op)
    whole = Result(f"parts of {place}", [reader.type_of(n, index) for n in names])
    if op.attributes.get("num", 0):
        made = Op(
            "pd_op.split_with_num", [op.inputs["X"][0], axis], {"num": op.attributes["num"]}, [whole], place=place
        )
    else:
        sections = _operand("SectionsTensorList*|@sections", op)
        made = Op("pd_op.split", [op.inputs["X"][0], sections, axis], {}, [whole], place=place)
    return [made, *_listed(reader, names, whole, index, place)]


def _listed(reader: Reader, names: list[str], whole: Result, index: int, place: str) -> list[Op]:
    """The op that gives the parts of a list their names."""
    results = [Result(n, reader.type_of(n, index)) for n in names]
    return [Op("builtin.split", [whole.name], {}, results, place=place)]


def _many(slot: str) -> Any:
    """A reader of ops whose results are a list."""

    def read(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
        made = reader.by_rule(RULES[op.kind], op, index, place)
        whole = next(r for r in made.results if isinstance(r.type, list))
        return [made, *_listed(reader, op.outputs[slot], whole, index, place)]

    return read


def _tril_triu(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    made = reader.by_rule(RULES[op.kind], op, index, place)
    made.name = "pd_op.tril" if made.attributes.pop("lower") else "pd_op.triu"
    return [made]


def _range(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    made = reader.by_rule(RULES[op.kind], op, index, place)
    kind = reader.type_of(op.outputs["Out"][0], index)
    made.attributes["dtype"] = kind.dtype if kind is not None else ""
    return [made]


def _strided_slice(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    """Counting down, -1 as the end means "down to the first"."""
    made = reader.by_rule(RULES[op.kind], op, index, place)
    ends, steps = made.operands[2:4]
    if isinstance(ends, Constant) and isinstance(steps, Constant):
        lowest = np.iinfo(np.int64).min
        made.operands[2] = Constant(np.where((steps.array < 0) & (ends.array == -1), lowest, ends.array))
    return [made]


def _repeat_interleave(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    counts, axis = op.name("RepeatsTensor"), op.attributes["dim"]
    result = op.outputs["Out"][0]
    results = [Result(result, reader.type_of(result, index))]
    if counts is not None:
        kind = "pd_op.repeat_interleave_with_tensor_index"
        return [Op(kind, [op.inputs["X"][0], counts], {"axis": axis}, results, place=place)]
    attributes = {"repeats": op.attributes["Repeats"], "axis": axis}
    return [Op("pd_op.repeat_interleave", [op.inputs["X"][0]], attributes, results, place=place)]


def _set_value(reader: Reader, op: LegacyOp, index: int, place: str) -> list[Op]:
    made = reader.by_rule(RULES[op.kind], op, index, place)
    value = op.name("ValueTensor")
    values = [made.attributes.pop(n, None) for n in _VALUES]
    made.attributes.pop("dtype", None)
    if value is not None:
        made.name = "pd_op.set_value_with_tensor"
        made.operands.insert(1, value)
        made.attributes.pop("shape", None)
        return [made]
    made.attributes["values"] = next((v for v in values if v), [])
    return [made]


_COMPARISONS = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
_SPECIAL: dict[str, Any] = {
    "feed": _feed, "fetch": _fetch, "fill_constant": _fill_constant, "assign_value": _assign_value, "split": _split,
    "tril_triu": _tril_triu, "range": _range, "set_value": _set_value, "unbind": _many("Out"), "unstack": _many("Y"),
    "meshgrid": _many("Out"), "broadcast_tensors": _many("Out"), "strided_slice": _strided_slice,
    "repeat_interleave": _repeat_interleave, "rnn": _many("State"),
    **{f"reduce_{k}": _reduce for k in ("sum", "mean", "max", "min", "prod", "all", "any", "amax", "amin")},
    **dict.fromkeys((*(k for k in RULES if k.startswith("elementwise_")), *_COMPARISONS), _elementwise),
}  # fmt: skip
