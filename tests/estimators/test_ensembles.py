"""Ensembles of any estimators, searches, selections."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_check import assert_same, data
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

DTYPES = ("float32", "float64")
OPSETS = (11, 17, 21)
WORDS = np.array(["cold", "mild", "warm"])
FROM_SINGLE = 1e-5

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
CLASSIFIERS = {
    "bagging": BaggingClassifier(TREE, 6, max_features=0.6, random_state=0),
    "bagging few rows": BaggingClassifier(TREE, 6, max_samples=8, random_state=0),
    "bagging votes": BaggingClassifier(LinearSVC(), 4, random_state=0),
    "ada": AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=8, random_state=0),
    "stacking": StackingClassifier([("t", TREE), ("s", LinearSVC())], LogisticRegression(), cv=2),
    "stacking passthrough": StackingClassifier(
        [("t", TREE), ("no", "drop")], RandomForestClassifier(5, random_state=0), cv=2, passthrough=True
    ),
    "stacking predict": StackingClassifier([("t", TREE)], TREE, cv=2, stack_method="predict"),
    "search": GridSearchCV(make_pipeline(StandardScaler(), TREE), {"decisiontreeclassifier__max_depth": [2, 3]}, cv=2),
    "dummy": DummyClassifier(),
    "dummy frequent": DummyClassifier(strategy="most_frequent"),
}
REGRESSORS = {
    "bagging": BaggingRegressor(DecisionTreeRegressor(max_depth=3), 5, random_state=0),
    "stacking": StackingRegressor([("r", Ridge()), ("t", DecisionTreeRegressor(max_depth=3))], Ridge(), cv=2),
    "dummy": DummyRegressor(strategy="median"),
}
TRANSFORMERS = {
    "best": SelectKBest(k=4),
    "from model": SelectFromModel(DecisionTreeClassifier(random_state=0)),
    "variance": VarianceThreshold(0.5),
    "bins": KBinsDiscretizer(4, encode="ordinal"),
    "bins one hot": KBinsDiscretizer(3),
    "bins dense": KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name, dtype):
    limit = FROM_SINGLE if dtype == "float32" else 1e-13
    three, y3 = data("wine-scaled", dtype)
    two, y2 = data("breast_cancer-scaled", dtype)
    assert_same(CLASSIFIERS[name].fit(three, WORDS[y3]), three, OPSETS, limit=limit)
    assert_same(CLASSIFIERS[name].fit(two, y2), two, OPSETS, limit=limit)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor(name, dtype):
    x, y = data("diabetes", dtype)
    assert_same(REGRESSORS[name].fit(x, y), x, OPSETS, limit=FROM_SINGLE if dtype == "float32" else None)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformer(name, dtype):
    x, y = data("wine", dtype)
    assert_same(TRANSFORMERS[name].fit(x, y), x, OPSETS, limit=1e-300)


def test_search_over_columns_of_a_frame():
    import pandas as pd

    x, y = data("wine", "float32")
    frame = pd.DataFrame(x[:, :3], columns=["a", "b", "c"])
    columns = make_column_transformer((StandardScaler(), ["c", "a"]))
    model = GridSearchCV(make_pipeline(columns, TREE), {"decisiontreeclassifier__max_depth": [2, 3]}, cv=2)
    assert len(assert_same(model.fit(frame, y), None, [21]).graph.input) == 2
