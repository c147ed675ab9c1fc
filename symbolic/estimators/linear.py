"""Linear regressors and classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import clip, double
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, matrix, read, unsupported

_MODULE = "sklearn.linear_model."


@symbolic(
    DIALECT,
    *(
        _MODULE + name
        for name in (
            "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV",
            "LassoLars", "LassoLarsCV", "LassoLarsIC", "BayesianRidge", "ARDRegression", "HuberRegressor",
            "TheilSenRegressor", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV", "SGDRegressor",
            "MultiTaskLasso", "MultiTaskElasticNet", "MultiTaskLassoCV", "MultiTaskElasticNetCV", "QuantileRegressor",
            "PassiveAggressiveRegressor",
        )
    ),
    "sklearn.svm.LinearSVR",
)  # fmt: skip
def linear_regression(g: GraphBuilder, x: Features, est: Any) -> Value:
    """LinearRegression.predict(X): X @ coef_.T + intercept_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of a linear regressor acts after the fit
    coefficients = np.asarray(est.coef_)
    rows = matrix(g, x)
    found = affine(g, rows, coefficients, est.intercept_)
    if coefficients.ndim == 2 and type(est).__name__ in ("SGDRegressor", "PassiveAggressiveRegressor", "LinearSVR"):
        return g.reshape(found, [rows.dim(0)])
    return found


def decision(g: GraphBuilder, x: Features, est: Any) -> Value:
    """``decision_function`` of a linear classifier: [batch] for two classes, else [batch, classes]."""
    coefficients, intercept = np.asarray(est.coef_), np.asarray(est.intercept_)
    if coefficients.ndim == 2 and coefficients.shape[0] == 1:
        return affine(g, matrix(g, x), coefficients[0], np.atleast_1d(intercept)[:1])
    return affine(g, matrix(g, x), coefficients, intercept)


def by_score(g: GraphBuilder, scores: Value) -> Value:
    """Class index of linear scores: above 0, or the greatest."""
    return labels.above(g, scores) if scores.rank == 1 else labels.first_greatest(g, scores)


def one_versus_rest(g: GraphBuilder, scores: Value) -> Value:
    """``_predict_proba_lr``: the logistic function of each score, as shares of their sum."""
    positive = labels.sigmoid(g, scores)
    return labels.two_columns(g, positive) if scores.rank == 1 else labels.shares(g, positive)


@symbolic(DIALECT, _MODULE + "LogisticRegression", _MODULE + "LogisticRegressionCV")
def logistic_regression(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LogisticRegression.predict_proba(X): softmax (logistic for two classes) of X @ coef_.T + intercept_"""
    params = read(g, est, "solver", "multi_class", ignore=("Cs", "use_legacy_attributes"))
    scores = decision(g, x, est)
    multi_class = getattr(params, "multi_class", None)
    if multi_class not in (None, "auto", "deprecated", "warn", "ovr", "multinomial"):
        raise unsupported(g, est, f"multi_class={multi_class!r}")
    ovr = multi_class == "ovr" or (params.solver == "liblinear" and len(est.classes_) > 2)
    if scores.rank == 1:
        if multi_class == "multinomial":  # releases before 1.8 take softmax of [-score, score]
            raise unsupported(g, est, "multi_class='multinomial' with two classes")
        proba = labels.two_columns(g, labels.sigmoid(g, scores))
    else:
        proba = one_versus_rest(g, scores) if ovr else labels.softmax(g, scores)
    return Classified(by_score(g, scores), est.classes_, proba, scores)


@symbolic(DIALECT, _MODULE + "SGDClassifier")
def sgd_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """SGDClassifier.decision_function(X): X @ coef_.T + intercept_; probabilities for log_loss and modified_huber"""
    params = read(g, est, "loss", ignore=("learning_rate",))
    scores = decision(g, x, est)
    proba = None
    if params.loss == "log_loss":
        proba = one_versus_rest(g, scores)
    elif params.loss == "modified_huber":
        proba = _modified_huber(g, scores)
    return Classified(by_score(g, scores), est.classes_, proba, scores)


def _modified_huber(g: GraphBuilder, scores: Value) -> Value:
    """``(clip(score, -1, 1) + 1) / 2``, as shares of their sum for more classes; equal shares where all are 0."""
    if scores.rank == 1:
        scores = double(g, scores)
    kind = scores.element.numpy().type
    half = g.Div(g.Add(clip(g, scores, -1.0, 1.0), kind(1)), kind(2))
    return labels.two_columns(g, half) if scores.rank == 1 else labels.shares(g, half)


@symbolic(
    DIALECT,
    "sklearn.svm.LinearSVC",
    _MODULE + "RidgeClassifier",
    _MODULE + "RidgeClassifierCV",
    _MODULE + "Perceptron",
    _MODULE + "PassiveAggressiveClassifier",
)
def linear_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LinearSVC.decision_function(X): X @ coef_.T + intercept_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of these acts after the fit
    binarizer = getattr(est, "_label_binarizer", None)
    if binarizer is not None and str(binarizer.y_type_).startswith("multilabel"):
        raise unsupported(g, est, "several labels for each row")
    scores = decision(g, x, est)
    return Classified(by_score(g, scores), est.classes_, None, scores)


@symbolic(DIALECT, "sklearn.discriminant_analysis.LinearDiscriminantAnalysis")
def linear_discriminant_analysis(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LinearDiscriminantAnalysis.predict_proba(X): softmax (logistic for two classes) of X @ coef_.T + intercept_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of it acts after the fit
    scores = decision(g, x, est)
    proba = labels.two_columns(g, labels.sigmoid(g, scores)) if scores.rank == 1 else labels.softmax(g, scores)
    return Classified(by_score(g, scores), est.classes_, proba, scores)
