"""What is folded equals what onnxruntime computes, rule by rule."""

import numpy as np
import onnx
import onnxruntime
import pytest

from anyonnx.symbolic.fold import _RULES, FOLD_LIMIT, fold

F = np.array([[-2.5, 0.0, 1.5], [4.0, -0.5, 3.25]], np.float32)
P = np.abs(F) + np.float32(0.5)
I = np.array([[-7, 2, 9], [5, -3, 1]], np.int64)  # noqa: E741
J = np.array([[2, -2, 4], [-5, 3, -1]], np.int64)
B = np.array([[True, False, True], [False, False, True]])


def ints(*values):
    return np.array(values, np.int64)


CASES = [
    *[(op, [x, y], {}) for op in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater") for x, y in ((F, P), (I, J))],
    *[(op, [x, y], {}) for op in ("LessOrEqual", "GreaterOrEqual") for x, y in ((F, P[:1]), (I, J))],
    *[(op, [B, ~B], {}) for op in ("And", "Or", "Xor")],
    *[(op, [F, P, F * 2], {}) for op in ("Min", "Max")],
    *[(op, [F], {}) for op in ("Neg", "Abs", "Floor", "Ceil", "Round", "Identity", "Reciprocal")],
    *[(op, [P], {}) for op in ("Sqrt", "Exp", "Log")],
    ("Not", [B], {}),
    *[("Cast", [x], {"to": to}) for x in (F, I, B) for to in (1, 6, 7, 9, 11)],
    ("Concat", [F, P], {"axis": -1}),
    ("Gather", [F, ints(2, -3)], {"axis": 1}),
    ("Gather", [F, np.array(1)], {"axis": 0}),
    ("Reshape", [F, ints(0, -1, 1)], {}),
    ("Reshape", [np.zeros((0, 3), np.float32), ints(3, 0)], {"allowzero": 1}),
    ("Transpose", [F], {"perm": [1, 0]}),
    ("Transpose", [F], {}),
    ("Unsqueeze", [F, ints(0, -1)], {}),
    ("Squeeze", [F[None], ints(0)], {}),
    ("Squeeze", [F[None]], {}),
    ("Slice", [F, ints(-2), ints(2**60), ints(1)], {}),
    ("Slice", [F, ints(2, 1), ints(-(2**60), -3), ints(1, 0), ints(-1, -1)], {}),
    ("Slice", [F, ints(0, 1), ints(1, 3)], {}),
    ("Shape", [F], {"start": -1}),
    ("Size", [F], {}),
    ("Range", [np.array(7), np.array(-4), np.array(-3)], {}),
    ("Range", [np.array(0.5, np.float32), np.array(2, np.float32), np.array(0.25, np.float32)], {}),
    ("Expand", [F, ints(2, 1, 3)], {}),
    ("Tile", [F, ints(2, 3)], {}),
    ("Where", [B, F, P[0]], {}),
    ("ConstantOfShape", [ints(2, 3)], {"value": ints(7)}),
    ("ConstantOfShape", [ints(2)], {}),
    *[(op, [x, ints(-1)], {"keepdims": k}) for op in ("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")
      for x in (F, I) for k in (0, 1)],
    ("ReduceSum", [I], {}),
    ("Trilu", [F, np.array(1)], {"upper": 0}),
    ("Trilu", [F], {}),
    ("CumSum", [F, np.array(1)], {}),
]  # fmt: skip


@pytest.mark.parametrize("op, operands, attributes", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_a_fold_is_what_the_runtime_computes(op, operands, attributes):
    # each operand is a computed value, so that the runtime doesn't fold it either
    names = [f"x{i}" for i in range(len(operands))]
    inputs = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(o.dtype), o.shape)
              for n, o in zip(names, operands, strict=True)]  # fmt: skip
    written = {k: onnx.numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
    node = onnx.helper.make_node(op, names, ["y"], **written)
    output = onnx.helper.make_value_info("y", onnx.TypeProto())
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", inputs, [output]),
        opset_imports=[onnx.helper.make_opsetid("", 25)],
        ir_version=13,
    )
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(
        None, dict(zip(names, operands, strict=True))
    )[0]
    folded = fold(op, operands, attributes, 1)
    assert folded is not None
    assert folded[0].dtype == expected.dtype and folded[0].shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(folded[0], expected, rtol=2e-7)
    else:
        np.testing.assert_array_equal(folded[0], expected)


def test_every_rule_is_tested():
    assert {c[0] for c in CASES} == set(_RULES)


def test_what_is_not_folded():
    big = np.zeros(FOLD_LIMIT + 1, np.float32)
    assert fold("Neg", [big], {}, 1) is None
    assert fold("Expand", [F[:1, :1], ints(FOLD_LIMIT, 2)], {}, 1) is None
    assert fold("Gather", [F, ints(5)], {"axis": 0}, 1) is None  # the runtime tells that it is out of range
    assert fold("Cast", [np.array([np.nan, 1e30], np.float32)], {"to": 7}, 1) is None
    assert fold("Conv", [F, F], {}, 1) is None
    assert fold("ReduceMax", [np.zeros((0, 2), np.float32)], {}, 1) is None
