"""Boosters as steps of scikit-learn's pipelines and ensembles."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from booster_check import assert_exact
from estimator_check import build, sessions
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from anyonnx import to_onnx
from anyonnx.converters.api import make_frontend
from anyonnx.converters.base import Options
from anyonnx.symbolic.errors import InputSpecError, UnsupportedOps, UntrustedFile

QUIET: dict[str, dict[str, Any]] = {
    "xgboost": {"n_estimators": 8, "n_jobs": 1},
    "lightgbm": {"n_estimators": 8, "n_jobs": 1, "verbose": -1},
    "catboost": {"iterations": 8, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
}
NAMES = {"xgboost": "XGB", "lightgbm": "LGBM", "catboost": "CatBoost"}


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    return load_wine(return_X_y=True)  # type: ignore[no-any-return]


def make(library: str, kind: str) -> Any:
    return getattr(pytest.importorskip(library), NAMES[library] + kind)(**QUIET[library])


@pytest.mark.parametrize("library", QUIET)
def test_behind_a_scaler(library: str) -> None:
    x, y = wine()
    model = make_pipeline(SimpleImputer(), StandardScaler(), make(library, "Classifier"))
    assert_exact("sklearn", model.fit(x, y), x)
    assert_exact("sklearn", make_pipeline(StandardScaler(), make(library, "Regressor")).fit(x, y), x)


@pytest.mark.parametrize("library", QUIET)
def test_behind_a_column_transformer(library: str) -> None:
    x, y = wine()
    columns = ColumnTransformer([("a", StandardScaler(), [0, 3, 5]), ("b", "passthrough", [7, 12])])
    assert_exact("sklearn", make_pipeline(columns, make(library, "Classifier")).fit(x, y > 0), x, dtypes=["float64"])


def test_votes_of_all_libraries() -> None:
    x, y = wine()
    members = [(library, make(library, "Classifier")) for library in QUIET]
    voting = VotingClassifier([*members, ("logistic", LogisticRegression(max_iter=2000))], voting="soft")
    assert_exact("sklearn", make_pipeline(StandardScaler(), voting).fit(x, y), x)


def test_other_compositions() -> None:
    x, y = wine()
    model = make_pipeline(SelectKBest(k=5), make("xgboost", "Classifier")).fit(x, y)
    assert_exact("sklearn", model, x, dtypes=["float64"])
    stack = StackingRegressor([(n, make(n, "Regressor")) for n in ("xgboost", "lightgbm")], Ridge(), cv=2)
    assert_exact("sklearn", stack.fit(x, y), x, dtypes=["float64"])


@pytest.mark.parametrize("library", QUIET)
def test_pickles_of_bare_models(library: str, tmp_path: Path) -> None:
    x, y = wine()
    model = make(library, "Classifier").fit(x, y)
    for path, packed in ((tmp_path / "m.joblib", 0), (tmp_path / "packed.joblib", 3), (tmp_path / "m.pkl", None)):
        if packed is None:
            path.write_bytes(pickle.dumps(model))
        else:
            joblib.dump(model, path, compress=packed)
        with pytest.raises(UntrustedFile, match=library):
            to_onnx(path, x)
        made = to_onnx(path, x, trust=True, compare=False)
        (session, _) = sessions(made.proto())
        label, shares = session.run(None, {"X": x})
        assert np.array_equal(label, model.predict(x).reshape(-1))
        np.testing.assert_allclose(shares, model.predict_proba(x), rtol=2e-6)


@pytest.mark.parametrize("library", QUIET)
def test_frames_are_put_in_the_models_order(library: str) -> None:
    x, y = wine()
    frame = pd.DataFrame(x, columns=[f"a {i}" for i in range(x.shape[1])])
    model = make(library, "Classifier").fit(frame, y)
    turned = frame[frame.columns[::-1]].assign(unused=1.0)
    found = make_frontend(library).load(model, turned, Options(21))
    assert found.samples is not None
    assert np.array_equal(found.samples["X"], x)
    with pytest.raises(InputSpecError, match=r"a.3"):
        make_frontend(library).load(model, frame.rename(columns={"a 3": "b"}), Options(21))


# --- categories of a DataFrame -------------------------------------------------------------------------------------


@cache
def shop() -> tuple[pd.DataFrame, np.ndarray]:
    r = np.random.default_rng(5)
    frame = pd.DataFrame({
        "price": r.normal(size=240),
        "colour": pd.Categorical(r.choice(["red", "green", "blue"], 240)),
        "size": pd.Categorical(r.choice([36, 38, 40], 240)),
        "count": r.integers(0, 9, 240),
        "new": r.random(240) < 0.5,
    })  # fmt: skip
    y = ((frame["price"] > 0) ^ (frame["colour"] == "red")).astype(int) + (frame["size"] == 38)
    frame.loc[::9, "colour"] = np.nan
    frame.loc[::7, "price"] = np.nan
    return frame, y.to_numpy()


def coloured(library: str, **options: Any) -> Any:
    own = {
        "xgboost": {"enable_categorical": True, "max_cat_to_onehot": 1},
        "lightgbm": {"min_data_per_group": 1, "cat_smooth": 1},
    }
    return type(make(library, "Classifier"))(**{**QUIET[library], **own[library], **options})


def feeds(session: Any, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """A DataFrame's columns as a service would feed them."""
    found = {}
    for given in session.get_inputs():
        column = frame[given.name].astype(object)
        words = given.type == "tensor(string)"
        array = np.array([str(v) for v in column], object) if words else column.to_numpy().astype(np.float64)
        kinds = {"tensor(int64)": np.int64, "tensor(bool)": bool}
        found[given.name] = (array if words else array.astype(kinds.get(given.type, np.float64))).reshape(-1, 1)
    return found


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_columns_of_a_frame_by_their_labels(library: str) -> None:
    frame, y = shop()
    model = coloured(library).fit(frame, y)
    # the labels count, not the codes that another frame happens to have
    turned = frame.assign(colour=frame["colour"].cat.reorder_categories(["red", "blue", "green"]))
    for given in (frame, turned, frame[frame.columns[::-1]]):
        source = assert_exact(library, model, given, dtypes=[None], frame="columns")
        assert [(s.name, s.dtype) for s in source.specs] == [
            ("price", "float64"), ("colour", "string"), ("size", "int64"), ("count", "int64"), ("new", "bool"),
        ]  # fmt: skip
        (session, _) = sessions(build(source, 21))
        label, shares = session.run(None, feeds(session, turned))
        assert np.array_equal(label, model.predict(frame))
        np.testing.assert_allclose(shares, model.predict_proba(frame), rtol=2e-6)
    booster = model.get_booster() if library == "xgboost" else model.booster_
    assert_exact(library, booster, frame, dtypes=[None], frame="columns")
    with pytest.raises(InputSpecError, match="frame=columns"):
        make_frontend(library).load(model, None, Options(21, extra={"frame": "columns"}))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_labels_outside_ascii(library: str) -> None:
    frame, y = shop()
    words = frame["colour"].cat.rename_categories({"green": "gr\u00fcn", "blue": "\u9752"})
    frame = frame.assign(colour=words)
    model = coloured(library).fit(frame, y)
    assert_exact(library, model, frame, dtypes=[None], frame="columns")
    turned = frame.assign(colour=words.cat.reorder_categories(["\u9752", "red", "gr\u00fcn"]))
    if library == "lightgbm":
        assert_exact(library, model, turned, dtypes=[None], frame="columns")
        return
    # XGBoost 3.2 keeps a part of their bytes only, and mistakes them itself in another order
    with pytest.raises(InputSpecError, match="outside ASCII"):
        make_frontend(library).load(model, turned, Options(21, extra={"frame": "columns"}))
    kept = ColumnTransformer([("all", "passthrough", list(frame))], verbose_feature_names_out=False)
    behind = make_pipeline(kept.set_output(transform="pandas"), model).fit(frame, y)
    with pytest.raises(UnsupportedOps, match="outside ASCII"):
        build(make_frontend("sklearn").load(behind, frame, Options(21)), 21)


