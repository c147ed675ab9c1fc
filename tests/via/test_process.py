"""How another converter is run: apart from us, within limits, and its faults become typed errors."""

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from anyonnx.converters import via
from anyonnx.converters.api import to_onnx
from anyonnx.converters.via_process import guarded, last_words, own_environment
from anyonnx.symbolic.errors import (
    CaptureError,
    InputSpecError,
    MissingDependency,
    TranslationError,
    UnsupportedOps,
)

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
MODEL = LinearRegression().fit(X, X @ [1.0, 2.0, 3.0])
DUMP = "import json, os, sys; json.dump(dict(os.environ), open({!r}, 'w')); print('odd'); sys.exit('it gave up')"
COPY = "import json, shutil, sys; shutil.copy({!r}, json.load(open(sys.argv[1]))['output'])"


class Twice(RegressorMixin, BaseEstimator):
    def fit(self, x, y):
        self.n_features_in_ = x.shape[1]
        return self

    def predict(self, x):
        return np.array([2 * float(row[0]) for row in x])  # no graph can be read off a Python loop


@pytest.fixture
def worker(monkeypatch, tmp_path):
    """Puts a script in the place of the peers."""

    def install(code):
        script = tmp_path / "worker.py"
        script.write_text(code)
        monkeypatch.setattr(via, "_WORKER", script)

    return install


def written(tmp_path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    domains = {"": 18, **{n.domain: 1 for n in nodes if n.domain}}
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in domains.items()])
    onnx.save(model, tmp_path / "theirs.onnx")
    return COPY.format(str(tmp_path / "theirs.onnx"))


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


# --- which one -------------------------------------------------------------------------------------------------------


def test_a_peer_for_another_framework_names_the_right_one():
    with pytest.raises(
        InputSpecError, match="tf2onnx converts keras, tensorflow and tflite; for sklearn models there is skl2onnx"
    ):
        to_onnx(MODEL, X, via="tf2onnx")


def test_an_unknown_peer_names_the_right_one():
    with pytest.raises(InputSpecError, match="no converter 'skl2onx'; for sklearn models there is skl2onnx"):
        to_onnx(MODEL, X, via="skl2onx")


