"""Operators of opsets 26 to 28, which onnxruntime doesn't run: against numpy, written at opsets that it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from retarget import TARGETS, assert_same, make_model

from anyonnx.converters.api import to_onnx
from anyonnx.validation.models import load_model
from anyonnx.validation.providers.ort import Session

RNG = np.random.default_rng(11)


def check(
    node: onnx.NodeProto, inputs: dict[str, Any], right: np.ndarray, opset: int, targets: tuple[int, ...] = TARGETS
) -> None:
    model = make_model([node], inputs, list(node.output), opset, open_dims=True)
    for target in targets:
        found = to_onnx(model, opset=target, compare=False).model
        for optimize in (False, True):
            results = Session(load_model(found), optimize=optimize).run(inputs)
            assert_same(results, {node.output[0]: right}, 2e-7, f"at {target}")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_of_any_integer(dtype: Any, direction: str) -> None:
    width = np.dtype(dtype).itemsize * 8
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 1, 5, 64, limits.max - 3], dtype).reshape(6, 1)
    y = np.array([0, 1, 3, width - 1, width, width + 5, *([-1, -width] if limits.min else [])], dtype)

    def shifted(value: int, places: int) -> int:
        inside = 0 <= places < width
        if direction == "RIGHT":
            return value >> places if inside else (-1 if value < 0 else 0)
        bits = (value << places) % 2**width if inside else 0
        return bits - 2**width if limits.min and bits >= 2 ** (width - 1) else bits

    right = np.array([[shifted(int(a), int(b)) for b in y] for a in x[:, 0]], dtype)
    check(helper.make_node("BitShift", ["x", "y"], ["z"], direction=direction), {"x": x, "y": y}, right, 28)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_cumulative_product(axis: int, exclusive: int, reverse: int) -> None:
    x = RNG.uniform(0.5, 1.5, (3, 4, 2)).astype(np.float32)
    moved = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
    rows = [np.ones_like(moved[0])]
    for row in moved:
        rows.append(rows[-1] * row)
    found = np.array(rows[:-1] if exclusive else rows[1:])[:: -1 if reverse else 1]
    node = helper.make_node("CumProd", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
    check(node, {"x": x, "axis": np.array(axis)}, np.moveaxis(found, 0, axis), 26)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth(mode: str) -> None:
    x = RNG.standard_normal((2, 3, 4, 6)).astype(np.float32)
    blocks = x.reshape(2, 3, 2, 2, 3, 2).transpose([0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4])
    node = helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode=mode)
    check(node, {"x": x}, blocks.reshape(2, 12, 2, 3), 28)


def test_a_range_of_narrow_floats_is_counted_in_wide_ones() -> None:
    bounds = {"a": np.float16(0.1), "b": np.float16(3.0), "c": np.float16(0.05)}
    wide = [np.float32(v) for v in bounds.values()]
    count = int(np.ceil((wide[1] - wide[0]) / wide[2]))
    right = (wide[0] + np.arange(count, dtype=np.float32) * wide[2]).astype(np.float16)
    node = helper.make_node("Range", list(bounds), ["y"])
    model = make_model([node], bounds, ["y"], 27)
    for target in TARGETS:
        found = Session(load_model(to_onnx(model, opset=target, compare=False).model), optimize=False).run(bounds)["y"]
        assert found.shape == right.shape and np.max(np.abs(found.astype(float) - right)) <= 0.002


def test_bits_of_integers_stay() -> None:
    x = np.array([-1, -128, 127, 0], np.int8)
    node = helper.make_node("BitCast", ["x"], ["y"], to=onnx.TensorProto.UINT8)
    check(node, {"x": x}, x.view(np.uint8), 26)


def test_an_operator_with_a_body_of_its_own() -> None:
    a, b = (RNG.standard_normal((2, 8)).astype(np.float32) for _ in range(2))
    right = (a / (1 + np.exp(-1.5 * a.astype(np.float64))) * b).astype(np.float32)
    node = helper.make_node("SwiGLU", ["a", "b"], ["y"], alpha=1.5)
    check(node, {"a": a, "b": b}, right, 28, (11, 13, 21))  # onnxruntime has no kernel for Swish, which 24 brought
