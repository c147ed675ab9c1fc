"""Files: read without Keras, the same as the live model; broken ones and other kinds refused."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import keras_cases
import numpy as np
import onnxruntime
import pytest

import anyonnx
from anyonnx.symbolic.errors import CaptureError, InputSpecError, UnsupportedOps

FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = {
    "digits_keras.keras": "digits_keras.npz",
    "digits_keras.h5": "digits_keras.npz",
    "digits_rows.keras": "digits_rows.npz",
}


@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
@pytest.mark.parametrize("name", FILES)
def test_fixture_gives_its_reference_outputs(name, opset):
    model = anyonnx.to_onnx(FIXTURES / name, opset=opset, compare=False).proto()
    recorded = np.load(FIXTURES / FILES[name])
    for level in (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    ):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        inputs = {i.name: recorded[i.name] for i in session.get_inputs()}
        for port, found in zip(session.get_outputs(), session.run(None, inputs), strict=True):
            right = recorded[port.name]
            assert np.abs(found - right).max() <= 5e-6 * np.abs(right).max()


@pytest.mark.parametrize("name", FILES)
def test_fixture_is_the_same_as_in_keras(name):
    pytest.importorskip("keras")
    assert anyonnx.to_onnx(FIXTURES / name, opset=21).parity.passed


def test_files_are_read_without_a_framework(tmp_path):
    code = (
        "import sys, anyonnx\n"
        "for name in sys.argv[1:]:\n"
        "    anyonnx.to_onnx(name, compare=False)\n"
        "found = {'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", code, *(str(FIXTURES / n) for n in FILES)], check=True, cwd=tmp_path)


@pytest.mark.parametrize("name", ["nested", "shared_model", "several_inputs", "transformer", "sequential"])
@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_file_is_the_same_as_the_live_model(name, ending, tmp_path):
    pytest.importorskip("keras")
    model = keras_cases.MODELS[name]()
    path = tmp_path / f"model.{ending}"
    model.save(path)
    live = anyonnx.to_onnx(model, compare=False)
    stored = anyonnx.to_onnx(path, compare=False)
    assert [n.op_type for n in live.model.graph] == [n.op_type for n in stored.model.graph]
    weights = [m.model.graph.initializers for m in (live, stored)]
    assert list(weights[0]) == list(weights[1])
    for key, value in weights[0].items():
        np.testing.assert_array_equal(value.const_value.numpy(), weights[1][key].const_value.numpy())


def test_compressed_archive(tmp_path):
    path = tmp_path / "packed.keras"
    with (
        zipfile.ZipFile(FIXTURES / "digits_keras.keras") as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.namelist():
            new.writestr(member, old.read(member))
    packed, plain = (anyonnx.to_onnx(p, compare=False).proto() for p in (path, FIXTURES / "digits_keras.keras"))
    assert packed.graph.initializer == plain.graph.initializer


def rewritten(tmp_path, change):
    """The CNN fixture with another configuration."""
    path = tmp_path / "changed.keras"
    with zipfile.ZipFile(FIXTURES / "digits_keras.keras") as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == "config.json":
                config = json.loads(data)
                change(config)
                data = json.dumps(config).encode()
            new.writestr(member, data)
    return path


def layer_named(config, name):
    return next(entry for entry in config["config"]["layers"] if entry["name"] == name)


def test_unknown_option_is_refused_by_layer_and_name(tmp_path):
    path = rewritten(tmp_path, lambda c: layer_named(c, "conv1")["config"].update(spectral_shift=3))
    with pytest.raises(UnsupportedOps, match=r"Conv2D x1 at layer digits_keras/conv1|layer conv1.*spectral_shift=3"):
        anyonnx.to_onnx(path, compare=False)


def test_unknown_activation_is_refused(tmp_path):
    path = rewritten(tmp_path, lambda c: layer_named(c, "conv3")["config"].update(activation="wobble"))
    with pytest.raises(UnsupportedOps, match=r"conv3.*wobble"):
        anyonnx.to_onnx(path, compare=False)


def test_custom_layer_with_the_name_of_a_builtin_is_refused(tmp_path):
    path = rewritten(tmp_path, lambda c: layer_named(c, "hidden").update(module="my_layers", registered_name="Dense"))
    with pytest.raises(UnsupportedOps, match=r"my_layers>Dense"):
        anyonnx.to_onnx(path, compare=False)


def test_lambda_is_refused(tmp_path):
    path = rewritten(tmp_path, lambda c: layer_named(c, "dropout").update(class_name="Lambda"))
    with pytest.raises(UnsupportedOps, match=r"Lambda.*dropout.*Python code"):
        anyonnx.to_onnx(path, compare=False)


def test_missing_weights_are_named(tmp_path):
    path = rewritten(tmp_path, lambda c: layer_named(c, "hidden").update(class_name="PReLU", config={"name": "hidden"}))
    with pytest.raises(UnsupportedOps, match=r"hidden/alpha"):
        anyonnx.to_onnx(path, compare=False)


def test_subclassed_model_is_refused(tmp_path):
    path = rewritten(tmp_path, lambda c: c.update(class_name="MyModel", module="mine", config={"name": "m"}))
    with pytest.raises(CaptureError, match="Functional and Sequential"):
        anyonnx.to_onnx(path, compare=False)


@pytest.mark.parametrize("name", ["digits_keras.keras", "digits_keras.h5"])
@pytest.mark.parametrize("part", [0.3, 0.9])
def test_truncated_file(name, part, tmp_path):
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(InputSpecError):
        anyonnx.to_onnx(path, compare=False)


def test_weights_without_a_model(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "only.h5"
    with h5py.File(path, "w") as stream:
        stream["kernel"] = np.zeros((2, 2), np.float32)
    with pytest.raises(InputSpecError, match="weights without a model"):
        anyonnx.to_onnx(path, compare=False)


def test_external_links_are_not_followed(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "linked.h5"
    path.write_bytes((FIXTURES / "digits_keras.h5").read_bytes())
    with h5py.File(path, "a") as stream:
        group = stream["model_weights/hidden"]
        stored = group.attrs["weight_names"][0]
        del group[stored]
        group[stored] = h5py.ExternalLink(str(FIXTURES / "digits_keras.h5"), f"/model_weights/hidden/{stored}")
    with pytest.raises(UnsupportedOps, match="hidden/kernel"):
        anyonnx.to_onnx(path, compare=False)


def test_inputs_can_be_named_fixed_and_refused():
    path = FIXTURES / "digits_rows.keras"
    fixed = anyonnx.to_onnx(path, ["rows:float32[n,6,8]"], compare=False).model.graph.inputs[0]
    assert [str(s) for s in fixed.shape] == ["n", "6", "8"]
    named = anyonnx.to_onnx(
        path, input_names=["x"], output_names=["digit", "e"], dynamic={0: {1: "steps"}}, compare=False
    )
    assert [str(s) for s in named.model.graph.inputs[0].shape] == ["batch", "steps", "8"]
    assert [o.name for o in named.model.graph.outputs] == ["digit", "e"]
    with pytest.raises(InputSpecError, match="rows:float32"):
        anyonnx.to_onnx(path, ["rows:float32[n,6,9]"], compare=False)
    with pytest.raises(InputSpecError, match="no input"):
        anyonnx.to_onnx(path, {"image": "float32[1,8,8]"}, compare=False)
