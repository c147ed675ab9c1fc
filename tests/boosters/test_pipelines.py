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
from booster_check import assert_exact
from estimator_check import sessions
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anyonnx import to_onnx
from anyonnx.converters.api import make_frontend
from anyonnx.converters.base import Options
from anyonnx.symbolic.errors import InputSpecError, UntrustedFile

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
