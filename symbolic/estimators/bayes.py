"""Naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import cast, common, double
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, matrix, read

_MODULE = "sklearn.naive_bayes."
_TRAINING = ("fit_prior", "class_prior", "force_alpha", "norm")


def _by_likelihood(g: GraphBuilder, est: Any, joint: Value) -> Classified:
    """Class of the greatest joint log likelihood, probabilities by softmax over the classes."""
    return Classified(labels.first_greatest(g, joint), est.classes_, labels.softmax(g, joint))


@symbolic(DIALECT, _MODULE + "GaussianNB")
def gaussian_nb(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """GaussianNB: log prior plus the log densities of independent normal features"""
    read(g, est)
    rows = matrix(g, x)
    wide = common(rows.element, ir.DataType.from_numpy(est.theta_.dtype))
    kind = wide.numpy()
    centred = g.Sub(g.Unsqueeze(cast(g, rows, wide), [1]), est.theta_[None].astype(kind))
    spread = g.ReduceSum(g.Div(g.Mul(centred, centred), est.var_[None].astype(kind)), [2], keepdims=0)
    start = np.log(est.class_prior_) - 0.5 * np.sum(np.log(2.0 * np.pi * est.var_), axis=1)
    joint = g.Sub(start.astype(np.float64), g.Mul(double(g, spread), np.float64(0.5)))
    return _by_likelihood(g, est, cast(g, joint, common(wide, ir.DataType.from_numpy(start.dtype))))


@symbolic(DIALECT, _MODULE + "MultinomialNB")
def multinomial_nb(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """MultinomialNB: X @ feature_log_prob_.T + class_log_prior_"""
    read(g, est, ignore=_TRAINING)
    return _by_likelihood(g, est, affine(g, matrix(g, x), est.feature_log_prob_, est.class_log_prior_))


@symbolic(DIALECT, _MODULE + "CategoricalNB")
def categorical_nb(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """CategoricalNB: class_log_prior_ plus feature_log_prob_ of the category of each feature"""
    read(g, est, ignore=(*_TRAINING, "min_categories"))
    rows = g.Cast(matrix(g, x), to=ir.DataType.INT64)
    joint: Value | None = None
    for column, table in zip(
        g.Split(rows, axis=1, num_outputs=est.n_features_in_, outputs=est.n_features_in_)
        if est.n_features_in_ > 1
        else [rows],
        est.feature_log_prob_,
        strict=True,
    ):
        found = g.Gather(np.ascontiguousarray(table.T, np.float64), g.Squeeze(column, [1]), axis=0)
        joint = found if joint is None else g.Add(joint, found)
    assert joint is not None
    return _by_likelihood(g, est, g.Add(joint, np.asarray(est.class_log_prior_, np.float64)))


@symbolic(DIALECT, _MODULE + "ComplementNB")
def complement_nb(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """ComplementNB: X @ feature_log_prob_.T, plus class_log_prior_ where there is one class"""
    read(g, est, ignore=_TRAINING)
    prior = est.class_log_prior_ if len(est.classes_) == 1 else np.zeros(len(est.classes_))
    return _by_likelihood(g, est, affine(g, matrix(g, x), est.feature_log_prob_, prior))


@symbolic(DIALECT, _MODULE + "BernoulliNB")
def bernoulli_nb(g: GraphBuilder, x: Features, est: Any) -> Classified:
    """BernoulliNB: X @ (feature_log_prob_ - neg_prob).T + class_log_prior_ + the sum of neg_prob, X > binarize"""
    params = read(g, est, "binarize", ignore=_TRAINING)
    rows = matrix(g, x)
    if params.binarize is not None:
        bound = np.array(params.binarize, rows.element.numpy())
        rows = cast(g, g.Greater(rows, bound), rows.element)
    negative = np.log(1 - np.exp(est.feature_log_prob_))
    start = est.class_log_prior_ + negative.sum(axis=1)
    return _by_likelihood(g, est, affine(g, rows, est.feature_log_prob_ - negative, start))
