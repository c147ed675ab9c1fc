"""Packed parameters of torch's quantised layers, taken apart: quantised weights, float biases, numbers of the layer."""

from __future__ import annotations

from dataclasses import dataclass

from ..value import Value
from .tensor import Quantized


@dataclass(frozen=True, slots=True, eq=False)
class PackedLinear:
    """Parameters of a linear layer.

    Attributes:
        weight: (out, in); a float16 tensor as it is.
        bias: (out,), or None.
        engine: torch's engine that packed them: ``fbgemm``, ``x86``, ``onednn`` or ``qnnpack``.
    """

    weight: Quantized | Value
    bias: Value | None
    engine: str


@dataclass(frozen=True, slots=True, eq=False)
class PackedConv:
    """Parameters of a convolution."""

    weight: Quantized
    bias: Value | None
    engine: str
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    output_padding: list[int]
    groups: int
    transposed: bool


@dataclass(frozen=True, slots=True, eq=False)
class PackedCell:
    """Parameters of one direction of one recurrent layer.

    Attributes:
        inputs: What an input goes through.
        hidden: What a hidden state goes through.
        reduce_range: Both are quantised to 7 bits.
    """

    inputs: PackedLinear
    hidden: PackedLinear
    reduce_range: bool


@dataclass(frozen=True, slots=True, eq=False)
class PackedEmbedding:
    """Rows of an embedding.

    Attributes:
        levels: (rows, columns), one byte for each level; two levels of 4 bits lie apart here.
        scale: A float32 for each row.
        offset: The number that level 0 stands for, a float32 for each row.
        bits: 8 or 4.
    """

    levels: Value
    scale: Value
    offset: Value
    bits: int
