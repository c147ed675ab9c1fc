"""A LightGBM model as its text says it: parameters, and trees as one table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...symbolic.errors import CaptureError
from ...symbolic.ml.leaves import LinearLeaves
from ...symbolic.ml.trees import Mode, TreeTable, broken_links
from .text import TextError, TextModel, numbers, read_text, words

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NONE, _ZERO, _NAN = 0, 1, 2
#: Numbers up to this one, and down to its negative, are zero in a row.
ZERO = float(np.float32(1e-35))


@dataclass
class LgbModel:
    """What predicts.

    Attributes:
        objective: Name of the objective; empty where there is none: raw scores.
        parameters: The objective's own parameters: name -> number, or True for a flag.
        features: Number of features.
        outputs: Number of trees of one iteration.
        table: The trees.
        iterations: Number of iterations.
        average: The result is the mean over the iterations (random forest).
        zero_missing: Features in which zero counts as missing.
        categorical: Features that hold category codes.
        linear: Linear models in the leaves; None where a leaf is a number.
        names: Names of the features.
        labels: Labels of the categories of each column that held some in the DataFrame of the fit.
        coded: Features that were categories without an order in the fit.
        rounds: First and end of the iterations that are in the table; None for all.
    """

    objective: str
    parameters: dict[str, Any]
    features: int
    outputs: int
    table: TreeTable
    iterations: int
    average: bool
    zero_missing: np.ndarray
    categorical: np.ndarray
    linear: LinearLeaves | None = None
    names: list[str] = field(default_factory=list)
    labels: list[list[Any]] = field(default_factory=list)
    coded: list[int] = field(default_factory=list)
    rounds: tuple[int, int] | None = None


def read_model(text: str, rounds: tuple[int, int] | None = None) -> LgbModel:
    """The model in a text.

    Args:
        text: The text.
        rounds: Use the trees of these rounds only, first and end.

    Raises:
        CaptureError: It is damaged, or of an unknown release.
    """
    try:
        return _model(read_text(text), rounds)
    except (ValueError, KeyError, IndexError) as error:
        raise CaptureError(f"the LightGBM model is damaged or of an unknown release: {error}") from error


def _model(parts: TextModel, rounds: tuple[int, int] | None) -> LgbModel:
    header = parts.header
    features, outputs = int(header["max_feature_idx"]) + 1, int(header["num_tree_per_iteration"])
    objective, *words = header.get("objective", "").split(" ")
    if len(parts.trees) % outputs:
        raise TextError(f"{len(parts.trees)} trees for {outputs} outputs")
    if rounds is not None:
        parts.trees = parts.trees[rounds[0] * outputs : rounds[1] * outputs]
    kinds = parts.numbers("decision_type", np.int64)
    _check_lengths(parts)
    table = _table(parts, features, outputs, kinds)
    problem = broken_links(table)
    if problem:
        raise TextError(problem)
    table.likely_yes = _likely_yes(parts, table)
    return LgbModel(
        objective="" if objective == "custom" else objective,
        parameters=dict(_parameter(w) for w in words if w),
        features=features,
        outputs=outputs,
        table=table,
        iterations=len(parts.trees) // outputs,
        average="average_output" in header,
        zero_missing=_zero_missing(table, kinds),
        categorical=np.unique(table.feature[table.mode == Mode.MEMBER]),
        linear=_linear(parts, table),
        names=header.get("feature_names", "").split(" "),
        labels=json.loads(parts.categories or "null") or [],
        coded=[
            i for i, told in enumerate(header.get("feature_infos", "").split(" ")) if told[:1] not in ("[", "n", "")
        ],
        rounds=rounds,
    )


def _check_lengths(parts: TextModel) -> None:
    """Each array of a tree has one number for each split, or for each leaf."""
    leaves = parts.counts("num_leaves")
    if np.any(leaves < 1):
        raise TextError("a tree without leaves")
    for key in ("split_feature", "threshold", "decision_type", "left_child", "right_child", "leaf_value"):
        wanted = leaves if key == "leaf_value" else leaves - 1
        found = np.array([words(tree.get(key, "")) for tree in parts.trees], np.int64)
        if not np.array_equal(found, wanted):
            tree = int(np.flatnonzero(found != wanted)[0])
            raise TextError(f"{key} of tree {tree} has {found[tree]} numbers, not {wanted[tree]}")


def _parameter(word: str) -> tuple[str, Any]:
    key, mark, value = word.partition(":")
    return key, float(value) if mark else True


def _table(parts: TextModel, features: int, outputs: int, kinds: np.ndarray) -> TreeTable:
    leaves = parts.counts("num_leaves")
    splits = leaves - 1
    first_split, first_leaf = np.cumsum(splits) - splits, np.cumsum(leaves) - leaves
    split_tree = np.repeat(np.arange(len(leaves)), splits)
    leaf_tree = np.repeat(np.arange(len(leaves)), leaves)

    def child(key: str) -> np.ndarray:
        own = parts.numbers(key, np.int64)
        count = np.where(own < 0, leaves[split_tree], splits[split_tree])
        local = np.where(own < 0, ~own, own)
        if np.any(local >= count):
            raise TextError("nodes of the trees point nowhere")
        moved: np.ndarray = np.where(own < 0, ~(local + first_leaf[split_tree]), local + first_split[split_tree])
        return moved

    threshold = parts.numbers("threshold")
    feature = parts.numbers("split_feature", np.int64)
    by_set = (kinds & _CATEGORICAL) != 0
    missing = (kinds >> 2) & 3
    # where NaN is no missing value, LightGBM takes 0 for it
    as_zero = (missing == _NONE) & (threshold >= 0)
    missing_yes = np.where(by_set, False, np.where(missing == _NONE, as_zero, (kinds & _DEFAULT_LEFT) != 0))
    return TreeTable(
        features=features,
        narrow=False,
        feature=feature,
        threshold=np.where(by_set, threshold, _beside_zero(threshold)),
        mode=np.where(by_set, Mode.MEMBER, Mode.LEQ).astype(np.uint8),
        yes=child("left_child"),
        no=child("right_child"),
        missing_yes=missing_yes,
        split_tree=split_tree,
        leaf_tree=leaf_tree,
        roots=np.where(splits > 0, first_split, ~first_leaf),
        values=parts.numbers("leaf_value").reshape(-1, 1),
        targets=outputs,
        target=(np.arange(len(leaves)) % outputs)[leaf_tree],
        members=_sets(parts, by_set, split_tree, threshold),
    )


def _likely_yes(parts: TextModel, table: TreeTable) -> np.ndarray | None:
    """The splits that sent most training rows to the left; None where the file doesn't count them."""
    split = [tree for tree in parts.trees if tree["num_leaves"] != "1"]
    counted = TextModel({}, split)
    at_splits, at_leaves = counted.numbers("internal_count", np.int64), counted.numbers("leaf_count", np.int64)
    own = np.isin(table.leaf_tree, table.split_tree)
    if len(at_splits) != len(table.feature) or len(at_leaves) != own.sum():
        return None
    rows = np.zeros(len(at_splits) + table.leaves, np.int64)  # by child number: leaves from the end
    rows[: len(at_splits)], rows[::-1][: table.leaves][own] = at_splits, at_leaves
    found: np.ndarray = rows[table.yes] > rows[table.no]
    return found


