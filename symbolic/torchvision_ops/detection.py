"""Boxes, pooling in regions, and deformable convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..aten.promotion import cast, unsupported
from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value

_MOST = np.iinfo(np.int64).max


@symbolic("torchvision", "nms")
def nms(g: GraphBuilder, dets: Value, scores: Value, iou_threshold: float) -> Value:
    """torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"""
    if not iou_threshold >= 0.0:
        raise unsupported(f"an iou_threshold of {iou_threshold}", g)
    boxes, ranks = (cast(g, v, ir.DataType.FLOAT) for v in (dets, scores))
    chosen = g.NonMaxSuppression(
        g.Unsqueeze(boxes, [0]), g.Unsqueeze(ranks, [0, 1]), _MOST, np.float32(min(iou_threshold, 1.0))
    )
    return g.Squeeze(g.Slice(chosen, [2], [3], [1]), [1])


def _regions(g: GraphBuilder, input: Value, rois: Value) -> tuple[Value, Value]:
    """Corners and image numbers of (image, x1, y1, x2, y2) rows."""
    number = g.Squeeze(g.Slice(rois, [0], [1], [1]), [1])
    return cast(g, g.Slice(rois, [1], [5], [1]), input.element), cast(g, number, ir.DataType.INT64)


def _aligned(g: GraphBuilder, input: Value, rois: Value, height: int, width: int, *, scale: float, ratio: int,
             half: bool) -> Value:  # fmt: skip
    corners, numbers = _regions(g, input, rois)
    return g.RoiAlign(
        input, corners, numbers, output_height=height, output_width=width, spatial_scale=scale,
        sampling_ratio=max(ratio, 0), mode="avg",
        coordinate_transformation_mode="half_pixel" if half else "output_half_pixel",
    )  # fmt: skip


@symbolic("torchvision", "roi_align")
def roi_align(
    g: GraphBuilder, input: Value, rois: Value, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int, aligned: bool,
) -> Value:  # fmt: skip
    """torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt, SymInt, int, bool) -> Tensor"""
    return _aligned(
        g, input, rois, pooled_height, pooled_width, scale=spatial_scale, ratio=sampling_ratio, half=aligned
    )


@symbolic("torchvision", "ps_roi_align")
def ps_roi_align(
    g: GraphBuilder, input: Value, rois: Value, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int,
) -> tuple[Value, Value]:  # fmt: skip
    """torchvision::ps_roi_align(Tensor input, Tensor rois, float, SymInt, SymInt, int) -> (Tensor, Tensor)"""
    channels, bins = input.dim(1), pooled_height * pooled_width
    if not isinstance(channels, int):
        raise unsupported("ps_roi_align of an open number of channels", g)
    pooled = _aligned(g, input, rois, pooled_height, pooled_width, scale=spatial_scale, ratio=sampling_ratio, half=True)
    # every bin has a channel of its own: of (output channel, bin of the channel, bin) those where both bins agree
    flat = g.Reshape(pooled, [-1, channels // bins, bins * bins])
    own = g.Gather(flat, np.arange(bins) * (bins + 1), axis=2)
    result = g.Reshape(own, [-1, channels // bins, pooled_height, pooled_width])
    mapping = np.arange(channels, dtype=np.int32).reshape(1, channels // bins, pooled_height, pooled_width)
    return result, g.Expand(mapping, g.Shape(result))


@symbolic("torchvision", "roi_pool")
def roi_pool(
    g: GraphBuilder, input: Value, rois: Value, spatial_scale: float, pooled_height: int, pooled_width: int,
    outputs: Any = 2,
) -> tuple[Value, Value | None]:  # fmt: skip
    """torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt, SymInt) -> (Tensor, Tensor)"""
    if isinstance(outputs, (list, tuple)) and outputs[1]:
        raise unsupported("the places of the maxima of roi_pool", g)
    pooled = g.MaxRoiPool(input, cast(g, rois, input.element), pooled_shape=[pooled_height, pooled_width],
                          spatial_scale=spatial_scale)  # fmt: skip
    return pooled, None


@symbolic("torchvision", "deform_conv2d")
def deform_conv2d(
    g: GraphBuilder, input: Value, weight: Value, offset: Value, mask: Value, bias: Value, stride_h: int, stride_w: int,
    pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Value:  # fmt: skip
    """torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, ...) -> Tensor"""
    return g.DeformConv(
        input, weight, offset, bias, mask if use_mask else None, strides=[stride_h, stride_w],
        pads=[pad_h, pad_w, pad_h, pad_w], dilations=[dilation_h, dilation_w], group=groups, offset_group=offset_groups,
        kernel_shape=[int(s) for s in (weight.sizes or ())[2:] if isinstance(s, int)],
    )  # fmt: skip
