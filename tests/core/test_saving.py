"""Saved files are whole, equal to the model, and nothing is left behind when saving fails."""

import os

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from anyonnx.converters.saving import save_model
from anyonnx.symbolic import GraphBuilder
from anyonnx.symbolic.errors import InputSpecError

DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


def model(dtype="float32"):
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", 3])
    big = np.random.default_rng(0).normal(size=(3, 30000))
    y = g.MatMul(
        x,
        g.Cast(
            g.initializer("big", big.astype(ir.DataType[dtype.upper()].numpy() if dtype == "bfloat16" else dtype)), to=1
        ),
    )
    g.output(g.Add(y, g.initializer("small", np.ones(1, np.float32))), "y")
    g.output(g.constant(np.array(["a", "é"], object)), "names")
    return g.build()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("limit", [10**9, 100_000])
def test_a_saved_file_holds_the_model(tmp_path, dtype, limit):
    made = model(dtype)
    path = save_model(made, tmp_path / "m.onnx", single_file_limit=limit)
    onnx.checker.check_model(str(path), full_check=True)
    assert sorted(os.listdir(tmp_path)) == (["m.onnx"] if limit > 100_000 else ["m.onnx", "m.onnx.data"])
    expected = onnxruntime.InferenceSession(ir.to_proto(made).SerializeToString()).run(None, {"x": DATA})
    found = onnxruntime.InferenceSession(str(path)).run(None, {"x": DATA})
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1].tolist() == ["a", "é"]
    # saving left the model as it was
    assert made.graph.initializers["big"].const_value.nbytes > 4000
    if limit > 100_000:
        assert onnx.load(path).SerializeToString(deterministic=True)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    made = model()

    def broken():
        raise OSError(28, "No space left on device")

    tensor = ir.LazyTensor(broken, dtype=ir.DataType.FLOAT, shape=ir.Shape([3, 30000]), name="big")
    made.graph.initializers["big"].const_value = tensor
    with pytest.raises(InputSpecError, match="No space left"):
        save_model(made, path)
    assert os.listdir(tmp_path) == ["m.onnx"] and path.read_bytes() == b"old"


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(InputSpecError, match=r"can't write .*No such file"):
        save_model(model(), tmp_path / "none" / "m.onnx")


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "folder.onnx").mkdir()
    for name in ("pipe.onnx", "folder.onnx"):
        with pytest.raises(InputSpecError, match="no regular file"):
            save_model(model(), tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["folder.onnx", "pipe.onnx"]
