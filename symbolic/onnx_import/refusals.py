"""How a source operator that can't be raised is refused."""

from __future__ import annotations

from ..builder import GraphBuilder
from ..errors import MissingOp, UnsupportedOps


def refused(g: GraphBuilder, op: str, reason: str) -> UnsupportedOps:
    """The error for a use of an operator that has no equivalent at the authoring opset."""
    return UnsupportedOps([MissingOp("onnx", op, 1, (g.location,), reason)])
