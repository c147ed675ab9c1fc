"""The model families that users ship: every opset, equal to torch at the sizes given and at two others."""

from __future__ import annotations

import copy
from functools import lru_cache

import pytest
import torch
import torch_zoo

from anyonnx.converters.base import Options
from anyonnx.converters.from_torch import TorchFrontend, TorchSource
from anyonnx.optimization.pipeline import optimize
from anyonnx.symbolic.builder import GraphBuilder, gc_paused
from anyonnx.validation.checker import check_model
from anyonnx.validation.inputs import make_inputs
from anyonnx.validation.metrics import measure
from anyonnx.validation.parity import compare_model

OPSETS = (11, 13, 17, 18, 20, 21, 23)
#: Sizes of the first and second comparison at other sizes.
OTHERS = {
    "batch": (1, 3), "images": (1, 2), "seq": (1, 7), "target": (1, 6), "past": (1, 9), "total": (2, 16),
}  # fmt: skip
#: Attention scores of random weights are so large here that torch in single precision is 4e-6 from torch in double.
ILL_CONDITIONED = {"swin_v2_t"}


@lru_cache(maxsize=1)
def captured(name: str) -> TorchSource:
    """The capture serves all opsets."""
    case = torch_zoo.build(name)
    return TorchFrontend().load(case.module, case.inputs, Options(OPSETS[-1], dynamic=case.dynamic))


def built(source: TorchSource, opset: int):
    with gc_paused():
        g = GraphBuilder(opset)
        source.translate(g)
        model = g.build()
        optimize(model)
    check_model(model, opset=opset)
    return model


def own_rounding(name: str, images) -> float:
    """How far torch in single precision is from torch in double, on the scale of the output."""
    case = torch_zoo.build(name)
    exact = copy.deepcopy(case.module).double().eval()
    with torch.no_grad():
        wanted = exact(torch.from_numpy(images).double()).numpy()
        found = case.module.eval()(torch.from_numpy(images)).numpy()
    return measure(wanted, found).sc


def excused(name: str, report, sets) -> bool:
    """Whether all that fails is an ill-conditioned model: torch's own rounding is of the size of the limit."""
    if name not in ILL_CONDITIONED:
        return False
    failed = [row for row in report.rows if row.status != "pass"]
    return all(row.metrics and row.metrics.sc < 2 * own_rounding(name, sets[row.input_set]["x"]) for row in failed)


@pytest.mark.slow
@pytest.mark.parametrize("name", torch_zoo.CASES)
def test_family(name: str):
    source = captured(name)
    symbols = {s for spec in source.specs for s in spec.symbols}
    sizes = [{s: OTHERS[s][which] for s in symbols} for which in (0, 1)]
    sets = [source.samples, *(make_inputs(source.specs, seed=5 + i, sizes=s) for i, s in enumerate(sizes))]
    for opset in OPSETS:
        report = compare_model(built(source, opset), source.run, sets)
        assert report.passed or excused(name, report, sets), f"opset {opset}: {report}"
