"""Files of PyTorch: every kind end to end, weights not copied, and one clear line for every wrong combination."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.converters.from_torch import checkpoint
from anyonnx.symbolic.errors import AnyonnxError, InputSpecError, UntrustedFile

pytestmark = [pytest.mark.filterwarnings("ignore:.*torch.jit"), pytest.mark.filterwarnings("ignore:.*TypedStorage")]
FIXTURES = Path(__file__).parents[2] / "fixtures"
SPEC = ["x:float32[batch,64]"]


class Small(nn.Module):
    """What the files of this module hold the weights of."""

    def __init__(self, hidden: int = 128):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm = nn.Linear(64, hidden), nn.BatchNorm1d(hidden)
        self.second = nn.Linear(hidden, 64, bias=False)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x))))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(64, 8), nn.Linear(8, 64, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids))


def make_small(hidden: int = 128) -> Small:
    return Small(hidden)


def as_safetensors(path: Path, tensors: dict[str, torch.Tensor]) -> Path:
    """Writes the format by its definition: length of the header, header as JSON, raw data."""
    names = {torch.float32: "F32", torch.int64: "I64", torch.bfloat16: "BF16", torch.float16: "F16"}
    entries, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        raw = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        entries[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every kind of file of one model, and some broken ones."""
    path = tmp_path_factory.mktemp("files")
    module = Small().eval()
    state = module.state_dict()
    torch.save(state, path / "state.pt")
    torch.save(state, path / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({"epoch": 3, "model": {"state_dict": state}, "loss": [0.5]}, path / "nested.pt")
    torch.save({"model": state, "ema": state, "epoch": 3}, path / "two.pt")
    torch.save({f"module.{k}": v for k, v in state.items()}, path / "parallel.pt")
    torch.save({"model": state, "args": argparse.Namespace(depth=3)}, path / "foreign.pt")
    torch.save({"epoch": 3, "loss": [0.5]}, path / "empty.pt")
    torch.save({**state, "third.weight": torch.ones(2)}, path / "extra.pt")
    torch.save({k: v for k, v in state.items() if not k.startswith("second")}, path / "missing.pt")
    torch.save(Small(32).state_dict(), path / "shapes.pt")
    torch.save(module, path / "module.pt")
    torch.save({"model": module, "epoch": 3}, path / "wrapped.pt")
    torch.save(module, path / "module_legacy.pt", _use_new_zipfile_serialization=False)
    as_safetensors(path / "state.safetensors", state)
    tied = {k: v for k, v in Tied().state_dict().items() if k != "head.weight"}
    as_safetensors(path / "tied.safetensors", tied)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(module).save(str(path / "script.pt"))
    batch = torch.export.Dim("batch")
    program = torch.export.export(module, (torch.zeros(2, 64),), dynamic_shapes=({0: batch},))
    torch.export.save(program, path / "program.pt2")
    torch.save(torch.ones(3, 64), path / "one_input.pt")
    torch.save({"x": torch.ones(3, 64)}, path / "inputs.pt")
    (path / "cut.pt").write_bytes((path / "state.pt").read_bytes()[:2000])
    (path / "cut.safetensors").write_bytes((path / "state.safetensors").read_bytes()[:5000])
    return path


WEIGHTS = ["state.pt", "legacy.pt", "nested.pt", "parallel.pt", "state.safetensors"]


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_with_their_model(folder, name):
    result = to_onnx(folder / name, SPEC, factory=Small, opset=17)
    assert result.parity.passed
    assert [str(s) for s in result.source.specs] == SPEC


@pytest.mark.parametrize("factory", [Small(), make_small, "test_torch_files:Small", "test_torch_files:make_small"])
def test_what_makes_the_model(folder, factory, monkeypatch):
    monkeypatch.setitem(sys.modules, "test_torch_files", sys.modules[__name__])
    assert to_onnx(folder / "state.pt", SPEC, factory=factory).parity.passed


def test_a_factory_in_a_python_file(folder, tmp_path):
    (tmp_path / "nets.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n"
        "    def __init__(self, width, bias=True):\n        super().__init__()\n"
        "        self.a = torch.nn.Linear(4, width, bias=bias)\n"
        "    def forward(self, x):\n        return self.a(x)\n"
    )
    torch.save({"a.weight": torch.ones(3, 4)}, tmp_path / "w.pt")
    for arguments in ([3, False], {"width": 3, "bias": False}):
        result = to_onnx(
            tmp_path / "w.pt", ["float32[n,4]"], factory=f"{tmp_path / 'nets.py'}:Net", model_args=arguments
        )
        assert result.parity.passed


def test_keys(folder):
    assert to_onnx(folder / "nested.pt", SPEC, factory=Small, key="model.state_dict").parity.passed
    assert to_onnx(folder / "two.pt", SPEC, factory=Small, key="ema").parity.passed


def test_tied_weights_that_a_file_leaves_out(folder):
    result = to_onnx(folder / "tied.safetensors", (torch.arange(5),), factory=Tied, optimize=False)
    assert result.parity.passed
    assert set(result.model.graph.initializers) == {"table.weight"}


@pytest.mark.parametrize("name", ["state.pt", "nested.pt", "state.safetensors"])
def test_weights_stay_in_the_file(folder, name):
    """The initializers look at the mapped file: their memory lies in no allocation of ours."""
    model = to_onnx(folder / name, SPEC, factory=Small, compare=False, optimize=False).model
    weight = model.graph.initializers["first.weight"].const_value.numpy()
    address = weight.__array_interface__["data"][0]
    mapped = [
        tuple(int(end, 16) for end in line.split()[0].split("-"))
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(name)
    ]
    assert any(low <= address < high for low, high in mapped)


def test_trusted_and_allowed(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, Small.__module__, sys.modules[__name__])
    assert to_onnx(folder / "foreign.pt", SPEC, factory=Small, allow_globals=["argparse.Namespace"]).parity.passed
    assert to_onnx(folder / "foreign.pt", SPEC, factory=Small, trust=True).parity.passed
    for name in ("module.pt", "wrapped.pt", "module_legacy.pt"):
        assert to_onnx(folder / name, SPEC, trust=True).parity.passed


def test_torchscript_and_program(folder):
    assert to_onnx(folder / "script.pt", SPEC, opset=13).parity.passed
    assert to_onnx(folder / "program.pt2", opset=13).parity.passed


class Bomb:
    def __reduce__(self):
        return (open, ("ran.txt", "w"))


@pytest.mark.parametrize("zipped", [True, False])
def test_nothing_runs_without_trust(tmp_path, monkeypatch, zipped):
    monkeypatch.chdir(tmp_path)
    torch.save({"model": Small().state_dict(), "x": Bomb()}, "bomb.pt", _use_new_zipfile_serialization=zipped)
    with pytest.raises(UntrustedFile, match=r"\.open"):
        to_onnx("bomb.pt", SPEC, factory=Small)
    assert not Path("ran.txt").exists()


# --- wrong combinations ----------------------------------------------------------------------------------------------

WRONG = [
    ("state.pt", {}, InputSpecError, "holds weights without a model"),
    ("state.safetensors", {}, InputSpecError, "holds weights without a model"),
    ("state.pt", {"factory": "nowhere:Net"}, InputSpecError, "there is no module nowhere"),
    ("state.pt", {"factory": "Net"}, InputSpecError, "not of the form package.module:factory"),
    ("state.pt", {"factory": "torch.nn:Lienar"}, InputSpecError, "torch.nn has no attribute Lienar"),
    ("state.pt", {"factory": "nets.py:Net"}, InputSpecError, "there is no file nets.py"),
    ("state.pt", {"factory": "torch:float32"}, InputSpecError, "not a module or what makes one"),
    ("state.pt", {"factory": "torch:zeros", "model_args": [2]}, InputSpecError, "makes a Tensor, not an nn.Module"),
    ("state.pt", {"factory": "torch.nn:Linear"}, InputSpecError, "can't make torch.nn:Linear: .*--model-args"),
    ("state.pt", {"factory": Small, "model_args": 3}, InputSpecError, "a list or a dict, not 3"),
    ("state.pt", {"factory": Small, "key": "model"}, InputSpecError, "has no key 'model'; it has first.weight"),
    ("nested.pt", {"factory": Small, "key": "epoch"}, InputSpecError, "epoch is a int, not a state_dict"),
    ("nested.pt", {"factory": Small, "key": "model.weights"}, InputSpecError, "has no key 'model.weights'"),
    ("two.pt", {"factory": Small}, InputSpecError, "several sets of weights: choose one with --key: model .*, ema"),
    ("empty.pt", {"factory": Small}, InputSpecError, "holds no weights: it is a dict with epoch, loss"),
    ("extra.pt", {"factory": Small}, InputSpecError, "don't fit Small: the model has no third.weight"),
    ("missing.pt", {"factory": Small}, InputSpecError, "don't fit Small: it lacks second.weight"),
    ("shapes.pt", {"factory": Small}, InputSpecError, r"shapes differ: first.weight is \[32, 64\]"),
    ("foreign.pt", {"factory": Small}, UntrustedFile, "argparse.Namespace"),
    ("foreign.pt", {"factory": Small, "allow_globals": ["Namespace"]}, InputSpecError, "takes a full name"),
    ("foreign.pt", {"factory": Small, "allow_globals": ["no.Such"]}, InputSpecError, "there is no no.Such to allow"),
    ("module.pt", {}, UntrustedFile, r"torch\.nn\.modules\.linear\.Linear"),
    ("module_legacy.pt", {}, UntrustedFile, r"torch\.nn\.modules\.linear\.Linear"),
    ("module.pt", {"trust": True, "factory": Small}, InputSpecError, "holds a whole Small: --model .* has no use"),
    ("script.pt", {"factory": Small}, InputSpecError, "a TorchScript archive, which takes no --model"),
    ("script.pt", {"key": "model"}, InputSpecError, "takes no --key"),
    ("script.pt", {"state": "keep"}, InputSpecError, "the state 'keep' is none of carry, fresh"),
    ("script.pt", {"state": "carry"}, InputSpecError, "sets no tensor attribute"),
    ("script.pt", {"method": "backward"}, InputSpecError, "has no method backward"),
    ("program.pt2", {"factory": Small}, InputSpecError, "takes no --model .*it holds its graph"),
    ("program.pt2", {"state": "fresh"}, InputSpecError, "--state fresh .*is for TorchScript"),
    ("state.safetensors", {"factory": Small, "key": "model"}, InputSpecError, "takes no --key"),
    ("state.pt", {"factory": Small, "method": "forward"}, InputSpecError, "--method is for TorchScript"),
    ("state.pt", {"factory": Small, "capture": "trace"}, InputSpecError, "none of auto, export, script"),
    ("state.pt", {"factory": Small, "kee": "model"}, InputSpecError, "unknown option kee for torch"),
    ("cut.pt", {"factory": Small}, InputSpecError, "truncated or damaged zip"),
    ("cut.safetensors", {"factory": Small}, InputSpecError, "cut.safetensors is truncated"),
]


@pytest.mark.parametrize(("name", "options", "kind", "text"), WRONG, ids=[f"{w[0]} {w[3][:40]}" for w in WRONG])
def test_wrong_combinations(folder, name, options, kind, text):
    with pytest.raises(kind, match=text) as caught:
        to_onnx(folder / name, None if name.endswith("2") else SPEC, **options)
    if kind is InputSpecError:
        assert "\n" not in str(caught.value)


def test_live_models_take_no_options_of_files():
    for options in ({"factory": Small}, {"key": "model"}, {"allow_globals": ["a.b"]}, {"state": "fresh"}):
        with pytest.raises(InputSpecError, match=r"takes no|is for TorchScript"):
            to_onnx(Small(), SPEC, **options)


def test_torchscript_needs_inputs(folder):
    with pytest.raises(AnyonnxError, match=r"pass example inputs, or specs .* for forward\(x\)"):
        to_onnx(folder / "script.pt")


# --- the readers alone -----------------------------------------------------------------------------------------------


def test_safetensors_by_our_own_reader(tmp_path):
    tensors = {
        "a": torch.randn(3, 4),
        "half": torch.randn(5).to(torch.bfloat16),
        "ids": torch.arange(3),
        "none": torch.zeros(0, 2),
        "one": torch.tensor(2.5),
    }
    found = checkpoint.read_safetensors(as_safetensors(tmp_path / "x.safetensors", tensors))
    assert list(found) == list(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype is tensor.dtype
        assert torch.equal(found[name], tensor)


def test_safetensors_as_its_package_reads_them(tmp_path):
    package = pytest.importorskip("safetensors.torch")
    tensors = {"a": torch.randn(3, 4), "b": torch.randn(7).to(torch.float16), "c": torch.tensor([True, False])}
    package.save_file(tensors, tmp_path / "x.safetensors")
    found = checkpoint.read_safetensors(tmp_path / "x.safetensors")
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())


# --- the command line ------------------------------------------------------------------------------------------------

NETS = """
import torch

class Net(torch.nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(64, hidden), torch.nn.BatchNorm1d(hidden)
        self.second = torch.nn.Linear(hidden, 64, bias=False)

    def forward(self, x, scale: float = 1.0):
        return self.second(torch.relu(self.norm(self.first(x)))) * scale
"""


@pytest.fixture
def command(folder, tmp_path, monkeypatch, capsys):
    """Runs ``convert`` in a directory with a module nets; gives its exit code and stderr."""
    (tmp_path / "nets.py").write_text(NETS)
    np.save(tmp_path / "x.npy", np.ones((3, 64), np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.delitem(sys.modules, "nets", raising=False)

    def run(name, *args):
        from anyonnx.cli import app

        with pytest.raises(SystemExit) as ended:
            app.convert_main([str(folder / name), *map(str, args), "-o", "out.onnx", "-q"])
        return int(ended.value.code or 0), capsys.readouterr().err

    return run


RUNS = {
    "state": ("state.pt", "--model", "nets:Net", "--input", SPEC[0]),
    "file": ("state.pt", "--model", "nets.py:Net", "--model-args", '{"hidden": 128}', "--input", SPEC[0]),
    "nested": ("nested.pt", "--model", "nets:Net", "--key", "model.state_dict", "--example", "x.npy"),
    "safetensors": ("state.safetensors", "--model", "nets:Net", "--input", SPEC[0], "--input", "scale=2.5"),
    "allowed": ("foreign.pt", "--model", "nets:Net", "--allow-global", "argparse.Namespace", "--input", SPEC[0]),
    "torch inputs": ("state.pt", "--model", "nets:Net", "--example", "{folder}/inputs.pt", "--input", SPEC[0]),
    "one tensor": ("state.pt", "--model", "nets:Net", "--example", "{folder}/one_input.pt"),
    "script": ("script.pt", "--input", SPEC[0]),
    "script by capture": ("state.pt", "--model", "nets:Net", "--capture", "script", "--input", SPEC[0]),
}


@pytest.mark.parametrize("name", RUNS)
def test_command_line(command, folder, name):
    code, shown = command(*(str(a).format(folder=folder) if "{folder}" in a else a for a in RUNS[name]))
    assert (code, shown) == (0, "")
    assert Path("out.onnx").exists()


WRONG_RUNS = [
    (("state.pt", "--model", "nets:Net", "--model-args", "{3", "--input", SPEC[0]), 2, "--model-args is no JSON"),
    (("state.pt", "--input", SPEC[0]), 2, "--model package.module:factory"),
    (("foreign.pt", "--model", "nets:Net", "--input", SPEC[0]), 7, "argparse.Namespace"),
    (("state.pt", "--model", "nets:Net", "--example", "x.npy", "--input", "scale=2"), 2, "have no names"),
    (("state.pt", "--model", "nets:Net", "--example", "{folder}/empty.pt"), 2, "holds no tensors"),
    (("state.pt", "--model", "nets:Net", "--example", "{folder}/script.pt"), 2, "not a file of tensors"),
    (("program.pt2", "--model", "nets:Net"), 2, "takes no --model"),
    (("script.pt",), 2, "pass example inputs, or specs"),
]


@pytest.mark.parametrize(("args", "code", "text"), WRONG_RUNS, ids=[w[2] for w in WRONG_RUNS])
def test_wrong_command_lines(command, folder, args, code, text):
    ended, shown = command(*(a.format(folder=folder) if "{folder}" in a else a for a in args))
    assert ended == code
    assert text in shown
    assert not Path("out.onnx").exists()


def test_options_of_torch_beside_another_framework(command, monkeypatch):
    ended, shown = command(FIXTURES / "digits_pipeline.skops", "--key", "model")
    assert (ended, "for PyTorch models only" in shown) == (2, True)
