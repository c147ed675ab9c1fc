"""Each operator whose signature or meaning changed, at its old opsets, written at others: the numbers stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import helper
from retarget import TARGETS, make_model, same_everywhere


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) * 100 + sum(shape)).standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Row:
    """One node: operator, opsets it is written at, inputs, constant inputs, attributes, number of outputs."""

    op: str
    opsets: tuple[int, ...]
    inputs: dict[str, Any]
    weights: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    order: tuple[str, ...] = ()
    open_dims: bool = True
    targets: tuple[int, ...] = TARGETS

    def __str__(self) -> str:
        told = "-".join(f"{k}={v}" for k, v in self.attributes.items() if isinstance(v, (int, float, str, list)))
        return f"{self.op}-{told}".replace(" ", "")[:70]


X = {"x": floats(2, 3, 4, 5)}
REDUCTIONS = ["Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "LogSumExp", "SumSquare"]
ROWS = [
    *(
        Row(f"Reduce{op}", (7, 11, 12), X, attributes=a)
        for op in REDUCTIONS
        for a in ({"axes": [1, 3], "keepdims": 0}, {"axes": [2]}, {}, {"keepdims": 0})
    ),
    Row("ReduceLogSum", (7, 13), {"x": np.abs(floats(3, 4))}, attributes={"axes": [1]}),
    Row("ReduceMean", (13, 17), X, attributes={"axes": [-1], "keepdims": 1}),
    Row("Squeeze", (7, 12), {"x": floats(1, 3, 1, 2)}, attributes={"axes": [0, 2]}, open_dims=False),
    Row("Squeeze", (7, 12), {"x": floats(1, 3, 1, 2)}, open_dims=False),
    Row("Unsqueeze", (7, 11, 12), {"x": floats(3, 2)}, attributes={"axes": [0, 3]}),
    Row("Split", (7, 12), {"x": floats(2, 6)}, attributes={"axis": 1, "split": [1, 2, 3]}, outputs=3),
    Row("Split", (7, 12, 13, 17), {"x": floats(6, 2)}, outputs=3),
    Row("Split", (13,), {"x": floats(6, 2)}, {"s": np.array([4, 2])}, outputs=2),
    Row("Slice", (7, 9), X, attributes={"starts": [1, -3], "ends": [2**31 - 1, -1], "axes": [1, 3]}),
    Row("Slice", (7, 9), X, attributes={"starts": [0, 1], "ends": [1, 3]}),
    Row("Slice", (10,), X, {"s": np.array([3, 4]), "e": np.array([-9, 0]), "a": np.array([2, 3]),
                            "t": np.array([-1, -2])}),
    Row("Pad", (7, 10), X, attributes={"pads": [0, 1, 0, 2, 0, 0, 3, 1], "value": 1.5}),
    Row("Pad", (7, 10), X, attributes={"pads": [0, 0, 1, 2, 0, 0, 2, 1], "mode": "reflect"}),
    Row("Pad", (7, 10), X, attributes={"pads": [0, 0, 1, -1, 0, 0, 2, -1], "mode": "edge"}),
    Row("Clip", (7, 10), X, attributes={"min": -0.5, "max": 0.25}),
    Row("Clip", (7, 10), X, attributes={"max": 0.25}),
    Row("Clip", (7, 10), X),
    Row("TopK", (7, 9), X, attributes={"k": 2, "axis": 1}, outputs=2),
    Row("TopK", (10,), X, {"k": np.array([2])}, outputs=2),
    Row("Dropout", (7, 10, 11), X, attributes={"ratio": 0.9}),
    Row("Scatter", (9, 10), {"x": floats(3, 3), "u": floats(2, 3)},
        {"i": np.array([[1, 0, 2], [0, 2, 1]])}, order=("x", "i", "u")),
    Row("ScatterElements", (11,), {"x": floats(3, 3), "u": floats(2, 3)},
        {"i": np.array([[1, 0, 2], [0, 2, 1]])}, attributes={"axis": -1}, order=("x", "i", "u")),
    *(Row(op, (7, 11, 12), X, attributes=a) for op in ("Softmax", "LogSoftmax", "Hardmax")
      for a in ({}, {"axis": 2}, {"axis": 3}, {"axis": 0})),
    Row("Softmax", (11, 12), X, attributes={"axis": -2}),
    Row("Softmax", (13,), X, attributes={"axis": 1}),
    Row("Upsample", (7, 8), X, attributes={"scales": [1.0, 1.0, 2.0, 3.0]}),
    Row("Upsample", (7, 8), X, attributes={"scales": [1.0, 1.0, 2.0, 1.6], "mode": "linear"}),
    Row("Upsample", (9,), X, {"s": np.array([1, 1, 2, 1.4], np.float32)}),
    Row("Upsample", (9,), X, {"s": np.array([1, 1, 2, 1.5], np.float32)}, attributes={"mode": "linear"}),
    Row("Resize", (10,), X, {"s": np.array([1, 1, 0.6, 0.7], np.float32)}),
    Row("Resize", (10,), X, {"s": np.array([1, 1, 2.5, 0.5], np.float32)}),
    Row("Resize", (10,), X, {"s": np.array([1, 1, 2.5, 0.5], np.float32)}, attributes={"mode": "linear"}),
    *(
        Row("Resize", (11, 12), X, {"r": np.array([], np.float32), "s": np.array([1, 1, 2.5, 0.5], np.float32)},
            attributes={"coordinate_transformation_mode": c, "mode": m, **n})
        for c in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        for m, n in (("linear", {}), ("nearest", {"nearest_mode": "floor"}), ("nearest", {"nearest_mode": "ceil"}))
    ),
    Row("Resize", (11,), X, {"r": np.array([], np.float32), "s": np.array([1, 1, 2.5, 1.7], np.float32)},
        attributes={"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}),
    Row("Resize", (11, 13), X, {"r": np.array([], np.float32), "s": np.array([], np.float32),
                                "z": np.array([2, 3, 9, 4])}, attributes={"mode": "cubic"}),
    Row("BatchNormalization", (7, 9, 13, 14), X,
        {"s": floats(3), "b": floats(3) + 1, "m": floats(3) * 2, "v": np.abs(floats(3)) + 0.1},
        attributes={"epsilon": 1e-3}),
    Row("AveragePool", (7, 10, 11, 19), X,
        attributes={"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 2]}),
    Row("AveragePool", (7, 11, 19), X,
        attributes={"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Row("AveragePool", (10, 11, 19), X, attributes={"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    Row("MaxPool", (7, 8, 10, 11, 12), X, attributes={"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 1, 1]}),
    Row("MaxPool", (10, 12), X, attributes={"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    Row("MaxPool", (8, 10), X, attributes={"kernel_shape": [2, 2]}, outputs=2),
    Row("LpPool", (7, 11), X, attributes={"kernel_shape": [2, 2], "p": 1}),
    Row("ConvTranspose", (7, 11), {"x": floats(1, 3, 4, 5)}, {"w": floats(3, 2, 3, 3)},
        attributes={"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    Row("Gemm", (7, 9), {"a": floats(3, 4)}, {"b": floats(5, 4), "c": floats(5)},
        attributes={"transB": 1, "alpha": 0.5}),
    Row("OneHot", (9, 11), {"i": np.array([[0, 2], [1, 3]])}, {"d": np.array([4]), "v": np.array([-1, 2], np.float32)},
        attributes={"axis": 1}),
    Row("ConstantOfShape", (9,), {}, {"s": np.array([2, 3])},
        attributes={"value": helper.make_tensor("v", 7, [1], [5])}),
    Row("EyeLike", (9,), {"x": floats(3, 4)}, attributes={"k": 1}),
    Row("Cast", (7, 9, 13), {"x": floats(3, 4) * 5}, attributes={"to": 7}),
    Row("Cast", (9, 13, 19), {"x": np.arange(6, dtype=np.int64)}, attributes={"to": 8}),
    Row("ArgMax", (7, 11), X, attributes={"axis": 2, "keepdims": 0}),
    Row("CumSum", (11,), X, {"a": np.array(-1)}, attributes={"reverse": 1, "exclusive": 1}),
    Row("Mod", (10,), {"a": floats(3, 4) * 5, "b": np.abs(floats(3, 4)) + 1}, attributes={"fmod": 1}),
    Row("BitShift", (11,), {"a": np.arange(6, dtype=np.uint8), "b": np.array([1, 2, 3, 0, 1, 2], np.uint8)},
        attributes={"direction": "LEFT"}),
    Row("QuantizeLinear", (10, 13, 19), {"x": floats(3, 4) * 50}, {"s": np.float32(0.5), "z": np.uint8(7)}),
    Row("DequantizeLinear", (10, 13, 19), {"x": np.arange(12, dtype=np.uint8).reshape(3, 4)},
        {"s": np.float32(0.5), "z": np.uint8(7)}),
    Row("DepthToSpace", (7, 11), {"x": floats(1, 8, 2, 3)}, attributes={"blocksize": 2}),
    Row("Gather", (7, 11), X, {"i": np.array([1, 0])}, attributes={"axis": 1}),
    Row("Flatten", (7, 9, 11), X, attributes={"axis": 2}),
    Row("GroupNormalization", (18, 20), {"x": floats(2, 6, 4)}, {"s": floats(3), "b": floats(3) + 1},
        attributes={"num_groups": 3}),
    Row("DFT", (17,), {"x": floats(2, 8, 1)}, attributes={"onesided": 1}, targets=(17, 20, 25)),
    Row("GridSample", (16,), {"x": floats(1, 2, 5, 6), "g": floats(1, 3, 4, 2) / 2}, attributes={"mode": "bicubic"},
        targets=(16, 19, 20, 21)),
    Row("GridSample", (16,), {"x": floats(1, 2, 5, 6), "g": floats(1, 3, 4, 2) / 2}, targets=(16, 19, 20, 21)),
    Row("RoiAlign", (10,), {"x": floats(1, 2, 8, 8)},
        {"r": np.array([[0.3, 1.2, 5, 6.5]], np.float32), "b": np.array([0])},
        attributes={"output_height": 3, "output_width": 2, "sampling_ratio": 2}, targets=(11, 13, 16, 21)),
    Row("LRN", (7,), X, attributes={"size": 3}),
    Row("InstanceNormalization", (7,), X, {"s": floats(3), "b": floats(3) + 1}),
    Row("MeanVarianceNormalization", (9,), X),
    Row("PRelu", (7, 9), X, {"s": floats(3, 1, 1)}),
    Row("LSTM", (7,), {"x": floats(5, 2, 3)}, {"w": floats(2, 16, 3) / 4, "r": floats(2, 16, 4) / 4},
        attributes={"hidden_size": 4, "direction": "bidirectional"}, outputs=3, open_dims=False),
    Row("GRU", (7,), {"x": floats(5, 2, 3)}, {"w": floats(1, 12, 3) / 4, "r": floats(1, 12, 4) / 4},
        attributes={"hidden_size": 4, "linear_before_reset": 1}, outputs=2, open_dims=False),
    Row("RNN", (7,), {"x": floats(5, 2, 3)}, {"w": floats(1, 4, 3) / 4, "r": floats(1, 4, 4) / 4},
        attributes={"hidden_size": 4, "direction": "reverse"}, outputs=2, open_dims=False),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_old_versions(row: Row) -> None:
    names = row.order or (*row.inputs, *row.weights)
    outputs = [f"y{i}" for i in range(row.outputs)]
    node = helper.make_node(row.op, names, outputs, **row.attributes)
    for opset in row.opsets:
        for open_dims in {False, row.open_dims}:
            model = make_model([node], row.inputs, outputs, opset, weights=row.weights, open_dims=open_dims)
            same_everywhere(model, [row.inputs], row.targets)
