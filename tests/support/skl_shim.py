"""Runs the peers' own tests (skl2onnx's, onnxmltools') with this package's converter in the place of theirs.

    python tests/support/skl_shim.py FOLDER [--peer] [--files test_sklearn_pca_converter.py ...] [--out results.json]

FOLDER holds the peer's tests, fetched by you. A pytest plugin puts our conversion behind the peer's functions
``convert_sklearn``, ``to_onnx``, ``convert_xgboost`` ... before a test imports them; with --peer nothing is replaced.
The peer's types, options, output names and shapes are translated here, by nodes around our graph; nothing of it is part
of the package.
`--compare ours.json peer.json` prints the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

_DTYPES = {
    "FloatTensorType": "float32", "FloatType": "float32", "DoubleTensorType": "float64", "Int64TensorType": "int64",
    "Int64Type": "int64", "Int32TensorType": "int32", "BooleanTensorType": "bool", "StringTensorType": "string",
    "StringType": "string", "Float16TensorType": "float16", "UInt8TensorType": "uint8", "Int8TensorType": "int8",
}  # fmt: skip
_ML = "ai.onnx.ml"
_WRAPPERS = ("best_estimator_", "estimator_")


# --- the peer's arguments --------------------------------------------------------------------------------------------


@dataclass
class Fed:
    """An input as the peer declares it.

    Attributes:
        name: Its name.
        dtype: numpy's name of its dtype.
        shape: As declared; empty where nothing is.
        parts: Names of the inputs of our model that it is split into.
    """

    name: str
    dtype: str
    shape: list[Any]
    parts: list[str]

    @property
    def width(self) -> int | None:
        last = self.shape[-1] if len(self.shape) > 1 else None
        return last if isinstance(last, int) else None


def inputs_of(model: Any, types: Sequence[tuple[str, Any]]) -> tuple[list[Fed], list[str]]:
    """The peer's inputs, and the specs of ours."""
    fed = []
    for name, kind in types:
        if type(kind).__name__ not in _DTYPES:
            raise RuntimeError(f"an input of type {type(kind).__name__} can't be held by this package's inputs")
        fed.append(Fed(name, _DTYPES[type(kind).__name__], list(kind.shape or []), [name]))
    if len(fed) == 1:
        (only,) = fed
        if takes_vector(model):
            return fed, [f"{only.name}:{only.dtype}[batch]"]
        width = getattr(model, "n_features_in_", None) or only.width or 1
        return fed, [f"{only.name}:{only.dtype}[batch,{width}]"]
    columns = [f"{f.name}_{i}" if f.width and f.width > 1 else f.name for f in fed for i in range(f.width or 1)]
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is not None and len(fitted) == len(columns) and not set(fitted) <= set(columns):
        columns = [str(n) for n in fitted]
    left = iter(columns)
    for f in fed:
        f.parts = [next(left) for _ in range(f.width or 1)]
    return fed, [f"{part}:{f.dtype}[batch,1]" for f in fed for part in f.parts]


