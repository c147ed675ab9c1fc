"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .arithmetic import add, mul
from .precision import is_half, rounded_once
from .promotion import FLOATS, NARROW, DataType, Scalar, cast, compute, promoted, unsupported, value_of
from .shape import size_at


def matrix_product(g: GraphBuilder, a: Value, b: Value) -> Value:
    """MatMul; narrow integers are multiplied in int32."""
    dtype = a.element
    if dtype in NARROW:
        a, b = cast(g, a, DataType.INT32), cast(g, b, DataType.INT32)
    return cast(g, g.MatMul(a, b), dtype)


@symbolic("aten", "mm", "bmm", "matmul", "dot", "vdot", "mv", "__matmul__", "linalg_matmul")
def matmul(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::matmul(Tensor self, Tensor other) -> Tensor"""
    weight = _dequantized(other)
    if weight is not None and self.rank == 2 and self.dtype == DataType.FLOAT:
        # onnxruntime's optimisations round the other operand of a MatMul to int8, too (MatMulNBits); not that of a Gemm
        return g.Gemm(self, weight, transB=int(weight is not other))
    return matrix_product(g, self, other)


def _dequantized(x: Value) -> Value | None:
    """The float matrix that a quantised weight stands for, where x is that or its transpose; None for any other."""
    node = x.producer()
    turned = node is not None and node.op_type == "Transpose" and x.rank == 2
    weight = node.inputs[0] if node is not None and turned else x
    made = None if weight is None else weight.producer()
    if made is None or made.op_type != "DequantizeLinear" or not isinstance(weight, Value):
        return None
    levels = made.inputs[0]
    constant = levels is not None and levels.const_value is not None
    return weight if constant and weight.rank == 2 and weight.dtype == DataType.FLOAT else None


@symbolic("aten", "linear")
def linear(g: GraphBuilder, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"""
    if input.rank == 2 and weight.rank == 2 and (bias is None or bias.rank == 1) and input.element in FLOATS:
        return g.Gemm(input, weight, bias, transB=1)
    product = g.MatMul(input, g.Transpose(weight, perm=[1, 0]) if weight.rank == 2 else weight)
    return product if bias is None else g.Add(product, bias)


def _scaled(g: GraphBuilder, x: Value, factor: Scalar) -> Value:
    return x if factor == 1 else mul(g, x, value_of(g, factor, x.element))


@symbolic("aten", "addmm", "baddbmm", "addmv")
def addmm(g: GraphBuilder, self: Value, mat1: Value, mat2: Value, beta: Scalar = 1, alpha: Scalar = 1) -> Value:
    """aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    numbers = not isinstance(alpha, Value) and not isinstance(beta, Value)
    if is_half(mat1) and mat1.rank == mat2.rank == 2 and self.rank in (1, 2) and numbers:
        # one operator: the sum isn't rounded twice, and weights aren't cast
        return g.Gemm(mat1, mat2, self if beta else None, alpha=float(alpha), beta=float(beta))  # type: ignore[arg-type]
    return _product_added(g, self, matrix_product, mat1, mat2, beta, alpha)


@rounded_once
def _product_added(
    g: GraphBuilder, x: Value, product: Callable[[GraphBuilder, Value, Value], Value], a: Value, b: Value,
    beta: Scalar, alpha: Scalar,
) -> Value:  # fmt: skip
    """beta * x + alpha * product(a, b)."""
    result = _scaled(g, product(g, a, b), alpha)
    if beta == 0:  # NaN in x doesn't count then
        return result
    return add(g, _scaled(g, x, beta), result)


@symbolic("aten", "addbmm")
def addbmm(g: GraphBuilder, self: Value, batch1: Value, batch2: Value, beta: Scalar = 1, alpha: Scalar = 1) -> Value:
    """aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""

    def product(g: GraphBuilder, a: Value, b: Value) -> Value:
        return g.ReduceSum(matrix_product(g, a, b), [0], keepdims=0)

    return _product_added(g, self, product, batch1, batch2, beta, alpha)


@symbolic("aten", "addr")
def addr(g: GraphBuilder, self: Value, vec1: Value, vec2: Value, beta: Scalar = 1, alpha: Scalar = 1) -> Value:
    """aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    product = _scaled(g, outer(g, vec1, vec2), alpha)
    return product if beta == 0 else add(g, _scaled(g, self, beta), product)


@symbolic("aten", "outer", "ger")
def outer(g: GraphBuilder, self: Value, vec2: Value) -> Value:
    """aten::outer(Tensor self, Tensor vec2) -> Tensor"""
    return mul(g, g.Unsqueeze(self, [1]), g.Unsqueeze(vec2, [0]))


@symbolic("aten", "inner")
def inner(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::inner(Tensor self, Tensor other) -> Tensor"""
    if self.rank == 0 or other.rank == 0:
        return mul(g, self, other)
    return tensordot(g, self, other, [-1], [-1])


@symbolic("aten", "tensordot")
def tensordot(g: GraphBuilder, self: Value, other: Value, dims_self: Sequence[int], dims_other: Sequence[int]) -> Value:
    """aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor"""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in range(self.rank)]
    right = [next(letters) for _ in range(other.rank)]
    for i, j in zip(dims_self, dims_other, strict=True):
        right[j] = left[i]
    free = [c for c in left if c not in right] + [c for c in right if c not in left]
    return einsum(g, f"{''.join(left)},{''.join(right)}->{''.join(free)}", [self, other])


