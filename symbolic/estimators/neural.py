"""Multi-layer perceptrons."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..ml import labels
from ..ml.dtypes import as_float, in_place, promoted
from ..ml.linear import affine
from ..registry import symbolic
from ..value import Value
from .calling import DIALECT, Classified, Features, MultiClassified, matrix, read, unsupported

_TRAINING = ("hidden_layer_sizes", "learning_rate", "loss")


def _activated(g: GraphBuilder, x: Value, name: str, est: Any) -> Value:
    if name == "identity":
        return x
    if name == "relu":
        return g.Max(x, np.zeros((), x.element.numpy()))
    if name == "tanh":
        return g.Tanh(x)
    if name == "exp":
        return g.Exp(x)
    if name == "logistic":
        return labels.sigmoid(g, x)
    if name == "softmax":
        return labels.softmax(g, x)
    raise unsupported(g, est, f"activation {name!r}")


def _forward(g: GraphBuilder, x: Features, est: Any) -> Value:
    layer = matrix(g, x)
    last = len(est.coefs_) - 1
    for i, (weights, bias) in enumerate(zip(est.coefs_, est.intercepts_, strict=True)):
        a, b = promoted(g, layer, np.asarray(weights))
        layer = in_place(g, "Add", g.MatMul(a, b), np.asarray(bias))
        layer = _activated(g, layer, est.activation if i < last else est.out_activation_, est)
    return layer


@symbolic(DIALECT, "sklearn.neural_network.MLPClassifier")
def mlp_classifier(g: GraphBuilder, x: Features, est: Any) -> Classified | MultiClassified:
    """MLPClassifier.predict_proba(X): the layers' affine maps and activations, last the logistic function or softmax"""
    read(g, est, "activation", ignore=_TRAINING)
    proba = _forward(g, x, est)
    if est._label_binarizer.y_type_.startswith("multilabel"):
        return MultiClassified(labels.above(g, proba, 0.5), proba)
    if est.n_outputs_ > 1:
        return Classified(labels.first_greatest(g, proba), est.classes_, proba)
    positive = g.Squeeze(proba, [1])
    # a single class has two probabilities all the same, but is the label of every row
    limit = 0.5 if len(est.classes_) > 1 else np.inf
    return Classified(labels.above(g, positive, limit), est.classes_, labels.two_columns(g, positive))


@symbolic(DIALECT, "sklearn.neural_network.BernoulliRBM")
def bernoulli_rbm(g: GraphBuilder, x: Features, est: Any) -> Value:
    """BernoulliRBM.transform(X): the logistic function of X @ components_.T + intercept_hidden_"""
    read(g, est, ignore=("n_components", "learning_rate"))
    found = affine(g, as_float(g, matrix(g, x)), est.components_, np.zeros(len(est.components_), est.components_.dtype))
    return labels.sigmoid(g, in_place(g, "Add", found, np.asarray(est.intercept_hidden_)))


@symbolic(DIALECT, "sklearn.neural_network.MLPRegressor")
def mlp_regressor(g: GraphBuilder, x: Features, est: Any) -> Value:
    """MLPRegressor.predict(X): the layers' affine maps and activations"""
    read(g, est, "activation", ignore=_TRAINING)
    found = _forward(g, x, est)
    return g.Squeeze(found, [1]) if est.n_outputs_ == 1 else found
