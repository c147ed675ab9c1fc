"""Images: resizing, crops, suppression of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..nn.layout import channels_first, channels_last
from ..registry import symbolic
from ..value import Value
from ..xla.kernels import call
from .common import DIALECT, Size, as_value, cast, int64, ints, like, refused, sizes_of
from .convolution import resized

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _coordinates(align_corners: bool, half_pixel_centers: bool) -> str:
    return "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"


@symbolic(DIALECT, "ResizeBilinear")
def resize_bilinear(
    g: GraphBuilder, x: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """ResizeBilinear(images: T, size: int32, align_corners: bool, half_pixel_centers: bool) -> float32"""
    how = _coordinates(align_corners, half_pixel_centers)
    return cast(g, resized(g, x, size, mode="linear", coordinate_transformation_mode=how), _T.FLOAT)


@symbolic(DIALECT, "ResizeBicubic")
def resize_bicubic(
    g: GraphBuilder, x: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """ResizeBicubic(images: T, size: int32, align_corners: bool, half_pixel_centers: bool) -> float32"""
    wanted = ints(g, size, "ResizeBicubic", "a size")
    given = [s for s in (x.sizes or ())[1:3] if isinstance(s, int)]
    if len(given) != 2:
        raise refused(g, "ResizeBicubic", "images of open height or width aren't supported")
    rows, columns = (_cubic(a, b, align_corners, half_pixel_centers) for a, b in zip(given, wanted, strict=True))
    y = g.MatMul(g.constant(rows), cast(g, channels_first(g, x), _T.FLOAT))
    return channels_last(g, g.MatMul(y, g.constant(np.ascontiguousarray(columns.T))))


def _cubic(given: int, wanted: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Share of each given element in each wanted one; TensorFlow looks the kernel up in a table of 1024 steps."""
    steps, f = 1024, np.float32
    a = f(-0.5 if half_pixel else -0.75)
    near = np.arange(steps + 1, dtype=f) / f(steps)
    far = near + f(1)
    inner = ((a + f(2)) * near - (a + f(3))) * near * near + f(1)
    outer = ((a * far - f(5) * a) * far + f(8) * a) * far - f(4) * a
    corners = align_corners and wanted > 1
    scale = f((given - 1) / (wanted - 1)) if corners else f(given / wanted)
    shares = np.zeros((wanted, given), f)
    for i in range(wanted):
        place = (f(i) + f(0.5)) * scale - f(0.5) if half_pixel else f(i) * scale
        first = int(np.floor(place))
        step = int(np.rint((place - f(first)) * f(steps)))
        weights = np.array([outer[step], inner[step], inner[steps - step], outer[steps - step]], f)
        places = np.arange(first - 1, first + 3)
        if half_pixel:  # what lies outside has no share
            weights = np.where((places >= 0) & (places < given), weights, f(0))
            total = weights.sum(dtype=f)
            weights = weights / total if abs(total) >= 1000 * np.finfo(f).tiny else weights
        np.add.at(shares[i], np.clip(places, 0, given - 1), weights)
    return shares


