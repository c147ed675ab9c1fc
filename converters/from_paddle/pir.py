"""Reads PIR programs (.json) without Paddle."""

from __future__ import annotations

import json
import os
from typing import Any

from .program import Block, FormatError, Op, Program, Result, TensorType, Type

#: Dialects by the number that op names and types begin with.
_DIALECTS = {"0": "builtin", "1": "pd_op", "2": "cf"}
_NUMPY = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16",
    "ui32": "uint32", "ui64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64", "c128": "complex128", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}  # fmt: skip
#: Attributes that say nothing about what is computed.
_NOISE = ("struct_name", "op_callstack", "place", "stop_gradient", "op_role", "op_namescope", "force_backend")


def read_pir(path: str | os.PathLike[str]) -> Program:
    """The program in a PIR file.

    Raises:
        FormatError: The file is no PIR program, or of a version that isn't known.
    """
    with open(path, encoding="utf-8") as stream:
        try:
            return parse_pir(json.load(stream))
        except (KeyError, IndexError, TypeError, json.JSONDecodeError) as error:
            raise FormatError(f"{path} is no PIR program that can be read ({type(error).__name__}: {error})") from error


def parse_pir(text: dict[str, Any]) -> Program:
    """The program in the parsed JSON of a PIR file."""
    head = text["base_code"]
    if head.get("magic") != "pir":
        raise FormatError("the file isn't marked as PIR")
    regions = text["program"]["regions"]
    return Program(_block(regions[0]["blocks"][0], {}))


def _block(text: dict[str, Any], types: dict[int, Type]) -> Block:
    arguments = [Result(a.get("#", a.get("%")), _type(a["TT"])) for a in text.get("args") or ()]
    block = Block(arguments, [])
    counts: dict[str, int] = {}
    for one in text["ops"]:
        op = _parameter(one) if one["#"] == "p" else _op(one)
        counts[op.kind] = counts.get(op.kind, 0) + 1
        op.place = op.place or f"{op.kind} number {counts[op.kind]}"
        block.ops.append(op)
    return block


def _parameter(text: dict[str, Any]) -> Op:
    # flags of the result: persistable, stop_gradient, trainable
    attributes = {"name": text["A"][3], "persistable": bool(text["OA"][0])}
    return Op("builtin.parameter", [], attributes, [_result(text["O"])])


def _op(text: dict[str, Any]) -> Op:
    dialect, _, kind = text["#"].partition(".")
    if dialect not in _DIALECTS:
        raise FormatError(f"the op {text['#']} is of an unknown dialect")
    attributes = {a["N"]: a["AT"] for a in text.get("A", ())}
    place = _attribute(attributes["struct_name"]).strip("/") if "struct_name" in attributes else ""
    return Op(
        f"{_DIALECTS[dialect]}.{kind}",
        [None if i["%"] == 0 else i["%"] for i in text.get("I", ())],
        {name: _attribute(value) for name, value in attributes.items() if name not in _NOISE},
        [_result(r) for r in text.get("O", ())],
        [_block(r["blocks"][0], {}) for r in text.get("regions", ())],
        place,
    )


def _result(text: dict[str, Any]) -> Result:
    return Result(text["%"], _type(text["TT"]) if text.get("TT") else None)


def _type(text: dict[str, Any]) -> Type:
    kind = text["#"].partition(".")[2]
    if kind in ("t_dtensor", "t_selected_rows", "t_dtensorarray"):
        element = text["D"][0]["#"].partition(".")[2].removeprefix("t_")
        if element not in _NUMPY:
            raise FormatError(f"the element type {element} isn't known")
        if kind == "t_dtensorarray":
            return TensorType(f"array of {_NUMPY[element]}", None)
        return TensorType(_NUMPY[element], tuple(text["D"][1]))
    if kind == "t_vec":
        return [_type(t) for t in text["D"]]
    return None


def _attribute(text: Any) -> Any:
    kind = text["#"].partition(".")[2]
    value = text.get("D")
    if kind == "a_array":
        return [_attribute(v) for v in value]
    if kind in ("a_bool", "a_i32", "a_i64", "a_str", "a_tensorname"):
        return value
    if kind in ("a_f32", "a_f64"):
        return _number(text)
    if kind in ("a_intarray", "a_dtype", "a_layout", "a_place", "a_index"):
        return value
    if kind == "a_scalar":
        return _scalar(value)
    return value


def _number(text: dict[str, Any]) -> float:
    """A number; infinities and NaN are written as text under another key."""
    return float(text["D"]) if "D" in text else float(text["VD"])


def _scalar(value: Any) -> Any:
    """A number with the dtype that it was given in: ``["float32", 1.5]``."""
    if isinstance(value, list):
        value = value[-1]
    return value if isinstance(value, bool | int) else float(value)
