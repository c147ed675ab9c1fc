"""Which methods of an estimator become outputs of the model, and how those are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...symbolic.errors import InputSpecError

#: Methods that can be asked for, with the names of their outputs.
_OUTPUTS: dict[str, tuple[str, ...]] = {
    "predict": ("variable",),
    "predict_proba": ("probabilities",),
    "decision_function": ("scores",),
    "transform": ("transformed",),
    "score_samples": ("score_samples",),
    "mahalanobis": ("mahalanobis",),
    "kneighbors": ("distances", "indices"),
    "predict_std": ("std",),
    "apply": ("leaves",),
    "decision_path": ("path",),
}


@dataclass(frozen=True)
class Output:
    """One output of the model.

    Attributes:
        name: Its own name.
        method: Method of the estimator that gives it.
        part: Its place in what the method gives, where that is a list or tuple.
        parts: How many parts there are.
    """

    name: str
    method: str
    part: int = 0
    parts: int = 1


def outputs(model: Any, wanted: str | Sequence[str] | None) -> list[Output]:
    """The outputs for the methods that the caller wants (names, or one string with commas); None: the usual ones.

    Raises:
        InputSpecError: The estimator doesn't have a method.
    """
    usual = _usual(model)
    if wanted is None:
        return [o for method, name in usual.items() for o in _parts(model, method, name)]
    asked = [w.strip() for w in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    has = available(model)
    for method in asked:
        if method not in has:
            own = f"it has {', '.join(has)}"
            raise InputSpecError(f"a {type(model).__name__} has no method {method!r} that can be converted; {own}")
    return [o for method in asked for o in _parts(model, method, usual.get(method))]


def available(model: Any) -> list[str]:
    """The methods of an estimator that can be asked for."""
    hollow = _hollow(last(model))
    found = [m for m in _OUTPUTS if m != "predict_std" and m not in hollow and callable(getattr(model, m, None))]
    if "predict" not in found or "decision_path" not in found:  # boosters and embeddings by trees
        found = [m for m in found if m not in ("apply", "decision_path")]
    if type(last(model)).__name__ == "ClassifierChain" and max(map(len, last(model).classes_)) > 2:
        found = [m for m in found if m in ("predict", "transform")]  # the others fail in scikit-learn
    if type(last(model)).__name__ in ("GaussianProcessRegressor", "BayesianRidge", "ARDRegression"):
        found.append("predict_std")
    return found


def _hollow(est: Any) -> tuple[str, ...]:
    """Methods that an estimator has, but that only raise an error with its parameters."""
    name = type(est).__name__
    if name == "GaussianProcessClassifier" and est.multi_class == "one_vs_one" and len(est.classes_) > 2:
        return ("predict_proba",)
    if name == "LinearDiscriminantAnalysis":
        single = ("predict_proba",) if len(est.classes_) == 1 else ()
        return (*single, "transform") if est.solver == "lsqr" else single
    return ()


def _usual(model: Any) -> dict[str, str]:
    """Method -> name of its output, of the methods that are wanted where the caller doesn't say."""
    from sklearn.base import is_classifier, is_clusterer, is_outlier_detector

    has = available(model)
    kind = getattr(last(model), "_estimator_type", None)
    if is_classifier(model):
        second = next((m for m in ("predict_proba", "decision_function") if m in has), None)
        found = {"predict": "label"}
        return {**found, second: _OUTPUTS[second][0]} if second else found
    if is_outlier_detector(model) and "predict" in has:
        return {"predict": "label", "decision_function": "scores"}
    if "predict" in has and "predict_proba" in has and kind != "regressor":  # mixtures
        return {"predict": "label", "predict_proba": "probabilities"}
    if "predict" in has and (is_clusterer(last(model)) or hasattr(last(model), "cluster_centers_")):
        return {"predict": "label", "transform": "scores"} if "transform" in has else {"predict": "label"}
    first = next((m for m in ("predict", "transform", "kneighbors", "score_samples", "mahalanobis") if m in has), None)
    if first is None:
        raise InputSpecError(f"a {type(model).__name__} has no method that can be asked about new rows")
    return {first: "variable" if first in ("predict", "transform") else _OUTPUTS[first][0]}


def _parts(model: Any, method: str, name: str | None) -> list[Output]:
    names = _OUTPUTS[method] if name is None or len(_OUTPUTS[method]) > 1 else (name,)
    if method == "predict_proba":
        # scikit-learn gives one matrix for each output; a chain gives one for all
        est = last(model)
        classes = getattr(est, "classes_", None)
        if classes is None and type(est).__name__ == "MultiOutputClassifier":  # releases before 0.22 keep none
            classes = [e.classes_ for e in est.estimators_]
        if isinstance(classes, list) and type(last(model)).__name__ not in ("ClassifierChain", "StackingClassifier"):
            names = tuple(f"{names[0]}_{i}" for i in range(len(classes)))
    return [Output(n, method, i, len(names)) for i, n in enumerate(names)]


def last(model: Any) -> Any:
    """The estimator that predicts."""
    while True:
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model
