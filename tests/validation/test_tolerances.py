from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from anyonnx.symbolic.errors import InputSpecError
from anyonnx.validation.metrics import Metrics
from anyonnx.validation.models import load_model
from anyonnx.validation.tolerances import TIERS, NumericProfile, Tolerance, choose_tolerance, profile


@pytest.mark.parametrize(
    ("dtype", "tier"),
    [
        ("float64", "float64"),
        ("float32", "fp32-exact"),
        ("float16", "fp16"),
        ("bfloat16", "bf16"),
        ("complex64", "fp32-exact"),
        ("int64", "exact"),
        ("uint8", "exact"),
        ("bool", "exact"),
        ("string", "exact"),
        ("float8_e4m3fn", "exact"),
    ],
)
def test_tier_by_dtype_always_with_a_reason(dtype, tier):
    chosen = choose_tolerance(dtype)
    assert chosen.tier == tier
    assert dtype in chosen.reason


def test_half_precision_inside_loosens():
    chosen = choose_tolerance("float32", model=NumericProfile(held={"float16": 2}))
    assert chosen.tier == "fp16"
    assert "float16 inside" in chosen.reason
    assert choose_tolerance("float32", model=NumericProfile(held={"float16": 1, "bfloat16": 1})).tier == "bf16"


def test_float64_counts_what_comes_in_not_what_happens_inside():
    assert choose_tolerance("float64", model=NumericProfile(frozenset({"float32"}))).tier == "fp32-exact"
    assert choose_tolerance("float64", model=NumericProfile(frozenset({"int64"}), {"float32": 3})).tier == "fp32-exact"
    inside = NumericProfile(frozenset({"float64"}), {"float32": 3})
    assert choose_tolerance("float64", model=inside).tier == "float64"


def test_provider_precision_loosens_and_never_tightens():
    chosen = choose_tolerance("float32", precision="bf16", runtime="openvino")
    assert chosen.tier == "bf16"
    assert chosen.reason == "openvino computes in bf16"
    assert choose_tolerance("float16", precision="fp32-approximate").tier == "fp16"
    with pytest.raises(InputSpecError, match="unknown precision"):
        choose_tolerance("float32", precision="fp12")


def test_quantised_models_are_judged_by_noise():
    assert choose_tolerance("float32", model=NumericProfile(quantised="int8")) == Tolerance(
        "int8", sqnr_db=25.0, reason="the model is quantised to int8"
    )
    assert choose_tolerance("int64", model=NumericProfile(quantised="int8")).exact


def test_the_users_tolerance():
    chosen = choose_tolerance("float32", user=1e-3)
    assert (chosen.tier, chosen.sc, chosen.one_minus_cos) == ("user", 1e-3, None)
    assert "user" in chosen.reason
    assert choose_tolerance("float32", user="fp16").sc == TIERS["fp16"].sc
    assert choose_tolerance("float32", user=Tolerance("mine", sc=0.5)).sc == 0.5
    by_name = {"y": 0.1}
    assert choose_tolerance("float32", output="y", user=by_name).sc == 0.1
    assert choose_tolerance("float32", output="z", user=by_name).tier == "fp32-exact"


def test_a_general_user_tolerance_does_not_loosen_labels():
    assert choose_tolerance("int64", user=0.5).exact
    assert choose_tolerance("float32", user=0.5, label=True).exact
    assert choose_tolerance("int64", output="y", user={"y": 0.5}).sc == 0.5


@pytest.mark.parametrize("wrong", ["nonsense", -1.0, float("nan"), True, [1]])
def test_wrong_user_tolerance(wrong):
    with pytest.raises(InputSpecError):
        choose_tolerance("float32", user=wrong)


def test_problems_name_every_limit():
    limits = Tolerance("t", sc=1e-6, one_minus_cos=1e-10, sqnr_db=30, exact=True)
    bad = Metrics(10, 3, 1, 1.0, 1.0, 1.0, 0.5, 0.0)
    assert len(limits.problems(bad)) == 5
    assert limits.problems(Metrics(10, 0)) == []


def test_nan_metrics_never_pass():
    nan = float("nan")
    assert (
        len(Tolerance("t", sc=1, one_minus_cos=1, sqnr_db=0).problems(Metrics(1, 0, 0, nan, nan, nan, nan, nan))) == 3
    )


def test_profile_reads_the_model(build):
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("MatMul", ["h", "w"], ["m"]),
        helper.make_node("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
    ]
    model = build(
        nodes,
        {"x": (TensorProto.FLOAT, [2, 4])},
        {"y": (TensorProto.FLOAT, [2, 4])},
        {"w": np.ones((4, 4), np.float16)},
    )
    found = profile(load_model(model))
    assert found.inputs == {"float32"}
    assert found.held["float16"] == 2
    assert found.quantised == ""


def test_profile_sees_quantisation(build):
    weights = {"s": np.float32(0.1), "z": np.int8(0)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    shape = {"x": (TensorProto.FLOAT, [2, 4])}
    model = build(nodes, shape, {"y": (TensorProto.FLOAT, [2, 4])}, {k: np.asarray(v) for k, v in weights.items()})
    assert profile(load_model(model)).quantised == "int8"
