"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from ..dims import Size
from ..value import Value
from .pointwise import scalar, select
from .reductions import reduce
from .region import Region, Typed, expanded
from .shapes import reverse

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType


def _results(found: Value | tuple[Value, ...]) -> list[Value]:
    return list(found) if isinstance(found, tuple) else [found]


def case(g: GraphBuilder, index: Value, branches: Sequence[Region], operands: Sequence[Value]) -> list[Value]:
    """The branch of the index; outside of the range the first or the last."""
    if index.array is not None:
        number = int(np.clip(index.array.astype(np.int64), 0, len(branches) - 1))
        return branches[number](g, *operands)
    if len(branches) == 1:
        return branches[0](g, *operands)
    if not branches[0].outputs:
        return []
    if index.element is _T.BOOL:
        return branch(g, index, branches[1], branches[0], operands)
    first, *rest = branches
    if len(rest) == 1:
        return branch(g, _truth(g, index), rest[0], first, operands)
    chosen = g.subgraph("then")
    for value in first.whole(chosen, *operands):
        chosen.output(value)
    others = g.subgraph("else")
    following = others.Sub(index, scalar(others, 1, index))
    for value, type_ in zip(case(others, following, rest, operands), first.outputs, strict=True):
        others.output(expanded(others, value, type_.sizes))
    low = g.LessOrEqual(index, scalar(g, 0, index))
    return _results(g.call("If", low, then_branch=chosen, else_branch=others, outputs=len(first.outputs)))


def _truth(g: GraphBuilder, index: Value) -> Value:
    """Whether an index is above 0; of a converted truth value that value."""
    return converted_truth(index) or g.Greater(index, scalar(g, 0, index))


def converted_truth(index: Value) -> Value | None:
    """The truth value that a number was converted from."""
    node = index.producer()
    if node is not None and node.op_type == "Cast":
        source = node.inputs[0]
        if isinstance(source, Value) and source.dtype is _T.BOOL:
            return source
    return None


def branch(g: GraphBuilder, truth: Value, then: Region, other: Region, operands: Sequence[Value]) -> list[Value]:
    """One of two branches."""
    bodies = []
    for name, region in (("then", then), ("else", other)):
        body = g.subgraph(name)
        for value in region.whole(body, *operands):
            body.output(value)
        bodies.append(body)
    count = len(then.outputs)
    return _results(g.call("If", truth, then_branch=bodies[0], else_branch=bodies[1], outputs=count))


def while_loop(
    g: GraphBuilder,
    condition: Region,
    body: Region,
    condition_constants: Sequence[Value],
    body_constants: Sequence[Value],
    carry: Sequence[Value],
) -> list[Value]:
    """Repeats the body on the carried values while the condition holds."""
    if not carry:
        return []
    types = condition.inputs[len(condition_constants) :]
    starts = [expanded(g, v, t.sizes) for v, t in zip(carry, types, strict=True)]
    rank = len(condition.outputs[0].sizes)
    first = _any(g, condition.whole(g, *condition_constants, *starts)[0], rank)
    inner = g.subgraph("while")
    inner.input("step", _T.INT64, ())
    inner.input("continues", _T.BOOL, ())
    carried = [inner.input(f"carry{i}", t.dtype, t.sizes) for i, t in enumerate(types)]
    new = body.whole(inner, *body_constants, *carried)
    if rank:  # many loops at once: those that have ended keep what they carry
        runs = condition.whole(inner, *condition_constants, *carried)[0]
        new = [_where_running(inner, runs, a, b) for a, b in zip(new, carried, strict=True)]
    inner.output(_any(inner, condition.whole(inner, *condition_constants, *new)[0], rank))
    for value in new:
        inner.output(value)
    return _results(g.call("Loop", None, first, *starts, body=inner, outputs=len(starts)))


def _any(g: GraphBuilder, truth: Value, rank: int) -> Value:
    return reduce(g, truth, "or", list(range(rank))) if rank else truth


def _where_running(g: GraphBuilder, runs: Value, new: Value, old: Value) -> Value:
    missing = list(range(runs.rank, new.rank))
    return select(g, g.Unsqueeze(runs, missing) if missing else runs, new, old)


def scan(
    g: GraphBuilder,
    body: Region,
    constants: Sequence[Value],
    carry: Sequence[Value],
    rows: Sequence[Value],
    length: Size,
    backwards: bool,
) -> list[Value]:
    """Runs the body over the rows of tensors: carried values, then what it gives for each row, stacked.

    Args:
        g: Builder.
        body: Function of constants, carried values and one row of each tensor.
        constants: Values that stay the same.
        carry: Values handed from step to step.
        rows: Tensors whose first axis is stepped through.
        length: Number of steps.
        backwards: From the last row to the first.
    """
    types = body.inputs[len(constants) :]
    states = [expanded(g, v, t.sizes) for v, t in zip(carry, types, strict=False)]
    stacked = len(body.outputs) - len(states)
    if not rows:
        return _repeated(g, body, constants, states, types, length, backwards)
    inner = g.subgraph("scan")
    values = [inner.input(f"carry{i}", t.dtype, t.sizes) for i, t in enumerate(types[: len(states)])]
    values += [inner.input(f"row{i}", t.dtype, t.sizes) for i, t in enumerate(types[len(states) :])]
    for value in body.whole(inner, *constants, *values):
        inner.output(value)
    found = g.call(
        "Scan",
        *states,
        *rows,
        body=inner,
        num_scan_inputs=len(rows),
        scan_input_directions=[1] * len(rows) if backwards else None,
        scan_output_directions=[1] * stacked if backwards and stacked else None,
        outputs=len(body.outputs),
    )
    return _results(found)


def _repeated(
    g: GraphBuilder,
    body: Region,
    constants: Sequence[Value],
    states: Sequence[Value],
    types: Sequence[Typed],
    length: Size,
    backwards: bool,
) -> list[Value]:
    """A scan over nothing: a counted Loop."""
    inner = g.subgraph("repeat")
    inner.input("step", _T.INT64, ())
    going = inner.input("continues", _T.BOOL, ())
    carried = [inner.input(f"carry{i}", t.dtype, t.sizes) for i, t in enumerate(types)]
    new = body.whole(inner, *constants, *carried)
    inner.output(going)
    for value in new:
        inner.output(value)
    found = _results(g.call("Loop", g.size(length), g.constant(True), *states, body=inner, outputs=len(new)))
    for i in range(len(states), len(found)):
        found[i].sizes = (length, *body.outputs[i].sizes)
        found[i] = reverse(g, found[i], [0]) if backwards else found[i]
    return found
