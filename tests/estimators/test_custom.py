"""Functions and classes of the user's own: traced numpy code, registered functions, subclasses, other libraries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from estimator_check import assert_same, build, data, load
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from anyonnx.symbolic.errors import UnsupportedOps
from anyonnx.symbolic.estimators.calling import DIALECT, matrix
from anyonnx.symbolic.registry import registry, symbolic

NORMAL = QuantileTransformer(n_quantiles=50, output_distribution="normal")
X = np.random.default_rng(0).normal(size=(60, 5))


# --- functions -------------------------------------------------------------------------------------------------------


def negative_to_zero(x):
    y = x.copy()
    y[y < 0] = 0
    return y


def columns_written(x):
    y = np.array(x)
    y[:, 0] = np.log1p(np.abs(y[:, 1]))
    y[:, [2, 3]] *= 2
    y[x[:, 0] > 0, 1] = -1
    y[:, 4] += 1
    y[:, 1:3] *= y[:, :1]
    y -= 0.5
    return y


def filled_up(x):
    out = np.zeros((x.shape[0], 3))
    out[:, 1] = x[:, 1]
    out[:, 2] = x.sum(axis=1)
    return np.hstack([np.ones((x.shape[0], 1)), out])


FUNCTIONS = {
    "ufunc": np.expm1,
    "log": lambda x: np.log1p(np.abs(x)) + np.log10(np.abs(x) + 1) + np.sqrt(np.abs(x)),
    "arithmetic": lambda x: (x * 2 + 1) / 3 - x**2 + np.power(np.abs(x), 1.5),
    "remainder": lambda x: np.hstack([x % 3, x // 0.7, np.floor_divide(x, -2), np.trunc(x), np.rint(x)]),
    "clip": lambda x: np.hstack([np.clip(x, -0.5, 0.5), x.clip(0), np.maximum(x, 0.1)]),
    "where": lambda x: np.where(x > 0, x, -1) + np.select([x > 1, x > 0], [x * 2, x], -1),
    "conditions": lambda x: np.logical_and(x > 0, x < 1) | ~(x > -1) & np.isclose(x, np.round(x, 1)),
    "means": lambda x: (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1)[:, None],
    "sums": lambda x: np.c_[x.sum(1), np.cumsum(x, axis=1), np.nansum(x, axis=1), np.var(x, axis=1, ddof=1)],
    "extremes": lambda x: np.stack([np.max(x, axis=1), x.min(axis=1), np.argmax(x, axis=1)], axis=1),
    "order": lambda x: np.hstack([np.sort(x, axis=1), np.median(x, axis=1, keepdims=True)]),
    "norm": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    "slices": lambda x: np.hstack([x[:, ::-2], x[:, [0, 3, 1]], x[..., 1:3], x[:, -1:], np.diff(x, axis=1)]),
    "turned": lambda x: (x.T - x.mean(axis=1)).T,
    "angles": lambda x: np.hstack([np.sin(x) + np.cos(x) * np.tanh(x), np.arctan2(x[:, :1], x[:, 1:2])]),
    "matrix": lambda x: x @ np.arange(10.0).reshape(5, 2) + np.dot(x, np.ones((5, 1))),
    "missing": lambda x: np.hstack([np.nan_to_num(x), np.isnan(x).astype(float)]),
    "bins": lambda x: np.digitize(x, [-1, 0, 1]) + np.searchsorted([-1, 0, 1], x),
    "curve": lambda x: np.interp(x, [-1, 0, 2], [0, 1, 5]),
    "table": lambda x: np.take(np.array([3.0, 4.0, 5.0]), np.argmax(x[:, :3], axis=1))[:, None],
    "dtype": lambda x: np.asarray(x, dtype=np.float64) * 2,
    "written": negative_to_zero,
    "columns written": columns_written,
    "filled": filled_up,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions(name):
    for dtype in ("float32", "float64"):
        x = X.astype(dtype)
        limit = 1e-6 if dtype == "float32" else 1e-13
        assert_same(FunctionTransformer(FUNCTIONS[name]).fit(x), x, [11, 21], limit=limit)


@pytest.mark.parametrize("name", ["arithmetic", "where", "means", "order", "clip", "written", "slices"])
def test_numpy_functions_of_whole_numbers(name):
    x = np.random.default_rng(0).integers(-7, 8, (60, 5))
    x[:, 0] = np.arange(60)
    assert_same(FunctionTransformer(FUNCTIONS[name]).fit(x), x, [21], limit=1e-13)


def test_functions_with_arguments_and_inverse():
    x, y = data("diabetes", "float64")
    scaled = FunctionTransformer(lambda v, factor, shift=0.0: v * factor + shift, kw_args={"factor": 3.0})
    assert_same(make_pipeline(scaled, Ridge()).fit(x, y), x, [21])
    for model in (
        TransformedTargetRegressor(LinearRegression(), func=np.log1p, inverse_func=np.expm1),
        TransformedTargetRegressor(LinearRegression(), transformer=NORMAL),
        TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    ):
        assert_same(model.fit(x, y), x, [11, 21], limit=1e-12)


def test_functions_of_a_frame():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(word=np.array(["u", "v", "w"])[np.arange(60) % 3])

    def ratios(f):
        f = f.copy()
        f["ratio"] = f["a"] / (f["b"].abs() + 1) if hasattr(f["b"], "abs") else f["a"] / (np.abs(f["b"]) + 1)
        f["sum"] = np.log1p(np.abs(f["c"] + f.d))
        return f.drop(columns=["d"])

    model = make_column_transformer(
        (FunctionTransformer(ratios), ["a", "b", "c", "d"]),
        (FunctionTransformer(lambda f: np.exp(f[["e"]])), ["e"]),
        (OneHotEncoder(), ["word"]),
    )
    labels = frame["word"]
    assert_same(make_pipeline(model, RandomForestClassifier(5, random_state=0)).fit(frame, labels), frame, [21])


HOLES = pd.DataFrame(np.where(X > 1.2, np.nan, X)[:, :3], columns=list("abc")).assign(k=np.arange(60) % 7 - 3)
WORDS = HOLES.assign(word=np.array(["u", "v", None, "w"], object)[np.arange(60) % 4])


def _scaled(f):
    f = f.copy()
    f["a"] *= 2
    f["e"] = f["a"] + f.b
    return f


FRAME_FUNCTIONS = {
    "ufuncs": lambda f: np.exp(f) ** 2 + f**3 - abs(f),
    "assign": lambda f: f.assign(e=f["a"] * f["b"], g=lambda d: d["e"].isna().astype(float)),
    "missing": lambda f: f.fillna({"a": 1.0, "b": -1.0}).assign(lost=f["c"].isnull(), known=f["a"].notna()),
    "all missing": lambda f: f.fillna(0),
    "flags": lambda f: f.isna().astype(int),
    "bounds": lambda f: f.clip(-0.5, 0.5).round(1).abs(),
    "series": lambda f: (f["a"] / f["b"]).fillna(0).clip(-3, 3).where(f["c"] > 0, 0.5).to_frame(),
    "masked": lambda f: f["a"].mask(f["a"] > 0).round(2).to_frame("z"),
    "columns": lambda f: f.rename(columns={"a": "z"})[["z", "b"]].astype("float32"),
    "applied": lambda f: f.apply(lambda c: c * 2 + 1).apply(np.tanh),
    # pandas skips missing values, also where numpy is asked
    "statistics": lambda f: f.assign(m=f["a"].mean(), s=np.sum(f["b"]), t=f["c"].max() - np.min(f["c"])),
    "whole": lambda f: (f["k"] // 2 + f["k"] % 3).to_frame(),
    "looked up": lambda f: f.assign(k=f["k"].map({-3: 1.5, 2: 4}), i=f["k"].isin([0, 1])),
    "written": _scaled,
}


@pytest.mark.parametrize("name", FRAME_FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_pandas_functions(name):
    assert_same(FunctionTransformer(FRAME_FUNCTIONS[name]).fit(HOLES), HOLES, [11, 21], limit=1e-13)


@pytest.mark.filterwarnings("ignore")
def test_pandas_functions_of_words():
    def looked_up(f):
        return f.assign(
            word=f["word"].fillna("u").map({"u": 1, "v": 2}), lost=f["word"].isna(), w=f["word"].isin(["w"])
        )

    filled = make_pipeline(FunctionTransformer(lambda f: f.fillna("none")), OneHotEncoder())
    model = make_column_transformer((FunctionTransformer(looked_up), ["word", "a"]), (filled, ["word"]))
    assert_same(model.fit(WORDS), WORDS, [21])


REFUSED_OF_FRAMES = {
    "rows": lambda f: f.apply(lambda r: r["a"], axis=1).to_frame(),
    "each": lambda f: f["a"].map(lambda v: v * 2).to_frame(),
    "deviation": lambda f: (f["a"] / f["a"].std()).to_frame(),  # numpy's has other degrees of freedom
    "numpy's deviation": lambda f: (f["a"] / np.std(f["a"])).to_frame(),
    "division": lambda f: (f["k"] // (f["k"] + 4)).to_frame(),  # pandas makes floats of it where a divisor is 0
    "rank": lambda f: f.rank(),
    "cut": lambda f: pd.cut(f["a"], [-9, 0, 9], labels=False).to_frame(),
}


@pytest.mark.parametrize("name", REFUSED_OF_FRAMES)
def test_pandas_functions_that_cannot_be_traced(name):
    source = load(FunctionTransformer(REFUSED_OF_FRAMES[name]).fit(HOLES), HOLES)
    with pytest.raises(UnsupportedOps, match="can't be traced"):
        build(source, 21)


def test_functions_that_make_other_columns_before_a_scaler():
    for function in (lambda x: x[:, [0]] / x[:, [1]], lambda x: np.c_[x, x.mean(axis=1)]):
        model = make_pipeline(FunctionTransformer(function), StandardScaler(), Ridge()).fit(X, X[:, 0])
        assert_same(model, X, [21], limit=1e-12)


class Careful(LogisticRegression):
    """Predicts the second class already from a third on; its other methods are those of its base."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.3).astype(int)]


