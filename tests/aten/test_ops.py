"""Every row of the table: export, translate, check, and compare with torch in onnxruntime, at two sizes."""

from __future__ import annotations

import aten_open_table  # noqa: F401 - adds rows
import aten_special_table  # noqa: F401 - adds rows
import pytest
import torch
from aten_table import ROWS, Row, make_inputs

from anyonnx.converters.api import to_onnx
from anyonnx.validation.checker import check_model
from anyonnx.validation.parity import compare_model

OPSETS = (11, 13, 17, 21, 25)


class Call(torch.nn.Module):
    def __init__(self, row: Row):
        super().__init__()
        self.row = row

    def forward(self, *tensors: torch.Tensor):
        return self.row.call(*tensors)


def convert(row: Row, opset: int):
    inputs = tuple(make_inputs(row, 0))
    dynamic = {i: {a: s for a, s in enumerate(shape) if isinstance(s, str)} for i, shape in enumerate(row.shapes)}
    conversion = to_onnx(
        Call(row), inputs, dynamic={i: axes for i, axes in dynamic.items() if axes}, opset=opset, compare=False,
        optimize=False,
    )  # fmt: skip
    check_model(conversion.model, opset=opset)
    names = [s.name for s in conversion.source.specs]
    sets = [
        {n: t.numpy() for n, t in zip(names, make_inputs(row, which), strict=True)} for which in (0, 1)
    ]  # fmt: skip
    report = compare_model(conversion.model, conversion.source.run, sets, tolerance=row.tolerance)
    return conversion, report


def rows() -> list:
    """Each row at the newest opset and at one older one; the sweep has all."""
    picked = []
    for i, row in enumerate(ROWS):
        older = [o for o in OPSETS[:-1] if o >= row.since]
        opsets = [*older[i % len(older) : i % len(older) + 1], OPSETS[-1]] if older else OPSETS[-1:]
        picked += [pytest.param(row, opset, id=f"{row.name}-{opset}") for opset in opsets]
    return picked


def sweep() -> list:
    everything = [(row, opset) for row in ROWS for opset in OPSETS if opset >= row.since]
    return [pytest.param(row, opset, id=f"{row.name}-{opset}") for row, opset in everything]


@pytest.mark.parametrize(("row", "opset"), rows())
def test_op(row: Row, opset: int):
    conversion, report = convert(row, opset)
    assert report.passed, str(report)
    if row.node and opset == OPSETS[-1]:
        assert row.node in {n.op_type for n in conversion.model.graph}


@pytest.mark.slow
@pytest.mark.parametrize(("row", "opset"), sweep())
def test_op_at_every_opset(row: Row, opset: int):
    _, report = convert(row, opset)
    assert report.passed, str(report)
