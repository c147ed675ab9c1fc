from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from onnx import TensorProto, helper
from rich.console import Console

from anyonnx.symbolic.errors import InputSpecError, ParityError
from anyonnx.validation.parity import ParityReport, ParityRow, compare_model

FLOAT = TensorProto.FLOAT


@pytest.fixture
def report(build) -> ParityReport:
    """A pass, a failure with infinite metrics and hostile names, a skip."""
    model = build(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["[z]<&\x01"])],
        {"x": (FLOAT, ["n", 4])},
        {"y": (FLOAT, ["n", 4]), "[z]<&\x01": (FLOAT, ["n", 4])},
    )
    return compare_model(
        model,
        lambda i: {"y": i["x"], "[z]<&\x01": 0 * i["x"]},
        [{"x": np.ones((2, 4), np.float32)}],
        providers=["onnxruntime-cpu", "onnxruntime:NoSuchExecutionProvider"],
    )


def test_json_is_strict_and_complete(report, tmp_path):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    data = json.loads(report.to_json(), parse_constant=refuse)
    assert data["passed"] is False
    assert data["conversion_failed"] is True
    assert data["counts"] == {"pass": 2, "fail": 2, "skipped": 2}
    failed = [row for row in data["rows"] if row["status"] == "fail"]
    assert failed[0]["metrics"]["sc"] == "inf"
    assert failed[0]["tolerance"]["tier"] == "fp32-exact"
    assert failed[0]["blame"] == "conversion"
    assert len(data["inputs"][0]["sha256"]) == 64
    assert data["inputs"][0]["shapes"] == {"x": "float32[2, 4]"}
    assert "onnxruntime-cpu" in data["versions"]
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text()) == data


def test_junit_is_well_formed(report, tmp_path):
    report.save(tmp_path / "report.xml")
    root = ET.parse(tmp_path / "report.xml").getroot()
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "2", "2")
    cases = suite.findall("testcase")
    assert len(cases) == 6
    assert len(suite.findall("testcase/failure")) == 2
    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message", "").startswith("skipped: the installed onnxruntime")
    assert {case.get("name") for case in cases} == {"set 0: y", "set 0: [z]<&?", "run"}


def test_save_refuses_other_suffixes_and_leaves_nothing(report, tmp_path):
    with pytest.raises(InputSpecError, match=r"use \.json or \.xml"):
        report.save(tmp_path / "report.txt")
    assert list(tmp_path.iterdir()) == []


def test_save_leaves_no_temporary_file(report, tmp_path):
    report.save(str(tmp_path / "a.json"))
    report.save(str(tmp_path / "a.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_text_says_what_and_why(report):
    text = str(report)
    assert text.startswith("parity: FAILED (")
    assert "sc inf > 5e-06" in text
    assert "tolerance fp32-exact (sc<=5e-06, 1-cos<=1e-10): float32 output" in text
    assert "sha256" in text
    assert text in str(ParityError(report))


def test_render_keeps_square_brackets(report):
    out = io.StringIO()
    report.render(Console(file=out, width=200, color_system=None))
    assert "[z]<&?" in out.getvalue()
    assert "\x01" not in str(report) + out.getvalue()
    assert "parity: FAILED" in out.getvalue()


@pytest.mark.parametrize(("width", "shown"), [(200, True), (80, False)])
def test_render_fits_the_terminal(report, width, shown):
    out = io.StringIO()
    report.render(Console(file=out, width=width, color_system=None))
    assert ("SQNR" in out.getvalue()) == shown
    assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) <= width


def test_empty_report_did_not_pass():
    report = ParityReport()
    assert not report.passed
    assert str(report) == "parity: NOT PROVED (nothing was run)"
    assert json.loads(report.to_json())["rows"] == []
    assert ET.fromstring(report.to_junit().split("\n", 1)[1]).get("tests") == "0"


@pytest.mark.parametrize("status", ["unsupported", "skipped", "fell-back"])
def test_only_rows_that_prove_nothing(status):
    report = ParityReport(rows=[ParityRow(0, "p", "", "y", status, "why")])
    assert not report.passed
    assert "NOT PROVED" in report.headline()
    report.rows.append(ParityRow(0, "q", "", "y", "pass"))
    assert report.passed
