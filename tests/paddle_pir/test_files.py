"""Saved models, read without Paddle: PIR and legacy, compared with what Paddle computed when they were made."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anyonnx
from anyonnx.converters.from_paddle.parameters import read_parameters
from anyonnx.converters.from_paddle.pir import read_pir
from anyonnx.converters.from_paddle.program import FormatError

ort = pytest.importorskip("onnxruntime")

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODELS = ["digits_paddle.json", "digits_rows_paddle.json", "digits_paddle_legacy.pdmodel"]
HAS_PADDLE = importlib.util.find_spec("paddle") is not None


def outputs(model, sample, optimized):
    options = ort.SessionOptions()
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: sample})


@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
@pytest.mark.parametrize("name", MODELS)
def test_files_against_the_outputs_beside_them(name, opset):
    done = anyonnx.to_onnx(FIXTURES / name, opset=opset, compare=False)
    assert done.source.specs[0].shape[0] == "batch"
    with np.load((FIXTURES / name).with_suffix(".npz")) as loaded:
        sample, *known = (loaded[key] for key in loaded.files)
    for optimized in (False, True):
        results = outputs(done.proto().SerializeToString(), sample, optimized)
        for expected, result in zip(known, results, strict=True):
            assert result.shape == expected.shape and result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_files_are_read_without_the_framework(tmp_path):
    code = """
import sys
import anyonnx
for name in sys.argv[1:]:
    anyonnx.to_onnx(name, compare=False, opset=17)
roots = {m.split(".")[0] for m in sys.modules}
assert not roots & {"paddle", "torch", "tensorflow", "jax", "sklearn", "pandas"}, roots
"""
    names = [str(FIXTURES / name) for name in MODELS]
    subprocess.run([sys.executable, "-c", code, *names], check=True, cwd=tmp_path)


@pytest.mark.skipif(not HAS_PADDLE, reason="paddle isn't installed")
@pytest.mark.parametrize("name", MODELS)
def test_files_against_paddle_in_its_own_process(name):
    done = anyonnx.to_onnx(FIXTURES / name, opset=17)
    assert done.parity.passed and "paddle" not in sys.modules


def test_names_and_sizes_of_the_caller():
    path = FIXTURES / "digits_paddle.json"
    done = anyonnx.to_onnx(path, ["image:float32[8,1,8,8]"], input_names=["x"], output_names=["p"], compare=False)
    assert [v.name for v in done.model.graph.inputs] == ["x"] and list(done.model.graph.inputs[0].shape) == [8, 1, 8, 8]
    assert [v.name for v in done.model.graph.outputs] == ["p"]
    with pytest.raises(anyonnx.InputSpecError, match=r"image:float32\[batch,1,8,8\]"):
        anyonnx.to_onnx(path, ["image:float32[batch,1,9,9]"], compare=False)
    with pytest.raises(anyonnx.InputSpecError, match="no input picture"):
        anyonnx.to_onnx(path, {"picture": "float32[batch,1,8,8]"}, compare=False)


def copy(tmp_path, stem="digits_paddle"):
    for suffix in (".json", ".pdiparams"):
        shutil.copy(FIXTURES / f"{stem}{suffix}", tmp_path / f"model{suffix}")
    return tmp_path / "model.json"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-100], "truncated"),
        (lambda data: data + b"1234", "after the last weight"),
        (lambda data: b"\1" + data[1:], "no weight file"),
        (lambda data: b"", "empty"),
    ],
)
def test_weights_of_another_program_are_refused(tmp_path, damage, message):
    path = copy(tmp_path)
    weights = path.with_suffix(".pdiparams")
    weights.write_bytes(damage(weights.read_bytes()))
    with pytest.raises(anyonnx.CaptureError, match=message):
        anyonnx.to_onnx(path, compare=False)


def test_missing_weights_are_named(tmp_path):
    path = copy(tmp_path)
    path.with_suffix(".pdiparams").unlink()
    with pytest.raises(anyonnx.InputSpecError, match=r"model\.pdiparams"):
        anyonnx.to_onnx(path, compare=False)


def test_unsupported_ops_are_all_named_before_anything_is_built(tmp_path):
    path = copy(tmp_path)
    text = path.read_text().replace('"1.hardswish"', '"1.my_swish"').replace('"1.softmax"', '"1.my_softmax"')
    path.write_text(text)
    with pytest.raises(anyonnx.UnsupportedOps, match=r"(?s)my_swish x1 at .*Hardswish.*my_softmax x1") as caught:
        anyonnx.to_onnx(path, compare=False, output=tmp_path / "out.onnx")
    assert {m.name for m in caught.value.missing} == {"my_swish", "my_softmax"}
    assert not (tmp_path / "out.onnx").exists()


def test_an_argument_that_the_op_does_not_know_is_refused(tmp_path):
    path = copy(tmp_path)
    text = json.loads(path.read_text())
    for op in text["program"]["regions"][0]["blocks"][0]["ops"]:
        if op["#"] == "1.softmax":
            op["A"].append({"N": "temperature", "AT": {"#": "0.a_f32", "D": 2.0}})
    path.write_text(json.dumps(text))
    with pytest.raises(anyonnx.TranslationError, match="temperature"):
        anyonnx.to_onnx(path, compare=False)


def test_damaged_programs_are_typed_errors(tmp_path):
    path = copy(tmp_path)
    whole = path.read_text()
    path.write_text(whole.replace('"blocks"', '"blobs"'))
    with pytest.raises(anyonnx.CaptureError, match="PIR"):
        anyonnx.to_onnx(path, compare=False)
    legacy = (FIXTURES / "digits_paddle_legacy.pdmodel").read_bytes()
    for cut in range(100, len(legacy) - 1, len(legacy) // 7):
        broken = tmp_path / "broken.pdmodel"
        broken.write_bytes(legacy[:cut])
        shutil.copy(FIXTURES / "digits_paddle_legacy.pdiparams", tmp_path / "broken.pdiparams")
        with pytest.raises(anyonnx.AnyonnxError):
            anyonnx.to_onnx(broken, framework="paddle", compare=False)


def test_weights_are_mapped_not_copied():
    program = read_pir(FIXTURES / "digits_paddle.json")
    weights = read_parameters(FIXTURES / "digits_paddle.pdiparams", program.parameter_names)
    assert set(weights) == set(program.parameter_names)
    assert all(w.base is not None for w in weights.values())
    with pytest.raises(FormatError, match="ends after"):
        read_parameters(FIXTURES / "digits_paddle.pdiparams", [*program.parameter_names, "zz"])


@pytest.mark.parametrize("name", [b"hard_swizz", b"zeros_like"])
def test_a_legacy_op_without_a_rule_is_not_taken_for_one_of_pir(tmp_path, name):
    """Its operands stand in the order of their slots' names, which says nothing."""
    data = (FIXTURES / "digits_paddle_legacy.pdmodel").read_bytes()
    (tmp_path / "model.pdmodel").write_bytes(data.replace(b"hard_swish", name))
    shutil.copy(FIXTURES / "digits_paddle_legacy.pdiparams", tmp_path / "model.pdiparams")
    with pytest.raises(anyonnx.UnsupportedOps, match=f"legacy.{name.decode()} x1 at {name.decode()} number 1"):
        anyonnx.to_onnx(tmp_path / "model.pdmodel", compare=False)
