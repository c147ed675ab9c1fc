"""Ops of TorchScript without a symbolic function: torch decomposes these alone, as it does in exported programs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...symbolic.complex.number import Complex
from ...symbolic.dims import Dim, Size
from ...symbolic.errors import AnyonnxError
from ...symbolic.value import Value
from .capture import capture
from .dims import Dims, symbol_of
from .graph import Walk, prepare
from .inputs import Arguments
from .script_program import Op, dtype_number
from .script_values import Items, Tensor, leaves

if TYPE_CHECKING:
    from .script_graph import ScriptWalk

#: Example sizes of open dims: none is 0 or 1, all differ.
_EXAMPLES = (5, 7, 11, 13, 17, 19, 23, 29)


def decomposed(walk: ScriptWalk, op: Op, args: Sequence[Any]) -> list[Value] | None:
    """Results of an op by torch's decomposition; None where there is none, or the sizes aren't known well enough."""
    tensors = [leaf for _, leaf in leaves(list(args)) if isinstance(leaf, Tensor)]
    values = [walk.read(t) for t in tensors]
    if op.schema.is_mutable or not all(_is_described(v) for v in values) or not _others_are_plain(args):
        return None
    examples, axes = _examples(values)
    module = _one_op(op, args)
    names = [f"tensors_{i}" for i in range(len(values))]
    try:
        program = capture(module, Arguments(tuple(examples), {}, names, axes, True))
        program = prepare(program, walk.g.opset)
    except AnyonnxError:
        return None
    inner = Walk(walk.g, _OwnDims(_symbols(program, values)))
    inner.weights = walk.weights
    given = iter(values)
    stored = {**program.state_dict, **program.constants}
    arguments = [
        next(given) if s.kind.name == "USER_INPUT" else inner.weights.value(f"{op.name}.{s.target}", stored[s.target])
        for s in program.graph_signature.input_specs
    ]
    return inner.run(program.graph_module, arguments, mark=False)


def _is_described(value: Any) -> bool:
    return isinstance(value, Value) and value.sizes is not None and None not in value.sizes


def _others_are_plain(args: Sequence[Any]) -> bool:
    return all(not isinstance(leaf, (Value, Complex, Dim)) for _, leaf in leaves(list(args)))


def _examples(values: Sequence[Value]) -> tuple[list[Any], list[dict[int, str]]]:
    """Tensors of the sizes of the values, and their open axes."""
    import torch

    symbols = sorted({s for v in values for size in v.sizes or () if isinstance(size, Dim) for s in size.symbols()})
    sizes = dict(zip(symbols, itertools.chain(_EXAMPLES, itertools.count(31)), strict=False))
    kinds = {_dtype_code(d): d for d in vars(torch).values() if isinstance(d, torch.dtype)}
    tensors, axes = [], []
    for value in values:
        shape = [size.evaluate(sizes) if isinstance(size, Dim) else int(size or 0) for size in value.sizes or ()]
        tensors.append(torch.ones(shape, dtype=kinds[dtype_number(value.element)]))
        # each size expression is a symbol of its own to torch
        opened = {i: str(size) for i, size in enumerate(value.sizes or ()) if isinstance(size, Dim)}
        axes.append({i: f"d{abs(hash(text))}" for i, text in opened.items()})
    return tensors, axes


def _dtype_code(dtype: Any) -> int:
    """torch's number of a dtype."""
    import torch

    return int(torch.ops.prim.dtype(torch.empty(0, dtype=dtype, device="meta")))


def _one_op(op: Op, args: Sequence[Any]) -> Any:
    """A module that calls the op on its tensors, with the other arguments as they are."""
    import torch

    namespace, name = op.schema.name.split("::")
    target = getattr(getattr(getattr(torch.ops, namespace), name), op.schema.overload_name or "default")

    def filled(value: Any, tensors: Any) -> Any:
        if isinstance(value, Tensor):
            return next(tensors)
        if isinstance(value, Items):
            return [filled(v, tensors) for v in value.items]
        return value

    class OneOp(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *tensors: Any) -> Any:
            given = iter(tensors)
            positional, keywords = [], {}
            for argument, value in zip(op.schema.arguments, args, strict=True):
                if argument.kwarg_only:
                    keywords[argument.name] = filled(value, given)
                else:
                    positional.append(filled(value, given))
            return target(*positional, **keywords)

    return OneOp()


class _OwnDims(Dims):
    """Sizes of a captured op in terms of the sizes of its operands."""

    def __init__(self, sizes: Mapping[str, Size]):
        super().__init__({})
        self._sizes = sizes

    def expression(self, e: Any) -> Size | None:
        """A sympy expression as a size; None where it has no counterpart."""
        return self._sizes[str(e)] if e.is_Symbol and str(e) in self._sizes else super().expression(e)


def _symbols(program: Any, values: Sequence[Value]) -> dict[str, Size]:
    """Symbols of the captured op: the sizes that they stand for."""
    placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    users = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    found: dict[str, Size] = {}
    for name, value in zip(users, values, strict=True):
        for size, own in zip(placeholders[name].meta["val"].shape, value.sizes or (), strict=True):
            symbol = symbol_of(size)
            if symbol is not None and own is not None:
                found.setdefault(symbol, own)
    return found
