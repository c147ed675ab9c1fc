"""Live layers, in processes that import only paddle: real architectures, names, what is refused."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "support" / "paddle_models.py"

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="paddle isn't installed")


def run(*arguments):
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"the process died ({done.returncode}): {done.stderr[-3000:]}"
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["case"]: row for row in rows}


def test_architectures():
    rows = run("models", "17", "resnet18", "mobilenet_v3_small", "bert", "tagger")
    assert all(row["passed"] for row in rows.values()) and len(rows) == 4
    assert rows["resnet18"]["nodes"] <= 70
    assert rows["bert"]["ports"] == ["input_ids", "mask", "logits", "states"]
    assert rows["tagger"]["nodes"] < 40  # three ONNX LSTM and GRU operators, not loops of cells


@pytest.mark.slow
@pytest.mark.parametrize("opset", ["11", "13", "17", "21", "25"])
def test_architectures_at_all_opsets(opset):
    names = ["resnet18", "mobilenet_v3_small", "vgg11", "shufflenet_v2_x0_5", "densenet121", "googlenet"]
    rows = run("models", opset, *names, "inception_v3", "bert", "tagger")
    assert all(row["passed"] for row in rows.values()) and len(rows) == 9


def test_refusals_name_what_is_wrong():
    rows = run("refuse")
    expected = {
        "two missing ops": ("UnsupportedOps", ["i0e x1", "polygamma x1", "paddle_models.py:"]),
        "complex numbers": ("UnsupportedOps", ["fft"]),
        "tensor array": ("UnsupportedOps", ["create_array", "paddle_models.py:"]),
        "random": ("UnsupportedOps", ["uniform"]),
        "state": ("ParityError", ["output"]),
        "no inputs": ("InputSpecError", ["InputSpec"]),
        "wrong name": ("InputSpecError", ["no argument y", "input"]),
        "wrong width": ("CaptureError", ["to_static", "5"]),
        "too many": ("InputSpecError", ["2 inputs"]),
        "opset": ("OpsetError", ["10"]),
    }
    assert set(rows) == set(expected)
    for name, (error, words) in expected.items():
        assert rows[name]["error"] == error, rows[name]
        assert all(word in rows[name]["text"] for word in words), rows[name]


def test_the_layer_stays_as_it_was_and_names_are_kept():
    rows = run("stay")
    assert rows["modes"]["same"] and rows["modes"]["bound"]
    assert rows["names"]["ports"] == ["rows", "out"] and rows["names"]["shape"] == ["n", "4"]
    assert rows["static"]["passed"] and rows["float64"]["passed"]
