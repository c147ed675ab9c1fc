"""Resizing and sampling operators as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .refusals import refused


def _resized(g: GraphBuilder, x: Value, scales: Value, mode: str, nearest_mode: str = "floor") -> Value:
    nearest = nearest_mode if mode == "nearest" else None
    return g.Resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode=nearest)


@symbolic("onnx_import", "Upsample", until=8)
def upsample_7(g: GraphBuilder, X: Value, scales: Sequence[float], mode: str = "nearest") -> Value:
    """Upsample-7(X) {mode, scales}."""
    return _resized(g, X, g.constant(np.array(scales, np.float32)), _linear(mode))


@symbolic("onnx_import", "Upsample", since=9, until=9)
def upsample_9(g: GraphBuilder, X: Value, scales: Value, mode: str = "nearest") -> Value:
    """Upsample-9(X, scales) {mode}."""
    return _resized(g, X, scales, _linear(mode))


def _linear(mode: str) -> str:
    return "linear" if mode == "bilinear" else mode  # the name of opset 1, which some files keep


@symbolic("onnx_import", "Resize", until=10)
def resize_10(g: GraphBuilder, X: Value, scales: Value, mode: str = "nearest") -> Value:
    """Resize-10(X, scales) {mode}: nearest takes the floor where it enlarges and the ceiling where it shrinks."""
    if mode != "nearest":
        return _resized(g, X, scales, mode)
    factors = scales.array
    if factors is None or (np.any(factors > 1) and np.any(factors < 1)):
        # axes don't mix, so the two kinds can go one after the other
        enlarged = _resized(g, X, g.Max(scales, 1.0), mode)
        return _resized(g, enlarged, g.Min(scales, 1.0), mode, "ceil")
    return _resized(g, X, scales, mode, "ceil" if np.any(factors < 1) else "floor")


@symbolic("onnx_import", "Resize", since=11, until=17)
def resize_11(
    g: GraphBuilder,
    X: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    **attributes: Any,
) -> Value:
    """Resize-11, 13(X, roi, scales, sizes) {...}: operands that aren't used may be empty tensors."""
    if sizes is not None and sizes.size != 0:
        scales = None
    elif scales is not None:
        sizes = None
    if coordinate_transformation_mode != "tf_crop_and_resize":
        roi = None
    if coordinate_transformation_mode == "tf_half_pixel_for_nn":
        # it lies half a pixel right of half_pixel: floor(x + 0.5) is the same as rounding x with halves up
        if mode != "nearest" or nearest_mode != "floor":
            raise refused(g, "Resize", f"tf_half_pixel_for_nn with mode {mode} and nearest_mode {nearest_mode}")
        coordinate_transformation_mode, nearest_mode = "half_pixel", "round_prefer_ceil"
    return g.Resize(
        X, roi, scales, sizes, coordinate_transformation_mode=coordinate_transformation_mode, mode=mode,
        nearest_mode=nearest_mode if mode == "nearest" else None, **attributes,
    )  # fmt: skip


@symbolic("onnx_import", "GridSample", until=19)
def grid_sample(g: GraphBuilder, X: Value, grid: Value, mode: str = "bilinear", **attributes: Any) -> Value:
    """GridSample-16(X, grid) {align_corners, mode, padding_mode}: its modes have the names of two dimensions."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return g.GridSample(X, grid, mode=mode, **attributes)


@symbolic("onnx_import", "RoiAlign", until=15)
def roi_align(g: GraphBuilder, X: Value, rois: Value, batch_indices: Value, **attributes: Any) -> Value:
    """RoiAlign-10(X, rois, batch_indices) {...}: without the half pixel that 16 made the default."""
    if g.opset < 16:
        return g.raw("RoiAlign", X, rois, batch_indices, **attributes)  # type: ignore[no-any-return]
    return g.RoiAlign(X, rois, batch_indices, coordinate_transformation_mode="output_half_pixel", **attributes)
