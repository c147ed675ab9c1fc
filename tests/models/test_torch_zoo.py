"""The model families that users ship: every opset, equal to torch at the sizes given and at two others."""

from __future__ import annotations

from functools import lru_cache

import pytest
import torch_zoo

from anyonnx.converters.base import Options
from anyonnx.converters.from_torch import TorchFrontend, TorchSource
from anyonnx.optimization.pipeline import optimize
from anyonnx.symbolic.builder import GraphBuilder, gc_paused
from anyonnx.validation.checker import check_model
from anyonnx.validation.inputs import make_inputs
from anyonnx.validation.parity import compare_model

OPSETS = (11, 13, 17, 18, 20, 21, 23)
#: Sizes of the first and second comparison at other sizes.
OTHERS = {
    "batch": (1, 3), "images": (1, 2), "seq": (1, 7), "target": (1, 6), "past": (1, 9), "total": (2, 16),
}  # fmt: skip


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


@pytest.mark.slow
@pytest.mark.parametrize("name", torch_zoo.CASES)
def test_family(name: str):
    source = captured(name)
    symbols = {s for spec in source.specs for s in spec.symbols}
    sizes = [{s: OTHERS[s][which] for s in symbols} for which in (0, 1)]
    others = [make_inputs(source.specs, seed=5 + i, sizes=s) for i, s in enumerate(sizes)]
    for opset in OPSETS:
        sets = [source.samples, *others] if opset in (11, 17, 20) else [source.samples]
        report = compare_model(built(source, opset), source.run, sets)
        assert report.passed, f"opset {opset}: {report}"
