"""The operator stub file is what the installed onnx package gives."""

from pathlib import Path

import anyonnx.symbolic.stubs as stubs


def test_the_checked_in_stubs_are_current():
    checked_in = Path(stubs.__file__).with_name("builder_ops.pyi").read_text()
    assert checked_in == stubs.stub_text(), "run: python -m anyonnx.symbolic.stubs"
