"""Nodes around a converted model that give it the inputs and outputs of skl2onnx (`skl_shim`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper

_ML = "ai.onnx.ml"


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def rename(proto: onnx.ModelProto, old: str, new: str) -> None:
    for node in nodes_of(proto.graph):
        node.output[:] = [new if o == old else o for o in node.output]
        node.input[:] = [new if i == old else i for i in node.input]
    for value in (*proto.graph.output, *proto.graph.input):
        if value.name == old:
            value.name = new


def rename_inner(proto: onnx.ModelProto, naming: Callable[[str, set[str]], str]) -> None:
    """New names for everything but inputs and outputs."""
    kept = {v.name for v in (*proto.graph.input, *proto.graph.output)}
    inner = {o for node in nodes_of(proto.graph) for o in node.output} | {i.name for i in proto.graph.initializer}
    for old in sorted(inner - kept):
        new = naming(old, kept)
        rename(proto, old, new)
        for tensor in proto.graph.initializer:
            tensor.name = new if tensor.name == old else tensor.name


def opset_in(proto: onnx.ModelProto) -> int:
    return next(o.version for o in proto.opset_import if not o.domain)


def need_ml(proto: onnx.ModelProto, version: int = 1) -> None:
    if not any(o.domain == _ML for o in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid(_ML, version))


def after(proto: onnx.ModelProto, name: str, op: str, kind: int, **attributes: Any) -> None:
    """Puts a node behind an output, which keeps its name."""
    rename_source(proto, name, f"{name}_before")
    proto.graph.node.append(helper.make_node(op, [f"{name}_before"], [name], **attributes))
    next(o for o in proto.graph.output if o.name == name).type.tensor_type.elem_type = kind


def rename_source(proto: onnx.ModelProto, old: str, new: str) -> None:
    """Renames what an output is made of, not the output."""
    place = [o.name for o in proto.graph.output].index(old)
    rename(proto, old, new)
    proto.graph.output[place].name = old


def initializer(proto: onnx.ModelProto, name: str, array: np.ndarray) -> str:
    if not any(i.name == name for i in proto.graph.initializer):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return name


def reshape(proto: onnx.ModelProto, source: str, target: str, sizes: list[int]) -> onnx.NodeProto:
    name = initializer(proto, "to_" + "_".join(map(str, sizes)), np.array(sizes, np.int64))
    return helper.make_node("Reshape", [source, name], [target])


def declare(proto: onnx.ModelProto, name: str, kind: int, shape: list[int | None]) -> None:
    place = [o.name for o in proto.graph.output].index(name)
    proto.graph.output[place].CopyFrom(helper.make_tensor_value_info(name, kind, shape))


def column(proto: onnx.ModelProto, name: str) -> None:
    """The peer gives one number for each row as [batch, 1]."""
    kind = next(o for o in proto.graph.output if o.name == name).type.tensor_type.elem_type
    rename_source(proto, name, f"{name}_flat")
    proto.graph.node.append(reshape(proto, f"{name}_flat", name, [-1, 1]))
    declare(proto, name, kind, [None, 1])


def two_columns(proto: onnx.ModelProto) -> None:
    """The peer gives scores of two classes as (-score, score)."""
    kind = proto.graph.output[1].type.tensor_type.elem_type
    column(proto, "scores")
    rename_source(proto, "scores", "score")
    proto.graph.node.append(helper.make_node("Neg", ["score"], ["minus_score"]))
    proto.graph.node.append(helper.make_node("Concat", ["minus_score", "score"], ["scores"], axis=1))
    declare(proto, "scores", kind, [None, 2])


def as_classifier(proto: onnx.ModelProto) -> None:
    """What a booster predicts as label and probabilities."""
    (output,) = proto.graph.output
    kind, dims = output.type.tensor_type.elem_type, output.type.tensor_type.shape.dim
    width = dims[1].dim_value if len(dims) == 2 else 2
    rename(proto, output.name, "probabilities")
    if len(dims) == 1:
        column(proto, "probabilities")
        rename_source(proto, "probabilities", "second")
        one = initializer(proto, "one", np.ones(1, helper.tensor_dtype_to_np_dtype(kind)))
        proto.graph.node.append(helper.make_node("Sub", [one, "second"], ["first"]))
        proto.graph.node.append(helper.make_node("Concat", ["first", "second"], ["probabilities"], axis=1))
    proto.graph.node.append(helper.make_node("ArgMax", ["probabilities"], ["label"], axis=1, keepdims=0))
    declare(proto, "probabilities", kind, [None, width])
    proto.graph.output.insert(0, helper.make_tensor_value_info("label", onnx.TensorProto.INT64, [None]))


def indices(proto: onnx.ModelProto, labels: np.ndarray) -> None:
    """Index of the label in the place of the label."""
    last = next(n for n in proto.graph.node if "label" in n.output)
    if last.op_type == "Gather":
        proto.graph.node.remove(last)
        (used,) = [i for i in proto.graph.initializer if i.name == last.input[0]]
        proto.graph.initializer.remove(used)
        proto.graph.node.append(helper.make_node("Identity", [last.input[1]], ["label"]))
        proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
        return
    numbers: dict[str, Any] = {"values_int64s": list(range(len(labels))), "default_int64": -1}
    keys = {"keys_strings": [str(v) for v in labels]} if labels.dtype == object else {
        "keys_int64s": [int(v) for v in labels]
    }  # fmt: skip
    rename_source(proto, "label", "label_before")
    node = helper.make_node("LabelEncoder", ["label_before"], ["label"], domain=_ML, **keys, **numbers)
    proto.graph.node.append(node)
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    need_ml(proto, 2)


def as_dicts(proto: onnx.ModelProto, labels: np.ndarray) -> None:
    """Probabilities as a list of dicts, and the peer's names for the outputs."""
    texts = labels.dtype == object
    source = proto.graph.output[1].name
    attributes = {"classlabels_strings": [str(v) for v in labels]} if texts else {
        "classlabels_int64s": [int(v) for v in labels]
    }  # fmt: skip
    if proto.graph.output[1].type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
        proto.graph.node.append(helper.make_node("Cast", [source], ["as_float"], to=onnx.TensorProto.FLOAT))
        source = "as_float"
    proto.graph.node.append(
        helper.make_node("ZipMap", [source], ["output_probability"], domain=_ML, name="ZipMap", **attributes)
    )
    key = onnx.TensorProto.STRING if texts else onnx.TensorProto.INT64
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    mapped = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    rename(proto, "label", "output_label")
    proto.graph.output[1].CopyFrom(helper.make_value_info("output_probability", mapped))
    need_ml(proto)


