"""Rows of the tables of complex operators and Fourier transforms, and how a row is tried.

Inputs are written ``"z[n,3] f[3]"``: a letter for the dtype (f float32, d float64, l int64, z complex64, c complex128),
sizes or open dims in brackets, and ``+`` for positive numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from anyonnx.converters.api import to_onnx
from anyonnx.validation.checker import check_model
from anyonnx.validation.parity import compare_model

OPSETS = (11, 13, 17, 21, 25)
DTYPES = {
    "f": torch.float32, "d": torch.float64, "l": torch.int64, "b": torch.bool,
    "z": torch.complex64, "c": torch.complex128,
}  # fmt: skip
SIZES = ({"n": 3, "m": 4, "t": 50, "s": 600}, {"n": 5, "m": 2, "t": 63, "s": 1001})
_SPEC = re.compile(r"(\w)\[([^\]]*)\](\+?)")


@dataclass(frozen=True)
class Row:
    """One use of an operator."""

    name: str
    call: Callable[..., Any]
    inputs: str
    tolerance: Any = None

    @property
    def shapes(self) -> list[list[int | str]]:
        return [[int(s) if s.isdigit() else s for s in m[1].split(",") if s] for m in _SPEC.findall(self.inputs)]


def table(*rows: tuple[Any, ...]) -> list[Row]:
    """Rows from (name, function, inputs, more inputs ...)."""
    return [
        Row(f"{name}-{text.replace(' ', '_')}" if len(texts) > 1 else name, call, text)
        for name, call, *texts in rows
        for text in texts
    ]


def make_inputs(row: Row, which: int) -> list[torch.Tensor]:
    """Inputs of a row, of the first (0) or second (1) size."""
    generator = torch.Generator().manual_seed(which)
    tensors = []
    for (letter, _, mark), shape in zip(_SPEC.findall(row.inputs), row.shapes, strict=True):
        sizes = [SIZES[which][s] if isinstance(s, str) else s for s in shape]
        dtype = DTYPES[letter]
        if dtype in (torch.int64, torch.bool):
            tensors.append(torch.randint(0, 2 if dtype is torch.bool else 3, sizes, generator=generator).to(dtype))
            continue
        values = torch.randn(sizes, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64)
        tensors.append((values.abs() + 0.1 if mark else values * 2).to(dtype))
    return tensors


class Call(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor):
        return self.function(*tensors)


def tried(row: Row, opset: int):
    """The conversion of a row, and its comparison at two sizes."""
    dynamic = {i: {a: s for a, s in enumerate(shape) if isinstance(s, str)} for i, shape in enumerate(row.shapes)}
    conversion = to_onnx(
        Call(row.call), tuple(make_inputs(row, 0)), dynamic={i: axes for i, axes in dynamic.items() if axes},
        opset=opset, compare=False, check=False,
    )  # fmt: skip
    check_model(conversion.model, opset=opset)
    names = [s.name for s in conversion.source.specs]
    sets = [{n: t.numpy() for n, t in zip(names, make_inputs(row, w), strict=True)} for w in (0, 1)]
    return conversion, compare_model(conversion.model, conversion.source.run, sets, tolerance=row.tolerance)


def spread(rows: list[Row]) -> list[tuple[Row, int]]:
    """Each row at one opset, in turn."""
    return [(row, OPSETS[i % len(OPSETS)]) for i, row in enumerate(rows)]


def name(case: Any) -> str:
    """Id of a parameter of a test."""
    return case.name if isinstance(case, Row) else str(case)
