"""Connectionist temporal classification: the forward algorithm, in logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .loss import reduced
from .promotion import DataType, cast, value_of
from .shape import size_at

_END = np.iinfo(np.int64).max


def _lengths(g: GraphBuilder, lengths: Any) -> Value:
    """Lengths as an int64 vector."""
    if not isinstance(lengths, Value):
        return g.shape_vector(list(lengths))
    return g.reshape(cast(g, lengths, DataType.INT64), [-1])


def _padded(g: GraphBuilder, targets: Value, lengths: Value) -> Value:
    """Labels as (batch, longest); labels in one row are cut by their lengths."""
    targets = cast(g, targets, DataType.INT64)
    if targets.rank == 2:
        return targets
    first = g.Sub(g.CumSum(lengths, g.constant(np.array(0, np.int64))), lengths)
    index = g.Add(g.Unsqueeze(first, [1]), g.Range(0, g.ReduceMax(lengths, keepdims=0), 1))
    last = g.Sub(g.Squeeze(g.Shape(targets), [0]), 1)
    return g.Gather(targets, g.Min(index, last), axis=0)


def _with_blanks(g: GraphBuilder, labels: Value, blank: int) -> Value:
    """A blank before, between and after the labels: (batch, 2 * longest + 1)."""
    blanks = g.Add(g.Mul(labels, 0), blank)
    pairs = g.Reshape(g.Concat(g.Unsqueeze(blanks, [2]), g.Unsqueeze(labels, [2]), axis=2), [0, -1])
    column = g.expand(value_of(g, blank, DataType.INT64), [size_at(g, labels, 0), 1])
    return g.Concat(pairs, column, axis=1)


def _log_sum(g: GraphBuilder, terms: Sequence[Value]) -> Value:
    top = g.Max(*terms)
    top = g.Where(g.Equal(top, -np.inf), 0.0, top)
    total = g.Exp(g.Sub(terms[0], top))
    for term in terms[1:]:
        total = g.Add(total, g.Exp(g.Sub(term, top)))
    return g.Add(g.Log(total), top)


def _forward(g: GraphBuilder, scores: Value, skips: Value, input_lengths: Value) -> Value:
    """Log-probability of every state after the last step of each sequence: (batch, states)."""
    dtype = scores.element
    lowest = value_of(g, -np.inf, dtype)
    states = g.Squeeze(g.Shape(skips, start=1, end=2), [0])
    first = g.Gather(scores, g.constant(np.array(0, np.int64)), axis=0)
    begins = g.Where(g.Less(g.Range(0, states, 1), 2), first, lowest)
    body = g.subgraph("steps")
    index = body.input("index", DataType.INT64, [])
    body.input("running", DataType.BOOL, [])
    alpha = body.input("alpha", dtype, begins.sizes)
    step = body.Add(index, 1)
    column = body.Slice(body.Where(body.Equal(alpha, alpha), lowest, lowest), [0], [2], [1])
    shifted = body.Concat(column, alpha, axis=1)  # two states more in front
    one = body.Slice(shifted, [1], [-1], [1])
    two = body.Where(skips, body.Slice(shifted, [0], [-2], [1]), lowest)
    now = body.Add(_log_sum(body, [alpha, one, two]), body.Gather(scores, step, axis=0))
    going = body.Unsqueeze(body.Less(step, input_lengths), [1])
    body.output(body.constant(np.array(True)))
    body.output(body.Where(going, now, alpha))
    count = g.Sub(g.Squeeze(g.Shape(scores, start=0, end=1), [0]), 1)
    result: Value = g.call("Loop", count, None, begins, body=body, outputs=1)
    return result


@symbolic("aten", "ctc_loss.IntList", "ctc_loss.Tensor")
def ctc_loss(
    g: GraphBuilder, log_probs: Value, targets: Value, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 1, zero_infinity: bool = False,
) -> Value:  # fmt: skip
    """aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, ...)"""
    single = log_probs.rank == 2
    if single:
        log_probs = g.Unsqueeze(log_probs, [1])
        targets = g.Unsqueeze(targets, [0]) if targets.rank == 1 else targets
    inputs, lengths = _lengths(g, input_lengths), _lengths(g, target_lengths)
    states = _with_blanks(g, _padded(g, targets, lengths), blank)
    # a label may follow another one without a blank, unless they are equal
    label = g.Not(g.Equal(states, blank))
    before = g.Concat(g.Slice(states, [0], [2], [1]), g.Slice(states, [0], [-2], [1]), axis=1)
    before = g.Slice(before, [0], g.Shape(states, start=1, end=2), [1])
    skips = g.And(label, g.Not(g.Equal(states, before)))
    steps = g.Shape(log_probs, start=0, end=1)
    index = g.Expand(g.Unsqueeze(states, [0]), g.Concat(steps, g.Shape(states), axis=0))
    scores = g.GatherElements(log_probs, index, axis=2)
    alpha = _forward(g, scores, skips, inputs)
    ends = g.Unsqueeze(g.Mul(lengths, 2), [1])
    last = g.GatherElements(alpha, ends, axis=1)
    label_last = g.GatherElements(alpha, g.Max(g.Sub(ends, 1), 0), axis=1)
    none = g.Equal(ends, 0)
    total = g.Where(none, last, _log_sum(g, [last, label_last]))
    # a sequence without steps has only the empty labelling
    idle = g.Where(none, value_of(g, 0.0, total.element), value_of(g, -np.inf, total.element))
    total = g.Where(g.Equal(g.Unsqueeze(inputs, [1]), 0), idle, total)
    loss = g.Neg(g.Squeeze(total, [1]))
    if zero_infinity:
        loss = g.Where(g.Equal(loss, np.inf), 0.0, loss)
    if reduction == 1:
        return reduced(g, g.Div(loss, cast(g, g.Max(lengths, 1), loss.element)), reduction)
    loss = reduced(g, loss, reduction)
    return g.Squeeze(loss, [0]) if single and reduction == 0 else loss
