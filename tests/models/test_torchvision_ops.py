"""torchvision's own operators: boxes, pooling in regions, deformable convolution."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torchvision import ops

from anyonnx.converters.api import to_onnx
from anyonnx.symbolic.errors import AnyonnxError


class OnBoxes(nn.Module):
    """Runs a function on boxes (x1, y1, x2, y2) in an image of 16 pixels, made of any numbers."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, image, corners):
        first = corners[:, :2].sigmoid() * 15
        boxes = torch.cat([first, first + corners[:, 2:].abs() * 4], dim=1)
        number = torch.arange(boxes.shape[0], dtype=boxes.dtype)[:, None] % 2
        return self.function(image, boxes, torch.cat([number, boxes], dim=1), corners[:, 0])


def nms(image, boxes, rois, scores):
    return ops.nms(boxes, scores, 0.3)


def nms_by_class(image, boxes, rois, scores):
    kept = ops.batched_nms(boxes, scores, (scores > 0).to(torch.int64), 0.5)
    return boxes[kept], scores[kept]


def aligned(image, boxes, rois, scores):
    return ops.roi_align(image, rois, (3, 2), spatial_scale=0.5, sampling_ratio=2, aligned=True)


def adaptive(image, boxes, rois, scores):
    return ops.roi_align(image, rois, (2, 2), sampling_ratio=-1, aligned=False)


def adaptive_aligned(image, boxes, rois, scores):
    return ops.roi_align(image, rois, (3, 3), spatial_scale=0.9, sampling_ratio=0, aligned=True)


def by_list(image, boxes, rois, scores):
    return ops.roi_align(image, [boxes[:3], boxes[3:]], (2, 2), sampling_ratio=2)


def position_sensitive(image, boxes, rois, scores):
    return ops.ps_roi_align(image, rois, (2, 2), spatial_scale=0.5, sampling_ratio=2)


def maximum(image, boxes, rois, scores):
    return ops.roi_pool(image, rois, (2, 2), 0.5)


def box_arithmetic(image, boxes, rois, scores):
    return ops.box_iou(boxes, boxes), ops.clip_boxes_to_image(boxes, (10, 12)), ops.box_convert(boxes, "xyxy", "cxcywh")


def generalized(image, boxes, rois, scores):
    return ops.generalized_box_iou(boxes, boxes + 1), ops.remove_small_boxes(boxes, 2.0)


#: Function -> first opset that has what it needs.
FUNCTIONS = {
    nms: 11, nms_by_class: 11, aligned: 16, adaptive: 11, adaptive_aligned: 16, by_list: 11, position_sensitive: 16,
    maximum: 11, box_arithmetic: 11, generalized: 11,
}  # fmt: skip


@pytest.mark.parametrize("opset", [11, 17, 21])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_function(function, opset):
    torch.manual_seed(0)
    inputs = (torch.randn(2, 8, 16, 16), torch.randn(9, 4))
    if opset < FUNCTIONS[function]:
        with pytest.raises(AnyonnxError, match="RoiAlign"):
            to_onnx(OnBoxes(function), inputs, opset=opset)
        return
    conversion = to_onnx(OnBoxes(function), inputs, opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)


def test_through_torchscript():
    torch.manual_seed(0)

    class Kept(nn.Module):
        def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            boxes = boxes.abs()
            return torch.ops.torchvision.nms(torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], dim=1), scores, 0.5)

    scripted = torch.jit.script(Kept())
    conversion = to_onnx(scripted, (torch.randn(9, 4), torch.randn(9)))
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(
    ("options", "offsets", "masked"),
    [
        ({"padding": 1}, 18, False),
        ({"padding": 1, "stride": 2, "groups": 2, "bias": False}, 36, True),
        ({"dilation": 2, "padding": 2}, 72, True),
    ],
    ids=["plain", "groups", "dilation"],
)
def test_deformable_convolution(options, offsets, masked, opset):
    torch.manual_seed(0)

    class Deformed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = ops.DeformConv2d(4, 6, 3, **options)
            self.offset = nn.Conv2d(4, offsets, 3, **{k: v for k, v in options.items() if k not in ("groups", "bias")})

        def forward(self, x):
            offset = self.offset(x)
            return self.inner(x, offset, offset[:, : offset.shape[1] // 2].sigmoid() if masked else None)

    conversion = to_onnx(Deformed(), (torch.randn(2, 4, 9, 9),), opset=opset)
    assert conversion.parity is not None and conversion.parity.passed, str(conversion.parity)
