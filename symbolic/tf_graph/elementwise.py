"""Arithmetic, comparisons, activations: one element at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from ..dims import Sizes
from ..nn.layout import elementwise
from ..registry import symbolic
from ..value import Value
from ..xla import functions, pointwise
from ..xla.kernels import FLOATS, INTEGERS, UNSIGNED, call
from .common import DIALECT, cast, like, on_twins, refused

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _register(table: dict[str, Any]) -> None:
    """Ops that an elementwise function of operands computes as it is."""

    def make(function: Any) -> Any:
        def op(g: GraphBuilder, *operands: Value) -> Value:
            return on_twins(g, function, *operands)

        op.__doc__ = function.__doc__
        return op

    for name, function in table.items():
        symbolic(DIALECT, name)(make(function))


def _onnx(name: str) -> Any:
    def function(g: GraphBuilder, *operands: Value) -> Value:
        return call(g, name, *operands)

    function.__doc__ = f"{name} of ONNX."
    return function


def _exact(name: str) -> Any:
    """A function that has no kernel for doubles everywhere."""

    def function(g: GraphBuilder, x: Value) -> Value:
        return functions.unary(g, name, x)

    function.__doc__ = f"{name} of ONNX, in double precision too."
    return function


def floor_div(g: GraphBuilder, x: Value, y: Value) -> Value:
    """floor(x / y)"""
    if x.element in FLOATS:
        return call(g, "Floor", call(g, "Div", x, y))
    quotient = pointwise.div(g, x, y)
    if x.element in UNSIGNED:
        return quotient
    rest = call(g, "Sub", x, call(g, "Mul", quotient, y))
    apart = g.And(
        pointwise.not_equal(g, rest, like(g, 0, x)), g.Xor(g.Less(rest, like(g, 0, x)), g.Less(y, like(g, 0, y)))
    )
    return call(g, "Sub", quotient, cast(g, apart, x.element))


def floor_mod(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x - floor(x / y) * y, the sign of y"""
    if x.element not in FLOATS:
        return g.Mod(x, y) if x.element in (_T.INT32, _T.INT64) else call(g, "Mod", x, y)
    rest = call(g, "Mod", x, y, fmod=1)
    apart = g.And(
        pointwise.not_equal(g, rest, like(g, 0, x)), g.Xor(g.Less(rest, like(g, 0, x)), g.Less(y, like(g, 0, y)))
    )
    return call(g, "Where", apart, call(g, "Add", rest, y), rest)