def takes_vector(model: Any) -> bool:
    """Whether it takes one text (or label) for each row."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
    from sklearn.preprocessing import LabelBinarizer, LabelEncoder

    while True:
        if hasattr(model, "steps"):
            model = model.steps[0][1]
        elif hasattr(model, "transformer_list"):
            model = model.transformer_list[0][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return isinstance(model, (CountVectorizer, HashingVectorizer, LabelBinarizer, LabelEncoder))


def last_of(model: Any) -> Any:
    """The estimator that predicts."""
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        model = model.steps[-1][1] if hasattr(model, "steps") else model.best_estimator_
    return model


def options_of(model: Any, options: dict[Any, Any] | None) -> dict[str, Any]:
    """The options that concern the estimator that predicts."""
    found: dict[str, Any] = {}
    last = last_of(model)
    for key, value in (options or {}).items():
        if key in (id(model), id(last)) or key in (type(model), type(last)):
            found.update(value)
        elif isinstance(key, str) and not isinstance(value, dict):
            found[key.split("__")[-1]] = value
    if not isinstance(found.get("zipmap", True), bool) and found["zipmap"] != "columns":
        raise ValueError(f"Unexpected value [{found['zipmap']!r}] for option 'zipmap'")
    for name in set(found) - _KNOWN:
        raise NameError(f"Option {name!r} not in {sorted(_KNOWN)}")
    return found


_KNOWN = {
    "zipmap", "raw_scores", "output_class_labels", "nocl", "return_std", "score_samples", "optim", "decision_path",
    "decision_leaf", "div", "gemm", "separators", "regex", "tokenexp", "nan", "keep_empty_string", "locale",
}  # fmt: skip


def opset_of(target: Any) -> int:
    if isinstance(target, dict):
        target = target.get("", 21)
    return min(int(target or 21), 25)


def methods_of(model: Any, own: dict[str, Any]) -> list[str] | None:
    """The methods that the peer's outputs hold; None where they are those that this package takes by itself."""
    from sklearn.base import is_classifier
    from sklearn.feature_selection import SelectorMixin

    last = last_of(model)
    if own.get("decision_path") or own.get("decision_leaf"):
        raise RuntimeError("the path to a leaf is no output of this package")
    if isinstance(last, SelectorMixin):
        return ["transform"]
    if own.get("return_std"):
        return ["predict", "predict_std"]
    if own.get("score_samples"):
        second = "predict_proba" if hasattr(last, "predict_proba") else "decision_function"
        return ["predict", second, "score_samples"]
    if is_classifier(model) and own.get("raw_scores") and hasattr(model, "decision_function"):
        return ["predict", "decision_function"]
    return None


# --- our model in the peer's form ------------------------------------------------------------------------------------


def convert(model: Any, types: Any, target: Any, options: dict[Any, Any] | None, finals: Any) -> onnx.ModelProto:
    """Our model in the form that the peer's tests expect."""
    from skl2onnx.common.exceptions import MissingShapeCalculator

    import anyonnx
    from anyonnx.symbolic.errors import AnyonnxError, UnsupportedOps

    own = options_of(model, options)
    fed, specs = inputs_of(model, types)
    methods = methods_of(model, own)
    extra = {"methods": methods} if methods else {}
    try:
        made = anyonnx.to_onnx(model, specs, opset=opset_of(target), compare=False, check=False, **extra)
    except UnsupportedOps as error:
        raise MissingShapeCalculator(str(error)) from error
    except AnyonnxError as error:
        raise RuntimeError(str(error)) from error
    proto = made.proto()
    del proto.graph.value_info[:]
    feed(proto, fed)
    present(proto, model, own)
    if finals:
        finish(proto, finals)
    return proto


def feed(proto: onnx.ModelProto, fed: list[Fed]) -> None:
    """The peer's inputs in the place of ours."""
    inner = {i.name: i for i in proto.graph.input}
    taken = {f.name for f in fed}
    for part in [p for f in fed for p in f.parts if p in taken and f.parts != [f.name]]:
        rename(proto, part, f"{part}_inner")
    del proto.graph.input[:]
    added = []
    for f in fed:
        kind = inner[f.parts[0]].type.tensor_type
        rank = len(kind.shape.dim)
        parts = [f"{p}_inner" if p in taken and f.parts != [f.name] else p for p in f.parts]
        shape = [None, *([kind.shape.dim[1].dim_value] if rank == 2 else [])]
        if len(parts) > 1:
            shape[1] = len(parts)
            equal = {"num_outputs": len(parts)} if opset_in(proto) >= 18 else {}
            added.append(helper.make_node("Split", [f.name], parts, axis=1, **equal))
        elif len(f.shape) not in (0, rank):
            shape = [s if i and isinstance(s, int) else None for i, s in enumerate(f.shape)]
            rename(proto, parts[0], f"{parts[0]}_shaped")
            added.append(
                reshape(proto, f.name, f"{parts[0]}_shaped", [-1, *([d.dim_value for d in kind.shape.dim][1:])])
            )
        elif parts[0] != f.name:
            rename(proto, parts[0], f.name)
        proto.graph.input.append(helper.make_tensor_value_info(f.name, kind.elem_type, shape))
    for node in reversed(added):
        proto.graph.node.insert(0, node)


