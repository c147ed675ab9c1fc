"""SavedModel directories and frozen graphs (``.pb``), read without TensorFlow."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from ...symbolic.errors import CaptureError, InputSpecError, MissingDependency
from ...symbolic.spec import TensorSpec
from ..base import Options
from ..binding import as_spec, bind
from ..files import sniff
from .checkpoint import Checkpoint
from .graph import DTYPES, Graph, Library, read_graph, shape
from .protos import parse
from .source import Program, TensorflowSource, graph_specs

_SERVING = "serving_default"
#: Ops that stand at the end of a graph without being results of it.
_ENDS = frozenset({"NoOp", "Assert", "Print", "PrintV2", "SaveV2", "Const", "MergeV2Checkpoints", "Placeholder"})


def load_file(path: Path, inputs: Any, options: Options) -> TensorflowSource:
    """Reads a SavedModel or a frozen graph."""
    if sniff(path).format == "savedmodel":
        return _saved_model(path if path.is_dir() else path.parent, inputs, options)
    return _frozen(path, inputs, options)


# --- SavedModel -----------------------------------------------------------------------------------------------------


def _saved_model(path: Path, inputs: Any, options: Options) -> TensorflowSource:
    saved = parse("SavedModel", (path / "saved_model.pb").read_bytes())
    if not saved.meta_graphs:
        raise CaptureError(f"{path} has no graph")
    served = [m for m in saved.meta_graphs if "serve" in m.meta_info_def.tags]
    meta = (served or list(saved.meta_graphs))[0]
    name, signature = _signature(meta.signature_def, options.extra.get("signature"), path)
    graph, library = read_graph(meta.graph_def)
    fed, fetched = sorted(signature.inputs), sorted(signature.outputs)
    told = [signature.inputs[n] for n in fed]
    specs, samples = _described(fed, [shape(i.tensor_shape) for i in told], [i.dtype for i in told], inputs, options)
    keys = _checkpoint_keys(graph, library)
    prefix = path / "variables" / "variables"
    checkpoint = Checkpoint(prefix) if keys else None

    def variable(handle: str) -> np.ndarray:
        if checkpoint is None or handle not in keys:
            raise CaptureError(f"the SavedModel doesn't say where the contents of {handle} are stored")
        return checkpoint.array(keys[handle])

    program = Program(
        graph, library, [_reference(i.name) for i in told],
        [_reference(signature.outputs[n].name) for n in fetched], variable, {},
    )  # fmt: skip

    def run(values: Sequence[np.ndarray]) -> list[Any]:
        tf = _tensorflow(path)
        function = tf.saved_model.load(str(path)).signatures[name]
        results = function(**{n: tf.constant(v) for n, v in zip(fed, values, strict=True)})
        return [results[n].numpy() for n in fetched]

    about = f"{path.name} ({name}, TensorFlow {meta.meta_info_def.tensorflow_version or '?'})"
    source = TensorflowSource(program, specs, fetched, options, about, run)
    source.samples = samples
    return source


def _signature(signatures: Mapping[str, Any], wanted: Any, path: Path) -> tuple[str, Any]:
    names = sorted(n for n in signatures if not n.startswith("__saved_model"))
    if wanted is None:
        wanted = _SERVING if _SERVING in names else names[0] if len(names) == 1 else None
    if wanted not in names:
        asked = f"no signature {wanted}" if wanted is not None else "several signatures"
        listed = ", ".join(names) or "none: save the model with signatures="
        raise InputSpecError(f"{path} has {asked}; choose one with signature=; it has {listed}")
    return wanted, signatures[wanted]


def _reference(name: str) -> str:
    return name.removesuffix(":0")


def _checkpoint_keys(graph: Graph, library: Library) -> dict[str, str]:
    """Where the contents of variables are stored: read off the graph's own restoring of its checkpoint."""
    keys = _restored(graph, {})
    for node in graph.nodes.values():
        for name in node.functions:
            function = library.functions.get(name)
            if function is not None and any(n.op == "RestoreV2" for n in function.nodes.values()):
                handles = {}
                for argument, reference in zip(function.arguments, node.inputs, strict=False):
                    handles[argument] = _handle(graph, reference)
                keys |= _restored(function, handles)
    return {h: k for h, k in keys.items() if h}


