"""Detection: boxes, regions, suppression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .common import DataType, as_value, cast, like, refused, size_at, sizes


def _region_batches(g: GraphBuilder, boxes: Value, boxes_num: Value | None) -> Value:
    """The image that each region belongs to."""
    if boxes_num is None:
        return g.expand(g.constant(np.zeros(1, np.int64)), [size_at(g, boxes, 0)])
    ends = g.CumSum(cast(g, boxes_num, DataType.INT64), np.int64(0))
    places = g.Range(np.int64(0), as_value(g, size_at(g, boxes, 0)), np.int64(1))
    before = g.LessOrEqual(g.Unsqueeze(ends, [0]), g.Unsqueeze(places, [1]))
    return g.ReduceSum(cast(g, before, DataType.INT64), [1], keepdims=0)


@symbolic("paddle_pir")
def roi_align(
    g: GraphBuilder, x: Value, boxes: Value, boxes_num: Value | None = None, pooled_height: int = 1,
    pooled_width: int = 1, spatial_scale: float = 1.0, sampling_ratio: int = -1, aligned: bool = False,
) -> Value:  # fmt: skip
    """roi_align(Tensor x, Tensor boxes, Tensor? boxes_num, int pooled_height, int pooled_width, float spatial_scale,
    int sampling_ratio, bool aligned) -> Tensor"""
    return g.RoiAlign(
        x, boxes, _region_batches(g, boxes, boxes_num), mode="avg", output_height=pooled_height,
        output_width=pooled_width, sampling_ratio=max(sampling_ratio, 0), spatial_scale=spatial_scale,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )  # fmt: skip


@symbolic("paddle_pir")
def yolo_box(
    g: GraphBuilder, x: Value, img_size: Value, anchors: Sequence[int] = (), class_num: int = 1,
    conf_thresh: float = 0.01, downsample_ratio: int = 32, clip_bbox: bool = True, scale_x_y: float = 1.0,
    iou_aware: bool = False, iou_aware_factor: float = 0.5,
) -> Any:  # fmt: skip
    """yolo_box(Tensor x, Tensor img_size, int[] anchors, int class_num, float conf_thresh, int downsample_ratio, bool
    clip_bbox, float scale_x_y, bool iou_aware, float iou_aware_factor) -> (Tensor, Tensor)"""
    height, width = x.dim(2), x.dim(3)
    if not isinstance(height, int) or not isinstance(width, int):
        raise refused(g, "yolo_box", "open sizes of the feature map aren't supported")
    count = len(anchors) // 2
    batch = size_at(g, x, 0)
    overlap = None
    if iou_aware:
        overlap = g.Sigmoid(g.reshape(g.Slice(x, [0], [count], [1]), [batch, count, height, width]))
        x = g.Slice(x, [count], [np.iinfo(np.int64).max], [1])
    parts = g.reshape(x, [batch, count, 5 + class_num, height, width])
    fields = [g.Squeeze(g.Slice(parts, [i], [i + 1], [2]), [2]) for i in range(5)]
    confidence = g.Sigmoid(fields[4])
    if overlap is not None:
        confidence = g.Pow(confidence, like(g, x, 1 - iou_aware_factor)) * g.Pow(overlap, like(g, x, iou_aware_factor))
    seen = g.GreaterOrEqual(confidence, like(g, x, conf_thresh))
    image = g.Unsqueeze(cast(g, img_size, x.element), [1])  # (batch, 1, 2): height, width
    image_h, image_w = (g.Unsqueeze(g.Slice(image, [i], [i + 1], [2]), [3]) for i in (0, 1))
    number = x.element.numpy()
    grid_x = g.constant(np.arange(width, dtype=number)[None, :])
    grid_y = g.constant(np.arange(height, dtype=number)[:, None])
    shift = -0.5 * (scale_x_y - 1.0)
    centre_x = (grid_x + g.Sigmoid(fields[0]) * scale_x_y + shift) * image_w / float(width)
    centre_y = (grid_y + g.Sigmoid(fields[1]) * scale_x_y + shift) * image_h / float(height)
    sides = np.array(anchors, number).reshape(count, 2)
    wide = g.Exp(fields[2]) * g.constant(sides[:, 0].reshape(count, 1, 1)) * image_w / float(downsample_ratio * width)
    high = g.Exp(fields[3]) * g.constant(sides[:, 1].reshape(count, 1, 1)) * image_h / float(downsample_ratio * height)
    corners = [centre_x - wide / 2.0, centre_y - high / 2.0, centre_x + wide / 2.0, centre_y + high / 2.0]
    if clip_bbox:
        zero = like(g, x, 0)
        corners = [g.Max(corners[0], zero), g.Max(corners[1], zero),
                   g.Min(corners[2], image_w - 1.0), g.Min(corners[3], image_h - 1.0)]  # fmt: skip
    boxes = g.Concat(*(g.Unsqueeze(c, [-1]) for c in corners), axis=-1)
    boxes = g.Where(g.Unsqueeze(seen, [-1]), boxes, like(g, x, 0))
    scores = g.Sigmoid(g.Slice(parts, [5], [np.iinfo(np.int64).max], [2])) * g.Unsqueeze(confidence, [2])
    scores = g.Where(g.Unsqueeze(seen, [2]), scores, like(g, x, 0))
    total = count * height * width
    scores = g.reshape(g.Transpose(scores, perm=[0, 1, 3, 4, 2]), [batch, total, class_num])
    return g.reshape(boxes, [batch, total, 4]), scores


@symbolic("paddle_pir")
def nms(g: GraphBuilder, x: Value, threshold: float = 1.0) -> Value:
    """nms(Tensor x, float threshold) -> Tensor"""
    count = as_value(g, size_at(g, x, 0))
    order = g.Cast(g.Range(count, np.int64(0), np.int64(-1)), to=DataType.FLOAT)  # the boxes come sorted by score
    found = g.NonMaxSuppression(
        g.Unsqueeze(x, [0]), g.Unsqueeze(order, [0, 1]), g.Reshape(count, [1]), np.array([threshold], np.float32),
    )  # fmt: skip
    return g.Squeeze(g.Slice(found, [2], [3], [1]), [1])


@symbolic("paddle_pir")
def box_coder(
    g: GraphBuilder, prior_box: Value, prior_box_var: Value | None, target_box: Value,
    code_type: str = "encode_center_size", box_normalized: bool = True, axis: int = 0, variance: Sequence[float] = (),
) -> Value:  # fmt: skip
    """box_coder(Tensor prior_box, Tensor? prior_box_var, Tensor target_box, str code_type, bool box_normalized, int
    axis, float[] variance) -> Tensor"""
    if code_type != "decode_center_size":
        raise refused(g, "box_coder", f"code_type {code_type!r} isn't supported")
    more = 0.0 if box_normalized else 1.0
    lead = 0 if axis == 0 else 1

    def column(v: Value, i: int) -> Value:
        return g.Slice(v, [i], [i + 1], [-1])

    prior = g.Unsqueeze(prior_box, [lead])
    wide = column(prior, 2) - column(prior, 0) + more
    high = column(prior, 3) - column(prior, 1) + more
    centre_x, centre_y = column(prior, 0) + wide / 2.0, column(prior, 1) + high / 2.0
    spread: Any = target_box
    if prior_box_var is not None:
        own = g.Unsqueeze(prior_box_var, [lead]) if prior_box_var.rank == 2 else prior_box_var
        spread = target_box * own
    elif len(variance):
        spread = target_box * g.constant(np.array(variance, target_box.element.numpy()))
    x, y = column(spread, 0) * wide + centre_x, column(spread, 1) * high + centre_y
    w, h = g.Exp(column(spread, 2)) * wide, g.Exp(column(spread, 3)) * high
    return g.Concat(x - w / 2.0, y - h / 2.0, x + w / 2.0 - more, y + h / 2.0 - more, axis=-1)


@symbolic("paddle_pir")
def prior_box(
    g: GraphBuilder, input: Value, image: Value, min_sizes: Sequence[float], max_sizes: Sequence[float] = (),
    aspect_ratios: Sequence[float] = (), variances: Sequence[float] = (), flip: bool = True, clip: bool = True,
    step_w: float = 0.0, step_h: float = 0.0, offset: float = 0.5, min_max_aspect_ratios_order: bool = False,
) -> Any:  # fmt: skip
    """prior_box(Tensor input, Tensor image, float[] min_sizes, float[] max_sizes, float[] aspect_ratios, float[]
    variances, bool flip, bool clip, float step_w, float step_h, float offset, bool min_max_aspect_ratios_order)
    -> (Tensor, Tensor)"""
    shape = [*sizes(g, input)[2:], *sizes(g, image)[2:]]
    if any(not isinstance(s, int) for s in shape):
        raise refused(g, "prior_box", "open spatial sizes aren't supported")
    rows, columns, height, width = (s for s in shape if isinstance(s, int))
    step_x, step_y = step_w or width / columns, step_h or height / rows
    ratios = [1.0]
    for ratio in aspect_ratios:
        if all(abs(ratio - r) >= 1e-6 for r in ratios):
            ratios.extend([ratio, 1 / ratio] if flip else [ratio])
    halves: list[tuple[float, float]] = []
    for i, small in enumerate(min_sizes):
        square = [(small / 2, small / 2)]
        plain = [(small * np.sqrt(r) / 2, small / np.sqrt(r) / 2) for r in ratios if abs(r - 1) >= 1e-6]
        largest = [(np.sqrt(small * max_sizes[i]) / 2,) * 2] if max_sizes else []
        halves += square + (largest + plain if min_max_aspect_ratios_order else plain + largest)
    x, y = np.meshgrid((np.arange(columns) + offset) * step_x, (np.arange(rows) + offset) * step_y)
    w, h = np.array(halves).T
    boxes = np.stack([
        (x[..., None] - w) / width, (y[..., None] - h) / height,
        (x[..., None] + w) / width, (y[..., None] + h) / height,
    ], axis=-1).astype(np.float32)  # fmt: skip
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    spread = np.broadcast_to(np.array(variances, np.float32), boxes.shape).copy()
    return g.constant(boxes), g.constant(spread)
