"""Shape ops that are merged or dropped: fewer nodes, the same numbers."""

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from anyonnx.optimization.pipeline import optimize
from anyonnx.symbolic import GraphBuilder

DATA = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
SIZES = ["batch", 3, 4]


def run(model: ir.Model) -> list[np.ndarray]:
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, {"x": DATA})


def repeated(g, x, times=2, axis=1):
    wide = g.expand(g.Unsqueeze(x, [axis + 1]), [*x.sizes[: axis + 1], times, *x.sizes[axis + 1 :]])
    sizes = [s * times if i == axis else s for i, s in enumerate(x.sizes)]
    return g.reshape(wide, sizes)


def integers(g, x):
    return g.Cast(x, to=ir.DataType.INT64)


#: Name -> function of a graph, and the operators that must be left.
CASES = {
    "unsqueeze twice": (lambda g, x: g.Unsqueeze(g.Unsqueeze(x, [0]), [2]), ["Unsqueeze"]),
    "unsqueeze behind": (lambda g, x: g.Unsqueeze(g.Unsqueeze(g.Unsqueeze(x, [3]), [1]), [-1]), ["Unsqueeze"]),
    "transpose twice": (lambda g, x: g.Transpose(g.Transpose(x, perm=[1, 2, 0]), perm=[0, 2, 1]), ["Transpose"]),
    "transpose back": (lambda g, x: g.Neg(g.Transpose(g.Transpose(x, perm=[1, 2, 0]), perm=[2, 0, 1])), ["Neg"]),
    "same sizes": (lambda g, x: g.Neg(g.raw("Reshape", x, g.constant([-1, 3, 4]))), ["Reshape", "Neg"]),
    "same sizes known": (lambda g, x: g.Neg(g.raw("Reshape", x, g.constant([0, 3, 4]))), ["Neg"]),
    "reshape twice": (lambda g, x: g.raw("Reshape", g.raw("Reshape", x, g.constant([0, 12])), g.constant([-1, 2, 2])),
                      ["Reshape"]),
    "reshape of a zero": (lambda g, x: g.raw("Reshape", g.raw("Reshape", x, g.constant([-1, 2, 2])),
                                             g.constant([0, 4])), ["Reshape", "Reshape"]),
    "times one": (lambda g, x: g.Neg(g.raw("Mul", x, g.constant(np.float32(1)))), ["Neg"]),
    "one divided": (lambda g, x: g.raw("Div", g.constant(np.float32(1)), x), ["Div"]),
    "minus zero": (lambda g, x: g.Neg(g.raw("Sub", x, g.constant(np.float32(0)))), ["Neg"]),
    "zero minus": (lambda g, x: g.raw("Sub", g.constant(np.float32(0)), x), ["Sub"]),
    "plus zero keeps the sign of zero": (lambda g, x: g.Neg(g.raw("Add", x, g.constant(np.float32(0)))),
                                         ["Add", "Neg"]),
    "integers plus zero": (lambda g, x: g.Neg(g.raw("Add", integers(g, x), g.constant(0))), ["Cast", "Neg"]),
    "times a larger one": (lambda g, x: g.raw("Mul", x, g.constant(np.ones((2, 1, 1, 1), np.float32))), ["Mul"]),
    "and true": (lambda g, x: g.Not(g.raw("And", g.constant(True), g.Greater(x, 0.0))), ["Greater", "Not"]),
    "and false": (lambda g, x: g.raw("And", g.constant(False), g.Greater(x, 0.0)), ["Greater", "And"]),
    "needless expand": (lambda g, x: g.Min(x, g.expand(g.constant(np.float32(2)), x.sizes)), ["Min"]),
    "expand that widens": (lambda g, x: g.Min(x, g.raw("Expand", g.constant(np.float32(2)), g.constant([5, 1, 1, 1]))),
                           ["Expand", "Min"]),
    "expand further on": (
        lambda g, x: g.Min(x, g.Neg(g.Max(g.expand(g.constant(np.float32([[2], [3], [4]])), x.sizes), 1.0))),
        None,
    ),
    "expand two ops before": (
        lambda g, x: g.Min(x, g.Add(g.expand(g.ReduceMax(x, [0, 2]), x.sizes), 1.0)),
        ["ReduceMax", "Add", "Min"],
    ),
    "expand of a result": (lambda g, x: g.raw("Expand", x, g.constant([5, 1, 1, 1])), ["Expand"]),
    "repeated heads": (lambda g, x: repeated(g, x), ["Gather"]),
    "repeated last": (lambda g, x: repeated(g, x, 3, 2), ["Gather"]),
    "repeated open axis": (lambda g, x: repeated(g, x, 2, 0), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("opset", [11, 17, 25])
def test_rule(name, opset):
    function, left = CASES[name]
    found = []
    for passes in ((), ("simplify_shapes", "drop_unused")):
        g = GraphBuilder(opset)
        g.output(function(g, g.input("x", "float32", SIZES)), "y")
        model = g.build()
        optimize(model, passes)
        found.append((model, run(model)))
    (_, before), (model, after) = found
    for a, b in zip(before, after, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(
            np.signbit(a) if a.dtype.kind == "f" else a, np.signbit(b) if b.dtype.kind == "f" else b
        )
    if left is not None:
        assert [n.op_type for n in model.graph] == left


def test_names_of_outputs_stay():
    g = GraphBuilder()
    x = g.input("x", "float32", SIZES)
    g.output(g.Transpose(g.Transpose(x, perm=[1, 2, 0]), perm=[2, 0, 1]), "y")
    g.output(g.raw("Reshape", x, g.constant([0, 3, 4])), "z")
    g.output(repeated(g, x), "w")
    model = g.build()
    optimize(model)
    assert [o.name for o in model.graph.outputs] == ["y", "z", "w"]
    y, z, w = run(model)
    np.testing.assert_array_equal(y, DATA)
    np.testing.assert_array_equal(z, DATA)
    np.testing.assert_array_equal(w, np.repeat(DATA, 2, axis=1))


def test_inside_a_branch():
    g = GraphBuilder()
    x = g.input("x", "float32", SIZES)
    bodies = []
    for factor in (1.0, 2.0):
        body = g.subgraph()
        value = body.Unsqueeze(body.Unsqueeze(body.Mul(x, factor), [0]), [0])
        body.output(value)
        bodies.append(body)
    g.output(g.If(g.Greater(g.ReduceSum(x, keepdims=0), 0.0), then_branch=bodies[0], else_branch=bodies[1]), "y")
    model = g.build()
    optimize(model, ("simplify_shapes", "drop_unused"))
    assert sum(len(s) for s in model.graph.subgraphs()) <= 4
    np.testing.assert_array_equal(run(model)[0], DATA[None, None] * (1.0 if DATA.sum() > 0 else 2.0))