def test_columns_that_lightgbm_was_not_fitted_with() -> None:
    frame, y = shop()
    model = coloured("lightgbm").fit(frame, y)
    with pytest.raises(InputSpecError, match="2 columns of categories, X has 1"):
        make_frontend("lightgbm").load(
            model, frame.assign(size=frame["size"].astype(int)), Options(21, extra={"frame": "columns"})
        )


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_categories_behind_a_transformer_that_keeps_the_frame(library: str) -> None:
    frame, y = shop()
    frame = frame.assign(size=frame["size"].where(frame["count"] > 1))  # whole numbers, some of them missing
    scaled = ColumnTransformer(
        [("s", StandardScaler(), ["price", "count"])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    assert_exact("sklearn", make_pipeline(scaled, coloured(library)).fit(frame, y), frame, dtypes=[None])


# --- sparse matrices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", QUIET)
def test_behind_transformers_that_give_sparse_matrices(library: str) -> None:
    frame, y = shop()
    words = frame["colour"].cat.add_categories("none").fillna("none").astype(object)
    frame = pd.DataFrame({"colour": words, "count": frame["count"] - 4.0})
    for threshold in (0, 1):  # what a sparse matrix doesn't hold is missing to XGBoost, and 0 to the others
        encoded = ColumnTransformer(
            [("e", OneHotEncoder(handle_unknown="ignore"), ["colour"])],
            remainder=MaxAbsScaler(), sparse_threshold=threshold,
        )  # fmt: skip
        model = make_pipeline(encoded, make(library, "Classifier")).fit(frame, y)
        assert scipy.sparse.issparse(model[0].transform(frame)) == bool(threshold)
        assert_exact("sklearn", model, frame, dtypes=[None])
    if library != "lightgbm":  # it takes no counts of whole numbers
        texts = [f"{w} {'new' if n > 0 else 'old'}" for w, n in zip(words, frame["count"], strict=True)]
        model = make_pipeline(CountVectorizer(), make(library, "Classifier")).fit(texts, y)
        assert_exact("sklearn", model, np.array(texts, object), opsets=[21], dtypes=[None])


def test_sparse_rows() -> None:
    r = np.random.default_rng(0)
    rows = scipy.sparse.csr_array(np.where(r.random((200, 6)) < 0.5, 0, r.normal(size=(200, 6))))
    y = (rows[:, [0]].toarray()[:, 0] > 0).astype(int)
    for library in ("xgboost", "lightgbm"):
        for model in (
            make_pipeline(MaxAbsScaler(), make(library, "Classifier")),
            make_pipeline(SimpleImputer(missing_values=5), make(library, "Classifier")),
        ):
            made = to_onnx(model.fit(rows, y), rows)
            (session, _) = sessions(made.proto())
            assert np.array_equal(session.run(None, {"X": rows.toarray()})[0], model.predict(rows))
    model = make("xgboost", "Classifier").fit(rows, y)
    source = make_frontend("xgboost").load(model, rows, Options(21))
    assert np.isnan(source.samples["X"]).mean() > 0.4
    assert np.array_equal(source.run(source.samples)["label"], model.predict(rows))


def test_forests_and_several_labels_of_the_libraries() -> None:
    x, y = wine()
    xgb, cat = pytest.importorskip("xgboost"), pytest.importorskip("catboost")
    several = np.stack([y > 0, y > 1], axis=1).astype(int)
    for model, target in (
        (xgb.XGBRFClassifier(n_estimators=5, n_jobs=1), y),
        (xgb.XGBRFRegressor(n_estimators=5, n_jobs=1), x[:, 0]),
        (make("xgboost", "Classifier"), several),
        (cat.CatBoostClassifier(loss_function="MultiLogloss", **QUIET["catboost"]), several),
    ):
        assert_exact("sklearn", make_pipeline(StandardScaler(), model).fit(x, target), x, dtypes=["float64"])
