"""What opsets above the authoring opset added to operators that it has."""

from __future__ import annotations

import onnx_ir as ir

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .refusals import refused


@symbolic("onnx_import", "Range", since=27)
def range_(g: GraphBuilder, start: Value, limit: Value, delta: Value, stash_type: int = 1) -> Value:
    """Range-27(start, limit, delta) {stash_type}: narrow floats are counted in the stash type."""
    narrow = start.element
    if narrow not in (ir.DataType.FLOAT16, ir.DataType.BFLOAT16):
        return g.Range(start, limit, delta)  # type: ignore[no-any-return]
    wide = (g.Cast(v, to=stash_type) for v in (start, limit, delta))
    return g.Cast(g.Range(*wide), to=narrow)  # type: ignore[no-any-return]


@symbolic("onnx_import", "SpaceToDepth", since=28)
def space_to_depth(g: GraphBuilder, input: Value, blocksize: int, mode: str = "DCR") -> Value:
    """SpaceToDepth-28(input) {blocksize, mode}: CRD puts the channels before the place inside a block."""
    if mode == "DCR":
        return g.SpaceToDepth(input, blocksize=blocksize)  # type: ignore[no-any-return]
    if input.sizes is None or None in input.sizes:
        raise refused(g, "SpaceToDepth", "mode CRD of a tensor of unknown sizes")
    n, c, h, w = input.sizes
    assert c is not None and h is not None and w is not None
    blocks = g.reshape(input, [n, c, h // blocksize, blocksize, w // blocksize, blocksize])
    moved = g.Transpose(blocks, perm=[0, 1, 3, 5, 2, 4])
    return g.reshape(moved, [n, c * blocksize * blocksize, h // blocksize, w // blocksize])
