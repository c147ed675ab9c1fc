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


@symbolic("onnx_import", "CumProd", since=26)
def cumulative_product(g: GraphBuilder, x: Value, axis: Value, exclusive: int = 0, reverse: int = 0) -> Value:
    """CumProd-26(x, axis) {exclusive, reverse}: a scan along the axis that carries the product so far."""
    if axis.array is None or x.sizes is None:
        raise refused(g, "CumProd", "an axis or a rank that isn't known before the model runs")
    place = int(axis.array) % x.rank
    one = g.constant(1, x.element)
    start = g.Expand(one, g.Concat(g.Shape(x, end=place), g.Shape(x, start=place + 1), axis=0))
    body = g.subgraph("product")
    rest = (*x.sizes[:place], *x.sizes[place + 1 :])
    product, part = (body.input(name, x.element, rest) for name in ("product", "part"))
    following = body.Mul(product, part)
    body.output(following)
    body.output(product if exclusive else following)
    direction = [1 if reverse else 0]
    _, result = g.Scan(
        start, x, body=body, num_scan_inputs=1, scan_input_axes=[place], scan_output_axes=[place],
        scan_input_directions=direction, scan_output_directions=direction, outputs=[False, True],
    )  # fmt: skip
    return result  # type: ignore[no-any-return]
