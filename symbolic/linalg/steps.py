"""Steps of a factorisation, written out or in a Loop, and the parts of matrices that they work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from .. import dims
from ..dims import Size
from ..errors import TranslationError
from ..value import Value

if TYPE_CHECKING:
    from ..builder import GraphBuilder

_T = ir.DataType
#: From builder, number of the step and carried values to the new carried values.
Step = Callable[["GraphBuilder", Value, list[Value]], list[Value]]
#: From builder, number of the step and new carried values to whether another step follows.
Going = Callable[["GraphBuilder", Value, list[Value]], Value]
#: As many steps are written one after the other; more are a Loop.
WRITTEN_OUT = 4


def repeat(
    g: GraphBuilder, count: Size | Value, states: Sequence[Value], step: Step, going: Going | None = None
) -> list[Value]:
    """Does a step some number of times.

    Args:
        g: Builder.
        count: How often, at most.
        states: Carried values at the start; a step doesn't change their dtypes and sizes.
        step: One step. It must call operators on the builder that it is given.
        going: Whether another step follows; without it all are done.
    """
    if isinstance(count, int) and count <= WRITTEN_OUT and going is None:
        carried = list(states)
        for i in range(count):
            carried = step(g, g.constant(np.int64(i)), carried)
        return carried
    body = g.subgraph("steps")
    number, continues = body.input("step", _T.INT64, ()), body.input("continues", _T.BOOL, ())
    carried = [body.input(f"carry{i}", s.element, s.sizes) for i, s in enumerate(states)]
    new = step(body, number, carried)
    body.output(continues if going is None else going(body, number, new))
    for value in new:
        body.output(value)
    trips = count if isinstance(count, Value) else g.size(count)
    found = g.call("Loop", trips, None, *states, body=body, outputs=len(states))
    results = list(found) if isinstance(found, tuple) else [found]
    for result, state in zip(results, states, strict=True):
        result.sizes = state.sizes
    return results


def sizes_of(g: GraphBuilder, x: Value, until: int | None = None) -> list[Any]:
    """Sizes of the axes before `until`; those that are not known are taken when the model runs."""
    known = enumerate((x.sizes or ())[:until])
    return [g.Squeeze(g.Shape(x, start=i, end=i + 1), [0]) if s is None else s for i, s in known]


def fixed(x: Value, axis: int) -> int:
    """Size of an axis, which must be a number.

    Raises:
        TranslationError: It isn't known before the model runs.
    """
    size = x.dim(axis)
    if not isinstance(size, int):
        raise TranslationError("this factorisation needs matrices of a fixed size", location=x.builder.location)
    return size


def known(x: Value, axis: int) -> Size:
    """Size of an axis, which may be open but must have a name.

    Raises:
        TranslationError: It is found out when the model runs.
    """
    size = x.dim(axis)
    if size is None:
        raise TranslationError("the size of these matrices isn't known", location=x.builder.location)
    return size


def smaller(a: Size, b: Size) -> Size:
    """The smaller one of two sizes."""
    return dims.call("min", a, b)


def numbers(g: GraphBuilder, size: Size) -> Value:
    """0, 1, 2 ... as a vector."""
    if isinstance(size, int):
        return g.constant(np.arange(size))
    found: Value = g.Range(0, g.size(size), 1)
    found.sizes = (size,)
    return found


def across(g: GraphBuilder, x: Value) -> Value:
    """Numbers of the columns of x: (n,)."""
    return numbers(g, known(x, -1))


def down(g: GraphBuilder, x: Value) -> Value:
    """Numbers of the rows of x, one under the other: (m, 1)."""
    return g.Unsqueeze(numbers(g, known(x, -2)), [1])


def row(g: GraphBuilder, x: Value, number: Value) -> Value:
    """Row `number`: (..., 1, n)."""
    return g.Unsqueeze(g.Gather(x, number, axis=x.rank - 2), [x.rank - 2])


def column(g: GraphBuilder, x: Value, number: Value) -> Value:
    """Column `number`: (..., m, 1)."""
    return g.Unsqueeze(g.Gather(x, number, axis=x.rank - 1), [x.rank - 1])


def swapped(g: GraphBuilder, x: Value) -> Value:
    """The transposed matrices."""
    return g.Transpose(x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])


def filled(g: GraphBuilder, like: Value, sizes: Sequence[Any], value: float = 0) -> Value:
    """A tensor of one number, in the dtype of another one."""
    return g.expand(g.constant(np.asarray(value, like.element.numpy())), sizes)


def identity(g: GraphBuilder, like: Value, rows: Size, columns: Size | None = None) -> Value:
    """Ones on the diagonal, in the dtype of another value."""
    columns = rows if columns is None else columns
    if isinstance(rows, int) and isinstance(columns, int):
        return g.constant(np.eye(rows, columns, dtype=like.element.numpy()))
    same = g.Equal(g.Unsqueeze(numbers(g, rows), [1]), numbers(g, columns))
    return g.Cast(same, to=like.element)


def triangle(g: GraphBuilder, x: Value, *, lower: bool, diagonal: float | None = None) -> Value:
    """The part of x on one side of the diagonal and on it; `diagonal` stands there in place of x's own."""
    rows, columns = down(g, x), across(g, x)
    kept = g.GreaterOrEqual(rows, columns) if lower else g.LessOrEqual(rows, columns)
    part = g.Where(kept, x, _zero(x))
    if diagonal is None:
        return part
    return g.Where(g.Equal(rows, columns), np.asarray(diagonal, x.element.numpy()), part)


