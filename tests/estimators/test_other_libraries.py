"""imbalanced-learn, which the dialect knows, and category_encoders by a plugin of its own."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pandas as pd
import pytest
from estimator_check import assert_same, build, data, load
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from anyonnx.symbolic.errors import UnsupportedOps
from anyonnx.symbolic.estimators.calling import DIALECT
from anyonnx.symbolic.registry import registry

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samplers_stand_still(dtype):
    pytest.importorskip("imblearn")
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline
    from imblearn.under_sampling import RandomUnderSampler

    x, y = data("wine", dtype)
    model = make_pipeline(
        StandardScaler(), SMOTE(random_state=0), RandomUnderSampler(random_state=0), LogisticRegression(max_iter=200)
    )
    assert_same(model.fit(x, y), x, [11, 21], limit=1e-5)


ENSEMBLES = ("BalancedRandomForest", "BalancedBagging", "EasyEnsemble", "RUSBoost")


@pytest.mark.parametrize("name", ENSEMBLES)
def test_balanced_ensembles(name):
    pytest.importorskip("imblearn")
    import imblearn.ensemble

    x, y = data("wine", "float64")
    model = getattr(imblearn.ensemble, f"{name}Classifier")(n_estimators=2, random_state=0).fit(x, y)
    assert_same(model, x, [21])


def _frame():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({
        "word": generator.choice(list("abcd"), 120), "number": generator.choice([1, 2, 5], 120),
        "value": generator.normal(size=120),
    })  # fmt: skip
    return frame, (frame["word"].isin(["a", "b"]) ^ (frame["value"] > 0)).astype(int)


@pytest.fixture(scope="module")
def plugin():
    pytest.importorskip("category_encoders")
    before = set(registry._rows)
    yield importlib.import_module("category_encoders_plugin")
    sys.modules.pop("category_encoders_plugin")
    for key in set(registry._rows) - before:
        registry._rows.pop(key)


ENCODERS = (
    "OrdinalEncoder", "TargetEncoder", "JamesSteinEncoder", "MEstimateEncoder", "WOEEncoder", "OneHotEncoder",
    "BinaryEncoder", "CountEncoder",
)  # fmt: skip


@pytest.mark.parametrize("name", ENCODERS)
def test_category_encoders(plugin, name):
    import category_encoders
    from sklearn.pipeline import make_pipeline

    frame, y = _frame()
    encoder = getattr(category_encoders, name)(cols=["word", "number"])
    model = make_pipeline(encoder, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    proto = assert_same(model, frame.assign(word=frame["word"].where(frame["value"] < 1.5, "unseen")), [11, 21])
    assert [i.name for i in proto.graph.input] == ["word", "number", "value"]


def test_without_the_plugin_it_is_refused():
    category_encoders = pytest.importorskip("category_encoders")
    frame, y = _frame()
    encoder = category_encoders.SumEncoder(cols=["word"]).fit(frame, y)
    assert registry.lookup(DIALECT, "category_encoders.sum_coding.SumEncoder", 21) is None
    with pytest.raises(UnsupportedOps, match=r"SumEncoder.*can't be traced"):
        build(load(encoder, frame), 21)
