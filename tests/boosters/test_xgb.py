"""XGBoost models against XGBoost in onnxruntime, on rows at their thresholds."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from booster_check import OPSETS, assert_exact
from estimator_check import build, sessions

from anyonnx.converters.base import Options
from anyonnx.converters.from_xgboost import XgboostFrontend
from anyonnx.converters.from_xgboost.ubj import UbjError, read_ubj
from anyonnx.symbolic.builder import GraphBuilder
from anyonnx.symbolic.errors import CaptureError, InputSpecError, UnsupportedOps

xgb = pytest.importorskip("xgboost")
K = {"n_estimators": 15, "max_depth": 4, "n_jobs": 1}


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_wine

    x, y = load_wine(return_X_y=True)
    return x.astype(np.float32), y


@cache
def holes() -> np.ndarray:
    x = wine()[0].copy()
    x[::5, 2] = np.nan
    x[::7, 12] = np.nan
    return x


def train(params: dict[str, Any], x: np.ndarray, y: np.ndarray, rounds: int = 8, **data: Any) -> Any:
    return xgb.train({"max_depth": 3, "nthread": 1, **params}, xgb.DMatrix(x, y, **data), rounds)


def test_multi_class_at_every_opset() -> None:
    assert_exact("xgboost", xgb.XGBClassifier(**K).fit(holes(), wine()[1]), opsets=OPSETS)


def test_binary_and_regression() -> None:
    x, y = wine()
    assert_exact("xgboost", xgb.XGBClassifier(**K).fit(x, y > 0), x)
    assert_exact("xgboost", xgb.XGBRegressor(**K).fit(holes(), y), holes())


def test_ordered_sums_are_equal_to_the_last_bit() -> None:
    x, y = wine()
    for model in (train({"objective": "multi:softmax", "num_class": 3}, x, y, 30), train({}, holes(), y, 60)):
        source = XgboostFrontend().load(model, None, Options(21, extra={"ordered": True}))
        inputs = source.make_samples(0, {"batch": 500})
        for session in sessions(build(source, 21)):
            assert np.array_equal(session.run(None, inputs)[0], source.run(inputs)["variable"])


def test_margins() -> None:
    x, y = wine()
    for model in (
        train({"objective": "multi:softmax", "num_class": 3}, x, y),
        train({"objective": "binary:logistic", "booster": "gblinear"}, x, y > 0),
        xgb.XGBClassifier(**K).fit(x, y),
        xgb.XGBRegressor(objective="count:poisson", **K).fit(x, y),
    ):
        assert_exact("xgboost", model, kind="raw")
    with pytest.raises(InputSpecError, match="kind"):
        XgboostFrontend().load(model, None, Options(21, extra={"kind": "margin"}))


def test_several_labels() -> None:
    x, y = wine()
    model = xgb.XGBClassifier(**K).fit(x, np.stack([y > 0, y > 1], 1).astype(int))
    options = Options(21)
    source = XgboostFrontend().load(model, None, options)
    inputs = source.make_samples(0, {"batch": 64})
    assert source.run(inputs)["label"].shape == (64, 2)
    assert_exact("xgboost", model)


@pytest.mark.parametrize("missing", [-999.0, 0.0])
def test_other_markers_of_missing_values(missing: float) -> None:
    x, y = wine()
    x = x.copy()
    x[::6, 3] = missing
    source = assert_exact("xgboost", xgb.XGBClassifier(missing=missing, **K).fit(x, y))
    assert missing in source.points.missing


OBJECTIVES = {
    "reg:squarederror": 0, "reg:squaredlogerror": 0, "reg:absoluteerror": 0, "reg:pseudohubererror": 0,
    "binary:logitraw": None, "binary:logistic": None, "binary:hinge": None, "reg:logistic": None, "count:poisson": 0,
    "reg:gamma": 1, "reg:tweedie": 0, "survival:cox": 1,
}  # fmt: skip


@pytest.mark.parametrize("base_score", [None, 0.3])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objective(objective: str, base_score: float | None) -> None:
    x, y = wine()
    shift = OBJECTIVES[objective]
    params = {"objective": objective} | ({} if base_score is None else {"base_score": base_score})
    assert_exact("xgboost", train(params, x, (y > 0) * 1.0 if shift is None else y + shift), dtypes=["float32"])


CASES: dict[str, dict[str, Any]] = {
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "softmax": {"objective": "multi:softmax", "num_class": 3},
    "parallel": {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 3, "subsample": 0.5},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 6, "tree_method": "hist"},
    "linear": {"booster": "gblinear"},
    "linear classes": {"booster": "gblinear", "objective": "multi:softprob", "num_class": 3},
    "one tree of a leaf": {"gamma": 1e9},
}


@pytest.mark.parametrize("case", CASES)
def test_option(case: str) -> None:
    x, y = wine()
    assert_exact("xgboost", train(CASES[case], x if "linear" in case else holes(), y), dtypes=["float32"])


@pytest.mark.parametrize("strategy", ["multi_output_tree", "one_output_per_tree"])
def test_several_targets(strategy: str) -> None:
    x, y = wine()
    targets = np.stack([y, y * 2 + x[:, 0]], 1)
    assert_exact("xgboost", train({"multi_strategy": strategy}, x, targets), dtypes=["float32"])


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_ranker(objective: str) -> None:
    x, y = wine()
    model = xgb.XGBRanker(objective=objective, **K).fit(x, (y > 0).astype(int), group=[50, 60, 68])
    assert_exact("xgboost", model, dtypes=["float32"])


def test_accelerated_failure_time() -> None:
    x, y = wine()
    data = xgb.DMatrix(x)
    data.set_float_info("label_lower_bound", y + 1)
    data.set_float_info("label_upper_bound", y + 2)
    assert_exact("xgboost", xgb.train({"objective": "survival:aft", "max_depth": 3}, data, 8))


@pytest.mark.parametrize("to_onehot", [1, 100])
def test_category_splits(to_onehot: int) -> None:
    x, y = wine()
    codes = holes().copy()
    codes[:, 0], codes[:, 1] = (x[:, 0] * 3).astype(int) % 9, (x[:, 1] * 30).astype(int) % 40
    codes[::9, 1] = np.nan
    types = ["c", "c"] + ["q"] * 11
    params = {"max_depth": 4, "max_cat_to_onehot": to_onehot}
    model = train(params, codes, y, feature_types=types, enable_categorical=True)
    assert_exact("xgboost", model, opsets=OPSETS)


def test_early_stopping_is_the_wrappers() -> None:
    x, y = wine()
    model = xgb.XGBClassifier(early_stopping_rounds=2, learning_rate=0.9, **{**K, "n_estimators": 60})
    model.fit(x[::2], y[::2], eval_set=[(x[1::2], y[1::2])], verbose=False)
    wrapper = assert_exact("xgboost", model, dtypes=["float32"])
    booster = assert_exact("xgboost", model.get_booster(), dtypes=["float32"])
    assert wrapper.model.rounds[1] == model.best_iteration + 1 < booster.model.rounds[1]
    assert assert_exact("xgboost", model.get_booster(), dtypes=["float32"], rounds=2).model.rounds == (0, 2)
    assert assert_exact("xgboost", model, dtypes=["float32"], rounds="1:3").model.rounds == (1, 3)


def test_forest_wrappers() -> None:
    x, y = wine()
    for model in (xgb.XGBRFClassifier(**K).fit(x, y), xgb.XGBRFRegressor(**K).fit(x, y)):
        assert_exact("xgboost", model, dtypes=["float32"])


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_files_say_what_loads_them(suffix: str, tmp_path: Any) -> None:
    x, y = wine()
    path = tmp_path / f"model.{suffix}"
    model = xgb.XGBClassifier(**K).fit(x, y)
    model.save_model(path)
    assert assert_exact("xgboost", path, dtypes=["float32"]).output_names == ["label", "probabilities"]
    model.get_booster().save_model(path)
    assert assert_exact("xgboost", path, dtypes=["float32"]).output_names == ["variable"]


def test_frame_with_names() -> None:
    import pandas as pd

    x, y = wine()
    frame = pd.DataFrame(x, columns=[f"col {i}" for i in range(13)])
    model = xgb.XGBRegressor(**K).fit(frame, y)
    source = XgboostFrontend().load(model, frame[list(reversed(frame.columns))], Options(21))
    assert np.array_equal(np.sort(source.samples["X"], axis=0), np.sort(x, axis=0))
    assert_exact("xgboost", model, dtypes=["float32"])


# --- refusals ------------------------------------------------------------------------------------------------------


def document() -> dict[str, Any]:
    x, y = wine()
    found = json.loads(bytes(train({}, x, y, 2).save_raw("json")))
    assert isinstance(found, dict)
    return found


def load(found: dict[str, Any], tmp_path: Any) -> Any:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(found))
    return XgboostFrontend().load(path, None, Options(21))


def test_unknown_objective_is_named(tmp_path: Any) -> None:
    found = document()
    found["learner"]["objective"]["name"] = "my:objective"
    with pytest.raises(UnsupportedOps, match="my:objective"):
        load(found, tmp_path).translate(GraphBuilder(21))


def test_damaged_models(tmp_path: Any) -> None:
    found = document()
    found["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"][0] = 999
    with pytest.raises(CaptureError, match="point nowhere"):
        load(found, tmp_path)
    found = document()
    del found["learner"]["learner_model_param"]["base_score"]
    with pytest.raises(CaptureError, match="base_score"):
        load(found, tmp_path)


def test_classifier_without_probabilities() -> None:
    x, y = wine()
    model = xgb.XGBClassifier(objective="binary:logitraw", **K).fit(x, y > 0)
    with pytest.raises(UnsupportedOps, match="binary:logitraw"):
        XgboostFrontend().load(model, None, Options(21)).translate(GraphBuilder(21))


def test_inputs_and_options_that_do_not_fit() -> None:
    x, y = wine()
    model = train({}, x, y, 2)
    with pytest.raises(InputSpecError, match="13"):
        XgboostFrontend().load(model, x[:, :5], Options(21))
    with pytest.raises(InputSpecError, match="unknown option"):
        XgboostFrontend().load(model, None, Options(21, extra={"ntrees": 3}))
    with pytest.raises(CaptureError, match="not fitted"):
        XgboostFrontend().load(xgb.XGBClassifier(), None, Options(21))


def test_ubjson_agrees_with_json_and_refuses_damage() -> None:
    x, y = wine()
    model = train({"booster": "dart"}, x, y, 3)
    data = bytes(model.save_raw("ubj"))
    read, right = read_ubj(data), json.loads(bytes(model.save_raw("json")))
    trees = [d["learner"]["gradient_booster"]["gbtree"]["model"]["trees"][1] for d in (read, right)]
    assert np.array_equal(trees[0]["split_conditions"], np.float32(trees[1]["split_conditions"]))
    assert np.array_equal(trees[0]["left_children"], trees[1]["left_children"])
    for cut in range(1, len(data) - 1, 37):
        with pytest.raises(UbjError):
            read_ubj(data[:cut])


def test_categories_of_a_frame_are_taken_as_their_codes() -> None:
    import pandas as pd

    x, y = wine()
    frame = pd.DataFrame(x[:, :4], columns=["a", "b", "c", "d"])
    frame["b"] = pd.Categorical(np.array(list("xyzuvw"))[(x[:, 1] * 3).astype(int) % 6])
    model = xgb.XGBRegressor(enable_categorical=True, max_cat_to_onehot=1, **K).fit(frame, y)
    source = assert_exact("xgboost", model, dtypes=["float32"])
    assert source.model.table.members
    given = XgboostFrontend().load(model, frame, Options(21))
    assert np.array_equal(given.run(given.samples)["variable"], model.predict(frame))


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("objective", ["binary:logistic", "reg:logistic", "binary:hinge", "count:poisson"])
def test_targets_that_are_all_the_same(objective: str, label: int) -> None:
    x, _ = wine()
    model = xgb.train({"objective": objective, "nthread": 1}, xgb.DMatrix(x, np.full(len(x), label)), 2)
    for extra in ({}, {"kind": "raw"}):
        assert_exact("xgboost", model, x, **extra)
