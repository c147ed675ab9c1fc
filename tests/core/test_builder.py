"""The builder: what it makes computes what was asked, at every opset, and wrong calls die where they are made."""

import gc

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from anyonnx.symbolic import Dim, GraphBuilder, gc_paused
from anyonnx.symbolic.errors import OpsetError, TranslationError


def run(g: GraphBuilder | ir.Model, *inputs: np.ndarray):
    """Outputs in onnxruntime, optimisations off and on, which must agree."""
    proto = ir.to_proto(g if isinstance(g, ir.Model) else g.build())
    onnx.checker.check_model(proto, full_check=True)
    found = []
    for level in (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    ):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
        found.append(session.run(None, dict(zip([i.name for i in session.get_inputs()], inputs, strict=True))))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    return found[0]


def ops(model: ir.Model) -> list[str]:
    return [n.op_type for n in model.graph]


def test_literals_take_the_dtype_they_meet():
    g = GraphBuilder()
    x = g.input("x", "float16", [2])
    y = 1 - x * 0.5
    assert y.dtype is ir.DataType.FLOAT16
    with pytest.raises(TranslationError, match="whole number"):
        g.input("i", "int64", [2]) * 0.5
    with pytest.raises(TranslationError, match="FLOAT16"):
        g.Add(x, g.input("z", "float32", [2]))


def test_constants_fold_and_equal_ones_are_shared():
    g = GraphBuilder()
    assert g.Add(g.constant([1.0, 2.0]), 1.0).array.tolist() == [2.0, 3.0]
    assert g.constant([1, 2]) is g.constant(np.array([1, 2]))
    assert g.Div(g.constant(-7), g.constant(2)).array == -3  # ONNX divides integers toward zero
    assert g.constant(0.0) is not g.constant(-0.0)
    assert not g.nodes


def test_shape_arithmetic_keeps_the_names_and_makes_no_nodes_for_known_sizes():
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", 3, 8])
    shape = g.Shape(x)
    assert shape.dims == (Dim("batch"), 3, 8)
    assert g.Gather(shape, 1, axis=0).array == 3
    batch = g.Gather(shape, 0, axis=0)
    y = g.Reshape(x, g.Concat(g.Unsqueeze(batch, [0]), [24], axis=0))
    assert y.sizes == (Dim("batch"), 24)
    z = g.Reshape(x, [-1])
    assert z.sizes == (Dim("batch") * 24,)


def test_reshape_and_expand_need_no_shape_arithmetic_where_sizes_tell():
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", "seq", 12])
    y = g.reshape(x, [Dim("batch"), Dim("seq"), 3, 4])
    y = g.reshape(g.Transpose(y, perm=[0, 2, 1, 3]), [Dim("batch") * 3, Dim("seq"), 4])
    y = g.expand(g.Unsqueeze(y, [0]), [2, Dim("batch") * 3, Dim("seq"), 4])
    g.output(y, "y")
    # only the size of seq, which moves to another axis, has to be read
    model = g.build()
    assert ops(model) == ["Reshape", "Transpose", "Shape", "Concat", "Reshape", "Unsqueeze", "Expand"]
    data = np.arange(2 * 5 * 12, dtype=np.float32).reshape(2, 5, 12)
    expected = np.broadcast_to(data.reshape(2, 5, 3, 4).transpose(0, 2, 1, 3).reshape(6, 5, 4), (2, 6, 5, 4))
    np.testing.assert_array_equal(run(model, data)[0], expected)


