from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from anyonnx.symbolic.errors import CheckFailed, InputSpecError
from anyonnx.validation.checker import check_model
from anyonnx.validation.models import BIG_WEIGHT, load_model

FLOAT = TensorProto.FLOAT
X = {"x": (FLOAT, ["n", 64])}
Y = {"y": (FLOAT, ["n", 64])}
BIG = np.ones((64, 64), np.float32)  # exactly BIG_WEIGHT bytes


def forms(model, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return [model, ir.from_proto(model), path, str(path)]


def problems(model, **options):
    with pytest.raises(CheckFailed) as caught:
        check_model(model, **options)
    return "\n".join(caught.value.problems)


def test_valid_model_passes_in_every_form(build, tmp_path):
    model = build([helper.make_node("MatMul", ["x", "w"], ["y"])], X, Y, {"w": BIG})
    for form in forms(model, tmp_path):
        check_model(form, opset=21)
        check_model(form)


def test_declared_opset_must_be_the_asked_one(build, tmp_path):
    model = build([helper.make_node("Relu", ["x"], ["y"])], X, Y)
    for form in forms(model, tmp_path):
        assert "declares opset 21; the asked opset is 13" in problems(form, opset=13)


def test_all_problems_come_at_once(build):
    nodes = [
        helper.make_node("Upsample", ["x", "s"], ["a"]),
        helper.make_node("NoSuchOp", ["a"], ["b"]),
        helper.make_node("Gelu", ["b"], ["c"], domain="com.vendor"),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    text = problems(build(nodes, X, Y, {"s": np.ones(2, np.float32)}, ir_version=99), opset=20)
    for part in (
        "Upsample is deprecated since opset 10",
        "NoSuchOp does not exist in opset 21",
        "com.vendor::Gelu is of a foreign domain",
        "IR version 99 is not allowed",
        "asked opset is 20",
    ):
        assert part in text


def test_operator_newer_than_the_declared_opset(build):
    model = build([helper.make_node("Gelu", ["x"], ["y"])], X, Y, opset=19, ir_version=9)
    assert "Gelu does not exist in opset 19" in problems(model, opset=19)


def test_foreign_node_in_a_subgraph_is_found(build, tmp_path):
    inner = helper.make_graph(
        [helper.make_node("Fused", ["x"], ["z"], domain="com.vendor")],
        "then",
        [],
        [helper.make_tensor_value_info("z", FLOAT, ["n", 64])],
    )
    other = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "else", [], [helper.make_tensor_value_info("r", FLOAT, ["n", 64])]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=other)
    model = build([node], {**X, "c": (TensorProto.BOOL, [])}, Y, imports={"com.vendor": 1})
    for form in forms(model, tmp_path):
        assert "com.vendor::Fused is of a foreign domain" in problems(form)
    check_model(model, domains=("", "com.vendor"))


def function(op: str, domain: str = "") -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.vendor", 1)]
    return helper.make_function(
        "local", "F", ["a"], ["b"], [helper.make_node(op, ["a"], ["b"], domain=domain)], imports
    )


def test_local_functions_are_ours_but_their_bodies_are_checked(build, tmp_path):
    call = [helper.make_node("F", ["x"], ["y"], domain="local")]
    good = build(call, X, Y, functions=[function("Relu")], imports={"local": 1})
    for form in forms(good, tmp_path):
        check_model(form, opset=21)
    bad = build(call, X, Y, functions=[function("Fused", "com.vendor")], imports={"local": 1, "com.vendor": 1})
    for form in forms(bad, tmp_path):
        assert "in function local::F: com.vendor::Fused is of a foreign domain" in problems(form)
    old = build(call, X, Y, functions=[function("Relu")], imports={"local": 1}, ir_version=7)
    assert "local functions need IR version 8" in problems(old)


@pytest.mark.parametrize(
    "weight", [np.ones((60, 128), np.float32), np.ones((64, 64), np.float64)], ids=["shape", "dtype"]
)
def test_wrong_big_weight_is_found_without_its_data(build, tmp_path, weight):
    assert weight.nbytes >= BIG_WEIGHT
    model = build([helper.make_node("MatMul", ["x", "w"], ["y"])], X, Y, {"w": weight})
    for form in forms(model, tmp_path):
        assert "shape_inference" in problems(form)


def test_weight_whose_data_do_not_fit_its_shape(build):
    model = build([helper.make_node("MatMul", ["x", "w"], ["y"])], X, Y, {"w": BIG})
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data + b"1234"
    assert "initializer w: its data don't fit its shape" in problems(model)


def test_declared_output_shape_must_be_possible(build):
    model = build([helper.make_node("Relu", ["x"], ["y"])], X, {"y": (FLOAT, ["n", 65])})
    assert "shape_inference" in problems(model)


def test_ai_onnx_is_the_default_domain(build):
    model = build([helper.make_node("Relu", ["x"], ["y"])], X, Y)
    model.opset_import[0].domain = "ai.onnx"
    check_model(model, opset=21)


def test_ml_operators_are_standard(build):
    node = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])
    check_model(build([node], X, Y, ml=3), opset=21)
    assert "imports no opset of domain ai.onnx.ml" in problems(build([node], X, Y))


