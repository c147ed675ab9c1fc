"""Tree models to ONNX, this package and the peers (skl2onnx, onnxmltools) side by side: ratios from one run.

python benchmarks/classical_vs_peer.py [--models rf100 hgb100 ...] [--big] [--repeat 3] [--latency]

For each model: CPU time to convert to the bytes of a file (best of interleaved runs), peak memory over the loaded
model (a process for each), size of the file, latency in onnxruntime at batch 1 and 10,000 (one thread, interleaved,
best of several), beside it what the tree operator alone takes in double against float. Neither side checks or
compares while it is timed. ``ours`` is the default, in double where the source computes in double; ``float`` is the
option ``float32``. Needs the extra ``peers``.
"""

from __future__ import annotations

import argparse
import gc
import io
import itertools
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

ROWS, FEATURES, OPSET = 10_000, 20, 21
#: Goals: conversion at least so many times faster.
GOALS = {"rf100": 30, "rf1000": 30, "rfr100": 30, "hgb100": 10, "xgb1000": 10, "lgb1000": 7}
BIG = ("rf1000",)
#: Settings of the latency: rows of a run, how far each run goes on through the rows, runs in one measurement (few, so
#: that some measurements of many meet a quiet moment of the machine), and measurements for each of the repeats.
SETTINGS = {"1, one row": (1, 0, 50, 40), "1, new rows": (1, 1, 50, 40), "10,000": (ROWS, 0, 1, 2)}


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, a regression target and three classes."""
    r = np.random.default_rng(0)
    x = r.normal(size=(ROWS, FEATURES)).astype(np.float32)
    score = x[:, 0] * 2 + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + 0.5 * r.normal(size=ROWS)
    return x, score, np.digitize(score, np.quantile(score, [0.33, 0.66]))


def train(name: str) -> Any:
    """The fitted model."""
    x, score, classes = data()
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor

    if name in ("rf100", "rf1000"):
        return RandomForestClassifier(int(name[2:]), random_state=0).fit(x, classes)
    if name == "rfr100":
        return RandomForestRegressor(100, random_state=0, max_features=0.3).fit(x, score)
    if name == "hgb100":
        return HistGradientBoostingRegressor(max_iter=100, early_stopping=False, random_state=0).fit(x, score)
    if name == "xgb1000":
        import xgboost

        return xgboost.XGBRegressor(n_estimators=1000, max_depth=8, n_jobs=1, tree_method="hist").fit(
            x[:4000], score[:4000]
        )
    import lightgbm

    return lightgbm.LGBMRegressor(n_estimators=1000, num_leaves=127, n_jobs=1, verbose=-1).fit(x, score)


def ours(model: Any, **options: Any) -> bytes:
    """Converted by this package."""
    import anyonnx
    from anyonnx.converters.saving import write_streamed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = f"X:float32[batch,{FEATURES}]"
        found = anyonnx.to_onnx(model, spec, opset=OPSET, check=False, compare=False, **options)
        stream = io.BytesIO()
        write_streamed(found.model, stream)
        return stream.getvalue()


def peers(model: Any) -> bytes:
    """Converted by the peer."""
    kind = type(model).__module__.split(".")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "sklearn":
            return _skl2onnx(model)
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        convert = onnxmltools.convert_xgboost if kind == "xgboost" else onnxmltools.convert_lightgbm
        types = [("X", FloatTensorType([None, FEATURES]))]
        options = {"zipmap": False} if kind == "lightgbm" else {}
        return convert(model, initial_types=types, target_opset=15, **options).SerializeToString()  # type: ignore[no-any-return]


def _skl2onnx(model: Any) -> bytes:
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType

    if "HistGradient" in type(model).__name__:
        # the protobuf of today takes no numpy bool where an int is meant: the peer's release is helped over it
        from onnx import helper

        original = helper.make_attribute
        helper.make_attribute = lambda key, value, *a, **k: original(key, _plain(value), *a, **k)
    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
    types = [("X", FloatTensorType([None, FEATURES]))]
    target = {"": OPSET, "ai.onnx.ml": 3}
    found = skl2onnx.convert_sklearn(model, initial_types=types, options=options, target_opset=target)
    return found.SerializeToString()  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    return [int(v) if isinstance(v, (bool, np.bool_)) else v for v in value] if isinstance(value, list) else value


CONVERTERS: dict[str, Callable[[Any], bytes]] = {
    "peer": peers,
    "ours": ours,
    "float": lambda model: ours(model, float32=True),
}


def seconds(run: Callable[[], Any]) -> float:
    """CPU time of a run."""
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def peak(path: Path, way: str) -> float:
    """MB of memory that a conversion takes at its peak over the loaded model, in a process of its own."""
    command = [sys.executable, __file__, "--measure", str(path), way]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return float(done.stdout.split()[-1])


def measure(path: str, way: str) -> None:
    """What `peak` runs."""
    model = joblib.load(path)
    small = train_tiny(type(model).__module__.split(".")[0])
    CONVERTERS[way](small)  # imports
    gc.collect()
    before = _reset_peak()
    data_ = CONVERTERS[way](model)
    print(len(data_), _peak() - before)


def train_tiny(kind: str) -> Any:
    """A small model that makes a converter import what it needs."""
    x, score, _ = data()
    if kind == "xgboost":
        import xgboost

        return xgboost.XGBRegressor(n_estimators=2).fit(x[:50], score[:50])
    if kind == "lightgbm":
        import lightgbm

        return lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(x[:50], score[:50])
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(2).fit(x[:50], score[:50])


def _reset_peak() -> float:
    """Starts the peak anew where the system can; the memory in use, in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM") if Path("/proc/self/status").exists() else resource.getrusage(0).ru_maxrss / 1024


