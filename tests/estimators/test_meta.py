"""Estimators made of estimators: one for each class, pair or column, calibrated, chosen, stacked ..."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, build, data, load
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RANSACRegressor, Ridge
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from anyonnx.symbolic.errors import InputSpecError

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ("float32", "float64")
LIMITS = {"float32": 2e-5, "float64": 1e-9}
X, Y = data("wine-scaled", "float64")
LABELS = {
    "two": (Y > 0).astype(int),
    "two words": np.array(["no", "yes"])[(Y > 0).astype(int)],
    "from 1": Y + 1,
    "words": np.array(["c", "a", "b"])[Y],
}
SEVERAL = np.c_[Y == 0, Y > 0, X[:, 0] > 0].astype(int)
COLUMNS = np.c_[Y + 1, Y > 0]
TARGET = X[:, 0] * 2 + X[:, 1]
TARGETS = np.c_[TARGET, X[:, 2]]

LINE, TREE = LogisticRegression(max_iter=200), DecisionTreeClassifier(max_depth=3, random_state=0)
TREE_R = DecisionTreeRegressor(max_depth=3, random_state=0)
BASES = {"line": LINE, "margin": LinearSVC(), "tree": TREE, "curve": SVC()}


def _each(name):
    base = BASES[name]
    return {
        f"rest {name}": OneVsRestClassifier(base),
        f"pairs {name}": OneVsOneClassifier(base),
        f"code {name}": OutputCodeClassifier(base, code_size=2, random_state=0),
        f"bag {name}": BaggingClassifier(base, n_estimators=3, max_features=0.6, max_samples=0.5, random_state=0),
    }


_MEMBERS = [("a", LINE), ("b", TREE), ("none", "drop"), ("c", GaussianNB())]
CLASSIFIERS = {
    **{k: v for name in BASES for k, v in _each(name).items()},
    "rest of regressors": OneVsRestClassifier(Ridge()),
    "soft votes": VotingClassifier(_MEMBERS, voting="soft", weights=[1, 2, 0, 1]),
    "votes": VotingClassifier(_MEMBERS, weights=[1, 2.5, 1, 0.5], flatten_transform=False),
    "stack": StackingClassifier([("a", LINE), ("b", LinearSVC()), ("g", GaussianNB())], passthrough=True),
    "stack of labels": StackingClassifier([("a", LINE), ("b", TREE)], stack_method="predict", final_estimator=TREE),
    "stack of scores": StackingClassifier([("a", LINE), ("b", SVC())], stack_method="decision_function"),
    "boosted trees": AdaBoostClassifier(TREE, n_estimators=5, random_state=0),
    "boosted lines": AdaBoostClassifier(LINE, n_estimators=3, random_state=0),
    "grid": GridSearchCV(make_pipeline(StandardScaler(), LINE), {"logisticregression__C": [0.1, 1]}, cv=2),
    "random": RandomizedSearchCV(TREE, {"max_depth": [2, 3]}, n_iter=2, cv=2, random_state=0),
    "halving": HalvingGridSearchCV(TREE, {"max_depth": [2, 3]}, cv=2),
    "eliminated": RFE(LINE, n_features_to_select=4),
    "eliminated by cv": RFECV(LINE, cv=2),
    "elimination only": make_pipeline(RFE(SVC(kernel="linear"), n_features_to_select=3), TREE),
    "from model": make_pipeline(SelectFromModel(TREE), LINE),
    "sequential": make_pipeline(SequentialFeatureSelector(TREE, n_features_to_select=2, cv=2), LINE),
    "sigmoid": CalibratedClassifierCV(LinearSVC(), cv=2),
    "isotonic": CalibratedClassifierCV(make_pipeline(StandardScaler(), LinearSVC()), method="isotonic", cv=2),
    "temperature": CalibratedClassifierCV(LINE, method="temperature", ensemble=False, cv=2),
    "nested": StackingClassifier(
        [
            ("v", VotingClassifier([("a", LINE), ("c", CalibratedClassifierCV(LinearSVC(), cv=2))], voting="soft")),
            ("p", make_pipeline(PCA(3), OneVsRestClassifier(SVC()))),
        ],
        passthrough=True,
    ),
}


CASES = [(n, labels) for n in CLASSIFIERS for labels in (LABELS if n.endswith("line") else ("two words", "words"))]


@pytest.mark.parametrize(("name", "labels"), CASES)
def test_classifiers(name, labels):
    for dtype in DTYPES if labels == "words" else DTYPES[1:]:
        x = X.astype(dtype)
        model = clone(CLASSIFIERS[name]).fit(x, LABELS[labels])
        assert_same(model, x, [11, 21] if labels == "two words" else [21], limit=LIMITS[dtype])


@pytest.mark.parametrize("positive", [None, 0, 1])
def test_thresholds(positive):
    y = LABELS["two"]
    for model in (
        FixedThresholdClassifier(LINE, threshold=0.3, pos_label=positive),
        FixedThresholdClassifier(LinearSVC(), threshold=0.1, response_method="decision_function", pos_label=positive),
    ):
        for dtype in DTYPES:
            assert_same(model.fit(X.astype(dtype), y), X.astype(dtype), [21], limit=LIMITS[dtype])
    assert_same(FixedThresholdClassifier(LINE, threshold=0.7, pos_label="no").fit(X, LABELS["two words"]), X, [21])
    assert_same(TunedThresholdClassifierCV(SVC(), cv=3).fit(X, y), X, [21], limit=1e-9)


def test_wrappers_of_fitted_classifiers():
    words = LABELS["words"]
    assert_same(CalibratedClassifierCV(FrozenEstimator(clone(LINE).fit(X, words))).fit(X, words), X, [21], limit=1e-9)
    unknown = np.where(np.arange(len(Y)) % 3 == 0, -1, Y)
    assert_same(SelfTrainingClassifier(LINE).fit(X, unknown), X, [11, 21], limit=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("base", ["line", "margin", "tree"])
def test_several_labels(base, dtype):
    x, estimator = X.astype(dtype), BASES[base]
    for model, y in (
        (OneVsRestClassifier(estimator), SEVERAL),
        (ClassifierChain(estimator, order=[2, 0, 1]), SEVERAL),
        (MultiOutputClassifier(estimator), COLUMNS),
        (MultiOutputClassifier(estimator), SEVERAL),
    ):
        assert_same(clone(model).fit(x, y), x, [21], limit=LIMITS[dtype])


def test_stacks_and_chains_of_several_labels():
    forest = RandomForestClassifier(3, random_state=0)
    stack = StackingClassifier([("a", forest), ("b", KNeighborsClassifier())], final_estimator=clone(forest))
    assert_same(stack.fit(X, SEVERAL), X, [21])
    chain = ClassifierChain(LINE, chain_method="predict_proba", order="random", random_state=1, cv=3)
    assert_same(chain.fit(X, SEVERAL), X, [11, 21], limit=1e-9)
    three = ClassifierChain(LINE).fit(X, COLUMNS)
    assert_same(three, X, [21])
    with pytest.raises(InputSpecError, match="predict_proba"):  # it fails in scikit-learn, too
        load(three, X, methods="predict_proba")


REGRESSORS = {
    "stack": StackingRegressor([("a", Ridge()), ("b", TREE_R), ("c", "drop")], passthrough=True),
    "votes": VotingRegressor([("a", Ridge()), ("b", TREE_R)], weights=[1, 3]),
    "bag": BaggingRegressor(SVR(), n_estimators=3, max_features=0.5, random_state=0),
    "boosted": AdaBoostRegressor(n_estimators=6, random_state=0),
    "boosted lines": AdaBoostRegressor(Ridge(), n_estimators=6, loss="square", random_state=0),
    "consensus": RANSACRegressor(random_state=0),
    **{
        f"target {type(t).__name__}": TransformedTargetRegressor(Ridge(), transformer=t)
        for t in (
            StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler(), PowerTransformer(),
            QuantileTransformer(n_quantiles=20), make_pipeline(StandardScaler(), MinMaxScaler()),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, dtype):
    x = X.astype(dtype)
    assert_same(clone(REGRESSORS[name]).fit(x, TARGET), x, [21], limit=LIMITS[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_regressors_of_several_columns(dtype):
    x = X.astype(dtype)
    for model in (
        RegressorChain(Ridge(), order=[1, 0]),
        MultiOutputRegressor(TREE_R),
        BaggingRegressor(n_estimators=3, random_state=0),
        TransformedTargetRegressor(Ridge(), transformer=PCA()),
        TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    ):
        assert_same(clone(model).fit(x, TARGETS), x, [11, 21], limit=LIMITS[dtype])


def test_methods_of_ensembles():
    for model in (CLASSIFIERS["soft votes"], CLASSIFIERS["votes"], CLASSIFIERS["stack"], CLASSIFIERS["eliminated"]):
        assert_same(clone(model).fit(X, Y), X, [21], methods="predict,transform", limit=1e-9)
    bag = clone(CLASSIFIERS["bag margin"]).fit(X, Y)
    proto = build(load(bag, X, methods="predict,decision_function,predict_proba"), 21)
    assert [o.name for o in proto.graph.output] == ["label", "scores", "probabilities"]


@pytest.mark.parametrize("label", [7, "word", True])
def test_single_class(label):
    y = np.full(len(X), label)
    for model in (
        HistGradientBoostingClassifier(max_iter=2),
        MLPClassifier((3,), max_iter=3, random_state=0),  # gives two probabilities, the second above 1/2 or not
        MLPClassifier((3,), max_iter=3, random_state=1),
        OneVsRestClassifier(LogisticRegression()),
        AdaBoostClassifier(n_estimators=2),
        VotingClassifier([("a", MLPClassifier((3,), max_iter=3)), ("b", GaussianNB())]),
        LinearDiscriminantAnalysis(),  # its predict_proba fails in scikit-learn
    ):
        assert_same(model.fit(X, y), X, [11, 21])
    assert_same(AdaBoostClassifier(n_estimators=2).fit(X, y), X, [21], methods="predict,decision_function")
