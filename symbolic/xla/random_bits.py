"""The threefry generator, bit for bit: 32-bit words added, rotated and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Size, product
from ..value import Value
from .pointwise import scalar

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry2x32(g: GraphBuilder, k1: Value, k2: Value, x1: Value, x2: Value) -> tuple[Value, Value]:
    """Threefry-2x32 with 20 rounds: two words of key and two of counter to two words."""
    keys = [k1, k2, g.BitwiseXor(g.BitwiseXor(k1, k2), scalar(g, _PARITY, k1))]
    a, b = g.Add(x1, k1), g.Add(x2, k2)
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            a = g.Add(a, b)
            b = g.BitwiseXor(a, _rotated(g, b, distance))
        a = g.Add(a, keys[(i + 1) % 3])
        b = g.Add(g.Add(b, keys[(i + 2) % 3]), scalar(g, i + 1, b))
    return a, b


def _rotated(g: GraphBuilder, x: Value, distance: int) -> Value:
    left = g.BitShift(x, scalar(g, distance, x), direction="LEFT")
    return g.BitwiseOr(left, g.BitShift(x, scalar(g, 32 - distance, x), direction="RIGHT"))


def _halves(g: GraphBuilder, keys: Value, rank: int) -> tuple[Value, Value]:
    """The two words of keys, with `rank` axes of size one after those of the keys."""
    last = keys.rank - 1
    parts = []
    for i in range(2):
        word = g.Gather(keys, np.array(i), axis=last)
        parts.append(g.Unsqueeze(word, [last + j for j in range(rank)]) if rank else word)
    return parts[0], parts[1]


def _counters(g: GraphBuilder, shape: Sequence[Size]) -> tuple[Value, Value]:
    """High and low word of 0, 1, 2 ... in a shape."""
    total = product(shape)
    if isinstance(total, int):
        numbers = np.arange(total, dtype=np.uint64).reshape([s for s in shape if isinstance(s, int)])
        return g.constant((numbers >> np.uint64(32)).astype(np.uint32)), g.constant(numbers.astype(np.uint32))
    low = g.reshape(g.Cast(g.Range(0, g.size(total), 1), to=_T.UINT32), list(shape))
    return scalar(g, 0, low), low


def seed(g: GraphBuilder, seeds: Value) -> Value:
    """Keys from integers: their high and their low word."""
    if seeds.element in (_T.INT64, _T.UINT64):
        bits = seeds if seeds.element is _T.UINT64 else g.Cast(seeds, to=_T.UINT64)
        high = g.Cast(g.BitShift(bits, scalar(g, 32, bits), direction="RIGHT"), to=_T.UINT32)
        low = g.Cast(g.BitwiseAnd(bits, scalar(g, 0xFFFFFFFF, bits)), to=_T.UINT32)
    else:
        low = seeds if seeds.element is _T.UINT32 else g.Cast(seeds, to=_T.UINT32)
        high = g.Mul(low, scalar(g, 0, low))
    return _paired(g, high, low)


def _paired(g: GraphBuilder, first: Value, second: Value) -> Value:
    return g.Concat(g.Unsqueeze(first, [first.rank]), g.Unsqueeze(second, [second.rank]), axis=first.rank)


def split(g: GraphBuilder, keys: Value, shape: Sequence[Size]) -> Value:
    """New keys, in a shape, from each key."""
    return _paired(g, *threefry2x32(g, *_halves(g, keys, len(shape)), *_counters(g, shape)))


def fold_in(g: GraphBuilder, keys: Value, data: Value) -> Value:
    """New keys from keys and numbers."""
    return _paired(g, *threefry2x32(g, *_halves(g, keys, 0), *_halves(g, seed(g, data), 0)))


def bits(g: GraphBuilder, keys: Value, width: int, shape: Sequence[Size]) -> Value:
    """Random words of 8, 16, 32 or 64 bits, in a shape, from each key."""
    first, second = threefry2x32(g, *_halves(g, keys, len(shape)), *_counters(g, shape))
    if width == 64:
        high = g.BitShift(g.Cast(first, to=_T.UINT64), g.constant(np.array(32, np.uint64)), direction="LEFT")
        return g.BitwiseOr(high, g.Cast(second, to=_T.UINT64))
    joined = g.BitwiseXor(first, second)
    return joined if width == 32 else g.Cast(joined, to=ir.DataType[f"UINT{width}"])
