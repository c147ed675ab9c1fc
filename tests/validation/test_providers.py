from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from anyonnx.symbolic.errors import InputSpecError, MissingDependency
from anyonnx.validation.models import load_model
from anyonnx.validation.providers import ProviderError, UnsupportedByProvider, available, names, resolve
from anyonnx.validation.providers.ort import OnnxRuntime, import_onnxruntime

FLOAT, BF16 = TensorProto.FLOAT, TensorProto.BFLOAT16


def settings():
    return [*resolve(["onnxruntime-cpu"]), *resolve(["onnx-reference"])]


def ids(provider):
    return f"{provider.name} {provider.setting}"


@pytest.fixture(params=settings(), ids=ids)
def provider(request):
    yield request.param
    request.param.close()


def matmul(build, weight, **options):
    return build(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": (FLOAT, ["n", weight.shape[0]])},
        {"y": (FLOAT, ["n", weight.shape[1]])},
        {"w": weight},
        **options,
    )


def test_registry():
    assert names() == ["onnxruntime-cpu", "onnx-reference"]
    assert available() == {"onnxruntime-cpu": "", "onnx-reference": ""}
    assert [p.setting for p in resolve(None)] == ["optimisations off", "optimisations on"]
    assert [p.name for p in resolve("onnx-reference")] == ["onnx-reference"]
    with pytest.raises(InputSpecError, match="unknown provider 'tensorrt'"):
        resolve(["tensorrt"])


@pytest.mark.parametrize("size", [3, 200], ids=["small", "big"])
def test_every_form_of_a_model(provider, build, tmp_path, size):
    generator = np.random.default_rng(0)
    weight = generator.standard_normal((size, size)).astype(np.float32)
    x = generator.standard_normal((2, size)).astype(np.float32)
    model = matmul(build, weight)
    inside, outside = tmp_path / "inside.onnx", tmp_path / "outside.onnx"
    onnx.save(model, inside)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    onnx.save(copy, outside, save_as_external_data=True, location="outside.data", size_threshold=0)
    for form in (model, ir.from_proto(model), inside, str(outside), ir.load(outside)):
        np.testing.assert_allclose(provider.run(form, {"x": x})["y"], x @ weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint16", "int64", "bool", "object"])
def test_dtypes_pass_through(provider, build, dtype):
    array = np.array([["a", "b"]], object) if dtype == "object" else np.array([[0, 1]]).astype(dtype)
    kind = TensorProto.STRING if dtype == "object" else helper.np_dtype_to_tensor_dtype(array.dtype)
    model = build([helper.make_node("Identity", ["x"], ["y"])], {"x": (kind, [1, 2])}, {"y": (kind, [1, 2])})
    result = provider.run(model, {"x": array})["y"]
    assert result.dtype.kind == array.dtype.kind or dtype == "object"
    assert result.tolist() == array.tolist()


@pytest.mark.parametrize("optimize", [False, True])
def test_bfloat16_through_onnxruntime(build, optimize):
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(ml_dtypes.bfloat16)
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Cast", ["x"], ["z"], to=FLOAT)]
    model = build(nodes, {"x": (BF16, [3, 4])}, {"y": (BF16, [3, 4]), "z": (FLOAT, [3, 4])})
    result = OnnxRuntime("cpu", optimize=optimize).run(model, {"x": x})
    assert result["y"].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(result["y"].view(np.uint16), x.view(np.uint16))
    np.testing.assert_array_equal(result["z"], x.astype(np.float32))


def test_big_bfloat16_weights(build):
    weight = np.random.default_rng(0).standard_normal((100, 100)).astype(ml_dtypes.bfloat16)
    model = build(
        [helper.make_node("Cast", ["w"], ["y"], to=FLOAT)],
        {},
        {"y": (FLOAT, [100, 100])},
        {"w": weight},
    )
    assert list(load_model(model).weights) == ["w"]
    for one in resolve(None):
        np.testing.assert_array_equal(one.run(model, {})["y"], weight.astype(np.float32))


def test_scalars_and_non_contiguous_inputs(provider, build):
    model = build(
        [helper.make_node("Mul", ["x", "s"], ["y"])],
        {"x": (FLOAT, [3, 2]), "s": (FLOAT, [])},
        {"y": (FLOAT, [3, 2])},
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3).T
    result = provider.run(model, {"x": x, "s": np.float32(2)})["y"]
    np.testing.assert_array_equal(result, x * 2)


def test_sequence_outputs_are_lists(provider, build):
    node = helper.make_node("SplitToSequence", ["x"], ["y"], axis=0)
    model = build([node], {"x": (FLOAT, [2, 3])}, {"t": (FLOAT, [1, 3])})
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    del model.graph.output[:]
    model.graph.output.append(helper.make_value_info("y", kind))
    result = provider.run(model, {"x": np.ones((2, 3), np.float32)})["y"]
    assert isinstance(result, list)
    assert len(result) == 2


def test_subgraph_weights_and_captured_values(build, tmp_path):
    weight = np.random.default_rng(0).standard_normal((80, 80)).astype(np.float32)
    branches = {}
    for name, factor in (("then_branch", 1), ("else_branch", 2)):
        out = helper.make_tensor_value_info(f"{name}_z", FLOAT, ["n", 80])
        inner = helper.make_graph(
            [
                helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_p"]),
                helper.make_node("MatMul", [f"{name}_p", "w"], [f"{name}_z"]),
            ],
            name,
            [],
            [out],
            [onnx.numpy_helper.from_array(weight * np.float32(factor), f"{name}_w")],
        )
        branches[name] = inner
    model = build(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        {"x": (FLOAT, ["n", 80]), "c": (TensorProto.BOOL, [])},
        {"y": (FLOAT, ["n", 80])},
        {"w": weight},
    )
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    x = np.ones((1, 80), np.float32)
    for form in (model, ir.from_proto(model), path):
        for one in resolve(None):
            got = one.run(form, {"x": x, "c": np.array(False)})["y"]
            np.testing.assert_allclose(got, x @ (2 * weight) @ weight, rtol=1e-4, atol=1e-3)


def test_missing_kernel_is_unsupported(build):
    model = build(
        [helper.make_node("MatMul", ["x", "x"], ["y"])],
        {"x": (BF16, [2, 2])},
        {"y": (BF16, [2, 2])},
    )
    for one in resolve(None):
        with pytest.raises(UnsupportedByProvider, match="MatMul"):
            one.run(model, {"x": np.ones((2, 2), ml_dtypes.bfloat16)})


def test_rejected_models_and_failed_runs_are_errors(build, capfd):
    bad = build([helper.make_node("NoSuchOp", ["x"], ["y"])], {"x": (FLOAT, [2])}, {"y": (FLOAT, [2])})
    run_time = build(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        {"x": (FLOAT, ["n"]), "s": (TensorProto.INT64, [1])},
        {"y": (FLOAT, ["m"])},
    )
    for one in resolve(None):
        with pytest.raises(ProviderError, match=r"rejects the model.*NoSuchOp") as caught:
            one.run(bad, {"x": np.ones(2, np.float32)})
        assert not isinstance(caught.value, UnsupportedByProvider)
        with pytest.raises(ProviderError, match="onnxruntime failed"):
            one.run(run_time, {"x": np.ones(2, np.float32), "s": np.array([3])})
        with pytest.raises(ProviderError, match="onnxruntime failed"):
            one.run(run_time, {"x": np.ones(2, np.float64), "s": np.array([2])})
    assert capfd.readouterr().err == ""


def test_loops_are_refused_by_the_reference(build):
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Add", ["v", "v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("w", FLOAT, [2])],
    )
    model = build(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        {"x": (FLOAT, [2]), "n": (TensorProto.INT64, [])},
        {"y": (FLOAT, [2])},
    )
    inputs = {"x": np.ones(2, np.float32), "n": np.array(3)}
    with pytest.raises(UnsupportedByProvider, match="Loop"):
        resolve("onnx-reference")[0].run(model, inputs)
    for one in resolve(None):
        np.testing.assert_array_equal(one.run(model, inputs)["y"], [8, 8])


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, BF16])
@pytest.mark.parametrize("op", ["Softmax", "ReduceSum", "Gelu"])
def test_onnx_reference_rounds_half_precision_behind_each_operator(build, dtype, op):
    own = helper.tensor_dtype_to_np_dtype(dtype)
    x = np.linspace(-3, 3, 600).reshape(1, 600).astype(own)
    half = build([helper.make_node(op, ["x"], ["y"])], {"x": (dtype, x.shape)}, {"y": (dtype, None)})
    single = build([helper.make_node(op, ["x"], ["y"])], {"x": (FLOAT, x.shape)}, {"y": (FLOAT, None)})
    result, truth = (
        resolve("onnx-reference")[0].run(model, {"x": fed})["y"] for model, fed in ((half, x), (single, x.astype("f4")))
    )
    assert result.dtype == own
    np.testing.assert_array_equal(result, truth.astype(own))


