from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from onnx import TensorProto, helper

from anyonnx.symbolic.errors import InputSpecError
from anyonnx.symbolic.spec import parse_spec
from anyonnx.validation.inputs import choose_sizes, make_inputs
from anyonnx.validation.parity import compare_model
from anyonnx.validation.providers import Placement, ProviderError, UnsupportedByProvider

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
BOTH = ["optimisations off", "optimisations on"]


def input_sets(*texts, base=None):
    specs = [parse_spec(text) for text in texts]
    return [make_inputs(specs, seed=which, sizes=choose_sizes(specs, which, base)) for which in (0, 1)]


def identity(build, kind=FLOAT):
    """y = x: the reference alone decides what is wrong."""
    return build([helper.make_node("Identity", ["x"], ["y"])], {"x": (kind, ["n", 4])}, {"y": (kind, ["n", 4])})


def against(build, reference, *, kind=FLOAT, text="x:float32[n,4]", **options):
    return compare_model(identity(build, kind), lambda i: {"y": reference(i["x"])}, input_sets(text), **options)


class Fake:
    """A provider that computes with a given function."""

    precision = ""

    def __init__(self, compute, *, name="fake", setting="", missing="", placement=None):
        self.compute, self.name, self.setting, self.missing = compute, name, setting, missing
        self.where = placement or Placement()

    def available(self):
        return self.missing

    def run(self, model, inputs):
        return {"y": self.compute(inputs["x"])}

    def placement(self):
        return self.where

    def version(self):
        return "1.0"

    def close(self):
        pass


def raising(error):
    def compute(x):
        raise error

    return compute


def mlp(build):
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 4)
    ).eval()
    w = {name: value.detach().numpy() for name, value in module.named_parameters()}
    model = build(
        [
            helper.make_node("Gemm", ["x", "0.weight", "0.bias"], ["a"], transB=1),
            helper.make_node("LayerNormalization", ["a", "1.weight", "1.bias"], ["b"]),
            helper.make_node("Gelu", ["b"], ["c"]),
            helper.make_node("Gemm", ["c", "3.weight", "3.bias"], ["y"], transB=1),
            helper.make_node("ArgMax", ["y"], ["label"], axis=-1, keepdims=0),
        ],
        {"x": (FLOAT, ["batch", 16])},
        {"y": (FLOAT, ["batch", 4]), "label": (INT64, ["batch"])},
        w,
    )

    def reference(inputs):
        with torch.no_grad():
            y = module(torch.from_numpy(inputs["x"]))
        return {"y": y.numpy(), "label": y.argmax(-1).numpy()}

    return model, reference


def test_torch_module_passes_in_both_settings_and_both_sizes(build, tmp_path):
    model, reference = mlp(build)
    path = tmp_path / "mlp.onnx"
    onnx.save(model, path)
    for form in (model, ir.from_proto(model), path):
        report = compare_model(form, reference, input_sets("x:float32[batch,16]"), labels=("label",))
        assert report.passed, str(report)
        assert [(r.input_set, r.setting, r.output) for r in report.rows] == [
            (index, setting, output) for setting in BOTH for index in (0, 1) for output in ("y", "label")
        ]
        assert report.runtime == []
        assert [record.sizes for record in report.inputs] == [{"batch": 2}, {"batch": 3}]
        assert [record.seed for record in report.inputs] == [0, 1]
        assert report.versions["onnxruntime-cpu"]


def test_error_that_allclose_passes_is_caught(build):
    off = np.float32(1 + 2e-5)
    report = against(build, lambda x: x * off)
    assert not report.passed
    assert report.conversion_failed
    assert all(row.blame == "conversion" for row in report.rows)
    assert "sc 2e-05 > 5e-06" in report.rows[0].reason


def test_scaled_tiny_output_is_caught(build):
    sets = [{"x": np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32) * np.float32(1e-9)}]
    report = compare_model(identity(build), lambda i: {"y": i["x"] * np.float32(1.01)}, sets)
    assert np.allclose(sets[0]["x"], sets[0]["x"] * np.float32(1.01))
    assert not report.passed


def test_wrong_dtype_and_shape(build):
    report = against(build, lambda x: x.astype(np.float64))
    assert {row.reason for row in report.rows} == {"dtype float32, but the source gives float64"}
    assert report.rows[0].metrics is None
    report = against(build, lambda x: x[:, None])
    assert "shape [2, 4], but the source gives [2, 1, 4]" in str(report)
    assert not report.passed


