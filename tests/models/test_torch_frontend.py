"""The PyTorch frontend: what it accepts, how it names things, what it refuses and with which words."""

from __future__ import annotations

import dataclasses
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest
import torch
from torch import nn

from anyonnx.converters.api import to_onnx
from anyonnx.converters.base import Options
from anyonnx.converters.from_torch import TorchFrontend
from anyonnx.symbolic.errors import CaptureError, InputSpecError, TranslationError, UnsupportedOps, UntrustedFile

FIXTURE = Path(__file__).parents[2] / "fixtures" / "digits_cnn.pt2"


class Function(nn.Module):
    """A module from a function; its inputs are called a, b and c."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, a, b=None, c=None):
        given = [x for x in (a, b, c) if x is not None]
        return self.function(*given)


def converted(function, *inputs, **options):
    return to_onnx(Function(function), inputs, **options)


# --- inputs and names ------------------------------------------------------------------------------------------------


def test_inputs_are_named_after_forward():
    result = converted(lambda a, b: a + b, torch.ones(2, 3), torch.ones(3))
    assert [v.name for v in result.model.graph.inputs] == ["a", "b"]
    assert [v.name for v in result.model.graph.outputs] == ["output"]


def test_keyword_inputs_constants_and_none():
    class Scale(nn.Module):
        def forward(self, x, mask=None, factor=1.0, flag=False):
            y = x * factor
            return {"scaled": y, "pair": (y + 1, -y), "nothing": mask} if flag else y

    result = to_onnx(Scale(), {"x": torch.ones(2, 3), "factor": 2.5, "flag": True, "mask": None})
    assert [v.name for v in result.model.graph.inputs] == ["x"]
    assert [v.name for v in result.model.graph.outputs] == ["scaled", "pair_0", "pair_1"]


def test_nested_inputs_and_arrays():
    class Nested(nn.Module):
        def forward(self, states, x):
            return states["h"][0] + x, states["h"][1]

    states = {"h": (np.ones((2, 3), np.float32), torch.zeros(3))}
    result = to_onnx(Nested(), (states, np.ones(3, np.float32)), dynamic={"states_h_0": {0: "rows"}})
    assert [v.name for v in result.model.graph.inputs] == ["states_h_0", "states_h_1", "x"]
    assert [v.name for v in result.model.graph.outputs] == ["output_0", "output_1"]
    assert result.parity.passed


def test_dataclass_outputs():
    @dataclasses.dataclass
    class Result:
        logits: torch.Tensor
        extra: torch.Tensor | None = None

    result = converted(lambda a: Result(a * 2, a + 1), torch.ones(2, 3))
    assert [v.name for v in result.model.graph.outputs] == ["logits", "extra"]


def test_names_of_the_caller():
    result = converted(lambda a: (a, a * 2), torch.ones(2), input_names=["in"], output_names=["same", "twice"])
    assert [v.name for v in result.model.graph.inputs] == ["in"]
    assert [v.name for v in result.model.graph.outputs] == ["same", "twice"]
    with pytest.raises(InputSpecError, match="2 output names are given, the model has 1"):
        converted(lambda a: a * 2, torch.ones(2), output_names=["x", "y"])


def test_specs_make_examples_with_open_dims():
    result = to_onnx(nn.Linear(4, 2), ["input:float32[batch,seq,4]"])
    assert [str(s) for s in result.source.specs] == ["input:float32[batch,seq,4]"]
    assert result.parity.passed


def test_same_symbol_in_two_inputs():
    result = to_onnx(Function(lambda a, b: torch.cat([a, b], 1)), ["float32[n,2]", "float32[n,3]"])
    assert [s.shape for s in result.source.specs] == [("n", 2), ("n", 3)]
    with pytest.raises(InputSpecError, match="the dim n is 2 in one input and 3"):
        converted(lambda a, b: (a, b), torch.ones(2), torch.ones(3), dynamic={0: {0: "n"}, 1: {0: "n"}})


def test_example_batch_of_one_stays_open():
    result = to_onnx(nn.Linear(3, 2), (torch.ones(1, 3),), dynamic={0: {0: "batch"}})
    assert result.source.specs[0].shape == ("batch", 3)
    assert result.source.samples["input"].shape == (1, 3)


def test_one_tensor_passed_twice():
    x = torch.randn(2, 3)
    assert converted(lambda a, b: a * 2 + b[0], x, x).parity.passed


def test_caches_of_transformers_are_outputs():
    from transformers import GPT2Config, GPT2Model

    module = GPT2Model(GPT2Config(vocab_size=20, n_positions=8, n_embd=8, n_layer=1, n_head=2))
    names = [v.name for v in to_onnx(module, {"input_ids": torch.ones(1, 3, dtype=torch.int64)}).model.graph.outputs]
    assert names[0] == "last_hidden_state" and len(names) == 3


@pytest.mark.parametrize(
    ("inputs", "options", "text"),
    [
        (None, {}, "doesn't say what it takes"),
        ((torch.ones(2, 3), torch.ones(1)), {}, "don't fit Linear.forward"),
        ((torch.ones(2, 3),), {"dynamic": {"x": {0: "n"}}}, "dynamic names the input 'x'"),
        ((torch.ones(2, 3),), {"dynamic": {0: {5: "n"}}}, "axis 5 of input, which has 2 axes"),
        ((torch.ones(2, 3),), {"dynamic": {0: {0: "n+1"}}}, "isn't a name"),
        ((torch.ones(2, 3).to_sparse(),), {}, "sparse"),
    ],
)
def test_wrong_inputs(inputs, options, text):
    with pytest.raises(InputSpecError, match=text):
        to_onnx(nn.Linear(3, 2), inputs, **options)


# --- files -----------------------------------------------------------------------------------------------------------


def test_exported_file_needs_no_inputs():
    result = to_onnx(FIXTURE)
    assert [str(s) for s in result.source.specs] == ["image:float32[batch,1,8,8]"]
    assert result.parity.passed


def test_exported_file_takes_names_for_its_dims():
    result = to_onnx(FIXTURE, ["image:float32[n,1,8,8]"], compare=False)
    assert result.source.specs[0].shape == ("n", 1, 8, 8)
    with pytest.raises(InputSpecError, match="export it again with that dim open"):
        to_onnx(FIXTURE, ["image:float32[n,1,h,8]"])


def test_weights_without_a_model(tmp_path):
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "weights.pt")
    with pytest.raises(InputSpecError, match="without a model"):
        to_onnx(tmp_path / "weights.pt", framework="torch")


def test_pickled_module_needs_trust(tmp_path):
    path = tmp_path / "module.pt"
    torch.save(nn.Linear(3, 2), path)
    with pytest.raises(UntrustedFile, match=r"torch\.nn\.modules\.linear\.Linear"):
        to_onnx(path, (torch.ones(2, 3),))
    assert to_onnx(path, (torch.ones(2, 3),), trust=True).parity.passed


# --- weights and state -----------------------------------------------------------------------------------------------


def test_weights_keep_their_names_and_memory():
    module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    model = to_onnx(module, (torch.ones(1, 64),), compare=False, optimize=False).model
    weight = model.graph.initializers["0.weight"].const_value
    assert np.shares_memory(weight.numpy(), module[0].weight.detach().numpy())
    assert {"0.weight", "0.bias", "2.weight", "2.bias"} <= set(model.graph.initializers)


def test_tied_weights_are_written_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(500, 200)
            self.head = nn.Linear(200, 500, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    model = to_onnx(Tied(), (torch.ones(2, 3, dtype=torch.int64),), compare=False, optimize=False).model
    assert sum(v.const_value.size == 100_000 for v in model.graph.initializers.values()) == 1


def test_bfloat16_and_strided_weights():
    module = nn.Linear(6, 4, dtype=torch.bfloat16)
    model = to_onnx(module, (torch.ones(2, 6, dtype=torch.bfloat16),), compare=False).model
    stored = model.graph.initializers["weight"].const_value
    assert stored.dtype == ir.DataType.BFLOAT16
    assert np.array_equal(stored.numpy().astype(np.float32), module.weight.detach().float().numpy())
    strided = nn.Linear(6, 4)
    strided.weight = nn.Parameter(torch.randn(6, 4).t())
    assert to_onnx(strided, (torch.ones(2, 6),)).parity.passed


def test_changed_buffers_are_refused():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros(1))

        def forward(self, x):
            self.steps += 1
            return x + self.steps

    class Cache(Counter):
        def forward(self, x):
            self.steps[0] = x[0]
            return x + self.steps

    for module in (Counter(), Cache()):
        with pytest.raises(CaptureError, match="forward changes steps"):
            to_onnx(module, (torch.ones(2),))


def test_mode_is_restored():
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).train()
    module[0].eval()
    assert to_onnx(module, (torch.ones(2, 3),)).parity.passed
    assert module.training and not module[0].training and module[1].training


# --- what is captured ------------------------------------------------------------------------------------------------


def test_branch_on_data_says_where_and_what_helps():
    def branch(a):
        if a.sum() > 0:
            return a
        return -a

    with pytest.raises(CaptureError) as caught:
        converted(branch, torch.ones(2))
    assert "test_torch_frontend.py" in str(caught.value) and "torch.where" in str(caught.value)


def test_fixed_dim_is_named():
    with pytest.raises(CaptureError, match="seq"):
        converted(lambda a: a.reshape(2, 12), torch.ones(2, 4, 3), dynamic={0: {1: "seq"}})


def test_all_missing_ops_at_once():
    def copy(a: torch.Tensor) -> torch.Tensor:
        return a.clone()

    once, twice = (torch.library.custom_op(f"test_missing::{n}", copy, mutates_args=()) for n in ("once", "twice"))
    for op in (once, twice):
        op.register_fake(torch.empty_like)

    with pytest.raises(UnsupportedOps) as caught:
        converted(lambda a: (once(a), twice(a), twice(a)), torch.eye(3))
    counts = {(m.dialect, m.name): m.count for m in caught.value.missing}
    assert counts == {("test_missing", "once.default"): 1, ("test_missing", "twice.default"): 2}
    assert "test_torch_frontend.py:" in str(caught.value)


def test_training_time_ops_are_refused():
    with pytest.raises(TranslationError, match="dropout in training mode"):
        converted(lambda a: nn.functional.dropout(a, 0.5, training=True), torch.ones(4))


def test_complex_numbers_without_a_function_are_refused():
    with pytest.raises(UnsupportedOps, match=r"linalg_eig.*complex operands"):
        converted(lambda a: torch.linalg.eig(torch.complex(a, a))[0], torch.eye(3))


def test_ops_without_a_function_are_decomposed_alone():
    result = converted(lambda a: torch.rot90(nn.functional.gelu(a), 1, (0, 1)), torch.randn(3, 4))
    assert "Gelu" in {n.op_type for n in result.model.graph}


def test_floats_from_sizes():
    result = converted(
        lambda a: a * a.shape[1] ** -0.5 + a.shape[0] / 3, torch.randn(3, 4), dynamic={0: {0: "n", 1: "m"}}
    )
    assert result.parity.passed


def test_sizes_from_data():
    def function(a):
        found = a.nonzero()
        return found, torch.zeros(found.shape[0]) + 1

    assert converted(function, torch.tensor([0.0, 1.0, 2.0])).parity.passed


def test_no_grad_blocks_and_cond():
    def function(a):
        with torch.no_grad():
            b = a * 2
        return torch.cond(b.sum() > 0, lambda x: x + 1, lambda x: x - 1, (b,))

    result = converted(function, torch.tensor([1.0, -3.0]))
    assert result.parity.passed
    assert "If" in {n.op_type for n in result.model.graph}


def test_trace_gives_the_inner_values():
    source = TorchFrontend().load(FIXTURE, None, Options(21))
    from anyonnx.symbolic.builder import GraphBuilder

    source.translate(GraphBuilder(21))
    values = source.trace(source.samples, ["relu", "flatten", "nothing"])
    assert set(values) == {"relu", "flatten"}
    assert values["relu"].shape == (4, 16, 8, 8)


def test_locations_name_the_layer():
    result = to_onnx(FIXTURE, compare=False)
    places = {n.meta["source"] for n in result.model.graph}
    assert any(p.startswith("conv1 (") for p in places)


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow isn't installed")
def test_tensorflow_loaded_before_does_not_kill_the_process():
    code = "import tensorflow, anyonnx, sys; assert anyonnx.to_onnx(sys.argv[1]).parity.passed"
    ended = subprocess.run([sys.executable, "-c", code, str(FIXTURE)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
