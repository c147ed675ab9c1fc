"""Detection models with random weights that behave like trained ones: no layer dies, explodes or ties its scores."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

SIZES = {"ssdlite320_mobilenet_v3_large": (320, 320), "fasterrcnn_mobilenet_v3_large_320_fpn": (320, 352)}
SMALL = {"min_size": 96, "max_size": 128}
NAMES = (
    "ssdlite320_mobilenet_v3_large",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "retinanet_resnet50_fpn",
    "fcos_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
)


def build(name: str) -> tuple[nn.Module, torch.Tensor]:
    """A model in evaluation mode, and an image of a size that it doesn't have to resize."""
    import torchvision

    torch.manual_seed(0)
    options: dict[str, Any] = {} if name in SIZES else SMALL
    model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, **options).eval()
    image = torch.rand(3, *SIZES.get(name, (96, 128)))
    for path, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=(2 / parameter[0].numel()) ** 0.5)
        elif "bias" in path and any(part in path for part in ("head", "rpn", "predictor")):
            nn.init.normal_(parameter, std=0.3)
    seen: set[int] = set()

    def unit(module: Any, _: Any, output: torch.Tensor) -> torch.Tensor:
        """Scales a layer, the first time that it is used, so that its results have a deviation of 1."""
        deviation = float(output.std())
        if id(module) in seen or not deviation > 0:
            return output
        seen.add(id(module))
        module.weight.data.div_(deviation)
        if module.bias is not None:
            module.bias.data.div_(deviation)
        return output / deviation

    layers = (nn.Conv2d, nn.Linear)
    hooks = [m.register_forward_hook(unit) for m in model.modules() if isinstance(m, layers)]
    with torch.no_grad():
        model([image])
    for hook in hooks:
        hook.remove()
    return model, image
