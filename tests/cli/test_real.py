"""The commands on real models, end to end."""

import json
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import onnx
import pytest

MODELS = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)

    def forward(self, x):
        return torch.softmax(self.b(torch.relu(self.a(x))), dim=-1)

net = Net().eval()

def cosine(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x)

# operators of a library that nobody has registered yet
first, second = (torch.library.custom_op(f"toy_models::{n}", cosine, mutates_args=()) for n in ("first", "second"))
for op in (first, second):
    op.register_fake(torch.empty_like)

class Lost(torch.nn.Module):
    def forward(self, x):
        return first(x) + second(x)

lost = Lost().eval()
"""
SPEC = "x:float32[batch,3]"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "toy_models.py").write_text(MODELS)
    return tmp_path


def test_torch_module(cli, folder):
    shown = cli("--from", "torch", "toy_models:net", "--input", SPEC, "--opset", "13", command="convert")
    assert shown.code == 0, shown.err
    assert "parity: passed" in shown.out
    assert "wrote net.onnx: opset 13" in shown.out
    for stage in ("load", "translate", "optimize", "check", "compare", "save"):
        assert stage in shown.err
    model = onnx.load(folder / "net.onnx")
    assert [entry.version for entry in model.opset_import if entry.domain == ""] == [13]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert cli("check", "net.onnx", "--opset", "13").code == 0
    assert "x:float32[batch,3]" in cli("inspect", "net.onnx").out


def test_npz_inputs_and_reports(cli, folder):
    np.savez(folder / "in.npz", x=np.ones((2, 3), np.float32))
    shown = cli(
        "convert", "toy_models:Net", "--inputs", "in.npz", "--input", SPEC, "--report", "parity.json", "--quiet"
    )
    assert (shown.code, shown.out, shown.err) == (0, "", "")
    assert json.loads((folder / "parity.json").read_text())["passed"] is True
    assert cli("convert", "toy_models:net", "--input", SPEC, "--report", "parity.xml").code == 0
    assert ET.parse(folder / "parity.xml").getroot().get("failures") == "0"


def test_compare_and_a_planted_error(cli, folder):
    assert cli("convert", "toy_models:net", "--input", SPEC).code == 0
    same = cli("compare", "net.onnx", "--source", "toy_models:net", "--input", SPEC)
    assert same.code == 0, same.err
    assert "parity: passed" in same.out
    model = onnx.load(folder / "net.onnx")
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) == 2:
            scaled = onnx.numpy_helper.to_array(tensor) * np.float32(1.01)
            tensor.CopyFrom(onnx.numpy_helper.from_array(scaled, tensor.name))
    onnx.save(model, folder / "wrong.onnx")
    wrong = cli("compare", "wrong.onnx", "--source", "toy_models:net", "--input", SPEC, "--report", "r.json")
    assert wrong.code == 5
    assert "parity: FAILED" in wrong.err
    assert json.loads((folder / "r.json").read_text())["passed"] is False


def test_unsupported_operators_are_all_listed(cli, folder):
    shown = cli("convert", "toy_models:lost", "--input", SPEC)
    assert shown.code == 3
    assert "toy_models::first" in shown.err
    assert "toy_models::second" in shown.err
    assert not (folder / "lost.onnx").exists()


def test_a_plugin_adds_operators_and_a_wrong_one_is_found_out(folder):
    (folder / "toy_plugin.py").write_text(
        "import anyonnx\n@anyonnx.symbolic('toy_models', 'first', 'second')\ndef sine(g, x):\n    return g.Sin(x)\n"
    )
    # in a process of its own: what a plugin registers stays registered
    command = [sys.executable, "-m", "anyonnx", "convert", "toy_models:lost", "--input", SPEC]
    done = subprocess.run(
        [*command, "--plugin", "toy_plugin", "--report", "r.json"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 5, done.stderr  # a sine is no cosine, and the comparison says so
    assert "parity: FAILED" in done.stderr
    assert not (folder / "lost.onnx").exists()
    assert json.loads((folder / "r.json").read_text())["passed"] is False


def test_opset(cli, onnx_model, folder):
    shown = cli("opset", onnx_model, "--to", "11")
    assert shown.code == 0, shown.err
    assert "wrote small.opset11.onnx: opset 11" in shown.out
    assert onnx.load(folder / "small.opset11.onnx").opset_import[0].version == 11


def test_pickles_need_trust(cli, folder):
    from sklearn.linear_model import LogisticRegression

    features = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    model = LogisticRegression().fit(features, features[:, 0] > 0)
    (folder / "clf.pkl").write_bytes(pickle.dumps(model))
    refused = cli("convert", "clf.pkl", "--input", SPEC)
    assert refused.code == 7
    assert "sklearn.linear_model._logistic.LogisticRegression" in refused.err
    assert not (folder / "clf.onnx").exists()
    trusted = cli("convert", "clf.pkl", "--input", SPEC, "--trust")
    assert trusted.code == 0, trusted.err
    assert "parity: passed" in trusted.out
