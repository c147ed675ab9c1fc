"""Activations and other elementwise float functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from .common import FLOATS, in_float, known_rank, refuse

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value


def _along_last_axis(op: str) -> Callable[..., Any]:
    def along_axis(g: GraphBuilder, input: Value, axis: int = -1) -> Any:
        """(input, axis) -> output; below opset 13 all axes from `axis` on count as one: `axis` has to come last"""
        if axis == -1:
            return g.raw(op, input, axis=-1)
        rank = known_rank(g, input, op, 13)
        axis %= max(rank, 1)
        assert input.sizes is not None
        if all(size == 1 for size in input.sizes[axis + 1 :]):
            return g.raw(op, input, axis=axis)
        order = [i for i in range(rank) if i != axis] + [axis]
        back = [order.index(i) for i in range(rank)]
        return g.Transpose(g.raw(op, g.Transpose(input, perm=order), axis=rank - 1), perm=back)

    return along_axis


for _op in ("Softmax", "LogSoftmax", "Hardmax"):
    symbolic("onnx", _op, until=12)(_along_last_axis(_op))


@symbolic("onnx", "Gelu", until=19)
def gelu(g: GraphBuilder, X: Value, approximate: str = "none") -> Any:
    """(X, approximate) -> X * Phi(X)"""

    def exact(x: Value) -> Any:
        return x * 0.5 * (g.Erf(x * math.sqrt(0.5)) + 1.0)

    def tanh(x: Value) -> Any:
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        return x * 0.5 * (g.Tanh(inner) + 1.0)

    return in_float(g, X, tanh if approximate == "tanh" else exact)


@symbolic("onnx", "HardSwish", until=13)
def hard_swish(g: GraphBuilder, X: Value) -> Any:
    """(X) -> X * HardSigmoid(X)"""
    return in_float(g, X, lambda x: g.Mul(x, g.HardSigmoid(x, alpha=1 / 6, beta=0.5)))


@symbolic("onnx", "Mish", until=17)
def mish(g: GraphBuilder, X: Value) -> Any:
    """(X) -> X * tanh(softplus(X))"""
    return in_float(g, X, lambda x: g.Mul(x, g.Tanh(g.Softplus(x))))


@symbolic("onnx", "Swish", until=23)
def swish(g: GraphBuilder, X: Value, alpha: float = 1.0) -> Any:
    """(X, alpha) -> X * sigmoid(alpha * X)"""
    return in_float(g, X, lambda x: g.Mul(x, g.Sigmoid(x if alpha == 1.0 else g.Mul(x, alpha))))


@symbolic("onnx", "Celu", until=11)
def celu(g: GraphBuilder, X: Value, alpha: float = 1.0) -> Any:
    """(X, alpha) -> max(0, X) + min(0, alpha * (exp(X / alpha) - 1)): Elu scaled on both sides"""
    if alpha == 1.0:
        return g.Elu(X)
    if alpha <= 0:
        refuse(g, "Celu", f"attribute alpha {alpha}", 12)
    return in_float(g, X, lambda x: g.Mul(g.Elu(g.Mul(x, 1.0 / alpha)), alpha))


@symbolic("onnx", "Mod")
def mod(g: GraphBuilder, A: Value, B: Value, fmod: int = 0) -> Any:
    """(A, B, fmod) -> remainder; on floats only fmod exists: the sign of the divisor is given by hand"""
    if fmod or A.element not in FLOATS:
        return NotImplemented
    rest = g.Mod(A, B, fmod=1)
    other_side = g.Less(g.Mul(g.Sign(rest), g.Sign(B)), 0.0)
    return g.Where(other_side, g.Add(rest, B), rest)
