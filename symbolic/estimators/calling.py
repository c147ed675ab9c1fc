"""How the symbolic functions of this dialect are found and called.

A function is ``f(g, x, est)``: ``x`` is what the estimator is given, ``est`` the fitted estimator, read by attribute;
scikit-learn is never imported here. It returns features (`Value`, `Sparse`, `Frame`) for a transformer, a `Value` for a
regressor, `Classified` for a classifier (`MultiClassified` for one of several outputs), `Methods` for anything else
that has several methods. Parts that nobody uses are dropped at the end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..errors import MissingOp, UnsupportedOps
from ..ml.categories import codes
from ..ml.dtypes import concat
from ..ml.labels import class_array, pick
from ..registry import Symbolic, registry
from ..value import Value

DIALECT = "estimators"


@dataclass(frozen=True)
class Frame:
    """A DataFrame: named columns, each [batch, 1] with its own dtype."""

    names: tuple[str, ...]
    columns: tuple[Value, ...]


@dataclass(frozen=True)
class Sparse:
    """Features that scikit-learn keeps in a sparse matrix, where some estimators compute otherwise."""

    value: Value


Features = Value | Frame | Sparse


#: Makes what a method gives, when it is asked for: a method that can't be translated refuses only then.
Maker = Callable[[], "Value | tuple[Value, ...]"]


@dataclass(frozen=True)
class Classified:
    """What a classifier gives.

    Attributes:
        index: Index of the predicted class, int64[batch].
        classes: The labels.
        probabilities: [batch, classes], or None.
        scores: ``decision_function``, or None.
        more: Its other methods (``transform``, ``score_samples`` ...), by name.
    """

    index: Value
    classes: np.ndarray
    probabilities: Value | None = None
    scores: Value | None = None
    more: Mapping[str, Maker] = field(default_factory=dict)


@dataclass(frozen=True)
class MultiClassified:
    """What a classifier of several outputs, or of several labels for each row, gives.

    Attributes:
        label: The predicted labels, [batch, outputs].
        probabilities: [batch, classes] for each output where scikit-learn gives a list, else one matrix, or None.
        scores: ``decision_function``, or None.
        more: Its other methods, by name.
    """

    label: Value
    probabilities: Value | tuple[Value, ...] | None = None
    scores: Value | tuple[Value, ...] | None = None
    more: Mapping[str, Maker] = field(default_factory=dict)


@dataclass(frozen=True)
class Methods:
    """What an estimator gives that is neither a classifier nor has one method only: by method name."""

    made: Mapping[str, Maker]


Result = Features | Classified | MultiClassified | Methods

#: Parameters that shape the fit (or its speed) only, in every estimator that has them.
TRAINING = frozenset({
    "algorithm", "alpha", "alphas", "average", "batch_size", "beta_1", "beta_2", "bootstrap", "C", "ccp_alpha",
    "class_weight", "copy", "copy_X", "copy_x", "criterion", "cv", "dual", "early_stopping", "eps", "epsilon", "eta0",
    "fit_intercept", "gcv_mode", "init_size", "interaction_cst", "intercept_scaling", "iterated_power", "l1_ratio",
    "l1_ratios", "l2_regularization", "learning_rate_init", "max_bins", "max_depth", "max_features", "max_fun",
    "max_iter", "max_leaf_nodes", "max_samples", "min_impurity_decrease", "min_samples_leaf", "min_samples_split",
    "min_weight_fraction_leaf", "momentum", "monotonic_cst", "n_alphas", "n_estimators", "n_init", "n_iter",
    "n_iter_no_change", "n_jobs", "n_oversamples", "nesterovs_momentum", "oob_score", "penalty", "positive",
    "power_iteration_normalizer", "power_t", "precompute", "priors", "quantile", "random_state", "reassignment_ratio",
    "refit", "replacement", "sampler", "sampling_strategy", "scoring", "selection", "shuffle", "solver", "splitter",
    "store_cv_results", "subsample", "svd_solver",
    "tol", "validation_fraction", "var_smoothing", "verbose", "warm_start",
})  # fmt: skip

#: Why an estimator has no symbolic function, where that is known.
_REASONS = {
    "sklearn.feature_extraction.text.HashingVectorizer": "it hashes terms not known beforehand (docs/sklearn.md)",
    "sklearn.feature_extraction.FeatureHasher": "it hashes terms not known beforehand (docs/sklearn.md)",
    "sklearn.feature_extraction.DictVectorizer": "its rows are dicts, which ONNX doesn't have",
    "sklearn.feature_extraction.image.PatchExtractor": "it makes several rows of one",
    "sklearn.preprocessing.MultiLabelBinarizer": "its rows are sets, which ONNX doesn't have",
}

#: What a subclass may bring of its own without predicting otherwise.
_HARMLESS = frozenset({
    "fit", "fit_transform", "fit_predict", "fit_resample", "partial_fit", "score", "get_params", "set_params",
    "get_feature_names_out", "set_output", "get_metadata_routing", "inverse_transform", "sample",
})  # fmt: skip


def names_of(cls: type) -> list[str]:
    """Names that a class can be registered under: public path, full path, class name."""
    module = cls.__module__.split(".")
    public = next((module[:i] for i, part in enumerate(module) if part.startswith("_")), module)
    full = f"{cls.__module__}.{cls.__qualname__}"
    return list(dict.fromkeys([".".join([*public, cls.__qualname__]), full, cls.__name__]))


def name_of(est: object) -> str:
    """The estimator's public name, as messages show it."""
    return names_of(type(est))[0]


