"""LightGBM options for `booster_sweep`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
from booster_sweep import Data, Trained

K: dict[str, Any] = {"n_estimators": 12, "num_leaves": 9, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
P: dict[str, Any] = {"num_leaves": 9, "min_data_in_leaf": 5, "num_threads": 1, "verbose": -1}
BAGS = {"subsample": 0.7, "subsample_freq": 1}


@cache
def data() -> Data:
    return Data()


def _both(model: Any, x: Any) -> list[Any]:
    return [model.predict(x), model.predict_proba(x)]


def _one(model: Any, x: Any) -> list[Any]:
    return [model.predict(x)]


def wrapped(model: Any, *fit: Any, x: Any = None, **more: Any) -> Trained:
    """A fitted wrapper, and its booster's text."""
    model.fit(*fit, **more)
    predict = _both if isinstance(model, lgb.LGBMClassifier) and not callable(model.objective_) else _one
    return Trained(model, predict, {"txt": (model.booster_.save_model, _inner)}, x=x)


def _inner(model: Any, x: Any) -> list[Any]:
    return [model.booster_.predict(x)]


def classifier(y: str = "binary", x: str = "x", **options: Any) -> Callable[[], Trained]:
    return lambda: wrapped(lgb.LGBMClassifier(**{**K, **options}), getattr(data(), x), getattr(data(), y))


def regressor(y: str = "y", x: str = "x", **options: Any) -> Callable[[], Trained]:
    return lambda: wrapped(lgb.LGBMRegressor(**{**K, **options}), getattr(data(), x), getattr(data(), y))


def trained(params: dict[str, Any], x: Any, y: Any, rounds: int = 12, **more: Any) -> Trained:
    """A plain booster, and its text."""
    model = lgb.train({**P, **params}, lgb.Dataset(x, y, **more), rounds)
    return Trained(model, _one, {"txt": (model.save_model, _one)})


def booster(y: str = "y", x: str = "x", **params: Any) -> Callable[[], Trained]:
    return lambda: trained(params, getattr(data(), x), getattr(data(), y))


def ranker(objective: str) -> Callable[[], Trained]:
    d = data()
    return lambda: wrapped(lgb.LGBMRanker(objective=objective, **K), d.x, d.binary, group=d.groups)


def codes(y: str, x: str = "codes", **options: Any) -> Callable[[], Trained]:
    def make() -> Trained:
        rows = getattr(data(), x).copy()
        if x == "codes" and options.pop("holes", False):
            rows[::7, 2] = np.nan
        target = getattr(data(), y)
        cls = lgb.LGBMClassifier if target.dtype.kind == "i" else lgb.LGBMRegressor
        return wrapped(cls(**{**K, **options}), rows, target, categorical_feature=[2, 5])

    return make


def frame() -> Trained:
    x = data().frame(categories=True)
    model = lgb.LGBMRegressor(**K, min_data_per_group=5, cat_smooth=1).fit(x, data().code_target)

    def coded(model: Any, rows: Any) -> list[Any]:
        import pandas as pd

        columns = {c: rows[:, i] for i, c in enumerate(x.columns)}
        for c in ("col 2", "col 5"):
            known = x[c].cat.categories
            number = np.where(np.isfinite(columns[c]), columns[c], -1).astype(int)
            outside = (number < 0) | (number >= len(known))
            columns[c] = pd.Categorical.from_codes(np.where(outside, -1, number), categories=known)
        return [model.predict(pd.DataFrame(columns))]

    return Trained(model, coded, extra={})


def early(y: str) -> Callable[[], Trained]:
    def make() -> Trained:
        d, target = data(), getattr(data(), y)
        model = lgb.LGBMClassifier(**{**K, "n_estimators": 200, "learning_rate": 0.9})
        stop = [lgb.early_stopping(3, verbose=False)]
        found = wrapped(model, d.x[::2], target[::2], eval_set=[(d.x[1::2], target[1::2])], callbacks=stop)
        assert 0 < model.best_iteration_ < 150
        return found

    return make


def custom_booster() -> Trained:
    def squares(predicted: Any, rows: Any) -> tuple[Any, Any]:
        return predicted - rows.get_label(), np.ones(len(predicted))

    return trained({"objective": squares}, data().x, data().y)


def custom_wrapper() -> Trained:
    def squares(true: Any, predicted: Any) -> tuple[Any, Any]:
        return predicted - true, np.ones(len(predicted))

    return wrapped(lgb.LGBMRegressor(objective=squares, **K), data().x, data().y)