def test_onnx_reference_gathers_elements_of_long_axes(build):
    data, index = np.arange(200.0, dtype=np.float32).reshape(2, 100), np.array([[99, -2, 0]])
    model = build(
        [helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1)],
        {"x": (FLOAT, data.shape), "i": (TensorProto.INT64, index.shape)},
        {"y": (FLOAT, index.shape)},
    )
    np.testing.assert_array_equal(resolve("onnx-reference")[0].run(model, {"x": data, "i": index})["y"], [[99, 98, 0]])


def test_session_is_kept_for_the_same_model(build):
    loaded = load_model(matmul(build, np.eye(2, dtype=np.float32)))
    one = OnnxRuntime("cpu", optimize=True)
    one.run(loaded, {"x": np.ones((1, 2), np.float32)})
    session = one._session
    one.run(loaded, {"x": np.ones((3, 2), np.float32)})
    assert one._session is session
    one.close()
    assert one._session is None


def test_absent_execution_provider_gives_its_reason():
    one = resolve(["onnxruntime:NoSuchExecutionProvider"])[0]
    assert "has no NoSuchExecutionProvider" in one.available()


def test_work_left_to_the_cpu_is_a_fall_back(build):
    # The Azure provider is in every onnxruntime wheel, and takes no standard operator.
    one = resolve(["onnxruntime:AzureExecutionProvider"])[0]
    if one.available():
        pytest.skip(one.available())
    with pytest.raises(InputSpecError, match="has run no model"):
        one.placement()
    one.run(matmul(build, np.eye(2, dtype=np.float32)), {"x": np.ones((1, 2), np.float32)})
    placement = one.placement()
    assert placement.fell_back
    assert placement.nodes == {"CPUExecutionProvider": 1}
    assert "MatMul x1" in str(placement)


def test_missing_onnxruntime(monkeypatch, build):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "onnxruntime" else real(name, *a))
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    one = resolve(None)[0]
    assert "pip install 'anyonnx[runtime]'" in one.available()
    assert one.version() == ""
    with pytest.raises(MissingDependency, match="onnxruntime"):
        import_onnxruntime()
    with pytest.raises(MissingDependency):
        one.run(matmul(build, np.eye(2, dtype=np.float32)), {"x": np.ones((1, 2), np.float32)})
