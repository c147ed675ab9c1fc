"""Every error gives its exit code and useful text only; a fake `to_onnx` raises it."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from anyonnx.symbolic import errors

ERRORS = [
    (errors.AnyonnxError("odd"), 1, "odd"),
    (errors.InputSpecError("no input called z"), 2, "no input called z"),
    (
        errors.UnsupportedOps([errors.MissingOp("aten", "cdist", 2, ("net.a",)), errors.MissingOp("aten", "svd")]),
        3,
        "2 unsup",
    ),
    (errors.CheckFailed(["node a: no type"]), 4, "the model failed its check"),
    (errors.ParityError("x 0.5"), 5, "the ONNX model differs from its source"),
    (errors.MissingDependency("torch", "torch"), 6, "pip install 'anyonnx[torch]'"),
    (errors.UntrustedFile("m.pkl", ["os.system"]), 7, "os.system"),
    (
        errors.OpsetError("Gelu", needs=20, target=13),
        8,
        "Gelu needs opset 20 or newer; the asked opset is 13",
    ),
    (errors.CaptureError("data-dependent if"), 9, "data-dependent if"),
    (errors.TranslationError("shape differs", op="aten::add"), 9, "aten::add: shape differs"),
    (PermissionError(13, "Permission denied", "x.onnx"), 2, "x.onnx: Permission denied"),
]


class Parity:
    passed = True
    rows = ()

    def __str__(self):
        return "y  max 1e-7  pass"

    def save(self, path):
        path.write_text(f"report {path.suffix}")


@pytest.fixture
def api(monkeypatch):
    """A fake converters.api; `api.asked` holds the last call, `api.error` is raised."""
    fake = ModuleType("anyonnx.converters.api")
    fake.asked, fake.error, fake.parity = {}, None, Parity()

    def to_onnx(model, inputs=None, *, output=None, on_stage=None, **options):
        fake.asked = {"model": model, "inputs": inputs, **options}
        on_stage("load", None)
        if fake.error is not None:
            raise fake.error
        on_stage("load", 0.25)
        output.write_bytes(b"onnx")
        graph = SimpleNamespace(all_nodes=lambda: iter([1, 2]))
        parity = fake.parity if options["compare"] else None
        model = SimpleNamespace(graph=graph)
        return SimpleNamespace(model=model, parity=parity, stages={"load": 0.25}, not_compared="")

    fake.to_onnx = to_onnx
    monkeypatch.setitem(sys.modules, "anyonnx.converters.api", fake)
    return fake


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "net.pt2"
    path.write_bytes(b"anything")
    return path


@pytest.mark.parametrize(("error", "code", "text"), ERRORS, ids=[type(e[0]).__name__ for e in ERRORS])
def test_exit_code_and_text(cli, api, model, tmp_path, error, code, text):
    api.error = error
    shown = cli("convert", model)
    assert shown.code == code
    assert text in shown.err
    assert "Traceback" not in shown.err
    assert shown.err.count("error:") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["net.pt2"]


def test_debug_shows_the_traceback_and_keeps_the_code(cli, api, model):
    api.error = errors.OpsetError("Gelu", needs=20, target=13)
    shown = cli("convert", model, "--debug")
    assert shown.code == 8
    assert "Traceback" in shown.err
    assert shown.err.strip().endswith("error: Gelu needs opset 20 or newer; the asked opset is 13")


def test_unsupported_ops_are_listed(cli, api, model):
    api.error = ERRORS[2][0]
    shown = cli("convert", model)
    assert "aten::cdist x2 at net.a" in shown.err
    assert "aten::svd" in shown.err


@pytest.mark.parametrize("debug", [False, True])
def test_an_unexpected_error(tmp_path, debug):
    (tmp_path / "dividing.py").write_text("1 / 0\n")
    command = [sys.executable, "-m", "anyonnx", "ops", "--plugin", "dividing", *(["--debug"] if debug else [])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    if debug:
        assert "Traceback" in done.stderr
    else:
        (line,) = done.stderr.strip().splitlines()
        assert line.startswith("error: unexpected ZeroDivisionError: division by zero at ")
        assert line.endswith("dividing.py:1; run it again with --debug for the traceback")


def test_result_and_stages(cli, api, model, tmp_path):
    shown = cli("convert", "net.pt2", "--opset", 17)
    assert shown.code == 0
    assert "y  max 1e-7  pass" in shown.out
    assert "wrote net.onnx: opset 17, 2 nodes, 4 B" in shown.out
    assert "load           0.25 s" in shown.err
    assert (tmp_path / "net.onnx").exists()


def test_not_compared_is_loud_even_when_quiet(cli, api, model):
    shown = cli("convert", model, "--no-compare", "--quiet")
    assert (shown.code, shown.out) == (0, "")
    assert "WARNING: net.onnx was NOT COMPARED with its source" in shown.err


def test_quiet(cli, api, model):
    shown = cli("convert", model, "--quiet")
    assert (shown.code, shown.out, shown.err) == (0, "", "")


def test_options_reach_to_onnx(cli, api, model):
    cli(
        *(
            "convert",
            model,
            "--from",
            "torch",
            "--input",
            "x:float32[batch,3]",
            "--opset",
            "13",
            "--no-optimize",
        ),
        *(
            "--provider",
            "onnxruntime-cpu",
            "--tolerance",
            "0.01",
            "--trust",
            "--plugin",
            "a.b",
            "--plugin",
            "c",
        ),
    )
    assert api.asked == {
        "model": model,
        "inputs": ("x:float32[batch,3]",),
        "dynamic": None,
        "framework": "torch",
        "opset": 13,
        "optimize": False,
        "compare": ["onnxruntime-cpu"],
        "tolerance": 0.01,
        "trust": True,
        "plugins": ("a.b", "c"),
        "reference": None,
        "via": None,
        "float32": False,
    }


@pytest.mark.parametrize("name", ["r.json", "r.xml"])
def test_report(cli, api, model, tmp_path, name):
    assert cli("convert", model, "--report", name).code == 0
    assert (tmp_path / name).read_text() == f"report {name[1:]}"


def test_report_is_written_when_parity_fails(cli, api, model, tmp_path):
    api.error = errors.ParityError(Parity())
    assert cli("convert", model, "--report", "r.json").code == 5
    assert (tmp_path / "r.json").exists()
    assert not (tmp_path / "net.onnx").exists()


def test_npz_gives_names_and_specs_open_dims(cli, api, model, tmp_path):
    import numpy as np

    np.savez(tmp_path / "in.npz", x=np.zeros((2, 3), np.float32))
    cli("convert", model, "--inputs", "in.npz", "--input", "x:float32[batch,3]")
    assert api.asked["dynamic"] == {"x": {0: "batch"}}
    assert api.asked["inputs"]["x"].shape == (2, 3)
    np.savez(tmp_path / "plain.npz", np.zeros((2, 3), np.float32))
    cli("convert", model, "--inputs", "plain.npz")
    assert isinstance(api.asked["inputs"], tuple)


def test_live_object(cli, api, tmp_path):
    (tmp_path / "my_zoo.py").write_text(
        "class Net:\n    size = 3\nready = Net()\ndef make():\n    return Net()\nclass Box:\n    ready = ready\n"
    )
    for name in ("Net", "ready", "Box.ready"):
        assert cli("convert", f"my_zoo:{name}").code == 0
        assert api.asked["model"].size == 3
    assert cli("convert", "my_zoo:make", "--from", "torch").code == 0
    assert api.asked["model"].size == 3
    assert cli("convert", "my_zoo:make", "--from", "jax").code == 0
    assert callable(api.asked["model"])
    assert (tmp_path / "make.onnx").exists()
    assert "say with --from" in cli("convert", "my_zoo:make").error