def custom_classifier() -> Trained:
    def logistic(true: Any, predicted: Any) -> tuple[Any, Any]:
        share = 1 / (1 + np.exp(-predicted))
        return share - true, share * (1 - share)

    return wrapped(lgb.LGBMClassifier(objective=logistic, **K), data().x, data().binary)


def some_rounds() -> Trained:
    model = lgb.train({**P, "objective": "binary"}, lgb.Dataset(data().x, data().binary), 12)

    def predict(model: Any, x: Any) -> list[Any]:
        return [model.predict(x, start_iteration=2, num_iteration=5)]

    return Trained(model, predict, {"txt": (model.save_model, predict)}, extra={"rounds": (2, 7)})


def refitted() -> Trained:
    model = lgb.train({**P, "objective": "regression"}, lgb.Dataset(data().x, data().y), 8)
    model = lgb.train({**P}, lgb.Dataset(data().x, data().y, free_raw_data=False), 4, init_model=model)
    model = model.refit(data().x, data().y * 2)
    return Trained(model, _one, {"txt": (model.save_model, _one)})


LINEAR = {"linear_tree": True, "min_child_samples": 20}
CASES: dict[str, Callable[[], Trained]] = {
    "binary": classifier(),
    "three classes": classifier("three"),
    "words as labels": classifier("words"),
    "holes": classifier("three", "holes"),
    "dart": classifier(boosting_type="dart"),
    "dart, classes": classifier("three", boosting_type="dart", skip_drop=0.0),
    "goss": classifier(data_sample_strategy="goss"),
    "random forest": classifier(boosting_type="rf", **BAGS),
    "random forest, classes": classifier("three", boosting_type="rf", **BAGS),
    "random forest, regression": regressor(boosting_type="rf", **BAGS),
    "use_missing off": classifier("three", "holes", use_missing=False),
    "zero_as_missing": classifier(zero_as_missing=True),
    "zero_as_missing with holes": classifier("three", "holes", zero_as_missing=True),
    "category codes": codes("code_target", min_data_per_group=5, cat_smooth=1),
    "category codes, holes": codes("code_class", holes=True, min_data_per_group=5, cat_smooth=1),
    "category codes, one-hot": codes("code_target", max_cat_to_onehot=100),
    "category codes, zero_as_missing": codes("code_target", zero_as_missing=True, min_data_per_group=5),
    "frame with categories": frame,
    "regression": regressor(),
    "l1": regressor(objective="regression_l1"),
    "huber": regressor(objective="huber"),
    "fair": regressor(objective="fair"),
    "quantile": regressor(objective="quantile", alpha=0.2),
    "mape": regressor("positive", objective="mape"),
    "poisson": regressor("count", objective="poisson"),
    "gamma": regressor("positive", objective="gamma"),
    "tweedie": regressor("count", objective="tweedie", tweedie_variance_power=1.3),
    "reg_sqrt": regressor(reg_sqrt=True),
    "reg_sqrt, l1": regressor(objective="regression_l1", reg_sqrt=True),
    "cross_entropy": booster("share", objective="cross_entropy"),
    "cross_entropy, classifier": classifier(objective="cross_entropy"),
    "cross_entropy_lambda": booster("share", objective="cross_entropy_lambda"),
    "multiclassova": classifier("three", objective="multiclassova"),
    "multiclassova, sigmoid": classifier("three", objective="multiclassova", sigmoid=0.7),
    "sigmoid": classifier(sigmoid=2.0),
    "linear leaves": regressor(**LINEAR),
    "linear leaves, holes": regressor("y", "holes", **LINEAR),
    "linear leaves, classes": classifier("three", **LINEAR),
    "lambdarank": ranker("lambdarank"),
    "rank_xendcg": ranker("rank_xendcg"),
    "early stopping": early("binary"),
    "early stopping, classes": early("three"),
    "constraints": regressor(monotone_constraints=[1, 0, 0, 0, 0, 0, -1], interaction_constraints=[[0, 1], [2, 3, 6]]),
    "booster": booster("three", objective="multiclass", num_class=3),
    "booster refitted": refitted,
    "custom objective": custom_booster,
    "custom objective, wrapper": custom_wrapper,
    "custom objective, classifier": custom_classifier,
    "some rounds": some_rounds,
    "extra trees": regressor(extra_trees=True, path_smooth=2.0),
    "no average to start from": regressor(boost_from_average=False),
    "unbalanced": classifier(is_unbalance=True),
    "trees of one leaf": regressor(min_child_samples=1000),
}