class Sharper(LogisticRegression):
    """Its base's probabilities hang on what it changes."""

    def decision_function(self, X):
        return super().decision_function(X) * 2


def test_classes_that_override_predict_keep_the_other_methods_of_their_base():
    x, y = data("breast_cancer-scaled", "float64")
    for labels in (y, np.array(["no", "yes"])[y]):
        assert_same(Careful().fit(x, labels), x, [21], limit=1e-12)
    assert_same(Careful().fit(x, y), x, [21], limit=1e-12, methods="decision_function,predict")
    both = VotingClassifier([("a", Careful()), ("b", LogisticRegression())], voting="soft")
    assert_same(both.fit(x, y), x, [21], limit=1e-12)
    with pytest.raises(UnsupportedOps, match="predict isn't done"):
        build(load(Sharper().fit(x, y), x), 21)


# --- what can't be traced --------------------------------------------------------------------------------------------


def _writes_to_its_input(x):
    x[:, 0] = 0
    return x


def _writes_to_a_view(x):
    y = x.copy()
    column = y[:, 0]
    y[:, 0] = 1
    return column[:, None] + y


def _writes_through_a_view(x):
    y = x.copy()
    column = y[:, 0]
    column += 1
    return y


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x if x.sum() > 0 else -x, "depends on the data"),
        (lambda x: x[x[:, 0] > 0], "np.where"),
        (lambda x: np.linalg.svd(x)[0], "svd is not known"),
        (lambda x: np.array([[float(v) for v in row] for row in x]), "number of rows"),
        (_writes_to_its_input, "take a copy"),
        (_writes_to_a_view, "take a copy"),
        (_writes_through_a_view, "take a copy"),
        (lambda x: x + np.random.normal(), "another one each time"),
        (lambda x: x.astype(str), "text of numbers"),
    ],
)
def test_refused_functions(function, reason):
    source = load(FunctionTransformer(function), X)
    with pytest.raises(UnsupportedOps, match=f"can't be traced.*{reason}"):
        build(source, 21)


