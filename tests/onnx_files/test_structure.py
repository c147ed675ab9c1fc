"""What a file may hold besides plain nodes: bodies, sequences, functions, weights of every kind, names, metadata."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper
from retarget import TARGETS, make_model, same_everywhere

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import CaptureError, InputSpecError, OpsetError, UnsupportedOps

RNG = np.random.default_rng(3)
X = RNG.standard_normal((3, 4)).astype(np.float32)


def parse(text: str, opset: int, ir_version: int = 8) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{text}')


# --- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [11, 13, 16])
def test_branches_take_values_and_weights_from_outside(opset: int) -> None:
    model = parse(
        """
        main (float[n, 4] x, bool c) => (float[n, m] y)
          <float[4] w = {1, 2, 3, 4}>
        {
          a = Mul (x, w)
          y = If (c) <
            then_branch = one () => (float[n, 4] t) { s = Softmax (a)  t = Add (s, w) },
            else_branch = two () => (float[k, 8] e) { e = Concat <axis = 1> (a, x) }>
        }
        """,
        opset,
    )
    same_everywhere(model, [{"x": X, "c": np.array(True)}, {"x": X[:2], "c": np.array(False)}])


@pytest.mark.parametrize("opset", [11, 13])
def test_loops_whose_body_says_no_types(opset: int) -> None:
    model = parse(
        """
        main (float[n] x, int64 count) => (float[k] last, float[steps, n] all)
          <int64 zero = {0}>
        {
          yes = Constant <value = bool {1}> ()
          start = Identity (x)
          last, all = Loop (count, yes, start) <body = step (int64 i, bool go, carried) => (still, grown, part) {
            still = Identity (go)
            half = Mul (x, x)
            grown = Concat <axis = 0> (carried, half)
            f = Cast <to = 1> (i)
            part = Add (x, f)
          }>
        }
        """,
        opset,
    )
    same_everywhere(model, [{"x": X[0], "count": np.array(3)}, {"x": X[0, :2], "count": np.array(1)}])


def test_a_name_of_a_size_inside_a_body_is_not_that_of_outside() -> None:
    # exporters give a carried value that grows the dim that it starts with
    model = parse(
        """
        main (float[n] x, int64 count) => (float[k] y)
        {
          yes = Constant <value = bool {1}> ()
          y = Loop (count, yes, x) <body = step (int64 i, bool go, float[n] carried) => (bool still, float[n] grown) {
            still = Identity (go)
            size = Shape (carried)
            twice = Add (size, size)
            fill = ConstantOfShape <value = float[1] {0.5}> (twice)
            doubled = Concat <axis = 0> (carried, carried)
            grown = Add (doubled, fill)
          }>
        }
        """,
        13,
    )
    same_everywhere(model, [{"x": X[0], "count": np.array(3)}, {"x": X[0, :3], "count": np.array(2)}])


def test_scan_of_opset_8_has_a_batch_axis() -> None:
    text = """
        main (float[b, 2] start, float[b, s, 2] x) => (float[b, 2] last, float[b, s, 2] all)
        {
          last, all = Scan (, start, x) <num_scan_inputs = 1, body = step (float[2] sum, float[2] part)
            => (float[2] next, float[2] out) { next = Add (sum, part)  out = Mul (next, part) }>
        }
    """
    model = parse(text, 8, 4)
    inputs = {"start": X[:2, :2], "x": RNG.standard_normal((2, 5, 2)).astype(np.float32)}
    more = {"start": X[:3, :2], "x": RNG.standard_normal((3, 2, 2)).astype(np.float32)}
    same_everywhere(model, [inputs, more])


@pytest.mark.parametrize("opset", [9, 11])
def test_scan(opset: int) -> None:
    model = parse(
        """
        main (float[2] start, float[2, s] x) => (float[2] last, float[s, 2] all)
        {
          last, all = Scan (start, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_directions = [1],
            body = step (sum, part) => (next, out) { next = Add (sum, part)  out = Mul (next, part) }>
        }
        """,
        opset,
    )
    same_everywhere(model, [{"start": X[0, :2], "x": X[:2]}, {"start": X[1, :2], "x": X[:2, :3]}])


def test_bodies_in_bodies() -> None:
    model = parse(
        """
        main (float[n] x, bool a, bool b) => (float[n] y)
        {
          u = Exp (x)
          y = If (a) <
            then_branch = t () => (float[n] r) {
              v = Sqrt (u)
              r = If (b) <then_branch = tt () => (float[n] p) { p = Add (v, x) },
                          else_branch = te () => (float[n] q) { q = Identity (u) }> },
            else_branch = e () => (float[n] s) { s = Identity (x) }>
        }
        """,
        11,
    )
    cases = [{"x": X[0], "a": np.array(a), "b": np.array(b)} for a in (True, False) for b in (True, False)]
    same_everywhere(model, cases)


# --- sequences, optionals, functions ---------------------------------------------------------------------------------


def test_sequences_inside_and_as_results() -> None:
    model = parse(
        """
        main (float[n, 4] x) => (float[n, 5] y, seq(float[n, 2]) parts)
        {
          two = Constant <value = int64 {2}> ()
          one = Constant <value = int64 {1}> ()
          parts = SplitToSequence <axis = 1> (x, two)
          first = SequenceAt (parts, one)
          empty = SequenceEmpty <dtype = 1> ()
          some = SequenceInsert (empty, x)
          more = SequenceInsert (some, first)
          joined = ConcatFromSequence <axis = 1> (more)
          count = SequenceLength (more)
          y = Slice (joined, start, stop, axis)
        }
        """.replace(
            "{\n          two", "<int64[1] start = {1}, int64[1] stop = {9}, int64[1] axis = {1}>\n{\n          two", 1
        ),
        11,
    )
    same_everywhere(model, [{"x": X}, {"x": X[:1]}])


def test_local_functions_are_inlined() -> None:
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 13, "own" : 1]>
        main (float[n, 4] x, bool c) => (float[n, 4] y, float[n, 4] z)
        {
          a, b = own.pair <alpha = 0.25> (x)
          y = own.outer (a, b)
          z = If (c) <then_branch = t () => (float[n, 4] p) { p, q = own.pair (a) },
                      else_branch = e () => (float[n, 4] r) { r = own.outer (x, a) }>
        }
        <domain: "own", opset_import: ["" : 11]>
        pair <alpha: float = 0.5> (x) => (f, s)
        {
          f = LeakyRelu <alpha: float = @alpha> (x)
          s = Softmax (x)
        }
        <domain: "own", opset_import: ["" : 13, "own" : 1]>
        outer (a, b) => (y)
        {
          p, q = own.pair <alpha = 0.125> (a)
          t = Add (p, q)
          y = Mul (t, b)
        }
        """
    )
    converted = same_everywhere(model, [{"x": X, "c": np.array(True)}, {"x": X[:1], "c": np.array(False)}])
    assert not converted[13].model.functions


