"""PyTorch models, open batch and sequence, at several opsets: equal to torch at the sizes asked and at two others."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
import torch_models

from anyonnx.converters.api import to_onnx
from anyonnx.converters.base import Options
from anyonnx.converters.from_torch import TorchFrontend, TorchSource
from anyonnx.optimization.pipeline import optimize
from anyonnx.symbolic.builder import GraphBuilder, gc_paused
from anyonnx.validation.checker import check_model
from anyonnx.validation.inputs import make_inputs
from anyonnx.validation.parity import compare_model

OPSETS = (11, 13, 17, 21, 25)
#: Spatial sizes must divide by what the model halves.
STEP = {"unet": {"height": 4, "width": 4}}


def combinations() -> list:
    found = []
    for name in torch_models.CASES:
        for opset in OPSETS:
            slow = name in torch_models.LARGE and opset != 17
            found.append(pytest.param(name, opset, marks=[pytest.mark.slow] if slow else []))
    return found


def other_sizes(name: str, source, which: int) -> dict[str, int]:
    """Batch 1 with short sequences, and a larger set."""
    symbols = list(dict.fromkeys(s for spec in source.specs for s in spec.symbols))
    step = STEP.get(name, {})
    sizes = {s: (1 if s == "batch" else 3) if which == 0 else 4 + i for i, s in enumerate(symbols)}
    return {s: size * step.get(s, 1) for s, size in sizes.items()}


@lru_cache(maxsize=2)
def captured(name: str) -> TorchSource:
    """The capture serves all opsets."""
    case = torch_models.build(name)
    return TorchFrontend().load(case.module, case.inputs, Options(OPSETS[-1], dynamic=case.dynamic))


@pytest.mark.parametrize(("name", "opset"), combinations())
def test_model(name: str, opset: int):
    source = captured(name)
    with gc_paused():
        g = GraphBuilder(opset)
        source.translate(g)
        model = g.build()
        optimize(model)
    check_model(model, opset=opset)
    sets = [source.samples]
    sets += [make_inputs(source.specs, seed=5 + w, sizes=other_sizes(name, source, w)) for w in (0, 1)]
    report = compare_model(model, source.run, sets)
    assert report.passed, str(report)


def test_padded_sequences_in_bert_differ_from_unpadded_ones():
    """The mask counts: what the test above compares isn't blind to it."""
    source = captured("bert")
    masked = source.run(source.samples)
    plain = source.run({**source.samples, "attention_mask": np.ones_like(source.samples["attention_mask"])})
    name = source.output_names[0]
    assert np.abs(masked[name] - plain[name]).max() > 1e-3


def test_node_counts_stay_small():
    """Composite ops stay whole, shapes need little arithmetic."""
    limits = {"bert": 115, "gpt2": 135, "llama": 180, "lstm": 14, "unet": 20}
    for name, limit in limits.items():
        case = torch_models.build(name)
        model = to_onnx(case.module, case.inputs, dynamic=case.dynamic, compare=False).model
        assert len(model.graph) <= limit, name
