"""Trees and forests: labels equal on every row, also on thresholds, one ulp beside them, and where votes tie."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from estimator_check import OPSETS, assert_same, data, load
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

WORDS = np.array(["cold", "mild", "warm"])
DTYPES = ("float32", "float64")

# estimator, data, what y is made of
CLASSIFIERS = {
    "tree": (DecisionTreeClassifier(random_state=0), "breast_cancer", None),
    "tree pruned": (DecisionTreeClassifier(max_depth=3, random_state=0), "wine", WORDS),
    "tree bool": (DecisionTreeClassifier(max_depth=2, random_state=0), "breast_cancer", np.array([False, True])),
    "tree nan": (DecisionTreeClassifier(random_state=0), "wine-nan", None),
    "extra tree": (ExtraTreeClassifier(random_state=0), "wine", np.array([7, -3, 100])),
    "forest": (RandomForestClassifier(30, random_state=0), "wine", WORDS),
    "forest even": (RandomForestClassifier(10, random_state=0), "breast_cancer", None),
    "forest pruned": (RandomForestClassifier(20, max_depth=2, random_state=0), "breast_cancer", None),
    "forest pruned large": (RandomForestClassifier(100, max_depth=3, random_state=0), "wine", WORDS),
    "forest nan": (RandomForestClassifier(20, min_samples_leaf=3, random_state=0), "wine-nan", None),
    "extra trees": (ExtraTreesClassifier(30, min_samples_leaf=4, random_state=0), "wine", None),
    "boosting": (GradientBoostingClassifier(n_estimators=20, random_state=0), "wine", WORDS),
    "boosting two": (GradientBoostingClassifier(n_estimators=20, random_state=0), "breast_cancer", None),
    "boosting exponential": (
        GradientBoostingClassifier(n_estimators=10, loss="exponential", random_state=0),
        "breast_cancer",
        np.array(["no", "yes"]),
    ),
    "boosting zero": (GradientBoostingClassifier(n_estimators=10, init="zero", random_state=0), "wine", None),
    "histogram": (HistGradientBoostingClassifier(max_iter=15), "wine-nan", WORDS),
    "histogram two": (HistGradientBoostingClassifier(max_iter=15), "breast_cancer", np.array([False, True])),
}
REGRESSORS = {
    "tree": DecisionTreeRegressor(max_depth=6, random_state=0),
    "forest": RandomForestRegressor(20, max_depth=6, random_state=0),
    "extra trees": ExtraTreesRegressor(20, min_samples_leaf=4, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=30, random_state=0),
    "boosting huber": GradientBoostingRegressor(n_estimators=10, loss="huber", random_state=0),
    "histogram": HistGradientBoostingRegressor(max_iter=30),
    "boosting quantile": GradientBoostingRegressor(n_estimators=5, loss="quantile", alpha=0.3, random_state=0),
    "boosting absolute": GradientBoostingRegressor(n_estimators=5, loss="absolute_error", random_state=0),
    "histogram poisson": HistGradientBoostingRegressor(max_iter=10, loss="poisson"),
    "histogram gamma": HistGradientBoostingRegressor(max_iter=5, loss="gamma"),
    "histogram quantile": HistGradientBoostingRegressor(max_iter=5, loss="quantile", quantile=0.3),
    "histogram absolute": HistGradientBoostingRegressor(max_iter=5, loss="absolute_error"),
    "histogram rising": HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[1, -1] + 8 * [0]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name, dtype):
    est, source, words = CLASSIFIERS[name]
    x, y = data(source, dtype)
    assert_same(est.fit(x, y if words is None else words[y]), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor(name, dtype):
    x, y = data("diabetes", dtype)
    assert_same(REGRESSORS[name].fit(x, y / 7), x)


@pytest.mark.parametrize("est", [DecisionTreeRegressor(max_depth=3), RandomForestRegressor(5, max_depth=3)])
def test_several_regression_targets(est):
    x, y = data("diabetes", "float32")
    assert_same(est.fit(x, np.c_[y, -y / 3]), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("est", [
    DecisionTreeClassifier(random_state=0), DecisionTreeRegressor(max_leaf_nodes=9, random_state=0),
    DecisionTreeClassifier(max_depth=1, min_samples_split=1.0, random_state=0), ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(5, max_leaf_nodes=12, random_state=0), ExtraTreesRegressor(1, max_depth=4, random_state=0),
], ids=repr)  # fmt: skip
def test_leaves_and_paths(est, dtype):
    x, y = data("wine-nan", dtype)
    fitted = clone(est).fit(x, y)
    assert_same(fitted, x, (11, 25), methods="predict,apply,decision_path")


def test_paths_of_several_outputs():
    x, y = data("wine", "float32")
    fitted = RandomForestClassifier(3, max_depth=3, random_state=0).fit(x, np.stack([y, y % 2], axis=1))
    assert_same(fitted, x, (21,), methods="predict,apply,decision_path")


def test_hard_rows_lie_on_thresholds_and_beside_them():
    x, y = data("breast_cancer", "float64")
    est = DecisionTreeClassifier(random_state=0).fit(x, y)
    rows = load(est, x).make_samples(0, {"batch": 257})["X"]
    on = beside = 0
    for feature, threshold in zip(est.tree_.feature, est.tree_.threshold, strict=True):
        if feature >= 0:
            on += int((rows[:, feature] == threshold).sum())
            beside += int((rows[:, feature] == np.nextafter(threshold, np.inf)).sum())
    assert on > 50 and beside > 50


@pytest.mark.parametrize("depth", [1, 2, None])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_between_votes(depth, dtype):
    """An even number of trees on few features: many rows have equal votes, the first class wins."""
    x, y = data("breast_cancer", dtype)
    est = RandomForestClassifier(4, max_depth=depth, random_state=1).fit(x[:, :4], y)
    source = load(est, x[:, :4])
    proba = source.run(source.make_samples(257, {"batch": 257}))["probabilities"]
    assert depth is not None or (proba[:, 0] == proba[:, 1]).sum() > 10
    assert_same(est, x[:, :4])


@pytest.mark.parametrize("opset", OPSETS)
def test_trees_of_one_leaf(opset):
    x, y = data("wine", "float32")
    same = RandomForestClassifier(3).fit(x[:, :2] * 0, y)
    assert same.estimators_[0].tree_.node_count == 1
    assert_same(same, x[:, :2], [opset])
    assert_same(DecisionTreeClassifier().fit(x, np.zeros(len(x), int)), x, [opset])
    assert_same(DecisionTreeRegressor().fit(x, np.full(len(x), 2.5)), x, [opset])
    assert_same(GradientBoostingRegressor(n_estimators=3, learning_rate=0.5).fit(x, np.full(len(x), 2.5)), x, [opset])


@pytest.mark.parametrize("dtype", DTYPES)
def test_boosting_that_starts_from_another_estimator(dtype):
    """The start is a float32 product, whatever the input: its rounding is the source's own."""
    x, y = data("wine-scaled", dtype)
    est = GradientBoostingClassifier(n_estimators=5, init=LogisticRegression())
    assert_same(est.fit(x, y), x, limit=5e-7)
    x, y = data("diabetes", dtype)
    assert_same(GradientBoostingRegressor(n_estimators=5, init=Ridge()).fit(x, y), x, limit=5e-7)


def test_a_class_dropped_from_training_of_one_row_per_batch():
    x, y = data("wine", "float32")
    assert_same(RandomForestClassifier(90, max_depth=2, random_state=0).fit(x, y), x, [13, 21], batches=(1, 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("holes", [False, True])
def test_category_splits(holes, dtype):
    x, y = data("wine-nan" if holes else "wine", dtype)
    x = x.copy()
    x[:, 0], x[:, 3] = x[:, 0] // 0.5, x[:, 3] // 3
    how = {"max_iter": 15, "categorical_features": [0, 3], "min_samples_leaf": 3}
    assert_same(HistGradientBoostingClassifier(**how).fit(x, WORDS[y]), x)
    assert_same(HistGradientBoostingRegressor(**how).fit(x, y / 7), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_category_columns_of_a_frame(dtype):
    x, y = data("wine", dtype)
    frame = pd.DataFrame({"ash": x[:, 2], "n": (x[:, 4] // 10).astype(int)})
    frame["word"] = pd.cut(x[:, 0], 30).astype(str)
    frame.loc[::6, "word"] = None
    frame = frame.astype({"n": "category", "word": "category"})
    model = HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=3, categorical_features="from_dtype").fit(
        frame, y
    )
    assert_same(model, frame)
