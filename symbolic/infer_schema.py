"""Result types and sizes by the standard's own inference: it knows every operator, but loses expressions of sizes."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
import onnx.shape_inference
import onnx_ir as ir

from .dims import Dim, Sizes
from .infer import Args, OneSize
from .schemas import Signature
from .value import Value


def infer_with_schema(
    found: Signature, node: onnx.NodeProto, args: Args, symbols: Mapping[str, Dim], opset: int
) -> dict[str, tuple[ir.TypeProtocol | None, Sizes | None]]:
    """Runs the inference function of a schema on one node.

    Args:
        found: Signature of the operator at the node's opset.
        node: The node, with any distinct names.
        args: Its operands.
        symbols: Dims by the text they print as.
        opset: Opset of the default domain.

    Returns:
        Type and sizes for each named output that the standard can tell.

    Raises:
        ValueError: The standard refuses the node.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name, value in zip(node.input, args, strict=True):
        if value is None or value.type is None:
            continue
        types[name] = type_proto(value)
        if (
            value.is_constant
            and (value.size or 0) <= 1024
            and value.array is not None
            and value.array.dtype.kind in "iufb"
        ):
            data[name] = onnx.numpy_helper.from_array(value.array, name)
    imports = [onnx.helper.make_opsetid("", opset)]
    if found.domain:
        imports.append(onnx.helper.make_opsetid(found.domain, found.since))
    try:
        inferred = onnx.shape_inference.infer_node_outputs(found.schema, node, types, data, opset_imports=imports)
    except onnx.shape_inference.InferenceError as error:
        raise ValueError(str(error).strip()) from error
    given = [a.sizes for a in args if a is not None]
    opened = any(s is None or any(not isinstance(d, int) for d in s) for s in given)
    return {name: _from_type_proto(proto, symbols, opened) for name, proto in inferred.items()}


def type_proto(value: Value) -> onnx.TypeProto:
    """The type of a value as the standard writes it; open dims by the text they print as."""
    assert value.type is not None
    proto = ir.serde.serialize_type(value.type)
    if proto.HasField("tensor_type") and value.sizes is not None:
        proto.tensor_type.shape.SetInParent()
        for size in value.sizes:
            dim = proto.tensor_type.shape.dim.add()
            if isinstance(size, int):
                dim.dim_value = size
            elif size is not None:
                dim.dim_param = str(size)
    return proto


def _from_type_proto(
    proto: onnx.TypeProto, symbols: Mapping[str, Dim], opened: bool
) -> tuple[ir.TypeProtocol | None, Sizes | None]:
    type_ = ir.serde.deserialize_type_proto_for_type(proto)
    if not proto.HasField("tensor_type") or not proto.tensor_type.HasField("shape"):
        return type_, None
    sizes: list[OneSize] = []
    for dim in proto.tensor_type.shape.dim:
        if not dim.HasField("dim_value"):
            sizes.append(symbols.get(dim.dim_param))
        else:
            # the standard computes with open dims as if they were 0 in some places (Attention): 0 says nothing then
            sizes.append(None if opened and dim.dim_value == 0 else dim.dim_value)
    return type_, tuple(sizes)
