"""Passes make the model smaller and leave its numbers as they are."""

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from anyonnx.optimization.pipeline import DEFAULT_PASSES, optimize
from anyonnx.symbolic import GraphBuilder
from anyonnx.symbolic.errors import InputSpecError
from anyonnx.symbolic.value import MARK

RNG = np.random.default_rng(0)


def weights(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def outputs(model: ir.Model, data):
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, {"x": data})


def ops(model):
    return [n.op_type for n in model.graph]


def convolution_and_norm(g, x, *, group, transposed, bias):
    channels = x.sizes[1]
    make = g.ConvTranspose if transposed else g.Conv
    shape = (channels, 6 // group, 3, 3) if transposed else (6, channels // group, 3, 3)
    operands = [g.initializer("w", weights(*shape))] + ([g.initializer("b", weights(6))] if bias else [])
    y = make(x, *operands, group=group)
    g.mark(y, "conv")
    statistics = [g.initializer(n, RNG.uniform(0.5, 2, 6).astype(np.float32)) for n in ("s", "o", "m", "v")]
    z = g.BatchNormalization(y, *statistics, epsilon=1e-3)
    g.mark(z, "norm")
    return y, z


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("group", [1, 2])
def test_batch_norm_is_folded_into_the_convolution(group, transposed, bias):
    data = weights(2, 4, 7, 7)
    found = []
    for passes in ((), ("fuse_batch_norm",)):
        RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state
        g = GraphBuilder()
        x = g.input("x", "float32", ["batch", 4, 7, 7])
        g.output(convolution_and_norm(g, x, group=group, transposed=transposed, bias=bias)[1], "y")
        model = g.build()
        optimize(model, passes)
        found.append((ops(model), outputs(model, data)[0]))
    assert found[1][0] == [found[0][0][0]] and len(found[0][0]) == 2
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-5, atol=1e-5)
    # the convolution's value is the normalised one now, and goes by that name in comparisons
    assert model.graph.outputs[0].meta[MARK] == "norm"


def test_batch_norm_stays_where_the_convolution_is_used_elsewhere():
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", 4, 7, 7])
    y, z = convolution_and_norm(g, x, group=1, transposed=False, bias=False)
    g.output(y, "y")
    g.output(z, "z")
    model = g.build()
    assert optimize(model, ["fuse_batch_norm"]) == {"fuse_batch_norm": 0}
    assert ops(model) == ["Conv", "BatchNormalization"]


def test_identities_go_where_they_can():
    g = GraphBuilder()
    x = g.input("x", "float32", [3])
    y = g.emit("", "Identity", [g.Relu(x)], {}, 1, [(x.type, x.sizes)])[0]
    g.output(g.Neg(y), "neg")
    g.output(y, "y")
    g.output(x, "same")
    g.output(y, "twice")
    model = g.build()
    data = np.array([-1, 2, 3], np.float32)
    before = outputs(model, data)
    optimize(model, ["drop_identities"])
    assert sorted(ops(model)) == ["Identity", "Identity", "Neg", "Relu"]  # an input and a second name need theirs
    assert [o.name for o in model.graph.outputs] == ["neg", "y", "same", "twice"]
    for a, b in zip(before, outputs(model, data), strict=True):
        np.testing.assert_array_equal(a, b)


def test_weights_are_transposed_ahead_unless_they_are_shared():
    data = weights(2, 5)
    w, tied = weights(7, 5), weights(7, 7)
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", 5])
    w_value, tied_value = g.initializer("w", np.repeat(w, 20000, 0)), g.initializer("tied", np.repeat(tied, 20000, 0))
    y = g.MatMul(x, g.Transpose(w_value, perm=[1, 0]))
    z = g.MatMul(g.Gather(y, np.arange(7), axis=1), g.Transpose(tied_value, perm=[1, 0]))
    g.output(g.Add(z, g.Gather(tied_value, np.array([1]), axis=0).builder.constant(np.float32(0))), "z")
    g.output(g.Gather(tied_value, np.array([1]), axis=0), "row")
    model = g.build()
    before = outputs(model, data)
    assert optimize(model, ["fold_weight_transposes"]) == {"fold_weight_transposes": 1}
    assert ops(model).count("Transpose") == 1
    for a, b in zip(before, outputs(model, data), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_equal_expressions_are_computed_once_but_random_ones_are_not():
    g = GraphBuilder()
    x = g.input("x", "float32", [3])
    g.output(g.Add(g.Exp(x), g.Exp(x)), "y")
    g.output(g.Sub(g.RandomNormalLike(x), g.RandomNormalLike(x)), "noise")
    model = g.build()
    optimize(model, DEFAULT_PASSES)
    assert ops(model).count("Exp") == 1 and ops(model).count("RandomNormalLike") == 2
    assert np.abs(outputs(model, np.ones(3, np.float32))[1]).max() > 0


def test_an_unknown_pass_is_named():
    g = GraphBuilder()
    g.output(g.Relu(g.input("x", "float32", [1])), "y")
    with pytest.raises(InputSpecError, match="no optimisation pass 'fuse_all'"):
        optimize(g.build(), ["fuse_all"])


@pytest.mark.parametrize("dtype", ["float", "float16", "bfloat16", "int8"])
def test_transposed_weights_are_written_in_parts(dtype, tmp_path, monkeypatch):
    from anyonnx.optimization import fold_weight_transposes

    monkeypatch.setattr(fold_weight_transposes, "_PART", 64)
    array = ir.Tensor(
        np.arange(5 * 7 * 3, dtype=np.float32).reshape(5, 7, 3).astype(ir.DataType[dtype.upper()].numpy())
    )
    value = fold_weight_transposes.transposed_weight(array, (2, 0, 1), "w.transposed")
    with (tmp_path / "w").open("wb") as stream:
        value.const_value.tofile(stream)
    assert (tmp_path / "w").read_bytes() == np.ascontiguousarray(array.numpy().transpose(2, 0, 1)).tobytes()
    assert value.const_value.tobytes() == (tmp_path / "w").read_bytes()
