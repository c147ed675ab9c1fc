"""Activations and other elementwise float functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..registry import symbolic
from .common import FLOATS, NARROW_FLOATS, known_rank, refuse

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


def in_float(g: GraphBuilder, x: Value, compute: Callable[[Value], Any]) -> Any:
    """Computes on a 16-bit float in float, as kernels do; other dtypes as they are."""
    if x.element not in NARROW_FLOATS:
        return compute(x)
    return g.Cast(compute(g.Cast(x, to=ir.DataType.FLOAT)), to=x.element)


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
    return g.Mul(X, g.HardSigmoid(X, alpha=1 / 6, beta=0.5))


@symbolic("onnx", "Mish", until=17)
def mish(g: GraphBuilder, X: Value) -> Any:
    """(X) -> X * tanh(softplus(X))"""
    return g.Mul(X, g.Tanh(g.Softplus(X)))


@symbolic("onnx", "Swish", until=23)
def swish(g: GraphBuilder, X: Value, alpha: float = 1.0) -> Any:
    """(X, alpha) -> X * sigmoid(alpha * X)"""
    return g.Mul(X, g.Sigmoid(X if alpha == 1.0 else g.Mul(X, alpha)))


@symbolic("onnx", "Celu", until=11)
def celu(g: GraphBuilder, X: Value, alpha: float = 1.0) -> Any:
    """(X, alpha) -> max(0, X) + min(0, alpha * (exp(X / alpha) - 1)): Elu scaled on both sides"""
    if alpha == 1.0:
        return g.Elu(X)
    return (
        g.Mul(g.Elu(g.Mul(X, 1.0 / alpha)), alpha) if alpha > 0 else refuse(g, "Celu", f"attribute alpha {alpha}", 12)
    )


@symbolic("onnx", "Mod")
def mod(g: GraphBuilder, A: Value, B: Value, fmod: int = 0) -> Any:
    """(A, B, fmod) -> remainder; on floats only fmod exists: the sign of the divisor is given by hand"""
    if fmod or A.element not in FLOATS:
        return NotImplemented
    rest = g.Mod(A, B, fmod=1)
    other_side = g.Less(g.Mul(g.Sign(rest), g.Sign(B)), 0.0)
    return g.Where(other_side, g.Add(rest, B), rest)