def find(est: object, opset: int, method: str = "") -> Symbolic | None:
    """The function of an estimator's class, or of the nearest base that predicts in the same way.

    Args:
        est: The estimator.
        opset: Opset that is written.
        method: A method that has a function of its own, registered as ``<class name>.<method>``.
    """
    bases = type(est).__mro__
    for i, cls in enumerate(bases):
        for name in names_of(cls):
            found = registry.lookup(DIALECT, f"{name}.{method}" if method else name, opset)
            if found is not None:
                return found
        if own_code(cls, bases[i + 1 :], method):
            return None
    return None


def own_code(cls: type, bases: tuple[type, ...], method: str = "") -> list[str]:
    """Methods by which a class predicts otherwise than its bases (any that it overrides, but for those of the fit)."""
    found = []
    for name, value in vars(cls).items():
        code = callable(value) or hasattr(value, "__get__")
        routing = name.startswith("set_") and name.endswith("_request")  # scikit-learn makes these for each class
        if not code or routing or name.startswith("__") or (name in _HARMLESS and name != method):
            continue
        if any(name in vars(base) for base in bases if base is not object):
            found.append(name)
    return found


def unsupported(g: GraphBuilder, est: object, reason: str) -> UnsupportedOps:
    """The refusal of an option of an estimator."""
    return UnsupportedOps([MissingOp(DIALECT, name_of(est), 1, (g.location,), reason)])


def read(g: GraphBuilder, est: Any, *names: str, ignore: tuple[str, ...] = ()) -> Any:
    """The parameters that a function handles, as attributes.

    Args:
        g: Builder, for the place in messages.
        est: The estimator.
        *names: Parameters that the function reads.
        ignore: Parameters that don't change what this estimator predicts.

    Raises:
        UnsupportedOps: The estimator has a parameter that is neither read nor known to matter in training only.
    """
    # a parameter that came after the release that made the model is absent: its default is what the model was made with
    defaults = {n: p.default for n, p in inspect.signature(type(est).__init__).parameters.items()}
    given = {n: getattr(est, n, defaults.get(n)) for n in type(est)._get_param_names()}
    unknown = sorted(given.keys() - set(names) - set(ignore) - TRAINING)
    if unknown:
        said = ", ".join(f"{n}={given[n]!r}" for n in unknown)
        raise unsupported(g, est, f"its parameter {said} is not known to this version")
    return SimpleNamespace(**{n: given.get(n) for n in names})