def test_optional_outputs_may_be_left_out() -> None:
    node = helper.make_node("LSTM", ["x", "w", "r", "", "", "h"], ["", "", "c"], hidden_size=4)
    w, r = (RNG.standard_normal(s).astype(np.float32) for s in ((1, 16, 3), (1, 16, 4)))
    inputs = {"x": RNG.standard_normal((5, 2, 3)).astype(np.float32), "h": np.ones((1, 2, 4), np.float32)}
    same_everywhere(make_model([node], inputs, ["c"], 7, weights={"w": w, "r": r}), [inputs])


def test_outputs_that_nobody_uses_ask_for_nothing() -> None:
    # as caffe2 wrote them: a mask of opset 9 that holds nothing sensible
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p", "places"], kernel_shape=[2]),
        helper.make_node("Dropout", ["p"], ["d", "mask"], ratio=0.5),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    inputs = {"x": X[None]}
    converted = same_everywhere(make_model(nodes, inputs, ["y"], 9), [inputs])
    assert [len(n.outputs) for n in converted[11].model.graph] == [1, 1]
    with pytest.raises(UnsupportedOps, match=r"Dropout.*mask"):
        to_onnx(make_model(nodes[:2], inputs, ["d", "mask"], 9))


def test_batch_normalization_that_trains_is_refused() -> None:
    weights = {n: np.ones(3, np.float32) for n in "sbmv"}
    node = helper.make_node("BatchNormalization", ["x", *weights], ["y", "m2", "v2", "sm", "sv"])
    with pytest.raises(UnsupportedOps, match=r"BatchNormalization.*training"):
        to_onnx(make_model([node], {"x": X[None]}, ["y"], 9, weights=weights))