def _status(key: str) -> float:
    line = next(row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith(key))
    return int(line.split()[1]) / 1024


def kernel(model: bytes) -> bytes:
    """The tree operator of a model alone, on rows as the operator takes them."""
    import onnx
    from onnx import helper

    trees = next(n for n in onnx.load_from_string(model).graph.node if n.op_type == "TreeEnsemble")
    held = {a.name: helper.get_attribute_value(a) for a in trees.attribute}
    kind = held["nodes_splits"].data_type
    width = FEATURES if max(held["nodes_featureids"]) < FEATURES else 2 * FEATURES  # with the negatives
    given = helper.make_tensor_value_info(trees.input[0], kind, ["batch", width])
    found = helper.make_tensor_value_info(trees.output[0], kind, ["batch", held["n_targets"]])
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 5)]
    graph = helper.make_graph([trees], "kernel", [given], [found])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()  # type: ignore[no-any-return]


def tree_size(model: bytes) -> tuple[int, int]:
    """Nodes of the trees, leaves among them, and the bytes that onnxruntime keeps of each."""
    import onnx

    trees = next(n for n in onnx.load_from_string(model).graph.node if n.op_type == "TreeEnsemble")
    splits = next(a.t for a in trees.attribute if a.name == "nodes_splits")
    roots = next(a.ints for a in trees.attribute if a.name == "tree_roots")
    # feature, threshold, pointer to the true child, flags: aligned to 8 bytes
    return 2 * splits.dims[0] + len(roots), 32 if splits.data_type == onnx.TensorProto.DOUBLE else 24


def rows_of(session: Any) -> np.ndarray:
    """`data`'s rows as a session takes them: the tree operator alone may take their negatives too."""
    x, own = data()[0], session.get_inputs()[0]
    if own.shape[1] == 2 * FEATURES:
        x = np.concatenate([x, -x], axis=1)
    return x.astype(np.float64) if own.type == "tensor(double)" else x


