"""Categorical features in CatBoost's trees: one-hot questions, and statistics of the target (CTR) by category.

A file knows categories by their hashes only. A statistic belongs to a combination of values: categories, answers to
``number > border`` and to ``category is this one``; its table maps the hash of the combination to counts. Known the
categories, the combinations behind each hash are found again, and with them the answer for every row: whatever is no
combination in the table gets the statistic of nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...symbolic.errors import InputSpecError, MissingOp, UnsupportedOps
from .hashing import combined, inverse, powers, signed

#: Most combinations that are tried to find those behind the hashes of a table.
_TRIALS = 50_000_000
_EMPTY = 2**64 - 1


@dataclass(frozen=True)
class Element:
    """A part of a combination.

    Attributes:
        kind: ``category`` (its value), ``above`` (whether a number lies above `value`) or ``equal`` (whether the
            category has the hash `value`).
        feature: Number among the categorical features, or, for ``above``, among the float features.
        value: Border or hash.
        missing: Whether NaN lies above.
    """

    kind: str
    feature: int
    value: float = 0.0
    missing: bool = False


@dataclass(frozen=True)
class Table:
    """Counts by combination.

    Attributes:
        hashes: Hash of each combination, uint64.
        counts: Counts of each: by class, or sum and count, or count alone.
        denominator: Number of all rows, for the kinds that count rows.
    """

    hashes: np.ndarray
    counts: np.ndarray
    denominator: int

    @classmethod
    def of(cls, hashes: np.ndarray, counts: np.ndarray, denominator: int) -> Table:
        """The table without its empty places."""
        used = hashes != np.uint64(_EMPTY)
        return cls(hashes[used], counts[used], denominator)


@dataclass(frozen=True)
class Ctr:
    """A statistic: a column of float32 for the trees.

    Attributes:
        elements: The combination that it belongs to.
        kind: Borders, Buckets, BinarizedTargetMeanValue, FloatTargetMeanValue, Counter or FeatureFreq.
        border: Class border or class that it is about.
        prior: Numerator and denominator that are added.
        shift: Added to the quotient.
        scale: Factor after it.
        table: The counts.
    """

    elements: tuple[Element, ...]
    kind: str
    border: int
    prior: tuple[float, float]
    shift: float
    scale: float
    table: Table

    def values(self) -> tuple[np.ndarray, np.float32]:
        """The statistic of each combination in the table, and of any other, float32."""
        counts = self.table.counts
        if self.kind in ("BinarizedTargetMeanValue", "FloatTargetMeanValue"):
            good, total, nothing = counts[:, 0], counts[:, 1], 0
        elif self.kind in ("Counter", "FeatureFreq"):
            good, nothing = counts[:, 0], self.table.denominator
            total = np.full(len(good), nothing)
        elif self.kind == "Buckets":
            good, total, nothing = counts[:, self.border], counts.sum(axis=1), 0
        elif self.kind == "Borders":
            good, total, nothing = counts[:, self.border + 1 :].sum(axis=1), counts.sum(axis=1), 0
        else:
            raise UnsupportedOps([MissingOp("catboost", f"{self.kind} of categories", 1, ("the trees",))])
        zero = np.zeros(1)
        return self._quotient(good, total), self._quotient(zero, zero + nothing)[0]

    def _quotient(self, good: np.ndarray, total: np.ndarray) -> np.ndarray:
        f = np.float32
        quotient = (good.astype(f) + f(self.prior[0])) / (total.astype(f) + f(self.prior[1]))
        found: np.ndarray = (quotient + f(self.shift)) * f(self.scale)
        return found


@dataclass(frozen=True)
class OneHot:
    """Questions whether a category is one of these: a column with the number of it, from 1; 0 is any other.

    Attributes:
        feature: Number among the categorical features.
        hashes: Their hashes.
    """

    feature: int
    hashes: np.ndarray


@dataclass
class Known:
    """The categories that the caller or the file told.

    Attributes:
        texts: For each categorical feature: hash -> texts that have it.
        hashes: [rows, categorical features], uint32: the rows of the given X; None where there are none.
        numbers: [rows, float features], float32, of the same rows.
    """

    texts: list[dict[int, list[str]]]
    hashes: np.ndarray | None = None
    numbers: np.ndarray | None = None

    def of(self, feature: int) -> np.ndarray:
        """Hashes of the known categories of a feature, sorted, uint32."""
        return np.array(sorted(self.texts[feature]), np.uint32)


@dataclass
class Cells:
    """The combinations behind a table.

    Attributes:
        values: For each element, the value of each combination: hashes of categories, or 0 and 1.
        row: The table's entry of each combination.
    """

    values: list[np.ndarray] = field(default_factory=list)
    row: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


def find_cells(elements: Sequence[Element], hashes: np.ndarray, known: Known, names: Sequence[str]) -> Cells:
    """The combinations of known categories that have these hashes.

    Args:
        elements: The parts of a combination.
        hashes: uint64, all different.
        known: The known categories.
        names: Names of the categorical features, for messages.

    Raises:
        InputSpecError: Some hashes have none: not all categories are known.
        UnsupportedOps: There are too many combinations to try.
    """
    choices = [known.of(e.feature) if e.kind == "category" else np.arange(2, dtype=np.uint32) for e in elements]
    pivot = int(np.argmax([len(c) for c in choices]))
    trials = len(hashes) * int(np.prod([len(c) for i, c in enumerate(choices) if i != pivot], dtype=float))
    seen = _seen(elements, hashes, known)
    if len(np.unique(seen.row)) == len(hashes):
        return seen
    found = _solve(elements, choices, pivot, hashes) if trials <= _TRIALS else seen
    missing = len(hashes) - len(np.unique(found.row))
    if not missing:
        return found
    named = " and ".join(dict.fromkeys(names[e.feature] for e in elements if e.kind == "category"))
    if trials > _TRIALS and all(len(c) for c in choices) and known.hashes is None:
        reason = f"statistics of {named} together, which have too many combinations: give the training data as X"
        raise UnsupportedOps([MissingOp("catboost", reason, 1, ("the trees",))])
    raise unknown(named, missing, len(hashes))


def unknown(names: str, missing: int, count: int) -> InputSpecError:
    """The refusal of a model whose categories are not all known."""
    return InputSpecError(
        f"the model knows the categories of {names} by hashes, and {missing} of {count} have no known text: give the "
        "training data as X, or categories={feature: values}, or a JSON file saved with pool="
    )


def _seen(elements: Sequence[Element], hashes: np.ndarray, known: Known) -> Cells:
    """The combinations that the rows of the given X have."""
    if known.hashes is None or known.numbers is None:
        return Cells([np.zeros(0, np.uint32) for _ in elements])
    columns = []
    for e in elements:
        if e.kind == "above":
            own = known.numbers[:, e.feature]
            columns.append(((own > np.float32(e.value)) | (np.isnan(own) & e.missing)).astype(np.uint32))
        elif e.kind == "equal":
            columns.append((known.hashes[:, e.feature] == np.uint32(int(e.value))).astype(np.uint32))
        else:
            columns.append(known.hashes[:, e.feature])
    rows = np.unique(np.stack(columns, axis=1), axis=0)
    values = [rows[:, i] for i in range(len(elements))]
    order = np.argsort(hashes)
    own = combined([_entering(e, v) for e, v in zip(elements, values, strict=True)])
    at = np.minimum(np.searchsorted(hashes, own, sorter=order), len(hashes) - 1)
    inside = hashes[order[at]] == own if len(hashes) else np.zeros(len(own), bool)
    return Cells([v[inside] for v in values], order[at[inside]])


def _solve(elements: Sequence[Element], choices: list[np.ndarray], pivot: int, hashes: np.ndarray) -> Cells:
    """All combinations with these hashes: the others are tried, the value of the pivot follows from the hash."""
    factors = powers(len(elements))
    entering = [_entering(e, c) for e, c in zip(elements, choices, strict=True)]
    others = [i for i in range(len(elements)) if i != pivot]
    grid = np.indices([len(choices[i]) for i in others]).reshape(len(others), -1) if others else np.zeros((0, 1), int)
    partial = np.zeros(grid.shape[1], np.uint64)
    for i, at in zip(others, grid, strict=True):
        partial = partial + np.uint64(factors[i]) * entering[i][at]
    order = np.argsort(entering[pivot])
    wanted, undo = entering[pivot][order], np.uint64(inverse(factors[pivot]))
    rows, places, pivots = [], [], []
    step = max(1, 1_000_000 // max(1, len(partial)))
    for start in range(0, len(hashes) if len(wanted) else 0, step):
        needed = (hashes[start : start + step, None] - partial[None, :]) * undo
        at = np.minimum(np.searchsorted(wanted, needed), len(wanted) - 1)
        row, place = np.nonzero(wanted[at] == needed)
        rows.append(row + start)
        places.append(place)
        pivots.append(order[at[row, place]])
    row, place, chosen = (np.concatenate(a) if a else np.zeros(0, np.int64) for a in (rows, places, pivots))
    values: list[np.ndarray] = [choices[i] for i in range(len(elements))]
    values[pivot] = choices[pivot][chosen]
    for i, at in zip(others, grid, strict=True):
        values[i] = choices[i][at[place]]
    return Cells(values, row)


def _entering(element: Element, values: np.ndarray) -> np.ndarray:
    """Values of an element as they enter the hash."""
    return signed(values) if element.kind == "category" else values.astype(np.uint64)