# --- weights ---------------------------------------------------------------------------------------------------------


def test_weights_that_are_inputs_too() -> None:
    weights = {"w": np.array([1, 2, 3, 4], np.float32)}
    model = make_model([helper.make_node("Mul", ["x", "w"], ["y"])], {"x": X, **weights}, ["y"], 7, weights=weights)
    model.ir_version = 3
    assert len(model.graph.input) == 2
    converted = same_everywhere(model, [{"x": X}])
    assert [v.name for v in converted[25].model.graph.inputs] == ["x"]
    assert list(converted[25].model.graph.initializers) == ["w"]


def _external(path: Path) -> np.ndarray:
    weight = RNG.standard_normal((4, 512, 16)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = make_model([node], {"x": np.zeros((4, 2, 512), np.float32)}, ["y"], 9, weights={"w": weight})
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return weight


def test_external_weights_stay_in_their_file(tmp_path: Path) -> None:
    weight = _external(tmp_path / "model.onnx")
    x = RNG.standard_normal((4, 2, 512)).astype(np.float32)
    converted = to_onnx(tmp_path / "model.onnx", opset=13, optimize=False, compare=False)
    tensor = converted.model.graph.initializers["w"].const_value
    assert isinstance(tensor, ir.ExternalTensor) and tensor.location == "weights.bin"
    assert np.array_equal(tensor.numpy(), weight)
    compared = to_onnx(tmp_path / "model.onnx", opset=13, output=tmp_path / "new.onnx")
    assert compared.parity is not None and compared.parity.passed
    assert np.array_equal(onnx.load(tmp_path / "new.onnx").graph.initializer[0].dims, weight.shape)
    from_memory = to_onnx(ir.load(tmp_path / "model.onnx"), {"x": x}, opset=11)
    assert from_memory.parity is not None and from_memory.parity.passed


def test_weights_in_memory_are_neither_copied_nor_renamed() -> None:
    weight = np.ones((64, 64), np.float32)
    node = helper.make_node("MatMul", ["x", "y"], ["z"])  # the weight's name is wanted for the output
    proto = make_model([node], {"x": np.ones((2, 64), np.float32)}, ["z"], 13, weights={"y": weight, "s": [64, 2]})
    proto.graph.node.append(helper.make_node("Reshape", ["z", "s"], ["r"]))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("r", 1, [64, 2]))
    model = ir.serde.deserialize_model(proto)
    model.graph.initializers["y"].const_value = ir.Tensor(weight, name="y")
    found = to_onnx(model, opset=11, output_names=["y"], compare=False).model.graph
    big = next(v for v in found.initializers.values() if v.shape == (64, 64))
    assert big.name != "y" and np.shares_memory(big.const_value.numpy(), weight)
    assert [t.name for t in proto.graph.initializer] == ["y", "s"]
    assert [v.const_value.name for v in model.graph.initializers.values()] == ["y", "s"]


def test_sparse_weights_and_constants() -> None:
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.5, -2.0])
    linear = helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [2], [1, 7]), [3, 4])
    pairs = helper.make_sparse_tensor(
        helper.make_tensor("v", TensorProto.FLOAT, [2], [3.0, 4.0]),
        helper.make_tensor("j", TensorProto.INT64, [2, 2], [0, 1, 2, 3]), [3, 4],
    )  # fmt: skip
    nodes = [
        helper.make_node("Constant", [], ["c"], sparse_value=pairs),
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "c"], ["y"]),
    ]
    model = make_model(nodes, {"x": X}, ["y"], 11)
    model.graph.sparse_initializer.append(linear)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [3, 4]))
    same_everywhere(model, [{"x": X}])