@pytest.mark.parametrize("opset", [11, 13, 21, 25])
def test_size_expressions_compute_what_they_say(opset):
    g = GraphBuilder(opset)
    g.input("x", "float32", ["a", "b"])
    a, b = Dim("a"), Dim("b")
    sizes = [a * b + 2, (a + 1) // 2, a % b, 7, a * 3 - b]
    g.output(g.shape_vector(sizes), "sizes")
    g.output(g.size(a * 2), "twice")
    model = g.build()
    assert ops(model).count("Shape") <= 2  # each size is read once
    found = run(model, np.zeros((9, 4), np.float32))
    assert found[0].tolist() == [s if isinstance(s, int) else s.evaluate({"a": 9, "b": 4}) for s in sizes]
    assert found[1] == 18


def test_a_size_known_only_inside_an_expression_is_solved_for():
    g = GraphBuilder()
    g.input("x", "float32", [Dim("n") * 2 + 1])
    g.output(g.size(Dim("n")), "n")
    assert run(g, np.zeros(7, np.float32))[0] == 3
    with pytest.raises(TranslationError, match="other"):
        g.size(Dim("other"))


def test_what_the_source_says_is_compared():
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", 4])
    with g.at("head.fc (model.py:7)"):
        y = g.MatMul(x, np.ones((4, 3), np.float32))
        g.expect(y, "float32", ["batch", 3])
        with pytest.raises(TranslationError, match=r"DOUBLE.*head\.fc \(model\.py:7\)"):
            g.expect(y, "float64", ["batch", 3])
        with pytest.raises(TranslationError, match="a size is 3, the source says 5"):
            g.expect(y, None, ["batch", 5])
        with pytest.raises(TranslationError, match="2 axes"):
            g.expect(y, None, ["batch"])
        # a size that was baked in although the source keeps it open is the classic silent mistake
        with pytest.raises(TranslationError, match="a size is 3, the source says batch"):
            g.expect(y, None, ["batch", "batch"])


def test_wrong_calls_name_op_and_place():
    g = GraphBuilder()
    x = g.input("x", "float32", [2, 3])
    with g.at("encoder.norm (net.py:3)"):
        with pytest.raises(TranslationError, match=r"MatMul.*3 is not 2.*encoder\.norm"):
            g.MatMul(x, x)
        with pytest.raises(TranslationError, match="at most 2"):
            g.Add(x, x, x)
        with pytest.raises(TranslationError, match=r"can't be (of type )?FLOAT"):
            g.And(x, x)
    with pytest.raises(AttributeError, match="Gleu"):
        g.Gleu(x)


def test_opset_errors_name_what_is_missing():
    g = GraphBuilder(13)
    x = g.input("x", "string", ["n"])
    with g.at("join (net.py:9)"), pytest.raises(OpsetError, match=r"needs opset 20.*13.*join \(net\.py:9\)") as caught:
        g.StringConcat(x, x)
    assert caught.value.op == "StringConcat" and caught.value.needs == 20 and caught.value.target == 13
    for opset in (10, 26, 99, True):
        with pytest.raises(OpsetError, match="11 to 25"):
            GraphBuilder(opset)


@pytest.mark.parametrize("opset", [11, 13, 21, 25])
def test_control_flow_captures_outer_values(opset):
    g = GraphBuilder(opset)
    x = g.input("x", "float32", ["n"])
    doubled = x * 2.0
    then, other = g.subgraph("then"), g.subgraph("other")
    then.output(then.Add(doubled, 1.0))
    other.output(other.Sub(doubled, x))
    positive = g.Greater(g.Gather(x, 0, axis=0), 0.0)
    y = g.If(positive, then_branch=then, else_branch=other)
    assert y.sizes == (Dim("n"),)
    body = g.subgraph("loop")
    step = body.input("i", "int64", [])
    body.input("cond", "bool", [])
    total = body.input("total", "float32", ["n"])
    body.output(body.constant(np.array(True)))
    body.output(body.Add(total, doubled))
    body.output(body.Cast(step, to=ir.DataType.FLOAT))
    last, steps = g.Loop(np.array(3), None, y, body=body, outputs=2)
    g.output(last, "last")
    g.output(steps, "steps")
    model = g.build()
    for data in (np.array([1, 2, 3], np.float32), np.array([-1, 5], np.float32)):
        found = run(model, data)
        start = data * 2 + 1 if data[0] > 0 else data
        np.testing.assert_array_equal(found[0], start + 6 * data)
        assert found[1].tolist() == [0, 1, 2]


def test_shared_shape_arithmetic_stays_in_its_scope():
    g = GraphBuilder()
    x = g.input("x", "float32", ["n"])
    then, other = g.subgraph("then"), g.subgraph("other")
    then.output(then.size_vector(Dim("n") * 2))
    other.output(other.size_vector(Dim("n") * 3))
    g.output(g.If(g.Greater(g.ReduceSum(x, keepdims=0), 0.0), then_branch=then, else_branch=other), "y")
    g.output(g.size_vector(Dim("n") * 2), "z")  # computed anew: the branch's own isn't visible here
    found = run(g, np.ones(4, np.float32))
    assert found[0] == 8 and found[1] == 8


def test_names_are_kept_and_unique():
    g = GraphBuilder()
    x = g.input("x", "float32", [2])
    weight = g.initializer("x", np.ones(2, np.float32))  # clashes with the input
    y = g.Add(x, weight)
    g.output(y, "y")
    g.output(y, "again")
    g.output(x, "same")
    model = g.build()
    assert [v.name for v in model.graph.inputs] == ["x"] and [v.name for v in model.graph.outputs] == [
        "y",
        "again",
        "same",
    ]
    data = np.array([1, 2], np.float32)
    assert [a.tolist() for a in run(model, data)] == [[2, 3], [2, 3], [1, 2]]


def test_dead_nodes_and_their_constants_go():
    g = GraphBuilder()
    x = g.input("x", "float32", [2])
    g.Mul(g.Add(x, np.arange(2, dtype=np.float32)), 3.0)
    g.output(g.Relu(x), "y")
    model = g.build()
    assert [n.op_type for n in model.graph] == ["Relu"] and not model.graph.initializers


def test_weights_are_not_copied():
    weight = np.ones((1000, 100), np.float32)
    g = GraphBuilder()
    x = g.input("x", "float32", ["batch", 1000])
    g.output(g.MatMul(x, g.initializer("w", weight)), "y")
    held = g.build().graph.initializers["w"].const_value.numpy()
    assert np.shares_memory(held, weight)


def test_sources_are_kept_and_written_on_request():
    found = []
    for keep in (False, True):
        g = GraphBuilder()
        x = g.input("x", "float32", [2])
        with g.at("block.act (net.py:5)"):
            g.output(g.Relu(x), "y")
        node = g.build(keep_locations=keep).graph[0]
        assert node.meta["source"] == "block.act (net.py:5)"
        found.append(dict(node.metadata_props))
    assert found == [{}, {"anyonnx.source": "block.act (net.py:5)"}]


def test_a_builder_makes_one_model():
    g = GraphBuilder()
    g.output(g.Relu(g.input("x", "float32", [2])), "y")
    g.build()
    with pytest.raises(TranslationError, match="built already"):
        g.build()


def test_a_foreign_error_gets_the_place_as_a_note():
    g = GraphBuilder()
    with pytest.raises(KeyError) as caught, g.at("block.act (net.py:5)"):
        {}["missing"]
    assert caught.value.__notes__ == ["while converting block.act (net.py:5)"]


def test_the_collector_is_off_only_while_building():
    assert gc.isenabled()
    with pytest.raises(ValueError), gc_paused():
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()
