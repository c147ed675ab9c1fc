"""Computes equal expressions once."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import CommonSubexpressionEliminationPass


def share_subexpressions(model: ir.Model) -> int:
    """Merges nodes with the same operator, inputs and attributes; returns 1 if any were.

    Random operators stay apart, as each call draws its own numbers.
    """
    return int(CommonSubexpressionEliminationPass()(model).modified)
