"""A TorchScript graph, inlined, as plain Python objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import onnx_ir as ir

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
#: ONNX dtypes by torch's numbers for them.
_DTYPES = {
    0: ir.DataType.UINT8, 1: ir.DataType.INT8, 2: ir.DataType.INT16, 3: ir.DataType.INT32, 4: ir.DataType.INT64,
    5: ir.DataType.FLOAT16, 6: ir.DataType.FLOAT, 7: ir.DataType.DOUBLE, 9: ir.DataType.COMPLEX64,
    10: ir.DataType.COMPLEX128, 11: ir.DataType.BOOL, 15: ir.DataType.BFLOAT16, 27: ir.DataType.UINT16,
    28: ir.DataType.UINT32, 29: ir.DataType.UINT64,
}  # fmt: skip
#: Numbers of the quantised dtypes -> dtypes of their levels.
_LEVELS = {12: ir.DataType.INT8, 13: ir.DataType.UINT8, 14: ir.DataType.INT32}


def dtype_of(number: int) -> ir.DataType | None:
    """ONNX dtype of torch's number for it; None where ONNX has none."""
    return _DTYPES.get(number) or _LEVELS.get(number)


def dtype_number(dtype: ir.DataType) -> int:
    """torch's number of a dtype."""
    return next(number for number, known in _DTYPES.items() if known == dtype)


def level_number(levels: ir.DataType) -> int:
    """torch's number of the quantised dtype with levels of this dtype."""
    return next(number for number, known in _LEVELS.items() if known == levels)


@dataclass(eq=False)
class Op:
    """A node.

    Attributes:
        node: torch's node.
        kind: ``aten::conv1d``, ``prim::If`` ...
        inputs: Numbers of its operands' values.
        outputs: Numbers of its results.
        blocks: Its blocks.
    """

    node: Any
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    blocks: list[Block] = field(default_factory=list)

    @cached_property
    def schema(self) -> Any:
        """torch's schema of the operator; None where it has none."""
        text = self.node.schema()
        return None if text == "(no schema)" else _schema(text)

    @cached_property
    def location(self) -> str:
        """``conv.py:306`` of the line that it comes from; else its kind."""
        # the first frame is where the op stands; the file inside the archive is named only where there is no other
        frames = _FRAME.findall(self.node.sourceRange())
        outside = [f for f in frames if not f[0].startswith("code/")] or frames
        return f"{re.split(r'[/]', outside[0][0])[-1]}:{outside[0][1]}" if outside else self.kind

    @property
    def place(self) -> tuple[str, str]:
        """Library (empty for torch's own) and name, as the registry has them."""
        library, _, name = self.name.rpartition("::")
        return library, name

    @property
    def name(self) -> str:
        """Name in the registry, ``conv1d.default``, without the underscore of an in-place form."""
        name = str(self.schema.name).removeprefix("aten::")
        if self.schema.is_mutable and name.endswith("_") and not name.endswith("__"):
            name = name[:-1]
        return f"{name}.{self.schema.overload_name or 'default'}"


@dataclass(eq=False)
class Block:
    """A block of a graph: its inputs, ops and outputs.

    Attributes:
        skipped: The walk found out that it never runs.
    """

    inputs: tuple[int, ...]
    ops: list[Op]
    outputs: tuple[int, ...]
    skipped: bool = False

    def all_ops(self) -> Iterator[Op]:
        """Its ops and those of the blocks inside that may run."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                if not block.skipped:
                    yield from block.all_ops()

    @cached_property
    def raises(self) -> bool:
        """Whether it always ends in an exception."""
        return any(
            op.kind == "prim::RaiseException"
            or (op.kind == "prim::If" and len(op.blocks) == 2 and all(b.raises for b in op.blocks))
            for op in self.ops
        )


@lru_cache(maxsize=1024)
def _schema(text: str) -> Any:
    import torch

    return torch._C.parse_schema(text)


def read_graph(graph: Any) -> Block:
    """The ops of a graph, all calls inlined, those that nothing uses dropped. The graph itself is left as it is."""
    import torch

    graph = graph.copy()
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_inline_fork_wait(graph)
    torch._C._jit_pass_dce(graph)
    return Block(_numbers(graph.inputs()), _ops(graph), _numbers(graph.outputs()))


def _ops(container: Any) -> list[Op]:
    ops = []
    for node in container.nodes():
        op = Op(node, node.kind(), _numbers(node.inputs()), _numbers(node.outputs()))
        for block in node.blocks():
            op.blocks.append(Block(_numbers(block.inputs()), _ops(block), _numbers(block.outputs())))
        ops.append(op)
    return ops


def _numbers(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(v.unique() for v in values)
