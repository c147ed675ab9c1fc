"""Ensembles of any estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import cast, common, concat, double
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, Methods, children, classify, read, regress, unsupported

_VOTING = "sklearn.ensemble.Voting"


@children(_VOTING + "Classifier", _VOTING + "Regressor")
def _members(est: Any) -> list[tuple[str, Any]]:
    names = [name for name, member in est.estimators if not (isinstance(member, str) and member == "drop")]
    return list(zip(names, est.estimators_, strict=True))


def _weights(est: Any) -> np.ndarray | None:
    weights = est._weights_not_none
    return None if weights is None else np.asarray(weights)


def average(g: GraphBuilder, parts: list[Value], weights: np.ndarray | None) -> Value:
    """``np.average(parts, axis=0, weights=weights)``, summed in order."""
    dtype = common(*(p.element for p in parts))
    if weights is not None:
        dtype = common(dtype, ir.DataType.from_numpy(weights.dtype))
    kind = dtype.numpy()
    scale = np.array(len(parts) if weights is None else weights.sum(), kind)
    total: Value | None = None
    for i, part in enumerate(parts):
        term = cast(g, part, dtype)
        if weights is not None:
            term = g.Mul(term, weights[i].astype(kind))
        total = term if total is None else g.Add(total, term)
    assert total is not None
    return g.Div(total, scale)


@symbolic(DIALECT, _VOTING + "Classifier")
def voting_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """VotingClassifier: argmax of the members' mean probabilities (soft) or of their votes (hard)"""
    params = read(g, est, "estimators", "voting", "weights", "flatten_transform")
    members = [classify(g, member, x, name) for name, member in _members(est)]
    weights = _weights(est)
    if params.voting == "soft":
        parts = []
        for member in members:
            if member.probabilities is None:
                raise unsupported(g, est, "a member without probabilities")
            parts.append(member.probabilities)
        proba = average(g, parts, weights)
        more = {"transform": lambda: _side_by_side(g, parts, flat=params.flatten_transform)}
        return Classified(labels.first_greatest(g, proba), est.classes_, proba, None, more)
    votes: Value | None = None
    picked = [labels.pick(g, np.asarray(member.classes), member.index) for member in members]
    for i, chosen in enumerate(picked):
        vote = double(g, g.Equal(g.Unsqueeze(chosen, [1]), np.arange(len(est.classes_))))
        if weights is not None:
            vote = g.Mul(vote, np.float64(weights[i]))
        votes = vote if votes is None else g.Add(votes, vote)
    assert votes is not None
    more = {"transform": lambda: concat(g, [g.Unsqueeze(p, [1]) for p in picked])}
    return Classified(labels.first_greatest(g, votes), est.classes_, None, None, more)


def _side_by_side(g: GraphBuilder, parts: list[Value], *, flat: bool) -> Value:
    if flat:
        return concat(g, parts)
    kind = common(*(p.element for p in parts))
    return g.Concat(*(g.Unsqueeze(cast(g, p, kind), [0]) for p in parts), axis=0)


@symbolic(DIALECT, _VOTING + "Regressor")
def voting_regressor(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """VotingRegressor.predict(X): the (weighted) mean of the members' predictions"""
    read(g, est, "estimators", "weights")
    parts = [regress(g, member, x, name) for name, member in _members(est)]
    columns = [p if p.rank == 2 else g.Unsqueeze(p, [1]) for p in parts]
    return Methods(
        {
            "predict": lambda: average(g, parts, _weights(est)),
            "transform": lambda: concat(g, columns),
        }
    )