def test_external_data_stay_on_disk(build, tmp_path):
    model = build([helper.make_node("MatMul", ["x", "w"], ["y"])], X, Y, {"w": BIG})
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="model.data", size_threshold=0)
    check_model(path, opset=21)
    assert not load_model(path).weights
    (tmp_path / "model.data").unlink()
    assert "model.data" in problems(path)


def test_models_above_2_gb_are_checked_without_reading_their_weights(build, tmp_path):
    model = build([helper.make_node("MatMul", ["x", "w"], ["y"])], X, {"y": (FLOAT, ["n", 10_000_000])})
    size = 64 * 10_000_000 * 4  # 2.56 GB; the file is sparse, so it takes no disk
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(size)
    tensor = model.graph.initializer.add(name="w", data_type=FLOAT, dims=[64, 10_000_000])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(size))):
        tensor.external_data.add(key=key, value=value)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    check_model(path, opset=21)
    check_model(ir.load(path), opset=21)
    tensor.dims[0] = 63
    onnx.save(model, path)
    assert "shape_inference" in problems(path)


def test_ir_model_is_left_as_it_was(build):
    model = ir.from_proto(build([helper.make_node("MatMul", ["x", "w"], ["y"])], X, Y, {"w": BIG}))
    tensor = model.graph.initializers["w"].const_value
    check_model(model, opset=21)
    assert model.graph.initializers["w"].const_value is tensor
    assert [value.name for value in model.graph.inputs] == ["x"]


def test_big_weights_of_an_ir_model_are_not_copied():
    array = np.ones((64, 64), np.float32)
    x = ir.val("x", dtype=ir.DataType.FLOAT, shape=[2, 64])
    weight = ir.val("w", const_value=ir.tensor(array, name="w"))
    node = ir.node("MatMul", [x, weight])
    node.outputs[0].name = "y"
    node.outputs[0].dtype, node.outputs[0].shape = ir.DataType.FLOAT, ir.Shape([2, 64])
    graph = ir.Graph([x], node.outputs, nodes=[node], initializers=[weight], opset_imports={"": 21}, name="g")
    model = ir.Model(graph, ir_version=10)
    assert np.shares_memory(load_model(model).weights["w"], array)
    check_model(model, opset=21)


def test_unreadable_paths(tmp_path):
    with pytest.raises(InputSpecError, match="can't read the model"):
        check_model(tmp_path / "missing.onnx")
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"garbage garbage")
    with pytest.raises(CheckFailed, match="not an ONNX model"):
        check_model(garbage)
    with pytest.raises(InputSpecError, match="not a model"):
        check_model(3)  # type: ignore[arg-type]
