"""Runs the peers' own tests (skl2onnx's, onnxmltools') with this package's converter in the place of theirs.

    python tests/support/skl_shim.py FOLDER [--peer] [--files test_sklearn_pca_converter.py ...] [--out results.json]

FOLDER holds the peer's tests, fetched by you. A pytest plugin puts our conversion behind the peer's ``convert_sklearn``
and ``to_onnx`` before a test imports them; with --peer nothing is replaced. The peer's types, options and output names
are translated here; nothing of it is part of the package. `--compare ours.json peer.json` prints the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
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


# --- the peer's arguments --------------------------------------------------------------------------------------------


def spec(name: str, kind: Any, features: int | None) -> str:
    """An input as this package writes it."""
    shape = list(kind.shape or [None, features])
    sizes = ["batch" if i == 0 and not isinstance(s, int) else s for i, s in enumerate(shape)]
    sizes = [(features if i == 1 and features else f"dim{i}") if s in (None, "None", "") else s
             for i, s in enumerate(sizes)]  # fmt: skip
    if sizes and sizes[0] != "batch":
        sizes[0] = "batch"
    return f"{name}:{_DTYPES[type(kind).__name__]}[{','.join(map(str, sizes))}]"


def options_of(model: Any, options: dict[Any, Any] | None) -> dict[str, Any]:
    """The options that concern the estimator that predicts."""
    found: dict[str, Any] = {}
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    for key, value in (options or {}).items():
        if key in (id(model), id(last)) or key in (type(model), type(last)):
            found.update(value)
        elif isinstance(key, str) and not isinstance(value, dict):
            found[key.split("__")[-1]] = value
    return found


def opset_of(target: Any) -> int:
    if isinstance(target, dict):
        target = target.get("", 21)
    return min(int(target or 21), 25)


def convert(model: Any, inputs: Any, target: Any, options: dict[Any, Any] | None, finals: Any) -> onnx.ModelProto:
    """Our model in the form that the peer's tests expect."""
    import anyonnx

    own = options_of(model, options)
    classifier = hasattr(model, "predict") and hasattr(last_of(model), "classes_")
    methods = None
    if own.get("raw_scores") or own.get("output_class_labels") or not hasattr(model, "predict_proba"):
        methods = ["predict", "decision_function"] if hasattr(model, "decision_function") and classifier else None
    if own.get("return_std"):
        methods = ["predict", "predict_std"]
    if own.get("score_samples"):
        methods = ["predict", "decision_function", "score_samples"]
    extra = {"methods": methods} if methods else {}
    proto = anyonnx.to_onnx(
        model, inputs, framework="sklearn", opset=opset_of(target), compare=False, check=False, **extra
    ).proto()
    names = [o.name for o in proto.graph.output]
    if classifier and len(names) > 1 and names[0] == "label":
        zipped = own.get("zipmap", True) and hasattr(last_of(model), "predict_proba") and not own.get("raw_scores")
        if methods and classifier:
            _two_columns(proto, model)
        labels = list(getattr(model, "classes_", last_of(model).classes_))
        if zipped == "columns" and len(names) == 2:
            _columns(proto, labels)
        elif zipped and len(names) == 2 and not isinstance(labels[0], np.ndarray):
            _zip(proto, labels)
        else:
            _rename(proto, names[1], "probabilities")
    for value in (*proto.graph.input, *proto.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.ClearField("dim_param")
    if finals:
        for output, (name, _) in zip(list(proto.graph.output), finals, strict=False):
            _rename(proto, output.name, name)
    return proto


def last_of(model: Any) -> Any:
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        model = model.steps[-1][1] if hasattr(model, "steps") else model.best_estimator_
    return model


def _rename(proto: onnx.ModelProto, old: str, new: str) -> None:
    for node in proto.graph.node:
        node.output[:] = [new if o == old else o for o in node.output]
        node.input[:] = [new if i == old else i for i in node.input]
    for output in proto.graph.output:
        if output.name == old:
            output.name = new


def _two_columns(proto: onnx.ModelProto, model: Any) -> None:
    """The peer gives scores of two classes as (-score, score)."""
    output = proto.graph.output[1]
    if len(output.type.tensor_type.shape.dim) != 1:
        return
    name = output.name
    _rename(proto, name, "one_score")
    proto.graph.initializer.append(helper.make_tensor("column", onnx.TensorProto.INT64, [2], [-1, 1]))
    proto.graph.node.extend([
        helper.make_node("Reshape", ["one_score", "column"], ["score_column"]),
        helper.make_node("Neg", ["score_column"], ["minus_score"]),
        helper.make_node("Concat", ["minus_score", "score_column"], [name], axis=1),
    ])  # fmt: skip
    kind = output.type.tensor_type.elem_type
    proto.graph.output[1].CopyFrom(helper.make_tensor_value_info(name, kind, [None, 2]))


def _zip(proto: onnx.ModelProto, labels: list[Any]) -> None:
    """Probabilities as a list of dicts, and the peer's names for the outputs."""
    texts = isinstance(labels[0], (str, np.str_))
    source = proto.graph.output[1].name
    attributes = {"classlabels_strings": [str(v) for v in labels]} if texts else {
        "classlabels_int64s": [int(v) for v in labels]
    }  # fmt: skip
    proto.graph.node.append(helper.make_node("Cast", [source], ["as_float"], to=onnx.TensorProto.FLOAT))
    node = helper.make_node("ZipMap", ["as_float"], ["output_probability"], domain="ai.onnx.ml", **attributes)
    proto.graph.node.append(node)
    key = onnx.TensorProto.STRING if texts else onnx.TensorProto.INT64
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    mapped = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    _rename(proto, "label", "output_label")
    proto.graph.output[1].CopyFrom(helper.make_value_info("output_probability", mapped))
    if not any(o.domain == "ai.onnx.ml" for o in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))


