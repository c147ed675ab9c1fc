"""The op table of dialect aten: one row for each use of an op.

Inputs are written ``"f[n,3] l[3]<5"``: a letter for the dtype (f float32, d float64, h float16, l int64, i int32,
s int16, c int8, B uint8, b bool), sizes or open dims in brackets, then optionally ``+`` (positive), ``<k`` (0 to k-1)
or ``!`` (no zeros).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

DTYPES = {
    "f": torch.float32, "d": torch.float64, "h": torch.float16, "l": torch.int64, "i": torch.int32, "s": torch.int16,
    "c": torch.int8, "B": torch.uint8, "b": torch.bool,
}  # fmt: skip
SIZES = ({"n": 3, "m": 4, "h": 8, "w": 10}, {"n": 5, "m": 2, "h": 12, "w": 6})
_SPEC = re.compile(r"(\w)\[([^\]]*)\](\+|!|<\d+)?")


@dataclass(frozen=True)
class Row:
    """One use of an op: `since` is the first opset it can be written at, `node` an operator that must be there."""

    name: str
    call: Callable[..., Any]
    inputs: str
    node: str = ""
    since: int = 11
    tolerance: Any = None

    @property
    def shapes(self) -> list[list[int | str]]:
        return [
            [int(s) if s.isdigit() else s for s in match[1].split(",") if s] for match in _SPEC.findall(self.inputs)
        ]  # fmt: skip


def make_inputs(row: Row, which: int) -> list[torch.Tensor]:
    """Inputs of a row, of the first (0) or second (1) size."""
    generator = torch.Generator().manual_seed(which)
    tensors = []
    for (letter, _, mark), shape in zip(_SPEC.findall(row.inputs), row.shapes, strict=True):
        sizes = [SIZES[which][s] if isinstance(s, str) else s for s in shape]
        dtype = DTYPES[letter]
        if dtype is torch.bool:
            tensors.append(torch.randint(0, 2, sizes, generator=generator).bool())
            continue
        if dtype.is_floating_point:
            values = torch.randn(sizes, generator=generator, dtype=torch.float64) * 2
        elif mark.startswith("<"):
            values = torch.randint(0, int(mark[1:]), sizes, generator=generator)
        else:
            values = torch.randint(0 if dtype is torch.uint8 else -9, 10, sizes, generator=generator)
        if mark == "+":
            values = values.abs() + (0.1 if dtype.is_floating_point else 1)
        if mark == "!":
            values = torch.where(values == 0, 3, values)
        tensors.append(values.to(dtype))
    return tensors


ROWS: list[Row] = []


def row(name: str, call: Callable[..., Any], *inputs: str, **options: Any) -> None:
    """Adds one row for each spec of inputs."""
    for text in inputs:
        suffix = "-" + text.replace(" ", "_") if len(inputs) > 1 else ""
        ROWS.append(Row(name + suffix, call, text, **options))


# --- arithmetic ------------------------------------------------------------------------------------------------------
row("add", lambda x, y: x + y, "f[n,3] f[3]", "l[n,3] l[n,1]", "i[n] i[n]", "s[n] s[n]", "c[n] c[n]", "B[n] B[n]",
    "b[n] b[n]", "d[n] d[n]", "h[n] h[n]", "f[n] l[n]", "i[n] l[n]", "B[n] c[n]", "f[n] d[]", "l[n] f[]")  # fmt: skip
row("add_alpha", lambda x, y: torch.add(x, y, alpha=2), "f[n] f[n]", "l[n] l[n]", "s[n] s[n]")
row("add_number", lambda x: x + 2, "f[n]", "l[n]", "b[n]", "h[n]", "c[n]")
row("add_float", lambda x: x + 1.5, "f[n]", "l[n]", "b[n]", "d[n]", "i[n]")
row("sub", lambda x, y: x - y, "f[n,3] f[3]", "l[n] i[n]", "B[n] B[n]")
row("rsub", lambda x: 3 - x, "f[n]", "l[n]")
row("mul", lambda x, y: x * y, "f[n] f[n]", "c[n] c[n]", "b[n] b[n]", "h[n] f[]", "l[n] d[n]")
row("div", lambda x, y: x / y, "f[n] f[n]!", "l[n] l[n]!", "c[n] i[n]!", "d[n] d[n]!")
row("div_floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), "f[n] f[n]!", "l[n] l[n]!", "i[n] i[n]!",
    "c[n] c[n]!", "B[n] B[n]!", "d[n] d[n]!", "f[n] l[n]!")  # fmt: skip
row("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), "f[n] f[n]!", "l[n] l[n]!", "s[n] s[n]!")
row("floor_divide", lambda x: x // 3, "f[n]", "l[n]", "i[n]", "B[n]")
row("floor_divide_negative", lambda x: x // -2, "f[n]", "l[n]")
row("remainder", lambda x, y: x % y, "f[n] f[n]!", "l[n] l[n]!", "c[n] c[n]!", "d[n] d[n]!")
row("fmod", lambda x, y: torch.fmod(x, y), "f[n] f[n]!", "l[n] l[n]!", "i[n] i[n]!")
row("pow", lambda x, y: torch.pow(x, y), "f[n]+ f[n]", "d[n]+ d[n]", "l[n] l[n]<5")
row("pow_2", lambda x: x**2, "f[n]", "l[n]", "s[n]", "h[n]")
row("pow_3", lambda x: x**3, "f[n]", "l[n]", "d[n]")
row("pow_half", lambda x: x**0.5, "f[n]+", "l[n]+")
row("pow_base", lambda x: 2**x, "f[n]", "l[n]<5")
row("square", torch.square, "f[n]", "l[n]")
row("addcmul", lambda x, a, b: torch.addcmul(x, a, b, value=0.5), "f[n,3] f[n,1] f[3]", node="Mul")
row("addcdiv", lambda x, a, b: torch.addcdiv(x, a, b, value=2), "f[n] f[n] f[n]!")
row("lerp", lambda x, y, w: torch.lerp(x, y, w), "f[n] f[n] f[n]")
row("lerp_number", lambda x, y: torch.lerp(x, y, 0.3), "f[n] f[n]")
row("maximum", torch.maximum, "f[n] f[n]", "l[n] l[n]", "c[n] c[n]", "b[n] b[n]", "f[n] l[n]")
row("minimum", torch.minimum, "f[n] f[n]", "l[n] l[n]", "B[n] B[n]")
row("clamp", lambda x: x.clamp(-1, 2), "f[n]", "l[n]", "c[n]", "h[n]")
row("clamp_double", lambda x: x.clamp(-1, 2), "d[n]", since=12)  # onnxruntime has no kernel for it at opset 11
row("clamp_float", lambda x: x.clamp(-0.5, 2.5), "f[n]", "l[n]")
row("clamp_min", lambda x: x.clamp(min=1), "f[n]", "l[n]")
row("clamp_tensor", lambda x, a, b: torch.clamp(x, a, b), "f[n] f[n] f[]", "l[n] l[n] l[n]")
row("clamp_crossed", lambda x: x.clamp(2, -1), "f[n]")
row("hypot", torch.hypot, "f[n] f[n]")
row("atan2", torch.atan2, "f[n] f[n]")
row("copysign", torch.copysign, "f[n] f[n]!")
row("heaviside", torch.heaviside, "f[n] f[n]", "l[n] l[n]")
row("fmax", torch.fmax, "f[n] f[n]")
row("gcd", torch.gcd, "l[n] l[n]", "i[n] i[n]", since=11)
row("xlogy", torch.xlogy, "f[n] f[n]+")
row("logaddexp", torch.logaddexp, "f[n] f[n]")

# --- one tensor ------------------------------------------------------------------------------------------------------
for _name in ("exp", "sin", "cos", "tan", "atan", "sinh", "tanh", "sigmoid", "erf", "expm1", "asinh", "sinc"):
    row(_name, getattr(torch, _name), "f[n]", "l[n]")
for _name in ("log", "sqrt", "rsqrt", "log1p", "log2", "log10", "reciprocal"):
    row(_name, getattr(torch, _name), "f[n]+", "l[n]+")
for _name in ("asin", "acos", "atanh"):
    row(_name, lambda x, f=_name: getattr(torch, f)(torch.tanh(x) * 0.9), "f[n]")
row("acosh", lambda x: torch.acosh(x + 1), "f[n]+")
for _name in ("floor", "ceil", "trunc", "round"):
    row(_name, getattr(torch, _name), "f[n]", "d[n]", "l[n]")
row("round_decimals", lambda x: torch.round(x, decimals=1), "f[n]")
row("frac", torch.frac, "f[n]")
row("abs", torch.abs, "f[n]", "l[n]", "c[n]", "s[n]")
row("neg", torch.neg, "f[n]", "l[n]", "s[n]")
row("sign", torch.sign, "f[n]", "l[n]", "c[n]")
row("isnan", lambda x: torch.isnan(torch.log(x)), "f[n]")
row("isinf", lambda x: torch.isinf(torch.log(torch.relu(x))), "f[n]")
row("isfinite", lambda x: torch.isfinite(torch.log(x)), "f[n]")
row("nan_to_num", lambda x: torch.nan_to_num(torch.log(x)), "f[n]")
row("signbit", torch.signbit, "f[n]", "l[n]")
row("erfc", torch.erfc, "f[n]")
row("logit", lambda x: torch.logit(torch.sigmoid(x), eps=0.01), "f[n]")

# --- comparison, logic, bits -----------------------------------------------------------------------------------------
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    row(_name, getattr(torch, _name), "f[n,3] f[3]", "l[n] l[n]", "c[n] c[n]", "b[n] b[n]", "l[n] f[n]")
    row(_name + "_number", lambda x, f=_name: getattr(torch, f)(x, 1), "f[n]", "l[n]")
row("compare_float", lambda x: x > 1.5, "l[n]", "f[n]")
for _name in ("logical_and", "logical_or", "logical_xor"):
    row(_name, getattr(torch, _name), "b[n] b[n]", "f[n] l[n]")
row("logical_not", torch.logical_not, "b[n]", "l[n]")
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    row(_name, getattr(torch, _name), "b[n] b[n]", since=11)
    row(_name, getattr(torch, _name), "l[n] l[n]", "i[n] i[n]", since=18)
row("bitwise_not", torch.bitwise_not, "b[n]")
row("bitwise_not_int", torch.bitwise_not, "l[n]", since=18)
_SHIFTS = [0, 1, 5, 7, 8, 30, 31, 32, 62, 63, 64, 100, -1]


def _shifted(x):
    by = torch.tensor(_SHIFTS).to(x.dtype)
    return [x << by, x >> by, (x - 1) >> by, -x >> by]


for _letter in "liscB":
    row(f"shifts_{_letter}", _shifted, f"{_letter}[n,1]")
row("shift_by_numbers", lambda a, b: [a >> 63, a >> 62, b >> 7, b << 7], "l[n] c[n]")
row("einsum_of_bytes", lambda a, b: [torch.einsum("ij,jk->ik", a, b), torch.tensordot(a, b, 1)], "B[n,3] B[3,4]")
row("shift_left", lambda x: x << 2, "l[n]", "i[n]")
row("shift_right", lambda x: x >> 1, "l[n]", "i[n]")
row("where", torch.where, "b[n,3] f[n,3] f[3]", "b[n] l[n] l[n]", "b[n] c[n] c[n]", "b[n] h[n] h[n]", "b[n] b[n] b[n]")
row("where_number", lambda c, x: torch.where(c, x, 0.0), "b[n] f[n]")
row("masked_fill", lambda x, m: x.masked_fill(m, float("-inf")), "f[n,3] b[n,3]")
row("masked_fill_int", lambda x, m: x.masked_fill(m, 7), "l[n] b[n]")
row("isclose", lambda x, y: torch.isclose(x, y, atol=1.0), "f[n] f[n]", "l[n] l[n]")

# --- dtype -----------------------------------------------------------------------------------------------------------
for _letter, _dtype in DTYPES.items():
    row(f"to_{_letter}", lambda x, d=_dtype: x.to(d), "l[n]<9", "f[n]+")
row("to_bool", lambda x: x.bool(), "f[n]", "l[n]")
row("type_as", lambda x, y: x.type_as(y), "f[n] l[n]")

# --- reductions ------------------------------------------------------------------------------------------------------
row("sum", lambda x: x.sum(), "f[n,3]", "l[n,3]", "b[n,3]", "c[n,3]")
row("sum_dim", lambda x: x.sum(1), "f[n,3]", "i[n,3]")
row("sum_dims_keep", lambda x: x.sum((0, -1), keepdim=True), "f[n,3,m]")
row("sum_dtype", lambda x: x.sum(0, dtype=torch.float64), "f[n,3]", "l[n,3]")
row("mean", lambda x: x.mean(), "f[n,3]", "d[n,3]")
row("mean_dim", lambda x: x.mean((-1, -2)), "f[n,3,h,w]", node="ReduceMean")
row("prod", lambda x: x.prod(1), "f[n,3]", "l[n,3]")
row("prod_all", lambda x: x.prod(), "f[n,3]")
row("amax", lambda x: x.amax(1), "f[n,3]", "l[n,3]", "B[n,3]", "b[n,3]")
row("amin", lambda x: x.amin((0, 1), keepdim=True), "f[n,3]")
row("aminmax", lambda x: torch.aminmax(x), "f[n,3]")
row("max_all", lambda x: x.max(), "f[n,3]", "l[n]")
row("max_dim", lambda x: x.max(1), "f[n,6]", "l[n,6]", "i[n,6]")
row("min_dim", lambda x: x.min(0, keepdim=True), "f[n,6]", "l[n,6]")
row("argmax", lambda x: x.argmax(1), "f[n,6]", "l[n,6]", "c[n,6]", "d[n,6]")
row("argmax_all", lambda x: x.argmax(), "f[n,6]")
row("argmin_keep", lambda x: x.argmin(-1, keepdim=True), "f[n,6]")
row("any", lambda x: x.any(), "b[n,3]", "l[n,3]")
row("any_dim", lambda x: x.any(1), "b[n,3]", "B[n,3]")
row("all_dim", lambda x: x.all(1, keepdim=True), "b[n,3]", "f[n,3]")
row("var", lambda x: x.var(1), "f[n,6]")
row("var_biased", lambda x: x.var((0, 2), correction=0, keepdim=True), "f[n,6,m]")
row("std", lambda x: x.std(), "f[n,6]")
row("std_open", lambda x: x.std(0), "f[n,6]")
row("var_mean", lambda x: torch.var_mean(x, 1), "f[n,6]")
row("norm", lambda x: torch.linalg.vector_norm(x, dim=1), "f[n,6]")
for _order in (0, 1, 3, float("inf"), float("-inf")):
    row(f"norm_{_order}", lambda x, p=_order: torch.linalg.vector_norm(x, p, dim=1), "f[n,6]")
row("norm_p", lambda x: x.norm(2, 1, keepdim=True), "f[n,6]")
row("normalize", lambda x: F.normalize(x, dim=1), "f[n,6]")
row("logsumexp", lambda x: x.logsumexp(1), "f[n,6]")
row("count_nonzero", lambda x: torch.count_nonzero(x, 1), "l[n,6]")
row("cumsum", lambda x: x.cumsum(0), "f[n,3]", "l[n,3]", "b[n,3]", "i[n,3]")
row("diff", lambda x: (x.diff(), x.diff(n=2, dim=0), torch.diff(x, prepend=x)), "f[n,3]", "i[n,3]", "c[n,3]", "b[n,3]")
row("cumprod", lambda x: x.cumprod(1), "f[n,4]", "l[n,4]")
row("cummax", lambda x: x.cummax(1), "f[n,4]")
row("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), "f[n,4] f[n,4]")
row("cdist", lambda x, y: torch.cdist(x, y), "f[n,4] f[m,4]", tolerance={"sc": 1e-5})

# --- sorting ---------------------------------------------------------------------------------------------------------
row("topk", lambda x: x.topk(3, 1), "f[n,6]", node="TopK")
row("topk_smallest", lambda x: x.topk(2, 0, largest=False)[0], "f[3,6]", "l[3,6]")
row("sort", lambda x: x.sort(1), "f[n,6]", "d[n,6]")
row("sort_open", lambda x: x.sort(0, descending=True)[0], "f[n,6]", "l[n,6]")
row("argsort", lambda x: x.argsort(-1), "f[n,6]")
row("kthvalue", lambda x: x.kthvalue(2, 1), "f[n,6]")
row("median", lambda x: x.median(1)[0], "f[n,6]")
row("searchsorted", lambda x, y: torch.searchsorted(x.sort(-1)[0], y), "f[6] f[n]")
row("bucketize", lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 2.0])), "f[n]")

# --- shapes ----------------------------------------------------------------------------------------------------------
row("view", lambda x: x.view(x.shape[0], -1), "f[n,3,4]", node="Reshape")
row("reshape", lambda x: x.reshape(-1, 6), "f[n,3,4]")
row("reshape_open", lambda x: x.reshape(x.shape[0] * x.shape[1], 3), "f[n,m,3]")
row("flatten", lambda x: x.flatten(1, 2), "f[n,3,m,2]")
row("flatten_all", lambda x: x.flatten(), "f[n,3]")
row("unflatten", lambda x: x.unflatten(1, (2, -1)), "f[n,6]")
row("permute", lambda x: x.permute(2, 0, 1), "f[n,3,m]", node="Transpose")
row("transpose", lambda x: x.transpose(0, -1), "f[n,3,m]")
row("t", lambda x: x.t(), "f[n,3]")
row("movedim", lambda x: x.movedim(0, 2), "f[n,3,m]")
row("expand", lambda x: x.expand(4, -1, 3), "f[n,1]")
row("expand_as", lambda x, y: x.expand_as(y), "f[1,3] f[n,3]")
row("unsqueeze", lambda x: x.unsqueeze(-1), "f[n,3]")
row("squeeze", lambda x: x.squeeze(1), "f[n,1,3]")
row("squeeze_all", lambda x: x.squeeze(), "f[n,1,3,1]")
row("cat", lambda x, y: torch.cat([x, y], 1), "f[n,3] f[n,2]", "l[n,3] f[n,2]")
row("cat_open", lambda x, y: torch.cat([x, y], 0), "f[n,3] f[m,3]")
row("stack", lambda x, y: torch.stack([x, y], -1), "f[n,3] f[n,3]")
row("split", lambda x: x.split(2, 1), "f[n,5]", node="Split")
row("split_sizes", lambda x: x.split([1, 4], 1), "f[n,5]")
row("chunk", lambda x: x.chunk(3, 1), "f[n,7]")
row("tensor_split", lambda x: x.tensor_split(3, 1), "f[n,7]")
row("unbind", lambda x: x.unbind(1), "f[n,3]")
row("slice", lambda x: x[:, 1:4:2], "f[n,6]", node="Slice")
row("slice_negative", lambda x: x[..., -3:-1], "f[n,6]")
row("slice_open", lambda x: x[1:, : x.shape[0] - 1], "f[n,6]")
row("select", lambda x: x[:, -1], "f[n,6]", node="Gather")
row("select_open", lambda x: x[-1], "f[n,6]")
row("narrow", lambda x: x.narrow(1, 2, 3), "f[n,6]")
row("flip", lambda x: x.flip(0, 1), "f[n,6]", "l[n,6]")
row("roll", lambda x: x.roll(2, 1), "f[n,6]")
row("roll_open", lambda x: x.roll((1, -1), (0, 1)), "f[n,6]")
row("roll_flat", lambda x: x.roll(4), "f[n,6]")
row("repeat", lambda x: x.repeat(2, 1, 3), "f[n,2]", node="Tile")
row("tile", lambda x: x.tile(2), "f[n,2]")
row("repeat_interleave", lambda x: x.repeat_interleave(3, 1), "f[n,2]")
row("repeat_interleave_open", lambda x: x.repeat_interleave(2, 0), "f[n,2]")
row("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="xy"), "f[n] f[m]")
row("tril", lambda x: x.tril(1), "f[n,n]", "l[n,4]", "b[n,4]")
row("triu", lambda x: x.triu(-1), "f[n,m]")
row("diagonal", lambda x: x.diagonal(1, 1, 2), "f[n,4,5]")
row("diagonal_open", lambda x: x.diagonal(), "f[n,n]")
row("diag_embed", lambda x: torch.diag_embed(x), "f[n,4]")
row("unfold", lambda x: x.unfold(1, 3, 2), "f[n,7]")
row("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), "f[n,8,h,w]", node="DepthToSpace")
row("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), "f[n,2,4,6]")
row("channel_shuffle", lambda x: F.channel_shuffle(x, 2), "f[n,4,h,w]")
row("one_hot", lambda x: F.one_hot(x, 5), "l[n,3]<5")

# --- indexing --------------------------------------------------------------------------------------------------------
row("gather", lambda x, i: x.gather(1, i), "f[n,6] l[n,3]<6", node="GatherElements")
row("index_select", lambda x, i: x.index_select(1, i), "f[n,6] l[4]<6")
row("index", lambda x, i: x[i], "f[4,6] l[n]<4")
row("index_2", lambda x, i, j: x[i, j], "f[4,6,2] l[n]<4 l[n]<6", node="GatherND")
row("index_mixed", lambda x, i, j: x[:, i, :, j], "f[n,4,2,6] l[3,1]<4 l[2]<6")
row("index_middle", lambda x, i, j: x[:, i, j], "f[n,4,6,2] l[3]<4 l[3]<6")
row("index_none", lambda x, i: x[:, None, i], "f[n,6] l[3]<6")
row("index_bool", lambda x: x[:, torch.tensor([True, False, True])], "f[n,3]")
row("index_mask", lambda x: x[x > 0], "f[n,3]", since=11)
row("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), "f[n,6] l[n,2]<6")
row("scatter", lambda x, i, s: x.scatter(1, i, s), "f[n,6] l[n,1]<6 f[n,1]", node="ScatterElements")
row("scatter_value", lambda x, i: x.scatter(1, i, 2.5), "f[n,6] l[n,2]<6")
row("scatter_add", lambda x, i, s: x.scatter_add(1, i, s), "f[n,6] l[n,3]<6 f[n,3]", since=16)
for _how in ("sum", "prod", "amax", "amin", "mean"):
    for _self in (True, False):
        row(f"scatter_reduce_{_how}_{_self}",
            lambda x, i, s, how=_how, own=_self: x.scatter_reduce(1, i, s, how, include_self=own),
            "f[n,6] l[n,3]<6 f[n,3]", since=18)  # fmt: skip
row(
    "index_add_bool",
    lambda x, i, s: [x.index_add(1, i, s, alpha=a) for a in (False, True)],
    "b[n,6] l[3]<6 b[n,3]",
    since=16,
)
row("angle", lambda x, b, i: [x.angle(), b.angle(), i.angle()], "f[n] b[n,2] l[n]")
row("index_add", lambda x, i, s: x.index_add(1, i, s), "f[n,6] l[3]<6 f[n,3]", since=16)
row("index_copy", lambda x, s: x.index_copy(1, torch.tensor([4, 0]), s), "f[n,6] f[n,2]")
row("index_fill", lambda x: x.index_fill(1, torch.tensor([4, 0]), -1), "f[n,6]")


def _index_put(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[torch.tensor([0, 2]), :, torch.tensor([1, 0])] = values
    return y


def _slice_write(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 1:3] = 0
    y[0] += 1
    return y


def _in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.add_(1).relu_()
    y.masked_fill_(y > 2, 0.5)
    return y + x


row("index_put", _index_put, "f[4,n,5] f[2,n]", node="ScatterND")
row("index_put_accumulate", lambda x, i: x.index_put((i,), torch.tensor(1.0), accumulate=True), "f[4] l[n]<4", since=16)
row("write_through_views", _slice_write, "f[n,6]")
row("in_place", _in_place, "f[n,6]")
row("masked_select", lambda x, m: x.masked_select(m), "f[n,3] b[n,3]")
row("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), "f[n,3] b[n,3] f[20]")
row("embedding", lambda w, i: F.embedding(i, w), "f[7,4] l[n,3]<7", node="Gather")
row("nonzero", lambda x: (x > 0).nonzero(), "f[n,3]")
row("select_scatter", lambda x, y: torch.select_scatter(x, y, 1, 2), "f[n,4] f[n]")
row("slice_scatter", lambda x, y: torch.slice_scatter(x, y, 1, 1, 3), "f[n,4] f[n,2]")

# --- made from numbers -----------------------------------------------------------------------------------------------
row("arange", lambda x: torch.arange(x.shape[0]) + x, "f[n]")
row("arange_step", lambda x: torch.arange(1, 10, 3) + x[:, None], "f[n]")
row("arange_float", lambda x: torch.arange(0.0, 1.0, 0.1) + x[:, None], "f[n]")
row("full", lambda x: torch.full((2, x.shape[0]), 1.5) + x, "f[n]")
row("zeros_ones", lambda x: torch.zeros(x.shape[0], 2) + torch.ones(2), "f[n]")
row("like", lambda x: torch.zeros_like(x) + torch.ones_like(x, dtype=torch.int64) + torch.full_like(x, 3), "f[n,2]")
row("new", lambda x: x.new_zeros(2) + x.new_full((1,), 5) + x.new_ones(x.shape), "f[n,2]")
row("eye", lambda x: x @ torch.eye(3), "f[n,3]")
row("eye_open", lambda x: torch.eye(x.shape[0]), "f[n]")
row("linspace", lambda x: torch.linspace(0, 1, 7) + x[:, None], "f[n]")
row("tensor", lambda x: x + torch.tensor([1.0, 2.0]), "f[n,2]")

# --- matrices --------------------------------------------------------------------------------------------------------
row("matmul", lambda x, y: x @ y, "f[n,3] f[3,m]", "f[n,2,3] f[3,m]", "f[n,2,3] f[n,3,4]", "f[3] f[3]", "f[n,3] f[3]",
    "l[n,3] l[3,2]", "d[n,3] d[3,2]")  # fmt: skip
row("linear", F.linear, "f[n,3] f[4,3] f[4]", "f[n,m,3] f[4,3] f[4]", "f[3] f[4,3] f[4]", node="")
row("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), "f[4] f[n,3] f[3,4]")
row("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b), "f[n,2,4] f[n,2,3] f[n,3,4]")
row(
    "tensordot_of_ones",
    lambda a, b: [torch.tensordot(a, b, ([1, 0], [0, 2])), torch.tensordot(b, a, ([1], [2]))],
    "f[1,1,n] f[2,1,3]",
)
row("einsum", lambda a, b: torch.einsum("bij,bkj->bik", a, b), "f[n,2,3] f[n,4,3]")
row("bilinear", F.bilinear, "f[n,2] f[n,3] f[4,2,3] f[4]")
row("outer", torch.outer, "f[n] f[m]")
row("dot", torch.dot, "f[n] f[n]")
row("cross", lambda x, y: torch.linalg.cross(x, y), "f[n,3] f[n,3]")
row("kron", torch.kron, "f[n,2] f[3,m]")
row("trace", torch.trace, "f[n,n]")

# --- convolutions, pools ---------------------------------------------------------------------------------------------
row("conv1d", lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), "f[n,4,w] f[6,4,3] f[6]", node="Conv")
row("conv2d", lambda x, w, b: F.conv2d(x, w, b, 1, 2, 2, 2), "f[n,4,h,w] f[6,2,3,3] f[6]", node="Conv")
row("conv2d_same", lambda x, w: F.conv2d(x, w, padding="same"), "f[n,2,h,w] f[3,2,4,3]")
row("conv2d_unbatched", lambda x, w: F.conv2d(x, w), "f[2,h,w] f[3,2,3,3]")
row("conv3d", lambda x, w: F.conv3d(x, w), "f[n,2,4,h,w] f[3,2,3,3,3]")
row("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2), "f[n,4,w] f[4,3,3]")
row("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2), "f[n,4,h,w] f[4,3,3,3] f[6]",
    node="ConvTranspose")  # fmt: skip
row("conv_transpose2d_wide", lambda x, w, b: F.conv_transpose2d(x, w, b, (3, 2), (1, 2), (2, 3), 2, 4),
    "f[n,4,h,w] f[4,3,4,5] f[6]")  # fmt: skip
row("max_pool1d", lambda x: F.max_pool1d(x, 3, 2), "f[n,2,w]")
row("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), "f[n,2,h,w]", node="MaxPool")
row("max_pool2d_ceil", lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), "f[n,2,8,10]")
row("max_pool2d_dilated", lambda x: F.max_pool2d(x, 2, 1, 0, 2), "f[n,2,h,w]")
row("max_pool2d_indices", lambda x: F.max_pool2d(x, 2, 2, return_indices=True), "f[n,2,h,w]")
row("max_pool3d", lambda x: F.max_pool3d(x, 2), "f[n,2,4,h,w]")
row("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), "f[n,2,w]")
row("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), "f[n,2,h,w]", node="AveragePool")
row("avg_pool2d_exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), "f[n,2,h,w]")
row("avg_pool2d_ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), "f[n,2,8,10]")
row("avg_pool2d_ceil_exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), "f[n,2,8,10]")
row("avg_pool2d_divisor", lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=2), "f[n,2,h,w]")
row("avg_pool2d_divisor_ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, True, divisor_override=2), "f[n,2,8,10]")
row("avg_pool3d", lambda x: F.avg_pool3d(x, 2), "f[n,2,4,h,w]")
row("adaptive_avg_1", lambda x: F.adaptive_avg_pool2d(x, 1), "f[n,2,h,w]", node="GlobalAveragePool")
row("adaptive_avg", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), "f[n,2,h,w]", "f[n,2,8,7]")
row("adaptive_avg_even", lambda x: F.adaptive_avg_pool2d(x, (4, 5)), "f[n,2,8,10]")
row("adaptive_avg_1d", lambda x: F.adaptive_avg_pool1d(x, 3), "f[n,2,w]")
row("adaptive_avg_3d", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 3)), "f[n,2,4,8,7]")
row("adaptive_max", lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True), "f[n,2,8,7]")
row("unfold_im2col", lambda x: F.unfold(x, 3, 1, 1, 2), "f[n,2,8,10]")
row("fold_col2im", lambda x: F.fold(x, (6, 8), 2, 1, 0, 2), "f[n,8,12]", since=18)

# --- normalisation, activation ---------------------------------------------------------------------------------------
row("batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), "f[n,3,h,w] f[3] f[3]+ f[3] f[3]",
    "f[n,3] f[3] f[3]+ f[3] f[3]", node="BatchNormalization")  # fmt: skip
row("batch_norm_train", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), "f[n,3,h,w] f[3] f[3]")
row("layer_norm", lambda x, w, b: F.layer_norm(x, (6,), w, b), "f[n,m,6] f[6] f[6]", node="LayerNormalization")
row("layer_norm_plain", lambda x: F.layer_norm(x, (3, 6)), "f[n,3,6]")
row("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), "f[n,4,h,w] f[4] f[4]", "f[n,4] f[4] f[4]")
row("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), "f[n,4,h,w] f[4] f[4]")
row("rms_norm", lambda x, w: F.rms_norm(x, (6,), w), "f[n,m,6] f[6]")
row("local_response_norm", lambda x: F.local_response_norm(x, 3), "f[n,4,h,w]")
row("softmax", lambda x: x.softmax(1), "f[n,3,m]", "d[n,3]", node="Softmax")
row("softmax_dtype", lambda x: x.softmax(-1, dtype=torch.float64), "f[n,3]")
row("log_softmax", lambda x: x.log_softmax(0), "f[n,3]")
for _name in ("relu", "relu6", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "elu", "selu", "celu", "leaky_relu",
              "softplus", "softsign", "tanhshrink", "hardshrink", "softshrink", "logsigmoid", "hardtanh"):  # fmt: skip
    row(_name, getattr(F, _name), "f[n,6]")
row("relu_int", torch.relu, "l[n]", "c[n]")
row("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), "f[n]", node="Gelu")
row("elu_alpha", lambda x: F.elu(x, 0.3), "f[n]")
row("softplus_beta", lambda x: F.softplus(x, 2, 1), "f[n]")
row("prelu", F.prelu, "f[n,3,h] f[3]", "f[n,3] f[1]")
row("threshold", lambda x: F.threshold(x, 0.5, -2), "f[n]")
row("glu", lambda x: F.glu(x, 1), "f[n,6]")
row("dropout", lambda x: F.dropout(x, 0.5, training=False) + 1, "f[n]")

# --- padding, resampling ---------------------------------------------------------------------------------------------
row("pad", lambda x: F.pad(x, (1, 2, 0, 1), value=3), "f[n,2,h,w]", "l[n,4]", node="Pad")
row("pad_negative", lambda x: F.pad(x, (-1, 2, 1, -2)), "f[n,2,h,w]")
for _mode in ("reflect", "replicate", "circular"):
    row(f"pad_{_mode}", lambda x, m=_mode: F.pad(x, (1, 2, 2, 1), mode=m), "f[n,2,h,w]")
row("nearest", lambda x: F.interpolate(x, scale_factor=2), "f[n,2,h,w]", node="Resize")
row("nearest_size", lambda x: F.interpolate(x, (5, 7)), "f[n,2,h,w]")
row("nearest_exact", lambda x: F.interpolate(x, (5, 7), mode="nearest-exact"), "f[n,2,h,w]")
row("bilinear_up", lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), "f[n,2,h,w]")
row("bilinear_size", lambda x: F.interpolate(x, (5, 17), mode="bilinear"), "f[n,2,h,w]")
row("bilinear_corners", lambda x: F.interpolate(x, (5, 17), mode="bilinear", align_corners=True), "f[n,2,h,w]")
row("bicubic", lambda x: F.interpolate(x, (5, 17), mode="bicubic"), "f[n,2,h,w]")


def _resized_bytes(mode, x, size):
    how = [{"antialias": a, "align_corners": c} for a in (False, True) for c in (False, True)]
    return [F.interpolate(x, size, mode=mode, **options) for options in how]


row(
    "pairwise_distance_bytes",
    lambda a, b: [F.pairwise_distance(a, b), F.triplet_margin_loss(a, b, a + b)],
    "B[n,3] B[n,3]",
)
row(
    "bilinear_bytes",
    lambda x, y: [_resized_bytes("bilinear", x, (5, 17)), _resized_bytes("bilinear", y, (9, 4))],
    "B[n,3,h,w] B[1,5,h,w]",
)
row(
    "bicubic_bytes",
    lambda x, y: [_resized_bytes("bicubic", x, (9, 4)), _resized_bytes("bicubic", y, (5, 17))],
    "B[n,3,h,w] B[1,5,h,w]",
)
row(
    "antialias_corners_open",
    lambda x: F.interpolate(x, (5, 17), mode="bicubic", antialias=True, align_corners=True),
    "f[n,2,h,w]",
)
row("linear_1d", lambda x: F.interpolate(x, 7, mode="linear"), "f[n,2,w]")
row("bilinear_antialias", lambda x: F.interpolate(x, (4, 5), mode="bilinear", antialias=True), "f[n,2,h,w]", since=18)
row("grid_sample", lambda x, g: F.grid_sample(x, torch.tanh(g), align_corners=False), "f[n,2,h,w] f[n,3,4,2]", since=16)

# --- attention, losses -----------------------------------------------------------------------------------------------
row("attention", F.scaled_dot_product_attention, "f[n,2,m,4] f[n,2,5,4] f[n,2,5,4]")
row("attention_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "f[n,2,m,4] f[n,2,m,4] f[n,2,m,4]")  # fmt: skip
row("attention_mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.3),
    "f[n,2,m,4] f[n,2,5,4] f[n,2,5,4] b[n,1,m,5]", "f[n,2,m,4] f[n,2,5,4] f[n,2,5,4] f[m,5]")  # fmt: skip
row("attention_all_masked",
    lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m & (torch.arange(m.shape[1]) > 0)[:, None, None]),
    "f[n,2,m,4] f[n,2,5,4] f[n,2,5,4] b[n,2,m,5]")  # fmt: skip
row("attention_groups", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    "f[n,4,m,4] f[n,2,5,4] f[n,2,5,4]")  # fmt: skip
row("mse_loss", F.mse_loss, "f[n,3] f[n,3]")
row("l1_loss", lambda x, y: F.l1_loss(x, y, reduction="sum"), "f[n,3] f[n,3]")
row("smooth_l1_loss", F.smooth_l1_loss, "f[n,3] f[n,3]")
row("huber_loss", lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.7), "f[n,3] f[n,3]")
row(
    "bce_logits",
    lambda x, y, w: F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=w),
    "f[n,3] f[n,3] f[3]+",
)
row("bce", lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), "f[n,3] f[n,3]")
row("cross_entropy", F.cross_entropy, "f[n,5] l[n]<5", "f[n,5,m] l[n,m]<5")
row("cross_entropy_weight", lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=1, label_smoothing=0.1),
    "f[n,5] l[n]<5 f[5]+")  # fmt: skip
row("nll_loss", lambda x, t: F.nll_loss(x.log_softmax(1), t, reduction="none"), "f[n,5] l[n]<5")
row("kl_div", lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="sum"), "f[n,5] f[n,5]")

# --- special functions, counting, quantisation -----------------------------------------------------------------------
for _name in ("lgamma", "digamma", "erfcx", "log_ndtr", "ndtr", "i0", "i0e", "i1", "i1e"):
    row(f"special_{_name}", getattr(torch.special, {"lgamma": "gammaln"}.get(_name, _name)), "f[n,6]+", "f[n,6]")
row("polygamma", lambda x: torch.polygamma(2, x), "f[n]+")
row("erfinv", lambda x: torch.erfinv(torch.tanh(x) * 0.9), "f[n]")
row("mvlgamma", lambda x: torch.mvlgamma(x + 2, 3), "f[n]+")
row("pow_int_chain", lambda x: x**7, "l[n]", "i[n]")
row("histc", lambda x: torch.histc(x, 5, -2, 2), "f[n,6]")
row("bincount", lambda x: torch.bincount(x, minlength=8), "l[n]<5")
row("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), "l[9]<4", "f[n]")
row("embedding_bag", lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 2, 3]), mode="mean"), "f[7,4] l[5]<7")
row("embedding_bag_max", lambda w, i: F.embedding_bag(i, w, mode="max"), "f[7,4] l[n,3]<7")
row("cartesian_prod", torch.cartesian_prod, "f[n] f[m]")
row("hsplit", lambda x: torch.hsplit(x, 2), "f[n,6]")
row("tensor_split_indices", lambda x: x.tensor_split((1, 4), 1), "f[n,6]")
row("fake_quantize", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), "f[n,6]",
    node="QuantizeLinear")  # fmt: skip
row("fake_quantize_4_bits", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -8, 7), "f[n,6]")
row("fake_quantize_channels",
    lambda x, s: torch.fake_quantize_per_channel_affine(x, s, torch.zeros(3, dtype=torch.int32), 1, -128, 127),
    "f[n,3,4] f[3]+", since=13)  # fmt: skip
row("mean_of_nothing", lambda x: x[:, :0].mean(1), "f[n,3]")
row("logit_crossed", lambda x: torch.logit(torch.sigmoid(x), eps=0.6), "f[n]")
row("group_norm_large_mean", lambda x: F.group_norm(x + 100, 2), "f[n,4,h,w]", tolerance={"sc": 1e-4})
