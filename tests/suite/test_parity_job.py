"""The parity job: a matrix of models and opsets; a wrong model makes it fail, a dying process costs one case."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest

from anyonnx.converters.suite import Case, SuiteReport, read_suite, run_suite
from anyonnx.symbolic.errors import InputSpecError

FIXTURES = Path(__file__).parents[2] / "fixtures"


def parity(*args, **options):
    command = [sys.executable, "-m", "anyonnx", "parity", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def small_model(path: Path, op: str = "Relu", opset: int = 17) -> Path:
    tensor = onnx.helper.make_tensor_value_info
    inputs, outputs = [tensor("x", 1, ["n", 2])], [tensor("y", 1, ["n", 2])]
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, ["x"], ["y"], name="act")], "g", inputs, outputs)
    imports = [onnx.helper.make_opsetid("", opset)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


WRONG = '''
import anyonnx
from anyonnx.symbolic import registry

@anyonnx.symbolic("onnx", "Sigmoid", since=13, until=13, override=True)
def wrong(g, x):
    """Sigmoid, planted wrong at opset 13."""
    return g.raw("Sigmoid", x) * 1.01

@anyonnx.symbolic("onnx", "Sigmoid", since=15, until=15, override=True)
def deadly(g, x):
    """Sigmoid that kills the process at opset 15."""
    import os
    os._exit(9)
'''


def test_a_wrong_model_fails_and_a_dying_process_costs_one_case(tmp_path):
    small_model(tmp_path / "good.onnx")
    small_model(tmp_path / "bad.onnx", "Sigmoid")
    (tmp_path / "sitecustomize.py").write_text(WRONG)  # planted in the job's own processes
    (tmp_path / "parity.toml").write_text(
        '[defaults]\nframework = "onnx"\n'
        '[[model]]\npath = "good.onnx"\nopsets = [11, 21]\n'
        '[[model]]\npath = "bad.onnx"\nopsets = [12, 13, 15, 17]\n'
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "anyonnx",
        "parity",
        str(tmp_path / "parity.toml"),
        "--report",
        str(tmp_path / "r.json"),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    found = json.loads((tmp_path / "r.json").read_text())
    statuses = {(c["name"], c["opset"]): c["status"] for c in found["cases"]}
    assert statuses == {
        ("good.onnx", 11): "pass",
        ("good.onnx", 21): "pass",
        ("bad.onnx", 12): "pass",
        ("bad.onnx", 13): "fail",
        ("bad.onnx", 15): "crashed",
        ("bad.onnx", 17): "pass",
    }
    assert ended.returncode == 5 and not found["passed"]
    assert "4 of 6 as they should be" in ended.stdout and "act" in ended.stderr  # the node is named


def test_refusals_can_be_expected(tmp_path):
    small_model(tmp_path / "m.onnx", "Mish", 18)
    case = {"name": "m", "path": str(tmp_path / "m.onnx"), "framework": "onnx"}
    report = run_suite([Case(**case, opset=18), Case(**case, opset=21, refused=True)])
    assert [o.status for o in report.outcomes] == ["pass", "fail"]
    assert "expected to be refused" in report.outcomes[1].detail and report.exit_code == 5
    tree = ElementTree.fromstring(report.to_junit())
    assert tree.get("tests") == "2" and tree.get("failures") == "1"
    assert not SuiteReport().passed and SuiteReport().exit_code == 2


@pytest.mark.parametrize(
    "text, message",
    [
        ("[[model]]\npath = 'm.onnx'\nopset = 3", "unknown key opset"),
        ("[[model]]\nname = 'm'", "has no path"),
        ("models = 1", "models"),
        ("[[model", "no TOML file"),
        ("[[model]]\npath = 'm.onnx'\nopsets = [9]", "11 to 25"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(tmp_path, text, message):
    (tmp_path / "parity.toml").write_text(text)
    ended = parity(tmp_path / "parity.toml")
    assert ended.returncode in (2, 8) and message in ended.stderr and len(ended.stderr.strip().splitlines()) == 1


def test_the_file_lists_every_fixture():
    listed = {Path(c.path).name for c in read_suite(FIXTURES / "parity.toml")}
    models = {p.name for p in FIXTURES.iterdir() if p.suffix not in (".py", ".npz", ".toml", ".pdiparams", ".pyc")}
    assert models - listed - {"__pycache__"} == set()
    assert all(Path(c.path).exists() for c in read_suite(FIXTURES / "parity.toml"))


def test_recorded_outputs_stand_in_for_a_missing_framework(monkeypatch):
    from anyonnx import to_onnx
    from anyonnx.converters.from_onnx import OnnxSource
    from anyonnx.symbolic.errors import MissingDependency, ParityError

    def absent(self, inputs):
        raise MissingDependency("somework", "somework", "running the source")

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> agraph (float[n, 2] x) => (float[n, 2] y) { y = Relu(x) }'
    )
    monkeypatch.setattr(OnnxSource, "run", absent)
    without = to_onnx(model)
    assert without.parity is None and "somework" in without.not_compared and "NOT COMPARED" in str(without)
    data = np.array([[-1, 2]], np.float32)
    compared = to_onnx(model, reference={"x": data, "y": np.maximum(data, 0)})
    assert compared.parity.passed and "recorded" in str(compared.parity)
    with pytest.raises(ParityError):
        to_onnx(model, reference={"x": data, "y": data})
    with pytest.raises(InputSpecError, match="lacks y"):
        to_onnx(model, reference={"x": data})