def latencies(models: dict[str, bytes], repeat: int) -> dict[str, dict[str, float]]:
    """Least milliseconds of a run in each setting, the models in turn.

    At batch 1 both on one row again and again, whose way through the trees the processor soon knows by heart, and on
    another row each time. Sessions are made anew now and then: where a session's trees lie in memory alone can double
    the time of a row.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    found: dict[str, dict[str, float]] = {k: dict.fromkeys(SETTINGS, np.inf) for k in models}
    for _ in range(2 * repeat):
        sessions = {k: ort.InferenceSession(m, options, providers=["CPUExecutionProvider"]) for k, m in models.items()}
        rows = {k: rows_of(session) for k, session in sessions.items()}
        for setting, (batch, step, calls, times) in SETTINGS.items():
            for i, key in itertools.product(range(times), models):
                session, name = sessions[key], sessions[key].get_inputs()[0].name
                first = [step * (i * calls + j) for j in range(calls)]
                feeds = [{name: rows[key][at : at + batch]} for at in first]
                start = time.perf_counter()
                for feed in feeds:
                    session.run(None, feed)
                taken = (time.perf_counter() - start) / calls * 1000
                found[key][setting] = min(taken, found[key][setting])
    return found


def report(name: str, path: Path, repeat: int, latency: bool) -> None:
    """Measures one model and prints its ratios."""
    model = joblib.load(path)
    times = dict.fromkeys(CONVERTERS, np.inf)
    files = {way: convert(model) for way, convert in CONVERTERS.items()}
    if not latency:
        for _ in range(repeat):
            for way, convert in CONVERTERS.items():
                times[way] = min(times[way], seconds(lambda c=convert, m=model: c(m)))
        memory = {way: peak(path, way) for way in CONVERTERS}
        size = {way: len(m) / 1e6 for way, m in files.items()}
        print(f"{name:8} convert {_ratio(times, 1e3)} ms (goal 1/{GOALS[name]})")
        print(f"{'':8} peak {_ratio(memory)} MB (goal 1/3), file {_ratio(size)} MB (goal 1/2.5)")
    del model
    gc.collect()
    kernels = {f"{way} kernel": kernel(files[way]) for way in ("ours", "float")}
    run = latencies(files | kernels, repeat)
    print(f"{name:8} {'batch':>12} {'peer':>9} {'ours':>9} {'float':>9} {'ours/peer':>10} {'float/peer':>10} "
          f"{'ours/float':>10} {'of kernels':>10}")  # fmt: skip
    for setting in SETTINGS:
        a, b, c, d, e = (run[k][setting] for k in (*CONVERTERS, *kernels))
        print(
            f"{'':8} {setting:>12} {a:9.4g} {b:9.4g} {c:9.4g} {b / a:10.2f} {c / a:10.2f} {b / c:10.2f} {d / e:10.2f}"
        )
    (nodes, wide), (_, narrow) = tree_size(files["ours"]), tree_size(files["float"])
    sizes = f"{nodes * wide / 1e6:.1f} MB as ours, {nodes * narrow / 1e6:.1f} MB as float"
    print(f"{'':8} ms; goals 1.05, 1.05, 1.15; kernels: {nodes} nodes, {sizes}", flush=True)


def _ratio(found: dict[str, float], scale: float = 1.0) -> str:
    """The peer's number, ours and that of the option ``float32``, with the ratios."""
    peer, own, single = (found[way] for way in ("peer", "ours", "float"))
    return (
        f"{peer * scale:.4g} -> {own * scale:.4g} (1/{peer / max(own, 1e-9):.1f}), "
        f"float {single * scale:.4g} (1/{peer / max(single, 1e-9):.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", nargs="+", choices=GOALS, default=[n for n in GOALS if n not in BIG])
    parser.add_argument("--big", action="store_true", help="the forest of 1000 trees too")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--latency", action="store_true", help="only the latency in onnxruntime")
    parser.add_argument("--keep", type=Path, help="folder to keep the trained models in")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        for name in [*options.models, *(BIG if options.big else ())]:
            path = keep / f"{name}.joblib"
            if not path.exists():
                joblib.dump(train(name), path)
            report(name, path, options.repeat, options.latency)


if __name__ == "__main__":
    main()
