"""Runs another converter on a model that was written to a file. It is run as a script, in a process of its own.

It may run in an environment without anyonnx, so it imports nothing of it: `via.py` writes a request as JSON, this
script writes the converter's ONNX model where the request says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]


def torch_onnx(request: Request) -> None:
    """PyTorch's own exporter, on an exported program."""
    import torch

    program = torch.export.load(request["path"])
    torch.onnx.export(program, (), dynamo=True, opset_version=request["opset"]).save(
        request["output"], external_data=True
    )


def skl2onnx(request: Request) -> None:
    """skl2onnx, on a pickled estimator."""
    import joblib
    from skl2onnx import convert_sklearn
    from skl2onnx.common import data_types
    from sklearn.base import is_classifier

    model = joblib.load(request["path"])
    options = {}
    if is_classifier(model) and hasattr(model, "predict_proba"):
        options[id(model)] = {"zipmap": False}
    elif is_classifier(model) and hasattr(model, "decision_function"):
        options[id(model)] = {"raw_scores": True}
    made = convert_sklearn(
        model,
        initial_types=_tabular_types(request, data_types),
        target_opset={"": request["opset"], "ai.onnx.ml": 3},
        options=options,
    )
    _save(made, request)


def onnxmltools(request: Request) -> None:
    """onnxmltools, on a pickled booster or wrapper."""
    import joblib
    import onnxmltools
    from onnxmltools.convert.common import data_types

    convert: Callable[..., Any] = getattr(onnxmltools, f"convert_{request['framework']}")
    named = {"name": "catboost"} if request["framework"] == "catboost" else {}
    model = joblib.load(request["path"])
    types = _tabular_types(request, data_types)
    _save(convert(model, initial_types=types, target_opset=request["opset"], **named), request)


def tf2onnx(request: Request) -> None:
    """tf2onnx, on a Keras file, a SavedModel or a frozen graph."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    from tf2onnx import convert

    if request["form"] == "tflite":
        made, _ = convert.from_tflite(request["path"], opset=request["opset"])
        return _save(made, request)
    if request["form"] == "graph":
        graph = tf.compat.v1.GraphDef()
        with open(request["path"], "rb") as stream:
            graph.ParseFromString(stream.read())
        fed, fetched = request["fed"], request["fetched"]
    else:
        model = _keras_model(request["path"]) if request["form"] == "keras" else tf.saved_model.load(request["path"])
        frozen = convert_variables_to_constants_v2(
            _concrete(model, request),
            lower_control_flow=False,
            aggressive_inlining=True,  # as tf2onnx itself does
        )
        graph = frozen.graph.as_graph_def()
        fed, fetched = [t.name for t in frozen.inputs], [t.name for t in frozen.outputs]
    made, _ = convert.from_graph_def(graph, input_names=fed, output_names=fetched, opset=request["opset"])
    return _save(made, request)


def _keras_model(path: str) -> Any:
    import keras

    return keras.models.load_model(path, compile=False)


def _concrete(model: Any, request: Request) -> Any:
    """The function to convert: a signature of a SavedModel, or the call of a Keras model."""
    import tensorflow as tf

    if request["form"] == "saved_model":
        name = request["signature"]
        named = model.signatures
        return named[name or ("serving_default" if "serving_default" in named else next(iter(named)))]
    specs = [tf.TensorSpec(_sizes(i), i["dtype"], name=f"input_{n}") for n, i in enumerate(request["inputs"])]

    # from_keras of tf2onnx doesn't know the outputs' names of today's Keras
    def call(*tensors: Any) -> Any:
        return tf.nest.flatten(model(tensors[0] if len(tensors) == 1 else list(tensors), training=False))

    return tf.function(call).get_concrete_function(*specs)


def paddle2onnx(request: Request) -> None:
    """paddle2onnx, on an inference model."""
    import paddle2onnx

    weights = request["weights"] or ""
    paddle2onnx.export(
        request["path"], weights, save_file=request["output"], opset_version=request["opset"], optimize_tool="None"
    )


def jax2onnx(request: Request) -> None:
    """jax2onnx, on a pickled function of the flat inputs."""
    import pickle

    import jax
    import onnx
    from jax2onnx import to_onnx

    with open(request["path"], "rb") as stream:
        function = pickle.load(stream)
    scope = jax.export.SymbolicScope()
    inputs = []
    for item in request["inputs"]:
        shape = item["shape"]
        if any(isinstance(s, str) for s in shape):
            shape = jax.export.symbolic_shape(", ".join(map(str, shape)) + ",", scope=scope)
        inputs.append(jax.ShapeDtypeStruct(tuple(shape), item["dtype"]))  # type: ignore[no-untyped-call]
    made = to_onnx(function, inputs=inputs, opset=request["opset"])
    onnx.save(made, request["output"], save_as_external_data=made.ByteSize() > _EMBEDDED)


PEERS: dict[str, Callable[[Request], None]] = {
    "torch.onnx": torch_onnx,
    "skl2onnx": skl2onnx,
    "onnxmltools": onnxmltools,
    "tf2onnx": tf2onnx,
    "paddle2onnx": paddle2onnx,
    "jax2onnx": jax2onnx,
}
#: Bytes up to which weights stay in the file.
_EMBEDDED = 1 << 30


def _sizes(item: dict[str, Any]) -> list[int | None]:
    return [None if isinstance(s, str) else s for s in item["shape"]]


def _tabular_types(request: Request, types: Any) -> list[tuple[str, Any]]:
    """The inputs as skl2onnx describes them: columns have two axes."""
    kinds = {"float32": "Float", "float64": "Double", "bool": "Boolean", "string": "String"}
    found = []
    for item in request["inputs"]:
        kind = kinds.get(item["dtype"], item["dtype"].capitalize().replace("Uint", "UInt"))
        sizes = [None, *_sizes(item)[1:]]
        found.append((item["name"], getattr(types, f"{kind}TensorType")(sizes if len(sizes) > 1 else [None, 1])))
    return found


def _save(model: Any, request: Request) -> None:
    """Writes a model; probabilities that the converter made a map of become the matrix again."""
    import onnx

    graph = model.graph
    for node in [n for n in graph.node if n.op_type == "ZipMap"]:
        output = next(o for o in graph.output if o.name == node.output[0])
        output.CopyFrom(onnx.helper.make_tensor_value_info(node.input[0], onnx.TensorProto.FLOAT, None))
        graph.node.remove(node)
    onnx.save(model, request["output"], save_as_external_data=model.ByteSize() > _EMBEDDED)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as _stream:
        _request = json.load(_stream)
    PEERS[_request["peer"]](_request)