@symbolic("aten", "einsum")
def einsum(g: GraphBuilder, equation: str, tensors: Sequence[Value], path: Sequence[int] | None = None) -> Value:
    """aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"""
    # `path` is an order of contraction: it changes the cost, not the result
    return compute(g, "Einsum", *promoted(g, *tensors), equation=equation.replace(" ", ""))


@symbolic("aten", "bilinear")
def bilinear(g: GraphBuilder, input1: Value, input2: Value, weight: Value, bias: Value | None = None) -> Value:
    """aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor"""
    # input1 (..., i), weight (o, i, j) -> (..., o, j), then with input2 (..., j)
    half = compute(g, "Einsum", input1, weight, equation="...i,oij->...oj")
    result = g.Squeeze(g.MatMul(half, g.Unsqueeze(input2, [-1])), [-1])
    return result if bias is None else g.Add(result, bias)


@symbolic("aten", "linalg_vecdot")
def linalg_vecdot(g: GraphBuilder, x: Value, y: Value, dim: int = -1) -> Value:
    """aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor"""
    a, b = promoted(g, x, y)
    return g.ReduceSum(g.Mul(a, b), [dim], keepdims=0)


@symbolic("aten", "linalg_cross", "cross")
def linalg_cross(g: GraphBuilder, self: Value, other: Value, dim: int | None = -1) -> Value:
    """aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"""
    a, b = promoted(g, self, other)
    if dim is None:
        dim = next((i for i, s in enumerate(a.sizes or ()) if s == 3), -1)
    axis = dim % max(a.rank, b.rank)

    def part(x: Value, order: list[int]) -> Value:
        return g.Gather(x, g.constant(order), axis=axis)

    return g.Sub(
        g.Mul(part(a, [1, 2, 0]), part(b, [2, 0, 1])), g.Mul(part(a, [2, 0, 1]), part(b, [1, 2, 0]))
    )  # fmt: skip


@symbolic("transformers", "grouped_mm_fallback")
@symbolic("aten", "_grouped_mm")
def grouped_mm(
    g: GraphBuilder, input: Value, weight: Value, offs: Value | None = None, bias: Value | None = None,
    out_dtype: DataType | None = None,
) -> Value:  # fmt: skip
    """aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ...) -> Tensor"""
    groups = weight.dim(0)
    if offs is None or bias is not None or input.rank != 2 or weight.rank != 3 or not isinstance(groups, int):
        raise unsupported("a grouped product other than sorted rows by a stack of matrices", g)
    ends = cast(g, offs, DataType.INT64)
    start = g.constant([0])
    parts = []
    for i in range(groups):  # rows of one group, times its matrix
        end = g.Slice(ends, [i], [i + 1], [0])
        matrix = g.Gather(weight, g.constant(i), axis=0)
        parts.append(g.MatMul(g.Slice(input, start, end, [0]), matrix))
        start = end
    result = g.Concat(*parts, axis=0) if groups > 1 else parts[0]
    return result if out_dtype is None else cast(g, result, out_dtype)


@symbolic("aten", "trace")
def trace(g: GraphBuilder, self: Value) -> Value:
    """aten::trace(Tensor self) -> Tensor"""
    from .reduction import total
    from .shape import diagonal

    return total(g, diagonal(g, self))


@symbolic("aten", "kron")
def kron(g: GraphBuilder, self: Value, other: Value) -> Value:
    """aten::kron(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    rank = max(a.rank, b.rank)
    first = [1] * (rank - a.rank) + [size_at(g, a, i) for i in range(a.rank)]
    second = [1] * (rank - b.rank) + [size_at(g, b, i) for i in range(b.rank)]
    if any(isinstance(s, Value) for s in (*first, *second)):
        raise unsupported("the Kronecker product of tensors of unknown size", g)
    left = g.reshape(a, [s for pair in first for s in (pair, 1)])
    right = g.reshape(b, [s for pair in second for s in (1, pair)])
    return g.reshape(mul(g, left, right), [x * y for x, y in zip(first, second, strict=True)])
