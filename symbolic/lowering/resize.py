"""Resize: operands became optional at opset 13; axes, aspect ratio and antialiasing came with 18."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import symbolic
from .common import known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


@symbolic("onnx", "Resize", until=18)
def resize(
    g: GraphBuilder,
    X: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    antialias: int = 0,
    axes: list[int] | None = None,
    keep_aspect_ratio_policy: str = "stretch",
    coordinate_transformation_mode: str = "half_pixel",
    **attributes: Any,
) -> Any:
    """(X, roi?, scales?, sizes?, ...) -> resized"""
    mode = coordinate_transformation_mode
    if mode == "half_pixel_symmetric":
        mode = _without_symmetry(g, X, scales, axes)
    if g.opset == 18:
        return g.raw(
            "Resize", X, roi, scales, sizes, antialias=antialias, axes=axes, coordinate_transformation_mode=mode,
            keep_aspect_ratio_policy=keep_aspect_ratio_policy, **attributes,
        )  # fmt: skip
    rank = known_rank(g, X, "Resize", 18)
    listed = list(range(rank)) if axes is None else [a % rank for a in axes]
    if antialias and not _grows(X, scales, sizes, listed):
        refuse(g, "Resize", "attribute antialias", 18)
    if keep_aspect_ratio_policy != "stretch" and sizes is not None:
        scales, sizes = _kept_ratio(g, X, sizes, listed, keep_aspect_ratio_policy), None
    if listed != list(range(rank)):
        both = [*listed, *(a + rank for a in listed)]  # region of interest: starts, then ends
        roi = None if roi is None else _spread(g, roi, both, [0.0] * rank + [1.0] * rank)
        scales = None if scales is None else _spread(g, scales, listed, [1.0] * rank)
        sizes = None if sizes is None else _spread(g, sizes, listed, X)
    if g.opset < 13:
        none = g.constant(np.zeros(0, np.float32))
        roi = none if roi is None else roi
        scales = none if scales is None else scales
    return g.raw("Resize", X, roi, scales, sizes, coordinate_transformation_mode=mode, **attributes)


def _spread(g: GraphBuilder, given: Value, axes: list[int], rest: list[float] | Value) -> Value:
    """A vector for all axes from one for some: `rest` (or the tensor's own shape) stands for those not listed."""
    index = np.array(axes)
    if isinstance(rest, list):
        base = g.constant(np.array(rest, given.element.numpy()))
    else:
        base = g.Shape(rest)
    if base.array is not None and given.array is not None:
        whole = base.array.copy()
        whole[index] = given.array
        return g.constant(whole)
    return g.ScatterElements(base, index, given, axis=0)


def _grows(x: Value, scales: Value | None, sizes: Value | None, axes: list[int]) -> bool:
    """Whether no axis gets smaller: then antialiasing changes nothing."""
    if scales is not None:
        return scales.array is not None and bool(np.all(scales.array >= 1))
    if sizes is None or sizes.array is None:
        return False
    old = [x.dim(a) for a in axes]
    return all(isinstance(o, int) and n >= o for o, n in zip(old, sizes.array.tolist(), strict=True))


def _without_symmetry(g: GraphBuilder, x: Value, scales: Value | None, axes: list[int] | None) -> str:
    """half_pixel_symmetric is half_pixel wherever the exact output size is whole."""
    if scales is None:
        return "half_pixel"
    listed = range(x.rank) if axes is None else axes
    if scales.array is not None:
        for axis, scale in zip(listed, scales.array.tolist(), strict=True):
            size = x.dim(axis)
            if scale != int(scale) and not (isinstance(size, int) and size * scale == int(size * scale)):
                break
        else:
            return "half_pixel"
    refuse(g, "Resize", "coordinate_transformation_mode half_pixel_symmetric", 19)


def _kept_ratio(g: GraphBuilder, x: Value, sizes: Value, axes: list[int], policy: str) -> Value:
    """One scale for all listed axes, where it gives the very sizes that the policy asks for."""
    old = [size for size in (x.dim(a) for a in axes) if isinstance(size, int)]
    if sizes.array is None or len(old) < len(axes):
        refuse(g, "Resize", "attribute keep_aspect_ratio_policy with sizes computed at run time", 18)
    ratios = [np.float32(n) / np.float32(o) for n, o in zip(sizes.array.tolist(), old, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    for size in old:
        if int(np.floor(np.float32(size) * scale)) != int(np.floor(float(size) * float(scale) + 0.5)):
            refuse(g, "Resize", "attribute keep_aspect_ratio_policy", 18)
    return g.constant(np.full(len(axes), scale, np.float32))