def as_columns(proto: onnx.ModelProto, labels: np.ndarray) -> None:
    """Probabilities as one output for each class."""
    source = proto.graph.output[1]
    kind, name = source.type.tensor_type.elem_type, source.name
    names = [f"s{v}" if labels.dtype == object else f"i{v}" for v in labels]
    equal = {"num_outputs": len(names)} if opset_in(proto) >= 18 else {}
    proto.graph.node.append(helper.make_node("Split", [name], [f"{n}_2d" for n in names], axis=1, **equal))
    proto.graph.node.extend(reshape(proto, f"{n}_2d", n, [-1]) for n in names)
    rename(proto, "label", "output_label")
    del proto.graph.output[1]
    proto.graph.output.extend(helper.make_tensor_value_info(n, kind, [None]) for n in names)


def together(proto: onnx.ModelProto, names: list[str], classes: list[np.ndarray] | None) -> None:
    """Probabilities of several outputs (and their classes, if asked for) as one sequence."""
    kind = proto.graph.output[1].type.tensor_type.elem_type
    del proto.graph.output[1:]
    proto.graph.node.append(helper.make_node("SequenceConstruct", names, ["probabilities"]))
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, None))
    proto.graph.output.append(helper.make_value_info("probabilities", sequence))
    if classes is not None:
        constants = [constant(proto, f"class_labels_{i}", c, output=False) for i, c in enumerate(classes)]
        proto.graph.node.append(helper.make_node("SequenceConstruct", constants, ["class_labels"]))
        of = onnx.TensorProto.STRING if classes[0].dtype.kind in "OU" else onnx.TensorProto.INT64
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(of, None))
        proto.graph.output.append(helper.make_value_info("class_labels", sequence))


def as_texts(proto: onnx.ModelProto, counts: list[int]) -> None:
    """The nodes that a row passes as one text of zeros and ones for each tree."""
    digits = [[f"node_{t}_{i}" for i in range(count)] for t, count in enumerate(counts)]
    flat = [d for tree in digits for d in tree]
    proto.graph.node.append(helper.make_node("Cast", ["path"], ["path_texts"], to=onnx.TensorProto.STRING))
    proto.graph.node.append(helper.make_node("Split", ["path_texts"], flat, axis=1, num_outputs=len(flat)))
    texts = []
    for tree in digits:
        text = tree[0]
        for digit in tree[1:]:
            proto.graph.node.append(helper.make_node("StringConcat", [text, digit], [f"to_{digit}"]))
            text = f"to_{digit}"
        texts.append(text)
    proto.graph.node.append(helper.make_node("Concat", texts, ["decision_path"], axis=1))
    declare(proto, "path", onnx.TensorProto.STRING, [None, len(counts)])
    next(o for o in proto.graph.output if o.name == "path").name = "decision_path"


def constant(proto: onnx.ModelProto, name: str, labels: np.ndarray, *, output: bool = True) -> str:
    """The labels as a result of the model."""
    texts = labels.dtype.kind in "OU"
    array = np.array([str(v) for v in labels], object) if texts else labels.astype(np.int64)
    proto.graph.node.append(helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(array, name)))
    if output:
        kind = onnx.TensorProto.STRING if texts else onnx.TensorProto.INT64
        proto.graph.output.append(helper.make_tensor_value_info(name, kind, [len(labels)]))
    return name