def _restored(graph: Graph, handles: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for node in graph.nodes.values():
        if node.op not in ("AssignVariableOp", "Assign") or len(node.inputs) < 2:
            continue
        source, index = graph.find(node.inputs[1])
        while source in graph.nodes and graph.nodes[source].op in ("Identity", "Cast"):
            source, index = graph.find(graph.nodes[source].inputs[0])
        origin = graph.nodes.get(source)
        if origin is None or origin.op != "RestoreV2":
            continue
        names, _ = graph.find(origin.inputs[1])
        texts = graph.nodes[names].attributes["value"].string_val
        target, _ = graph.find(node.inputs[0])
        found[handles[target] if target in handles else _handle(graph, node.inputs[0])] = texts[index].decode()
    return found


def _handle(graph: Graph, reference: str) -> str:
    """Name of the variable that a tensor is a handle of; empty where it is none."""
    node = graph.nodes.get(graph.find(reference)[0])
    if node is None or node.op not in ("VarHandleOp", "VariableV2", "Variable"):
        return ""
    return str(node.attributes.get("shared_name") or node.name)


# --- frozen graphs --------------------------------------------------------------------------------------------------


def _frozen(path: Path, inputs: Any, options: Options) -> TensorflowSource:
    data = path.read_bytes()
    graph, library = read_graph(parse("GraphDef", data))
    wanted = options.extra.get("outputs")
    results = [wanted] if isinstance(wanted, str) else list(wanted or _ends(graph))
    for name in results:
        if graph.find(name)[0] not in graph.nodes:
            raise InputSpecError(f"{path.name} has no node {name}; its last ones are {', '.join(_ends(graph))}")
    used = {n.name for n in graph.live(results)}
    fed = [n for n in graph.nodes.values() if n.op == "Placeholder" and n.name in used]
    shapes = [shape(n.raw["shape"].shape) if "shape" in n.raw else None for n in fed]
    names = [n.name for n in fed]
    specs, samples = _described(names, shapes, [n.raw["dtype"].type for n in fed], inputs, options)

    def variable(key: str) -> np.ndarray:
        raise CaptureError(f"{path.name} isn't frozen: it has the variable {key}, but no checkpoint")

    def run(values: Sequence[np.ndarray]) -> list[Any]:
        tf = _tensorflow(path)
        definition = tf.compat.v1.GraphDef.FromString(data)
        wrapped = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(definition, name=""), [])
        ends = [wrapped.graph.as_graph_element(_tensor(r)) for r in results]
        pruned = wrapped.prune([wrapped.graph.as_graph_element(_tensor(n)) for n in names], ends)
        return [r.numpy() for r in pruned(*(tf.constant(v) for v in values))]

    program = Program(graph, library, names, results, variable, {})
    labels = [r.split(":")[0] if r.endswith(":0") or ":" not in r else r.replace(":", "_") for r in results]
    source = TensorflowSource(program, specs, labels, options, f"{path.name} (frozen TensorFlow graph)", run)
    source.samples = samples
    return source


def _tensor(reference: str) -> str:
    return reference if ":" in reference else f"{reference}:0"


def _ends(graph: Graph) -> list[str]:
    """Nodes whose results nothing takes."""
    used = {graph.find(r)[0] for n in graph.nodes.values() for r in n.inputs}
    return [n.name for n in graph.nodes.values() if n.name not in used and n.op not in _ENDS]


# --- both -----------------------------------------------------------------------------------------------------------


def _described(
    names: Sequence[str], shapes: Sequence[Any], dtypes: Sequence[int], inputs: Any, options: Options
) -> tuple[list[TensorSpec], Any]:
    """Specs of the inputs, with what the caller says about them; and samples."""
    for name, dtype in zip(names, dtypes, strict=True):
        if dtype not in DTYPES:
            raise CaptureError(f"the input {name} has TensorFlow's dtype number {dtype}, which is not supported")
    known = [s if s is not None else _asked(inputs, i, n) for i, (n, s) in enumerate(zip(names, shapes, strict=True))]
    specs = graph_specs(names, known, [_name(DTYPES[d]) for d in dtypes], options)
    return bind(specs, inputs, options.dynamic, names)


def _asked(inputs: Any, index: int, name: str) -> list[int | None] | None:
    """Open sizes of the rank that the caller gives an input with."""
    given: Any = None
    if isinstance(inputs, Mapping):
        given = inputs.get(name)
    elif inputs is not None:
        listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        given = listed[index] if index < len(listed) else None
    if given is None:
        return None
    spec = as_spec(given, name)
    return [None] * (len(spec.shape) if spec is not None else np.asarray(given).ndim)


def _name(dtype: ir.DataType) -> str:
    return "string" if dtype is ir.DataType.STRING else dtype.numpy().name


def _tensorflow(path: Path) -> Any:
    if importlib.util.find_spec("tensorflow") is None:
        raise MissingDependency("tensorflow", "tensorflow", f"running {path} to compare with it")
    import tensorflow

    return tensorflow
