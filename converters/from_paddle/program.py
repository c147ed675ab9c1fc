"""A Paddle program in memory, the same for PIR files, legacy files and live layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class FormatError(ValueError):
    """A file is damaged, or holds something that the reader doesn't know."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """Type of a tensor.

    Attributes:
        dtype: numpy name of the element type (``bfloat16`` included).
        shape: Sizes; -1 stands for one that is open. None where nothing is known.
    """

    dtype: str
    shape: tuple[int, ...] | None


#: Type of a value: a tensor, a list of tensors, or None where it is neither (a scope, a stack ...).
Type = TensorType | list[Any] | None


@dataclass(frozen=True, slots=True)
class Constant:
    """An operand whose contents stand in the program itself."""

    array: np.ndarray


#: An operand: the name of a value, a list of names, a constant, or None for one that isn't given.
Operand = int | str | Constant | list[Any] | None


@dataclass(slots=True)
class Result:
    """A value that an op or a block gives: its name in the program, and its type."""

    name: int | str
    type: Type


@dataclass(slots=True)
class Op:
    """One op.

    Attributes:
        name: Name with its dialect: ``pd_op.conv2d``, ``builtin.combine``, ``cf.yield``.
        operands: What it takes, in the order of its definition.
        attributes: Attributes as Python values; dtypes by numpy name.
        results: What it gives.
        blocks: Bodies of if (two) and while (one).
        place: Where it comes from: layer path, source line.
    """

    name: str
    operands: list[Operand]
    attributes: dict[str, Any]
    results: list[Result]
    blocks: list[Block] = field(default_factory=list)
    place: str = ""

    @property
    def kind(self) -> str:
        """The name without its dialect."""
        return self.name.split(".", 1)[1]


@dataclass(slots=True)
class Block:
    """Ops in order, and what they take from the op around them."""

    arguments: list[Result]
    ops: list[Op]

    def walk(self) -> Iterator[Op]:
        """All ops, those of inner blocks too."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


@dataclass(slots=True)
class Program:
    """A program with its weights.

    Attributes:
        block: The outermost block; its inputs are ``pd_op.data`` ops, its outputs ``pd_op.fetch`` ops.
        parameters: Name of a weight -> its contents.
    """

    block: Block
    parameters: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Op]:
        """The ops that stand for inputs."""
        return [op for op in self.block.ops if op.name == "pd_op.data"]

    @property
    def outputs(self) -> list[Op]:
        """The ops that stand for outputs, in their order."""
        found = [op for op in self.block.ops if op.name in ("pd_op.fetch", "builtin.shadow_output")]
        return sorted(found, key=lambda op: op.attributes.get("col", 0))

    @property
    def parameter_names(self) -> list[str]:
        """Names of the weights that the program's weight file holds."""
        found = [op.attributes for op in self.block.ops if op.name == "builtin.parameter"]
        return [a["name"] for a in found if a["persistable"]]