def _div_no_nan(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x / y, 0 where y is 0"""
    zero = g.Equal(y, like(g, 0, y))
    safe = call(g, "Where", zero, like(g, 1, y), y)
    return call(g, "Where", zero, like(g, 0, x), call(g, "Div", x, safe))


def _mul_no_nan(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x * y, 0 where y is 0"""
    return call(g, "Where", g.Equal(y, like(g, 0, y)), like(g, 0, x), call(g, "Mul", x, y))


def _unless_zero(second: Any) -> Any:
    def function(g: GraphBuilder, x: Value, y: Value) -> Value:
        """x times a function of y, 0 where x is 0"""
        return call(g, "Where", g.Equal(x, like(g, 0, x)), like(g, 0, x), second(g, x, y))

    return function


def _squared_difference(g: GraphBuilder, x: Value, y: Value) -> Value:
    """(x - y) ** 2"""
    difference = call(g, "Sub", x, y)
    return call(g, "Mul", difference, difference)


def _pow(g: GraphBuilder, x: Value, y: Value) -> Value:
    """x ** y"""
    if x.element in FLOATS:
        return pointwise.power(g, x, y)
    if y.array is not None and y.size == 1 and y.array.reshape(-1)[0] >= 0:
        return pointwise.integer_power(g, x, int(y.array.reshape(-1)[0]))
    return g.Pow(x, y)


def _erfc(g: GraphBuilder, x: Value) -> Value:
    """1 - erf(x), precise where it is small"""
    return functions.erfc(g, x)


def _softplus(g: GraphBuilder, x: Value) -> Value:
    """log(exp(x) + 1)"""
    return call(g, "Softplus", x)


def _selu(g: GraphBuilder, x: Value) -> Value:
    """scale * elu(x, alpha)"""
    return call(g, "Selu", x, alpha=1.6732632423543772848170429916717, gamma=1.0507009873554804934193349852946)


def _relu6(g: GraphBuilder, x: Value) -> Value:
    """min(max(x, 0), 6)"""
    return call(g, "Clip", x, like(g, 0, x), like(g, 6, x))


def _relu(g: GraphBuilder, x: Value) -> Value:
    """max(x, 0)"""
    if x.element in (_T.FLOAT, _T.FLOAT16, _T.DOUBLE, _T.BFLOAT16):
        return call(g, "Relu", x)
    return call(g, "Max", x, like(g, 0, x))


def _clip(g: GraphBuilder, x: Value, low: Value, high: Value) -> Value:
    """min(max(x, low), high)"""
    return call(g, "Min", call(g, "Max", x, low), high)


def _sign(g: GraphBuilder, x: Value) -> Value:
    """-1, 0 or 1"""
    return pointwise.sign(g, x)


def _round(g: GraphBuilder, x: Value) -> Value:
    """Rounded, halves to even"""
    return x if x.element in INTEGERS else call(g, "Round", x)


def _square(g: GraphBuilder, x: Value) -> Value:
    """x * x"""
    return call(g, "Mul", x, x)


def _select(g: GraphBuilder, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, else y"""
    return pointwise.select(g, condition, x, y)


_register(
    {
        "Add": pointwise.add, "AddV2": pointwise.add, "Sub": pointwise.sub, "Mul": pointwise.mul,
        "RealDiv": pointwise.div, "Div": pointwise.div, "TruncateDiv": pointwise.div, "TruncateMod": pointwise.rem,
        "Mod": pointwise.rem, "FloorDiv": floor_div, "FloorMod": floor_mod, "DivNoNan": _div_no_nan,
        "MulNoNan": _mul_no_nan, "Maximum": pointwise.maximum, "Minimum": pointwise.minimum, "Pow": _pow,
        "SquaredDifference": _squared_difference, "Atan2": functions.atan2,
        "Xdivy": _unless_zero(lambda g, x, y: call(g, "Div", x, y)),
        "Xlogy": _unless_zero(lambda g, x, y: call(g, "Mul", x, call(g, "Log", y))),
        "Xlog1py": _unless_zero(lambda g, x, y: call(g, "Mul", x, functions.log1p(g, y))),
        "Abs": pointwise.absolute, "Neg": pointwise.negate, "Sign": _sign, "Square": _square,
        "Reciprocal": _onnx("Reciprocal"), "Inv": _onnx("Reciprocal"), "Sqrt": _onnx("Sqrt"), "Rsqrt": functions.rsqrt,
        "Exp": _onnx("Exp"), "Expm1": functions.expm1, "Log": _onnx("Log"), "Log1p": functions.log1p,
        "Floor": _onnx("Floor"), "Ceil": _onnx("Ceil"), "Rint": _round, "Round": _round,
        **{n: _exact(n) for n in ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
                                  "Acosh", "Atanh", "Erf")},
        "Erfc": _erfc, "Erfinv": functions.erf_inv, "Lgamma": functions.lgamma, "Digamma": functions.digamma,
        "Sigmoid": _onnx("Sigmoid"), "Softplus": _softplus, "Softsign": _onnx("Softsign"), "Elu": _onnx("Elu"),
        "Selu": _selu, "Relu": _relu, "Relu6": _relu6, "ClipByValue": _clip,
        "IsNan": pointwise.is_nan, "IsInf": _onnx("IsInf"), "IsFinite": pointwise.is_finite,
        "Greater": pointwise.greater, "GreaterEqual": pointwise.greater_equal, "Less": pointwise.less,
        "LessEqual": pointwise.less_equal, "LogicalAnd": _onnx("And"), "LogicalOr": _onnx("Or"),
        "LogicalNot": _onnx("Not"), "SelectV2": _select, "BitwiseAnd": pointwise.bitwise_and,
        "BitwiseOr": pointwise.bitwise_or, "BitwiseXor": pointwise.bitwise_xor, "Invert": pointwise.bitwise_not,
        "LeftShift": pointwise.shift_left, "RightShift": pointwise.shift_right_arithmetic,
    }
)  # fmt: skip


def _same_shape(g: GraphBuilder, x: Value, y: Value, incompatible_shape_error: bool) -> None:
    """Refuses operands whose shapes perhaps don't fit, where TensorFlow then says that they differ."""
    if incompatible_shape_error or (x.sizes is not None and y.sizes is not None and _fit(x.sizes, y.sizes)):
        return
    raise refused(g, "Equal", "comparing tensors whose shapes may not fit each other isn't supported")


def _fit(a: Sizes, b: Sizes) -> bool:
    shared = zip(a[::-1], b[::-1], strict=False)
    return all(x == 1 or y == 1 or (x is not None and x == y) for x, y in shared)


@symbolic(DIALECT, "Equal")
def equal(g: GraphBuilder, x: Value, y: Value, *, incompatible_shape_error: bool = True) -> Value:
    """Equal(x: T, y: T, incompatible_shape_error: bool) -> bool"""
    _same_shape(g, x, y, incompatible_shape_error)
    return on_twins(g, pointwise.equal, x, y)


@symbolic(DIALECT, "NotEqual")
def not_equal(g: GraphBuilder, x: Value, y: Value, *, incompatible_shape_error: bool = True) -> Value:
    """NotEqual(x: T, y: T, incompatible_shape_error: bool) -> bool"""
    _same_shape(g, x, y, incompatible_shape_error)
    return on_twins(g, pointwise.not_equal, x, y)


@symbolic(DIALECT, "ApproximateEqual")
def approximate_equal(g: GraphBuilder, x: Value, y: Value, *, tolerance: float = 1e-5) -> Value:
    """ApproximateEqual(x: T, y: T, tolerance: float) -> bool"""
    return g.Less(g.Abs(g.Sub(x, y)), like(g, tolerance, x))


@symbolic(DIALECT, "Select")
def select(g: GraphBuilder, condition: Value, x: Value, y: Value) -> Value:
    """Select(condition: bool, t: T, e: T) -> T; a vector of conditions chooses rows"""
    if condition.rank == 1 and x.rank > 1:
        condition = g.Unsqueeze(condition, list(range(1, x.rank)))
    return on_twins(g, _select, condition, x, y)


@symbolic(DIALECT, "LeakyRelu")
def leaky_relu(g: GraphBuilder, x: Value, *, alpha: float = 0.2) -> Value:
    """LeakyRelu(features: T, alpha: float) -> T"""
    return elementwise(g, "LeakyRelu", x, alpha=float(alpha))


@symbolic(DIALECT, "AddN", "AccumulateNV2")
def add_n(g: GraphBuilder, *operands: Value, shape: Any = None) -> Value:
    """AddN(inputs: N * T) -> T; AccumulateNV2 tells their shape, too"""
    total = operands[0]
    for operand in operands[1:]:
        total = on_twins(g, pointwise.add, total, operand)
    return total


@symbolic(DIALECT, "Cast")
def cast_(g: GraphBuilder, x: Value, *, DstT: Any, Truncate: bool = False) -> Value:
    """Cast(x: SrcT, DstT: type, Truncate: bool) -> DstT"""
    if not isinstance(DstT, ir.DataType) or DstT in (_T.COMPLEX64, _T.COMPLEX128):
        raise refused(g, "Cast", "a conversion to this dtype isn't supported")
    if Truncate:
        raise refused(g, "Cast", "a conversion that truncates isn't supported")
    return on_twins(g, lambda b, v: cast(b, v, DstT), x)


@symbolic(DIALECT, "Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape", "CheckNumerics",
          "DisableCopyOnRead", "PlaceholderWithDefault")  # fmt: skip
def identity(g: GraphBuilder, x: Value, *, message: str = "", shape: Any = None) -> Value:
    """Identity(input: T) -> T"""
    return x


@symbolic(DIALECT, "IdentityN")
def identity_n(g: GraphBuilder, *operands: Value) -> tuple[Value, ...]:
    """IdentityN(input: list(T)) -> list(T)"""
    return operands
