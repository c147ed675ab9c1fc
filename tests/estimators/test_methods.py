"""Methods as outputs: which are usual, which can be asked for, what several outputs of y become."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, data, load
from sklearn.cluster import Birch, KMeans
from sklearn.covariance import EllipticEnvelope, MinCovDet
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest, RandomForestRegressor, RandomTreesEmbedding
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import (
    KernelDensity,
    KNeighborsClassifier,
    NearestNeighbors,
    NeighborhoodComponentsAnalysis,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from anyonnx.symbolic.errors import InputSpecError

USUAL = {
    "label scores": [KMeans(3, n_init=1), Birch(), IsolationForest(n_estimators=3), EllipticEnvelope()],
    "label probabilities": [GaussianMixture(2), KNeighborsClassifier(), make_pipeline(StandardScaler(), KMeans(2))],
    "variable": [PCA(2), GaussianProcessRegressor(), RandomForestRegressor(3)],
    "distances indices": [NearestNeighbors()],
    "score_samples": [KernelDensity()],
    "mahalanobis": [MinCovDet()],
}
USUAL["label scores"].append(USUAL["label probabilities"].pop())


@pytest.mark.parametrize(("names", "est"), [(n, e) for n, found in USUAL.items() for e in found])
def test_usual_outputs(names, est):
    x, y = data("iris", "float64")
    assert load(est.fit(x, y), x).output_names == names.split()


def test_methods_that_are_asked_for():
    x, y = data("iris", "float64")
    est = LinearDiscriminantAnalysis(n_components=2).fit(x, y)
    for methods in ("predict, transform", ["predict", "transform"]):
        proto = assert_same(est, x, (21,), limit=1e-12, methods=methods)
        assert [o.name for o in proto.graph.output] == ["label", "transformed"]
    line = make_pipeline(StandardScaler(), est).fit(x, y)
    assert_same(line, x, (21,), limit=1e-12, methods=["transform", "decision_function", "predict_proba"])


LINES = [
    (LinearDiscriminantAnalysis(n_components=2), KNeighborsClassifier()),
    (KMeans(4, n_init=1, random_state=0), DecisionTreeClassifier(max_depth=3)),
    (PCA(3), SVC()),
    (NeighborhoodComponentsAnalysis(n_components=2, max_iter=3, random_state=0), RidgeClassifier()),
    (RandomTreesEmbedding(n_estimators=4, max_depth=3, random_state=0), BernoulliNB()),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("steps", LINES, ids=lambda s: "-".join(type(e).__name__ for e in s))
def test_transformers_in_front(steps, dtype):
    x, y = data("wine-scaled", dtype)
    assert_same(make_pipeline(*steps).fit(x, y), x, (11, 21), limit=1e-4 if dtype == "float32" else 1e-10)


def test_methods_that_there_are_not():
    x, y = data("iris", "float64")
    with pytest.raises(InputSpecError, match=r"score_samples.*it has predict, transform"):
        load(KMeans(2, n_init=1).fit(x), x, methods="score_samples")
    with pytest.raises(InputSpecError, match="transform"):
        load(LinearDiscriminantAnalysis(solver="lsqr").fit(x, y), x, methods="transform")


def test_dtype_of_estimators_that_take_no_other():
    x, _ = data("iris", "float64")
    assert load(KMeans(2, n_init=1).fit(x), None).specs[0].dtype == "float64"
    assert load(KMeans(2, n_init=1).fit(x.astype(np.float32)), None).specs[0].dtype == "float32"
    assert load(PCA(2).fit(x), None).specs[0].dtype == "float32"


SEVERAL = {
    "tree": DecisionTreeClassifier(max_depth=4),
    "forest": ExtraTreesClassifier(6, max_depth=4, random_state=0),
    "dummy": DummyClassifier(),
    "dummy constant": DummyClassifier(strategy="constant", constant=[2, 0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_outputs_of_y(name, dtype):
    x, y = data("wine", dtype)
    both = np.stack([y, (x[:, 0] > 13).astype(int)], axis=1)
    proto = assert_same(SEVERAL[name].fit(x, both), x, (11, 17, 21), limit=1e-14)
    assert [o.name for o in proto.graph.output] == ["label", "probabilities_0", "probabilities_1"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_several_labels_of_a_row(dtype):
    x, y = data("wine-scaled", dtype)
    several = np.stack([y == 0, y == 1, x[:, 0] > 0], axis=1).astype(int)
    limit = 1e-5 if dtype == "float32" else 1e-12
    ridge = assert_same(RidgeClassifier().fit(x, several), x, (11, 21), limit=limit)
    assert [o.name for o in ridge.graph.output] == ["label", "scores"]
    layers = MLPClassifier((5,), max_iter=20, random_state=0).fit(x, several)
    assert_same(layers, x, (11, 21), limit=limit)
