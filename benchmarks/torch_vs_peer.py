"""PyTorch modules to .onnx, this package and the peer (torch.onnx.export, dynamo=True) side by side in one process.

python benchmarks/torch_vs_peer.py [--models resnet18 bert] [--repeat 3] [--latency] [--no-peer]

For every model: CPU seconds of ``torch.export`` alone, of this package and of the peer (least of several interleaved
runs, warm, one thread, dynamic batch and sequence, file written); nodes, shape arithmetic nodes, bytes of the graph
without its weights; with --latency the onnxruntime time of both graphs. Models have random weights. Each model has a
process of its own. ``--memory GB`` instead measures the peak memory of converting a Llama of that size.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

OPSET = 20
PLUMBING = ("Shape", "Gather", "Concat", "Unsqueeze", "Squeeze", "Reshape", "Cast", "Expand")


def cpu(action: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of an action, and what it gave."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


# --- one model, in a process of its own ------------------------------------------------------------------------------


def torch_shapes(case: Any) -> Any:
    """The case's open dims as torch.export and the peer take them; axis 0 of every tensor where it has none."""
    from torch.export import Dim

    def opened(name: str | int) -> Any:
        return dict.fromkeys(case.dynamic.get(name, {}), Dim.DYNAMIC) or None

    if isinstance(case.inputs, dict):
        return {name: opened(name) for name in case.inputs}
    axes = [opened(i) for i in range(len(case.inputs))]
    names = list(inspect.signature(case.module.forward).parameters.values())
    if names[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        fixed = len(names) - 1
        return {n.name: a for n, a in zip(names, axes[:fixed], strict=False)} | {names[-1].name: tuple(axes[fixed:])}
    return tuple(axes)


def arguments(case: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(case.inputs, dict):
        return (), case.inputs
    return tuple(case.inputs), {}


def graph_figures(path: Path) -> dict[str, int]:
    """Nodes of every graph, shape arithmetic among them, and bytes without weights."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    nodes = list(model.graph.node) + [n for f in model.functions for n in f.node]
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.ClearField("external_data")
    return {
        "nodes": sum(n.op_type != "Constant" for n in nodes),
        "plumbing": sum(n.op_type in PLUMBING for n in nodes),
        "bytes": model.ByteSize(),
    }


def latency(paths: dict[str, Path], feeds: dict[str, Any], rounds: int = 15) -> dict[str, float]:
    """Least seconds of a run of each model, interleaved, one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    sessions = {
        name: onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for name, path in paths.items()
    }
    given = {n: dict(zip((i.name for i in s.get_inputs()), feeds.values(), strict=True)) for n, s in sessions.items()}
    best = dict.fromkeys(sessions, math.inf)
    for _ in range(rounds):
        for name, session in sessions.items():
            start = time.process_time()
            session.run(None, given[name])
            best[name] = min(best[name], time.process_time() - start)
    return best


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """All figures of one model."""
    import torch
    import torch_zoo

    import anyonnx

    torch.set_num_threads(1)
    case = torch_zoo.build_speed(name)
    module = case.module.eval()
    args, kwargs = arguments(case)
    shapes = torch_shapes(case)
    best: dict[str, float] = {"export": math.inf, "ours": math.inf, "peer": math.inf}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.onnx", Path(folder) / "theirs.onnx"

        def export() -> Any:
            with torch.no_grad():
                return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)

        def convert() -> Any:
            return anyonnx.to_onnx(
                module, case.inputs, dynamic=case.dynamic, opset=OPSET, compare=False, check=False, output=ours
            )

        def peer() -> Any:
            with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
                return torch.onnx.export(
                    module, args, str(theirs), kwargs=kwargs, dynamic_shapes=shapes, dynamo=True, opset_version=OPSET,
                    verbose=False, external_data=False,
                )  # fmt: skip

        actions: dict[str, Callable[[], Any]] = {"export": export, "ours": convert, "peer": peer}
        if options.no_peer:
            del actions["peer"]
        for _ in range(options.repeat):
            for which, action in actions.items():
                best[which] = min(best[which], cpu(action)[0])
        found: dict[str, Any] = {"model": name, "seconds": best, "ours": graph_figures(ours)}
        if not options.no_peer:
            found["peer"] = graph_figures(theirs)
            if options.latency:
                feeds = {s.name: a for s, a in zip(*_samples(case), strict=True)}
                found["latency"] = latency({"ours": ours, "peer": theirs}, feeds)
    return found


def _samples(case: Any) -> tuple[Any, Any]:
    from types import SimpleNamespace

    from torch.utils import _pytree as pytree

    leaves = pytree.tree_leaves(case.inputs)
    return [SimpleNamespace(name=str(i)) for i in range(len(leaves))], [leaf.numpy() for leaf in leaves]


# --- memory ----------------------------------------------------------------------------------------------------------


def memory(gigabytes: float, which: str) -> dict[str, float]:
    """Megabytes of the weights, and how far the peak lies above the loaded model (VmHWM is reset before)."""
    import torch
    import transformers

    layers = max(1, round((gigabytes * 1e9 / 4 - 2 * 32000 * 2048) / (4 * 2048 * 2048 + 3 * 2048 * 5504)))
    config = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=2048, intermediate_size=5504, num_hidden_layers=layers, num_attention_heads=16,
        num_key_value_heads=16, use_cache=False,
    )  # fmt: skip
    with torch.no_grad(), torch.device("meta"):
        module = transformers.LlamaForCausalLM(config)
    module = module.to_empty(device="cpu").eval()
    for i, parameter in enumerate(module.parameters()):
        parameter.data.fill_(0.01 + i / 1e4)  # touches every page; no two weights are equal
    for child in module.modules():
        if hasattr(child, "inv_freq"):
            child.inv_freq.fill_(0.5)
    weights = sum(p.numel() * p.element_size() for p in module.parameters()) / 1e6
    ids = torch.randint(0, 100, (1, 8))
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "llama.onnx"
        start = time.process_time()
        if which == "ours":
            import anyonnx

            anyonnx.to_onnx(module, {"input_ids": ids}, opset=OPSET, compare=False, output=path)
        else:
            with torch.no_grad():
                torch.onnx.export(module, (ids,), str(path), dynamo=True, opset_version=OPSET, verbose=False)
        seconds = time.process_time() - start
    return {"weights": weights, "above": _status("VmHWM") - before, "seconds": seconds}


