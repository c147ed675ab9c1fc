"""Every wrong input that a new user would try: one clear line, its exit code, no file, in the real program."""

import pickle

import numpy as np
import pytest

SPEC = "x:float32[batch,3]"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The bytes of a small .pt2 file with an open batch."""
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(net, (torch.zeros(2, 3),), dynamic_shapes=({0: batch},))
    path = tmp_path_factory.mktemp("exported") / "net.pt2"
    torch.export.save(program, path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, exported, onnx_model):
    """A directory with good and bad files; the commands run in it."""
    (tmp_path / "net.pt2").write_bytes(exported)
    (tmp_path / "cut.pt2").write_bytes(exported[: len(exported) // 2])
    (tmp_path / "empty.pt2").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("hello there")
    (tmp_path / "m.cbm").write_bytes(b"CBM1" + bytes(40))
    (tmp_path / "m.pkl").write_bytes(pickle.dumps({"a": np.float64(1)}))
    (tmp_path / "some_folder").mkdir()
    (tmp_path / "my_models.py").write_text("import torch\nnet = torch.nn.Linear(3, 2).eval()\nnumber = 3\n")
    np.savez(tmp_path / "wrong_name.npz", z=np.zeros((2, 3), np.float32))
    np.savez(tmp_path / "good.npz", x=np.zeros((2, 3), np.float32))
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 not really")
    onnx = onnx_model.read_bytes()
    (tmp_path / "cut.onnx").write_bytes(onnx[: len(onnx) // 2])
    return tmp_path


WRONG = [
    ("missing file", ["convert", "none.pt2"], 2, "there is no file none.pt2"),
    ("missing file, framework", ["convert", "--from", "torch", "none.pt2"], 2, "there is no file none.pt2"),
    ("directory", ["convert", "some_folder"], 2, "some_folder is a directory but not a SavedModel"),
    ("empty", ["convert", "empty.pt2"], 2, "empty.pt2 is empty"),
    ("truncated", ["convert", "--from", "torch", "cut.pt2"], 2, "cut.pt2 is a truncated or damaged zip archive"),
    ("text", ["convert", "notes.txt"], 2, "notes.txt is no model file that anyonnx knows"),
    ("damaged", ["convert", "m.cbm"], 9, "the CatBoost model is damaged or of an unknown release"),
    ("unknown framework", ["convert", "--from", "pytroch", "net.pt2"], 2, "unknown framework 'pytroch'"),
    ("near framework", ["convert", "--from", "Torch", "net.pt2"], 2, "did you mean torch?"),
    ("other framework", ["convert", "--from", "sklearn", "net.pt2"], 2, "its framework is torch, not sklearn"),
    ("spec", ["convert", "net.pt2", "--input", "x;float32[3]"], 2, "can't read the input spec 'x;float32[3]'"),
    ("spec dtype", ["convert", "net.pt2", "--input", "x:float33[3]"], 2, "unknown dtype 'float33'"),
    ("spec dim", ["convert", "net.pt2", "--input", "x:float32[-1,3]"], 2, "can't read the dim '-1'"),
    ("opset 9", ["convert", "net.pt2", "--opset", "9"], 8, "11 to 25"),
    ("opset 99", ["convert", "net.pt2", "--opset", "99"], 8, "11 to 25"),
    ("opset word", ["convert", "net.pt2", "--opset", "new"], 2, "Invalid value for '--opset'"),
    ("no such folder", ["convert", "net.pt2", "-o", "no/net.onnx"], 2, "there is no directory no"),
    ("output folder", ["convert", "net.pt2", "-o", "some_folder"], 2, "can't write some_folder: it is a directory"),
    ("output under a file", ["convert", "net.pt2", "-o", "notes.txt/a.onnx"], 2, "can't write notes.txt/a.onnx"),
    ("output is the model", ["convert", "small.onnx", "-o", "small.onnx"], 2, "would replace the model"),
    ("report kind", ["convert", "net.pt2", "--report", "r.html"], 2, "must end in .json or .xml"),
    ("nothing to report", ["convert", "net.pt2", "--no-compare", "--report", "r.json"], 2, "--no-compare leaves"),
    ("provider", ["convert", "net.pt2", "--provider", "tpu"], 2, "unknown provider 'tpu'"),
    ("plugin", ["convert", "net.pt2", "--plugin", "no_plugin"], 2, "there is no plugin module no_plugin"),
    ("missing npz", ["convert", "net.pt2", "--inputs", "none.npz"], 2, "there is no file none.npz"),
    ("broken npz", ["convert", "net.pt2", "--inputs", "broken.npz"], 2, "broken.npz is no .npz file"),
    ("npz names", ["convert", "my_models:net", "--inputs", "wrong_name.npz"], 2, "the inputs don't fit"),
    (
        "npz against spec",
        ["convert", "my_models:net", "--inputs", "wrong_name.npz", "--input", SPEC],
        2,
        "has no array",
    ),
    ("spec against npz", ["convert", "my_models:net", "--inputs", "good.npz", "--input", "x:int64[b,3]"], 2, "not fit"),
    ("no inputs", ["convert", "my_models:net"], 2, "input"),
    ("missing module", ["convert", "no_such_module:net"], 2, "there is no module no_such_module"),
    ("missing attribute", ["convert", "my_models:nett"], 2, "has no attribute nett; did you mean net?"),
    ("no model", ["convert", "my_models:number"], 2, "int"),
    ("untrusted", ["convert", "--from", "sklearn", "m.pkl"], 7, "m.pkl"),
    ("option", ["convert", "net.pt2", "--opst", "13"], 2, "No such option: --opst"),
    ("no argument", ["convert"], 2, "Missing argument 'MODEL'"),
    ("command", ["cnvert"], 2, "No such command 'cnvert'"),
    ("check text", ["check", "notes.txt"], 2, "no model file that anyonnx knows"),
    ("check torch", ["check", "net.pt2"], 2, "is a PyTorch exported program (.pt2), not an ONNX model"),
    ("check cut", ["check", "cut.onnx"], 2, "cut.onnx is a truncated ONNX file"),
    ("inspect missing", ["inspect", "none.onnx"], 2, "there is no file none.onnx"),
    ("compare missing", ["compare", "small.onnx", "--source", "none.pt2"], 2, "there is no file none.pt2"),
    ("compare without source", ["compare", "small.onnx"], 2, "Missing option '--source'"),
    ("opset range", ["opset", "small.onnx", "--to", "9"], 8, "11 to 25"),
    ("opset of torch", ["opset", "net.pt2", "--to", "13"], 2, "not an ONNX model"),
]
SEVERAL_LINES = {"untrusted"}


@pytest.mark.parametrize(("args", "code", "text"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_input(cli, folder, request, args, code, text):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    shown = cli(*args)
    assert shown.code == code, shown.err
    assert text in shown.err
    assert "Traceback" not in shown.err
    errors = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    if request.node.callspec.id not in SEVERAL_LINES:
        assert shown.err.strip().endswith(errors[0])
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if "__pycache__" not in path.parts}
    assert after == before


def test_unwritable_directory(cli, folder, monkeypatch):
    import os

    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write anywhere
    assert cli("convert", "net.pt2").error == "can't write net.onnx: permission denied"


def test_a_pipe_is_not_replaced(cli, folder):
    import os

    os.mkfifo(folder / "pipe")
    assert cli("convert", "net.pt2", "-o", "pipe").error == "can't write pipe: it is not a regular file"
    assert (folder / "pipe").is_fifo()


def test_a_failure_leaves_an_older_result_alone(cli, folder):
    (folder / "net.onnx").write_bytes(b"older")
    assert cli("convert", "net.pt2", "--opset", "9").code == 8
    assert (folder / "net.onnx").read_bytes() == b"older"


def test_check_of_an_invalid_model(cli, folder):
    import onnx

    model = onnx.load(folder / "small.onnx")
    model.graph.node[1].input[0] = "nowhere"
    onnx.save(model, folder / "bad.onnx")
    shown = cli("check", "bad.onnx")
    assert shown.code == 4
    assert "the model failed its check" in shown.err
    assert "nowhere" in shown.err
    assert cli("check", "small.onnx").code == 0
    assert cli("check", "small.onnx", "--opset", "13").code == 4
