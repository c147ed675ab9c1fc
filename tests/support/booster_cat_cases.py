"""CatBoost options for `booster_sweep`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import catboost as cb
import numpy as np
from booster_sweep import Data, Trained

K: dict[str, Any] = {"iterations": 15, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


@cache
def data() -> Data:
    return Data()


@cache
def mixed() -> tuple[np.ndarray, np.ndarray]:
    """Two numbers, words, whole numbers, two words; and three classes that hang on all of them."""
    r = np.random.default_rng(3)
    words, numbers, two = r.choice(list("pqrstuvw"), 400), r.integers(-2, 12, 400), r.choice(["yes", "no"], 400)
    x = np.empty((400, 5), object)
    x[:, 0], x[:, 4] = r.normal(size=400).tolist(), r.normal(size=400).tolist()
    x[:, 1], x[:, 2], x[:, 3] = words, numbers.tolist(), two
    y = (np.isin(words, list("pqr")) ^ (numbers % 3 == 1) ^ (two == "yes")).astype(int) + (x[:, 0] > 0)
    return x, y


def _both(model: Any, x: Any) -> list[Any]:
    label = np.asarray(model.predict(x))
    multilabel = label.ndim == 2 and label.shape[1] > 1
    return [label if multilabel else label.reshape(-1), model.predict_proba(x)]


def _one(model: Any, x: Any) -> list[Any]:
    return [model.predict(x)]


def files(model: Any, predict: Any, pool: Any = None) -> dict[str, Any]:
    return {
        "cbm": (lambda path: model.save_model(str(path)), predict),
        "json": (lambda path: model.save_model(str(path), format="json", pool=pool), predict),
    }


def fitted(model: Any, *fit: Any, only: str = "", **more: Any) -> Trained:
    """A fitted model, and its two kinds of files."""
    model.fit(*fit, **more)
    predict = _both if isinstance(model, cb.CatBoostClassifier) else _one
    return Trained(model, predict, {k: v for k, v in files(model, predict).items() if only in ("", k)})


def classifier(y: str = "binary", x: str = "x", **options: Any) -> Callable[[], Trained]:
    return lambda: fitted(cb.CatBoostClassifier(**{**K, **options}), getattr(data(), x), getattr(data(), y))


def regressor(y: str = "y", x: str = "x", **options: Any) -> Callable[[], Trained]:
    return lambda: fitted(cb.CatBoostRegressor(**{**K, **options}), getattr(data(), x), getattr(data(), y))


def categories(kind: str = "classifier", *, x: Any = None, known: bool = True, **options: Any) -> Callable[[], Trained]:
    """A model with categories: live and from files with its X."""

    def make() -> Trained:
        rows, target = mixed()
        cls = cb.CatBoostClassifier if kind == "classifier" else cb.CatBoostRegressor
        y = target if kind == "classifier" else target + rows[:, 4].astype(float)
        model = cls(**{**K, "cat_features": [1, 2, 3], **options}).fit(rows, y)
        predict = _both if kind == "classifier" else _one
        return Trained(model, predict, files(model, predict), x=rows)

    return make


def texts_in_the_file() -> Trained:
    """A JSON file that keeps the texts of its categories."""
    rows, target = mixed()
    model = cb.CatBoostClassifier(**K, cat_features=[1, 2, 3]).fit(rows, target)
    pool = cb.Pool(rows, target, cat_features=[1, 2, 3])
    known = {1: list("pqrstuvw"), 2: range(-2, 12), 3: ["yes", "no"]}
    found = files(model, _both, pool)
    return Trained(model, _both, {"json": found["json"]}, extra={"categories": known})


def whole_numbers() -> Trained:
    """Categories that are whole numbers, in a matrix of them."""
    r = np.random.default_rng(1)
    x = r.integers(0, 20, (300, 4))
    y = (x[:, 0] % 3 == 1) * 1.0 + (x[:, 1] % 4) + x[:, 2] * 0.1
    model = cb.CatBoostRegressor(**K, cat_features=[0, 1]).fit(x, y)
    return Trained(model, _one, files(model, _one), x=x)


def frame() -> Trained:
    import pandas as pd

    rows, target = mixed()
    x = pd.DataFrame(rows, columns=["a", "word", "number", "yes", "b"]).astype({"a": float, "b": float, "number": int})
    x["word"] = x["word"].astype("category")
    model = cb.CatBoostClassifier(**K, cat_features=["word", "number", "yes"]).fit(x, target)
    return Trained(model, _both, files(model, _both), x=x)


def ranker(loss: str) -> Callable[[], Trained]:
    groups = np.repeat([0, 1, 2], data().groups)
    return lambda: fitted(cb.CatBoostRanker(**K, loss_function=loss), data().x, data().binary, group_id=groups)


def base_class() -> Trained:
    model = cb.CatBoost({**K, "loss_function": "MultiClass"}).fit(data().x, data().three)
    return Trained(model, _one)


def early() -> Trained:
    d = data()
    model = cb.CatBoostClassifier(**{**K, "iterations": 300, "learning_rate": 0.6}, early_stopping_rounds=3)
    found = fitted(model, d.x[::2], d.three[::2], eval_set=(d.x[1::2], d.three[1::2]))
    assert model.tree_count_ < 300
    return found


def text() -> Trained:
    r = np.random.default_rng(0)
    x = np.array([[" ".join(r.choice(["one", "two", "three", "four"], 5)), float(i % 7)] for i in range(200)], object)
    y = np.array(["one two" in t for t in x[:, 0]]).astype(int)
    model = cb.CatBoostClassifier(**K, text_features=[0]).fit(x, y)
    return Trained(model, _both, x=x)


CASES: dict[str, Callable[[], Trained]] = {
    "Logloss": classifier(),
    "CrossEntropy": classifier("share", loss_function="CrossEntropy"),
    "Focal": classifier(loss_function="Focal:focal_alpha=0.3;focal_gamma=2"),
    "MultiClass": classifier("three", "holes"),
    "MultiClassOneVsAll": classifier("three", loss_function="MultiClassOneVsAll"),
    "MultiLogloss": classifier("labels", loss_function="MultiLogloss"),
    "MultiCrossEntropy": classifier("labels", loss_function="MultiCrossEntropy"),
    "words as labels": classifier("words"),
    "missing values, Min": regressor("y", "holes", nan_mode="Min"),
    "missing values, Max": regressor("y", "holes", nan_mode="Max"),
    "RMSE": regressor(),
    "MAE": regressor(loss_function="MAE"),
    "Quantile": regressor(loss_function="Quantile:alpha=0.3"),
    "MultiQuantile": regressor(loss_function="MultiQuantile:alpha=0.1,0.5,0.9"),
    "Poisson": regressor("count", loss_function="Poisson"),
    "Tweedie": regressor("count", loss_function="Tweedie:variance_power=1.4"),
    "RMSEWithUncertainty": regressor(loss_function="RMSEWithUncertainty"),
    "MultiRMSE": regressor("two", loss_function="MultiRMSE"),
    "Expectile": regressor(loss_function="Expectile:alpha=0.3"),
    "YetiRank": ranker("YetiRank"),
    "QueryRMSE": ranker("QueryRMSE"),
    "Lossguide": classifier("three", "holes", grow_policy="Lossguide"),
    "Depthwise": regressor("y", "holes", grow_policy="Depthwise"),
    "Lossguide, several targets": regressor("two", grow_policy="Lossguide", loss_function="MultiRMSE"),
    "one-hot": categories(one_hot_max_size=50),
    "one-hot, Lossguide": categories("regressor", one_hot_max_size=50, grow_policy="Lossguide"),
    "statistics": categories(one_hot_max_size=0, max_ctr_complexity=1),
    "statistics, regression": categories("regressor", one_hot_max_size=0, max_ctr_complexity=1),
    "statistics of several": categories(max_ctr_complexity=4, iterations=60, depth=6, model_size_reg=0),
    "statistics, Depthwise": categories("regressor", one_hot_max_size=0, grow_policy="Depthwise"),
    "Buckets": categories(
        one_hot_max_size=0, simple_ctr=["Buckets:Prior=0.5", "Counter"], combinations_ctr=["Buckets", "Counter"]
    ),
    "BinarizedTargetMeanValue": categories(
        "regressor", one_hot_max_size=0, simple_ctr="BinarizedTargetMeanValue", combinations_ctr="Counter"
    ),
    "texts in the file": texts_in_the_file,
    "whole numbers as categories": whole_numbers,
    "frame with categories": frame,
    "text": text,
    "base class": base_class,
    "early stopping": early,
}
