"""Isolation forests, and the embedding by the leaves of random trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml.packing import in_order, leaf_numbers
from ..registry import symbolic
from .calling import DIALECT, Features, Methods, Sparse, matrix, read
from .forests import read_trees
from .neighbors import outliers


def _path_length(samples: np.ndarray) -> np.ndarray:
    """Mean depth at which a search for a missing number ends among so many samples."""
    count = np.maximum(np.asarray(samples, np.float64), 3.0)
    found = 2.0 * (np.log(count - 1.0) + np.euler_gamma) - 2.0 * (count - 1.0) / count
    return np.where(samples <= 1, 0.0, np.where(samples == 2, 1.0, found))


@symbolic(DIALECT, "sklearn.ensemble.IsolationForest")
def isolation_forest(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """IsolationForest.score_samples(X): -2 ** -(mean depth over the trees / the depth expected of max_samples_)"""
    read(g, est, ignore=("contamination",))
    trees = [t.tree_ for t in est.estimators_]
    depths = [t.compute_node_depths() + _path_length(t.n_node_samples) - 1.0 for t in trees]
    table = read_trees(
        trees, est.n_features_in_, values=[d.reshape(-1, 1) for d in depths], columns=est.estimators_features_
    )
    if isinstance(x, Sparse):  # there scikit-learn lets missing values go right at every split
        table = replace(table, missing_yes=np.zeros_like(table.missing_yes))
    terms = g.Gather(table.values[:, 0].copy(), leaf_numbers(g, matrix(g, x), table), axis=0)
    depth = g.Squeeze(in_order(g, g.Unsqueeze(terms, [2]), 1), [1])
    whole = len(trees) * float(_path_length(np.array([est._max_samples]))[0])
    share = g.Div(depth, np.float64(whole)) if whole else g.Where(g.Equal(depth, depth), np.float64(1), np.float64(1))
    return outliers(g, g.Neg(g.Pow(np.float64(2), g.Neg(share))), est.offset_)


@symbolic(DIALECT, "sklearn.ensemble.RandomTreesEmbedding")
def random_trees_embedding(g: GraphBuilder, x: Features, est: Any) -> Sparse:
    """RandomTreesEmbedding.transform(X): for each leaf of each tree whether X reaches it"""
    read(g, est, ignore=("sparse_output",))
    rows, trees = matrix(g, x), [t.tree_ for t in est.estimators_]
    table = read_trees(trees, est.n_features_in_)
    known = est.one_hot_encoder_.categories_
    first = np.cumsum([0, *(len(c) for c in known)])
    # the nodes of a tree that are leaves, in order: the leaves of the table
    column = [
        first[i] + np.searchsorted(known[i], np.flatnonzero(tree.children_left == -1)) for i, tree in enumerate(trees)
    ]
    total = int(first[-1])
    reached = g.Gather(np.concatenate(column), leaf_numbers(g, rows, replace(table, target=None)), axis=0)
    at = g.Transpose(reached, perm=[1, 0])
    empty = g.expand(g.constant(np.zeros((1, 1))), [rows.dim(0), total])
    ones = g.expand(g.constant(np.ones((1, 1))), [rows.dim(0), len(trees)])
    return Sparse(g.ScatterElements(empty, at, ones, axis=1))
