"""The sweep: every node case of the ONNX standard, replayed at older opsets and compared with its original.

    python tests/support/sweep.py --targets 11,13 [--jobs 2] [--only PATTERN] [--show different,crash]

Outcomes of a case at a target:

* equal: a valid model of exactly that opset, same numbers as the original in onnxruntime, optimisations off and on;
* valid: a valid model for which onnxruntime has no kernel, same numbers in the reference evaluator;
* refused: a typed error that names what is missing;
* different, crash, checker, runtime: the bad kinds.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fnmatch
import functools
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnx_ir as ir
import onnxruntime as ort

from anyonnx.symbolic import opsets
from anyonnx.symbolic.builder import GraphBuilder
from anyonnx.symbolic.errors import OpsetError, UnsupportedOps
from anyonnx.symbolic.replay import Replay, sizes_of

TARGETS = (11, 12, 13, 15, 17, 18, 20, 21, 23, 25)
DOMAINS = {"", "ai.onnx", "ai.onnx.ml"}
GOOD = ("equal", "valid", "refused")
BAD = ("different", "crash", "checker", "runtime")
RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
#: Dtypes that onnxruntime's Python interface can't hand over: fed as initializers, read through a Cast.
_EXOTIC = {
    t
    for name, t in onnx.TensorProto.DataType.items()
    if name.startswith(("BFLOAT16", "FLOAT8", "FLOAT4", "FLOAT6", "INT4", "UINT4", "INT2", "UINT2"))
}


@dataclass(frozen=True)
class Outcome:
    """What became of one case at one target."""

    case: str
    target: int
    kind: str
    detail: str = ""


# --- the cases -----------------------------------------------------------------------------------------------------


@functools.cache
def all_cases() -> tuple[Any, ...]:
    """The standard's node cases in the default domain and ai.onnx.ml, by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    found = {c.name: c for c in cases if {o.domain for o in c.model.opset_import} <= DOMAINS}
    return tuple(found[name] for name in sorted(found))


def replay_model(proto: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """The model raised from its own opset and written at another one."""
    model = ir.serde.deserialize_model(proto)
    g = GraphBuilder(opset)
    env: dict[ir.Value, Any] = {v: g.input(v.name or "", v.type, sizes_of(v)) for v in model.graph.inputs}  # type: ignore[arg-type]
    replay = Replay(model.graph.opset_imports)
    replay.nodes(g, model.graph, env)
    for output in model.graph.outputs:
        g.output(env[output], output.name)
    return ir.serde.serialize_model(g.build())


# --- running -------------------------------------------------------------------------------------------------------


class NoKernel(Exception):
    """The model is valid, but onnxruntime has no kernel for one of its nodes."""


def _runnable(model: onnx.ModelProto, feeds: dict[str, Any]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The model with exotic dtypes moved out of its interface: inputs become initializers, outputs are cast."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph, left = model.graph, dict(feeds)
    for value in list(graph.input):
        if value.type.tensor_type.elem_type in _EXOTIC and left.get(value.name) is not None:
            graph.initializer.append(onnx.numpy_helper.from_array(left.pop(value.name), value.name))
            graph.input.remove(value)
    for value in graph.output:
        if value.type.tensor_type.elem_type in _EXOTIC:
            graph.node.add(op_type="Cast", input=[value.name], output=[value.name + "__float"]).attribute.append(
                onnx.helper.make_attribute("to", onnx.TensorProto.FLOAT)
            )
            value.name += "__float"
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model, left


def run_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Any], *, optimize: bool) -> list[Any]:
    """Outputs in onnxruntime; raises NoKernel where it lacks one."""
    model, feeds = _runnable(model, feeds)
    options = ort.SessionOptions()
    options.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL if optimize else ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "Could not find an implementation" in str(error):
            raise NoKernel(str(error)) from error
        raise
    return session.run(None, feeds)  # type: ignore[no-any-return]


