"""Operator signatures of every opset, digested once from the ONNX standard's schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import onnx
import onnx.defs
import onnx_ir as ir

ML_DOMAIN = "ai.onnx.ml"

_ELEMENT = {
    "float": ir.DataType.FLOAT,
    "double": ir.DataType.DOUBLE,
    **{d.name.lower(): d for d in ir.DataType if d.name not in ("FLOAT", "DOUBLE", "UNDEFINED")},
}
_TEXT = {dtype: name for name, dtype in _ELEMENT.items()}


@dataclass(frozen=True, slots=True)
class Param:
    """One formal input or output.

    Attributes:
        name: Name in the standard.
        variable: Type variable or concrete type text; operands of one variable share their type.
        optional: It may be left out.
        variadic: It stands for any number of operands.
        types: Allowed tensor element types.
        others: Types other than tensors that it takes: ``seq(tensor(float))`` ...
    """

    name: str
    variable: str
    optional: bool
    variadic: bool
    homogeneous: bool
    types: frozenset[ir.DataType]
    others: frozenset[str]

    def takes(self, type_: ir.TypeProtocol) -> bool:
        """Whether a value of this type fits."""
        if type(type_) is ir.TensorType:  # isinstance is slow on these protocol classes
            return type_._dtype in self.types
        if isinstance(type_, (ir.SequenceType, ir.OptionalType)):
            return type_text(type_) in self.others
        return type_.dtype in self.types


@dataclass(frozen=True, slots=True)
class Signature:
    """What one version of an operator takes and gives."""

    domain: str
    op: str
    since: int
    inputs: tuple[Param, ...]
    outputs: tuple[Param, ...]
    attributes: Mapping[str, onnx.defs.OpSchema.Attribute]
    min_inputs: int
    max_inputs: int
    max_outputs: int
    schema: onnx.defs.OpSchema

    def param(self, index: int) -> Param:
        """The formal input at a position; the last one if it is variadic and the position lies beyond."""
        return self.inputs[index] if index < len(self.inputs) else self.inputs[-1]

    def result(self, index: int) -> Param:
        """The formal output at a position; the last one if it is variadic and the position lies beyond."""
        return self.outputs[index] if index < len(self.outputs) else self.outputs[-1]

    def default(self, name: str) -> Any:
        """Default of an attribute as a Python value, or None."""
        proto = self.attributes[name].default_value
        value = None if proto.type == 0 else onnx.helper.get_attribute_value(proto)
        return value.decode() if isinstance(value, bytes) else value


def type_text(type_: ir.TypeProtocol) -> str:
    """A type as the standard writes it."""
    if isinstance(type_, ir.SequenceType):
        return f"seq({type_text(type_.elem_type)})"
    if isinstance(type_, ir.OptionalType):
        return f"optional({type_text(type_.elem_type)})"
    return f"tensor({_TEXT.get(type_.dtype, '?')})"


def _types(texts: tuple[str, ...]) -> tuple[frozenset[ir.DataType], frozenset[str]]:
    tensors = [t[7:-1] for t in texts if t.startswith("tensor(")]
    others = frozenset(t for t in texts if not t.startswith("tensor("))
    return frozenset(_ELEMENT[t] for t in tensors if t in _ELEMENT), others


def _param(formal: onnx.defs.OpSchema.FormalParameter, constraints: Mapping[str, tuple[str, ...]]) -> Param:
    option = formal.option
    kinds = onnx.defs.OpSchema.FormalParameterOption
    types, others = _types(constraints.get(formal.type_str, (formal.type_str,)))
    return Param(
        formal.name,
        formal.type_str,
        option == kinds.Optional,
        option == kinds.Variadic,
        formal.is_homogeneous,
        types,
        others,
    )


@cache
def signature(op: str, version: int, domain: str = "") -> Signature | None:
    """The signature in force at an opset; None where the operator is absent or deprecated.

    Args:
        op: Operator name.
        version: Opset version of the domain.
        domain: ``""`` or ``ai.onnx.ml``.
    """
    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    if schema.deprecated:  # get_schema hands out deprecated versions too
        return None
    constraints = {c.type_param_str: tuple(c.allowed_type_strs) for c in schema.type_constraints}
    return Signature(
        domain,
        op,
        schema.since_version,
        tuple(_param(p, constraints) for p in schema.inputs),
        tuple(_param(p, constraints) for p in schema.outputs),
        dict(schema.attributes),
        schema.min_input,
        schema.max_input,
        schema.max_output,
        schema,
    )


@cache
def versions(op: str, domain: str = "") -> tuple[int, ...]:
    """All opsets that brought a version of an operator, oldest first, deprecations left out."""
    return tuple(v for v in _history().get((domain, op), ()) if signature(op, v, domain) is not None)


@lru_cache(maxsize=1)
def _history() -> dict[tuple[str, str], tuple[int, ...]]:
    found: dict[tuple[str, str], set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), set()).add(schema.since_version)
    return {key: tuple(sorted(value)) for key, value in found.items()}


def first_version_with_attribute(op: str, attribute: str, domain: str = "") -> int | None:
    """First opset whose version of the operator has the attribute."""
    return next((v for v in versions(op, domain) if attribute in _at(op, v, domain).attributes), None)


def first_version_with_input(op: str, index: int, domain: str = "") -> int | None:
    """First opset whose version of the operator takes an operand at this position."""
    return next((v for v in versions(op, domain) if _at(op, v, domain).max_inputs > index), None)


def first_version_with_type(op: str, index: int, type_: ir.TypeProtocol, domain: str = "") -> int | None:
    """First opset whose version of the operator takes a value of this type at an input position."""
    for version in versions(op, domain):
        found = _at(op, version, domain)
        if index < found.max_inputs and found.param(index).takes(type_):
            return version
    return None


def first_version_with_result(op: str, index: int, type_: ir.TypeProtocol, domain: str = "") -> int | None:
    """First opset whose version of the operator gives a value of this type at an output position."""
    for version in versions(op, domain):
        found = _at(op, version, domain)
        if found.outputs and found.result(index).takes(type_):
            return version
    return None


def _at(op: str, version: int, domain: str) -> Signature:
    found = signature(op, version, domain)
    assert found is not None
    return found
