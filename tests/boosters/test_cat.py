"""CatBoost models against CatBoost in onnxruntime, on rows at their borders."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from booster_check import OPSETS, assert_exact

from anyonnx.converters.base import Options
from anyonnx.converters.from_catboost import CatboostFrontend, read_file
from anyonnx.symbolic.builder import GraphBuilder
from anyonnx.symbolic.errors import CaptureError, InputSpecError, UnsupportedOps

cb = pytest.importorskip("catboost")
K = {"iterations": 10, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_wine

    return load_wine(return_X_y=True)  # type: ignore[no-any-return]


@cache
def holes() -> np.ndarray:
    x = wine()[0].copy()
    x[::7, 12], x[::5, 2] = np.nan, np.nan
    return x


def test_multi_class_at_every_opset() -> None:
    assert_exact("catboost", cb.CatBoostClassifier(**K).fit(holes(), wine()[1]), opsets=OPSETS)


@pytest.mark.parametrize("labels", ["words", "bools", "numbers", "two"])
def test_labels(labels: str) -> None:
    x, y = wine()
    targets = {"words": np.array(["a", "b", "c"])[y], "bools": y > 0, "numbers": y * 10 - 5, "two": (y > 0) * 1}[labels]
    assert_exact("catboost", cb.CatBoostClassifier(**K).fit(x, targets), x)


CLASSIFIERS = {"MultiClassOneVsAll": "y", "CrossEntropy": "y/2", "MultiLogloss": "two", "MultiCrossEntropy": "two"}


@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_classifier_loss(loss: str) -> None:
    x, y = wine()
    target = {"y": y, "y/2": y / 2, "two": np.stack([y > 0, y > 1], 1).astype(int)}[CLASSIFIERS[loss]]
    assert_exact("catboost", cb.CatBoostClassifier(**K, loss_function=loss).fit(x, target), dtypes=["float32"])


def test_probability_border() -> None:
    x, y = wine()
    model = cb.CatBoostClassifier(**K).fit(x, (y > 0) * 1)
    model.set_probability_threshold(0.3)
    assert_exact("catboost", model)


REGRESSORS = (
    "RMSE", "MAE", "Quantile", "Poisson", "Tweedie:variance_power=1.5", "MAPE", "RMSEWithUncertainty", "LogCosh",
    "Huber:delta=1", "Expectile:alpha=0.3", "Lq:q=3", "MultiQuantile:alpha=0.2,0.8", "MultiRMSE",
)  # fmt: skip


@pytest.mark.parametrize("loss", REGRESSORS)
def test_regressor_loss(loss: str) -> None:
    x, y = wine()
    target = np.stack([y, x[:, 0]], 1) if loss == "MultiRMSE" else y
    assert_exact("catboost", cb.CatBoostRegressor(**K, loss_function=loss).fit(x, target), dtypes=["float32"])


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_values(mode: str) -> None:
    model = cb.CatBoostRegressor(**K, nan_mode=mode).fit(holes(), wine()[1])
    assert_exact("catboost", model, opsets=OPSETS)


@pytest.mark.parametrize("policy", ["Lossguide", "Depthwise"])
@pytest.mark.parametrize("form", ["cbm", "json"])
def test_trees_of_any_shape(policy: str, form: str, tmp_path: Any) -> None:
    path = tmp_path / f"model.{form}"
    for cls in (cb.CatBoostClassifier, cb.CatBoostRegressor):
        cls(**K, grow_policy=policy).fit(holes(), wine()[1]).save_model(str(path), format=form)
        assert_exact("catboost", path)


@pytest.mark.parametrize("form", ["cbm", "json"])
def test_files_say_what_they_are(form: str, tmp_path: Any) -> None:
    x, y = wine()
    path = tmp_path / f"model.{form}"
    cb.CatBoostClassifier(**K).fit(holes(), np.array(["a", "b", "c"])[y]).save_model(str(path), format=form)
    assert assert_exact("catboost", path).output_names == ["label", "probabilities"]
    assert assert_exact("catboost", path, dtypes=["float32"], kind="raw").output_names == ["variable"]
    cb.CatBoostRegressor(**K, loss_function="Poisson").fit(x, y).save_model(str(path), format=form)
    assert assert_exact("catboost", path).output_names == ["variable"]


def test_ranker_base_class_and_early_stopping() -> None:
    x, y = wine()
    ranker = cb.CatBoostRanker(**K, loss_function="YetiRank").fit(x, y, group_id=np.repeat([0, 1, 2], [50, 60, 68]))
    assert_exact("catboost", ranker, dtypes=["float32"])
    base = cb.CatBoost({**K, "loss_function": "Logloss"}).fit(x, (y > 0) * 1)
    assert_exact("catboost", base, dtypes=["float32"])
    stopped = cb.CatBoostClassifier(**{**K, "iterations": 200}, early_stopping_rounds=3)
    stopped.fit(x[::2], y[::2], eval_set=(x[1::2], y[1::2]))
    assert assert_exact("catboost", stopped, dtypes=["float32"]).model.table.trees == stopped.tree_count_ < 200


# --- refusals ------------------------------------------------------------------------------------------------------


def test_unknown_loss_is_named() -> None:
    x, y = wine()
    source = CatboostFrontend().load(cb.CatBoostRegressor(**K).fit(x, y), None, Options(21))
    source.model.loss = "MyLoss"
    with pytest.raises(UnsupportedOps, match="MyLoss"):
        source.translate(GraphBuilder(21))


def test_damaged_files(tmp_path: Any) -> None:
    x, y = wine()
    path = tmp_path / "m.cbm"
    model = cb.CatBoostRegressor(**K).fit(x, y)
    model.save_model(str(path))
    data = path.read_bytes()
    for damaged in (data[: len(data) // 2], data[:40], b"CBM1", b"CBM1" + b"\xff" * 40):
        path.write_bytes(damaged)
        with pytest.raises(CaptureError):
            read_file(path)
    path = tmp_path / "m.json"
    model.save_model(str(path), format="json")
    found = json.loads(path.read_text())
    found["oblivious_trees"][0]["leaf_values"].pop()
    path.write_text(json.dumps(found))
    with pytest.raises(CaptureError):
        read_file(path)


def test_inputs_that_do_not_fit() -> None:
    x, y = wine()
    model = cb.CatBoostRegressor(**K).fit(x, y)
    with pytest.raises(InputSpecError, match="13"):
        CatboostFrontend().load(model, x[:, :3], Options(21))
    with pytest.raises(InputSpecError, match="kind"):
        CatboostFrontend().load(model, None, Options(21, extra={"kind": "odd"}))
    with pytest.raises(CaptureError, match="not fitted"):
        CatboostFrontend().load(cb.CatBoostRegressor(), None, Options(21))
