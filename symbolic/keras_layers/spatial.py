"""Padding, cropping and resampling layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..nn.layout import channels_first, channels_last, has_twin, pad
from ..nn.resize import can_resize, resize_by, resize_to
from ..registry import symbolic
from ..value import Value
from .conv import enter, tuple_of
from .layer import DIALECT, FLOATS, Layer, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder


def pairs_of(value: Any, count: int) -> list[tuple[int, int]]:
    """(before, after) of each spatial axis, from an int, a pair for each axis, or one number for each axis."""
    if isinstance(value, int):
        return [(value, value)] * count
    if count == 1:
        inner = value[0] if len(value) == 1 and not isinstance(value[0], int) else value
        return [(int(inner[0]), int(inner[-1]))]
    return [(int(v), int(v)) if isinstance(v, int) else (int(v[0]), int(v[1])) for v in value]


@symbolic(DIALECT, "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(g: GraphBuilder, x: Value, *, padding: Any = 1, data_format: str | None = None) -> Value:
    """keras.layers.ZeroPadding2D(padding=1, data_format)"""
    spatial = pairs_of(padding, x.rank - 2)
    if data_format == "channels_first":
        return pad(g, x, [(0, 0), (0, 0), *spatial], value=0.0)
    return pad(g, x, [(0, 0), *spatial, (0, 0)], value=0.0)


@symbolic(DIALECT, "Cropping1D", "Cropping2D", "Cropping3D")
def cropping(g: GraphBuilder, x: Value, *, cropping: Any = 0, data_format: str | None = None) -> Value:
    """keras.layers.Cropping2D(cropping, data_format)"""
    spatial = pairs_of(cropping, x.rank - 2)
    first = data_format == "channels_first"
    twin = not first and has_twin(x)
    source = channels_first(g, x) if twin else x
    start = 2 if first or twin else 1
    kept = [(i + start, a, -b if b else 2**62) for i, (a, b) in enumerate(spatial) if a or b]
    if not kept:
        return x
    y: Value = g.Slice(source, [k[1] for k in kept], [k[2] for k in kept], [k[0] for k in kept])
    return channels_last(g, y) if twin else y


@symbolic(DIALECT, "UpSampling1D", "UpSampling2D", "UpSampling3D")
def up_sampling(
    g: GraphBuilder,
    x: Value,
    *,
    layer: Layer,
    size: Any = 2,
    data_format: str | None = None,
    interpolation: str = "nearest",
) -> Value:
    """keras.layers.UpSampling2D(size=2, data_format, interpolation="nearest")"""
    if not can_resize(interpolation):
        refuse(g, layer, f"interpolation={interpolation!r} is not supported")
    y = resize_by(g, enter(g, x, data_format), tuple_of(size, x.rank - 2), interpolation)
    return y if data_format == "channels_first" else channels_last(g, y)


@symbolic(DIALECT, "Resizing")
def resizing(
    g: GraphBuilder,
    x: Value,
    *,
    layer: Layer,
    height: int,
    width: int,
    interpolation: str = "bilinear",
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    antialias: bool = False,
    data_format: str | None = None,
) -> Value:
    """keras.layers.Resizing(height, width, interpolation="bilinear")"""
    if crop_to_aspect_ratio or pad_to_aspect_ratio or antialias:
        refuse(g, layer, "crop_to_aspect_ratio, pad_to_aspect_ratio and antialias are not supported")
    if not can_resize(interpolation) or x.rank != 4 or x.element not in FLOATS:
        what = f"{x.element.name} of rank {x.rank}"
        refuse(g, layer, f"interpolation={interpolation!r} of {what} is not supported")
    y = resize_to(g, enter(g, x, data_format), [int(height), int(width)], interpolation)
    return y if data_format == "channels_first" else channels_last(g, y)


@symbolic(DIALECT, "CenterCrop")
def center_crop(
    g: GraphBuilder, x: Value, *, layer: Layer, height: int, width: int, data_format: str | None = None
) -> Value:
    """keras.layers.CenterCrop(height, width) of larger images"""
    first = data_format == "channels_first"
    sizes = (x.sizes or ())[2:4] if first else (x.sizes or ())[1:3]
    known = [s for s in sizes if isinstance(s, int)]
    if len(known) != 2 or known[0] < height or known[1] < width or x.rank != 4:
        refuse(g, layer, f"images of size {' x '.join(map(str, sizes))} are not supported: only fixed, larger ones")
    bounds = [((s - t) // 2, int(t)) for s, t in zip(known, (height, width), strict=True)]
    axis = 2 if first else 1
    return g.Slice(x, [b[0] for b in bounds], [b[0] + b[1] for b in bounds], [axis, axis + 1])