def test_constants_of_every_kind() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_float=1.5),
        helper.make_node("Constant", [], ["b"], value_floats=[1.0, 2.0, 3.0, 4.0]),
        helper.make_node("Constant", [], ["i"], value_int=2),
        helper.make_node("Constant", [], ["j"], value_ints=[3, 1]),
        helper.make_node("Constant", [], ["s"], value_string=b"word"),
        helper.make_node("Constant", [], ["t"], value_strings=[b"one", b"two"]),
        helper.make_node("Mul", ["x", "a"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["y"]),
        *(helper.make_node("Identity", [n], [f"out_{n}"]) for n in "ijst"),
    ]
    model = make_model(nodes, {"x": X}, ["y", "out_i", "out_j", "out_s", "out_t"], 12)
    same_everywhere(model, [{"x": X}])


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_and_what_a_model_says_of_itself_are_kept() -> None:
    nodes = [
        helper.make_node("Relu", ["in 1"], ["inner/value:0"]),
        helper.make_node("ReduceMean", ["inner/value:0"], ["mean"], axes=[1]),
        helper.make_node("Sub", ["inner/value:0", "mean"], ["out 1"]),
    ]
    model = make_model(nodes, {"in 1": X}, ["out 1"], 11, open_dims=True)
    model.doc_string, model.graph.name = "what it is", "net"
    helper.set_model_props(model, {"names": "{0: 'cat'}", "stride": "32"})
    converted = same_everywhere(model, [{"in 1": X}])
    for opset in TARGETS:
        found = converted[opset].model
        assert found.metadata_props == {"names": "{0: 'cat'}", "stride": "32"}
        assert (found.doc_string, found.graph.name) == ("what it is", "net")
        names = [o.name for node in found.graph for o in node.outputs]
        assert names == ["inner/value:0", "mean", "out 1"]


def test_outputs_that_no_node_makes() -> None:
    # an input, a weight, the same value twice under two names, and a constant
    nodes = [
        helper.make_node("Identity", ["x"], ["copy"]),
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Constant", [], ["c"], value_float=2.0),
    ]
    weights = {"w": X * 2}
    model = make_model(nodes, {"x": X}, ["copy", "a", "b", "c"], 13, weights=weights)
    model.graph.output.extend(helper.make_tensor_value_info(n, 1, [3, 4]) for n in ("x", "w"))
    converted = same_everywhere(model, [{"x": X}])
    assert [o.name for o in converted[11].model.graph.outputs] == ["copy", "a", "b", "c", "x", "w"]


def test_nodes_without_names_and_repeated_names_in_bodies() -> None:
    model = parse(
        """
        main (float[n] x, bool c) => (float[n] y, float[n] z)
        {
          y = If (c) <then_branch = t () => (float[n] r) { i = Exp (x)  r = Relu (i) },
                      else_branch = e () => (float[n] r2) { i2 = Neg (x)  r2 = Relu (i2) }>
          z = If (c) <then_branch = t () => (float[n] s) { i3 = Neg (x)  s = Relu (i3) },
                      else_branch = e () => (float[n] s2) { i4 = Exp (x)  s2 = Relu (i4) }>
        }
        """,
        13,
    )
    for branch in (*model.graph.node[0].attribute, *model.graph.node[1].attribute):
        branch.g.node[0].output[0] = branch.g.node[1].input[0] = "same"
    same_everywhere(model, [{"x": X[0], "c": np.array(True)}, {"x": X[0], "c": np.array(False)}])


# --- the frontend ----------------------------------------------------------------------------------------------------


