"""Half precision: one operator of ATen is computed in float32 and rounded once, wherever torch does so.

The results are measured against the truth in float64, in units in the last place (ulps): half of one is the best there
is. What torch rounds step by step is compared with torch, bit for bit, where every operator's result is rounded; that
onnxruntime's CPU kernels leave such roundings out makes it nearer to the truth than torch.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from anyonnx.converters.api import to_onnx
from anyonnx.validation.providers import resolve

#: Bits behind the point, and the exponent of the smallest normal number.
FORMATS = {torch.float16: (10, -14), torch.bfloat16: (7, -126)}
CASES = [(torch.float16, 13), (torch.float16, 21), (torch.bfloat16, 21)]
IDS = {torch.float16: "float16", torch.bfloat16: "bfloat16"}

Function = Callable[..., torch.Tensor]


class Call(torch.nn.Module):
    def __init__(self, function: Function):
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor):
        return self.function(*tensors)


def positive(x):
    return x.abs() + 0.1


def inside(x):
    return torch.sigmoid(x)


#: name -> function, shapes of its operands, and what brings these into its domain.
ONCE: dict[str, tuple] = {
    "add": (lambda x, y: torch.add(x, y, alpha=0.3), [(5, 7), (7,)]),
    "sub": (lambda x, y: torch.sub(x, y, alpha=-1.7), [(5, 7), (5, 1)]),
    "rsub": (lambda x, y: torch.rsub(x, y, alpha=0.3), [(5, 7), (5, 7)]),
    "times a number": (lambda x: x * 0.3, [(40,)]),
    "over a number": (lambda x: x / 4099, [(40,)]),
    "times a scalar": (lambda x: x * torch.tensor(0.3), [(40,)]),
    "times a computed scalar": (lambda x: x * torch.exp(torch.tensor(-1.2)), [(40,)]),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.6), [(5, 7)] * 3),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=0.6), [(5, 7)] * 3, positive),
    "lerp": (torch.lerp, [(5, 7)] * 3),
    "lerp number": (lambda x, y: torch.lerp(x, y, 0.37), [(5, 7)] * 2),
    "hypot": (torch.hypot, [(5, 7)] * 2),
    "logaddexp": (torch.logaddexp, [(5, 7)] * 2),
    "logaddexp2": (torch.logaddexp2, [(5, 7)] * 2),
    "expm1": (torch.expm1, [(40,)]),
    "log1p": (torch.log1p, [(40,)], positive),
    "log2": (torch.log2, [(40,)], positive),
    "log10": (torch.log10, [(40,)], positive),
    "rsqrt": (torch.rsqrt, [(40,)], positive),
    "sinc": (torch.sinc, [(40,)]),
    "deg2rad": (torch.deg2rad, [(40,)]),
    "rad2deg": (torch.rad2deg, [(40,)]),
    "silu": (F.silu, [(40,)]),
    "mish": (F.mish, [(40,)]),
    "gelu": (F.gelu, [(40,)]),
    "softplus": (lambda x: F.softplus(x, beta=1.3), [(40,)]),
    "logsigmoid": (F.logsigmoid, [(40,)]),
    "glu": (F.glu, [(5, 8)]),
    "var": (torch.var, [(64,)]),
    "std": (lambda x: torch.std(x, dim=1), [(5, 64)]),
    "norm": (torch.linalg.vector_norm, [(64,)], lambda x: x * 200),
    "norm 3": (lambda x: torch.linalg.vector_norm(x, 3), [(64,)]),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 0), [(40,)]),
    "huber loss": (lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.7), [(40,)] * 2),
    "binary cross entropy": (lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), [(40,)] * 2, inside),
    "group norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 6), (4,), (4,)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (32,), w, b), [(5, 32), (32,), (32,)]),
    "rms norm": (lambda x, w: F.rms_norm(x, (32,), w, 1e-5), [(5, 32), (32,)]),
    "softmax": (lambda x: torch.softmax(x, 0), [(9, 5)]),
    "adaptive average": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), [(1, 2, 7, 9)]),
    "average of a divisor": (lambda x: F.avg_pool2d(x, 3, divisor_override=5), [(1, 2, 7, 9)]),
    "baddbmm": (lambda x, a, b: torch.baddbmm(x, a, b, beta=0.6, alpha=0.3), [(2, 4, 5), (2, 4, 6), (2, 6, 5)]),
    "addmv": (lambda x, a, b: torch.addmv(x, a, b, beta=0.6), [(4,), (4, 6), (6,)]),
    "bag": (lambda w: F.embedding_bag(torch.tensor([0, 2, 3, 1, 4]), w, torch.tensor([0, 3])), [(6, 4)]),
}
#: What torch composes of operators that round, or computes in half precision step by step.
STEP_BY_STEP: dict[str, tuple] = {
    "diff": (lambda x: torch.diff(x, n=3), [(40,)]),
    "gradient": (lambda x: torch.gradient(x)[0], [(40,)]),
    "cross": (torch.linalg.cross, [(9, 3)] * 2),
    "plus a number": (lambda x: x + 0.3, [(40,)]),
    "a number over": (lambda x: 0.3 / x, [(40,)]),
    "floor of a quotient": (lambda x: torch.div(x * 50, 0.3, rounding_mode="floor"), [(40,)]),
    "power": (lambda x: x**0.3, [(40,)], positive),
    "logit": (torch.logit, [(40,)], inside),
    "tanhshrink": (F.tanhshrink, [(40,)]),
    "mse loss": (lambda x, y: F.mse_loss(x, y, reduction="none"), [(40,)] * 2),
    "soft margin loss": (lambda x, y: F.soft_margin_loss(x * 4, y.sign(), reduction="none"), [(40,)] * 2),
    "triplet margin loss": (lambda x, y, z: F.triplet_margin_loss(x, y, z, reduction="none"), [(5, 7)] * 3),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.5), [(5, 7)]),
    "cosine similarity": (F.cosine_similarity, [(5, 7)] * 2),
}


def operands(row: tuple, dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    prepare = row[2] if len(row) > 2 else lambda x: x
    return [prepare(torch.randn(*shape, generator=generator) * 2).to(dtype) for shape in row[1]]


def array(x: torch.Tensor) -> np.ndarray:
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()


def ulps(result: np.ndarray, truth: np.ndarray, dtype: torch.dtype) -> float:
    """The largest distance from the truth, in units in the last place."""
    bits, least = FORMATS[dtype]
    exponent = np.floor(np.log2(np.maximum(np.abs(truth), 2.0**least)))
    return float(np.max(np.abs(result.astype(np.float64) - truth) / 2.0 ** (exponent - bits)))


def run(function: Function, inputs: list[torch.Tensor], opset: int, providers: list[str]):
    """Results by provider, and the model."""
    model = to_onnx(Call(function), tuple(inputs), opset=opset, compare=False).proto()
    feed = {v.name: array(x) for v, x in zip(model.graph.input, inputs, strict=True)}
    results = {}
    for provider in resolve(providers):
        results[f"{provider.name} {provider.setting}"] = next(iter(provider.run(model, feed).values()))
    return results, model


@pytest.mark.parametrize(("dtype", "opset"), CASES, ids=lambda v: IDS.get(v, v))
@pytest.mark.parametrize("name", ONCE)
def test_rounded_once(name: str, dtype: torch.dtype, opset: int):
    function, inputs = ONCE[name][0], operands(ONCE[name], dtype)
    truth = function(*(x.double() for x in inputs)).numpy()
    providers = ["onnxruntime-cpu", "onnx-reference"] if dtype == torch.float16 else ["onnx-reference"]
    results, _ = run(function, inputs, opset, providers)
    for provider, result in results.items():
        assert result.dtype == array(inputs[0]).dtype
        assert ulps(result, truth, dtype) < 0.52, provider


@pytest.mark.parametrize("dtype", FORMATS, ids=IDS.get)
@pytest.mark.parametrize("name", STEP_BY_STEP)
def test_rounded_step_by_step(name: str, dtype: torch.dtype):
    function, inputs = STEP_BY_STEP[name][0], operands(STEP_BY_STEP[name], dtype)
    results, _ = run(function, inputs, 21, ["onnx-reference"])
    np.testing.assert_array_equal(next(iter(results.values())), array(function(*inputs)))


def test_casts_of_single_precision():
    for name, row in ONCE.items():
        _, model = run(row[0], operands(row, torch.float32), 13, [])
        assert "Cast" not in {n.op_type for n in model.graph.node}, name


@pytest.mark.parametrize(
    ("function", "shapes", "operator"),
    [
        (lambda x: F.layer_norm(x, (8,)), [(4, 8)], "LayerNormalization"),
        (F.gelu, [(4, 8)], "Gelu"),
        (lambda x: torch.softmax(x, -1), [(4, 8)], "Softmax"),
        (torch.add, [(4, 8)] * 2, "Add"),
        (lambda x: x * 0.125, [(4, 8)], "Mul"),
        (lambda x: x + 0.3, [(4, 8)], "Add"),
        (torch.matmul, [(4, 8), (8, 3)], "MatMul"),
        (lambda x, a, b: torch.addmm(x, a, b, alpha=0.5), [(3,), (4, 8), (8, 3)], "Gemm"),
        (torch.mean, [(4, 8)], "ReduceMean"),
    ],
)
def test_one_operator_stays_one(function: Function, shapes: list, operator: str):
    _, model = run(function, operands((function, shapes), torch.float16), 21, [])
    assert [n.op_type for n in model.graph.node] == [operator]


def test_flash_attention_gives_its_logarithms_in_single_precision():
    class Flash(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)

    inputs = operands((None, [(1, 2, 6, 8)] * 3), torch.float16)
    conversion = to_onnx(Flash(), tuple(inputs), opset=21)
    assert conversion.parity.passed