def test_an_absent_peer_says_what_to_install(monkeypatch):
    monkeypatch.setitem(via.PEERS, "skl2onnx", via.Peer("skl2onnx", ("sklearn",), "no_such_package", 18))
    with pytest.raises(MissingDependency, match=r"--via skl2onnx needs the package no_such_package.*anyonnx\[peers\]"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_an_unsupported_operator_names_the_peer_that_may_know_it():
    with pytest.raises(UnsupportedOps, match="Another converter may know it: --via skl2onnx"):
        to_onnx(Twice().fit(X, None), X)
    assert via.advice("xgboost").count("--via onnxmltools") == 1
    assert via.advice("onnx") == ""


def test_command_line():
    command = [sys.executable, "-m", "anyonnx", "convert", str(ROOT / "fixtures" / "cancer_lightgbm.txt")]
    ended = subprocess.run([*command, "--via", "tf2onnx"], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "for lightgbm models there is onnxmltools" in ended.stderr


# --- kept apart ------------------------------------------------------------------------------------------------------


def test_no_peer_is_imported_here(tmp_path):
    code = (
        "import sys, pathlib; from anyonnx.converters.api import to_onnx\n"
        f"path = pathlib.Path({str(ROOT / 'fixtures' / 'digits_pipeline.skops')!r})\n"
        "to_onnx(path)\n"
        "assert 'anyonnx.converters.via' not in sys.modules, 'the default way'\n"
        "to_onnx(path, via='skl2onnx')\n"
        f"found = {{m.split('.')[0] for m in sys.modules}} & set({_packages()!r})\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def _packages():
    return sorted({p.package for p in via.PEERS.values()} | {"onnxconverter_common"})


def test_only_the_worker_imports_peers():
    found = set()
    for folder in ("anyonnx", "symbolic", "optimization", "validation", "converters", "cli"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                found |= {path.name for n in names if n.split(".")[0] in _packages() or n.startswith("torch.onnx")}
    assert found == {"via_worker.py"}


def test_surroundings_and_last_words(worker, tmp_path, monkeypatch):
    worker(DUMP.format(str(tmp_path / "seen.json")))
    with pytest.raises(CaptureError, match=r"skl2onnx can't convert this model \(ended with 1\): it gave up"):
        to_onnx(MODEL, X, via="skl2onnx")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["PIP_NO_INDEX"] == seen["PIP_REQUIRE_VIRTUALENV"] == "1"
    assert seen["HOME"] != os.environ.get("HOME")
    assert not Path(seen["HOME"]).exists(), "the private home outlives the conversion"


def test_time_limit(worker, monkeypatch):
    worker("import time; time.sleep(60)")
    monkeypatch.setattr(via, "LIMIT", 0.5)
    started = time.monotonic()
    with pytest.raises(CaptureError, match="took more than"):
        to_onnx(MODEL, X, via="skl2onnx")
    assert time.monotonic() - started < 20


def test_a_process_takes_its_children_along():
    code, text = guarded(["sh", "-c", "sleep 60 & echo $!"], dict(os.environ), 30)
    assert code == 0
    for _ in range(50):
        state = Path(f"/proc/{text.strip()}/stat")
        if not state.exists() or ") Z" in state.read_text():
            return
        time.sleep(0.1)
    pytest.fail("the child is still there")


def test_a_crash_is_an_error(worker):
    worker("import os; print('so far so good', flush=True); os.abort()")
    with pytest.raises(CaptureError, match=r"ended with -6\): so far so good"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_no_model_is_an_error(worker):
    worker("print('done')")
    with pytest.raises(CaptureError, match=r"wrote no model\): done"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_last_words_are_the_exception_and_its_cause():
    text = (
        'noise\nTraceback (most recent call last):\n  File "a.py", line 1\n    f()\nKeyError: "Erfc"\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "b.py", line 2\n    g()\n\x1b[96mValueError\x1b[0m: no way\nmore\n'
    )
    assert last_words(text) == 'ValueError: no way; caused by KeyError: "Erfc"'
    assert last_words("") == "no message"


def test_an_environment_that_cannot_be_made_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(MissingDependency, match=r"--via paddle2onnx: .*can't be made .*pip install no-such-thing==1.0"):
        own_environment("paddle2onnx", ["no-such-thing==1.0"])
    assert not list((tmp_path / "anyonnx" / "peers").iterdir()), "half an environment is left"


# --- what a peer may write -------------------------------------------------------------------------------------------


def test_another_number_of_inputs(worker, tmp_path):
    node = helper.make_node("Add", ["a", "b"], ["y"])
    worker(written(tmp_path, [node], [tensor("a", "n", 3), tensor("b", "n", 3)], [tensor("y", "n", 3)]))
    with pytest.raises(TranslationError, match=r"a model with 2 inputs \(a, b\); the source has 1 \(X\)"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_another_number_of_outputs(worker, tmp_path):
    nodes = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Neg", ["a"], ["z"])]
    worker(written(tmp_path, nodes, [tensor("a", "n", 3)], [tensor("y", "n", 3), tensor("z", "n", 3)]))
    with pytest.raises(TranslationError, match=r"a model with 2 outputs \(y, z\); the source has 1 \(variable\)"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_another_input_type(worker, tmp_path):
    node = helper.make_node("Relu", ["a"], ["y"])
    double = helper.make_tensor_value_info("a", TensorProto.DOUBLE, ["n", 3])
    worker(written(tmp_path, [node], [double], [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 3])]))
    with pytest.raises(TranslationError, match="takes X as double, the source as float32"):
        to_onnx(MODEL, X, via="skl2onnx")


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_a_foreign_operator_is_named_with_its_node(worker, tmp_path, domain):
    node = helper.make_node("Solve", ["a"], ["y"], name="the_node", domain=domain)
    worker(written(tmp_path, [node], [tensor("a", "n", 3)], [tensor("y", "n", 1)]))
    with pytest.raises(UnsupportedOps, match="Solve x1 at the_node: skl2onnx left it in its model"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_an_invalid_node_is_an_error(worker, tmp_path):
    node = helper.make_node("Relu", ["a"], ["y"], name="the_node", noop_with_empty_axes=1)
    worker(written(tmp_path, [node], [tensor("a", "n", 3)], [tensor("y", "n", 3)]))
    with pytest.raises(TranslationError, match=r"Relu.*noop_with_empty_axes.*the_node"):
        to_onnx(MODEL, X, via="skl2onnx")


def test_garbage_is_an_error(worker, tmp_path):
    (tmp_path / "theirs.onnx").write_bytes(b"no model")
    worker(COPY.format(str(tmp_path / "theirs.onnx")))
    with pytest.raises(CaptureError, match="skl2onnx wrote no ONNX model"):
        to_onnx(MODEL, X, via="skl2onnx")
