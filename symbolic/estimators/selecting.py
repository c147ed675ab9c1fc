"""Choice of a model or of features: what was chosen does the work."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..registry import symbolic
from ..value import Value
from .calling import (
    DIALECT,
    Classified,
    Features,
    Methods,
    Result,
    call,
    children,
    find,
    invert,
    matrix,
    read,
    regress,
    select,
    unsupported,
    values,
)

_SEARCH = tuple(
    f"sklearn.model_selection.{n}"
    for n in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
)
_SELECTORS = tuple(
    f"sklearn.feature_selection.{n}"
    for n in (
        "GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFromModel", "SelectFwe", "SelectKBest",
        "SelectPercentile", "SequentialFeatureSelector", "VarianceThreshold",
    )
)  # fmt: skip
_ELIMINATION = ("sklearn.feature_selection.RFE", "sklearn.feature_selection.RFECV")


@children(*_SEARCH)
def _best(est: Any) -> list[tuple[str, Any]]:
    return [("best_estimator_", est.best_estimator_)]


@symbolic(DIALECT, *_SEARCH)
def search(g: GraphBuilder, x: Features, est: Any) -> Result:
    """GridSearchCV: best_estimator_ on X"""
    return call(g, est.best_estimator_, x, "best_estimator_")


_INNER = {
    "sklearn.semi_supervised.SelfTrainingClassifier": "estimator_",
    "sklearn.linear_model.RANSACRegressor": "estimator_",
}


@children(*_INNER)
def _inner(est: Any) -> list[tuple[str, Any]]:
    return [("estimator_", est.estimator_)]


@symbolic(DIALECT, *_INNER)
def inner(g: GraphBuilder, x: Features, est: Any) -> Result:
    """SelfTrainingClassifier.predict(X): estimator_ on X"""
    read(g, est, ignore=tuple(est._get_param_names()))  # all of them act on the fit
    return call(g, est.estimator_, x, "estimator_")


@children("sklearn.frozen.FrozenEstimator")
def _frozen(est: Any) -> list[tuple[str, Any]]:
    return [("estimator", est.estimator)]


@symbolic(DIALECT, "sklearn.frozen.FrozenEstimator")
def frozen(g: GraphBuilder, x: Features, est: Any) -> Result:
    """FrozenEstimator: estimator on X"""
    return call(g, est.estimator, x, "estimator")


@symbolic(DIALECT, *_SELECTORS, *(f"{n}.transform" for n in _ELIMINATION))
def selector(g: GraphBuilder, x: Features, est: Any) -> Features:
    """SelectKBest.transform(X): the columns of get_support()"""
    read(g, est, ignore=tuple(est._get_param_names()))  # all of them act on the choice, which is made
    kept = np.flatnonzero(est.get_support())
    if not len(kept):
        raise unsupported(g, est, "it keeps no columns at all")
    return select(g, matrix(g, x), [int(i) for i in kept])


@symbolic(DIALECT, *_ELIMINATION)
def elimination(g: GraphBuilder, x: Features, est: Any) -> Result:
    """RFE.predict(X): estimator_ on the columns of get_support()"""
    chosen = selector(g, x, est)
    if find(est.estimator_, g.opset) is None:  # it may have been fitted for the choice only
        return chosen
    result = call(g, est.estimator_, chosen, "estimator_")
    more = {"transform": lambda: matrix(g, chosen)}
    if isinstance(result, Classified):
        return Classified(result.index, est.classes_, result.probabilities, result.scores, more)
    methods = ("predict", "predict_proba", "decision_function")
    return Methods({**more, **{m: partial(values, g, est.estimator_, result, m) for m in methods}})


@children("sklearn.compose.TransformedTargetRegressor")
def _regressor(est: Any) -> list[tuple[str, Any]]:
    return [("regressor_", est.regressor_)]


@symbolic(DIALECT, "sklearn.compose.TransformedTargetRegressor")
def transformed_target(g: GraphBuilder, x: Features, est: Any) -> Value:
    """TransformedTargetRegressor.predict(X): transformer_.inverse_transform of what regressor_ predicts"""
    read(g, est, "regressor", "transformer", "func", "inverse_func", ignore=("check_inverse",))
    found = regress(g, est.regressor_, x, "regressor_")
    column = found if found.rank == 2 else g.Unsqueeze(found, [1])
    result = invert(g, est.transformer_, column, "transformer_")
    return g.Squeeze(result, [1]) if est._training_dim == 1 and result.dim(1) == 1 else result
