"""XGBoost options for `booster_sweep`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import xgboost as xgb
from booster_sweep import Data, Trained

K: dict[str, Any] = {"n_estimators": 12, "max_depth": 4, "n_jobs": 1}
P: dict[str, Any] = {"max_depth": 4, "nthread": 1}


@cache
def data() -> Data:
    return Data()


def _both(model: Any, x: Any) -> list[Any]:
    return [model.predict(x), model.predict_proba(x)]


def _one(model: Any, x: Any) -> list[Any]:
    return [model.predict(x)]


def _booster(model: Any, x: Any) -> list[Any]:
    return [model.predict(xgb.DMatrix(x, nthread=1, missing=np.nan), validate_features=False)]


def wrapped(model: Any, *fit: Any, x: Any = None, files: bool = True, **more: Any) -> Trained:
    """A fitted wrapper, and its two kinds of files."""
    with_marker = {} if np.isnan(model.missing) else {"missing": model.missing}
    model.fit(*fit, **more)
    predict = _both if isinstance(model, xgb.XGBClassifier) else _one
    saved = dict.fromkeys(("json", "ubj"), (model.save_model, predict)) if files else {}
    return Trained(model, predict, saved, x=x, file_extra=with_marker)


def plain(model: Any, predict: Any = _booster, **more: Any) -> Trained:
    """A plain booster, whose rows must be finite, and its two kinds of files."""
    return Trained(model, predict, dict.fromkeys(("json", "ubj"), (model.save_model, predict)), finite=True, **more)


def trained(params: dict[str, Any], x: Any, y: Any, rounds: int = 12, obj: Any = None, **info: Any) -> Trained:
    """A plain booster, trained."""
    model = xgb.train({**P, **params}, xgb.DMatrix(x, y, **info), rounds, obj=obj)
    return plain(model)


def classifier(y: str = "binary", x: str = "x", **options: Any) -> Callable[[], Trained]:
    return lambda: wrapped(xgb.XGBClassifier(**{**K, **options}), getattr(data(), x), getattr(data(), y))


def regressor(y: str = "y", x: str = "x", **options: Any) -> Callable[[], Trained]:
    return lambda: wrapped(xgb.XGBRegressor(**{**K, **options}), getattr(data(), x), getattr(data(), y))


def booster(y: str = "y", x: str = "x", **params: Any) -> Callable[[], Trained]:
    return lambda: trained(params, getattr(data(), x), getattr(data(), y))


def ranker(objective: str) -> Callable[[], Trained]:
    d = data()
    return lambda: wrapped(xgb.XGBRanker(objective=objective, **K), d.x, d.binary, group=d.groups)


def early(kind: str, y: str) -> Callable[[], Trained]:
    def make() -> Trained:
        d, target = data(), getattr(data(), y)
        cls = xgb.XGBClassifier if kind == "c" else xgb.XGBRegressor
        model = cls(**{**K, "n_estimators": 80, "learning_rate": 0.9}, early_stopping_rounds=2)
        found = wrapped(model, d.x[::2], target[::2], eval_set=[(d.x[1::2], target[1::2])], verbose=False)
        assert found.model.best_iteration < 70
        return found

    return make


def _squares(predicted: Any, rows: Any) -> tuple[Any, Any]:
    return predicted - rows.get_label(), np.ones(len(predicted))


def _wrapped_squares(true: Any, predicted: Any) -> tuple[Any, Any]:
    return predicted - true, np.ones(len(predicted))


def aft() -> Trained:
    rows = xgb.DMatrix(data().x)
    rows.set_float_info("label_lower_bound", data().positive)
    rows.set_float_info("label_upper_bound", data().positive * 2)
    model = xgb.train({**P, "objective": "survival:aft"}, rows, 12)
    return plain(model)


def marker(value: float) -> Callable[[], Trained]:
    def make() -> Trained:
        x = np.where(np.isnan(data().holes), np.float32(value), data().holes)
        return wrapped(xgb.XGBClassifier(missing=value, **K), x, data().three)

    return make


def frame(categories: bool, **options: Any) -> Callable[[], Trained]:
    def make() -> Trained:
        x = data().frame(categories)
        model = xgb.XGBRegressor(**{**K, **options}, enable_categorical=categories).fit(x, data().code_target)
        if not categories:
            return plain(model, _plain)
        types = ["c" if i in (2, 5) else "q" for i in range(7)]

        def codes(model: Any, rows: Any) -> list[Any]:
            data = xgb.DMatrix(np.asarray(rows, np.float32), feature_types=types, enable_categorical=True, nthread=1)
            return [model.get_booster().predict(data, validate_features=False)]

        return plain(model, codes)

    return make


def _plain(model: Any, x: Any) -> list[Any]:
    return [model.get_booster().predict(xgb.DMatrix(x, nthread=1), validate_features=False)]


def codes(target: str, **params: Any) -> Callable[[], Trained]:
    def make() -> Trained:
        d = data()
        types = ["c" if i in (2, 5) else "q" for i in range(7)]
        info = {"feature_types": types, "enable_categorical": True}
        found = trained(params, d.codes, getattr(d, target), **info)

        def predict(model: Any, x: Any) -> list[Any]:
            return [model.predict(xgb.DMatrix(np.asarray(x, np.float32), nthread=1, **info))]

        return plain(found.model, predict)

    return make


def first_rounds() -> Trained:
    found = trained({"objective": "multi:softprob", "num_class": 3}, data().x, data().three)

    def predict(model: Any, x: Any) -> list[Any]:
        return [model.predict(xgb.DMatrix(x), iteration_range=(0, 5))]

    return plain(found.model, predict, extra={"rounds": 5})


def sliced() -> Trained:
    model = xgb.train({**P, "objective": "binary:logistic"}, xgb.DMatrix(data().x, data().binary), 12)[3:9]
    return plain(model)


def continued() -> Trained:
    rows = xgb.DMatrix(data().x, data().y)
    model = xgb.train({**P}, rows, 6, xgb_model=xgb.train({**P}, rows, 6))
    return plain(model)


def booster_of_wrapper() -> Trained:
    model = xgb.XGBClassifier(**K).fit(data().x, data().three).get_booster()
    return plain(model)


def custom() -> Trained:
    return trained({}, data().x, data().y, obj=_squares)


def custom_wrapper() -> Trained:
    return wrapped(xgb.XGBRegressor(objective=_wrapped_squares, **K), data().x, data().y)


def custom_classifier() -> Trained:
    def logistic(true: Any, predicted: Any) -> tuple[Any, Any]:
        share = 1 / (1 + np.exp(-predicted))
        return share - true, share * (1 - share)

    return wrapped(xgb.XGBClassifier(objective=logistic, **K), data().x, data().binary)


def two_classes() -> Trained:
    """XGBoost's wrapper takes the two classes for two labels; the graph gives the class."""
    found = wrapped(xgb.XGBClassifier(objective="multi:softprob", num_class=2, **K), data().x, data().binary)

    def predict(model: Any, x: Any) -> list[Any]:
        shares = model.predict_proba(x)
        return [shares.argmax(axis=1), shares]

    return Trained(found.model, predict, {"json": (found.model.save_model, predict)})


