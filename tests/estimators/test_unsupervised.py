"""Clusters, mixtures, covariances, outliers, factors and codes."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, build, data, load, sessions
from sklearn import cluster, covariance, mixture
from sklearn import decomposition as dc
from sklearn.ensemble import IsolationForest, RandomTreesEmbedding
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import BernoulliRBM
from sklearn.random_projection import SparseRandomProjection

from anyonnx.converters.from_sklearn.methods import available
from anyonnx.symbolic.errors import UnsupportedOps

DTYPES = ("float32", "float64")
LIMITS = {"float32": 1e-4, "float64": 1e-9}

PLAIN = {
    "bisecting": cluster.BisectingKMeans(5, random_state=0),
    "birch": cluster.Birch(n_clusters=3, threshold=2.0),
    "mean shift": cluster.MeanShift(),
    "affinity": cluster.AffinityPropagation(random_state=0),
    "agglomeration": cluster.FeatureAgglomeration(4),
    "agglomeration median": cluster.FeatureAgglomeration(3, pooling_func=np.median),
    "envelope": covariance.EllipticEnvelope(random_state=0, contamination=0.1),
    "shrunk": covariance.LedoitWolf(),
    "isolation": IsolationForest(n_estimators=10, random_state=0, contamination=0.1, max_features=0.5),
    "embedding": RandomTreesEmbedding(n_estimators=5, max_depth=3, random_state=0),
    "one class": SGDOneClassSVM(random_state=0),
    "boltzmann": BernoulliRBM(4, n_iter=2, random_state=0),
    "projection": SparseRandomProjection(4, random_state=0),
    "whitened": dc.PCA(3, whiten=True),
    "ica": dc.FastICA(3, random_state=0),
    "factors": dc.FactorAnalysis(3),
    "sparse": dc.SparsePCA(3, max_iter=20, random_state=0),
    "pursuit": dc.DictionaryLearning(6, transform_n_nonzero_coefs=3, max_iter=5, random_state=0),
    "threshold": dc.DictionaryLearning(6, transform_algorithm="threshold", max_iter=5, random_state=0, split_sign=True),
}
NON_NEGATIVE = {
    "nmf": dc.NMF(3, alpha_W=0.01, l1_ratio=0.5, max_iter=1000, random_state=0),
    "nmf multiplied": dc.NMF(3, solver="mu", beta_loss="kullback-leibler", random_state=0),
    "nmf itakura-saito": dc.NMF(3, solver="mu", beta_loss="itakura-saito", random_state=0),
    "nmf batches": dc.MiniBatchNMF(3, max_iter=50, random_state=0),
    "topics": dc.LatentDirichletAllocation(4, max_iter=3, random_state=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PLAIN)
def test_plain(name, dtype):
    x, _ = data("wine-scaled", dtype)
    est = PLAIN[name].fit(x)
    methods = [m for m in available(est) if (name, m) != ("boltzmann", "score_samples")]  # that one is random
    assert_same(est, x, (11, 21), limit=LIMITS[dtype], methods=methods)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures(kind, dtype):
    x, _ = data("iris", dtype)
    prior = "dirichlet_distribution" if kind == "tied" else "dirichlet_process"
    for est in (
        mixture.GaussianMixture(3, covariance_type=kind, random_state=0),
        mixture.BayesianGaussianMixture(
            n_components=3, covariance_type=kind, weight_concentration_prior_type=prior, random_state=0
        ),
    ):
        assert_same(est.fit(x), x, (11, 21), limit=LIMITS[dtype], methods=available(est))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NON_NEGATIVE)
def test_non_negative(name, dtype):
    # in float32 the divergence loses so many digits that the rounds of "mu" end anywhere, also in scikit-learn
    dtype = "float64" if name == "nmf multiplied" else dtype
    x, _ = data("wine", dtype)
    assert_same(NON_NEGATIVE[name].fit(x), x, (11, 21), limit=LIMITS[dtype])


def test_isolation_with_missing_values():
    x, _ = data("wine-nan", "float32")
    est = IsolationForest(n_estimators=10, random_state=0).fit(x)
    assert_same(est, x, (11, 21), limit=1e-12, methods=available(est))


def test_codes_that_are_refused():
    x, _ = data("wine-scaled", "float64")
    est = dc.DictionaryLearning(4, transform_algorithm="lasso_lars", max_iter=2, random_state=0).fit(x)
    with pytest.raises(UnsupportedOps, match="lasso_lars"):
        assert_same(est, x, (21,))


@pytest.mark.parametrize(
    "model",
    [cluster.Birch(), cluster.MeanShift(bandwidth=3), cluster.AffinityPropagation(random_state=0), NearestCentroid()],
    ids=str,
)
def test_far_away_all_centres_are_equally_near(model):
    x, y = data("iris", "float64")
    x, y = x[::2], y[::2]
    far = np.concatenate([x, x * 1e3, x * 1e18])
    model.fit(x, y)
    for dtype in ("float64", "float32"):
        source = load(model, far.astype(dtype), methods="predict")
        for session in sessions(build(source, 21)):
            (found,) = session.run(None, {"X": far.astype(dtype)})
            assert np.array_equal(found, model.predict(far.astype(dtype)))