def diagonal_of(g: GraphBuilder, x: Value) -> Value:
    """The diagonal of matrices: (..., min(m, n))."""
    rows, columns = known(x, -2), known(x, -1)
    if rows != columns:
        count = smaller(rows, columns)
        size = g.size_vector(count)
        x = g.Slice(g.Slice(x, [0], size, [-2]), [0], size, [-1])
        x.sizes = (*(x.sizes or ())[:-2], count, count)
    on_it = g.Equal(down(g, x), across(g, x))
    return g.ReduceSum(g.Where(on_it, x, _zero(x)), [-1], keepdims=0)


def _zero(x: Value) -> np.ndarray:
    return np.zeros((), x.element.numpy())


def sign_of(g: GraphBuilder, x: Value) -> Value:
    """1 or -1; 1 of zero."""
    one = np.ones((), x.element.numpy())
    return g.Where(g.Less(x, _zero(x)), -one, one)


def columns_at(g: GraphBuilder, x: Value, places: Value) -> Value:
    """Columns of each matrix of a batch in an order of its own, (..., n)."""
    target = [*sizes_of(g, x, -1), known(places, -1)]
    return g.GatherElements(x, g.expand(g.Unsqueeze(places, [-2]), target), axis=x.rank - 1)


def epsilon(x: Value) -> float:
    """Distance from 1 to the next number."""
    return float(np.finfo(x.element.numpy()).eps)


def broadcast_batches(g: GraphBuilder, a: Value, b: Value) -> tuple[Value, Value]:
    """Both with the same batch axes."""
    first, second = (a.sizes or ())[:-2], (b.sizes or ())[:-2]
    if first == second and None not in first:
        return a, b
    from ..infer import broadcast

    common = broadcast(first, second)
    if common is not None and None not in common:
        return (
            g.expand(a, [*common, *sizes_of(g, a)[len(first) :]]),
            g.expand(b, [*common, *sizes_of(g, b)[len(second) :]]),
        )
    batch = g.Shape(
        g.Expand(
            g.ConstantOfShape(g.Shape(a, end=a.rank - 2)),
            g.Shape(b, end=b.rank - 2),
        )
    )
    results = []
    for x, own in ((a, first), (b, second)):
        whole = g.Expand(x, g.Concat(batch, g.Shape(x, start=x.rank - 2), axis=0))
        lead = max(len(first), len(second))
        whole.sizes = (*(None for _ in range(lead)), *(x.sizes or ())[len(own) :])
        results.append(whole)
    return results[0], results[1]
