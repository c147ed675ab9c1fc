"""LightGBM models against LightGBM in onnxruntime, on rows at their thresholds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from booster_check import OPSETS, assert_exact
from estimator_check import assert_same, build, sessions
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anyonnx.converters.base import Options
from anyonnx.converters.files import identify
from anyonnx.converters.from_lightgbm import LightgbmFrontend
from anyonnx.symbolic.builder import GraphBuilder
from anyonnx.symbolic.errors import CaptureError, InputSpecError, UnsupportedOps

lgb = pytest.importorskip("lightgbm")
K = {"n_estimators": 12, "num_leaves": 7, "verbose": -1, "n_jobs": 1}
P = {"num_leaves": 7, "verbose": -1, "num_threads": 1}


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_wine

    return load_wine(return_X_y=True)  # type: ignore[no-any-return]


@cache
def holes() -> np.ndarray:
    x = wine()[0].copy()
    x[::7, 3], x[::5, 2], x[::4, 1], x[::3, 6] = np.nan, np.nan, 0, 0
    return x


def train(params: dict[str, Any], x: np.ndarray, y: np.ndarray, rounds: int = 8, **data: Any) -> Any:
    linear = {k: v for k, v in params.items() if k == "linear_tree"}
    return lgb.train({**P, **params}, lgb.Dataset(x, y, params=linear, **data), rounds)


def test_multi_class_at_every_opset() -> None:
    assert_exact("lightgbm", lgb.LGBMClassifier(**K).fit(holes(), wine()[1]), opsets=OPSETS)


@pytest.mark.parametrize("labels", ["words", "bools", "numbers"])
def test_labels(labels: str) -> None:
    x, y = wine()
    targets = {"words": np.array(["a", "b", "c"])[y], "bools": y > 0, "numbers": y * 10 - 5}[labels]
    assert_exact("lightgbm", lgb.LGBMClassifier(**K).fit(x, targets), x)


MISSING: dict[str, dict[str, Any]] = {
    "nan": {},
    "unused": {"use_missing": False},
    "zero": {"zero_as_missing": True},
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values(kind: str) -> None:
    model = lgb.LGBMRegressor(**K, **MISSING[kind]).fit(holes(), wine()[1])
    assert_exact("lightgbm", model, opsets=OPSETS)


BOOSTING: dict[str, dict[str, Any]] = {"rf": {"bagging_freq": 1, "bagging_fraction": 0.5}, "dart": {}, "goss": {}}


@pytest.mark.parametrize("boosting", BOOSTING)
def test_boosting(boosting: str) -> None:
    x, y = wine()
    params = {"boosting_type": boosting, **K, **BOOSTING[boosting]}
    assert_exact("lightgbm", lgb.LGBMClassifier(**params).fit(x, y))
    assert_exact("lightgbm", lgb.LGBMRegressor(**params).fit(x, y))


OBJECTIVES: dict[str, tuple[str, dict[str, Any]]] = {
    "regression": ("y", {}),
    "regression sqrt": ("y", {"objective": "regression", "reg_sqrt": True}),
    "regression_l1": ("y", {}),
    "huber": ("y", {}),
    "fair": ("y", {}),
    "poisson": ("y", {}),
    "quantile": ("y", {}),
    "mape": ("y+1", {}),
    "gamma": ("y+1", {}),
    "tweedie": ("y", {}),
    "binary": ("y>0", {}),
    "binary sigmoid": ("y>0", {"objective": "binary", "sigmoid": 2.0}),
    "cross_entropy": ("y/2", {}),
    "cross_entropy_lambda": ("y/2", {}),
    "multiclass": ("y", {"num_class": 3}),
    "multiclassova": ("y", {"num_class": 3, "sigmoid": 1.5}),
}


@pytest.mark.parametrize("case", OBJECTIVES)
def test_objective(case: str) -> None:
    x, y = wine()
    target, params = OBJECTIVES[case]
    values = {"y": y, "y+1": y + 1, "y>0": y > 0, "y/2": y / 2}[target]
    assert_exact("lightgbm", train({"objective": case, **params}, x, values), dtypes=["float64"])


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_ranker(objective: str) -> None:
    x, y = wine()
    assert_exact("lightgbm", lgb.LGBMRanker(objective=objective, **K).fit(x, y, group=[50, 60, 68]), dtypes=["float32"])


@pytest.mark.parametrize("classes", [1, 3])
def test_linear_leaves(classes: int) -> None:
    objective = {"objective": "regression"} if classes == 1 else {"objective": "multiclass", "num_class": classes}
    model = train({**objective, "linear_tree": True}, holes(), wine()[1])
    # huge numbers would hide all others behind one scale
    assert_exact("lightgbm", model, opsets=OPSETS, native=lambda x: np.where(np.abs(x) > 1e6, x.dtype.type(1e6), x))


@pytest.mark.parametrize("kind", MISSING)
def test_category_splits(kind: str) -> None:
    x, y = wine()
    codes = holes().copy()
    codes[:, 0], codes[:, 1] = (x[:, 0] * 3).astype(int) % 9, (x[:, 1] * 30).astype(int) % 80
    codes[::9, 1] = np.nan
    params = {"objective": "regression", "min_data_per_group": 1, "cat_smooth": 1, **MISSING[kind]}
    assert_exact("lightgbm", train(params, codes, y, categorical_feature=[0, 1]), opsets=OPSETS)


def test_frame_with_categories_takes_their_codes() -> None:
    import pandas as pd

    x, y = wine()
    frame = pd.DataFrame(x[:, :4], columns=["a", "b c", "d", "e"])
    frame["b c"] = pd.Categorical(np.array(list("xyzw"))[(x[:, 1] * 3).astype(int) % 4])
    model = lgb.LGBMRegressor(min_data_per_group=1, cat_smooth=1, **K).fit(frame, y)
    source = LightgbmFrontend().load(model, frame, Options(21))
    assert np.array_equal(source.samples["X"][:, 1], frame["b c"].cat.codes)
    expected = model.predict(frame)
    assert np.array_equal(source.run(source.samples)["variable"], expected)
    assert_exact("lightgbm", model)


def test_early_stopping_and_constant_and_custom() -> None:
    x, y = wine()
    model = lgb.LGBMClassifier(**{**K, "n_estimators": 200})
    model.fit(x[::2], y[::2], eval_set=[(x[1::2], y[1::2])], callbacks=[lgb.early_stopping(3, verbose=False)])
    source = assert_exact("lightgbm", model, dtypes=["float32"])
    assert source.model.iterations == model.best_iteration_ < 200
    assert_exact("lightgbm", train({"objective": "regression"}, x, np.ones(len(x))), dtypes=["float32"])

    def squares(scores: np.ndarray, data: Any) -> tuple[np.ndarray, np.ndarray]:
        return scores - data.get_label(), np.ones_like(scores)

    assert_exact("lightgbm", train({"objective": squares}, x, y), dtypes=["float32"])


def test_file(tmp_path: Any) -> None:
    path = tmp_path / "model.txt"
    lgb.LGBMClassifier(**K).fit(*wine()).booster_.save_model(path)
    assert assert_exact("lightgbm", path).output_names == ["variable"]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert identify(path).framework == "lightgbm"
    assert_exact("lightgbm", path, opsets=[21], dtypes=["float64"])


# --- refusals ------------------------------------------------------------------------------------------------------


def load(text: str, tmp_path: Any) -> Any:
    path = tmp_path / "m.txt"
    path.write_text(text)
    return LightgbmFrontend().load(path, None, Options(21))


def test_unknown_objective_is_named(tmp_path: Any) -> None:
    text = train({"objective": "regression"}, *wine()).model_to_string()
    source = load(text.replace("objective=regression", "objective=my_loss", 1), tmp_path)
    with pytest.raises(UnsupportedOps, match="my_loss"):
        source.translate(GraphBuilder(21))


def test_damaged_models(tmp_path: Any) -> None:
    text = train({"objective": "regression"}, *wine()).model_to_string()
    for damaged in (
        text.replace("left_child=", "left_child=99 ", 1),
        text.replace("threshold=", "threshold=x ", 1),
        text.replace("split_feature=", "nothing=", 1),
        text.split("end of trees")[0],
        text.replace("num_leaves=7", "num_leaves=6", 1),
    ):
        with pytest.raises(CaptureError):
            load(damaged, tmp_path)


def test_inputs_that_do_not_fit() -> None:
    model = train({"objective": "regression"}, *wine())
    with pytest.raises(InputSpecError, match="13"):
        LightgbmFrontend().load(model, "X:float32[batch,4]", Options(21))
    with pytest.raises(InputSpecError, match="unknown option"):
        LightgbmFrontend().load(model, None, Options(21, extra={"raw": True}))
    with pytest.raises(CaptureError, match="not fitted"):
        LightgbmFrontend().load(lgb.LGBMClassifier(), None, Options(21))


def test_splits_beside_zero() -> None:
    """A split at zero has the threshold 1e-35 or -1e-35, and numbers up to that one count as zero."""
    r = np.random.default_rng(0)
    x = r.normal(size=(400, 4))
    x[r.random(x.shape) < 0.5] = 0
    y = np.sign(x[:, 0]) + 2 * np.sign(x[:, 1]) + 0.1 * x[:, 2]
    source = assert_exact("lightgbm", train({"objective": "regression"}, x, y), opsets=[21])
    thresholds = source.model.table.threshold
    near = float(np.float32(1e-35))
    assert {near, np.nextafter(-near, -np.inf)} & set(thresholds.tolist())
    tiny = np.array([0, 1e-36, -1e-36, near, -near, 2e-35, -2e-35, 1e-300])
    rows = np.stack([tiny, tiny[::-1], tiny, tiny], axis=1)
    for kind in (np.float32, np.float64):
        own = LightgbmFrontend().load(source.native(), None, Options(21, extra={"dtype": np.dtype(kind).name}))
        given = {"X": rows.astype(kind)}
        for session in sessions(build(own, 21)):
            assert np.abs(session.run(None, given)[0] - own.run(given)["variable"]).max() < 1e-14


def test_some_rounds() -> None:
    x, y = wine()
    model = train({"objective": "multiclass", "num_class": 3}, x, y)
    source = assert_exact("lightgbm", model, dtypes=["float64"], rounds=(2, 6))
    assert source.model.iterations == 4
    with pytest.raises(InputSpecError, match="holds no rounds"):
        LightgbmFrontend().load(model, None, Options(21, extra={"rounds": "5:5"}))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_raw_scores(boosting: str, classes: int) -> None:
    x, y = wine()
    forest = {"bagging_freq": 1, "bagging_fraction": 0.7} if boosting == "rf" else {}
    model = lgb.LGBMClassifier(**K, boosting_type=boosting, **forest).fit(x, y if classes == 3 else y > 0)
    source = assert_exact("lightgbm", model, x, kind="raw")  # sums, also where predictions are means
    assert source.output_names == ["variable"]
    methods = "predict,predict_proba" + (",decision_function" if hasattr(model, "decision_function") else "")
    assert_exact(
        "sklearn", make_pipeline(StandardScaler(), model).fit(x, y if classes == 3 else y > 0), methods=methods
    )


def test_inside_what_asks_for_scores() -> None:
    x, y = wine()
    member = lgb.LGBMClassifier(**K)
    for model in (
        OneVsRestClassifier(member),
        OneVsOneClassifier(member),
        BaggingClassifier(member, 2),
        CalibratedClassifierCV(member, cv=2),
        CalibratedClassifierCV(member, cv=2, method="isotonic", ensemble=False),
    ):
        assert_same(model.fit(x, y), x, [21], limit=1e-12)


def test_several_trees_that_are_single_leaves() -> None:
    x, _ = wine()
    for objective in ("multiclass", "multiclassova"):
        assert_exact("lightgbm", train({"objective": objective, "num_class": 3}, x, np.zeros(len(x))), x)
