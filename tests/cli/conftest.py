import sys
from dataclasses import dataclass

import pytest


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of the error."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Runs a command in an empty directory of its own; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*args, command="anyonnx"):
        from anyonnx.cli import app

        capsys.readouterr()
        main = {"anyonnx": app.main, "convert": app.convert_main}[command]
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        shown = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), shown.out, shown.err)

    return run


@pytest.fixture
def onnx_model(tmp_path):
    """A small ONNX file at opset 17: y = relu(x + w), batch open."""
    from onnx import TensorProto, helper, numpy_helper, save

    import numpy as np  # isort: skip

    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "w"], ["sum"], name="add"),
            helper.make_node("Relu", ["sum"], ["y"], name="relu"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(np.array([1, -2, 3], np.float32), "w")],
    )
    path = tmp_path / "small.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
