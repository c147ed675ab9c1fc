"""ONNX models of opsets 7 to 28, raised to the authoring opset and written at the asked one."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir

from ..symbolic.builder import GraphBuilder
from ..symbolic.errors import CaptureError, InputSpecError, MissingOp, OpsetError, UnsupportedOps
from ..symbolic.registry import registry
from ..symbolic.replay import DOMAINS, Environment, Functions, Replay, plain_domain, sizes_of, source_weight
from ..symbolic.schemas import ML_DOMAIN, signature
from ..symbolic.spec import DTYPES, TensorSpec, parse_spec
from ..symbolic.value import Value
from ..validation.inputs import make_inputs
from ..validation.models import LoadedModel, load_model
from .base import Arrays, Frontend, Options, Source, renamed, type_names
from .plain_proto import plain

if TYPE_CHECKING:
    from ..validation.providers.ort import Session

#: Sizes to try for open axes that aren't the first one.
_TRIALS = (32, 64, 160, 320, 576)
#: Oldest and newest opset that models may be written at.
OLDEST, NEWEST = 7, 28

#: Tree ensembles in the form that ai.onnx.ml 5 deprecates: the version before it is imported beside any opset.
_TREES = {f"{ML_DOMAIN}.TreeEnsemble{kind}" for kind in ("Classifier", "Regressor")}
_TREES_UNTIL = 4
_MAP_OPS = ("ZipMap", "CastMap", "DictVectorizer")


class OnnxFrontend(Frontend):
    """Loads ONNX models: paths, ``onnx.ModelProto`` and ``onnx_ir.Model``."""

    name = "onnx"
    extra = "runtime"

    def accepts(self, model: object) -> bool:
        """Whether it is an ONNX model in memory."""
        return any(n.rpartition(".")[2] in ("ModelProto", "Model") and n.startswith("onnx") for n in type_names(model))

    def load(self, model: Any, inputs: Any, options: Options) -> OnnxSource:
        """Loads a model; `inputs` may hold arrays, or specs that fix sizes or rename open dims."""
        if isinstance(model, os.PathLike):
            model = os.fspath(model)
        if not isinstance(model, (str, onnx.ModelProto, ir.Model)):
            raise InputSpecError(f"{type(model).__name__} is not an ONNX model")
        loaded = load_model(model)
        return OnnxSource(loaded, model if isinstance(model, ir.Model) else lazy_model(loaded), inputs, options)


class OnnxSource(Source):
    """An ONNX model; onnxruntime is its reference, with optimisations off."""

    framework = "onnx"

    def __init__(self, loaded: LoadedModel, model: ir.Model, inputs: Any, options: Options):
        self.loaded, self.model = loaded, model
        self.versions = {plain_domain(d): v for d, v in model.opset_imports.items()}
        self.description = f"ONNX model {model.graph.name or ''} of opset {self.versions.get('', '?')}".replace(
            "  ", " "
        )
        #: Graph inputs that the caller feeds: one that has a value already is a weight, as all were up to IR version 3.
        self.inputs = [v for v in model.graph.inputs if not v.is_initializer()]
        self._names = renamed([v.name or "" for v in self.inputs], options.input_names, "input")
        specs = Ports(self.inputs, self._names).specs(inputs, options.dynamic)
        self.specs = [s for s in specs if s is not None]
        own = [v.name or "" for v in model.graph.outputs]
        self.output_names = renamed(unique(own), options.output_names, "output")
        self.samples = _samples(self._names, inputs)
        self._session: Session | None = None

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the source model in onnxruntime.

        Raises:
            InputSpecError: An input isn't a tensor: no values can be made up for it.
            CaptureError: onnxruntime can't run the model.
        """
        if self._session is None:
            self._session = self._start(self.loaded)
        results = self._run(self._session, inputs)
        return dict(zip(self.output_names, (results[v.name or ""] for v in self.model.graph.outputs), strict=True))

    def _start(self, loaded: LoadedModel) -> Session:
        from ..validation.providers.base import ProviderError
        from ..validation.providers.ort import Session

        try:
            return Session(loaded, optimize=False)
        except ProviderError as error:
            raise CaptureError(f"the source model does not run: {error}") from error

    def _run(self, session: Session, inputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
        from ..validation.providers.base import ProviderError

        feed = {}
        for name, value in zip(self._names, self.inputs, strict=True):
            if name in inputs:
                feed[value.name or ""] = inputs[name]
            elif not isinstance(value.type, ir.OptionalType):
                raise InputSpecError(f"input {name} is a {value.type}: no values can be made for it, don't compare")
        try:
            return session.run(feed)
        except ProviderError as error:
            raise CaptureError(f"the source model does not run: {error}") from error

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """Sizes that the source runs at, as far as trials tell: windows, strides and fixed states rule some out."""
        first = super().choose_sizes(0, base)
        if not first or (which == 0 and base and set(first) <= set(base)):
            return first
        start = 0 if which == 0 else max(first.values())
        small = super().choose_sizes(which, base)
        pictures = any(isinstance(size, str) for s in self.specs if len(s.shape) > 3 for size in s.shape[2:])
        trials = itertools.chain(
            [] if pictures else [small],
            (self._spread(first, start + least, 1 if which == 0 else 2) for least in _TRIALS),
            (self._spread(first, start + least, None) for least in _TRIALS),
            ({**dict.fromkeys(first, 1), name: start + least} for name in first for least in _TRIALS),
            [small],
        )
        return next((sizes for sizes in trials if sizes != base and self._runs(sizes)), first)

    def _spread(self, first: Mapping[str, int], least: int, times: int | None) -> dict[str, int]:
        """Other sizes: first axes (batches) are `times` as big (None: one), all others start at `least`, 32 apart."""
        batches = {s.shape[0] for s in self.specs if s.shape}
        others = [name for name in first if name not in batches]
        grown = {name: times * size if times else 1 for name, size in first.items() if name in batches}
        return grown | {name: least + 32 * i for i, name in enumerate(others)}

    def _runs(self, sizes: Mapping[str, int]) -> bool:
        try:
            results = self.run(self.make_samples(0, sizes) or make_inputs(self.specs, seed=0, sizes=sizes))
        except CaptureError:
            return False
        return all(np.size(value) or isinstance(value, list) for value in results.values())

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """Inner values of the source model, by name."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.loaded.proto)
        del proto.graph.output[:]
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return self._run(self._start(LoadedModel(proto, self.loaded.weights, self.loaded.folder)), inputs)

    def translate(self, g: GraphBuilder) -> None:
        """Replays the graph; what can't be raised is found first."""
        open_sizes: dict[str, Any] = {s.name: s.shape for s in self.specs}
        values = []
        for name, value in zip(self._names, self.inputs, strict=True):
            if value.type is None:
                raise CaptureError(f"the model doesn't say the type of its input {value.name}")
            values.append(g.input(name, value.type, open_sizes.get(name, sizes_of(value))))
        for name, result in zip(self.output_names, replayed(g, self.model, self.inputs, values), strict=True):
            if result.name == name and any(result is i for i in g.inputs):
                g.outputs.append(result)  # an output that is an input, under one name: no node can give it
            else:
                g.output(result, name)


def replayed(g: GraphBuilder, model: ir.Model, inputs: Sequence[ir.Value], values: Sequence[Value]) -> list[Value]:
    """Replays a whole model on given inputs; what can't be raised is found first.

    Args:
        g: Builder to write to; it gets the model's name and metadata.
        model: The model.
        inputs: Its inputs.
        values: What stands for them.

    Returns:
        Its outputs, in order.
    """
    graph, functions = model.graph, model.functions
    versions = {plain_domain(d): v for d, v in model.opset_imports.items()}
    check_source(graph, functions, versions)
    if g.ml_opset > _TREES_UNTIL and _TREES & set(count_ops(model)):
        g.use_ml_opset(_TREES_UNTIL)
    g.name = graph.name or g.name
    g.doc_string = model.doc_string
    g.metadata.update(model.metadata_props)
    env: Environment = dict(zip(inputs, values, strict=True))
    Replay(versions, functions=functions).nodes(g, graph, env)
    return [_result(g, output, env) for output in graph.outputs]


def _result(g: GraphBuilder, output: ir.Value, env: Environment) -> Value:
    if output not in env and output.const_value is not None:
        env[output] = source_weight(g, output)
    result = env.get(output)
    if result is None:
        raise CaptureError(f"no node makes the model's output {output.name}")
    return result


def lazy_model(loaded: LoadedModel) -> ir.Model:
    """The model for the builder. Weights are those that `loaded` holds, or stay in their files; none is copied."""
    try:
        model = ir.serde.deserialize_model(plain(loaded.proto))
    except ir.serde.SerdeError as error:
        raise CaptureError(f"onnx_ir can't read the model: {error.__cause__ or error}") from error
    for value in model.graph.initializers.values():
        array = loaded.weights.get(value.name or "")
        if array is not None:
            value.const_value = ir.Tensor(array, name=value.name)
    if loaded.folder is not None:
        ir.external_data.set_base_dir(model.graph, loaded.folder)
    return model


def unique(names: Sequence[str]) -> list[str]:
    """Names with a number behind those that came before: a model may give one value out twice."""
    found: list[str] = []
    for name in names:
        fresh, count = name, 1
        while fresh in found:
            fresh, count = f"{name}_{count}", count + 1
        found.append(fresh)
    return found


# --- what the model needs ------------------------------------------------------------------------------------------


def check_source(graph: ir.Graph, functions: Functions, versions: Mapping[str, int]) -> None:
    """Looks at every operator before anything is built.

    Raises:
        OpsetError: The model's opset lies outside the range.
        UnsupportedOps: With all operators of foreign domains, or that their opset doesn't have.
    """
    missing: dict[tuple[str, str, str], list[str]] = {}
    plain = False
    for node, imports in _all_nodes(graph, functions, versions):
        domain = plain_domain(node.domain)
        plain = plain or not domain
        reason = _problem(domain, node.op_type, imports)
        if reason is not None:
            where = node.name or next((o.name for o in node.outputs if o.name), "")
            missing.setdefault((domain or "onnx", node.op_type, reason), []).append(where)
    if plain and not OLDEST <= versions.get("", 1) <= NEWEST:
        raise OpsetError(
            f"the source model's opset {versions.get('', 1)}", detail=f"models of opsets {OLDEST} to {NEWEST} are read"
        )
    if missing:
        raise UnsupportedOps(
            [MissingOp(d, op, len(at), tuple(a for a in at if a)[:3], why) for (d, op, why), at in missing.items()]
        )


def _problem(domain: str, op: str, versions: Mapping[str, int]) -> str | None:
    if domain not in DOMAINS:
        return "it is no operator of the ONNX standard"
    if domain not in versions:
        return "" if domain else None  # an absent default domain is an error of the whole model
    if domain and op in _MAP_OPS:
        return "it works on maps, which onnx_ir can't hold (export the model without it: zipmap=False in skl2onnx)"
    known = signature(op, versions[domain], domain) is not None
    name = f"{domain}.{op}" if domain else op
    if known or registry.lookup("onnx_import", name, versions[domain]) is not None:
        return None
    return f"opset {versions[domain]} of {domain or 'ai.onnx'} has no such operator"


def _all_nodes(
    graph: ir.Graph | ir.Function, functions: Functions, versions: Mapping[str, int]
) -> Iterator[tuple[ir.Node, Mapping[str, int]]]:
    """Nodes with the opsets they are written at; calls of local functions count as what the functions do."""
    for node in graph.all_nodes() if isinstance(graph, ir.Graph) else ir.traversal.RecursiveGraphIterator(graph):
        function = functions.get(node.op_identifier())
        if function is None:
            yield node, versions
        else:
            own = {plain_domain(d): v for d, v in function.opset_imports.items()}
            yield from _all_nodes(function, functions, {**versions, **own})


# --- inputs --------------------------------------------------------------------------------------------------------


class Ports:
    """Specs of graph inputs, with what the caller says about them.

    Args:
        values: Graph inputs.
        names: Their names in the result.
    """

    def __init__(self, values: Sequence[ir.Value], names: Sequence[str]):
        self.values, self.names = values, names
        self.symbols: dict[str, str] = {}

    def specs(self, inputs: Any, dynamic: Mapping[str | int, Mapping[int, str]] | None) -> list[TensorSpec | None]:
        """One spec for each input; None for one that numpy can't hold: a sequence, an optional, a float of 8 bits.

        Raises:
            InputSpecError: What the caller says contradicts the model.
        """
        said = self._said(inputs)
        found: list[TensorSpec | None] = []
        for i, (name, value) in enumerate(zip(self.names, self.values, strict=True)):
            if not isinstance(value.type, ir.TensorType):
                found.append(None)
                continue
            spec = self._own(name, value, said.get(name))
            for key, axes in (dynamic or {}).items():
                if key in (i, name) and spec is not None:
                    spec = self._merged(spec, dict(axes.items()))
            found.append(spec)
        unknown = [k for k in dynamic or {} if k not in self.names and k not in range(len(self.names))]
        if unknown:
            raise InputSpecError(f"the model has no input {unknown[0]!r}; its inputs are {', '.join(self.names)}")
        return found

    def _said(self, inputs: Any) -> dict[str, TensorSpec]:
        """Specs that the caller gave, by input name."""
        if isinstance(inputs, str):
            inputs = [inputs]
        if inputs is None or hasattr(inputs, "shape"):
            return {}
        if not isinstance(inputs, Mapping):
            if len(inputs) > len(self.names):
                raise InputSpecError(f"{len(inputs)} inputs are given, the model has {len(self.names)}")
            inputs = dict(zip(self.names, inputs, strict=False))
        own = {name: value.name for name, value in zip(self.names, self.values, strict=True)}
        said = {}
        for name, given in inputs.items():
            spec = parse_spec(given, name) if isinstance(given, str) else given
            if name not in own or (isinstance(spec, TensorSpec) and spec.name not in (name, own[name])):
                wrong = spec.name if name in own else name
                raise InputSpecError(f"the model has no input {wrong!r} there; its inputs are {', '.join(self.names)}")
            if isinstance(spec, TensorSpec):
                said[name] = TensorSpec(name, spec.dtype, spec.shape)
        return said

    def _own(self, name: str, value: ir.Value, said: TensorSpec | None) -> TensorSpec | None:
        assert value.dtype is not None
        dtype = "string" if value.dtype is ir.DataType.STRING else value.dtype.numpy().name
        if dtype not in DTYPES:
            return None
        if said is not None and said.dtype != dtype:
            raise InputSpecError(f"input {name} is {dtype} in the model, {said.dtype} in the spec")
        if value.shape is None:
            if said is None:
                raise InputSpecError(
                    f'the model does not say the shape of input {name}: give one, "{name}:{dtype}[n,3]"'
                )
            return said
        shape = tuple(self._size(name, axis, dim) for axis, dim in enumerate(value.shape))
        spec = TensorSpec(name, dtype, shape)
        if said is None:
            return spec
        if len(said.shape) != len(shape):
            raise InputSpecError(f"input {name} has {len(shape)} axes in the model, {len(said.shape)} in the spec")
        return self._merged(spec, dict(enumerate(said.shape)))

    def _size(self, name: str, axis: int, dim: int | ir.SymbolicDim) -> int | str:
        """A size, or a name that serves as one of ours: one name for each of the model's, none for expressions."""
        if isinstance(dim, int) and dim >= 0:
            return dim
        text = "" if isinstance(dim, int) else dim.value or ""
        if text not in self.symbols:
            symbol = re.sub(r"\W", "_", text)
            if not re.fullmatch(r"[A-Za-z_][\w.\-/:]*", text) or symbol in self.symbols.values():
                return f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_d{axis}".lstrip("0123456789") or f"d{axis}"
            self.symbols[text] = symbol
        return self.symbols[text]

    def _merged(self, spec: TensorSpec, axes: Mapping[int, int | str]) -> TensorSpec:
        shape = list(spec.shape)
        for axis, size in axes.items():
            if not -len(shape) <= axis < len(shape):
                raise InputSpecError(f"input {spec.name} has no axis {axis}")
            if isinstance(shape[axis], int) and size != shape[axis]:
                raise InputSpecError(f"axis {axis} of input {spec.name} is {shape[axis]} in the model, not {size}")
            shape[axis] = size
        return TensorSpec(spec.name, spec.dtype, tuple(shape))


def _samples(names: Sequence[str], inputs: Any) -> Arrays | None:
    """The caller's arrays by input name; None unless there is one for every input."""
    if inputs is None or isinstance(inputs, str):
        return None
    if hasattr(inputs, "shape"):
        inputs = [inputs]
    items = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=False))
    arrays = {name: np.asarray(v) for name, v in items.items() if not isinstance(v, (str, TensorSpec))}
    if not arrays:
        return None
    lacking = [name for name in names if name not in arrays]
    if lacking:
        raise InputSpecError(f"no array is given for the input(s) {', '.join(lacking)}")
    return arrays


def count_ops(model: ir.Model) -> Counter[str]:
    """How often the model uses each operator, those inside bodies and local functions counted too."""
    found = _all_nodes(model.graph, model.functions, model.opset_imports)
    return Counter(f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n, _ in found)
