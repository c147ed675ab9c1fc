"""Every Paddle op and the ways of using it, against Paddle, optimisations off and on, open sizes twice."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
CHUNKS = 8

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(importlib.util.find_spec("paddle") is None, reason="paddle isn't installed")


@pytest.fixture(scope="module")
def names():
    return json.loads(run("--list")[-1])


def run(*arguments):
    """Lines that the runner prints, in a process that imports only paddle."""
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "paddle_run.py"), *arguments], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, f"the process died ({done.returncode}): {done.stderr[-2000:]}"
    return [line for line in done.stdout.splitlines() if line.startswith(("{", "["))]


def failures(names, chunk, *options):
    chosen = names[chunk::CHUNKS]
    results = [json.loads(line) for line in run(*options, *chosen)]
    assert [r["case"] for r in results] == chosen
    return {r["case"]: r["failure"] for r in results if r["failure"]}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_ops_at_the_oldest_and_newest_opset(names, chunk):
    assert not failures(names, chunk)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_ops_at_all_opsets(names, chunk):
    assert not failures(names, chunk, "--opsets=11,13,17,21,25")
