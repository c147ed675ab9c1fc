"""Other converters as a second engine, on request (``--via PEER``): their model goes the same way as any other.

The model is loaded by our own frontend, which stays the reference. The peer converts it in a process of its own; what
it wrote is raised, lowered to the asked opset, checked and compared with the source. No peer is ever imported here.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from ..symbolic.builder import GraphBuilder
from ..symbolic.errors import (
    CaptureError,
    CheckFailed,
    InputSpecError,
    MissingDependency,
    TranslationError,
    UnsupportedOps,
)
from ..symbolic.spec import TensorSpec
from ..symbolic.value import MARK, Value
from ..validation.models import load_model
from .base import Arrays, Options, Source
from .from_onnx import lazy_model, replayed
from .via_handover import hand_over
from .via_process import guarded, last_words, own_environment

#: Seconds that a peer may take.
LIMIT = 1800.0
_WORKER = Path(__file__).with_name("via_worker.py")


@dataclass(frozen=True)
class Peer:
    """Another converter.

    Attributes:
        name: Its name, as in ``--via``.
        frameworks: What it converts.
        package: Import name of what has to be installed.
        opset: The opset that it is asked for: the one it knows best; ours is made from that.
        tabular: It gives float32 columns where its sources give vectors of doubles.
        requirements: What goes into an environment of its own, where it can't live beside the frameworks.
    """

    name: str
    frameworks: tuple[str, ...]
    package: str
    opset: int
    tabular: bool = False
    requirements: tuple[str, ...] = ()


# paddle2onnx pins an old onnx; it imports packaging without saying so
_PADDLE = ("paddle2onnx==2.1.0", "paddlepaddle", "packaging")
PEERS = {
    peer.name: peer
    for peer in (
        Peer("torch.onnx", ("torch",), "onnxscript", 18),
        Peer("skl2onnx", ("sklearn",), "skl2onnx", 21, tabular=True),
        Peer("onnxmltools", ("xgboost", "lightgbm", "catboost"), "onnxmltools", 15, tabular=True),
        Peer("tf2onnx", ("keras", "tensorflow", "tflite"), "tf2onnx", 18),
        Peer("jax2onnx", ("jax",), "jax2onnx", 21),
        Peer("paddle2onnx", ("paddle",), "paddle2onnx", 17, requirements=_PADDLE),
    )
}


def peer_names(framework: str) -> list[str]:
    """Names of the peers that convert from a framework."""
    return [p.name for p in PEERS.values() if framework in p.frameworks]


def advice(framework: str) -> str:
    """What to try where an operator is missing; empty where no other converter takes the framework."""
    names = peer_names(framework)
    return f"Another converter may know it: --via {' or '.join(names)} (the result is compared all the same)." * bool(
        names
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def find_peer(name: str, framework: str) -> Peer:
    """The peer of that name.

    Raises:
        InputSpecError: There is none, or it doesn't convert from the framework.
        MissingDependency: It isn't installed.
    """
    peer = PEERS.get(name)
    if peer is None or framework not in peer.frameworks:
        fitting = " or ".join(peer_names(framework)) or "none"
        wrong = f"there is no converter {name!r}" if peer is None else f"{name} converts {_listed(peer.frameworks)}"
        raise InputSpecError(f"via: {wrong}; for {framework} models there is {fitting}")
    if not peer.requirements and importlib.util.find_spec(peer.package) is None:
        raise MissingDependency(peer.package, "peers", f"--via {name}")
    return peer


class ViaSource(Source):
    """A source that another converter translates; everything else is the source's own.

    Args:
        source: What our frontend loaded.
        peer: The converter.
        model: What the caller gave: a path or a live object.
        inputs: The caller's inputs.
        options: What the caller asked for.
    """

    def __init__(self, source: Source, peer: Peer, model: Any, inputs: Any, options: Options):
        self.source, self.peer = source, peer
        self._given = (model, inputs, options)
        self.framework, self.specs, self.output_names = source.framework, source.specs, source.output_names
        self.labels, self.precision, self.samples = source.labels, source.precision, source.samples
        self.description = f"{source.description}, via {peer.name}"

    def run(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """Runs the source."""
        return self.source.run(inputs)

    def make_samples(self, seed: int, sizes: Mapping[str, int]) -> Arrays | None:
        """The source's own hard inputs."""
        return self.source.make_samples(seed, sizes)

    def choose_sizes(self, which: int, base: Mapping[str, int] | None = None) -> dict[str, int]:
        """The source's own choice."""
        return self.source.choose_sizes(which, base)

    def trace(self, inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Arrays:
        """The source's inner values."""
        return self.source.trace(inputs, names)

    def explain(self, model: ir.Model, outputs: Sequence[str]) -> str:
        """The nodes of the peer's model that make the wrong outputs, nearest first."""
        made = {o.name: o for o in model.graph.outputs}
        lines = []
        for name in outputs:
            waiting: list[ir.Value | None] = [made[name]] if name in made else []
            found: list[ir.Node] = []
            while waiting and len(found) < _NEAREST:
                value = waiting.pop(0)
                node = None if value is None else value.producer()
                if node is not None and node not in found:
                    found.append(node)
                    waiting += node.inputs
            ops = ", ".join(f"{n.op_type} ({n.meta.get('source') or n.name or 'unnamed'})" for n in found)
            lines.append(f"{self.peer.name} made {name} with {ops or 'no node'}, nearest first")
        return "\n".join(lines)

    # --- translating -------------------------------------------------------------------------------------------------

    def translate(self, g: GraphBuilder) -> None:
        """Lets the peer convert, and replays its model under the source's names.

        Raises:
            CaptureError: The peer failed, or wrote no model that can be read.
            TranslationError: Its model has other inputs or outputs than the source.
            UnsupportedOps: Its model holds operators that aren't ONNX's.
        """
        # the weights of the peer's model are read from the folder until the result is saved
        folder = tempfile.mkdtemp(prefix="anyonnx-via-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            model = lazy_model(load_model(self._convert(Path(folder))))
        except CheckFailed as error:
            raise CaptureError(f"{self.peer.name} wrote no ONNX model: {error.problems[0]}") from error
        inputs = [v for v in model.graph.inputs if not v.is_initializer()]
        self._match("inputs", [v.name or "" for v in inputs], [s.name for s in self.specs])
        self._match("outputs", [v.name or "" for v in model.graph.outputs], self.output_names)
        values = [self._input(g, spec, v) for spec, v in zip(self.specs, inputs, strict=True)]
        try:
            results = replayed(g, model, inputs, values)
        except UnsupportedOps as error:
            left = f"{self.peer.name} left it in its model"
            raise UnsupportedOps(
                [dataclasses.replace(m, reason=f"{left}: {m.reason}" if m.reason else left) for m in error.missing]
            ) from error
        self._keep_marks(g, _fx_targets(model))
        expected = self._first_outputs() if self.peer.tabular else {}
        for name, value in zip(self.output_names, results, strict=True):
            g.output(self._fitted(g, name, value, expected.get(name)), name)

    def _keep_marks(self, g: GraphBuilder, targets: Mapping[str, str]) -> None:
        """Leaves the marks of values that the source has too: torch.onnx keeps the names of nodes, others don't."""
        program = getattr(self.source, "program", None)
        own = {n.name: str(n.target) for n in program.graph.nodes} if targets and program is not None else {}
        for node in g.nodes:
            for output in node.outputs:
                name = output.meta.get(MARK)
                if name is not None and (name not in own or own[name] != targets.get(name)):
                    del output.meta[MARK]

    def _match(self, what: str, found: Sequence[str], wanted: Sequence[str]) -> None:
        if len(found) != len(wanted):
            raise TranslationError(
                f"{self.peer.name} wrote a model with {len(found)} {what} ({', '.join(found)}); "
                f"the source has {len(wanted)} ({', '.join(wanted)})"
            )

    def _input(self, g: GraphBuilder, spec: TensorSpec, theirs: ir.Value) -> Value:
        """The input as the source has it, in the form that the peer's model takes: columns have two axes there."""
        own = g.input(spec.name, spec.dtype, spec.shape)
        if theirs.dtype is not None and own.dtype is not theirs.dtype:
            kind = theirs.dtype.name.lower()
            raise TranslationError(f"{self.peer.name} takes {spec.name} as {kind}, the source as {spec.dtype}")
        if self.peer.tabular and theirs.shape is not None and len(theirs.shape) == len(spec.shape) + 1 == 2:
            return g.Unsqueeze(own, [1])
        return own

    def _first_outputs(self) -> Arrays:
        """What the source gives, to know ranks and dtypes; nothing where it can't be run."""
        from .api import input_sets

        try:
            return self.run(input_sets(self)[0])
        except MissingDependency:
            return {}

    def _fitted(self, g: GraphBuilder, name: str, value: Value, expected: np.ndarray | None) -> Value:
        """A peer's column as the source's vector, its float32 as the source's double (of float32 precision)."""
        if expected is None:
            return value
        if expected.ndim == 1 and value.sizes is not None and len(value.sizes) == 2 and value.sizes[1] in (1, None):
            value = g.reshape(value, (-1,))
        if expected.dtype.kind not in "biuf":
            return value
        wanted = ir.DataType.from_numpy(expected.dtype)
        if value.dtype is ir.DataType.FLOAT and wanted is ir.DataType.DOUBLE:
            self.precision = self.precision or "fp32-exact"
            value = g.Cast(value, to=wanted)
        elif value.dtype is not wanted and value.dtype in _INTEGERS and wanted in _INTEGERS:
            value = g.Cast(value, to=wanted)
        return value

    # --- the peer's process ------------------------------------------------------------------------------------------

    def _convert(self, folder: Path) -> Path:
        """Runs the peer on the model's file, in a private home, within a time limit."""
        output, home = folder / "model.onnx", folder / "home"
        home.mkdir()
        request = {
            "peer": self.peer.name,
            "framework": self.framework,
            "opset": self.peer.opset,
            "output": str(output),
            "inputs": [{"name": s.name, "dtype": s.dtype, "shape": list(s.shape)} for s in self.specs],
            **hand_over(self.source, *self._given, folder),
        }
        asked = folder / "request.json"
        asked.write_text(json.dumps(request), encoding="utf-8")
        # classes of the caller's own modules are found where we find them
        python, paths = (
            Path(sys.executable),
            [*(p for p in sys.path if p and not p.startswith(sys.prefix)), os.getcwd()],
        )
        if self.peer.requirements:
            python, paths = own_environment(self.peer.name, self.peer.requirements), []
        environment = {
            **os.environ,
            **dict.fromkeys(("HOME", "USERPROFILE", "XDG_CACHE_HOME"), str(home)),
            "PIP_NO_INDEX": "1",
            "PIP_REQUIRE_VIRTUALENV": "1",
            "KERAS_BACKEND": "tensorflow",
            "PYTHONPATH": os.pathsep.join(paths),
        }
        code, text = guarded([str(python), "-P", str(_WORKER), str(asked)], environment, LIMIT)
        if code is None:
            raise CaptureError(f"{self.peer.name} took more than {LIMIT:.0f} s and was ended")
        if code or not output.is_file() or not output.stat().st_size:
            how = f"ended with {code}" if code else "wrote no model"
            raise CaptureError(f"{self.peer.name} can't convert this model ({how}): {last_words(text)}")
        return output


_NEAREST = 4
_INTEGERS = (ir.DataType.INT32, ir.DataType.INT64)


def _fx_targets(model: ir.Model) -> dict[str, str]:
    """Names of values that torch.onnx made from a whole node of the program, and what that node calls."""
    found = {}
    for node in model.graph:
        text = node.metadata_props.get("pkg.torch.onnx.fx_node", "")
        target = re.match(r"%(\w+) .*?target=torch\.ops\.([\w.]+)\]", text)
        if target and node.outputs[0].name == target[1]:
            found[target[1]] = target[2]
    return found
