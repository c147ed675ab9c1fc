"""Operators on complex tensors, compared with torch in onnxruntime at two sizes of each open dim."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from complex_check import OPSETS, Call, Row, name, spread, table, tried
from torch import nn

from anyonnx.converters.api import compare, to_onnx
from anyonnx.symbolic.errors import UnsupportedOps
from anyonnx.validation.parity import compare_model

VIEW, LA = torch.view_as_real, torch.linalg


def inplace(z):
    z = z.clone()
    z[0] = 1j
    z.mul_(2 - 1j)
    z[:, 1].add_(3)
    return z


def through_parts(z):
    z = z.clone()
    VIEW(z)[..., 0].add_(1)
    z.imag.mul_(3)
    return z


ROWS = table(
    # arithmetic
    ("add", lambda a, b: a + b, "z[n,3] z[3]", "z[n] f[n]", "l[n] z[n]", "c[n] z[n]", "z[n] d[]", "d[n] z[]"),
    ("add_alpha", lambda a, b: torch.add(a, b, alpha=2j), "z[n] z[n]"),
    ("add_number", lambda a: a + 1.5, "z[n]", "c[n]"),
    ("add_complex_number", lambda a: a + (1 - 2j), "z[n]", "f[n]", "l[n]", "d[n]"),
    ("sub", lambda a, b: a - b, "z[n,3] z[3]", "z[n,1] f[3]", "f[3] z[n,1]"),
    ("rsub", lambda a: 2 - a, "z[n]"),
    ("mul", lambda a, b: a * b, "z[n,3] z[3]", "z[n,1] f[3]", "c[n] l[n]"),
    ("mul_number", lambda a: a * 2j, "z[n]", "f[n]"),
    ("div", lambda a, b: a / b, "z[n,3] z[3]", "z[n] f[n]", "f[n] z[n]", "c[n] c[n]"),
    ("reciprocal", lambda a: 1 / a, "z[n]"),
    ("neg", lambda a: -a, "z[n]"),
    ("square", torch.square, "z[n]"),
    ("sgn", lambda a: torch.sgn(torch.cat([a, a * 0])), "z[n]"),
    ("pow", lambda a, b: torch.pow(a, b), "z[n] z[n]", "z[n] f[n]", "f[n]+ z[n]"),
    ("pow_number", lambda a: [a**2, a**3, a**-1, a**0.5, a**1.5, 2**a, a**2j], "z[n]"),
    ("pow_of_zero", lambda a: [(a * 0) ** 2.5, (a * 0) ** 0, (a * 0) ** 2], "z[n]"),
    ("addcmul", lambda x, a, b: torch.addcmul(x, a, b, value=0.5), "z[n] z[n] z[n]"),
    ("addcdiv", lambda x, a, b: torch.addcdiv(x, a, b), "z[n] z[n] z[n]"),
    ("lerp", lambda a, b: torch.lerp(a, b, 0.3), "z[n] z[n]"),
    # parts
    ("parts", lambda a: [a.real, a.imag, a.abs(), a.angle(), VIEW(a)], "z[n,3]", "c[n]"),
    ("conj", lambda a: [a.conj(), torch.conj_physical(a), a.conj().imag, a.mH, a.conj().resolve_conj()], "z[n,3]"),
    ("abs_extreme", lambda a: [(a * s).abs() for s in (0.0, 1e30, 1e-30)], "z[n]"),
    ("angle_of_axes", lambda a: torch.cat([a.real + 0j, a.imag * 1j, torch.zeros_like(a)]).angle(), "z[n]"),
    ("complex", torch.complex, "f[n] f[n]", "d[n,1] d[3]"),
    ("polar", torch.polar, "f[n]+ f[n]"),
    ("view_as_complex", torch.view_as_complex, "f[n,3,2]", "d[n,2]"),
    ("to", lambda a: [a.to(torch.complex128), a + torch.zeros(1, dtype=torch.complex128)], "z[n]", "f[n]", "l[n]"),
    ("to_complex64", lambda a: a.to(torch.complex64), "c[n]", "d[n]"),
    ("isreal", lambda a: torch.isreal(a.real + 0j), "z[n]"),
    # functions
    *[
        (f.__name__, f, "z[n,4]", "c[n,4]")
        for f in (torch.exp, torch.log, torch.sqrt, torch.sin, torch.tanh, torch.asin, torch.acos, torch.atanh,
                  torch.acosh, torch.log1p, torch.expm1)
    ],
    *[
        (f.__name__, f, "z[n,4]")
        for f in (torch.cos, torch.tan, torch.sinh, torch.cosh, torch.atan, torch.asinh, torch.sigmoid, torch.log2,
                  torch.log10, torch.exp2, torch.rsqrt, torch.sinc, F.silu)
    ],
    ("of_imaginary", lambda a: [f(a * 1j) for f in (torch.sqrt, torch.log, torch.asin, torch.atanh)], "f[n]"),
    # comparisons
    ("eq", lambda a, b: [a == a, a == b, a != b, a == 1, a.real + 0j == a.real], "z[n] z[n]"),
    ("isnan", lambda a: [f(torch.log(a * 0)) for f in (torch.isnan, torch.isinf, torch.isfinite)], "z[n]"),
    ("isclose", lambda a, b: torch.isclose(a, b, atol=2.0), "z[n] z[n]"),
    ("truth", lambda a: [a.any(), a.all(1), torch.logical_not(a), torch.count_nonzero(a, 0)], "z[n,3]"),
    ("where", lambda c, a, b: torch.where(c, a, b), "b[n,3] z[n,3] z[3]", "b[n] z[n] f[n]", "b[n] f[n] z[n]"),
    ("masked_fill", lambda a, m: [a.masked_fill(m, 2), a.masked_fill(m, 1j)], "z[n] b[n]"),
    # shapes
    ("views", lambda a: [a.reshape(-1, 2, 3), a.T, a.flatten(), a[1:], a[:, 2], a.unsqueeze(1), a.expand(2, -1, 6)],
     "z[n,6]"),
    ("joins", lambda a, b: [torch.cat([a, b]), torch.stack([a, a * 2], -1), torch.cat([a, a.real])], "z[n,3] z[n,3]"),
    ("splits", lambda a: [*a.split(2, 1), *a.chunk(3, 1), *a.unbind(1), *torch.tensor_split(a, 4, 1)], "z[n,6]"),
    ("moves", lambda a: [a.flip(0), a.roll(1, 1), torch.rot90(a), a.movedim(0, 1), a.repeat(2, 1)], "z[n,6]"),
    ("pads", lambda a: [F.pad(a, (1, 2)), F.pad(a, (1, 2), value=3.0), F.pad(a, (1, 1), mode="reflect")], "z[n,6]"),
    ("index", lambda a, i: [a[i], a.index_select(0, i), a.gather(0, i[:, None].expand(-1, 6))], "z[3,6] l[m]"),
    ("scatter", lambda a, b, i: [a.index_add(0, i, b), a.index_copy(0, i[:1], b[:1]), a.index_put((i,), b)],
     "z[3,6] z[2,6] l[2]"),
    ("masked_select", lambda a, m: a[m], "z[n] b[n]"),
    ("triangles", lambda a: [a.tril(), a.triu(1), a.diagonal(), torch.diag_embed(a), a.trace()], "z[4,4]"),
    ("unfold", lambda a: a.unfold(1, 3, 2), "z[n,7]"),
    ("made", lambda a: [a + torch.ones(3, dtype=torch.complex64), a @ torch.eye(3, dtype=torch.complex64),
     torch.zeros_like(a), torch.ones_like(a), torch.full_like(a, 2j), a + torch.full((3,), 1 - 1j),
     torch.zeros_like(a, dtype=torch.float32)], "z[n,3]"),
    # reductions
    ("sum", lambda a: [a.sum(), a.sum(1), a.mean(1), a.cumsum(1)], "z[n,3]"),
    ("sum_as_complex", lambda a: a.sum(1, dtype=torch.complex64), "f[n,3]"),
    ("prod", lambda a: [a.prod(1), a.prod(1, keepdim=True), a.cumprod(1)], "z[n,5]", "c[n,4]"),
    ("prod_of_none", lambda a: [a.prod(1), a.cumprod(1)], "z[n,0]"),
    ("prod_open", lambda a: [a.prod(0), a.cumprod(0)], "z[n,2]"),
    ("var", lambda a: [a.var(1), a.std(), *torch.var_mean(a, 1), a.var(0)], "z[n,4]"),
    ("norm", lambda a: [torch.linalg.vector_norm(a, p, dim=1) for p in (0, 1, 2, 3, float("inf"))], "z[n,4]"),
    ("normalize", lambda a: F.normalize(a, dim=1), "z[n,4]"),
    # products
    ("matmul", lambda a, b: a @ b, "z[n,3] z[3,2]", "z[m,n,3] z[3,2]", "c[3] c[3,n]"),
    ("dot", lambda a, b: [torch.dot(a, b), torch.vdot(a, b), torch.outer(a, b), torch.linalg.vecdot(a, b)],
     "z[n] z[n]"),
    ("einsum", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), "z[5,3] z[3,4] z[4,2]"),
    ("addmm", lambda x, a, b: torch.addmm(x, a, b, beta=2, alpha=1j), "z[n,2] z[n,3] z[3,2]"),
    ("linear", F.linear, "z[n,3] z[4,3] z[4]"),
    ("kron", torch.kron, "z[2,3] z[3,2]"),
    ("conv1d", lambda x, w, b: F.conv1d(x, w, b, padding=1), "z[n,2,8] z[3,2,3] z[3]"),
    ("conv2d", lambda x, w: F.conv2d(x, w), "z[n,2,5,5] z[3,2,3,3]"),
    # matrices
    ("inv", LA.inv, "z[n,3,3]", "c[n,3,3]"),
    ("solve", LA.solve, "z[n,3,3] z[n,3,2]"),
    ("solve_vector", LA.solve, "z[3,3] z[3]"),
    ("solve_right", lambda a, b: LA.solve(a, b, left=False), "z[n,3,3] z[n,2,3]"),
    ("solve_triangular", lambda a, b: LA.solve_triangular(a, b, upper=True, unitriangular=True), "c[n,3,3] c[n,3,2]"),
    ("pinv", LA.pinv, "c[3,2]"),
    ("pinv_hermitian", lambda a: LA.pinv(a, hermitian=True), "c[3,3]"),
    ("matrix_exp", LA.matrix_exp, "z[n,3,3]"),
    ("svdvals", LA.svdvals, "z[n,3,2]"),
    ("eigvalsh", LA.eigvalsh, "c[n,3,3]"),
    # writes
    ("inplace", inplace, "z[n,3]"),
    ("through_parts", through_parts, "z[n,3]"),
    ("rope", lambda x, f: VIEW(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * f).flatten(3),
     "f[n,m,2,8] z[1,1,1,4]"),
    ("cond", lambda a: torch.cond(a.real.sum() > 0, lambda x: x * 2j, lambda x: x.conj() + 0, [a]), "z[4]"),
)  # fmt: skip


@pytest.mark.parametrize(("row", "opset"), spread(ROWS), ids=name)
def test_op(row: Row, opset: int):
    _, report = tried(row, opset)
    assert report.passed, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_op_at_every_opset(row: Row, opset: int):
    _, report = tried(row, opset)
    assert report.passed, str(report)


class Mixer(nn.Module):
    """Mixes the low frequencies of a signal by complex weights."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.mix = nn.Parameter(torch.randn(4, 5, dtype=torch.cfloat))
        self.register_buffer("shift", torch.randn(5, dtype=torch.cdouble).conj())

    def forward(self, signal, phase):
        low = torch.fft.rfft(signal)[:, :4] * phase
        return {"signal": torch.fft.irfft(low @ self.mix, n=10), "spectrum": low @ self.mix + self.shift}


