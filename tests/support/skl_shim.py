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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from skl_shim_graph import (
    after,
    as_classifier,
    as_columns,
    as_dicts,
    as_texts,
    column,
    constant,
    indices,
    opset_in,
    rename,
    rename_inner,
    reshape,
    together,
    two_columns,
)

_DTYPES = {
    "FloatTensorType": "float32", "FloatType": "float32", "DoubleTensorType": "float64", "Int64TensorType": "int64",
    "Int64Type": "int64", "Int32TensorType": "int32", "BooleanTensorType": "bool", "StringTensorType": "string",
    "StringType": "string", "Float16TensorType": "float16", "UInt8TensorType": "uint8", "Int8TensorType": "int8",
}  # fmt: skip


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


def inputs_of(model: Any, types: Sequence[tuple[str, Any]] | None) -> tuple[list[Fed], list[str] | None]:
    """The peer's inputs, and the specs of ours; None where the model says them."""
    if types is None:
        return [], None
    fed = []
    for name, kind in types:
        if type(kind).__name__ not in _DTYPES:
            raise RuntimeError(f"an input of type {type(kind).__name__} can't be held by this package's inputs")
        fed.append(Fed(name, _DTYPES[type(kind).__name__], list(kind.shape or []), [name]))
    if len(fed) == 1:
        (only,) = fed
        if takes_vector(model):
            return fed, [f"{only.name}:{only.dtype}[batch]"]
        width = getattr(model, "n_features_in_", None) or only.width or features_of(model)
        return fed, [f"{only.name}:{only.dtype}[batch,{width}]"]
    columns = [f"{f.name}_{i}" if f.width and f.width > 1 else f.name for f in fed for i in range(f.width or 1)]
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is not None and len(fitted) == len(columns) and not set(fitted) <= set(columns):
        columns = [str(n) for n in fitted]
    left = iter(columns)
    for f in fed:
        f.parts = [next(left) for _ in range(f.width or 1)]
    return fed, [f"{part}:{f.dtype}[batch,1]" for f in fed for part in f.parts]


def features_of(model: Any) -> int:
    """Number of features of a booster."""
    count = getattr(model, "num_features", None) or getattr(model, "num_feature", None)
    return int(count()) if count else 1


def objective_of(booster: Any) -> str:
    """The objective of a live booster of XGBoost or LightGBM."""
    if hasattr(booster, "save_config"):
        return str(json.loads(booster.save_config())["learner"]["objective"]["name"])
    return str(booster.dump_model(num_iteration=1).get("objective", ""))


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
            several = str(getattr(model, "y_type_", "")).startswith("multilabel")
            return isinstance(model, (CountVectorizer, HashingVectorizer, LabelBinarizer, LabelEncoder)) and not several


def classifies(model: Any) -> bool:
    """Whether it is a classifier of scikit-learn's kind, which a booster itself isn't."""
    from sklearn.base import is_classifier

    return hasattr(model, "fit") and is_classifier(model)


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
    from sklearn.feature_selection import SelectorMixin

    last = last_of(model)
    ways = [m for option, m in (("decision_path", "decision_path"), ("decision_leaf", "apply")) if own.get(option)]
    if ways:
        return ["predict", *(["predict_proba"] if classifies(model) else []), *ways]
    if isinstance(last, SelectorMixin):
        return ["transform"]
    if own.get("return_std"):
        return ["predict", "predict_std"]
    if own.get("score_samples"):
        second = "predict_proba" if hasattr(last, "predict_proba") else "decision_function"
        return ["predict", second, "score_samples"]
    if classifies(model) and own.get("raw_scores") and hasattr(model, "decision_function"):
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
    extra: dict[str, Any] = {"methods": methods} if methods else {}
    if type(model).__name__ == "Booster" and objective_of(model) == "multi:softmax":
        extra["kind"] = "raw"  # what the peer calls probabilities
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
    if not fed:
        return
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
    ways = [o for o in proto.graph.output if o.name in ("path", "leaves")]
    for output in ways:
        proto.graph.output.remove(output)
    answers(proto, model, own)
    proto.graph.output.extend(ways)
    for output in ways:
        for dim in output.type.tensor_type.shape.dim:
            dim.ClearField("dim_param")
        if output.name == "path":
            as_texts(proto, [t.tree_.node_count for t in getattr(model, "estimators_", [model])])


