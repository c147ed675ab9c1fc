"""More rows of the op table: special functions, random windows, histograms, segments, memory.

A row of several functions of one family stays one conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from aten_table import row

_special = torch.special
_POLYNOMIALS = [getattr(_special, n) for n in sorted(dir(_special)) if "_polynomial_" in n]


def _each(*functions: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *tensors: tuple(f(*tensors) for f in functions)


# --- special functions -----------------------------------------------------------------------------------------------
row("special_bessel_jy", _each(_special.bessel_j0, _special.bessel_j1, _special.bessel_y0, _special.bessel_y1),
    "f[n,9]", "d[n,9]+")  # fmt: skip
row("special_bessel_wide", lambda x: (_special.bessel_j0(x * 5), _special.bessel_y1(x * 5), _special.airy_ai(x * 3)),
    "f[n,9]", "d[n,9]")  # fmt: skip
row("special_bessel_ik", _each(_special.i0, _special.i1e, _special.modified_bessel_k0, _special.modified_bessel_k1,
                               _special.scaled_modified_bessel_k0, _special.scaled_modified_bessel_k1),
    "f[n,9]", "d[n,9]+", "l[n]")  # fmt: skip
row("special_bessel_i_far", lambda x: (_special.i0(x * 9), _special.i1(x * 9), _special.i0e(x * 9)), "d[n,9]")
row("special_airy", _each(_special.airy_ai, _special.spherical_bessel_j0), "f[n,9]", "d[n,9]")
row("special_error", _each(_special.erfcx, _special.log_ndtr, _special.ndtr, torch.erfc), "d[n,9]", "l[n]")
row("special_quantile", lambda x: (torch.erfinv(torch.tanh(x) * 0.9), _special.ndtri(torch.sigmoid(x))), "f[n,9]",
    "d[n,9]")  # fmt: skip
row("special_gamma", lambda x: (torch.lgamma(x), torch.digamma(x), torch.polygamma(1, x), torch.polygamma(3, x)),
    "f[n,6]", "d[n,6]")  # fmt: skip
row("special_zeta", lambda x, q: _special.zeta(x + 1, q), "f[n,6]+ f[6]+", "d[n]+ d[n]+")
row("special_zeta_left", lambda q: _special.zeta(3.0, q), "f[n,6]")
row("igamma", _each(torch.igamma, torch.igammac), "f[n,6]+ f[6]+", "d[n,1]+ d[n,6]+")


def _igamma_large(a: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.igamma(a * 1e4, a * 1e4 + x * 50), torch.igammac(a * 40, (x * 40).abs())


row("igamma_large", _igamma_large, "f[n,6]+ f[n,6]")
# torch's own expansion is off by up to 4e-10 there
row("igamma_large_double", _igamma_large, "d[n,6]+ d[n,6]", tolerance=1e-8)
row("polynomials", lambda x, n: tuple(f(x, n) for f in _POLYNOMIALS), "f[n,1] l[9]<9")
row("polynomials_double", lambda x, n: tuple(f(x, n * 2) for f in _POLYNOMIALS), "d[n,1] l[9]<9")
row("polynomials_inside", lambda x, n: tuple(f(x / 20, n) for f in _POLYNOMIALS[:4]), "f[n,1] l[5]<20",
    tolerance=1e-5)  # fmt: skip
row("polynomials_of_a_degree", lambda x: tuple(f(x, 5) for f in _POLYNOMIALS), "f[n]")
row("hermite_too_high", lambda x: _special.hermite_polynomial_h(x, 200), "f[n]")
row("frexp", torch.frexp, "f[n,6]", "d[n,6]", "h[n]")
row("nextafter", lambda x, y: torch.nextafter(x, y), "f[n,6] f[6]", "d[n] d[n]")
row("nextafter_zero", lambda x: torch.nextafter(x * 0, x), "d[n]")
row("arange_of_integers",
    lambda x: (torch.arange(-2.5, 3.1, 1.2, dtype=torch.int64) + x, torch.arange(5, 0, -0.5, dtype=torch.int32) + x),
    "l[1]")  # fmt: skip
row("lcm", torch.lcm, "l[n] l[n]", "i[n] i[1]")

# --- counting --------------------------------------------------------------------------------------------------------
row("histogram", lambda x: torch.histogram(x, 5), "f[n,6]", "d[n]")
row("histogram_range", lambda x, w: torch.histogram(x, 4, range=(-1.0, 2.0), weight=w, density=True), "f[n,6] f[n,6]+")
row("histogram_edges", lambda x, e: torch.histogram(x, e.cumsum(0) - 2), "f[n,6] f[4]+")
row("histogramdd", lambda x: torch.histogramdd(x, [2, 3])[0], "f[n,2]")
row("segment_reduce", lambda x: tuple(torch.segment_reduce(x, r, lengths=torch.tensor([2, 0, 3]), initial=1.0)
                                      for r in ("sum", "mean", "max", "min")), "f[5,m]")  # fmt: skip
row("segment_reduce_offsets", lambda x: torch.segment_reduce(x, "prod", offsets=torch.tensor([0, 2, 5])), "f[5,m]")
row("segment_mean_of_none", lambda x, n: torch.segment_reduce(x, "mean", lengths=n * 0), "f[0,3] l[n]")
row("unique_consecutive_rows",
    lambda x: torch.unique_consecutive(x, dim=0, return_inverse=True, return_counts=True), "l[9,1]<2")  # fmt: skip
row("repeat_interleave_counts", lambda x, r: torch.repeat_interleave(x, r, dim=1), "f[n,4] l[4]<3")
row("embedding_max_norm", lambda w, i: F.embedding(i, w + 0, max_norm=1.0), "f[7,4] l[n]<7")

# --- losses, windows, padding ----------------------------------------------------------------------------------------
row("ctc_loss", lambda x, t, n: F.ctc_loss(x.log_softmax(2), t + 1, n * 0 + 6, n, reduction="none"),
    "f[6,3,5] l[3,3]<4 l[3]<4")  # fmt: skip
row("ctc_loss_mean", lambda x, t: F.ctc_loss(x.log_softmax(2), t + 1, (6, 5, 3), (1, 2, 2), zero_infinity=True),
    "f[6,3,5] l[3,3]<4")  # fmt: skip
row("ctc_loss_rows", lambda x, t: F.ctc_loss(x.log_softmax(2), t + 1, (6, 5), (3, 1), reduction="sum"),
    "f[6,2,5] l[4]<4")  # fmt: skip
row("fractional_max_pool2d",
    lambda x, r: F.fractional_max_pool2d(x, (2, 3), output_size=(3, 4), return_indices=True,
                                         _random_samples=torch.sigmoid(r)), "f[2,3,8,10] f[2,3,2]")  # fmt: skip
row("fractional_max_pool3d",
    lambda x, r: F.fractional_max_pool3d(x, 2, output_size=(2, 3, 1), _random_samples=torch.sigmoid(r)),
    "f[2,3,5,6,4] f[2,3,3]")  # fmt: skip
row("native_group_norm", lambda x: torch.native_group_norm(x, None, None, 2, 4, 15, 2, 1e-5), "f[2,4,3,5]")
row("pad_negative", lambda x: (F.pad(x, (-2, 3), mode="reflect"), F.pad(x, (3, -6), mode="replicate")), "f[n,2,6]")
row("margin_ranking_of_integers", lambda x, y: F.margin_ranking_loss(x, y, y.sign(), margin=0.5), "l[n] l[n]")
row("poisson_nll_of_integers", lambda x, y: F.poisson_nll_loss(x, y, full=True), "l[n] l[n]+")

# --- memory ----------------------------------------------------------------------------------------------------------
row("as_strided", lambda x: x.as_strided((3, 4), (2, 1), 1), "f[4,6]", "l[4,6]")
row("as_strided_scatter", lambda x, y: x.as_strided_scatter(y, (3, 2), (4, 1), 2), "f[4,6] f[3,2]")
row("resize", lambda x: x.clone().resize_(3, 2), "f[4,6]")
row("tensor_split_tensor", lambda x, i: torch.tensor_split(x, i.sort().values, 1), "f[n,6] l[2]<6")

# --- dtypes that onnxruntime has few kernels for ---------------------------------------------------------------------
for _name in ("gelu", "mish", "hardswish", "hardsigmoid", "elu", "selu", "celu", "softplus", "softsign", "leaky_relu"):
    row(f"double_{_name}", getattr(F, _name), "d[n,6]")
row("double_elementary", _each(torch.atan, torch.sinh, torch.asinh, torch.erf, torch.tan), "d[n,6]")
row("double_inverses", lambda x: (torch.acosh(x.abs() + 1), torch.atanh(x / 20), torch.asin(x / 20)), "d[n,6]")
row("double_prelu", lambda x, w: F.prelu(x, w), "d[n,3,4] d[3]")
row("double_norms", lambda x: (F.group_norm(x, 2), F.instance_norm(x)), "d[n,4,6]")
row("double_nonzero", torch.nonzero, "d[n,6]")
row("double_avg_pool",
    lambda x: (F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1, True, False), F.adaptive_avg_pool2d(x, (2, 3)),
               F.adaptive_avg_pool2d(x, 1), F.avg_pool2d(x, 2, divisor_override=3)), "d[2,3,8,9]")  # fmt: skip
row("avg_pool_of_integers", lambda x: F.avg_pool2d(x, 3, 2, 1, True), "l[2,3,8,9]")
row("unique_of_flags", lambda x: torch.unique(x, return_counts=True), "b[n,6]", "i[n]")
row("flags", lambda x, y: (torch.kron(x, y), torch.addr(torch.outer(x, y), x, y)), "b[n] b[4]")
row("cosine_embedding_of_flags", lambda x, y, t: F.cosine_embedding_loss(x, y, t), "f[n,4] f[n,4] b[n]")
row("half_scatter", lambda x, y: torch.scatter_add(x, 1, torch.tensor([[0, 1, 0]]).expand(3, 3), y), "h[3,4] h[3,3]")
row("half_index_put", lambda x, y: x.index_put((torch.tensor([0, 0, 2]),), y, accumulate=True), "h[3,4] h[3,4]")
row("half_log1p", lambda x: (torch.log1p(x.exp()), torch.polygamma(1, x)), "h[n,4]")
row("log1p_large", lambda x: torch.log1p(x.abs() * 1e37), "f[n]")
row("resize_aligned_antialias",
    lambda x: tuple(F.interpolate(x, size=(5, 13), mode=m, align_corners=True, antialias=True)
                    for m in ("bilinear", "bicubic")), "f[2,3,8,10]", tolerance=1e-5)  # fmt: skip
row("resize_by_nine_tenths", lambda x: F.interpolate(x, scale_factor=(1.7, 0.9), mode="bilinear"), "f[2,3,10,20]")
