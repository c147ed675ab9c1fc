"""Resize: operands became optional at opset 13; axes, aspect ratio and antialiasing came with 18."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..registry import symbolic
from .common import FLOATS, in_float, known_rank, refuse
from .resize_matrix import resize_matrix

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
    odd = mode == "half_pixel_symmetric" and not _is_whole(X, scales, axes)
    listed = list(range(X.rank)) if axes is None and X.sizes is not None else axes or []
    plain = _grows(X, scales, sizes, listed) and not attributes.get("exclude_outside")  # antialiasing changes nothing
    if odd or (antialias and g.opset < 18 and not plain):
        what = "coordinate_transformation_mode half_pixel_symmetric" if odd else "attribute antialias"
        how = (scales, sizes, listed, mode, antialias, what, keep_aspect_ratio_policy, attributes)
        return in_float(g, X, lambda x: _by_matrices(g, x, *how))
    if mode == "half_pixel_symmetric":
        mode = "half_pixel"
    if g.opset == 18:
        return g.raw(
            "Resize", X, roi, scales, sizes, antialias=antialias, axes=axes, coordinate_transformation_mode=mode,
            keep_aspect_ratio_policy=keep_aspect_ratio_policy, **attributes,
        )  # fmt: skip
    rank = known_rank(g, X, "Resize", 18)
    listed = list(range(rank)) if axes is None else [a % rank for a in axes]
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


def _is_whole(x: Value, scales: Value | None, axes: list[int] | None) -> bool:
    """Whether the exact output sizes are whole: then half_pixel_symmetric is half_pixel."""
    if scales is None:
        return True
    if scales.array is None or x.sizes is None:
        return False
    listed = range(len(x.sizes)) if axes is None else axes
    for axis, scale in zip(listed, scales.array.tolist(), strict=True):
        size = x.dim(axis)
        if scale != int(scale) and not (isinstance(size, int) and size * scale == int(size * scale)):
            return False
    return True


def _by_matrices(
    g: GraphBuilder, x: Value, scales: Value | None, sizes: Value | None, axes: list[int], mode: str, antialias: int,
    what: str, policy: str, attributes: dict[str, Any],
) -> Value:  # fmt: skip
    """A product with a matrix for each axis; its sizes have to be known."""
    kind, needs = attributes.get("mode", "nearest"), 18 if antialias else 19
    given = sizes if scales is None else scales
    if scales is not None and scales.array is not None:  # axes that stay may be open
        axes = [a for a, scale in zip(axes, scales.array.tolist(), strict=True) if scale != 1]
        given = g.constant(scales.array[scales.array != 1])
    elif scales is None and sizes is not None and sizes.dims is not None:
        changed = [(a, size) for a, size in zip(axes, sizes.dims, strict=True) if size is None or size != x.dim(a)]
        axes = [a for a, _ in changed]
        fixed = [size for _, size in changed if isinstance(size, int)]
        given = g.constant(np.array(fixed, np.int64)) if len(fixed) == len(changed) else None
    old = [size for size in (x.dim(a) for a in axes) if isinstance(size, int)]
    plain = kind != "nearest" and mode != "tf_crop_and_resize" and policy == "stretch" and x.element in FLOATS
    if given is None or given.array is None or len(old) < len(axes) or not plain:
        refuse(g, "Resize", what, needs)
    result = x
    for axis, size, wanted in zip(axes, old, given.array.tolist(), strict=True):
        scale, new_size = (wanted, int(np.floor(size * wanted))) if scales is not None else (wanted / size, int(wanted))
        if new_size == size and scale == 1:
            continue
        matrix = resize_matrix(
            size,
            new_size,
            scale,
            kind=kind,
            mode=mode,
            antialias=bool(antialias),
            exclude_outside=bool(attributes.get("exclude_outside")),
            cubic_coeff_a=attributes.get("cubic_coeff_a", -0.75),
        )
        result = _along(g, result, matrix, axis)
    return result


def _along(g: GraphBuilder, x: Value, matrix: np.ndarray, axis: int) -> Value:
    """Multiplies one axis by a matrix."""
    axis %= x.rank
    weights = g.constant(matrix, x.element)
    if axis == x.rank - 2:
        return g.MatMul(weights, x)
    if axis == x.rank - 1:
        return g.MatMul(x, np.ascontiguousarray(matrix.T).astype(x.element.numpy()))
    order = [i for i in range(x.rank) if i != axis] + [axis]
    moved = g.MatMul(g.Transpose(x, perm=order), np.ascontiguousarray(matrix.T).astype(x.element.numpy()))
    return g.Transpose(moved, perm=[order.index(i) for i in range(x.rank)])


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
