"""A .keras file to .onnx, this package and the peer (tf2onnx) side by side: CPU time and peak memory of processes.

python benchmarks/keras_vs_peer.py --peer-python PYTHON [--models MobileNetV2 ResNet50] [--repeat 2]

PYTHON is the interpreter of an environment of its own that has tf2onnx and TensorFlow; without it only this package is
measured. The models are made in this environment (Keras is needed), with random weights. One thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MAKE = """
import sys, keras
getattr(keras.applications, sys.argv[1])(weights=None).save(sys.argv[2])
"""
OURS = """
import sys, anyonnx
anyonnx.to_onnx(sys.argv[1], opset=18, compare=False, output=sys.argv[2])
"""


def measured(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a process and those it starts."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{errors.decode(errors='replace')[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(command: list[str], repeat: int) -> tuple[float, float]:
    """Least CPU time and least peak memory of several runs."""
    runs = [measured(command) for _ in range(repeat)]
    return min(r[0] for r in runs), min(r[1] for r in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peer-python", help="interpreter with tf2onnx and TensorFlow")
    parser.add_argument("--models", nargs="+", default=["MobileNetV2", "ResNet50"])
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            path, ours, theirs = (Path(folder) / n for n in (f"{name}.keras", "ours.onnx", "theirs.onnx"))
            subprocess.run(
                [sys.executable, "-c", MAKE, name, str(path)], check=True, stderr=subprocess.DEVNULL,
                env=os.environ | {"KERAS_BACKEND": os.environ.get("KERAS_BACKEND", "jax")},
            )  # fmt: skip
            seconds, memory = best([sys.executable, "-c", OURS, str(path), str(ours)], options.repeat)
            print(f"{name}: anyonnx {seconds:.2f} CPU s, {memory:.0f} MB", flush=True)
            if not options.peer_python:
                continue
            peer = [options.peer_python, "-m", "tf2onnx.convert", "--keras", str(path)]
            peer += ["--output", str(theirs), "--opset", "18"]
            peer_seconds, peer_memory = best(peer, options.repeat)
            print(
                f"{name}: tf2onnx {peer_seconds:.2f} CPU s, {peer_memory:.0f} MB; "
                f"ratios {seconds / peer_seconds:.3f} CPU time, {memory / peer_memory:.3f} peak memory",
                flush=True,
            )


if __name__ == "__main__":
    main()