def answers(proto: onnx.ModelProto, model: Any, own: dict[str, Any]) -> None:
    """The outputs of predict and its like."""
    classifier = classifies(model)
    if type(model).__name__ == "Booster" and objective_of(model).startswith(("binary", "multi")):
        classifier = True
    if classifier and [o.name for o in proto.graph.output] == ["variable"]:
        as_classifier(proto)
    names = [o.name for o in proto.graph.output]
    for output in list(proto.graph.output):
        for dim in output.type.tensor_type.shape.dim:
            dim.ClearField("dim_param")
        kind = output.type.tensor_type.elem_type
        if output.name == "label":
            if kind not in (onnx.TensorProto.STRING, onnx.TensorProto.INT64):
                after(proto, "label", "Cast", onnx.TensorProto.INT64, to=onnx.TensorProto.INT64)
        elif len(output.type.tensor_type.shape.dim) == 1 and not (output.name == "scores" and classifier):
            column(proto, output.name)
    if not classifier:
        return
    if len(names) > 2:
        classes = getattr(model, "classes_", None) or [e.classes_ for e in model.estimators_]
        together(proto, names[1:], list(map(np.asarray, classes)) if own.get("output_class_labels") else None)
        return
    labels = class_labels(model, proto.graph.output[-1])
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


def class_labels(model: Any, probabilities: onnx.ValueInfoProto) -> np.ndarray | None:
    """The labels of a classifier of one output, whole numbers or strings; those of a booster are numbers from 0 on."""
    found = getattr(model, "classes_", getattr(last_of(model), "classes_", None))
    if type(model).__name__ == "Booster":
        return np.arange(probabilities.type.tensor_type.shape.dim[1].dim_value)
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


# --- the plugin ------------------------------------------------------------------------------------------------------


def convert_sklearn(model: Any, name: Any = None, initial_types: Any = None, doc_string: str = "",
                    target_opset: Any = None, *positional: Any, **more: Any) -> onnx.ModelProto:  # fmt: skip
    """The peer's function, by our converter."""
    if initial_types is None:
        raise ValueError("Initial types are required")
    proto = convert(model, initial_types, target_opset, more.get("options"), more.get("final_types"))
    naming = more.get("naming")
    if naming is not None:
        if not isinstance(naming, str) and not callable(naming):
            raise TypeError(f"naming={naming!r}: it is a prefix or a function")
        rename_inner(proto, (lambda name, taken: naming + name) if isinstance(naming, str) else naming)
    return proto


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
    own = {"zipmap": library == "lightgbm" and more.get("zipmap", True)}
    proto = convert(model, initial_types, target_opset, own, None)
    for old, new in (("probabilities", "shares"), ("output_label", "label"), ("output_probability", "probabilities")):
        if any(o.name == "output_probability" for o in proto.graph.output):
            rename(proto, old, new)
    return proto


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
    """Test files that use nothing of the peer but its public surface; all of onnxmltools' folders."""
    inner = re.compile(
        r"skl2onnx\.(algebra|helpers|operator_converters|shape_calculators|sklapi|_parse|proto)"
        r"|skl2onnx\.common\.(_|utils|shape|onnx_opt)|update_registered_converter|wrap_as_onnx_mixin"
    )
    files = sorted(folder.glob("test_*.py"))
    skl = any(f.name.startswith("test_sklearn") for f in files)
    return [f.name for f in files if not skl or not inner.search(f.read_text())]


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
