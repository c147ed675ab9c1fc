"""Loading, names, files, and what is refused."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from estimator_check import assert_same, build, data, load, sessions
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from anyonnx.converters.api import to_onnx
from anyonnx.converters.base import Options
from anyonnx.converters.from_sklearn import SklearnFrontend
from anyonnx.symbolic.errors import CaptureError, InputSpecError, UnsupportedOps, UntrustedFile
from anyonnx.symbolic.estimators.calling import DIALECT, matrix
from anyonnx.symbolic.registry import registry, symbolic

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def pipeline():
    x, y = data("wine", "float32")
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(x, y)


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digits_pipeline", "wine_frame"])
@pytest.mark.parametrize("opset", [11, 21])
def test_fixture_through_the_whole_way(name, opset, tmp_path):
    result = to_onnx(FIXTURES / f"{name}.skops", opset=opset, output=tmp_path / "model.onnx")
    assert result.parity is not None and result.parity.passed
    assert (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize("save", [joblib.dump, lambda m, p: Path(p).write_bytes(pickle.dumps(m))])
def test_pickles_only_with_trust(save, pipeline, tmp_path):
    path = tmp_path / "model.joblib"
    save(pipeline, path)
    with pytest.raises(UntrustedFile, match=r"sklearn\.pipeline\.Pipeline") as caught:
        to_onnx(path)
    assert "sklearn.linear_model._logistic.LogisticRegression" in caught.value.imports
    assert to_onnx(path, trust=True).parity.passed


class Foreign(TransformerMixin, BaseEstimator):
    """A transformer that skops doesn't know."""

    def fit(self, x, y=None):
        self.n_features_in_ = x.shape[1]
        return self

    def transform(self, x):
        return x + 1


def test_skops_lists_foreign_types(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(make_pipeline(Foreign(), Ridge()).fit(*data("diabetes", "float32")), path)
    with pytest.raises(UntrustedFile) as caught:
        to_onnx(path)
    assert [i.rpartition(".")[2] for i in caught.value.imports] == ["Foreign"]


def test_another_release_is_told_in_one_line(pipeline, tmp_path):
    raw = pickle.dumps(pipeline)
    version = re.search(rb"_sklearn_version.{0,4}?([0-9]+\.[0-9]+\.[0-9]+)", raw, re.DOTALL)[1]
    path = tmp_path / "old.pkl"
    path.write_bytes(raw.replace(version, b"1.4.2"[: len(version)].ljust(len(version), b"0")))
    with pytest.warns(UserWarning, match="written by scikit-learn 1.4.2, run by") as caught:
        source = SklearnFrontend().load(path, None, Options(21, trust=True))
    assert len(caught) == 1
    assert "1.4.2" in source.description


def test_damaged_file_is_one_line(tmp_path, pipeline):
    path = tmp_path / "broken.pkl"
    path.write_bytes(pickle.dumps(pipeline)[:-200])
    with pytest.raises((CaptureError, InputSpecError)) as caught:
        SklearnFrontend().load(path, None, Options(21, trust=True))
    assert str(caught.value).count("\n") == 0


def test_damaged_trees_are_found_before_they_run():
    x, y = data("wine", "float32")
    est = RandomForestClassifier(2, random_state=0).fit(x, y)
    state = est.estimators_[1].tree_.__getstate__()
    state["nodes"]["right_child"][0] = 10**6
    est.estimators_[1].tree_.__setstate__(state)
    with pytest.raises(Exception, match="point nowhere"):
        build(load(est, x), 21)


# --- inputs and outputs --------------------------------------------------------------------------------------------


def test_names_and_open_batch(pipeline):
    x, _ = data("wine", "float32")
    options = Options(21, ["rows"], ["class", "chance"], {0: {0: "n"}})
    source = SklearnFrontend().load(pipeline, x, options)
    proto = build(source, 21)
    assert [str(s) for s in source.specs] == ["rows:float32[n,13]"]
    assert [o.name for o in proto.graph.output] == ["class", "chance"]
    assert source.labels == ["class"]
    for rows in (1, 5):
        label, chance = sessions(proto)[0].run(None, {"rows": x[:rows]})
        assert label.shape == (rows,) and chance.shape == (rows, 3)


def test_without_x(pipeline):
    assert [str(s) for s in load(pipeline, None).specs] == ["X:float32[batch,13]"]
    assert [str(s) for s in load(pipeline, None, dtype="float64").specs] == ["X:float64[batch,13]"]
    assert_same(pipeline, None, [21], dtype="float64", limit=1e-6)


def test_specs(pipeline):
    assert [str(s) for s in load(pipeline, ("rows:float64[n,13]",)).specs] == ["rows:float64[n,13]"]
    with pytest.raises(InputSpecError, match="12 features"):
        load(pipeline, ("X:float32[batch,12]",))


def test_frame_without_x():
    frame = pd.DataFrame({"n": [1, 2, 3, 4], "w": list("abca"), "v": [0.5, 1.0, 2.0, 8.0], "unused": [0, 0, 0, 1]})
    model = make_column_transformer((StandardScaler(), ["v"]), (OneHotEncoder(), ["w", "n"])).fit(frame)
    assert [str(s) for s in load(model, None).specs] == ["n:int64[batch,1]", "w:string[batch,1]", "v:float32[batch,1]"]
    assert_same(model, None, [21])
    mapping = {c: frame[c].to_numpy() for c in frame}
    assert [s.dtype for s in load(model, mapping).specs] == ["int64", "string", "float64"]
    with pytest.raises(InputSpecError, match="lacks the columns v"):
        load(model, frame.drop(columns="v"))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 5), np.float32), "5 features"),
        (np.zeros(3, np.float32), "1 axes"),
        (np.array([["a", 1.5]] * 13, object).reshape(2, 13), "DataFrame"),
        (np.zeros((3, 13), "datetime64[s]"), "datetime64"),
    ],
)
def test_wrong_x_is_one_line(pipeline, x, message):
    with pytest.raises(InputSpecError, match=message) as caught:
        load(pipeline, x)
    assert str(caught.value).count("\n") == 0