CASES: dict[str, Callable[[], Trained]] = {
    "binary": classifier(),
    "three classes": classifier("three"),
    "holes": classifier("three", "holes"),
    "softmax": booster("three", objective="multi:softmax", num_class=3),
    "softmax wrapper": classifier("three", objective="multi:softmax"),
    "softprob of two classes": booster("binary", objective="multi:softprob", num_class=2),
    "softprob of two classes, wrapper": two_classes,
    "softmax of two classes": booster("binary", objective="multi:softmax", num_class=2),
    "hinge": booster("binary", objective="binary:hinge"),
    "logitraw": booster("binary", objective="binary:logitraw"),
    "reg:logistic": regressor("share", objective="reg:logistic"),
    "base score": classifier(base_score=0.2),
    "base score of regression": regressor(base_score=3.0),
    "base score vector": regressor("two"),
    "scale_pos_weight": classifier(scale_pos_weight=3.0),
    "squared error": regressor(),
    "squared log error": regressor("positive", objective="reg:squaredlogerror"),
    "absolute error": regressor(objective="reg:absoluteerror"),
    "pseudo huber": regressor(objective="reg:pseudohubererror"),
    "quantile": regressor(objective="reg:quantileerror", quantile_alpha=0.3),
    "several quantiles": regressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]),
    "poisson": regressor("count", objective="count:poisson"),
    "gamma": regressor("positive", objective="reg:gamma"),
    "tweedie": regressor("count", objective="reg:tweedie", tweedie_variance_power=1.4),
    "cox": regressor("positive", objective="survival:cox"),
    "aft": aft,
    "lossguide": regressor(grow_policy="lossguide", max_leaves=9, max_depth=0),
    "exact": regressor(tree_method="exact"),
    "approx": regressor(tree_method="approx"),
    "forest classifier": lambda: wrapped(
        xgb.XGBRFClassifier(n_estimators=9, max_depth=4, n_jobs=1), data().x, data().three
    ),
    "forest regressor": lambda: wrapped(xgb.XGBRFRegressor(n_estimators=9, max_depth=4, n_jobs=1), data().x, data().y),
    "early stopping": early("c", "binary"),
    "early stopping, classes": early("c", "three"),
    "early stopping, regression": early("r", "y"),
    "booster": booster("binary", objective="binary:logistic"),
    "booster of a wrapper": booster_of_wrapper,
    "booster continued": continued,
    "booster sliced": sliced,
    "first rounds": first_rounds,
    "custom objective": custom,
    "custom objective, wrapper": custom_wrapper,
    "custom objective, classifier": custom_classifier,
    "category codes": codes("code_target", max_cat_to_onehot=1),
    "category codes, one-hot": codes("code_class", max_cat_to_onehot=100, objective="binary:logistic"),
    "frame with names": frame(False),
    "frame with categories": frame(True, max_cat_to_onehot=1),
    "missing is -999": marker(-999.0),
    "missing is 0": marker(0.0),
    "dart": classifier(booster="dart", rate_drop=0.5),
    "dart, classes": classifier("three", booster="dart", rate_drop=0.5, skip_drop=0.2, normalize_type="forest"),
    "dart, regression": regressor(booster="dart", rate_drop=0.3),
    "linear": classifier(booster="gblinear", max_depth=None),
    "linear, classes": classifier("three", booster="gblinear", max_depth=None),
    "linear, regression": regressor(booster="gblinear", max_depth=None),
    "several targets": regressor("two", multi_strategy="one_output_per_tree"),
    "vector leaves": regressor("two", multi_strategy="multi_output_tree"),
    "vector leaves, classes": classifier("three", multi_strategy="multi_output_tree"),
    "several labels": classifier("labels"),
    "vector leaves, several labels": classifier("labels", multi_strategy="multi_output_tree"),
    "rank:ndcg": ranker("rank:ndcg"),
    "rank:pairwise": ranker("rank:pairwise"),
    "rank:map": ranker("rank:map"),
    "parallel trees": classifier(num_parallel_tree=4, subsample=0.5),
    "parallel trees, classes": classifier("three", num_parallel_tree=3, subsample=0.5, colsample_bynode=0.5),
    "parallel trees, regression": regressor(num_parallel_tree=3, subsample=0.5),
    "constraints": regressor(
        monotone_constraints=(1, 0, 0, 0, 0, 0, -1), interaction_constraints="[[0, 1], [2, 3, 6]]"
    ),
    "trees of one leaf": booster(gamma=1e9),
}
