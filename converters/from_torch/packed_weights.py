"""Weights that an operator packs for the processor it runs on: torch itself unpacks them, by a product with ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...symbolic.builder import GraphBuilder
from ...symbolic.value import Value


def _int4_for_cpu(g: GraphBuilder, values: Sequence[Any]) -> list[Any]:
    """Operands of _weight_int4pack_mm_for_cpu with the levels of the weight in place of what lies packed in memory."""
    import torch

    x, packed, group, scales = values
    tensor = getattr(packed.const_value, "raw", None)
    if not isinstance(tensor, torch.Tensor):
        return list(values)  # made by the program: the symbolic function refuses it
    rows, columns = tensor.shape[0], 2 * tensor.shape[1]
    plain = torch.zeros(columns // group, rows, 2)
    plain[..., 0] = 1
    with torch.no_grad():
        levels = torch.ops.aten._weight_int4pack_mm_for_cpu(torch.eye(columns), tensor, group, plain).t() + 8
    array = np.ascontiguousarray(levels.numpy()).round().astype(np.uint8).astype(ml_dtypes.uint4)
    return [x, g.initializer(f"{packed.name}.levels", array), group, scales]


_UNPACKED: dict[str, Callable[[GraphBuilder, Sequence[Any]], list[Any]]] = {
    "aten::_weight_int4pack_mm_for_cpu": _int4_for_cpu,
}


def unpacked(g: GraphBuilder, name: str, values: list[Any]) -> list[Any]:
    """Operands of an operator, packed weights unpacked.

    Args:
        g: Builder.
        name: The operator's name in its schema.
        values: Its operands.
    """
    unpack = _UNPACKED.get(name)
    return values if unpack is None or not all(isinstance(values[i], Value) for i in (0, 1)) else unpack(g, values)