def test_nan_must_be_at_the_same_places(build):
    def with_nan(x):
        x[0, 0] = np.nan
        return x

    report = against(build, with_nan)
    assert not report.passed
    assert "NaN or infinity at different places (1 of 8)" in report.rows[0].reason
    same = [{"x": np.array([[1, np.nan, np.inf, -np.inf]], np.float32)}]
    assert compare_model(identity(build), lambda i: {"y": i["x"]}, same).passed


def test_reference_may_change_its_inputs(build):
    def in_place(inputs):
        inputs["x"] += 1
        return {"y": inputs["x"]}

    model = build(
        [helper.make_node("Add", ["x", "one"], ["y"])],
        {"x": (FLOAT, ["n", 4])},
        {"y": (FLOAT, ["n", 4])},
        {"one": np.float32([1])},
    )
    assert compare_model(model, in_place, input_sets("x:float32[n,4]")).passed


def test_integer_off_by_one_fails(build):
    def off(x):
        x[0, 0] += 1
        return x

    report = against(build, off, kind=INT64, text="x:int64[n,4]")
    assert not report.passed
    assert report.rows[0].reason == "1 of 8 elements differ; they must be equal"
    assert against(build, lambda x: x, kind=INT64, text="x:int64[n,4]").passed


def test_label_flip_fails_even_with_a_loose_tolerance(build):
    model, reference = mlp(build)

    def flipped(inputs):
        outputs = reference(inputs)
        outputs["label"][0] = (outputs["label"][0] + 1) % 4
        return outputs

    report = compare_model(model, flipped, input_sets("x:float32[batch,16]"), labels=("label",), tolerance=0.5)
    assert {row.output for row in report.rows if row.status == "fail"} == {"label"}


def test_string_labels(build):
    flip = {"alpha": "beta"}
    kind, text = TensorProto.STRING, "x:string[n,4]"
    assert against(build, lambda x: x, kind=kind, text=text).passed
    assert against(build, lambda x: x.astype("U"), kind=kind, text=text).passed
    report = against(build, lambda x: np.vectorize(lambda s: flip.get(s, s))(x), kind=kind, text=text)
    assert not report.passed


def test_float_label_must_be_equal(build):
    nudge = np.float32(1 + 1e-6)
    assert against(build, lambda x: x * nudge).passed
    assert not against(build, lambda x: x * nudge, labels=("y",)).passed


def test_zero_reference(build):
    zeros = [{"x": np.zeros((2, 4), np.float32)}]
    report = compare_model(identity(build), lambda i: {"y": i["x"]}, zeros)
    assert report.passed
    assert report.notes == ["the source's y has only zeros or non-finite values for input set 0"]
    tiny = [{"x": np.full((2, 4), 1e-9, np.float32)}]
    assert not compare_model(identity(build), lambda i: {"y": 0 * i["x"]}, tiny).passed


def test_missing_and_surplus_outputs_and_inputs(build):
    sets = input_sets("x:float32[n,4]")
    report = compare_model(identity(build), lambda i: {"z": i["x"]}, sets)
    reasons = {row.output: row.reason for row in report.rows}
    assert reasons == {"z": "the model has no such output", "y": "the source has no such output"}
    report = compare_model(identity(build), lambda i: {"y": i["x"]}, input_sets("x:float32[n,4]", "u:float32[n]"))
    assert {row.reason for row in report.rows} == {"the model lacks inputs of the source: u"}
    report = compare_model(identity(build), lambda i: {"y": i["u"]}, input_sets("u:float32[n,4]"))
    assert "the model has inputs that the source has not: x" in report.rows[0].reason
    assert not report.passed


def test_sequence_outputs_are_compared_part_by_part(build):
    model = build([helper.make_node("SplitToSequence", ["x"], ["y"], axis=0)], {"x": (FLOAT, ["n", 4])}, {})
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    model.graph.output.append(helper.make_value_info("y", kind))
    sets = input_sets("x:float32[n,4]")
    assert compare_model(model, lambda i: {"y": list(np.split(i["x"], len(i["x"])))}, sets).passed
    report = compare_model(model, lambda i: {"y": list(np.split(i["x"], len(i["x"]))[:-1])}, sets)
    failed = {row.output for row in report.rows if row.status == "fail"}
    assert failed == {"y.length", "y[1]", "y[2]"}


def test_the_users_tolerance_is_reported_as_such(build):
    report = against(build, lambda x: x * np.float32(1.001), tolerance=1e-2)
    assert report.passed
    assert "user" in report.rows[0].tolerance.reason
    assert "tolerance user (sc<=0.01): the user's tolerance" in str(report)
    assert not against(build, lambda x: x * np.float32(1.001), tolerance={"other": 1e-2}).passed