def run_reference(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """Outputs in the standard's own evaluator."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return onnx.reference.ReferenceEvaluator(model).run(None, feeds)  # type: ignore[no-any-return]


# --- comparing -----------------------------------------------------------------------------------------------------


def difference(got: Any, wanted: Any, tolerance: dict[str, float]) -> str:
    """Empty if two outputs (tensors, sequences, optionals) are the same, else what differs."""
    if wanted is None or got is None:
        return "" if wanted is None and got is None else "one is None"
    if isinstance(wanted, (list, tuple)) or isinstance(got, (list, tuple)):
        if len(got) != len(wanted):
            return f"{len(got)} elements, {len(wanted)} wanted"
        found = (difference(g, w, tolerance) for g, w in zip(got, wanted, strict=True))
        return next((d for d in found if d), "")
    if isinstance(wanted, dict):
        return "" if got == wanted else "maps differ"
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return f"shape {got.shape}, wanted {wanted.shape}"
    if wanted.dtype.kind in "OSU":
        return "" if [str(v) for v in got.ravel()] == [str(v) for v in wanted.ravel()] else "strings differ"
    if got.dtype != wanted.dtype:
        return f"dtype {got.dtype}, wanted {wanted.dtype}"
    if wanted.dtype.kind in "biu":
        return "" if np.array_equal(got, wanted) else f"{np.count_nonzero(got != wanted)} of {wanted.size} differ"
    return _float_difference(got, wanted, tolerance)


def _float_difference(got: np.ndarray, wanted: np.ndarray, tolerance: dict[str, float]) -> str:
    bound = tolerance.get(wanted.dtype.name, tolerance["float32"])
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), wanted.astype(wide)
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)):
        return "infinities or NaNs differ"
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "infinities or NaNs differ"
    a, b = a[finite], b[finite]
    if not b.size:
        return ""
    scale = max(float(np.abs(b).max()), 1e-6)
    error = float(np.abs(a - b).max()) / scale
    return "" if error <= bound else f"error {error:.1e} of scale {scale:.2g}"


#: Replayed against the original, error over the largest magnitude.
CLOSE = {"float64": 1e-6, "float32": 5e-6, "float16": 2e-3, "complex64": 1e-5}
#: The original against the outputs that the standard stores.
STORED = {"float64": 1e-3, "float32": 1e-3, "float16": 5e-3, "complex64": 1e-3}


def same_kind(got: Any, wanted: Any) -> str:
    """Random results: only dtypes and shapes are compared."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    return "" if (got.dtype, got.shape) == (wanted.dtype, wanted.shape) else "dtype or shape differs"


@dataclass
class Original:
    """A case, what it is fed, and what it has to give.

    Attributes:
        outputs: What onnxruntime gives for the original; what the standard stores, if the original doesn't run there.
        stored: Which of the two.
    """

    name: str
    model: onnx.ModelProto
    feeds: dict[str, Any]
    outputs: list[Any]
    random: bool
    stored: bool = False

    def differs(self, got: Sequence[Any]) -> str:
        """Empty where outputs are the original's own."""
        for value, wanted in zip(got, self.outputs, strict=True):
            if self.random:
                found = same_kind(value, wanted)
            elif self.stored:
                found = stored_difference(value, wanted)
            else:
                found = difference(value, wanted, CLOSE)
            if found:
                return found
        return ""


def stored_difference(got: Any, wanted: Any) -> str:
    """Like `difference`, for outputs that the standard stores; exotic dtypes come out of a Cast to float32."""
    if isinstance(wanted, np.ndarray) and isinstance(got, (np.ndarray, np.generic)) and wanted.dtype.kind not in "OSU":
        if wanted.dtype.name == "bfloat16":
            return difference(got, wanted.astype(got.dtype), {"float32": 2e-2})
        wanted = wanted.astype(got.dtype) if wanted.dtype.kind == "V" or got.dtype == np.float32 else wanted
    return difference(got, wanted, STORED)


def original(case: Any, *, stored: bool = False) -> Original | None:
    """The case as onnxruntime runs it; None where that fails or differs from what the standard stores.

    Args:
        case: The standard's case.
        stored: Take the others instead, with their own outputs or else those that the standard stores.
    """
    inputs, outputs = case.data_sets[0]
    names = (i.name for i in case.model.graph.input)
    feeds = {n: np.asarray(x) if isinstance(x, np.generic) else x for n, x in zip(names, inputs, strict=False)}
    training = any(n.op_type == "Dropout" and len(n.input) > 2 for n in case.model.graph.node)
    random = training or any(n.op_type in RANDOM for n in case.model.graph.node)
    runs, got = False, None
    with contextlib.suppress(Exception):  # whatever fails in the runtime: the case says nothing about us
        got = run_onnxruntime(case.model, feeds, optimize=False)
        compare = same_kind if random else stored_difference
        runs = not any(compare(g, w) for g, w in zip(got, outputs, strict=True))
    if stored == runs:
        return None
    if got is not None:  # it runs, right or not: that is what a replay has to give
        return Original(case.name, case.model, feeds, got, random)
    return Original(case.name, case.model, feeds, list(outputs), random, True)


def outcome(case: Original, target: int) -> Outcome:
    """Replays one case at one target."""

    def result(kind: str, detail: Any = "") -> Outcome:
        return Outcome(case.name, target, kind, " ".join(str(detail).split())[:400])

    try:
        model = replay_model(case.model, target)
    except (OpsetError, UnsupportedOps) as error:
        return result("refused", error)
    except Exception as error:  # noqa: BLE001 - the sweep counts whatever goes wrong
        return result("crash", f"{type(error).__name__}: {error}")
    try:
        onnx.checker.check_model(model, full_check=True)
        _check_version(model, target)
    except Exception as error:  # noqa: BLE001
        return result("checker", error)
    for optimize in (False, True):
        try:
            found = case.differs(run_onnxruntime(model, case.feeds, optimize=optimize))
        except NoKernel as error:
            return _by_reference(case, model, result, str(error))
        except Exception as error:  # noqa: BLE001
            if case.stored:  # the original doesn't run there either
                return _by_reference(case, model, result, str(error))
            return result("runtime", error)
        if found:
            return result("different", found + (" (optimised)" if optimize else ""))
    return result("equal")


def _by_reference(case: Original, model: onnx.ModelProto, result: Callable[..., Outcome], why: str) -> Outcome:
    try:
        got = run_reference(model, case.feeds)
    except Exception as error:  # noqa: BLE001
        return result("valid", f"{why}; the reference fails too: {type(error).__name__}: {error}")
    got = [
        g.astype(w.dtype) if isinstance(w, np.ndarray) and w.dtype.kind == "f" else g
        for g, w in zip(got, case.outputs, strict=True)
    ]
    found = case.differs(got)
    return result("different", f"{found} (reference; {why})") if found else result("valid", why)


def _check_version(model: onnx.ModelProto, target: int) -> None:
    wanted = {"": target, "ai.onnx.ml": opsets.ml_opset(target)}
    for entry in model.opset_import:
        if wanted.get(entry.domain) != entry.version:
            raise ValueError(f"imports {entry.domain or 'ai.onnx'} {entry.version}, not {wanted.get(entry.domain)}")
    if model.ir_version != opsets.ir_version(target):
        raise ValueError(f"IR version {model.ir_version}, not {opsets.ir_version(target)}")


# --- many cases ----------------------------------------------------------------------------------------------------


def sweep(
    targets: Sequence[int], *, only: str = "*", every: int = 1, part: int = 0, stored: bool = False
) -> Iterator[Outcome]:
    """Outcomes of all cases whose name fits the pattern, in this process; `every` and `part` pick a share."""
    cases = [c for c in all_cases() if fnmatch.fnmatch(c.name, only)]
    for case in cases[part::every]:
        found = original(case, stored=stored)
        if found is None:
            continue
        for target in targets:
            yield outcome(found, target)


def sweep_in_processes(
    targets: Sequence[int], *, only: str = "*", jobs: int = 2, stored: bool = False
) -> list[Outcome]:
    """The same in worker processes; a worker that dies counts as a crash of the case it was at."""
    workers = []
    for part in range(jobs):
        command = [sys.executable, __file__, "--worker", f"{part}/{jobs}", "--only", only]
        command += ["--targets", ",".join(map(str, targets)), *(["--stored"] if stored else [])]
        workers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    outcomes: list[Outcome] = []
    for worker in workers:
        lines = worker.communicate()[0].splitlines()
        outcomes.extend(Outcome(*json.loads(line)) for line in lines)
        if worker.returncode:
            outcomes.append(Outcome("a worker process", 0, "crash", f"exit code {worker.returncode}"))
    return outcomes


def counts(outcomes: Iterable[Outcome]) -> dict[int, collections.Counter[str]]:
    """How many of each kind, by target."""
    table: dict[int, collections.Counter[str]] = {}
    for o in outcomes:
        table.setdefault(o.target, collections.Counter())[o.kind] += 1
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default=",".join(map(str, TARGETS)))
    parser.add_argument("--only", default="*", help="pattern of case names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", default="", help="kinds of outcomes to list, or 'bad'")
    parser.add_argument("--stored", action="store_true", help="the cases whose original doesn't run in onnxruntime")
    parser.add_argument("--json", default="", help="file for all outcomes")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    targets = [int(t) for t in options.targets.split(",")]
    if options.worker:
        part, every = map(int, options.worker.split("/"))
        for o in sweep(targets, only=options.only, every=every, part=part, stored=options.stored):
            print(json.dumps([o.case, o.target, o.kind, o.detail]), flush=True)
        return
    outcomes = sweep_in_processes(targets, only=options.only, jobs=options.jobs, stored=options.stored)
    shown = BAD if options.show == "bad" else options.show.split(",")
    for o in sorted(outcomes, key=lambda o: (o.target, o.kind, o.case)):
        if o.kind in shown:
            print(f"{o.target:3} {o.kind:9} {o.case}: {o.detail}")
    print("target " + "".join(f"{kind:>10}" for kind in (*GOOD, *BAD)))
    for target, row in sorted(counts(outcomes).items()):
        print(f"{target:6} " + "".join(f"{row[kind]:10}" for kind in (*GOOD, *BAD)))
    if options.json:
        with open(options.json, "w") as file:
            json.dump([[o.case, o.target, o.kind, o.detail] for o in outcomes], file)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
