"""Which error is allowed, and why: one tier for each numeric precision, chosen by dtype, model and runtime.

The limits lie above the errors that were measured on right conversions (float32 runtimes: at most 5e-7) and below
those of small planted bugs (one convolution 1 % too large: 3.6e-5 after a softmax).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import onnx

from ..symbolic.errors import InputSpecError
from .metrics import Metrics
from .models import LoadedModel, dtype_name, iter_graphs, iter_nodes


@dataclass(frozen=True)
class Tolerance:
    """Limits for one output. A limit that is None isn't applied.

    Attributes:
        tier: Name of the tier, ``user`` for the user's own limits.
        sc: Upper limit of ``max|err| / max|ref|``.
        one_minus_cos: Upper limit of 1 - cosine.
        sqnr_db: Lower limit of the signal to noise ratio.
        exact: Every element must be equal.
        reason: Why this tier.
    """

    tier: str
    sc: float | None = None
    one_minus_cos: float | None = None
    sqnr_db: float | None = None
    exact: bool = False
    reason: str = ""

    def problems(self, metrics: Metrics) -> list[str]:
        """What the metrics exceed, one line each; empty if they are within the limits."""
        found = []
        if metrics.nonfinite_unequal:
            found.append(f"NaN or infinity at different places ({metrics.nonfinite_unequal} of {metrics.elements})")
        if self.exact and metrics.unequal:
            found.append(f"{metrics.unequal} of {metrics.elements} elements differ; they must be equal")
        # "not <=", so that a NaN in the metrics can't pass.
        if self.sc is not None and not metrics.sc <= self.sc:
            found.append(f"sc {metrics.sc:.3g} > {self.sc:.3g}")
        if self.one_minus_cos is not None and not metrics.one_minus_cos <= self.one_minus_cos:
            found.append(f"1-cos {metrics.one_minus_cos:.3g} > {self.one_minus_cos:.3g}")
        if self.sqnr_db is not None and not metrics.sqnr_db >= self.sqnr_db:
            found.append(f"SQNR {metrics.sqnr_db:.1f} dB < {self.sqnr_db:.1f} dB")
        return found

    def limits(self) -> str:
        """The limits as a short text."""
        parts = ["equal"] if self.exact else []
        parts += [f"sc<={self.sc:.3g}"] if self.sc is not None else []
        parts += [f"1-cos<={self.one_minus_cos:.3g}"] if self.one_minus_cos is not None else []
        parts += [f"SQNR>={self.sqnr_db:.3g}dB"] if self.sqnr_db is not None else []
        return ", ".join(parts)


UserTolerance: TypeAlias = "float | str | Tolerance | Mapping[str, float | str | Tolerance]"

EXACT = Tolerance("exact", exact=True)

# Loosest last: where several apply, the loosest one wins. A float64 rounding is 5e8 times finer than a float32 one;
# the float64 tier leaves some of that for long sums and for transcendental functions.
TIERS = {
    tier.tier: tier
    for tier in (
        EXACT,
        Tolerance("float64", sc=1e-12, one_minus_cos=1e-22),
        Tolerance("fp32-exact", sc=5e-6, one_minus_cos=1e-10),
        Tolerance("fp32-approximate", sc=2e-4, one_minus_cos=1e-7),
        Tolerance("fp16", sc=2e-3, one_minus_cos=1e-6),
        Tolerance("bf16", sc=2e-2, one_minus_cos=1e-4),
        Tolerance("int8", sqnr_db=25.0),
        Tolerance("int4", sqnr_db=20.0),
    )
}
_ORDER = list(TIERS)
_BY_DTYPE = {
    "float64": "float64",
    "complex128": "float64",
    "float32": "fp32-exact",
    "complex64": "fp32-exact",
    "float16": "fp16",
    "bfloat16": "bf16",
}
_QUANTISED_OPS = frozenset(
    (
        "QuantizeLinear",
        "DynamicQuantizeLinear",
        "DequantizeLinear",
        "QLinearConv",
        "QLinearMatMul",
        "ConvInteger",
        "MatMulInteger",
    )
)


@dataclass(frozen=True)
class NumericProfile:
    """The numeric types that a model works in.

    Attributes:
        inputs: dtypes of the graph inputs.
        held: dtype -> how many weights, casts and declared values have it.
        quantised: ``int8``, ``int4`` or the empty string.
    """

    inputs: frozenset[str] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict)
    quantised: str = ""


def profile(model: LoadedModel) -> NumericProfile:
    """Reads the numeric types off a model."""
    proto = model.proto
    fed = set(model.input_names)
    inputs = frozenset(
        dtype_name(v.type.tensor_type.elem_type)
        for v in proto.graph.input
        if v.name in fed and v.type.tensor_type.elem_type
    )
    held: Counter[str] = Counter()
    for graph in iter_graphs(proto.graph):
        held.update(dtype_name(tensor.data_type) for tensor in graph.initializer)
        held.update(dtype_name(v.type.tensor_type.elem_type) for v in graph.value_info if v.type.tensor_type.elem_type)
    quantised = ""
    for node in iter_nodes(proto):
        if node.op_type in _QUANTISED_OPS:
            quantised = "int8"
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                held[dtype_name(attribute.t.data_type)] += 1
            elif node.op_type == "Cast" and attribute.name == "to":
                held[dtype_name(attribute.i)] += 1
    if quantised and any(name in held for name in ("int4", "uint4", "int2", "uint2")):
        quantised = "int4"
    return NumericProfile(inputs, held, quantised)


def choose_tolerance(
    dtype: str,
    *,
    output: str = "",
    model: NumericProfile | None = None,
    precision: str = "",
    runtime: str = "",
    user: UserTolerance | None = None,
    label: bool = False,
) -> Tolerance:
    """Chooses the tolerance of one output.

    The loosest of these tiers holds: the output's own dtype, half precision anywhere inside the model, float32 inputs
    or weights behind a float64 output, quantisation, and what the runtime computes in.
    Integers, booleans, strings and labels must be equal, whatever the rest.

    Args:
        dtype: dtype of the reference output.
        output: Its name, to look up the user's tolerance.
        model: Numeric types inside the model.
        precision: Name of the tier of what the runtime computes in; empty if it keeps the model's types.
        runtime: The runtime's name, for the reason.
        user: The user's own limit: a number (limit of ``sc``), the name of a tier, a ``Tolerance``, or one of them by
            output name. A limit for all outputs doesn't loosen what must be equal.
        label: The output holds labels.

    Raises:
        InputSpecError: The user's tolerance is not one.
    """
    if isinstance(user, Mapping):
        if output in user:
            return _of_user(user[output], f"the user's tolerance for {output}")
        user = None
    if label:
        return dataclasses.replace(EXACT, reason="a label")
    if dtype not in _BY_DTYPE:
        return dataclasses.replace(EXACT, reason=f"{dtype} values")
    if user is not None:
        return _of_user(user, "the user's tolerance")
    candidates = [(_BY_DTYPE[dtype], f"{dtype} output"), *_of_model(dtype, model or NumericProfile())]
    if precision:
        if precision not in TIERS:
            raise InputSpecError(f"unknown precision {precision!r}; one of {', '.join(TIERS)}")
        candidates.append((precision, f"{runtime or 'the runtime'} computes in {precision}"))
    tier, reason = max(candidates, key=lambda pair: _ORDER.index(pair[0]))
    return dataclasses.replace(TIERS[tier], reason=reason)


def _of_model(dtype: str, model: NumericProfile) -> list[tuple[str, str]]:
    found = []
    for half, tier in (("float16", "fp16"), ("bfloat16", "bf16")):
        if model.held.get(half) or half in model.inputs:
            found.append((tier, f"the model works in {half} inside"))
    if _BY_DTYPE[dtype] == "float64":
        # Only what comes in counts: a float64 model that was rounded to float32 on its way must not pass.
        floats = {name for name in model.inputs if name in _BY_DTYPE}
        if "float32" in floats:
            found.append(("fp32-exact", "float64 output of a model with float32 inputs"))
        elif not floats and model.held.get("float32"):
            found.append(("fp32-exact", "float64 output of a model with float32 weights"))
    if model.quantised:
        found.append((model.quantised, f"the model is quantised to {model.quantised}"))
    return found


def _of_user(value: float | str | Tolerance, reason: str) -> Tolerance:
    if isinstance(value, Tolerance):
        return dataclasses.replace(value, reason=reason)
    if isinstance(value, str):
        if value not in TIERS:
            raise InputSpecError(f"unknown tolerance {value!r}; a number, or one of {', '.join(TIERS)}")
        return dataclasses.replace(TIERS[value], reason=reason)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise InputSpecError(f"the tolerance {value!r} is not a number >= 0 nor the name of a tier")
    return Tolerance("user", sc=float(value), reason=reason)