def test_nothing_run_is_not_a_pass(build):
    report = compare_model(identity(build), lambda i: {"y": i["x"]}, [])
    assert not report.passed
    assert "NOT PROVED (nothing was run)" in str(report)
    report = against(build, lambda x: x, providers=[])
    assert not report.passed
    no_outputs = compare_model(identity(build), lambda i: {}, input_sets("x:float32[n,4]"), providers=[])
    assert not no_outputs.passed


def test_unavailable_provider_is_skipped(build):
    report = against(build, lambda x: x, providers=["onnxruntime:NoSuchExecutionProvider"])
    assert [row.status for row in report.rows] == ["skipped", "skipped"]
    assert "no NoSuchExecutionProvider" in report.rows[0].reason
    assert not report.passed
    mixed = against(build, lambda x: x, providers=["onnxruntime-cpu", Fake(abs, missing="not here")])
    assert mixed.passed
    assert mixed.counts() == {"pass": 4, "skipped": 1}


def test_reference_is_not_run_without_a_provider(build):
    def never(inputs):
        raise AssertionError("the reference ran")

    compare_model(identity(build), never, input_sets("x:float32[n,4]"), providers=[Fake(abs, missing="not here")])


def test_unsupported_is_neither_pass_nor_fail(build):
    kind = TensorProto.BFLOAT16
    model = build([helper.make_node("MatMul", ["x", "x"], ["y"])], {"x": (kind, [2, 2])}, {"y": (kind, [2, 2])})
    sets = [{"x": np.ones((2, 2), ml_dtypes.bfloat16)}]
    report = compare_model(model, lambda i: {"y": i["x"] @ i["x"]}, sets)
    assert [row.status for row in report.rows] == ["unsupported", "unsupported"]
    assert not report.passed
    assert not report.conversion_failed


def test_provider_errors_are_kept_apart(build):
    lacking = Fake(raising(UnsupportedByProvider("no kernel")), name="lacking")
    broken = Fake(raising(ProviderError("crashed")), name="broken")
    report = against(build, lambda x: x, providers=[lacking, broken])
    assert {(row.provider, row.status, row.reason) for row in report.rows} == {
        ("lacking", "unsupported", "no kernel"),
        ("broken", "fail", "crashed"),
    }


def test_fall_back_is_never_a_pass(build):
    where = Placement({"CPU": 3}, True, "not on NPU: Conv x3")
    report = against(build, lambda x: x, providers=[Fake(lambda x: x, placement=where)])
    assert [row.status for row in report.rows] == ["fell-back", "fell-back"]
    assert not report.passed
    assert "not on NPU: Conv x3" in str(report)
    wrong = against(build, lambda x: x, providers=[Fake(lambda x: 2 * x, placement=where)])
    assert wrong.counts() == {"fail": 2}


def test_difference_between_settings_is_the_runtimes_own(build):
    def settings(off, on):
        return [Fake(off, setting="optimisations off"), Fake(on, setting="optimisations on")]

    report = against(build, lambda x: x, providers=settings(lambda x: x, lambda x: 2 * x))
    assert report.counts() == {"pass": 2, "fail": 2}
    assert {row.blame for row in report.rows if row.status == "fail"} == {"runtime"}
    assert not report.passed
    assert not report.conversion_failed
    assert len(report.runtime) == 2
    assert '"optimisations on" differs from "optimisations off"' in report.runtime[0].reason
    ours = against(build, lambda x: x, providers=settings(lambda x: 2 * x, lambda x: 2 * x))
    assert ours.conversion_failed
    assert ours.runtime == []
    # Both wrong, in two ways: the conversion can't be cleared.
    both = against(build, lambda x: x, providers=settings(lambda x: 2 * x, lambda x: 3 * x))
    assert both.conversion_failed
    assert len(both.runtime) == 2


def test_provider_precision_chooses_the_tier(build):
    approximate = Fake(lambda x: x * np.float32(1 + 1e-4))
    assert not against(build, lambda x: x, providers=[approximate]).passed
    approximate.precision = "fp32-approximate"
    report = against(build, lambda x: x, providers=[approximate])
    assert report.passed
    assert "fake computes in fp32-approximate" in str(report)


def test_unknown_provider(build):
    with pytest.raises(InputSpecError, match="unknown provider"):
        against(build, lambda x: x, providers=["gpu"])


def test_float64_model_rounded_to_float32_inside_fails(build):
    double = TensorProto.DOUBLE
    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=FLOAT),
        helper.make_node("Cast", ["f"], ["y"], to=double),
    ]
    model = build(nodes, {"x": (double, ["n", 4])}, {"y": (double, ["n", 4])})
    report = compare_model(model, lambda i: {"y": i["x"]}, input_sets("x:float64[n,4]"))
    assert not report.passed
    assert report.rows[0].tolerance.tier == "float64"
