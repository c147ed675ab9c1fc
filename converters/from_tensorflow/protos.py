"""Message classes for TensorFlow's protobufs, made at run time from a table of the fields that are read."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from ...symbolic.errors import CaptureError

# message: field=number type; * repeated, {key} a map with that kind of key, ! a member of the oneof
_TABLE = """
GraphDef: node=1 NodeDef*; library=2 FunctionDefLibrary
NodeDef: name=1 string; op=2 string; input=3 string*; attr=5 AttrValue{string}
AttrValue: list=1 ListValue!; s=2 bytes!; i=3 int64!; f=4 float!; b=5 bool!; type=6 int32!; \
shape=7 TensorShapeProto!; tensor=8 TensorProto!; placeholder=9 string!; func=10 NameAttrList!
ListValue: s=2 bytes*; i=3 int64*; f=4 float*; b=5 bool*; type=6 int32*; shape=7 TensorShapeProto*; \
tensor=8 TensorProto*; func=9 NameAttrList*
NameAttrList: name=1 string; attr=2 AttrValue{string}
TensorShapeProto: dim=2 Dim*; unknown_rank=3 bool
Dim: size=1 int64; name=2 string
TensorProto: dtype=1 int32; tensor_shape=2 TensorShapeProto; tensor_content=4 bytes; float_val=5 float*; \
double_val=6 double*; int_val=7 int32*; string_val=8 bytes*; scomplex_val=9 float*; int64_val=10 int64*; \
bool_val=11 bool*; dcomplex_val=12 double*; half_val=13 int32*; uint32_val=16 uint32*; uint64_val=17 uint64*
FunctionDefLibrary: function=1 FunctionDef*
FunctionDef: signature=1 OpDef; node_def=3 NodeDef*; ret=4 string{string}; attr=5 AttrValue{string}; \
control_ret=6 string{string}; arg_attr=7 ArgAttrs{uint32}
ArgAttrs: attr=1 AttrValue{string}
OpDef: name=1 string; input_arg=2 ArgDef*; output_arg=3 ArgDef*
ArgDef: name=1 string; type=3 int32
SavedModel: saved_model_schema_version=1 int64; meta_graphs=2 MetaGraphDef*
MetaGraphDef: meta_info_def=1 MetaInfoDef; graph_def=2 GraphDef; signature_def=5 SignatureDef{string}
MetaInfoDef: tags=4 string*; tensorflow_version=5 string
SignatureDef: inputs=1 TensorInfo{string}; outputs=2 TensorInfo{string}; method_name=3 string
TensorInfo: name=1 string; dtype=2 int32; tensor_shape=3 TensorShapeProto
BundleHeaderProto: num_shards=1 int32; endianness=2 int32
BundleEntryProto: dtype=1 int32; shape=2 TensorShapeProto; shard_id=3 int32; offset=4 int64; size=5 int64; \
slices=7 TensorSliceProto*
TensorSliceProto: extent=1 Dim*
"""
_SCALARS = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12, "uint32": 13
}  # fmt: skip
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11
_PACKAGE = "anyonnx.tf"


@cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="anyonnx_tf.proto", package=_PACKAGE, syntax="proto3")
    for line in _TABLE.strip().splitlines():
        name, fields = line.split(": ")
        message = file.message_type.add(name=name)
        if "!" in fields:
            message.oneof_decl.add(name="value")
        for text in fields.split("; "):
            _add_field(message, text)
    pool = descriptor_pool.DescriptorPool()  # one of our own: TensorFlow registers these names in the default one
    pool.Add(file)
    names = [m.name for m in file.message_type]
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in names}


def _add_field(message: Any, text: str) -> None:
    head, kind = text.split(" ")
    name, number = head.split("=")
    field = message.field.add(name=name, number=int(number), label=_OPTIONAL)
    if kind.endswith("}"):
        kind, key = kind[:-1].split("{")
        entry = message.nested_type.add(name=f"{''.join(p.title() for p in name.split('_'))}Entry")
        entry.options.map_entry = True
        _set_type(entry.field.add(name="key", number=1, label=_OPTIONAL), key)
        _set_type(entry.field.add(name="value", number=2, label=_OPTIONAL), kind)
        field.label, field.type = _REPEATED, _MESSAGE
        field.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"
        return
    if kind.endswith("*"):
        field.label = _REPEATED
    if kind.endswith("!"):
        field.oneof_index = 0
    _set_type(field, kind.rstrip("*!"))


def _set_type(field: Any, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _MESSAGE, f".{_PACKAGE}.{kind}"


def parse(name: str, data: bytes) -> Any:
    """A message of the given kind.

    Raises:
        CaptureError: The bytes are none.
    """
    try:
        return _classes()[name].FromString(data)
    except DecodeError as error:
        raise CaptureError(f"the bytes are no {name}: {error}") from error
