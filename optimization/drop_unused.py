"""Removes nodes, optional results and initializers that nothing uses."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass


def drop_unused(model: ir.Model) -> int:
    """Removes what doesn't reach an output; returns 1 if anything went."""
    return int(RemoveUnusedNodesPass()(model).modified)