@symbolic(DIALECT, "ResizeNearestNeighbor")
def resize_nearest(
    g: GraphBuilder, x: Value, size: Value, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Value:
    """ResizeNearestNeighbor(images: T, size: int32, align_corners: bool, half_pixel_centers: bool) -> T"""
    nearest = "round_prefer_ceil" if align_corners else "floor"
    how = _coordinates(align_corners, half_pixel_centers)
    if half_pixel_centers and not align_corners:  # floor((i + 0.5) * scale): half a pixel is not taken off again
        how, nearest = "half_pixel", "round_prefer_ceil"
    y = resized(g, x, size, mode="nearest", nearest_mode=nearest, coordinate_transformation_mode=how)
    return cast(g, y, x.element)


@symbolic(DIALECT, "CropAndResize")
def crop_and_resize(
    g: GraphBuilder,
    x: Value,
    boxes: Value,
    which: Value,
    size: Value,
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Value:
    """CropAndResize(image: T, boxes: float32, box_ind: int32, crop_size: int32, method, extrapolation_value)"""
    if method not in ("bilinear", "nearest"):
        raise refused(g, "CropAndResize", f"the method {method} isn't supported")
    images = g.Gather(cast(g, x, _T.FLOAT), int64(g, which), axis=0)
    height, width = (g.Cast(g.Squeeze(g.Shape(x, start=i, end=i + 1), [0]), to=_T.FLOAT) for i in (1, 2))
    counts = sizes_of(g, size, "CropAndResize")
    rows = _places(g, boxes, 0, counts[0], height)
    columns = _places(g, boxes, 1, counts[1], width)
    # (box, row, column, channel): a weighted mean of two rows, then of two columns
    for places, axis in ((rows, 1), (columns, 2)):
        images = _between(g, images, places, axis) if method == "bilinear" else _nearest(g, images, places, axis)
    inside = g.And(_inside(g, rows, height, [2, 3]), _inside(g, columns, width, [1, 3]))
    return g.Where(inside, images, g.constant(float(extrapolation_value), "float32"))


def _places(g: GraphBuilder, boxes: Value, axis: int, count: Size, length: Value) -> Value:
    """Where each row (or column) of a crop lies in its image; the only one lies in the middle of its box."""
    first, last = (g.Slice(boxes, [i], [i + 1], [1]) for i in (axis, axis + 2))
    span = g.Sub(length, 1.0)
    middle = g.Mul(g.Mul(g.Add(first, last), 0.5), span)
    if isinstance(count, int) and count == 1:
        return middle
    whole = as_value(g, count)
    step = g.Div(g.Mul(g.Sub(last, first), span), g.Cast(g.Max(g.Sub(whole, 1), 1), to=_T.FLOAT))
    steps = g.Cast(g.Range(0, whole, 1), to=_T.FLOAT)
    places = g.Add(g.Mul(first, span), g.Mul(steps, step))
    return places if isinstance(count, int) else g.Where(g.Equal(whole, 1), middle, places)


def _taken(g: GraphBuilder, images: Value, place: Value, axis: int) -> Value:
    """Rows (or columns) of each image, each at its own places, those outside at the border."""
    top = g.Cast(g.Sub(g.Shape(images, start=axis, end=axis + 1), 1), to=_T.FLOAT)
    at = g.Cast(g.Min(g.Max(place, 0.0), top), to=_T.INT64)
    moved = images if axis == 1 else g.Transpose(images, perm=[0, 2, 1, 3])
    taken = g.GatherND(moved, g.Unsqueeze(at, [2]), batch_dims=1)
    return taken if axis == 1 else g.Transpose(taken, perm=[0, 2, 1, 3])


def _nearest(g: GraphBuilder, images: Value, places: Value, axis: int) -> Value:
    return _taken(g, images, g.Floor(g.Add(places, 0.5)), axis)  # halves away from zero


def _between(g: GraphBuilder, images: Value, places: Value, axis: int) -> Value:
    low = g.Floor(places)
    share = g.Unsqueeze(g.Sub(places, low), [2, 3] if axis == 1 else [1, 3])
    first, second = (_taken(g, images, place, axis) for place in (low, g.Ceil(places)))
    return g.Add(first, g.Mul(g.Sub(second, first), share))


def _inside(g: GraphBuilder, places: Value, length: Value, axes: list[int]) -> Value:
    within = g.And(g.GreaterOrEqual(places, 0.0), g.LessOrEqual(places, g.Sub(length, 1.0)))
    return g.Unsqueeze(within, axes)


@symbolic(DIALECT, "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression(
    g: GraphBuilder, boxes: Value, scores: Value, count: Value, iou: Value, threshold: Value | None = None
) -> Value:
    """NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold, score_threshold) -> int32"""
    return cast(g, _suppressed(g, boxes, scores, count, iou, threshold), _T.INT32)


def _suppressed(
    g: GraphBuilder, boxes: Value, scores: Value, count: Value, iou: Value, threshold: Value | None
) -> Value:
    chosen = g.NonMaxSuppression(
        g.Unsqueeze(cast(g, boxes, _T.FLOAT), [0]),
        g.Unsqueeze(cast(g, scores, _T.FLOAT), [0, 1]),
        g.Reshape(int64(g, count), [1]),
        g.Reshape(cast(g, iou, _T.FLOAT), [1]),
        None if threshold is None else g.Reshape(cast(g, threshold, _T.FLOAT), [1]),
    )
    return g.Squeeze(g.Slice(chosen, [2], [3], [1]), [1])


def _padded(g: GraphBuilder, x: Value, count: Value) -> Value:
    missing = g.Sub(g.Reshape(int64(g, count), [1]), g.Shape(x))
    return call(g, "Pad", x, g.Concat(g.constant([0]), missing, axis=0))


@symbolic(DIALECT, "NonMaxSuppressionV4")
def non_max_suppression_v4(
    g: GraphBuilder,
    boxes: Value,
    scores: Value,
    count: Value,
    iou: Value,
    threshold: Value,
    *,
    pad_to_max_output_size: bool = False,
) -> tuple[Value, Value]:
    """NonMaxSuppressionV4(..., pad_to_max_output_size: bool) -> (selected_indices: int32, valid_outputs: int32)"""
    found = _suppressed(g, boxes, scores, count, iou, threshold)
    valid = cast(g, g.Squeeze(g.Shape(found), [0]), _T.INT32)
    return cast(g, _padded(g, found, count) if pad_to_max_output_size else found, _T.INT32), valid


@symbolic(DIALECT, "NonMaxSuppressionV5")
def non_max_suppression_v5(
    g: GraphBuilder,
    boxes: Value,
    scores: Value,
    count: Value,
    iou: Value,
    threshold: Value,
    sigma: Value,
    *,
    pad_to_max_output_size: bool = False,
) -> tuple[Value, Value, Value]:
    """NonMaxSuppressionV5(..., soft_nms_sigma: T, pad_to_max_output_size) -> (indices, scores, valid_outputs)"""
    if sigma.array is None or sigma.array.any():
        raise refused(g, "NonMaxSuppressionV5", "soft suppression isn't supported")
    found = _suppressed(g, boxes, scores, count, iou, threshold)
    kept = g.Gather(scores, found)
    valid = cast(g, g.Squeeze(g.Shape(found), [0]), _T.INT32)
    if pad_to_max_output_size:
        found, kept = _padded(g, found, count), _padded(g, kept, count)
    return cast(g, found, _T.INT32), kept, valid


@symbolic(DIALECT, "AdjustContrastv2")
def adjust_contrast(g: GraphBuilder, x: Value, factor: Value) -> Value:
    """AdjustContrastv2(images: T, contrast_factor: float32) -> T"""
    source = channels_first(g, x) if x.rank == 4 else x
    axes = [2, 3] if x.rank == 4 else [x.rank - 3, x.rank - 2]
    mean = g.ReduceMean(source, axes, keepdims=1)
    y = g.Add(g.Mul(g.Sub(source, mean), cast(g, factor, source.element)), mean)
    return channels_last(g, y) if x.rank == 4 else y


@symbolic(DIALECT, "RGBToHSV")
def rgb_to_hsv(g: GraphBuilder, x: Value) -> Value:
    """RGBToHSV(images: T) -> T"""
    red, green, blue = g.call("Split", x, [1, 1, 1], axis=-1, outputs=3)
    high, low = g.Max(red, green, blue), g.Min(red, green, blue)
    span = g.Sub(high, low)
    flat = g.Equal(span, like(g, 0, x))
    unit = g.Div(like(g, 1, x), g.Mul(g.Where(flat, like(g, 1, x), span), like(g, 6, x)))
    on_red = g.Mul(unit, g.Sub(green, blue))
    on_green = g.Add(g.Mul(unit, g.Sub(blue, red)), like(g, 2 / 6, x))
    on_blue = g.Add(g.Mul(unit, g.Sub(red, green)), like(g, 4 / 6, x))
    hue = g.Where(g.Equal(red, high), on_red, g.Where(g.Equal(green, high), on_green, on_blue))
    hue = g.Where(flat, like(g, 0, x), hue)
    hue = g.Where(g.Less(hue, like(g, 0, x)), g.Add(hue, like(g, 1, x)), hue)
    dark = g.Greater(high, like(g, 0, x))
    saturation = g.Where(dark, g.Div(span, g.Where(dark, high, like(g, 1, x))), like(g, 0, x))
    return g.Concat(hue, saturation, high, axis=-1)


@symbolic(DIALECT, "HSVToRGB")
def hsv_to_rgb(g: GraphBuilder, x: Value) -> Value:
    """HSVToRGB(images: T) -> T"""
    hue, saturation, value = g.call("Split", x, [1, 1, 1], axis=-1, outputs=3)
    turn = g.Mul(hue, like(g, 6, x))
    zero, one, two = (like(g, v, x) for v in (0, 1, 2))
    rising = g.Sub(g.Abs(g.Sub(turn, like(g, 3, x))), one)
    shares = [rising, g.Sub(two, g.Abs(g.Sub(turn, two))), g.Sub(two, g.Abs(g.Sub(turn, like(g, 4, x))))]
    rest = g.Sub(one, saturation)
    colours = [g.Mul(g.Add(rest, g.Mul(saturation, g.Clip(s, zero, one))), value) for s in shares]
    return g.Concat(*colours, axis=-1)


@symbolic(DIALECT, "AdjustHue")
def adjust_hue(g: GraphBuilder, x: Value, delta: Value) -> Value:
    """AdjustHue(images: T, delta: float32) -> T"""
    hue, saturation, value = g.call("Split", rgb_to_hsv(g, x), [1, 1, 1], axis=-1, outputs=3)
    turned = g.Add(hue, cast(g, delta, x.element))
    return hsv_to_rgb(g, g.Concat(g.Sub(turned, g.Floor(turned)), saturation, value, axis=-1))


@symbolic(DIALECT, "AdjustSaturation")
def adjust_saturation(g: GraphBuilder, x: Value, scale: Value) -> Value:
    """AdjustSaturation(images: T, scale: float32) -> T"""
    hue, saturation, value = g.call("Split", rgb_to_hsv(g, x), [1, 1, 1], axis=-1, outputs=3)
    scaled = g.Clip(g.Mul(saturation, cast(g, scale, x.element)), like(g, 0, x), like(g, 1, x))
    return hsv_to_rgb(g, g.Concat(hue, scaled, value, axis=-1))
