"""Official function bodies of operators, as the ONNX standard ships them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

from .infer_schema import type_proto
from .literals import attribute
from .schemas import Signature
from .value import Value

if TYPE_CHECKING:
    from .builder import Wanted


def has_body(found: Signature) -> bool:
    """Whether the standard defines the operator by a function."""
    schema: Any = found.schema  # its stubs leave these out
    return bool(schema.has_function or schema.has_context_dependent_function)


def function_body(
    found: Signature, args: Sequence[Value | None], attributes: dict[str, Any], outputs: Wanted
) -> onnx.FunctionProto | None:
    """The body of an operator for these operands, or None where the standard has none.

    Args:
        found: Signature of the operator at the authoring opset.
        args: Operands (their types choose the body of context-dependent functions).
        attributes: Attributes of the call.
        outputs: Results that are wanted.
    """
    schema: Any = found.schema
    if schema.has_function:
        body = schema.function_body
        return body if body.node else None
    if not schema.has_context_dependent_function:
        return None
    flags = [True] * outputs if isinstance(outputs, int) else list(outputs)
    node = onnx.NodeProto(op_type=found.op, domain=found.domain)
    node.input.extend("" if a is None else f"i{n}" for n, a in enumerate(args))
    node.output.extend(f"o{n}" if keep else "" for n, keep in enumerate(flags))
    for name, value in attributes.items():
        node.attribute.append(ir.serde.serialize_attribute(attribute(name, value, found.attributes[name].type)))
    types = [_type_bytes(a) for a in args]
    text = schema.get_context_dependent_function(node.SerializeToString(), types)
    body = onnx.FunctionProto.FromString(text)
    return body if body.node else None


def _type_bytes(value: Value | None) -> bytes:
    if value is None or value.type is None:
        return b""
    return bytes(type_proto(value).SerializeToString())
