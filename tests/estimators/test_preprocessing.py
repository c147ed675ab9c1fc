"""Scalers, imputers, encoders, projections: the numbers of scikit-learn, in its order and dtypes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from estimator_check import assert_same, build, data, load, sessions
from sklearn import preprocessing as pp
from sklearn.base import clone
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression

from anyonnx.symbolic.errors import UnsupportedOps

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ("float32", "float64")
#: These are no sums: every result is the source's own, bit for bit.
EXACT = {
    "standard": pp.StandardScaler(),
    "standard no mean": pp.StandardScaler(with_mean=False),
    "standard no std": pp.StandardScaler(with_std=False),
    "min max": pp.MinMaxScaler(),
    "min max clip": pp.MinMaxScaler((-1, 2), clip=True),
    "max abs": pp.MaxAbsScaler(),
    "max abs clip": pp.MaxAbsScaler(),
    "robust": pp.RobustScaler(),
    "robust no centre": pp.RobustScaler(with_centering=False),
    "normalizer max": pp.Normalizer("max"),
    "binarizer": pp.Binarizer(threshold=1.3),
    "polynomial": pp.PolynomialFeatures(3),
    "polynomial interaction": pp.PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    "identity": pp.FunctionTransformer(),
    "impute mean": SimpleImputer(),
    "impute median": SimpleImputer(strategy="median", add_indicator=True),
    "impute frequent": SimpleImputer(strategy="most_frequent"),
    "impute constant": SimpleImputer(strategy="constant", fill_value=-1.5),
    "missing": MissingIndicator(),
}
SUMS = {
    "normalizer": pp.Normalizer(),
    "normalizer l1": pp.Normalizer("l1"),
    "pca": PCA(3),
    "pca whiten": PCA(3, whiten=True),
    "incremental": IncrementalPCA(2),
    "svd": TruncatedSVD(3, random_state=0),
}
NEEDS_HOLES = ("impute", "missing")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXACT)
def test_exact(name, dtype):
    x, _ = data("wine-nan" if name.startswith(NEEDS_HOLES) else "wine", dtype)
    assert_same(EXACT[name].fit(x), x, limit=1e-300)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SUMS)
def test_sums(name, dtype):
    x, _ = data("wine", dtype)
    assert_same(SUMS[name].fit(x), x)


SMOOTH = {
    "box cox": pp.PowerTransformer("box-cox"),
    "yeo johnson": pp.PowerTransformer(),
    "yeo johnson alone": pp.PowerTransformer(standardize=False),
    "quantiles": pp.QuantileTransformer(n_quantiles=50),
    "normal quantiles": pp.QuantileTransformer(n_quantiles=50, output_distribution="normal"),
    **{
        f"spline {extrapolation} {degree}": pp.SplineTransformer(
            degree=degree, extrapolation=extrapolation, include_bias=degree != 2, sparse_output=degree == 3,
            knots="quantile" if degree == 2 else "uniform",
        )
        for extrapolation in ("constant", "linear", "continue", "periodic")
        for degree in (1, 2, 3)
    },
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth(name, dtype):
    x = data("wine", dtype)[0][:, :4]
    opsets = [21] if name.startswith("spline") else [11, 21]
    # float32: the last bit of numpy's own expm1, divided by the spread of the feature
    assert_same(SMOOTH[name].fit(x), x, opsets, limit=5e-6 if dtype == "float32" else 1e-12)


def test_splines_of_missing_values():
    x = data("wine-nan", "float64")[0][:, :3]
    for extrapolation in ("constant", "linear", "continue", "periodic"):
        spline = pp.SplineTransformer(degree=3, extrapolation=extrapolation, handle_missing="zeros")
        assert_same(spline.fit(x), x, [21], limit=1e-12)
    spline = pp.SplineTransformer(degree=3, extrapolation="continue", handle_missing="zeros", sparse_output=True)
    with pytest.raises(UnsupportedOps, match="by the other rows"):
        build(load(spline.fit(x), x), 21)


@pytest.mark.parametrize("encode", ["onehot", "onehot-dense", "ordinal"])
def test_bins(encode):
    x, _ = data("wine", "float64")
    for strategy, dtype in (("uniform", None), ("quantile", np.float32), ("kmeans", None)):
        bins = pp.KBinsDiscretizer(5, encode=encode, strategy=strategy, dtype=dtype)
        assert_same(bins.fit(x), x, [11, 21])


@pytest.mark.parametrize("dtype", DTYPES)
def test_imputers_that_look_at_other_features(dtype):
    generator = np.random.default_rng(0)  # no two distances are equal: which donor comes first is not defined then
    x = generator.normal(size=(150, 4)).astype(dtype)
    x[generator.random(x.shape) < 0.15] = np.nan
    empty = np.c_[x, np.full(len(x), np.nan, dtype)]
    limit = 1e-5 if dtype == "float32" else 1e-9
    for imputer, rows in (
        (KNNImputer(n_neighbors=3, weights="distance", add_indicator=True), x),
        (KNNImputer(keep_empty_features=True), empty),
        (KNNImputer(n_neighbors=2), empty),
        (IterativeImputer(max_iter=3, random_state=0), x),
        (IterativeImputer(LinearRegression(), max_iter=2, add_indicator=True, min_value=0), empty),
        (IterativeImputer(max_iter=2, keep_empty_features=True, n_nearest_features=3, random_state=0), empty),
    ):
        assert_same(imputer.fit(rows), rows, [21], limit=limit)
    with pytest.raises(UnsupportedOps, match="random"):
        build(load(IterativeImputer(sample_posterior=True, random_state=0).fit(x), x), 21)


@pytest.mark.parametrize("kind", ["words", "counts", "numbers", "flags"])
def test_target_encoder(kind):
    x = np.stack([_columns()[kind], _columns()[kind][::-1]], axis=1)
    generator = np.random.default_rng(2)
    targets = generator.integers(0, 2, 200), np.array(["x", "y", "z"])[generator.integers(0, 3, 200)]
    for y in (*targets, generator.normal(size=200)):
        assert_same(pp.TargetEncoder(smooth=3.0).fit(x, y), x, [11, 21])


def test_whole_numbers():
    x = np.random.default_rng(0).integers(-5, 9, (40, 3))
    for est in (pp.StandardScaler(), pp.MinMaxScaler(), pp.Binarizer(threshold=2), pp.PolynomialFeatures(2)):
        assert_same(est.fit(x), x, [11, 21], limit=1e-300)
    assert_same(SimpleImputer(missing_values=-1, strategy="most_frequent").fit(x), x, [11, 21])


def test_imputer_drops_or_keeps_empty_features():
    x, _ = data("wine-nan", "float64")
    x = np.c_[x[:, :2], np.full(len(x), np.nan), x[:, 3]]
    assert_same(SimpleImputer().fit(x), x, [11, 21], limit=1e-300)
    assert_same(SimpleImputer(keep_empty_features=True, add_indicator=True).fit(x), x, [11, 21], limit=1e-300)


ENCODERS = {
    "one hot": pp.OneHotEncoder(handle_unknown="ignore"),
    "one hot error": pp.OneHotEncoder(),
    "one hot first": pp.OneHotEncoder(drop="first", sparse_output=False),
    "one hot binary": pp.OneHotEncoder(drop="if_binary", dtype=np.float32),
    "one hot int": pp.OneHotEncoder(dtype=np.int64),
    "one hot rare": pp.OneHotEncoder(min_frequency=12, handle_unknown="infrequent_if_exist"),
    "one hot rare first": pp.OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist", drop="first"),
    "ordinal": pp.OrdinalEncoder(),
    "ordinal unknown": pp.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=np.int64),
    "ordinal rare": pp.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=12),
}


def _columns() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    share = [0.4, 0.3, 0.15, 0.1, 0.05]
    return {
        "words": generator.choice(np.array(["red", "green", "blue", "", "Ünïcode"], object), 200, p=share),
        "counts": generator.choice(np.array([3, -1, 7, 100, 0]), 200, p=share),
        "numbers": generator.choice(np.array([0.1, 0.5, -2.0, 1e9, 3.25]), 200, p=share),
        "flags": generator.random(200) < 0.7,
    }


@pytest.mark.parametrize("kind", ["words", "counts", "numbers", "float32", "flags"])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoder_of_one_kind(name, kind):
    columns = _columns()
    values = columns["numbers"].astype(np.float32) if kind == "float32" else columns[kind]
    x = np.stack([values, values[::-1]], axis=1)
    assert_same(clone(ENCODERS[name]).fit(x), x, [11, 17, 21])


@pytest.mark.parametrize("name", ENCODERS)
def test_encoder_of_a_frame(name):
    frame = pd.DataFrame(_columns())
    assert_same(clone(ENCODERS[name]).fit(frame), frame, [11, 13, 21, 25])


@pytest.mark.parametrize("name", [n for n in ENCODERS if n != "ordinal unknown"])
@pytest.mark.parametrize("nothing", [np.nan, None])
def test_encoder_with_missing_values(name, nothing):
    frame = pd.DataFrame(_columns())[["words", "numbers"]]
    holes = np.random.default_rng(1).random((200, 2)) < 0.15
    frame["words"] = frame.words.astype(object).where(~holes[:, 0], nothing)
    frame["numbers"] = frame.numbers.where(~holes[:, 1], np.nan)
    assert_same(clone(ENCODERS[name]).fit(frame), frame, [11, 21])


def test_drop_of_named_categories():
    frame = pd.DataFrame(_columns())[["words", "counts"]]
    assert_same(pp.OneHotEncoder(drop=["blue", 7]).fit(frame), frame, [11, 21])


def test_given_categories():
    frame = pd.DataFrame(_columns())[["words"]]
    known = [["green", "red", "violet"]]
    for encoder in (
        pp.OneHotEncoder(categories=known, handle_unknown="ignore"),
        pp.OrdinalEncoder(categories=known, handle_unknown="use_encoded_value", unknown_value=-7),
    ):
        assert_same(encoder.fit(frame), frame, [11, 21])


def test_words_are_imputed():
    frame = pd.DataFrame(_columns())[["words"]]
    frame["words"] = frame.words.astype(object).where(np.arange(200) % 5 > 0, np.nan)
    assert_same(SimpleImputer(strategy="most_frequent").fit(frame), frame, [11, 21])
    assert_same(SimpleImputer(strategy="constant", fill_value="none").fit(frame), frame, [11, 21])


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 1, 7], ["c", "a", "Ü"], [False, True]])
def test_transformers_of_labels(labels):
    y = np.array(labels)[np.arange(60) % len(labels)]
    for encoder in (pp.LabelEncoder(), pp.LabelBinarizer(), pp.LabelBinarizer(neg_label=-2, pos_label=5)):
        assert_same(encoder.fit(y), y, [11, 21])
        assert_same(encoder, None, [21])


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_quantiles_so_near_each_other_that_slopes_overflow(output):
    x = np.random.default_rng(0).normal(size=(90, 2)) * [5e-320, 1e30]
    model = pp.QuantileTransformer(n_quantiles=12, output_distribution=output).fit(x)
    assert_same(model, x, [11, 21], limit=1e-13)
    rows = np.concatenate([x, model.quantiles_])
    source = load(model, x)
    found = sessions(build(source, 21))[0].run(None, {"X": rows})[0]
    np.testing.assert_allclose(found, model.transform(rows), rtol=1e-13)


def test_rows_of_several_labels():
    y = (np.random.default_rng(0).random((40, 3)) < 0.5).astype(int)
    for options in (
        {},
        {"neg_label": -1},
        {"pos_label": 5},
        {"neg_label": -2, "pos_label": 0},
        {"sparse_output": True},
    ):
        binarizer = pp.LabelBinarizer(**options).fit(y)
        for dtype in ("int64", "float32"):
            assert_same(binarizer, y.astype(dtype), [11, 21])
