"""The Philox 4x32-10 generator, bit for bit: ten rounds of wide products and exclusive or."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
_ROUNDS = 10
_MULTIPLIERS = np.array([[0xD2511F53, 0xCD9E8D57]], np.uint64)
#: What is added to the two words of the key after each round.
_WEYL = np.array([[0x9E3779B9, 0xBB67AE85]], np.uint64)


def words(g: GraphBuilder, x: Value) -> tuple[Value, Value]:
    """Low and high 32 bits of 64-bit words."""
    return g.Cast(x, to=_T.UINT32), g.Cast(_above(g, x), to=_T.UINT32)


def _above(g: GraphBuilder, x: Value) -> Value:
    shifted: Value = g.BitShift(x, np.array(32, np.uint64), direction="RIGHT")
    return shifted


def joined(g: GraphBuilder, low: Value, high: Value) -> Value:
    """64-bit words of their low and high 32 bits."""
    upper = g.Mul(g.Cast(high, to=_T.UINT64), np.array(1 << 32, np.uint64))
    result: Value = g.Add(upper, g.Cast(low, to=_T.UINT64))
    return result


def skip(g: GraphBuilder, counter: Value, steps: Value) -> tuple[Value, Value]:
    """The 128-bit counter, advanced by each of many numbers of steps.

    Args:
        g: Builder.
        counter: Its low and its high half, uint64 of shape [2].
        steps: uint64 of shape [n].

    Returns:
        Low and high halves, of shape [n].
    """
    start, above = g.Gather(counter, [0]), g.Gather(counter, [1])
    low = g.Add(start, steps)
    carry = g.Cast(g.Less(low, start), to=_T.UINT64)
    return low, g.Add(above, carry)


def philox4x32(g: GraphBuilder, low: Value, high: Value, key: Value) -> tuple[Value, Value]:
    """Random words: the first and third, and the second and fourth of each counter.

    Args:
        g: Builder.
        low: Low halves of the counters, uint64 of shape [n].
        high: High halves.
        key: uint64 of shape [1].

    Returns:
        Two tensors of uint32 of shape [n, 2]: words 0 and 2, words 1 and 3.
    """
    halves = g.Concat(g.Unsqueeze(low, [1]), g.Unsqueeze(high, [1]), axis=1)
    even, odd = words(g, halves)  # words 0 and 2, words 1 and 3 of the counter
    keys = g.Concat(*(g.Unsqueeze(g.Cast(w, to=_T.UINT64), [1]) for w in words(g, key)), axis=1)
    for i in range(_ROUNDS):
        weyl = g.constant(_WEYL * np.uint64(i) % np.uint64(1 << 32))
        product = g.Gather(g.Mul(g.Cast(even, to=_T.UINT64), _MULTIPLIERS), [1, 0], axis=1)
        mixed = g.BitwiseXor(odd, g.Cast(g.Add(keys, weyl), to=_T.UINT32))
        odd, upper = words(g, product)
        even = g.BitwiseXor(upper, mixed)
    return even, odd
