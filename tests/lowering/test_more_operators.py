"""Lowerings of activations, windows, sequences, control flow and ai.onnx.ml."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
import sweep
from opset_parity import assert_same, build, operators

from anyonnx.symbolic.errors import OpsetError
from anyonnx.symbolic.schemas import ML_DOMAIN

RNG = np.random.default_rng(11)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("op, attributes", [("HardSwish", {}), ("Mish", {}), ("Celu", {}), ("Celu", {"alpha": 0.5})])
def test_activations(op: str, attributes: dict) -> None:
    assert_same(lambda g, v: g.call(op, v, **attributes), {"x": f32(3, 20) * 4}, (11, 13), open_axes={"x": {0: "n"}})


def test_swish_has_no_kernel_at_its_own_opset() -> None:
    x = f32(3, 20)
    expected = x / (1 + np.exp(-2 * x))
    assert_same(lambda g, v: g.Swish(v, alpha=2.0), {"x": x}, (11, 21), expected=[expected.astype(np.float32)])


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows_of_open_size(op: str, periodic: int) -> None:
    for dtype in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        window = lambda g, n, d=dtype: g.call(op, n, periodic=periodic, output_datatype=int(d))  # noqa: E731
        assert_same(window, {"n": np.array(9)}, (11, 16) if dtype is ir.DataType.FLOAT else (16,), truth=17)


def test_centre_crop_and_pad() -> None:
    crop = lambda g, x: g.CenterCropPad(x, [4, 9], axes=[2, 1])  # noqa: E731
    assert_same(crop, {"x": f32(2, 6, 7)}, (11, 13, 17), open_axes={"x": {0: "n", 1: "h", 2: "w"}})


def test_gather_with_batch_axes() -> None:
    feeds = {"x": f32(2, 3, 4, 5), "i": np.array([[[1, 0], [3, 4], [0, 0]], [[2, 1], [1, 1], [3, 2]]])}
    gather = lambda g, x, i: g.GatherND(x, i, batch_dims=2)  # noqa: E731
    assert_same(gather, feeds, (11,), open_axes={"x": {0: "n"}, "i": {0: "n"}}, truth=12)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axis", [1, -1])
def test_last_of_equal_elements(op: str, keepdims: int, axis: int) -> None:
    x = RNG.integers(0, 3, (3, 6, 6)).astype(np.float32)
    last = lambda g, v: g.call(op, v, axis=axis, keepdims=keepdims, select_last_index=1)  # noqa: E731
    assert_same(last, {"x": x}, (11,), open_axes={"x": {0: "n", 1: "m"}}, truth=12)


def test_cumulative_sum_of_short_floats() -> None:
    x = np.arange(12, dtype=np.float16).reshape(3, 4)
    total = lambda g, v: g.CumSum(v, 1, reverse=1)  # noqa: E731
    expected = np.cumsum(x[:, ::-1], axis=1)[:, ::-1]
    assert_same(total, {"x": x}, (11, 13), expected=[expected])


def test_roi_align_changed_its_meaning_at_16() -> None:
    inputs = {"x": ("float32", [1, 1, 8, 8]), "r": ("float32", [1, 4]), "b": ("int64", [1])}
    with pytest.raises(OpsetError, match=r"RoiAlign \(coordinate_transformation_mode half_pixel\) needs opset 16"):
        build(lambda g, *x: g.RoiAlign(*x, output_height=2, output_width=2), inputs, 13)
    feeds = {"x": f32(1, 1, 8, 8), "r": np.array([[1, 1, 6, 5]], np.float32), "b": np.array([0])}
    align = lambda g, *x: g.RoiAlign(  # noqa: E731
        *x, output_height=2, output_width=2, sampling_ratio=2, coordinate_transformation_mode="output_half_pixel"
    )
    assert_same(align, feeds, (11, 13), truth=16)


def test_dropout_in_inference() -> None:
    drop = lambda g, x: g.Dropout(x, 0.4, outputs=2)  # noqa: E731
    assert_same(drop, {"x": f32(2, 3)}, (11, 12), open_axes={"x": {0: "n"}})
    with pytest.raises(OpsetError, match="training_mode"):
        build(lambda g, x: g.Dropout(x, 0.4, True), {"x": ("float32", [2])}, 11)


def test_a_known_condition_leaves_one_branch() -> None:
    def choose(g, x):
        then, other = g.subgraph("then"), g.subgraph("other")
        then.output(then.Mul(x, 2.0))
        other.output(other.Identity(x))
        chosen = g.If(np.array(True), then_branch=then, else_branch=other)
        return chosen + 1.0

    model = build(choose, {"x": ("float32", ["n"])}, 11)
    assert operators(model) == ["Mul", "Add"]
    got = sweep.run_onnxruntime(model, {"x": np.ones(2, np.float32)}, optimize=False)
    assert np.array_equal(got[0], [3, 3])


def test_sequences_through_a_branch_need_13() -> None:
    def choose(g, x, c):
        then, other = g.subgraph("then"), g.subgraph("other")
        then.output(then.SequenceConstruct(x))
        other.output(other.SequenceConstruct(x, x))
        return g.SequenceAt(g.If(c, then_branch=then, else_branch=other), 0)

    inputs = {"x": ("float32", ["n"]), "c": ("bool", [])}
    with pytest.raises(OpsetError, match=r"If \(outputs of type seq\(tensor\(float\)\)\) needs opset 13"):
        build(lambda g, x, c: g.reshape(choose(g, x, c), [-1]), inputs, 12)
    build(lambda g, x, c: g.reshape(choose(g, x, c), [-1]), inputs, 13)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_label_encoder_with_tensors(dtype: str) -> None:
    keys, values = ir.tensor(np.array([3, -1, 7], dtype)), ir.tensor(np.array([10, 20, 30], np.int64))

    def encode(g, x):
        default = ir.tensor(np.array([99], np.int64))
        return g.call(
            "LabelEncoder", x, domain=ML_DOMAIN, keys_tensor=keys, values_tensor=values, default_tensor=default
        )

    x = np.array([7, 3, 5, -1], dtype)
    assert_same(encode, {"x": x}, (11, 16, 19), open_axes={"x": {0: "n"}}, expected=[np.array([30, 10, 99, 20])])


def _trees(weights: np.ndarray, splits: np.ndarray) -> dict:
    """Two trees of depth one on two features, the second one with a set as its test."""
    kind = splits.dtype
    return {
        "n_targets": 2, "tree_roots": [0, 1], "nodes_featureids": [0, 1],
        "nodes_modes": ir.tensor(np.array([0, 6], np.uint8)), "nodes_splits": ir.tensor(splits),
        "membership_values": ir.tensor(np.array([1, 4, 9, np.nan], kind)),
        "nodes_truenodeids": [0, 2], "nodes_trueleafs": [1, 1],
        "nodes_falsenodeids": [1, 3], "nodes_falseleafs": [1, 1],
        "leaf_targetids": [0, 1, 1, 0], "leaf_weights": ir.tensor(weights),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tree_ensembles_below_ml_5(dtype: str) -> None:
    weights, splits = np.array([0.1, 0.2, 0.3, 0.7], dtype), np.array([0.5, 0], dtype)
    ensemble = lambda g, x: g.call("TreeEnsemble", x, domain=ML_DOMAIN, **_trees(weights, splits))  # noqa: E731
    x = np.array([[0.5, 4], [0.6, 4], [0.4, 5], [np.nextafter(0.5, 1), 9]], dtype)
    first = np.where(x[:, 0] <= splits[0], 0, 1)
    second = np.where(np.isin(x[:, 1], [1, 4, 9]), 2, 3)
    expected = np.zeros((4, 2), dtype)
    for row in range(4):
        for leaf in (first[row], second[row]):
            expected[row, [0, 1, 1, 0][leaf]] += weights[leaf]
    targets = (11, 16, 20, 21) if dtype == "float32" else (16, 20, 21)
    assert_same(ensemble, {"x": x}, targets, open_axes={"x": {0: "n"}}, expected=[expected])
    if dtype == "float64":
        with pytest.raises(OpsetError, match=r"TreeEnsemble.*X of type DOUBLE.*needs opset 16"):
            build(ensemble, {"x": (dtype, ["n", 2])}, 13)


def test_a_body_stands_in_where_the_older_version_lacks_an_attribute() -> None:
    """Attention exists at 23, its windows came with 25."""
    q = {n: ("float32", [1, 2, "s", 4]) for n in "qkv"}
    windowed = build(lambda g, *x: g.Attention(*x, left_window_size=1), q, 23)
    assert "Attention" not in operators(windowed)
    assert operators(build(lambda g, *x: g.Attention(*x), q, 23)) == ["Attention"]


@pytest.mark.parametrize(
    "op, attributes, width",
    [
        ("Scaler", {"offset": [1.0], "scale": [2.0]}, 3),
        ("Normalizer", {"norm": "L2"}, 3),
        ("Imputer", {"imputed_value_floats": [1.0], "replaced_value_float": 0.0}, 3),
        ("LinearRegressor", {"coefficients": [1.0] * 6, "intercepts": [0.0, 1.0], "targets": 2}, 2),
        ("FeatureVectorizer", {"inputdimensions": [3]}, 3),
    ],
)
def test_sizes_of_classical_operators_that_the_standard_cannot_infer(op: str, attributes: dict, width: int) -> None:
    function = lambda g, x: g.call(op, x, domain=ML_DOMAIN, **attributes)  # noqa: E731
    model = build(function, {"x": ("float32", ["n", 3])}, 17)
    assert [d.dim_param or d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim] == ["n", width]
    assert sweep.run_onnxruntime(model, {"x": f32(4, 3)}, optimize=False)[0].shape == (4, width)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("norm", ["L1", "L2", "MAX"])
def test_normalizer_keeps_signs(norm: str, dtype: str) -> None:
    """onnxruntime's L2 kernel writes over an operand of known sizes and loses the signs."""
    x = np.array([[1, 2], [3, -4], [0, 0], [-2, -1]], dtype)
    size = {"L1": np.abs(x).sum(1), "L2": np.sqrt((x * x).sum(1)), "MAX": x.max(1)}[norm][:, None]
    if norm == "MAX":
        x, size = x[:2], size[:2]  # a row without positive entries has no maximum to divide by
    expected = x / np.where(size == 0, 1, size)
    normalize = lambda g, v: g.call("Normalizer", g.Mul(v, np.array(1, dtype)), domain=ML_DOMAIN, norm=norm)  # noqa: E731
    assert_same(normalize, {"x": x}, (11, 17, 25), expected=[expected.astype(np.float32)])