def test_unknown_option(pipeline):
    with pytest.raises(InputSpecError, match="zipmap"):
        load(pipeline, None, zipmap=False)


def test_not_fitted():
    with pytest.raises(CaptureError, match="not fitted"):
        load(LogisticRegression(), None)


def test_accepts_by_names():
    frontend = SklearnFrontend()
    assert frontend.accepts(LogisticRegression()) and frontend.accepts(Foreign())
    assert not frontend.accepts("model.pkl") and not frontend.accepts(np.zeros(2))


# --- what is refused -----------------------------------------------------------------------------------------------


def _of_a_later_release(name: str, base: type) -> type:
    """A class that scikit-learn itself might have, and that nobody has registered."""

    def transform(self, X):
        return X

    transform.__module__ = "sklearn.later"
    return type(name, (base,), {"__module__": "sklearn.later", "transform": transform})


def test_everything_missing_is_reported_at_once():
    x, y = data("wine", "float64")
    curved = _of_a_later_release("Curved", StandardScaler)
    union = FeatureUnion([("curved", curved()), ("scaled", StandardScaler())])
    model = Pipeline([("both", union), ("again", curved()), ("other", _of_a_later_release("Other", StandardScaler)())])
    with pytest.raises(UnsupportedOps) as caught:
        build(load(model.fit(x, y), x), 21)
    found = {m.name: m.locations for m in caught.value.missing}
    assert found == {
        "sklearn.later.Curved": ("pipeline.both.curved", "pipeline.again"),
        "sklearn.later.Other": ("pipeline.other",),
    }


class Louder(StandardScaler):
    """Another parameter, which nobody knows."""

    def __init__(self, volume=11, *, copy=True, with_mean=True, with_std=True):
        super().__init__(copy=copy, with_mean=with_mean, with_std=with_std)
        self.volume = volume


class Same(StandardScaler):
    """A subclass that computes the same."""


class Different(StandardScaler):
    """A subclass that computes something else."""

    def transform(self, x, copy=None):
        return super().transform(x) * 2


class OtherDivision(LogisticRegression):
    """A subclass that changes a method which others call."""

    def _predict_proba_lr(self, x):
        return super()._predict_proba_lr(x)


def test_subclasses():
    x, y = data("wine", "float32")
    assert_same(Same().fit(x), x, [21])
    assert_same(Different().fit(x), x, [21])
    with pytest.raises(UnsupportedOps, match="OtherDivision"):
        build(load(OtherDivision().fit(x, y), x), 21)
    with pytest.raises(UnsupportedOps, match="volume=11"):
        build(load(Louder().fit(x), x), 21)


def test_refusals_name_what_they_refuse():
    x, y = data("wine", "float64")
    words = FunctionTransformer(np.fft.rfft).fit(x)
    with pytest.raises(UnsupportedOps, match="rfft can't be traced"):
        build(load(words, x), 21)
    random = DummyClassifier(strategy="uniform").fit(x, y)
    with pytest.raises(UnsupportedOps, match="random"):
        build(load(random, x), 21)


def test_a_users_own_estimator():
    x, y = data("diabetes", "float64")
    model = make_pipeline(Foreign(), Ridge()).fit(x, y)
    name = f"{Foreign.__module__}.Foreign"

    @symbolic(DIALECT, name, "Foreign")
    def foreign(g, x, est):
        """Foreign.transform(X): X + 1"""
        return g.Add(matrix(g, x), np.float64(1))

    try:
        assert_same(model, x, [11, 21])
    finally:
        for key in (name, "Foreign"):
            registry._rows.pop((DIALECT, key))