def inputs(batch: int = 3):
    return torch.randn(batch, 12), torch.randn(batch, 1, dtype=torch.complex64)


def test_pairs_at_the_border_of_a_graph():
    conversion = to_onnx(Mixer(), inputs(), dynamic={0: {0: "batch"}, 1: {0: "batch"}})
    assert conversion.parity is not None and conversion.parity.passed
    proto = conversion.proto()
    ports = {p.name: p.type.tensor_type for p in [*proto.graph.input, *proto.graph.output]}
    shapes = {n: [d.dim_param or d.dim_value for d in t.shape.dim] for n, t in ports.items()}
    assert shapes["phase"] == ["batch", 1, 2] and shapes["spectrum"] == ["batch", 5, 2]
    assert ports["phase"].elem_type == onnx.TensorProto.FLOAT and ports["spectrum"].elem_type == onnx.TensorProto.DOUBLE
    assert {"mix.real", "mix.imag"} <= {i.name for i in proto.graph.initializer}


@pytest.mark.parametrize("given", ["numpy", "spec"])
def test_complex_inputs_in_other_forms(given):
    signal, phase = inputs()
    forms = {
        "numpy": (signal.numpy(), phase.numpy()),
        "spec": ("signal:float32[batch,12]", "phase:complex64[batch,1]"),
    }
    conversion = to_onnx(Mixer(), forms[given], opset=17)
    assert conversion.parity is not None and conversion.parity.passed
    assert [s.dtype for s in conversion.source.specs] == ["float32", "complex64"]