def call(g: GraphBuilder, est: Any, x: Features, name: str) -> Result:
    """Calls the function of a nested estimator; `name` is its place inside the one that is being converted."""
    with g.at(f"{g.location}.{name}" if g.location else name):
        found = find(est, g.opset)
        if found is None:
            from .custom import methods_of, trace_class

            if methods_of(est):
                return trace_class(g, x, est)
            raise unsupported(g, est, "it has no symbolic function")
        result: Result = found.function(g, x, est)
        return result


def transform(g: GraphBuilder, est: Any, x: Features, name: str) -> Features:
    """What ``est.transform(x)`` gives; "passthrough" and None give x."""
    if est is None or (isinstance(est, str) and est == "passthrough"):
        return x
    own = find(est, g.opset, "transform")
    if own is not None:
        with g.at(f"{g.location}.{name}" if g.location else name):
            only: Features = own.function(g, x, est)
            return only
    result = call(g, est, x, name)
    if isinstance(result, (Value, Frame, Sparse)):
        return result
    return one(g, est, result, "transform")


def invert(g: GraphBuilder, est: Any, x: Value, name: str) -> Value:
    """What ``est.inverse_transform(x)`` gives."""
    found = find(est, g.opset, "inverse_transform")
    with g.at(f"{g.location}.{name}" if g.location else name):
        if found is None:
            raise unsupported(g, est, "its inverse_transform isn't done")
        result: Value = found.function(g, x, est)
        return result


def classify(g: GraphBuilder, est: Any, x: Features, name: str) -> Classified:
    """What a nested classifier gives."""
    result = call(g, est, x, name)
    if isinstance(result, Classified):
        return result
    if not isinstance(result, Methods) or not hasattr(est, "classes_") or "predict" not in result.made:
        raise unsupported(g, est, "it isn't a classifier")
    label, classes = one(g, est, result, "predict"), np.asarray(est.classes_)
    index = codes(g, g.Unsqueeze(label, [1]), class_array(classes), np.arange(len(classes)), 0)
    proba, scores = (
        one(g, est, result, m) if m in result.made else None for m in ("predict_proba", "decision_function")
    )
    return Classified(g.Squeeze(index, [1]), classes, proba, scores)


def regress(g: GraphBuilder, est: Any, x: Features, name: str) -> Value:
    """What ``est.predict(x)`` gives for a nested regressor (or outlier detector, clusterer ...)."""
    result = call(g, est, x, name)
    if isinstance(result, (Classified, MultiClassified)):
        raise unsupported(g, est, "it isn't a regressor")
    return one(g, est, result, "predict")


def one(g: GraphBuilder, est: Any, result: Result, method: str) -> Value:
    """The only value that a method gives."""
    (value,) = values(g, est, result, method)
    return value


def values(g: GraphBuilder, est: Any, result: Result, method: str) -> tuple[Value, ...]:
    """What a method of an estimator gives; several values where scikit-learn gives a tuple or a list.

    Raises:
        UnsupportedOps: The translation doesn't have the method.
    """
    made: Value | tuple[Value, ...] | None = None
    if isinstance(result, (Classified, MultiClassified)):
        if method == "predict":
            made = result.label if isinstance(result, MultiClassified) else pick(g, result.classes, result.index)
        elif method == "predict_proba":
            made = result.probabilities
        elif method == "decision_function":
            made = result.scores
        elif method in result.more:
            made = result.more[method]()
    elif isinstance(result, Methods):
        made = result.made[method]() if method in result.made else None
    elif method in ("predict", "transform"):
        made = matrix(g, result)
    if made is None and method == "predict_log_proba":
        return tuple(g.Log(p) for p in values(g, est, result, "predict_proba"))
    if made is None:
        raise unsupported(g, est, f"its method {method} isn't done")
    return made if isinstance(made, tuple) else (made,)


def together(g: GraphBuilder, found: list[Classified]) -> MultiClassified:
    """One classifier of several outputs from one for each."""
    picked = [g.Unsqueeze(pick(g, f.classes, f.index), [1]) for f in found]
    probabilities = [f.probabilities for f in found if f.probabilities is not None]
    return MultiClassified(g.Concat(*picked, axis=1), tuple(probabilities) or None)


