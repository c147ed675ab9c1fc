"""Estimators that don't look at the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, MultiClassified, matrix, read, together, unsupported


@symbolic(DIALECT, "sklearn.dummy.DummyRegressor")
def dummy_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """DummyRegressor.predict(X): constant_"""
    read(g, est, "strategy", ignore=("constant",))
    constant = np.asarray(est.constant_).reshape(-1)
    batch = matrix(g, x).dim(0)
    if est.n_outputs_ == 1:
        return g.expand(g.constant(constant), [batch])
    return g.expand(g.constant(constant.reshape(1, -1)), [batch, len(constant)])


@symbolic(DIALECT, "sklearn.dummy.DummyClassifier")
def dummy_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """DummyClassifier.predict(X): the most frequent class (or the constant one) for every row"""
    params = read(g, est, "strategy", "constant")
    if params.strategy not in ("prior", "most_frequent", "constant"):
        raise unsupported(g, est, f"strategy={params.strategy!r}, which is random")
    batch = matrix(g, x).dim(0)
    several = est.n_outputs_ > 1
    constants = params.constant if several and params.constant is not None else [params.constant] * est.n_outputs_
    found = []
    for classes, prior, constant in zip(
        est.classes_ if several else [est.classes_], est.class_prior_ if several else [est.class_prior_], constants,
        strict=True,
    ):  # fmt: skip
        shares = np.asarray(prior, np.float64)
        index = int(np.argmax(shares))
        if params.strategy == "constant":
            index = int(np.flatnonzero(np.asarray(classes) == np.asarray(constant).reshape(-1)[0])[0])
        if params.strategy != "prior":
            shares = np.eye(len(shares))[index]
        proba = g.expand(g.constant(shares.reshape(1, -1)), [batch, len(shares)])
        found.append(Classified(g.expand(g.constant(np.array([index])), [batch]), np.asarray(classes), proba))
    return together(g, found) if several else found[0]