def present(proto: onnx.ModelProto, model: Any, own: dict[str, Any]) -> None:
    """The peer's outputs: names, shapes, dicts of probabilities."""
    from sklearn.base import is_classifier

    names = [o.name for o in proto.graph.output]
    for output in list(proto.graph.output):
        for dim in output.type.tensor_type.shape.dim:
            dim.ClearField("dim_param")
        kind = output.type.tensor_type.elem_type
        if output.name == "label":
            if kind not in (onnx.TensorProto.STRING, onnx.TensorProto.INT64):
                after(proto, "label", "Cast", onnx.TensorProto.INT64, to=onnx.TensorProto.INT64)
        elif len(output.type.tensor_type.shape.dim) == 1 and not (output.name == "scores" and is_classifier(model)):
            column(proto, output.name)
    if not is_classifier(model):
        return
    if len(names) > 2:
        together(proto, model, names[1:], own)
        return
    labels = class_labels(model)
    if own.get("nocl") and labels is not None:
        indices(proto, labels)
    if len(names) < 2 or labels is None:
        return
    last = last_of(model)
    single = type(last).__name__ in ("LinearSVC", "RidgeClassifier", "RidgeClassifierCV")
    if names[1] == "scores" and len(proto.graph.output[1].type.tensor_type.shape.dim) == 1:
        if single and not own.get("raw_scores"):
            column(proto, "scores")
        else:
            two_columns(proto)
    plain = single or (type(last).__name__ in ("SVC", "NuSVC") and not last.probability)
    zipped = False if plain else own.get("zipmap", True)
    if zipped == "columns":
        as_columns(proto, labels)
    elif zipped:
        as_dicts(proto, np.arange(len(labels)) if own.get("nocl") else labels)
    elif names[1] != "probabilities":
        rename(proto, names[1], "probabilities")
    if own.get("output_class_labels"):
        constant(proto, "class_labels", labels)


def class_labels(model: Any) -> np.ndarray | None:
    """The labels of a classifier of one output, whole numbers or strings."""
    found = getattr(model, "classes_", getattr(last_of(model), "classes_", None))
    if found is None or isinstance(found, list) or np.ndim(found) != 1:
        return None
    array = np.asarray(found)
    return array.astype(np.int64) if array.dtype.kind in "biuf" else array.astype(object)


def finish(proto: onnx.ModelProto, finals: Sequence[tuple[str, Any]]) -> None:
    """The outputs' names and types that the caller asks for."""
    if len(finals) != len(proto.graph.output) or len({n for n, _ in finals}) != len(finals):
        raise RuntimeError(f"{len(proto.graph.output)} outputs can't be named {[n for n, _ in finals]}")
    for output, (name, kind) in zip(list(proto.graph.output), finals, strict=True):
        rename(proto, output.name, name)
        wanted = helper.np_dtype_to_tensor_dtype(np.dtype(_DTYPES[type(kind).__name__])) if kind is not None else None
        if wanted not in (None, output.type.tensor_type.elem_type):
            after(proto, name, "Cast", wanted, to=wanted)


# --- surgery ---------------------------------------------------------------------------------------------------------


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


