"""SavedModels and frozen graphs: read without TensorFlow, and right."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError, InputSpecError

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = {
    "digits_tf": ("digits_tf", {}, ["digit"]),
    "another signature": ("digits_tf", {"signature": "ink"}, ["ink", "high"]),
    "frozen": ("digits_tf.pb", {}, ["Identity"]),
}


@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_its_reference_outputs(name: str, opset: int) -> None:
    path, options, outputs = CASES[name]
    model = to_onnx(FIXTURES / path, opset=opset, compare=False, **options).proto()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    known = np.load(FIXTURES / ("digits_pb.npz" if path.endswith(".pb") else "digits_tf.npz"))
    names = [o.name for o in session.get_outputs()]
    assert sorted(names) == sorted(outputs)
    for output, value in zip(names, session.run(None, {"image": known["image"]}), strict=True):
        np.testing.assert_allclose(value, known[output], rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow isn't installed")
@pytest.mark.parametrize("name", CASES)
def test_a_file_is_compared_with_tensorflow(name: str) -> None:
    path, options, _ = CASES[name]
    assert to_onnx(FIXTURES / path, **options).parity.passed


def test_reading_files_imports_no_framework() -> None:
    code = (
        "import sys; from anyonnx.converters.api import to_onnx\n"
        f"for n in ('digits_tf', 'digits_tf.pb'): to_onnx({str(FIXTURES)!r} + '/' + n, compare=False)\n"
        "print(sorted(set(sys.modules) & {'tensorflow', 'keras', 'torch', 'flatbuffers', 'jax'}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_wrong_signatures_and_nodes_are_refused() -> None:
    with pytest.raises(InputSpecError, match="it has ink, serving_default"):
        to_onnx(FIXTURES / "digits_tf", signature="nothing")
    with pytest.raises(InputSpecError, match="no node nothing"):
        to_onnx(FIXTURES / "digits_tf.pb", outputs=["nothing"])


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "variables").mkdir()
    for name in ("saved_model.pb", "variables/variables.index"):
        (tmp_path / name).write_bytes((FIXTURES / "digits_tf" / name).read_bytes())
    with pytest.raises(CaptureError, match="missing or truncated"):
        to_onnx(tmp_path)
    (tmp_path / "variables/variables.index").write_bytes(b"nothing")
    with pytest.raises(CaptureError, match="no checkpoint index"):
        to_onnx(tmp_path)
    (tmp_path / "variables/variables.index").unlink()
    with pytest.raises(CaptureError, match="variables are missing"):
        to_onnx(tmp_path)
