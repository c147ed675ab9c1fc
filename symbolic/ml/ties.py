"""Which of several known rows at the same distance count among the nearest, and in which order.

scikit-learn keeps the nearest rows in a heap while it visits the known rows one after the other. Where distances are
equal the answer hangs on the order of the visits, which its trees choose anew for every query, and on the heap's moves.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..value import Value
from .distances import Metric, by_feature, distances, reduced_radius
from .dtypes import double
from .iterate import any_of, repeat_while


def tree_order(g: GraphBuilder, x: Value, tree: object, metric: Metric) -> Value:
    """The known rows in the order in which a search through a KDTree or BallTree visits them: int64[batch, rows].

    At each node the search turns to the nearer child first, to the left one if both are as near.
    """
    _, rows, nodes, bounds = (np.asarray(a) for a in tree.get_arrays())  # type: ignore[attr-defined]
    batch, leaves = x.dim(0), (len(nodes) + 1) // 2  # a complete tree: its leaves are the last level
    order = g.expand(g.constant(rows.reshape(1, -1).astype(np.int64)), [batch, len(rows)])
    if leaves == 1:
        return order
    bound = _box_bound(g, x, bounds, metric) if len(bounds) == 2 else _ball_bound(g, x, nodes, bounds, metric)
    rank = g.expand(g.constant(np.zeros((1, 1))), [batch, 1])  # of the nodes of a level among their visits
    for level in range(int(np.log2(leaves))):
        first = 2 * (2**level - 1) + 1
        children = g.reshape(g.Slice(bound, [first], [first + 2 ** (level + 1)], [1]), [batch, 2**level, 2])
        left, right = g.Split(children, axis=2, num_outputs=2, outputs=2)
        later = g.Cast(g.LessOrEqual(left, right), to=ir.DataType.DOUBLE)  # 1 where the right child comes later
        twice = g.Unsqueeze(g.Mul(rank, np.float64(2)), [2])
        pair = g.Concat(g.Add(twice, g.Sub(np.float64(1), later)), g.Add(twice, later), axis=2)
        rank = g.reshape(pair, [batch, 2 ** (level + 1)])
    sizes = (nodes["idx_end"] - nodes["idx_start"])[-leaves:]
    of_row = g.Gather(rank, np.repeat(np.arange(leaves), sizes), axis=1)
    _, visits = g.TopK(of_row, [len(rows)], axis=1, largest=0, sorted=1, outputs=2)
    return g.GatherElements(order, visits, axis=1)


def _box_bound(g: GraphBuilder, x: Value, bounds: np.ndarray, metric: Metric) -> Value:
    """Least (reduced) distance to the box of each node."""
    name = metric.plain.name
    p = {"euclidean": 2.0, "manhattan": 1.0}.get(name) or float(metric.plain.parameters.get("p", np.inf))
    nothing = np.float64(0)

    def step(b: GraphBuilder, total: Value, own: Value, both: Value) -> Value:
        low, high = b.Split(both, axis=1, num_outputs=2, outputs=2)
        away = b.Add(b.Max(b.Sub(low, own), nothing), b.Max(b.Sub(own, high), nothing))
        if p == np.inf:
            return b.Max(total, away)
        return b.Add(total, away if p == 1 else b.Mul(away, away) if p == 2 else b.Pow(away, np.float64(p)))

    return by_feature(g, x, np.concatenate(list(bounds)), step, outputs=bounds.shape[1])


def _ball_bound(g: GraphBuilder, x: Value, nodes: np.ndarray, bounds: np.ndarray, metric: Metric) -> Value:
    """Least (reduced) distance to the ball of each node."""
    away = distances(g, x, bounds[0], metric)
    assert away is not None
    found = g.Max(g.Sub(away, nodes["radius"].astype(np.float64)), np.float64(0))
    power = reduced_radius(2.0, metric)  # 2 to the power that a reduced distance has
    return found if power == 2 else g.Mul(found, found) if power == 4 else g.Pow(found, np.float64(np.log2(power)))


def kept_in_heap(g: GraphBuilder, ranking: Value, order: Value, count: int) -> tuple[Value, Value]:
    """The `count` nearest known rows as a heap keeps them: (reduced) distances and indices, nearest first.

    Args:
        ranking: (Reduced) distances to the known rows, double[batch, rows].
        order: The known rows in the order of the visits, int64[batch, rows].
        count: How many are kept.
    """
    arriving = g.GatherElements(ranking, order, axis=1)
    rows = order.dim(1)
    assert isinstance(rows, int)
    batch = ranking.dim(0)
    start = [
        g.expand(g.constant(np.full((1, count), np.inf)), [batch, count]),
        g.expand(g.constant(np.zeros((1, count), np.int64)), [batch, count]),
        g.expand(g.constant(np.zeros((1, 1), np.int64)), [batch, 1]),
    ]

    def step(b: GraphBuilder, number: Value, carried: list[Value]) -> tuple[Value, list[Value]]:
        near, indices, seen = carried
        greatest = b.Slice(near, [0], [1], [1])
        open_ = b.And(b.GreaterOrEqual(np.arange(rows), seen), b.Less(arriving, greatest))
        at = b.ArgMax(b.Cast(open_, to=ir.DataType.INT32), axis=1, keepdims=1)  # the next that gets in
        some = b.GatherElements(open_, at, axis=1)
        new = b.GatherElements(arriving, at, axis=1)
        pushed = _pushed(b, near, indices, new, b.GatherElements(order, at, axis=1), count)
        near, indices = (b.Where(some, p, old) for p, old in zip(pushed, (near, indices), strict=True))
        return any_of(b, some), [near, indices, b.Where(some, b.Add(at, np.int64(1)), np.int64(rows))]

    near, indices, _ = repeat_while(g, rows + 1, start, step)
    sorted_, places = g.TopK(near, [count], axis=1, largest=0, sorted=1, outputs=2)
    return sorted_, g.GatherElements(indices, places, axis=1)


def _pushed(g: GraphBuilder, near: Value, indices: Value, new: Value, index: Value, count: int) -> tuple[Value, Value]:
    """A heap whose root (the greatest) has made place for a new entry, which sinks to where it belongs."""
    places = np.arange(count)
    at = g.Mul(index, np.int64(0))
    sinks = g.Equal(at, at)
    for _ in range(int(np.log2(count))):
        left = g.Add(g.Mul(at, np.int64(2)), np.int64(1))
        right = g.Add(left, np.int64(1))
        left_value, right_value = _entry(g, near, left, count), _entry(g, near, right, count)
        goes_left = g.GreaterOrEqual(left_value, right_value)
        child = g.Where(goes_left, left, right)
        value = g.Where(goes_left, left_value, right_value)
        sinks = g.And(sinks, g.Less(new, value))
        here = g.And(sinks, g.Equal(places, at))
        own = g.GatherElements(indices, g.Min(child, np.int64(count - 1)), axis=1)
        near, indices = g.Where(here, value, near), g.Where(here, own, indices)
        at = g.Where(sinks, child, at)
    here = g.Equal(places, at)
    return g.Where(here, new, near), g.Where(here, index, indices)


def _entry(g: GraphBuilder, near: Value, at: Value, count: int) -> Value:
    """Entry of a heap; below all where there is none."""
    found = g.GatherElements(near, g.Min(at, np.int64(count - 1)), axis=1)
    return g.Where(g.Less(at, np.int64(count)), double(g, found), np.float64(-np.inf))