def together(proto: onnx.ModelProto, model: Any, names: list[str], own: dict[str, Any]) -> None:
    """Probabilities of several outputs: one sequence, or one tensor for trees."""
    kind = proto.graph.output[1].type.tensor_type.elem_type
    del proto.graph.output[1:]
    if type(last_of(model)).__name__ != "MultiOutputClassifier":
        made = [f"{n}_3d" for n in names]
        for name, target in zip(names, made, strict=True):
            axes = initializer(proto, "axis_0", np.zeros(1, np.int64))
            node = helper.make_node("Unsqueeze", [name, axes], [target])
            if opset_in(proto) < 13:
                node = helper.make_node("Unsqueeze", [name], [target], axes=[0])
            proto.graph.node.append(node)
        proto.graph.node.append(helper.make_node("Concat", made, ["probabilities"], axis=0))
        proto.graph.output.append(helper.make_tensor_value_info("probabilities", kind, [len(names), None, None]))
    else:
        proto.graph.node.append(helper.make_node("SequenceConstruct", names, ["probabilities"]))
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, None))
        proto.graph.output.append(helper.make_value_info("probabilities", sequence))
    if own.get("output_class_labels"):
        classes = [np.asarray(c) for c in getattr(model, "classes_", None) or [e.classes_ for e in model.estimators_]]
        constants = [constant(proto, f"class_labels_{i}", c, output=False) for i, c in enumerate(classes)]
        proto.graph.node.append(helper.make_node("SequenceConstruct", constants, ["class_labels"]))
        of = onnx.TensorProto.STRING if classes[0].dtype.kind in "OU" else onnx.TensorProto.INT64
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(of, None))
        proto.graph.output.append(helper.make_value_info("class_labels", sequence))


def constant(proto: onnx.ModelProto, name: str, labels: np.ndarray, *, output: bool = True) -> str:
    """The labels as a result of the model."""
    texts = labels.dtype.kind in "OU"
    array = np.array([str(v) for v in labels], object) if texts else labels.astype(np.int64)
    proto.graph.node.append(helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(array, name)))
    if output:
        kind = onnx.TensorProto.STRING if texts else onnx.TensorProto.INT64
        proto.graph.output.append(helper.make_tensor_value_info(name, kind, [len(labels)]))
    return name


# --- the plugin ------------------------------------------------------------------------------------------------------


def convert_sklearn(model: Any, name: Any = None, initial_types: Any = None, doc_string: str = "",
                    target_opset: Any = None, *positional: Any, **more: Any) -> onnx.ModelProto:  # fmt: skip
    """The peer's function, by our converter."""
    if initial_types is None:
        raise ValueError("Initial types are required")
    return convert(model, initial_types, target_opset, more.get("options"), more.get("final_types"))


def to_onnx(model: Any, X: Any = None, name: Any = None, initial_types: Any = None, target_opset: Any = None,
            options: Any = None, *positional: Any, **more: Any) -> onnx.ModelProto:  # fmt: skip
    """The peer's function, by our converter."""
    from skl2onnx.algebra.type_helper import guess_initial_types

    types = guess_initial_types(X, initial_types)
    return convert_sklearn(model, name, types, target_opset=target_opset, options=options, **more)


def convert_booster(model: Any, name: Any = None, initial_types: Any = None, doc_string: str = "",
                    target_opset: Any = None, *positional: Any, **more: Any) -> onnx.ModelProto:  # fmt: skip
    """onnxmltools' functions for XGBoost, LightGBM and CatBoost, by our converter."""
    library = type(model).__module__.split(".")[0]
    if initial_types is None and library != "catboost":
        raise ValueError("Initial types are required")
    own = {"zipmap": library != "xgboost" and more.get("zipmap", True)}
    return convert(model, initial_types, target_opset, own, None)