def _beside_zero(threshold: np.ndarray) -> np.ndarray:
    """Thresholds that answer for a row as it is what LightGBM's answer where it takes small numbers for zero."""
    small = np.abs(threshold) <= ZERO
    moved: np.ndarray = np.where(threshold >= 0, ZERO, np.nextafter(-ZERO, -np.inf))
    return np.where(small, moved, threshold)


def _sets(parts: TextModel, by_set: np.ndarray, split_tree: np.ndarray, threshold: np.ndarray) -> dict[int, np.ndarray]:
    """The categories that go left at each category split; its threshold is the number of its bit set."""
    found: dict[int, np.ndarray] = {}
    words: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for split in np.flatnonzero(by_set).tolist():
        tree = int(split_tree[split])
        if tree not in words:
            own = parts.trees[tree]
            words[tree] = numbers(own["cat_boundaries"], np.int64), numbers(own["cat_threshold"], np.int64)
        ends, bits = words[tree]
        at = int(threshold[split])
        own_bits = bits[ends[at] : ends[at + 1]].astype("<u4")
        found[split] = np.flatnonzero(np.unpackbits(own_bits.view(np.uint8), bitorder="little")).astype(np.float64)
    return found


def _zero_missing(table: TreeTable, kinds: np.ndarray) -> np.ndarray:
    """The features in which zero counts as missing.

    Raises:
        CaptureError: It does in some splits of a feature and not in others.
    """
    numeric = table.mode != Mode.MEMBER
    zero = ((kinds >> 2) & 3) == _ZERO
    found = np.unique(table.feature[numeric & zero])
    mixed = np.intersect1d(found, table.feature[numeric & ~zero])
    if len(mixed):
        raise CaptureError(f"zero is missing in some splits of feature {mixed[0]} and not in others")
    return found


def _linear(parts: TextModel, table: TreeTable) -> LinearLeaves | None:
    if not any(tree.get("is_linear", "0") != "0" for tree in parts.trees):
        return None
    constants, counts = [], []
    for tree in parts.trees:
        if tree.get("is_linear", "0") != "0":
            constants.append(numbers(tree["leaf_const"]))
            counts.append(numbers(tree["num_features"], np.int64))
        else:
            constants.append(numbers(tree["leaf_value"]))
            counts.append(np.zeros(len(constants[-1]), np.int64))
    return LinearLeaves(
        constant=np.concatenate(constants),
        counts=np.concatenate(counts),
        features=parts.numbers("leaf_features", np.int64),
        coefficients=parts.numbers("leaf_coeff"),
        otherwise=table.values[:, 0],
    )
