"""Einsum by products of matrices: it came with opset 12."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..registry import symbolic
from .common import known_rank

if TYPE_CHECKING:
    from ..builder import GraphBuilder
    from ..value import Value

#: Letters that stand for the axes of an ellipsis, from the last one backwards.
_HIDDEN = "".join(chr(0x3B1 + i) for i in range(24))


@symbolic("onnx", "Einsum", until=11)
def einsum(g: GraphBuilder, *Inputs: Value, equation: str) -> Any:
    """(inputs..., equation) -> output: two operands at a time, as one matrix product"""
    terms, result = _terms(equation, [known_rank(g, x, "Einsum", 12) for x in Inputs])
    operands = [_diagonals(g, x, t) for x, t in zip(Inputs, terms, strict=True)]
    current, term = operands[0]
    for i, (other, other_term) in enumerate(operands[1:], start=1):
        needed = set(result).union(*(t for _, t in operands[i + 1 :]))
        current, term = _product(g, current, term, other, other_term, needed)
    current, term = _summed(g, current, term, set(result))
    return _arranged(g, current, term, result)


def _terms(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """Letters of each operand and of the result, ellipses written out."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms, longest = [], 0
    for term, rank in zip(left.split(","), ranks, strict=True):
        hidden = rank - len(term.replace("...", "")) if "..." in term else 0
        longest = max(longest, hidden)
        terms.append(term.replace("...", _HIDDEN[:hidden][::-1]))
    ellipsis = _HIDDEN[:longest][::-1]
    if arrow:
        return terms, right.replace("...", ellipsis)
    letters = "".join(terms)
    return terms, ellipsis + "".join(sorted(c for c in set(letters) - set(ellipsis) if letters.count(c) == 1))


def _diagonals(g: GraphBuilder, x: Value, term: str) -> tuple[Value, str]:
    """Takes the diagonal of axes that share a letter."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            term = "".join(c for i, c in enumerate(term) if i not in (first, second)) + letter
            order = [i for i in range(len(term) + 1) if i not in (first, second)] + [first, second]
            moved = g.Transpose(x, perm=order)
            size = g.Gather(g.Shape(moved), len(order) - 1, axis=0)
            same = g.Unsqueeze(g.Range(0, size, 1), [1])
            lead = g.Slice(g.Shape(moved), [0], [len(order) - 1])
            index = g.Expand(same, g.Concat(lead, [1], axis=0))
            x = g.Squeeze(g.GatherElements(moved, index, axis=-1), [-1])
    return x, term


def _summed(g: GraphBuilder, x: Value, term: str, kept: set[str]) -> tuple[Value, str]:
    axes = [i for i, c in enumerate(term) if c not in kept]
    if not axes:
        return x, term
    return g.ReduceSum(x, axes, keepdims=0), "".join(c for c in term if c in kept)


def _without_ones(g: GraphBuilder, x: Value, term: str, letters: set[str]) -> tuple[Value, str]:
    """Drops axes of one element: they stand for any size of the other operand, which is summed."""
    axes = [i for i, c in enumerate(term) if c in letters and x.sizes is not None and x.sizes[i] == 1]
    if not axes:
        return x, term
    return g.Squeeze(x, axes), "".join(c for i, c in enumerate(term) if i not in axes)


def _arranged(g: GraphBuilder, x: Value, term: str, wanted: str) -> Any:
    """Axes in the wanted order."""
    if term == wanted:
        return x
    return g.Transpose(x, perm=[term.index(c) for c in wanted])


def _product(g: GraphBuilder, a: Value, term_a: str, b: Value, term_b: str, needed: set[str]) -> tuple[Value, str]:
    """Product of two operands, summed over the letters that nobody needs any more."""
    a, term_a = _without_ones(g, a, term_a, set(term_b) - needed)
    b, term_b = _without_ones(g, b, term_b, set(term_a) - needed)
    a, term_a = _summed(g, a, term_a, needed | set(term_b))
    b, term_b = _summed(g, b, term_b, needed | set(term_a))
    shared = [c for c in term_a if c in term_b]
    batch, inner = [c for c in shared if c in needed], [c for c in shared if c not in needed]
    rows, columns = [c for c in term_a if c not in shared], [c for c in term_b if c not in shared]
    if not inner:  # nothing to sum: a broadcast product
        order = batch + rows + columns
        left = g.Unsqueeze(_arranged(g, a, term_a, "".join(batch + rows)), _span(len(batch + rows), len(columns)))
        right = _arranged(g, b, term_b, "".join(batch + columns))
        return g.Mul(left, g.Unsqueeze(right, _span(len(batch), len(rows)))), "".join(order)
    left = _folded(g, _arranged(g, a, term_a, "".join(batch + rows + inner)), len(batch), len(rows), len(inner))
    right = _folded(g, _arranged(g, b, term_b, "".join(batch + inner + columns)), len(batch), len(inner), len(columns))
    return _unfolded(g, g.MatMul(left, right), a, term_a, b, term_b, batch, rows, columns), "".join(
        batch + rows + columns
    )


def _span(start: int, count: int) -> list[int]:
    return list(range(start, start + count))


def _folded(g: GraphBuilder, x: Value, batch: int, first: int, second: int) -> Value:
    """Axes behind the batch as exactly two; batch axes stay, so that they broadcast."""
    if (first, second) == (1, 1):
        return x
    shape = g.Shape(x)
    sizes = [
        g.ReduceProd(g.Slice(shape, [start], [start + count]), keepdims=1) if count else g.constant([1])
        for start, count in ((batch, first), (batch + first, second))
    ]
    return g.Reshape(x, g.Concat(g.Slice(shape, [0], [batch]), *sizes, axis=0))


def _unfolded(
    g: GraphBuilder, x: Value, a: Value, term_a: str, b: Value, term_b: str,
    batch: list[str], rows: list[str], columns: list[str],
) -> Value:  # fmt: skip
    """Gives the rows and columns of a matrix product their axes back."""
    if (len(rows), len(columns)) == (1, 1):
        return x
    lead = g.Slice(g.Shape(x), [0], [len(batch)])
    parts = [g.Gather(g.Shape(a), [term_a.index(c) for c in rows], axis=0)] if rows else []
    parts += [g.Gather(g.Shape(b), [term_b.index(c) for c in columns], axis=0)] if columns else []
    return g.Reshape(x, g.Concat(lead, *parts, axis=0) if parts else lead)
