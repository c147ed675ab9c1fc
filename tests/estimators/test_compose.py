"""Pipelines, column transformers, unions: on arrays and DataFrames, through to the labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from estimator_check import assert_same, data
from sklearn.base import clone
from sklearn.cluster import AffinityPropagation
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

DTYPES = ("float32", "float64")
WORDS = np.array(["barolo", "grignolino", "barbera"])
Y = load_wine().target


def _frame(dtype: str, *, holes: bool = False) -> pd.DataFrame:
    frame = load_wine(as_frame=True).frame.iloc[:, :6].astype(dtype)
    frame["strength"] = np.where(frame.alcohol > 13, "strong", np.where(frame.alcohol > 12.3, "medium", "weak"))
    frame["rich"] = frame.ash > 2.3
    frame["tens"] = (frame.magnesium // 10).astype("int64")
    if holes:
        frame.loc[::5, "ash"] = np.nan
        frame["strength"] = frame.strength.astype(object)
        frame.loc[::7, "strength"] = np.nan
    return frame


NUMERIC = list(_frame("float64").columns[:6])
FINALS = {
    "logistic": LogisticRegression(max_iter=500),
    "forest": RandomForestClassifier(20, min_samples_leaf=2, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=10),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("final", FINALS)
def test_columns_of_a_frame(final, dtype):
    frame = _frame(dtype)
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), NUMERIC),
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=final != "histogram"), ["strength", "tens"]),
        ],
        remainder="passthrough",
        sparse_threshold=0,
    )
    assert_same(make_pipeline(columns, clone(FINALS[final])).fit(frame, WORDS[Y]), frame)


@pytest.mark.parametrize("dtype", DTYPES)
def test_missing_numbers_and_words(dtype):
    frame = _frame(dtype, holes=True)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMERIC),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), ["strength"]),
    )
    for final in (LogisticRegression(), RandomForestClassifier(10, random_state=0)):
        model = make_pipeline(columns, final).fit(frame, Y)
        assert_same(model, frame, [11, 17, 21])
        assert_same(model, None, [21], dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_way_to_name_columns_of_an_array(dtype):
    x, y = data("wine", dtype)
    columns = ColumnTransformer(
        [
            ("list", StandardScaler(), [0, 2]),
            ("slice", "passthrough", slice(3, 6)),
            ("mask", MinMaxScaler(), np.arange(13) > 10),
            ("negative", RobustScaler(), [-4]),
            ("dropped", "drop", [6]),
            ("empty", PCA(2), []),
        ],
        remainder=RobustScaler(),
    )
    assert_same(make_pipeline(columns, LogisticRegression(max_iter=50)).fit(x, y), x, [11, 21], limit=1e-5)
    assert_same(columns.fit(x), x, [11, 21], limit=1e-300)


def test_every_way_to_name_columns_of_a_frame():
    frame = _frame("float64")
    columns = ColumnTransformer(
        [
            ("selector", StandardScaler(), make_column_selector(dtype_include=float)),
            ("callable", OrdinalEncoder(), lambda f: ["strength"]),
            ("slice", "passthrough", slice("rich", "tens")),
        ]
    )
    assert_same(columns.fit(frame), frame, [11, 21], limit=1e-300)


def test_frame_as_one_matrix():
    frame = _frame("float32")[NUMERIC]
    columns = make_column_transformer((StandardScaler(), ["ash", "alcohol"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression(max_iter=50)).fit(frame, Y)
    proto = assert_same(model, frame, [21], frame="matrix")
    assert len(proto.graph.input) == 1


def test_columns_that_are_not_used_are_no_inputs():
    frame = _frame("float32")
    frame["note"] = pd.Timestamp("2024-01-01")
    model = make_column_transformer((StandardScaler(), ["ash", "alcohol"])).fit(frame)
    proto = assert_same(model, frame, [21])
    assert [i.name for i in proto.graph.input] == ["alcohol", "ash"]


def test_frame_in_another_order():
    frame = _frame("float32")
    model = make_pipeline(
        make_column_transformer((StandardScaler(), NUMERIC), (OneHotEncoder(), ["strength"])), FINALS["forest"]
    ).fit(frame, Y)
    assert_same(model, frame[frame.columns[::-1]], [21])


@pytest.mark.parametrize("dtype", DTYPES)
def test_unions_weights_and_passthrough(dtype):
    x, y = data("wine", dtype)
    union = FeatureUnion(
        [("pca", PCA(2)), ("scaled", StandardScaler()), ("same", "passthrough"), ("none", "drop")],
        transformer_weights={"pca": 2.5},
    )
    assert_same(make_pipeline(union, RandomForestClassifier(5, random_state=0)).fit(x, y), x, [11, 21], limit=1e-5)
    steps = [("nothing", "passthrough"), ("scale", StandardScaler()), ("same", FunctionTransformer()), ("no", None)]
    assert_same(Pipeline([*steps, ("model", FINALS["forest"])]).fit(x, y), x, [11, 21])
    assert_same(Pipeline(steps[:3]).fit(x), x, [11, 21], limit=1e-300)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scaled_thresholds(dtype):
    """A one-ulp change of a scaled feature flips leaves: division, not multiplication by a reciprocal."""
    x, y = data("breast_cancer", dtype)
    for scaler in (StandardScaler(), RobustScaler(), MinMaxScaler()):
        model = make_pipeline(scaler, RandomForestClassifier(20, random_state=0)).fit(x, y)
        assert_same(model, x, [11, 21])


def test_sparse_features_are_scaled_as_scikit_learn_scales_them():
    frame = _frame("float64")
    columns = make_column_transformer((OneHotEncoder(), ["strength", "tens"]), (MinMaxScaler(), ["ash"]))
    model = make_pipeline(columns, StandardScaler(with_mean=False), FINALS["forest"]).fit(frame, Y)
    assert columns.fit(frame).sparse_output_
    assert_same(model, frame, [11, 21])


def _small_frame() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({
        "a": generator.normal(size=150), "b": generator.integers(0, 9, 150),
        "w": generator.choice(["x", "y", "z"], 150), "v": generator.choice(["p", "q"], 150),
        "flag": generator.random(150) > 0.5,
    })  # fmt: skip
    frame["kind"], frame["number"] = pd.Categorical(frame["w"]), frame["b"].astype("Int64")
    return frame


def _scaled_and_coded(**options) -> ColumnTransformer:
    parts = [("n", StandardScaler(), ["a", "b"]), ("w", OneHotEncoder(handle_unknown="ignore"), ["w", "v"])]
    return ColumnTransformer(parts, **options)


LINE = LogisticRegression()
TREES = RandomForestClassifier(4, random_state=0)
OF_FRAMES = {
    "union": make_pipeline(
        FeatureUnion([("a", _scaled_and_coded()), ("b", make_column_transformer((MinMaxScaler(), ["a"])))]), LINE
    ),
    "nested": make_pipeline(
        ColumnTransformer([("in", _scaled_and_coded(), ["a", "b", "w", "v"]), ("p", "passthrough", ["flag"])]), TREES
    ),
    "frames between": make_pipeline(
        ColumnTransformer(
            [("n", SimpleImputer(), ["a", "b"]), ("w", "passthrough", ["w", "v"])], verbose_feature_names_out=False
        ).set_output(transform="pandas"),
        _scaled_and_coded(),
        LINE,
    ),
    "new columns": make_pipeline(
        FunctionTransformer(lambda f: f.assign(r=f["a"] / (f["b"] + 1))),
        make_column_transformer((StandardScaler(), ["r", "a"]), (OneHotEncoder(), ["w"])),
        LINE,
    ),
    "kinds": make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["kind", "flag"]), ("passthrough", ["a", "number"])), TREES
    ),
    "rest": ColumnTransformer(
        [("x", OrdinalEncoder(), ["w"]), ("t", "drop", ["v", "kind", "number"])], remainder="passthrough"
    ),
    "stack": StackingClassifier([
        ("p", make_pipeline(_scaled_and_coded(), LINE)),
        ("q", make_pipeline(make_column_transformer((OrdinalEncoder(), ["w"])), TREES)),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_FRAMES)
def test_compositions_of_frames(name):
    frame = _small_frame()
    assert_same(clone(OF_FRAMES[name]).fit(frame, frame["a"] > 0), frame, [11, 21], limit=1e-12)


def test_sparse_rows():
    x = scipy.sparse.random(80, 6, density=0.3, random_state=0, format="csr")
    y = np.asarray(x.sum(axis=1)).ravel() > 0.8
    for model in (
        make_pipeline(MaxAbsScaler(), LINE),
        make_pipeline(StandardScaler(with_mean=False), TREES),
        TruncatedSVD(2, random_state=0),
        IsolationForest(n_estimators=5, random_state=0),
        AffinityPropagation(random_state=0),
        SimpleImputer(missing_values=5),
    ):
        assert_same(clone(model).fit(x, y), x, [21], limit=1e-12)
