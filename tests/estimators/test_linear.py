"""Linear models, naive Bayes, perceptrons, clusters: scores, probabilities, labels."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, data
from sklearn import linear_model as lm
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

DTYPES = ("float32", "float64")
WORDS = np.array(["cold", "mild", "warm"])
#: Some of these give doubles that come from float32 products: the source's own rounding is the limit then.
FROM_SINGLE = 1e-5

CLASSIFIERS = {
    "logistic": lm.LogisticRegression(),
    "logistic newton": lm.LogisticRegression(solver="newton-cg", C=0.3),
    "sgd hinge": lm.SGDClassifier(random_state=0),
    "sgd log": lm.SGDClassifier(loss="log_loss", random_state=0),
    "sgd huber": lm.SGDClassifier(loss="modified_huber", random_state=0),
    "linear svc": LinearSVC(random_state=0),
    "ridge": lm.RidgeClassifier(),
    "perceptron": lm.Perceptron(random_state=0),
    "discriminant": LinearDiscriminantAnalysis(),
    "discriminant shrunk": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.2),
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "gaussian": GaussianNB(),
    "bernoulli": BernoulliNB(),
    "mlp": MLPClassifier((5,), max_iter=30, random_state=0),
    "mlp tanh": MLPClassifier((4, 3), activation="tanh", max_iter=30, random_state=0),
    "mlp logistic": MLPClassifier((4,), activation="logistic", max_iter=30, random_state=0),
    "voting soft": VotingClassifier(
        [("a", lm.LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=2))], voting="soft", weights=[1, 2]
    ),
    "voting hard": VotingClassifier(
        [("a", lm.LogisticRegression()), ("b", GaussianNB()), ("c", DecisionTreeClassifier(max_depth=2))]
    ),
}
REGRESSORS = {
    "ordinary": lm.LinearRegression(),
    "no intercept": lm.LinearRegression(fit_intercept=False),
    "ridge": lm.Ridge(),
    "lasso": lm.Lasso(),
    "elastic": lm.ElasticNet(),
    "sgd": lm.SGDRegressor(random_state=0),
    "huber": lm.HuberRegressor(max_iter=500),
    "svr": LinearSVR(random_state=0),
    "bayesian": lm.BayesianRidge(),
    "mlp": MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, random_state=0),
    "poisson": lm.PoissonRegressor(),
    "gamma": lm.GammaRegressor(),
    "tweedie": lm.TweedieRegressor(power=1.5),
    "voting": VotingRegressor([("a", lm.Ridge()), ("b", DecisionTreeRegressor(max_depth=3))], weights=[0.3, 0.7]),
}


def _limit(dtype):
    return FROM_SINGLE if dtype == "float32" else None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name, dtype):
    three, y3 = data("wine-scaled", dtype)
    two, y2 = data("breast_cancer-scaled", dtype)
    limit = 1e-12 if (name, dtype) == ("quadratic", "float64") else _limit(dtype)  # exp of numbers about 100
    assert_same(CLASSIFIERS[name].fit(three, WORDS[y3]), three, limit=limit)
    assert_same(CLASSIFIERS[name].fit(two, y2.astype(bool)), two, limit=limit)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor(name, dtype):
    x, y = data("diabetes", dtype)
    assert_same(REGRESSORS[name].fit(x, y), x, limit=_limit(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_versus_rest_of_liblinear(dtype):
    x, y = data("breast_cancer-scaled", dtype)
    assert_same(lm.LogisticRegression(solver="liblinear").fit(x, y), x, limit=_limit(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_of_scores_far_below_zero(dtype):
    """Shares of numbers that vanish: equal shares where all do, as scikit-learn gives them."""
    x, y = data("wine", dtype)
    assert_same(lm.SGDClassifier(loss="log_loss", random_state=0).fit(x, y), x, [13, 21], limit=_limit(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("est", [MultinomialNB(), ComplementNB()])
def test_counts(est, dtype):
    """Their likelihoods are sums of about 1000: a double has 1e-13 of them left."""
    x, y = data("wine", dtype)
    assert_same(est.fit(abs(x), y), abs(x), limit=1e-12 if dtype == "float64" else FROM_SINGLE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_categories(dtype):
    x = np.random.default_rng(0).integers(0, 4, (200, 3))
    est = CategoricalNB().fit(x, WORDS[x[:, 0] % 3])
    assert_same(est, x.astype(dtype), [11, 21], limit=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("est", [lm.BayesianRidge(), lm.ARDRegression()])
def test_deviations(est, dtype):
    x, y = data("iris", dtype)
    assert_same(est.fit(x, y), x, [21], limit=1e-5 if dtype == "float32" else 1e-12, methods="predict,predict_std")


@pytest.mark.parametrize("dtype", DTYPES)
def test_several_targets(dtype):
    x, y = data("diabetes", dtype)
    assert_same(lm.LinearRegression().fit(x, np.c_[y, -2 * y]), x, limit=_limit(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_clusters(dtype):
    x, _ = data("wine-scaled", dtype)
    assert_same(KMeans(4, n_init=1, random_state=0).fit(x), x, limit=FROM_SINGLE if dtype == "float32" else 1e-13)