def test_comparison_sees_a_wrong_imaginary_part():
    conversion = to_onnx(Mixer(), inputs(), compare=False)
    assert compare(conversion.proto(), Mixer(), inputs()).passed
    proto = conversion.proto()
    weight = next(i for i in proto.graph.initializer if i.name == "mix.imag")
    array = onnx.numpy_helper.to_array(weight).copy()
    array[0, 0] *= 1.001
    weight.CopyFrom(onnx.numpy_helper.from_array(array, "mix.imag"))
    assert not compare(proto, Mixer(), inputs()).passed


def test_signs_of_zero_choose_the_branch():
    values = torch.tensor([complex(-1, 0.0), complex(-1, -0.0), complex(-4, -0.0)])
    row = Row("branches", lambda z: [z.angle(), z.sqrt(), z.log(), torch.acosh(z)], "z[3]")
    conversion, _ = tried(row, 21)
    inputs = {conversion.source.specs[0].name: values.numpy()}
    report = compare_model(conversion.model, conversion.source.run, [inputs])
    assert report.passed, str(report)
    angles = next(iter(conversion.source.run(inputs).values()))
    assert (np.signbit(angles) == [False, True, True]).all()


def test_infinite_and_zero_divisors():
    values = torch.tensor([complex(np.inf, 1), complex(1, -np.inf), 0j, complex(3e38, 3e38), complex(1e-36, 1e-36)])
    row = Row("quotients", lambda z: [(1 + 2j) / z, (z * 0 + 2 + 1j) / z.conj(), z.abs()], "z[5]")
    conversion, _ = tried(row, 21)
    report = compare_model(conversion.model, conversion.source.run, [{conversion.source.specs[0].name: values.numpy()}])
    assert report.passed, str(report)


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda z: LA.eig(z)[0], "linalg_eig"),
        (lambda z: LA.svd(z)[0], "_linalg_svd.*result 0 isn't computed"),
        (lambda z: z.to(torch.complex32).real, "complex32"),
        (lambda z: z.scatter_reduce(0, torch.zeros(3, 3, dtype=torch.int64), z, "prod"), "scatter_reduce"),
    ],
)
def test_refused_by_name(function, op):
    with pytest.raises(UnsupportedOps, match=op):
        to_onnx(Call(function), (torch.randn(3, 3, dtype=torch.complex64),))
