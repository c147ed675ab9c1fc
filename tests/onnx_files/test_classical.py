"""Operators of ai.onnx.ml in files: kept, or raised from their first versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from retarget import make_model, same_everywhere

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import OpsetError, UnsupportedOps

X = np.random.default_rng(5).standard_normal((6, 3)).astype(np.float32)
TREE = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [0.1, 0.0, 0.0, -0.2, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
}
REGRESSOR = TREE | {
    "target_treeids": [0, 0, 1, 1],
    "target_nodeids": [1, 2, 1, 2],
    "target_ids": [0, 0, 0, 0],
    "target_weights": [0.5, -1.0, 0.25, 2.0],
    "n_targets": 1,
    "base_values": [0.125],
}
CLASSIFIER = TREE | {
    "class_treeids": [0, 0, 0, 0, 1, 1],
    "class_nodeids": [1, 1, 2, 2, 1, 2],
    "class_ids": [0, 1, 1, 2, 0, 2],
    "class_weights": [0.5, 0.25, 1.0, 0.75, 0.5, 0.125],
    "classlabels_strings": ["cat", "dog", "bird"],
    "post_transform": "SOFTMAX",
}


def node(op: str, outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", **attributes)


@pytest.mark.parametrize("ml", [1, 3])
def test_trees_are_kept(ml: int) -> None:
    for made, outputs in (
        (node("TreeEnsembleRegressor", ["y"], **REGRESSOR), ["y"]),
        (node("TreeEnsembleClassifier", ["label", "scores"], **CLASSIFIER), ["label", "scores"]),
    ):
        model = make_model([made], {"x": X}, outputs, 9 if ml == 1 else 17, ml=ml, open_dims=True)
        converted = same_everywhere(model, [{"x": X}, {"x": X[:1]}])
        assert converted[25].model.opset_imports["ai.onnx.ml"] == 4
        assert converted[11].model.opset_imports["ai.onnx.ml"] == 2


def test_trees_of_doubles_need_a_version_that_has_them() -> None:
    attributes = {k: v for k, v in REGRESSOR.items() if k not in ("nodes_values", "target_weights", "base_values")}
    attributes["nodes_values_as_tensor"] = helper.make_tensor("v", 11, [6], REGRESSOR["nodes_values"])
    attributes["target_weights_as_tensor"] = helper.make_tensor("w", 11, [4], REGRESSOR["target_weights"])
    inputs = {"x": X.astype(np.float64)}
    model = make_model([node("TreeEnsembleRegressor", ["y"], **attributes)], inputs, ["y"], 17, ml=3)
    same_everywhere(model, [inputs], (16, 21, 25))
    with pytest.raises(OpsetError, match="TreeEnsembleRegressor"):
        to_onnx(model, opset=13)


def test_label_encoder_of_the_first_version() -> None:
    words = np.array(["b", "a", "c", "zzz"], dtype=object)
    numbers = np.array([2, 0, 9], np.int64)
    classes = {"classes_strings": ["a", "b", "c"], "default_int64": -7, "default_string": "none"}
    for values in (words, numbers):
        same_everywhere(
            make_model([node("LabelEncoder", ["y"], **classes)], {"x": values}, ["y"], 9, ml=1), [{"x": values}]
        )


def test_preprocessing_passes_through() -> None:
    nodes = [
        node("Scaler", ["s"], offset=[0.5, 0.0, -1.0], scale=[2.0, 1.0, 0.5]),
        helper.make_node("ArrayFeatureExtractor", ["s", "columns"], ["f"], domain="ai.onnx.ml"),
        helper.make_node("Normalizer", ["f"], ["n"], domain="ai.onnx.ml", norm="L1"),
        helper.make_node(
            "LinearClassifier", ["n"], ["label", "p"], domain="ai.onnx.ml", classlabels_ints=[3, 5],
            coefficients=[0.5, -1.0, -0.5, 1.0], intercepts=[0.25, -0.25], post_transform="LOGISTIC", multi_class=0,
        ),
        helper.make_node("ZipMap", ["p"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[3, 5]),
    ]  # fmt: skip
    weights = {"columns": np.array([0, 2])}
    same_everywhere(make_model(nodes[:4], {"x": X}, ["label", "p"], 9, ml=1, weights=weights), [{"x": X}])
    with pytest.raises(UnsupportedOps, match=r"ai.onnx.ml::ZipMap x1 .*maps"):
        to_onnx(make_model(nodes, {"x": X}, ["maps"], 9, ml=1, weights=weights), opset=17)
