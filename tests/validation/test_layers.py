from __future__ import annotations

import json

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from onnx import TensorProto, helper

from anyonnx.symbolic.errors import InputSpecError
from anyonnx.symbolic.spec import parse_spec
from anyonnx.validation.inputs import choose_sizes, make_inputs
from anyonnx.validation.layers import Trace, estimate_bytes, first_divergence, search, split
from anyonnx.validation.models import load_model
from anyonnx.validation.parity import compare_model

FLOAT = TensorProto.FLOAT


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.ModuleList(
            [
                torch.nn.Conv2d(3, 16, 3, padding=1),
                torch.nn.Conv2d(16, 32, 3, padding=1),
                torch.nn.Conv2d(32, 32, 3, padding=1),
            ]
        )
        self.head = torch.nn.Linear(32, 10)
        with torch.no_grad():
            self.head.weight *= 0.1

    def forward(self, x):
        for conv in self.features:
            x = conv(x).relu()
        return self.head(x.mean((2, 3))).softmax(-1)


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    return Classifier().eval()


def to_onnx(build, module, scaled=None):
    """The classifier by hand; the weights of one convolution may be 1 % too large."""
    weights = {name: value.detach().numpy() for name, value in module.named_parameters()}
    nodes, last = [], "x"
    for i in range(3):
        if scaled == i:
            weights[f"features.{i}.weight"] = weights[f"features.{i}.weight"] * np.float32(1.01)
        names = [last, f"features.{i}.weight", f"features.{i}.bias"]
        nodes.append(helper.make_node("Conv", names, [f"conv{i}"], name=f"Conv_{i}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"conv{i}"], [f"relu{i}"], name=f"Relu_{i}"))
        last = f"relu{i}"
    nodes += [
        helper.make_node("ReduceMean", [last, "axes"], ["pool"], name="Pool", keepdims=0),
        helper.make_node("Gemm", ["pool", "head.weight", "head.bias"], ["logits"], name="Head", transB=1),
        helper.make_node("Softmax", ["logits"], ["y"], name="Softmax", axis=-1),
    ]
    weights["axes"] = np.array([2, 3])
    return build(nodes, {"x": (FLOAT, ["n", 3, "h", "w"])}, {"y": (FLOAT, ["n", 10])}, weights)


def make_trace(module, log=None, only=None):
    """Values of the torch module through forward hooks: only the wanted ones are kept."""
    values = {f"conv{i}": f"features.{i}" for i in range(3)} | {"logits": "head"}
    values = {name: source for name, source in values.items() if only is None or name in only}

    def run(inputs, names):
        kept = {}
        hooks = [
            module.get_submodule(name).register_forward_hook(
                lambda _module, _inputs, output, name=name: kept.__setitem__(name, output.numpy())
            )
            for name in names
        ]
        with torch.no_grad():
            module(torch.from_numpy(inputs["x"]))
        for hook in hooks:
            hook.remove()
        if log is not None:
            log.append({name: array.nbytes for name, array in kept.items()})
        return kept

    return Trace(values, run, {name: f"{source} (classifier.py:20)" for name, source in values.items()})


def reference_of(module):
    def reference(inputs):
        with torch.no_grad():
            return {"y": module(torch.from_numpy(inputs["x"])).numpy()}

    return reference


@pytest.fixture
def sets():
    specs = [parse_spec("x:float32[n,3,h,w]")]
    base = {"n": 2, "h": 16, "w": 16}
    return [make_inputs(specs, seed=which, sizes=choose_sizes(specs, which, base)) for which in (0, 1)]


def test_right_model_has_no_divergence(build, module, sets):
    model = to_onnx(build, module)
    report = compare_model(model, reference_of(module), sets, trace=make_trace(module))
    assert report.passed, str(report)
    assert report.divergence is None
    assert first_divergence(model, make_trace(module), sets[0]) is None


@pytest.mark.parametrize("scaled", [0, 1, 2])
def test_planted_bug_fails_and_is_named_where_allclose_passes(build, module, sets, scaled, tmp_path):
    model = to_onnx(build, module, scaled)
    reference = reference_of(module)
    for inputs in sets:
        right, wrong = reference(inputs)["y"], reference_with(module, scaled, inputs)
        assert np.allclose(right, wrong, rtol=1e-5, atol=1e-5), "the bug must be small enough for allclose"
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for form in (model, ir.from_proto(model), path):
        report = compare_model(form, reference, sets, trace=make_trace(module))
        assert report.counts() == {"fail": 4}
        found = report.divergence
        assert found is not None
        assert (found.op_type, found.node, found.value) == ("Conv", f"Conv_{scaled}", f"conv{scaled}")
        assert found.source == f"features.{scaled}"
        assert found.location == f"features.{scaled} (classifier.py:20)"
        assert found.metrics is not None
        assert 5e-3 < found.metrics.sc < 2e-2
        assert found.compared == scaled
    assert f"first divergence: Conv node Conv_{scaled}" in str(report)
    assert json.loads(report.to_json())["first_divergence"]["node"] == f"Conv_{scaled}"
    assert f"Conv_{scaled}" in report.to_junit()


def reference_with(module, scaled, inputs):
    wrong = Classifier().eval()
    wrong.load_state_dict(module.state_dict())
    with torch.no_grad():
        wrong.features[scaled].weight *= 1.01
        return wrong(torch.from_numpy(inputs["x"])).numpy()


def test_suspects_lie_between_the_last_agreeing_value_and_the_first_bad_one(build, module, sets):
    model = to_onnx(build, module, 1)
    found = first_divergence(model, make_trace(module, only=("conv0", "logits")), sets[0])
    assert found is not None
    assert found.value == "logits"
    assert found.suspects == (
        "Gemm (Head)",
        "ReduceMean (Pool)",
        "Relu (Relu_2)",
        "Conv (Conv_2)",
        "Relu (Relu_1)",
        "Conv (Conv_1)",
        "Relu (Relu_0)",
    )
    assert list(found.agreeing) == ["conv0"]
    assert "nodes since the last agreeing values" in str(found)


def test_difference_behind_the_traced_values_is_said(build, module, sets):
    report = compare_model(
        to_onnx(build, module, 2), reference_of(module), sets, trace=make_trace(module, only=("conv0", "conv1"))
    )
    assert report.divergence is None
    assert "2 of 2 traced values were compared and agree: the difference arises behind them" in report.notes


def test_chunks_bound_the_memory(build, module, sets):
    model, inputs = to_onnx(build, module, 2), sets[0]
    sizes = estimate_bytes(load_model(model), inputs)
    assert sizes["conv0"] == 2 * 16 * 16 * 16 * 4
    assert sizes["conv1"] == sizes["conv2"] == 2 * sizes["conv0"]
    assert sizes["logits"] == 2 * 10 * 4
    for limit, runs in ((1 << 30, 1), (6 * sizes["conv0"], 2), (4 * sizes["conv0"], 3), (1, 3)):
        log = []
        found = first_divergence(model, make_trace(module, log), inputs, chunk_bytes=limit)
        assert found is not None
        assert found.node == "Conv_2"
        assert len(log) == runs
        for chunk in log:
            assert 2 * sum(chunk.values()) <= limit or len(chunk) == 1


def test_search_stops_at_the_first_bad_chunk(build, module, sets):
    log = []
    result = search(to_onnx(build, module, 0), make_trace(module, log), sets[0], chunk_bytes=1)
    assert result.divergence is not None
    assert result.chunks == len(log) == 1


def test_split_keeps_the_order():
    sizes = {"a": 4, "b": 4, "c": 9, "d": 1}
    assert list(split("abcd", sizes, 8)) == [["a", "b"], ["c"], ["d"]]
    assert list(split("abcd", sizes, 100)) == [["a", "b", "c", "d"]]
    assert list(split("axb", {"a": 4, "b": 4}, 8)) == [["a"], ["x"], ["b"]]
    assert list(split("", sizes, 8)) == []


def test_values_that_are_gone_are_left_out(build, module, sets):
    model = to_onnx(build, module, 1)
    trace = make_trace(module)
    more = Trace({**trace.values, "fused_away": "features.0"}, trace.run)
    result = search(model, more, sets[0])
    assert result.divergence is not None
    assert result.traced == 5
    forgetful = Trace(trace.values, lambda i, n: {k: v for k, v in trace.run(i, n).items() if k != "features.1"})
    later = first_divergence(model, forgetful, sets[0])
    assert later is not None
    assert later.value == "conv2"


def test_wrong_shape_inside(build, module, sets):
    trace = make_trace(module, only=("conv0", "conv1"))

    def transposed(inputs, names):
        return {n: a.transpose(0, 2, 3, 1) if n == "features.1" else a for n, a in trace.run(inputs, names).items()}

    found = first_divergence(to_onnx(build, module), Trace(trace.values, transposed), sets[0])
    assert found is not None
    assert found.value == "conv1"
    assert found.reason.startswith("shape [2, 32, 16, 16], but the source has [2, 16, 16, 32]")


def test_values_behind_control_flow(build):
    """The If reads ``a`` only inside its branches: it must be in the part of the model that is run."""

    def branch(name, op):
        out = helper.make_tensor_value_info(f"{name}_o", FLOAT, ["n", 4])
        return helper.make_graph([helper.make_node(op, ["a"], [f"{name}_o"])], name, [], [out])

    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"], name="square"),
        helper.make_node(
            "If", ["c"], ["b"], name="choice", then_branch=branch("t", "Sqrt"), else_branch=branch("e", "Neg")
        ),
        helper.make_node("Add", ["b", "a"], ["y"], name="sum"),
    ]
    model = build(nodes, {"x": (FLOAT, ["n", 4]), "c": (TensorProto.BOOL, [])}, {"y": (FLOAT, ["n", 4])})
    inputs = {"x": np.full((2, 4), 3, np.float32), "c": np.array(True)}

    def run(inputs, names):
        x = inputs["x"]
        return {k: v for k, v in {"a": x * x, "b": x, "y": x + x * x}.items() if k in names}

    trace = Trace({name: name for name in "aby"}, run)
    assert first_divergence(model, trace, inputs, chunk_bytes=1) is None

    def wrong(inputs, names):
        return {k: v + (k == "b") for k, v in run(inputs, names).items()}

    found = first_divergence(model, Trace(trace.values, wrong), inputs, chunk_bytes=1)
    assert found is not None
    assert (found.op_type, found.node) == ("If", "choice")
    assert list(found.agreeing) == ["a"]


def test_failing_search_is_a_note_not_a_crash(build, sets):
    model = build(
        [helper.make_node("NoSuchOp", ["x"], ["y"])], {"x": (FLOAT, ["n", 3, "h", "w"])}, {"y": (FLOAT, ["n"])}
    )
    trace = Trace({"y": "y"}, lambda i, n: {"y": i["x"]})
    report = compare_model(model, lambda i: {"y": i["x"]}, sets, trace=trace)
    assert report.counts() == {"fail": 4}
    assert "the first differing node could not be looked for" in report.notes[0]


def test_chunk_bytes_must_be_positive(build, module, sets):
    with pytest.raises(InputSpecError):
        first_divergence(to_onnx(build, module), make_trace(module), sets[0], chunk_bytes=0)