def test_the_whole_way_with_comparison(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv1"),
        helper.make_node("Relu", ["c"], ["r"], name="relu1"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Softmax", ["f"], ["y"]),
    ]
    x = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
    weight = RNG.standard_normal((5, 3, 3, 3)).astype(np.float32)
    model = make_model(nodes, {"x": x}, ["y"], 9, weights={"w": weight}, open_dims=False)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch.size"
    model.graph.input[0].type.tensor_type.shape.dim[2].ClearField("dim_value")
    onnx.save(model, tmp_path / "m.onnx")
    found = to_onnx(tmp_path / "m.onnx", opset=17)
    assert str(found.source.specs[0]) == "x:float32[batch_size,3,x_d2,8]"
    assert found.parity is not None and found.parity.passed
    trace = found.trace()
    assert set(trace.values.values()) >= {"r", "y"}
    given = {"x": x}
    values = trace.run(given, ["r"])
    assert values["r"].shape == (2, 5, 6, 6) and values["r"].min() == 0
    fixed = to_onnx(model, ["x:float32[1,3,N,8]"], opset=11, input_names=["pixels"], output_names=["scores"])
    assert [str(s) for s in fixed.source.specs] == ["pixels:float32[1,3,N,8]"]
    assert fixed.parity is not None and fixed.parity.passed
    assert [o.name for o in fixed.model.graph.outputs] == ["scores"]


@pytest.mark.parametrize(
    ("inputs", "dynamic", "text"),
    [
        (["x:float32[3,5]"], None, "axis 1 of input x is 4"),
        (["x:int64[3,4]"], None, "input x is float32"),
        (["x:float32[3]"], None, "has 2 axes"),
        (["z:float32[3,4]"], None, "no input"),
        (None, {"x": {1: "n"}}, "axis 1 of input x is 4"),
        (None, {"z": {0: "n"}}, "no input"),
        ([X, X], None, "2 inputs are given"),
    ],
)
def test_inputs_that_do_not_fit(inputs: object, dynamic: object, text: str) -> None:
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": X}, ["y"], 13)
    with pytest.raises(InputSpecError, match=text):
        to_onnx(model, inputs, dynamic=dynamic)  # type: ignore[arg-type]


def test_foreign_operators_are_listed_before_anything_is_built() -> None:
    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1, "own" : 1]>
        main (float[n, 4] x, bool c) => (float[n, 4] y)
        {
          a = com.microsoft.FusedGelu (x)
          y = If (c) <then_branch = t () => (float[n, 4] p) { q = com.microsoft.FusedGelu (a)  p = Ghost (q) },
                      else_branch = e () => (float[n, 4] r) { r = own.call (x) }>
        }
        <domain: "own", opset_import: ["" : 13, "com.microsoft" : 1]>
        call (x) => (y) { y = com.microsoft.BiasGelu (x, x) }
        """
    )
    with pytest.raises(UnsupportedOps) as caught:
        to_onnx(model, compare=False)
    found = {(op.dialect, op.name): op.count for op in caught.value.missing}
    wanted = {("com.microsoft", "FusedGelu"): 2, ("com.microsoft", "BiasGelu"): 1, ("onnx", "Ghost"): 1}
    assert found == wanted


def test_opsets_out_of_range() -> None:
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": X}, ["y"], 13)
    for opset in (6, 1, 99):
        model.opset_import[0].version = opset
        with pytest.raises(OpsetError, match=f"opset {opset} .*7 to 28"):
            to_onnx(model)


def test_operators_newer_than_the_authoring_opset() -> None:
    inputs = {"x": X.astype(np.float32)}
    node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT32)
    model = make_model([node], inputs, ["y"], 26)
    with pytest.raises(OpsetError, match=r"BitCast .*needs opset 26"):
        to_onnx(model, opset=21, compare=False)


def test_inputs_that_are_no_tensors_convert_but_are_not_compared() -> None:
    model = parse(
        "main (seq(float[n]) s) => (float[m] y) { y = ConcatFromSequence <axis = 0> (s) }",
        13,
    )
    converted = to_onnx(model, opset=11, compare=False)
    assert isinstance(converted.model.graph.inputs[0].type, ir.SequenceType)
    with pytest.raises(InputSpecError, match="no values can be made"):
        to_onnx(model, opset=11)


def test_inputs_that_numpy_does_not_hold_convert() -> None:
    model = parse("main (float8e4m3fn[n, 4] x) => (float[n, 4] y) { y = Cast <to = 1> (x) }", 19, 9)
    assert str(to_onnx(model, opset=21, compare=False).model.graph.inputs[0].shape) == "[n,4]"


def test_a_source_that_does_not_run() -> None:
    model = make_model(
        [helper.make_node("Reshape", ["x", "s"], ["y"])], {"x": X}, ["y"], 13, weights={"s": [5, 7]}, open_dims=True
    )
    with pytest.raises(CaptureError, match="does not run"):
        to_onnx(model, opset=13)
