"""Operators on regions of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from .common import refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


@symbolic("onnx", "RoiAlign", until=15)
def roi_align(
    g: GraphBuilder,
    X: Value,
    rois: Value,
    batch_indices: Value,
    coordinate_transformation_mode: str = "half_pixel",
    **attributes: Any,
) -> Any:
    """(X, rois, batch_indices, coordinate_transformation_mode, ...) -> pooled; below opset 16 output_half_pixel only"""
    if coordinate_transformation_mode != "output_half_pixel":
        refuse(g, "RoiAlign", f"coordinate_transformation_mode {coordinate_transformation_mode}", 16)
    return g.raw("RoiAlign", X, rois, batch_indices, **attributes)