def response(g: GraphBuilder, est: Any, result: Result, *methods: str) -> tuple[Value, str]:
    """What the first of the methods that an estimator has gives, and its name.

    Two classes give the score or probability of the second one, [batch].
    """
    method = next((m for m in methods if hasattr(est, m)), None)
    if method is None:
        raise unsupported(g, est, f"it has none of the methods {', '.join(methods)}")
    value = one(g, est, result, method)
    if method == "predict_proba" and value.rank == 2 and value.dim(1) == 2:
        value = g.Squeeze(g.Slice(value, [1], [2], [1]), [1])
    return value, method


def matrix(g: GraphBuilder, x: Features) -> Value:
    """The features as one matrix, in the dtype that ``np.asarray`` gives them."""
    if isinstance(x, Sparse):
        return x.value
    if isinstance(x, Frame):
        return concat(g, list(x.columns))
    return x


def width(x: Features) -> int:
    """Number of features; known for everything an estimator gives."""
    if isinstance(x, Frame):
        return len(x.columns)
    value = x.value if isinstance(x, Sparse) else x
    size = value.dim(1)
    if not isinstance(size, int):
        raise ValueError(f"the number of features at {value.location} is not known")
    return size


def columns(g: GraphBuilder, x: Features) -> list[Value]:
    """Each feature as [batch, 1]."""
    if isinstance(x, Frame):
        return list(x.columns)
    value, count = matrix(g, x), width(x)
    if count == 1:
        return [value]
    return list(g.Split(value, [1] * count, axis=1, outputs=count))


def select(g: GraphBuilder, x: Features, indices: list[int]) -> Features:
    """Some of the features, by index."""
    if isinstance(x, Frame):
        return Frame(tuple(x.names[i] for i in indices), tuple(x.columns[i] for i in indices))
    value = matrix(g, x)
    if indices == list(range(width(x))):
        return x
    if indices and indices == list(range(indices[0], indices[-1] + 1)):
        taken = g.Slice(value, [indices[0]], [indices[-1] + 1], [1])
    else:
        taken = g.Gather(value, np.array(indices, np.int64), axis=1)
    return Sparse(taken) if isinstance(x, Sparse) else taken


def hstack(g: GraphBuilder, parts: list[Features]) -> Value:
    """Features side by side."""
    return concat(g, [matrix(g, p) for p in parts])


# --- estimators inside estimators ----------------------------------------------------------------------------------

Children = Callable[[Any], list[tuple[str, Any]]]
_CHILDREN: dict[str, Children] = {}


def children(*names: str) -> Callable[[Children], Children]:
    """Registers what gives the nested estimators of a class, with the names of their places."""

    def register(function: Children) -> Children:
        _CHILDREN.update(dict.fromkeys(names, function))
        return function

    return register


def walk(est: Any, place: str) -> Iterator[tuple[Any, str]]:
    """An estimator and all that are called inside it, each with its place."""
    yield est, place
    for cls in type(est).__mro__:
        found = next((_CHILDREN[n] for n in names_of(cls) if n in _CHILDREN), None)
        if found is not None:
            for name, child in found(est):
                if child is not None and not isinstance(child, str):
                    yield from walk(child, f"{place}.{name}" if place else name)
            return


def require(est: Any, place: str, opset: int) -> None:
    """Looks up every estimator before anything is built.

    Raises:
        UnsupportedOps: With all that have no symbolic function.
    """
    from .custom import methods_of

    missing: dict[str, list[str]] = {}
    for inner, at in walk(est, place):
        if find(inner, opset) is None and not methods_of(inner):
            missing.setdefault(name_of(inner), []).append(at)
    if missing:
        found = [MissingOp(DIALECT, n, len(at), tuple(at[:3]), _REASONS.get(n, "")) for n, at in missing.items()]
        raise UnsupportedOps(found)