def _status(key: str) -> float:
    """A figure of /proc/self/status in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1e3
    raise KeyError(key)


# --- the table -------------------------------------------------------------------------------------------------------


def ratio(a: float, b: float) -> str:
    return f"{a / b:.2f}" if b and math.isfinite(b) else "-"


def report(rows: list[dict[str, Any]]) -> None:
    heads = (
        "model",
        "export s",
        "ours s",
        "over export",
        "peer s",
        "ours/peer",
        "nodes",
        "plumbing",
        "bytes",
        "latency",
    )
    print(" | ".join(heads))
    for row in rows:
        seconds, ours, peer = row["seconds"], row["ours"], row.get("peer")
        timing = row.get("latency")
        cells = [
            row["model"], f"{seconds['export']:.2f}", f"{seconds['ours']:.2f}",
            f"{100 * (seconds['ours'] / seconds['export'] - 1):.0f} %", f"{seconds['peer']:.2f}" if peer else "-",
            ratio(seconds["ours"], seconds["peer"]),
        ]  # fmt: skip
        cells += [
            f"{ours[key]}" + (f"/{peer[key]}={ratio(ours[key], peer[key])}" if peer else "")
            for key in ("nodes", "plumbing", "bytes")
        ]
        cells.append(ratio(timing["ours"], timing["peer"]) if timing else "-")
        print(" | ".join(cells))
    timed = [r["latency"]["ours"] / r["latency"]["peer"] for r in rows if "latency" in r]
    if timed:
        print(f"latency, geometric mean: {math.exp(sum(map(math.log, timed)) / len(timed)):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", nargs="+", help="all where not given")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--latency", action="store_true", help="run both graphs in onnxruntime")
    parser.add_argument("--no-peer", action="store_true", help="only this package")
    parser.add_argument("--memory", type=float, metavar="GB", help="peak memory of a Llama with weights of that size")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        which = options.one
        found = memory(options.memory, which) if options.memory else measure(which, options)
        print("RESULT " + json.dumps(found))
        return
    import torch_zoo

    names = ["ours"] + ([] if options.no_peer else ["peer"]) if options.memory else options.models or torch_zoo.SPEED
    rows = []
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    for name in names:
        command = [sys.executable, __file__, *sys.argv[1:], "--one", name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        result = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not result:
            print(f"{name} failed:\n{done.stderr[-1500:]}", flush=True)
            continue
        found = json.loads(result[0][7:])
        if options.memory:
            print(
                f"{name}: weights {found['weights']:.0f} MB, peak {found['above']:.0f} MB above the loaded model, "
                f"{found['seconds']:.1f} CPU s",
                flush=True,
            )
        else:
            rows.append(found)
            print(f"{name} measured", file=sys.stderr, flush=True)
    if rows:
        report(rows)


if __name__ == "__main__":
    main()
