"""What opsets above the authoring opset added to operators that it has."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from ..builder import GraphBuilder, Wanted
from ..errors import OpsetError
from ..registry import symbolic
from ..value import Value
from .refusals import refused


@symbolic("onnx_import", "Range", since=27)
def range_(g: GraphBuilder, start: Value, limit: Value, delta: Value, stash_type: int = 1) -> Value:
    """Range-27(start, limit, delta) {stash_type}: narrow floats are counted in the stash type."""
    narrow = start.element
    if narrow not in (ir.DataType.FLOAT16, ir.DataType.BFLOAT16):
        return g.Range(start, limit, delta)
    wide = (g.Cast(v, to=stash_type) for v in (start, limit, delta))
    return g.Cast(g.Range(*wide), to=narrow)


@symbolic("onnx_import", "SpaceToDepth", since=28)
def space_to_depth(g: GraphBuilder, input: Value, blocksize: int, mode: str = "DCR") -> Value:
    """SpaceToDepth-28(input) {blocksize, mode}: CRD puts the channels before the place inside a block."""
    if mode == "DCR":
        return g.SpaceToDepth(input, blocksize=blocksize)
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
    shape = g.Shape(x)
    place = g.Reshape(axis, [1]) if axis.element is ir.DataType.INT64 else g.Reshape(g.Cast(axis, to=7), [1])
    place = g.Mod(place, g.Shape(shape))  # a negative axis counts from the end
    before = g.ReduceProd(g.Slice(shape, [0], place), keepdims=1)
    after = g.ReduceProd(g.Slice(shape, g.Add(place, [1]), [2**31 - 1]), keepdims=1)
    cube = g.Reshape(x, g.Concat(before, g.Slice(shape, place, g.Add(place, [1])), after, axis=0), allowzero=1)
    body = g.subgraph("product")
    product, part = (body.input(name, x.element, [None, None]) for name in ("product", "part"))
    following = body.Mul(product, part)
    body.output(following)
    body.output(product if exclusive else following)
    direction = [1 if reverse else 0]
    _, result = g.Scan(
        g.Expand(g.constant(1, x.element), g.Concat(before, after, axis=0)), cube,
        body=body, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1],
        scan_input_directions=direction, scan_output_directions=direction, outputs=2,
    )  # fmt: skip
    return g.Reshape(result, shape, allowzero=1)


@symbolic("onnx_import", "BitShift", since=28)
def bit_shift(g: GraphBuilder, X: Value, Y: Value, direction: str) -> Value:
    """BitShift-28(X, Y) {direction}: signed too, and a shift past the width leaves the sign only."""
    kind = X.element
    width = kind.bitwidth
    if kind.is_signed():
        X, Y = g.Cast(X, to=ir.DataType.INT64), g.Cast(Y, to=ir.DataType.INT64)
    outside = g.GreaterOrEqual(Y, width)
    if kind.is_signed():
        outside = g.Or(outside, g.Less(Y, 0))
    amount = g.Where(outside, g.CastLike(0, Y), Y)
    if not kind.is_signed():
        shifted = g.BitShift(X, amount, direction=direction)
        return g.Where(outside, g.CastLike(0, X), shifted)
    # an arithmetic right shift of x < 0 is the complement of the shifted complement
    negative = g.Less(X, 0)
    bits = g.Where(negative, g.Sub(-1, X), X) if direction == "RIGHT" else X
    unsigned = (g.Cast(v, to=ir.DataType.UINT64) for v in (bits, amount))
    shifted = g.Cast(g.BitShift(*unsigned, direction=direction), to=ir.DataType.INT64)
    shifted = g.Where(outside, 0, shifted)
    if direction == "RIGHT":
        shifted = g.Where(negative, g.Sub(-1, shifted), shifted)
    return g.Cast(shifted, to=kind)


@symbolic("onnx_import", "Celu", since=28)
def celu(g: GraphBuilder, X: Value, alpha: float = 1.0) -> Value:
    """Celu-28(X) {alpha}: of any float type."""
    if X.element is ir.DataType.FLOAT:
        return g.Celu(X, alpha=alpha)
    return g.Mul(g.Elu(g.Div(X, alpha)), alpha)


def _through_float(op: str, position: int) -> None:
    """Registers an operator that got bfloat16: its data go through float and back, which changes no value."""

    @symbolic("onnx_import", op, since=28)
    def through_float(g: GraphBuilder, *args: Value | None, outputs: Wanted = 1, **attributes: Any) -> Any:
        """Compress, Einsum, OneHot, ReverseSequence, Unique-28: of bfloat16 too."""
        data = args[position]
        if data is None or data.dtype is not ir.DataType.BFLOAT16:
            return g.call(op, *args, outputs=outputs, **attributes)
        wide = [
            g.Cast(a, to=ir.DataType.FLOAT) if a is not None and (i == position or op == "Einsum") else a
            for i, a in enumerate(args)
        ]
        found = g.call(op, *wide, outputs=outputs, **attributes)
        found = found if isinstance(found, tuple) else (found,)
        return [g.Cast(r, to=ir.DataType.BFLOAT16) if r is not None and i == 0 else r for i, r in enumerate(found)]


for _op, _position in (("Compress", 0), ("Einsum", 0), ("OneHot", 2), ("ReverseSequence", 0), ("Unique", 0)):
    _through_float(_op, _position)


@symbolic("onnx_import", "BitCast", since=26)
def bit_cast(g: GraphBuilder, input: Value, to: int) -> Value:
    """BitCast-26(input) {to}: between integers of one width a Cast keeps the bits; others have no older form."""
    kinds = (input.element, ir.DataType(to))
    if kinds[0].bitwidth == kinds[1].bitwidth and all(kind.is_integer() for kind in kinds):
        return g.Cast(input, to=to)
    detail = f"{kinds[0].name} as {kinds[1].name}"
    raise OpsetError("BitCast", detail=detail, needs=26, target=g.opset, location=g.location)