def _columns(proto: onnx.ModelProto, labels: list[Any]) -> None:
    """Probabilities as one output for each class."""
    source = proto.graph.output[1]
    kind, name = source.type.tensor_type.elem_type, source.name
    names = [f"s{v}" if isinstance(v, (str, np.str_)) else f"i{v}" for v in labels]
    proto.graph.node.append(helper.make_node("Split", [name], names, axis=1, num_outputs=len(names)))
    _rename(proto, "label", "output_label")
    del proto.graph.output[1]
    proto.graph.output.extend(helper.make_tensor_value_info(n, kind, [None, 1]) for n in names)


# --- the plugin ------------------------------------------------------------------------------------------------------


def convert_sklearn(model: Any, name: Any = None, initial_types: Any = None, doc_string: str = "",
                    target_opset: Any = None, *positional: Any, **more: Any) -> onnx.ModelProto:  # fmt: skip
    """The peer's function, by our converter."""
    features = getattr(model, "n_features_in_", None)
    alone = len(initial_types) == 1
    specs = [spec(n, t, features if alone else None) for n, t in initial_types]
    return convert(model, specs, target_opset, more.get("options"), more.get("final_types"))


def to_onnx(model: Any, X: Any = None, name: Any = None, initial_types: Any = None, target_opset: Any = None,
            options: Any = None, *positional: Any, **more: Any) -> onnx.ModelProto:  # fmt: skip
    """The peer's function, by our converter."""
    if X is None or initial_types is not None:
        return convert_sklearn(model, name, initial_types, target_opset=target_opset, options=options, **more)
    return convert(model, X, target_opset, options, more.get("final_types"))


def pytest_configure(config: Any) -> None:
    """Puts our functions in the place of the peer's."""
    if os.environ.get("SHIM") != "ours":
        return
    import skl2onnx
    import skl2onnx.convert

    for module in (skl2onnx, skl2onnx.convert):
        module.convert_sklearn = convert_sklearn
        module.to_onnx = to_onnx


# --- running and comparing -------------------------------------------------------------------------------------------

_LINE = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\s+(\S+)")


def run(folder: Path, files: list[str], *, ours: bool) -> dict[str, str]:
    """Verdict of every test by its name; each file in a process of its own."""
    found: dict[str, str] = {}
    here = Path(__file__).resolve().parent
    environment = os.environ | {
        "SHIM": "ours" if ours else "peer", "PYTHONPATH": f"{here}{os.pathsep}{folder}", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    for file in files:
        command = [sys.executable, "-m", "pytest", "-p", "skl_shim", "-p", "no:cacheprovider", "-q", "-rA", "--tb=line",
                   "-c", os.devnull, "--rootdir", str(folder), file]  # fmt: skip
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
            output = done.stdout
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode(errors="replace")
        for line in output.splitlines():
            match = _LINE.match(line)
            if match and "::" in match[2]:
                found[match[2]] = match[1]
        print(file, sum(k.startswith(file) and v == "PASSED" for k, v in found.items()), "passed", flush=True)
    return found


def portable(folder: Path) -> list[str]:
    """Test files that use nothing of the peer but its public surface."""
    inner = re.compile(
        r"skl2onnx\.(algebra|helpers|operator_converters|shape_calculators|sklapi|_parse|proto)"
        r"|skl2onnx\.common\.(_|utils|shape|onnx_opt)|update_registered_converter|wrap_as_onnx_mixin"
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
