"""Runs a saved Paddle model in a process of its own: Paddle can't stand TensorFlow, and may abort.

The worker reads pairs of file names from its standard input: where the inputs lie, where the outputs go (.npz).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...symbolic.errors import CaptureError, MissingDependency

#: What the worker's own lines begin with; Paddle prints to the same stream.
_MARK = "anyonnx-worker:"
_START_SECONDS = 300


class Worker:
    """Runs a saved model; the process starts with the first run and ends with this object.

    Args:
        path: The .json or .pdmodel file; its weights lie beside it.
        weights: The weight file, or None where there is none.
    """

    def __init__(self, path: Path, weights: Path | None):
        self.path, self.weights = path, weights
        self._process: subprocess.Popen[str] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="anyonnx-paddle-")

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs the model on arrays.

        Raises:
            MissingDependency: Paddle isn't installed.
            CaptureError: Paddle can't load or run the model, or its process died.
        """
        from importlib.util import find_spec

        if find_spec("paddle") is None:
            raise MissingDependency("paddlepaddle", "paddle", "comparing with the source")
        given, made = (Path(self._folder.name) / n for n in ("inputs.npz", "outputs.npz"))
        np.savez(given, *inputs)
        answer = self._ask(f"{given}\t{made}")
        if answer != "done":
            raise CaptureError(f"Paddle can't run {self.path.name}: {answer}")
        with np.load(made) as arrays:
            return [arrays[f"arr_{i}"] for i in range(len(arrays.files))]

    def _ask(self, line: str) -> str:
        if self._process is None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it died; the answer below tells
        for text in process.stdout:
            if text.startswith(_MARK):
                return text.removeprefix(_MARK).strip().replace("\\n", "\n")
        self._process = None
        return f"its process ended with code {process.wait()}"

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "GLOG_minloglevel": "3", "FLAGS_call_stack_level": "0"}
        command = [sys.executable, "-m", __name__, str(self.path), str(self.weights or "")]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        self._folder.cleanup()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            self.close()


# --- inside the worker -----------------------------------------------------------------------------------------------


def load(path: str, weights: str) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """The model in a file as a function of arrays; runs inside the worker."""
    import paddle

    paddle.set_device("cpu")
    if path.endswith(".json"):
        layer = paddle.jit.load(path.removesuffix(".json"))
        layer.eval()

        def run_layer(arrays: list[np.ndarray]) -> list[np.ndarray]:
            results = layer(*(paddle.to_tensor(a) for a in arrays))
            return [r.numpy() for r in (results if isinstance(results, (list, tuple)) else [results])]

        return run_layer
    import paddle.inference as inference

    if not weights:  # Paddle wants a file even for a program without weights
        empty, weights = tempfile.mkstemp()
        os.close(empty)
    config = inference.Config(path, weights)
    config.disable_gpu()
    config.switch_ir_optim(False)
    config.disable_glog_info()
    predictor = inference.create_predictor(config)

    def run_predictor(arrays: list[np.ndarray]) -> list[np.ndarray]:
        for name, array in zip(predictor.get_input_names(), arrays, strict=True):
            predictor.get_input_handle(name).copy_from_cpu(np.ascontiguousarray(array))
        predictor.run()
        return [predictor.get_output_handle(n).copy_to_cpu() for n in predictor.get_output_names()]

    return run_predictor


def answer(lines: IO[str], say: Callable[[str], Any], path: str, weights: str) -> None:
    """Answers requests until there are no more."""
    run: Callable[[list[np.ndarray]], list[np.ndarray]] | None = None
    for line in lines:
        given, made = line.rstrip("\n").split("\t")
        try:
            if run is None:
                run = load(path, weights)
            with np.load(given) as arrays:
                results = run([arrays[f"arr_{i}"] for i in range(len(arrays.files))])
            np.savez(made, *results)
            say("done")
        except (RuntimeError, ValueError, TypeError, OSError, AttributeError, IndexError, NotImplementedError) as error:
            text = str(error).strip().splitlines() or [""]
            say(f"{type(error).__name__}: {text[-1][:500]}")


if __name__ == "__main__":
    answer(sys.stdin, lambda text: print(f"{_MARK}{text}", flush=True), sys.argv[1], sys.argv[2])