# --- classes ---------------------------------------------------------------------------------------------------------


class Centred(TransformerMixin, BaseEstimator):
    """Checks its input as scikit-learn's own do, and calls helpers of its own."""

    def __init__(self, power=2):
        self.power = power

    def fit(self, x, y=None):
        x = validate_data(self, x)
        self.mean_, self.kept_ = x.mean(axis=0), np.array([0, 2])
        return self

    def _powers(self, x):
        return np.concatenate([x**p for p in range(1, self.power + 1)], axis=1)

    def transform(self, x):
        check_is_fitted(self)
        x = validate_data(self, check_array(x, dtype=[np.float64, np.float32]), reset=False)
        return self._powers(x - self.mean_)[:, self.kept_]


class Nearest(ClassifierMixin, BaseEstimator):
    """A classifier in numpy: the nearest mean."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.centres_ = np.stack([x[y == c].mean(axis=0) for c in self.classes_])
        self.n_features_in_ = x.shape[1]
        return self

    def decision_function(self, x):
        check_is_fitted(self)
        return np.stack([-((x - centre) ** 2).sum(axis=1) for centre in self.centres_], axis=1)

    def predict_proba(self, x):
        scores = self.decision_function(x)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, x):
        return self.classes_[np.argmax(self.decision_function(x), axis=1)]


class Line(RegressorMixin, BaseEstimator):
    """A regressor in numpy."""

    def fit(self, x, y):
        self.slope_ = np.linalg.lstsq(x, y, rcond=None)[0]
        self.n_features_in_ = x.shape[1]
        return self

    def predict(self, x):
        return x @ self.slope_


class Doubled(StandardScaler):
    """A subclass that goes on from what its base gives."""

    def transform(self, X, copy=None):
        return super().transform(X) * 2


class Voted(LogisticRegression):
    """A subclass with another rule for the label."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, -1] > 0.2).astype(int) * 2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_classes(dtype):
    x, y = data("wine-scaled", dtype)
    words = np.array(["one", "two", "three"])[y]
    assert_same(Centred(3).fit(x), x, [11, 21])
    assert_same(make_pipeline(Centred(), Nearest()).fit(x, words), x, [11, 21], limit=1e-5)
    assert_same(Nearest().fit(x, y), x, [21], methods="predict,decision_function", limit=1e-5)
    assert_same(FeatureUnion([("own", Centred()), ("base", Doubled())]).fit(x), x, [21])
    assert_same(Line().fit(x, y.astype(dtype)), x, [21], limit=1e-5)
    assert_same(Voted(max_iter=300).fit(x, y), x, [21], methods="predict")


