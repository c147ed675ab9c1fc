"""Decision trees and forests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..errors import TranslationError
from ..ml import labels
from ..ml.packing import sum_trees
from ..ml.trees import TreeTable, from_nodes
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, Maker, Methods, MultiClassified, matrix, read, together
from .paths import tree_paths

_FIELDS = ("left_child", "right_child", "feature", "threshold", "missing_go_to_left", "n_node_samples")


def read_trees(
    trees: Sequence[Any],
    features: int,
    *,
    outputs: int | None = None,
    scale: float | None = None,
    values: Sequence[np.ndarray] | None = None,
    columns: Sequence[np.ndarray] | None = None,
) -> TreeTable:
    """The table of fitted scikit-learn trees (``tree_`` of an estimator).

    Args:
        trees: The ``tree_`` objects.
        features: Number of features.
        outputs: Tree i of a booster gives one value, to output ``i % outputs``; each tree gives to all where None.
        scale: Factor on the values.
        values: Values of the nodes of each tree, [nodes, K]; those that the tree holds where None.
        columns: Features that each tree sees; all where None.
    """
    nodes = [t.__getstate__()["nodes"] for t in trees]
    counts = [len(n) for n in nodes]
    left, right, feature, threshold, missing_left, rows = (np.concatenate([n[f] for n in nodes]) for f in _FIELDS)
    held = np.concatenate([t.value.reshape(t.node_count, -1) for t in trees] if values is None else list(values))
    if scale is not None:
        held = scale * held
    is_leaf = left == -1
    _check_nodes(left, right, feature, ~is_leaf, counts, features)
    if columns is not None:
        feature = np.concatenate([
            np.asarray(seen)[np.maximum(t.feature, 0)] for seen, t in zip(columns, trees, strict=True)
        ])  # fmt: skip
    return from_nodes(
        counts,
        features=features,
        narrow=True,
        left=left,
        right=right,
        is_leaf=is_leaf,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        values=held,
        targets=outputs or held.shape[1],
        tree_target=None if outputs is None else np.arange(len(trees)) % outputs,
        rows=rows,
    )


def _check_nodes(
    left: np.ndarray, right: np.ndarray, feature: np.ndarray, split: np.ndarray, counts: list[int], features: int
) -> None:
    """Refuses nodes that point outside their tree: scikit-learn would read past its memory, or run for ever."""
    sizes = np.asarray(counts)
    number = np.arange(len(split)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    count = np.repeat(sizes, sizes)
    sound = (feature >= 0) & (feature < features)
    for child in (left, right):  # a child always comes after its parent
        sound &= (child > number) & (child < count)
    broken = int((split & ~sound).sum())
    if broken:
        raise TranslationError(f"{broken} nodes of the trees point nowhere: the model is damaged")


_TREE = ("sklearn.tree.DecisionTree{}", "sklearn.tree.ExtraTree{}")
_FOREST = ("sklearn.ensemble.RandomForest{}", "sklearn.ensemble.ExtraTrees{}")


def _votes(g: GraphBuilder, x: Features, est: Any) -> tuple[Value, dict[str, Maker]]:
    """Mean of what the trees give, and the methods that tell the way of a row."""
    forest = hasattr(est, "estimators_")
    trees = [t.tree_ for t in est.estimators_] if forest else [est.tree_]
    table, rows = read_trees(trees, est.n_features_in_), matrix(g, x)
    total = sum_trees(g, rows, table)
    mean = total if len(trees) == 1 else g.Div(total, np.float64(len(trees)))
    return mean, tree_paths(g, rows, trees, table, forest=forest)


@symbolic(DIALECT, *(n.format("Classifier") for n in (*_TREE, *_FOREST)))
def tree_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """RandomForestClassifier.predict_proba(X): mean over the trees of the class shares in the leaf of a row"""
    read(g, est)
    shares, paths = _votes(g, x, est)
    if est.n_outputs_ == 1:
        return Classified(labels.first_greatest(g, shares), est.classes_, shares, more=paths)
    # the trees hold as many columns for each output as the one of most classes has
    widest, found = max(len(c) for c in est.classes_), []
    for k, classes in enumerate(est.classes_):
        own = g.Slice(shares, [k * widest], [k * widest + len(classes)], [1])
        found.append(Classified(labels.first_greatest(g, own), np.asarray(classes), own))
    return replace(together(g, found), more=paths)


@symbolic(DIALECT, *(n.format("Regressor") for n in (*_TREE, *_FOREST)))
def tree_regressor(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """RandomForestRegressor.predict(X): mean over the trees of the value in the leaf of a row"""
    read(g, est)
    mean, paths = _votes(g, x, est)
    predicted = mean if est.n_outputs_ > 1 else g.Squeeze(mean, [1])
    return Methods({"predict": lambda: predicted, **paths})
