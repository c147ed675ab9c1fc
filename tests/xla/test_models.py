"""Whole networks: live, at all opsets, and through files of jax.export."""

import jax
import jax_models
import numpy as np
import pytest

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.spec import parse_spec

QUICK = ["cnn", "equinox mlp", "nnx", "gpt", "lstm"]


@pytest.fixture(scope="module")
def made():
    found = {}

    def make(name):
        if name not in found:
            build, specs = jax_models.MODELS[name]
            found[name] = (build(), specs)
        return found[name]

    return make


def count(result, op):
    return sum(node.op_type == op for node in result.model.graph)


@pytest.mark.parametrize("name", jax_models.MODELS)
def test_live(name, made):
    function, specs = made(name)
    result = to_onnx(function, specs, framework="jax")
    assert result.parity.passed
    assert [str(s) for s in result.source.specs] == [str(s) if parse_spec(s).name != "x" else s for s in specs]
    if name == "resnet18":
        assert count(result, "Transpose") == 1  # the input's; nothing else leaves the channels-first layout


@pytest.mark.slow
@pytest.mark.parametrize("opset", [11, 13, 17, 25])
@pytest.mark.parametrize("name", jax_models.MODELS)
def test_opsets(name, opset, made):
    function, specs = made(name)
    result = to_onnx(function, specs, framework="jax", opset=opset)
    assert result.parity.passed
    assert result.model.opset_imports[""] == opset


def export(function, specs, path):
    scope = jax.export.SymbolicScope()
    arguments = [
        jax.ShapeDtypeStruct(jax.export.symbolic_shape(",".join(map(str, s.shape)), scope=scope), np.dtype(s.dtype))
        for s in map(parse_spec, specs)
    ]
    path.write_bytes(jax.export.export(jax.jit(function))(*arguments).serialize())
    return path


@pytest.mark.parametrize("name", QUICK)
def test_from_file(name, made, tmp_path):
    function, specs = made(name)
    result = to_onnx(export(function, specs, tmp_path / "model.jaxexp"))
    assert result.parity.passed
    assert [s.shape for s in result.source.specs] == [parse_spec(s).shape for s in specs]


@pytest.mark.slow
@pytest.mark.parametrize("opset", [11, 13, 17, 21, 25])
@pytest.mark.parametrize("name", jax_models.MODELS)
def test_from_file_at_opsets(name, opset, made, tmp_path):
    function, specs = made(name)
    assert to_onnx(export(function, specs, tmp_path / "model.jaxexp"), opset=opset).parity.passed


def test_weights_as_inputs():
    params = jax_models.gpt_params()
    result = to_onnx(jax_models.gpt, (params, np.zeros((2, 5), np.int32)), framework="jax")
    names = [s.name for s in result.source.specs]
    assert names[0] == "params_embedding" and "params_layers_0_up" in names and names[-1] == "ids"
    assert result.source.output_names == ["last", "logits"]


def test_weights_keep_their_names_and_memory():
    params = jax_models.gpt_params()
    result = to_onnx(lambda ids: jax_models.gpt(params, ids)["last"], ["ids:int32[b,s]"], framework="jax")
    weights = result.model.graph.initializers
    assert "params_embedding" in weights and "params_layers_1_down" in weights
    held = weights["params_layers_1_up"].const_value.numpy()
    assert np.shares_memory(held, np.asarray(params["layers"][1]["up"]))