def pytest_configure(config: Any) -> None:
    """Puts our functions in the place of the peer's."""
    if os.environ.get("SHIM") != "ours":
        return
    import skl2onnx
    import skl2onnx.convert

    own = {"convert_sklearn": convert_sklearn, "to_onnx": to_onnx}
    for module in (skl2onnx, skl2onnx.convert):
        vars(module).update(own)
    if os.environ.get("SHIM_BOOSTERS") != "1":
        return
    import onnxmltools
    import onnxmltools.convert
    import onnxmltools.convert.lightgbm
    import onnxmltools.convert.main
    import onnxmltools.convert.xgboost

    named = {f"convert_{library}": convert_booster for library in ("xgboost", "lightgbm", "catboost")}
    for module in (onnxmltools, onnxmltools.convert, onnxmltools.convert.main):
        vars(module).update({**named, "convert_sklearn": convert_sklearn})
    for module in (onnxmltools.convert.xgboost, onnxmltools.convert.lightgbm):
        module.convert = convert_booster


# --- running and comparing -------------------------------------------------------------------------------------------

_LINE = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\s+(\S+)")


def run(folder: Path, files: list[str], *, ours: bool) -> dict[str, str]:
    """Verdict of every test by its name; a few files in each process."""
    found: dict[str, str] = {}
    here = Path(__file__).resolve().parent
    boosters = "1" if any("boost" in f or "lightgbm" in f.lower() for f in files if "sklearn" not in f) else "0"
    with tempfile.TemporaryDirectory() as dumps:
        environment = os.environ | {
            "SHIM": "ours" if ours else "peer", "SHIM_BOOSTERS": boosters, "ONNXTESTDUMP": dumps,
            "PYTHONPATH": f"{here}{os.pathsep}{folder}", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        for start in range(0, len(files), 20):
            some = files[start : start + 20]
            command = [sys.executable, "-m", "pytest", "-p", "skl_shim", "-p", "no:cacheprovider", "-q", "-rA",
                       "--tb=line", "--show-capture=no", "--continue-on-collection-errors", "-c", os.devnull,
                       "--rootdir", str(folder), *some]  # fmt: skip
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)
            if done.returncode not in (0, 1):
                print(f"pytest ended with {done.returncode}: {' '.join(some)}", done.stderr[-500:])
            for line in done.stdout.splitlines():
                match = _LINE.match(line)
                if match and "::" in match[2]:
                    found[match[2]] = match[1]
            print(f"{start + len(some)} of {len(files)} files", flush=True)
    return found


def portable(folder: Path) -> list[str]:
    """Test files that use nothing of the peer but its public surface."""
    inner = re.compile(
        r"skl2onnx\.(algebra|helpers|operator_converters|shape_calculators|sklapi|_parse|proto)"
        r"|skl2onnx\.common\.(_|utils|shape|onnx_opt)|update_registered_converter|wrap_as_onnx_mixin"
        r"|onnxmltools\.convert\.(xgboost|lightgbm)\.operator_converters"
    )
    return [p.name for p in sorted(folder.glob("test_*.py")) if not inner.search(p.read_text())]


def compare(ours: dict[str, str], peer: dict[str, str]) -> None:
    """Prints how many of the tests that the peer passes pass here."""
    passing = [name for name, verdict in peer.items() if verdict == "PASSED"]
    here = [name for name in passing if ours.get(name) == "PASSED"]
    for name in passing:
        if name not in here:
            print("fails here only:", name, ours.get(name, "not run"))
    print(f"{len(here)} of {len(passing)} tests that the peer passes ({100 * len(here) / max(1, len(passing)):.1f} %)")
    print("pass here, not with the peer:", sum(v == "PASSED" and peer.get(n) != "PASSED" for n, v in ours.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--files", nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--compare", nargs=2, type=Path)
    options = parser.parse_args()
    if options.compare:
        compare(*(json.loads(p.read_text()) for p in options.compare))
        return
    folder = options.folder.resolve()
    found = run(folder, options.files or portable(folder), ours=not options.peer)
    if options.out:
        options.out.write_text(json.dumps(found, indent=0))
    print({v: list(found.values()).count(v) for v in set(found.values())})


if __name__ == "__main__":
    main()
