"""Linear regressors and classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import as_float, cast, clip, double, numbers
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import (
    DIALECT,
    Classified,
    Features,
    Methods,
    MultiClassified,
    matrix,
    read,
    unsupported,
)

_MODULE = "sklearn.linear_model."


@symbolic(
    DIALECT,
    *(
        _MODULE + name
        for name in (
            "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV",
            "LassoLars", "LassoLarsCV", "LassoLarsIC", "HuberRegressor",
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


@symbolic(DIALECT, _MODULE + "BayesianRidge", _MODULE + "ARDRegression")
def bayesian_regression(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """BayesianRidge.predict(X): X @ coef_.T + intercept_, and its deviation on request"""
    read(g, est, "threshold_lambda", ignore=tuple(est._get_param_names()))  # no other acts after the fit
    rows = matrix(g, x)

    def deviation() -> Value:
        used = numbers(g, "Sub", rows, np.asarray(est.X_offset_))
        if hasattr(est, "threshold_lambda"):
            used = g.Gather(used, np.flatnonzero(est.lambda_ < est.threshold_lambda), axis=1)
        turned = affine(g, used, np.asarray(est.sigma_).T, 0.0)
        spread = g.ReduceSum(g.Mul(turned, cast(g, used, turned.element)), [1], keepdims=0)
        return g.Sqrt(numbers(g, "Add", spread, np.asarray(1.0 / est.alpha_)))

    mean = affine(g, rows, np.asarray(est.coef_), est.intercept_)
    return Methods({"predict": lambda: mean, "predict_std": deviation})


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
def linear_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """LinearSVC.decision_function(X): X @ coef_.T + intercept_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of these acts after the fit
    binarizer = getattr(est, "_label_binarizer", None)
    if binarizer is not None and str(binarizer.y_type_).startswith("multilabel"):
        scores = affine(g, matrix(g, x), np.asarray(est.coef_), np.asarray(est.intercept_))
        return MultiClassified(labels.above(g, scores), None, scores)
    scores = decision(g, x, est)
    return Classified(by_score(g, scores), est.classes_, None, scores)


@symbolic(DIALECT, "sklearn.discriminant_analysis.LinearDiscriminantAnalysis")
def linear_discriminant_analysis(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """LinearDiscriminantAnalysis.predict_proba(X): softmax (logistic for two classes) of X @ coef_.T + intercept_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of it acts after the fit
    scores = decision(g, x, est)
    proba = labels.two_columns(g, labels.sigmoid(g, scores)) if scores.rank == 1 else labels.softmax(g, scores)
    more = {} if est.solver == "lsqr" else {"transform": lambda: _discriminants(g, matrix(g, x), est)}
    return Classified(by_score(g, scores), est.classes_, proba, scores, more)


def _discriminants(g: GraphBuilder, x: Value, est: Any) -> Value:
    """``(X - xbar_) @ scalings_``, not centred for the solver eigen."""
    rows = numbers(g, "Sub", x, est.xbar_) if est.solver == "svd" else x
    return affine(g, rows, np.asarray(est.scalings_)[:, : est._max_components].T, 0.0)


@symbolic(DIALECT, "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis")
def quadratic_discriminant_analysis(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """QuadraticDiscriminantAnalysis.predict(X): greatest log prior - 1/2 (log det + squared distance) of the classes"""
    read(g, est, ignore=tuple(est._get_param_names()))  # no parameter of it acts after the fit
    rows, columns = matrix(g, x), []
    for mean, rotation, scale in zip(est.means_, est.rotations_, est.scalings_, strict=True):
        turned = affine(g, numbers(g, "Sub", rows, mean), (rotation * scale**-0.5).T, 0.0)
        columns.append(g.ReduceSum(g.Mul(turned, turned), [1], keepdims=1))
    volumes = np.array([np.sum(np.log(s)) for s in est.scalings_])
    joint = numbers(g, "Add", g.Concat(*columns, axis=1), volumes)
    joint = numbers(g, "Add", g.Mul(joint, joint.element.numpy().type(-0.5)), np.log(est.priors_))
    scores = joint
    if len(est.classes_) == 2:
        first, second = g.Split(joint, [1, 1], axis=1, outputs=2)
        scores = g.Squeeze(g.Sub(second, first), [1])
    return Classified(labels.first_greatest(g, joint), est.classes_, labels.softmax(g, joint), scores)


_LINKS = {"IdentityLink": lambda g, x: x, "LogLink": lambda g, x: g.Exp(x), "LogitLink": labels.sigmoid}


@symbolic(DIALECT, *(_MODULE + n for n in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")))
def generalised_linear_regression(g: GraphBuilder, x: Features, est: Any) -> Value:
    """PoissonRegressor.predict(X): inverse link of X @ coef_ + intercept_"""
    read(g, est, ignore=tuple(est._get_param_names()))  # power and link made the loss, which is read
    link = type(est._base_loss.link).__name__
    if link not in _LINKS:
        raise unsupported(g, est, f"the link {link}")
    found: Value = _LINKS[link](g, affine(g, as_float(g, matrix(g, x)), np.asarray(est.coef_), est.intercept_))
    return found


@symbolic(DIALECT, _MODULE + "SGDOneClassSVM")
def sgd_one_class_svm(g: GraphBuilder, x: Features, est: Any) -> Methods:
    """SGDOneClassSVM.decision_function(X): X @ coef_.T - offset_; from 0 on a row is inside"""
    read(g, est, "nu", ignore=("learning_rate",))
    rows, coefficients = matrix(g, x), np.asarray(est.coef_).reshape(-1)
    decision_ = affine(g, rows, coefficients, -np.asarray(est.offset_).reshape(-1))
    bound = np.zeros((), decision_.element.numpy())
    return Methods({
        "predict": lambda: g.Where(g.GreaterOrEqual(decision_, bound), np.int64(1), np.int64(-1)),
        "decision_function": lambda: decision_,
        "score_samples": lambda: numbers(g, "Add", decision_, np.asarray(est.offset_).reshape(-1)),
    })  # fmt: skip
