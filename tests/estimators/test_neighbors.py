"""Neighbours: metrics, weights, rows at equal distances; density."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, data
from sklearn import neighbors as nb
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from anyonnx.converters.from_sklearn.methods import available
from anyonnx.symbolic.errors import UnsupportedOps

DTYPES = ("float32", "float64")
LIMITS = {"float32": 1e-5, "float64": 1e-10}
WORDS = np.array(["cold", "mild", "warm"])

ESTIMATORS = {
    "classifier": nb.KNeighborsClassifier(),
    "weighted": nb.KNeighborsClassifier(weights="distance", algorithm="brute"),
    "minkowski": nb.KNeighborsClassifier(7, p=3, weights="distance"),
    "cosine": nb.KNeighborsClassifier(metric="cosine"),
    "within": nb.RadiusNeighborsClassifier(3.0, weights="distance", outlier_label="most_frequent"),
    "within, all near": nb.RadiusNeighborsClassifier(50.0),
    "within, manhattan": nb.RadiusNeighborsClassifier(9.0, metric="manhattan", outlier_label="most_frequent"),
    "centroid": nb.NearestCentroid(shrink_threshold=0.3),
    "centroid, priors": nb.NearestCentroid(priors="empirical"),
    "regressor": nb.KNeighborsRegressor(weights="distance"),
    "regressor within": nb.RadiusNeighborsRegressor(3.0),
    "search": nb.NearestNeighbors(n_neighbors=4, metric="seuclidean", metric_params={"V": np.arange(1, 14.0)}),
    "graph": nb.KNeighborsTransformer(n_neighbors=3),
    "graph within": nb.RadiusNeighborsTransformer(mode="connectivity", radius=3.0),
    "outliers": nb.LocalOutlierFactor(n_neighbors=10, novelty=True, contamination=0.1),
    "components": nb.NeighborhoodComponentsAnalysis(n_components=2, max_iter=3, random_state=0),
    "density": nb.KernelDensity(bandwidth=2.0),
    "density, linear": nb.KernelDensity(kernel="exponential", metric="chebyshev", leaf_size=500),
    "isomap": Isomap(n_neighbors=8),
    "embedding": LocallyLinearEmbedding(n_neighbors=8, random_state=0),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_methods(name, dtype):
    x, y = data("wine-scaled", dtype)
    est = ESTIMATORS[name].fit(x, WORDS[y] if "regressor" not in name else y)
    assert_same(est, x, (11, 21), limit=LIMITS[dtype], methods=available(est))


#: Rows of whole numbers lie at equal distances all the time.
TIED = [
    (metric, algorithm, count)
    for metric, algorithms in {
        "manhattan": ("kd_tree", "ball_tree", "brute"),
        "euclidean": ("kd_tree", "ball_tree"),
        "chebyshev": ("kd_tree", "ball_tree", "brute"),
        "hamming": ("ball_tree", "brute"),
    }.items()
    for algorithm in algorithms
    for count in (1, 6)
]


@pytest.mark.parametrize(("metric", "algorithm", "count"), TIED)
def test_equal_distances(metric, algorithm, count):
    generator = np.random.default_rng(0)
    x = generator.integers(0, 4, (150, 4)).astype(np.float32)
    y = generator.integers(0, 3, 150)
    est = nb.KNeighborsClassifier(count, metric=metric, algorithm=algorithm, leaf_size=7, n_jobs=1)
    est.fit(x, WORDS[y])
    methods = ("predict", "predict_proba") if algorithm == "brute" else ("predict", "predict_proba", "kneighbors")
    assert_same(est, x, (21,), limit=1e-12, methods=methods)


@pytest.mark.parametrize("est", [nb.KNeighborsClassifier(), nb.RadiusNeighborsClassifier(2.0, outlier_label=[1, 0])])
def test_several_outputs(est):
    x, y = data("iris", "float64")
    est.fit(x, np.stack([y, (x[:, 0] > 5.8).astype(int)], axis=1))
    proto = assert_same(est, x, (17,), limit=1e-12)
    assert [o.name for o in proto.graph.output] == ["label", "probabilities_0", "probabilities_1"]


@pytest.mark.parametrize(
    ("est", "word"),
    [
        (nb.KNeighborsClassifier(metric="braycurtis"), "braycurtis"),
        (nb.KNeighborsClassifier(weights=np.ones_like), "weights"),
        (nb.RadiusNeighborsClassifier(50.0, outlier_label=7), "outlier_label"),
    ],
)
def test_refusals(est, word):
    x, y = data("iris", "float64")
    with pytest.raises(UnsupportedOps, match=word):
        assert_same(est.fit(x, y), x, (21,))