class Branching(Centred):
    def transform(self, x):
        return x if x[0, 0] > 0 else -x


def test_a_class_that_can_not_be_traced():
    x, _ = data("wine", "float64")
    model = make_pipeline(StandardScaler(), Branching()).fit(x)
    with pytest.raises(UnsupportedOps, match=r"at pipeline.branching.*Branching.transform can't be traced"):
        build(load(model, x), 21)


# --- registered functions --------------------------------------------------------------------------------------------


def mirrored(x):
    return np.sort(x, axis=0)[::-1]


def test_registered_functions_come_first():
    names = f"{mirrored.__module__}.mirrored", f"{Centred.__module__}.Centred"

    @symbolic(DIALECT, names[0])
    def mirrored_in_graph(g, x):
        """mirrored(X): refused by the tracing"""
        return g.Neg(matrix(g, x))

    @symbolic(DIALECT, names[1])
    def centred(g, x, est):
        """Centred.transform(X): X"""
        return matrix(g, x)

    try:
        proto = build(load(FunctionTransformer(mirrored), X), 21)
        assert [n.op_type for n in proto.graph.node] == ["Neg"]
        assert [n.op_type for n in build(load(Centred().fit(X), X), 21).graph.node] == ["Identity"]
    finally:
        for name in names:
            registry._rows.pop((DIALECT, name))


def test_own_classifiers_inside_scikit_learns():
    x, y = data("wine-scaled", "float64")
    model = VotingClassifier([("own", Nearest()), ("line", LogisticRegression())], voting="soft").fit(x, y)
    assert_same(model, x, [21], limit=1e-12)
