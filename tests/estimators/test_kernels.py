"""Support vector machines, Gaussian processes, and other estimators that work through kernels."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, build, data, load, sessions
from sklearn import kernel_approximation as ka
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from anyonnx.converters.from_sklearn.methods import available
from anyonnx.symbolic.errors import UnsupportedOps

DTYPES = ("float32", "float64")
LIMITS = {"float32": 1e-4, "float64": 1e-8}
WORDS = np.array(["cold", "mild", "warm"])

MACHINES = {
    "rbf": SVC(),
    "ovo": SVC(kernel="poly", decision_function_shape="ovo"),
    "probability": SVC(probability=True, random_state=0),
    "ties": NuSVC(kernel="sigmoid", break_ties=True),
    "linear": NuSVC(kernel="linear", probability=True, random_state=0),
    "regression": SVR(kernel="poly"),
    "nu": NuSVR(),
    "one class": OneClassSVM(nu=0.2),
}
PROCESSES = [
    RBF(),
    RBF(length_scale=np.arange(1, 5.0)),
    Matern(nu=0.5),
    Matern(nu=1.5),
    Matern(nu=2.5),
    RationalQuadratic(),
    RBF() + WhiteKernel(0.5),
    2.0 * RBF() * DotProduct(),
    RBF() ** 2 + PairwiseKernel(metric="laplacian"),
    RBF() * ExpSineSquared(2.0, 3.0) + WhiteKernel(1.0),
]
OTHERS = {
    "ridge": KernelRidge(kernel="rbf", gamma=0.1),
    "ridge poly": KernelRidge(kernel="poly", degree=2),
    "ridge laplacian": KernelRidge(kernel="laplacian"),
    "components": KernelPCA(3, kernel="rbf"),
    "components cosine": KernelPCA(2, kernel="cosine"),
    "propagation": LabelPropagation(gamma=0.3),
    "propagation knn": LabelPropagation(kernel="knn", n_neighbors=5),
    "spreading": LabelSpreading(gamma=0.3),
    "nystroem": ka.Nystroem(n_components=10, random_state=0),
    "cosines": ka.RBFSampler(n_components=6, random_state=0),
    "sketch": ka.PolynomialCountSketch(degree=3, coef0=1, n_components=9, random_state=0),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MACHINES)
def test_support_vectors(name, dtype):
    x, y = data("wine-scaled", dtype)
    est = MACHINES[name].fit(x, y if name in ("regression", "nu") else WORDS[y])
    assert_same(est, x, (11, 21), limit=LIMITS[dtype], methods=available(est))


def test_two_classes_with_probabilities():
    x, y = data("breast_cancer-scaled", "float64")
    est = SVC(probability=True, random_state=0).fit(x, y)
    assert_same(est, x, (21,), limit=1e-8, methods=available(est))


@pytest.mark.parametrize("kernel", PROCESSES, ids=str)
def test_gaussian_process_regression(kernel):
    x, y = data("iris", "float64")
    est = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None, normalize_y=True).fit(x, y)
    assert_same(est, x, (21,), limit=1e-8, methods=["predict", "predict_std"])


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gaussian_process_classification(multi_class, dtype):
    x, y = data("iris", dtype)
    est = GaussianProcessClassifier(RBF(), multi_class=multi_class, optimizer=None).fit(x, WORDS[y])
    assert_same(est, x, (13, 21), limit=LIMITS[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OTHERS)
def test_others(name, dtype):
    x, y = data("wine-scaled", dtype)
    assert_same(OTHERS[name].fit(x, y), x, (11, 21), limit=LIMITS[dtype])


@pytest.mark.parametrize("est", [ka.AdditiveChi2Sampler(sample_steps=3), KernelRidge(kernel="additive_chi2")])
def test_chi_squared(est):
    x, y = data("wine", "float64")
    assert_same(est.fit(x, y), x, (21,), limit=1e-10)


def test_refusals():
    x, y = data("iris", "float64")
    for est, word in ((SVC(kernel=np.dot), "kernel"), (GaussianProcessRegressor(Matern(nu=0.7)), "Matern")):
        if isinstance(est, SVC):
            est.set_params(kernel=lambda a, b: a @ b.T)
        with pytest.raises(UnsupportedOps, match=word):
            assert_same(est.fit(x, y), x, (21,))


def test_gaussian_process_classification_far_from_all_data():
    x, y = data("iris", "float64")
    model = GaussianProcessClassifier(RBF(), optimizer=None).fit(x, WORDS[y])
    far = np.concatenate([x, x * 100, -x * 1000])  # there all classes are equally likely, and the first one is taken
    assert_same(model, far, [21], limit=1e-8)
    (session, _) = sessions(build(load(model, far), 21))
    label, _ = session.run(None, {"X": far})
    assert np.array_equal(label, model.predict(far))
