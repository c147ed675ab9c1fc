"""Detection models of torchvision, which torch.export can't capture: through TorchScript, the same detections."""

from __future__ import annotations

import copy

import detection
import numpy as np
import onnxruntime
import pytest
import torch

from anyonnx.converters.api import to_onnx
from anyonnx.validation.checker import check_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*torch.jit"),
    pytest.mark.filterwarnings("ignore:.*RCNN always returns"),
    pytest.mark.filterwarnings("ignore:.*taken not to be empty"),
]


def detections(model, image: np.ndarray, dtype: torch.dtype = torch.float32) -> dict[str, np.ndarray]:
    with torch.no_grad():
        found = copy.deepcopy(model).to(dtype)([torch.from_numpy(image).to(dtype)])
    return {name: value.numpy() for name, value in found[0].items()}


@pytest.mark.parametrize("opset", [11, 17, 21])
@pytest.mark.parametrize("name", detection.NAMES)
def test_the_same_detections(name, opset):
    """Equal labels in equal order; numbers as near to torch's as torch in single precision is to itself in double."""
    model, image = detection.build(name)
    result = to_onnx(model, ([image],), opset=opset, compare=False)
    assert "through TorchScript" in result.source.description
    check_model(result.model, opset=opset)
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC"):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(result.proto().SerializeToString(), options)
        names = [o.name.split("_")[-1] for o in session.get_outputs()]
        for seed in (None, 1):
            pixels = image.numpy() if seed is None else np.random.default_rng(seed).random(image.shape, np.float32)
            wanted, exact = detections(model, pixels), detections(model, pixels, torch.float64)
            found = dict(zip(names, session.run(None, {"images_0": pixels}), strict=True))
            assert len(found["labels"]) > 10
            assert np.array_equal(found["labels"], wanted["labels"])
            for key in set(names) - {"labels"}:
                scale = np.abs(wanted[key]).max()
                floor = np.abs(wanted[key] - exact[key]).max() / scale if wanted[key].shape == exact[key].shape else 0
                assert np.abs(found[key] - wanted[key]).max() / scale < max(5e-6, 5 * floor), key
