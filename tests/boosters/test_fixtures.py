"""The fixture files, as they convert where no boosting library is installed."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from booster_check import fixture, same
from estimator_check import sessions

from anyonnx import to_onnx

FILES = {
    "wine_xgboost.json": "xgboost",
    "diabetes_xgboost.ubj": "xgboost",
    "cancer_lightgbm.txt": "lightgbm",
    "wine_catboost.cbm": "catboost",
    "diabetes_catboost.json": "catboost",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("opset", [11, 21, 25])
def test_agrees_with_the_recorded_outputs(name: str, opset: int) -> None:
    with np.load(fixture(name).with_suffix(".npz")) as arrays:
        recorded = {k: arrays[k].astype(object) if arrays[k].dtype.kind == "U" else arrays[k] for k in arrays.files}
    rows = recorded.pop("X")
    result = to_onnx(fixture(name), opset=opset, compare=False)
    for session in sessions(result.proto()):
        found = dict(zip(result.source.output_names, session.run(None, {"X": rows}), strict=True))
        same(recorded, found, result.source.labels)


SCRIPT = """
import json, sys
sys.modules[{framework!r}] = None  # as if it were not installed
from anyonnx import to_onnx
result = to_onnx({path!r}, framework={framework!r})
roots = ("xgboost", "lightgbm", "catboost", "sklearn", "pandas", "scipy", "torch", "tensorflow")
print(json.dumps([str(result), [r for r in roots if sys.modules.get(r) is not None]]))
"""


@pytest.mark.parametrize("name", ["wine_xgboost.json", "cancer_lightgbm.txt", "wine_catboost.cbm"])
def test_a_file_needs_no_framework_and_says_that_nothing_was_compared(name: str) -> None:
    script = SCRIPT.format(path=str(fixture(name)), framework=FILES[name])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said, imported = json.loads(done.stdout.splitlines()[-1])
    assert imported == []
    assert "NOT COMPARED" in said
