"""Resampling of channels-first images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

#: Attributes of ONNX's Resize for the methods of TensorFlow 2 (pixel centres at half coordinates).
_METHODS: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    "bilinear": {"mode": "linear"},
    "bicubic": {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
}


def resize_to(g: GraphBuilder, x: Value, sizes: Sequence[Any], method: str) -> Value:
    """The spatial axes resampled to sizes (ints, Dims); `method` is nearest, bilinear or bicubic."""
    # whole sizes, not `axes`: onnxruntime moves Transposes through a Resize without minding them
    target = g.Concat(g.Shape(x, end=2), g.shape_vector(list(sizes)), axis=0)
    y: Value = g.Resize(x, None, None, target, coordinate_transformation_mode="half_pixel", **_METHODS[method])
    assert x.sizes is not None
    y.sizes = (*x.sizes[:2], *sizes)
    return y


def resize_by(g: GraphBuilder, x: Value, factors: Sequence[int], method: str) -> Value:
    """The spatial axes made larger by whole factors."""
    scales = [1.0, 1.0, *(float(f) for f in factors)]
    if method == "nearest":  # each element repeated
        how: dict[str, Any] = {
            "mode": "nearest",
            "nearest_mode": "floor",
            "coordinate_transformation_mode": "asymmetric",
        }
    else:
        how = {"coordinate_transformation_mode": "half_pixel", **_METHODS[method]}
    y: Value = g.Resize(x, None, g.constant(scales, "float32"), **how)
    assert x.sizes is not None
    grown = [None if s is None else s * f for s, f in zip(x.sizes[2:], factors, strict=True)]
    y.sizes = (*x.sizes[:2], *grown)
    return y


def can_resize(method: str) -> bool:
    """Whether a method is known."""
    return method in _METHODS
